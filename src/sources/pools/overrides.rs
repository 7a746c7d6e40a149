//! opencode's `route-overrides.json` (reference `pools` §1.7): what a user asked of some members until a time. A file that is
//! missing or broken means no overrides to the router, and a remark here.

use super::jsonc::{Cursor, Document};
use crate::vocabulary::{ConfigFile, FleetConfig, OverrideAction, Reject, RouteOverride};

/// The overrides of a file; entries that the router drops are problems. The error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    let list = root.get("overrides").and_then(|list| list.elements());
    let list = list.ok_or_else(|| format!("{}: `overrides` is not a list", root.place()))?;
    let mut config = FleetConfig::default();
    for item in &list {
        match entry(item) {
            Ok(entry) => config.overrides.push(entry),
            Err(reason) => config.problems.push(Reject { place: item.place(), reason: reason.to_owned() }),
        }
    }
    Ok(config)
}

/// One entry, or why the router drops it.
fn entry(item: &Cursor<'_>) -> Result<RouteOverride, &'static str> {
    let text = |key: &str| item.get(key).and_then(|value| value.text().map(str::to_owned));
    let action = match text("action").as_deref() {
        Some("avoid") => OverrideAction::Avoid,
        Some("prefer") => OverrideAction::Prefer,
        Some("allow-over-budget") => OverrideAction::AllowOverBudget,
        _ => return Err("the override has no known `action`"),
    };
    let (providers, models) = (texts(item, "providers"), texts(item, "models"));
    if providers.is_empty() && models.is_empty() {
        return Err("the override names neither a provider nor a model");
    }
    let until = item.get("until").and_then(|value| value.number()).ok_or("the override has no `until`")?;
    let factor = item.get("factor").and_then(|value| value.number()).filter(|factor| *factor > 0.0);
    Ok(RouteOverride {
        id: text("id").ok_or("the override has no `id`")?,
        action,
        providers,
        models,
        routes: texts(item, "routes"),
        fixed: item.get("fixed").and_then(|flag| flag.truth()) != Some(false),
        factor: factor.unwrap_or(3.0),
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and no instant is that far away")]
        until_ms: until as i64,
        text: text("text").unwrap_or_default(),
        place: item.place(),
    })
}

/// A list of texts; one that holds anything else is empty, as in the router.
fn texts(item: &Cursor<'_>, key: &str) -> Vec<String> {
    let list = item.get(key).and_then(|list| list.elements()).unwrap_or_default();
    list.iter().map(|text| text.text().map(str::to_owned)).collect::<Option<Vec<_>>>().unwrap_or_default()
}
