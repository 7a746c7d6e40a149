//! What a `token_count` of Codex says of cumulative counters.

use crate::sources::sessions::file::each_field;
use crate::sources::sessions::skim::{Odd, text, whole};

/// Largest counter that is believed: no sum of a store overflows.
const MOST: u64 = 1_000_000_000_000_000;

/// Counters as one object states them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counters {
    /// Input, cached, output, reasoning.
    pub(super) values: [u64; 4],
    /// Stated total; input + output when not stated.
    pub(super) stated: u64,
}

/// What a `token_count` says.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Cumulative counters.
    pub(super) total: Option<Counters>,
    /// Those of the last response.
    pub(super) last: Option<Counters>,
    /// The model, where it is stated.
    pub(super) model: Option<String>,
}

impl Count {
    /// The counters of an `info` object; nothing of any other value.
    pub(super) fn of(info: &[u8]) -> Result<Self, Odd> {
        let mut count = Self::default();
        if info.first() != Some(&b'{') {
            return Ok(count);
        }
        let (mut total, mut last): (&[u8], &[u8]) = (b"", b"");
        each_field(info, |key, value| match key {
            b"total_token_usage" => total = value,
            b"last_token_usage" => last = value,
            b"model" => count.model = text(value).map(std::borrow::Cow::into_owned),
            _ => {}
        })?;
        count.total = counters(total)?;
        count.last = counters(last)?;
        Ok(count)
    }
}

/// The counters of an object; nothing of any other value.
fn counters(value: &[u8]) -> Result<Option<Counters>, Odd> {
    if value.first() != Some(&b'{') {
        return Ok(None);
    }
    let mut values = [0; 4];
    let mut stated = None;
    each_field(value, |key, value| match key {
        b"input_tokens" => values[0] = whole(value).min(MOST),
        b"cached_input_tokens" => values[1] = whole(value).min(MOST),
        b"output_tokens" => values[2] = whole(value).min(MOST),
        b"reasoning_output_tokens" => values[3] = whole(value).min(MOST),
        b"total_tokens" => stated = Some(whole(value).min(MOST)),
        _ => {}
    })?;
    let stated = stated.unwrap_or_else(|| values[0].saturating_add(values[2]));
    Ok(Some(Counters { values, stated }))
}
