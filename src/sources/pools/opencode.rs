//! opencode's `experimental.model_routes`: definitions as the router decodes them (reference `pools` §1), one bad part of a
//! route dropping that whole route; and opencode's own consumers: default models, agents, commands.

use std::collections::BTreeMap;

use super::jsonc::{Cursor, Document};
use crate::vocabulary::{
    Budget, ConfigFile, Consumer, ConsumerTarget, FleetConfig, PoolId, ProviderId, Reject, RouteDef, RouteTarget,
    Selection, TargetKind, TargetRef, UnknownKey, WeightDef,
};

/// The provider id under which pools are models.
pub const ROUTE_PROVIDER: &str = "opencode-route";

/// The keys a route knows; any other is ignored by the router.
const ROUTE_KEYS: [&str; 9] =
    ["name", "targets", "selection", "weights", "budgets", "attempts", "hedgeAfterMs", "health", "autonomy"];

/// The keys a target object knows.
const TARGET_KEYS: [&str; 6] = ["model", "providerID", "variant", "defaultVariant", "variants", "until"];

/// The longest duration the router accepts, in milliseconds.
const HOUR_MS: f64 = 3_600_000.0;

/// Reads the routes and consumers of one opencode file. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    if !root.is_object() {
        return Err(format!("{}: the config is not an object", root.place()));
    }
    let mut config = FleetConfig { files: vec![file.clone()], ..FleetConfig::default() };
    if let Some(routes) = root.get("experimental").and_then(|experimental| experimental.get("model_routes")) {
        if !routes.is_object() {
            return Err(format!("{}: `experimental.model_routes` is not an object", routes.place()));
        }
        config.routes = routes.entries().into_iter().map(|(id, route)| read_route(&id, &route)).collect();
    }
    config.consumers = consumers(&root, &file.path);
    config.blacklist = blacklist(&root);
    Ok(config)
}

/// One route: decoded, or kept as a shell with the reason why the router drops it.
fn read_route(id: &str, route: &Cursor<'_>) -> RouteDef {
    decode_route(id, route).unwrap_or_else(|reject| RouteDef { invalid: Some(reject), ..shell(id, route) })
}

/// A route without anything in it.
fn shell(id: &str, route: &Cursor<'_>) -> RouteDef {
    RouteDef {
        id: PoolId::new(id),
        path: route.place().path,
        pointer: route.pointer().to_owned(),
        place: route.place(),
        selection: Selection::Ordered,
        selection_written: false,
        is_fixed: false,
        targets: Vec::new(),
        weights: BTreeMap::new(),
        budgets: BTreeMap::new(),
        unknown_keys: Vec::new(),
        raw: route.json(),
        invalid: None,
    }
}

/// A reject at a value.
fn bad(at: &Cursor<'_>, reason: impl Into<String>) -> Reject {
    Reject { place: at.place(), reason: reason.into() }
}

/// Decodes a route as the router does; the first bad part drops it whole.
fn decode_route(id: &str, route: &Cursor<'_>) -> Result<RouteDef, Reject> {
    if !is_route_id(id) {
        return Err(bad(route, "the id is not `[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}`"));
    }
    if !route.is_object() {
        return Err(bad(route, "the route is not an object"));
    }
    check_name_attempts_hedge(route)?;
    check_health(route)?;
    let targets = route.get("targets").ok_or_else(|| bad(route, "`targets` is missing"))?;
    let elements = targets.elements().ok_or_else(|| bad(&targets, "`targets` is not an array"))?;
    let (selection, selection_written) = selection(route)?;
    let mut unknown_keys = unknown_keys(route, &ROUTE_KEYS);
    for target in &elements {
        unknown_keys.extend(self::unknown_keys(target, &TARGET_KEYS));
    }
    Ok(RouteDef {
        selection,
        selection_written,
        is_fixed: is_fixed(route)?,
        targets: elements.iter().map(decode_target).collect::<Result<_, _>>()?,
        weights: weights(route)?,
        budgets: budgets(route)?,
        unknown_keys,
        ..shell(id, route)
    })
}

