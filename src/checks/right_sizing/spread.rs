//! One member at least three times slower than another on the same work: by task minutes of our own rows where both sides
//! have them, else by measured speeds (methods §13, DESIGN §14). A slow member that is clearly better is exempt.

use std::collections::BTreeMap;

use super::work::{claim, first_look, horizon, measurable};
use super::{finding, limits, measured_members, ways};
use crate::checks::Judgement;
use crate::checks::estimates::{Estimate, corrected, effect, look_rules, ppm_term, sizing_limits, take_look, term};
use crate::evidence::pairs;
use crate::evidence::speed::{Basis, Certainty, Spread, spreads};
use crate::evidence::statistics::difference::p_diff;
use crate::evidence::statistics::duration::SpeedRatio;
use crate::evidence::statistics::normal::{Z_95, chance_positive};
use crate::evidence::statistics::sizing::{Sized, SizingLimits, speed_spread};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Effect, Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{LookKey, SourceId};

/// A spread between two members.
struct Found<'a> {
    /// The slow one.
    slow: &'a MemberEvidence,
    /// The fast one.
    fast: &'a MemberEvidence,
    /// How many times slower.
    ratio: f64,
    /// Lower 90 % bound; `None` without intervals.
    lower: Option<f64>,
    /// P(ratio > the lower limit); `None` without intervals.
    p: Option<f64>,
    /// What it amounts to.
    finding: Sized,
    /// Observations of the smaller side.
    n: u64,
    /// What it is the ratio of.
    basis: &'static str,
    /// Minutes of both on the shared mix, from our own rows.
    minutes: Option<SpeedRatio>,
}

/// Judges the members of a pool. Every slow member is named once, against the one it stands furthest behind.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement) {
    let sizing = sizing_limits(settings);
    let mut decided: BTreeMap<(&str, &str), Option<Found<'_>>> = BTreeMap::new();
    for slow in &evidence.members {
        for fast in evidence.members.iter().filter(|fast| fast.model_effort != slow.model_effort) {
            match by_minutes(evidence, slow, fast, &sizing) {
                Minutes::Unknown => {}
                Minutes::Alike => drop(decided.insert((&slow.key, &fast.key), None)),
                Minutes::Apart(found) => drop(decided.insert((&slow.key, &fast.key), Some(*found))),
            }
        }
    }
    for spread in spreads(&measured_members(evidence), &limits(settings)) {
        let by_key = |key: &str| evidence.members.iter().find(|member| member.key == key);
        let (Some(slow), Some(fast)) = (by_key(&spread.slow), by_key(&spread.fast)) else { continue };
        decided.entry((&slow.key, &fast.key)).or_insert_with(|| Some(by_speed(slow, fast, &spread, &sizing)));
    }
    let mut worst: BTreeMap<&str, Found<'_>> = BTreeMap::new();
    for ((slow, _), found) in decided {
        let Some(found) = found.filter(|found| found.finding != Sized::None) else { continue };
        if worst.get(slow).is_none_or(|known| (found.finding, found.ratio) > (known.finding, known.ratio)) {
            worst.insert(slow, found);
        }
    }
    for found in worst.into_values() {
        let found = conclude(evidence, settings, judgement, &found);
        judgement.findings.push(found);
    }
}

/// What task minutes say.
enum Minutes<'a> {
    /// Either side has too few timed rows in shared classes.
    Unknown,
    /// They decide that there is no spread.
    Alike,
    /// They are far apart.
    Apart(Box<Found<'a>>),
}

/// By task minutes.
fn by_minutes<'a>(
    evidence: &PoolEvidence,
    slow: &'a MemberEvidence,
    fast: &'a MemberEvidence,
    sizing: &SizingLimits,
) -> Minutes<'a> {
    let Some((ratio, n)) = pairs::speed(&slow.own, &fast.own, &evidence.mix.shares) else { return Minutes::Unknown };
    if n.0 < sizing.rows || n.1 < sizing.rows {
        return Minutes::Unknown;
    }
    if ratio.ratio < sizing.speed_ratio {
        return Minutes::Alike;
    }
    let judged = speed_spread(&ratio, n, slow.own.rate, fast.own.rate, sizing);
    Minutes::Apart(Box::new(Found {
        slow,
        fast,
        ratio: ratio.ratio,
        lower: Some(ratio.lo90),
        p: Some(ratio.chance_above(sizing.speed_lower)),
        finding: judged.finding,
        n: slow.own.raw.scored().min(fast.own.raw.scored()),
        basis: "task minutes",
        minutes: Some(ratio),
    }))
}

