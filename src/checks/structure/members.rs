//! Facts about members and targets: what breaks policy, what the router drops, what ends, what stands twice.

use std::collections::BTreeSet;

use chrono::DateTime;

use super::super::intents;
use super::{finding, homes};
use crate::evidence::PoolEvidence;
use crate::ring::{DropReason, Dropped, ResolvedRing, RingError, RingMember, Rule, Violation};
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{RouteDef, RouteTarget, SourceId};

/// What breaks policy, from a ring or from the attempt to build one.
fn all_violations(evidence: &PoolEvidence) -> &[Violation] {
    evidence.ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations)
}

/// What the router drops, from a ring or from the attempt to build one.
pub(super) fn dropped(evidence: &PoolEvidence) -> &[Dropped] {
    evidence.ring.as_ref().map_or_else(RingError::dropped, ResolvedRing::dropped)
}

/// Configured members that break a rule. One that a nested pool reports itself is not reported again.
pub(super) fn violations(evidence: &PoolEvidence) -> Vec<Finding> {
    let is_reported_elsewhere = |violation: &Violation| {
        violation.member.listed_in != evidence.pool
            && evidence.faults_of_nested.contains(&(violation.member.pointer.clone(), violation.rule.clone()))
    };
    all_violations(evidence)
        .iter()
        .filter(|violation| !is_reported_elsewhere(violation))
        .map(|v| violation(evidence, v))
        .collect()
}

/// One member that breaks a rule.
fn violation(evidence: &PoolEvidence, violation: &Violation) -> Finding {
    let member = &violation.member;
    let mut found = finding(evidence, "policy_violation", &member.key.to_string(), Some(Verdict::Misaligned));
    found.why = Sentence::new()
        .name(&member.target.to_string())
        .own(format!(" breaks the rule \"{}\" ({}): ", violation.rule.as_str(), violation.setting))
        .name(&violation.detail);
    let way = member.way_in(&evidence.pool);
    if way != "direct" {
        found.why = found.why.own("; it comes in ").name(&way);
    }
    found.place = Some(member.place.clone());
    if violation.rule == Rule::NeverLead {
        found.todo = Sentence::from("let another member lead");
        return found;
    }
    found.todo = Sentence::from("take it out of the pool");
    found.intent = evidence
        .definition
        .as_ref()
        .filter(|_| !member.by_pattern)
        .and_then(|route| intents::retire(route, &member.pointer));
    if found.intent.is_none() {
        found.held = Some("the line that brings it in stands in another pool or is a pattern".to_owned());
    }
    found
}

/// Targets the router drops without a message, where this pool holds the line.
pub(super) fn dropped_targets(evidence: &PoolEvidence) -> Vec<Finding> {
    let own = dropped(evidence).iter().filter(|dropped| dropped.listed_in == evidence.pool);
    own.filter_map(|dropped| match dropped.reason {
        DropReason::NoCatalogue => None,
        DropReason::Unreadable | DropReason::TooDeep => Some(untold_target(evidence, dropped)),
        _ => Some(dropped_target(evidence, dropped)),
    })
    .collect()
}

/// A target of which the review cannot tell what it stands for.
fn untold_target(evidence: &PoolEvidence, dropped: &Dropped) -> Finding {
    let code = if dropped.reason == DropReason::TooDeep { "nesting_too_deep" } else { "unresolved_member" };
    let mut found = finding(evidence, code, &dropped.target, Some(Verdict::Unresolved));
    found.why = Sentence::new().name(&dropped.target).own(format!(" {}", dropped.reason.as_str()));
    found.todo = Sentence::from(if dropped.reason == DropReason::TooDeep {
        "nest pools less deeply"
    } else {
        "write provider and model in the file: variables, files and a current provider are never resolved"
    });
    found.place = Some(dropped.place.clone());
    found
}

/// One target the router drops.
fn dropped_target(evidence: &PoolEvidence, dropped: &Dropped) -> Finding {
    let (code, verdict) = match dropped.reason {
        DropReason::UntilPassed => ("expired_member", Verdict::Misaligned),
        DropReason::AlreadyInTree | DropReason::Cycle => ("duplicate_member", Verdict::Misaligned),
        DropReason::NoSuchRoute => ("dangling_consumer", Verdict::Misaligned),
        _ => {
            let verdict =
                if evidence.missing_before.contains(&dropped.target) { Verdict::Misaligned } else { Verdict::Watch };
            ("unknown_member", verdict)
        }
    };
    let mut found = finding(evidence, code, &dropped.target, Some(verdict));
    found.why = Sentence::new().name(&dropped.target).own(format!(" is no member: {}", dropped.reason.as_str()));
    if dropped.reason == DropReason::UnknownVariant {
        found.why = found.why.own(" (it takes ").names(evidence.variants_of(&dropped.target)).own(")");
    }
    if let Some(key) = orphaned_budget(evidence, dropped) {
        found.why = found.why.own("; the budget of ").name(&key).own(" is dead with it");
    }
    found.place = Some(dropped.place.clone());
    if code == "unknown_member" {
        found.sources.push(SourceId::Catalogues);
    }
    found.todo = match verdict {
        Verdict::Watch => Sentence::from("nothing yet: a second accepted catalogue snapshot must agree"),
        _ => Sentence::from("delete the line"),
    };
    if verdict == Verdict::Misaligned {
        found.intent = evidence.definition.as_ref().and_then(|route| intents::retire(route, &dropped.pointer));
    }
    found
}

