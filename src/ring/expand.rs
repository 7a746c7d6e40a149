//! Expansion of a route into its leaves, depth first, as the router does it (reference `pools` §1.3). What the router drops
//! without a message is dropped here with its reason. Everything is borrowed from config and catalogue until a ring is made.

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalogue, CatalogueEntry, ShareNode};
use crate::vocabulary::{
    Budget, FleetConfig, Place, PoolFormat, PoolId, ProviderId, RouteDef, RouteTarget, Selection, TargetKind, TargetRef,
};

/// Nesting deeper than this is not expanded: no fleet needs it, and a stack is finite.
const MAX_NESTING: usize = 64;

/// Most times that one tree walks into pools it has walked before: pools that refer to each other in many ways have more ways
/// through them than anybody could walk.
const MAX_REPEATS: usize = 400;

/// Why a target is not a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// Its `until` has passed.
    UntilPassed,
    /// Its provider's catalogue does not have the model.
    NotInCatalogue,
    /// The catalogue or the config has the model or its provider switched off.
    Disabled,
    /// The model does not take the pinned variant.
    UnknownVariant,
    /// The same target stands earlier in this tree.
    AlreadyInTree,
    /// The nested pool is one of its own parents.
    Cycle,
    /// The nested pool is not defined, or the router drops its definition.
    NoSuchRoute,
    /// A pattern that matches nothing its provider offers.
    NothingMatches,
    /// A pattern that cannot be expanded, because no usable catalogue speaks of its provider.
    NoCatalogue,
    /// Text that cannot be told without resolving it.
    Unreadable,
    /// Nesting too deep, or in too many ways, to be expanded.
    TooDeep,
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
            Self::NoCatalogue => "pattern cannot be expanded without a catalogue of its provider",
            Self::Unreadable => "cannot be told without resolving it",
            Self::TooDeep => "nested too deep to expand",
        }
    }

    /// Whether the review cannot tell what the router makes of the target: then the pool's members are not all known.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::NoCatalogue | Self::Unreadable | Self::TooDeep)
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf<'a> {
    /// Its provider.
    pub(super) provider: &'a ProviderId,
    /// Its model.
    pub(super) model: &'a str,
    /// Its effective pinned variant.
    pub(super) variant: Option<&'a str>,
    /// The route that lists it.
    pub(super) route: &'a RouteDef,
    /// The entry that brings it in.
    pub(super) target: &'a RouteTarget,
    /// Weight where it is listed, after `fixed`.
    pub(super) weight: f64,
    /// Its budget: that of the outermost route on the way which names it.
    pub(super) budget: Option<&'a Budget>,
    /// What the catalogue says of it.
    pub(super) entry: Option<&'a CatalogueEntry>,
    /// Whether a pattern brought it in.
    pub(super) by_pattern: bool,
    /// Whether it, or a nested pool on the way to it, is a fallback.
    pub(super) is_fallback: bool,
}

impl Leaf<'_> {
    /// The target as the router calls it.
    pub(super) fn reference(&self) -> TargetRef {
        TargetRef {
            provider: self.provider.clone(),
            model: self.model.to_owned(),
            variant: self.variant.map(str::to_owned),
        }
    }

    /// Whether its model takes a variant; `None` when the catalogue cannot tell.
    pub(super) fn takes(&self, variant: &str) -> Option<bool> {
        self.entry.map(|entry| entry.variants.iter().any(|known| known == variant))
    }

    /// The variants of a pool over it that lead to another one of its model.
    pub(super) fn variant_map(&self) -> BTreeMap<String, String> {
        let map = self.target.raw.get("variants").and_then(serde_json::Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(key, to)| Some((key.clone(), to.as_str()?.to_owned())))
            .filter(|(_, to)| self.takes(to).unwrap_or(true))
            .collect()
    }

    /// Variants a pool over it may offer: the model's own and the keys of its map; `None` when its own is pinned.
    pub(super) fn offers(&self, map: &BTreeMap<String, String>) -> Option<Vec<String>> {
        if self.variant.is_some() {
            return None;
        }
        let own = self.entry.map(|entry| entry.variants.as_slice()).unwrap_or_default();
        Some(own.iter().chain(map.keys().filter(|key| !own.contains(key))).cloned().collect())
    }
}

