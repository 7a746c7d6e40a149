//! One route as the router decodes it, one bad part dropping it whole; and whether `OpenChamber` would save it (reference
//! `pools` §1.2 and trap 9: the two validators differ).

use std::collections::BTreeMap;

use super::super::jsonc::Cursor;
use super::{ROUTE_PROVIDER, needs_resolving};
use crate::vocabulary::{
    Budget, PoolFormat, PoolId, ProviderId, Reject, RouteDef, RouteTarget, Selection, TargetKind, TargetRef,
    UnknownKey, WeightDef,
};

/// The keys a route knows; any other is ignored by the router.
const ROUTE_KEYS: [&str; 9] =
    ["name", "targets", "selection", "weights", "budgets", "attempts", "hedgeAfterMs", "health", "autonomy"];

/// The keys a target object knows.
const TARGET_KEYS: [&str; 6] = ["model", "providerID", "variant", "defaultVariant", "variants", "until"];

/// The keys of a circuit breaker.
const HEALTH_KEYS: [&str; 7] = [
    "firstTokenTimeoutMs",
    "maxResponseTimeMs",
    "minOutputTokensPerSecond",
    "sampleWindow",
    "slowThreshold",
    "cooldownMs",
    "quotaCooldownMs",
];

/// The allowances of a budget.
const ALLOWANCES: [&str; 4] = ["requestsPerMinute", "requestsPerDay", "tokensPerMinute", "tokensPerDay"];

/// The keys of a budget.
const BUDGET_KEYS: [&str; 5] = ["requestsPerMinute", "requestsPerDay", "tokensPerMinute", "tokensPerDay", "softLimit"];

/// The longest duration the router accepts, in milliseconds.
const HOUR_MS: f64 = 3_600_000.0;

/// One route: decoded, or kept as a shell with the reason why the router drops it.
pub(super) fn read_route(id: &str, route: &Cursor<'_>) -> RouteDef {
    let decoded = decode_route(id, route).unwrap_or_else(|reject| RouteDef {
        invalid: Some(reject),
        is_untellable: is_untellable(route),
        ..shell(id, route)
    });
    RouteDef { unsaveable: save(id, route).err(), ..decoded }
}

/// Whether a word that decides over the whole route stands behind `{env:}` or `{file:}`.
fn is_untellable(route: &Cursor<'_>) -> bool {
    let words = ["selection", "autonomy"].map(|key| route.get(key).and_then(|value| value.text().map(needs_resolving)));
    words.contains(&Some(true))
}

/// What `OpenChamber` checks before it saves the routes; the first fault refuses the whole save. Budgets, health and attempts
/// it lets pass.
fn save(id: &str, route: &Cursor<'_>) -> Result<(), Reject> {
    if !is_route_id(id) {
        return Err(bad(route, "the id is not `[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}`"));
    }
    let targets = route.get("targets").ok_or_else(|| bad(route, "`targets` is missing"))?;
    let elements = targets.elements().ok_or_else(|| bad(&targets, "`targets` is not an array"))?;
    if elements.is_empty() {
        return Err(bad(&targets, "`targets` is empty"));
    }
    elements.iter().try_for_each(|target| decode_target(target).map(|_| ()))?;
    selection(route)?;
    is_fixed(route)?;
    weights(route).map(|_| ())
}

/// A route without anything in it.
fn shell(id: &str, route: &Cursor<'_>) -> RouteDef {
    RouteDef {
        id: PoolId::new(id),
        format: PoolFormat::OpenCode,
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
        is_untellable: false,
        unsaveable: None,
    }
}

/// A reject at a value.
fn bad(at: &Cursor<'_>, reason: impl Into<String>) -> Reject {
    Reject { place: at.place(), reason: reason.into() }
}

