//! Expansion of a route into its leaves, depth first, as the router does it (reference `pools` §1.3). What the router drops
//! without a message is dropped here with its reason.

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalogue, ShareNode};
use crate::vocabulary::{Place, PoolId, RouteDef, RouteTarget, Selection, TargetKind, TargetRef};

/// Why a target is not a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// Its `until` has passed.
    UntilPassed,
    /// Its provider's catalogue does not have the model.
    NotInCatalogue,
    /// The catalogue has the model switched off.
    Disabled,
    /// The model does not take the pinned variant.
    UnknownVariant,
    /// The same target stands earlier in this tree.
    AlreadyInTree,
    /// The nested pool is one of its own parents.
    Cycle,
    /// The nested pool is not defined, or the router drops its definition.
    NoSuchRoute,
    /// A pattern that matches nothing, or one that cannot be expanded without a catalogue.
    NothingMatches,
}

impl DropReason {
    /// The reason as a fragment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UntilPassed => "until passed",
            Self::NotInCatalogue => "not in catalogue",
            Self::Disabled => "disabled",
            Self::UnknownVariant => "variant unknown to model",
            Self::AlreadyInTree => "already in this tree",
            Self::Cycle => "cycle",
            Self::NoSuchRoute => "no such route",
            Self::NothingMatches => "pattern matches nothing",
        }
    }
}

/// A target that is not a member, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// The target as the router sees it, an inherited variant included.
    pub target: String,
    /// Why.
    pub reason: DropReason,
    /// The route that lists it.
    pub listed_in: PoolId,
    /// The JSON pointer of the entry.
    pub pointer: String,
    /// Where it stands.
    pub place: Place,
}

/// A member before ids are resolved and policy is applied.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leaf {
    /// The target with its effective pinned variant.
    pub(super) target: TargetRef,
    /// Variant used when the pool is chosen without one, where the model has it.
    pub(super) default_variant: Option<String>,
    /// End of the membership, epoch milliseconds.
    pub(super) until_ms: Option<i64>,
    /// Weight where it is listed, after `fixed`.
    pub(super) weight: f64,
    /// The route that lists it.
    pub(super) listed_in: PoolId,
    /// The JSON pointer of the entry.
    pub(super) pointer: String,
    /// Where it stands.
    pub(super) place: Place,
    /// Whether a pattern brought it in.
    pub(super) by_pattern: bool,
    /// Variants a pool over it may offer: the model's own and the keys of its `variants` map that lead to one of them;
    /// `None` when its own is pinned.
    pub(super) offers: Option<Vec<String>>,
}

/// What expanding gave.
pub(super) struct Expansion {
    /// Members in order.
    pub(super) leaves: Vec<Leaf>,
    /// The tree over them; `None` when nothing is left.
    pub(super) tree: Option<ShareNode>,
    /// What the router drops.
    pub(super) dropped: Vec<Dropped>,
}

/// What expanding needs to know.
pub(super) struct Scope<'a> {
    /// The effective definition of every route.
    pub(super) routes: &'a BTreeMap<&'a PoolId, &'a RouteDef>,
    /// What exists; `None` when no catalogue may be used: then no id can be said to be missing.
    pub(super) catalogue: Option<&'a Catalogue>,
    /// The review instant, epoch milliseconds.
    pub(super) now_ms: i64,
}

/// Expands one route.
pub(super) fn expand(scope: &Scope<'_>, route: &RouteDef) -> Expansion {
    let mut walk = Walk { scope, leaves: Vec::new(), dropped: Vec::new(), seen: BTreeSet::new() };
    let tree = walk.group(route, None, &mut vec![route.id.clone()]);
    Expansion { leaves: walk.leaves, tree, dropped: walk.dropped }
}

/// The state of one walk.
struct Walk<'a> {
    /// What is known.
    scope: &'a Scope<'a>,
    /// Members so far.
    leaves: Vec<Leaf>,
    /// Drops so far.
    dropped: Vec<Dropped>,
    /// `provider/model#variant` of the members so far; a skipped target does not count as seen.
    seen: BTreeSet<String>,
}