/// What expanding gave.
pub(super) struct Expansion<'a> {
    /// Members in order.
    pub(super) leaves: Vec<Leaf<'a>>,
    /// The tree over them; `None` when nothing is left.
    pub(super) tree: Option<ShareNode>,
    /// What the router drops.
    pub(super) dropped: Vec<Dropped>,
    /// Targets that only the catalogue keeps out today: policy holds for them as well.
    pub(super) held_out: Vec<Leaf<'a>>,
}

/// What expanding needs to know.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The effective definition of every route.
    pub(super) routes: &'a BTreeMap<&'a PoolId, &'a RouteDef>,
    /// What the config says of providers and of models of its own.
    pub(super) config: &'a FleetConfig,
    /// What exists; `None` when no catalogue may be used: then no id can be said to be missing.
    pub(super) catalogue: Option<&'a Catalogue>,
    /// The review instant, epoch milliseconds.
    pub(super) now_ms: i64,
}

/// Expands one route.
pub(super) fn expand<'a>(scope: Scope<'a>, route: &'a RouteDef) -> Expansion<'a> {
    let mut walk = Walk {
        scope,
        out: Expansion { leaves: Vec::new(), tree: None, dropped: Vec::new(), held_out: Vec::new() },
        seen: BTreeSet::new(),
        done: BTreeSet::new(),
        path: vec![route],
        entered: BTreeSet::new(),
        repeats: 0,
        cycles: 0,
    };
    walk.out.tree = walk.group(route, None, false);
    walk.out
}

/// The state of one walk.
struct Walk<'a> {
    /// What is known.
    scope: Scope<'a>,
    /// What it gave so far.
    out: Expansion<'a>,
    /// Provider, model and variant of the members so far; a skipped target does not count as seen.
    seen: BTreeSet<(&'a str, &'a str, Option<&'a str>)>,
    /// Nested pools, with the variant handed down, that were walked to the end and met no cycle: a second walk adds nothing.
    done: BTreeSet<(&'a str, Option<&'a str>)>,
    /// The routes from the root to here.
    path: Vec<&'a RouteDef>,
    /// Nested pools, with the variant handed down, that were walked into.
    entered: BTreeSet<(&'a str, Option<&'a str>)>,
    /// How often one was walked into again.
    repeats: usize,
    /// Cycles met.
    cycles: usize,
}

/// The children of a route that stand on one tier: whether it is a fallback, then its order, then the position of a fallback.
type Tiers = BTreeMap<(bool, i64, usize), Vec<(ShareNode, f64)>>;

impl<'a> Walk<'a> {
    /// One route as a group; `None` when nothing of it is left. `inherited` is the variant handed down by a reference.
    fn group(&mut self, route: &'a RouteDef, inherited: Option<&'a str>, is_fallback: bool) -> Option<ShareNode> {
        let has_order = route.targets.iter().any(|target| target.order.is_some());
        let mut tiers = Tiers::new();
        for (i, target) in route.targets.iter().enumerate() {
            let below = is_fallback || target.is_fallback;
            let children = self.children(route, target, inherited, below);
            let order = if has_order { target.order.unwrap_or(i64::MAX) } else { 0 };
            let is_tier = target.is_fallback && route.selection != Selection::Ordered;
            let key = (is_tier, order, if is_tier { i } else { 0 });
            if !children.is_empty() {
                tiers.entry(key).or_default().extend(children);
            }
        }
        let selection = if route.is_fixed { Selection::Ordered } else { route.selection };
        tree_of(&route.id, selection, tiers)
    }

