//! The price–quality front of one pool (methods §15) with its knee, stake pick and hull. Everything depends on the set of
//! points, never on their order. Of these only membership of the front enters a verdict.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A q must exceed the best so far by more than this to be on the front.
const EPSILON: f64 = 1e-9;
/// Bills below this are taken as this inside the logarithm.
const LEAST_BILL: f64 = 0.001;

/// One model on the plane.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Unique id inside the set.
    pub id: String,
    /// USD per million task input tokens, at least 0.
    pub bill: f64,
    /// Standing, 0 to 100.
    pub q: f64,
    /// How many of its indices were imputed.
    pub imputed: usize,
}

/// The front and the numbers printed beside it. Empty and `None` of an empty set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pareto {
    /// Ids on the front, cheapest first.
    pub front: Vec<String>,
    /// The point farthest above the chord from the first to the last of the front in (ln bill, q).
    pub knee: Option<String>,
    /// Distance above that chord, for every point of the front, in points.
    pub distances: BTreeMap<String, f64>,
    /// The point of the front with the smallest expected loss at the stake.
    pub stake_pick: Option<String>,
    /// Its loss in dollars per task.
    pub objective: Option<f64>,
    /// Ids of the upper concave hull of the front in (bill, q), cheapest first.
    pub hull: Vec<String>,
    /// For every point of the set: how far the hull lies above it at its bill, at least 0; `None` left of the hull.
    pub hull_gap: BTreeMap<String, Option<f64>>,
}

/// Expected market loss of one task in dollars: its bill and the stake lost where quality is missing.
pub fn market_loss(bill: f64, q: f64, tokens: f64, stake: f64) -> f64 {
    bill * tokens / 1e6 + stake * (1.0 - q / 100.0)
}

/// Order of the front: bill up, q down, imputed up, id.
fn front_order(a: &Point, b: &Point) -> Ordering {
    a.bill
        .total_cmp(&b.bill)
        .then_with(|| b.q.total_cmp(&a.q))
        .then_with(|| a.imputed.cmp(&b.imputed))
        .then_with(|| a.id.cmp(&b.id))
}

/// Whether a point keeps another one off a front of the two: it comes first and is as good.
pub(super) fn shuts_out(first: &Point, other: &Point) -> bool {
    front_order(first, other).is_lt() && other.q <= first.q + EPSILON
}

/// The points of the front, cheapest first.
pub fn front(points: &[Point]) -> Vec<&Point> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| front_order(a, b));
    let mut best = f64::NEG_INFINITY;
    sorted.retain(|point| {
        let is_better = point.q > best + EPSILON;
        if is_better {
            best = point.q;
        }
        is_better
    });
    sorted
}

/// Front, knee, stake pick and hull of a set. `tokens` per task, `stake` in dollars.
pub fn pareto(points: &[Point], tokens: f64, stake: f64) -> Pareto {
    let front = front(points);
    let hull = hull(&front);
    let loss = |point: &Point| market_loss(point.bill, point.q, tokens, stake);
    let pick = front.iter().min_by(|a, b| {
        loss(a).total_cmp(&loss(b)).then_with(|| a.bill.total_cmp(&b.bill)).then_with(|| a.id.cmp(&b.id))
    });
    let distances: Vec<f64> = front.iter().map(|point| chord_distance(&front, point)).collect();
    Pareto {
        knee: knee(&front, &distances).map(|point| point.id.clone()),
        stake_pick: pick.map(|point| point.id.clone()),
        objective: pick.map(|point| loss(point)),
        hull_gap: points.iter().map(|point| (point.id.clone(), hull_gap(&hull, point))).collect(),
        hull: ids(&hull),
        distances: front.iter().map(|point| point.id.clone()).zip(distances).collect(),
        front: ids(&front),
    }
}

/// The ids of some points.
fn ids(points: &[&Point]) -> Vec<String> {
    points.iter().map(|point| point.id.clone()).collect()
}

/// The abscissa of the knee: the logarithm of the bill.
fn log_bill(point: &Point) -> f64 {
    point.bill.max(LEAST_BILL).ln()
}

/// Vertical distance of a point of the front above the chord from its first to its last point.
fn chord_distance(front: &[&Point], point: &Point) -> f64 {
    let (Some(first), Some(last)) = (front.first(), front.last()) else { return 0.0 };
    let (from, to) = (log_bill(first), log_bill(last));
    if to - from <= 0.0 {
        return 0.0;
    }
    let along = (log_bill(point) - from) / (to - from);
    point.q - (first.q + (last.q - first.q) * along)
}

/// The point with the largest distance; ties to the cheaper; the last when all bills are equal.
fn knee<'a>(front: &[&'a Point], distances: &[f64]) -> Option<&'a Point> {
    let (first, last) = (front.first()?, front.last()?);
    if log_bill(last) - log_bill(first) <= 0.0 {
        return Some(last);
    }
    let mut best = (*first, distances[0]);
    for (point, &distance) in front.iter().zip(distances).skip(1) {
        if distance > best.1 + EPSILON {
            best = (point, distance);
        }
    }
    Some(best.0)
}

