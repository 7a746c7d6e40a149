//! What the statistical findings of all checks share: bars from the settings, looks, claims and their measurable effects.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Judgement, Look};
use crate::evidence::pairs::{self, Pair};
use crate::evidence::statistics::looks::{LookRules, LookStep, look};
use crate::evidence::statistics::pair::{PairBars, PairDecision, PairVerdict, PreviousLook, pair_decision};
use crate::evidence::statistics::sizing::SizingLimits;
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{BarTerm, ClaimRows, Effect};
use crate::vocabulary::{Digest, LookKey};

/// The bars of a pair.
pub(super) fn pair_bars(settings: &Settings) -> PairBars {
    let bars = &settings.thresholds.bars;
    PairBars {
        rows: bars.rows,
        tasks: bars.tasks,
        days: bars.days,
        propose: bars.propose,
        once: bars.once,
        watch: bars.watch,
        new_rows: bars.new_rows,
        guard_margin: bars.guard_points / 100.0,
        guard: bars.guard,
        threshold_loss: bars.threshold_loss,
        threshold_stake: bars.threshold_stake,
        regret_share: bars.regret_share,
    }
}

/// The bars of looks; `bar` is the claim probability of this kind of finding.
pub(super) fn look_rules(settings: &Settings, bar: f64) -> LookRules {
    let bars = &settings.thresholds.bars;
    LookRules {
        propose: bar,
        once: bars.once,
        watch: bars.watch,
        keep: bars.keep.min(bar),
        withdraw: bars.withdraw,
        new_rows: bars.new_rows,
        reverse: bars.reverse,
        reverse_days: bars.reverse_days,
        reverse_rows: bars.reverse_rows,
    }
}

/// The limits of right-sizing.
pub(super) fn sizing_limits(settings: &Settings) -> SizingLimits {
    let (bars, sizing) = (&settings.thresholds.bars, &settings.thresholds.sizing);
    SizingLimits {
        rows: bars.rows,
        speed_ratio: sizing.speed_ratio,
        speed_lower: sizing.speed_lower,
        cost_margin: bars.cost_points / 100.0,
        cost_guard: bars.cost_guard,
        save_share: sizing.save_share,
        save_usd_day: sizing.save_usd_day,
        ..SizingLimits::default()
    }
}

/// The last counted look at a comparison, as a pair takes it. A streak that stands does not wait for rows again.
pub(super) fn previous(
    evidence: &PoolEvidence,
    key: &LookKey,
    a: &MemberEvidence,
    b: &MemberEvidence,
) -> Option<PreviousLook> {
    let memory = evidence.looks.get(key)?;
    let new_rows = if memory.streak >= 2 { f64::INFINITY } else { evidence.rows_since(a, b, memory.at) };
    Some(PreviousLook { p_saving: memory.p, new_rows })
}

/// Takes a look at a comparison of two members and remembers it.
pub(super) fn take_look(
    evidence: &PoolEvidence,
    judgement: &mut Judgement,
    key: LookKey,
    (a, b): (&MemberEvidence, &MemberEvidence),
    (p, is_reverse): (f64, bool),
    rules: &LookRules,
) -> LookStep {
    let memory = evidence.looks.get(&key);
    let new_rows = memory.map_or(0.0, |memory| evidence.rows_since(a, b, memory.at));
    let step = look(memory, p, new_rows, is_reverse, rules);
    judgement.looks.push(Look { key, p, step });
    step
}

/// A bar term in millionths.
pub(super) fn ppm_term(name: &str, value: f64, op: &str, needed: f64) -> BarTerm {
    term(name, value * 1e6, op, needed * 1e6)
}

/// A bar term.
pub(super) fn term(name: &str, value: f64, op: &str, needed: f64) -> BarTerm {
    let pass = match op {
        ">=" => value >= needed,
        "<=" => value <= needed,
        _ => (value - needed).abs() < 0.5,
    };
    BarTerm { name: name.to_owned(), value: whole(value), needed: whole(needed), op: op.to_owned(), pass }
}

/// A number as the nearest whole one; what is out of range is cut.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what both types hold exactly")]
pub(super) fn whole(value: f64) -> i64 {
    if value.is_finite() { value.round().clamp(-9e15, 9e15) as i64 } else { 0 }
}

/// A probability in millionths.
pub(super) fn ppm(p: f64) -> u64 {
    whole(p.clamp(0.0, 1.0) * 1e6).unsigned_abs()
}

/// An estimated effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    /// Metric and unit of the schema, and the direction that is better.
    pub(super) metric: (&'static str, &'static str, &'static str),
    /// Point, lower and upper 90 % bound in the unit times `scale`.
    pub(super) values: (f64, f64, f64),
    /// From the value to the unit.
    pub(super) scale: f64,
    /// Days until it can be measured.
    pub(super) horizon_days: u64,
    /// Rows that takes.
    pub(super) min_rows: u64,
    /// Chance of its sign.
    pub(super) probability: f64,
}

