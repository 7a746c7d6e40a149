//! Decisions: losses, pairs, regrets, tests, sizing, shares, looks, claims, worst of.

use std::collections::BTreeMap;

use pool_review::evidence::statistics::claim::{ClaimInput, claim};
use pool_review::evidence::statistics::cost::{TaskCost, Worth, loss};
use pool_review::evidence::statistics::discovery::fdr_prefix;
use pool_review::evidence::statistics::looks::{LookRules, LookState, ReverseFacts, look, reverse_rule};
use pool_review::evidence::statistics::pair::{
    PairBars, PairSide, PairVerdict, PreviousLook, mde, p_noninferior, pair_decision, regret, rows_needed,
};
use pool_review::evidence::statistics::picks::{PickMember, three_picks};
use pool_review::evidence::statistics::shares::{
    ShareLimits, ShareSide, SharedWindow, share_mismatch, sustainable_share,
};
use pool_review::evidence::statistics::sizing::{
    ClassSide, EqualLimits, Sized, SizingLimits, interchangeable, over_powered, speed_spread, under_powered,
};
use pool_review::evidence::statistics::trial::{TrialInput, value_of_test};
use pool_review::verdict::Verdict;
use pool_review::vocabulary::LookMemory;
use serde_json::{Map, Value, json};

use super::estimates::{beta, speed};
use super::{list, number, numbers, text};

/// Stake and minute of a case.
fn worth(input: &Value) -> Worth {
    Worth { stake_usd: number(&input["H"]), minute_usd: number(&input["lambda"]) }
}

/// Cost with its standard error, if known.
fn cost_of(value: &Value) -> Option<TaskCost> {
    Some(TaskCost { usd: value["cost_usd"].as_f64()?, se_usd: number(&value["cost_se_usd"]) })
}

/// Mean ln minutes with its variance, if known.
fn log_minutes(value: &Value) -> Option<(f64, f64)> {
    Some((value["log_mean"].as_f64()?, number(&value["log_var"])))
}

/// One side of a pair.
fn side(value: &Value) -> PairSide {
    PairSide {
        rate: beta(value),
        n: number(&value["n"]),
        tasks: value["tasks"].as_u64().unwrap(),
        days: value["days"].as_u64().unwrap(),
        cost: cost_of(value),
        log_minutes: log_minutes(value),
    }
}

/// `[fn loss]`.
pub(crate) fn lost(input: &Value) -> Value {
    let got = loss(number(&input["rate"]), input["cost_usd"].as_f64(), input["minutes"].as_f64(), worth(input));
    json!({
        "loss": got.total, "complete": got.is_complete(), "cost_part": got.cost, "stake_part": got.stake,
        "time_part": got.time,
    })
}

/// `[fn pair_decision]`.
pub(crate) fn pair(input: &Value) -> Value {
    let previous = &input["previous_look"];
    let previous = (!previous.is_null())
        .then(|| PreviousLook { p_saving: number(&previous["p_saving"]), new_rows: number(&previous["new_rows"]) });
    let (lead, other) = (side(&input["lead"]), side(&input["alternative"]));
    let got = pair_decision(&lead, &other, worth(input), &PairBars::default(), previous);
    let (lo, hi) = got.money.interval_90();
    let p_noninferior = p_noninferior(&lead, &other, &PairBars::default());
    let word = PairVerdict::as_str;
    json!({
        "epsilon_usd": got.money.epsilon, "excess_regret_share": got.money.excess_share(),
        "excess_regret_usd": got.money.excess_regret, "loss_alternative": got.money.loss_alternative,
        "loss_lead": got.money.loss_lead, "mde_pp": got.mde * 100.0, "p_noninferior": p_noninferior,
        "p_positive": got.money.p_positive, "p_saving": got.money.p_saving, "rate_alternative": got.rate_alternative,
        "rate_lead": got.rate_lead, "reasons": got.reasons, "regret_usd": got.money.regret, "saving_hi90": hi,
        "saving_lo90": lo, "saving_usd": got.money.saving, "sd_usd": got.money.sd, "verdict": word(got.verdict),
        "verdict_at_double": word(got.at_double), "verdict_at_half": word(got.at_half),
        "verdict_at_stake": word(got.at_stake),
    })
}

