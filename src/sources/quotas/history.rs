//! The newest reading of every home, and what older readings say about it (quota §3.3): anchors that alternate, a reset
//! that slides while use rises, a cycle that began anew.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::Homes;
use super::document::{Document, Entry, later};
use super::limits::{self, Limits, Readings};
use crate::vocabulary::{KeptReading, KeptReadings, QuotaHome, QuotaWindow, SourceNote, WindowRemark, hours_between};

/// Resets within this many seconds are one reset.
const SAME_RESET_SECONDS: i64 = 120;

/// Readings closer together than this give no slope: the reporting step would be all of it.
const APART_MINUTES: i64 = 30;
/// A point of a window.
const ONE_POINT: f64 = 0.01;
/// Days that readings are kept.
const KEPT_DAYS: i64 = 56;
/// Weight of the newest slope.
const NEWEST_SLOPE: f64 = 0.4;
/// Slopes that a burn takes.
const LEAST_SLOPES: u32 = 2;

/// Homes with the windows that the newest document naming them names; a window it does not name is gone, not carried.
/// Documents of one instant are one collection run. Neither files nor rows need an order. Limits that session stores logged
/// stand beside the snapshots of their home.
pub(super) fn newest(
    documents: Vec<Document>,
    logged: &Limits,
    kept: &KeptReadings,
    note: &mut SourceNote,
) -> Vec<QuotaHome> {
    let mut runs: BTreeMap<DateTime<Utc>, Homes<BTreeMap<String, Entry>>> = BTreeMap::new();
    for document in documents {
        let run = runs.entry(document.generated_at).or_default();
        for (home, windows) in document.homes {
            merge(run.entry(home).or_default(), windows);
        }
    }
    let mut readings: Homes<Vec<Run>> = logged.keys().map(|home| (home.clone(), Vec::new())).collect();
    for (at, homes) in runs {
        for (home, windows) in homes {
            readings.entry(home).or_default().push((at, windows));
        }
    }
    readings
        .into_iter()
        .map(|(home, mut runs)| {
            let (at, snapshot) = runs.pop().map_or_else(Default::default, |(at, windows)| (Some(at), windows));
            let logged = logged.get(&home).map_or(&[][..], Vec::as_slice);
            let Readings { newest, past: beside } = limits::beside(snapshot, at, logged, &home, note);
            let kept = kept.get(home.as_str());
            let judged = newest.into_iter().map(|(id, entry)| {
                let kept = kept.and_then(|windows| windows.get(&id)).map_or(&[][..], Vec::as_slice);
                let past = with_beside(past(&runs, &id), beside.get(&id).map_or(&[][..], Vec::as_slice));
                let past = with_kept(past, &entry.window, kept);
                judge(home.as_str(), entry, &past.iter().collect::<Vec<_>>(), note)
            });
            QuotaHome { windows: judged.collect(), home }
        })
        .collect()
}

/// What one collection run says of a home, and when it was.
type Run = (DateTime<Utc>, BTreeMap<String, Entry>);

/// Older readings of snapshots with those of stores, in order of time; a reading that both hold counts once.
fn with_beside(mut past: Vec<QuotaWindow>, beside: &[QuotaWindow]) -> Vec<QuotaWindow> {
    if beside.is_empty() {
        return past;
    }
    past.extend(beside.iter().cloned());
    past.sort_by_key(|older| older.observed_at);
    past.dedup_by(|a, b| (a.observed_at, a.used, a.resets_at) == (b.observed_at, b.used, b.resets_at));
    past
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
fn past(runs: &[Run], id: &str) -> Vec<QuotaWindow> {
    let entries = runs.iter().filter_map(|(_, windows)| windows.get(id));
    entries.map(|entry| &entry.window).filter(|window| window.invalid.is_none()).cloned().collect()
}

/// Older readings with those that earlier runs saw and no document holds any more.
fn with_kept(mut past: Vec<QuotaWindow>, window: &QuotaWindow, kept: &[KeptReading]) -> Vec<QuotaWindow> {
    let is_known = |at: DateTime<Utc>| past.iter().any(|older| older.observed_at == Some(at));
    let is_older = |at: DateTime<Utc>| window.observed_at.is_some_and(|seen| at < seen);
    let lost: Vec<&KeptReading> =
        kept.iter().filter(|reading| is_older(reading.observed_at) && !is_known(reading.observed_at)).collect();
    if lost.is_empty() {
        return past;
    }
    past.extend(lost.into_iter().map(|reading| QuotaWindow {
        used: Some(reading.used),
        resets_at: reading.resets_at,
        observed_at: Some(reading.observed_at),
        remarks: Vec::new(),
        invalid: None,
        ..window.clone()
    }));
    past.sort_by_key(|older| older.observed_at);
    past
}

/// What is kept after a run: the sound readings that it saw, each when its use moved by a point or half an hour has passed;
/// those of eight weeks (quota §6).
pub(super) fn keep(kept: &KeptReadings, homes: &[QuotaHome], now: DateTime<Utc>) -> KeptReadings {
    let mut readings = kept.clone();
    for home in homes {
        for window in home.windows.iter().filter(|window| window.invalid.is_none()) {
            let Some((observed_at, used)) = window.observed_at.zip(window.used.filter(|used| used.is_finite())) else {
                continue;
            };
            let of_window =
                readings.entry(home.home.to_string()).or_default().entry(window.window_id.clone()).or_default();
            let is_told = of_window.iter().any(|known| {
                let minutes = (observed_at - known.observed_at).num_minutes().abs();
                minutes == 0 || (minutes < APART_MINUTES && (used - known.used).abs() < ONE_POINT)
            });
            if !is_told {
                of_window.push(KeptReading { observed_at, used, resets_at: window.resets_at });
                of_window.sort_by_key(|reading| reading.observed_at);
            }
        }
    }
    for windows in readings.values_mut() {
        for of_window in windows.values_mut() {
            of_window.retain(|reading| (now - reading.observed_at).num_days() < KEPT_DAYS);
        }
        windows.retain(|_, of_window| !of_window.is_empty());
    }
    readings.retain(|_, windows| !windows.is_empty());
    readings
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
    window.recent_burn = recent_burn(&window, past);
    window
}

/// The slope of the readings of one cycle, newer ones weighing more (quota §3.1); a drop in use begins anew. `None` below
/// two slopes: the cycle's average says as much as one.
fn recent_burn(window: &QuotaWindow, past: &[&QuotaWindow]) -> Option<f64> {
    let of_cycle = past.iter().copied().filter(|older| has_same_reset(older, window)).chain([window]);
    let mut readings: Vec<(DateTime<Utc>, f64)> = Vec::new();
    for (seen, used) in of_cycle.filter_map(|reading| reading.observed_at.zip(reading.used)) {
        match readings.last() {
            Some((last, _)) if (seen - *last).num_minutes() < APART_MINUTES => {}
            _ => readings.push((seen, used)),
        }
    }
    let (mut burn, mut slopes) = (0.0, 0);
    for pair in readings.windows(2) {
        let [(since, before), (seen, used)] = pair else { continue };
        let slope = (used - before) / hours_between(*since, *seen);
        (burn, slopes) = match (slope < 0.0, slopes) {
            (true, _) => (0.0, 0),
            (false, 0) => (slope, 1),
            (false, _) => (NEWEST_SLOPE * slope + (1.0 - NEWEST_SLOPE) * burn, slopes + 1),
        };
    }
    (slopes >= LEAST_SLOPES).then_some(burn)
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
