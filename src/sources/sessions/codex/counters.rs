//! What a `token_count` of Codex says: cumulative counters and rate-limit windows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sources::sessions::claude_code::NO_TIME;
use crate::sources::sessions::file::each_field;
use crate::sources::sessions::skim::{Odd, text, whole};

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
        b"input_tokens" => values[0] = whole(value),
        b"cached_input_tokens" => values[1] = whole(value),
        b"output_tokens" => values[2] = whole(value),
        b"reasoning_output_tokens" => values[3] = whole(value),
        b"total_tokens" => stated = Some(whole(value)),
        _ => {}
    })?;
    let stated = stated.unwrap_or_else(|| values[0].saturating_add(values[2]));
    Ok(Some(Counters { values, stated }))
}

/// The last state of a rate-limit window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitWindow {
    /// `5h`, `weekly`, or the length in minutes.
    pub window: String,
    /// When it was seen, epoch milliseconds.
    pub captured_at: i64,
    /// Used percent.
    pub used_percent: f64,
    /// Unix seconds of its reset; `None` when not stated.
    pub resets_at: Option<i64>,
}

/// Remembers the windows of a rate-limit object. Null leaves what is known as it was.
pub(super) fn remember_limits(windows: &mut Vec<LimitWindow>, value: &[u8], at: i64) {
    if value.first() != Some(&b'{') || at == NO_TIME {
        return;
    }
    let limits: Value = serde_json::from_slice(value).unwrap_or_default();
    for slot in ["primary", "secondary"] {
        let slot = &limits[slot];
        let (Some(used), Some(minutes)) = (slot["used_percent"].as_f64(), slot["window_minutes"].as_f64()) else {
            continue;
        };
        let window = window_name(minutes);
        let resets_at = slot["resets_at"]
            .as_i64()
            .or_else(|| slot["resets_in_seconds"].as_i64().map(|seconds| at.div_euclid(1000).saturating_add(seconds)));
        windows.retain(|known| known.window != window);
        windows.push(LimitWindow { window, captured_at: at, used_percent: used, resets_at });
    }
}

/// A window by its length, within 2 %, never by its slot.
fn window_name(minutes: f64) -> String {
    let is_near = |length: f64| (minutes - length).abs() <= length * 0.02;
    if is_near(300.0) {
        "5h".to_owned()
    } else if is_near(10_080.0) {
        "weekly".to_owned()
    } else {
        format!("{minutes} min")
    }
}
