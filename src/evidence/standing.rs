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
    let maxima: BTreeMap<String, f64> = weights
        .keys()
        .filter_map(|name| {
            let values = models.iter().filter_map(|model| model.indices.get(name).copied());
            values.max_by(f64::total_cmp).map(|largest| (name.clone(), largest))
        })
        .collect();
    let dropped = weights.keys().filter(|name| !maxima.contains_key(*name)).cloned().collect();
    let ratios = median_ratios(models, &maxima);
    let by_id = models.iter().map(|model| (model.id.clone(), standing_of(model, &ratios, weights, &maxima))).collect();
    Standings { by_id, maxima, dropped }
}

/// Standing of one model of the set.
fn standing_of(
    model: &Rated,
    ratios: &Ratios<'_>,
    weights: &BTreeMap<String, f64>,
    maxima: &BTreeMap<String, f64>,
) -> Standing {
    let (mut points, mut relative, mut weight_sum) = (0.0, 0.0, 0.0);
    let mut imputed = BTreeSet::new();
    for (name, &weight) in weights.iter().filter(|(_, weight)| **weight > 0.0) {
        let Some(&largest) = maxima.get(name).filter(|largest| **largest > 0.0) else { continue };
        let value = match model.indices.get(name) {
            Some(&value) => value,
            None => match impute(model, name, ratios, maxima) {
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
fn impute(model: &Rated, missing: &str, ratios: &Ratios<'_>, maxima: &BTreeMap<String, f64>) -> Option<f64> {
    let largest = *maxima.get(missing)?;
    let offers: Vec<f64> = maxima
        .iter()
        .filter(|(name, other_largest)| name.as_str() != missing && **other_largest > 0.0)
        .filter_map(|(name, other_largest)| {
            let own = model.indices.get(name)?;
            let donated = ratios.get(&(missing, name.as_str())).copied();
            let ratio = donated.unwrap_or(largest / other_largest);
            Some(own * ratio)
        })
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of indices")]
    let mean = (!offers.is_empty()).then(|| offers.iter().sum::<f64>() / offers.len() as f64);
    mean.map(|value| value.min(largest))
}

/// (Missing index, other index) → median ratio over the models that have both.
type Ratios<'a> = BTreeMap<(&'a str, &'a str), f64>;

/// The ratios of every pair of indices with enough donors. A model that lacks an index is no donor of it, so one median serves
/// every model of the set.
fn median_ratios<'a>(models: &[Rated], maxima: &'a BTreeMap<String, f64>) -> Ratios<'a> {
    let pairs = maxima.keys().flat_map(|missing| maxima.keys().map(move |other| (missing.as_str(), other.as_str())));
    pairs
        .filter(|(missing, other)| missing != other)
        .filter_map(|(missing, other)| Some(((missing, other), median_ratio(missing, other, models)?)))
        .collect()
}

/// Median of `missing / other` over the models that have both; `None` with fewer than three donors.
fn median_ratio(missing: &str, other: &str, models: &[Rated]) -> Option<f64> {
    let mut ratios: Vec<f64> = models
        .iter()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A model with these indices.
    fn rated(id: &str, indices: &[(&str, f64)]) -> Rated {
        Rated {
            id: id.to_owned(),
            indices: indices.iter().map(|(name, points)| ((*name).to_owned(), *points)).collect(),
        }
    }

    /// Half intelligence, half coding.
    fn halves() -> BTreeMap<String, f64> {
        [("intelligence", 0.5), ("coding", 0.5)].map(|(name, weight)| (name.to_owned(), weight)).into()
    }

    #[test]
    fn with_fewer_than_three_donors_a_missing_index_takes_equal_standing() {
        // Two donors: coding of "new" = 40 · M_coding / M_intelligence = 40 · 60 / 50 = 48, so q = 100·(40/50 + 48/60)/2 = 80.
        let models = [
            rated("a", &[("intelligence", 50.0), ("coding", 60.0)]),
            rated("b", &[("intelligence", 30.0), ("coding", 20.0)]),
            rated("new", &[("intelligence", 40.0)]),
        ];
        let got = standings(&models, &halves());
        assert_eq!((got.by_id["new"].index, got.by_id["new"].q), (Some(44.0), Some(80.0)));
        assert_eq!(got.by_id["new"].imputed, ["coding"]);
    }

    #[test]
    fn a_model_without_any_index_has_no_standing_and_an_index_nobody_has_is_dropped() {
        let models = [rated("a", &[("intelligence", 50.0)]), rated("bare", &[])];
        let got = standings(&models, &halves());
        assert_eq!(got.dropped, ["coding"]);
        assert_eq!(got.by_id["a"], Standing { index: Some(50.0), q: Some(100.0), imputed: vec![] });
        assert_eq!(got.by_id["bare"], Standing::default());
    }

    #[test]
    fn the_order_of_the_models_changes_nothing() {
        let mut models = vec![
            rated("a", &[("intelligence", 50.0), ("coding", 60.0)]),
            rated("b", &[("intelligence", 30.1), ("coding", 20.3)]),
            rated("c", &[("intelligence", 41.7), ("coding", 33.3)]),
            rated("d", &[("coding", 12.9)]),
            rated("e", &[("intelligence", 22.2)]),
            rated("f", &[("intelligence", 47.1), ("coding", 51.3)]),
        ];
        let before = standings(&models, &halves());
        models.reverse();
        assert_eq!(before, standings(&models, &halves()));
    }

    #[test]
    fn an_unknown_price_is_no_bill_and_not_a_free_one() {
        let shape = TaskShape { cache_share: 0.0, input_per_output: 10.0 };
        assert_eq!(bill(None, Some(1.0), Some(0.1), shape), None);
        assert_eq!(bill(Some(1.0), None, Some(0.1), shape), None);
        // Nothing is read from cache, so a missing cache price is no assumption: 1 + 5/10 = 1.5.
        let got = bill(Some(1.0), Some(5.0), None, shape);
        assert_eq!(got, Some(Bill { usd_per_mtok: 1.5, cache_price_assumed: false }));
    }
}
