//! Calls of session stores as rows of the rollup table, priced where every kind of token they used has a rate.

use chrono::{DateTime, Utc};

use super::table::{RollupKey, RollupRow, merge};
use crate::vocabulary::{Bill, CallRow, Prices, Usd, UsdSquared, used};

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
    merge(calls.into_iter().map(|call| of_call(&call, undated)))
}

/// One call row as a rollup row.
pub fn of_call(call: &Priced<'_>, undated: DateTime<Utc>) -> RollupRow {
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

/// Cost, sum of its squares, and how many responses have one: as billed where the store states a bill, else by price.
#[expect(clippy::cast_precision_loss, reason = "counts fit an f64 exactly")]
fn cost(call: &Priced<'_>) -> (Usd, UsdSquared, u64) {
    let CallRow { key, sums } = call.row;
    let billed = (sums.cost, sums.cost_squares, sums.n_cost);
    let is_open = key.charge.bill == Bill::Unstated && key.charge.kinds & used::WRITE_UNKNOWN == 0;
    let prices = call.prices.filter(|prices| is_open && sums.responses > 0 && is_price(prices, &key.model));
    let short = sums.cache_write_tokens - sums.cache_write_1h_tokens - sums.cache_write_unknown_tokens;
    let tokens = [sums.input_tokens, sums.cache_read_tokens, short, sums.cache_write_1h_tokens, sums.output_tokens];
    prices.and_then(|prices| prices.cost(tokens)).map_or(billed, |cost| {
        let usd = cost.to_f64();
        (cost, UsdSquared::of(usd * usd / sums.responses as f64), sums.responses)
    })
}

/// Whether prices are some: a row of zeros is none, but for an offer that calls itself free.
fn is_price(prices: &Prices, model: &str) -> bool {
    !prices.is_free() || model.ends_with(":free")
}
