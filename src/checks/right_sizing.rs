//! Are the members right-sized for the pool's job: speed spread, over- and under-powered work, scarcer windows, shares,
//! requirements of the pool, tier misfit (methods §13). Members are compared only in task classes both have rows in.

mod floor;
mod requirements;
mod spread;
mod ways;
mod windows;
mod work;

use std::collections::BTreeMap;

use super::{Judgement, broken, calls, lacking, number, plain};
use crate::evidence::speed::{MemberSpeed, SpreadLimits};
use crate::evidence::{MemberEvidence, PoolEvidence, Readiness};
use crate::settings::Settings;
use crate::verdict::{Basis, Finding, Limit, LimitOp, Measured, Number, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, SourceId};

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let mut judgement = Judgement::default();
    if evidence.members.is_empty() {
        return judgement;
    }
    speeds(evidence, settings, &mut judgement);
    work(evidence, settings, &mut judgement);
    judgement.findings.extend(windows::judge(evidence, settings));
    judgement.findings.extend(requirements::judge(evidence, settings));
    judgement.findings.extend(misfits(evidence, settings));
    judgement.findings.extend(idle(evidence, settings));
    judgement.numbers.extend(numbers(evidence));
    judgement
}

/// A finding of this check about a member.
fn finding(evidence: &PoolEvidence, code: &'static str, member: &MemberEvidence, verdict: Verdict) -> Finding {
    Finding {
        place: evidence.place_of(&member.key),
        sources: vec![SourceId::Pools],
        ..Finding::new(CheckId::RightSizing, evidence.pool.clone(), code, member.key.clone(), Some(verdict))
    }
}

/// The limits of the speed spread.
fn limits(settings: &Settings) -> SpreadLimits {
    let sizing = &settings.thresholds.sizing;
    SpreadLimits { ratio: sizing.speed_ratio, lower: sizing.speed_lower, rows: sizing.speed_rows }
}

/// The measured members by key.
fn measured_members(evidence: &PoolEvidence) -> BTreeMap<String, MemberSpeed> {
    evidence.members.iter().filter_map(|member| Some((member.key.clone(), member.speed.clone()?))).collect()
}

/// Whether a pool states a speed of its own, which task minutes do not tell.
fn asks_speed(evidence: &PoolEvidence) -> bool {
    evidence.requirements.min_output_tps.is_some() || evidence.requirements.max_first_answer_s.is_some()
}

/// Whether a member's speed is known well enough: by measured requests, or by its own timed rows where no speed is asked for.
#[expect(clippy::cast_precision_loss, reason = "request counts stay far below 2^53")]
fn is_timed(evidence: &PoolEvidence, member: &MemberEvidence, settings: &Settings) -> bool {
    let own: f64 = member.own.cells.values().filter_map(|cell| cell.duration.map(|duration| duration.n)).sum();
    let measured = member
        .speed
        .as_ref()
        .map_or(0, |speed| speed.all.output_tps.map(|m| m.n).max(speed.all.task_s.map(|m| m.n)).unwrap_or_default());
    let has_own = own >= settings.thresholds.bars.rows && !asks_speed(evidence);
    has_own || measured as f64 >= settings.thresholds.sizing.speed_rows
}

/// Speeds: the spread, and whose speed is not known. Task minutes speak without a speeds file.
fn speeds(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) {
    if evidence.members.len() > 1 {
        let timed = evidence.members.iter().filter(|member| is_timed(evidence, member, settings)).count();
        let all = evidence.members.len();
        if timed < all {
            let open = lacking(evidence, &[SourceId::Speeds]);
            let rows = settings.thresholds.sizing.speed_rows;
            let reason = format!("speed_unmeasured:{}_of_{all}_members_below_n_{rows:.0}", all - timed);
            let is_missing = open.is_empty();
            judgement.open.extend(open);
            judgement.open.extend(broken(evidence, SourceId::SessionStores));
            judgement.open.extend(is_missing.then_some((Verdict::InsufficientEvidence, reason)));
        }
        spread::judge(evidence, settings, judgement);
    }
    judgement.aligned = aligned(evidence, &measured_members(evidence));
}

/// Success against the floor, work against price, traffic against weights.
fn work(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) {
    let open = lacking(evidence, &[SourceId::Sessions]);
    if !open.is_empty() {
        judgement.open.extend(open);
        return;
    }
    let rows = settings.thresholds.bars.rows;
    if !evidence.members.iter().any(|member| member.own.n >= rows) {
        judgement
            .open
            .push((Verdict::InsufficientEvidence, format!("floor_unjudged:no_member_has_{rows:.0}_weighted_rows")));
    }
    work::judge(evidence, settings, judgement);
}

/// Market only: a member far weaker than the best, or far stronger and dearer than the pool's job needs.
fn misfits(evidence: &PoolEvidence, settings: &Settings) -> Vec<Finding> {
    if *evidence.readiness(SourceId::Market) != Readiness::Ready || evidence.members.len() < 2 {
        return Vec::new();
    }
    let values = |f: fn(&MemberEvidence) -> Option<f64>| evidence.members.iter().filter_map(f).collect::<Vec<_>>();
    let best = values(|member| member.q.get()).into_iter().max_by(f64::total_cmp);
    let median_q = median(values(|member| member.q.get()));
    let median_bill = median(values(|member| member.bill.get()));
    evidence
        .members
        .iter()
        .filter_map(|member| misfit(evidence, member, settings, best?, median_q?, median_bill))
        .collect()
}

