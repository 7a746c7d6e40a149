//! Findings that ask for a change, for every kind a config gives occasion to.

use pool_review::verdict::{Edit, Finding, Intent, ProposalKind, Seat, Verdict};
use pool_review::vocabulary::{CheckId, PoolId, SourceId};
use serde_json::{Map, Value, json};

/// A misaligned finding about a member of a pool that asks for some edits of a file.
pub(crate) fn ask(
    pool: &str,
    code: &'static str,
    kind: ProposalKind,
    path: &str,
    pointer: &str,
    edits: Vec<Edit>,
) -> Finding {
    let seat = match kind {
        ProposalKind::SwapLead | ProposalKind::Reorder => Seat::Lead,
        ProposalKind::Reweight | ProposalKind::FixKey => Seat::Weights,
        ProposalKind::RepointConsumer => Seat::Consumer,
        ProposalKind::RetirePool => Seat::Pool,
        _ => Seat::Member,
    };
    let intent = Intent {
        kind,
        seat,
        path: path.to_owned(),
        pointer: pointer.to_owned(),
        edits,
        human: format!("Do {kind} by hand."),
        moved_share: None,
        expires: None,
    };
    let check = match code {
        "lead_window_scarce" => CheckId::BestPerPool,
        "missing" | "retirement_due" => CheckId::LatestModel,
        "speed_spread" => CheckId::RightSizing,
        _ => CheckId::Structure,
    };
    Finding {
        sources: vec![SourceId::Pools],
        intent: Some(intent),
        ..Finding::new(check, PoolId::new(pool), code, "model-a@default#home", Some(Verdict::Misaligned))
    }
}

/// Every change a config file gives occasion to: pools of `experimental.model_routes`, categories of a `routing.json`.
pub(crate) fn asks(path: &str, document: &Value) -> Vec<Finding> {
    let none = Map::new();
    let members = |pointer: &str| document.pointer(pointer).and_then(Value::as_object).unwrap_or(&none).clone();
    let mut asks = Vec::new();
    for (id, pool) in members("/experimental/model_routes") {
        asks.extend(of_pool(path, &id, &format!("/experimental/model_routes/{}", id.replace('/', "~1")), &pool));
    }
    for (id, category) in members("/categories") {
        let pointer = format!("/categories/{id}");
        if category.pointer("/model/modelID").is_some_and(|old| old != "another-pool") {
            let edit = Edit::Replace { pointer: format!("{pointer}/model/modelID"), value: json!("another-pool") };
            let kind = ProposalKind::RepointConsumer;
            asks.push(ask(&format!("category/{id}"), "dangling_consumer", kind, path, &pointer, vec![edit]));
        }
    }
    asks
}

/// Every change a pool gives occasion to.
fn of_pool(path: &str, id: &str, pointer: &str, pool: &Value) -> Vec<Finding> {
    let ask = |code, kind, edits| ask(id, code, kind, path, pointer, edits);
    let mut asks =
        vec![ask("no_consumer", ProposalKind::RetirePool, vec![Edit::Remove { pointer: pointer.to_owned() }])];
    let targets = pool["targets"].as_array().cloned().unwrap_or_default();
    if !targets.is_empty() {
        let value = json!("new-home/model-z#high");
        let array = format!("{pointer}/targets");
        asks.push(ask(
            "missing",
            ProposalKind::AddTrial,
            vec![Edit::Append { array: array.clone(), value: value.clone() }],
        ));
        asks.push(ask("single_home", ProposalKind::AddMember, vec![Edit::Append { array, value }]));
    }
    for (index, target) in targets.iter().enumerate() {
        let at = format!("{pointer}/targets/{index}");
        let mut retire = vec![Edit::Remove { pointer: at.clone() }];
        retire.extend(keys_of(pool, pointer, target).into_iter().map(|pointer| Edit::Remove { pointer }));
        asks.push(ask("expired_member", ProposalKind::RetireMember, retire));
        let successor = vec![Edit::Replace { pointer: at.clone(), value: json!("home/successor") }];
        asks.push(ask("retirement_due", ProposalKind::ReplaceMember, successor));
        let dated = vec![Edit::Replace {
            pointer: at.clone(),
            value: json!({"model": "home/m", "until": 1_797_292_800_000_u64}),
        }];
        asks.push(ask("expiring_member", ProposalKind::SetUntil, dated));
        if index > 0 {
            let front = || vec![Edit::ToFront { pointer: at.clone() }];
            asks.push(ask("lead_window_scarce", ProposalKind::Reorder, front()));
            asks.push(ask("lead_window_scarce", ProposalKind::SwapLead, front()));
        }
    }
    if let Some(weights) = pool["weights"].as_object() {
        let raised = weights.iter().map(|(key, weight)| (key.clone(), json!(weight.as_i64().unwrap_or(1).abs() + 1)));
        let value = Value::Object(raised.collect());
        let edit = Edit::Replace { pointer: format!("{pointer}/weights"), value };
        asks.push(ask("speed_spread", ProposalKind::Reweight, vec![edit]));
        for key in weights.keys() {
            let edit = Edit::Remove { pointer: format!("{pointer}/weights/{}", key.replace('/', "~1")) };
            asks.push(ask("dead_weight", ProposalKind::FixKey, vec![edit]));
        }
    }
    asks
}

/// Pointers of the weight and budget keys of a target that is given as text.
fn keys_of(pool: &Value, pointer: &str, target: &Value) -> Vec<String> {
    let key = target.as_str().unwrap_or_default().split('#').next().unwrap_or_default();
    let has_key = |part: &&&str| pool[**part].get(key).is_some();
    let escaped = key.replace('/', "~1");
    ["weights", "budgets"].iter().filter(has_key).map(|part| format!("{pointer}/{part}/{escaped}")).collect()
}
