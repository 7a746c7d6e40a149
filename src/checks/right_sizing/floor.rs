//! A member below the success floor of its tier, on work that it carries (methods §13, `under_powered`).

use super::work::{LOWER_BAR, MEASURED_ROWS, claim, first_look, horizon, measurable};
use super::{finding, ways};
use crate::checks::Judgement;
use crate::checks::estimates::{Estimate, corrected, effect, look_rules, ppm_term, sizing_limits, take_look, term};
use crate::evidence::statistics::Beta;
use crate::evidence::statistics::sizing::{Sized, SizingLimits, under_powered};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Claim, Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{LookKey, SourceId};

/// A member held against the floor of the tier on a class.
struct Floored<'a> {
    /// The member.
    member: &'a MemberEvidence,
    /// The class.
    class: &'a str,
    /// Its share of the class.
    share: f64,
    /// What is believed of it there.
    rate: Beta,
    /// Weighted rows there.
    n: f64,
    /// P(success below the floor).
    p_below: f64,
}

/// A member that fails the floor of the tier on a class that it carries.
pub(super) fn below_floor(
    evidence: &PoolEvidence,
    settings: &Settings,
    judgement: &mut Judgement,
    member: &MemberEvidence,
    class: &str,
    share: f64,
) -> Option<Finding> {
    let limits = sizing_limits(settings);
    let cell = member.own.cells.get(class)?;
    let (rate, n) = (cell.posterior.rate, cell.tally.n);
    let judged = under_powered(rate, n, share, evidence.tier.floor, &limits);
    if judged.finding == Sized::None {
        return None;
    }
    let floored = Floored { member, class, share, rate, n, p_below: judged.p_below };
    let key = LookKey::new("under_powered", &member.key, class);
    let rules = look_rules(settings, LOWER_BAR);
    let look = take_look(evidence, judgement, key, (member, member), (judged.p_below, false), &rules);
    let is_settled = judged.finding == Sized::Found && look.is_open;
    let verdict = if is_settled { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, "under_powered", member, verdict);
    class.clone_into(&mut found.counterpart);
    found.sources.push(SourceId::Sessions);
    found.measured = Some(Measured {
        what: "P(success below the floor)",
        value: judged.p_below,
        unit: Unit::Share,
        n: Some(member.own.raw.scored()),
    });
    let bar = if is_settled { limits.below } else { limits.below_watch };
    found.limit = Some(Limit { op: LimitOp::Below, value: bar, setting: "tiers" });
    found.why = floor_words(evidence, &floored).own(first_look(judged.finding, look.is_open));
    if !is_settled {
        found.todo = Sentence::from("nothing yet: more rows");
        return Some(found);
    }
    found.todo = Sentence::from("move this work to a stronger member or pool, or take the member out");
    ways::out(evidence, member, &mut found);
    if let (None, Some(stronger)) = (&found.intent, stronger(evidence, &floored, &limits)) {
        ways::move_class(evidence, class, stronger, &mut found);
    }
    found.claim = Some(floor_claim(evidence, settings, &floored, &limits));
    measurable(evidence, &mut found);
    Some(found)
}

/// The member that does a class best, if its rows show that it reaches the floor there.
fn stronger<'a>(
    evidence: &'a PoolEvidence,
    floored: &Floored<'_>,
    limits: &SizingLimits,
) -> Option<&'a MemberEvidence> {
    let rate = |member: &MemberEvidence| {
        let cell = member.own.cells.get(floored.class).filter(|cell| cell.tally.n >= limits.rows)?;
        Some(cell.posterior.rate.mean()).filter(|rate| *rate >= evidence.tier.floor)
    };
    let others = evidence.members.iter().filter(|other| other.model_effort != floored.member.model_effort);
    let rated = others.filter_map(|other| Some((other, rate(other)?)));
    rated.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.key.cmp(&a.0.key))).map(|(other, _)| other)
}

/// A member's success in a class beside the floor.
fn floor_words(evidence: &PoolEvidence, floored: &Floored<'_>) -> Sentence {
    let (member, raw) = (floored.member, floored.member.own.raw);
    let (lo, hi) = floored.rate.interval_90();
    Sentence::new()
        .name(&member.target)
        .own(format!(" raw {}/{}; in ", raw.successes, raw.scored()))
        .name(floored.class)
        .own(format!(
            " {:.1} % [{:.1}, {:.1}] over {:.1} weighted rows, {:.0} % of the class; the floor of {} is {:.0} %, P(below) {:.3}",
            floored.rate.mean() * 100.0,
            lo * 100.0,
            hi * 100.0,
            floored.n,
            floored.share * 100.0,
            evidence.tier.tier,
            evidence.tier.floor * 100.0,
            floored.p_below,
        ))
}

/// What taking work from a member below the floor claims: success rises to the floor on its share of the class at least.
fn floor_claim(
    evidence: &PoolEvidence,
    settings: &Settings,
    floored: &Floored<'_>,
    limits: &SizingLimits,
) -> Box<Claim> {
    let (floor, share, rate) = (evidence.tier.floor, floored.share, floored.rate);
    let (lo, hi) = rate.interval_90();
    let gained = |rate: f64| (floor - rate).max(0.0) * share;
    let gain = Estimate {
        metric: ("success_rate", "ppm", "increase"),
        values: (gained(rate.mean()), gained(hi), gained(lo)),
        scale: 1e6,
        horizon_days: horizon(evidence).unwrap_or(60),
        min_rows: MEASURED_ROWS,
        probability: floored.p_below,
    };
    let terms = vec![
        ppm_term("p_below_floor_ppm", floored.p_below, ">=", limits.below),
        term("weighted_rows_milli", floored.n * 1e3, ">=", limits.rows * 1e3),
        ppm_term("share_of_class_ppm", share, ">=", limits.carries),
    ];
    let said = format!("P(success below {floor:.2}) {:.4} in class {}", floored.p_below, floored.class);
    let worth = evidence.tier.stake_usd * gained(rate.mean()) * evidence.tasks_per_day();
    let bar = ("under-powered/1", floored.p_below, worth);
    claim(
        evidence,
        settings,
        bar,
        &[floored.member],
        vec![effect(evidence, true, &corrected(evidence, gain))],
        terms,
        said,
    )
}
