//! Models outside the pool that would matter in it: how each stands, which bars it clears, whom it would displace, and the one
//! that is proposed (methods §11).

use std::collections::BTreeMap;

use super::finding;
use crate::checks::intents;
use crate::evidence::fit::{CandidateFit, Fit, FitBar, FitCode};
use crate::evidence::front::market_loss;
use crate::evidence::{CandidateEvidence, MemberEvidence, PoolEvidence};
use crate::ring::ResolvedRing;
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{Effort, PoolFormat};

/// Findings of the candidates that would matter: one per model; only the one that saves most is proposed.
pub(super) fn candidates(evidence: &PoolEvidence, settings: &Settings, fit: &Fit) -> Vec<Finding> {
    let mut best: BTreeMap<&str, (&CandidateFit, &CandidateEvidence)> = BTreeMap::new();
    for (judged, candidate) in fit.candidates.iter().zip(&evidence.market.candidates) {
        if matches!(judged.code, FitCode::NotAFit | FitCode::Unrated) {
            continue;
        }
        let slot = best.entry(model_of(&judged.id)).or_insert((judged, candidate));
        if (judged.code, effort_rank(evidence, judged)) < (slot.0.code, effort_rank(evidence, slot.0)) {
            *slot = (judged, candidate);
        }
    }
    let mut named: Vec<_> = best.into_values().collect();
    named.sort_by(|a, b| {
        a.0.code.cmp(&b.0.code).then(loss(evidence, a.1).total_cmp(&loss(evidence, b.1))).then(a.0.id.cmp(&b.0.id))
    });
    let mut is_proposed = false;
    named
        .into_iter()
        .map(|(judged, candidate)| {
            let mut found = candidate_finding(evidence, settings, judged, candidate);
            if judged.code == FitCode::Missing {
                propose(evidence, settings, candidate, &mut found, is_proposed);
                is_proposed = true;
            }
            found
        })
        .collect()
}

/// The model of `model@effort`.
pub(super) fn model_of(id: &str) -> &str {
    id.split('@').next().unwrap_or_default()
}

/// Which effort of a model is named, of those that fit: the lead's own, else the lowest. A bill per token does not see what
/// more effort costs in tokens and time, so a higher one is never preferred for free.
pub(super) fn effort_rank(evidence: &PoolEvidence, judged: &CandidateFit) -> (bool, Option<usize>) {
    let effort = |id: &str| Effort::new(id.split('@').nth(1).unwrap_or_default());
    let own = effort(&judged.id);
    let is_other = evidence.lead().is_none_or(|lead| effort(&lead.model_effort) != own);
    (is_other, own.height())
}

/// The market loss of a task on a candidate; a candidate that fits has a bill and a standing.
fn loss(evidence: &PoolEvidence, candidate: &CandidateEvidence) -> f64 {
    let values = &candidate.fit.values;
    match (values.bill, values.q) {
        (Some(bill), Some(q)) => market_loss(bill, q, evidence.tier.tokens_per_task, evidence.tier.stake_usd),
        _ => f64::INFINITY,
    }
}

/// One candidate with its standing against the lead.
fn candidate_finding(
    evidence: &PoolEvidence,
    settings: &Settings,
    judged: &CandidateFit,
    candidate: &CandidateEvidence,
) -> Finding {
    let verdict = match judged.code {
        FitCode::Missing => Some(Verdict::Misaligned),
        FitCode::PendingReleaseAge => Some(Verdict::Watch),
        _ => None,
    };
    let mut found = finding(evidence, judged.code.as_str(), &judged.id, verdict);
    found.counterpart = judged.displaces.clone().unwrap_or_default();
    found.why =
        Sentence::new().name(candidate.target.as_deref().unwrap_or(&judged.id)).own(standing(evidence, candidate));
    let bars: Vec<_> = judged.bars.iter().map(|bar| bar.as_str()).collect();
    found.why = found.why.own(format!("; clears {}", bars.join(", ")));
    found.why = match &judged.displaces {
        Some(member) => found.why.own("; displaces ").name(member),
        None => found.why.own("; joins"),
    };
    if let Some(lead) = evidence.lead() {
        (found.measured, found.limit) = measured(evidence, lead, settings, judged, candidate);
    }
    (found.why, found.todo) = code_words(judged.code, candidate, found.why);
    found
}

