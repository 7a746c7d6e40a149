//! Attempts and calls as sufficient statistics: per member and class for a review, per day for the table that travels
//! (reference sessions §6), as CSV or Parquet, out and in. Counts and sums add; distinct tasks add only over parts that share no task.

mod attempts;
mod calls;
mod files;
mod frame;
mod kept;
mod parquet;
mod records;
mod speed;
mod table;
mod view;

pub use self::attempts::{daily, with_sitter};
pub use self::calls::{Priced, of_call, of_calls};
pub use self::files::{ReadRows, read_csv, read_file, write_csv};
pub use self::kept::{better_kept, with_kept};
pub use self::parquet::{read_parquet, write_parquet};
pub use self::speed::{MIN_TIMED, Rate, first_token_s};
pub use self::table::{COLUMNS, Column, FORMAT_VERSION, RollupKey, RollupRow, Usage, merge};
pub use self::view::{Dimension, Line, Part, View, view};
use crate::vocabulary::Usd;

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
    /// Cost of the attempts whose cost is known.
    pub cost: Usd,
    /// How many those are.
    pub n_cost: u64,
}
