//! From rows to one immutable view per pool: standings over members and candidates, rates, speeds, windows, end dates.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::around::{MarketView, market_view};
use super::attribution::{Attribution, UNRECORDED};
use super::book::{Book, ListPrice};
use super::cells::{CellInput, EstimateRules, OwnEvidence, estimate};
use super::members::{member_evidence, with_measurements};
use super::outside::{Outside, Surroundings};
use super::pool::{ConfigFacts, MemberEvidence, PoolEvidence, Readiness, Requirements, TierNumbers};
use super::standing::{Rated, Standings, standings};
use super::statistics::calibration::Correction;
use super::statistics::mix::ClassMix;
use super::statistics::severity::severity;
use super::unbilled::unbilled;
use super::usage::Usage;
use super::windows::WindowRules;
use crate::identity::Identity;
use crate::ring::{Catalogue, PoolPolicy, ResolvedRing, RingError, RingMember, Rule};
use crate::vocabulary::{
    Effort, HomeId, LookKey, LookMemory, MemberKey, ModelId, PoolId, Prices, ProviderId, QuotaHome, RouteDef,
    Selection, SourceId, TargetRef, Term,
};

/// What a home is, as far as evidence needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct HomeFacts {
    /// The home.
    pub home: HomeId,
    /// Whether it is paid by subscription.
    pub is_flat: bool,
    /// Cash of an hour of leading; `None` is unknown.
    pub cash_usd_per_lead_hour: Option<f64>,
    /// How long its seat is paid ahead, if stated.
    pub term: Option<Term>,
}

/// What all pools share.
pub struct World<'a> {
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Names.
    pub identity: &'a Identity,
    /// Market.
    pub book: &'a Book,
    /// Index version and as-of of the market.
    pub market: (Option<String>, Option<DateTime<Utc>>),
    /// The catalogue, if it may be used.
    pub catalogue: Option<&'a Catalogue>,
    /// Our own evidence.
    pub attribution: &'a Attribution,
    /// Model calls of session stores.
    pub usage: &'a Usage,
    /// Newest reading of every home.
    pub quotas: &'a BTreeMap<HomeId, QuotaHome>,
    /// Provider → home.
    pub homes: &'a BTreeMap<ProviderId, HomeFacts>,
    /// Which sources can be leaned on.
    pub readiness: &'a BTreeMap<SourceId, Readiness>,
    /// Models the owner never wants proposed.
    pub blacklisted: &'a BTreeSet<ModelId>,
    /// When this review first saw a model nobody dates.
    pub first_seen: &'a (dyn Fn(&ModelId) -> Option<DateTime<Utc>> + Sync),
    /// Rules of the windows.
    pub window_rules: WindowRules,
    /// What lies around pools that ask the same, computed once for all of them.
    pub around: Surroundings<'a>,
    /// How rows become estimates.
    pub estimates: EstimateRules,
    /// Span of the idle rule, days.
    pub idle_days: f64,
    /// How claims are told.
    pub correction: Correction,
}

/// What is particular to one pool.
pub struct PoolInput<'a> {
    /// The pool.
    pub pool: PoolId,
    /// Whether a consumer names a model directly.
    pub is_single: bool,
    /// The ring, or why there is none.
    pub ring: Result<ResolvedRing, RingError>,
    /// The definition, if the config holds one.
    pub definition: Option<&'a RouteDef>,
    /// The rules of the pool.
    pub policy: PoolPolicy,
    /// Who names it, sorted.
    pub consumers: Vec<String>,
    /// Where consumers were looked for.
    pub consumer_files: Vec<String>,
    /// What is known of the definition beside the ring.
    pub facts: ConfigFacts,
    /// Violations that nested pools report themselves.
    pub faults_of_nested: BTreeSet<(String, Rule)>,
    /// Findings of earlier scheduled reviews.
    pub seen_before: BTreeSet<(String, String)>,
    /// Targets an earlier accepted catalogue did not have either.
    pub missing_before: BTreeSet<String>,
    /// What earlier looks left behind.
    pub looks: BTreeMap<LookKey, LookMemory>,
    /// Axis → when a change on it landed last.
    pub landed: BTreeMap<String, DateTime<Utc>>,
    /// Tier.
    pub tier: TierNumbers,
    /// Requirements.
    pub requirements: Requirements,
}

/// The view of one pool.
pub fn assemble(world: &World<'_>, input: PoolInput<'_>) -> PoolEvidence {
    let ring_members: &[RingMember] = input.ring.as_ref().map_or(&[], ResolvedRing::members);
    let around = world.around.of(world, &input);
    let inside: BTreeSet<&ModelId> = ring_members.iter().map(|member| &member.key.model).collect();
    let rated: Vec<&Outside<'_>> = around.outside.iter().filter(|outside| !inside.contains(outside.model)).collect();
    let standings = standings(&rated_set(world, ring_members, &rated), &input.tier.index_mix);
    let (mix, own) = own_evidence(world, &input.pool, ring_members, &standings);
    let members: Vec<MemberEvidence> = ring_members
        .iter()
        .zip(own)
        .map(|(member, own)| member_evidence(world, &input, member, ring_members, &standings, own))
        .collect();
    let members = with_measurements(world, &input.pool, ring_members, members);
    let unbilled = unbilled(world, &input, ring_members, &rated);
    let market =
        MarketView { unbilled, ..market_view(world, &input, &members, (&around, &inside, &rated), &standings) };
    let lead =
        input.ring.as_ref().ok().and_then(|ring| members.iter().position(|m| m.key == ring.lead().key.to_string()));
    let assigned = world.attribution.assigned(&input.pool, &world.estimates.clock, world.idle_days);
    let recent_tasks = assigned.values().sum();
    let (idle, assigned) = (idle(ring_members, &assigned), assigned_to(ring_members, assigned));
    PoolEvidence {
        now: world.now,
        is_single: input.is_single,
        definition: input.definition.cloned(),
        variants: dropped_variants(world, &input),
        is_weighted: input.ring.as_ref().is_ok_and(|ring| ring.selection() != Selection::Ordered),
        excluded: world.attribution.excluded(&input.pool, &world.estimates.clock),
        recent_tasks,
        idle,
        assigned,
        mix,
        assigned_days: world.idle_days,
        correction: world.correction,
        mature_hours: world.estimates.clock.mature_hours,
        window_rules: world.window_rules,
        looks: input.looks,
        landed: input.landed,
        judged: severity(&world.attribution.judged(&input.pool)),
        consumers: input.consumers,
        consumer_files: input.consumer_files,
        facts: input.facts,
        faults_of_nested: input.faults_of_nested,
        seen_before: input.seen_before,
        missing_before: input.missing_before,
        tier: input.tier,
        requirements: input.requirements,
        readiness: world.readiness.clone(),
        pool: input.pool,
        ring: input.ring,
        members,
        lead,
        market,
    }
}

