//! Keys of a definition that have no effect, and keys that the router does not know.

use std::collections::BTreeSet;

use super::super::intents;
use super::{finding, members};
use crate::evidence::PoolEvidence;
use crate::ring::{ResolvedRing, RingError};
use crate::verdict::{Edit, Finding, ProposalKind, Seat, Sentence, Verdict};
use crate::vocabulary::{RouteDef, RouteTarget, TargetKind};

/// Weight and budget keys that have no effect.
pub(super) fn dead_keys(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let mut found: Vec<Finding> = ignored_settings(evidence, route).into_iter().collect();
    let ignored = !found.is_empty();
    found.extend(keys_on_nested(evidence, route));
    let used = Used::of(evidence, route);
    for (map, key, place) in route
        .weights
        .iter()
        .map(|(key, def)| ("weights", key, &def.place))
        .filter(|_| !ignored)
        .chain(route.budgets.iter().map(|(key, def)| ("budgets", key, &def.place)).filter(|_| !route.is_fixed))
    {
        if used.takes(map, key) {
            continue;
        }
        let mut dead = finding(evidence, "dead_weight", &format!("{map}:{key}"), Some(Verdict::Misaligned));
        dead.place = Some(place.clone());
        dead.why = Sentence::new().own("the key ").name(key).own(format!(" of `{map}` matches no target"));
        fix_dead_key(&mut dead, route, map, key, used.of_map(map));
        found.push(dead);
    }
    found
}

/// The keys that have an effect.
struct Used {
    /// Of weights: what the route lists, and what its patterns bring in.
    weights: BTreeSet<String>,
    /// Of budgets: every member of the tree, because the outermost route that names one decides.
    budgets: BTreeSet<String>,
    /// Whether something in the route cannot be told, so that no key can be called dead.
    is_untold: bool,
}

impl Used {
    /// The keys of a route.
    fn of(evidence: &PoolEvidence, route: &RouteDef) -> Self {
        let members = evidence.ring.as_ref().map_or(&[][..], ResolvedRing::members);
        let violations = evidence.ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations);
        let all = || members.iter().chain(violations.iter().map(|violation| &violation.member));
        let is_pattern = |target: &&RouteTarget| matches!(&target.kind, TargetKind::Model(m) if m.model.contains('*'));
        let listed: BTreeSet<String> =
            route.targets.iter().filter(|t| !is_pattern(t)).map(intents::weight_key).collect();
        let own = all().filter(|member| member.listed_in == route.id).map(|member| member.target.weight_key());
        Self {
            weights: listed.iter().cloned().chain(own).collect(),
            budgets: listed.iter().cloned().chain(all().map(|member| member.target.weight_key())).collect(),
            is_untold: members::dropped(evidence).iter().any(|dropped| dropped.reason.is_unknown()),
        }
    }

    /// The keys of one map.
    fn of_map(&self, map: &str) -> &BTreeSet<String> {
        if map == "weights" { &self.weights } else { &self.budgets }
    }

    /// Whether a key has an effect, or cannot be told to have none.
    fn takes(&self, map: &str, key: &str) -> bool {
        self.is_untold && !key.contains(['#', '*']) || self.of_map(map).contains(key)
    }
}

/// Keys beside a nested pool that the router never looks at.
fn keys_on_nested(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let nested = route.targets.iter().filter(|target| matches!(target.kind, TargetKind::Pool { .. }));
    let keys = nested.flat_map(|target| {
        let written = ["until", "defaultVariant", "variants"].into_iter().filter(|key| target.raw.get(*key).is_some());
        written.map(move |key| (target, key))
    });
    keys.map(|(target, key)| {
        let pointer = format!("{}/{key}", target.pointer);
        let mut dead = finding(evidence, "dead_weight", &pointer, Some(Verdict::Misaligned));
        dead.place = Some(target.place.clone());
        dead.why = Sentence::new().own(format!("`{key}` beside the nested pool "));
        dead.why = dead.why.name(&intents::weight_key(target)).own(" is never looked at");
        dead.todo = Sentence::from("delete the key; what it asks for belongs into the nested pool");
        let human = format!("In {} delete `{key}` beside the nested pool: the router never looks at it.", route.id);
        let edits = vec![Edit::Remove { pointer }];
        dead.intent = Some(intents::intent(route, ProposalKind::FixKey, Seat::Member, edits, human));
        dead
    })
    .collect()
}

