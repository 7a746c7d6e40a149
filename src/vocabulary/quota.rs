//! What a window reading says of itself: its length, its age, and whether value and reset can belong together.
//! Reference: quota §3.1 and §3.3. No price is made here.

use std::fmt;

use chrono::{DateTime, Months, Utc};

use super::QuotaWindow;

/// Hours one review's answer has to last (quota §3.2, T).
pub const REVIEW_HOURS: f64 = 12.0;
/// Hours after which even the load of a short window is no longer taken from a reading.
const LOAD_HOURS: f64 = 24.0;
/// Window length, in hours, above which staleness limits stop growing: a reading of last month is never used.
const LONGEST_FOR_AGE: f64 = 31.0 * 24.0;
/// Five minutes, in hours: jitter of clocks and the shortest freshness limit.
const FIVE_MINUTES: f64 = 5.0 / 60.0;
/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// A fact about a reading that does not void it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowRemark {
    /// Used dropped and the reset is another one, before the old one was due.
    NewCycle,
    /// Used dropped while the reset stayed: what was used before does not tell the burn.
    NewCycleSuspected,
    /// The fields that state the use disagree; the higher one is taken.
    UsedDisagrees,
    /// More than the limit is left, as with a boost: read as untouched.
    Boosted,
    /// Cash is being paid beyond the limit.
    OverageInUse,
}

impl fmt::Display for WindowRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewCycle => "new cycle",
            Self::NewCycleSuspected => "new cycle suspected, same reset (low confidence)",
            Self::UsedDisagrees => "fields of the use disagree, the higher one taken",
            Self::Boosted => "more than the limit is left, read as untouched",
            Self::OverageInUse => "overage in use",
        })
    }
}

/// How old a reading is, measured against the length of its window (quota §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowAge {
    /// At most 2 % of the length, or five minutes: the value is a point.
    Fresh,
    /// At most 10 % of the length: the value is an interval.
    Aging,
    /// Older, or of unknown age: the value is void.
    Stale,
}

/// Hours from one instant to another, negative when it lies before.
pub fn hours_between(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds of ten thousand years fit an f64 exactly")]
    let seconds = (to - from).num_seconds() as f64;
    seconds / 3600.0
}

impl QuotaWindow {
    /// Whether it runs from a day of one month to the same day of the next.
    pub fn is_calendar_month(&self) -> bool {
        let months = 28 * DAY_SECONDS..=31 * DAY_SECONDS;
        self.kind == "calendar" && self.window_seconds.is_some_and(|seconds| months.contains(&seconds))
    }

    /// Its length in hours; for a calendar month the distance of its real boundaries. `None` is unknown.
    pub fn length_hours(&self) -> Option<f64> {
        let seconds = self.window_seconds.filter(|seconds| *seconds > 0)?;
        let month = self
            .resets_at
            .filter(|_| self.is_calendar_month())
            .and_then(|reset| reset.checked_sub_months(Months::new(1)).map(|start| hours_between(start, reset)));
        #[expect(clippy::cast_precision_loss, reason = "a window is at most a few years long")]
        Some(month.unwrap_or(seconds as f64 / 3600.0))
    }

    /// Hours since the vendor's value was seen; negative when that lies ahead of `now`.
    pub fn age_hours(&self, now: DateTime<Utc>) -> Option<f64> {
        self.observed_at.map(|observed| hours_between(observed, now))
    }

    /// How old the reading is at `now`.
    pub fn age(&self, now: DateTime<Utc>) -> WindowAge {
        let length = self.length_hours().unwrap_or(LONGEST_FOR_AGE).min(LONGEST_FOR_AGE);
        match self.age_hours(now) {
            Some(age) if age <= (0.02 * length).max(FIVE_MINUTES) => WindowAge::Fresh,
            Some(age) if age <= (0.10 * length).max(FIVE_MINUTES) => WindowAge::Aging,
            _ => WindowAge::Stale,
        }
    }

    /// Whether a stale reading still tells the load of a window that is not longer than the review period.
    pub fn tells_load(&self, now: DateTime<Utc>) -> bool {
        self.length_hours().is_some_and(|length| length <= REVIEW_HOURS)
            && self.age_hours(now).is_some_and(|age| age <= LOAD_HOURS)
    }

    /// How far a reset may stand from where the length puts it, in hours.
    pub fn tolerance_hours(&self) -> f64 {
        (0.01 * self.length_hours().unwrap_or(0.0)).max(FIVE_MINUTES)
    }

    /// Whether its reset says when what is left will lapse.
    pub fn has_reset(&self) -> bool {
        self.resets_at.is_some() && self.kind != "sliding" && self.kind != "balance"
    }

    /// Why value, length and reset cannot belong together at `now`, if they cannot.
    pub fn fault(&self, now: DateTime<Utc>) -> Option<&'static str> {
        let observed = self.observed_at?;
        if hours_between(now, observed) > FIVE_MINUTES {
            return Some("observed after the review instant");
        }
        let reset = self.resets_at.filter(|_| self.has_reset())?;
        let longest = self.length_hours()? + self.tolerance_hours();
        if hours_between(now, reset) > longest {
            return Some("reset further away than the window is long");
        }
        (hours_between(observed, reset) > longest).then_some("value older than the cycle of its reset")
    }
}
