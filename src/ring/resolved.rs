//! The one way to a ring.

use std::collections::BTreeMap;

use super::expand::{Dropped, Leaf, Scope, expand};
use super::{Catalogue, PoolPolicy, Rule, ShareNode, Violation, configured_shares, lead_of};
use crate::settings::Settings;
use crate::vocabulary::{
    Digest, Effort, FleetConfig, HomeId, MemberKey, ModelId, Place, PoolId, RouteDef, Selection, TargetRef,
};

/// Everything the constructor needs; read once, so that what was validated is what is judged.
pub struct RingInput<'a> {
    /// Definitions of every layer.
    pub config: &'a FleetConfig,
    /// What the router's catalogue offers; `None` when it may not be used.
    pub catalogue: Option<&'a Catalogue>,
    /// Homes, rules for pools and policy.
    pub settings: &'a Settings,
    /// The canonical model of a target, or `None` when its name could not be matched.
    pub model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
    /// The review instant, epoch milliseconds.
    pub now_ms: i64,
}

/// One member of a ring.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent claims about a member, each named")]
pub struct RingMember {
    /// Identity for evidence: canonical model, effort, home.
    pub key: MemberKey,
    /// The target as the router calls it.
    pub target: TargetRef,
    /// Whether its name was matched to a canonical model; if not the key holds the name as written.
    pub is_matched: bool,
    /// Whether its home is a plan home.
    pub on_plan_home: bool,
    /// Weight where it is listed.
    pub weight: f64,
    /// Configured share of the pool's tasks, 0 to 1.
    pub share: f64,
    /// Whether policy lets it lead.
    pub may_lead: bool,
    /// End of the membership, epoch milliseconds.
    pub until_ms: Option<i64>,
    /// The route that lists it: the pool itself, or one nested in it.
    pub listed_in: PoolId,
    /// The JSON pointer of the entry that brings it in.
    pub pointer: String,
    /// Where that entry stands.
    pub place: Place,
    /// Whether a pattern brought it in.
    pub by_pattern: bool,
    /// Variants a pool over it may offer; `None` when its own is pinned.
    pub offers: Option<Vec<String>>,
}

impl RingMember {
    /// A model outside the pool as it would stand in it, for asking the policy.
    pub fn candidate(pool: &PoolId, target: TargetRef, key: MemberKey, on_plan_home: bool) -> Self {
        Self {
            key,
            target,
            is_matched: true,
            on_plan_home,
            weight: 1.0,
            share: 0.0,
            may_lead: false,
            until_ms: None,
            listed_in: pool.clone(),
            pointer: String::new(),
            place: Place::new(String::new(), 1),
            by_pattern: false,
            offers: None,
        }
    }
}

/// Why there is no ring.
#[derive(Debug, Clone, PartialEq)]
pub enum RingError {
    /// The router drops the whole definition.
    Invalid {
        /// Where the bad part stands.
        place: Place,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing resolves to an allowed member.
    Empty {
        /// What was dropped on the way.
        dropped: Vec<Dropped>,
        /// What broke policy on the way.
        violations: Vec<Violation>,
    },
}

/// What a pool really contains: at least one member, none of which its policy forbids.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedRing {
    /// The pool.
    pool: PoolId,
    /// How the outermost group picks, after `fixed`.
    selection: Selection,
    /// Members in order.
    members: Vec<RingMember>,
    /// Index of the lead.
    lead: usize,
    /// What the router drops.
    dropped: Vec<Dropped>,
    /// Configured members that break a rule; never members.
    violations: Vec<Violation>,
    /// Variants the pool offers: none as soon as one member is pinned.
    offers_variants: Vec<String>,
    /// Digest of the definition.
    subtree_digest: Digest,
    /// Digest of the policy.
    policy_digest: Digest,
}

impl ResolvedRing {
    /// Builds the ring of one route. The same input gives the same ring, whatever order keys stand in.
    ///
    /// # Errors
    /// [`RingError::Invalid`] when the router drops the definition, [`RingError::Empty`] when no allowed member is left.
    pub fn build(input: &RingInput<'_>, route: &RouteDef) -> Result<Self, RingError> {
        if let Some(reject) = &route.invalid {
            return Err(RingError::Invalid { place: reject.place.clone(), reason: reject.reason.clone() });
        }
        let routes: BTreeMap<_, _> = input.config.routes.iter().map(|route| (&route.id, route)).collect();
        let scope = Scope { routes: &routes, catalogue: input.catalogue, now_ms: input.now_ms };
        let expansion = expand(&scope, route);
        let policy = PoolPolicy::for_pool(input.settings, &route.id);
        let judged: Vec<_> = expansion.leaves.iter().map(|leaf| judge(input, &policy, leaf)).collect();
        let violations: Vec<Violation> = judged.iter().flat_map(|(_, violations)| violations.clone()).collect();
        let tree = expansion.tree.and_then(|tree| tree.retain(&|leaf| judged[leaf].1.is_empty()));
        let Some(tree) = tree else {
            return Err(RingError::Empty { dropped: expansion.dropped, violations });
        };
        let kept: Vec<RingMember> = members_with_shares(&tree, judged.into_iter().map(|(member, _)| member).collect());
        Ok(Self::of_members(input, route, &policy, (tree, kept, expansion.dropped, violations)))
    }

