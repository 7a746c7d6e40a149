//! Worked examples of combined speeds and spreads.

use super::*;

/// The limits of methods §13.
const LIMITS: SpreadLimits = SpreadLimits { ratio: 3.0, lower: 2.0, rows: 8.0 };

/// A row with an output speed.
fn row(member: &str, n: u64, output_tps: f64, interval: Option<(f64, f64)>) -> SpeedReading {
    SpeedReading {
        member: member.to_owned(),
        class: None,
        n,
        output_tps: Some(output_tps),
        output_tps_90: interval,
        first_answer_s: None,
        task_s: None,
        seen_by: None,
    }
}

/// The same row in a class.
fn in_class(class: &str, row: SpeedReading) -> SpeedReading {
    SpeedReading { class: Some(class.to_owned()), ..row }
}

/// The spreads among some rows under [`LIMITS`].
fn found(rows: &[SpeedReading]) -> Vec<Spread> {
    spreads(&by_member(rows), &LIMITS)
}

#[test]
fn rows_of_one_member_combine_as_output_over_time() {
    // 10 requests at 100 tok/s and 30 at 50: 40 shares of output in 10/100 + 30/50 = 0.7 shares of time: 57.142857.
    // A mean of the two rates would say 75, a weighted one 62.5.
    let rows = [row("a", 10, 100.0, Some((90.0, 110.0))), row("a", 30, 50.0, Some((40.0, 95.0)))];
    let speed = by_member(&rows)["a"].all.output_tps.unwrap();
    assert!((speed.value - 57.142_857).abs() < 1e-6, "{speed:?}");
    assert_eq!((speed.n, speed.interval_90), (40, Some((40.0, 110.0))), "n adds, the widest interval stands");
}

#[test]
fn one_row_without_an_interval_takes_it_from_the_whole() {
    let rows = [row("a", 10, 100.0, Some((90.0, 110.0))), row("a", 1, 100.0, None)];
    assert_eq!(by_member(&rows)["a"].all.output_tps.unwrap().interval_90, None);
}

#[test]
fn typical_task_time_is_the_geometric_mean_and_first_answers_may_be_zero() {
    // sqrt(100·400) = 200 s; (0·1 + 4·3)/4 = 3 s.
    let base = row("a", 1, 50.0, None);
    let rows = [
        SpeedReading { n: 1, task_s: Some(100.0), first_answer_s: Some(0.0), output_tps: None, ..base.clone() },
        SpeedReading { n: 1, task_s: Some(400.0), output_tps: None, ..base.clone() },
        SpeedReading { n: 3, first_answer_s: Some(4.0), output_tps: None, ..base },
    ];
    let all = by_member(&rows)["a"].all;
    assert!((all.task_s.unwrap().value - 200.0).abs() < 1e-9);
    assert!((all.first_answer_s.unwrap().value - 3.0).abs() < 1e-9);
    assert_eq!(all.output_tps, None, "no row has one");
}

#[test]
fn a_clear_interval_makes_a_clear_spread() {
    // 90/25 = 3.6; lower bound 80/30 = 2.667.
    let found = found(&[row("fast", 20, 90.0, Some((80.0, 100.0))), row("slow", 9, 25.0, Some((20.0, 30.0)))]);
    assert_eq!(found.len(), 1);
    let spread = &found[0];
    assert_eq!((spread.slow.as_str(), spread.fast.as_str(), spread.n), ("slow", "fast", 9));
    assert!((spread.ratio - 3.6).abs() < 1e-9);
    assert!(matches!(spread.certainty, Certainty::Clear { lower } if (lower - 80.0 / 30.0).abs() < 1e-9));
}

#[test]
fn a_wide_interval_and_a_missing_one_are_told_apart() {
    // 3.6 with lower bound 60/40 = 1.5.
    let wide = found(&[row("fast", 20, 90.0, Some((60.0, 120.0))), row("slow", 9, 25.0, Some((15.0, 40.0)))]);
    assert!(matches!(wide[0].certainty, Certainty::Short { lower } if (lower - 1.5).abs() < 1e-9));
    let bare = found(&[row("fast", 20, 90.0, Some((80.0, 100.0))), row("slow", 9, 25.0, None)]);
    assert_eq!(bare[0].certainty, Certainty::PointOnly);
}

