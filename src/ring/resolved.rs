//! The one way to a ring.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::expand::{Dropped, Expansion, Leaf, Scope, expand};
use super::policy::{Judged, PolicyBook, VendorRule};
use super::{Catalogue, PoolPolicy, Rotation, Rule, ShareNode, Violation, configured_shares, lead_of};
use crate::settings::Settings;
use crate::vocabulary::{
    Budget, Digest, Effort, FleetConfig, HomeId, MemberKey, ModelId, Place, PoolId, ProviderId, RouteDef, Selection,
    TargetRef,
};

/// What the home of a provider begins with that no home of the settings has. An id of the settings holds no slash.
const UNASSIGNED: &str = "unassigned/";

/// What is known of a model wherever it stands.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Its canonical name.
    name: Option<ModelId>,
    /// The numbers of the rules that name it, once asked for.
    naming: Option<Rc<[usize]>>,
}

/// Provider → model as written → what is known of it, as far as it was asked for.
type Names = BTreeMap<ProviderId, BTreeMap<String, Known>>;

/// Everything the constructor needs; read once, so that what was validated is what is judged.
pub struct RingInput<'a> {
    /// Definitions of every layer.
    config: &'a FleetConfig,
    /// The definition of every pool that counts.
    routes: BTreeMap<&'a PoolId, &'a RouteDef>,
    /// What the router's catalogue offers; `None` when it may not be used.
    catalogue: Option<&'a Catalogue>,
    /// Homes, rules for pools and policy.
    settings: &'a Settings,
    /// The rules that name models, compiled.
    book: PolicyBook,
    /// Provider → its home and whether that is a plan home.
    homes: BTreeMap<&'a ProviderId, (&'a HomeId, bool)>,
    /// The canonical model of a target, or `None` when its name could not be matched.
    model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
    /// What `model_of` said so far.
    names: Rc<RefCell<Names>>,
    /// Canonical model → vendor.
    vendors: Arc<BTreeMap<ModelId, String>>,
    /// The review instant, epoch milliseconds.
    now_ms: i64,
}

impl<'a> RingInput<'a> {
    /// The input of a run: definitions, what exists, what the operator settled, how names resolve, and the review instant in epoch
    /// milliseconds.
    pub fn new(
        config: &'a FleetConfig,
        catalogue: Option<&'a Catalogue>,
        settings: &'a Settings,
        model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
        now_ms: i64,
    ) -> Self {
        let homes = settings
            .homes
            .iter()
            .flat_map(|(id, home)| home.providers.iter().map(move |provider| (provider, (id, home.is_plan()))));
        Self {
            config,
            routes: config.effective(),
            catalogue,
            settings,
            book: PolicyBook::new(settings),
            homes: homes.collect(),
            model_of,
            names: Rc::default(),
            vendors: Arc::default(),
            now_ms,
        }
    }

    /// The same input that knows the vendors of canonical models.
    #[must_use]
    pub fn with_vendors(self, vendors: Arc<BTreeMap<ModelId, String>>) -> Self {
        Self { vendors, ..self }
    }

