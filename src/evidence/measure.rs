//! What a landed change did: the rows of a pool before and after it, on a frozen mix, against pools that were left alone
//! (methods §20). Numbers point towards the better: a saving and a gain are both above 0.

use std::collections::{BTreeMap, BTreeSet};

use super::attribution::{Attribution, UNRECORDED};
use super::cells::{kinds, list_cost};
use super::own::{MemberRows, OwnRow, RowClock};
use super::statistics::cost::{Worth, task_cost};
use super::statistics::duration::{DurationRules, TimedRow, log_duration};
use super::statistics::mix::OTHER;
use super::statistics::prior::Tally;
use super::statistics::verification::{Cell, Change, did_of};
use crate::vocabulary::Prices;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Expected loss of a task, USD.
    Loss,
    /// Success rate, a fraction.
    Success,
    /// Typical minutes of a task.
    Minutes,
    /// Cost of a task at list price, USD.
    Cost,
}

impl Metric {
    /// The metric of a name in a file; `None` of one that is only looked at.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "loss_per_task" => Self::Loss,
            "success_rate" => Self::Success,
            "minutes_per_task" => Self::Minutes,
            "cost_per_task" => Self::Cost,
            _ => return None,
        })
    }

    /// What its value is made of: each part with what one unit of it is worth, towards the better.
    fn parts(self, worth: Worth) -> Vec<(Part, f64)> {
        match self {
            Self::Loss => {
                vec![(Part::Success, worth.stake_usd), (Part::Cost, -1.0), (Part::Minutes, -worth.minute_usd)]
            }
            Self::Success => vec![(Part::Success, 1.0)],
            Self::Minutes => vec![(Part::Minutes, -1.0)],
            Self::Cost => vec![(Part::Cost, -1.0)],
        }
    }

    /// The part whose rows count.
    fn counted(self) -> Part {
        match self {
            Self::Loss | Self::Success => Part::Success,
            Self::Minutes => Part::Minutes,
            Self::Cost => Part::Cost,
        }
    }
}

/// What is averaged over rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Success.
    Success,
    /// Cost.
    Cost,
    /// Minutes.
    Minutes,
}

impl Part {
    /// Whether a row states it.
    fn is_in(self, row: &OwnRow) -> bool {
        match self {
            Self::Success => true,
            Self::Cost => row.tokens.is_some(),
            Self::Minutes => row.minutes.is_some(),
        }
    }
}

/// A span of time: ends of rows after `from_s`, up to and with `until_s`; seconds of the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Not in it any more.
    pub from_s: i64,
    /// Still in it.
    pub until_s: i64,
}

impl Span {
    /// Whether a row ended in it.
    fn holds(&self, row: &OwnRow) -> bool {
        row.ended_s > self.from_s && row.ended_s <= self.until_s
    }
}

/// Shares of task classes.
pub type Mix = BTreeMap<String, f64>;

/// What is asked of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The pool.
    pub pool: &'a str,
    /// Pools that were left alone.
    pub controls: &'a [String],
    /// The metric.
    pub metric: Metric,
    /// What a failed task and a minute are worth in the pool.
    pub worth: Worth,
    /// The frozen mix; `None` is the mix of the rows before.
    pub mix: Option<&'a Mix>,
    /// Before.
    pub pre: Span,
    /// After.
    pub post: Span,
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measurement {
    /// Effect towards the better and its standard error, in the metric's unit; `None` when nothing can be said.
    pub effect: Option<(f64, f64)>,
    /// Rows before and after.
    pub rows: (u64, u64),
    /// The controls that had rows on both sides, sorted; none means that before and after is all there is.
    pub controls: Vec<String>,
}

/// Everything that measuring needs beside the question.
#[derive(Clone, Copy)]
pub struct Meter<'a> {
    /// Our own evidence.
    pub attribution: &'a Attribution,
    /// When rows count.
    pub clock: RowClock,
    /// How durations are estimated.
    pub duration: DurationRules,
    /// List price of a model, if the sources agree on one.
    pub prices: &'a dyn Fn(&str) -> Option<Prices>,
}

