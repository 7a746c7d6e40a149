//! Quota windows as their sources state them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{HomeId, Place, WindowRemark};

/// What the vendor says of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowStatus {
    /// Usable.
    Ok,
    /// Usable, near its limit.
    Warning,
    /// Refuses calls until its reset.
    Rejected,
    /// Not in force.
    Inactive,
    /// Not stated.
    Unknown,
}

/// One window of one home as read (`quota-snapshot/1`), raw and unclamped.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaWindow {
    /// Stable id; with the home the identity of the bucket.
    pub window_id: String,
    /// `first_use`, `fixed`, `calendar`, `sliding`, `balance` or `unknown`.
    pub kind: String,
    /// Model globs the window binds; `["*"]` binds all.
    pub scope: Vec<String>,
    /// Used fraction: 0 is untouched, above 1 is over the limit; `None` is unknown.
    pub used: Option<f64>,
    /// The vendor says there is no limit.
    pub is_unlimited: bool,
    /// What the vendor says.
    pub status: WindowStatus,
    /// Length in seconds, from the payload.
    pub window_seconds: Option<i64>,
    /// Reset instant, rounded to the minute.
    pub resets_at: Option<DateTime<Utc>>,
    /// `Some(false)` is an unopened first-use window.
    pub started: Option<bool>,
    /// When the vendor's value was seen.
    pub observed_at: Option<DateTime<Utc>>,
    /// Why the reading cannot be used, if it cannot (sliding reset, two anchors, old value beside a new reset).
    pub invalid: Option<String>,
    /// Facts that do not void the reading, in order, each once.
    pub remarks: Vec<WindowRemark>,
    /// Fraction per hour that older readings of the same cycle show, if there are enough of them.
    pub recent_burn: Option<f64>,
    /// Where the reading stands.
    pub place: Place,
}

/// One home with its newest reading of every window.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaHome {
    /// The seat.
    pub home: HomeId,
    /// Its windows, by id.
    pub windows: Vec<QuotaWindow>,
}

/// A reading of a window that a run saw, kept so that its burn can be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptReading {
    /// When the vendor's value was seen.
    pub observed_at: DateTime<Utc>,
    /// Used fraction, unclamped.
    pub used: f64,
    /// Reset instant.
    pub resets_at: Option<DateTime<Utc>>,
}

/// Home → window → kept readings, oldest first.
pub type KeptReadings = BTreeMap<String, BTreeMap<String, Vec<KeptReading>>>;

/// What one record of a session store says of one limit of a seat.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitReading {
    /// The file, and the number of the record in it.
    pub place: Place,
    /// Provider of the calls; empty when not known.
    pub provider: String,
    /// The seat, where the settings of the store name it.
    pub home: Option<HomeId>,
    /// When the vendor's value was seen.
    pub observed_at: DateTime<Utc>,
    /// The limit, where it is one of several; `None` is the one that all models share.
    pub limit: Option<String>,
    /// The plan of the seat, where it is stated.
    pub plan: Option<String>,
    /// Whether it names every window of the limit, so that one it does not name is gone.
    pub is_whole: bool,
    /// The windows it names.
    pub windows: Vec<LimitedWindow>,
}

/// One window of such a record.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitedWindow {
    /// `5h`, `weekly`, or another name by its length.
    pub name: String,
    /// Models it binds; empty binds all.
    pub scope: Vec<String>,
    /// Used percent; `None` is unknown.
    pub used_percent: Option<f64>,
    /// Length in seconds.
    pub seconds: Option<i64>,
    /// Reset instant.
    pub resets_at: Option<DateTime<Utc>>,
    /// Whether calls are refused although less than all is used.
    pub is_rejected: bool,
}
