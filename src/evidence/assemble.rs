//! From rows to one immutable view per pool: standings over members and candidates, rates, speeds, windows, end dates.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::attribution::{Attribution, SpeedMember};
use super::book::{Book, Offer};
use super::fit;
use super::front::{Pareto, Point, pareto};
use super::pool::{
    CandidateEvidence, ConfigFacts, Ending, MarketView, MemberEvidence, PoolEvidence, Readiness, Requirements,
    Successor, TierNumbers,
};
use super::standing::{Rated, Standings, TaskShape, standings};
use super::windows::{MemberOf, MemberWindows, Standing, WindowRules};
use crate::identity::Identity;
use crate::ring::{Catalogue, PoolPolicy, ResolvedRing, RingError, RingMember, Rule};
use crate::vocabulary::{
    Effort, HomeId, Known, MemberKey, ModelId, PoolId, Provenance, ProviderId, QuotaHome, RouteDef, Selection,
    SourceId, TargetRef,
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
    pub first_seen: &'a dyn Fn(&ModelId) -> Option<DateTime<Utc>>,
    /// Rules of the windows.
    pub window_rules: WindowRules,
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
    /// Tier.
    pub tier: TierNumbers,
    /// Requirements.
    pub requirements: Requirements,
}

/// The view of one pool.
pub fn assemble(world: &World<'_>, input: PoolInput<'_>) -> PoolEvidence {
    let ring_members: &[RingMember] = input.ring.as_ref().map_or(&[], ResolvedRing::members);
    let rated = candidates(world, &input, ring_members);
    let standings = standings(&rated_set(world, ring_members, &rated), &input.tier.index_mix);
    let members: Vec<MemberEvidence> =
        ring_members.iter().map(|member| member_evidence(world, &input, member, ring_members, &standings)).collect();
    let members = with_speeds(world, &input.pool, ring_members, members);
    let market = market_view(world, &input, &members, rated, &standings);
    let lead =
        input.ring.as_ref().ok().and_then(|ring| members.iter().position(|m| m.key == ring.lead().key.to_string()));
    PoolEvidence {
        now: world.now,
        is_single: input.is_single,
        definition: input.definition.cloned(),
        variants: dropped_variants(world, &input),
        is_weighted: input.ring.as_ref().is_ok_and(|ring| ring.selection() != Selection::Ordered),
        excluded: world.attribution.excluded(&input.pool),
        recent_tasks: world.attribution.recent_tasks(&input.pool, None),
        idle: idle(world, &input.pool, ring_members),
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

/// Members without a task in the idle span.
fn idle(world: &World<'_>, pool: &PoolId, members: &[RingMember]) -> BTreeSet<String> {
    let tasks =
        |member: &RingMember| world.attribution.recent_tasks(pool, Some((&member.key.model, &member.key.effort)));
    members.iter().filter(|member| tasks(member) == 0).map(|member| member.key.to_string()).collect()
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

/// A rated or nameable model outside the pool, before it has a standing.
struct Outside {
    /// Its model.
    model: ModelId,
    /// Its effort.
    effort: Effort,
    /// Its indices.
    indices: BTreeMap<String, f64>,
    /// Its bill, if known.
    bill: Option<f64>,
    /// Its market speed.
    speed: Option<f64>,
    /// How it could be called here.
    way_in: WayIn,
}

/// How a model outside the pool could be called by it.
#[derive(Default)]
struct WayIn {
    /// The target and home by which a held home offers it to this pool.
    target: Option<(String, HomeId)>,
    /// Why policy excludes it.
    excluded_by: Option<String>,
    /// Whether every offer falls short of a capability.
    is_incapable: bool,
}

/// Every model outside the pool that somebody rates, one entry per effort, sorted.
fn candidates(world: &World<'_>, input: &PoolInput<'_>, members: &[RingMember]) -> Vec<Outside> {
    let inside: BTreeSet<&ModelId> = members.iter().map(|member| &member.key.model).collect();
    let shape = shape(&input.tier);
    world
        .book
        .rows()
        .filter(|(model, _, row)| !inside.contains(model) && !row.indices.is_empty())
        .filter_map(|(model, effort, row)| {
            let way_in = way_in(world, input, model, effort)?;
            let bill = world.book.bill(model, shape).ok().map(|bill| bill.usd_per_mtok);
            let is_outside = exceeds(&input.requirements, bill, row.output_tps, row.first_answer_s);
            Some(Outside {
                model: model.clone(),
                effort: effort.clone(),
                indices: row.indices.clone(),
                bill,
                speed: row.output_tps,
                way_in: WayIn { is_incapable: way_in.is_incapable || is_outside, ..way_in },
            })
        })
        .collect()
}

/// Whether the pool's own requirements would reject a model on what the market knows of it: it is no candidate then. The
/// index is held against its floor once it is known, which may take imputing.
fn exceeds(asked: &Requirements, bill: Option<f64>, tps: Option<f64>, first_answer_s: Option<f64>) -> bool {
    let over = |value: Option<f64>, most: Option<f64>| value.zip(most).is_some_and(|(value, most)| value > most);
    let under = |value: Option<f64>, least: Option<f64>| value.zip(least).is_some_and(|(value, least)| value < least);
    over(bill, asked.max_bill) || under(tps, asked.min_output_tps) || over(first_answer_s, asked.max_first_answer_s)
}

/// The shape of a task of a tier.
fn shape(tier: &TierNumbers) -> TaskShape {
    TaskShape { cache_share: tier.cache_share, input_per_output: tier.input_per_output }
}

/// How a model at an effort could be called by the pool, on a home that is paid already before a metered one; `None` when no offer takes that effort, so that the pair is no choice.
fn way_in(world: &World<'_>, input: &PoolInput<'_>, model: &ModelId, effort: &Effort) -> Option<WayIn> {
    if world.blacklisted.contains(model) {
        return Some(WayIn { excluded_by: Some("the config's blacklist".to_owned()), ..WayIn::default() });
    }
    let offers = world.book.offers(model);
    let taking: Vec<&Offer> = offers.iter().filter(|offer| takes(offer, effort)).collect();
    if taking.is_empty() {
        return offers.is_empty().then(WayIn::default);
    }
    let is_paid_already = |offer: &Offer| world.homes.get(&offer.provider).is_some_and(|facts| facts.is_flat);
    let (paid, metered): (Vec<&Offer>, Vec<&Offer>) = taking.iter().partition(|offer| is_paid_already(offer));
    let mut way = WayIn::default();
    let mut incapable = 0;
    for offer in paid.into_iter().chain(metered) {
        let Some((target, home, broken)) = ask_policy(world, input, model, effort, offer) else { continue };
        match broken.first() {
            None if way.target.is_none() => way.target = Some((target, home)),
            Some((Rule::Never | Rule::OpenFamily, detail)) => way.excluded_by = Some(detail.clone()),
            Some((Rule::NeedsTools | Rule::MinContext, _)) => incapable += 1,
            _ => {}
        }
    }
    way.is_incapable = incapable == taking.len();
    if way.target.is_some() {
        way.excluded_by = None;
    }
    Some(way)
}

/// Whether an offer can be called at an effort.
fn takes(offer: &Offer, effort: &Effort) -> bool {
    offer.efforts.iter().any(|known| known.eq_ignore_ascii_case(effort.as_str())) || offer.efforts.is_empty()
}

/// A target with its home, and the rules it would break: rule and detail.
type Asked = (String, HomeId, Vec<(Rule, String)>);

/// The target of an offer at a held home, and the rules it would break in this pool. `None` when no home of the fleet holds it.
fn ask_policy(
    world: &World<'_>,
    input: &PoolInput<'_>,
    model: &ModelId,
    effort: &Effort,
    offer: &Offer,
) -> Option<Asked> {
    let facts = world.homes.get(&offer.provider)?;
    let variant = (!offer.efforts.is_empty() && !effort.is_default()).then(|| effort.to_string());
    let target = TargetRef { provider: offer.provider.clone(), model: offer.id.clone(), variant };
    let key = MemberKey { model: model.clone(), effort: effort.clone(), home: facts.home.clone() };
    let text = target.to_string();
    let entry = world.catalogue.and_then(|catalogue| catalogue.get(&offer.provider, &offer.id));
    let member = RingMember::candidate(&input.pool, target, key, facts.is_flat);
    Some((text, facts.home.clone(), input.policy.broken_by_candidate(&member, entry)))
}

/// The set that standings are relative to: members and capable candidates with an index and a bill.
fn rated_set(world: &World<'_>, members: &[RingMember], outside: &[Outside]) -> Vec<Rated> {
    let mut set: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for member in members {
        if let Some(view) = world.book.row(&member.key.model, &member.key.effort) {
            set.insert(model_effort(&member.key.model, &member.key.effort), view.row.indices.clone());
        }
    }
    for candidate in outside.iter().filter(|candidate| !candidate.way_in.is_incapable && candidate.bill.is_some()) {
        set.insert(model_effort(&candidate.model, &candidate.effort), candidate.indices.clone());
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
        rates: world.attribution.rates(&input.pool, model, effort, is_only_effort(members, &member.key)),
        speed: None,
        windows: windows(world, member),
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
    outside: Vec<Outside>,
    standings: &Standings,
) -> MarketView {
    let inside: BTreeSet<&str> = members.iter().filter_map(|member| member.model_effort.split('@').next()).collect();
    let seen = world.book.models().into_iter().filter(|model| !inside.contains(model.as_str())).count();
    let unrated = unrated(world, input, &inside, &outside);
    let least = input.requirements.min_index;
    let candidates: Vec<_> =
        outside.into_iter().map(|candidate| candidate_evidence(world, candidate, standings, least)).collect();
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

/// Models outside the pool that it could call and that nobody rates: no index at any effort, or no bill.
fn unrated(world: &World<'_>, input: &PoolInput<'_>, inside: &BTreeSet<&str>, outside: &[Outside]) -> Vec<String> {
    let rated: BTreeSet<&ModelId> =
        outside.iter().filter(|c| c.bill.is_some()).map(|candidate| &candidate.model).collect();
    let can_call = |model: &ModelId| {
        world.book.offers(model).iter().any(|offer| {
            ask_policy(world, input, model, &Effort::default_effort(), offer)
                .is_some_and(|(_, _, broken)| broken.is_empty())
        })
    };
    world
        .book
        .models()
        .into_iter()
        .filter(|model| {
            !inside.contains(model.as_str()) && !rated.contains(model) && !world.blacklisted.contains(model)
        })
        .filter(|model| can_call(model))
        .map(ToString::to_string)
        .collect()
}

/// A candidate with its standing and age.
fn candidate_evidence(
    world: &World<'_>,
    candidate: Outside,
    standings: &Standings,
    least_index: Option<f64>,
) -> CandidateEvidence {
    let id = model_effort(&candidate.model, &candidate.effort);
    let standing = standings.by_id.get(&id);
    let index = standing.and_then(|standing| standing.index);
    let is_too_weak = index.zip(least_index).is_some_and(|(index, least)| index < least);
    let released = world.book.released(&candidate.model);
    let since = released
        .map(|day| day.and_time(chrono::NaiveTime::MIN).and_utc())
        .or_else(|| (world.first_seen)(&candidate.model));
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
        home: candidate.way_in.target.as_ref().map(|(_, home)| home.to_string()),
        target: candidate.way_in.target.map(|(target, _)| target),
        age_by_first_sight: released.is_none(),
        excluded_by: candidate.way_in.excluded_by,
    }
}