/// Decodes a route as the router does; the first bad part drops it whole.
fn decode_route(id: &str, route: &Cursor<'_>) -> Result<RouteDef, Reject> {
    if !is_route_id(id) {
        let reason = "the id is not `[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}`; the router may even drop the whole file";
        return Err(bad(route, reason));
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
    unknown_keys.extend(route.get("health").iter().flat_map(|health| self::unknown_keys(health, &HEALTH_KEYS)));
    let budgets_of = route.get("budgets").map(|budgets| budgets.entries()).unwrap_or_default();
    unknown_keys.extend(budgets_of.iter().flat_map(|(_, budget)| self::unknown_keys(budget, &BUDGET_KEYS)));
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
    let kind = match target.text() {
        Some(text) => text_kind(target, text)?,
        None if target.is_object() => object_kind(target)?,
        None => return Err(bad(target, "a target is neither text nor an object")),
    };
    variants(target)?;
    Ok(RouteTarget {
        kind,
        weight: None,
        order: None,
        is_fallback: false,
        default_variant: text_of(target, "defaultVariant")?,
        until_ms: until(target)?,
        pointer: target.pointer().to_owned(),
        place: target.place(),
        raw: target.json(),
    })
}

/// What the text of a target names. `{env:}` and `{file:}` are never resolved: what they hold may be a secret.
fn text_kind(at: &Cursor<'_>, text: &str) -> Result<TargetKind, Reject> {
    if needs_resolving(text) {
        return Ok(TargetKind::Unreadable(text.to_owned()));
    }
    let reference = TargetRef::parse(text).map_err(|reason| bad(at, format!("target \"{text}\" {reason}")))?;
    Ok(reference_kind(reference))
}

/// A reference as a model or a nested pool.
fn reference_kind(reference: TargetRef) -> TargetKind {
    match reference {
        TargetRef { provider, model, variant } if provider.as_str() == ROUTE_PROVIDER => {
            TargetKind::Pool { id: PoolId::new(model), variant }
        }
        reference => TargetKind::Model(reference),
    }
}

/// What a target object names. `model` may itself be the explicit object.
fn object_kind(target: &Cursor<'_>) -> Result<TargetKind, Reject> {
    let model = target.get("model").ok_or_else(|| bad(target, "a target has no `model`"))?;
    if model.is_object() {
        return explicit_kind(&model);
    }
    if target.get("providerID").is_some() {
        return explicit_kind(target);
    }
    let text = model.text().ok_or_else(|| bad(&model, "`model` is neither text nor an object"))?;
    text_kind(&model, text)
}

/// `{providerID, model, variant?}`: no slash is parsed.
fn explicit_kind(object: &Cursor<'_>) -> Result<TargetKind, Reject> {
    let provider = text_of(object, "providerID")?.filter(|text| !text.is_empty() && !text.contains('/'));
    let model = text_of(object, "model")?.filter(|text| !text.is_empty());
    let (Some(provider), Some(model)) = (provider, model) else {
        return Err(bad(object, "a target needs `providerID` and `model`"));
    };
    let variant = text_of(object, "variant")?.filter(|variant| !variant.is_empty());
    if [&provider, &model].into_iter().chain(&variant).any(|text| needs_resolving(text)) {
        return Ok(TargetKind::Unreadable(format!("{provider}/{model}")));
    }
    Ok(reference_kind(TargetRef { provider: ProviderId::new(provider), model, variant }))
}

/// The variant map of a target: text to text.
fn variants(target: &Cursor<'_>) -> Result<(), Reject> {
    let Some(map) = target.get("variants") else { return Ok(()) };
    if !map.is_object() {
        return Err(bad(&map, "`variants` is not an object"));
    }
    match map.entries().into_iter().find(|(_, to)| to.text().is_none()) {
        Some((key, to)) => Err(bad(&to, format!("variant \"{key}\" does not lead to text"))),
        None => Ok(()),
    }
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
        if !budget.is_object() {
            return Err(bad(&budget, format!("budget of \"{key}\" is not an object")));
        }
        for name in ALLOWANCES {
            check_number(&budget, name, "a positive integer", |n| n >= 1.0 && n.fract().abs() < f64::EPSILON)?;
        }
        check_number(&budget, "softLimit", "between 0.125 and 1", |n| (0.125..=1.0).contains(&n))?;
        budgets.insert(key, Budget { raw: budget.json(), place: budget.place() });
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
