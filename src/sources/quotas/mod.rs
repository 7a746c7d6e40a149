//! `quota-snapshot/1`: a folder of snapshots, or one. The newest document that names a home is its reading; older ones
//! are history that can void it. Limits that session stores logged stand beside them. What a reading is worth at the review
//! instant is settled in `evidence::windows`.

mod document;
mod history;
mod limits;
mod lines;
mod window;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::settings::broken_link;
use crate::vocabulary::{
    Digest, HomeId, KeptReadings, LimitReading, Place, QuotaHome, QuotaWindow, SourceId, SourceNote, SourceState,
    WindowAge, WindowStatus, hours_between,
};
use document::Document;
pub use limits::Limits;

/// Largest snapshot that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// How far ahead of the review a document may be dated, in hours: jitter of clocks.
const AHEAD_HOURS: f64 = 5.0 / 60.0;
/// Age from which on a logged reading is not even a past, in hours: eight weeks, as readings are kept.
const LOGGED_HOURS: f64 = 56.0 * 24.0;
/// Age of the newest document, in hours, from which on a snapshot without windows is stale.
const EMPTY_MAX_AGE_HOURS: f64 = 74.4;

/// Reads a folder of snapshots (`*.json`, not its subfolders, not `*.meta.json`) or one file, at `now`. Homes come by id,
/// their windows by id. `display` is the path as the operator wrote it. Never fails: a path that is missing, empty or
/// without one readable snapshot gives no homes and a failed note.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<QuotaHome>, SourceNote) {
    read_with(path, display, &KeptReadings::new(), now)
}

/// The same beside readings that earlier runs kept: a collector may overwrite its one snapshot.
pub fn read_with(path: &Path, display: &str, kept: &KeptReadings, now: DateTime<Utc>) -> (Vec<QuotaHome>, SourceNote) {
    read_all(Some((path, display)), &Limits::new(), kept, now)
}

/// The same beside limits that session stores logged, with or without snapshots. Stores alone never make a source of it that
/// is stale: without snapshots and without a usable reading it is not configured (decision 0140).
pub fn read_all(
    snapshots: Option<(&Path, &str)>,
    logged: &Limits,
    kept: &KeptReadings,
    now: DateTime<Utc>,
) -> (Vec<QuotaHome>, SourceNote) {
    let files = snapshots.map(|(path, display)| list(path, display)).transpose();
    let (files, mut failure) = match files {
        Ok(files) => (files.unwrap_or_default(), None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    let mut note = SourceNote::new(SourceId::Quotas, SourceState::Fresh);
    let documents = read_documents(&files, &mut note);
    let read = documents.len();
    let (documents, ahead): (Vec<_>, Vec<_>) =
        documents.into_iter().partition(|document| hours_between(now, document.generated_at) <= AHEAD_HOURS);
    let buckets: usize = documents.iter().map(|document| document.buckets).sum();
    let newest = documents.iter().map(|document| document.generated_at).max();
    if !files.is_empty() && read == ahead.len() {
        let reason = if read == 0 { "no readable snapshot" } else { "every snapshot is from after the review instant" };
        failure = Some(reason.to_owned());
    }
    let logged = take_logged(logged, now, &mut note);
    let mut homes = history::newest(documents, &logged, kept, &mut note);
    settle_note(&mut homes, newest, now, &mut note);
    remark(&mut note, buckets, "per-minute limits left out: throughput, not allowance");
    remark(&mut note, ahead.len(), "from after the review instant, ignored");
    if snapshots.is_none() {
        note.state = state_of_logs(&mut homes, now);
        note.used = if note.state == SourceState::Fresh { note.used } else { 0 };
    }
    if let Some(reason) = failure {
        note.state = SourceState::Failed(reason);
    }
    (homes, note)
}

/// The state of the source when only stores speak: configured as long as one reading is not too old. Clients log only while they
/// are used, so an old reading says that nobody worked, not that a meter broke: nothing is said of its window.
fn state_of_logs(homes: &mut Vec<QuotaHome>, now: DateTime<Utc>) -> SourceState {
    let is_old = |window: &QuotaWindow| window.age(now) == WindowAge::Stale && !window.tells_load(now);
    for home in homes.iter_mut() {
        home.windows.retain(|window| !is_old(window));
    }
    homes.retain(|home| !home.windows.is_empty());
    if homes.is_empty() { SourceState::NotConfigured } else { SourceState::Fresh }
}

/// The logged readings that were seen before the review instant, counted into the note and its digest.
fn take_logged(logged: &Limits, now: DateTime<Utc>, note: &mut SourceNote) -> Limits {
    let is_past = |reading: &&LimitReading| {
        let age = hours_between(reading.observed_at, now);
        (-AHEAD_HOURS..=LOGGED_HOURS).contains(&age)
    };
    let past: Limits = logged
        .iter()
        .map(|(home, readings)| (home.clone(), readings.iter().filter(is_past).cloned().collect::<Vec<_>>()))
        .filter(|(_, readings)| !readings.is_empty())
        .collect();
    let is_ahead = |reading: &&LimitReading| hours_between(now, reading.observed_at) > AHEAD_HOURS;
    let ahead = logged.values().flatten().filter(is_ahead).count();
    remark(note, ahead, "rate-limit records from after the review instant, ignored");
    if !past.is_empty() {
        note.rows += past.values().flatten().map(|reading| reading.windows.len() as u64).sum::<u64>();
        let told = format!("{}\n{past:?}", note.digest.as_ref().map_or("", |digest| digest.as_str()));
        note.digest = Some(Digest::of(told.as_bytes()));
        remark(note, past.values().map(Vec::len).sum(), "rate-limit records of session stores beside the snapshots");
    }
    past
}

/// What is kept of the readings after a run, for the next ones.
pub fn keep(kept: &KeptReadings, homes: &[QuotaHome], now: DateTime<Utc>) -> KeptReadings {
    history::keep(kept, homes, now)
}

/// The files to read with the paths to show, in path order.
fn list(path: &Path, display: &str) -> Result<Vec<(PathBuf, String)>, String> {
    let meta = fs::metadata(path)
        .map_err(|error| format!("{display}: {}", broken_link(path).unwrap_or_else(|| error.to_string())))?;
    if meta.is_file() {
        return Ok(vec![(path.to_owned(), display.to_owned())]);
    }
    if !meta.is_dir() {
        return Err(format!("{display}: neither a file nor a folder"));
    }
    let entries = fs::read_dir(path).map_err(|error| format!("{display}: {error}"))?;
    let mut files: Vec<(PathBuf, String)> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| is_snapshot(path))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (path, format!("{}/{name}", display.trim_end_matches('/')))
        })
        .collect();
    files.sort();
    if files.is_empty() { Err(format!("{display}: no snapshot in the folder")) } else { Ok(files) }
}

