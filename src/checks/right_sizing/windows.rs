//! Two members that may stand in for each other, one on a scarcer window: how much of the work should move (methods §13).

use super::finding;
use crate::checks::lacking;
use crate::checks::shares::{ShareMove, share_limits, share_move};
use crate::evidence::pairs;
use crate::evidence::statistics::sizing::{EqualLimits, interchangeable};
use crate::evidence::windows::Standing;
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Severity, Unit, Verdict};
use crate::vocabulary::SourceId;

/// The largest such move of a weighted pool; one step per landing. What the lead should give away is the lead's own finding.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Option<Finding> {
    if !evidence.is_weighted || !lacking(evidence, &[SourceId::Quotas]).is_empty() {
        return None;
    }
    let is_known = |member: &&MemberEvidence| matches!(member.windows.standing, Standing::Known(_));
    let lead = evidence.lead().map(|lead| lead.key.as_str());
    let givers = evidence.members.iter().filter(is_known).filter(|member| Some(member.key.as_str()) != lead);
    let moves = givers.flat_map(|from| {
        let takers = evidence.members.iter().filter(is_known).filter(|to| to.key != from.key);
        takers.map(move |to| (from, to))
    });
    let found =
        moves.filter_map(|(from, to)| Some((from, to, scarcer(evidence, from, to, settings)?))).max_by(|a, b| {
            let gap = |found: &ShareMove| found.found.gap().unwrap_or_default();
            gap(&a.2).total_cmp(&gap(&b.2)).then_with(|| (&b.0.key, &b.1.key).cmp(&(&a.0.key, &a.1.key)))
        })?;
    Some(conclude(evidence, found, settings))
}

/// The move between two members, if there is one: money and counts first, the exact comparison of their rates last.
fn scarcer(
    evidence: &PoolEvidence,
    from: &MemberEvidence,
    to: &MemberEvidence,
    settings: &Settings,
) -> Option<ShareMove> {
    let moved = share_move(evidence, from, to, settings);
    if moved.found.reason.is_some() {
        return None;
    }
    let is_same = from.model_effort == to.model_effort;
    let speed = pairs::speed(&from.own, &to.own, &evidence.mix.shares).map(|(ratio, _)| ratio);
    let (a, b) = ((from.own.rate, from.own.n), (to.own.rate, to.own.n));
    let is_equal = is_same || interchangeable(a, b, false, speed.as_ref(), &EqualLimits::default()).holds();
    is_equal.then_some(moved)
}

/// A move as a finding.
fn conclude(
    evidence: &PoolEvidence,
    (from, to, ShareMove { found: share, intent }): (&MemberEvidence, &MemberEvidence, ShareMove),
    settings: &Settings,
) -> Finding {
    let limits = share_limits(settings);
    let mut found = finding(evidence, "scarcer_window", from, Verdict::Misaligned);
    found.counterpart.clone_from(&to.key);
    found.sources.push(SourceId::Quotas);
    found.severity = share.is_high.map(|is_high| if is_high { Severity::High } else { Severity::Medium });
    let gap = share.gap().unwrap_or_default();
    found.measured =
        Some(Measured { what: "window price gap after the move", value: gap, unit: Unit::WindowPrice, n: None });
    found.limit = Some(Limit { op: LimitOp::Below, value: limits.gap, setting: "windows.gap" });
    let weights: Vec<String> = share
        .weights
        .iter()
        .flat_map(|weights| &weights.weights)
        .map(|(member, weight)| format!("{member} {weight}"))
        .collect();
    found.why = Sentence::new()
        .name(&from.target)
        .own(" draws on ")
        .name(share.binding.as_deref().unwrap_or("a window"))
        .own(format!(" at price {:.3}; ", share.price_from.unwrap_or_default()));
    found.why = found.why.name(&to.target).own(format!(
        " would stand at {:.3} with {:.0} % more of the work ({:.1} lead-hours a review)",
        share.price_to_after.unwrap_or_default(),
        share.moved.unwrap_or_default() * 100.0,
        share.moved_lead_hours(&limits).unwrap_or_default()
    ));
    found.todo = Sentence::new().own("set the weights ").names(weights);
    let is_seen = evidence.seen_before.contains(&("scarcer_window".to_owned(), to.key.clone()));
    match intent {
        Some(mut intent) => {
            intent.expires = from.windows.binding().and_then(|(view, _)| view.resets_at);
            found.intent = Some(intent);
            if gap < limits.gap_high && !is_seen {
                found.held = Some("waits for a second scheduled look on newer readings".to_owned());
            }
        }
        None => found.held = Some("a member comes in through a nested pool, or two share one weight".to_owned()),
    }
    found
}
