//! Rate-limit snapshots of the router (reference pools §1.5): windows of hours and days by their name, per provider.
//! Limits per minute are throughput and no allowance, and are left out.

use std::collections::BTreeMap;

use chrono::DateTime;
use serde_json::Value;

use super::message::instant;
use crate::sources::sessions::groups;
use crate::vocabulary::{HomeId, LimitReading, LimitedWindow, Place};

/// Beginning of the headers that say what is used of a plan's windows.
const HEADERS: &str = "anthropic-ratelimit-";
/// Beginning of the names of those windows.
const PLAN: &str = "unified-";
/// Larger numbers are unix seconds, not seconds from the snapshot: thirty years.
const UNIX_FROM: f64 = 1e9;
/// Readings of one window that lie in one half hour are one, the last.
const SLOT_MS: i64 = 1_800_000;

/// Which reading of which window: provider, name, whether the use is known, half hour.
type Key = (String, String, bool, i64);

/// The readings of one store, thinned.
#[derive(Default)]
pub(super) struct RouteLimits {
    /// The last reading of every half hour.
    readings: BTreeMap<Key, LimitReading>,
}

/// Who an attempt went to, when and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// Provider.
    pub(super) provider: &'a str,
    /// Model.
    pub(super) model: &'a str,
    /// When it ended, epoch milliseconds.
    pub(super) ended: i64,
    /// The database.
    pub(super) shown: &'a str,
    /// Number of the row.
    pub(super) row: usize,
}

/// What a snapshot says of one window, as written.
#[derive(Debug, Default)]
struct Stated<'a> {
    /// Used fraction.
    utilization: Option<f64>,
    /// Limit.
    limit: Option<f64>,
    /// What is left of it.
    remaining: Option<f64>,
    /// Reset.
    reset: Option<&'a str>,
    /// The vendor's word.
    status: Option<&'a str>,
}

impl RouteLimits {
    /// Takes the snapshot of one attempt.
    pub(super) fn take(&mut self, quota: &Value, asked: Asked<'_>) {
        let at = instant(&quota["at"]).unwrap_or(asked.ended);
        let Some(observed_at) = groups::instant(at) else { return };
        for (name, stated) in stated(quota) {
            let Some((label, seconds, part)) = length(name) else { continue };
            let used_percent = stated.used_percent();
            let scope = if part.is_empty() { Vec::new() } else { vec![asked.model.to_owned()] };
            let window = LimitedWindow {
                name: if part.is_empty() { label } else { format!("{label} {part}") },
                scope,
                used_percent,
                seconds: Some(seconds),
                resets_at: stated.reset.and_then(|reset| resets_at(reset, at)),
                is_rejected: stated.status == Some("rejected") && used_percent.is_none_or(|used| used < 100.0),
            };
            let key = (asked.provider.to_owned(), window.name.clone(), used_percent.is_some(), at.div_euclid(SLOT_MS));
            let reading = LimitReading {
                place: Place::new(asked.shown, asked.row),
                provider: asked.provider.to_owned(),
                home: None,
                observed_at,
                limit: None,
                plan: None,
                is_whole: false,
                windows: vec![window],
            };
            if self.readings.get(&key).is_none_or(|known| known.observed_at <= observed_at) {
                self.readings.insert(key, reading);
            }
        }
    }

    /// The readings, for a home where the store names one.
    pub(super) fn into_readings(self, home: Option<&str>) -> impl Iterator<Item = LimitReading> {
        let home = home.map(HomeId::new);
        self.readings.into_values().map(move |reading| LimitReading { home: home.clone(), ..reading })
    }
}

impl Stated<'_> {
    /// Used percent: as stated, else by what is left.
    fn used_percent(&self) -> Option<f64> {
        let left = || Some((1.0 - self.remaining? / self.limit.filter(|limit| *limit > 0.0)?) * 100.0);
        self.utilization.map(|used| used * 100.0).or_else(left).map(|used| used.max(0.0))
    }
}

