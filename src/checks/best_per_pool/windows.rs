//! Does the lead draw on a scarcer quota window than a member that could lead as well? (methods §12, quota §3.4.)

use super::finding;
use crate::checks::shares::{ShareMove, share_move};
use crate::checks::{Judgement, intents, lacking, plain};
use crate::evidence::statistics::difference::p_diff;
use crate::evidence::windows::{
    MemberWindows, Standing, WindowJudgement, WindowLabel, WindowOutcome, WindowSeverity, judge_windows,
};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Severity, Unit, Verdict};
use crate::vocabulary::SourceId;

/// Windows: does the lead draw on a scarcer window than a member that could lead as well?
pub(super) fn judge(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings, judgement: &mut Judgement) {
    let draws_on_plan = |member: &MemberEvidence| member.windows.standing != Standing::Metered;
    if !evidence.members.iter().any(draws_on_plan) {
        return;
    }
    let open = lacking(evidence, &[SourceId::Quotas]);
    if !open.is_empty() {
        judgement.open.extend(open);
        return;
    }
    for member in &evidence.members {
        judgement.open.extend(unreadable(member));
    }
    let equals: Vec<MemberWindows> = evidence
        .alternatives()
        .filter(|member| could_lead(lead, member, settings))
        .map(|m| m.windows.clone())
        .collect();
    let judged = judge_windows(&lead.windows, &equals, &evidence.window_rules);
    judgement.findings.extend(window_finding(evidence, lead, &judged, settings));
    judgement.findings.extend(literal(evidence, lead, &judged));
    judgement.numbers.push(plain(
        "window price gap against the best equal",
        judged.gap.map(|gap| gap.high),
        Unit::WindowPrice,
    ));
}

/// A member on a plan home without a usable reading: `watch` when nothing is known, `blocked` when it is only too old.
fn unreadable(member: &MemberEvidence) -> Option<(Verdict, String)> {
    match &member.windows.standing {
        Standing::Unknown(reason) => Some((Verdict::Watch, format!("window_unknown:{}: {reason}", member.key))),
        Standing::Stale(reason) => Some((Verdict::Blocked, format!("stale:quotas:{}: {reason}", member.key))),
        Standing::Metered | Standing::Known(_) => None,
    }
}

/// Non-inferior for windows: the same model at the same effort, or rows on both sides and a chance of at least
/// `bars.cost_guard` that no more than `bars.cost_points` of success are lost.
fn could_lead(lead: &MemberEvidence, member: &MemberEvidence, settings: &Settings) -> bool {
    if lead.model_effort == member.model_effort {
        return true;
    }
    let bars = &settings.thresholds.bars;
    let has_rows = lead.own.n >= bars.rows && member.own.n >= bars.rows;
    has_rows && p_diff(lead.own.rate, member.own.rate, -bars.cost_points / 100.0) >= bars.cost_guard
}

/// The finding of a scarce window, or of readings that must be taken again.
fn window_finding(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    judged: &WindowJudgement,
    settings: &Settings,
) -> Option<Finding> {
    let rules = &evidence.window_rules;
    let against = judged.against.clone().unwrap_or_default();
    let verdict = match judged.outcome {
        WindowOutcome::Scarce => Verdict::Misaligned,
        WindowOutcome::NeedsRefresh => Verdict::Unresolved,
        _ => return None,
    };
    let mut found = finding(evidence, "lead_window_scarce", lead, &against, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Quotas];
    found.severity = judged.severity.map(|severity| match severity {
        WindowSeverity::Low => Severity::Low,
        WindowSeverity::Medium => Severity::Medium,
        WindowSeverity::High => Severity::High,
    });
    let gap = judged.gap.map_or(0.0, |gap| gap.low);
    found.measured = Some(Measured { what: "window price gap", value: gap, unit: Unit::WindowPrice, n: None });
    found.limit = Some(Limit { op: LimitOp::Below, value: rules.gap, setting: "windows.gap" });
    let label = judged.label.map_or_else(String::new, |label| format!("{}: ", label.as_str()));
    let hours = judged.scarce_lead_hours(rules).map_or(0.0, |hours| hours.low);
    found.why = window_line(Sentence::new().own(format!("{label}the lead draws on ")), &lead.windows);
    if let Some(equal) = evidence.members.iter().find(|member| member.key == against) {
        found.why = window_line(found.why.own(" while ").name(&equal.target).own(" has "), &equal.windows);
    }
    if verdict == Verdict::Unresolved {
        found.why = found.why.own("; the verdict lies inside the age of a reading");
        found.todo = Sentence::from("read the quota again");
        return Some(found);
    }
    if !judged.moves() {
        found.why = found.why.own("; raised by windows.flag_literal_picture, the prices alone say nothing");
        found.todo = Sentence::from("nothing by itself: look at the numbers");
        return Some(found);
    }
    found.why = found.why.own(format!("; {hours:.1} scarce lead-hours a review"));
    let at_first_sight = gap >= rules.gap_high || judged.label == Some(WindowLabel::Cash);
    lead_elsewhere(evidence, lead, &against, settings, &mut found);
    let is_seen = evidence.seen_before.contains(&("lead_window_scarce".to_owned(), against));
    if found.intent.is_some() && !at_first_sight && !is_seen {
        found.held = Some("waits for a second scheduled look on newer readings".to_owned());
    }
    Some(found)
}

