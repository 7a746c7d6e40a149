//! The reviewer, measured: how its last claims came true, from the ledger and what this run measured (methods §20).

use crate::evidence::statistics::calibration::{MeasuredClaim, calibration};
use crate::history::{BoundCheckFact, Past, Status, VerificationFact};
use crate::settings::Settings;
use crate::verdict::{Calibration, CheckedBound, MeasuredChange};

/// Changes that are looked back on.
const LAST: usize = 20;

/// How the reviewer's claims came true. `verified` and `checked` are what the present run found, and the ledger does not hold.
fn of(past: &Past, verified: &[VerificationFact], checked: &[BoundCheckFact]) -> Calibration {
    let mut measured = past.measures.measured(verified);
    measured.drain(..measured.len().saturating_sub(LAST));
    let claims: Vec<MeasuredClaim> = measured.iter().filter_map(claim).collect();
    let numbers = calibration(&claims);
    let change = |fact: &VerificationFact| shown(fact, past);
    let changes = measured.iter().zip(&numbers.z).map(|(fact, z)| MeasuredChange { z: Some(*z), ..change(fact) });
    let checks = past.measures.checks(checked);
    Calibration {
        verifying: verifying(past, verified).iter().map(change).collect(),
        ended: verified.iter().filter(|fact| fact.status != Status::Verifying).map(change).collect(),
        changes: changes.collect(),
        coverage_90: numbers.coverage_90,
        inflation: numbers.inflation,
        slope: numbers.slope,
        slope_used: numbers.slope_used(),
        hit_rate: numbers.hit_rate,
        brier: numbers.brier,
        brier_constant: numbers.brier_constant,
        skill: numbers.skill,
        propose_bar: numbers.propose_bar,
        is_bar_raised: false,
        bounds_kept: past.measures.bounded().count(),
        bounds: checks.iter().map(checked_bound).collect(),
    }
}

/// The same with the bar that the reviewer's skill asks for, and the settings with that bar; one that is higher already stays.
pub fn told(
    past: &Past,
    settings: &Settings,
    verified: &[VerificationFact],
    checked: &[BoundCheckFact],
) -> (Calibration, Settings) {
    let mut calibration = of(past, verified, checked);
    let mut settings = settings.clone();
    let bars = &mut settings.thresholds.bars;
    let is_poor = calibration.propose_bar > Calibration::default().propose_bar;
    calibration.is_bar_raised = is_poor && calibration.propose_bar > bars.propose;
    if calibration.is_bar_raised {
        bars.propose = calibration.propose_bar;
        bars.once = bars.once.max(bars.propose);
    }
    calibration.propose_bar = bars.propose;
    (calibration, settings)
}

/// A measured change as the estimator takes it. A claim and a measurement without any spread cannot be held against each other.
fn claim(fact: &VerificationFact) -> Option<MeasuredClaim> {
    #[expect(clippy::cast_precision_loss, reason = "numbers of a proposal stay far below 2^53")]
    let number = |value: i64| value as f64;
    Some(MeasuredClaim {
        expected: number(fact.claimed_point),
        sd_claim: number(fact.claimed_sd),
        realised: number(fact.realised_point?),
        se_realised: number(fact.realised_se?).max(1.0),
    })
}

/// Measurements under way, oldest landing first.
fn verifying(past: &Past, verified: &[VerificationFact]) -> Vec<VerificationFact> {
    let known = past.lives.iter().filter_map(|(_, life)| Some(&life.verification.as_ref()?.fact));
    let is_newer = |fact: &&VerificationFact| !verified.iter().any(|newer| newer.fingerprint == fact.fingerprint);
    let mut all: Vec<VerificationFact> =
        known.filter(is_newer).chain(verified).filter(|fact| fact.status == Status::Verifying).cloned().collect();
    all.sort_by(|a, b| (&a.landed_at, &a.fingerprint).cmp(&(&b.landed_at, &b.fingerprint)));
    all
}

/// A change as outputs show it.
fn shown(fact: &VerificationFact, past: &Past) -> MeasuredChange {
    MeasuredChange {
        fingerprint: fact.fingerprint.clone(),
        pool: past.proposals.get(&fact.fingerprint).map_or(String::new(), |known| known.pool.clone()),
        revision: fact.revision,
        landed_at: fact.landed_at.clone(),
        rule: fact.rule.clone(),
        status: fact.status.as_str(),
        metric: fact.metric.clone(),
        unit: fact.unit.clone(),
        claimed_point: fact.claimed_point,
        claimed_sd: fact.claimed_sd,
        realised_point: fact.realised_point,
        realised_se: fact.realised_se,
        rows: fact.rows,
        controls: fact.controls.clone(),
        z: None,
    }
}

/// A checked bound as outputs show it.
fn checked_bound(fact: &BoundCheckFact) -> CheckedBound {
    CheckedBound {
        pool: fact.pool.clone(),
        changed_at: fact.changed_at.clone(),
        allowed_usd_micros: fact.allowed_usd_micros,
        realised_point: fact.realised_point,
        realised_se: fact.realised_se,
        rows: fact.rows,
        outcome: fact.outcome.as_str(),
    }
}
