//! The handed golden cases of the market arithmetic: standings, bills, fronts, fits and retire codes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pool_review::evidence::fit::{Candidate, Fit, FitOutcome, FitParams, MarketValues, latest_model};
use pool_review::evidence::front::{Point, pareto};
use pool_review::evidence::retire::{RetireFacts, RetireParams, retire_flags};
use pool_review::evidence::standing::{Rated, TaskShape, bill, standings};
use serde_json::{Map, Value, json};

/// Every case of one function in every golden file; `None` (said on stderr) without the handed folder.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn cases(function: &str) -> Option<Vec<Value>> {
    let shared = std::env::var_os("POOL_REVIEW_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("golden")) else {
        eprintln!("skipped: ../shared not present");
        return None;
    };
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry.expect("the golden shape").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let golden: Value =
                serde_json::from_slice(&std::fs::read(path).expect("the golden shape")).expect("the golden shape");
            let all = golden["cases"].as_array().cloned().unwrap_or_default();
            cases.extend(all.into_iter().filter(|case| case["fn"] == function));
        }
    }
    assert!(!cases.is_empty(), "no golden case of {function}: the test would prove nothing");
    Some(cases)
}

/// Whether two values agree: numbers within 1e-6, everything else exactly.
fn agree(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Number(a), Value::Number(b)) => {
            (a.as_f64().expect("the golden shape") - b.as_f64().expect("the golden shape")).abs() <= 1e-6
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Runs every case of a function.
fn run(function: &str, compute: impl Fn(&Value) -> Value) {
    for case in cases(function).unwrap_or_default() {
        let got = compute(&case["input"]);
        assert!(agree(&got, &case["output"]), "{}: got {got}, want {}", case["id"], case["output"]);
    }
}

/// A list of objects.
fn list(value: &Value) -> &[Value] {
    value.as_array().expect("the golden shape")
}

/// A text.
fn text(value: &Value) -> String {
    value.as_str().expect("the golden shape").to_owned()
}

/// Name → number, nulls left out.
fn numbers(value: &Value) -> BTreeMap<String, f64> {
    let pairs = value.as_object().expect("the golden shape").iter();
    pairs.filter_map(|(name, number)| Some((name.clone(), number.as_f64()?))).collect()
}

#[test]
fn standing_agrees() {
    run("standing", |input| {
        let models: Vec<Rated> = list(&input["models"])
            .iter()
            .map(|model| Rated { id: text(&model["id"]), indices: numbers(&model["indices"]) })
            .collect();
        let got = standings(&models, &numbers(&input["weights"]));
        let standing: Map<String, Value> = got
            .by_id
            .into_iter()
            .map(|(id, one)| (id, json!({"imputed": one.imputed, "index": one.index, "q": one.q})))
            .collect();
        json!({"dropped": got.dropped, "maxima": got.maxima, "standing": standing})
    });
}

#[test]
fn bill_agrees() {
    run("bill", |input| {
        let number = |key: &str| input[key].as_f64();
        let shape = TaskShape {
            cache_share: number("cache_share").expect("the golden shape"),
            input_per_output: number("input_per_output").expect("the golden shape"),
        };
        let got = bill(number("prompt"), number("completion"), number("cache_read"), shape);
        json!({
            "bill": got.map(|bill| bill.usd_per_mtok),
            "cache_price_assumed": got.is_some_and(|bill| bill.cache_price_assumed),
        })
    });
}

#[test]
fn pareto_agrees_in_any_order() {
    for turn in 0..3 {
        run("pareto", |input| {
            let mut points: Vec<Point> = list(&input["points"])
                .iter()
                .map(|point| Point {
                    id: text(&point["id"]),
                    bill: point["bill"].as_f64().expect("the golden shape"),
                    q: point["q"].as_f64().expect("the golden shape"),
                    imputed: usize::try_from(point["imputed"].as_u64().expect("the golden shape"))
                        .expect("the golden shape"),
                })
                .collect();
            let shift = turn % points.len().max(1);
            points.rotate_left(shift);
            let got = pareto(
                &points,
                input["tokens"].as_f64().expect("the golden shape"),
                input["stake"].as_f64().expect("the golden shape"),
            );
            json!({
                "distances": got.distances, "front": got.front, "hull": got.hull, "hull_gap": got.hull_gap,
                "knee": got.knee, "objective": got.objective, "stake_pick": got.stake_pick,
            })
        });
    }
}

/// Market values of a golden member or candidate.
fn values(model: &Value) -> MarketValues {
    let number = |key: &str| model[key].as_f64();
    MarketValues { id: text(&model["id"]), bill: number("bill"), q: number("q"), speed: number("speed"), imputed: 0 }
}

/// A fit in the golden shape.
fn fit_json(fit: &Fit) -> Value {
    let candidates: Vec<Value> = fit
        .candidates
        .iter()
        .map(|one| {
            let bars: Vec<&str> = one.bars.iter().map(|bar| bar.as_str()).collect();
            json!({
                "bars": bars, "belongs": one.belongs, "code": one.code.as_str(), "displaces": one.displaces,
                "dominates": one.dominates, "id": one.id, "on_front": one.on_front,
            })
        })
        .collect();
    let nearest = fit.nearest_miss.as_ref().map(|miss| {
        json!({
            "bill_ratio": miss.bill_ratio, "id": miss.id, "q_short": miss.q_short, "speed_ratio": miss.speed_ratio,
        })
    });
    let verdict = match fit.outcome {
        FitOutcome::Missing => "misaligned",
        FitOutcome::Pending => "watch",
        FitOutcome::NothingFits => "aligned",
    };
    json!({"candidates": candidates, "front_now": fit.front_now, "nearest_miss": nearest, "verdict": verdict})
}

#[test]
fn latest_model_agrees() {
    run("latest_model", |input| {
        let members: Vec<MarketValues> = list(&input["members"]).iter().map(values).collect();
        let candidates: Vec<Candidate> = list(&input["candidates"])
            .iter()
            .map(|one| Candidate {
                values: values(one),
                age_days: one["age_days"].as_f64().expect("the golden shape"),
                has_home: one["home"].as_bool().expect("the golden shape"),
                is_allowed: one["policy_ok"].as_bool().expect("the golden shape"),
                is_capable: one["capable"].as_bool().expect("the golden shape"),
            })
            .collect();
        let (tokens, stake) =
            (input["tokens"].as_f64().expect("the golden shape"), input["stake"].as_f64().expect("the golden shape"));
        fit_json(&latest_model(&members, &candidates, tokens, stake, &FitParams::default()))
    });
}

#[test]
fn retire_flags_agrees() {
    run("retire_flags", |input| {
        let facts = RetireFacts {
            days_to_end: input["days_to_end"].as_f64(),
            p_dominated: input["p_dominated"].as_f64(),
            is_market_dominated: input["market_dominated"].as_bool().expect("the golden shape"),
            share_14d: input["share_14d"].as_f64(),
            attempts: input["attempts"].as_u64().expect("the golden shape"),
            available: input["available"].as_u64().expect("the golden shape"),
        };
        let codes: Vec<&str> =
            retire_flags(&facts, &RetireParams::default()).iter().map(|code| code.as_str()).collect();
        json!({"codes": codes})
    });
}
