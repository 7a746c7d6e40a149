//! Records: identities, digests, baselines, rings, verification, calibration.

use pool_review::evidence::statistics::calibration::{MeasuredClaim, calibration};
use pool_review::evidence::statistics::verification::{
    BeforeAfter, MeasuredChange, VerificationFacts, VerificationRule, did, verify,
};
use pool_review::history::{Current, Previous, baseline_state};
use pool_review::ring::{Rotation, ShareNode, assign, configured_shares, lead_of};
use pool_review::verdict::{Verdict, axis, content_digest, fingerprint};
use pool_review::vocabulary::{Selection, canonical_json, git_blob, subtree_digest};
use serde_json::{Map, Value, json};

use super::estimates::tally;
use super::{list, number, text};

/// `[fn identity]`.
pub(crate) fn identity(input: &Value) -> Value {
    let part = |key: &str| text(&input[key]);
    let (pool, seat, subject, other) = (part("pool"), part("seat"), part("subject"), part("counterpart"));
    json!({
        "axis": axis(&pool, &seat, &subject, &other),
        "canonical": canonical_json(input),
        "fingerprint": fingerprint(&part("check"), &part("code"), &part("kind"), &pool, &seat, &subject, &other),
    })
}

/// `[fn content_digest]`.
pub(crate) fn content(input: &Value) -> Value {
    json!({"content_digest": content_digest(&input["proposal"]).to_string()})
}

/// `[fn subtree_digest]`.
pub(crate) fn subtree(input: &Value) -> Value {
    let digest = subtree_digest(&input["document"], &text(&input["pointer"])).unwrap();
    json!({"subtree_digest": digest.to_string()})
}

/// `[fn git_blob]`.
pub(crate) fn blob(input: &Value) -> Value {
    json!({"blob": git_blob(&text(&input["text"]))})
}

/// A verdict word.
fn verdict(value: &Value) -> Verdict {
    serde_json::from_value(value["verdict"].clone()).unwrap()
}

/// `[fn baseline_state]`.
pub(crate) fn baseline(input: &Value) -> Value {
    let (now, old) = (&input["current"], &input["previous"]);
    let current = (!now.is_null()).then(|| Current {
        content_digest: now["content_digest"].as_str().unwrap(),
        verdict: verdict(now),
        point: now["point"].as_i64().unwrap(),
        subtree_digest: now["subtree_digest"].as_str().unwrap(),
    });
    let previous = (!old.is_null()).then(|| Previous {
        content_digest: old["content_digest"].as_str().unwrap(),
        verdict: verdict(old),
        lo90: old["lo90"].as_i64().unwrap(),
        hi90: old["hi90"].as_i64().unwrap(),
        subtree_digest: old["subtree_digest"].as_str().unwrap(),
    });
    json!({"state": baseline_state(current.as_ref(), previous.as_ref()).as_str()})
}

/// A handed tree over leaves that are numbered as they come.
fn tree(value: &Value, keys: &mut Vec<String>) -> ShareNode {
    if let Some(key) = value["key"].as_str() {
        keys.push(key.to_owned());
        return ShareNode::Leaf(keys.len() - 1);
    }
    let value = value.get("tree").unwrap_or(value);
    let selection = match value["selection"].as_str().unwrap() {
        "ordered" => Selection::Ordered,
        "weighted" => Selection::Weighted,
        _ => Selection::RoundRobin,
    };
    let children = list(&value["children"]);
    let children = children.iter().map(|child| (tree(child, keys), number(&child["weight"]))).collect();
    ShareNode::Group { route: "".into(), selection, children }
}

/// `[fn configured_share]`.
pub(crate) fn configured_share(input: &Value) -> Value {
    let mut keys = Vec::new();
    let nested = tree(&input["tree"], &mut keys);
    let computed = configured_shares(&nested, keys.len());
    let shares: Map<String, Value> = keys.iter().cloned().zip(computed.iter().map(|share| json!(share))).collect();
    json!({"shares": shares, "lead": keys[lead_of(&computed).unwrap()]})
}

