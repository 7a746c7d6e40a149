//! Two members side by side: rates on the pool's full mix, cost and time on the classes that both have, the mix renormalised
//! there, so that neither is compared on other work (methods §6).

use std::collections::BTreeMap;

use super::cells::{ClassCell, CostCell, OwnEvidence, list_cost};
use super::statistics::cost::TaskCost;
use super::statistics::duration::{LogCells, SpeedRatio, speed_ratio};
use super::statistics::pair::PairSide;

/// Standard error of an estimated cost, as a share of it.
const ESTIMATED_COST_SE: f64 = 0.6;
/// Variance of ln T of an estimated time.
const ESTIMATED_TIME_VARIANCE: f64 = 0.36;

/// Lead and alternative as the decision takes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The lead.
    pub lead: PairSide,
    /// The alternative.
    pub other: PairSide,
    /// Whether cost or time of the alternative is estimated from the lead's.
    pub is_estimated: bool,
    /// Whether a time rests on too many rows that were cut off: the claim is at most `watch`.
    pub is_censored: bool,
}

/// Shares of the mix.
type Shares = BTreeMap<String, f64>;

/// The pair of a lead and an alternative.
pub fn pair(lead: &OwnEvidence, other: &OwnEvidence, mix: &Shares) -> Pair {
    let (lead_cost, other_cost, cost_estimated) = costs(lead, other, mix);
    let (lead_time, other_time, time_estimated) = times(lead, other, mix);
    let side = |own: &OwnEvidence, cost, log_minutes| PairSide {
        rate: own.rate,
        n: own.n,
        tasks: own.raw.tasks,
        days: own.raw.days,
        cost,
        log_minutes,
    };
    let is_cut = |own: &OwnEvidence| own.cells.values().any(|cell| cell.duration.is_some_and(|d| d.is_median));
    Pair {
        lead: side(lead, lead_cost, lead_time),
        other: side(other, other_cost, other_time),
        is_estimated: cost_estimated || time_estimated,
        is_censored: is_cut(lead) || is_cut(other),
    }
}

/// The classes of the mix that pass, with their shares renormalised.
fn shared(mix: &Shares, has: impl Fn(&str) -> bool) -> Vec<(&str, f64)> {
    let kept: Vec<(&str, f64)> =
        mix.iter().filter(|(class, _)| has(class)).map(|(c, share)| (c.as_str(), *share)).collect();
    let total: f64 = kept.iter().map(|(_, share)| share).sum();
    kept.into_iter().filter(|(_, share)| *share > 0.0).map(|(class, share)| (class, share / total)).collect()
}

/// Cost of one member on some classes; unknown as soon as one of them has no price.
fn cost_on(own: &OwnEvidence, classes: &[(&str, f64)]) -> Option<TaskCost> {
    let (mut usd, mut variance) = (0.0, 0.0);
    for (class, share) in classes {
        let CostCell::Known(cost) = own.cells[*class].cost else { return None };
        usd += share * cost.usd;
        variance += (share * cost.se_usd).powi(2);
    }
    (!classes.is_empty()).then(|| TaskCost { usd, se_usd: variance.sqrt() })
}

/// Cost of both sides, and whether the alternative's is estimated.
fn costs(lead: &OwnEvidence, other: &OwnEvidence, mix: &Shares) -> (Option<TaskCost>, Option<TaskCost>, bool) {
    let has = |own: &OwnEvidence, class: &str| own.cells.get(class).is_some_and(|cell| cell.tokens.is_some());
    if !other.has_cost_rows() && lead.has_cost_rows() {
        let classes = shared(mix, |class| has(lead, class));
        let usd = other.prices.as_ref().and_then(|prices| {
            classes.iter().map(|(class, share)| Some(share * list_cost(&lead.cells[*class].tokens?, prices)?)).sum()
        });
        let estimated = usd.map(|usd: f64| TaskCost { usd, se_usd: ESTIMATED_COST_SE * usd });
        return (cost_on(lead, &classes), estimated, true);
    }
    let classes = shared(mix, |class| has(lead, class) && has(other, class));
    (cost_on(lead, &classes), cost_on(other, &classes), false)
}

/// Mean ln minutes and its variance of one member on some classes.
fn time_on(own: &OwnEvidence, classes: &[(&str, f64)]) -> Option<(f64, f64)> {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (class, share) in classes {
        let duration = own.cells[*class].duration?;
        mean += share * duration.log_mean;
        variance += share * share * duration.log_var;
    }
    (!classes.is_empty()).then_some((mean, variance))
}

/// A time as mean and variance of ln minutes.
type Time = Option<(f64, f64)>;

/// Time of both sides, and whether the alternative's is estimated.
fn times(lead: &OwnEvidence, other: &OwnEvidence, mix: &Shares) -> (Time, Time, bool) {
    let has = |own: &OwnEvidence, class: &str| own.cells.get(class).is_some_and(|cell| cell.duration.is_some());
    if !other.has_timed_rows() && lead.has_timed_rows() {
        let own = time_on(lead, &shared(mix, |class| has(lead, class)));
        return (own, own.map(|(mean, _)| (mean, ESTIMATED_TIME_VARIANCE)), true);
    }
    let classes = shared(mix, |class| has(lead, class) && has(other, class));
    (time_on(lead, &classes), time_on(other, &classes), false)
}

/// Cost, time and rate of one member on the classes it has: for the pick by own evidence.
pub fn alone(own: &OwnEvidence, mix: &Shares) -> PairSide {
    let has = |f: fn(&ClassCell) -> bool| move |class: &str| own.cells.get(class).is_some_and(f);
    PairSide {
        rate: own.rate,
        n: own.n,
        tasks: own.raw.tasks,
        days: own.raw.days,
        cost: cost_on(own, &shared(mix, has(|cell| cell.tokens.is_some()))),
        log_minutes: time_on(own, &shared(mix, has(|cell| cell.duration.is_some()))),
    }
}

/// How many times slower one member is than another on shared classes, and the weighted timed rows of both there.
pub fn speed(slow: &OwnEvidence, fast: &OwnEvidence, mix: &Shares) -> Option<(SpeedRatio, (f64, f64))> {
    let cells = |own: &OwnEvidence| -> LogCells {
        own.cells
            .iter()
            .filter_map(|(class, cell)| cell.duration.map(|d| (class.clone(), (d.log_mean, d.log_var))))
            .collect()
    };
    let ratio = speed_ratio(&cells(slow), &cells(fast), mix)?;
    let rows = |own: &OwnEvidence| -> f64 {
        ratio.shared.iter().filter_map(|class| own.cells[class].duration.map(|duration| duration.n)).sum()
    };
    let n = (rows(slow), rows(fast));
    Some((ratio, n))
}