/// Whether a route id matches the router's pattern.
fn is_route_id(id: &str) -> bool {
    let mut bytes = id.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && id.len() <= 128
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The keys of an object that are not known, with the known one they may have meant.
fn unknown_keys(object: &Cursor<'_>, known: &[&str]) -> Vec<UnknownKey> {
    let near =
        |key: &str| known.iter().find(|known| strsim::osa_distance(known, key) == 1).map(|&near| near.to_owned());
    object
        .entries()
        .into_iter()
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .map(|(key, at)| UnknownKey { near: near(&key), pointer: at.pointer().to_owned(), place: at.place(), key })
        .collect()
}

/// How a new session picks, and whether the file says so.
fn selection(route: &Cursor<'_>) -> Result<(Selection, bool), Reject> {
    let Some(value) = route.get("selection") else { return Ok((Selection::Ordered, false)) };
    match value.text() {
        Some("ordered") => Ok((Selection::Ordered, true)),
        Some("round-robin") => Ok((Selection::RoundRobin, true)),
        Some("weighted") => Ok((Selection::Weighted, true)),
        _ => Err(bad(&value, "`selection` is not ordered, round-robin or weighted")),
    }
}

/// Whether the route's autonomy is `fixed`; unset is not the lowest level.
fn is_fixed(route: &Cursor<'_>) -> Result<bool, Reject> {
    let Some(value) = route.get("autonomy") else { return Ok(false) };
    match value.text() {
        Some("fixed") => Ok(true),
        Some("rules" | "adaptive" | "predictive" | "agent") => Ok(false),
        _ => Err(bad(&value, "`autonomy` is not fixed, rules, adaptive, predictive or agent")),
    }
}

/// One target in any of its forms: a string, `{providerID, model, variant?}`, or an object around either.
fn decode_target(target: &Cursor<'_>) -> Result<RouteTarget, Reject> {
    let reference = match target.text() {
        Some(text) => parse_reference(target, text)?,
        None if target.is_object() => object_reference(target)?,
        None => return Err(bad(target, "a target is neither text nor an object")),
    };
    let kind = match reference {
        TargetRef { provider, model, variant } if provider.as_str() == ROUTE_PROVIDER => {
            TargetKind::Pool { id: PoolId::new(model), variant }
        }
        reference => TargetKind::Model(reference),
    };
    Ok(RouteTarget {
        kind,
        default_variant: text_of(target, "defaultVariant")?,
        until_ms: until(target)?,
        pointer: target.pointer().to_owned(),
        place: target.place(),
        raw: target.json(),
    })
}

/// The reference inside a target object. `model` may itself be the explicit object.
fn object_reference(target: &Cursor<'_>) -> Result<TargetRef, Reject> {
    let model = target.get("model").ok_or_else(|| bad(target, "a target has no `model`"))?;
    if model.is_object() {
        return explicit_reference(&model);
    }
    if target.get("providerID").is_some() {
        return explicit_reference(target);
    }
    let text = model.text().ok_or_else(|| bad(&model, "`model` is neither text nor an object"))?;
    parse_reference(&model, text)
}

/// `{providerID, model, variant?}`: no slash is parsed.
fn explicit_reference(object: &Cursor<'_>) -> Result<TargetRef, Reject> {
    let provider = text_of(object, "providerID")?.filter(|text| !text.is_empty() && !text.contains('/'));
    let model = text_of(object, "model")?.filter(|text| !text.is_empty());
    match (provider, model) {
        (Some(provider), Some(model)) => {
            Ok(TargetRef { provider: ProviderId::new(provider), model, variant: text_of(object, "variant")? })
        }
        _ => Err(bad(object, "a target needs `providerID` and `model`")),
    }
}

/// A reference in text form.
fn parse_reference(at: &Cursor<'_>, text: &str) -> Result<TargetRef, Reject> {
    TargetRef::parse(text).map_err(|reason| bad(at, format!("target \"{text}\" {reason}")))
}

/// The text under a key, if the key is there.
fn text_of(object: &Cursor<'_>, key: &str) -> Result<Option<String>, Reject> {
    match object.get(key) {
        None => Ok(None),
        Some(value) => match value.text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(bad(&value, format!("`{key}` is not text"))),
        },
    }
}

