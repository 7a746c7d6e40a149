//! `quota-snapshot/1`: a folder of snapshots, or one. The newest document that names a home is its reading; older ones
//! are history that can void it. What a reading is worth at the review instant is settled in `evidence::windows`.

mod document;
mod history;
mod lines;
mod window;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::settings::broken_link;
use crate::vocabulary::{
    Digest, HomeId, KeptReadings, Place, QuotaHome, QuotaWindow, SourceId, SourceNote, SourceState, WindowAge,
    WindowStatus, hours_between,
};
use document::Document;

/// Largest snapshot that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// How far ahead of the review a document may be dated, in hours: jitter of clocks.
const AHEAD_HOURS: f64 = 5.0 / 60.0;
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
    let files = match list(path, display) {
        Ok(files) => files,
        Err(reason) => return (Vec::new(), SourceNote::failed(SourceId::Quotas, reason)),
    };
    let mut note = SourceNote::new(SourceId::Quotas, SourceState::Fresh);
    let documents = read_documents(&files, &mut note);
    let read = documents.len();
    let (documents, ahead): (Vec<_>, Vec<_>) =
        documents.into_iter().partition(|document| hours_between(now, document.generated_at) <= AHEAD_HOURS);
    let buckets: usize = documents.iter().map(|document| document.buckets).sum();
    let newest = documents.iter().map(|document| document.generated_at).max();
    let mut homes = history::newest(documents, kept, &mut note);
    settle_note(&mut homes, newest, now, &mut note);
    remark(&mut note, buckets, "per-minute limits left out: throughput, not allowance");
    remark(&mut note, ahead.len(), "from after the review instant, ignored");
    if read == ahead.len() {
        let reason = if read == 0 { "no readable snapshot" } else { "every snapshot is from after the review instant" };
        note.state = SourceState::Failed(reason.to_owned());
    }
    (homes, note)
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
