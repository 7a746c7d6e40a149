//! Old bodies of the retired path (`/data/llms/models`): imported, never called. They carry no index version, so one is
//! assigned by day; 0 is missing or free and cannot be told apart.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde::Deserialize;

use super::row::{Row, Shape, market_model, row_reason};
use super::{Body, page_files};
use crate::sources::market::loose::{List, Loose, Object};
use crate::vocabulary::{Digest, MarketModel, SourceId, SourceNote, SourceState};

/// A body as sent.
#[derive(Deserialize)]
struct Envelope {
    /// 200.
    #[serde(default)]
    status: Loose<f64>,
    /// The rows.
    #[serde(default)]
    data: Loose<List<Object<Row>>>,
}

/// One old body as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The day its file name states.
    pub day: Option<NaiveDate>,
    /// The index version that was in force on that day.
    pub version: Option<String>,
    /// Rows, sorted by id.
    pub rows: Vec<MarketModel>,
    /// How the reading went.
    pub note: SourceNote,
}

/// The index version in force on a day, as far as it is known: 3 before 2026-01-06, 4.0 before 2026-06-16, 4.1 to 2026-08-23.
pub fn version_on(day: NaiveDate) -> Option<&'static str> {
    let until = |year, month, date| NaiveDate::from_ymd_opt(year, month, date).is_some_and(|until| day < until);
    [("3", until(2026, 1, 6)), ("4.0", until(2026, 6, 16)), ("4.1", until(2026, 8, 24))]
        .into_iter()
        .find_map(|(version, holds)| holds.then_some(version))
}

/// Reads old bodies: one file, or every `*.json` of a folder, oldest first. The day is the file's name (`2026-06-15.json`).
/// Each comes with its own note; one that cannot be read is `Failed` and holds no row.
pub fn read_history(path: &Path, display: &str) -> Vec<Snapshot> {
    let files = match page_files(path, display) {
        Ok(files) => files,
        Err(reason) => return vec![failed(reason)],
    };
    let mut snapshots: Vec<Snapshot> = files
        .iter()
        .map(|(file, shown)| match Body::read(file, shown) {
            Ok(body) => snapshot(&body, day_of(file)),
            Err(reason) => failed(reason),
        })
        .collect();
    snapshots.sort_by_key(|snapshot| snapshot.day);
    snapshots
}

/// The day in a file's name.
fn day_of(file: &Path) -> Option<NaiveDate> {
    crate::sources::market::loose::day(file.file_stem()?.to_str()?)
}

/// A snapshot that could not be read.
fn failed(reason: String) -> Snapshot {
    let note = SourceNote::failed(SourceId::Market, reason);
    Snapshot { day: None, version: None, rows: Vec::new(), note }
}

/// One body as a snapshot.
pub(in crate::sources::market) fn snapshot(body: &Body, day: Option<NaiveDate>) -> Snapshot {
    let mut note = SourceNote::new(SourceId::Market, SourceState::Fresh);
    note.digest = Some(Digest::of(&body.bytes));
    note.as_of = day.map(|day| DateTime::<Utc>::from_naive_utc_and_offset(day.and_time(NaiveTime::MIN), Utc));
    let rows = match rows_in(body) {
        Ok(rows) => rows,
        Err(reason) => {
            note.state = SourceState::Failed(reason);
            return Snapshot { day, version: None, rows: Vec::new(), note };
        }
    };
    note.rows = rows.len() as u64;
    let mut models: BTreeMap<String, MarketModel> = BTreeMap::new();
    for (at, row) in rows.into_iter().enumerate() {
        match market_model(row, Shape::Legacy) {
            Ok((model, _)) if models.contains_key(&model.id) => {
                body.reject(&mut note, &model.id, false, format!("id {} stands twice", model.id));
            }
            Ok((model, _)) => drop(models.insert(model.id.clone(), model)),
            Err((id, reason)) => {
                let reason = row_reason(at, id.as_deref(), &reason);
                body.reject(&mut note, id.as_deref().unwrap_or_default(), false, reason);
            }
        }
    }
    note.used = models.len() as u64;
    if models.is_empty() {
        note.state = SourceState::Failed(format!("{}:1: holds no usable row", body.display));
    }
    let version = day.and_then(version_on).map(str::to_owned);
    Snapshot { day, version, rows: models.into_values().collect(), note }
}

/// The rows of a body that has the legacy frame.
fn rows_in(body: &Body) -> Result<Vec<Loose<Object<Row>>>, String> {
    let not_legacy = |why: &str| format!("{}:1: is no legacy body: {why}", body.display);
    let Loose::Value(Object(envelope)) = body.parse::<Loose<Object<Envelope>>>()? else {
        return Err(not_legacy("not an object"));
    };
    if envelope.status.lenient().is_none() {
        return Err(not_legacy("it has no status"));
    }
    match envelope.data.lenient() {
        Some(List(rows)) => Ok(rows),
        None => Err(not_legacy("it has no data")),
    }
}
