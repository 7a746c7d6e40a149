//! The rollup table: what every session reader ends in. Rows add.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};

use super::Sums;
use crate::vocabulary::{Usd, UsdSquared};

/// What a row is about. Rows of one key add.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RollupKey {
    /// UTC day.
    pub day: NaiveDate,
    /// Pool; empty when not known.
    pub pool: String,
    /// Provider as written; empty when not known.
    pub provider: String,
    /// Model as written.
    pub model: String,
    /// Effort; `unrecorded` when not stated.
    pub effort: String,
    /// `standard` or `fast`.
    pub mode: String,
    /// Home; empty when not known.
    pub home: String,
    /// Task class.
    pub task_class: String,
    /// Harness or prompt version; empty when not stated.
    pub epoch: String,
    /// What it was read from.
    pub source: String,
}

/// Tokens, times and mishaps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Calls with tokens.
    pub responses: u64,
    /// Responses whose output is a lower bound.
    pub output_incomplete: u64,
    /// Input without cache.
    pub input_tokens: u64,
    /// Read from cache.
    pub cache_read_tokens: u64,
    /// Written to cache.
    pub cache_write_tokens: u64,
    /// Output with reasoning.
    pub output_tokens: u64,
    /// Reasoning, where stated.
    pub reasoning_tokens: u64,
    /// Output of the timed responses.
    pub speed_output_tokens: u64,
    /// Their busy time, milliseconds.
    pub busy_ms: u64,
    /// How many those are.
    pub n_speed: u64,
    /// Sum of squared costs.
    pub cost_squares: UsdSquared,
    /// Attempts cut off at their time limit.
    pub n_censored: u64,
    /// Retries.
    pub retries: u64,
    /// Times a session stood still.
    pub stalls: u64,
    /// Kills and timeouts.
    pub kills: u64,
    /// Limit messages.
    pub quota_hits: u64,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct RollupRow {
    /// What it is about.
    pub key: RollupKey,
    /// The first attempt or call.
    pub first_at: DateTime<Utc>,
    /// The last one.
    pub last_at: DateTime<Utc>,
    /// Outcomes, durations and cost.
    pub sums: Sums,
    /// Tokens, times and mishaps.
    pub usage: Usage,
}

/// A kind of column.
#[derive(Debug, Clone, Copy)]
pub enum Column {
    /// Text of the key.
    Text(fn(&mut RollupRow) -> &mut String),
    /// A count.
    Count(fn(&mut RollupRow) -> &mut u64),
    /// An amount.
    Amount(fn(&mut RollupRow) -> &mut f64),
    /// Milliseconds, shown in seconds.
    Seconds(fn(&mut RollupRow) -> &mut u64),
    /// Dollars.
    Usd(fn(&mut RollupRow) -> &mut Usd),
    /// Squared dollars.
    UsdSquared(fn(&mut RollupRow) -> &mut UsdSquared),
}

/// Every column beside `day`, `first_at`, `last_at`, `as_of` and `format_version`, in the order of the table.
pub const COLUMNS: [(&str, Column); 39] = [
    ("pool", Column::Text(|row| &mut row.key.pool)),
    ("provider", Column::Text(|row| &mut row.key.provider)),
    ("model", Column::Text(|row| &mut row.key.model)),
    ("effort", Column::Text(|row| &mut row.key.effort)),
    ("mode", Column::Text(|row| &mut row.key.mode)),
    ("home", Column::Text(|row| &mut row.key.home)),
    ("task_class", Column::Text(|row| &mut row.key.task_class)),
    ("epoch", Column::Text(|row| &mut row.key.epoch)),
    ("source", Column::Text(|row| &mut row.key.source)),
    ("attempts", Column::Count(|row| &mut row.sums.attempts)),
    ("successes", Column::Count(|row| &mut row.sums.successes)),
    ("failures", Column::Count(|row| &mut row.sums.failures)),
    ("infra", Column::Count(|row| &mut row.sums.infra)),
    ("unknown", Column::Count(|row| &mut row.sums.unknown)),
    ("immature", Column::Count(|row| &mut row.sums.immature)),
    ("tasks", Column::Count(|row| &mut row.sums.tasks)),
    ("scored_tasks", Column::Count(|row| &mut row.sums.scored_tasks)),
    ("scored_days", Column::Count(|row| &mut row.sums.scored_days)),
    ("responses", Column::Count(|row| &mut row.usage.responses)),
    ("output_incomplete", Column::Count(|row| &mut row.usage.output_incomplete)),
    ("sum_ln_duration", Column::Amount(|row| &mut row.sums.sum_ln_duration)),
    ("sum_ln_duration_sq", Column::Amount(|row| &mut row.sums.sum_ln_duration_sq)),
    ("n_duration", Column::Count(|row| &mut row.sums.n_duration)),
    ("n_censored", Column::Count(|row| &mut row.usage.n_censored)),
    ("input_tokens", Column::Count(|row| &mut row.usage.input_tokens)),
    ("cache_read_tokens", Column::Count(|row| &mut row.usage.cache_read_tokens)),
    ("cache_write_tokens", Column::Count(|row| &mut row.usage.cache_write_tokens)),
    ("output_tokens", Column::Count(|row| &mut row.usage.output_tokens)),
    ("reasoning_tokens", Column::Count(|row| &mut row.usage.reasoning_tokens)),
    ("speed_output_tokens", Column::Count(|row| &mut row.usage.speed_output_tokens)),
    ("busy_s", Column::Seconds(|row| &mut row.usage.busy_ms)),
    ("n_speed", Column::Count(|row| &mut row.usage.n_speed)),
    ("cost_usd", Column::Usd(|row| &mut row.sums.cost)),
    ("sum_cost_sq", Column::UsdSquared(|row| &mut row.usage.cost_squares)),
    ("n_cost", Column::Count(|row| &mut row.sums.n_cost)),
    ("retries", Column::Count(|row| &mut row.usage.retries)),
    ("stalls", Column::Count(|row| &mut row.usage.stalls)),
    ("kills", Column::Count(|row| &mut row.usage.kills)),
    ("quota_hits", Column::Count(|row| &mut row.usage.quota_hits)),
];