/// What would mend a dead key: the same key without its variant where that is meant, else its removal.
fn fix_dead_key(dead: &mut Finding, route: &RouteDef, map: &str, key: &str, used: &BTreeSet<String>) {
    let pointer = format!("{}/{map}/{}", route.pointer, intents::token(key));
    let value = route.raw.get(map).and_then(|values| values.get(key)).cloned().unwrap_or_default();
    let meant = key.split_once('#').map(|(bare, _)| bare).filter(|bare| used.contains(*bare));
    let is_free = |bare: &&str| route.raw.get(map).and_then(|values| values.get(*bare)).is_none();
    if let Some(bare) = meant.filter(is_free) {
        dead.why = dead.why.clone().own(": keys carry no variant, so the effective value is the default");
        dead.todo = Sentence::new().own("rename the key to ").name(bare);
        let edits = vec![
            Edit::Remove { pointer },
            Edit::Insert { object: format!("{}/{map}", route.pointer), key: bare.to_owned(), value },
        ];
        let human =
            format!("In {} rename the key {key} of `{map}` to {bare}, so that its value takes effect.", route.id);
        dead.intent = Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, edits, human));
        return;
    }
    dead.todo = Sentence::from("delete the key");
    let human = format!("In {} delete the key {key} of `{map}`: it matches no target.", route.id);
    dead.intent =
        Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, vec![Edit::Remove { pointer }], human));
}

/// `weights` (and `selection`, `budgets`) where the router ignores them: under `fixed` autonomy, or in an ordered pool.
fn ignored_settings(evidence: &PoolEvidence, route: &RouteDef) -> Option<Finding> {
    let is_ordered = route.selection == crate::vocabulary::Selection::Ordered;
    let mut dead: Vec<&str> = Vec::new();
    if (route.is_fixed || is_ordered) && !route.weights.is_empty() {
        dead.push("weights");
    }
    if route.is_fixed && route.selection_written && !is_ordered {
        dead.push("selection");
    }
    if route.is_fixed && !route.budgets.is_empty() {
        dead.push("budgets");
    }
    if dead.is_empty() {
        return None;
    }
    let cause = if route.is_fixed { "`autonomy` is fixed" } else { "the pool is ordered" };
    let mut found = finding(evidence, "dead_weight", &dead.join(" and "), Some(Verdict::Misaligned));
    found.why = Sentence::from(format!("{cause}, so the router ignores {}", dead.join(" and ")));
    found.todo = Sentence::from(format!("delete {}, or change what makes them dead", dead.join(" and ")));
    found.place =
        Some(route.weights.values().map(|def| def.place.clone()).min().unwrap_or_else(|| route.place.clone()));
    let edits = dead.iter().map(|key| Edit::Remove { pointer: format!("{}/{key}", route.pointer) }).collect();
    let human = format!("In {} delete {}: {cause}, so they are dead text.", route.id, dead.join(" and "));
    found.intent = Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, edits, human));
    Some(found)
}

/// Unknown keys within one edit of a known one.
pub(super) fn near_misses(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let near = route.unknown_keys.iter().filter_map(|unknown| Some((unknown, unknown.near.as_ref()?)));
    near.map(|(unknown, meant)| {
        let mut found = finding(evidence, "near_miss_key", &unknown.pointer, Some(Verdict::Misaligned));
        found.why = Sentence::new()
            .own("the router ignores the key ")
            .name(&unknown.key)
            .own(format!("; `{meant}` is the known one"));
        found.todo = Sentence::from(format!("rename it to `{meant}`"));
        found.place = Some(unknown.place.clone());
        found.intent = rename(route, &unknown.pointer, meant);
        found
    })
    .collect()
}

/// The edits that rename a key of a route or of one of its targets; `None` when the known key is there already.
fn rename(route: &RouteDef, pointer: &str, meant: &str) -> Option<crate::verdict::Intent> {
    let (object, _) = pointer.rsplit_once('/')?;
    let inside = |pointer: &str| pointer.strip_prefix(route.pointer.as_str()).and_then(|rest| route.raw.pointer(rest));
    if inside(&format!("{object}/{meant}")).is_some() {
        return None;
    }
    let value = inside(pointer)?.clone();
    let edits = vec![
        Edit::Remove { pointer: pointer.to_owned() },
        Edit::Insert { object: object.to_owned(), key: meant.to_owned(), value },
    ];
    let human = format!("In {} rename the misspelt key to `{meant}`.", route.id);
    Some(intents::intent(route, ProposalKind::FixKey, Seat::Pool, edits, human))
}
