//! Members against the work they do (methods §13): over-powered, traffic against weights, and what such claims share. Members are compared
//! only in classes both have rows in.

use std::collections::BTreeMap;

use super::floor::below_floor;
use super::{finding, ways};
use crate::checks::Judgement;
use crate::checks::calls::reach;
use crate::checks::estimates::{
    Estimate, claim_rows, corrected, effect, look_rules, ppm_term, rows_said, sizing_limits, take_look, term,
};
use crate::evidence::cells::CostCell;
use crate::evidence::statistics::claim::HORIZON_DAYS;
use crate::evidence::statistics::shares::{ObservedShare, share_mismatch};
use crate::evidence::statistics::sizing::{ClassSide, OverPowered, Sized, SizingLimits, over_powered};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{BarTerm, Claim, Effect, Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{LookKey, SourceId};

/// Claim probability of a share mismatch: the 99 % interval excludes the weight (methods §8.1).
const MISMATCH_P: f64 = 0.99;
/// Bar of the two findings whose claims may stand lower than a swap's.
pub(super) const LOWER_BAR: f64 = 0.90;
/// Rows that an effect of right-sizing is measured on.
pub(super) const MEASURED_ROWS: u64 = 20;

/// The distinct members: those of one model at one effort share their rows.
fn distinct(evidence: &PoolEvidence) -> Vec<&MemberEvidence> {
    let mut seen: Vec<&MemberEvidence> = Vec::new();
    for member in &evidence.members {
        if !seen.iter().any(|known| known.model_effort == member.model_effort) {
            seen.push(member);
        }
    }
    seen
}

/// Days until some rows of the pool have come; `None` when none come.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small counts"
)]
pub(super) fn horizon(evidence: &PoolEvidence) -> Option<u64> {
    let per_day = evidence.tasks_per_day();
    (per_day > 0.0).then(|| (MEASURED_ROWS as f64 / per_day).ceil().min(1e6) as u64)
}

/// Holds a finding back whose effect cannot be measured in time.
pub(super) fn measurable(evidence: &PoolEvidence, found: &mut Finding) {
    if found.intent.is_some() && horizon(evidence).is_none_or(|days| days > HORIZON_DAYS) {
        found.held = Some(format!("its effect cannot be measured in {HORIZON_DAYS} days"));
    }
}

/// A claim of right-sizing.
pub(super) fn claim(
    evidence: &PoolEvidence,
    settings: &Settings,
    (bar, p, usd_per_day): (&'static str, f64, f64),
    members: &[&MemberEvidence],
    effects: Vec<Effect>,
    terms: Vec<BarTerm>,
    bar_said: String,
) -> Box<Claim> {
    let said = match members {
        [a, b] => rows_said(a, b),
        _ => members.iter().map(|m| format!("{:.1} weighted rows", m.own.n)).collect::<Vec<_>>().join(", "),
    };
    Box::new(Claim {
        probability: p,
        usd_per_day,
        effects,
        bar,
        terms,
        rows_said: said,
        bar_said,
        stake_said: None,
        rows: claim_rows(evidence, members, settings),
        floor: evidence.tier.floor,
        test: None,
    })
}

/// A member in one class.
fn class_side(member: &MemberEvidence, class: &str) -> Option<ClassSide> {
    let cell = member.own.cells.get(class)?;
    let cost = match cell.cost {
        CostCell::Known(cost) => Some(cost),
        CostCell::NoRows | CostCell::NoPrice => None,
    };
    let log_minutes = cell.duration.map(|duration| (duration.log_mean, duration.log_var));
    Some(ClassSide { rate: cell.posterior.rate, n: cell.tally.n, cost, log_minutes })
}

/// The share of a class that each distinct member carries.
fn carried(members: &[&MemberEvidence], class: &str) -> BTreeMap<String, f64> {
    let n = |member: &MemberEvidence| member.own.cells.get(class).map_or(0.0, |cell| cell.tally.n);
    let total: f64 = members.iter().map(|member| n(member)).sum();
    members.iter().filter(|_| total > 0.0).map(|member| (member.key.clone(), n(member) / total)).collect()
}

/// Judges every class of every member.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) {
    let members = distinct(evidence);
    for (class, share) in &evidence.mix.shares {
        let carried = carried(&members, class);
        for member in &members {
            let of_class = carried.get(&member.key).copied().unwrap_or(0.0);
            let found = below_floor(evidence, settings, judgement, member, class, of_class);
            judgement.findings.extend(found);
            let found = too_strong(evidence, settings, judgement, (&members, member), class, share * of_class);
            judgement.findings.extend(found);
        }
    }
    let found = off_weight(evidence, settings, judgement);
    judgement.findings.extend(found);
}