/// What a snapshot states by window: its maps by name, and the headers of a failure.
fn stated(quota: &Value) -> BTreeMap<&str, Stated<'_>> {
    let mut all: BTreeMap<&str, Stated<'_>> = BTreeMap::new();
    for field in ["limit", "remaining", "reset"] {
        for (name, value) in quota[field].as_object().into_iter().flatten() {
            all.entry(name).or_default().put(field, value);
        }
    }
    for (header, value) in quota["headers"].as_object().into_iter().flatten() {
        let named = header.strip_prefix(HEADERS).and_then(|rest| rest.rsplit_once('-'));
        if let Some((name, field)) = named {
            all.entry(name).or_default().put(field, value);
        }
    }
    all
}

impl<'a> Stated<'a> {
    /// Takes one field.
    fn put(&mut self, field: &str, value: &'a Value) {
        let number =
            || value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite());
        match field {
            "utilization" => self.utilization = number(),
            "limit" => self.limit = number(),
            "remaining" => self.remaining = number(),
            "reset" => self.reset = value.as_str(),
            "status" => self.status = value.as_str(),
            _ => {}
        }
    }
}

/// The label of a window of a plan, its length in seconds, and the part of the models it binds, from a name such as
/// `unified-5h` or `unified-7d_oi`; `None` of any other.
fn length(name: &str) -> Option<(String, i64, &str)> {
    let name = name.strip_prefix(PLAN)?;
    let (length, part) = name.split_once('_').unwrap_or((name, ""));
    let unit = length.chars().next_back()?;
    let count: i64 = length.strip_suffix(unit)?.parse().ok().filter(|count| (1..=366).contains(count))?;
    let seconds = match unit {
        'h' => count * 3_600,
        'd' => count * 86_400,
        _ => return None,
    };
    let label = if seconds == 604_800 { "weekly".to_owned() } else { length.to_owned() };
    Some((label, seconds, part))
}

/// The instant of a reset: a duration or a number of seconds from the snapshot, unix seconds, or a date.
fn resets_at(text: &str, at: i64) -> Option<DateTime<chrono::Utc>> {
    let text = text.trim();
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Some(date.to_utc());
    }
    let seconds = text.parse::<f64>().ok().or_else(|| duration(text))?;
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no instant is that far away")]
    let ms = (seconds.max(0.0) * 1000.0) as i64;
    groups::instant(if seconds >= UNIX_FROM { ms } else { at.saturating_add(ms) })
}

/// Seconds of a duration such as `250ms`, `6m0s` or `1d2h`.
fn duration(text: &str) -> Option<f64> {
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let (number, tail) = rest.split_at(digits);
        let (unit, factor) = [("ms", 0.001), ("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)]
            .into_iter()
            .find(|(unit, _)| tail.starts_with(unit))?;
        seconds += number.parse::<f64>().ok()? * factor;
        rest = &tail[unit.len()..];
    }
    Some(seconds).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_read_in_every_form_that_routers_keep() {
        // 2026-11-20T10:00:00Z and what lies an hour, six minutes and two seconds and a half behind it.
        let at = 1_795_168_800_000;
        let behind = |ms: i64| groups::instant(at + ms);
        let forms = [
            ("1h", 3_600_000),
            ("6m2.5s", 362_500),
            ("1d2h", 93_600_000),
            ("250ms", 250),
            ("90", 90_000),
            ("1795172400", 3_600_000),
            ("2026-11-20T11:00:00Z", 3_600_000),
        ];
        for (text, ms) in forms {
            assert_eq!(resets_at(text, at), behind(ms), "{text}");
        }
        for text in ["", "soon", "h", "5x", "-"] {
            assert_eq!(resets_at(text, at), None, "{text:?}");
        }
    }

    #[test]
    fn only_windows_of_plans_have_a_length() {
        let wanted = |label: &str, seconds, part| Some((label.to_owned(), seconds, part));
        assert_eq!(length("unified-5h"), wanted("5h", 18_000, ""));
        assert_eq!(length("unified-7d_oi"), wanted("weekly", 604_800, "oi"));
        for name in [
            "requests",
            "input-tokens",
            "unified",
            "unified-",
            "unified-h",
            "unified-0h",
            "unified-5m",
            "5h",
            "unified-é",
        ] {
            assert_eq!(length(name), None, "{name}");
        }
    }
}
