//! Models outside the pool whose bill is unknown and that could fit: while there is one, nothing shows that the pool lacks no
//! model, so the check watches. What removes a price never makes a pool look better.

use std::collections::BTreeMap;

use super::candidates::{credit, effort_rank, model_of};
use super::finding;
use crate::evidence::fit::{CandidateFit, FitCode, FitParams, MarketValues, latest_model};
use crate::evidence::{CandidateEvidence, MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::SourceId;

/// One finding per model that would fit at the least bill it may have.
pub(super) fn judge(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    settings: &Settings,
    params: &FitParams,
) -> Vec<Finding> {
    let unbilled = &evidence.market.unbilled;
    let q_of = |member: &MemberEvidence| unbilled.members_q.get(&member.model_effort).copied();
    let others = evidence.members.iter().filter(|member| member.key != lead.key);
    let members: Vec<MarketValues> = std::iter::once(lead)
        .chain(others)
        .map(|member| MarketValues { q: q_of(member), ..member.market_values() })
        .collect();
    let candidates: Vec<_> = unbilled.candidates.iter().map(|(candidate, _)| candidate.fit.clone()).collect();
    let fit = latest_model(&members, &candidates, evidence.tier.tokens_per_task, evidence.tier.stake_usd, params);
    let mut best: BTreeMap<&str, (&CandidateFit, &(CandidateEvidence, String))> = BTreeMap::new();
    for (judged, candidate) in fit.candidates.iter().zip(&unbilled.candidates) {
        if matches!(judged.code, FitCode::Missing | FitCode::PendingReleaseAge) {
            let slot = best.entry(model_of(&judged.id)).or_insert((judged, candidate));
            if effort_rank(evidence, judged) < effort_rank(evidence, slot.0) {
                *slot = (judged, candidate);
            }
        }
    }
    let found = best.into_values();
    found
        .map(|(judged, (candidate, reason))| unknown(evidence, settings, judged, candidate, (reason, q_of(lead))))
        .collect()
}

/// One model that could fit.
fn unknown(
    evidence: &PoolEvidence,
    settings: &Settings,
    judged: &CandidateFit,
    candidate: &CandidateEvidence,
    (reason, lead_q): (&str, Option<f64>),
) -> Finding {
    let mut found = finding(evidence, "unknown_bill", &judged.id, Some(Verdict::Watch));
    found.sources = vec![
        SourceId::Pools,
        SourceId::Market,
        SourceId::Catalogues,
        SourceId::Retirements,
        SourceId::Prices,
        SourceId::OpenRouter,
    ];
    found.counterpart = judged.displaces.clone().unwrap_or_default();
    let bars: Vec<_> = judged.bars.iter().map(|bar| bar.as_str()).collect();
    let least = match candidate.fit.values.bill {
        Some(least) if least > 0.0 => format!("at {}, the least in dispute,", Unit::UsdPerMtok.show(least)),
        _ => "at a low enough bill".to_owned(),
    };
    let index = candidate.index.map_or_else(|| "unknown".to_owned(), |index| Unit::Points.show(index));
    found.why = Sentence::new()
        .name(candidate.target.as_deref().unwrap_or(&judged.id))
        .own(format!(": index {index} ({}), bill unknown (", credit(evidence)))
        .name(reason)
        .own(format!("); {least} it would clear {}", bars.join(", ")));
    found.todo = Sentence::from("find out what it costs: until then nothing shows that the pool does not lack it");
    let gain = candidate.fit.values.q.zip(lead_q).map(|(own, lead)| own - lead);
    found.measured = gain.map(|value| Measured { what: "q against the lead", value, unit: Unit::Points, n: None });
    let value = settings.thresholds.latest.quality;
    found.limit = Some(Limit { op: LimitOp::Below, value, setting: "latest.quality" });
    found
}
