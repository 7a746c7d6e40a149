//! From definitions and consumers to the list of pools that are judged: every route, and every model that a consumer names
//! directly, which is a pool of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::Memory;
use super::gather::Gathered;
use super::links::Links;
use crate::change::METHODS;
use crate::evidence::assemble::PoolInput;
use crate::evidence::{ClassConsumer, ConfigFacts, LeadAttempts, Requirements, TierNumbers};
use crate::ring::{Catalogue, Hold, PoolPolicy, ResolvedRing, RingError, RingInput, holds};
use crate::settings::{PoolRule, Settings};
use crate::vocabulary::{
    Consumer, ConsumerTarget, Digest, Effort, FleetConfig, Layer, LayerState, ModelId, PoolFormat, PoolId, ProviderId,
    RouteDef, RouteTarget, RoutedCalls, ScorecardRow, Selection, SourceId, SourceState, TargetKind, TargetRef, Tier,
};

/// Hours in which a lead must answer something.
const LEAD_HOURS: i64 = 48;

/// A pool before its evidence is assembled.
pub(super) struct Planned {
    /// Its definition; of a pool of one a made-up one.
    pub(super) route: RouteDef,
    /// Whether a consumer names its only model directly.
    pub(super) is_single: bool,
    /// The ring, or why there is none.
    pub(super) ring: Result<ResolvedRing, RingError>,
    /// The rules that hold for it.
    pub(super) policy: PoolPolicy,
    /// The tier, and whether it was assumed.
    pub(super) tier: (Tier, bool),
    /// Overrides and notes in force for its members.
    pub(super) holds: Vec<Hold>,
}

/// Every pool that is judged: by tier, then by id, so that no order of keys shows; pools of one last.
pub(super) fn plan(
    gathered: &Gathered,
    settings: &Settings,
    catalogue: Option<&Catalogue>,
    now_ms: i64,
) -> Vec<Planned> {
    let model_of = names_of(gathered);
    let input = ring_input(gathered, settings, catalogue, &model_of, now_ms);
    let planned = |route: RouteDef, is_single: bool| {
        let ring = ResolvedRing::build(&input, &route);
        let holds = ring.as_ref().map(|ring| holds(ring, &gathered.config, route.is_fixed, now_ms)).unwrap_or_default();
        let (policy, tier) = (input.policy(&route.id), settings.tier_of(&route.id));
        Planned { route, is_single, ring, policy, tier, holds }
    };
    let mut pools: Vec<Planned> =
        gathered.config.effective().into_values().map(|route| planned(route.clone(), false)).collect();
    pools.sort_by(|a, b| (a.tier.0, &a.route.id).cmp(&(b.tier.0, &b.route.id)));
    let mut singles: Vec<Planned> =
        gathered.config.consumers.iter().filter_map(single).map(|route| planned(route, true)).collect();
    singles.sort_by(|a, b| a.route.id.cmp(&b.route.id));
    pools.extend(singles);
    pools
}

/// The canonical model of a target.
pub(super) fn names_of(gathered: &Gathered) -> impl Fn(&TargetRef) -> Option<ModelId> {
    |target: &TargetRef| gathered.identity.offer(&target.provider, &target.model).model().cloned()
}

/// What rings are built from.
pub(super) fn ring_input<'a>(
    gathered: &'a Gathered,
    settings: &'a Settings,
    catalogue: Option<&'a Catalogue>,
    model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
    now_ms: i64,
) -> RingInput<'a> {
    RingInput::new(&gathered.config, catalogue, settings, model_of, now_ms)
        .with_vendors(Arc::new(vendors(gathered, settings)))
}

/// Canonical model → vendor, by the catalogue's link to a lab's model; empty unless a rule asks for it.
fn vendors(gathered: &Gathered, settings: &Settings) -> BTreeMap<ModelId, String> {
    if settings.pools.iter().all(|rule| rule.different_vendor_from.is_none()) {
        return BTreeMap::new();
    }
    let mut vendors = BTreeMap::new();
    for offer in &gathered.offers {
        let lab =
            offer.canonical.as_ref().and_then(|canonical| canonical.split_once('/')).map(|(lab, _)| lab.to_owned());
        if let (Some(model), Some(lab)) = (gathered.identity.offer(&offer.provider, &offer.id).model(), lab) {
            let known = vendors.entry(model.clone()).or_insert_with(|| lab.clone());
            if lab < *known {
                *known = lab;
            }
        }
    }
    vendors
}

