//! From definitions and consumers to the list of pools that are judged: every route, and every model that a consumer names
//! directly, which is a pool of one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::Memory;
use super::gather::Gathered;
use crate::change::METHODS;
use crate::evidence::assemble::PoolInput;
use crate::evidence::{Requirements, TierNumbers};
use crate::ring::{Catalogue, PoolPolicy, ResolvedRing, RingError, RingInput, Rule};
use crate::settings::{PoolRule, Settings};
use crate::vocabulary::{
    Consumer, ConsumerTarget, Digest, FleetConfig, PoolId, RouteDef, RouteTarget, Selection, SourceId, TargetKind,
    TargetRef, Tier,
};

/// A pool before its evidence is assembled.
pub(super) struct Planned {
    /// Its definition; of a pool of one a made-up one.
    pub(super) route: RouteDef,
    /// Whether a consumer names its only model directly.
    pub(super) is_single: bool,
    /// The ring, or why there is none.
    pub(super) ring: Result<ResolvedRing, RingError>,
    /// The tier, and whether it was assumed.
    pub(super) tier: (Tier, bool),
}

/// The effective definitions: of an id that stands in several layers the highest one.
pub(super) fn effective(config: &FleetConfig) -> Vec<&RouteDef> {
    let by_id: BTreeMap<&PoolId, &RouteDef> = config.routes.iter().map(|route| (&route.id, route)).collect();
    by_id.into_values().collect()
}

/// Every pool that is judged: by tier, then by id, so that no order of keys shows; pools of one last.
pub(super) fn plan(
    gathered: &Gathered,
    settings: &Settings,
    catalogue: Option<&Catalogue>,
    now_ms: i64,
) -> Vec<Planned> {
    let model_of = |target: &TargetRef| gathered.identity.offer(&target.provider, &target.model).model().cloned();
    let input = RingInput { config: &gathered.config, catalogue, settings, model_of: &model_of, now_ms };
    let planned = |route: RouteDef, is_single: bool| Planned {
        ring: ResolvedRing::build(&input, &route),
        tier: tier(settings, &route.id),
        route,
        is_single,
    };
    let mut pools: Vec<Planned> =
        effective(&gathered.config).into_iter().map(|route| planned(route.clone(), false)).collect();
    pools.sort_by(|a, b| (a.tier.0, &a.route.id).cmp(&(b.tier.0, &b.route.id)));
    let mut singles: Vec<Planned> =
        gathered.config.consumers.iter().filter_map(single).map(|route| planned(route, true)).collect();
    singles.sort_by(|a, b| a.route.id.cmp(&b.route.id));
    pools.extend(singles);
    pools
}

/// The pool of one that a consumer names directly.
fn single(consumer: &Consumer) -> Option<RouteDef> {
    let ConsumerTarget::Model(target) = &consumer.target else { return None };
    let target = TargetRef { variant: target.variant.clone().or_else(|| consumer.variant.clone()), ..target.clone() };
    let raw = json!(target.to_string());
    Some(RouteDef {
        id: single_id(consumer),
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
            pointer: consumer.pointer.clone(),
            place: consumer.place.clone(),
            raw: raw.clone(),
        }],
        weights: BTreeMap::new(),
        budgets: BTreeMap::new(),
        unknown_keys: Vec::new(),
        raw,
        invalid: None,
    })
}

/// The id of a pool of one: `openchamber:<id>`, `agent:<id>`, `command:<id>`, `default:<key>`.
pub(super) fn single_id(consumer: &Consumer) -> PoolId {
    let (kind, name) = consumer.id.split_once('/').unwrap_or(("consumer", &consumer.id));
    let prefix = if matches!(kind, "category" | "fallback") { "openchamber" } else { kind };
    PoolId::prefixed(prefix, name)
}

/// The tier of a pool: its rule's; else, for a plan variant, its base pool's; else workhorse, marked as assumed.
fn tier(settings: &Settings, pool: &PoolId) -> (Tier, bool) {
    let of = |pool: &PoolId| settings.pool_rule(pool).and_then(|rule| rule.tier);
    let base = || pool.as_str().strip_suffix("-plan").and_then(|base| of(&PoolId::new(base)));
    of(pool).or_else(base).map_or((Tier::Workhorse, true), |tier| (tier, false))
}

/// What the assembly needs of one planned pool.
pub(super) fn input<'a>(
    planned: &'a Planned,
    all: &[Planned],
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
        policy: PoolPolicy::for_pool(settings, id),
        consumers: consumers_of(id, all, &gathered.config),
        consumer_files: gathered.config.files.iter().map(|file| file.path.clone()).collect(),
        faults_of_nested: faults_of_others(id, all),
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

/// The digest of a source of this run.
fn digest_of(gathered: &Gathered, source: SourceId) -> Option<String> {
    gathered.notes.iter().find(|note| note.source == source)?.digest.as_ref().map(ToString::to_string)
}

/// Everything that names a pool: consumers that can receive work, the fallback through the categories that use it, pools
/// that nest it. Sorted.
fn consumers_of(id: &PoolId, all: &[Planned], config: &FleetConfig) -> Vec<String> {
    let fallback = config.consumers.iter().find(|consumer| consumer.id.starts_with("fallback/"));
    let is_fallback = fallback.is_some_and(|fallback| fallback.target == ConsumerTarget::Pool(id.clone()));
    let direct = config.consumers.iter().filter(|consumer| {
        consumer.is_enabled
            && match &consumer.target {
                ConsumerTarget::Pool(named) => named == id,
                ConsumerTarget::Fallback => is_fallback,
                _ => false,
            }
    });
    let nests = |planned: &&Planned| {
        planned.route.targets.iter().any(|t| matches!(&t.kind, TargetKind::Pool { id: nested, .. } if nested == id))
    };
    let parents = all.iter().filter(nests).filter(|planned| planned.route.id != *id);
    let mut names: Vec<String> = direct
        .map(|consumer| consumer.id.clone())
        .chain(parents.map(|planned| format!("pool/{}", planned.route.id)))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Pointer and rule of the violations that the other pools report on lines of their own.
fn faults_of_others(id: &PoolId, all: &[Planned]) -> BTreeSet<(String, Rule)> {
    let violations = |planned: &Planned| match &planned.ring {
        Ok(ring) => ring.violations().to_vec(),
        Err(RingError::Empty { violations, .. }) => violations.clone(),
        Err(RingError::Invalid { .. }) => Vec::new(),
    };
    all.iter()
        .filter(|planned| planned.route.id != *id)
        .flat_map(|planned| {
            let own = planned.route.id.clone();
            violations(planned).into_iter().filter(move |violation| violation.member.listed_in == own)
        })
        .map(|violation| (violation.member.pointer, violation.rule))
        .collect()
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
    }
}