/// `[fn regret]`.
pub(crate) fn regretted(input: &Value) -> Value {
    let got = regret(number(&input["saving_usd"]), number(&input["sd_usd"]), number(&input["epsilon_usd"]));
    json!({"regret_usd": got.regret, "excess_regret_usd": got.excess, "p_saving": got.p_saving})
}

/// `[fn mde]`.
pub(crate) fn detectable(input: &Value) -> Value {
    let variance = |key: &str| number(&input[key]).powi(2);
    let got = mde(number(&input["epsilon_usd"]), number(&input["H"]), variance("sd_a"), variance("sd_b"));
    json!({"mde_pp": got * 100.0})
}

/// `[fn rows_needed]`.
pub(crate) fn rows(input: &Value) -> Value {
    let threshold = number(&input["threshold_pp"]) / 100.0;
    json!({"rows_per_arm": rows_needed(number(&input["rate_a"]), number(&input["rate_b"]), threshold)})
}

/// `[fn value_of_test]`.
pub(crate) fn trial(input: &Value) -> Value {
    let facts = TrialInput {
        saving: number(&input["saving_usd"]),
        sd: number(&input["sd_usd"]),
        epsilon: number(&input["epsilon_usd"]),
        stake: number(&input["H"]),
        rate: number(&input["rate"]),
        horizon_tasks: number(&input["horizon_tasks"]),
        pair_cost: number(&input["cost_per_pair_usd"]),
        rows_per_day: number(&input["rows_per_day"]),
    };
    let sizes: Vec<u64> = list(&input["sizes"]).iter().map(|size| size.as_u64().unwrap()).collect();
    let got = value_of_test(&facts, &sizes).unwrap();
    let table: Vec<Value> = got
        .table
        .iter()
        .map(|row| json!({"n": row.n, "p_pass": row.pass, "gain_usd": row.gain, "cost_usd": row.cost, "net_usd": row.net()}))
        .collect();
    json!({
        "best_n": got.best.n, "net_usd": got.best.net(), "outcome": got.outcome.as_str(),
        "passive_days": got.passive_days, "table": table,
    })
}

/// `[fn fdr_prefix]`.
pub(crate) fn prefix(input: &Value) -> Value {
    let claims: Vec<(&str, f64)> =
        list(&input["claims"]).iter().map(|claim| (claim["id"].as_str().unwrap(), number(&claim["p"]))).collect();
    let got = fdr_prefix(&claims, number(&input["alpha"]));
    json!({"order": got.order, "kept": got.order[..got.kept], "running_mean_error": got.running_error})
}

/// `[fn claim]`.
pub(crate) fn claimed(input: &Value) -> Value {
    let got = claim(&ClaimInput {
        saving: number(&input["saving_usd"]),
        sd: number(&input["sd_usd"]),
        stake: number(&input["H"]),
        rate_lead: number(&input["rate_lead"]),
        rate_alternative: number(&input["rate_alternative"]),
        rows_per_day: number(&input["rows_per_day"]),
        slope: number(&input["slope"]),
        inflation: number(&input["inflation"]),
    });
    json!({
        "claimed_probability": got.probability, "hi90": got.hi90, "horizon_days": got.horizon_days, "lo90": got.lo90,
        "measurable": got.is_measurable(), "min_rows": got.min_rows, "point": got.point,
    })
}

/// A finding by name.
fn sized(finding: Sized, name: &str) -> Value {
    json!(match finding {
        Sized::None => "none",
        Sized::Watch => "watch",
        Sized::Found => name,
    })
}

