//! claude-code-router's old `config.json` (reference `pools` §5.2): one model per slot and an ordered fallback list. Only the two
//! sections that name models are looked at; keys of providers are never read. Where a 3.x store lies beside it, the file is stale.

use super::jsonc::{Cursor, Document};
use super::shell::{Shell, target};
use crate::vocabulary::{
    ConfigFile, FleetConfig, Place, PoolFormat, PoolId, ProviderId, Reject, RouteTarget, TargetKind, TargetRef,
};

/// The slots of `Router`.
const SLOTS: [&str; 6] = ["default", "background", "think", "longContext", "webSearch", "image"];

/// Reads the file. `has_store` says whether a 3.x store lies beside it. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile, has_store: bool) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    let router = root.get("Router").filter(Cursor::is_object);
    let router = router.ok_or_else(|| format!("{}: `Router` is not an object", root.place()))?;
    let mut config = FleetConfig::default();
    if has_store {
        let reason =
            "a 3.x store config.sqlite lies beside this file, which the router then read once and ignores since";
        config.problems.push(Reject { place: Place::new(file.path.clone(), 1), reason: reason.to_owned() });
    }
    if router.get("rules").is_some() || router.get("builtInRules").is_some() {
        let reason = "this is a Router of the 3.x form, whose rules are not read";
        config.problems.push(Reject { place: router.place(), reason: reason.to_owned() });
    }
    for slot in SLOTS {
        let Some(first) = router.get(slot).filter(|value| value.text().is_some_and(|text| !text.is_empty())) else {
            continue;
        };
        let fallback = root.get("fallback").and_then(|fallback| fallback.get(slot)).and_then(|list| list.elements());
        let mut targets: Vec<RouteTarget> = slot_target(&first).into_iter().collect();
        let rest = fallback.iter().flatten().filter_map(slot_target);
        targets.extend(rest.map(|target| RouteTarget { is_fallback: true, ..target }));
        let shell = Shell { format: PoolFormat::Ccr, path: &file.path, pointer: first.pointer() };
        config.routes.push(shell.ordered(PoolId::prefixed("ccr", slot), first.place(), targets));
    }
    Ok(config)
}

/// `provider,model`: a comma parts them, and the model may hold slashes and colons.
fn slot_target(at: &Cursor<'_>) -> Option<RouteTarget> {
    let text = at.text()?;
    let parts = text.split_once(',').map(|(provider, model)| (provider.trim(), model.trim()));
    let kind = match parts.filter(|(provider, model)| !provider.is_empty() && !model.is_empty()) {
        Some((provider, model)) => {
            TargetKind::Model(TargetRef { provider: ProviderId::new(provider), model: model.to_owned(), variant: None })
        }
        None => TargetKind::Unreadable(text.to_owned()),
    };
    Some(target(kind, at.pointer(), at.place(), at.json()))
}
