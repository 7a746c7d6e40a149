//! Members that should leave on own evidence (methods §11): dominated by another, idle and dominated on the market, or too
//! often out of reach. End dates are the business of latest-model itself.

use super::calls::{is_told_by_attempts, reach};
use super::estimates::{Estimate, claim_rows, effect, look_rules, pair_bars, ppm_term, rows_said, take_look, term};
use super::intents::leaves_two_homes;
use super::{Judgement, intents};
use crate::evidence::pairs::pair;
use crate::evidence::retire::{RetireCode, RetireFacts, RetireParams, retire_flags};
use crate::evidence::statistics::claim::{ClaimInput, claim};
use crate::evidence::statistics::pair::{Money, money};
use crate::evidence::{MemberEvidence, PoolEvidence, Readiness};
use crate::settings::Settings;
use crate::verdict::{Basis, Claim, Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, LookKey, SourceId};

/// Judges every member whose line this pool holds.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) {
    let members: Vec<&MemberEvidence> = evidence.own_members().collect();
    for member in members {
        let dominator = dominator(evidence, member, settings);
        let better = better_on_market(evidence, member);
        let facts = facts(evidence, member, dominator.as_ref().map(|(_, money)| money.p_saving), better.is_some());
        let codes = retire_flags(
            &facts,
            &RetireParams { dominated: settings.thresholds.bars.propose, ..RetireParams::default() },
        );
        for code in codes {
            let found = match (code, &dominator, better) {
                (RetireCode::Dominated, Some((other, money)), _) => {
                    Some(dominated(evidence, settings, judgement, member, other, money))
                }
                (RetireCode::IdleDominated, _, Some(other)) => Some(idle_dominated(evidence, member, other, &facts)),
                (RetireCode::Unavailable, ..) => unavailable(evidence, member),
                _ => None,
            };
            judgement.findings.extend(found);
        }
        judgement.findings.extend(calls_lost(evidence, member));
    }
}

/// A member whose task attempts are judged, and whose calls are often lost: something tries again until the task is done. A
/// note, because the attempts decide.
fn calls_lost(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let (share, params) = (member.calls.availability()?, RetireParams::default());
    let facts = RetireFacts { attempts: share.n, available: share.hits, ..RetireFacts::default() };
    if !is_told_by_attempts(member) || retire_flags(&facts, &params).is_empty() {
        return None;
    }
    let mut found = Finding { verdict: None, ..finding(evidence, "calls_lost", member, Verdict::Watch) };
    found.sources.extend([SourceId::Sessions, SourceId::SessionStores]);
    found.measured =
        Some(Measured { what: "availability of calls", value: share.value, unit: Unit::Share, n: Some(share.n) });
    found.basis = Some(Basis::Calls);
    found.why = Sentence::new().name(&member.target).own(format!(
        " answered {} of {} calls ({:.0} % to {:.0} %), seen by {}; its task attempts are judged, not its calls",
        share.hits,
        share.n,
        share.lo * 100.0,
        share.hi * 100.0,
        member.calls.reach.said()
    ));
    Some(found)
}

/// What is known of a member that may have to leave. A backup of an ordered pool is worse than its lead by design.
#[expect(clippy::cast_precision_loss, reason = "task counts stay far below 2^53")]
fn facts(
    evidence: &PoolEvidence,
    member: &MemberEvidence,
    p_dominated: Option<f64>,
    is_market_dominated: bool,
) -> RetireFacts {
    let reached = reach(member).map_or((0, 0), |reach| (reach.share.n, reach.share.hits));
    let tasks = evidence.assigned.get(&member.model_effort).copied().unwrap_or(0);
    let share =
        (evidence.is_weighted && evidence.recent_tasks > 0).then(|| tasks as f64 / evidence.recent_tasks as f64);
    RetireFacts {
        days_to_end: None,
        p_dominated,
        is_market_dominated: is_market_dominated && evidence.is_weighted,
        share_14d: share,
        attempts: reached.0,
        available: reached.1,
    }
}

