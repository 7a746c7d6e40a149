//! How a fact becomes edits of a pool's definition, in the manner of the file that holds it. Shared by the checks; knows JSON
//! pointers, no check.

mod litellm;
mod omo;

use std::collections::BTreeSet;

use chrono::{NaiveDate, NaiveTime};
use serde_json::{Value, json};

use crate::ring::RingMember;
use crate::verdict::{Edit, Intent, ProposalKind, Seat};
use crate::vocabulary::{PoolFormat, RouteDef, RouteTarget, TargetKind, TargetRef};

/// A key as one reference token of a JSON pointer (RFC 6901).
pub(super) fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key under which a target's weight and budget stand.
pub(super) fn weight_key(target: &RouteTarget) -> String {
    match &target.kind {
        TargetKind::Model(reference) => reference.weight_key(),
        TargetKind::Pool { id, .. } => format!("opencode-route/{id}"),
        TargetKind::Unreadable(text) => text.clone(),
    }
}

/// An intent on a pool's definition.
pub(super) fn intent(route: &RouteDef, kind: ProposalKind, seat: Seat, edits: Vec<Edit>, human: String) -> Intent {
    Intent {
        kind,
        seat,
        path: route.path.clone(),
        pointer: if route.format == PoolFormat::LiteLlm { litellm::subtree(&edits) } else { route.pointer.clone() },
        edits,
        human,
        moved_share: None,
        expires: None,
    }
}

/// Takes the target at a pointer out, with the weight and budget keys that nothing else uses. `None` when the pool itself
/// does not list it: then the line belongs to another pool.
pub(super) fn retire(route: &RouteDef, pointer: &str) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == pointer)?;
    let with = if route.format == PoolFormat::OpenCode { ", with its weight and budget" } else { "" };
    let human = format!("Delete the target {} from {}{with}.", shown(target), route.id);
    Some(intent(route, ProposalKind::RetireMember, Seat::Member, removal(route, target)?, human))
}

/// The edits that take a target out; `None` where no edit in one place does.
fn removal(route: &RouteDef, target: &RouteTarget) -> Option<Vec<Edit>> {
    match route.format {
        PoolFormat::LiteLlm => return litellm::removal(target),
        PoolFormat::Omo => return omo::removal(route, target),
        PoolFormat::OpenCode | PoolFormat::Ccr => {}
    }
    let mut edits = vec![Edit::Remove { pointer: target.pointer.clone() }];
    let key = weight_key(target);
    let is_shared = route.targets.iter().any(|other| other.pointer != target.pointer && weight_key(other) == key);
    if !is_shared {
        edits.extend(remove_key(&route.pointer, "weights", &key, route.weights.keys()));
        edits.extend(remove_key(&route.pointer, "budgets", &key, route.budgets.keys()));
    }
    Some(edits)
}

/// Removes one key of a map of a route, or the whole map when it is the only one.
fn remove_key<'a>(route: &str, map: &str, key: &str, keys: impl Iterator<Item = &'a String>) -> Option<Edit> {
    let keys: Vec<_> = keys.collect();
    if !keys.iter().any(|known| *known == key) {
        return None;
    }
    let pointer = if keys.len() == 1 { format!("{route}/{map}") } else { format!("{route}/{map}/{}", token(key)) };
    Some(Edit::Remove { pointer })
}

/// Puts another target in the place of one, and moves its weight and budget to the new name.
pub(super) fn replace(route: &RouteDef, pointer: &str, successor: &str, successor_key: &str) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == pointer)?;
    let human = format!("Replace the target {} of {} by {successor}.", shown(target), route.id);
    let edits = match route.format {
        PoolFormat::LiteLlm => litellm::replacement(target, &TargetRef::parse(successor).ok()?)?,
        PoolFormat::Omo => omo::replacement(route, target, &TargetRef::parse(successor).ok()?)?,
        PoolFormat::OpenCode | PoolFormat::Ccr => replacement(route, target, successor, successor_key),
    };
    Some(intent(route, ProposalKind::ReplaceMember, Seat::Member, edits, human))
}

