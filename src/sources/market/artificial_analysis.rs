//! Artificial Analysis v2 pages (`/language/models/free`): indices, median speeds, prices and release dates, one row per
//! model and effort. A snapshot counts only when all its pages are there and speak of one index version.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{Kind, List, Loose, Object};
use crate::vocabulary::{Digest, MarketModel, SourceId, SourceNote, SourceState};

mod legacy;
mod row;

pub use legacy::{Snapshot, read_history, version_on};
pub use row::effort_of_name;
use row::{Row, Shape, market_model, row_reason};

/// What one reading gives: rows sorted by id, the index version, and the note.
pub type Reading = (Vec<MarketModel>, Option<String>, SourceNote);

/// One page as sent.
#[derive(Deserialize)]
struct Page {
    /// The version every index on the page belongs to: a number, in some copies a string.
    #[serde(default)]
    intelligence_index_version: Loose<Version>,
    /// Which page of how many.
    #[serde(default)]
    pagination: Loose<Object<Pagination>>,
    /// The rows.
    #[serde(default)]
    data: Loose<List<Object<Row>>>,
}

/// Index version as text; 4.3 and "4.3" are the same.
#[derive(Debug, Clone, PartialEq)]
struct Version(String);

impl Kind for Version {
    fn text(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
        (!text.is_empty()).then(|| Self(plain.map_or_else(|| text.to_owned(), |number| number.to_string())))
    }

    fn number(number: f64) -> Option<Self> {
        number.is_finite().then(|| Self(number.to_string()))
    }
}

/// Place of a page in its snapshot.
#[derive(Deserialize)]
struct Pagination {
    /// From 1.
    #[serde(default)]
    page: Loose<f64>,
    /// How many there are.
    #[serde(default)]
    total_pages: Loose<f64>,
}

/// Reads one file or a folder of pages. Missing pages, pages of different index versions, an empty or unreadable body give a
/// `Failed` note and no rows. As-of is the oldest `fetched_at` of the sidecars, unknown when a page has none.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> Reading {
    let files = match page_files(path, display) {
        Ok(files) => files,
        Err(reason) => return failed(reason),
    };
    let mut bodies = Vec::with_capacity(files.len());
    for (file, shown) in &files {
        match Body::read(file, shown) {
            Ok(body) => bodies.push(body),
            Err(reason) => return failed(reason),
        }
    }
    let (rows, version, mut note) = read_bodies(&bodies, display);
    note.as_of = as_of(path, &files, now);
    (rows, version, note)
}

/// A reading that could not be made.
fn failed(reason: String) -> Reading {
    (Vec::new(), None, SourceNote::failed(SourceId::Market, reason))
}

/// What `fetch` calls the one file that holds all pages of a snapshot.
pub const WHOLE: &str = "snapshot.json";

/// The page files with the path to show, by name: the file itself, or every `*.json` of the folder that is no sidecar. A whole
/// snapshot that `fetch` put there stands alone: pages beside it are older.
pub(super) fn page_files(path: &Path, display: &str) -> Result<Vec<(PathBuf, String)>, String> {
    if !path.is_dir() {
        return Ok(vec![(path.to_path_buf(), display.to_owned())]);
    }
    let entries = fs::read_dir(path).map_err(|error| format!("{display}:1: {}", error.kind()))?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("{display}:1: {}", error.kind()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_json = Path::new(&name).extension().is_some_and(|extension| extension == "json");
        if is_json && !name.ends_with(".meta.json") && name != "meta.json" {
            files.push((entry.path(), format!("{}/{name}", display.trim_end_matches('/'))));
        }
    }
    files.sort();
    if let Some(whole) = files.iter().find(|(path, _)| path.file_name().is_some_and(|name| name == WHOLE)) {
        return Ok(vec![whole.clone()]);
    }
    if files.is_empty() { Err(format!("{display}:1: holds no page (*.json)")) } else { Ok(files) }
}

/// The oldest fetch time of the pages: each page's own sidecar, else the folder's; unknown when a page has neither.
fn as_of(path: &Path, files: &[(PathBuf, String)], now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let of_folder = || fetched_at(&path.join("meta.json"), now).or_else(|| fetched_at(&sidecar_of(path), now));
    let times: Option<Vec<_>> =
        files.iter().map(|(file, _)| fetched_at(&sidecar_of(file), now).or_else(of_folder)).collect();
    times?.into_iter().min()
}

/// Turns bodies, in path order, into one reading without as-of.
pub(super) fn read_bodies(bodies: &[Body], display: &str) -> Reading {
    let mut note = SourceNote::new(SourceId::Market, SourceState::Fresh);
    note.digest = Some(digest(bodies));
    match pages(bodies) {
        Ok(pages) => {
            note.rows = pages.iter().map(|page| page.rows.len() as u64).sum();
            match one_snapshot(&pages, display) {
                Ok(version) => return rows_of(pages, version, note, display),
                Err(reason) => note.state = SourceState::Failed(reason),
            }
        }
        Err(reason) => note.state = SourceState::Failed(reason),
    }
    (Vec::new(), None, note)
}

