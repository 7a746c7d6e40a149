//! Estimators: numerics, weights, priors, rates, durations, costs, drift, judges.

use std::collections::BTreeMap;

use pool_review::evidence::rates::wilson;
use pool_review::evidence::statistics::Beta;
use pool_review::evidence::statistics::cost::task_cost;
use pool_review::evidence::statistics::difference::{diff_interval, p_diff};
use pool_review::evidence::statistics::drift::{DRIFT_Z, DriftClass, drift};
use pool_review::evidence::statistics::duration::{
    DurationRules, LogCells, SpeedRatio, TimedRow, log_duration, mean_variance, speed_ratio,
};
use pool_review::evidence::statistics::mix::{class_mix, standardised_rate};
use pool_review::evidence::statistics::normal::cdf;
use pool_review::evidence::statistics::prior::{
    IndexView, Prior, PriorRules, Shared, Tally, posterior, prior, prior_base,
};
use pool_review::evidence::statistics::severity::{JudgeCell, severity};
use pool_review::evidence::statistics::sources::cell_mean;
use pool_review::evidence::statistics::weight::{RowWeights, Unused, row_weight};
use serde_json::{Value, json};

use super::{list, number, numbers, text};

/// A beta distribution.
pub(crate) fn beta(value: &Value) -> Beta {
    Beta::new(number(&value["alpha"]), number(&value["beta"]))
}

/// `[fn beta_cdf]`.
pub(crate) fn beta_cdf(input: &Value) -> Value {
    json!({"p": beta(input).cdf(number(&input["x"]))})
}

/// `[fn beta_quantile]`.
pub(crate) fn beta_quantile(input: &Value) -> Value {
    json!({"x": beta(input).quantile(number(&input["p"]))})
}

/// `[fn normal_cdf]`.
pub(crate) fn normal(input: &Value) -> Value {
    json!({"p": cdf(number(&input["z"]))})
}

/// `[fn p_diff]`.
pub(crate) fn probability(input: &Value) -> Value {
    json!({"p": p_diff(beta(&input["a"]), beta(&input["b"]), number(&input["delta"]))})
}

/// `[fn diff_interval]`.
pub(crate) fn interval(input: &Value) -> Value {
    let got = diff_interval(beta(&input["a"]), beta(&input["b"]));
    json!({"mean_pp": got.mean * 100.0, "lo90_pp": got.lo90 * 100.0, "hi90_pp": got.hi90 * 100.0})
}

/// `[fn wilson]`.
pub(crate) fn wilson_interval(input: &Value) -> Value {
    let got = wilson(number(&input["successes"]), number(&input["n"]));
    json!({"lo": got.map(|got| got.0), "hi": got.map(|got| got.1)})
}

/// `[fn row_weight]`.
pub(crate) fn weight(input: &Value) -> Value {
    let (age, attempts) = (number(&input["age_days"]), input["attempts"].as_u64().unwrap());
    let got = row_weight(age, attempts, input["before_epoch"].as_bool().unwrap(), &RowWeights::default());
    json!({"weight": got.unwrap_or(0.0), "used": got.is_ok(), "reason": got.err().map(Unused::as_str)})
}

/// `[fn class_mix]`.
pub(crate) fn mix(input: &Value) -> Value {
    let got = class_mix(&numbers(&input["weights"]), 0.05);
    json!({"mix": got.shares, "merged": got.merged})
}

/// Successes and rows.
pub(crate) fn tally(value: &Value) -> Tally {
    Tally { s: number(&value["s"]), n: number(&value["n"]) }
}

/// `[fn prior_base]`.
pub(crate) fn base(input: &Value) -> Value {
    let (class, pool) = (tally(&input["others_in_class"]), tally(&input["others_in_pool"]));
    let (p_ref, basis) = prior_base(class, pool, &PriorRules::default());
    json!({"p_ref": p_ref, "basis": basis.as_str()})
}

/// The prior of a case.
fn prior_of(input: &Value) -> Prior {
    let view = IndexView {
        index: input["index"].as_f64(),
        reference: input["index_ref"].as_f64(),
        is_imputed: input["imputed"].as_bool().unwrap(),
    };
    prior(number(&input["p_ref"]), &view, &PriorRules::default())
}

/// `[fn prior]`.
pub(crate) fn before(input: &Value) -> Value {
    let got = prior_of(input);
    let (alpha, beta) = (got.kappa * got.theta, got.kappa * (1.0 - got.theta));
    json!({"theta0": got.theta, "kappa": got.kappa, "alpha": alpha, "beta": beta})
}

/// `[fn posterior]`.
pub(crate) fn after(input: &Value) -> Value {
    let shared = &input["shared"];
    let shared =
        (!shared.is_null()).then(|| Shared { tally: tally(shared), sources: shared["sources"].as_u64().unwrap() });
    let got = posterior(prior_of(input), shared, tally(&input["own"]), &PriorRules::default());
    let (lo90, hi90) = got.rate.interval_90();
    json!({
        "alpha": got.rate.alpha, "beta": got.rate.beta, "external_rows": got.external_rows, "hi90": hi90,
        "kappa": got.prior.kappa, "lo90": lo90, "mean": got.rate.mean(), "sd": got.rate.sd(),
        "theta0": got.prior.theta,
    })
}