/// The edits of opencode's definition that put another target in the place of one.
fn replacement(route: &RouteDef, target: &RouteTarget, successor: &str, successor_key: &str) -> Vec<Edit> {
    let key = weight_key(target);
    let mut edits = vec![Edit::Replace { pointer: target.pointer.clone(), value: json!(successor) }];
    for (map, values) in [("weights", route.raw.get("weights")), ("budgets", route.raw.get("budgets"))] {
        let Some(value) = values.and_then(|values| values.get(&key)) else { continue };
        edits.push(Edit::Remove { pointer: format!("{}/{map}/{}", route.pointer, token(&key)) });
        edits.push(Edit::Insert {
            object: format!("{}/{map}", route.pointer),
            key: successor_key.to_owned(),
            value: value.clone(),
        });
    }
    edits
}

/// The edits that move a target of an ordered pool to the front.
fn front(route: &RouteDef, target: &RouteTarget) -> Option<Vec<Edit>> {
    match route.format {
        PoolFormat::LiteLlm => None,
        PoolFormat::Omo => omo::to_front(route, target),
        PoolFormat::OpenCode | PoolFormat::Ccr => Some(vec![Edit::ToFront { pointer: target.pointer.clone() }]),
    }
}

/// Moves a target of an ordered pool to the front. `None` when the pool itself does not list the member.
pub(super) fn to_front(route: &RouteDef, member: &RingMember) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == member.pointer)?;
    let edits = front(route, target)?;
    let human = format!("Move the target {} of {} to the front; the others keep their order.", shown(target), route.id);
    Some(intent(route, ProposalKind::Reorder, Seat::Lead, edits, human))
}

/// Another member leads: to the front of an ordered pool; in a weighted one the two exchange their weights, or, when they
/// are equal, the other gets one more. `None` when the pool itself does not list both, or one weight holds for both.
pub(super) fn swap(route: &RouteDef, is_weighted: bool, lead: &RingMember, other: &RingMember) -> Option<Intent> {
    let target = |member: &RingMember| route.targets.iter().find(|target| target.pointer == member.pointer);
    let (from, to) = (target(lead)?, target(other)?);
    if !is_weighted {
        let edits = front(route, to)?;
        let human = format!("Move the target {} of {} to the front; the others keep their order.", shown(to), route.id);
        return Some(intent(route, ProposalKind::SwapLead, Seat::Lead, edits, human));
    }
    let (from_key, to_key) = (weight_key(from), weight_key(to));
    let (own, others) = (weight(route, &from_key), weight(route, &to_key));
    if from_key == to_key || own.fract().abs() > f64::EPSILON || others.fract().abs() > f64::EPSILON {
        return None;
    }
    let is_equal = (own - others).abs() < f64::EPSILON;
    let wanted = if is_equal { vec![(to_key, others + 1.0)] } else { vec![(from_key, others), (to_key, own)] };
    let human = format!(
        "In {} exchange the weights of {} and {}, so that {} leads.",
        route.id,
        shown(from),
        shown(to),
        shown(to)
    );
    let edits = weight_edits(route, &wanted);
    (!edits.is_empty()).then(|| intent(route, ProposalKind::SwapLead, Seat::Lead, edits, human))
}

/// Weight 1 for a target that has more; `None` for one that has not, or whose weight others share.
pub(super) fn to_one(route: &RouteDef, pointer: &str) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == pointer)?;
    let key = weight_key(target);
    let is_shared = route.targets.iter().any(|other| other.pointer != target.pointer && weight_key(other) == key);
    let own = weight(route, &key);
    if is_shared || own <= 1.0 {
        return None;
    }
    let human = format!("In {} set the weight of {} to 1.", route.id, shown(target));
    let all: f64 = route.targets.iter().map(|target| weight(route, &weight_key(target))).sum();
    let edits = weight_edits(route, &[(key, 1.0)]);
    (!edits.is_empty()).then(|| Intent {
        moved_share: Some(own / all - 1.0 / (all - own + 1.0)),
        ..intent(route, ProposalKind::Reweight, Seat::Weights, edits, human)
    })
}

