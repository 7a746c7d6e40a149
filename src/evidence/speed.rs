//! Measured speeds of one pool's members: rows of one member combined, and members far slower than another on the same
//! work (methods §13 `speed_spread`, DESIGN §14). Limits come from the caller; members and classes are plain keys.

use std::collections::{BTreeMap, BTreeSet};

/// One measured-speed row whose member is resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedReading {
    /// The member's key.
    pub member: String,
    /// Task class, if known.
    pub class: Option<String>,
    /// Requests behind the row, at least 1.
    pub n: u64,
    /// Effective output tokens per second, above 0.
    pub output_tps: Option<f64>,
    /// 90 % interval of `output_tps`.
    pub output_tps_90: Option<(f64, f64)>,
    /// Seconds to the first answer token.
    pub first_answer_s: Option<f64>,
    /// Median task duration in seconds, above 0.
    pub task_s: Option<f64>,
    /// The session store whose calls it sums up.
    pub seen_by: Option<String>,
}

/// A combined measurement and what stands behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// The value.
    pub value: f64,
    /// Requests behind it.
    pub n: u64,
    /// 90 % interval; only when every row has one.
    pub interval_90: Option<(f64, f64)>,
}

/// The combined measurements of some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speeds {
    /// Effective output tokens per second.
    pub output_tps: Option<Measure>,
    /// Seconds to the first answer token.
    pub first_answer_s: Option<Measure>,
    /// Typical task duration in seconds.
    pub task_s: Option<Measure>,
}

/// One member's speeds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemberSpeed {
    /// Over all its rows.
    pub all: Speeds,
    /// By task class; `None` holds the rows that name none.
    pub classes: BTreeMap<Option<String>, Speeds>,
    /// Session stores among its sources, sorted; empty where every row was measured and written down.
    pub seen_by: BTreeSet<String>,
}

/// When a difference is a spread (settings `sizing.speed_ratio`, `sizing.speed_lower`, `sizing.speed_rows`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadLimits {
    /// Slowest to fastest, at least.
    pub ratio: f64,
    /// What the lower bound of the ratio must reach.
    pub lower: f64,
    /// Requests either side needs.
    pub rows: f64,
}

/// What the ratio is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Task durations: they decide where both sides have enough of them.
    TaskTime,
    /// Effective output speed.
    OutputSpeed,
}

/// How sure a spread is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// The lower bound reaches its limit.
    Clear {
        /// Lower bound of the ratio.
        lower: f64,
    },
    /// It does not: at most `watch`.
    Short {
        /// Lower bound of the ratio.
        lower: f64,
    },
    /// Some row has no interval: the ratio stands alone.
    PointOnly,
}

/// One member that is far slower than another.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The slow member.
    pub slow: String,
    /// The member it is compared with.
    pub fast: String,
    /// How many times slower.
    pub ratio: f64,
    /// How sure that is.
    pub certainty: Certainty,
    /// Requests of the smaller side.
    pub n: u64,
    /// What the ratio is of.
    pub basis: Basis,
    /// The task classes both have rows in; empty when some row of either names no class.
    pub classes: Vec<String>,
}

/// One row's part in a combination: weight, value, interval.
type Part = (u64, f64, Option<(f64, f64)>);

/// How values of several rows become one.
#[derive(Clone, Copy)]
enum Mean {
    /// Ratio of sums for a rate: n requests at t tokens per second are n shares of output over n/t shares of time.
    Harmonic,
    /// The typical value of durations.
    Geometric,
    /// The plain weighted mean, for values that may be 0.
    Arithmetic,
}

impl Mean {
    /// The mean of some parts weighted by n, the widest interval if every part has one; `None` of none.
    #[expect(clippy::cast_precision_loss, reason = "request counts stay far below 2^53")]
    fn of(self, mut parts: Vec<Part>) -> Option<Measure> {
        parts.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let n: u64 = parts.iter().map(|part| part.0).fold(0, u64::saturating_add);
        let total: f64 = parts.iter().map(|part| part.0 as f64).sum();
        let mean = |of: fn(f64) -> f64| parts.iter().map(|(n, value, _)| *n as f64 * of(*value)).sum::<f64>() / total;
        let value = match self {
            Self::Harmonic => 1.0 / mean(f64::recip),
            Self::Geometric => mean(f64::ln).exp(),
            Self::Arithmetic => mean(|value| value),
        };
        let intervals: Option<Vec<_>> = parts.iter().map(|part| part.2).collect();
        let widest = |all: Vec<(f64, f64)>| all.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        (!parts.is_empty()).then(|| Measure { value, n, interval_90: intervals.and_then(widest) })
    }
}

impl Speeds {
    /// The combined measurements of some rows.
    fn of(rows: &[&SpeedReading]) -> Self {
        let parts = |of: fn(&SpeedReading) -> Option<f64>| -> Vec<Part> {
            rows.iter().filter_map(|row| Some((row.n, of(row)?, None))).collect()
        };
        let rates = rows.iter().filter_map(|row| Some((row.n, row.output_tps?, row.output_tps_90))).collect();
        Self {
            output_tps: Mean::Harmonic.of(rates),
            first_answer_s: Mean::Arithmetic.of(parts(|row| row.first_answer_s)),
            task_s: Mean::Geometric.of(parts(|row| row.task_s)),
        }
    }

    /// The measurement a basis speaks of.
    fn get(&self, basis: Basis) -> Option<Measure> {
        match basis {
            Basis::TaskTime => self.task_s,
            Basis::OutputSpeed => self.output_tps,
        }
    }
}

