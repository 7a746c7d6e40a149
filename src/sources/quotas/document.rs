//! One snapshot: header, homes, windows. A broken window costs that window, a broken home that home, a broken header the
//! document.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::Homes;
use super::lines::{self, Lines};
use super::window::{self, Fields};
use crate::vocabulary::{HomeId, Place, QuotaWindow, SourceNote, WindowStatus};

/// The schema this reader knows.
const SCHEMA: &str = "quota-snapshot/1";

/// One window with the step its source reports in.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The reading.
    pub(super) window: QuotaWindow,
    /// Reporting step as a fraction of the window.
    pub(super) resolution: f64,
}

/// One collection run.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// When it was collected.
    pub(super) generated_at: DateTime<Utc>,
    /// Home → window id → reading. A home without windows is there, empty.
    pub(super) homes: Homes<BTreeMap<String, Entry>>,
    /// Per-minute limits that were left out: throughput, not allowance.
    pub(super) buckets: usize,
}

/// Parses one snapshot; windows are counted and broken ones rejected in the note. The error is a line and a reason.
pub(super) fn parse(bytes: &[u8], display: &str, note: &mut SourceNote) -> Result<Document, (usize, String)> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| (line_at(bytes, error.valid_up_to()), "not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    let value: Value = serde_json::from_str(text).map_err(|error| (error.line().max(1), error.to_string()))?;
    let header = Fields::of(&value).ok_or((1, "not a JSON object".to_owned()))?;
    if header.text("schema") != Ok(Some(SCHEMA)) {
        return Err((1, format!("schema is not {SCHEMA:?}")));
    }
    let generated_at = header.instant("generated_at").map_err(|reason| (1, reason))?;
    let generated_at = generated_at.ok_or((1, "generated_at is missing".to_owned()))?;
    let homes = value.get("homes").and_then(Value::as_array).ok_or((1, "homes is not a list".to_owned()))?;
    let mut document = Document { generated_at, homes: Homes::new(), buckets: 0 };
    let lines = lines::of(text);
    for (index, home) in homes.iter().enumerate() {
        let place = |window: Option<usize>| Place::new(display, line_of(&lines, index, window));
        document.add_home(home, &place, note);
    }
    Ok(document)
}

/// Line of a byte.
fn line_at(bytes: &[u8], at: usize) -> usize {
    bytes[..at].split(|byte| *byte == b'\n').count()
}

/// Line of a home, or of one of its windows.
fn line_of(lines: &Lines, home: usize, window: Option<usize>) -> usize {
    let found = lines.get(home).map(|(line, windows)| window.and_then(|at| windows.get(at)).unwrap_or(line));
    found.copied().unwrap_or(1)
}

impl Document {
    /// Adds one home. One without a readable id cannot be used at all.
    fn add_home(&mut self, home: &Value, place: &dyn Fn(Option<usize>) -> Place, note: &mut SourceNote) {
        let id = home.get("home_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let Some(id) = id else {
            note.reject(place(None), "home_id is missing");
            return;
        };
        let windows = self.homes.entry(HomeId::new(id)).or_default();
        match home.get("windows") {
            Some(Value::Array(list)) => {
                for (index, value) in list.iter().enumerate() {
                    note.rows += 1;
                    if is_bucket(value) {
                        self.buckets += 1;
                    } else {
                        add_window(windows, window::parse(value, index, place(Some(index))), note);
                    }
                }
            }
            None | Some(Value::Null) => {}
            Some(_) => {
                note.reject(place(None), format!("{id}: windows is not a list"));
                let broken = window::broken("windows", &[], "windows is not a list", place(None));
                windows.insert(broken.window.window_id.clone(), broken);
            }
        }
    }
}

/// Whether a window is a per-minute token bucket.
fn is_bucket(value: &Value) -> bool {
    value.get("kind").and_then(Value::as_str) == Some("bucket")
}

/// Adds one window. A broken one stays as invalid, so that nobody takes a home for free because its reading is broken.
fn add_window(windows: &mut BTreeMap<String, Entry>, entry: Entry, note: &mut SourceNote) {
    if let Some(reason) = &entry.window.invalid {
        note.reject(entry.window.place.clone(), format!("{}: {reason}", entry.window.window_id));
    }
    let id = entry.window.window_id.clone();
    match windows.remove(&id) {
        Some(other) => {
            note.reject(entry.window.place.clone(), format!("{id}: named twice, the later reading taken"));
            windows.insert(id, later(other, entry));
        }
        None => {
            windows.insert(id, entry);
        }
    }
}

/// The later of two readings of one window; of two as old, the one that shows more used; a broken one wins over a sound
/// one. Never depends on their order.
pub(super) fn later(a: Entry, b: Entry) -> Entry {
    let used = |entry: &Entry| entry.window.used.unwrap_or(f64::INFINITY);
    let order = rank(&a).cmp(&rank(&b)).then_with(|| used(&a).total_cmp(&used(&b)));
    if order.then_with(|| details(&a).cmp(&details(&b))).is_lt() { b } else { a }
}

/// What makes a reading the later one.
fn rank(entry: &Entry) -> impl Ord + use<> {
    (entry.window.invalid.is_some(), entry.window.observed_at, entry.window.resets_at)
}

/// Everything else that two readings may differ in.
fn details(entry: &Entry) -> impl Ord + use<'_> {
    let window = &entry.window;
    let status = window.status == WindowStatus::Rejected;
    (status, &window.scope, &window.kind, window.window_seconds, window.started, &window.invalid, &window.remarks)
}