/// The pool of one that a consumer names directly.
fn single(consumer: &Consumer) -> Option<RouteDef> {
    let ConsumerTarget::Model(target) = &consumer.target else { return None };
    let target = TargetRef { variant: target.variant.clone().or_else(|| consumer.variant.clone()), ..target.clone() };
    let raw = json!(target.to_string());
    Some(RouteDef {
        id: single_id(consumer),
        format: PoolFormat::OpenCode,
        path: consumer.path.clone(),
        pointer: consumer.pointer.clone(),
        place: consumer.place.clone(),
        selection: Selection::Ordered,
        selection_written: false,
        is_fixed: false,
        targets: vec![RouteTarget {
            kind: TargetKind::Model(target),
            default_variant: None,
            until_ms: None,
            weight: None,
            order: None,
            is_fallback: false,
            pointer: consumer.pointer.clone(),
            place: consumer.place.clone(),
            raw: raw.clone(),
        }],
        weights: BTreeMap::new(),
        budgets: BTreeMap::new(),
        unknown_keys: Vec::new(),
        raw,
        invalid: None,
        is_untellable: false,
        unsaveable: None,
    })
}

/// The id of a pool of one: `openchamber:<id>`, `agent:<id>`, `command:<id>`, `default:<key>`.
pub(super) fn single_id(consumer: &Consumer) -> PoolId {
    let (kind, name) = consumer.id.split_once('/').unwrap_or(("consumer", &consumer.id));
    let prefix = if matches!(kind, "category" | "fallback") { "openchamber" } else { kind };
    PoolId::prefixed(prefix, name)
}

/// What the assembly needs of one planned pool.
pub(super) fn input<'a>(
    planned: &'a Planned,
    links: &Links<'_>,
    gathered: &Gathered,
    settings: &Settings,
    memory: &Memory,
) -> PoolInput<'a> {
    let id = &planned.route.id;
    let rule = settings.pool_rule(id);
    PoolInput {
        pool: id.clone(),
        is_single: planned.is_single,
        ring: planned.ring.clone(),
        definition: (!planned.is_single).then_some(&planned.route),
        policy: planned.policy.clone(),
        consumers: links.consumers_of(id),
        consumer_files: read_files(&gathered.config),
        facts: facts(planned, links, gathered, memory),
        faults_of_nested: links.faults_of_nested(planned),
        seen_before: memory.seen(id, digest_of(gathered, SourceId::Quotas).as_deref()),
        missing_before: memory.missing(id, digest_of(gathered, SourceId::Catalogues).as_deref()),
        looks: memory.looks(id, &look_basis(planned, gathered)),
        landed: memory.landed(id),
        tier: tier_numbers(settings, planned.tier),
        requirements: rule.map(requirements).unwrap_or_default(),
    }
}

/// What the looks of a pool rest on: the definition, the method and the index version. A change of any starts them again.
pub(super) fn look_basis(planned: &Planned, gathered: &Gathered) -> String {
    let subtree = planned.ring.as_ref().map_or_else(|_| String::new(), |ring| ring.subtree_digest().to_string());
    let basis = json!([subtree, METHODS, gathered.index_version]);
    Digest::of_json(&basis).to_string()
}

/// The files in which consumers were looked for.
fn read_files(config: &FleetConfig) -> Vec<String> {
    let is_read = |layer: &&Layer| !matches!(layer.state, LayerState::Unreadable(_));
    config.layers.iter().filter(is_read).map(|layer| layer.path.clone()).collect()
}

/// What is known of a pool's definition beside its ring.
fn facts(planned: &Planned, links: &Links<'_>, gathered: &Gathered, memory: &Memory) -> ConfigFacts {
    let members = planned.ring.as_ref().map_or(&[][..], ResolvedRing::members);
    let unread = |layer: &Layer| match &layer.state {
        LayerState::Unreadable(reason) if layer.kind != "route overrides" => Some(reason.clone()),
        _ => None,
    };
    let unread: Vec<String> = gathered.config.layers.iter().filter_map(unread).collect();
    let classes = classes(&planned.route.id, &gathered.config);
    let led_elsewhere = if classes.is_empty() { BTreeMap::new() } else { links.led_elsewhere(planned) };
    ConfigFacts {
        classes,
        led_elsewhere,
        shadows: links.shadows(&planned.route),
        holds: planned.holds.iter().map(|hold| (members[hold.member].target.to_string(), hold.clone())).collect(),
        lead_attempts: planned.ring.as_ref().ok().and_then(|ring| lead_attempts(ring, links, gathered, memory)),
        has_router_log: gathered.routed.is_some(),
        unread: unread.into_iter().chain(failed_categories(gathered)).collect(),
        unused_since: memory.unused_since(&planned.route.id),
    }
}

/// The categories that name a pool themselves, by the class of work that they send: their name. One that asks for an effort
/// stays where it is, because another pool may not offer it.
fn classes(pool: &PoolId, config: &FleetConfig) -> BTreeMap<String, ClassConsumer> {
    let named = config.consumers.iter().filter(|consumer| {
        consumer.is_enabled && consumer.variant.is_none() && consumer.target == ConsumerTarget::Pool(pool.clone())
    });
    let class = |consumer: &Consumer| {
        let (id, path, pointer) = (consumer.id.clone(), consumer.path.clone(), consumer.pointer.clone());
        Some((consumer.id.strip_prefix("category/")?.to_owned(), ClassConsumer { id, path, pointer }))
    };
    named.filter_map(class).collect()
}

