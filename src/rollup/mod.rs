//! Attempt rows as sufficient statistics: per member and class for a review, per day for the table that travels
//! (reference sessions §6). Counts and sums add; distinct tasks add only over parts that share no task.

mod frame;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};

use self::frame::{Attempt, Group};
use crate::vocabulary::{Outcome, ScorecardRow};

/// One attempt whose pool, member and class are settled.
#[derive(Debug, Clone, PartialEq)]
pub struct RollupInput {
    /// The pool it counts for.
    pub pool: String,
    /// The member's key.
    pub member: String,
    /// Its task class.
    pub class: String,
    /// Its task.
    pub task: String,
    /// The UTC day it ended on.
    pub day: NaiveDate,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it is too young to be scored: it is counted as such and stands in no other column.
    pub immature: bool,
    /// Wall time in seconds.
    pub duration_s: Option<f64>,
    /// Cost as billed.
    pub cost_usd: Option<f64>,
}

/// Counts and sums over some attempts. Everything but `immature` and `tasks` is over mature attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Task attempts, immature ones included.
    pub attempts: u64,
    /// Those that did the task.
    pub successes: u64,
    /// Those that did not.
    pub failures: u64,
    /// Those lost to the infrastructure.
    pub infra: u64,
    /// Those without a verdict.
    pub unknown: u64,
    /// Those too young to be scored.
    pub immature: u64,
    /// Distinct tasks of all attempts.
    pub tasks: u64,
    /// Distinct tasks of successes and failures.
    pub scored_tasks: u64,
    /// Distinct days of successes and failures.
    pub scored_days: u64,
    /// Sum of ln seconds over successes and failures with a duration above 0.
    pub sum_ln_duration: f64,
    /// Sum of its square.
    pub sum_ln_duration_sq: f64,
    /// How many those are.
    pub n_duration: u64,
    /// Cost of the attempts whose cost is known, USD.
    pub cost_usd: f64,
    /// How many those are.
    pub n_cost: u64,
}

/// What one member did in one pool and class.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberTally {
    /// The pool.
    pub pool: String,
    /// The member's key.
    pub member: String,
    /// The task class.
    pub class: String,
    /// Day of the first attempt.
    pub first_day: NaiveDate,
    /// Day of the last attempt.
    pub last_day: NaiveDate,
    /// Counts and sums.
    pub sums: Sums,
}

/// Tallies of attempts by (pool, member, class), sorted by that key. The order of rows changes no bit.
pub fn by_member(rows: &[RollupInput]) -> Vec<MemberTally> {
    let attempts: Vec<_> = rows.iter().map(Attempt::of_input).collect();
    frame::group(["pool", "member", "class"], &attempts)
        .into_iter()
        .map(|Group { key: [pool, member, class], first, last, sums }| MemberTally {
            pool,
            member,
            class,
            first_day: date(first),
            last_day: date(last),
            sums,
        })
        .collect()
}

/// One row of the rollup table: what one member, as the source spells it, did on one day.
#[derive(Debug, Clone, PartialEq)]
pub struct RollupRow {
    /// UTC day.
    pub day: NaiveDate,
    /// Pool; empty when not stated.
    pub pool: String,
    /// Provider as written.
    pub provider: String,
    /// Model as written.
    pub model: String,
    /// Effort; `unrecorded` when not stated.
    pub effort: String,
    /// Home; empty when not stated.
    pub home: String,
    /// Task class.
    pub task_class: String,
    /// End of the first attempt.
    pub first_at: DateTime<Utc>,
    /// End of the last attempt.
    pub last_at: DateTime<Utc>,
    /// Counts and sums.
    pub sums: Sums,
}

/// The rollup table of scorecards, sorted by its key. Attempts that ended after `mature_until` are immature.
pub fn daily(rows: &[ScorecardRow], mature_until: DateTime<Utc>) -> Vec<RollupRow> {
    let days: Vec<_> = rows.iter().map(|row| row.finished_at.date_naive().to_string()).collect();
    let attempts: Vec<_> =
        rows.iter().zip(&days).map(|(row, day)| Attempt::of_scorecard(row, day, mature_until)).collect();
    frame::group(["day", "pool", "provider", "model", "effort", "home", "task_class"], &attempts)
        .into_iter()
        .map(|Group { key: [_, pool, provider, model, effort, home, task_class], first, last, sums }| {
            let (first_at, last_at) = (instant(first), instant(last));
            let day = first_at.date_naive();
            RollupRow { day, pool, provider, model, effort, home, task_class, first_at, last_at, sums }
        })
        .collect()
}

impl<'a> Attempt<'a, 3> {
    /// An attempt from a settled row; its time is its day.
    fn of_input(row: &'a RollupInput) -> Self {
        Self {
            key: [&row.pool, &row.member, &row.class],
            task: &row.task,
            day: row.day.num_days_from_ce(),
            at: i64::from(row.day.num_days_from_ce()),
            outcome: (!row.immature).then_some(row.outcome),
            duration_s: row.duration_s,
            cost_usd: row.cost_usd,
        }
    }
}

impl<'a> Attempt<'a, 7> {
    /// An attempt from a scorecard row; its time is its end in microseconds.
    fn of_scorecard(row: &'a ScorecardRow, day: &'a str, mature_until: DateTime<Utc>) -> Self {
        Self {
            key: [
                day,
                row.pool.as_ref().map_or("", |pool| pool.as_str()),
                row.provider.as_str(),
                &row.model,
                row.effort.as_ref().map_or("unrecorded", |effort| effort.as_str()),
                row.home.as_ref().map_or("", |home| home.as_str()),
                &row.task_class,
            ],
            task: &row.task_id,
            day: row.finished_at.num_days_from_ce(),
            at: row.finished_at.timestamp_micros(),
            outcome: (row.finished_at <= mature_until).then_some(row.outcome),
            duration_s: row.duration_s,
            cost_usd: row.cost_usd,
        }
    }
}

/// The day of a day number.
fn date(days: i64) -> NaiveDate {
    i32::try_from(days).ok().and_then(NaiveDate::from_num_days_from_ce_opt).expect("the number came from a day")
}

/// The instant of a count of microseconds.
fn instant(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).expect("the number came from an instant")
}