    /// The ring over members that passed the policy.
    fn of_members(
        input: &RingInput<'_>,
        route: &RouteDef,
        policy: &PoolPolicy,
        (tree, members, dropped, mut violations): (ShareNode, Vec<RingMember>, Vec<Dropped>, Vec<Violation>),
    ) -> Self {
        let shares: Vec<f64> = members.iter().map(|member| member.share).collect();
        let lead = lead_of(&shares).expect("a tree that is left holds at least one leaf");
        if let Some((setting, detail)) = policy.forbids_lead(&members[lead]) {
            violations.push(Violation { rule: Rule::NeverLead, setting, detail, member: members[lead].clone() });
        }
        let selection = match tree {
            ShareNode::Group { selection, .. } => selection,
            ShareNode::Leaf(_) => Selection::Ordered,
        };
        Self {
            pool: route.id.clone(),
            selection,
            offers_variants: offered_variants(&members),
            members,
            lead,
            dropped,
            violations,
            subtree_digest: Digest::of_json(&route.raw),
            policy_digest: input.settings.policy.digest.clone(),
        }
    }

    /// The pool.
    pub fn pool(&self) -> &PoolId {
        &self.pool
    }

    /// How a new session picks, after `fixed`.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// The members in order; at least one.
    pub fn members(&self) -> &[RingMember] {
        &self.members
    }

    /// The member a new task gets first: the largest configured share, ties to the first in order.
    pub fn lead(&self) -> &RingMember {
        &self.members[self.lead]
    }

    /// What the router drops without a message.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Configured members that break a rule; for [`Rule::NeverLead`] the lead, which stays a member.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Variants a consumer may ask of this pool; none as soon as one member is pinned.
    pub fn offers_variants(&self) -> &[String] {
        &self.offers_variants
    }

    /// Digest of the definition.
    pub fn subtree_digest(&self) -> &Digest {
        &self.subtree_digest
    }

    /// Digest of the policy.
    pub fn policy_digest(&self) -> &Digest {
        &self.policy_digest
    }
}

/// A leaf as a member, and the rules it breaks.
fn judge(input: &RingInput<'_>, policy: &PoolPolicy, leaf: &Leaf) -> (RingMember, Vec<Violation>) {
    let mut member = member_of(input, leaf);
    let entry = input.catalogue.and_then(|catalogue| catalogue.get(&leaf.target.provider, &leaf.target.model));
    let violations = policy
        .broken_by(&member, entry)
        .into_iter()
        .map(|(rule, setting, detail)| Violation { rule, setting, detail, member: member.clone() })
        .collect();
    member.may_lead = policy.forbids_lead(&member).is_none();
    (member, violations)
}

/// A leaf with its ids resolved. A name that could not be matched stands for itself in lower case.
fn member_of(input: &RingInput<'_>, leaf: &Leaf) -> RingMember {
    let matched = (input.model_of)(&leaf.target);
    let home = input.settings.home_of(&leaf.target.provider);
    let effort = leaf.target.variant.as_ref().or(leaf.default_variant.as_ref());
    RingMember {
        key: MemberKey {
            model: matched.clone().unwrap_or_else(|| ModelId::new(leaf.target.model.to_lowercase())),
            effort: effort.map_or_else(Effort::default_effort, |variant| Effort::new(variant.to_lowercase())),
            home: home
                .map_or_else(|| HomeId::new(format!("unassigned/{}", leaf.target.provider)), |(id, _)| id.clone()),
        },
        is_matched: matched.is_some(),
        on_plan_home: home.is_some_and(|(_, home)| home.is_plan()),
        target: leaf.target.clone(),
        weight: leaf.weight,
        share: 0.0,
        may_lead: true,
        until_ms: leaf.until_ms,
        listed_in: leaf.listed_in.clone(),
        pointer: leaf.pointer.clone(),
        place: leaf.place.clone(),
        by_pattern: leaf.by_pattern,
        offers: leaf.offers.clone(),
    }
}

/// The members that are left in the tree, in order, with their configured shares.
fn members_with_shares(tree: &ShareNode, members: Vec<RingMember>) -> Vec<RingMember> {
    let shares = configured_shares(tree, members.len());
    let mut left = vec![false; members.len()];
    mark_leaves(tree, &mut left);
    members
        .into_iter()
        .zip(shares)
        .zip(left)
        .filter(|(_, is_left)| *is_left)
        .map(|((member, share), _)| RingMember { share, ..member })
        .collect()
}

/// Marks the leaves of a tree.
fn mark_leaves(node: &ShareNode, left: &mut [bool]) {
    match node {
        ShareNode::Leaf(i) => left[*i] = true,
        ShareNode::Group { children, .. } => children.iter().for_each(|(child, _)| mark_leaves(child, left)),
    }
}

/// The variants every member takes, in the first member's order; none as soon as one member is pinned.
fn offered_variants(members: &[RingMember]) -> Vec<String> {
    let Some(mut offered) = members.first().and_then(|member| member.offers.clone()) else { return Vec::new() };
    for member in &members[1..] {
        let takes = member.offers.as_deref().unwrap_or_default();
        offered.retain(|variant| takes.contains(variant));
    }
    offered
}