/// The speeds of every member, by key; the order of rows does not matter.
pub fn by_member(readings: &[SpeedReading]) -> BTreeMap<String, MemberSpeed> {
    let mut rows: BTreeMap<&str, BTreeMap<Option<&str>, Vec<&SpeedReading>>> = BTreeMap::new();
    for reading in readings {
        let classes = rows.entry(&reading.member).or_default();
        classes.entry(reading.class.as_deref()).or_default().push(reading);
    }
    rows.into_iter()
        .map(|(member, classes)| {
            let all: Vec<_> = classes.values().flatten().copied().collect();
            let of_class = |(class, rows): (Option<&str>, Vec<_>)| (class.map(str::to_owned), Speeds::of(&rows));
            let seen_by = all.iter().filter_map(|row| row.seen_by.clone()).collect();
            let speed =
                MemberSpeed { all: Speeds::of(&all), classes: classes.into_iter().map(of_class).collect(), seen_by };
            (member.to_owned(), speed)
        })
        .collect()
}

/// The members that are far slower than another one, each once against the one it stands furthest behind, by slow member.
pub fn spreads(members: &BTreeMap<String, MemberSpeed>, limits: &SpreadLimits) -> Vec<Spread> {
    let worst = |(slow, slow_speed): (&String, &MemberSpeed)| {
        let others = members.iter().filter(|(fast, _)| *fast != slow);
        let found = others.filter_map(|(fast, speed)| speed_spread((slow, slow_speed), (fast, speed), limits));
        found.reduce(|a, b| if b.ratio > a.ratio { b } else { a })
    };
    members.iter().filter_map(worst).collect()
}

/// Whether `slow` is far slower than `fast`: the ratio, how sure it is, and on what. `None` when it is not, when either
/// side is thin, or when they share no work.
pub fn speed_spread(slow: (&str, &MemberSpeed), fast: (&str, &MemberSpeed), limits: &SpreadLimits) -> Option<Spread> {
    let [found, fallback] =
        [Basis::TaskTime, Basis::OutputSpeed].map(|basis| Pair::of(slow.1, fast.1, basis, limits.rows));
    let pair = found.or(fallback)?;
    let certainty = match pair.lower {
        None => Certainty::PointOnly,
        Some(lower) if lower >= limits.lower => Certainty::Clear { lower },
        Some(lower) => Certainty::Short { lower },
    };
    (pair.ratio >= limits.ratio).then(|| Spread {
        slow: slow.0.to_owned(),
        fast: fast.0.to_owned(),
        ratio: pair.ratio,
        certainty,
        n: pair.n,
        basis: pair.basis,
        classes: pair.classes,
    })
}

/// Two members on the work they share.
struct Pair {
    /// What was compared.
    basis: Basis,
    /// How many times slower the first is.
    ratio: f64,
    /// Lower bound of that, if every measurement has an interval.
    lower: Option<f64>,
    /// Requests of the smaller side.
    n: u64,
    /// The classes compared.
    classes: Vec<String>,
}

impl Pair {
    /// Compares two members on one basis; `None` when a side has too few requests there or nothing is shared.
    #[expect(clippy::cast_precision_loss, reason = "request counts stay far below 2^53")]
    fn of(slow: &MemberSpeed, fast: &MemberSpeed, basis: Basis, rows: f64) -> Option<Self> {
        let shared = shared_work(slow, fast, basis);
        let count = |side: fn(&(Measure, Measure)) -> u64| shared.iter().map(|(_, pair)| side(pair)).sum::<u64>();
        let n = count(|pair| pair.0.n).min(count(|pair| pair.1.n));
        if shared.is_empty() || (n as f64) < rows {
            return None;
        }
        let weights: f64 = shared.iter().map(|(_, (slow, fast))| slow.n.min(fast.n) as f64).sum();
        let weighted = |ratio: fn(Basis, &Measure, &Measure) -> Option<f64>| -> Option<f64> {
            let logs: Option<Vec<f64>> = shared
                .iter()
                .map(|(_, (slow, fast))| Some(slow.n.min(fast.n) as f64 * ratio(basis, slow, fast)?.ln()))
                .collect();
            Some((logs?.iter().sum::<f64>() / weights).exp())
        };
        Some(Self {
            basis,
            ratio: weighted(point_ratio)?,
            lower: weighted(lower_ratio),
            n,
            classes: shared.iter().filter_map(|(class, _)| class.clone()).collect(),
        })
    }
}

/// How many times slower the first measurement is.
#[expect(clippy::unnecessary_wraps, reason = "one shape with `lower_ratio`")]
fn point_ratio(basis: Basis, slow: &Measure, fast: &Measure) -> Option<f64> {
    Some(match basis {
        Basis::TaskTime => slow.value / fast.value,
        Basis::OutputSpeed => fast.value / slow.value,
    })
}

/// The smallest ratio that both intervals allow; `None` without them.
fn lower_ratio(basis: Basis, slow: &Measure, fast: &Measure) -> Option<f64> {
    let (slow, fast) = (slow.interval_90?, fast.interval_90?);
    Some(match basis {
        Basis::TaskTime => slow.0 / fast.1,
        Basis::OutputSpeed => fast.0 / slow.1,
    })
}

/// The measurements of both sides on the work they share: class by class where every row of both names its class, else
/// all rows of either side as one.
fn shared_work(slow: &MemberSpeed, fast: &MemberSpeed, basis: Basis) -> Vec<(Option<String>, (Measure, Measure))> {
    let pair = |slow: &Speeds, fast: &Speeds| slow.get(basis).zip(fast.get(basis));
    if slow.classes.contains_key(&None) || fast.classes.contains_key(&None) {
        return pair(&slow.all, &fast.all).map(|pair| (None, pair)).into_iter().collect();
    }
    slow.classes
        .iter()
        .filter_map(|(class, speeds)| Some((class.clone(), pair(speeds, fast.classes.get(class)?)?)))
        .collect()
}

#[cfg(test)]
mod tests;