    /// The same input under another definition of some pools; `None` takes a pool away.
    #[must_use]
    pub fn amended<'b>(
        &'b self,
        changed: impl IntoIterator<Item = (&'b PoolId, Option<&'b RouteDef>)>,
    ) -> RingInput<'b> {
        let mut routes: BTreeMap<&'b PoolId, &'b RouteDef> = self.routes.clone();
        for (pool, route) in changed {
            match route {
                Some(route) => drop(routes.insert(pool, route)),
                None => drop(routes.remove(pool)),
            }
        }
        RingInput {
            config: self.config,
            routes,
            catalogue: self.catalogue,
            settings: self.settings,
            book: self.book.clone(),
            homes: self.homes.clone(),
            model_of: self.model_of,
            names: Rc::clone(&self.names),
            vendors: Arc::clone(&self.vendors),
            now_ms: self.now_ms,
        }
    }

    /// The definition of a pool that counts.
    pub fn route(&self, pool: &PoolId) -> Option<&RouteDef> {
        self.routes.get(pool).copied()
    }

    /// The rules for one pool.
    pub fn policy(&self, pool: &PoolId) -> PoolPolicy {
        let other = self.settings.pool_rule(pool).and_then(|rule| rule.different_vendor_from.as_ref());
        let rule = other.filter(|other| *other != pool).and_then(|other| self.vendor_rule(other));
        PoolPolicy::for_pool(self.settings, &self.book, pool, rule)
    }

    /// The vendors of everything a pool may call; `None` when there is no such pool.
    fn vendor_rule(&self, other: &PoolId) -> Option<VendorRule> {
        let route = self.routes.get(other)?;
        let leaves = expand(self.scope(), route).leaves;
        let vendor = |leaf: &Leaf<'_>| self.vendors.get(&self.name(leaf)?).cloned();
        let taken = leaves.iter().map(vendor).collect();
        Some(VendorRule { other: other.clone(), taken, of: self.vendors.clone() })
    }

    /// What expanding needs to know.
    fn scope(&self) -> Scope<'_> {
        Scope { routes: &self.routes, config: self.config, catalogue: self.catalogue, now_ms: self.now_ms }
    }

    /// The canonical model of a leaf.
    fn name(&self, leaf: &Leaf<'_>) -> Option<ModelId> {
        let known = |names: &Names| names.get(leaf.provider)?.get(leaf.model).map(|known| known.name.clone());
        if let Some(known) = known(&self.names.borrow()) {
            return known;
        }
        let name = (self.model_of)(&TargetRef { variant: None, ..leaf.reference() });
        let mut names = self.names.borrow_mut();
        names
            .entry(leaf.provider.clone())
            .or_default()
            .insert(leaf.model.to_owned(), Known { name: name.clone(), naming: None });
        name
    }

    /// The numbers of the rules that name the model of a leaf.
    fn naming(&self, leaf: &Leaf<'_>, member: &RingMember) -> Rc<[usize]> {
        let known = |names: &Names| names.get(leaf.provider)?.get(leaf.model)?.naming.clone();
        if let Some(naming) = known(&self.names.borrow()) {
            return naming;
        }
        let naming: Rc<[usize]> = self.book.naming(member).into();
        let mut names = self.names.borrow_mut();
        let known = names.entry(leaf.provider.clone()).or_default().entry(leaf.model.to_owned()).or_default();
        known.naming = Some(naming.clone());
        naming
    }
}

/// One member of a ring.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent claims about a member, each named")]
pub struct RingMember {
    /// Identity for evidence: canonical model, effort, home.
    pub key: MemberKey,
    /// The target as the router calls it.
    pub target: TargetRef,
    /// Whether its name was matched to a canonical model; if not the key holds the name as written.
    pub is_matched: bool,
    /// Whether its home is a plan home.
    pub on_plan_home: bool,
    /// Whether the catalogue or the config shows that it exists.
    pub is_listed: bool,
    /// Weight where it is listed.
    pub weight: f64,
    /// Configured share of the pool's tasks, 0 to 1.
    pub share: f64,
    /// Whether policy lets it lead.
    pub may_lead: bool,
    /// End of the membership, epoch milliseconds.
    pub until_ms: Option<i64>,
    /// Its budget: that of the outermost route on the way which names it.
    pub budget: Option<Box<Budget>>,
    /// Variant used when the pool is chosen without one.
    pub default_variant: Option<String>,
    /// Variant of the pool → variant of the member, where they differ.
    pub variant_map: BTreeMap<String, String>,
    /// The route that lists it: the pool itself, or one nested in it.
    pub listed_in: PoolId,
    /// The JSON pointer of the entry that brings it in.
    pub pointer: String,
    /// Where that entry stands.
    pub place: Place,
    /// Whether a pattern brought it in.
    pub by_pattern: bool,
    /// Whether it is a fallback.
    pub is_fallback: bool,
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
            is_listed: true,
            weight: 1.0,
            share: 0.0,
            may_lead: false,
            until_ms: None,
            budget: None,
            default_variant: None,
            variant_map: BTreeMap::new(),
            listed_in: pool.clone(),
            pointer: String::new(),
            place: Place::new(String::new(), 1),
            by_pattern: false,
            is_fallback: false,
            offers: None,
        }
    }

    /// Whether the settings say which home its provider belongs to.
    pub fn has_home(&self) -> bool {
        !self.key.home.as_str().starts_with(UNASSIGNED)
    }

    /// How it came into a pool, as a fragment: directly, through a nested pool, by a pattern, as a fallback.
    pub fn way_in(&self, pool: &PoolId) -> String {
        let mut way =
            if self.listed_in == *pool { "direct".to_owned() } else { format!("nested in {}", self.listed_in) };
        if self.by_pattern {
            way.push_str(", by a pattern");
        }
        if self.is_fallback {
            way.push_str(", as a fallback");
        }
        way
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
