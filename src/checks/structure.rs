//! Structural facts about a pool's definition and who names it (methods §14). No estimate, no probability: each is seen at
//! first sight. A fault of a nested pool is reported on the pool that holds the line.

mod keys;
mod layers;
mod members;

use std::collections::BTreeSet;

use super::{Judgement, broken, count, intents, lacking, plain};
use crate::evidence::{PoolEvidence, Readiness};
use crate::ring::{DropReason, ResolvedRing, RingError};
use crate::settings::Settings;
use crate::verdict::{Edit, Finding, Measured, Number, ProposalKind, Seat, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, PoolFormat, SourceId};

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let mut findings = Vec::new();
    findings.extend(empty_pool(evidence));
    findings.extend(members::violations(evidence));
    findings.extend(members::dropped_targets(evidence));
    findings.extend(members::expiring(evidence, settings.thresholds.structure.expiring_days));
    if let Some(route) = &evidence.definition {
        findings.extend(members::duplicates(evidence, route));
        findings.extend(members::dropped_variants(evidence, route));
        findings.extend(keys::dead_keys(evidence, route));
        findings.extend(keys::near_misses(evidence, route));
        findings.extend(layers::unsaveable(evidence, route));
    }
    findings.extend(layers::shadowed(evidence));
    findings.extend(layers::lead_unreachable(evidence));
    findings.extend(no_consumer(evidence));
    findings.extend(single_home(evidence));
    Judgement {
        numbers: numbers(evidence),
        aligned: aligned(evidence),
        open: open(evidence),
        findings,
        looks: Vec::new(),
    }
}

/// What cannot be judged: members that a catalogue would have to show, whether the lead answers where only a router's log would
/// tell and cannot be read, rules that need a fact nobody states, and consumers that could stand in a file which could not be read.
fn open(evidence: &PoolEvidence) -> Vec<(Verdict, String)> {
    let mut open = Vec::new();
    if runs_in_opencode(evidence) && !is_invalid(evidence) {
        open.extend(lacking(evidence, &[SourceId::Catalogues]));
        if *evidence.readiness(SourceId::Catalogues) == Readiness::Ready {
            open.extend(
                unlisted(evidence)
                    .into_iter()
                    .map(|name| (Verdict::InsufficientEvidence, format!("no_catalogue:{name}"))),
            );
        }
    }
    let is_told = evidence.facts.lead_attempts.is_some_and(|found| found.is_enough());
    if evidence.facts.has_router_log && !is_told {
        // A log that ends early still tells of the hours it holds.
        open.extend(broken(evidence, SourceId::SessionStores).filter(|(_, reason)| reason.starts_with("failed:")));
    }
    let unjudged = evidence.ring.iter().flat_map(ResolvedRing::unjudged);
    open.extend(unjudged.map(|(member, rule)| {
        (Verdict::InsufficientEvidence, format!("unjudged_rule:{}:{}", rule.as_str(), member.target))
    }));
    if !evidence.facts.unread.is_empty() && may_be_unused(evidence) {
        let reason = match evidence.readiness(SourceId::Categories) {
            Readiness::Blocked(reason) => reason.clone(),
            _ => "failed:consumers".to_owned(),
        };
        open.push((Verdict::Blocked, reason));
    }
    open
}

/// Whether the models of the pool are looked up in opencode's catalogue.
fn runs_in_opencode(evidence: &PoolEvidence) -> bool {
    let format = evidence.definition.as_ref().map_or(PoolFormat::OpenCode, |route| route.format);
    matches!(format, PoolFormat::OpenCode | PoolFormat::Omo)
}

/// Whether the router drops the whole definition.
fn is_invalid(evidence: &PoolEvidence) -> bool {
    matches!(evidence.ring, Err(RingError::Invalid { .. }))
}

/// Providers of whose models the catalogue says nothing, where this pool holds the line.
fn unlisted(evidence: &PoolEvidence) -> BTreeSet<String> {
    let members = evidence.ring.as_ref().map_or(&[][..], ResolvedRing::members);
    let own = members.iter().filter(|member| member.listed_in == evidence.pool && !member.is_listed);
    let patterns = members::dropped(evidence)
        .iter()
        .filter(|dropped| dropped.reason == DropReason::NoCatalogue && dropped.listed_in == evidence.pool);
    let provider = |target: &str| target.split('/').next().unwrap_or_default().to_owned();
    own.map(|member| member.target.provider.to_string()).chain(patterns.map(|drop| provider(&drop.target))).collect()
}

/// A finding of this check.
fn finding(evidence: &PoolEvidence, code: &'static str, subject: &str, verdict: Option<Verdict>) -> Finding {
    Finding {
        sources: vec![SourceId::Pools],
        ..Finding::new(CheckId::Structure, evidence.pool.clone(), code, subject, verdict)
    }
}

/// The sentence of an aligned pool.
fn aligned(evidence: &PoolEvidence) -> Sentence {
    let Ok(ring) = &evidence.ring else { return Sentence::new() };
    let homes = homes(ring).len();
    Sentence::new().own(format!(
        "{} members on {homes} homes, {} consumers, nothing dead or forbidden",
        ring.members().len(),
        evidence.consumers.len()
    ))
}