/// Whether a path is a regular `*.json` file that is no sidecar. Pipes and devices are never opened.
fn is_snapshot(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    is_json && !name.ends_with(".meta.json") && fs::metadata(path).is_ok_and(|meta| meta.is_file())
}

/// Every readable document; the others are rejected in the note, which also gets the digest.
fn read_documents(files: &[(PathBuf, String)], note: &mut SourceNote) -> Vec<Document> {
    let mut bytes_read: Vec<u8> = Vec::new();
    let mut documents = Vec::new();
    for (path, display) in files {
        let parsed = read_bytes(path).map_err(|reason| (1, reason)).and_then(|bytes| {
            bytes_read.extend_from_slice(&bytes);
            document::parse(&bytes, display, note)
        });
        match parsed {
            Ok(document) => documents.push(document),
            Err((line, reason)) => note.reject(Place::new(display, line), reason),
        }
    }
    note.digest = (!bytes_read.is_empty()).then(|| Digest::of(&bytes_read));
    documents
}

/// The bytes of a file of at most [`MAX_BYTES`].
fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES { Err("larger than 16 MiB".to_owned()) } else { Ok(bytes) }
}

/// Rejects readings that contradict themselves, counts the rest, and settles as-of and staleness of the whole.
fn settle_note(homes: &mut [QuotaHome], newest: Option<DateTime<Utc>>, now: DateTime<Utc>, note: &mut SourceNote) {
    for home in homes.iter_mut() {
        for window in home.windows.iter_mut().filter(|window| window.invalid.is_none()) {
            if let Some(fault) = window.fault(now) {
                note.reject(window.place.clone(), format!("{}/{}: {fault}", home.home, window.window_id));
                window.invalid = Some(fault.to_owned());
            }
        }
    }
    let windows = || homes.iter().flat_map(|home| &home.windows);
    let sound = windows().filter(|window| window.invalid.is_none());
    note.used = sound.clone().count() as u64;
    note.as_of = sound.filter_map(|window| window.observed_at).max().or(newest);
    let stale = windows().filter(|window| window.age(now) == WindowAge::Stale).count();
    remark(note, stale, "too old for their window");
    let is_old = newest.is_some_and(|at| hours_between(at, now) > EMPTY_MAX_AGE_HOURS);
    let is_void = if windows().next().is_none() { is_old } else { windows().all(|window| is_void(window, now)) };
    if is_void {
        note.state = SourceState::Stale;
    }
}

/// Whether nothing of a reading may be used: invalid, too old, or dry past its reset with the next one unknown.
fn is_void(window: &QuotaWindow, now: DateTime<Utc>) -> bool {
    let is_stale = window.age(now) == WindowAge::Stale && !window.tells_load(now);
    let is_past = window.has_reset() && window.resets_at.is_some_and(|reset| reset <= now);
    window.invalid.is_some() || is_stale || (is_past && window.status == WindowStatus::Rejected)
}

/// Adds a remark that counts things, if there are any.
fn remark(note: &mut SourceNote, count: usize, what: &str) {
    if count > 0 {
        note.remarks.push(format!("{count} {what}"));
    }
}

/// Homes by id, for building the answer.
type Homes<T> = BTreeMap<HomeId, T>;