impl Walk<'_> {
    /// One route as a group; `None` when nothing of it is left. `inherited` is the variant handed down by a reference.
    fn group(&mut self, route: &RouteDef, inherited: Option<&str>, path: &mut Vec<PoolId>) -> Option<ShareNode> {
        let mut children = Vec::new();
        for target in &route.targets {
            match &target.kind {
                TargetKind::Pool { id, variant } => {
                    let written = variant.as_deref();
                    if let Some(child) = self.nested(route, target, (id, written), written.or(inherited), path) {
                        children.push((child, weight(route, &format!("opencode-route/{id}"))));
                    }
                }
                TargetKind::Model(reference) => {
                    let mut reference = reference.clone();
                    reference.variant = reference.variant.or_else(|| inherited.map(str::to_owned));
                    for leaf in self.models(route, target, &reference) {
                        children.push((ShareNode::Leaf(leaf), self.leaves[leaf].weight));
                    }
                }
            }
        }
        let selection = if route.is_fixed { Selection::Ordered } else { route.selection };
        (!children.is_empty()).then_some(ShareNode::Group { selection, children })
    }

    /// A nested pool as a group of its own.
    fn nested(
        &mut self,
        route: &RouteDef,
        target: &RouteTarget,
        (id, written): (&PoolId, Option<&str>),
        handed: Option<&str>,
        path: &mut Vec<PoolId>,
    ) -> Option<ShareNode> {
        let name = format!("opencode-route/{id}{}", written.map(|variant| format!("#{variant}")).unwrap_or_default());
        if path.contains(id) {
            self.drop(route, target, name, DropReason::Cycle);
            return None;
        }
        let Some(nested) = self.scope.routes.get(id).copied().filter(|nested| nested.invalid.is_none()) else {
            self.drop(route, target, name, DropReason::NoSuchRoute);
            return None;
        };
        path.push(id.clone());
        let group = self.group(nested, handed, path);
        path.pop();
        group
    }

    /// The members one model target stands for: itself, or what its pattern matches.
    fn models(&mut self, route: &RouteDef, target: &RouteTarget, reference: &TargetRef) -> Vec<usize> {
        if target.until_ms.is_some_and(|until| self.scope.now_ms >= until) {
            self.drop(route, target, reference.to_string(), DropReason::UntilPassed);
            return Vec::new();
        }
        if !reference.model.contains('*') {
            return self.model(route, target, reference, false).into_iter().collect();
        }
        let ids: Vec<String> = self
            .scope
            .catalogue
            .map(|catalogue| catalogue.matching(&reference.provider, &reference.model).map(str::to_owned).collect())
            .unwrap_or_default();
        if ids.is_empty() {
            self.drop(route, target, reference.to_string(), DropReason::NothingMatches);
        }
        ids.into_iter()
            .filter_map(|model| self.model(route, target, &TargetRef { model, ..reference.clone() }, true))
            .collect()
    }

    /// One model as a member, or dropped with the reason.
    fn model(
        &mut self,
        route: &RouteDef,
        target: &RouteTarget,
        reference: &TargetRef,
        by_pattern: bool,
    ) -> Option<usize> {
        if let Some(reason) = self.missing(reference) {
            self.drop(route, target, reference.to_string(), reason);
            return None;
        }
        if !self.seen.insert(reference.to_string()) {
            self.drop(route, target, reference.to_string(), DropReason::AlreadyInTree);
            return None;
        }
        let default_variant =
            target.default_variant.clone().filter(|variant| self.takes(reference, variant).unwrap_or(true));
        self.leaves.push(Leaf {
            default_variant,
            until_ms: target.until_ms,
            weight: weight(route, &reference.weight_key()),
            listed_in: route.id.clone(),
            pointer: target.pointer.clone(),
            place: target.place.clone(),
            offers: self.offers(target, reference),
            target: reference.clone(),
            by_pattern,
        });
        Some(self.leaves.len() - 1)
    }

    /// Why the router's catalogue keeps a model out, if it does. Of a provider the catalogue does not know nothing is said.
    fn missing(&self, reference: &TargetRef) -> Option<DropReason> {
        let catalogue = self.scope.catalogue.filter(|catalogue| catalogue.knows(&reference.provider))?;
        let Some(entry) = catalogue.get(&reference.provider, &reference.model) else {
            return Some(DropReason::NotInCatalogue);
        };
        if !entry.enabled {
            return Some(DropReason::Disabled);
        }
        let variant = reference.variant.as_ref()?;
        (!entry.variants.contains(variant)).then_some(DropReason::UnknownVariant)
    }

    /// The variants a pool over this member may offer.
    fn offers(&self, target: &RouteTarget, reference: &TargetRef) -> Option<Vec<String>> {
        if reference.variant.is_some() {
            return None;
        }
        let entry = self.scope.catalogue.and_then(|catalogue| catalogue.get(&reference.provider, &reference.model));
        let own = entry.map(|entry| entry.variants.clone()).unwrap_or_default();
        let map = target.raw.get("variants").and_then(serde_json::Value::as_object);
        let mapped = map.into_iter().flatten().filter(|(key, to)| {
            !own.contains(key) && to.as_str().is_some_and(|to| own.iter().any(|variant| variant == to))
        });
        let keys: Vec<String> = mapped.map(|(key, _)| key.clone()).collect();
        Some(own.iter().cloned().chain(keys).collect())
    }

    /// Whether a model takes a variant; `None` when the catalogue cannot tell.
    fn takes(&self, reference: &TargetRef, variant: &str) -> Option<bool> {
        let entry = self.scope.catalogue?.get(&reference.provider, &reference.model)?;
        Some(entry.variants.iter().any(|known| known == variant))
    }

    /// Records a drop.
    fn drop(&mut self, route: &RouteDef, target: &RouteTarget, name: String, reason: DropReason) {
        self.dropped.push(Dropped {
            target: name,
            reason,
            listed_in: route.id.clone(),
            pointer: target.pointer.clone(),
            place: target.place.clone(),
        });
    }
}

/// The weight of a child where it is listed: 1 without an entry, and always 1 under `fixed`.
fn weight(route: &RouteDef, key: &str) -> f64 {
    if route.is_fixed { 1.0 } else { route.weights.get(key).map_or(1.0, |def| def.weight) }
}
