//! Which models outside the pool belong in it, whom each would displace, and which members are on their way out
//! (methods §11). Market values only; no own rows are needed.

mod offers;
mod unbilled;

use std::collections::BTreeMap;

use super::{Judgement, count, intents, lacking, number, plain, retire};
use crate::evidence::book::EndDate;
use crate::evidence::fit::{CandidateFit, Fit, FitBar, FitCode, FitParams, MarketValues, latest_model};
use crate::evidence::front::market_loss;
use crate::evidence::retire::{RetireCode, RetireFacts, RetireParams, retire_flags};
use crate::evidence::{CandidateEvidence, MemberEvidence, PoolEvidence, Successor};
use crate::ring::ResolvedRing;
use crate::settings::Settings;
use crate::verdict::{Finding, Intent, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, Effort, PoolFormat, RouteDef, SourceId};

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let mut judgement = Judgement { open: open(evidence), ..Judgement::default() };
    let params = params(settings);
    judgement.findings.extend(ends(evidence, &retire_params(settings)));
    judgement.findings.extend(evidence.own_members().flat_map(|member| offers::notes(evidence, member)));
    retire::judge(evidence, settings, &mut judgement);
    let market_is_ready = lacking(evidence, &[SourceId::Market, SourceId::Catalogues]).is_empty();
    if let (Some(lead), true) = (evidence.lead(), market_is_ready) {
        let fit = fit(evidence, lead, &params);
        judgement.findings.extend(candidates(evidence, settings, &fit));
        judgement.findings.extend(unbilled::judge(evidence, lead, settings, &params));
        judgement.findings.extend(unrated(evidence));
        judgement.open.extend(missing_numbers(lead));
        judgement.numbers = numbers(evidence, lead, &fit);
        judgement.aligned = aligned(evidence, lead, &fit);
    }
    judgement
}

/// What the sources leave open. The second opinions are asked for nothing while they are not configured; one that is configured
/// and broken blocks, for it may hold what would misalign the pool.
fn open(evidence: &PoolEvidence) -> Vec<(Verdict, String)> {
    let mut open = lacking(evidence, &[SourceId::Market, SourceId::Catalogues, SourceId::Retirements]);
    let second = [SourceId::OpenRouter, SourceId::Prices, SourceId::RetirementList, SourceId::ProviderCatalogue];
    open.extend(lacking(evidence, &second).into_iter().filter(|(verdict, _)| *verdict == Verdict::Blocked));
    open
}

/// The thresholds as the fit takes them.
fn params(settings: &Settings) -> FitParams {
    let latest = &settings.thresholds.latest;
    FitParams {
        belongs: latest.belongs,
        quality: latest.quality,
        price: latest.price,
        speed: latest.speed,
        age_days: latest.age_days,
        ..FitParams::default()
    }
}

/// The thresholds of the retire codes.
fn retire_params(settings: &Settings) -> RetireParams {
    RetireParams { retire_days: settings.thresholds.latest.retire_days, ..RetireParams::default() }
}

/// The fit of every candidate; the lead stands first among the members.
fn fit(evidence: &PoolEvidence, lead: &MemberEvidence, params: &FitParams) -> Fit {
    let others = evidence.members.iter().filter(|member| member.key != lead.key);
    let members: Vec<MarketValues> = std::iter::once(lead).chain(others).map(MemberEvidence::market_values).collect();
    let candidates: Vec<_> = evidence.market.candidates.iter().map(|candidate| candidate.fit.clone()).collect();
    latest_model(&members, &candidates, evidence.tier.tokens_per_task, evidence.tier.stake_usd, params)
}

/// A finding of this check.
fn finding(evidence: &PoolEvidence, code: &'static str, subject: &str, verdict: Option<Verdict>) -> Finding {
    Finding {
        sources: vec![SourceId::Pools, SourceId::Market, SourceId::Catalogues],
        ..Finding::new(CheckId::LatestModel, evidence.pool.clone(), code, subject, verdict)
    }
}

/// Members whose offer has ended or ends soon, where this pool holds the line.
fn ends(evidence: &PoolEvidence, params: &RetireParams) -> Vec<Finding> {
    evidence.own_members().filter_map(|member| ending(evidence, member, params)).collect()
}

