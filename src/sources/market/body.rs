//! One body on disk: its bytes, when it was fetched, and the line a value stands on. Nothing here blocks on a pipe
//! or reads more than the cap.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Duration, Utc};
use serde::Deserialize;

use crate::settings::broken_link;
use crate::vocabulary::{Place, SourceNote};

/// The largest body that is read, in bytes.
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A body as read, under the path the operator wrote.
#[derive(Debug)]
pub(super) struct Body {
    /// Path shown in messages.
    pub(super) display: String,
    /// The bytes, without a byte-order mark.
    pub(super) bytes: Vec<u8>,
}

impl Body {
    /// Reads one regular file of at most [`MAX_BYTES`]. The error is `path:1: reason`.
    pub(super) fn read(path: &Path, display: &str) -> Result<Self, String> {
        let fail = |reason: &str| format!("{display}:1: {reason}");
        let meta =
            fs::metadata(path).map_err(|error| fail(&broken_link(path).unwrap_or_else(|| error.kind().to_string())))?;
        if !meta.is_file() {
            return Err(fail("is not a regular file"));
        }
        let too_large = || fail(&format!("is larger than {} MiB", MAX_BYTES / 1024 / 1024));
        if meta.len() > MAX_BYTES {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
        let file = File::open(path).map_err(|error| fail(&error.kind().to_string()))?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| fail(&error.kind().to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large());
        }
        Ok(Self::new(display, bytes))
    }

    /// A body from bytes; a leading byte-order mark is dropped.
    pub(super) fn new(display: &str, mut bytes: Vec<u8>) -> Self {
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        Self { display: display.to_owned(), bytes }
    }

    /// The body as `T`. The error is `path:line: reason`.
    pub(super) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        if self.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(format!("{}:1: is empty", self.display));
        }
        serde_json::from_slice(&self.bytes)
            .map_err(|error| format!("{}:{}: {error}", self.display, error.line().max(1)))
    }

    /// Counts a row that is not used. Its line is that of `text`, a JSON string that stands exactly once in the body (as a
    /// key if `is_key`), else 1; it is looked for only while rejects are still quoted.
    pub(super) fn reject(&self, note: &mut SourceNote, text: &str, is_key: bool, reason: String) {
        let is_quoted = note.rejects.len() < SourceNote::KEPT_REJECTS;
        let line = if is_quoted { self.line_of(text, is_key) } else { 1 };
        note.reject(Place::new(&self.display, line), reason);
    }

    /// The line of a JSON string that stands exactly once; 1 when that cannot be told.
    fn line_of(&self, text: &str, is_key: bool) -> usize {
        let (Ok(needle), Ok(body)) = (serde_json::to_string(text), str::from_utf8(&self.bytes)) else { return 1 };
        let is_followed_by_colon = |at: usize| body[at..].trim_start().starts_with(':');
        let mut places =
            body.match_indices(&needle).filter(|(at, _)| !is_key || is_followed_by_colon(at + needle.len()));
        match (places.next(), places.next()) {
            (Some((at, _)), None) => 1 + body[..at].bytes().filter(|&byte| byte == b'\n').count(),
            _ => 1,
        }
    }
}

/// The sidecar of a fetched body; other keys are of no concern here.
#[derive(Deserialize)]
struct Sidecar {
    /// When the body arrived.
    fetched_at: DateTime<Utc>,
    /// The most rows it ever had.
    #[serde(default)]
    high_water: Option<u64>,
    /// Whether fewer were taken on purpose, so that the count began anew.
    #[serde(default)]
    accepted_fewer: bool,
}

/// The most rows of a body since fewer of them were taken on purpose; `None` when that never happened.
pub(super) fn settled_measure(sidecar: &Path) -> Option<u64> {
    let body = Body::read(sidecar, "").ok()?;
    let sidecar: Sidecar = body.parse().ok()?;
    sidecar.high_water.filter(|_| sidecar.accepted_fewer)
}

/// `<path>.meta.json`.
pub(super) fn sidecar_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".meta.json");
    PathBuf::from(name)
}

/// When the sidecar says the body was fetched; `None` without a readable sidecar, or when it lies more than an hour
/// after `now` (a clock that is wrong proves no freshness).
pub(super) fn fetched_at(sidecar: &Path, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let body = Body::read(sidecar, "").ok()?;
    let sidecar: Sidecar = body.parse().ok()?;
    (sidecar.fetched_at <= now + Duration::hours(1)).then_some(sidecar.fetched_at)
}
