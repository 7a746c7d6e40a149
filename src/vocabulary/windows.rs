//! Quota windows as their sources state them.

use chrono::{DateTime, Utc};

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
