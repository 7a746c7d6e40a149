//! What `explain <pool>` and `doctor` show: the same reading and the same rings as a review, judged by nobody.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::gather::Gathered;
use super::links::Links;
use super::pools::{self, Planned};
use super::{Clock, row_limits};
use crate::evidence::Shadow;
use crate::evidence::attribution::Attribution;
use crate::evidence::book::Book;
use crate::ring::{Hold, HoldKind, ResolvedRing, RingError, RingMember, Rotation};
use crate::settings::Settings;
use crate::verdict::{DoctorView, LayerView, MemberView, PoolView, RotationView, ViolationView};
use crate::vocabulary::{ConsumerTarget, FleetConfig, Layer, LayerState, Place, PoolId};

/// Largest count of jobs for which the error of a rotation is shown.
const MOST_JOBS: usize = 6;

/// Longest ring that is shown slot by slot.
const MOST_SLOTS: usize = 40;

/// One pool as resolved; without one of that id the ids there are, sorted.
pub fn pool(gathered: &Gathered, settings: &Settings, clock: Clock, id: &str) -> Result<PoolView, Vec<String>> {
    let catalogue = super::rules::catalogue(gathered);
    let planned = pools::plan(gathered, settings, catalogue.as_ref(), clock.now.timestamp_millis());
    let found = planned.iter().find(|pool| pool.route.id.as_str() == id);
    let ids = || planned.iter().map(|pool| pool.route.id.to_string()).collect::<BTreeSet<_>>().into_iter().collect();
    found.map(|pool| view(pool, &planned, gathered, settings)).ok_or_else(ids)
}

/// The view of one planned pool.
fn view(planned: &Planned, all: &[Planned], gathered: &Gathered, settings: &Settings) -> PoolView {
    let route = &planned.route;
    let links = Links::new(all, &gathered.config, &[]);
    let ring = planned.ring.as_ref().ok();
    let rule = settings.pool_rule(&route.id);
    let dropped = planned.ring.as_ref().map_or_else(RingError::dropped, ResolvedRing::dropped);
    let violations = planned.ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations);
    PoolView {
        id: route.id.to_string(),
        format: if planned.is_single { "a consumer that names a model directly" } else { route.format.as_str() },
        place: route.place.clone(),
        tier: (planned.tier.0.as_str(), planned.tier.1),
        owner: rule.and_then(|rule| rule.owner.clone()),
        selection: ring.map_or(route.selection, ResolvedRing::selection).as_str(),
        members: members(planned, settings),
        lead: ring.map(|ring| ring.lead().target.to_string()),
        no_ring: planned.ring.as_ref().err().map(no_ring),
        dropped: dropped.iter().map(|d| (d.target.clone(), d.reason.as_str(), d.place.clone())).collect(),
        violations: violations
            .iter()
            .map(|violation| ViolationView {
                target: violation.member.target.to_string(),
                rule: violation.rule.as_str(),
                detail: violation.detail.clone(),
                setting: setting(settings, &violation.setting),
                way_in: violation.member.way_in(&route.id),
                place: violation.member.place.clone(),
            })
            .collect(),
        shadows: links.shadows(route).iter().map(shadow).collect(),
        consumers: consumers(&links, &route.id, all, &gathered.config),
        offers_variants: ring.map(|ring| ring.offers_variants().to_vec()).unwrap_or_default(),
        rotation: ring.and_then(rotation),
        digests: ring.map(|ring| (ring.subtree_digest().to_string(), ring.policy_digest().to_string())),
    }
}

/// Why there is no ring, as a fragment.
fn no_ring(error: &RingError) -> String {
    match error {
        RingError::Invalid { place, reason, is_untellable: false } => {
            format!("the router drops the whole route: {reason} ({place})")
        }
        RingError::Invalid { place, reason, is_untellable: true } => {
            format!("what the router makes of it cannot be told: {reason} ({place})")
        }
        RingError::Empty { .. } => "nothing resolves to an allowed member, so the router never registers it".to_owned(),
    }
}

/// A settings key with its line where it is written.
fn setting(settings: &Settings, key: &str) -> String {
    match settings.lines.get(key) {
        Some(line) => format!("{key} at {}:{line}", settings.path),
        None => format!("{key} at its default"),
    }
}

/// The members of a pool.
fn members(planned: &Planned, settings: &Settings) -> Vec<MemberView> {
    let Ok(ring) = &planned.ring else { return Vec::new() };
    let of = |(i, member): (usize, &RingMember)| {
        let holds = planned.holds.iter().filter(|hold| hold.member == i);
        MemberView {
            target: member.target.to_string(),
            model: format!("{}@{}", member.key.model, member.key.effort),
            home: member.key.home.to_string(),
            share: member.share,
            weight: member.weight,
            way_in: member.way_in(&planned.route.id),
            place: member.place.clone(),
            until: member.until_ms.and_then(DateTime::from_timestamp_millis),
            budget: member.budget.as_ref().map(|budget| budget.raw.to_string()),
            policy: policy_result(ring, member, settings),
            holds: holds.map(|hold| (held(hold), hold.place.clone())).collect(),
        }
    };
    ring.members().iter().enumerate().map(of).collect()
}

/// What the policy says of a member.
fn policy_result(ring: &ResolvedRing, member: &RingMember, settings: &Settings) -> String {
    let unjudged: Vec<&str> =
        ring.unjudged().filter(|(other, _)| other.key == member.key).map(|(_, rule)| rule.as_str()).collect();
    let leads = ring.violations().iter().find(|violation| violation.member.target == member.target);
    match (unjudged.as_slice(), leads) {
        (_, Some(violation)) => {
            format!("allowed, and breaks \"{}\" ({})", violation.rule.as_str(), setting(settings, &violation.setting))
        }
        ([], None) if member.may_lead => "allowed".to_owned(),
        ([], None) => "allowed, may not lead".to_owned(),
        (rules, None) => format!("cannot be judged: {}", rules.join(", ")),
    }
}