/// One member on its way out.
#[expect(clippy::cast_precision_loss, reason = "days of a few centuries")]
fn ending(evidence: &PoolEvidence, member: &MemberEvidence, params: &RetireParams) -> Option<Finding> {
    let ending = member.end.as_ref()?;
    let facts = RetireFacts { days_to_end: Some(ending.days_left as f64), ..RetireFacts::default() };
    let code = retire_flags(&facts, params)
        .into_iter()
        .find(|c| matches!(c, RetireCode::Retired | RetireCode::RetirementDue))?;
    let still_listed = ending.days_left < 0 && member.market.is_listed == Some(true);
    let is_firm = ending.end.is_firm() && !still_listed;
    let verdict = if is_firm { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, code.as_str(), &member.key, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Retirements, SourceId::RetirementList, SourceId::OpenRouter];
    found.measured =
        Some(Measured { what: "days to its end", value: ending.days_left as f64, unit: Unit::Days, n: None });
    found.limit = Some(Limit { op: LimitOp::AtLeast, value: params.retire_days, setting: "latest.retire_days" });
    found.place = evidence.place_of(&member.key);
    found.why = Sentence::new().name(&member.target).own(format!(" ends on {}", ending.end.date));
    found.why = stated(&ending.end, found.why);
    if still_listed {
        found.why = found.why.own("; past its date but still listed by its provider, so confirm before it goes");
    }
    let intent =
        evidence.definition.as_ref().and_then(|route| way_out(evidence, route, member, &ending.successor, &mut found));
    if verdict == Verdict::Misaligned {
        found.intent = intent;
    }
    Some(found)
}

/// Who states an end date, and who says otherwise.
fn stated(end: &EndDate, why: Sentence) -> Sentence {
    let why = match &end.stated_by {
        Some(source) => why.own(" (stated by ").name(source).own(")"),
        None if end.is_firm() => why,
        None => why.own(" by one list that names no source, so it only warns"),
    };
    match end.second {
        Some((source, day)) if day == end.date => why.own(format!("; {source} says the same day")),
        Some((source, day)) => why
            .own(format!("; disputed: {source} says {day}; the earlier day warns, confirm before anything is retired")),
        None => why,
    }
}

/// What to do about a member that ends: its successor in its place when it may be used, else out.
fn way_out(
    evidence: &PoolEvidence,
    route: &RouteDef,
    member: &MemberEvidence,
    successor: &Successor,
    found: &mut Finding,
) -> Option<Intent> {
    let pointer = evidence.pointer_of(&member.key)?;
    match successor {
        Successor::InPool { model, .. } => {
            model.clone_into(&mut found.counterpart);
            found.why = found.why.clone().own("; its successor ").name(model).own(" is in the pool already");
            found.todo = Sentence::from("take it out");
            intents::retire(route, &pointer)
        }
        Successor::Offered { model, target, weight_key } => {
            model.clone_into(&mut found.counterpart);
            found.why = found.why.clone().own("; its successor is ").name(model);
            found.todo = Sentence::new().own("put ").name(target).own(" in its place");
            let is_lead = evidence.lead().is_some_and(|lead| lead.key == member.key);
            if is_lead && evidence.members.len() > 1 {
                return intents::replace_behind(route, &pointer, target);
            }
            intents::replace(route, &pointer, target, weight_key)
        }
        Successor::Unusable(why) => {
            found.why = found.why.clone().own("; no usable successor: ").name(why);
            found.todo = Sentence::from("take it out");
            intents::retire(route, &pointer)
        }
    }
}

