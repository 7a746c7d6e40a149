//! oh-my-openagent: categories and agents with ordered fallbacks (reference `pools` §3). References have a grammar of their own:
//! `provider/rest`, a trailing variant word or one in parentheses, no `#`; without a provider the current one is meant, which no
//! file can tell.

use serde_json::{Map, Value};

use super::jsonc::{Cursor, Document};
use super::opencode::{ROUTE_PROVIDER, needs_resolving};
use super::shell::{Shell, target};
use crate::vocabulary::{
    ConfigFile, Consumer, ConsumerTarget, FleetConfig, OMO_VARIANTS, PoolFormat, PoolId, ProviderId, Reject,
    RouteTarget, TargetKind, TargetRef,
};

/// Categories that exist without a file; each has a default model and a fallback chain built in.
pub const BUILT_IN: [&str; 8] =
    ["visual-engineering", "ultrabrain", "deep", "artistry", "quick", "unspecified-low", "unspecified-high", "writing"];

/// The kinds of entries: section, kind of consumer, prefix of the pool.
const SECTIONS: [(&str, &str, &str); 2] = [("categories", "omo", "omo"), ("agents", "omo-agent", "omo-agent")];

/// Reads one file. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    if !root.is_object() {
        return Err(format!("{}: the config is not an object", root.place()));
    }
    let mut config = FleetConfig { files: vec![file.clone()], ..FleetConfig::default() };
    let disabled = root.get("disabled_providers").and_then(|list| list.elements()).unwrap_or_default();
    let disabled: Vec<&str> = disabled.iter().filter_map(Cursor::text).collect();
    for (section, kind, prefix) in SECTIONS {
        for (id, entry) in root.get(section).map(|section| section.entries()).unwrap_or_default() {
            let entry = Entry { id: &id, kind, prefix, at: &entry, file, disabled: &disabled };
            entry.read(&mut config);
        }
    }
    config.problems.extend(fallback_remark(&root, &config));
    Ok(config)
}

/// Without `runtime_fallback` the lists may never be used.
fn fallback_remark(root: &Cursor<'_>, config: &FleetConfig) -> Option<Reject> {
    let setting = root.get("runtime_fallback");
    let is_on = setting.as_ref().is_some_and(|setting| {
        setting.truth() == Some(true) || setting.get("enabled").and_then(|flag| flag.truth()) == Some(true)
    });
    let place = setting.map_or_else(|| root.place(), |setting| setting.place());
    let reason = "runtime_fallback is off, so the fallbacks of this file may never be used".to_owned();
    (!is_on && !config.routes.is_empty()).then_some(Reject { place, reason })
}

/// One category or agent.
struct Entry<'a, 'd> {
    /// Its name.
    id: &'a str,
    /// Kind of consumer.
    kind: &'a str,
    /// Prefix of its pool.
    prefix: &'a str,
    /// Its value.
    at: &'a Cursor<'d>,
    /// The file.
    file: &'a ConfigFile,
    /// Providers whose entries are taken out.
    disabled: &'a [&'a str],
}

impl Entry<'_, '_> {
    /// Adds the entry: a consumer of the pools it names, and a pool of its own when it has an ordered list.
    fn read(&self, config: &mut FleetConfig) {
        if self.at.get("disable").and_then(|flag| flag.truth()) == Some(true) {
            return;
        }
        let named = self.at.get("category").and_then(|category| category.text().map(str::to_owned));
        let Some(primary) = self.at.get("model") else {
            config.consumers.extend(named.map(|category| self.inherits(&category, config)));
            return;
        };
        let variant = self.at.get("variant").and_then(|value| value.text().map(str::to_owned));
        let first = self.target(&primary, variant.clone(), false);
        let mut targets: Vec<RouteTarget> =
            first.into_iter().map(|first| RouteTarget { raw: self.written(), ..first }).collect();
        let is_replaced = targets.is_empty();
        for fallback in self.at.get("fallback_models").iter().flat_map(items) {
            targets.extend(self.target(&fallback, None, true));
        }
        if is_replaced {
            let reason = format!("the model of {} is of a disabled provider, so another one takes its place", self.id);
            config.problems.push(Reject { place: primary.place(), reason });
        }
        if BUILT_IN.contains(&self.id) {
            let reason = format!("{} also has a fallback chain built in, which no file shows", self.id);
            config.problems.push(Reject { place: self.at.place(), reason });
        }
        self.add(targets, variant.as_ref(), config);
    }

    /// What the entry says of its models.
    fn written(&self) -> Value {
        let keys = ["model", "variant", "fallback_models"];
        keys.into_iter()
            .filter_map(|key| Some((key.to_owned(), self.at.get(key)?.json())))
            .collect::<Map<_, _>>()
            .into()
    }

