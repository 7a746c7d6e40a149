//! Market standing of models inside one set (methods §15): role-mix index in points, standing q relative to the best,
//! imputation of a missing index, and the bill of a task shape. Compare q inside one set only.

use std::collections::{BTreeMap, BTreeSet};

/// Donors needed before their median ratio is used to impute.
const MIN_DONORS: usize = 3;

/// One model of the set with the indices it has, in points. A name that is absent is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Unique id inside the set.
    pub id: String,
    /// Index name → points, finite and at least 0.
    pub indices: BTreeMap<String, f64>,
}

/// Standing of one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// Role-mix index in points; `None` without any index.
    pub index: Option<f64>,
    /// 0 to 100 relative to the best of the set on each index; `None` without any index.
    pub q: Option<f64>,
    /// Names of the indices that were imputed, sorted.
    pub imputed: Vec<String>,
}

/// Standings of a whole set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standings {
    /// By model id.
    pub by_id: BTreeMap<String, Standing>,
    /// Largest value of each index in the set.
    pub maxima: BTreeMap<String, f64>,
    /// Indices of the mix that nobody has, sorted.
    pub dropped: Vec<String>,
}

/// Standings of the set under a role mix (index name → weight). It depends on the set, never on its order. An index that
/// nobody has, or on which nobody is above 0, takes no part; an index of weight 0 helps to impute and is never imputed.
pub fn standings(models: &[Rated], weights: &BTreeMap<String, f64>) -> Standings {
    let known: Vec<&Rated> = models.iter().collect();
    let maxima: BTreeMap<String, f64> = weights
        .keys()
        .filter_map(|name| {
            let values = known.iter().filter_map(|model| model.indices.get(name).copied());
            values.max_by(f64::total_cmp).map(|largest| (name.clone(), largest))
        })
        .collect();
    let dropped = weights.keys().filter(|name| !maxima.contains_key(*name)).cloned().collect();
    let by_id = known.iter().map(|model| (model.id.clone(), standing_of(model, models, weights, &maxima))).collect();
    Standings { by_id, maxima, dropped }
}

/// Standing of one model of the set.
fn standing_of(
    model: &Rated,
    models: &[Rated],
    weights: &BTreeMap<String, f64>,
    maxima: &BTreeMap<String, f64>,
) -> Standing {
    let (mut points, mut relative, mut weight_sum) = (0.0, 0.0, 0.0);
    let mut imputed = BTreeSet::new();
    for (name, &weight) in weights.iter().filter(|(_, weight)| **weight > 0.0) {
        let Some(&largest) = maxima.get(name).filter(|largest| **largest > 0.0) else { continue };
        let value = match model.indices.get(name) {
            Some(&value) => value,
            None => match impute(model, name, models, maxima) {
                Some(value) => {
                    imputed.insert(name.clone());
                    value
                }
                None => return Standing::default(),
            },
        };
        points += weight * value;
        relative += weight * value / largest;
        weight_sum += weight;
    }
    if weight_sum <= 0.0 {
        return Standing::default();
    }
    Standing {
        index: Some(points / weight_sum),
        q: Some(100.0 * relative / weight_sum),
        imputed: imputed.into_iter().collect(),
    }
}

/// The value of a missing index: the mean of what each index the model has offers, at most the largest value of the set.
/// `None` when the model has no index to start from.
fn impute(model: &Rated, missing: &str, models: &[Rated], maxima: &BTreeMap<String, f64>) -> Option<f64> {
    let largest = *maxima.get(missing)?;
    let offers: Vec<f64> = maxima
        .iter()
        .filter(|(name, other_largest)| name.as_str() != missing && **other_largest > 0.0)
        .filter_map(|(name, other_largest)| {
            let own = model.indices.get(name)?;
            let ratio = median_ratio(&model.id, missing, name, models).unwrap_or(largest / other_largest);
            Some(own * ratio)
        })
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of indices")]
    let mean = (!offers.is_empty()).then(|| offers.iter().sum::<f64>() / offers.len() as f64);
    mean.map(|value| value.min(largest))
}

/// Median of `missing / other` over the other models that have both; `None` with fewer than three donors.
fn median_ratio(own_id: &str, missing: &str, other: &str, models: &[Rated]) -> Option<f64> {
    let mut ratios: Vec<f64> = models
        .iter()
        .filter(|donor| donor.id != own_id)
        .filter_map(|donor| Some((donor.indices.get(missing)?, donor.indices.get(other)?)))
        .filter(|(_, divisor)| **divisor > 0.0)
        .map(|(value, divisor)| value / divisor)
        .collect();
    (ratios.len() >= MIN_DONORS).then(|| median(&mut ratios))
}

/// Median of a list that is not empty; the mean of the middle two when its length is even.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The shape of a task: how its tokens are charged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskShape {
    /// Share of input read from cache, 0 to 1.
    pub cache_share: f64,
    /// Input tokens per output token, above 0.
    pub input_per_output: f64,
}

/// What a million task input tokens cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bill {
    /// USD per million task input tokens.
    pub usd_per_mtok: f64,
    /// The prompt price was charged on the cached share, because no cache price is published.
    pub cache_price_assumed: bool,
}

/// `(1−γ)·prompt + γ·cache_read + completion/ρ` (methods §15). `None` without a prompt or a completion price.
pub fn bill(prompt: Option<f64>, completion: Option<f64>, cache_read: Option<f64>, shape: TaskShape) -> Option<Bill> {
    let (prompt, completion) = (prompt?, completion?);
    let cached = cache_read.unwrap_or(prompt);
    let usd = (1.0 - shape.cache_share) * prompt + shape.cache_share * cached + completion / shape.input_per_output;
    Some(Bill { usd_per_mtok: usd, cache_price_assumed: cache_read.is_none() && shape.cache_share > 0.0 })
}