/// The budget key of a dropped target that no other target uses.
fn orphaned_budget(evidence: &PoolEvidence, dropped: &Dropped) -> Option<String> {
    let route = evidence.definition.as_ref()?;
    let target = route.targets.iter().find(|target| target.pointer == dropped.pointer)?;
    let key = intents::weight_key(target);
    let others = route.targets.iter().filter(|other| intents::weight_key(other) == key).count();
    (others == 1 && route.budgets.contains_key(&key)).then_some(key)
}

/// Members whose `until` is near: `misaligned` when the pool would then be empty or on one home.
pub(super) fn expiring(evidence: &PoolEvidence, days: f64) -> Vec<Finding> {
    let Ok(ring) = &evidence.ring else { return Vec::new() };
    let leaves_at = |member: &RingMember| member.until_ms.map(|until| days_between(evidence, until));
    let is_near = |member: &RingMember| leaves_at(member).is_some_and(|left| left <= days);
    let staying: BTreeSet<_> =
        ring.members().iter().filter(|m| !is_near(m)).map(|member| member.key.home.as_str()).collect();
    let thin = staying.len() < 2 && homes(ring).len() > staying.len();
    let near = ring.members().iter().filter(|member| member.listed_in == evidence.pool && is_near(member));
    near.map(|member| {
        let verdict = if thin { Verdict::Misaligned } else { Verdict::Watch };
        let mut found = finding(evidence, "expiring_member", &member.key.to_string(), Some(verdict));
        let left = leaves_at(member).unwrap_or_default();
        found.measured = Some(Measured { what: "days to its end", value: left, unit: Unit::Days, n: None });
        found.limit = Some(Limit { op: LimitOp::AtLeast, value: days, setting: "structure.expiring_days" });
        found.why = Sentence::new()
            .name(&member.target.to_string())
            .own(format!(" leaves in {left:.1} days; {} homes stay", staying.len()));
        found.todo = Sentence::from("set a later end or add a member on another home");
        found.place = Some(member.place.clone());
        if verdict == Verdict::Misaligned {
            found.held = Some("which member should stay is the owner's choice".to_owned());
        }
        found
    })
    .collect()
}

/// Days from the review to an epoch in milliseconds.
fn days_between(evidence: &PoolEvidence, until_ms: i64) -> f64 {
    let until = DateTime::from_timestamp_millis(until_ms).unwrap_or(DateTime::<chrono::Utc>::MAX_UTC);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let days = (until - evidence.now).num_seconds() as f64 / 86_400.0;
    days
}

/// One member key twice: two targets that are the same model at the same effort on the same home.
pub(super) fn duplicates(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let Ok(ring) = &evidence.ring else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for member in ring.members() {
        if seen.insert(&member.key) || member.listed_in != evidence.pool {
            continue;
        }
        let mut duplicate = finding(evidence, "duplicate_member", &member.key.to_string(), Some(Verdict::Misaligned));
        duplicate.why = Sentence::new()
            .name(&member.target.to_string())
            .own(" is the same model, effort and home as a member before it");
        duplicate.todo = Sentence::from("delete the line");
        duplicate.place = Some(member.place.clone());
        duplicate.intent = intents::retire(route, &member.pointer).filter(|_| !member.by_pattern);
        found.push(duplicate);
    }
    found
}

/// Variants of an entry that its model does not take: set, and never arriving.
pub(super) fn dropped_variants(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let Ok(ring) = &evidence.ring else { return Vec::new() };
    let own = ring.members().iter().filter(|member| member.listed_in == evidence.pool && !member.by_pattern);
    let entry = |member: &RingMember| route.targets.iter().find(|target| target.pointer == member.pointer);
    own.filter_map(|member| Some((member, lost_variants(member, entry(member)?))))
        .filter(|(_, lost)| !lost.is_empty())
        .map(|(member, lost)| {
            let mut found = finding(evidence, "dropped_variant", &member.key.to_string(), Some(Verdict::Watch));
            found.why = Sentence::new().name(&member.target).own(" does not take ").names(&lost);
            found.why = found.why.own(", so the router leaves that out without a message");
            found.todo = Sentence::from("name a variant that the model takes, or delete the key");
            found.place = Some(member.place.clone());
            found
        })
        .collect()
}

/// The variants an entry names that its member does not have.
fn lost_variants(member: &RingMember, entry: &RouteTarget) -> Vec<String> {
    let default = entry.default_variant.iter().filter(|_| member.default_variant.is_none()).cloned();
    let map = entry.raw.get("variants").and_then(serde_json::Value::as_object);
    let lost = map.into_iter().flatten().filter(|(key, _)| !member.variant_map.contains_key(*key));
    default.chain(lost.filter_map(|(_, to)| to.as_str().map(str::to_owned))).collect()
}