#[test]
fn seven_requests_or_a_ratio_just_under_three_are_no_spread() {
    assert!(found(&[row("fast", 20, 90.0, None), row("slow", 7, 25.0, None)]).is_empty());
    assert!(found(&[row("fast", 20, 89.9, None), row("slow", 8, 30.0, None)]).is_empty());
    assert_eq!(found(&[row("fast", 20, 90.0, None), row("slow", 8, 30.0, None)]).len(), 1, "3.0 is one");
}

#[test]
fn only_shared_classes_count_when_all_classes_are_known() {
    // Overall 100 against 20; on the shared class 100 against 50 only.
    let rows = [
        in_class("bugfix", row("fast", 20, 100.0, None)),
        in_class("bugfix", row("slow", 10, 50.0, None)),
        in_class("research", row("slow", 40, 15.0, None)),
    ];
    assert!(found(&rows).is_empty());
    let apart = [rows[0].clone(), rows[2].clone()];
    assert!(found(&apart).is_empty(), "nothing shared, nothing said");
    let unnamed = [SpeedReading { class: None, ..rows[0].clone() }, rows[2].clone()];
    assert_eq!(found(&unnamed).len(), 1, "classes are not known: 100 against 15");
}

#[test]
fn shared_classes_weigh_by_the_smaller_side() {
    // bugfix 120/30 = 4 with weight min(20, 10) = 10, review 90/10 = 9 with weight min(30, 10) = 10: sqrt(36) = 6.
    let rows = [
        in_class("bugfix", row("fast", 20, 120.0, None)),
        in_class("bugfix", row("slow", 10, 30.0, None)),
        in_class("review", row("fast", 30, 90.0, None)),
        in_class("review", row("slow", 10, 10.0, None)),
    ];
    let spread = &found(&rows)[0];
    assert!((spread.ratio - 6.0).abs() < 1e-9, "{spread:?}");
    assert_eq!((spread.n, spread.classes.join(" ")), (20, "bugfix review".to_owned()));
}

#[test]
fn task_time_decides_where_both_have_enough_of_it() {
    // Slow tokens, yet tasks take 300 s on either side: not slower.
    let timed = |row: SpeedReading, task_s: f64| SpeedReading { task_s: Some(task_s), ..row };
    let even = [timed(row("fast", 20, 90.0, None), 300.0), timed(row("slow", 20, 25.0, None), 300.0)];
    assert!(found(&even).is_empty());
    let behind = [timed(row("a", 20, 90.0, None), 1200.0), timed(row("b", 20, 25.0, None), 300.0)];
    let spread = &found(&behind)[0];
    assert_eq!((spread.slow.as_str(), spread.basis), ("a", Basis::TaskTime));
    assert!((spread.ratio - 4.0).abs() < 1e-9);
    // One side without task times: tokens decide again.
    let one_sided = [timed(row("fast", 20, 90.0, None), 300.0), row("slow", 20, 25.0, None)];
    assert_eq!(found(&one_sided)[0].basis, Basis::OutputSpeed);
}

#[test]
fn each_slow_member_is_named_once_against_the_fastest() {
    let rows = [row("a", 9, 10.0, None), row("b", 9, 40.0, None), row("c", 9, 120.0, None)];
    let pairs: Vec<_> = found(&rows).into_iter().map(|spread| (spread.slow, spread.fast)).collect();
    assert_eq!(pairs, [("a".to_owned(), "c".to_owned()), ("b".to_owned(), "c".to_owned())]);
}

#[test]
fn the_order_of_rows_changes_no_bit() {
    let rows: Vec<_> = (1_u32..40).map(|i| row("a", u64::from(i), 10.0 + f64::from(i * i % 17), None)).collect();
    let mut reversed = rows.clone();
    reversed.reverse();
    assert_eq!(by_member(&rows), by_member(&reversed));
}
