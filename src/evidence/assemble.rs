//! From rows to one immutable view per pool: standings over members and candidates, rates, speeds, windows, end dates.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::attribution::{Attribution, SpeedMember, UNRECORDED};
use super::book::{Book, ListPrice, Offer, RowView, bill_of};
use super::cells::{CellInput, EstimateRules, OwnEvidence, estimate};
use super::fit;
use super::front::{Pareto, Point, pareto};
use super::outside::{Around, Outside, Surroundings, ask_policy, shape, takes};
use super::pool::{
    CandidateEvidence, ConfigFacts, Ending, MarketView, MemberEvidence, MemberMarket, PoolEvidence, Readiness,
    Requirements, Successor, TierNumbers,
};
use super::standing::{Rated, Standings, standings};
use super::statistics::calibration::Correction;
use super::statistics::mix::ClassMix;
use super::statistics::severity::severity;
use super::windows::{MemberOf, MemberWindows, Standing, WindowRules};
use crate::identity::Identity;
use crate::ring::{Catalogue, PoolPolicy, ResolvedRing, RingError, RingMember, Rule};
use crate::vocabulary::{
    Effort, HomeId, Known, LookKey, LookMemory, MemberKey, ModelId, PoolId, Prices, Provenance, ProviderId, QuotaHome,
    RouteDef, Selection, SourceId, TargetRef,
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
    let members = with_speeds(world, &input.pool, ring_members, members);
    let market = market_view(world, &input, &members, (&around, &inside, &rated), &standings);
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
fn model_effort(model: &ModelId, effort: &Effort) -> String {
    format!("{model}@{effort}")
}

/// Whether no other member is the same model at another effort.
fn is_only_effort(members: &[RingMember], key: &MemberKey) -> bool {
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
fn rated_set(world: &World<'_>, members: &[RingMember], outside: &[&Outside<'_>]) -> Vec<Rated> {
    let mut set: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for member in members {
        if let Some(view) = world.book.row(&member.key.model, &member.key.effort) {
            set.insert(model_effort(&member.key.model, &member.key.effort), view.row.indices.clone());
        }
    }
    for candidate in outside.iter().filter(|candidate| !candidate.way_in.is_incapable && candidate.bill.is_some()) {
        set.insert(candidate.id.clone(), candidate.indices.clone());
    }
    set.into_iter().map(|(id, indices)| Rated { id, indices }).collect()
}

/// A market statement as a known value.
fn stated<T>(world: &World<'_>, value: Option<T>, source: SourceId, reason: &str) -> Known<T> {
    let as_of = world.market.1;
    match value {
        Some(value) => Known::Value(value, Provenance { source, as_of, n: 1 }),
        None => Known::Unknown(reason.to_owned()),
    }
}

/// What is known of one member, its speed excepted.
fn member_evidence(
    world: &World<'_>,
    input: &PoolInput<'_>,
    member: &RingMember,
    members: &[RingMember],
    standings: &Standings,
    own: OwnEvidence,
) -> MemberEvidence {
    let (model, effort) = (&member.key.model, &member.key.effort);
    let view = world.book.row(model, effort);
    let standing = standings.by_id.get(&model_effort(model, effort));
    let mut imputed: Vec<String> = standing.map(|standing| standing.imputed.clone()).unwrap_or_default();
    if view.is_some_and(|view| view.is_imputed) {
        imputed.push("effort".to_owned());
    }
    let bill = match world.book.bill(model, shape(&input.tier)) {
        Ok(bill) => stated(world, Some(bill.usd_per_mtok), SourceId::Catalogues, ""),
        Err(reason) => Known::Unknown(reason),
    };
    let no_row = if member.is_matched { "no market row at this effort" } else { "its name could not be matched" };
    MemberEvidence {
        key: member.key.to_string(),
        model_effort: model_effort(model, effort),
        target: member.target.to_string(),
        share: member.share,
        may_lead: member.may_lead,
        index: stated(world, standing.and_then(|s| s.index), SourceId::Market, no_row),
        q: stated(world, standing.and_then(|s| s.q), SourceId::Market, no_row),
        bill,
        market_tps: stated(
            world,
            view.and_then(|view| view.row.output_tps),
            SourceId::Market,
            "the market states no speed",
        ),
        market_first_answer_s: stated(
            world,
            view.and_then(|view| view.row.first_answer_s),
            SourceId::Market,
            "the market states no time to the first answer",
        ),
        imputed,
        end: ending(world, input, member, members),
        market: market_of(world, input, member, view),
        own,
        speed: None,
        windows: windows(world, member),
    }
}

/// What the market says of a member's offer beside its bill.
fn market_of(world: &World<'_>, input: &PoolInput<'_>, member: &RingMember, view: Option<RowView<'_>>) -> MemberMarket {
    let model = &member.key.model;
    let facts = world.book.price_facts(model).cloned().unwrap_or_default();
    let offer = world.book.offer_of(model, &member.target);
    let bill = |prices| bill_of(prices, shape(&input.tier)).map(|bill| bill.usd_per_mtok);
    let is_exact = view.is_some_and(|view| !view.is_imputed);
    let own_list = world.book.lists_itself(&member.target.provider);
    MemberMarket {
        change: facts.change.map(|change| (change, bill(change.before), bill(change.after))),
        other_hours: facts.other_hours,
        jump: facts.jump,
        offer_prices: offer.map(|offer| offer.prices).unwrap_or_default(),
        price_note: offer.and_then(|offer| offer.price_note),
        status: offer.and_then(|offer| offer.status.clone()),
        is_listed: own_list.then_some(offer.is_some()),
        efforts: if is_exact { String::new() } else { world.book.efforts_of(model) },
    }
}

/// The members with their measured speeds.
fn with_speeds(
    world: &World<'_>,
    pool: &PoolId,
    ring: &[RingMember],
    members: Vec<MemberEvidence>,
) -> Vec<MemberEvidence> {
    let asked: Vec<SpeedMember<'_>> = ring
        .iter()
        .map(|member| SpeedMember {
            key: member.key.to_string(),
            model: &member.key.model,
            effort: &member.key.effort,
            home: member.key.home.as_str(),
            provider: member.target.provider.as_str(),
            is_only_effort: is_only_effort(ring, &member.key),
        })
        .collect();
    let mut speeds = world.attribution.speeds(pool, &asked);
    members.into_iter().map(|member| MemberEvidence { speed: speeds.remove(&member.key), ..member }).collect()
}

/// A member's windows. Its model is matched with scopes under its canonical name and as the provider spells it. A provider
/// that belongs to no home of the settings may draw on anything: its windows are unknown, not absent.
fn windows(world: &World<'_>, member: &RingMember) -> MemberWindows {
    let facts = world.homes.get(&member.target.provider);
    if facts.is_none() {
        let standing = Standing::Unknown("its provider belongs to no home of the settings".to_owned());
        return MemberWindows { standing, ..MemberWindows::from_windows(member.key.to_string(), None, Vec::new()) };
    }
    let spellings = [member.key.model.as_str(), member.target.model.as_str()];
    let of = MemberOf {
        key: member.key.to_string(),
        home: world.quotas.get(&member.key.home),
        is_flat: facts.is_some_and(|facts| facts.is_flat),
        cash_usd_per_lead_hour: facts.and_then(|facts| facts.cash_usd_per_lead_hour),
        models: &spellings,
        burns: BTreeMap::new(),
    };
    MemberWindows::read(&of, &world.window_rules, world.now)
}

/// A member's end date with what becomes of its work.
fn ending(world: &World<'_>, input: &PoolInput<'_>, member: &RingMember, members: &[RingMember]) -> Option<Ending> {
    let end = world.book.end_of(&member.target)?.clone();
    let days_left = (end.date - world.now.date_naive()).num_days();
    let successor = match &end.successor_model {
        Some(model) => successor(world, input, member, members, model, end.date),
        None => Successor::Unusable(match &end.successor {
            Some(text) => format!("\"{text}\" is no known model"),
            None => "none is named".to_owned(),
        }),
    };
    Some(Ending { end, days_left, successor })
}

/// What a named successor is to this pool.
fn successor(
    world: &World<'_>,
    input: &PoolInput<'_>,
    member: &RingMember,
    members: &[RingMember],
    model: &ModelId,
    ends: chrono::NaiveDate,
) -> Successor {
    if members.iter().any(|other| other.key.model == *model) {
        return Successor::InPool { model: model.to_string() };
    }
    let mut why = format!("no home of the fleet that this pool may use offers {model}");
    let mut offers: Vec<&Offer> = world.book.offers(model).iter().collect();
    offers.sort_by_key(|offer| (offer.provider != member.target.provider, &offer.provider, &offer.id));
    for offer in offers {
        let effort =
            if takes(offer, &member.key.effort) { member.key.effort.clone() } else { Effort::default_effort() };
        let Some((target, _, broken)) = ask_policy(world, input, model, &effort, offer) else { continue };
        if let Some((_, detail)) = broken.first() {
            why = format!("{model}: {detail}");
            continue;
        }
        let reference = TargetRef { provider: offer.provider.clone(), model: offer.id.clone(), variant: None };
        if world.book.end_of(&reference).is_some_and(|end| end.date <= ends) {
            why = format!("{model} ends no later");
            continue;
        }
        return Successor::Offered { model: model.to_string(), target, weight_key: reference.weight_key() };
    }
    Successor::Unusable(why)
}

/// What the market shows around the pool.
fn market_view(
    world: &World<'_>,
    input: &PoolInput<'_>,
    members: &[MemberEvidence],
    (around, inside, outside): (&Around<'_>, &BTreeSet<&ModelId>, &[&Outside<'_>]),
    standings: &Standings,
) -> MarketView {
    let known_inside = inside.iter().filter(|model| world.book.models().contains(*model)).count();
    let seen = world.book.models().len() - known_inside;
    let unrated: Vec<String> =
        around.unrated.iter().filter(|model| !inside.contains(*model)).map(ToString::to_string).collect();
    let least = input.requirements.min_index;
    let candidates: Vec<_> =
        outside.iter().map(|candidate| candidate_evidence(world, candidate, standings, least)).collect();
    let of_members: Vec<Point> = members.iter().filter_map(|member| point(&member.market_values())).collect();
    let of_all: Vec<Point> = of_members
        .iter()
        .cloned()
        .chain(candidates.iter().filter(|candidate| candidate.fit.is_capable).filter_map(|c| point(&c.fit.values)))
        .collect();
    let front = |points: &[Point]| -> Option<Pareto> {
        (!points.is_empty()).then(|| pareto(points, input.tier.tokens_per_task, input.tier.stake_usd))
    };
    MarketView {
        seen,
        unrated,
        index_version: world.market.0.clone(),
        pareto: front(&of_all),
        members_pareto: front(&of_members),
        candidates,
    }
}