/// The upper concave hull of a front in (bill, q), cheapest first; points on a straight stretch are left out.
fn hull<'a>(front: &[&'a Point]) -> Vec<&'a Point> {
    let mut hull: Vec<&Point> = Vec::new();
    for &point in front {
        while let [.., a, b] = hull[..] {
            let turn = (b.bill - a.bill) * (point.q - a.q) - (b.q - a.q) * (point.bill - a.bill);
            if turn < 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// How far the hull lies above a point at its bill; right of its last point the hull is flat.
fn hull_gap(hull: &[&Point], point: &Point) -> Option<f64> {
    let (first, last) = (hull.first()?, hull.last()?);
    if point.bill < first.bill {
        return None;
    }
    let at_bill = hull
        .windows(2)
        .find(|pair| point.bill <= pair[1].bill)
        .map_or(last.q, |pair| pair[0].q + (pair[1].q - pair[0].q) * along(pair[0].bill, pair[1].bill, point.bill));
    Some((at_bill - point.q).max(0.0))
}

/// How far `at` is from `from` to `to`, as a fraction.
fn along(from: f64, to: f64, at: f64) -> f64 {
    if to - from <= 0.0 { 1.0 } else { (at - from) / (to - from) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A point without imputation.
    fn point(id: &str, bill: f64, q: f64) -> Point {
        Point { id: id.to_owned(), bill, q, imputed: 0 }
    }

    #[test]
    fn the_cheaper_of_two_equals_is_on_the_front_and_of_two_same_points_the_less_imputed() {
        let mut twin = point("a", 1.0, 50.0);
        twin.imputed = 1;
        let points = [twin, point("b", 1.0, 50.0), point("c", 2.0, 50.0)];
        assert_eq!(ids(&front(&points)), ["b"]);
    }

    #[test]
    fn a_set_of_one_is_its_own_knee_pick_and_hull_and_an_empty_set_has_none() {
        let one = pareto(&[point("a", 0.0, 10.0)], 1e6, 1.0);
        assert_eq!((one.knee.as_deref(), one.stake_pick.as_deref()), (Some("a"), Some("a")));
        assert_eq!(one.hull_gap["a"], Some(0.0));
        assert_eq!(pareto(&[], 1e6, 1.0), Pareto::default());
    }

    #[test]
    fn the_hull_is_flat_to_the_right_of_its_last_point() {
        // The dear point is no better than b (70), so it misses 70 - 60 = 10 points at its price.
        let result = pareto(&[point("a", 1.0, 50.0), point("b", 2.0, 70.0), point("dear", 9.0, 60.0)], 1e6, 1.0);
        assert_eq!(result.hull_gap["dear"], Some(10.0));
    }

    #[test]
    fn bills_under_a_thousandth_count_as_equal_for_the_knee_and_the_last_one_is_it() {
        let result = pareto(&[point("a", 0.0001, 50.0), point("b", 0.0005, 60.0)], 1e6, 1.0);
        assert_eq!(result.knee.as_deref(), Some("b"));
    }

    /// Points on a coarse grid, so that ties happen.
    fn points() -> impl Strategy<Value = Vec<Point>> {
        proptest::collection::vec((0..8_u32, 0..8_u32, 0..2_usize), 1..9).prop_map(|cells| {
            let named = cells.into_iter().enumerate();
            named
                .map(|(at, (bill, q, imputed))| Point {
                    imputed,
                    ..point(&format!("p{at}"), f64::from(bill) / 4.0, f64::from(q) * 10.0)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_points_changes_nothing(points in points(), shift in 0..9_usize) {
            let mut turned = points.clone();
            turned.rotate_left(shift % points.len());
            turned.reverse();
            prop_assert_eq!(pareto(&points, 4.4e6, 10.0), pareto(&turned, 4.4e6, 10.0));
        }

        #[test]
        fn a_dominated_point_changes_neither_front_knee_pick_nor_hull(points in points(), at in 0..9_usize, dearer in 0..3_u32, worse in 0..3_u32) {
            prop_assume!(dearer + worse > 0);
            let base = &points[at % points.len()];
            let added = point("zz", base.bill + f64::from(dearer), base.q - f64::from(worse));
            let before = pareto(&points, 4.4e6, 10.0);
            let mut more = points.clone();
            more.push(added);
            let after = pareto(&more, 4.4e6, 10.0);
            prop_assert_eq!(&before.front, &after.front);
            prop_assert_eq!((&before.knee, &before.stake_pick, &before.hull), (&after.knee, &after.stake_pick, &after.hull));
        }

        #[test]
        fn nobody_on_the_front_is_dominated_and_the_hull_lies_above_everybody(points in points()) {
            let result = pareto(&points, 4.4e6, 10.0);
            for kept in points.iter().filter(|point| result.front.contains(&point.id)) {
                let beats = |other: &&Point| other.bill <= kept.bill && other.q > kept.q;
                prop_assert!(!points.iter().any(|other| beats(&other)));
            }
            prop_assert!(result.hull_gap.values().all(|gap| gap.is_none_or(|gap| gap >= 0.0)));
        }
    }
}
