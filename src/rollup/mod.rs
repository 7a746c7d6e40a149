//! Attempts and calls as sufficient statistics: per member and class for a review, per day for the table that travels
//! (reference sessions §6), as CSV or Parquet, out and in. Counts and sums add; distinct tasks add only over parts that share no task.

mod attempts;
mod calls;
mod files;
mod frame;
mod kept;
mod parquet;
mod speed;
mod table;
mod view;

use chrono::{Datelike as _, NaiveDate};

use self::frame::{Attempt, Group};
use crate::vocabulary::Outcome;

pub use self::attempts::{daily, with_sitter};
pub use self::calls::{Priced, of_calls};
pub use self::files::{ReadRows, read_csv, read_file, write_csv};
pub use self::kept::{better_kept, with_kept};
pub use self::parquet::{read_parquet, write_parquet};
pub use self::speed::{MIN_TIMED, Rate, first_token_s};
pub use self::table::{COLUMNS, Column, FORMAT_VERSION, RollupKey, RollupRow, Usage, merge};
pub use self::view::{Dimension, Line, Part, View, view};

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

/// The day of a day number.
fn date(days: i64) -> NaiveDate {
    i32::try_from(days).ok().and_then(NaiveDate::from_num_days_from_ce_opt).expect("the number came from a day")
}