/// `[fn did]`.
pub(crate) fn difference_in_differences(input: &Value) -> Value {
    let pool = |value: &Value| BeforeAfter { pre: tally(&value["pre"]), post: tally(&value["post"]) };
    let controls: Vec<BeforeAfter> = list(&input["controls"]).iter().map(pool).collect();
    let got = did(&pool(&input["treated"]), &controls);
    let points = |value: Option<f64>| value.map(|value| value * 100.0);
    json!({
        "naive_pp": points(got.naive), "control_pp": points(got.control), "did_pp": points(got.did),
        "se_pp": points(got.se), "lo90_pp": points(got.interval_90().map(|i| i.0)),
        "hi90_pp": points(got.interval_90().map(|i| i.1)),
    })
}

/// `[fn verification]`.
pub(crate) fn verified(input: &Value) -> Value {
    let measured = &input["measured"];
    let measured = match measured["holds"].as_bool() {
        Some(holds) => MeasuredChange::State(holds),
        None => MeasuredChange::Interval { lo90: number(&measured["lo90"]), hi90: number(&measured["hi90"]) },
    };
    let outcome = verify(&VerificationFacts {
        rule: VerificationRule::parse(&text(&input["rule"])).unwrap(),
        point: number(&input["claim"]["point"]),
        lo90: number(&input["claim"]["lo90"]),
        measured: Some(measured),
        rows: number(&input["rows"]),
        min_rows: number(&input["min_rows"]),
        days: number(&input["days"]),
        deadline_days: number(&input["deadline_days"]),
    });
    json!({"outcome": outcome.as_str()})
}

/// `[fn calibration]`.
pub(crate) fn calibrated(input: &Value) -> Value {
    let changes: Vec<MeasuredClaim> = list(&input["changes"])
        .iter()
        .map(|change| MeasuredClaim {
            expected: number(&change["expected"]),
            sd_claim: number(&change["sd_claim"]),
            realised: number(&change["realised"]),
            se_realised: number(&change["se_realised"]),
        })
        .collect();
    let got = calibration(&changes);
    json!({
        "brier": got.brier, "brier_constant": got.brier_constant, "coverage90": got.coverage_90,
        "hit_rate": got.hit_rate, "inflation": got.inflation, "n": got.z.len(), "propose_bar": got.propose_bar,
        "skill": got.skill, "slope": got.slope, "slope_used": got.slope_used(), "z": got.z,
    })
}

/// `[fn ring]`.
pub(crate) fn ring(input: &Value) -> Value {
    let members: Vec<(String, f64)> =
        list(&input["members"]).iter().map(|member| (text(&member[0]), number(&member[1]))).collect();
    let names = |slots: &[usize]| -> Vec<&str> { slots.iter().map(|slot| members[*slot].0.as_str()).collect() };
    let down: Vec<usize> = list(&input["down"])
        .iter()
        .map(|name| members.iter().position(|(known, _)| *known == text(name)).unwrap())
        .collect();
    let jobs = usize::try_from(input["jobs"].as_u64().unwrap()).unwrap();
    let weights: Vec<f64> = members.iter().map(|(_, weight)| *weight).collect();
    let got = Rotation::of(&weights).unwrap();
    let shares: Map<String, Value> = members
        .iter()
        .zip(got.shares_with_down(&got.block, &down))
        .map(|((name, _), share)| (name.clone(), json!(share)))
        .collect();
    json!({
        "assigned_block": names(&assign(&got.block, jobs, &down)),
        "assigned_smooth": names(&assign(&got.smooth, jobs, &down)), "block": names(&got.block),
        "count_error_block": got.count_error(&got.block, jobs), "smooth": names(&got.smooth),
        "count_error_smooth": got.count_error(&got.smooth, jobs), "share_down": shares,
    })
}