/// One scored row of a window.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// As it was attributed.
    own: OwnRow,
    /// Attempts at one task count together as less.
    weight: f64,
    /// List price of its model.
    prices: Option<Prices>,
}

/// Rows of a window by class.
type Window = BTreeMap<String, Vec<Row>>;

impl Meter<'_> {
    /// Difference in differences, or before and after when no control has rows on both sides.
    pub fn measure(&self, asked: &Asked<'_>) -> Measurement {
        let (pre, post) = (self.window(asked.pool, asked.pre), self.window(asked.pool, asked.post));
        let own = own_mix(&pre);
        let mix = asked.mix.unwrap_or(&own);
        let (pre, post) = (on_classes(pre, mix), on_classes(post, mix));
        let controls: Vec<(&String, Window, Window)> = asked
            .controls
            .iter()
            .filter(|pool| pool.as_str() != asked.pool)
            .map(|pool| (pool, self.window(pool, asked.pre), self.window(pool, asked.post)))
            .collect();
        let counted = |window: &Window| {
            window.values().flatten().filter(|row| asked.metric.counted().is_in(&row.own)).count() as u64
        };
        let rows = (counted(&pre), counted(&post));
        let mut used = BTreeSet::new();
        let mut sum = Some((0.0, 0.0));
        for (part, worth) in asked.metric.parts(asked.worth) {
            if !has(&pre, part) && !has(&post, part) {
                continue;
            }
            let of_controls: Vec<(&String, Change)> = controls
                .iter()
                .filter_map(|(pool, pre, post)| Some((*pool, self.change(part, pre, post, &own_mix(pre))?)))
                .collect();
            if part == asked.metric.counted() {
                used.extend(of_controls.iter().map(|(pool, _)| (*pool).clone()));
            }
            let treated = self.change(part, &pre, &post, mix);
            sum = sum.zip(effect(treated, of_controls)).map(|((point, variance), (change, of_change))| {
                (point + worth * change, variance + worth * worth * of_change)
            });
        }
        let is_known = rows.0 > 0 && rows.1 > 0;
        let effect = sum.filter(|_| is_known).map(|(point, variance): (f64, f64)| (point, variance.sqrt()));
        Measurement { effect, rows, controls: used.into_iter().collect() }
    }

    /// Successes and weighted rows of some rows of one member in a span.
    pub fn tally(&self, member: &str, rows: &MemberRows, span: Span) -> Tally {
        let scored = self.scored(member, rows, span);
        let sum = |counts: &dyn Fn(&Row) -> bool| {
            scored.values().flatten().filter(|row| counts(row)).map(|row| row.weight).sum::<f64>()
        };
        Tally { s: sum(&|row| row.own.success() == Some(true)), n: sum(&|_| true) }
    }

    /// The same tasks on two members, one pair each: what the second does better than the first. A part that a side does
    /// not state is left out of both.
    pub fn paired(&self, pool: &str, arms: (&str, &str), metric: Metric, worth: Worth, span: Span) -> Measurement {
        let (first, second) = (self.arm(pool, arms, span), self.arm(pool, (arms.1, arms.0), span));
        let pairs: Vec<(Row, Row)> = first.iter().filter_map(|(task, row)| Some((*row, *second.get(task)?))).collect();
        let n = pairs.len() as u64;
        let mut sum = Some((0.0, 0.0));
        for (part, worth) in metric.parts(worth) {
            let stated = |(a, b): &&(Row, Row)| part.is_in(&a.own) && part.is_in(&b.own);
            let pairs: Vec<(Row, Row)> = pairs.iter().filter(stated).copied().collect();
            if pairs.is_empty() && part != metric.counted() {
                continue;
            }
            let change = paired_cell(part, &pairs);
            sum = sum
                .zip(change)
                .map(|((point, variance), cell)| (point + worth * cell.mean, variance + worth * worth * cell.variance));
        }
        let effect = sum.map(|(point, variance): (f64, f64)| (point, variance.sqrt()));
        Measurement { effect, rows: (n, n), controls: Vec::new() }
    }

    /// The first scored row of each task on one arm of a test.
    fn arm(&self, pool: &str, (arm, other): (&str, &str), span: Span) -> BTreeMap<u64, Row> {
        let model = |key: &str| key.rsplit_once('@').map_or(key, |(model, _)| model).to_owned();
        let is_one_model = model(arm) == model(other);
        let unrecorded = format!("{}@{UNRECORDED}", model(arm));
        let mut first: BTreeMap<u64, Row> = BTreeMap::new();
        for (member, rows) in self.attribution.members(pool) {
            if member != arm && (is_one_model || member != unrecorded) {
                continue;
            }
            for row in self.scored(member, rows, span).into_values().flatten() {
                let known = first.entry(row.own.task).or_insert(row);
                if (row.own.ended_s, row.own.attempt) < (known.own.ended_s, known.own.attempt) {
                    *known = row;
                }
            }
        }
        first
    }

    /// The scored rows of a pool in a span, whoever did them.
    fn window(&self, pool: &str, span: Span) -> Window {
        let mut window = Window::new();
        for (member, rows) in self.attribution.members(pool) {
            for (class, rows) in self.scored(member, rows, span) {
                window.entry(class).or_default().extend(rows);
            }
        }
        window
    }

    /// The mature, scored rows of one member in a span, by class.
    fn scored(&self, member: &str, rows: &MemberRows, span: Span) -> Window {
        let counts = |row: &&OwnRow| row.success().is_some() && !self.clock.is_immature(row.ended_s) && span.holds(row);
        let mut attempts: BTreeMap<u64, f64> = BTreeMap::new();
        for row in rows.values().flatten().filter(counts) {
            *attempts.entry(row.task).or_default() += 1.0;
        }
        let prices = (self.prices)(member.rsplit_once('@').map_or(member, |(model, _)| model));
        let weigh = |row: &OwnRow| {
            let extra = attempts[&row.task] - 1.0;
            Row { own: *row, weight: 1.0 / (1.0 + self.clock.weights.cluster_correlation * extra), prices }
        };
        rows.iter().map(|(class, rows)| (class.clone(), rows.iter().filter(counts).map(weigh).collect())).collect()
    }

    /// A part before and after, on the classes of a mix that have it on both sides; `None` without any, or when a price that is
    /// needed is unknown.
    fn change(&self, part: Part, pre: &Window, post: &Window, mix: &Mix) -> Option<Change> {
        let has = |window: &Window, class: &str| {
            window.get(class).is_some_and(|rows| rows.iter().any(|row| part.is_in(&row.own)))
        };
        let shared: Vec<(&str, f64)> = mix
            .iter()
            .filter(|(class, _)| has(pre, class) && has(post, class))
            .map(|(class, share)| (class.as_str(), *share))
            .collect();
        let cell = |window: &Window| match part {
            Part::Minutes => self.minutes(&shared, window),
            Part::Success | Part::Cost => {
                let cells = shared.iter().map(|(class, share)| Some((*share, mean(part, &window[*class])?)));
                Cell::on_mix(&cells.collect::<Option<Vec<_>>>()?)
            }
        };
        Some(Change { pre: cell(pre)?, post: cell(post)? })
    }

    /// Typical minutes on a mix: the geometric mean, as the claim states it.
    fn minutes(&self, shared: &[(&str, f64)], window: &Window) -> Option<Cell> {
        let log = |(class, share): &(&str, f64)| {
            let timed: Vec<TimedRow> = window[*class]
                .iter()
                .filter_map(|row| {
                    Some(TimedRow { minutes: row.own.minutes?, weight: row.weight, is_censored: row.own.is_cut_off })
                })
                .collect();
            let duration = log_duration(&timed, &self.duration)?;
            Some((*share, Cell { mean: duration.log_mean, variance: duration.log_var, n: duration.n }))
        };
        let logs = Cell::on_mix(&shared.iter().map(log).collect::<Option<Vec<_>>>()?)?;
        let minutes = logs.mean.exp();
        Some(Cell { mean: minutes, variance: minutes * minutes * logs.variance, n: logs.n })
    }
}