/// `[fn speed_spread]`.
pub(crate) fn spread(input: &Value) -> Value {
    let (ratio, n) = speed(input).unwrap();
    let (slow, fast) = (beta(&input["rate_slow"]), beta(&input["rate_fast"]));
    let got = speed_spread(&ratio, n, slow, fast, &SizingLimits::default());
    json!({
        "exempt": got.is_exempt, "finding": sized(got.finding, "speed_spread"), "lo90": ratio.lo90,
        "p_slow_better": got.p_slow_better, "ratio": ratio.ratio,
    })
}

/// `[fn over_powered]`.
pub(crate) fn over(input: &Value) -> Value {
    let side = |value: &Value| ClassSide {
        rate: beta(value),
        n: number(&value["n"]),
        cost: cost_of(value),
        log_minutes: log_minutes(value),
    };
    let (strong, cheap) = (side(&input["strong"]), side(&input["cheap"]));
    let (per_day, share) = (number(&input["tasks_per_day"]), number(&input["share"]));
    let got = over_powered(&strong, &cheap, worth(input), per_day, share, &SizingLimits::default()).unwrap();
    json!({
        "finding": sized(got.finding, "over_powered"), "loss_change_usd": got.loss_change,
        "p_noninferior": got.p_noninferior, "p_positive": got.p_positive,
        "p_positive_double": got.p_positive_double, "saving_share": got.saving_share,
        "saving_usd_per_day": got.saving_usd_per_day,
    })
}

/// `[fn under_powered]`.
pub(crate) fn under(input: &Value) -> Value {
    let rate = beta(input);
    let (n, share, floor) = (number(&input["n"]), number(&input["share"]), number(&input["floor"]));
    let got = under_powered(rate, n, share, floor, &SizingLimits::default());
    let (lo90, hi90) = rate.interval_90();
    json!({
        "finding": sized(got.finding, "under_powered"), "p_below": got.p_below, "mean": rate.mean(), "lo90": lo90,
        "hi90": hi90,
    })
}

/// `[fn interchangeable]`.
pub(crate) fn equal(input: &Value) -> Value {
    let side = |key: &str| (beta(&input[key]), number(&input[key]["n"]));
    let ratio = (!input["speed"].is_null()).then(|| speed(&input["speed"])).flatten().map(|(ratio, _)| ratio);
    let is_same = input["same_model"].as_bool().unwrap();
    let got = interchangeable(side("a"), side("b"), is_same, ratio.as_ref(), &EqualLimits::default());
    json!({
        "delta_pp": got.difference * 100.0, "failed": got.failed, "interchangeable": got.holds(),
        "p_noninferior": got.p_noninferior, "speed_lo90": got.speed_lo90,
    })
}

/// `[fn share_mismatch]`.
pub(crate) fn mismatch(input: &Value) -> Value {
    let observed: BTreeMap<String, u64> = input["observed"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(member, tasks)| (member.clone(), tasks.as_u64().unwrap()))
        .collect();
    let got = share_mismatch(&numbers(&input["configured"]), &observed, 0.15, 30.0);
    let members: Map<String, Value> = got
        .members
        .iter()
        .map(|(member, share)| {
            let value = json!({
                "observed": share.observed, "lo99": share.lo99, "hi99": share.hi99, "difference": share.difference,
            });
            (member.clone(), value)
        })
        .collect();
    json!({"n": got.n, "members": members, "flagged": got.flagged})
}

/// A member of a weighted pool with its windows.
fn share_side(value: &Value) -> ShareSide {
    let window = |window: &Value| {
        let input = super::windows::input(window);
        SharedWindow {
            id: text(&window["id"]),
            used: input.used,
            is_rejected: input.is_rejected,
            phase: input.phase,
            length_h: input.length_h,
            rest_per_h: number(&window["rest_per_h"]),
            per_share_per_h: number(&window["per_share_per_h"]),
        }
    };
    ShareSide {
        key: text(&value["key"]),
        share: number(&value["share"]),
        windows: list(&value["windows"]).iter().map(window).collect(),
    }
}