    /// Adds what the entry names.
    fn add(&self, targets: Vec<RouteTarget>, variant: Option<&String>, config: &mut FleetConfig) {
        for (i, target) in targets.iter().enumerate() {
            let id = if i == 0 { self.consumer_id() } else { format!("{}/fallback.{i}", self.consumer_id()) };
            let variant = if i == 0 { variant.cloned() } else { None };
            match &target.kind {
                TargetKind::Pool { id: pool, .. } => {
                    config.consumers.push(self.consumer(id, ConsumerTarget::Pool(pool.clone()), variant, target));
                }
                TargetKind::Model(model) if targets.len() == 1 => {
                    config.consumers.push(self.consumer(id, ConsumerTarget::Model(model.clone()), None, target));
                }
                TargetKind::Unreadable(text) if targets.len() == 1 => {
                    config.consumers.push(self.consumer(id, ConsumerTarget::Unreadable(text.clone()), None, target));
                }
                _ => {}
            }
        }
        if targets.len() > 1 {
            let shell = Shell { format: PoolFormat::Omo, path: &self.file.path, pointer: self.at.pointer() };
            config.routes.push(shell.ordered(PoolId::prefixed(self.prefix, self.id), self.at.place(), targets));
        }
    }

    /// `omo/<id>`.
    fn consumer_id(&self) -> String {
        format!("{}/{}", self.kind, self.id)
    }

    /// An agent that takes the model of a category: it names what that category names.
    fn inherits(&self, category: &str, config: &FleetConfig) -> Consumer {
        let id = format!("omo/{category}");
        let found = config.consumers.iter().find(|consumer| consumer.id == id);
        let target =
            found.map_or_else(|| ConsumerTarget::Unreadable(category.to_owned()), |found| found.target.clone());
        Consumer {
            id: self.consumer_id(),
            target,
            variant: found.and_then(|found| found.variant.clone()),
            is_enabled: true,
            path: self.file.path.clone(),
            pointer: self.at.pointer().to_owned(),
            place: self.at.place(),
        }
    }

    /// A consumer of this entry.
    fn consumer(&self, id: String, named: ConsumerTarget, variant: Option<String>, at: &RouteTarget) -> Consumer {
        Consumer {
            id,
            target: named,
            variant,
            is_enabled: true,
            path: self.file.path.clone(),
            pointer: at.pointer.clone(),
            place: at.place.clone(),
        }
    }

    /// One entry of the list: text, or an object with `model` and an effort. `None` when its provider is disabled.
    fn target(&self, at: &Cursor<'_>, variant: Option<String>, is_fallback: bool) -> Option<RouteTarget> {
        let named = if at.is_object() { at.get("model")? } else { at.clone() };
        let effort =
            ["variant", "reasoningEffort"].iter().find_map(|key| at.get(key).and_then(|v| v.text().map(str::to_owned)));
        let kind = reference(named.text()?, effort.or(variant));
        let is_disabled = matches!(&kind, TargetKind::Model(model) if self.disabled.contains(&model.provider.as_str()));
        (!is_disabled).then(|| RouteTarget { is_fallback, ..target(kind, at.pointer(), named.place(), at.json()) })
    }
}

/// The items of `fallback_models`: one text, or a list of texts and objects.
fn items<'d>(value: &Cursor<'d>) -> Vec<Cursor<'d>> {
    value.elements().unwrap_or_else(|| vec![value.clone()])
}

/// What a reference names. A pool is asked for an effort as a model is; it is not handed down to its members.
fn reference(text: &str, effort: Option<String>) -> TargetKind {
    let (base, own) = split_variant(text.trim());
    let Some((provider, model)) =
        base.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
    else {
        return TargetKind::Unreadable(text.to_owned());
    };
    if needs_resolving(text) {
        return TargetKind::Unreadable(text.to_owned());
    }
    if provider == ROUTE_PROVIDER {
        return TargetKind::Pool { id: PoolId::new(model), variant: None };
    }
    let variant = own.map(str::to_owned).or(effort);
    TargetKind::Model(TargetRef { provider: ProviderId::new(provider), model: model.to_owned(), variant })
}

/// A reference without its variant: `model(high)` or `model high`, known words only.
fn split_variant(text: &str) -> (&str, Option<&str>) {
    let parenthesised = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let found = parenthesised.or_else(|| text.rsplit_once(' '));
    match found {
        Some((base, word)) if OMO_VARIANTS.contains(&word) => (base.trim_end(), Some(word)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::split_variant;

    #[test]
    fn only_known_words_are_variants() {
        assert_eq!(split_variant("openai/gpt-6-luna low"), ("openai/gpt-6-luna", Some("low")));
        assert_eq!(split_variant("openai/gpt-6-astra(xhigh)"), ("openai/gpt-6-astra", Some("xhigh")));
        assert_eq!(split_variant("a/b (new)"), ("a/b (new)", None), "an unknown word is part of the name");
    }
}
