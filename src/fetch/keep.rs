//! The files of the data folder: a body and its sidecar `<file>.meta.json`, each replaced whole. A body without a sidecar of
//! its own bytes is read as unknown, so a fetch that is killed between the two loses nothing but its freshness.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::http::Answer;
use crate::store::replace_fetched;
use crate::vocabulary::Digest;

/// Most bytes of a sidecar.
const MAX_SIDECAR: u64 = 64 * 1024;

/// What is known of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sidecar {
    /// When the body arrived, or was last said to be unchanged.
    pub(super) fetched_at: Option<DateTime<Utc>>,
    /// SHA-256 of its bytes.
    #[serde(default)]
    pub(super) digest: Option<String>,
    /// The server's tag.
    #[serde(default)]
    pub(super) etag: Option<String>,
    /// The server's time of change.
    #[serde(default)]
    pub(super) last_modified: Option<String>,
    /// Usable rows.
    #[serde(default)]
    pub(super) rows: Option<u64>,
    /// The most rows it ever had.
    #[serde(default)]
    pub(super) high_water: Option<u64>,
    /// Whether a body with fewer rows was once taken on purpose: then `high_water` counts from there, for reviews too.
    #[serde(default)]
    pub(super) accepted_fewer: bool,
}

impl Sidecar {
    /// The sidecar of an answer.
    pub(super) fn of(
        answer: &Answer,
        now: DateTime<Utc>,
        rows: u64,
        (high_water, accepted_fewer): (u64, bool),
    ) -> Self {
        Self {
            fetched_at: Some(now),
            digest: Some(Digest::of(&answer.body).to_string()),
            etag: answer.etag.clone(),
            last_modified: answer.last_modified.clone(),
            rows: Some(rows),
            high_water: Some(high_water),
            accepted_fewer,
        }
    }
}

/// A body that is there, with its sidecar.
pub(super) struct Kept {
    /// What is known of it; validators only when they belong to these very bytes.
    pub(super) sidecar: Sidecar,
}

impl Kept {
    /// Its age in hours, when it is known.
    pub(super) fn hours(&self, now: DateTime<Utc>) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        self.sidecar.fetched_at.map(|at| (now - at).num_seconds() as f64 / 3600.0)
    }
}

/// The body at a path, if there is one. A sidecar that speaks of other bytes keeps its counts and loses age and validators.
pub(super) fn read(path: &Path) -> Option<Kept> {
    let bytes = fs::read(path).ok()?;
    let mut text = String::new();
    let file = File::open(sidecar_of(path)).ok();
    let read = file.and_then(|file| file.take(MAX_SIDECAR).read_to_string(&mut text).ok());
    let sidecar: Sidecar = read.and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
    let is_own = sidecar.digest.as_deref() == Some(Digest::of(&bytes).as_str());
    let sidecar = if is_own {
        sidecar
    } else {
        let Sidecar { rows, high_water, accepted_fewer, .. } = sidecar;
        Sidecar { rows, high_water, accepted_fewer, ..Sidecar::default() }
    };
    Some(Kept { sidecar })
}

/// Replaces a body, then its sidecar. The folder is made if it is missing.
pub(super) fn write(path: &Path, body: &[u8], sidecar: &Sidecar) -> Result<(), String> {
    replace(path, body)?;
    write_sidecar(path, sidecar)
}

/// Replaces a sidecar.
pub(super) fn write_sidecar(path: &Path, sidecar: &Sidecar) -> Result<(), String> {
    let mut text = serde_json::to_string_pretty(sidecar).expect("a sidecar holds text and counts only");
    text.push('\n');
    replace(&sidecar_of(path), text.as_bytes())
}

/// Replaces a file whole.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), String> {
    replace_fetched(path, bytes).map_err(|error| format!("{error:#}"))
}

/// `<path>.meta.json`.
fn sidecar_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".meta.json");
    PathBuf::from(name)
}
