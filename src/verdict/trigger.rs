//! What makes the way back of a landed change due, with the numbers that were measured (methods §18.4).

use serde::{Deserialize, Serialize};

use super::Sentence;

/// Minutes that a dry window must still have to wait before it counts: a shorter one heals by itself.
const LEAST_WAIT_MINUTES: u64 = 60;

/// One trigger as it was measured. Numbers are whole: millionths of 1, thousandths of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule")]
pub enum TriggerReading {
    /// The success of the new lead since the landing, against a floor.
    #[serde(rename = "below_floor_1")]
    BelowFloor {
        /// The pool's lead.
        lead: String,
        /// The floor.
        floor_ppm: u64,
        /// P(success below the floor).
        below_ppm: u64,
        /// The probability from which on it is due.
        needed_ppm: u64,
        /// Weighted rows of the lead since the landing.
        rows_milli: u64,
        /// The rows from which on it is judged.
        needed_rows_milli: u64,
    },
    /// The claim was measured and did not come true.
    #[serde(rename = "refuted_1")]
    Refuted {
        /// Whether it was refuted.
        is_refuted: bool,
        /// The metric.
        metric: String,
        /// Its unit.
        unit: String,
        /// What was claimed.
        claimed_point: i64,
        /// What was measured.
        realised_point: Option<i64>,
    },
    /// What is left in the windows of the new lead.
    #[serde(rename = "window_dry_1")]
    WindowDry {
        /// The pool's lead.
        lead: String,
        /// The window with the least left.
        window: String,
        /// The most that may be left in it.
        left_ppm: u64,
        /// Minutes to its reset; `None` is unknown.
        wait_minutes: Option<u64>,
    },
}

impl TriggerReading {
    /// Whether the way back is due.
    pub fn is_due(&self) -> bool {
        match self {
            Self::BelowFloor { below_ppm, needed_ppm, rows_milli, needed_rows_milli, .. } => {
                rows_milli >= needed_rows_milli && below_ppm >= needed_ppm
            }
            Self::Refuted { is_refuted, .. } => *is_refuted,
            Self::WindowDry { left_ppm, wait_minutes, .. } => {
                *left_ppm == 0 && wait_minutes.is_none_or(|wait| wait >= LEAST_WAIT_MINUTES)
            }
        }
    }

    /// The rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::BelowFloor { .. } => "below_floor_1",
            Self::Refuted { .. } => "refuted_1",
            Self::WindowDry { .. } => "window_dry_1",
        }
    }

    /// The numbers beside their limits, as a fragment.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::BelowFloor { lead, floor_ppm, below_ppm, needed_ppm, rows_milli, needed_rows_milli } => {
                let said = Sentence::new().own("success of the lead ").name(lead).own(format!(
                    " below the floor of {:.1} % with probability {:.3}, due from {:.3} on",
                    percent(*floor_ppm),
                    share(*below_ppm),
                    share(*needed_ppm)
                ));
                let (rows, needed) = (rows(*rows_milli), rows(*needed_rows_milli));
                said.own(format!("; {rows} weighted rows since the landing, {needed} needed"))
            }
            Self::Refuted { is_refuted, metric, unit, claimed_point, realised_point } => {
                let found = realised_point.map_or("nothing yet".to_owned(), |point| point.to_string());
                let word = if *is_refuted { "refuted" } else { "not refuted" };
                let said = Sentence::new().own(format!("{word}: claimed {claimed_point} ")).name(unit).own(" of ");
                said.name(metric).own(format!(", found {found}"))
            }
            Self::WindowDry { lead, window, left_ppm, wait_minutes } => {
                let wait = wait_minutes.map_or("at an unknown time".to_owned(), |wait| format!("in {wait} minutes"));
                let said = Sentence::new().own("the window ").name(window).own(" of the lead ").name(lead);
                said.own(format!(
                    " has at most {:.1} % left and resets {wait}; due when dry for {LEAST_WAIT_MINUTES} minutes or longer",
                    percent(*left_ppm)
                ))
            }
        }
    }
}

/// Millionths as a share.
#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// Millionths as per cent.
fn percent(ppm: u64) -> f64 {
    share(ppm) * 100.0
}

/// Thousandths of a row as rows.
#[expect(clippy::cast_precision_loss, reason = "counts of rows stay far below 2^53")]
fn rows(milli: u64) -> String {
    format!("{:.1}", milli as f64 / 1e3)
}

/// A way back that is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackDue {
    /// The run since which it is.
    pub since: String,
    /// The numbers.
    pub reading: TriggerReading,
}

impl RollbackDue {
    /// `rollback due since run 20261129T120000Z: …`.
    pub fn sentence(&self) -> Sentence {
        Sentence::new().own("rollback due since run ").name(&self.since).own(": ").then(self.reading.sentence())
    }
}
