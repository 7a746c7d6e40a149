//! How the reading of one source went: its state, what was rejected and where.

use chrono::{DateTime, Utc};

use super::{Digest, Place, SourceId};

/// A row that was not used: where it stands and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// File and line; for JSON bodies the line of the value where it can be told, else 1.
    pub place: Place,
    /// What is wrong, as a fragment.
    pub reason: String,
}

/// How the reading of one source ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// Read; the rows may be used.
    Fresh,
    /// Read, but older than its limit (or of unknown age): what depends on it is blocked.
    Stale,
    /// Not named in the settings: what needs it has insufficient evidence.
    NotConfigured,
    /// Named, but missing, empty or unreadable: what depends on it is blocked. The text is the reason.
    Failed(String),
}

/// How one source was read. Rows that were rejected are data to count, never an error.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNote {
    /// Which source.
    pub source: SourceId,
    /// How the reading ended.
    pub state: SourceState,
    /// The newest instant the rows speak of; `None` when nothing says.
    pub as_of: Option<DateTime<Utc>>,
    /// The age from which on it is stale, in hours; `None` when the source has no limit of its own.
    pub max_age_hours: Option<f64>,
    /// Rows seen.
    pub rows: u64,
    /// Rows used.
    pub used: u64,
    /// Rows not used because they are broken.
    pub rejected: u64,
    /// The first few of them.
    pub rejects: Vec<Reject>,
    /// Further facts worth a line ("3 rows immature").
    pub remarks: Vec<String>,
    /// SHA-256 over the bytes read, files in path order; `None` when nothing was read.
    pub digest: Option<Digest>,
}

impl SourceNote {
    /// How many rejects are kept word for word.
    pub const KEPT_REJECTS: usize = 5;

    /// A note of a source that is not configured.
    pub fn not_configured(source: SourceId) -> Self {
        Self::new(source, SourceState::NotConfigured)
    }

    /// A note of a source that could not be read.
    pub fn failed(source: SourceId, reason: impl Into<String>) -> Self {
        Self::new(source, SourceState::Failed(reason.into()))
    }

    /// An empty note in some state.
    pub fn new(source: SourceId, state: SourceState) -> Self {
        Self {
            source,
            state,
            as_of: None,
            max_age_hours: None,
            rows: 0,
            used: 0,
            rejected: 0,
            rejects: Vec::new(),
            remarks: Vec::new(),
            digest: None,
        }
    }

    /// Counts a row that is not used and keeps it if it is among the first few.
    pub fn reject(&mut self, place: Place, reason: impl Into<String>) {
        self.rejected += 1;
        if self.rejects.len() < Self::KEPT_REJECTS {
            self.rejects.push(Reject { place, reason: reason.into() });
        }
    }

    /// Age at `now` in hours, if an as-of time is known.
    pub fn age_hours(&self, now: DateTime<Utc>) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        self.as_of.map(|as_of| (now - as_of).num_seconds() as f64 / 3600.0)
    }

    /// Settles `Fresh` or `Stale` from as-of and limit. An unknown age is stale (DESIGN §14). Failed notes stay as they are.
    pub fn settle_age(&mut self, now: DateTime<Utc>, max_age_hours: f64) {
        self.max_age_hours = Some(max_age_hours);
        if self.state == SourceState::Fresh && self.age_hours(now).is_none_or(|age| age > max_age_hours) {
            self.state = SourceState::Stale;
        }
    }

    /// Whether the rows may be used.
    pub fn is_usable(&self) -> bool {
        self.state == SourceState::Fresh
    }
}
