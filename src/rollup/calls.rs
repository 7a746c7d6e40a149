//! Calls of session stores as rows of the rollup table, priced where every kind of token they used has a rate.

use chrono::{DateTime, Utc};

use super::table::{RollupKey, RollupRow, merge};
use crate::vocabulary::{CallRow, Prices, Usd, UsdSquared, as_number, used};

/// What short and long cache writes cost, as multiples of the input price (reference sessions §7.4).
const WRITE_1H: f64 = 2.0;
/// See [`WRITE_1H`].
const WRITE_5M: f64 = 1.25;
/// Tokens of a price.
const MILLION: f64 = 1e6;

/// A call row whose pool is settled, with the price of its day where one is known.
#[derive(Debug, Clone)]
pub struct Priced<'a> {
    /// The calls.
    pub row: &'a CallRow,
    /// Their pool; `None` when none can be named.
    pub pool: Option<String>,
    /// List prices; `None` is unknown.
    pub prices: Option<Prices>,
}

/// The rollup rows of calls, sorted by key. Calls without a time stand on `undated`.
pub fn of_calls<'a>(calls: impl IntoIterator<Item = Priced<'a>>, undated: DateTime<Utc>) -> Vec<RollupRow> {
    merge(calls.into_iter().map(|call| row(&call, undated)))
}

/// One call row as a rollup row.
fn row(call: &Priced<'_>, undated: DateTime<Utc>) -> RollupRow {
    let CallRow { key, sums } = call.row;
    let (first_at, last_at) = sums.span.unwrap_or((undated, undated));
    let key = RollupKey {
        day: key.day.unwrap_or_else(|| undated.date_naive()),
        pool: call.pool.clone().unwrap_or_default(),
        provider: key.provider.clone(),
        model: key.model.clone(),
        effort: key.effort.clone().unwrap_or_else(|| "unrecorded".to_owned()),
        mode: if key.is_fast { "fast" } else { "standard" }.to_owned(),
        home: key.home.clone(),
        task_class: key.task_class.clone(),
        epoch: String::new(),
        source: key.source.as_str().to_owned(),
    };
    let mut row = RollupRow { first_at, last_at, ..RollupRow::empty(key, first_at) };
    row.sums.attempts = sums.calls;
    row.sums.infra = sums.infra;
    row.sums.unknown = sums.calls - sums.infra;
    let usage = &mut row.usage;
    usage.responses = sums.responses;
    usage.output_incomplete = sums.output_incomplete;
    usage.input_tokens = sums.input_tokens;
    usage.cache_read_tokens = sums.cache_read_tokens;
    usage.cache_write_tokens = sums.cache_write_tokens;
    usage.output_tokens = sums.output_tokens;
    usage.reasoning_tokens = sums.reasoning_tokens;
    usage.speed_output_tokens = sums.timed.iter().map(|timed| timed.output).sum();
    usage.busy_ms = sums.timed.iter().map(|timed| timed.ms).sum();
    usage.n_speed = sums.timed.len() as u64;
    usage.retries = sums.retries;
    usage.quota_hits = sums.quota_hits;
    (row.sums.cost, row.usage.cost_squares, row.sums.n_cost) = cost(call);
    row
}

/// Cost, sum of its squares, and how many responses have one: as billed where anything is billed, else by price.
#[expect(clippy::cast_precision_loss, reason = "token counts fit an f64 exactly")]
fn cost(call: &Priced<'_>) -> (Usd, UsdSquared, u64) {
    let CallRow { key, sums } = call.row;
    if sums.n_cost > 0 || sums.responses == 0 {
        return (sums.cost, sums.cost_squares, sums.n_cost);
    }
    let unknown = (Usd::default(), UsdSquared::default(), 0);
    let Some(prices) = call.prices.filter(is_price) else { return unknown };
    if key.kinds & used::WRITE_UNKNOWN != 0 {
        return unknown;
    }
    let write = |share: f64| as_number(prices.input).map(|input| input * share);
    let short = sums.cache_write_tokens - sums.cache_write_1h_tokens - sums.cache_write_unknown_tokens;
    let parts = [
        (sums.input_tokens, as_number(prices.input)),
        (sums.cache_read_tokens, as_number(prices.cache_read)),
        (short, write(WRITE_5M)),
        (sums.cache_write_1h_tokens, write(WRITE_1H)),
        (sums.output_tokens, as_number(prices.output)),
    ];
    let cost = parts
        .iter()
        .filter(|(tokens, _)| *tokens > 0)
        .try_fold(0.0, |sum, (tokens, price)| price.map(|price| sum + *tokens as f64 * price / MILLION));
    cost.map_or(unknown, |cost| (Usd::of(cost), UsdSquared::of(cost * cost / sums.responses as f64), sums.responses))
}

/// Whether any rate is above 0: a row of zeros is no price.
fn is_price(prices: &Prices) -> bool {
    [prices.input, prices.output].into_iter().flatten().any(|rate| !rate.is_zero())
}
