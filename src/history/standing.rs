//! The fields of a proposal's file that move without its content: status, suppression, landing, outcome, conditions.

use serde_json::Value;

use super::facts::ProposalFact;
use super::lifecycle::{Status, VerificationFact};
use super::lives::{Decided, Life, Measurement};
use crate::verdict::{Condition, LandingRef, Outcome, Proposal, Suppressed};

/// Writes where a life stands into its proposal.
pub fn stand(proposal: &mut Proposal, life: &Life) {
    life.status.as_str().clone_into(&mut proposal.status);
    proposal.suppressed = life.decision.as_ref().filter(|_| life.status.is_suppressed()).map(suppressed);
    let landing = life.landing.as_ref().filter(|_| life.status.is_landed() || life.status == Status::RolledBack);
    proposal.landing = landing.map(|landing| LandingRef {
        commit: None,
        landed_at: landing.detected_at.clone(),
        subtree_digest_after: landing.subtree_digest_after.clone(),
    });
    if let (None, Some(test)) = (&life.landing, life.verification.as_ref().filter(|_| life.status.is_landed())) {
        // A test changes no definition: it is in force from its start.
        let (landed_at, subtree_digest_after) = (test.fact.landed_at.clone(), proposal.config.subtree_digest.clone());
        proposal.landing = Some(LandingRef { commit: None, landed_at, subtree_digest_after });
    }
    let measured = life.verification.as_ref().filter(|_| life.status.is_landed());
    proposal.outcome = measured.and_then(outcome);
}

/// A life of which only the present status and decision matter.
pub(super) fn wears(status: Status, decision: Option<Decided>) -> Life {
    Life { decision, ..Life::at(status) }
}

/// What a decision suppresses.
fn suppressed(decided: &Decided) -> Suppressed {
    Suppressed {
        until: decided.fact.until.clone(),
        reason: decided.fact.reason.clone(),
        by: decided.fact.by.clone(),
        unless: decided.fact.unless.map_or("never", |unless| unless.as_str()).to_owned(),
    }
}

/// What a measurement found, once there is something measured.
fn outcome(measured: &Measurement) -> Option<Outcome> {
    let VerificationFact { realised_point, realised_se, claimed_point, claimed_sd, rows, unit, .. } = &measured.fact;
    let (point, se) = ((*realised_point)?, realised_se.unwrap_or(0));
    #[expect(clippy::cast_precision_loss, reason = "effects are far below 2^52 in their units")]
    let (half, gap, spread) =
        (1.644_854 * se as f64, (point - claimed_point) as f64, (*claimed_sd as f64).hypot(se as f64));
    let z = (spread > 0.0).then(|| gap / spread);
    #[expect(clippy::cast_possible_truncation, reason = "effects are far below 2^63 in their units")]
    let whole = |value: f64| value.round() as i64;
    Some(Outcome {
        measured_at: measured.at.clone(),
        unit: unit.clone(),
        point,
        lo90: point - whole(half),
        hi90: point + whole(half),
        rows: rows.0 + rows.1,
        z_milli: z.map(|z| whole(z * 1000.0)),
        inside90: z.map_or(point == *claimed_point, |z| z.abs() <= 1.644_854),
    })
}

/// The same content again, with the dates and the revision that the ledger knows.
pub(super) fn restored(proposal: &Proposal, fact: &ProposalFact) -> Proposal {
    let mut restored = proposal.clone();
    restored.revision = fact.revision;
    restored.first_seen.clone_from(&fact.first_seen);
    restored.expires.clone_from(&fact.expires);
    for condition in &mut restored.conditions {
        condition.observed_revision = fact.revision;
    }
    restored
}

/// A condition that says what it said in the file keeps the instant of its last flip.
pub(super) fn keep_transitions(conditions: &mut [Condition], revision: u64, file: Option<&Value>) {
    let old = file.and_then(|file| file["conditions"].as_array()).map_or(&[][..], Vec::as_slice);
    for condition in conditions {
        condition.observed_revision = revision;
        let same = old.iter().find(|old| {
            old["type"].as_str() == Some(&condition.r#type) && old["status"].as_str() == Some(&condition.status)
        });
        if let Some(at) = same.and_then(|same| same["last_transition"].as_str()) {
            at.clone_into(&mut condition.last_transition);
        }
    }
}