/// The member that most surely saves more than the threshold against a member of a weighted pool, both over the floors.
fn dominator<'a>(
    evidence: &'a PoolEvidence,
    member: &MemberEvidence,
    settings: &Settings,
) -> Option<(&'a MemberEvidence, Money)> {
    let bars = pair_bars(settings);
    if !evidence.is_weighted || !leaves_two_homes(evidence, member) {
        return None;
    }
    let others = evidence.members.iter().filter(|other| other.model_effort != member.model_effort);
    let judged = others.filter_map(|other| {
        let pair = pair(&member.own, &other.own, &evidence.mix.shares);
        let is_known = [&pair.lead, &pair.other].iter().all(|side| side.cost.is_some() && side.log_minutes.is_some());
        let has_rows = pair.lead.reaches(&bars) && pair.other.reaches(&bars);
        (is_known && has_rows).then(|| (other, money(&pair.lead, &pair.other, evidence.worth(), &bars)))
    });
    judged.max_by(|a, b| a.1.p_saving.total_cmp(&b.1.p_saving).then_with(|| b.0.key.cmp(&a.0.key)))
}

/// A member that dominates another on the market: q by a point, bill within 5 %, speed within 10 %.
fn better_on_market<'a>(evidence: &'a PoolEvidence, member: &MemberEvidence) -> Option<&'a MemberEvidence> {
    if *evidence.readiness(SourceId::Market) != Readiness::Ready {
        return None;
    }
    let beats = |other: &&MemberEvidence| {
        let pairs = other.q.get().zip(member.q.get()).zip(other.bill.get().zip(member.bill.get()));
        let speeds = other.market_tps.get().zip(member.market_tps.get());
        pairs.zip(speeds).is_some_and(|(((q, own_q), (bill, own_bill)), (tps, own_tps))| {
            q >= own_q + 1.0 && bill <= 1.05 * own_bill && tps >= 0.9 * own_tps
        })
    };
    evidence.members.iter().filter(|other| other.key != member.key).find(beats)
}

/// A finding of latest-model about a member.
fn finding(evidence: &PoolEvidence, code: &'static str, member: &MemberEvidence, verdict: Verdict) -> Finding {
    Finding {
        place: evidence.place_of(&member.key),
        sources: vec![SourceId::Pools],
        ..Finding::new(CheckId::LatestModel, evidence.pool.clone(), code, member.key.clone(), Some(verdict))
    }
}

/// The change that takes a member out, unless the pool would be thin without it.
fn take_out(evidence: &PoolEvidence, member: &MemberEvidence, found: &mut Finding) {
    found.todo = Sentence::from("take it out");
    if !leaves_two_homes(evidence, member) {
        found.held = Some("fewer than two members on two homes would remain".to_owned());
        return;
    }
    let pointer = evidence.pointer_of(&member.key);
    found.intent = evidence.definition.as_ref().zip(pointer).and_then(|(route, at)| intents::retire(route, &at));
    match &mut found.intent {
        Some(intent) => intent.moved_share = Some(member.share).filter(|share| *share > 0.0),
        None => found.held = Some("its line stands in another pool or is a pattern".to_owned()),
    }
}

/// Dominated on own evidence: looks apply.
fn dominated(
    evidence: &PoolEvidence,
    settings: &Settings,
    judgement: &mut Judgement,
    member: &MemberEvidence,
    other: &MemberEvidence,
    money: &Money,
) -> Finding {
    let key = LookKey::new("dominated", &member.key, &other.key);
    let bar = settings.thresholds.bars.propose;
    let look =
        take_look(evidence, judgement, key, (member, other), (money.p_saving, false), &look_rules(settings, bar));
    let mut found =
        finding(evidence, "dominated", member, if look.is_open { Verdict::Misaligned } else { Verdict::Watch });
    found.counterpart.clone_from(&other.key);
    found.sources.push(SourceId::Sessions);
    found.measured = Some(Measured {
        what: "P(the other saves more than the threshold)",
        value: money.p_saving,
        unit: Unit::Share,
        n: Some(member.own.raw.scored().min(other.own.raw.scored())),
    });
    found.limit = Some(Limit { op: LimitOp::Below, value: bar, setting: "bars.propose" });
    found.why = Sentence::new().name(&other.target).own(" loses less than ").name(&member.target).own(format!(
        ": {:.3} against {:.3} USD a task, P(saves more than {:.3}) {:.3}{}",
        money.loss_alternative,
        money.loss_lead,
        money.epsilon,
        money.p_saving,
        if look.is_open { "" } else { "; first_look" }
    ));
    if look.is_open {
        take_out(evidence, member, &mut found);
        found.claim = Some(Box::new(dominated_claim(evidence, settings, (member, other), money)));
    } else {
        found.todo = Sentence::from("nothing yet: it is watched");
    }
    found
}

