//! What an opencode file says of providers: models of its own or switched off, which providers may be used, and the owner's
//! blacklist. Both spellings of the section are read: `provider` and `providers`.

use std::collections::BTreeMap;

use super::super::jsonc::Cursor;
use super::ROUTE_PROVIDER;
use crate::vocabulary::{ConfigModel, ProviderId, ProviderRule, Reject};

/// The two spellings of the section.
const SECTIONS: [&str; 2] = ["provider", "providers"];

/// The models the owner never wants proposed; opencode 2.x itself ignores the list.
pub(super) fn blacklist(root: &Cursor<'_>) -> BTreeMap<ProviderId, Vec<String>> {
    let mut lists: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
    for key in SECTIONS {
        for (provider, settings) in root.get(key).map(|providers| providers.entries()).unwrap_or_default() {
            let models = settings.get("blacklist").and_then(|list| list.elements()).unwrap_or_default();
            let names = models.iter().filter_map(|model| model.text().map(str::to_owned));
            lists.entry(ProviderId::new(provider)).or_default().extend(names);
        }
    }
    lists.retain(|_, models| !models.is_empty());
    lists
}

/// Models that the config adds to a provider or switches off.
pub(super) fn own_models(root: &Cursor<'_>) -> BTreeMap<ProviderId, BTreeMap<String, ConfigModel>> {
    let mut own: BTreeMap<ProviderId, BTreeMap<String, ConfigModel>> = BTreeMap::new();
    for (provider, settings) in SECTIONS.iter().filter_map(|key| root.get(key)).flat_map(|section| section.entries()) {
        let models = settings.get("models").map(|models| models.entries()).unwrap_or_default();
        for (id, model) in models.into_iter().filter(|(_, model)| model.is_object()) {
            let is = |key: &str, value: bool| model.get(key).and_then(|flag| flag.truth()) == Some(value);
            let is_disabled = is("disabled", true) || is("enabled", false);
            own.entry(ProviderId::new(provider.clone())).or_default().insert(id, ConfigModel { is_disabled });
        }
    }
    own
}

/// Which providers may be used: the two lists, then the policies that replace them in 2.x.
pub(super) fn rules(root: &Cursor<'_>) -> Vec<ProviderRule> {
    let rule = |resource: &str, is_allowed: bool| ProviderRule { resource: resource.to_owned(), is_allowed };
    let list = |key: &str| root.get(key).and_then(|list| list.elements());
    let mut rules = Vec::new();
    if let Some(enabled) = list("enabled_providers") {
        rules.push(rule("*", false));
        rules.extend(enabled.iter().filter_map(|id| Some(rule(id.text()?, true))));
    }
    rules.extend(list("disabled_providers").iter().flatten().filter_map(|id| Some(rule(id.text()?, false))));
    let policies = root.get("experimental").and_then(|experimental| experimental.get("policies"));
    let policies = policies.and_then(|policies| policies.elements()).unwrap_or_default();
    let text = |policy: &Cursor<'_>, key: &str| policy.get(key).and_then(|value| value.text().map(str::to_owned));
    rules.extend(policies.iter().filter_map(|policy| {
        let is_use = text(policy, "action").as_deref() == Some("provider.use");
        is_use.then(|| Some(rule(&text(policy, "resource")?, text(policy, "effect")?.as_str() == "allow")))?
    }));
    rules
}

/// Where the config defines a provider under the name of the routes: then the router leaves the whole feature off.
pub(super) fn routes_off(root: &Cursor<'_>) -> Option<Reject> {
    let provider = SECTIONS.iter().find_map(|key| root.get(key)?.get(ROUTE_PROVIDER))?;
    let reason = format!("the config defines a provider called {ROUTE_PROVIDER}, so the router leaves all routes off");
    Some(Reject { place: provider.place(), reason })
}

/// Provider lists that opencode 2.x ignores with a warning.
pub(super) fn ignored_lists(root: &Cursor<'_>) -> Vec<Reject> {
    let mut ignored = Vec::new();
    for (provider, settings) in SECTIONS.iter().filter_map(|key| root.get(key)).flat_map(|section| section.entries()) {
        for key in ["whitelist", "blacklist"] {
            if let Some(list) = settings.get(key) {
                let use_of = if key == "blacklist" {
                    "; the review takes it as the owner's wish and proposes none of it"
                } else {
                    ""
                };
                let reason = format!("the {key} of {provider} is ignored by opencode 2.x{use_of}");
                ignored.push(Reject { place: list.place(), reason });
            }
        }
    }
    ignored
}
