//! When runs started and ended: `reports/cadence.jsonl`, one line each. It is outside the same-bytes promise, because it
//! speaks of the wall clock; the caller reads the clock.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ledger::instant;
use crate::vocabulary::{Place, Reject};

/// Start or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CadenceEvent {
    /// A run began.
    Start,
    /// A run ended.
    End,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cadence {
    /// Run id.
    pub run: String,
    /// Start or end.
    pub event: CadenceEvent,
    /// The wall clock.
    pub at: String,
    /// Exit code, at the end.
    pub exit: Option<u8>,
    /// How long it took, at the end.
    pub duration_ms: Option<u64>,
    /// The next due instant, at the end.
    pub next_due: Option<String>,
}

impl Cadence {
    /// A run begins.
    pub fn start(run: &str, at: DateTime<Utc>) -> Self {
        let event = CadenceEvent::Start;
        Self { run: run.to_owned(), event, at: instant(at), exit: None, duration_ms: None, next_due: None }
    }

    /// A run ends.
    pub fn end(run: &str, at: DateTime<Utc>, exit: u8, duration_ms: u64, next_due: Option<DateTime<Utc>>) -> Self {
        Self {
            run: run.to_owned(),
            event: CadenceEvent::End,
            at: instant(at),
            exit: Some(exit),
            duration_ms: Some(duration_ms),
            next_due: next_due.map(instant),
        }
    }

    /// As a line without its end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a cadence line holds text and whole numbers only")
    }

    /// The lines of a file; what does not parse is reported and left out.
    pub fn read(path: &str, text: &str) -> (Vec<Self>, Vec<Reject>) {
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(cadence) => lines.push(cadence),
                Err(error) => problems.push(Reject { place: Place::new(path, i + 1), reason: error.to_string() }),
            }
        }
        (lines, problems)
    }
}
