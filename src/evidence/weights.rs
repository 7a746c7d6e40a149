//! Small integer weights that come close to wanted shares (methods §13, item 5).

use std::collections::BTreeMap;

/// Slack for comparisons of shares, so that 0.55 - 0.50 counts as 0.05.
const EPSILON: f64 = 1e-9;

/// Weights, their sum and how far they are from what was wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegerWeights {
    /// Member → weight, each at least 1, without a common divisor.
    pub weights: BTreeMap<String, u32>,
    /// Sum of the weights.
    pub denominator: u32,
    /// Largest distance of `weight / denominator` from a wanted share.
    pub max_error: f64,
}

/// Weights over the smallest denominator up to `max_denominator` that stays within `tolerance` of every share, else over
/// the one with the smallest error. Shares are normalised first. `None` when a share is negative or not finite, when all
/// are 0, or when there are more members than `max_denominator`.
pub fn integer_weights(shares: &BTreeMap<String, f64>, max_denominator: u32, tolerance: f64) -> Option<IntegerWeights> {
    let wanted = normalised(shares)?;
    let members = u32::try_from(wanted.len()).ok()?;
    let mut best: Option<(f64, Vec<u32>)> = None;
    for denominator in members..=max_denominator {
        let weights = apportion(&wanted, denominator);
        let error = largest_error(&weights, denominator, &wanted);
        if best.as_ref().is_none_or(|(least, _)| error < least - EPSILON) {
            best = Some((error, weights));
        }
        if error <= tolerance + EPSILON {
            break;
        }
    }
    let (max_error, weights) = best?;
    let divisor = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
    let weights: BTreeMap<String, u32> =
        shares.keys().cloned().zip(weights.iter().map(|weight| weight / divisor)).collect();
    Some(IntegerWeights { denominator: weights.values().sum(), weights, max_error })
}

/// Shares that sum to 1, in key order.
fn normalised(shares: &BTreeMap<String, f64>) -> Option<Vec<f64>> {
    let sum: f64 = shares.values().sum();
    let is_sound = shares.values().all(|share| share.is_finite() && *share >= 0.0);
    (is_sound && sum.is_finite() && sum > 0.0).then(|| shares.values().map(|share| share / sum).collect())
}

/// Largest remainder with at least 1 each; sums to `denominator`, which is at least the number of members.
fn apportion(wanted: &[f64], denominator: u32) -> Vec<u32> {
    let ideal: Vec<f64> = wanted.iter().map(|share| steady(share * f64::from(denominator))).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 lies between 0 and that u32"
    )]
    let mut weights: Vec<u32> = ideal.iter().map(|slots| (slots.floor() as u32).max(1)).collect();
    let given: u32 = weights.iter().sum();
    let mut by_remainder: Vec<usize> = (0..ideal.len()).filter(|i| ideal[*i] >= 1.0).collect();
    by_remainder.sort_by(|a, b| steady(ideal[*b].fract()).total_cmp(&steady(ideal[*a].fract())));
    let missing = denominator.saturating_sub(given) as usize;
    for member in by_remainder.into_iter().cycle().take(missing) {
        weights[member] += 1;
    }
    for _ in denominator..given {
        take_one(&mut weights, &ideal);
    }
    weights
}

/// Takes a slot from the member that stands furthest above its ideal and can spare one; ties to the first key.
fn take_one(weights: &mut [u32], ideal: &[f64]) {
    let above = |i: usize, weights: &[u32]| steady(f64::from(weights[i]) - ideal[i]);
    let furthest = (0..weights.len())
        .filter(|i| weights[*i] > 1)
        .max_by(|a, b| above(*a, weights).total_cmp(&above(*b, weights)).then(b.cmp(a)));
    if let Some(member) = furthest {
        weights[member] -= 1;
    }
}

/// Largest distance of a weight's share from the wanted one.
fn largest_error(weights: &[u32], denominator: u32, wanted: &[f64]) -> f64 {
    weights
        .iter()
        .zip(wanted)
        .map(|(weight, share)| (f64::from(*weight) / f64::from(denominator) - share).abs())
        .fold(0.0, f64::max)
}

/// A number without the last digits of binary noise, so that 0.29 · 100 is 29.
fn steady(value: f64) -> f64 {
    (value / EPSILON).round() * EPSILON
}

/// Euclid's algorithm; the divisor of 0 and x is x.
fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
