//! Rings of two kinds over whole weights (methods §16.1): block (`AAB`) and smooth (`ABA`), what they give after a few jobs, and
//! where the work of a member that is down goes.

/// Largest sum of weights that is laid out slot by slot.
const MAX_SLOTS: u64 = 10_000;

/// The slots of both rings of some members, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// Whole weights, in order.
    weights: Vec<u64>,
    /// A member of weight n takes n slots in a row.
    pub block: Vec<usize>,
    /// Every member as evenly spread as its weight allows.
    pub smooth: Vec<usize>,
}

impl Rotation {
    /// The rings of some weights; `None` when one is no whole number of at least 1 or their sum is too large to lay out.
    pub fn of(weights: &[f64]) -> Option<Self> {
        let weights = weights.iter().map(|weight| whole(*weight)).collect::<Option<Vec<u64>>>()?;
        let slots = weights.iter().try_fold(0_u64, |sum, weight| sum.checked_add(*weight))?;
        if slots == 0 || slots > MAX_SLOTS {
            return None;
        }
        Some(Self { block: block(&weights), smooth: smooth(&weights), weights })
    }

    /// The largest distance between a member's count after some jobs and its share of them.
    pub fn count_error(&self, ring: &[usize], jobs: usize) -> f64 {
        let given = assign(ring, jobs, &[]);
        (0..self.weights.len())
            .map(|member| (count(&given, member) - self.share(member) * to_f64(jobs)).abs())
            .fold(0.0, f64::max)
    }

    /// The members that get nothing however often a run of some jobs begins at the start of a ring.
    pub fn starved(&self, ring: &[usize], jobs: usize) -> Vec<usize> {
        let given = assign(ring, jobs, &[]);
        (0..self.weights.len()).filter(|member| !given.contains(member)).collect()
    }

    /// The share of each member over one whole round when some are down: a slot of one goes to its successor in the ring.
    pub fn shares_with_down(&self, ring: &[usize], down: &[usize]) -> Vec<f64> {
        let given = assign(ring, ring.len(), down);
        (0..self.weights.len()).map(|member| count(&given, member) / to_f64(ring.len())).collect()
    }

    /// The share of a member by its weight.
    fn share(&self, member: usize) -> f64 {
        let count = |slots: u64| to_f64(usize::try_from(slots).unwrap_or(usize::MAX));
        count(self.weights[member]) / count(self.weights.iter().sum())
    }
}

/// Who gets each of some jobs that begin at the start of a ring: the member of the slot, or the next one that is up. An
/// all-down ring gives nothing.
pub fn assign(ring: &[usize], jobs: usize, down: &[usize]) -> Vec<usize> {
    let is_up = |member: &usize| !down.contains(member);
    if ring.is_empty() {
        return Vec::new();
    }
    (0..jobs).filter_map(|job| (0..ring.len()).map(|skip| ring[(job + skip) % ring.len()]).find(is_up)).collect()
}

/// Every member its weight in a row.
fn block(weights: &[u64]) -> Vec<usize> {
    weights.iter().enumerate().flat_map(|(member, weight)| (0..*weight).map(move |_| member)).collect()
}

/// Every step adds each weight to its member's counter, takes the largest (ties: first in order) and subtracts the total.
fn smooth(weights: &[u64]) -> Vec<usize> {
    let weights: Vec<i64> = weights.iter().map(|weight| i64::try_from(*weight).unwrap_or(i64::MAX)).collect();
    let total: i64 = weights.iter().sum();
    let mut counters = vec![0_i64; weights.len()];
    let step = |_| {
        let mut taken = 0;
        for (member, weight) in weights.iter().enumerate() {
            counters[member] += weight;
            if counters[member] > counters[taken] {
                taken = member;
            }
        }
        counters[taken] -= total;
        taken
    };
    (0..total).map(step).collect()
}

/// How often a member stands among some.
fn count(given: &[usize], member: usize) -> f64 {
    to_f64(given.iter().filter(|one| **one == member).count())
}

/// A small count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts of slots stay below 2^53")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

/// A weight as a whole number of at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the guard keeps whole numbers from 1 to 10,000"
)]
fn whole(weight: f64) -> Option<u64> {
    let is_whole = weight.is_finite() && weight.fract().abs() < f64::EPSILON && (1.0..=10_000.0).contains(&weight);
    is_whole.then_some(weight as u64)
}
