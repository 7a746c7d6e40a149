//! Whether the way back of a landed change is due: its trigger, held against what the review sees (methods §18.4). Nothing here
//! takes anything back.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::spans::span;
use super::verify::{Loop, Verified};
use crate::evidence::statistics::Beta;
use crate::evidence::windows::{Standing, WindowClass};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::history::{DigestNow, Dues, Life, ProposalFact, Status, TriggerFact};
use crate::verdict::{RollbackDue, Trigger, TriggerReading};
use crate::vocabulary::{Effort, ModelId, PoolId};

/// The lead of a pool at this review.
pub(super) struct LeadNow {
    /// Its target, as the router calls it.
    target: String,
    /// Its model.
    model: ModelId,
    /// Its effort.
    effort: Effort,
    /// Whether the pool holds its model at no other effort.
    is_only_effort: bool,
    /// The window with the least left, the most that may be left in it, millionths, and minutes to its reset; `None` when that is not
    /// known.
    least: Option<(String, u64, Option<u64>)>,
}

impl LeadNow {
    /// The lead of a pool; `None` without a ring.
    pub(super) fn of(evidence: &PoolEvidence) -> Option<Self> {
        let lead = evidence.lead()?;
        let key = &evidence.ring_member(&lead.key)?.key;
        let others = evidence.ring.as_ref().ok()?.members().iter();
        let is_only_effort =
            !others.into_iter().any(|other| other.key.model == key.model && other.key.effort != key.effort);
        let (model, effort) = (key.model.clone(), key.effort.clone());
        Some(Self { target: lead.target.clone(), model, effort, is_only_effort, least: least_left(lead) })
    }
}

/// The window of a member that has the least left. A window that is dry settles it whatever the others are; else every one must be
/// known. Stale readings say nothing of what is left.
fn least_left(member: &MemberEvidence) -> Option<(String, u64, Option<u64>)> {
    let mut least: Option<(String, u64, Option<u64>)> = None;
    let mut is_known =
        !matches!(member.windows.standing, Standing::Unknown(_) | Standing::Stale(_) | Standing::Metered);
    for window in &member.windows.windows {
        let is_dry = window.flags.iter().any(|flag| flag.ends_with("dry now, reset unknown"));
        let of_ends = window.ends.as_ref().filter(|_| window.class != WindowClass::Stale).map(|(low, _)| {
            // A window without a deadline that is dry frees itself bit by bit.
            let wait = window.resets_at.map(|_| whole(low.tau_h * 60.0));
            (whole(low.remaining * 1e6), wait)
        });
        match of_ends.or(is_dry.then_some((0, None))) {
            Some((left, wait)) if least.as_ref().is_none_or(|(_, known, _)| left < *known) => {
                least = Some((window.id.clone(), left, wait));
            }
            Some(_) => {}
            None if window.class == WindowClass::Unlimited => {}
            None => is_known = false,
        }
    }
    least.filter(|(_, left, _)| is_known || *left == 0)
}

/// The nearest whole number of something that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what both types hold exactly")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 9e15) as u64
}

/// What the triggers of landed changes say.
#[derive(Default)]
pub(super) struct Triggered {
    /// Ways back that are due.
    pub(super) dues: Dues,
    /// What the ledger does not hold yet.
    pub(super) facts: Vec<TriggerFact>,
}

/// Holds the trigger of every landed change against what is measured, as long as the config holds what it predicted. `leads` are
/// the leads by pool, `digest` that of the definition now. What cannot be measured leaves a trigger as it was.
pub(super) fn triggered(
    closing: &Loop<'_>,
    verified: &Verified,
    leads: &BTreeMap<String, LeadNow>,
    run: &str,
    digest: DigestNow<'_>,
) -> Triggered {
    let mut triggered = Triggered::default();
    for (fingerprint, life) in closing.past.lives.iter() {
        let Some(landing) = life.landing.as_ref().filter(|_| life.status.is_landed()) else { continue };
        let Some(fact) = closing.past.proposals.get(fingerprint) else { continue };
        if digest(fact).as_ref() != Some(&landing.subtree_digest_after) {
            continue;
        }
        let proposal = closing.intact(fact).filter(|proposal| proposal.revision == landing.revision);
        let lead = leads.get(&fact.pool);
        let reading =
            proposal.and_then(|proposal| reading(closing, verified, (fact, life), lead, &proposal.rollback.trigger));
        let Some(reading) = reading else {
            triggered.dues.extend(life.due.clone().map(|due| (fingerprint.to_owned(), due)));
            continue;
        };
        let is_due = reading.is_due();
        if is_due {
            let since = life.due.as_ref().map_or(run, |due| &due.since).to_owned();
            triggered.dues.insert(fingerprint.to_owned(), RollbackDue { since, reading: reading.clone() });
        }
        if is_due != life.due.is_some() {
            let (fingerprint, revision) = (fingerprint.to_owned(), landing.revision);
            triggered.facts.push(TriggerFact { fingerprint, revision, is_due, reading });
        }
    }
    triggered
}

/// One trigger as it is measured; `None` when there is none, or it cannot be.
fn reading(
    closing: &Loop<'_>,
    verified: &Verified,
    (fact, life): (&ProposalFact, &Life),
    lead: Option<&LeadNow>,
    trigger: &Trigger,
) -> Option<TriggerReading> {
    match trigger.rule.as_str() {
        "below_floor_1" => below_floor(closing, fact, life, lead?, trigger),
        "refuted_1" => {
            let now = verified.facts.iter().find(|one| one.fingerprint == fact.fingerprint);
            let known = now.or_else(|| life.verification.as_ref().map(|known| &known.fact))?;
            Some(TriggerReading::Refuted {
                is_refuted: known.status == Status::Refuted,
                metric: known.metric.clone(),
                unit: known.unit.clone(),
                claimed_point: known.claimed_point,
                realised_point: known.realised_point,
            })
        }
        "window_dry_1" => {
            let lead = lead?;
            let (window, left_ppm, wait_minutes) = lead.least.clone()?;
            Some(TriggerReading::WindowDry { lead: lead.target.clone(), window, left_ppm, wait_minutes })
        }
        _ => None,
    }
}

/// P(success of the lead below the floor), on its rows since the landing alone, with half a success and half a failure beside them.
fn below_floor(
    closing: &Loop<'_>,
    fact: &ProposalFact,
    life: &Life,
    lead: &LeadNow,
    trigger: &Trigger,
) -> Option<TriggerReading> {
    let since: DateTime<Utc> = life.landing.as_ref()?.detected_at.parse().ok()?;
    let (floor_ppm, needed_ppm) = (trigger.floor_ppm?, trigger.probability_ppm?);
    let meter = &closing.meter;
    let rows = meter.attribution.rows(&PoolId::new(&fact.pool), &lead.model, &lead.effort, lead.is_only_effort);
    let tally = meter.tally(lead.model.as_str(), &rows, span(since, closing.now));
    #[expect(clippy::cast_precision_loss, reason = "at most a million")]
    let floor = floor_ppm as f64 / 1e6;
    let below = Beta::new(tally.s + 0.5, tally.n - tally.s + 0.5).cdf(floor);
    Some(TriggerReading::BelowFloor {
        lead: lead.target.clone(),
        floor_ppm,
        below_ppm: whole(below * 1e6),
        needed_ppm,
        rows_milli: whole(tally.n * 1e3),
        needed_rows_milli: trigger.min_weighted_rows_milli?,
    })
}
