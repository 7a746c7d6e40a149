//! What stands beside the definition in force: other layers, the other validator, overrides and notes of today.

use chrono::{DateTime, Utc};

use super::super::plain;
use super::finding;
use crate::evidence::{PoolEvidence, Shadow};
use crate::ring::HoldKind;
use crate::verdict::{Basis, Finding, Measured, Number, Sentence, Unit, Verdict};
use crate::vocabulary::{RouteDef, SourceId};

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

/// Overrides and notes in force for members: how long each still holds, and what it does.
pub(super) fn holds(evidence: &PoolEvidence) -> impl Iterator<Item = Number> {
    evidence.facts.holds.iter().map(|(target, hold)| {
        let what = match hold.kind {
            HoldKind::Avoid => "passed over by an override for",
            HoldKind::Note => "passed over by a tuning note for",
            HoldKind::Prefer(_) => "preferred by an override for",
            HoldKind::AllowOverBudget => "allowed over its budget for",
        };
        let until = DateTime::from_timestamp_millis(hold.until_ms).unwrap_or(DateTime::<Utc>::MAX_UTC);
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        let hours = (until - evidence.now).num_seconds() as f64 / 3600.0;
        let remark = format!("{}: {}", hold.place, hold.text);
        Number { of: target.clone(), remark, ..plain(what, Some(hours), Unit::Hours) }
    })
}

/// The configured lead gets no work: an override holds it out, or it answered none of many attempts. A tuning note is the owner's own
/// line about a window that is spent, and is shown beside the ring only.
pub(super) fn lead_unreachable(evidence: &PoolEvidence) -> Option<Finding> {
    let lead = evidence.ring.as_ref().ok()?.lead();
    let target = lead.target.to_string();
    let mut found = finding(evidence, "lead_unreachable", &lead.key.to_string(), Some(Verdict::Watch));
    found.place = Some(lead.place.clone());
    found.todo = Sentence::from("let another member lead while this one is out, or lift what holds it out");
    let hold = evidence.facts.holds.iter().find(|(held, hold)| *held == target && hold.kind == HoldKind::Avoid);
    if let Some((_, hold)) = hold {
        found.why = Sentence::new()
            .own("the configured lead ")
            .name(&target)
            .own(" is held out by the override ")
            .name(&hold.id)
            .own(" at ")
            .name(&hold.place);
        return Some(found);
    }
    let silent = evidence.facts.lead_attempts.filter(|found| found.is_enough() && found.answered == 0)?;
    let unit = if silent.are_calls { "calls" } else { "attempts" };
    found.sources.push(if silent.are_calls { SourceId::SessionStores } else { SourceId::Sessions });
    found.basis = silent.are_calls.then_some(Basis::Calls);
    let what = if silent.are_calls { "calls answered by the lead" } else { "attempts answered by the lead" };
    found.measured = Some(Measured { what, value: 0.0, unit: Unit::Count, n: Some(silent.attempts) });
    found.why = Sentence::new()
        .own("the configured lead ")
        .name(&target)
        .own(format!(" answered none of {} {unit} in 48 hours", silent.attempts));
    Some(found)
}
