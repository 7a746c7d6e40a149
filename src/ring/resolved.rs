//! The one way to a ring.

use super::expand::{Dropped, Expansion, Leaf, expand};
use super::member::UNASSIGNED;
use super::policy::Judged;
use super::{PoolPolicy, RingInput, RingMember, Rotation, Rule, ShareNode, Violation, configured_shares, lead_of};
use crate::vocabulary::{Digest, Effort, HomeId, MemberKey, ModelId, Place, PoolId, RouteDef, Selection};

/// Why there is no ring.
#[derive(Debug, Clone, PartialEq)]
pub enum RingError {
    /// The router drops the whole definition.
    Invalid {
        /// Where the bad part stands.
        place: Place,
        /// What is wrong with it.
        reason: String,
        /// Whether it is no fault: what the router makes of the definition cannot be told from the file.
        is_untellable: bool,
    },
    /// Nothing resolves to an allowed member.
    Empty {
        /// What was dropped on the way.
        dropped: Vec<Dropped>,
        /// What broke policy on the way.
        violations: Vec<Violation>,
    },
}

impl RingError {
    /// What was dropped on the way.
    pub fn dropped(&self) -> &[Dropped] {
        match self {
            Self::Invalid { .. } => &[],
            Self::Empty { dropped, .. } => dropped,
        }
    }

    /// What broke policy on the way.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Invalid { .. } => &[],
            Self::Empty { violations, .. } => violations,
        }
    }
}

/// What a pool really contains: at least one member, none of which its policy forbids. The fields are private and
/// [`ResolvedRing::build`] is the only constructor, so no ring exists that did not pass the policy:
///
/// ```compile_fail
/// use pool_review::ring::ResolvedRing;
/// let made_up = ResolvedRing { members: Vec::new() };
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedRing {
    /// The pool.
    pool: PoolId,
    /// How the outermost group picks, after `fixed`.
    selection: Selection,
    /// Groups over the members, by index.
    tree: ShareNode,
    /// Members in order.
    members: Vec<RingMember>,
    /// Index of the lead.
    lead: usize,
    /// What the router drops.
    dropped: Vec<Dropped>,
    /// Configured members that break a rule; never members.
    violations: Vec<Violation>,
    /// Members and the rules that cannot be judged of them.
    unjudged: Vec<(usize, Rule)>,
    /// Variants the pool offers: none as soon as one member is pinned.
    offers_variants: Vec<String>,
    /// Digest of the definition.
    subtree_digest: Digest,
    /// Digest of the policy.
    policy_digest: Digest,
}

/// What the policy left of a tree.
struct Kept {
    /// The groups over what is left, leaves numbered anew.
    tree: ShareNode,
    /// What is left.
    members: Vec<RingMember>,
    /// Rules that cannot be judged, by index.
    unjudged: Vec<(usize, Rule)>,
}

impl ResolvedRing {
    /// Builds the ring of one route. The same input gives the same ring, whatever order keys stand in.
    ///
    /// # Errors
    /// [`RingError::Invalid`] when the router drops the definition, [`RingError::Empty`] when no allowed member is left.
    pub fn build(input: &RingInput<'_>, route: &RouteDef) -> Result<Self, RingError> {
        if let Some(reject) = &route.invalid {
            return Err(RingError::Invalid {
                place: reject.place.clone(),
                reason: reject.reason.clone(),
                is_untellable: route.is_untellable,
            });
        }
        let mut expansion = expand(input.scope(), route);
        let policy = input.policy(&route.id);
        let dropped = std::mem::take(&mut expansion.dropped);
        let mut violations = Vec::new();
        let kept = keep(input, &policy, &expansion, &mut violations);
        violations.extend(held_out(input, &policy, &expansion));
        let Some(kept) = kept else { return Err(RingError::Empty { dropped, violations }) };
        Ok(Self::of_members(input, route, &policy, kept, (dropped, violations)))
    }

