//! A measured change as the ledger is told of it: whole numbers in the unit of its claim.

use chrono::{DateTime, SecondsFormat, Utc};

use super::verify::Landed;
use crate::evidence::measure::Metric;
use crate::evidence::statistics::normal::Z_95;
use crate::evidence::statistics::verification::{ChangeOutcome, VerificationRule};
use crate::history::{Life, ProposalFact, Status, VerificationFact};
use crate::verdict::Effect;

/// The end of a measurement that can go no further: its last numbers stand, and settle nothing.
pub(super) fn given_up(fact: &ProposalFact, life: &Life, since: DateTime<Utc>) -> VerificationFact {
    let never = || VerificationFact {
        fingerprint: fact.fingerprint.clone(),
        revision: life.landing.as_ref().map_or(fact.revision, |landing| landing.revision),
        landed_at: since.to_rfc3339_opts(SecondsFormat::Secs, true),
        rule: VerificationRule::BeforeAfter.as_str().to_owned(),
        status: Status::Inconclusive,
        metric: "unknown".to_owned(),
        unit: "unknown".to_owned(),
        claimed_point: fact.point,
        claimed_sd: deviation(fact.lo90, fact.hi90),
        realised_point: None,
        realised_se: None,
        rows: (0, 0),
        controls: Vec::new(),
    };
    let last = life.verification.as_ref().map(|known| known.fact.clone());
    VerificationFact { status: Status::Inconclusive, ..last.unwrap_or_else(never) }
}

/// The standard deviation behind a 90 % interval.
fn deviation(lo90: i64, hi90: i64) -> i64 {
    whole((number(hi90) - number(lo90)) / (2.0 * Z_95))
}

/// What is told of a change without its numbers.
pub(super) fn told(landed: &Landed<'_>, rule: VerificationRule, status: Status) -> VerificationFact {
    let Effect { metric, unit, point, lo90, hi90, .. } = &landed.primary;
    VerificationFact {
        fingerprint: landed.fact.fingerprint.clone(),
        revision: landed.life.landing.as_ref().map_or(landed.fact.revision, |landing| landing.revision),
        landed_at: landed.since.to_rfc3339_opts(SecondsFormat::Secs, true),
        rule: rule.as_str().to_owned(),
        status,
        metric: metric.clone(),
        unit: unit.clone(),
        claimed_point: *point,
        claimed_sd: deviation(*lo90, *hi90),
        realised_point: None,
        realised_se: None,
        rows: (0, 0),
        controls: Vec::new(),
    }
}

/// Whether a claim's number counts towards the better (1) or, as in a test of what may be worse, the other way (−1).
pub(super) fn sign(landed: &Landed<'_>, metric: Metric) -> f64 {
    let better = if metric == Metric::Success { "increase" } else { "decrease" };
    if landed.primary.direction == better { 1.0 } else { -1.0 }
}

/// From dollars, fractions and minutes to the unit of a claim.
pub(super) fn scale(unit: &str) -> f64 {
    match unit {
        "seconds" => 60.0,
        "count" => 1.0,
        _ => 1e6,
    }
}

/// The status of an outcome.
pub(super) fn status(outcome: ChangeOutcome) -> Status {
    match outcome {
        ChangeOutcome::Pending => Status::Verifying,
        ChangeOutcome::Confirmed => Status::Confirmed,
        ChangeOutcome::Refuted => Status::Refuted,
        ChangeOutcome::Inconclusive => Status::Inconclusive,
    }
}

/// A whole number as a float.
#[expect(clippy::cast_precision_loss, reason = "numbers of a proposal stay far below 2^53")]
pub(super) fn number(value: i64) -> f64 {
    value as f64
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn count(value: u64) -> f64 {
    value as f64
}

/// The nearest whole number.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what both types hold exactly")]
pub(super) fn whole(value: f64) -> i64 {
    if value.is_finite() { value.round().clamp(-9e15, 9e15) as i64 } else { 0 }
}
