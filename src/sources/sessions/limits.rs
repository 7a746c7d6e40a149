//! Rate-limit windows that clients log beside their counts (references sessions §2, quota §1): told by their length, never
//! by the slot they stand in, each with the instant at which the vendor's value was seen.

use std::collections::BTreeMap;

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::groups::instant;
use crate::vocabulary::{HomeId, LimitReading, LimitedWindow, Place};

/// Larger numbers count milliseconds since the epoch, not seconds.
const MILLISECONDS_FROM: i64 = 1_000_000_000_000;
/// The limit that every surface of an account shares, as clients name it; older ones name none.
const MAIN: &str = "codex";
/// Most windows of a file that are kept, the last: an account has a handful.
const MOST_WINDOWS: usize = 64;
/// Share of full use that is no rest.
const FULL_PERCENT: f64 = 100.0;

/// The last state of a rate-limit window in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitWindow {
    /// `5h`, `weekly`, the length in minutes, or `unknown`.
    pub window: String,
    /// Length in seconds; `None` when not stated.
    pub seconds: Option<i64>,
    /// When it was seen, epoch milliseconds.
    pub captured_at: i64,
    /// Number of its record in the file, counted from 1.
    pub record: u64,
    /// Used percent; `None` when not stated.
    pub used_percent: Option<f64>,
    /// Unix seconds of its reset; `None` when not stated.
    pub resets_at: Option<i64>,
    /// The limit it belongs to; `None` is the one that every surface shares.
    pub limit_id: Option<String>,
    /// The plan of the seat, where it is stated.
    pub plan_type: Option<String>,
    /// Models that a limit of its own binds: as the limit is called, and the model in force.
    pub models: Vec<String>,
    /// Whether the record says that this limit is reached although less than all is used.
    pub is_rejected: bool,
    /// Whether a live task had begun before: what stands earlier in a fork may be copied.
    pub is_live: bool,
}

/// Where and under what a rate-limit object was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    /// When, epoch milliseconds.
    pub(super) at: i64,
    /// Number of the record, counted from 1.
    pub(super) record: u64,
    /// Model in force.
    pub(super) model: Option<&'a str>,
    /// Whether a live task had begun.
    pub(super) is_live: bool,
}

/// Remembers the windows of a rate-limit object. Null, and an object without a window, leave what is known as it was.
pub(super) fn remember(windows: &mut Vec<LimitWindow>, object: &[u8], seen: Seen<'_>) {
    if object.first() != Some(&b'{') {
        return;
    }
    let limits: Value = serde_json::from_str(&String::from_utf8_lossy(object)).unwrap_or_default();
    let mut found: Vec<LimitWindow> =
        ["primary", "secondary"].iter().filter_map(|slot| window(&limits[slot], &limits, seen)).collect();
    let is_spent = found.iter().any(|window| window.used_percent.is_some_and(|used| used >= FULL_PERCENT));
    if limits["rate_limit_reached_type"].is_string() && !is_spent {
        let used = |window: &&mut LimitWindow| window.used_percent.unwrap_or(0.0);
        if let Some(fullest) = found.iter_mut().max_by(|a, b| used(a).total_cmp(&used(b))) {
            fullest.is_rejected = true;
        }
    }
    for window in found {
        windows.retain(|known| (&known.limit_id, &known.window) != (&window.limit_id, &window.window));
        windows.push(window);
    }
    windows.drain(..windows.len().saturating_sub(MOST_WINDOWS));
}

/// The window in one slot; `None` where nothing of a window stands there.
fn window(slot: &Value, limits: &Value, seen: Seen<'_>) -> Option<LimitWindow> {
    let text = |key: &str| limits[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let used_percent = slot["used_percent"].as_f64();
    let minutes = slot["window_minutes"].as_f64().filter(|minutes| *minutes > 0.0);
    if used_percent.is_none() && minutes.is_none() {
        return None;
    }
    let (window, seconds) = minutes.map_or_else(|| ("unknown".to_owned(), None), named);
    let limit_id = text("limit_id").filter(|id| id != MAIN);
    let names = [text("limit_name"), seen.model.map(str::to_owned)].into_iter().flatten();
    Some(LimitWindow {
        window,
        seconds,
        captured_at: seen.at,
        record: seen.record,
        used_percent,
        resets_at: reset(slot, seen.at),
        models: if limit_id.is_some() { names.collect() } else { Vec::new() },
        limit_id,
        plan_type: text("plan_type"),
        is_rejected: false,
        is_live: seen.is_live,
    })
}

/// The reset of a slot in unix seconds: stated, or counted from the record as older clients did.
fn reset(slot: &Value, at: i64) -> Option<i64> {
    let stated = whole(&slot["resets_at"]).map(|at| if at >= MILLISECONDS_FROM { at.div_euclid(1000) } else { at });
    stated.or_else(|| Some(at.div_euclid(1000).saturating_add(whole(&slot["resets_in_seconds"])?)))
}

/// A number as a whole one.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number.round() as i64))
}

/// The name of a window by its length, within 2 %, and its length in seconds.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn named(minutes: f64) -> (String, Option<i64>) {
    let is_near = |length: f64| (minutes - length).abs() <= length * 0.02;
    if is_near(300.0) {
        ("5h".to_owned(), Some(18_000))
    } else if is_near(10_080.0) {
        ("weekly".to_owned(), Some(604_800))
    } else {
        (format!("{minutes} min"), Some((minutes * 60.0).round() as i64))
    }
}

/// The readings of one file: what one record says of one limit is one reading.
pub(super) fn readings(
    windows: &[LimitWindow],
    shown: &str,
    provider: Option<&str>,
    home: Option<&str>,
) -> Vec<LimitReading> {
    let mut by_record: BTreeMap<(u64, Option<&String>), Vec<&LimitWindow>> = BTreeMap::new();
    for window in windows {
        by_record.entry((window.record, window.limit_id.as_ref())).or_default().push(window);
    }
    let reading = |((record, limit), windows): ((u64, Option<&String>), Vec<&LimitWindow>)| {
        let first = windows.first()?;
        Some(LimitReading {
            place: Place::new(shown, usize::try_from(record).unwrap_or(usize::MAX)),
            provider: provider.unwrap_or_default().to_owned(),
            home: home.map(HomeId::new),
            observed_at: instant(first.captured_at)?,
            limit: limit.cloned(),
            plan: first.plan_type.clone(),
            is_whole: true,
            windows: windows.into_iter().map(limited).collect(),
        })
    };
    by_record.into_iter().filter_map(reading).collect()
}

/// A window as quota windows are made of it.
fn limited(window: &LimitWindow) -> LimitedWindow {
    LimitedWindow {
        name: window.window.clone(),
        scope: window.models.clone(),
        used_percent: window.used_percent,
        seconds: window.seconds,
        resets_at: window.resets_at.and_then(|at| DateTime::from_timestamp(at, 0)),
        is_rejected: window.is_rejected,
    }
}