/// Change and variance of the treated pool, less that of the controls where there are any.
fn effect(treated: Option<Change>, controls: Vec<(&String, Change)>) -> Option<(f64, f64)> {
    let treated = treated?;
    let controls: Vec<Change> = controls.into_iter().map(|(_, change)| change).collect();
    let did = did_of(Some(&treated), &controls);
    did.did.zip(did.se).map(|(did, se)| (did, se * se)).or(Some((treated.difference(), treated.variance())))
}

/// Whether some row states a part.
fn has(window: &Window, part: Part) -> bool {
    window.values().flatten().any(|row| part.is_in(&row.own))
}

/// The mix of some rows.
fn own_mix(window: &Window) -> Mix {
    let weight = |rows: &Vec<Row>| rows.iter().map(|row| row.weight).sum::<f64>();
    window.iter().map(|(class, rows)| (class.clone(), weight(rows))).filter(|(_, weight)| *weight > 0.0).collect()
}

/// Rows under the classes of a mix; a class it does not have is `other` where it has that, else no part of it.
fn on_classes(window: Window, mix: &Mix) -> Window {
    let mut kept = Window::new();
    for (class, rows) in window {
        let class = if mix.contains_key(&class) { class } else { OTHER.to_owned() };
        if mix.contains_key(&class) {
            kept.entry(class).or_default().extend(rows);
        }
    }
    kept
}

