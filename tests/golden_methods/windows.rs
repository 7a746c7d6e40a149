//! Quota windows: prices, members, findings, integer weights.

use pool_review::evidence::weights::integer_weights;
use pool_review::evidence::windows::{
    MemberWindows, Phase, WindowInput, WindowLabel, WindowOutcome, WindowPrice, WindowRules, WindowSeverity,
    WindowView, judge_windows, window_price,
};
use serde_json::{Value, json};

/// A golden window as input of the price.
pub(crate) fn input(window: &Value) -> WindowInput {
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

/// `[fn window_finding]`.
pub(crate) fn finding(input: &Value) -> Value {
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

/// `[fn window_price]`.
pub(crate) fn price(input: &Value) -> Value {
    price_output(window_price(&self::input(&input["window"]), WindowRules::default().review_hours))
}

/// `[fn member_price]`.
pub(crate) fn member_price(input: &Value) -> Value {
    let member = member(input);
    json!({
        "price": member.price().map(|price| price.low),
        "binding": member.binding().map(|(view, _)| view.id.clone()),
    })
}

/// `[fn integer_weights]`.
pub(crate) fn weights(input: &Value) -> Value {
    let weights = integer_weights(&super::numbers(&input["shares"]), 20, 0.05).unwrap();
    json!({ "denominator": weights.denominator, "max_error": weights.max_error, "weights": weights.weights })
}
