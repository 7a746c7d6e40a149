//! The newest reading of every home, and what older readings say about it (quota §3.3): anchors that alternate, a reset
//! that slides while use rises, a cycle that began anew.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::Homes;
use super::document::{Document, Entry, later};
use crate::vocabulary::{QuotaHome, QuotaWindow, SourceNote, WindowRemark};

/// Resets within this many seconds are one reset.
const SAME_RESET_SECONDS: i64 = 120;

/// Homes with the windows that the newest document naming them names; a window it does not name is gone, not carried.
/// Documents of one instant are one collection run. Neither files nor rows need an order.
pub(super) fn newest(documents: Vec<Document>, note: &mut SourceNote) -> Vec<QuotaHome> {
    let mut runs: BTreeMap<DateTime<Utc>, Homes<BTreeMap<String, Entry>>> = BTreeMap::new();
    for document in documents {
        let run = runs.entry(document.generated_at).or_default();
        for (home, windows) in document.homes {
            merge(run.entry(home).or_default(), windows);
        }
    }
    let mut readings: Homes<Vec<BTreeMap<String, Entry>>> = BTreeMap::new();
    for (home, windows) in runs.into_values().flatten() {
        readings.entry(home).or_default().push(windows);
    }
    readings
        .into_iter()
        .map(|(home, mut readings)| {
            let newest = readings.pop().unwrap_or_default();
            let judged =
                newest.into_iter().map(|(id, entry)| judge(&home.to_string(), entry, &past(&readings, &id), note));
            QuotaHome { windows: judged.collect(), home }
        })
        .collect()
}

/// Adds the windows of a second document of the same run.
fn merge(into: &mut BTreeMap<String, Entry>, windows: BTreeMap<String, Entry>) {
    for (id, entry) in windows {
        let kept = match into.remove(&id) {
            Some(other) => later(other, entry),
            None => entry,
        };
        into.insert(id, kept);
    }
}

/// Sound older readings of one window, oldest first.
fn past<'a>(readings: &'a [BTreeMap<String, Entry>], id: &str) -> Vec<&'a QuotaWindow> {
    let entries = readings.iter().filter_map(|windows| windows.get(id));
    entries.map(|entry| &entry.window).filter(|window| window.invalid.is_none()).collect()
}

/// One reading with what its past says about it.
fn judge(home: &str, entry: Entry, past: &[&QuotaWindow], note: &mut SourceNote) -> QuotaWindow {
    let Entry { mut window, resolution } = entry;
    if window.invalid.is_some() || !window.has_reset() {
        return window;
    }
    if let Some(reason) = contradiction(&window, past) {
        note.reject(window.place.clone(), format!("{home}/{}: {reason}", window.window_id));
        window.invalid = Some(reason.to_owned());
        return window;
    }
    window.remarks.extend(new_cycle(&window, past, resolution));
    window.remarks.sort();
    window.remarks.dedup();
    window
}

/// Whether two readings state one reset.
fn has_same_reset(a: &QuotaWindow, b: &QuotaWindow) -> bool {
    a.resets_at.zip(b.resets_at).is_some_and(|(a, b)| (a - b).num_seconds().abs() <= SAME_RESET_SECONDS)
}

/// Why a reading cannot be believed beside its past, if it cannot.
fn contradiction(window: &QuotaWindow, past: &[&QuotaWindow]) -> Option<&'static str> {
    let with_reset: Vec<&&QuotaWindow> = past.iter().filter(|older| older.resets_at.is_some()).collect();
    let last_other = with_reset.iter().rposition(|older| !has_same_reset(older, window))?;
    if with_reset[..last_other].iter().any(|older| has_same_reset(older, window)) {
        return Some("alternating anchors");
    }
    let before = with_reset.last()?;
    let is_sliding = !has_same_reset(before, window) && is_early(before, window);
    let rises = before.used.zip(window.used).is_some_and(|(before, now)| now > before + 1e-9);
    (is_sliding && rises).then_some("reset slides while used rises")
}

/// Whether the older reading's reset still lay ahead when the newer one was seen.
fn is_early(older: &QuotaWindow, newer: &QuotaWindow) -> bool {
    older.resets_at.zip(newer.observed_at).is_some_and(|(reset, seen)| reset > seen)
}

/// Whether the cycle began anew before its time: used dropped by more than the reporting step.
fn new_cycle(window: &QuotaWindow, past: &[&QuotaWindow], resolution: f64) -> Option<WindowRemark> {
    let used = window.used?;
    let dropped = |older: &&&QuotaWindow| older.used.is_some_and(|before| before - used > resolution);
    if past.iter().filter(|older| has_same_reset(older, window)).any(|older| dropped(&older)) {
        return Some(WindowRemark::NewCycleSuspected);
    }
    let before = past.iter().rfind(|older| older.resets_at.is_some())?;
    let is_other = !has_same_reset(before, window) && is_early(before, window);
    (is_other && dropped(&before)).then_some(WindowRemark::NewCycle)
}