/// What taking a dominated member out claims: its share of the work moves to a member that loses less.
fn dominated_claim(
    evidence: &PoolEvidence,
    settings: &Settings,
    (member, other): (&MemberEvidence, &MemberEvidence),
    money: &Money,
) -> Claim {
    let share = member.share;
    let claimed = claim(&ClaimInput {
        saving: money.saving,
        sd: money.sd,
        stake: evidence.tier.stake_usd,
        rate_lead: member.own.rate.mean(),
        rate_alternative: other.own.rate.mean(),
        rows_per_day: evidence.tasks_per_day() * share,
        slope: evidence.correction.slope,
        inflation: evidence.correction.inflation,
    });
    let loss = Estimate {
        metric: ("loss_per_task", "usd_micros", "decrease"),
        values: (claimed.point * share, claimed.lo90 * share, claimed.hi90 * share),
        scale: 1e6,
        horizon_days: claimed.horizon_days.unwrap_or(60),
        min_rows: claimed.min_rows,
        probability: claimed.probability,
    };
    let bars = &settings.thresholds.bars;
    Claim {
        probability: money.p_saving,
        usd_per_day: money.saving * share * evidence.tasks_per_day(),
        effects: vec![effect(evidence, true, &loss)],
        bar: "dominated/1",
        terms: vec![
            ppm_term("p_saving_ppm", money.p_saving, ">=", bars.propose),
            term("weighted_rows_member_milli", member.own.n * 1e3, ">=", bars.rows * 1e3),
            term("weighted_rows_other_milli", other.own.n * 1e3, ">=", bars.rows * 1e3),
        ],
        rows_said: rows_said(member, other),
        bar_said: format!("P(saving > {:.3} USD) {:.4}", money.epsilon, money.p_saving),
        stake_said: None,
        rows: claim_rows(evidence, &[member, other], settings),
        floor: evidence.tier.floor,
        test: None,
    }
}

/// Hardly used, and dominated on the market.
fn idle_dominated(
    evidence: &PoolEvidence,
    member: &MemberEvidence,
    other: &MemberEvidence,
    facts: &RetireFacts,
) -> Finding {
    let mut found = finding(evidence, "idle_dominated", member, Verdict::Misaligned);
    found.counterpart.clone_from(&other.key);
    found.sources.extend([SourceId::Market, SourceId::Sessions]);
    let share = facts.share_14d.unwrap_or_default();
    found.measured =
        Some(Measured { what: "observed share", value: share, unit: Unit::Share, n: Some(evidence.recent_tasks) });
    found.limit = Some(Limit { op: LimitOp::AtLeast, value: RetireParams::default().idle_share, setting: "built in" });
    found.why = Sentence::new()
        .name(&member.target)
        .own(format!(
            " got {:.1} % of {} tasks in {:.0} days, and on the market ",
            share * 100.0,
            evidence.recent_tasks,
            evidence.assigned_days
        ))
        .name(&other.target)
        .own(" is better at no higher bill and no lower speed");
    take_out(evidence, member, &mut found);
    found
}

/// Too often out of reach.
fn unavailable(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let reach = reach(member)?;
    let share = &reach.share;
    let mut found = finding(evidence, "unavailable", member, Verdict::Misaligned);
    found.sources.push(reach.source());
    let what = if reach.basis.is_some() { "availability of calls" } else { "availability" };
    found.measured = Some(Measured { what, value: share.value, unit: Unit::Share, n: Some(share.n) });
    found.basis = reach.basis;
    found.limit = Some(Limit { op: LimitOp::AtLeast, value: RetireParams::default().available, setting: "built in" });
    let seen = if reach.basis.is_some() { format!(", seen by {}", reach.seen_by) } else { String::new() };
    found.why = Sentence::new().name(&member.target).own(format!(
        " answered {} of {} {} ({:.0} % to {:.0} %){seen}; {} were lost to the infrastructure",
        share.hits,
        share.n,
        reach.unit(),
        share.lo * 100.0,
        share.hi * 100.0,
        share.n - share.hits
    ));
    take_out(evidence, member, &mut found);
    found.todo = Sentence::from("take it out, or move it behind the others");
    Some(found)
}