    /// The children that one entry stands for, with their weights.
    fn children(
        &mut self,
        route: &'a RouteDef,
        target: &'a RouteTarget,
        inherited: Option<&'a str>,
        is_fallback: bool,
    ) -> Vec<(ShareNode, f64)> {
        match &target.kind {
            TargetKind::Pool { id, variant } => {
                let handed = variant.as_deref().or(inherited);
                let child = self.nested(route, target, (id, variant.as_deref()), handed, is_fallback);
                let key = || format!("opencode-route/{id}");
                child.map(|child| (child, weight(route, target, key))).into_iter().collect()
            }
            TargetKind::Model(reference) => {
                let variant = reference.variant.as_deref().or(inherited);
                let leaves = self.models(route, target, reference, variant, is_fallback);
                leaves.into_iter().map(|leaf| (ShareNode::Leaf(leaf), self.out.leaves[leaf].weight)).collect()
            }
            TargetKind::Unreadable(text) => {
                self.drop(route, target, text.clone(), DropReason::Unreadable);
                Vec::new()
            }
        }
    }

    /// A nested pool as a group of its own.
    fn nested(
        &mut self,
        route: &'a RouteDef,
        target: &'a RouteTarget,
        (id, written): (&'a PoolId, Option<&'a str>),
        handed: Option<&'a str>,
        is_fallback: bool,
    ) -> Option<ShareNode> {
        let name =
            || format!("opencode-route/{id}{}", written.map(|variant| format!("#{variant}")).unwrap_or_default());
        let nested = self.scope.routes.get(id).copied().filter(|nested| nested.invalid.is_none());
        let is_repeat = self.entered.contains(&(id.as_str(), handed));
        let refused = match nested {
            _ if self.path.iter().any(|route| route.id == *id) => Some(DropReason::Cycle),
            None => Some(DropReason::NoSuchRoute),
            Some(_) if self.done.contains(&(id.as_str(), handed)) => Some(DropReason::AlreadyInTree),
            Some(_) if self.path.len() >= MAX_NESTING || is_repeat && self.repeats >= MAX_REPEATS => {
                Some(DropReason::TooDeep)
            }
            Some(_) => None,
        };
        if let Some(reason) = refused {
            self.cycles += usize::from(matches!(reason, DropReason::Cycle | DropReason::TooDeep));
            self.drop(route, target, name(), reason);
            return None;
        }
        let (cycles, dropped) = (self.cycles, self.out.dropped.len());
        let nested = nested?;
        self.repeats += usize::from(is_repeat);
        self.entered.insert((id.as_str(), handed));
        self.path.push(nested);
        let group = self.group(nested, handed, is_fallback);
        self.path.pop();
        if self.cycles == cycles {
            self.done.insert((id.as_str(), handed));
        }
        let fresh = &self.out.dropped[dropped..];
        if group.is_none() && !fresh.is_empty() && fresh.iter().all(|drop| drop.reason == DropReason::AlreadyInTree) {
            self.drop(route, target, name(), DropReason::AlreadyInTree);
        }
        group
    }