/// What an override or note does, as a fragment.
fn held(hold: &Hold) -> String {
    let until = DateTime::<Utc>::from_timestamp_millis(hold.until_ms);
    let until = until.map_or_else(String::new, |at| format!(" until {}", at.format("%Y-%m-%d %H:%M UTC")));
    let what = match hold.kind {
        HoldKind::Prefer(factor) => format!("prefer by {factor}"),
        other => other.as_str().to_owned(),
    };
    format!("{what}{until}: {}", hold.text)
}

/// Another definition, and what became of it.
fn shadow(shadow: &Shadow) -> (Place, String) {
    let what = match (&shadow.dropped, shadow.differs) {
        (Some(reason), _) => format!("dropped by the router: {reason}"),
        (None, true) => "replaced, and it differs".to_owned(),
        (None, false) => "replaced by an equal one".to_owned(),
    };
    (shadow.place.clone(), what)
}

/// Who names a pool, and where.
fn consumers(links: &Links<'_>, id: &PoolId, all: &[Planned], config: &FleetConfig) -> Vec<(String, Option<Place>)> {
    let place = |name: &str| {
        let consumer = config.consumers.iter().find(|consumer| consumer.id == name);
        let stated = consumer.filter(|consumer| consumer.target != ConsumerTarget::Fallback);
        let parent = || {
            let parent = name.strip_prefix("pool/")?;
            all.iter().find(|pool| pool.route.id.as_str() == parent).map(|pool| pool.route.place.clone())
        };
        stated.map(|consumer| consumer.place.clone()).or_else(parent)
    };
    links
        .consumers_of(id)
        .into_iter()
        .map(|name| {
            let at = place(&name);
            (name, at)
        })
        .collect()
}

/// The two rings of a pool that rotates, letters standing for the children.
fn rotation(ring: &ResolvedRing) -> Option<RotationView> {
    let (rotation, first) = ring.rotation()?;
    if first.len() < 2 || first.len() > 26 || rotation.block.len() > MOST_SLOTS {
        return None;
    }
    let names: Vec<String> = first.iter().map(|member| member.target.to_string()).collect();
    let letters = |slots: &[usize]| slots.iter().filter_map(|slot| ('A'..='Z').nth(*slot)).collect::<String>();
    let spelt_out = |members: Vec<usize>| members.into_iter().map(|member| names[member].clone()).collect::<Vec<_>>();
    let jobs = 1..=rotation.block.len().min(MOST_JOBS);
    Some(RotationView {
        block: letters(&rotation.block),
        smooth: letters(&rotation.smooth),
        errors: jobs
            .map(|jobs| {
                let (block, smooth) =
                    (rotation.count_error(&rotation.block, jobs), rotation.count_error(&rotation.smooth, jobs));
                (jobs, block, smooth, spelt_out(rotation.starved(&rotation.block, jobs)))
            })
            .collect(),
        skipped: (0..names.len()).map(|down| skipped(&rotation, &names, down)).collect(),
        members: names,
    })
}

/// Where the share of a member goes while it is down.
fn skipped(rotation: &Rotation, names: &[String], down: usize) -> (String, Vec<(String, f64)>) {
    let shares = rotation.shares_with_down(&rotation.smooth, &[down]);
    let up = names.iter().cloned().zip(shares).enumerate().filter(|(member, _)| *member != down);
    (names[down].clone(), up.map(|(_, share)| share).collect())
}

/// What was found: config files in layer order, how fresh each source is, what could not be matched.
pub fn doctor(gathered: &Gathered, settings: &Settings, clock: Clock) -> DoctorView {
    let book = Book::build(&gathered.identity, &super::rules::statements(gathered, clock.now));
    let limits = row_limits(settings);
    let attribution = Attribution::build(&gathered.identity, &gathered.cards, &gathered.speeds, limits, clock.now);
    DoctorView {
        now: clock.now,
        layers: gathered.config.layers.iter().map(|layer| layer_view(layer, &gathered.config)).collect(),
        sources: gathered.notes.clone(),
        unmatched: super::unmatched(&book, &attribution, &crate::evidence::usage::Usage::default()),
    }
}

/// One config file with what it contributed.
fn layer_view(layer: &Layer, config: &FleetConfig) -> LayerView {
    let empty = LayerView {
        path: layer.path.clone(),
        kind: layer.kind,
        unused: None,
        pools: Vec::new(),
        replaced: Vec::new(),
        consumers: Vec::new(),
        facts: Vec::new(),
    };
    match &layer.state {
        LayerState::Unreadable(reason) => LayerView { unused: Some(format!("could not be read: {reason}")), ..empty },
        LayerState::Dropped(reason) => LayerView { unused: Some(format!("left out whole: {reason}")), ..empty },
        LayerState::Read { pools, consumers, facts, .. } => {
            let effective = config.effective();
            let is_in_force = |pool: &&PoolId| {
                effective.get(*pool).is_some_and(|route| route.path == layer.path && route.invalid.is_none())
            };
            let (in_force, replaced): (Vec<_>, Vec<_>) = pools.iter().partition(is_in_force);
            let names = |pools: Vec<&PoolId>| pools.into_iter().map(ToString::to_string).collect::<BTreeSet<_>>();
            LayerView {
                pools: names(in_force).into_iter().collect(),
                replaced: names(replaced).into_iter().collect(),
                consumers: consumers.clone(),
                facts: facts.clone(),
                ..empty
            }
        }
    }
}