/// The version of this table.
pub const FORMAT_VERSION: u64 = 1;

impl RollupRow {
    /// A row of nothing.
    pub fn empty(key: RollupKey, at: DateTime<Utc>) -> Self {
        Self { key, first_at: at, last_at: at, sums: Sums::default(), usage: Usage::default() }
    }

    /// Adds another row of the same key.
    pub fn add(&mut self, other: &Self) {
        self.first_at = self.first_at.min(other.first_at);
        self.last_at = self.last_at.max(other.last_at);
        let mut other = other.clone();
        for (_, column) in COLUMNS {
            match column {
                Column::Text(_) => {}
                Column::Count(field) | Column::Seconds(field) => {
                    let sum = field(self).saturating_add(*field(&mut other));
                    *field(self) = sum;
                }
                Column::Amount(field) => *field(self) += *field(&mut other),
                Column::Usd(field) => field(self).add(*field(&mut other)),
                Column::UsdSquared(field) => field(self).add(*field(&mut other)),
            }
        }
    }

    /// Effective output tokens per second: ratio of sums over the timed responses; `None` without any.
    #[expect(clippy::cast_precision_loss, reason = "token counts and milliseconds fit an f64 exactly")]
    pub fn effective_tps(&self) -> Option<f64> {
        (self.usage.busy_ms > 0).then(|| self.usage.speed_output_tokens as f64 * 1000.0 / self.usage.busy_ms as f64)
    }

    /// What is known of the cost, USD: at least this. `None` when nothing is, which is not 0.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.sums.n_cost > 0 || self.sums.cost > Usd::default()).then(|| self.sums.cost.to_f64())
    }

    /// Share of responses whose cost is known; `None` without responses.
    #[expect(clippy::cast_precision_loss, reason = "counts fit an f64 exactly")]
    pub fn priced_share(&self) -> Option<f64> {
        (self.usage.responses > 0).then(|| self.sums.n_cost as f64 / self.usage.responses as f64)
    }
}

/// Rows with those of one key added, sorted by key. Counts and dollars add exactly; the sums of logarithms are floats and are added
/// in the order of their values, so that the order of rows changes no bit of any column.
pub fn merge(rows: impl IntoIterator<Item = RollupRow>) -> Vec<RollupRow> {
    let mut merged: BTreeMap<RollupKey, RollupRow> = BTreeMap::new();
    let mut rows: Vec<RollupRow> = rows.into_iter().collect();
    rows.sort_by(by_logarithms);
    for row in rows {
        match merged.get_mut(&row.key) {
            Some(sum) => sum.add(&row),
            None => {
                merged.insert(row.key.clone(), row);
            }
        }
    }
    merged.into_values().collect()
}

/// The order in which rows are added: their floats, the sums of logarithms, are then added in the order of their values.
pub(super) fn by_logarithms(a: &RollupRow, b: &RollupRow) -> Ordering {
    let (a, b) = (&a.sums, &b.sums);
    let first = a.sum_ln_duration.total_cmp(&b.sum_ln_duration);
    first.then(a.sum_ln_duration_sq.total_cmp(&b.sum_ln_duration_sq))
}