    /// The members one model target stands for: itself, or what its pattern matches.
    fn models(
        &mut self,
        route: &'a RouteDef,
        target: &'a RouteTarget,
        reference: &'a TargetRef,
        variant: Option<&'a str>,
        is_fallback: bool,
    ) -> Vec<usize> {
        let provider = &reference.provider;
        let leaf = |model: &'a str, by_pattern: bool| Leaf {
            provider,
            model,
            variant,
            route,
            target,
            weight: 1.0,
            budget: None,
            entry: None,
            by_pattern,
            is_fallback,
        };
        let whole = leaf(&reference.model, false);
        if target.until_ms.is_some_and(|until| self.scope.now_ms >= until) {
            self.drop(route, target, whole.reference().to_string(), DropReason::UntilPassed);
            return Vec::new();
        }
        if !reference.model.contains('*') || !runs_in_opencode(route) {
            return self.model(whole).into_iter().collect();
        }
        let Some(catalogue) = self.scope.catalogue.filter(|catalogue| catalogue.knows(provider)) else {
            self.drop(route, target, whole.reference().to_string(), DropReason::NoCatalogue);
            return Vec::new();
        };
        let ids: Vec<&'a str> = catalogue.matching(provider, &reference.model).collect();
        if ids.is_empty() {
            self.drop(route, target, whole.reference().to_string(), DropReason::NothingMatches);
        }
        ids.into_iter().filter_map(|model| self.model(leaf(model, true))).collect()
    }

    /// One model as a member, or dropped with the reason.
    fn model(&mut self, mut leaf: Leaf<'a>) -> Option<usize> {
        leaf.entry = self.scope.catalogue.and_then(|catalogue| catalogue.get(leaf.provider, leaf.model));
        if let Some(reason) = self.missing(&leaf) {
            self.drop(leaf.route, leaf.target, leaf.reference().to_string(), reason);
            self.out.held_out.push(leaf);
            return None;
        }
        if !self.seen.insert((leaf.provider.as_str(), leaf.model, leaf.variant)) {
            self.drop(leaf.route, leaf.target, leaf.reference().to_string(), DropReason::AlreadyInTree);
            return None;
        }
        let key = || format!("{}/{}", leaf.provider, leaf.model);
        leaf.weight = weight(leaf.route, leaf.target, key);
        let mut naming = self.path.iter().filter(|route| !route.is_fixed && !route.budgets.is_empty());
        leaf.budget = naming.find_map(|route| route.budgets.get(&key()));
        self.out.leaves.push(leaf);
        Some(self.out.leaves.len() - 1)
    }

    /// Why the router keeps a model out, if it does. Of a provider the catalogue does not know nothing is said, nor of a model
    /// that the config adds itself; other routers have no catalogue.
    fn missing(&self, leaf: &Leaf<'a>) -> Option<DropReason> {
        if !runs_in_opencode(leaf.route) {
            return None;
        }
        let own = self.scope.config.own_model(leaf.provider, leaf.model);
        if !self.scope.config.allows(leaf.provider) || own.is_some_and(|own| own.is_disabled) {
            return Some(DropReason::Disabled);
        }
        let is_told = self.scope.catalogue.is_some_and(|catalogue| catalogue.knows(leaf.provider)) && own.is_none();
        match leaf.entry {
            _ if !is_told => None,
            None => Some(DropReason::NotInCatalogue),
            Some(entry) if !entry.enabled => Some(DropReason::Disabled),
            Some(_) => {
                leaf.variant.filter(|variant| leaf.takes(variant) == Some(false)).map(|_| DropReason::UnknownVariant)
            }
        }
    }

    /// Records a drop.
    fn drop(&mut self, route: &RouteDef, target: &RouteTarget, name: String, reason: DropReason) {
        self.out.dropped.push(Dropped {
            target: name,
            reason,
            listed_in: route.id.clone(),
            pointer: target.pointer.clone(),
            place: target.place.clone(),
        });
    }
}

/// Whether the models of a route are looked up in opencode's catalogue.
fn runs_in_opencode(route: &RouteDef) -> bool {
    matches!(route.format, PoolFormat::OpenCode | PoolFormat::Omo)
}

/// The tree over the tiers of a route: one group, or an ordered group of tiers.
fn tree_of(route: &PoolId, selection: Selection, tiers: Tiers) -> Option<ShareNode> {
    let group = |selection, children| ShareNode::Group { route: route.clone(), selection, children };
    let mut tiers: Vec<_> = tiers.into_values().collect();
    if tiers.len() <= 1 {
        return tiers.pop().map(|children| group(selection, children));
    }
    let alone = |mut children: Vec<(ShareNode, f64)>| match children.len() {
        1 => children.remove(0).0,
        _ => group(selection, children),
    };
    Some(group(Selection::Ordered, tiers.into_iter().map(|children| (alone(children), 1.0)).collect()))
}

/// The weight of a child where it is listed: 1 without an entry, and always 1 under `fixed`.
fn weight(route: &RouteDef, target: &RouteTarget, key: impl Fn() -> String) -> f64 {
    match target.weight {
        _ if route.is_fixed => 1.0,
        Some(weight) => weight,
        None if route.weights.is_empty() => 1.0,
        None => route.weights.get(&key()).map_or(1.0, |def| def.weight),
    }
}