/// Findings of the candidates that would matter: one per model; only the one that saves most is proposed.
fn candidates(evidence: &PoolEvidence, settings: &Settings, fit: &Fit) -> Vec<Finding> {
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
fn model_of(id: &str) -> &str {
    id.split('@').next().unwrap_or_default()
}

/// Which effort of a model is named, of those that fit: the lead's own, else the lowest. A bill per token does not see what
/// more effort costs in tokens and time, so a higher one is never preferred for free.
fn effort_rank(evidence: &PoolEvidence, judged: &CandidateFit) -> (bool, Option<usize>) {
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
fn credit(evidence: &PoolEvidence) -> String {
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
fn unrated(evidence: &PoolEvidence) -> Option<Finding> {
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

/// Numbers of the lead without which nothing can be called aligned.
fn missing_numbers(lead: &MemberEvidence) -> Vec<(Verdict, String)> {
    let mut missing = Vec::new();
    if lead.q.get().is_none() {
        missing.push((Verdict::Watch, "missing_number:standing_of_lead".to_owned()));
    }
    if lead.bill.get().is_none() {
        missing.push((Verdict::Watch, "missing_number:bill_of_lead".to_owned()));
    }
    missing
}

/// How many candidates fit the pool's capabilities and are rated.
fn eligible(evidence: &PoolEvidence) -> usize {
    let rated = |c: &&CandidateEvidence| c.fit.is_capable && c.fit.values.q.is_some() && c.fit.values.bill.is_some();
    evidence.market.candidates.iter().filter(rated).count()
}

/// The gap between the lead and the hull of the front, in points.
fn hull_gap(evidence: &PoolEvidence, lead: &MemberEvidence) -> Option<f64> {
    evidence.market.pareto.as_ref()?.hull_gap.get(&lead.key).copied().flatten()
}

/// The numbers behind the verdict.
fn numbers(evidence: &PoolEvidence, lead: &MemberEvidence, fit: &Fit) -> Vec<crate::verdict::Number> {
    let rated = evidence.market.candidates.iter().filter(|c| c.fit.values.q.is_some() && c.fit.values.bill.is_some());
    let on_front = fit.candidates.iter().filter(|candidate| candidate.on_front).count();
    let mut numbers = Vec::new();
    if let Some(miss) = &fit.nearest_miss {
        let mut short = plain("nearest miss: points short of the quality bar", Some(miss.q_short), Unit::Points);
        miss.id.clone_into(&mut short.of);
        numbers.push(short);
    }
    numbers.extend([
        count("models outside the pool", evidence.market.seen),
        count("candidates rated", rated.count()),
        count("candidates eligible", eligible(evidence)),
        count("candidates on the front", on_front),
        plain("hull gap of the lead", hull_gap(evidence, lead), Unit::Points),
    ]);
    for member in &evidence.members {
        let mut index = number("index", &member.target, &member.index, Unit::Points);
        if !member.imputed.is_empty() {
            index.remark = format!("imputed: {}", member.imputed.join(", "));
        }
        let rated = (!member.market.efforts.is_empty()).then(|| format!("rated at {}", member.market.efforts));
        let repeated = member.market.repeated_index;
        let repeated = repeated.map(|index| format!("OpenRouter repeats {index:.1} without a version, not used"));
        for known in rated.into_iter().chain(repeated) {
            index.remark = if index.remark.is_empty() { known } else { format!("{}; {known}", index.remark) };
        }
        numbers.push(index);
        numbers.push(number("standing q", &member.target, &member.q, Unit::Points));
        numbers.push(number("bill", &member.target, &member.bill, Unit::UsdPerMtok));
        numbers.push(number("market speed", &member.target, &member.market_tps, Unit::TokensPerSecond));
    }
    numbers
}

/// The sentence of an aligned pool.
fn aligned(evidence: &PoolEvidence, lead: &MemberEvidence, fit: &Fit) -> Sentence {
    let text = format!("{} eligible of {} models outside, none clears a bar", eligible(evidence), evidence.market.seen);
    let sentence = Sentence::new().own(text);
    let sentence = match &fit.nearest_miss {
        Some(miss) => sentence.own("; nearest miss ").name(&miss.id).own(format!(", {:.1} points short", miss.q_short)),
        None => sentence.own("; no near miss"),
    };
    let gap = hull_gap(evidence, lead).map_or_else(|| "unknown".to_owned(), |gap| Unit::Points.show(gap));
    let ends = evidence.members.iter().filter_map(|member| Some(member.end.as_ref()?.days_left)).min();
    let ends = ends.map_or_else(|| "none known".to_owned(), |days| format!("first in {days} days"));
    sentence.own(format!("; hull gap of the lead {gap}; end dates {ends}"))
}
