//! Our own rows of one pool, as small as they go: who did which task when, what became of it, how long it took and what it
//! used. Sums run in one fixed order, so that the order of rows changes no bit.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::rates::RawRate;
use super::statistics::drift::DriftClass;
use super::statistics::weight::{RowWeights, row_weight};
use crate::vocabulary::{Outcome, ScorecardRow, TaskTokens};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// One attempt of one member at one task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnRow {
    /// End, seconds of the epoch.
    pub ended_s: i64,
    /// The task, as a hash of its id.
    pub task: u64,
    /// Number of the attempt.
    pub attempt: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// Minutes it took, above 0.
    pub minutes: Option<f64>,
    /// Whether it ended at its time limit.
    pub is_cut_off: bool,
    /// Tokens it used.
    pub tokens: Option<TaskTokens>,
    /// Behaviour epoch, as a hash; 0 is not stated.
    pub epoch: u64,
}

impl OwnRow {
    /// A row from a scorecard.
    pub fn of(row: &ScorecardRow) -> Self {
        Self {
            ended_s: row.finished_at.timestamp(),
            task: hash(&row.task_id),
            attempt: row.attempt,
            outcome: row.outcome,
            minutes: row.duration_s.map(|seconds| seconds / 60.0).filter(|minutes| *minutes > 0.0),
            is_cut_off: row.is_cut_off,
            tokens: tokens_of(&row.tokens),
            epoch: if row.epoch.is_empty() { 0 } else { hash(&row.epoch).max(1) },
        }
    }

    /// Success, failure, or no verdict about the member.
    pub fn success(&self) -> Option<bool> {
        match self.outcome {
            Outcome::Success => Some(true),
            Outcome::Failure => Some(false),
            Outcome::Infra | Outcome::Unknown => None,
        }
    }

    /// The order in which rows are summed.
    fn order(&self) -> impl Ord + use<> {
        let tokens = self.tokens.unwrap_or_default();
        (
            (self.ended_s, self.task, self.attempt, self.outcome as u8),
            self.minutes.map(f64::to_bits),
            (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output, self.epoch),
        )
    }
}

/// The tokens of a row that states any; a kind that is not stated beside others that are is 0.
fn tokens_of(stated: &[Option<u64>; 4]) -> Option<TaskTokens> {
    let [input, cache_read, cache_write, output] = stated.map(Option::unwrap_or_default);
    stated.iter().any(Option::is_some).then_some(TaskTokens { input, cache_read, cache_write, output })
}

/// FNV-1a over 64 bits: the same on every machine and in every version.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Rows of one member by task class.
pub type MemberRows = BTreeMap<String, Vec<OwnRow>>;

/// Puts the rows of a member in the order in which they are summed.
pub fn settle(rows: &mut MemberRows) {
    for rows in rows.values_mut() {
        rows.sort_by_key(OwnRow::order);
    }
}

/// When a row counts, at one review.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowClock {
    /// The review instant, seconds of the epoch.
    pub now_s: i64,
    /// Younger rows are not scored, hours.
    pub mature_hours: f64,
    /// How rows are weighted.
    pub weights: RowWeights,
}

impl RowClock {
    /// The clock of a review.
    pub fn new(now: DateTime<Utc>, mature_hours: f64, weights: RowWeights) -> Self {
        Self { now_s: now.timestamp(), mature_hours, weights }
    }

    /// Age of a row in days.
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    pub fn age_days(&self, ended_s: i64) -> f64 {
        (self.now_s - ended_s) as f64 / DAY_S
    }

    /// Whether a row is too young to be scored.
    pub fn is_immature(&self, ended_s: i64) -> bool {
        self.age_days(ended_s) * 24.0 < self.mature_hours
    }
}

/// A row with what it counts for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighted {
    /// The row; it is mature and has a verdict.
    pub row: OwnRow,
    /// Whether it succeeded.
    pub success: bool,
    /// Its weight now.
    pub weight: f64,
}

/// The scored rows of one member by class, with their weights. Attempts at one task are counted over all classes.
pub fn weighted(rows: &MemberRows, clock: &RowClock) -> BTreeMap<String, Vec<Weighted>> {
    let scored = || rows.values().flatten().filter(|row| row.success().is_some() && !clock.is_immature(row.ended_s));
    let mut attempts: BTreeMap<u64, u64> = BTreeMap::new();
    for row in scored() {
        *attempts.entry(row.task).or_default() += 1;
    }
    let epoch_start = epoch_start(rows);
    let weigh = |row: &OwnRow| {
        let success = row.success().filter(|_| !clock.is_immature(row.ended_s))?;
        let is_before = epoch_start.is_some_and(|start| row.ended_s < start);
        let weight = row_weight(clock.age_days(row.ended_s), attempts[&row.task], is_before, &clock.weights).ok()?;
        Some(Weighted { row: *row, success, weight })
    };
    rows.iter().map(|(class, rows)| (class.clone(), rows.iter().filter_map(weigh).collect())).collect()
}

/// When the behaviour epoch in force began: the first row of the epoch that the newest row states.
fn epoch_start(rows: &MemberRows) -> Option<i64> {
    let stated = || rows.values().flatten().filter(|row| row.epoch != 0);
    let newest = stated().max_by_key(|row| (row.ended_s, row.epoch))?.epoch;
    stated().filter(|row| row.epoch == newest).map(|row| row.ended_s).min()
}

/// Raw counts of some rows.
pub fn raw_rate(rows: &[OwnRow], clock: &RowClock) -> RawRate {
    let mut rate = RawRate::default();
    let (mut tasks, mut days) = (Vec::new(), Vec::new());
    for row in rows {
        match (clock.is_immature(row.ended_s), row.outcome) {
            (true, _) => rate.immature += 1,
            (false, Outcome::Success) => rate.successes += 1,
            (false, Outcome::Failure) => rate.failures += 1,
            (false, Outcome::Infra) => rate.infra += 1,
            (false, Outcome::Unknown) => rate.unknown += 1,
        }
        if !clock.is_immature(row.ended_s) && row.success().is_some() {
            tasks.push(row.task);
            days.push(row.ended_s.div_euclid(86_400));
        }
    }
    rate.tasks = distinct(tasks);
    rate.days = distinct(days);
    rate
}

/// How many different values there are.
fn distinct<T: Ord>(mut values: Vec<T>) -> u64 {
    values.sort_unstable();
    values.dedup();
    values.len() as u64
}

/// Days of the recent span of the drift note, and of the span before it.
const DRIFT_DAYS: (f64, f64) = (7.0, 35.0);

/// Raw successes and rows of the last 7 days against the 28 before, by class (methods §10).
pub fn drift_classes(rows: &MemberRows, clock: &RowClock) -> Vec<DriftClass> {
    let add = |side: &mut (f64, f64), success: bool| {
        side.0 += f64::from(u8::from(success));
        side.1 += 1.0;
    };
    let class = |rows: &Vec<OwnRow>| {
        let mut class = DriftClass::default();
        for row in rows.iter().filter(|row| !clock.is_immature(row.ended_s)) {
            let (Some(success), age) = (row.success(), clock.age_days(row.ended_s)) else { continue };
            if age <= DRIFT_DAYS.0 {
                add(&mut class.recent, success);
            } else if age <= DRIFT_DAYS.1 {
                add(&mut class.before, success);
            }
        }
        class
    };
    rows.values().map(class).collect()
}