/// The digest of the bodies' bytes in path order.
fn digest(bodies: &[Body]) -> Digest {
    match bodies {
        [body] => Digest::of(&body.bytes),
        _ => Digest::of(&bodies.iter().flat_map(|body| body.bytes.iter().copied()).collect::<Vec<u8>>()),
    }
}

/// A page whose frame is sound.
struct SoundPage<'a> {
    /// Its body.
    body: &'a Body,
    /// Page number, from 1.
    number: f64,
    /// How many pages the snapshot has.
    total: f64,
    /// The index version it states.
    version: Option<String>,
    /// Its rows.
    rows: Vec<Loose<Object<Row>>>,
}

/// Every page by number; the error names the file that is no page.
fn pages(bodies: &[Body]) -> Result<Vec<SoundPage<'_>>, String> {
    let mut pages = Vec::with_capacity(bodies.len());
    for body in bodies {
        let page: Object<Page> = match body.parse::<Loose<Object<Page>>>()? {
            Loose::Value(page) => page,
            _ => return Err(format!("{}:1: is no page: not an object", body.display)),
        };
        pages.push(sound_page(body, page.0).map_err(|reason| format!("{}:1: {reason}", body.display))?);
    }
    pages.sort_by(|a, b| a.number.total_cmp(&b.number));
    Ok(pages)
}

/// Checks the frame of one page.
fn sound_page(body: &Body, page: Page) -> Result<SoundPage<'_>, String> {
    let Some(Object(pagination)) = page.pagination.get("pagination")? else {
        return Err("is no v2 page: it has no pagination (the legacy shape is not read here)".to_owned());
    };
    let whole = |value: Loose<f64>, key: &str| match value.get(key)? {
        Some(number) if number >= 1.0 && number.fract() <= 0.0 => Ok(number),
        _ => Err(format!("{key} is no count")),
    };
    let Some(List(rows)) = page.data.get("data")? else { return Err("is no v2 page: it has no data".to_owned()) };
    Ok(SoundPage {
        body,
        number: whole(pagination.page, "pagination.page")?,
        total: whole(pagination.total_pages, "pagination.total_pages")?,
        version: page.intelligence_index_version.get("intelligence_index_version")?.map(|version| version.0),
        rows,
    })
}

/// The index version of pages that make one whole snapshot; the error says what is missing or contradicts.
fn one_snapshot(pages: &[SoundPage<'_>], display: &str) -> Result<Option<String>, String> {
    let first = pages.first().ok_or_else(|| format!("{display}:1: holds no page"))?;
    for page in pages {
        let differs =
            |what: &str| format!("{}:1: states another {what} than {}", page.body.display, first.body.display);
        if page.version != first.version {
            return Err(differs("intelligence_index_version"));
        }
        if page.total.total_cmp(&first.total).is_ne() {
            return Err(differs("total_pages"));
        }
    }
    for pair in pages.windows(2) {
        if pair[0].number.total_cmp(&pair[1].number).is_eq() {
            return Err(format!("{}:1: is page {} again", pair[1].body.display, pair[1].number));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful of pages")]
    let held = pages.len() as f64;
    if held < first.total || pages.last().is_some_and(|page| page.number > first.total) {
        return Err(format!("{display}:1: holds {held} of {} pages", first.total));
    }
    Ok(first.version.clone())
}

/// The rows of a whole snapshot, sorted by id.
fn rows_of(pages: Vec<SoundPage<'_>>, version: Option<String>, mut note: SourceNote, display: &str) -> Reading {
    let mut models: BTreeMap<String, MarketModel> = BTreeMap::new();
    let mut rounded = 0_usize;
    for page in pages {
        for (at, row) in page.rows.into_iter().enumerate() {
            match market_model(row, Shape::V2) {
                Ok((model, _)) if models.contains_key(&model.id) => {
                    page.body.reject(&mut note, &model.id, false, format!("id {} stands twice", model.id));
                }
                Ok((model, is_rounded)) => {
                    rounded += usize::from(is_rounded);
                    models.insert(model.id.clone(), model);
                }
                Err((id, reason)) => {
                    let reason = row_reason(at, id.as_deref(), &reason);
                    page.body.reject(&mut note, id.as_deref().unwrap_or_default(), false, reason);
                }
            }
        }
    }
    note.used = models.len() as u64;
    if models.is_empty() {
        note.state = SourceState::Failed(format!("{display}:1: holds no usable row"));
    }
    remarks(&mut note, version.as_deref(), rounded);
    (models.into_values().collect(), version, note)
}

/// Further facts worth a line.
fn remarks(note: &mut SourceNote, version: Option<&str>, rounded: usize) {
    match version {
        Some(version) => note.remarks.push(format!("index version {version}")),
        None => note.remarks.push("no index version stated: indices are comparable inside this body only".to_owned()),
    }
    if rounded > 0 {
        note.remarks.push(format!("{rounded} rows with a lone price of 0 (rounded down), read as unknown"));
    }
}