/// ", first look" where a finding waits for another one.
pub(super) fn first_look(finding: Sized, is_open: bool) -> &'static str {
    if finding == Sized::Found && !is_open { "; first_look" } else { "" }
}

/// A dear member on a class that a cheaper one does as well; the one that saves most a day.
fn too_strong(
    evidence: &PoolEvidence,
    settings: &Settings,
    judgement: &mut Judgement,
    (members, strong): (&[&MemberEvidence], &MemberEvidence),
    class: &str,
    share: f64,
) -> Option<Finding> {
    let limits = sizing_limits(settings);
    let strong_side = class_side(strong, class).filter(|side| side.n >= limits.rows)?;
    let (cheap, judged) = cheaper(evidence, (members, strong), &strong_side, class, share, &limits)?;
    let key = LookKey::new("over_powered", &strong.key, &format!("{}|{class}", cheap.key));
    let look = take_look(
        evidence,
        judgement,
        key,
        (strong, cheap),
        (judged.p_positive, false),
        &look_rules(settings, LOWER_BAR),
    );
    let is_settled = judged.finding == Sized::Found && look.is_open;
    let verdict = if is_settled { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, "over_powered", strong, verdict);
    found.counterpart = format!("{}|{class}", cheap.key);
    found.sources.push(SourceId::Sessions);
    found.measured = Some(Measured {
        what: "saving a day",
        value: judged.saving_usd_per_day,
        unit: Unit::Usd,
        n: Some(strong.own.raw.scored()),
    });
    found.limit = Some(Limit { op: LimitOp::Below, value: limits.save_usd_day, setting: "sizing.save_usd_day" });
    found.why = Sentence::new().own("in ").name(class).own(", ").name(&cheap.target).own(" does as well as ").name(&strong.target).own(format!(
        ": P(no more than 5 points worse) {:.3}, saves {:.0} % of the cost and {:.2} USD a day, loss {:+.3} USD a task, P(it falls) {:.3} and {:.3} at double the stake{}",
        judged.p_noninferior,
        judged.saving_share * 100.0,
        judged.saving_usd_per_day,
        judged.loss_change,
        judged.p_positive,
        judged.p_positive_double,
        first_look(judged.finding, look.is_open),
    ));
    if !is_settled {
        found.todo = Sentence::from("nothing yet: it is watched");
        return Some(found);
    }
    found.todo = Sentence::new().own("move this class to ").name(&cheap.target);
    found.claim = Some(over_claim(evidence, settings, (strong, cheap), class, share, &judged));
    ways::over_to(evidence, (strong, cheap), class, &mut found);
    measurable(evidence, &mut found);
    Some(found)
}

/// The cheaper member that saves most a day: found before worth a look. Money and counts first: exact comparisons are made
/// from the largest saving down, until one is found.
fn cheaper<'a>(
    evidence: &PoolEvidence,
    (members, strong): (&[&'a MemberEvidence], &MemberEvidence),
    side: &ClassSide,
    class: &str,
    share: f64,
    limits: &SizingLimits,
) -> Option<(&'a MemberEvidence, OverPowered)> {
    let cost = |member: &MemberEvidence| Some(class_side(member, class)?.cost?.usd);
    let mut others: Vec<(&MemberEvidence, f64)> = members
        .iter()
        .filter(|other| other.key != strong.key)
        .filter_map(|other| Some((*other, cost(other)?)))
        .filter(|(_, usd)| side.cost.is_some_and(|own| *usd < own.usd))
        .collect();
    others.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.key.cmp(&b.0.key)));
    let mut watched = None;
    for (other, _) in others {
        let Some(other_side) = class_side(other, class) else { continue };
        let judged = over_powered(side, &other_side, evidence.worth(), evidence.tasks_per_day(), share, limits);
        match judged.filter(|judged| judged.finding != Sized::None) {
            Some(judged) if judged.finding == Sized::Found => return Some((other, judged)),
            Some(judged) if watched.is_none() => watched = Some((other, judged)),
            _ => {}
        }
    }
    watched
}

