//! `LiteLLM`'s `config.yaml` (reference `pools` §5.1): every distinct `model_name` is a pool. Of each entry only model, weight and
//! order are taken; keys, tokens and everything else a secret could hide in are left in the file.

use std::collections::BTreeMap;

use serde_json::json;

use super::shell::{Shell, target};
use crate::settings::yaml::{self, Node, Value};
use crate::vocabulary::{
    ConfigFile, Consumer, ConsumerTarget, FleetConfig, Place, PoolFormat, PoolId, ProviderId, Reject, RouteTarget,
    Selection, TargetKind, TargetRef,
};

/// Where the entries of every pool stand: a pool has no subtree of its own.
const LIST: &str = "/model_list";

/// Strategies that spread work by weight; the others measure, so that no share is configured.
const BY_WEIGHT: &str = "simple-shuffle";

/// Reads the file. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let root =
        yaml::parse(&file.text, 0).map_err(|fault| format!("{}:{}: {}", file.path, fault.line, fault.message))?;
    let list = get(&root, "model_list").ok_or_else(|| format!("{}:1: `model_list` is missing", file.path))?;
    let Value::List(entries) = &list.value else {
        return Err(format!("{}:{}: `model_list` is not a list", file.path, list.line));
    };
    let mut config = FleetConfig { files: vec![file.clone()], ..FleetConfig::default() };
    let mut groups: BTreeMap<String, Vec<RouteTarget>> = BTreeMap::new();
    for (i, entry) in entries.iter().enumerate() {
        match member(entry, i, &file.path) {
            Ok((name, target)) => join(groups.entry(name).or_default(), target),
            Err(reason) => config.problems.push(Reject { place: Place::new(file.path.clone(), entry.line), reason }),
        }
    }
    add_fallbacks(&root, file, &mut groups);
    for (name, targets) in groups {
        let place = targets[0].place.clone();
        let shell = Shell { format: PoolFormat::LiteLlm, path: &file.path, pointer: LIST };
        config.routes.push(shell.pool(PoolId::prefixed("litellm", &name), place, Selection::Weighted, targets));
    }
    config.consumers = aliases(&root, file);
    config.problems.extend(strategy(&root, file));
    Ok(config)
}

/// The value under a key of a group; of a repeated key the last.
fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Group(entries) = &node.value else { return None };
    entries.iter().rev().find(|(name, ..)| name == key).map(|(_, _, value)| value)
}

/// A text.
fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A whole number.
#[expect(clippy::cast_possible_truncation, reason = "the guard keeps whole numbers far below 2^53")]
fn whole(node: &Node) -> Option<i64> {
    match node.value {
        Value::Number(number) if number.fract().abs() < f64::EPSILON && number.abs() < 1e12 => Some(number as i64),
        _ => None,
    }
}

/// The pool and the target of one entry of `model_list`.
fn member(entry: &Node, index: usize, path: &str) -> Result<(String, RouteTarget), String> {
    let name = get(entry, "model_name").and_then(text).ok_or("a model without `model_name`")?.to_owned();
    let params = get(entry, "litellm_params").ok_or("a model without `litellm_params`")?;
    let at = get(params, "model").ok_or("a model without `litellm_params.model`")?;
    let model = text(at).ok_or("`litellm_params.model` is not text")?;
    let order = get(params, "order").or_else(|| get(entry, "model_info").and_then(|info| get(info, "order")));
    let weight = get(params, "weight").and_then(whole).filter(|weight| *weight > 0);
    let order = order.and_then(whole);
    let raw = json!({ "model": model, "weight": weight, "order": order });
    let place = Place::new(path, entry.line);
    let target = target(kind(model), &format!("{LIST}/{index}"), place, raw);
    #[expect(clippy::cast_precision_loss, reason = "weights are small whole numbers")]
    let weight = weight.map(|weight| weight as f64);
    Ok((name, RouteTarget { weight, order, ..target }))
}

/// What a model names. Without a provider, or behind a variable of the environment, it cannot be told.
fn kind(model: &str) -> TargetKind {
    match model.split_once('/') {
        Some((provider, id)) if provider != "os.environ" && !provider.is_empty() && !id.is_empty() => {
            TargetKind::Model(TargetRef { provider: ProviderId::new(provider), model: id.to_owned(), variant: None })
        }
        _ => TargetKind::Unreadable(model.to_owned()),
    }
}

/// Adds a target to its group. The same model on the same tier under another key is another deployment of one member: their
/// weights add up.
fn join(group: &mut Vec<RouteTarget>, target: RouteTarget) {
    match group.iter_mut().find(|known| known.kind == target.kind && known.order == target.order) {
        Some(known) => {
            known.weight = Some(known.weight.unwrap_or(1.0) + target.weight.unwrap_or(1.0));
            let before = known.raw["deployments"].as_array().cloned().unwrap_or_else(|| vec![known.raw.clone()]);
            let all: Vec<_> = before.into_iter().chain([target.raw]).collect();
            known.raw["deployments"] = json!(all);
        }
        None => group.push(target),
    }
}

/// Adds to every group the groups it falls back to, in order, behind its own members.
fn add_fallbacks(root: &Node, file: &ConfigFile, groups: &mut BTreeMap<String, Vec<RouteTarget>>) {
    for (section, key) in [("router_settings", "fallbacks"), ("litellm_settings", "fallbacks")] {
        let Some(Value::List(maps)) = get(root, section).and_then(|s| get(s, key)).map(|list| &list.value) else {
            continue;
        };
        for (i, map) in maps.iter().enumerate() {
            let Value::Group(entries) = &map.value else { continue };
            for (name, line, to) in entries {
                let Some(group) = groups.get_mut(name) else { continue };
                let Value::List(names) = &to.value else { continue };
                let pointer = format!("/{section}/{key}/{i}");
                for pool in names.iter().filter_map(text) {
                    let kind = TargetKind::Pool { id: PoolId::prefixed("litellm", pool), variant: None };
                    let raw = json!({ "fallback": pool });
                    let place = Place::new(file.path.clone(), *line);
                    group.push(RouteTarget { is_fallback: true, ..target(kind, &pointer, place, raw) });
                }
            }
        }
    }
}

/// Other names of groups, as consumers of them.
fn aliases(root: &Node, file: &ConfigFile) -> Vec<Consumer> {
    let group = get(root, "router_settings").and_then(|settings| get(settings, "model_group_alias"));
    let Some(Value::Group(entries)) = group.map(|group| &group.value) else { return Vec::new() };
    let consumer = |(alias, line, value): &(String, usize, Node)| {
        let pool = text(value).or_else(|| get(value, "model").and_then(text))?;
        Some(Consumer {
            id: format!("litellm/{alias}"),
            target: ConsumerTarget::Pool(PoolId::prefixed("litellm", pool)),
            variant: None,
            is_enabled: true,
            path: file.path.clone(),
            pointer: "/router_settings/model_group_alias".to_owned(),
            place: Place::new(file.path.clone(), *line),
        })
    };
    entries.iter().filter_map(consumer).collect()
}

/// A remark where shares are not configured but measured.
fn strategy(root: &Node, file: &ConfigFile) -> Option<Reject> {
    let strategy = get(root, "router_settings").and_then(|settings| get(settings, "routing_strategy"))?;
    let word = text(strategy).filter(|word| *word != BY_WEIGHT)?;
    let reason =
        format!("the strategy {word} measures who gets work: the shares of this file's pools are by weight only");
    Some(Reject { place: Place::new(file.path.clone(), strategy.line), reason })
}
