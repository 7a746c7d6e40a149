//! Limits that session stores logged beside the snapshots of a home: every reading goes through the same parser, bucket
//! by bucket the newer one counts, and of two as old the snapshot (decision 0140).

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::document::Entry;
use super::window;
use crate::vocabulary::{HomeId, LimitReading, LimitedWindow, QuotaWindow, SourceNote};

/// Lengths of the windows that a client's rate-limit object names, in seconds: five hours and a week.
const LENGTHS: [i64; 2] = [18_000, 604_800];
/// Seconds of a day: a shorter window begins with the first call, a longer one stands where the vendor put it.
const DAY_SECONDS: i64 = 86_400;

/// What was read of one home: the newest entry of every window, and older readings of it.
#[derive(Debug, Default)]
pub(super) struct Readings {
    /// Window id → its newest reading.
    pub(super) newest: BTreeMap<String, Entry>,
    /// Window id → older readings.
    pub(super) past: BTreeMap<String, Vec<QuotaWindow>>,
}

/// Readings of stores by home.
pub type Limits = BTreeMap<HomeId, Vec<LimitReading>>;

/// One limit of a home as its stores state it.
struct Limit {
    /// When it was stated last.
    observed_at: DateTime<Utc>,
    /// Whether all models share it and the last record names every window of it.
    is_main: bool,
    /// Its windows.
    readings: Readings,
}

/// Puts the limits of stores beside the snapshot of their home, which was generated at an instant, if there is one.
pub(super) fn beside(
    snapshot: BTreeMap<String, Entry>,
    generated_at: Option<DateTime<Utc>>,
    logged: &[LimitReading],
    home: &HomeId,
    note: &mut SourceNote,
) -> Readings {
    let mut all = Readings { newest: snapshot, past: BTreeMap::new() };
    let named: Vec<String> = all.newest.keys().cloned().collect();
    let is_shared = named.iter().any(|id| is_shared(&all.newest[id].window));
    for limit in limits(logged, home, note) {
        let mut taken: Vec<String> = Vec::new();
        for (own, entry) in limit.readings.newest {
            let past = limit.readings.past.get(&own).cloned().unwrap_or_default();
            match twin(&named, &all.newest, &own, &entry) {
                Some(id) => {
                    all.meet(&id, entry);
                    all.past.entry(id.clone()).or_default().extend(past);
                    taken.push(id);
                }
                // The snapshot speaks of this limit later and names no such window: it is gone.
                None if limit.is_main && is_shared && generated_at > Some(limit.observed_at) => {}
                None => {
                    all.past.entry(own.clone()).or_default().extend(past);
                    all.newest.insert(own, entry);
                }
            }
        }
        if limit.is_main {
            all.drop_gone(&named, &taken, limit.observed_at, home, note);
        }
    }
    all
}

impl Readings {
    /// Two readings of one bucket: the newer one counts, if it says what is used; the other is its past.
    fn meet(&mut self, id: &str, mut logged: Entry) {
        let Some(known) = self.newest.remove(id) else { return };
        logged.window.window_id.clone_from(&known.window.window_id);
        logged.window.scope.clone_from(&known.window.scope);
        let is_sound = logged.window.invalid.is_none() && (logged.window.used.is_some() || known.window.used.is_none());
        let is_newer = logged.window.observed_at > known.window.observed_at;
        let (newest, older) = if is_sound && is_newer { (logged, known) } else { (known, logged) };
        self.newest.insert(id.to_owned(), newest);
        self.past.entry(id.to_owned()).or_default().extend(sound(older));
    }

    /// Takes out the windows of a snapshot that a later statement of the same limit names no more.
    fn drop_gone(
        &mut self,
        named: &[String],
        taken: &[String],
        stated_at: DateTime<Utc>,
        home: &HomeId,
        note: &mut SourceNote,
    ) {
        let is_gone =
            |window: &QuotaWindow| is_shared(window) && window.observed_at.is_some_and(|seen| seen < stated_at);
        for id in named.iter().filter(|id| !taken.contains(id)) {
            if self.newest.get(id).is_some_and(|entry| is_gone(&entry.window)) {
                self.newest.remove(id);
                note.remarks
                    .push(format!("{home}/{id}: gone, a later rate-limit record of a session names it no more"));
            }
        }
    }
}

/// Whether it is one of the windows that all models of a client share, by scope and length.
fn is_shared(window: &QuotaWindow) -> bool {
    let is_length = |seconds: i64| LENGTHS.iter().any(|length| is_near(seconds, *length));
    window.scope.iter().any(|glob| glob == "*") && window.window_seconds.is_some_and(is_length)
}