/// The median of some values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// One member against the pool; only where it has no rows of its own, and at most `watch`.
fn misfit(
    evidence: &PoolEvidence,
    member: &MemberEvidence,
    settings: &Settings,
    best: f64,
    median_q: f64,
    median_bill: Option<f64>,
) -> Option<Finding> {
    let has_rows = member.own.n >= settings.thresholds.bars.rows;
    let q = member.q.get().filter(|_| !has_rows)?;
    let sizing = &settings.thresholds.sizing;
    let belongs = settings.thresholds.latest.belongs;
    let mut found = finding(evidence, "tier_misfit", member, Verdict::Watch);
    found.sources.push(SourceId::Market);
    found.todo = Sentence::from("look whether this pool is the right place for it");
    if q < belongs * best {
        found.measured =
            Some(Measured { what: "q over the best member's", value: q / best, unit: Unit::Ratio, n: None });
        found.limit = Some(Limit { op: LimitOp::AtLeast, value: belongs, setting: "latest.belongs" });
        found.why =
            Sentence::new().name(&member.target).own(format!(" stands at {q:.1} points, the best member at {best:.1}"));
        return Some(found);
    }
    let (bill, median_bill) = (member.bill.get()?, median_bill?);
    if bill > sizing.dear_ratio * median_bill && q >= median_q + sizing.strong_points {
        found.measured = Some(Measured {
            what: "bill over the pool's median",
            value: bill / median_bill,
            unit: Unit::Ratio,
            n: None,
        });
        found.limit = Some(Limit { op: LimitOp::AtMost, value: sizing.dear_ratio, setting: "sizing.dear_ratio" });
        found.why = Sentence::new().name(&member.target).own(format!(
            " is {:.1} points above the pool's median and {:.1} times as dear",
            q - median_q,
            bill / median_bill
        ));
        return Some(found);
    }
    None
}

/// Members of a weighted pool that got none of its tasks.
fn idle(evidence: &PoolEvidence, settings: &Settings) -> Vec<Finding> {
    let sizing = &settings.thresholds.sizing;
    #[expect(clippy::cast_precision_loss, reason = "task counts stay far below 2^53")]
    let tasks = evidence.recent_tasks as f64;
    if !evidence.is_weighted || tasks < sizing.share_tasks {
        return Vec::new();
    }
    let idle = evidence.members.iter().filter(|member| evidence.idle.contains(&member.key));
    idle.map(|member| {
        let mut found = finding(evidence, "idle_member", member, Verdict::Watch);
        found.sources.push(SourceId::Sessions);
        found.measured =
            Some(Measured { what: "tasks", value: 0.0, unit: Unit::Count, n: Some(evidence.recent_tasks) });
        found.limit = Some(Limit { op: LimitOp::AtLeast, value: 1.0, setting: "sizing.share_tasks" });
        found.why = Sentence::new().name(&member.target).own(format!(
            " got none of {tasks:.0} tasks in {:.0} days, although its weight gives it {:.0} %",
            sizing.idle_days,
            member.share * 100.0
        ));
        found.todo = Sentence::from("find out why before taking it out");
        found
    })
    .collect()
}

/// The slowest against the fastest, then the speed of every member.
fn numbers(evidence: &PoolEvidence) -> Vec<Number> {
    let mut numbers = vec![plain(
        "fastest over slowest",
        extremes(&measured_members(evidence)).map(|(low, high)| high / low),
        Unit::Ratio,
    )];
    for member in &evidence.members {
        let seen: Vec<&str> = member.speed.iter().flat_map(|speed| &speed.seen_by).map(String::as_str).collect();
        match member.speed.as_ref().and_then(|speed| speed.all.output_tps) {
            Some(speed) => numbers.push(Number {
                of: member.target.clone(),
                interval: speed.interval_90,
                n: Some(speed.n),
                basis: (!seen.is_empty()).then_some(Basis::Calls),
                remark: if seen.is_empty() { String::new() } else { format!("seen by {}", seen.join(", ")) },
                ..plain("measured output speed", Some(speed.value), Unit::TokensPerSecond)
            }),
            None => numbers.push(Number {
                of: member.target.clone(),
                remark: "not measured".to_owned(),
                ..plain("measured output speed", None, Unit::TokensPerSecond)
            }),
        }
        numbers.push(number(
            "market time to first answer",
            &member.target,
            &member.market_first_answer_s,
            Unit::Seconds,
        ));
    }
    numbers.extend(calls::shares(evidence));
    numbers
}

/// The lowest and the highest measured output speed.
fn extremes(members: &BTreeMap<String, MemberSpeed>) -> Option<(f64, f64)> {
    let speeds = || members.values().filter_map(|speed| speed.all.output_tps.map(|measure| measure.value));
    speeds().min_by(f64::total_cmp).zip(speeds().max_by(f64::total_cmp))
}

/// The sentence of an aligned pool.
fn aligned(evidence: &PoolEvidence, members: &BTreeMap<String, MemberSpeed>) -> Sentence {
    let speeds: Vec<f64> = members.values().filter_map(|speed| speed.all.output_tps.map(|m| m.value)).collect();
    let extremes = speeds.iter().copied().min_by(f64::total_cmp).zip(speeds.iter().copied().max_by(f64::total_cmp));
    let ratio = extremes
        .map_or_else(|| "one member".to_owned(), |(low, high)| format!("fastest over slowest {:.2} x", high / low));
    let lowest =
        evidence.members.iter().filter_map(|member| member.rate().success()).map(|s| s.value).min_by(f64::total_cmp);
    let success =
        lowest.map_or_else(|| "no rows".to_owned(), |value| format!("lowest raw success {:.0} %", value * 100.0));
    Sentence::from(format!("{ratio}; {success}, floor {:.0} %", evidence.tier.floor * 100.0))
}