/// An estimate as it may be claimed, from how the reviewer's last claims came true (methods §20).
pub(super) fn corrected(evidence: &PoolEvidence, estimate: Estimate) -> Estimate {
    let correction = evidence.correction;
    if correction.is_none() {
        return estimate;
    }
    Estimate {
        values: correction.of_values(estimate.values),
        probability: correction.of_probability(estimate.probability),
        ..estimate
    }
}

/// An effect in its file shape, on the pool's mix.
pub(super) fn effect(evidence: &PoolEvidence, primary: bool, estimate: &Estimate) -> Effect {
    let (metric, unit, direction) = estimate.metric;
    let (point, lo90, hi90) = estimate.values;
    let scaled = |value: f64| whole(value * estimate.scale);
    Effect {
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        primary,
        direction: direction.to_owned(),
        point: scaled(point),
        lo90: scaled(lo90),
        hi90: scaled(hi90),
        horizon_days: estimate.horizon_days.clamp(1, 60),
        min_rows: estimate.min_rows.max(1),
        mix_digest: Some(mix_digest(evidence)),
        claimed_probability_ppm: ppm(estimate.probability),
    }
}

/// The class mix that a claim is frozen on: shares in millionths.
fn frozen_mix(evidence: &PoolEvidence) -> BTreeMap<String, u64> {
    evidence.mix.shares.iter().map(|(class, share)| (class.clone(), ppm(*share))).collect()
}

/// Its digest.
fn mix_digest(evidence: &PoolEvidence) -> String {
    Digest::of_json(&json!(frozen_mix(evidence))).to_string()
}

/// The rows behind a claim about some members.
pub(super) fn claim_rows(evidence: &PoolEvidence, members: &[&MemberEvidence], settings: &Settings) -> ClaimRows {
    let mut rows = ClaimRows {
        excluded: evidence.excluded.clone(),
        mix: frozen_mix(evidence),
        window: format!(
            "{:.0} d, half-life {:.0} d",
            settings.thresholds.rows.max_age_days, settings.thresholds.rows.half_life_days
        ),
        ..ClaimRows::default()
    };
    for member in members {
        rows.rows += member.own.raw.scored();
        rows.weighted += member.own.n;
        for (class, rate) in &member.own.raw_classes {
            *rows.classes.entry(class.clone()).or_default() += rate.scored();
        }
    }
    rows
}

/// "58.0 and 54.0 weighted rows, 37 and 35 tasks, 11 and 11 days".
pub(super) fn rows_said(a: &MemberEvidence, b: &MemberEvidence) -> String {
    format!(
        "{:.1} and {:.1} weighted rows, {} and {} distinct tasks, {} and {} days",
        a.own.n, b.own.n, a.own.raw.tasks, b.own.raw.tasks, a.own.raw.days, b.own.raw.days
    )
}

/// One alternative with everything that was decided about it.
pub(super) struct Compared<'a> {
    /// The alternative.
    pub(super) rival: &'a MemberEvidence,
    /// Both sides.
    pub(super) pair: Pair,
    /// The decision.
    pub(super) decision: PairDecision,
}

/// The decision about one alternative.
pub(super) fn compare<'a>(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    rival: &'a MemberEvidence,
    settings: &Settings,
    before: Option<PreviousLook>,
) -> Compared<'a> {
    let pair = pairs::pair(&lead.own, &rival.own, &evidence.mix.shares);
    let mut decision = pair_decision(&pair.lead, &pair.other, evidence.worth(), &pair_bars(settings), before);
    if pair.is_censored && decision.verdict == PairVerdict::Misaligned {
        decision.verdict = PairVerdict::Watch;
        decision.reasons.push("time_censored");
    }
    Compared { rival, pair, decision }
}

/// What a member lacks of the floors, as `n/m_rows`.
pub(super) fn shortfall(member: &MemberEvidence, settings: &Settings) -> Option<String> {
    let bars = &settings.thresholds.bars;
    let raw = &member.own.raw;
    #[expect(clippy::cast_precision_loss, reason = "counts of tasks and days stay far below 2^53")]
    let have = [
        ("weighted_rows", member.own.n, bars.rows),
        ("tasks", raw.tasks as f64, bars.tasks),
        ("days", raw.days as f64, bars.days),
    ];
    let short = have.into_iter().find(|(_, have, need)| have < need)?;
    let shown = if short.0 == "weighted_rows" { format!("{:.1}", short.1) } else { format!("{:.0}", short.1) };
    Some(format!("{shown}/{:.0}_{}", short.2, short.0))
}
