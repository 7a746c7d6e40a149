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

/// Every change a config file gives occasion to: pools of `experimental.model_routes`, categories of a `routing.json`, lists of
/// oh-my-openagent, groups of `LiteLLM`.
pub(crate) fn asks(path: &str, document: &Value) -> Vec<Finding> {
    let none = Map::new();
    let members = |pointer: &str| document.pointer(pointer).and_then(Value::as_object).unwrap_or(&none).clone();
    let mut asks = Vec::new();
    for (id, pool) in members("/experimental/model_routes") {
        asks.extend(of_pool(path, &id, &format!("/experimental/model_routes/{}", id.replace('/', "~1")), &pool));
    }
    let sections = ["categories", "agents"];
    for (section, (id, entry)) in
        sections.iter().flat_map(|name| members(&format!("/{name}")).into_iter().map(move |e| (name, e)))
    {
        let prefix = if *section == "agents" { "omo-agent" } else { "omo" };
        asks.extend(of_list(path, &format!("{prefix}:{id}"), &format!("/{section}/{id}"), &entry));
    }
    for (index, entry) in document["model_list"].as_array().into_iter().flatten().enumerate() {
        asks.extend(of_entry(path, index, entry));
    }
    for (alias, _) in members("/router_settings/model_group_alias") {
        let pointer = format!("/router_settings/model_group_alias/{alias}");
        let edit = Edit::Replace { pointer: pointer.clone(), value: json!("another-group") };
        asks.push(ask(
            &format!("litellm/{alias}"),
            "dangling_consumer",
            ProposalKind::RepointConsumer,
            path,
            &pointer,
            vec![edit],
        ));
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

/// Every change a list of oh-my-openagent gives occasion to; none for what has no model of its own.
fn of_list(path: &str, id: &str, pointer: &str, entry: &Value) -> Vec<Finding> {
    let Some(primary) = entry["model"].as_str() else { return Vec::new() };
    let ask = |code, kind, edits| ask(id, code, kind, path, pointer, edits);
    let replace = |part: &str, value: Value| Edit::Replace { pointer: format!("{pointer}/{part}"), value };
    let remove = |part: &str| Edit::Remove { pointer: format!("{pointer}/{part}") };
    let mut asks = vec![
        ask("retirement_due", ProposalKind::ReplaceMember, vec![replace("model", json!("home/successor(high)"))]),
        ask("no_consumer", ProposalKind::RetirePool, vec![Edit::Remove { pointer: pointer.to_owned() }]),
        ask("dangling_consumer", ProposalKind::RepointConsumer, vec![replace("model", json!("opencode-route/other"))]),
    ];
    match &entry["fallback_models"] {
        Value::String(only) => {
            let front = vec![replace("model", json!(only)), replace("fallback_models", json!(primary))];
            asks.push(ask("lead_window_scarce", ProposalKind::SwapLead, front));
            asks.push(ask("expired_member", ProposalKind::RetireMember, vec![remove("fallback_models")]));
        }
        Value::Array(all) => {
            let array = format!("{pointer}/fallback_models");
            let value = json!("new-home/model-z(low)");
            asks.push(ask("single_home", ProposalKind::AddMember, vec![Edit::Append { array, value }]));
            for index in 0..all.len() {
                let part = format!("fallback_models/{index}");
                asks.push(ask("expired_member", ProposalKind::RetireMember, vec![remove(&part)]));
                asks.push(ask(
                    "retirement_due",
                    ProposalKind::ReplaceMember,
                    vec![replace(&part, json!("home/other"))],
                ));
                let mut order: Vec<Value> = all.clone();
                order.remove(index);
                order.insert(0, json!(primary));
                let lead = all[index].as_str().unwrap_or("home/lead(high)");
                let front = vec![replace("model", json!(lead)), replace("fallback_models", json!(order))];
                asks.push(ask("lead_window_scarce", ProposalKind::Reorder, front));
            }
        }
        _ => {}
    }
    asks
}

/// Every change an entry of a `LiteLLM` list gives occasion to.
fn of_entry(path: &str, index: usize, entry: &Value) -> Vec<Finding> {
    let (list, at) = ("/model_list", format!("/model_list/{index}"));
    let id = format!("litellm:{}", entry["model_name"].as_str().unwrap());
    let ask = |code, kind, edits| ask(&id, code, kind, path, list, edits);
    let params = format!("{at}/litellm_params");
    let weight = match entry["litellm_params"].get("weight") {
        Some(weight) => {
            Edit::Replace { pointer: format!("{params}/weight"), value: json!(weight.as_i64().unwrap() + 1) }
        }
        None => Edit::Insert { object: params.clone(), key: "weight".to_owned(), value: json!(2) },
    };
    let newcomer = json!({"model_name": entry["model_name"], "litellm_params": {"model": "home/new", "weight": 1}});
    let model = Edit::Replace { pointer: format!("{params}/model"), value: json!("home/successor") };
    let mut asks = vec![
        ask("speed_spread", ProposalKind::Reweight, vec![weight]),
        ask("retirement_due", ProposalKind::ReplaceMember, vec![model]),
        ask("expired_member", ProposalKind::RetireMember, vec![Edit::Remove { pointer: at.clone() }]),
        ask("single_home", ProposalKind::AddMember, vec![Edit::Append { array: list.to_owned(), value: newcomer }]),
    ];
    if index > 0 {
        asks.push(ask("lead_window_scarce", ProposalKind::Reorder, vec![Edit::ToFront { pointer: at }]));
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
