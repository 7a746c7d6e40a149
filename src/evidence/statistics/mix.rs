//! The pool's own class mix, and a member's rate on it (methods §2, §4).

use std::collections::BTreeMap;

use super::Beta;

/// The class that small classes are merged into.
pub const OTHER: &str = "other";

/// Shares of task classes that sum to 1, and what was merged into `other`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassMix {
    /// Class → share. Empty without rows.
    pub shares: BTreeMap<String, f64>,
    /// Classes put into `other`, sorted.
    pub merged: Vec<String>,
}

impl ClassMix {
    /// The class that rows of a class are counted under.
    pub fn class_of<'a>(&'a self, class: &'a str) -> &'a str {
        if self.merged.binary_search_by(|merged| merged.as_str().cmp(class)).is_ok() { OTHER } else { class }
    }
}

/// The mix from decayed weights by class, `[fn class_mix]`; classes under `min_share` go into `other`.
pub fn class_mix(weights: &BTreeMap<String, f64>, min_share: f64) -> ClassMix {
    let total: f64 = weights.values().filter(|weight| **weight > 0.0).sum();
    let mut mix = ClassMix::default();
    if !(total > 0.0 && total.is_finite()) {
        return mix;
    }
    for (class, weight) in weights.iter().filter(|(_, weight)| **weight > 0.0) {
        let share = weight / total;
        let is_small = class != OTHER && share < min_share;
        if is_small {
            mix.merged.push(class.clone());
        }
        *mix.shares.entry(if is_small { OTHER.to_owned() } else { class.clone() }).or_default() += share;
    }
    mix
}

/// The standardised rate, `[fn standardised_rate]`: one beta with the mean and variance of `Σ π_s θ_s`. Shares need not
/// sum to 1; every class of the mix has a cell. `None` for an empty mix.
pub fn standardised_rate(cells: &BTreeMap<String, Beta>, mix: &BTreeMap<String, f64>) -> Option<Beta> {
    let parts: Vec<(f64, &Beta)> = mix.iter().filter_map(|(class, share)| Some((*share, cells.get(class)?))).collect();
    let total: f64 = parts.iter().map(|(share, _)| share).sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    if let [(_, only)] = parts[..] {
        return Some(*only);
    }
    let mean: f64 = parts.iter().map(|(share, cell)| share / total * cell.mean()).sum();
    let variance: f64 = parts.iter().map(|(share, cell)| (share / total).powi(2) * cell.variance()).sum();
    let least = 0.5 / mean.min(1.0 - mean);
    let weight = (mean * (1.0 - mean) / variance - 1.0).max(least);
    Some(Beta::new(mean * weight, (1.0 - mean) * weight))
}