/// Market values as a point of the front, if rated.
fn point(values: &fit::MarketValues) -> Option<Point> {
    Some(Point { id: values.id.clone(), bill: values.bill?, q: values.q?, imputed: values.imputed })
}

/// A candidate with its standing and age.
fn candidate_evidence(
    world: &World<'_>,
    candidate: &Outside<'_>,
    standings: &Standings,
    least_index: Option<f64>,
) -> CandidateEvidence {
    let id = candidate.id.clone();
    let standing = standings.by_id.get(&id);
    let index = standing.and_then(|standing| standing.index);
    let is_too_weak = index.zip(least_index).is_some_and(|(index, least)| index < least);
    let released = world.book.released(candidate.model);
    let since = released
        .map(|day| day.and_time(chrono::NaiveTime::MIN).and_utc())
        .or_else(|| (world.first_seen)(candidate.model));
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let age_days = since.map_or(0.0, |since| (world.now - since).num_seconds() as f64 / 86_400.0);
    CandidateEvidence {
        fit: fit::Candidate {
            values: fit::MarketValues {
                id,
                bill: candidate.bill,
                q: standing.and_then(|standing| standing.q),
                speed: candidate.speed,
                imputed: standing.map_or(0, |standing| standing.imputed.len()),
            },
            age_days,
            has_home: candidate.way_in.target.is_some(),
            is_allowed: candidate.way_in.excluded_by.is_none(),
            is_capable: !candidate.way_in.is_incapable && !is_too_weak,
        },
        index,
        imputed: standing.map(|standing| standing.imputed.clone()).unwrap_or_default(),
        home: candidate.way_in.target.as_ref().map(|(_, home)| home.to_string()),
        target: candidate.way_in.target.as_ref().map(|(target, _)| target.clone()),
        age_by_first_sight: released.is_none(),
        excluded_by: candidate.way_in.excluded_by.clone(),
    }
}