/// The weight of a key; 1 where none is set.
fn weight(route: &RouteDef, key: &str) -> f64 {
    match route.format {
        PoolFormat::LiteLlm => litellm::weight(route, key),
        _ => route.weights.get(key).map_or(1.0, |def| def.weight),
    }
}

/// Two members exchange their weights. `None` when the pool itself does not list both, or one weight holds for both.
pub(super) fn exchange(route: &RouteDef, from: &RingMember, to: &RingMember) -> Option<Intent> {
    let swapped = swap(route, true, from, to)?;
    Some(Intent { kind: ProposalKind::Reweight, seat: Seat::Weights, ..swapped })
}

/// Whether at least two members on two homes remain without a member.
pub(super) fn leaves_two_homes(
    evidence: &crate::evidence::PoolEvidence,
    member: &crate::evidence::MemberEvidence,
) -> bool {
    let home = |key: &str| key.rsplit_once('#').map(|(_, home)| home.to_owned()).unwrap_or_default();
    let rest: Vec<&crate::evidence::MemberEvidence> =
        evidence.members.iter().filter(|other| other.key != member.key).collect();
    let homes: std::collections::BTreeSet<String> = rest.iter().map(|other| home(&other.key)).collect();
    rest.len() >= 2 && homes.len() >= 2
}

/// New weights of every member, by key. `None` when the pool itself does not list each of them, or two share a weight.
pub(super) fn reweight(
    evidence: &crate::evidence::PoolEvidence,
    weights: &std::collections::BTreeMap<String, u32>,
    moved_share: f64,
) -> Option<Intent> {
    let route = evidence.definition.as_ref()?;
    let mut wanted: Vec<(String, f64)> = Vec::new();
    for (member, weight) in weights {
        let pointer = evidence.pointer_of(member)?;
        let key = weight_key(route.targets.iter().find(|target| target.pointer == pointer)?);
        if wanted.iter().any(|(known, _)| *known == key) {
            return None;
        }
        wanted.push((key, f64::from(*weight)));
    }
    let edits = weight_edits(route, &wanted);
    let said: Vec<String> = wanted.iter().map(|(key, weight)| format!("{key} {weight:.0}")).collect();
    let human = format!("In {} set the weights: {}.", route.id, said.join(", "));
    (!edits.is_empty()).then(|| Intent {
        moved_share: Some(moved_share),
        ..intent(route, ProposalKind::Reweight, Seat::Weights, edits, human)
    })
}

/// The edits that lead to some weights; what stands already is left alone.
#[expect(clippy::cast_possible_truncation, reason = "proposed weights are small whole numbers")]
fn weight_edits(route: &RouteDef, wanted: &[(String, f64)]) -> Vec<Edit> {
    let pointer = format!("{}/weights", route.pointer);
    let known = |key: &String| route.weights.get(key).map(|def| def.weight);
    let differs = |(key, wanted): &&(String, f64)| (weight(route, key) - wanted).abs() > f64::EPSILON;
    let changed: Vec<&(String, f64)> = wanted.iter().filter(differs).collect();
    match route.format {
        PoolFormat::LiteLlm => return litellm::weights(route, &changed),
        PoolFormat::Omo => return Vec::new(),
        PoolFormat::OpenCode | PoolFormat::Ccr => {}
    }
    if route.raw.get("weights").is_none() && !changed.is_empty() {
        let all: serde_json::Map<String, Value> =
            changed.iter().map(|(key, weight)| (key.clone(), json!(*weight as i64))).collect();
        return vec![Edit::Insert {
            object: route.pointer.clone(),
            key: "weights".to_owned(),
            value: Value::Object(all),
        }];
    }
    let edit = |(key, weight): &(String, f64)| match known(key) {
        Some(_) => Edit::Replace { pointer: format!("{pointer}/{}", token(key)), value: json!(*weight as i64) },
        None => Edit::Insert { object: pointer.clone(), key: key.clone(), value: json!(*weight as i64) },
    };
    changed.into_iter().map(edit).collect()
}