/// Whether two lengths are one, within 2 %.
fn is_near(a: i64, b: i64) -> bool {
    (a - b).abs() * 50 <= b
}

/// The window of a snapshot that is the same bucket: of the same id, or the only one that binds every model and is as long.
fn twin(named: &[String], known: &BTreeMap<String, Entry>, own: &str, entry: &Entry) -> Option<String> {
    if let Some(id) = named.iter().find(|id| *id == own) {
        return Some(id.clone());
    }
    let length = entry.window.window_seconds.filter(|_| is_shared(&entry.window))?;
    let fits = |id: &&String| {
        let window = &known.get(*id)?.window;
        (is_shared(window) && is_near(window.window_seconds?, length)).then_some(())
    };
    let mut twins = named.iter().filter(|id| fits(id).is_some());
    twins.next().filter(|_| twins.next().is_none()).cloned()
}

/// The limits of a home, each from its readings in order of time. Readings of another plan than the last are another seat's
/// past or future: they are counted and left out.
fn limits(logged: &[LimitReading], home: &HomeId, note: &mut SourceNote) -> Vec<Limit> {
    let mut by_limit: BTreeMap<Option<&String>, Vec<&LimitReading>> = BTreeMap::new();
    for reading in logged {
        by_limit.entry(reading.limit.as_ref()).or_default().push(reading);
    }
    let mut found = Vec::new();
    for readings in by_limit.into_values() {
        let mut readings = readings;
        readings.sort_by(|a, b| (a.observed_at, &a.place).cmp(&(b.observed_at, &b.place)));
        let Some(last) = readings.last().copied() else { continue };
        let before = readings.len();
        readings.retain(|reading| reading.plan == last.plan);
        if readings.len() < before {
            let plan = last.plan.as_deref().unwrap_or("no stated plan");
            let others = before - readings.len();
            note.remarks
                .push(format!("{home}: {others} rate-limit records of another plan than {plan}, the last: left out"));
        }
        let mut limit = Limit {
            observed_at: last.observed_at,
            is_main: last.limit.is_none() && last.is_whole,
            readings: Readings::default(),
        };
        for reading in readings {
            limit.readings.add(reading, note);
        }
        found.push(limit);
    }
    found
}

impl Readings {
    /// Takes a later reading of the limit.
    fn add(&mut self, reading: &LimitReading, note: &mut SourceNote) {
        if reading.is_whole {
            for (id, entry) in std::mem::take(&mut self.newest) {
                self.past.entry(id).or_default().extend(sound(entry));
            }
        }
        for window in &reading.windows {
            let entry = entry(reading, window);
            if let Some(reason) = &entry.window.invalid {
                note.reject(entry.window.place.clone(), format!("{}: {reason}", entry.window.window_id));
            }
            let id = entry.window.window_id.clone();
            // A reset alone says nothing of the use: what is known of that keeps its own age.
            if entry.window.used.is_none() && self.newest.get(&id).is_some_and(|known| known.window.used.is_some()) {
                continue;
            }
            if let Some(older) = self.newest.insert(id.clone(), entry) {
                self.past.entry(id).or_default().extend(sound(older));
            }
        }
    }
}

/// A reading that can be a past: one that is believed.
fn sound(entry: Entry) -> Option<QuotaWindow> {
    Some(entry.window).filter(|window| window.invalid.is_none())
}

/// A window of a record, by the parser of snapshots.
fn entry(reading: &LimitReading, window: &LimitedWindow) -> Entry {
    let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let id = reading.limit.as_ref().map_or_else(|| window.name.clone(), |limit| format!("{limit}/{}", window.name));
    let kind = match window.seconds {
        Some(seconds) if seconds < DAY_SECONDS => "first_use",
        Some(_) => "fixed",
        None => "unknown",
    };
    let value = json!({
        "window_id": id,
        "kind": kind,
        "scope": window.scope,
        "used_percent": window.used_percent,
        "usage_known": window.used_percent.is_some(),
        "status": if window.is_rejected { "rejected" } else { "ok" },
        "window_seconds": window.seconds,
        "resets_at": window.resets_at.map(time),
        "observed_at": time(reading.observed_at),
    });
    let mut entry = window::parse(&value, 0, reading.place.clone());
    // When it was seen is known even of a window that cannot be what it says.
    entry.window.observed_at = Some(reading.observed_at);
    entry
}
