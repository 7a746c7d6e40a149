//! What stands beside the definition in force: other layers, the other validator, overrides and notes of today.

use super::finding;
use crate::evidence::{PoolEvidence, Shadow};
use crate::ring::HoldKind;
use crate::verdict::{Finding, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{RouteDef, SourceId};

/// Attempts of a pool in two days from which on a silent lead says something.
const SILENT_ATTEMPTS: u64 = 20;

/// Definitions of the same pool in other layers: a note, and `watch` when they differ.
pub(super) fn shadowed(evidence: &PoolEvidence) -> Vec<Finding> {
    evidence.facts.shadows.iter().map(|shadow| shadowed_pool(evidence, shadow)).collect()
}

/// One definition that is not in force.
fn shadowed_pool(evidence: &PoolEvidence, shadow: &Shadow) -> Finding {
    let in_force = evidence.definition.as_ref().map(|route| route.place.to_string()).unwrap_or_default();
    let verdict = (shadow.differs || shadow.dropped.is_some()).then_some(Verdict::Watch);
    let mut found = finding(evidence, "shadowed_pool", &shadow.place.path, verdict);
    found.place = Some(shadow.place.clone());
    found.why = match &shadow.dropped {
        Some(reason) => Sentence::new()
            .own("the router drops this definition (")
            .name(reason)
            .own(") and keeps the one at ")
            .name(&in_force),
        None => Sentence::new()
            .own(if shadow.differs { "another definition" } else { "the same definition" })
            .own(" of the pool is replaced whole by the one at ")
            .name(&in_force),
    };
    if shadow.differs {
        found.why = found.why.own("; OpenChamber merges the two and may show a third");
        found.todo = Sentence::from("keep one definition, or make the two equal");
    }
    found
}

/// A definition that the router keeps and `OpenChamber` refuses to save, with every other pool beside it: a note.
pub(super) fn unsaveable(evidence: &PoolEvidence, route: &RouteDef) -> Option<Finding> {
    let reject = route.unsaveable.as_ref().filter(|_| route.invalid.is_none())?;
    let mut found = finding(evidence, "unsaveable_pool", evidence.pool.as_str(), None);
    found.place = Some(reject.place.clone());
    found.why = Sentence::new()
        .own("the router takes it, but OpenChamber refuses to save any pool while it stands there: ")
        .name(&reject.reason);
    Some(found)
}

/// Overrides and notes in force for members: notes beside the ring.
pub(super) fn held(evidence: &PoolEvidence) -> Vec<Finding> {
    let of = |(target, hold): &(String, crate::ring::Hold)| {
        let mut found = finding(evidence, "route_override", target, None);
        found.counterpart.clone_from(&hold.id);
        found.place = Some(hold.place.clone());
        let until = chrono::DateTime::from_timestamp_millis(hold.until_ms).map(|at| at.format("%Y-%m-%d %H:%M UTC"));
        let until = until.map_or_else(String::new, |until| format!(" until {until}"));
        let what = match hold.kind {
            HoldKind::Avoid => "is passed over".to_owned(),
            HoldKind::Note => "is passed over by a tuning note".to_owned(),
            HoldKind::Prefer(factor) => format!("counts {factor} times its weight"),
            HoldKind::AllowOverBudget => "may go over its budget".to_owned(),
        };
        found.why = Sentence::new().name(target).own(format!(" {what}{until}: ")).name(&hold.text);
        found
    };
    let mut found: Vec<Finding> = evidence.facts.holds.iter().map(of).collect();
    found.dedup_by(|a, b| a.subject == b.subject && a.counterpart == b.counterpart);
    found
}

/// The configured lead gets no work: an override or note holds it out, or it answered none of many attempts.
pub(super) fn lead_unreachable(evidence: &PoolEvidence) -> Option<Finding> {
    let lead = evidence.ring.as_ref().ok()?.lead();
    let target = lead.target.to_string();
    let mut found = finding(evidence, "lead_unreachable", &lead.key.to_string(), Some(Verdict::Watch));
    found.place = Some(lead.place.clone());
    found.todo = Sentence::from("let another member lead while this one is out, or lift what holds it out");
    let hold = evidence.facts.holds.iter().find(|(held, hold)| *held == target && hold.kind.holds_out());
    if let Some((_, hold)) = hold {
        found.why = Sentence::new()
            .own("the configured lead ")
            .name(&target)
            .own(format!(" is held out by the {} ", if hold.kind == HoldKind::Note { "note" } else { "override" }))
            .name(&hold.id)
            .own(" at ")
            .name(&hold.place);
        return Some(found);
    }
    let (attempts, 0) = evidence.facts.lead_attempts.filter(|(attempts, _)| *attempts >= SILENT_ATTEMPTS)? else {
        return None;
    };
    found.sources.push(SourceId::Sessions);
    found.measured =
        Some(Measured { what: "attempts answered by the lead", value: 0.0, unit: Unit::Count, n: Some(attempts) });
    found.why = Sentence::new()
        .own("the configured lead ")
        .name(&target)
        .own(format!(" answered none of {attempts} attempts in 48 hours"));
    Some(found)
}