/// The end of a membership: a positive integer of epoch milliseconds.
fn until(target: &Cursor<'_>) -> Result<Option<i64>, Reject> {
    let Some(value) = target.get("until") else { return Ok(None) };
    match value.integer() {
        Some(until) if until > 0 => Ok(Some(until)),
        _ => Err(bad(&value, "`until` is not a positive integer of epoch milliseconds")),
    }
}

/// The weights: every one finite and above 0.
fn weights(route: &Cursor<'_>) -> Result<BTreeMap<String, WeightDef>, Reject> {
    let Some(value) = route.get("weights") else { return Ok(BTreeMap::new()) };
    if !value.is_object() {
        return Err(bad(&value, "`weights` is not an object"));
    }
    value
        .entries()
        .into_iter()
        .map(|(key, weight)| match weight.number() {
            Some(number) if number > 0.0 => Ok((key, WeightDef { weight: number, place: weight.place() })),
            _ => Err(bad(&weight, format!("weight of \"{key}\" is not above 0"))),
        })
        .collect()
}

/// The budgets: allowances are positive integers, `softLimit` is 0.125 to 1.
fn budgets(route: &Cursor<'_>) -> Result<BTreeMap<String, Budget>, Reject> {
    let Some(value) = route.get("budgets") else { return Ok(BTreeMap::new()) };
    if !value.is_object() {
        return Err(bad(&value, "`budgets` is not an object"));
    }
    let mut budgets = BTreeMap::new();
    for (key, budget) in value.entries() {
        for name in ["requestsPerMinute", "requestsPerDay", "tokensPerMinute", "tokensPerDay"] {
            check_number(&budget, name, "a positive integer", |n| n >= 1.0 && n.fract().abs() < f64::EPSILON)?;
        }
        check_number(&budget, "softLimit", "between 0.125 and 1", |n| (0.125..=1.0).contains(&n))?;
        budgets.insert(key, Budget { place: budget.place() });
    }
    Ok(budgets)
}

/// Drops the route when a number is there and out of bounds.
fn check_number(object: &Cursor<'_>, key: &str, wanted: &str, fits: impl Fn(f64) -> bool) -> Result<(), Reject> {
    match object.get(key) {
        Some(value) if !value.number().is_some_and(fits) => Err(bad(&value, format!("`{key}` is not {wanted}"))),
        _ => Ok(()),
    }
}

/// `name`, `attempts` and `hedgeAfterMs` within the router's limits.
fn check_name_attempts_hedge(route: &Cursor<'_>) -> Result<(), Reject> {
    text_of(route, "name")?;
    let whole = |n: f64| n.fract().abs() < f64::EPSILON;
    check_number(route, "attempts", "an integer from 1 to 50", |n| whole(n) && (1.0..=50.0).contains(&n))?;
    check_number(route, "hedgeAfterMs", "an integer from 1 to 3600000", |n| whole(n) && (1.0..=HOUR_MS).contains(&n))
}

/// The circuit breaker's numbers within the router's limits.
fn check_health(route: &Cursor<'_>) -> Result<(), Reject> {
    let Some(health) = route.get("health") else { return Ok(()) };
    if !health.is_object() {
        return Err(bad(&health, "`health` is not an object"));
    }
    let whole = |n: f64| n.fract().abs() < f64::EPSILON;
    let duration = |n: f64| whole(n) && (0.0..=HOUR_MS).contains(&n);
    if health.get("firstTokenTimeoutMs").is_some_and(|value| value.truth() != Some(false)) {
        check_number(&health, "firstTokenTimeoutMs", "milliseconds up to an hour, or false", duration)?;
    }
    for key in ["maxResponseTimeMs", "cooldownMs", "quotaCooldownMs"] {
        check_number(&health, key, "milliseconds up to an hour", duration)?;
    }
    for key in ["sampleWindow", "slowThreshold"] {
        check_number(&health, key, "an integer from 1 to 50", |n| whole(n) && (1.0..=50.0).contains(&n))?;
    }
    check_number(&health, "minOutputTokensPerSecond", "a number above 0", |n| n > 0.0)
}

/// The models the owner never wants proposed; opencode 2.x itself ignores the list.
fn blacklist(root: &Cursor<'_>) -> BTreeMap<ProviderId, Vec<String>> {
    let mut lists: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
    for key in ["provider", "providers"] {
        for (provider, settings) in root.get(key).map(|providers| providers.entries()).unwrap_or_default() {
            let models = settings.get("blacklist").and_then(|list| list.elements()).unwrap_or_default();
            let names = models.iter().filter_map(|model| model.text().map(str::to_owned));
            lists.entry(ProviderId::new(provider)).or_default().extend(names);
        }
    }
    lists.retain(|_, models| !models.is_empty());
    lists
}

