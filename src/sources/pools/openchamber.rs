//! `OpenChamber`'s `routing.json`: the categories that map tasks to pools (reference `pools` §2). The file holds deviations
//! from five shipped categories only, and it is strict: an unknown key or a malformed file is an error, not defaults.

use super::jsonc::{Cursor, Document};
use super::opencode::ROUTE_PROVIDER;
use crate::vocabulary::{ConfigFile, Consumer, ConsumerTarget, FleetConfig, Place, PoolId, ProviderId, TargetRef};

/// The shipped categories, in order; all run on the fallback until a file says otherwise.
pub const SHIPPED: [&str; 5] = ["trivial", "research", "implement", "review", "hard"];

/// The keys of the file.
const FILE_KEYS: [&str; 7] =
    ["version", "enabled", "fallback", "minConfidence", "safetyNet", "stickiness", "categories"];

/// The keys of a shipped category's entry.
const BUILTIN_KEYS: [&str; 8] = ["builtin", "disabled", "deleted", "name", "description", "model", "variant", "agent"];

/// The keys of an own category's entry.
const OWN_KEYS: [&str; 7] = ["builtin", "disabled", "name", "description", "model", "variant", "agent"];

/// The categories in shipped order, then the file's own in id order, and the fallback. The error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let mut config = FleetConfig { files: vec![file.clone()], ..FleetConfig::default() };
    if file.text.trim().is_empty() {
        config.consumers = SHIPPED.iter().map(|id| on_fallback(id, file)).collect();
        return Ok(config);
    }
    let document = Document::parse(file)?;
    let root = document.root();
    check_file(&root)?;
    let entries = root.get("categories").map(|categories| categories.entries()).unwrap_or_default();
    for id in SHIPPED {
        match entries.iter().find(|(name, entry)| name == id && is_builtin(entry)) {
            Some((_, entry)) if entry.get("deleted").and_then(|value| value.truth()) == Some(true) => {}
            Some((_, entry)) => config.consumers.push(category(id, entry, file)?),
            None => config.consumers.push(on_fallback(id, file)),
        }
    }
    let mut own: Vec<_> =
        entries.iter().filter(|(id, entry)| !is_builtin(entry) && !SHIPPED.contains(&id.as_str())).collect();
    own.sort_by(|a, b| a.0.cmp(&b.0));
    for (id, entry) in own {
        config.consumers.push(category(id, entry, file)?);
    }
    if let Some(fallback) = root.get("fallback").filter(Cursor::is_object) {
        config.consumers.push(fallback_consumer(&fallback, file)?);
    }
    Ok(config)
}

/// Whether an entry deviates from a shipped category.
fn is_builtin(entry: &Cursor<'_>) -> bool {
    entry.get("builtin").and_then(|value| value.truth()) == Some(true)
}

/// The strict shape of the file: known keys, version 1, well-formed entries.
fn check_file(root: &Cursor<'_>) -> Result<(), String> {
    check_keys(root, &FILE_KEYS)?;
    if root.get("version").and_then(|version| version.integer()) != Some(1) {
        return Err(format!("{}: `version` is not 1", root.place()));
    }
    let Some(categories) = root.get("categories") else { return Ok(()) };
    if !categories.is_object() {
        return Err(format!("{}: `categories` is not an object", categories.place()));
    }
    for (id, entry) in categories.entries() {
        check_entry(&id, &entry)?;
    }
    Ok(())
}

/// The strict shape of one entry.
fn check_entry(id: &str, entry: &Cursor<'_>) -> Result<(), String> {
    let is_id = !id.is_empty()
        && id.len() <= 64
        && !id.starts_with('-')
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_id {
        return Err(format!("{}: category id is not `[a-z0-9][a-z0-9-]{{0,63}}`", entry.place()));
    }
    if entry.get("builtin").and_then(|value| value.truth()).is_none() {
        return Err(format!("{}: category `{id}` does not say whether it is builtin", entry.place()));
    }
    if is_builtin(entry) {
        return check_keys(entry, &BUILTIN_KEYS);
    }
    check_keys(entry, &OWN_KEYS)?;
    for (key, longest) in [("name", 60), ("description", 2000)] {
        let length = entry.get(key).and_then(|value| value.text()).map(|text| text.chars().count());
        if length.is_none_or(|length| length > longest) {
            return Err(format!("{}: category `{id}` needs a `{key}` of at most {longest} characters", entry.place()));
        }
    }
    Ok(())
}

/// An error when an object has a key it may not have, or is no object.
fn check_keys(object: &Cursor<'_>, known: &[&str]) -> Result<(), String> {
    if !object.is_object() {
        return Err(format!("{}: not an object", object.place()));
    }
    match object.entries().into_iter().find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, at)) => Err(format!("{}: unknown key \"{}\"", at.place(), key.escape_debug())),
        None => Ok(()),
    }
}

/// A category that runs on the fallback: shipped and not mentioned.
fn on_fallback(id: &str, file: &ConfigFile) -> Consumer {
    Consumer {
        id: format!("category/{id}"),
        target: ConsumerTarget::Fallback,
        variant: None,
        is_enabled: true,
        path: file.path.clone(),
        pointer: format!("/categories/{id}"),
        place: Place::new(file.path.clone(), 1),
    }
}

/// A category with an entry of its own. An own variant without an own model is ignored by `OpenChamber`.
fn category(id: &str, entry: &Cursor<'_>, file: &ConfigFile) -> Result<Consumer, String> {
    let model = entry.get("model");
    let target = model.as_ref().map_or(Ok(ConsumerTarget::Fallback), target)?;
    let variant = match target {
        ConsumerTarget::Fallback => None,
        _ => entry.get("variant").and_then(|value| value.text()).map(str::to_owned),
    };
    Ok(Consumer {
        id: format!("category/{id}"),
        target,
        variant,
        is_enabled: entry.get("disabled").and_then(|value| value.truth()) != Some(true),
        path: file.path.clone(),
        pointer: entry.pointer().to_owned(),
        place: entry.place(),
    })
}

/// The fallback as a consumer of its own.
fn fallback_consumer(fallback: &Cursor<'_>, file: &ConfigFile) -> Result<Consumer, String> {
    let model = fallback.get("model").ok_or_else(|| format!("{}: `fallback` has no `model`", fallback.place()))?;
    Ok(Consumer {
        id: "fallback/openchamber".to_owned(),
        target: target(&model)?,
        variant: fallback.get("variant").and_then(|value| value.text()).map(str::to_owned),
        is_enabled: true,
        path: file.path.clone(),
        pointer: fallback.pointer().to_owned(),
        place: fallback.place(),
    })
}

/// `{providerID, modelID}`: a pool when the provider is the router's, else a model.
fn target(model: &Cursor<'_>) -> Result<ConsumerTarget, String> {
    let part = |key: &str| model.get(key).and_then(|value| value.text()).filter(|text| !text.is_empty());
    match (part("providerID"), part("modelID")) {
        (Some(ROUTE_PROVIDER), Some(id)) => Ok(ConsumerTarget::Pool(PoolId::new(id))),
        (Some(provider), Some(id)) => Ok(ConsumerTarget::Model(TargetRef {
            provider: ProviderId::new(provider),
            model: id.to_owned(),
            variant: None,
        })),
        _ => Err(format!("{}: `model` needs `providerID` and `modelID`", model.place())),
    }
}
