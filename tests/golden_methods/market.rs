//! Market arithmetic: standings, bills, fronts, fits and retire codes.

use pool_review::evidence::fit::{Candidate, Fit, FitOutcome, FitParams, MarketValues, latest_model as fit_of};
use pool_review::evidence::front::{Point, pareto};
use pool_review::evidence::retire::{RetireFacts, RetireParams, retire_flags as flags};
use pool_review::evidence::standing::{Rated, TaskShape, bill as market_bill, standings};
use serde_json::{Map, Value, json};

use super::{list, number, numbers, text};

/// `[fn standing]`.
pub(crate) fn standing(input: &Value) -> Value {
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
}

/// `[fn bill]`.
pub(crate) fn bill(input: &Value) -> Value {
    let price = |key: &str| input[key].as_f64();
    let shape =
        TaskShape { cache_share: number(&input["cache_share"]), input_per_output: number(&input["input_per_output"]) };
    let got = market_bill(price("prompt"), price("completion"), price("cache_read"), shape);
    json!({
        "bill": got.map(|bill| bill.usd_per_mtok),
        "cache_price_assumed": got.is_some_and(|bill| bill.cache_price_assumed),
    })
}

/// `[fn pareto]`; the order of the points must not matter, so every rotation is compared before one is handed back.
pub(crate) fn pareto_of(input: &Value) -> Value {
    let mut points: Vec<Point> = list(&input["points"])
        .iter()
        .map(|point| Point {
            id: text(&point["id"]),
            bill: number(&point["bill"]),
            q: number(&point["q"]),
            imputed: usize::try_from(point["imputed"].as_u64().unwrap()).unwrap(),
        })
        .collect();
    let (tokens, stake) = (number(&input["tokens"]), number(&input["stake"]));
    let got = pareto(&points, tokens, stake);
    for _ in 0..points.len() {
        points.rotate_left(1);
        assert_eq!(pareto(&points, tokens, stake), got, "the order of the points changed the front");
    }
    json!({
        "distances": got.distances, "front": got.front, "hull": got.hull, "hull_gap": got.hull_gap,
        "knee": got.knee, "objective": got.objective, "stake_pick": got.stake_pick,
    })
}

/// Market values of a golden member or candidate.
fn values(model: &Value) -> MarketValues {
    let value = |key: &str| model[key].as_f64();
    MarketValues { id: text(&model["id"]), bill: value("bill"), q: value("q"), speed: value("speed"), imputed: 0 }
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

/// `[fn latest_model]`.
pub(crate) fn latest_model(input: &Value) -> Value {
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
    fit_json(&fit_of(&members, &candidates, tokens, stake, &FitParams::default()))
}

/// `[fn retire_flags]`.
pub(crate) fn retire_flags(input: &Value) -> Value {
    let facts = RetireFacts {
        days_to_end: input["days_to_end"].as_f64(),
        p_dominated: input["p_dominated"].as_f64(),
        is_market_dominated: input["market_dominated"].as_bool().expect("the golden shape"),
        share_14d: input["share_14d"].as_f64(),
        attempts: input["attempts"].as_u64().expect("the golden shape"),
        available: input["available"].as_u64().expect("the golden shape"),
    };
    let codes: Vec<&str> = flags(&facts, &RetireParams::default()).iter().map(|code| code.as_str()).collect();
    json!({"codes": codes})
}