/// opencode's own consumers: default models, agents and commands. Both spellings of a section are read.
fn consumers(root: &Cursor<'_>, path: &str) -> Vec<Consumer> {
    let mut consumers = Vec::new();
    for key in ["model", "small_model"] {
        if let Some(value) = root.get(key) {
            consumers.extend(consumer(format!("default/{key}"), &value, path));
        }
    }
    for (section, kind) in [("agent", "agent"), ("agents", "agent"), ("mode", "agent"), ("command", "command")] {
        for (name, settings) in root.get(section).map(|section| section.entries()).unwrap_or_default() {
            if let Some(value) = settings.get("model") {
                consumers.extend(consumer(format!("{kind}/{name}"), &value, path));
            }
        }
    }
    consumers
}

/// A consumer that names its target as text.
fn consumer(id: String, value: &Cursor<'_>, path: &str) -> Option<Consumer> {
    let text = value.text()?;
    let target = consumer_target(text);
    let variant = match &target {
        ConsumerTarget::Pool(_) => text.split_once('#').map(|(_, variant)| variant.to_owned()),
        _ => None,
    };
    Some(Consumer {
        id,
        target,
        variant,
        is_enabled: true,
        path: path.to_owned(),
        pointer: value.pointer().to_owned(),
        place: value.place(),
    })
}

/// What a consumer's text names. `{env:}` and `{file:}` are never resolved: they may hold a secret.
fn consumer_target(text: &str) -> ConsumerTarget {
    if text.contains("{env:") || text.contains("{file:") {
        return ConsumerTarget::Unreadable(text.to_owned());
    }
    match TargetRef::parse(text) {
        Ok(reference) if reference.provider.as_str() == ROUTE_PROVIDER => {
            ConsumerTarget::Pool(PoolId::new(reference.model))
        }
        Ok(reference) => ConsumerTarget::Model(reference),
        Err(_) => ConsumerTarget::Unreadable(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with some text.
    fn file(text: &str) -> ConfigFile {
        ConfigFile { path: "opencode.jsonc".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn places_count_lines_from_one_and_pointers_are_escaped() {
        let text = "{\n \"experimental\": {\"model_routes\": {\n  \"a\": {\"targets\": [\n    \"p/m\"\n  ], \"weights\": {\"p/m\": 2}}}}}";
        let config = parse(&file(text)).unwrap();
        let route = &config.routes[0];
        assert_eq!(route.place.line, 3, "the key of the route stands on the third line");
        assert_eq!(route.targets[0].place.line, 4);
        assert_eq!(route.targets[0].pointer, "/experimental/model_routes/a/targets/0");
        assert!((route.weights["p/m"].weight - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_syntax_error_names_file_and_line() {
        let error = parse(&file("{\n  \"a\": 1,\n  oops\n}")).unwrap_err();
        assert!(error.starts_with("opencode.jsonc:3: "), "{error}");
    }

    #[test]
    fn brackets_deeper_than_any_config_are_refused_and_do_not_overflow_the_stack() {
        let error = parse(&file(&"[".repeat(200_000))).unwrap_err();
        assert_eq!(error, "opencode.jsonc:1: brackets nest deeper than 128");
    }

    #[test]
    fn a_doubled_key_counts_where_it_stands_last() {
        let config = parse(&file(r#"{"model": "a/b", "model": "opencode-route/x"}"#)).unwrap();
        assert_eq!(config.consumers.len(), 1);
        assert_eq!(config.consumers[0].target, ConsumerTarget::Pool(PoolId::new("x")));
    }

    #[test]
    fn a_near_miss_key_is_named_with_the_key_it_may_have_meant() {
        let config =
            parse(&file(r#"{"experimental": {"model_routes": {"a": {"targets": ["p/m"], "wieghts": {}}}}}"#)).unwrap();
        assert_eq!(config.routes[0].unknown_keys[0].near.as_deref(), Some("weights"));
    }
}