/// `[fn standardised_rate]`.
pub(crate) fn standardised(input: &Value) -> Value {
    let cells: BTreeMap<String, Beta> =
        input["cells"].as_object().unwrap().iter().map(|(class, cell)| (class.clone(), beta(cell))).collect();
    let got = standardised_rate(&cells, &numbers(&input["mix"])).unwrap();
    let (lo90, hi90) = got.interval_90();
    json!({"alpha": got.alpha, "beta": got.beta, "mean": got.mean(), "sd": got.sd(), "lo90": lo90, "hi90": hi90})
}

/// Class → ln minutes and the variance of that mean.
fn log_cells(value: &Value) -> LogCells {
    let cell = |cell: &Value| {
        let n = number(&cell["n"]);
        (number(&cell["log_mean"]), mean_variance(number(&cell["log_sd"]), n, &DurationRules::default()))
    };
    value.as_object().unwrap().iter().map(|(class, value)| (class.clone(), cell(value))).collect()
}

/// The speed ratio of a case, and the timed rows of both sides in the shared classes.
pub(crate) fn speed(input: &Value) -> Option<(SpeedRatio, (f64, f64))> {
    let got = speed_ratio(&log_cells(&input["slow"]), &log_cells(&input["fast"]), &numbers(&input["mix"]))?;
    let rows = |side: &str| got.shared.iter().map(|class| number(&input[side][class]["n"])).sum();
    let n = (rows("slow"), rows("fast"));
    Some((got, n))
}

/// `[fn speed_ratio]`.
pub(crate) fn ratio(input: &Value) -> Value {
    let got = speed(input).map(|(got, _)| got);
    let of = |f: fn(&SpeedRatio) -> f64| got.as_ref().map(f);
    json!({
        "ratio": of(|g| g.ratio), "lo90": of(|g| g.lo90), "hi90": of(|g| g.hi90),
        "minutes_slow": of(|g| g.minutes_slow), "minutes_fast": of(|g| g.minutes_fast),
        "p_ratio_gt_2": of(|g| g.chance_above(2.0)), "p_ratio_gt_3": of(|g| g.chance_above(3.0)),
        "shared": got.as_ref().map(|g| g.shared.clone()).unwrap_or_default(),
    })
}

/// `[fn log_duration]`.
pub(crate) fn duration(input: &Value) -> Value {
    let rows: Vec<TimedRow> = list(&input["minutes"])
        .iter()
        .zip(list(&input["weights"]))
        .zip(list(&input["censored"]))
        .map(|((minutes, weight), censored)| TimedRow {
            minutes: number(minutes),
            weight: number(weight),
            is_censored: censored.as_bool().unwrap(),
        })
        .collect();
    let got = log_duration(&rows, &DurationRules::default()).unwrap();
    json!({
        "censored_share": got.censored_share, "log_mean": got.log_mean, "log_sd": got.log_sd, "log_var": got.log_var,
        "minutes": got.log_mean.exp(), "n": got.n, "use_median": got.is_median,
    })
}

/// `[fn task_cost]`.
pub(crate) fn cost(input: &Value) -> Value {
    let rows: Vec<(Option<f64>, f64)> = list(&input["costs_usd"])
        .iter()
        .zip(list(&input["weights"]))
        .map(|(cost, weight)| (cost.as_f64(), number(weight)))
        .collect();
    let (got, n) = (task_cost(&rows), rows.iter().map(|row| row.1).sum::<f64>());
    json!({"cost_usd": got.map(|got| got.usd), "se_usd": got.map(|got| got.se_usd), "n": n})
}

/// `[fn drift]`.
pub(crate) fn drifted(input: &Value) -> Value {
    let side = |value: &Value| (number(&value["s"]), number(&value["n"]));
    let classes: Vec<DriftClass> = input["classes"]
        .as_object()
        .unwrap()
        .values()
        .map(|class| DriftClass { recent: side(&class["recent"]), before: side(&class["before"]) })
        .collect();
    let z = drift(&classes);
    json!({"z": z, "drift": z.is_some_and(|z| z.abs() > DRIFT_Z)})
}

/// `[fn severity]`.
pub(crate) fn judges(input: &Value) -> Value {
    let cells: Vec<JudgeCell> = list(&input["cells"])
        .iter()
        .map(|cell| JudgeCell {
            judge: text(&cell["judge"]),
            item: text(&cell["item"]),
            n: number(&cell["n"]),
            mean: number(&cell["mean"]),
        })
        .collect();
    let got = severity(&cells);
    json!({
        "components": got.components, "item_means": got.item_means, "severity": got.severity,
        "uncorrected": got.uncorrected,
    })
}

/// `[fn cell_mean]`.
pub(crate) fn shared_cell(input: &Value) -> Value {
    let sources: Vec<(f64, f64)> =
        list(&input["sources"]).iter().map(|source| (number(&source["mean"]), number(&source["n"]))).collect();
    let (mean, method) = cell_mean(&sources);
    json!({"mean": mean, "method": method.as_str()})
}