/// The words that go with a code.
fn code_words(code: FitCode, candidate: &CandidateEvidence, why: Sentence) -> (Sentence, Sentence) {
    match code {
        FitCode::PendingReleaseAge => (
            why.own(format!("; {:.1} days old", candidate.fit.age_days)),
            Sentence::from("nothing yet: it is judged again when it is old enough"),
        ),
        FitCode::NoHome => (why, Sentence::from("nothing: no home of the fleet that this pool may use offers it")),
        FitCode::PolicyExcluded => {
            let excluded = candidate.excluded_by.as_deref().unwrap_or("policy");
            (why.own("; policy excludes it: ").name(excluded), Sentence::from("nothing: it is never proposed"))
        }
        _ => {
            let first_seen = if candidate.age_by_first_sight { " since this review first saw it" } else { "" };
            (
                why.own(format!("; {:.0} days old{first_seen}", candidate.fit.age_days)),
                Sentence::from("try it on a small share of the work"),
            )
        }
    }
}

/// How a candidate stands against lead and best member: q with its rank, index, bill and speed side by side, and whom to credit.
fn standing(evidence: &PoolEvidence, candidate: &CandidateEvidence) -> String {
    let values = &candidate.fit.values;
    let lead = evidence.lead();
    let show = |value: Option<f64>, unit: Unit| value.map_or_else(|| "unknown".to_owned(), |value| unit.show(value));
    let pair = |own, lead, unit: Unit| format!("{} (lead {})", show(own, unit), show(lead, unit));
    let of_lead = |f: fn(&MemberEvidence) -> Option<f64>| lead.and_then(f);
    let best = evidence.members.iter().filter_map(|member| member.q.get()).max_by(f64::total_cmp);
    let delta = |other: Option<f64>| {
        values.q.zip(other).map_or_else(|| "unknown".to_owned(), |(own, other)| format!("{:+.1}", own - other))
    };
    let imputed = if candidate.imputed.is_empty() {
        String::new()
    } else {
        format!("; not rated on {}, imputed", candidate.imputed.join(", "))
    };
    format!(
        ": q {}{}, {} against the lead, {} against the best member, index {}, bill {}, speed {}{imputed} ({})",
        show(values.q, Unit::Points),
        rank(evidence, values.q),
        delta(of_lead(|lead| lead.q.get())),
        delta(best),
        pair(candidate.index, of_lead(|lead| lead.index.get()), Unit::Points),
        pair(values.bill, of_lead(|lead| lead.bill.get()), Unit::UsdPerMtok),
        pair(values.speed, of_lead(|lead| lead.market_tps.get()), Unit::TokensPerSecond),
        credit(evidence),
    )
}

/// Whom to credit for market numbers, and under which index they stand.
pub(super) fn credit(evidence: &PoolEvidence) -> String {
    let version = evidence.market.index_version.as_deref().unwrap_or("unstated");
    format!("Source: Artificial Analysis, https://artificialanalysis.ai, Intelligence Index v{version}")
}

/// The rank of a q among members and eligible candidates: ` (rank 3 of 41)`.
fn rank(evidence: &PoolEvidence, q: Option<f64>) -> String {
    let Some(q) = q else { return String::new() };
    let members = evidence.members.iter().filter_map(|member| member.q.get());
    let capable = evidence.market.candidates.iter().filter(|candidate| candidate.fit.is_capable);
    let all: Vec<f64> = members.chain(capable.filter_map(|candidate| candidate.fit.values.q)).collect();
    format!(" (rank {} of {})", 1 + all.iter().filter(|other| **other > q).count(), all.len())
}