/// What moving a class claims.
fn over_claim(
    evidence: &PoolEvidence,
    settings: &Settings,
    (strong, cheap): (&MemberEvidence, &MemberEvidence),
    class: &str,
    share: f64,
    judged: &OverPowered,
) -> Box<Claim> {
    let limits = sizing_limits(settings);
    let spread = crate::evidence::statistics::normal::Z_95 * judged.loss_sd;
    let loss = Estimate {
        metric: ("loss_per_task", "usd_micros", "decrease"),
        values: (
            -judged.loss_change * share,
            (-judged.loss_change - spread) * share,
            (-judged.loss_change + spread) * share,
        ),
        scale: 1e6,
        horizon_days: horizon(evidence).unwrap_or(60),
        min_rows: MEASURED_ROWS,
        probability: judged.p_positive,
    };
    let terms = vec![
        ppm_term("p_noninferior_ppm", judged.p_noninferior, ">=", limits.cost_guard),
        ppm_term("p_loss_falls_ppm", judged.p_positive, ">=", limits.positive),
        ppm_term("p_loss_falls_at_double_stake_ppm", judged.p_positive_double, ">=", limits.positive),
        ppm_term("saving_share_ppm", judged.saving_share, ">=", limits.save_share),
        term("saving_usd_micros_per_day", judged.saving_usd_per_day * 1e6, ">=", limits.save_usd_day * 1e6),
    ];
    let said = format!("P(the loss falls) {:.4} in class {class}", judged.p_positive);
    let bar = ("over-powered/1", judged.p_positive, judged.saving_usd_per_day);
    claim(
        evidence,
        settings,
        bar,
        &[strong, cheap],
        vec![effect(evidence, true, &corrected(evidence, loss))],
        terms,
        said,
    )
}

/// Traffic that does not follow the weights, the member with the largest difference.
fn off_weight(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) -> Option<Finding> {
    let sizing = &settings.thresholds.sizing;
    if !evidence.is_weighted {
        return None;
    }
    let mut configured: BTreeMap<String, f64> = BTreeMap::new();
    for member in &evidence.members {
        *configured.entry(member.model_effort.clone()).or_default() += member.share;
    }
    let judged = share_mismatch(&configured, &evidence.assigned, sizing.share_difference, sizing.share_tasks);
    let difference = |name: &&String| judged.members[*name].difference.abs();
    let worst = judged.flagged.iter().max_by(|a, b| difference(a).total_cmp(&difference(b)).then_with(|| b.cmp(a)))?;
    let member = evidence.members.iter().find(|member| member.model_effort == *worst)?;
    let share = judged.members[worst];
    let key = LookKey::new("share_mismatch", &member.key, "");
    let rules = look_rules(settings, settings.thresholds.bars.propose);
    let look = take_look(evidence, judgement, key, (member, member), (MISMATCH_P, false), &rules);
    let verdict = if look.is_open { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, "share_mismatch", member, verdict);
    found.sources.push(SourceId::Sessions);
    found.measured = Some(Measured {
        what: "observed less configured share",
        value: share.difference,
        unit: Unit::Share,
        n: Some(judged.n),
    });
    found.limit =
        Some(Limit { op: LimitOp::Below, value: sizing.share_difference, setting: "sizing.share_difference" });
    found.why = mismatch_words(evidence, member, &share, judged.n);
    found.todo = Sentence::from("mend the cause first; then the weights");
    found.held = Some("the cause comes before the weights".to_owned());
    Some(found)
}

/// The numbers of a mismatch and what may cause it.
fn mismatch_words(evidence: &PoolEvidence, member: &MemberEvidence, share: &ObservedShare, n: u64) -> Sentence {
    let sentence = Sentence::new().name(&member.target).own(format!(
        " got {:.1} % of {n} tasks [{:.1}, {:.1}], its weights give it {:.1} %",
        share.observed * 100.0,
        share.lo99 * 100.0,
        share.hi99 * 100.0,
        (share.observed - share.difference) * 100.0
    ));
    let is_down = |member: &&MemberEvidence| reach(member).is_some_and(|reach| reach.share.value < 0.90);
    let down: Vec<&str> = evidence.members.iter().filter(is_down).map(|member| member.target.as_str()).collect();
    if down.is_empty() {
        sentence.own("; a block ring starves its tail when runs begin at its front, a weight key may match nothing")
    } else {
        sentence.own("; often out of reach, so that their successors in the ring took their share: ").names(down)
    }
}