/// By measured speeds.
fn by_speed<'a>(
    slow: &'a MemberEvidence,
    fast: &'a MemberEvidence,
    spread: &Spread,
    sizing: &SizingLimits,
) -> Found<'a> {
    let is_exempt = p_diff(fast.own.rate, slow.own.rate, sizing.exempt_margin) >= sizing.exempt;
    let lower = match spread.certainty {
        Certainty::Clear { lower } | Certainty::Short { lower } => Some(lower),
        Certainty::PointOnly => None,
    };
    let finding = match (is_exempt, spread.certainty) {
        (true, _) => Sized::None,
        (false, Certainty::Clear { .. }) => Sized::Found,
        (false, _) => Sized::Watch,
    };
    let p = lower.filter(|lower| *lower > 0.0).map(|lower| {
        let se = (spread.ratio / lower).ln() / Z_95;
        chance_positive((spread.ratio / sizing.speed_lower).ln(), se)
    });
    let basis = match spread.basis {
        Basis::TaskTime => "measured task time",
        Basis::OutputSpeed => "output tokens per second",
    };
    Found { slow, fast, ratio: spread.ratio, lower, p, finding, n: spread.n, basis, minutes: None }
}

/// A spread as a finding.
fn conclude(evidence: &PoolEvidence, settings: &Settings, judgement: &mut Judgement, spread: &Found<'_>) -> Finding {
    let sizing = sizing_limits(settings);
    let is_open = spread.p.is_some_and(|p| {
        let key = LookKey::new("speed_spread", &spread.slow.key, &spread.fast.key);
        let rules = look_rules(settings, settings.thresholds.bars.propose);
        take_look(evidence, judgement, key, (spread.slow, spread.fast), (p, false), &rules).is_open
    });
    let is_settled = spread.finding == Sized::Found && is_open;
    let verdict = if is_settled { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, "speed_spread", spread.slow, verdict);
    found.counterpart.clone_from(&spread.fast.key);
    found.sources.push(if spread.minutes.is_some() { SourceId::Sessions } else { SourceId::Speeds });
    found.measured = Some(Measured { what: "times slower", value: spread.ratio, unit: Unit::Ratio, n: Some(spread.n) });
    found.limit = Some(Limit { op: LimitOp::Below, value: sizing.speed_ratio, setting: "sizing.speed_ratio" });
    let lower = match spread.lower {
        Some(lower) if lower >= sizing.speed_lower => format!("lower 90 % bound {lower:.2}"),
        Some(lower) => format!("lower 90 % bound {lower:.2}, {:.2} needed", sizing.speed_lower),
        None => "no interval in the speeds file, so it is not decisive".to_owned(),
    };
    let p = spread.p.map_or_else(String::new, |p| format!(", P(more than {:.0} times) {p:.3}", sizing.speed_lower));
    found.why = Sentence::new()
        .name(&spread.slow.target)
        .own(format!(" is {:.2} times slower than ", spread.ratio))
        .name(&spread.fast.target)
        .own(format!(" by {} ({lower}, n {}{p}){}", spread.basis, spread.n, first_look(spread.finding, is_open)));
    if !is_settled {
        found.todo = Sentence::from("nothing yet: measure more");
        return found;
    }
    found.todo = Sentence::from("give the slow member less of the work, or take it out");
    ways::less(evidence, spread.slow, &mut found);
    let p = spread.p.unwrap_or_default();
    let terms = vec![
        term("times_slower_milli", spread.ratio * 1e3, ">=", sizing.speed_ratio * 1e3),
        term("lower_bound_milli", spread.lower.unwrap_or_default() * 1e3, ">=", sizing.speed_lower * 1e3),
        ppm_term("p_more_than_lower_ppm", p, ">=", settings.thresholds.bars.propose),
    ];
    let said = format!("{:.2} times slower, P(more than {:.0} times) {p:.4}", spread.ratio, sizing.speed_lower);
    let (effects, usd_per_day) = effects(evidence, spread, p);
    found.claim = Some(claim(
        evidence,
        settings,
        ("speed-spread/1", p, usd_per_day),
        &[spread.slow, spread.fast],
        effects,
        terms,
        said,
    ));
    if spread.minutes.is_some() {
        measurable(evidence, &mut found);
    }
    found
}

/// Minutes saved a task where our own rows tell them, else the share that moves; and dollars of waiting a day.
fn effects(evidence: &PoolEvidence, spread: &Found<'_>, p: f64) -> (Vec<Effect>, f64) {
    let share = spread.slow.share;
    let Some(ratio) = &spread.minutes else {
        let moved = Estimate {
            metric: ("share_of_pool", "ppm", "decrease"),
            values: (share, share, share),
            scale: 1e6,
            horizon_days: 1,
            min_rows: 1,
            probability: p,
        };
        return (vec![effect(evidence, true, &moved)], 0.0);
    };
    let saved = |times: f64| share * ratio.minutes_fast * (times - 1.0) * 60.0;
    let minutes = Estimate {
        metric: ("minutes_per_task", "seconds", "decrease"),
        values: (saved(ratio.ratio), saved(ratio.lo90), saved(ratio.hi90)),
        scale: 1.0,
        horizon_days: horizon(evidence).unwrap_or(60),
        min_rows: 20,
        probability: p,
    };
    let usd_per_day = saved(ratio.ratio) / 60.0 * evidence.tier.minute_usd * evidence.tasks_per_day();
    (vec![effect(evidence, true, &corrected(evidence, minutes))], usd_per_day)
}
