//! opencode's own consumers: default models, agents and commands. Both spellings of a section are read; of two consumers of one
//! name the one in the 2.x spelling counts, as in the router.

use std::collections::BTreeMap;

use super::super::jsonc::Cursor;
use super::{ROUTE_PROVIDER, needs_resolving};
use crate::vocabulary::{Consumer, ConsumerTarget, PoolId, ProviderId, TargetRef};

/// Sections of named consumers, the spelling that counts last.
const SECTIONS: [(&str, &str); 5] =
    [("mode", "agent"), ("agent", "agent"), ("agents", "agent"), ("command", "command"), ("commands", "command")];

/// The consumers of a file, by id.
pub(super) fn consumers(root: &Cursor<'_>, path: &str) -> Vec<Consumer> {
    let mut consumers: BTreeMap<String, Consumer> = BTreeMap::new();
    let mut add = |found: Option<Consumer>| found.map(|consumer| consumers.insert(consumer.id.clone(), consumer));
    for key in ["model", "small_model"] {
        add(root.get(key).and_then(|value| consumer(format!("default/{key}"), &value, None, path)));
    }
    for (section, kind) in SECTIONS {
        for (name, settings) in root.get(section).map(|section| section.entries()).unwrap_or_default() {
            let Some(value) = settings.get("model") else { continue };
            let variant = settings.get("variant").and_then(|value| value.text().map(str::to_owned));
            let is_on = settings.get("disable").and_then(|flag| flag.truth()) != Some(true);
            let found = consumer(format!("{kind}/{name}"), &value, variant, path);
            add(found.map(|consumer| Consumer { is_enabled: is_on, ..consumer }));
        }
    }
    consumers.into_values().collect()
}

/// A consumer that names its target as text or as `{providerID, model, variant?}`.
fn consumer(id: String, value: &Cursor<'_>, variant: Option<String>, path: &str) -> Option<Consumer> {
    let (target, own) = match value.text() {
        Some(text) => target_of_text(text),
        None => target_of_object(value)?,
    };
    Some(Consumer {
        id,
        target,
        variant: own.or(variant),
        is_enabled: true,
        path: path.to_owned(),
        pointer: value.pointer().to_owned(),
        place: value.place(),
    })
}

/// What a consumer's text names, and the variant it asks a pool for. `{env:}` and `{file:}` are never resolved.
pub(crate) fn target_of_text(text: &str) -> (ConsumerTarget, Option<String>) {
    match TargetRef::parse(text) {
        Ok(reference) if !needs_resolving(text) => target_of(reference),
        _ => (ConsumerTarget::Unreadable(text.to_owned()), None),
    }
}

/// A reference as a pool with the variant asked for, or a model.
fn target_of(reference: TargetRef) -> (ConsumerTarget, Option<String>) {
    if reference.provider.as_str() == ROUTE_PROVIDER {
        return (ConsumerTarget::Pool(PoolId::new(reference.model)), reference.variant);
    }
    (ConsumerTarget::Model(reference), None)
}

/// What an explicit object names.
fn target_of_object(value: &Cursor<'_>) -> Option<(ConsumerTarget, Option<String>)> {
    let part = |key: &str| value.get(key).and_then(|part| part.text().map(str::to_owned));
    let model = part("model").or_else(|| part("modelID")).or_else(|| part("id"))?;
    let reference = TargetRef { provider: ProviderId::new(part("providerID")?), model, variant: part("variant") };
    if needs_resolving(&reference.to_string()) {
        return Some((ConsumerTarget::Unreadable(reference.to_string()), None));
    }
    Some(target_of(reference))
}
