//! How a fact becomes edits of a pool's definition. Shared by the checks; knows JSON pointers, no check.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::ring::RingMember;
use crate::verdict::{Edit, Intent, ProposalKind, Seat};
use crate::vocabulary::{RouteDef, RouteTarget, TargetKind};

/// A key as one reference token of a JSON pointer (RFC 6901).
pub(super) fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key under which a target's weight and budget stand.
pub(super) fn weight_key(target: &RouteTarget) -> String {
    match &target.kind {
        TargetKind::Model(reference) => reference.weight_key(),
        TargetKind::Pool { id, .. } => format!("opencode-route/{id}"),
    }
}

/// An intent on a pool's definition.
pub(super) fn intent(route: &RouteDef, kind: ProposalKind, seat: Seat, edits: Vec<Edit>, human: String) -> Intent {
    Intent {
        kind,
        seat,
        path: route.path.clone(),
        pointer: route.pointer.clone(),
        edits,
        human,
        moved_share: None,
    }
}

/// Takes the target at a pointer out, with the weight and budget keys that nothing else uses. `None` when the pool itself
/// does not list it: then the line belongs to another pool.
pub(super) fn retire(route: &RouteDef, pointer: &str) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == pointer)?;
    let human = format!("Delete the target {} from {}, with its weight and budget.", shown(target), route.id);
    Some(intent(route, ProposalKind::RetireMember, Seat::Member, removal(route, target), human))
}

/// The edits that take a target out.
fn removal(route: &RouteDef, target: &RouteTarget) -> Vec<Edit> {
    let mut edits = vec![Edit::Remove { pointer: target.pointer.clone() }];
    let key = weight_key(target);
    let is_shared = route.targets.iter().any(|other| other.pointer != target.pointer && weight_key(other) == key);
    if !is_shared {
        edits.extend(remove_key(&route.pointer, "weights", &key, route.weights.keys()));
        edits.extend(remove_key(&route.pointer, "budgets", &key, route.budgets.keys()));
    }
    edits
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
    let human = format!("Replace the target {} of {} by {successor}.", shown(target), route.id);
    Some(intent(route, ProposalKind::ReplaceMember, Seat::Member, edits, human))
}

/// Moves a target of an ordered pool to the front. `None` when the pool itself does not list the member.
pub(super) fn to_front(route: &RouteDef, member: &RingMember) -> Option<Intent> {
    let target = route.targets.iter().find(|target| target.pointer == member.pointer)?;
    let edits = vec![Edit::ToFront { pointer: target.pointer.clone() }];
    let human = format!("Move the target {} of {} to the front; the others keep their order.", shown(target), route.id);
    Some(intent(route, ProposalKind::Reorder, Seat::Lead, edits, human))
}

/// Adds a target behind the others of a weighted pool and sets every weight of it.
pub(super) fn add_weighted(route: &RouteDef, target: &str, weights: &BTreeMap<String, u32>, share: f64) -> Intent {
    let value: Value = weights.iter().map(|(key, weight)| (key.clone(), json!(weight))).collect::<serde_json::Map<_, _>>().into();
    let pointer = format!("{}/weights", route.pointer);
    let set = if route.raw.get("weights").is_some() {
        Edit::Replace { pointer, value }
    } else {
        Edit::Insert { object: route.pointer.clone(), key: "weights".to_owned(), value }
    };
    let edits = vec![Edit::Append { array: format!("{}/targets", route.pointer), value: json!(target) }, set];
    let human = format!("Add the target {target} behind the others of {} with a share of {:.0} % on trial.", route.id, share * 100.0);
    Intent { moved_share: Some(share), ..intent(route, ProposalKind::AddTrial, Seat::Member, edits, human) }
}

/// A target as a person would name it.
fn shown(target: &RouteTarget) -> String {
    match &target.kind {
        TargetKind::Model(reference) => reference.to_string(),
        TargetKind::Pool { id, variant: Some(variant) } => format!("opencode-route/{id}#{variant}"),
        TargetKind::Pool { id, variant: None } => format!("opencode-route/{id}"),
    }
}