/// `[fn sustainable_share]`.
pub(crate) fn sustainable(input: &Value) -> Value {
    let limits = ShareLimits::default();
    let (from, to) = (share_side(&input["from"]), share_side(&input["to"]));
    let got = sustainable_share(&from, &to, &numbers(&input["others"]), &limits);
    let severity = got.is_high.map(|is_high| if is_high { "high" } else { "medium" });
    json!({
        "gap": got.gap(), "moved_lead_hours": got.moved_lead_hours(&limits), "moved_share": got.moved,
        "outcome": if got.reason.is_none() { "scarcer_window" } else { "none" }, "price_from": got.price_from,
        "price_to_after": got.price_to_after, "reason": got.reason, "severity": severity, "shares": got.shares,
        "weights": got.weights.map(|weights| weights.weights),
    })
}

/// `[fn three_picks]`.
pub(crate) fn picks(input: &Value) -> Value {
    let members: Vec<PickMember> = list(&input["members"])
        .iter()
        .map(|member| PickMember {
            id: text(&member["id"]),
            bill: member["bill"].as_f64(),
            q: member["q"].as_f64(),
            imputed: usize::try_from(member["imputed"].as_u64().unwrap()).unwrap(),
            n: number(&member["n"]),
            loss: member["loss"].as_f64(),
        })
        .collect();
    let got = three_picks(&text(&input["lead"]), &members, number(&input["tokens"]), number(&input["stake"]), 8.0);
    json!({
        "table": got.table, "catalog": got.catalog, "learn": got.learn, "left_out": got.left_out,
        "table_catalog": got.table_catalog(), "table_learn": got.table_learn(), "catalog_learn": got.catalog_learn(),
    })
}

/// `[fn look_states]`.
pub(crate) fn looks(input: &Value) -> Value {
    let rules = LookRules::default();
    let (mut memory, mut since) = (None::<LookMemory>, 0.0);
    let mut steps = Vec::new();
    for seen in list(&input["looks"]) {
        let p = number(&seen["p_saving"]);
        since += number(&seen["new_rows"]);
        let step = look(memory.as_ref(), p, since, input["reverse"].as_bool().unwrap(), &rules);
        steps.push(json!({"counted": step.is_counted, "streak": step.streak, "state": LookState::as_str(step.state)}));
        let kept = memory.map_or(p, |memory| if step.is_counted { p } else { memory.p });
        since = if step.is_counted { 0.0 } else { since };
        let at = chrono::DateTime::UNIX_EPOCH;
        memory = Some(LookMemory { at, p: kept, streak: step.streak, low: step.low, is_open: step.is_open });
    }
    json!({"steps": steps})
}

/// `[fn reverse_rule]`.
pub(crate) fn reverse(input: &Value) -> Value {
    let facts = ReverseFacts {
        days: number(&input["days_since_landing"]),
        rows: number(&input["rows_since_landing"]),
        p: number(&input["p_saving"]),
        looks: u32::try_from(input["looks"].as_u64().unwrap()).unwrap(),
    };
    let missing = reverse_rule(&facts, &LookRules::default());
    json!({"outcome": if missing.is_empty() { "propose_reverse" } else { "hold" }, "missing": missing})
}

/// `[fn pool_verdict]`.
pub(crate) fn worst(input: &Value) -> Value {
    let verdicts: BTreeMap<String, Verdict> = serde_json::from_value(input["verdicts"].clone()).unwrap();
    let worst = Verdict::worst(verdicts.values().copied()).unwrap();
    let carriers: Vec<&String> = verdicts.iter().filter(|(_, verdict)| **verdict == worst).map(|(c, _)| c).collect();
    json!({"verdict": worst, "decided_by": carriers})
}