/// The change a scarce window asks for: another order, or the sustainable share of a weighted pool.
fn lead_elsewhere(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    against: &str,
    settings: &Settings,
    found: &mut Finding,
) {
    found.todo = Sentence::new().own("lead with ").name(against);
    let (Some(route), Some(equal)) =
        (&evidence.definition, evidence.members.iter().find(|member| member.key == against))
    else {
        return;
    };
    if evidence.is_weighted {
        let ShareMove { found: share, intent } = share_move(evidence, lead, equal, settings);
        found.todo = Sentence::new().own("give more of the work to ").name(&equal.target);
        match share.reason {
            Some(reason) => found.held = Some(format!("no weights are proposed: {reason}")),
            None if intent.is_none() => found.held = Some("a member comes in through a nested pool".to_owned()),
            None => found.intent = intent,
        }
    } else {
        found.intent = evidence.ring_member(against).and_then(|member| intents::to_front(route, member));
        if found.intent.is_none() {
            found.held = Some("the member comes in through a nested pool".to_owned());
        }
    }
    if let Some(intent) = &mut found.intent {
        intent.expires = lead.windows.binding().and_then(|(view, _)| view.resets_at);
    }
}

/// Adds a member's binding window with its numbers to a sentence.
fn window_line(sentence: Sentence, windows: &MemberWindows) -> Sentence {
    let Some((view, price)) = windows.binding() else { return sentence.own("no window (metered)") };
    let reset = view
        .resets_at
        .map_or_else(|| "no reset stated".to_owned(), |at| format!("resets {}", at.format("%Y-%m-%d %H:%MZ")));
    let left = price.hours_left.map_or_else(|| "not limiting".to_owned(), |hours| format!("{hours:.1} h of work left"));
    let slack = price.slack_h.map_or_else(|| "unlimited".to_owned(), |slack| format!("{slack:+.1} h"));
    let age = view.age_h.map_or_else(|| "age unknown".to_owned(), |age| format!("read {age:.1} h ago"));
    let assumed = if price.is_burn_assumed { ", burn assumed" } else { "" };
    sentence.name(&view.id).own(format!(
        " ({:.0} % left, {reset}, {left}, slack {slack}, projected use {:.0} %, price {:.3}, {age}{assumed})",
        price.remaining * 100.0,
        price.projected_use * 100.0,
        price.price
    ))
}

/// The literal picture: the lead's window about to reset, an equal on a fresh one. Always printed with its numbers.
fn literal(evidence: &PoolEvidence, lead: &MemberEvidence, judged: &WindowJudgement) -> Option<Finding> {
    let picture = judged.literal.as_ref()?;
    let mut found = finding(evidence, "literal_window_picture", lead, &picture.equal, None);
    found.sources = vec![SourceId::Pools, SourceId::Quotas];
    found.severity = Some(Severity::Low);
    let label = picture.label.map_or_else(String::new, |label| format!("{}: ", label.as_str()));
    found.why = Sentence::new()
        .own(format!("{label}the lead's window "))
        .name(&picture.lead_window)
        .own(format!(" resets in {:.1} h with {:.0} % left; ", picture.lead_tau_h, picture.lead_remaining * 100.0))
        .name(&picture.equal_window)
        .own(format!(
            " of an equal holds {:.0} % for {:.1} h; moving would forfeit {:.1} points ({:.1} lead-hours)",
            picture.equal_remaining * 100.0,
            picture.equal_tau_h,
            picture.fraction_lost * 100.0,
            picture.lead_hours_lost
        ));
    Some(found)
}
