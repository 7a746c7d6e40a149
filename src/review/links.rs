//! What pools, consumers, definitions and rows say of each other, worked out once for all pools: a pool asks for its own part.

use std::collections::{BTreeMap, BTreeSet};

use super::pools::Planned;
use crate::evidence::Shadow;
use crate::ring::{ResolvedRing, RingError, Rule, Violation};
use crate::vocabulary::{ConsumerTarget, FleetConfig, PoolFormat, PoolId, RouteDef, ScorecardRow, TargetKind, Tier};

/// The links between everything that was read and the pools.
pub(super) struct Links<'a> {
    /// Pool → everything that names it.
    consumers: BTreeMap<&'a PoolId, BTreeSet<String>>,
    /// Pointer and rule of a violation → the pools that report it on a line of their own.
    faults: BTreeMap<(&'a str, &'a Rule), BTreeSet<&'a PoolId>>,
    /// `model@effort` → tier and id of every route that it leads.
    leads: BTreeMap<String, BTreeSet<(Tier, &'a PoolId)>>,
    /// Pool → its definitions in every layer, lowest first.
    definitions: BTreeMap<&'a PoolId, Vec<&'a RouteDef>>,
    /// Pool → the rows that name it, in the order read.
    pub(super) rows: BTreeMap<&'a PoolId, Vec<&'a ScorecardRow>>,
}

impl<'a> Links<'a> {
    /// The links of a run.
    pub(super) fn new(all: &'a [Planned], config: &'a FleetConfig, cards: &'a [ScorecardRow]) -> Self {
        let mut definitions: BTreeMap<&PoolId, Vec<&RouteDef>> = BTreeMap::new();
        for route in &config.routes {
            definitions.entry(&route.id).or_default().push(route);
        }
        let mut rows: BTreeMap<&PoolId, Vec<&ScorecardRow>> = BTreeMap::new();
        for (pool, row) in cards.iter().filter_map(|row| Some((row.pool.as_ref()?, row))) {
            rows.entry(pool).or_default().push(row);
        }
        Self { consumers: consumers(all, config), faults: faults(all), leads: leads(all), definitions, rows }
    }

    /// Everything that names a pool: consumers that can receive work, the fallback through the categories that use it, pools
    /// that nest it. Sorted.
    pub(super) fn consumers_of(&self, pool: &PoolId) -> Vec<String> {
        self.consumers.get(pool).into_iter().flatten().cloned().collect()
    }

    /// Pointer and rule of the violations of a pool that another pool reports on a line of its own.
    pub(super) fn faults_of_nested(&self, pool: &Planned) -> BTreeSet<(String, Rule)> {
        let is_elsewhere = |violation: &&Violation| {
            let reporting = self.faults.get(&(violation.member.pointer.as_str(), &violation.rule));
            reporting.is_some_and(|pools| pools.iter().any(|other| **other != pool.route.id))
        };
        let found = violations(pool).iter().filter(is_elsewhere);
        found.map(|violation| (violation.member.pointer.clone(), violation.rule.clone())).collect()
    }

    /// `model@effort` → the other route that it leads: of the same tier if there is one, then the first by id.
    pub(super) fn led_elsewhere(&self, planned: &Planned) -> BTreeMap<String, PoolId> {
        let nearest = |pools: &BTreeSet<(Tier, &PoolId)>| {
            let others = pools.iter().filter(|(_, id)| **id != planned.route.id);
            others.min_by_key(|(tier, id)| (*tier != planned.tier.0, *id)).map(|(_, id)| (*id).clone())
        };
        self.leads.iter().filter_map(|(key, pools)| Some((key.clone(), nearest(pools)?))).collect()
    }

    /// Definitions of the same pool that are not in force.
    pub(super) fn shadows(&self, route: &RouteDef) -> Vec<Shadow> {
        let all = self.definitions.get(&route.id).into_iter().flatten();
        let shadow = |other: &&RouteDef| Shadow {
            place: other.place.clone(),
            differs: other.raw != route.raw,
            dropped: other.invalid.as_ref().map(|reject| reject.reason.clone()),
        };
        all.filter(|other| other.place != route.place).map(shadow).collect()
    }
}

/// Pool → everything that names it.
fn consumers<'a>(all: &'a [Planned], config: &'a FleetConfig) -> BTreeMap<&'a PoolId, BTreeSet<String>> {
    let mut consumers: BTreeMap<&PoolId, BTreeSet<String>> = BTreeMap::new();
    let pool_of = |target: &'a ConsumerTarget| match target {
        ConsumerTarget::Pool(pool) => Some(pool),
        _ => None,
    };
    let fallback = config.consumers.iter().find(|consumer| consumer.id.starts_with("fallback/"));
    let fallback = fallback.and_then(|fallback| pool_of(&fallback.target));
    for consumer in config.consumers.iter().filter(|consumer| consumer.is_enabled) {
        let through = fallback.filter(|_| consumer.target == ConsumerTarget::Fallback);
        if let Some(pool) = pool_of(&consumer.target).or(through) {
            consumers.entry(pool).or_default().insert(consumer.id.clone());
        }
    }
    for parent in all.iter().map(|planned| &planned.route).filter(|route| route.format != PoolFormat::Omo) {
        let nested = parent.targets.iter().filter_map(|target| match &target.kind {
            TargetKind::Pool { id, .. } if *id != parent.id => Some(id),
            _ => None,
        });
        for pool in nested {
            consumers.entry(pool).or_default().insert(format!("pool/{}", parent.id));
        }
    }
    consumers
}

/// `model@effort` → the routes of opencode that it leads.
fn leads(all: &[Planned]) -> BTreeMap<String, BTreeSet<(Tier, &PoolId)>> {
    let mut leads: BTreeMap<String, BTreeSet<(Tier, &PoolId)>> = BTreeMap::new();
    for planned in all.iter().filter(|planned| !planned.is_single && planned.route.format == PoolFormat::OpenCode) {
        if let Ok(ring) = &planned.ring {
            let key = &ring.lead().key;
            let pools = leads.entry(format!("{}@{}", key.model, key.effort)).or_default();
            pools.insert((planned.tier.0, &planned.route.id));
        }
    }
    leads
}

/// What breaks a rule in a pool, whether it has a ring or not.
fn violations(planned: &Planned) -> &[Violation] {
    planned.ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations)
}

/// Pointer and rule of the violations that stand on a line of the pool itself → the pools.
fn faults(all: &[Planned]) -> BTreeMap<(&str, &Rule), BTreeSet<&PoolId>> {
    let mut faults: BTreeMap<(&str, &Rule), BTreeSet<&PoolId>> = BTreeMap::new();
    for planned in all {
        for violation in violations(planned).iter().filter(|violation| violation.member.listed_in == planned.route.id) {
            let key = (violation.member.pointer.as_str(), &violation.rule);
            faults.entry(key).or_default().insert(&planned.route.id);
        }
    }
    faults
}
