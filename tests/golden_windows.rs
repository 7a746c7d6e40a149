//! The handed numbers of window prices, member prices, window findings and integer weights: every case of every golden
//! file. Without the handed folder it says so and passes.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]
#![expect(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use pool_review::evidence::weights::integer_weights;
use pool_review::evidence::windows::{
    MemberWindows, Phase, WindowInput, WindowLabel, WindowOutcome, WindowPrice, WindowRules, WindowSeverity,
    WindowView, judge_windows, window_price,
};
use serde_json::{Value, json};

/// The functions this test runs.
const FUNCTIONS: [&str; 4] = ["window_price", "member_price", "window_finding", "integer_weights"];

/// The handed folder, if it is there.
fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("POOL_REVIEW_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    root.is_dir().then_some(root)
}

/// Every case of every golden file.
fn cases(root: &std::path::Path) -> Vec<Value> {
    let mut files: Vec<_> =
        std::fs::read_dir(root.join("golden")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let documents = files.iter().map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap());
    documents.flat_map(|document| document["cases"].as_array().cloned().unwrap_or_default()).collect()
}

/// A golden window as input of the price.
fn input(window: &Value) -> WindowInput {
    let is_unstarted = window["unstarted"].as_bool().unwrap_or(false);
    WindowInput {
        used: if is_unstarted { Some(0.0) } else { window["used"].as_f64() },
        is_rejected: window["rejected"].as_bool().unwrap_or(false),
        phase: window["tau_h"].as_f64().map_or(Phase::NoDeadline, Phase::ResetsIn),
        length_h: window["length_h"].as_f64().unwrap(),
        burn_per_h: window["burn_per_h"].as_f64(),
    }
}

/// A golden window with its price.
fn view(window: &Value) -> WindowView {
    let input = input(window);
    let is_scoped = window["scoped"].as_bool().unwrap_or(false);
    let price = window_price(&input, WindowRules::default().review_hours);
    WindowView::from_price(window["id"].as_str().unwrap(), is_scoped, input.length_h, price)
}

/// A golden member.
fn member(value: &Value) -> MemberWindows {
    let windows = value["windows"].as_array().unwrap().iter().map(view).collect();
    MemberWindows::from_windows(value["key"].as_str().unwrap_or("m"), value["cash_per_h"].as_f64(), windows)
}

/// The outputs of `window_price`.
fn price_output(price: Option<WindowPrice>) -> Value {
    let of = |f: fn(&WindowPrice) -> Value| price.as_ref().map_or(Value::Null, f);
    json!({
        "assumed_burn": of(|p| json!(p.is_burn_assumed)), "expiring": of(|p| json!(p.expiring)),
        "hours_left": of(|p| json!(p.hours_left)), "load": of(|p| json!(p.load)), "pressure": of(|p| json!(p.pressure)),
        "price": of(|p| json!(p.price)), "projected_use": of(|p| json!(p.projected_use)),
        "remaining": of(|p| json!(p.remaining)), "slack_h": of(|p| json!(p.slack_h)), "tau_h": of(|p| json!(p.tau_h)),
    })
}

/// The outputs of `window_finding`.
fn finding_output(input: &Value) -> Value {
    let rules = WindowRules::default();
    let equals: Vec<_> = input["equals"].as_array().unwrap().iter().map(member).collect();
    let judged = judge_windows(&member(&input["lead"]), &equals, &rules);
    let outcome = match judged.outcome {
        WindowOutcome::Scarce => "lead_window_scarce",
        WindowOutcome::NoEvidence(_) => "no_evidence",
        _ => "none",
    };
    let moving = judged.outcome == WindowOutcome::Scarce;
    json!({
        "against": judged.against, "cash_saved_usd": judged.cash_saved_usd, "gap": judged.gap.map(|gap| gap.low),
        "label": judged.label.filter(|_| moving).map(WindowLabel::as_str), "outcome": outcome,
        "pool_short": judged.pool_short.is_some(), "price_against": judged.price_against.map(|price| price.low),
        "price_lead": judged.price_lead.map(|price| price.low),
        "scarce_lead_hours": judged.scarce_lead_hours(&rules).map(|hours| hours.low),
        "severity": judged.severity.filter(|_| moving).map(WindowSeverity::as_str),
    })
}

/// Runs one case.
fn run(function: &str, input: &Value) -> Value {
    match function {
        "window_price" => {
            let window = &input["window"];
            price_output(window_price(&self::input(window), WindowRules::default().review_hours))
        }
        "member_price" => {
            let member = member(input);
            json!({
                "price": member.price().map(|price| price.low),
                "binding": member.binding().map(|(view, _)| view.id.clone()),
            })
        }
        "window_finding" => finding_output(input),
        _ => {
            let shares: BTreeMap<String, f64> =
                input["shares"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.as_f64().unwrap())).collect();
            let weights = integer_weights(&shares, 20, 0.05).unwrap();
            json!({ "denominator": weights.denominator, "max_error": weights.max_error, "weights": weights.weights })
        }
    }
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
        (Value::Object(got), Value::Object(wanted)) if got.keys().eq(wanted.keys()) => {
            wanted.iter().for_each(|(key, value)| differences(&format!("{path}.{key}"), &got[key], value, out));
        }
        _ if got == wanted => {}
        _ => out.push(format!("{path}: {got} instead of {wanted}")),
    }
}

#[test]
fn every_golden_case_of_windows_and_weights_comes_out_as_handed() {
    let Some(root) = shared() else {
        eprintln!("skipped: ../shared not present");
        return;
    };
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases(&root) {
        let Some(function) = FUNCTIONS.into_iter().find(|function| case["fn"] == *function) else { continue };
        *seen.entry(function).or_default() += 1;
        differences(case["id"].as_str().unwrap(), &run(function, &case["input"]), &case["output"], &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen.len(), FUNCTIONS.len(), "every function has at least one case: {seen:?}");
    eprintln!("golden cases run: {seen:?}");
}