/// The measurement of the first bar a candidate clears, and its limit.
fn measured(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    settings: &Settings,
    judged: &CandidateFit,
    candidate: &CandidateEvidence,
) -> (Option<Measured>, Option<Limit>) {
    let latest = &settings.thresholds.latest;
    let values = &candidate.fit.values;
    let measure = |what, value: Option<f64>, unit, op, limit, setting| {
        (value.map(|value| Measured { what, value, unit, n: None }), Some(Limit { op, value: limit, setting }))
    };
    let ratio = |own: Option<f64>, lead: Option<f64>| own.zip(lead).map(|(own, lead)| own / lead);
    match judged.bars.first() {
        Some(FitBar::Price) => measure(
            "bill over the lead's",
            ratio(values.bill, lead.bill.get()),
            Unit::Ratio,
            LimitOp::AtLeast,
            latest.price,
            "latest.price",
        ),
        Some(FitBar::Speed) => measure(
            "speed over the lead's",
            ratio(values.speed, lead.market_tps.get()),
            Unit::Ratio,
            LimitOp::Below,
            latest.speed,
            "latest.speed",
        ),
        Some(FitBar::Dominates) => {
            let displaced = judged.displaces.as_ref().and_then(|key| evidence.members.iter().find(|m| m.key == *key));
            let gain = values.q.zip(displaced.and_then(|member| member.q.get())).map(|(own, member)| own - member);
            measure("q against the member it displaces", gain, Unit::Points, LimitOp::Below, 1.0, "built in")
        }
        _ => {
            let gain = values.q.zip(lead.q.get()).map(|(own, lead)| own - lead);
            measure("q against the lead", gain, Unit::Points, LimitOp::Below, latest.quality, "latest.quality")
        }
    }
}

/// The change a missing model asks for: a trial in a weighted pool. Elsewhere a controlled test comes first.
fn propose(
    evidence: &PoolEvidence,
    settings: &Settings,
    candidate: &CandidateEvidence,
    found: &mut Finding,
    is_second: bool,
) {
    if is_second {
        found.held = Some("one candidate per pool at a time".to_owned());
        return;
    }
    let Some(target) = &candidate.target else { return };
    match &evidence.definition {
        Some(route) if evidence.is_weighted => {
            let until = evidence.now + chrono::Duration::days(to_days(settings.thresholds.horizon_days));
            let dropped = evidence.ring.iter().flat_map(ResolvedRing::dropped).map(|dropped| dropped.pointer.as_str());
            let share = settings.thresholds.latest.trial_share;
            found.intent = intents::add_trial(route, &dropped.collect(), target, share, until.date_naive());
            if found.intent.is_none() {
                let is_opencode = route.format == PoolFormat::OpenCode;
                let why = if is_opencode {
                    "its weights leave no room for a small share"
                } else {
                    "a newcomer of this file needs a key, which is set by hand"
                };
                found.held = Some(why.to_owned());
            }
        }
        Some(_) => found.held = Some("an ordered pool takes a newcomer after a controlled test only".to_owned()),
        None => found.held = Some("a consumer names this model directly".to_owned()),
    }
}

/// Whole days of a setting.
#[expect(clippy::cast_possible_truncation, reason = "settings keep day counts small and finite")]
fn to_days(days: f64) -> i64 {
    days.round() as i64
}

/// Models a held home offers and nobody rates: named, never proposed.
pub(super) fn unrated(evidence: &PoolEvidence) -> Option<Finding> {
    if evidence.market.unrated.is_empty() {
        return None;
    }
    let mut found = finding(evidence, "unrated", "unrated", None);
    found.why = Sentence::new()
        .own(format!("{} models that a held home offers have no index or no bill: ", evidence.market.unrated.len()))
        .names(&evidence.market.unrated);
    if !evidence.market.unversioned.is_empty() {
        let repeated = evidence.market.unversioned.iter().map(|(model, index)| format!("{model} {index:.1}"));
        found.why =
            found.why.own("; OpenRouter repeats an index without version or effort, so nothing is ranked by it: ");
        found.why = found.why.names(repeated).own(" (Source: Artificial Analysis, https://artificialanalysis.ai)");
    }
    Some(found)
}
