//! Which models outside the pool belong in it, whom each would displace, and which members are on their way out
//! (methods §11). Market values only; no own rows are needed.

mod candidates;
mod ends;
mod offers;
mod unbilled;

use super::calls::is_told_by_attempts;
use super::{Judgement, broken, count, lacking, number, plain, retire};
use crate::evidence::fit::{Fit, FitParams, MarketValues, latest_model};
use crate::evidence::retire::RetireParams;
use crate::evidence::{CandidateEvidence, MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, SourceId};
use candidates::{candidates, unrated};
use ends::ends;

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
/// and broken blocks, for it may hold what would misalign the pool; so do session stores where nothing else tells how often a
/// member can be reached.
fn open(evidence: &PoolEvidence) -> Vec<(Verdict, String)> {
    let mut open = lacking(evidence, &[SourceId::Market, SourceId::Catalogues, SourceId::Retirements]);
    let second = [SourceId::OpenRouter, SourceId::Prices, SourceId::RetirementList, SourceId::ProviderCatalogue];
    open.extend(second.into_iter().filter_map(|source| broken(evidence, source)));
    if !evidence.own_members().all(is_told_by_attempts) {
        open.extend(broken(evidence, SourceId::SessionStores));
    }
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