    /// The ring over members that passed the policy.
    fn of_members(
        input: &RingInput<'_>,
        route: &RouteDef,
        policy: &PoolPolicy,
        Kept { tree, members, unjudged }: Kept,
        (dropped, mut violations): (Vec<Dropped>, Vec<Violation>),
    ) -> Self {
        let shares: Vec<f64> = members.iter().map(|member| member.share).collect();
        let lead = lead_of(&shares).expect("a tree that is left holds at least one leaf");
        if let Some((setting, detail)) = policy.forbids_lead(&members[lead], None) {
            violations.push(Violation { rule: Rule::NeverLead, setting, detail, member: members[lead].clone() });
        }
        let selection = match &tree {
            ShareNode::Group { selection, .. } => *selection,
            ShareNode::Leaf(_) => Selection::Ordered,
        };
        Self {
            pool: route.id.clone(),
            selection,
            offers_variants: offered_variants(&members),
            tree,
            members,
            lead,
            dropped,
            violations,
            unjudged,
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

    /// Members and the rules that cannot be judged of them for want of a fact.
    pub fn unjudged(&self) -> impl Iterator<Item = (&RingMember, &Rule)> {
        self.unjudged.iter().map(|(member, rule)| (&self.members[*member], rule))
    }

    /// The groups over the members, by index: what the router walks when it picks.
    pub fn tree(&self) -> &ShareNode {
        &self.tree
    }

    /// The rotation of the group that spreads this pool's work, and the member that stands first in each of its children; `None`
    /// where no group does, or where its weights are no whole numbers.
    pub fn rotation(&self) -> Option<(Rotation, Vec<&RingMember>)> {
        let children = self.tree.rotating()?;
        let weights: Vec<f64> = children.iter().map(|(_, weight)| *weight).collect();
        let first = children.iter().filter_map(|(child, _)| child.first_leaf().map(|leaf| &self.members[leaf]));
        Some((Rotation::of(&weights)?, first.collect()))
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

/// Applies the policy to every leaf, whatever brought it in: what breaks a rule goes to the violations, the rest stays.
fn keep(
    input: &RingInput<'_>,
    policy: &PoolPolicy,
    expansion: &Expansion<'_>,
    violations: &mut Vec<Violation>,
) -> Option<Kept> {
    let judged: Vec<(RingMember, Judged)> = expansion.leaves.iter().map(|leaf| judge(input, policy, leaf)).collect();
    violations.extend(judged.iter().flat_map(|(member, judged)| broken(member, judged)));
    let tree = expansion.tree.clone()?.retain(&|leaf| judged[leaf].1.broken.is_empty())?;
    let shares = configured_shares(&tree, judged.len());
    let lead = lead_of(&shares).filter(|_| policy.unpooled().is_some());
    let is_left = |leaf: usize| lead.is_none_or(|lead| lead == leaf);
    if let Some(setting) = policy.unpooled() {
        let others = leaves_of(&tree).into_iter().filter(|leaf| !is_left(*leaf));
        let detail = "the pool may have one member only, and another one leads it".to_owned();
        violations.extend(others.map(|leaf| Violation {
            rule: Rule::Unpooled,
            setting: setting.clone(),
            detail: detail.clone(),
            member: judged[leaf].0.clone(),
        }));
    }
    Some(numbered(tree.retain(&is_left)?, judged))
}

/// The members that are left in a tree, in order, with their shares; the tree's leaves count them.
fn numbered(mut tree: ShareNode, judged: Vec<(RingMember, Judged)>) -> Kept {
    let shares = configured_shares(&tree, judged.len());
    let mut number = vec![None; judged.len()];
    for leaf in leaves_of(&tree) {
        number[leaf] = Some(0);
    }
    let (mut members, mut unjudged) = (Vec::new(), Vec::new());
    for (leaf, (member, judged)) in judged.into_iter().enumerate() {
        if number[leaf].is_some() {
            number[leaf] = Some(members.len());
            unjudged.extend(judged.open.into_iter().map(|rule| (members.len(), rule)));
            members.push(RingMember { share: shares[leaf], ..member });
        }
    }
    tree.renumber(&|leaf| number[leaf].expect("every leaf of the tree was numbered"));
    Kept { tree, members, unjudged }
}

/// The leaves of a tree.
fn leaves_of(tree: &ShareNode) -> Vec<usize> {
    match tree {
        ShareNode::Leaf(leaf) => vec![*leaf],
        ShareNode::Group { children, .. } => children.iter().flat_map(|(child, _)| leaves_of(child)).collect(),
    }
}

/// Never-rules broken by targets that only the catalogue keeps out today: tomorrow's catalogue may let them in.
fn held_out(input: &RingInput<'_>, policy: &PoolPolicy, expansion: &Expansion<'_>) -> Vec<Violation> {
    let judged = expansion.held_out.iter().map(|leaf| judge(input, policy, leaf));
    let violations = judged.flat_map(|(member, judged)| broken(&member, &judged).collect::<Vec<_>>());
    violations.filter(|violation| matches!(violation.rule, Rule::Never | Rule::NotInTier)).collect()
}

/// The rules a member breaks, as violations.
fn broken(member: &RingMember, judged: &Judged) -> impl Iterator<Item = Violation> {
    judged.broken.iter().map(|(rule, setting, detail)| Violation {
        rule: rule.clone(),
        setting: setting.clone(),
        detail: detail.clone(),
        member: member.clone(),
    })
}

/// A leaf as a member, and what the rules say of it.
fn judge(input: &RingInput<'_>, policy: &PoolPolicy, leaf: &Leaf<'_>) -> (RingMember, Judged) {
    let mut member = member_of(input, leaf);
    let naming = input.naming(leaf, &member);
    let judged = policy.judge(&member, leaf.entry, Some(&naming));
    member.may_lead = policy.forbids_lead(&member, Some(&naming)).is_none();
    (member, judged)
}

/// A leaf with its ids resolved. A name that could not be matched stands for itself in lower case.
fn member_of(input: &RingInput<'_>, leaf: &Leaf<'_>) -> RingMember {
    let matched = input.name(leaf);
    let home = input.homes.get(leaf.provider);
    let default = leaf.target.default_variant.as_deref().filter(|variant| leaf.takes(variant).unwrap_or(true));
    let variant_map = leaf.variant_map();
    RingMember {
        is_matched: matched.is_some(),
        key: MemberKey {
            model: matched.unwrap_or_else(|| ModelId::new(leaf.model.to_lowercase())),
            effort: leaf
                .variant
                .or(default)
                .map_or_else(Effort::default_effort, |variant| Effort::new(variant.to_lowercase())),
            home: home.map_or_else(|| HomeId::new(format!("{UNASSIGNED}{}", leaf.provider)), |(id, _)| (*id).clone()),
        },
        on_plan_home: home.is_some_and(|(_, is_plan)| *is_plan),
        is_listed: leaf.entry.is_some() || input.config.own_model(leaf.provider, leaf.model).is_some(),
        target: leaf.reference(),
        weight: leaf.weight,
        share: 0.0,
        may_lead: true,
        until_ms: leaf.target.until_ms,
        budget: leaf.budget.cloned().map(Box::new),
        default_variant: default.map(str::to_owned),
        offers: leaf.offers(&variant_map),
        variant_map,
        listed_in: leaf.route.id.clone(),
        pointer: leaf.target.pointer.clone(),
        place: leaf.target.place.clone(),
        by_pattern: leaf.by_pattern,
        is_fallback: leaf.is_fallback,
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
