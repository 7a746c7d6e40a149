//! Every case of every handed golden file: dispatched on its function, compared to 1e-6 on numbers and exactly on the rest.
//! A function that is not known here fails the test, and so does one that no file holds.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]

#[path = "../common/mod.rs"]
mod common;
mod decisions;
mod estimates;
mod market;
mod records;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// How the outputs of a golden case are computed from its inputs.
type Compute = fn(&Value) -> Value;

/// Every function of the golden files.
const FUNCTIONS: [(&str, Compute); 55] = [
    ("baseline_state", records::baseline),
    ("beta_cdf", estimates::beta_cdf),
    ("beta_quantile", estimates::beta_quantile),
    ("bill", market::bill),
    ("calibration", records::calibrated),
    ("cell_mean", estimates::shared_cell),
    ("claim", decisions::claimed),
    ("class_mix", estimates::mix),
    ("configured_share", records::configured_share),
    ("content_digest", records::content),
    ("did", records::difference_in_differences),
    ("diff_interval", estimates::interval),
    ("drift", estimates::drifted),
    ("fdr_prefix", decisions::prefix),
    ("git_blob", records::blob),
    ("identity", records::identity),
    ("integer_weights", windows::weights),
    ("interchangeable", decisions::equal),
    ("latest_model", market::latest_model),
    ("log_duration", estimates::duration),
    ("look_states", decisions::looks),
    ("loss", decisions::lost),
    ("mde", decisions::detectable),
    ("member_price", windows::member_price),
    ("normal_cdf", estimates::normal),
    ("over_powered", decisions::over),
    ("p_diff", estimates::probability),
    ("pair_decision", decisions::pair),
    ("pareto", market::pareto_of),
    ("pool_verdict", decisions::worst),
    ("posterior", estimates::after),
    ("prior", estimates::before),
    ("prior_base", estimates::base),
    ("regret", decisions::regretted),
    ("retire_flags", market::retire_flags),
    ("reverse_rule", decisions::reverse),
    ("ring", records::ring),
    ("row_weight", estimates::weight),
    ("rows_needed", decisions::rows),
    ("severity", estimates::judges),
    ("share_mismatch", decisions::mismatch),
    ("speed_ratio", estimates::ratio),
    ("speed_spread", decisions::spread),
    ("standardised_rate", estimates::standardised),
    ("standing", market::standing),
    ("subtree_digest", records::subtree),
    ("sustainable_share", decisions::sustainable),
    ("task_cost", estimates::cost),
    ("three_picks", decisions::picks),
    ("under_powered", decisions::under),
    ("value_of_test", decisions::trial),
    ("verification", records::verified),
    ("wilson", estimates::wilson_interval),
    ("window_finding", windows::finding),
    ("window_price", windows::price),
];

/// A number that must be there.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// A list of objects.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// A text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Name → number, nulls left out.
pub(crate) fn numbers(value: &Value) -> BTreeMap<String, f64> {
    let pairs = value.as_object().unwrap().iter();
    pairs.filter_map(|(name, number)| Some((name.clone(), number.as_f64()?))).collect()
}

/// Differences between what came out and what is expected: numbers within 1e-6, the rest exactly.
fn differences(path: &str, got: &Value, wanted: &Value, out: &mut Vec<String>) {
    match (got, wanted) {
        (Value::Number(got), Value::Number(wanted)) => {
            let (got, wanted) = (got.as_f64().unwrap(), wanted.as_f64().unwrap());
            if (got - wanted).abs() > 1e-6 {
                out.push(format!("{path}: {got} instead of {wanted}"));
            }
        }
        (Value::Array(got), Value::Array(wanted)) if got.len() == wanted.len() => {
            for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
                differences(&format!("{path}[{i}]"), got, wanted, out);
            }
        }
        (Value::Object(got), Value::Object(wanted)) if got.keys().eq(wanted.keys()) => {
            wanted.iter().for_each(|(key, value)| differences(&format!("{path}.{key}"), &got[key], value, out));
        }
        _ if got == wanted => {}
        _ => out.push(format!("{path}: {got} instead of {wanted}")),
    }
}

#[test]
fn every_golden_case_comes_out_as_handed() {
    let Some(shared) = common::shared() else { return };
    let functions: BTreeMap<&str, Compute> = FUNCTIONS.into();
    let (mut seen, mut wrong, mut cases) = (BTreeSet::new(), Vec::new(), 0);
    let is_json = |name: &str| std::path::Path::new(name).extension().is_some_and(|extension| extension == "json");
    for file in common::files_below(&shared.join("golden"), &is_json) {
        let golden: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        for case in list(&golden["cases"]) {
            let (id, name) = (text(&case["id"]), text(&case["fn"]));
            cases += 1;
            match functions.get_key_value(name.as_str()) {
                Some((name, compute)) => {
                    seen.insert(*name);
                    differences(&format!("{id} {name}"), &compute(&case["input"]), &case["output"], &mut wrong);
                }
                None => wrong.push(format!("{id}: no function {name} is known here")),
            }
        }
    }
    let unseen: Vec<_> = functions.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unseen.is_empty(), "no golden file holds a case of {unseen:?}");
    assert!(wrong.is_empty(), "{} differences in {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
}
