//! `experimental.model_route_tuning.notes`: `match: text`, where a text that states a reset skips matching members until then.

use chrono::{DateTime, NaiveDate, NaiveTime};

use super::super::jsonc::Cursor;
use crate::vocabulary::TuningNote;

/// The notes of a file, in order. Text without a colon is no note.
pub(super) fn notes(root: &Cursor<'_>) -> Vec<TuningNote> {
    let tuning = root.get("experimental").and_then(|experimental| experimental.get("model_route_tuning"));
    let notes = tuning.and_then(|tuning| tuning.get("notes")).and_then(|notes| notes.elements()).unwrap_or_default();
    let note = |note: &Cursor<'_>| {
        let (matches, text) = note.text()?.split_once(':')?;
        let text = text.trim().to_owned();
        Some(TuningNote { matches: matches.trim().to_owned(), until_ms: reset_ms(&text), text, place: note.place() })
    };
    notes.iter().filter_map(note).collect()
}

/// The instant a text states after `reset at`, in epoch milliseconds: RFC 3339, or a date. A span (`back in 3 hours`) counts
/// from a moment that the file does not tell, so it states no instant.
fn reset_ms(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let after = lower.find("reset at ").map(|at| at + "reset at ".len())?;
    let word = text[after..].split_whitespace().next()?.trim_end_matches([',', ';', '.', ')']);
    let instant = DateTime::parse_from_rfc3339(word).map(|at| at.timestamp_millis()).ok();
    let date = || word.parse::<NaiveDate>().ok().map(|date| date.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    instant.or_else(date)
}