/// Why the categories could not be read, if so.
fn failed_categories(gathered: &Gathered) -> Option<String> {
    gathered.notes.iter().find_map(|note| match &note.state {
        SourceState::Failed(reason) if note.source == SourceId::Categories => Some(reason.clone()),
        _ => None,
    })
}

/// Attempts of a pool in the last two days, and how many of them its lead answered: at tasks where there are enough, else the
/// calls that the router logged. A row without a recorded effort counts for every member of its model, so that no lead is called
/// silent for want of a record.
fn lead_attempts(ring: &ResolvedRing, links: &Links<'_>, gathered: &Gathered, memory: &Memory) -> Option<LeadAttempts> {
    let at_tasks = task_attempts(ring, links, gathered, memory);
    if at_tasks.is_some_and(|found| found.is_enough()) {
        return at_tasks;
    }
    routed_calls(ring, gathered, memory).or(at_tasks)
}

/// Whether a row is of the lead of a ring.
fn is_of_lead(
    ring: &ResolvedRing,
    gathered: &Gathered,
    (provider, model, effort): (&ProviderId, &str, Option<&Effort>),
) -> bool {
    let lead = &ring.lead().key;
    gathered.identity.offer(provider, model).model() == Some(&lead.model)
        && effort.is_none_or(|effort| *effort == lead.effort)
}

/// Attempts at tasks, from scorecards.
fn task_attempts(ring: &ResolvedRing, links: &Links<'_>, gathered: &Gathered, memory: &Memory) -> Option<LeadAttempts> {
    if gathered.cards.is_empty() {
        return None;
    }
    let is_recent = |row: &&&ScorecardRow| (0..=LEAD_HOURS).contains(&memory.hours_since(row.finished_at));
    let is_lead = |row: &ScorecardRow| is_of_lead(ring, gathered, (&row.provider, &row.model, row.effort.as_ref()));
    let rows = links.rows.get(ring.pool()).map_or(&[][..], Vec::as_slice);
    let recent: Vec<&ScorecardRow> = rows.iter().filter(is_recent).copied().collect();
    let answered = recent.iter().filter(|row| is_lead(row)).count() as u64;
    Some(LeadAttempts { attempts: recent.len() as u64, answered, are_calls: false })
}

/// Calls that the router logged. Calls of one day come as one row: those that lie whole inside the two days are attempts, and
/// those that reach into them may be answers.
fn routed_calls(ring: &ResolvedRing, gathered: &Gathered, memory: &Memory) -> Option<LeadAttempts> {
    let is_recent = |at| (0..=LEAD_HOURS).contains(&memory.hours_since(at));
    let of_pool = || gathered.routed.iter().flatten().filter(|calls| calls.pool == *ring.pool());
    let attempts = of_pool().filter(|calls| is_recent(calls.span.0) && is_recent(calls.span.1));
    let attempts: u64 = attempts.map(|calls| calls.calls).sum();
    let is_lead =
        |calls: &&RoutedCalls| is_of_lead(ring, gathered, (&calls.provider, &calls.model, calls.effort.as_ref()));
    let answered = of_pool().filter(|calls| is_recent(calls.span.1)).filter(is_lead).map(|calls| calls.answered).sum();
    (attempts > 0).then_some(LeadAttempts { attempts, answered, are_calls: true })
}

/// The digest of a source of this run.
fn digest_of(gathered: &Gathered, source: SourceId) -> Option<String> {
    gathered.notes.iter().find(|note| note.source == source)?.digest.as_ref().map(ToString::to_string)
}

/// The numbers of a tier.
fn tier_numbers(settings: &Settings, (tier, is_assumed): (Tier, bool)) -> TierNumbers {
    let numbers = settings.tiers.get(&tier).expect("the settings hold every tier");
    TierNumbers {
        tier,
        is_assumed,
        stake_usd: numbers.stake_usd,
        minute_usd: numbers.minute_usd,
        floor: numbers.floor,
        index_mix: numbers.index_mix.clone(),
        cache_share: numbers.cache_share,
        input_per_output: numbers.input_per_output,
        tokens_per_task: settings.tokens_per_task,
    }
}

/// What a rule asks of the members.
fn requirements(rule: &PoolRule) -> Requirements {
    Requirements {
        min_output_tps: rule.min_output_tps,
        max_first_answer_s: rule.max_first_answer_s,
        min_index: rule.min_index,
        max_bill: rule.max_bill_usd_per_mtok,
        max_task_usd: rule.max_usd_per_task,
    }
}