/// Takes a lead out and puts its successor behind the others: a model without own rows never leads (methods §11).
pub(super) fn replace_behind(route: &RouteDef, pointer: &str, successor: &str) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == pointer)?;
    let edits = match route.format {
        PoolFormat::LiteLlm => return None,
        PoolFormat::Omo => omo::successor_behind(route, target, &TargetRef::parse(successor).ok()?)?,
        PoolFormat::OpenCode | PoolFormat::Ccr => {
            let append = Edit::Append { array: format!("{}/targets", route.pointer), value: json!(successor) };
            removal(route, target)?.into_iter().chain([append]).collect()
        }
    };
    let human =
        format!("Replace the lead {} of {} by {successor}, which joins behind the others.", shown(target), route.id);
    Some(intent(route, ProposalKind::ReplaceMember, Seat::Member, edits, human))
}

/// Adds a target to a weighted pool on trial, with a weight that gives it at most `share` and leaves the others in
/// proportion. Targets that the router drops (`dropped`, their pointers) take no share. `None` when the weights are no small
/// integers that leave room for one.
pub(super) fn add_trial(
    route: &RouteDef,
    dropped: &BTreeSet<&str>,
    target: &str,
    share: f64,
    until: NaiveDate,
) -> Option<Intent> {
    if route.format != PoolFormat::OpenCode {
        return None;
    }
    let reference = TargetRef::parse(target).ok()?;
    let keys: Vec<String> = route.targets.iter().map(weight_key).collect();
    let weights: Vec<f64> = keys.iter().map(|key| route.weights.get(key).map_or(1.0, |def| def.weight)).collect();
    let drawn = route.targets.iter().zip(&weights).filter(|(target, _)| !dropped.contains(target.pointer.as_str()));
    let total: f64 = drawn.map(|(_, weight)| weight).sum();
    if weights.iter().any(|weight| weight.fract().abs() > f64::EPSILON)
        || route.weights.contains_key(&reference.weight_key())
    {
        return None;
    }
    // Weight k beside a total of m·S has the share k / (k + m·S): the smallest m that leaves room for k = 1, then the largest k.
    let room = share / (1.0 - share);
    let scale = (1.0 / (room * total)).ceil().max(1.0);
    let own = (room * total * scale).floor().max(1.0);
    let until_ms = until.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
    let mut edits = vec![Edit::Append {
        array: format!("{}/targets", route.pointer),
        value: json!({"model": target, "until": until_ms}),
    }];
    edits.extend(trial_weights(route, &keys, &weights, scale, (reference.weight_key(), own)));
    let real = own / (own + total * scale);
    let human = format!(
        "Add the target {target} behind the others of {} on trial until {until}, with {:.0} % of its work.",
        route.id,
        real * 100.0
    );
    let mut intent = intent(route, ProposalKind::AddTrial, Seat::Member, edits, human);
    intent.moved_share = Some(real);
    Some(intent)
}

/// The edits of `weights` for a trial: one key more; every key anew only when the others must be scaled.
#[expect(clippy::cast_possible_truncation, reason = "weights are whole numbers, and a config's are small")]
fn trial_weights(
    route: &RouteDef,
    keys: &[String],
    weights: &[f64],
    scale: f64,
    (key, own): (String, f64),
) -> Vec<Edit> {
    let pointer = format!("{}/weights", route.pointer);
    if scale <= 1.0 && !route.weights.is_empty() {
        return vec![Edit::Insert { object: pointer, key, value: json!(own as i64) }];
    }
    let mut all: serde_json::Map<String, Value> =
        keys.iter().zip(weights).map(|(key, weight)| (key.clone(), json!((weight * scale) as i64))).collect();
    all.insert(key, json!(own as i64));
    let value = Value::Object(all);
    if route.raw.get("weights").is_some() {
        return vec![Edit::Replace { pointer, value }];
    }
    vec![Edit::Insert { object: route.pointer.clone(), key: "weights".to_owned(), value }]
}

/// A target as a person would name it.
fn shown(target: &RouteTarget) -> String {
    match &target.kind {
        TargetKind::Model(reference) => reference.to_string(),
        TargetKind::Pool { id, variant: Some(variant) } => format!("opencode-route/{id}#{variant}"),
        TargetKind::Pool { id, variant: None } => format!("opencode-route/{id}"),
        TargetKind::Unreadable(text) => text.clone(),
    }
}