/// The numbers this check rests on.
fn numbers(evidence: &PoolEvidence) -> Vec<Number> {
    let days = evidence.facts.unused_since.filter(|_| is_unused(evidence)).map(|since| {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        let days = (evidence.now - since).num_seconds() as f64 / 86_400.0;
        plain("days without a consumer", Some(days), Unit::Days)
    });
    let Ok(ring) = &evidence.ring else {
        let counts = [count("members", 0), count("consumers", evidence.consumers.len())];
        return counts.into_iter().chain(days).collect();
    };
    [
        count("members", ring.members().len()),
        count("homes", homes(ring).len()),
        count("consumers", evidence.consumers.len()),
        count("targets the router drops", ring.dropped().len()),
        count("members that break policy", ring.violations().len()),
    ]
    .into_iter()
    .chain(days)
    .chain(layers::holds(evidence))
    .collect()
}

/// The distinct homes of a ring.
fn homes(ring: &ResolvedRing) -> BTreeSet<&str> {
    ring.members().iter().map(|member| member.key.home.as_str()).collect()
}

/// Nothing resolves: the router never registers the pool. Where it is the review that cannot tell, that is said instead.
fn empty_pool(evidence: &PoolEvidence) -> Option<Finding> {
    let error = evidence.ring.as_ref().err()?;
    let unknown: Vec<_> = error.dropped().iter().filter(|dropped| dropped.reason.is_unknown()).collect();
    if !unknown.is_empty() && unknown.iter().all(|dropped| dropped.reason == DropReason::NoCatalogue) {
        return None;
    }
    let is_untold = matches!(error, RingError::Invalid { is_untellable: true, .. }) || !unknown.is_empty();
    let verdict = if is_untold { Verdict::Unresolved } else { Verdict::Misaligned };
    let mut found = finding(evidence, "empty_pool", evidence.pool.as_str(), Some(verdict));
    found.todo = Sentence::from(if is_untold {
        "write the value itself in the file"
    } else {
        "give the pool a member that resolves, or retire it"
    });
    match error {
        RingError::Invalid { place, reason, is_untellable } => {
            let start = if *is_untellable {
                "what the router makes of it cannot be told: "
            } else {
                "the router drops the whole route: "
            };
            found.why = Sentence::new().own(start).name(reason);
            if evidence.definition.as_ref().is_some_and(|route| route.unsaveable.is_none() && !*is_untellable) {
                found.why = found.why.own("; OpenChamber saves it all the same, so nothing has warned of it");
            }
            found.place = Some(place.clone());
        }
        RingError::Empty { dropped, violations } => {
            found.why = Sentence::from(format!(
                "no member is left: {} targets dropped, {} against policy",
                dropped.len(),
                violations.len()
            ));
            found.place = evidence.definition.as_ref().map(|route| route.place.clone());
        }
    }
    Some(found)
}

/// Whether nothing names the pool, as far as the inputs show: pools that work reaches from outside need no consumer.
fn may_be_unused(evidence: &PoolEvidence) -> bool {
    let is_entry = evidence.definition.as_ref().is_none_or(|route| route.format.is_entry());
    evidence.consumers.is_empty() && !evidence.is_single && !is_entry
}

/// Whether nothing names the pool, and every input that could was read.
fn is_unused(evidence: &PoolEvidence) -> bool {
    may_be_unused(evidence) && evidence.facts.unread.is_empty()
}

/// Nothing names the pool.
fn no_consumer(evidence: &PoolEvidence) -> Option<Finding> {
    let route = evidence.definition.as_ref().filter(|_| is_unused(evidence))?;
    let mut found = finding(evidence, "no_consumer", evidence.pool.as_str(), Some(Verdict::Misaligned));
    found.why = Sentence::new()
        .own("no category, agent, command, default model, job or other pool names it; inputs read: ")
        .names(&evidence.consumer_files);
    if let Some(since) = evidence.facts.unused_since {
        found.why = found.why.own(format!("; so since {}", since.format("%Y-%m-%d")));
    }
    found.todo = Sentence::from("give it a category, or retire it if nothing outside these inputs names it");
    found.place = Some(route.place.clone());
    let edits = vec![Edit::Remove { pointer: route.pointer.clone() }];
    let human = format!(
        "Delete the pool {} if nothing outside the inputs read ({}) names it.",
        route.id,
        evidence.consumer_files.join(", ")
    );
    found.intent = Some(intents::intent(route, ProposalKind::RetirePool, Seat::Pool, edits, human));
    Some(found)
}

/// All members draw on one home.
fn single_home(evidence: &PoolEvidence) -> Option<Finding> {
    let ring = evidence.ring.as_ref().ok()?;
    let homes = homes(ring);
    let home = homes.first().filter(|_| homes.len() == 1)?;
    let mut found = finding(evidence, "single_home", home, Some(Verdict::Watch));
    found.measured = Some(Measured { what: "homes", value: 1.0, unit: Unit::Count, n: None });
    found.why = Sentence::new().own("every member draws on the home ").name(home);
    found.todo = Sentence::from("add a member on another home");
    found.place = ring.members().first().map(|member| member.place.clone());
    Some(found)
}