/// `model@effort`.
pub(super) fn model_effort(model: &ModelId, effort: &Effort) -> String {
    format!("{model}@{effort}")
}

/// Whether no other member is the same model at another effort.
pub(super) fn is_only_effort(members: &[RingMember], key: &MemberKey) -> bool {
    !members.iter().any(|other| other.key.model == key.model && other.key.effort != key.effort)
}

/// Members without a task in the idle span. Tasks without a recorded effort count for every member of their model, so that
/// no member is called idle for want of a record.
fn idle(members: &[RingMember], assigned: &BTreeMap<String, u64>) -> BTreeSet<String> {
    let has_tasks = |member: &&RingMember| {
        let unrecorded = format!("{}@{UNRECORDED}", member.key.model);
        assigned.contains_key(&model_effort(&member.key.model, &member.key.effort))
            || assigned.contains_key(&unrecorded)
    };
    members.iter().filter(|member| !has_tasks(member)).map(|member| member.key.to_string()).collect()
}

/// The tasks of every `model@effort` of the ring; those without a recorded effort join the only member of their model.
fn assigned_to(members: &[RingMember], mut assigned: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    for member in members.iter().filter(|member| is_only_effort(members, &member.key)) {
        if let Some(tasks) = assigned.remove(&format!("{}@{UNRECORDED}", member.key.model)) {
            *assigned.entry(model_effort(&member.key.model, &member.key.effort)).or_default() += tasks;
        }
    }
    assigned
}

/// What our own rows say of each member, in ring order, and the pool's class mix.
fn own_evidence(
    world: &World<'_>,
    pool: &PoolId,
    members: &[RingMember],
    standings: &Standings,
) -> (ClassMix, Vec<OwnEvidence>) {
    let names: Vec<String> = members.iter().map(|m| model_effort(&m.key.model, &m.key.effort)).collect();
    let inputs: Vec<CellInput<'_>> = members
        .iter()
        .zip(&names)
        .map(|(member, name)| {
            let (model, effort) = (&member.key.model, &member.key.effort);
            let standing = standings.by_id.get(name);
            let is_other_row = world.book.row(model, effort).is_some_and(|view| view.is_imputed);
            CellInput {
                name,
                rows: world.attribution.rows(pool, model, effort, is_only_effort(members, &member.key)),
                index: standing.and_then(|standing| standing.index),
                is_imputed: is_other_row || standing.is_some_and(|standing| !standing.imputed.is_empty()),
                prices: list_prices(world, model),
            }
        })
        .collect();
    estimate(&inputs, &world.estimates)
}

/// The list price of a model that the sources agree on.
fn list_prices(world: &World<'_>, model: &ModelId) -> Option<Prices> {
    match world.book.price(model)? {
        ListPrice::Agreed(prices, _) => Some(*prices),
        ListPrice::Disputed(_) => None,
    }
}

/// The variants that the models of dropped targets take.
fn dropped_variants(world: &World<'_>, input: &PoolInput<'_>) -> BTreeMap<String, Vec<String>> {
    let dropped = match &input.ring {
        Ok(ring) => ring.dropped(),
        Err(RingError::Empty { dropped, .. }) => dropped,
        Err(RingError::Invalid { .. }) => &[],
    };
    let variants = |target: &str| {
        let reference = TargetRef::parse(target).ok()?;
        Some(world.catalogue?.get(&reference.provider, &reference.model)?.variants.clone())
    };
    dropped.iter().filter_map(|dropped| Some((dropped.target.clone(), variants(&dropped.target)?))).collect()
}

/// The set that standings are relative to: members and capable candidates with an index and a bill.
pub(super) fn rated_set(world: &World<'_>, members: &[RingMember], outside: &[&Outside<'_>]) -> Vec<Rated> {
    let mut set: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for member in members {
        if let Some(view) = world.book.row(&member.key.model, &member.key.effort) {
            set.insert(model_effort(&member.key.model, &member.key.effort), view.row.indices.clone());
        }
    }
    for candidate in outside.iter().filter(|candidate| !candidate.way_in.is_incapable && candidate.bill.is_some()) {
        set.insert(candidate.id.clone(), candidate.indices.clone());
    }
    in_order(set)
}

/// Models with their indices, by id.
pub(super) fn in_order(set: BTreeMap<String, BTreeMap<String, f64>>) -> Vec<Rated> {
    set.into_iter().map(|(id, indices)| Rated { id, indices }).collect()
}