/// Mean success or cost of some rows.
fn mean(part: Part, rows: &[Row]) -> Option<Cell> {
    if part == Part::Success {
        let n = rows.iter().map(|row| row.weight).sum();
        let s = rows.iter().filter(|row| row.own.success() == Some(true)).map(|row| row.weight).sum();
        return Cell::of_rate(Tally { s, n });
    }
    let costs: Vec<(Option<f64>, f64)> =
        rows.iter().filter(|row| part.is_in(&row.own)).map(|row| (cost(row), row.weight)).collect();
    let n = costs.iter().map(|(_, weight)| weight).sum();
    task_cost(&costs).map(|cost| Cell { mean: cost.usd, variance: cost.se_usd.powi(2), n })
}

/// What a row cost at list price.
fn cost(row: &Row) -> Option<f64> {
    list_cost(&kinds(&row.own.tokens?), row.prices.as_ref()?)
}

/// Second less first over some pairs. Two shares stand behind a difference of successes, each taken with half a pair more, so
/// that pairs which all agree do not claim certainty.
#[expect(clippy::cast_precision_loss, reason = "counts of pairs are small")]
fn paired_cell(part: Part, pairs: &[(Row, Row)]) -> Option<Cell> {
    let n = pairs.len() as f64;
    if pairs.is_empty() {
        return None;
    }
    if part == Part::Success {
        let count = |better: bool| {
            let differs = |(a, b): &&(Row, Row)| a.own.success() != b.own.success() && b.own.success() == Some(better);
            pairs.iter().filter(differs).count() as f64
        };
        let (gained, lost) = (count(true), count(false));
        let (p, q) = ((gained + 0.5) / (n + 1.0), (lost + 0.5) / (n + 1.0));
        return Some(Cell { mean: (gained - lost) / n, variance: (p + q - (p - q).powi(2)) / (n + 2.0), n });
    }
    let value = |row: &Row| if part == Part::Cost { cost(row) } else { row.own.minutes };
    let values = pairs.iter().map(|(a, b)| Some(value(b)? - value(a)?)).collect::<Option<Vec<f64>>>()?;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let spread = if pairs.len() > 1 { squares / (n - 1.0) } else { mean * mean };
    Some(Cell { mean, variance: spread / n, n })
}
