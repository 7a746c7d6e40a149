//! When runs started and ended: `reports/cadence.jsonl`, one line each. It is outside the same-bytes promise, because it
//! speaks of the wall clock; the caller reads the clock.

use chrono::{DateTime, TimeDelta, Utc};
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
    /// Why it failed, at the end of one that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Most characters of a reason.
const REASON_CHARS: usize = 400;

impl Cadence {
    /// A run begins.
    pub fn start(run: &str, at: DateTime<Utc>) -> Self {
        let event = CadenceEvent::Start;
        Self {
            run: run.to_owned(),
            event,
            at: instant(at),
            exit: None,
            duration_ms: None,
            next_due: None,
            reason: None,
        }
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
            reason: None,
        }
    }

    /// The same with why it failed, in one line.
    #[must_use]
    pub fn because(mut self, reason: Option<&str>) -> Self {
        let flat = |reason: &str| reason.split_whitespace().collect::<Vec<_>>().join(" ");
        self.reason = reason.map(|reason| flat(reason).chars().take(REASON_CHARS).collect());
        self
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

/// Minutes after which a review that was due counts as late.
pub const LATE_MINUTES: i64 = 15;

/// How long before its due instant a start still serves it: clocks are set, and schedulers round.
const EARLY: TimeDelta = TimeDelta::seconds(60);

/// Most due instants that are looked at one by one.
const MOST_TICKS: usize = 5_000;

/// One run as its lines tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTimes {
    /// Run id.
    pub run: String,
    /// When it began.
    pub started: DateTime<Utc>,
    /// When it ended; `None` of a run that was killed, or is still under way.
    pub ended: Option<DateTime<Utc>>,
    /// Its exit code.
    pub exit: Option<u8>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Why it failed, where its end says so.
    pub reason: Option<String>,
}

impl RunTimes {
    /// Whether it did its work: finished, with or without blocked pools or proposals.
    pub fn is_success(&self) -> bool {
        matches!(self.exit, Some(0 | 3 | 10))
    }
}

/// Due instants that no run served in time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Nothing started before the next one was due.
    pub missed: Vec<DateTime<Utc>>,
    /// Due instant and when a run started for it, more than a quarter of an hour later.
    pub late: Vec<(DateTime<Utc>, DateTime<Utc>)>,
}

/// The runs of a cadence file, in the order they began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rhythm {
    /// The runs.
    pub runs: Vec<RunTimes>,
}

impl Rhythm {
    /// The runs of some lines. An end belongs to the latest start of its run that has none; an end alone is left out.
    pub fn of(lines: &[Cadence]) -> Self {
        let mut rhythm = Self::default();
        for line in lines {
            let Ok(at) = DateTime::parse_from_rfc3339(&line.at).map(|at| at.to_utc()) else { continue };
            if line.event == CadenceEvent::Start {
                rhythm.begin(&line.run, at);
            } else if let Some(one) =
                rhythm.runs.iter_mut().rev().find(|one| one.run == line.run && one.ended.is_none())
            {
                (one.ended, one.exit, one.duration_ms) = (Some(at), line.exit, line.duration_ms);
                one.reason.clone_from(&line.reason);
            }
        }
        rhythm
    }

    /// Takes in a run that has just begun.
    pub fn begin(&mut self, run: &str, started: DateTime<Utc>) {
        self.runs.push(RunTimes {
            run: run.to_owned(),
            started,
            ended: None,
            exit: None,
            duration_ms: None,
            reason: None,
        });
    }

    /// When the latest run began.
    pub fn last_start(&self) -> Option<DateTime<Utc>> {
        self.runs.iter().map(|one| one.started).max()
    }

    /// The latest run that did its work.
    pub fn last_success(&self) -> Option<&RunTimes> {
        self.runs.iter().rev().find(|one| one.is_success())
    }

    /// How many of the latest runs failed or were killed, one after the other.
    pub fn failures_in_a_row(&self) -> usize {
        self.runs.iter().rev().take_while(|one| !one.is_success()).count()
    }

    /// What became of every instant that was due after `from` and not after `to`. The one that `to` still belongs to is
    /// missed only once it is late.
    pub fn gaps(&self, from: DateTime<Utc>, to: DateTime<Utc>, next_due: NextDue<'_>) -> Gaps {
        let mut starts: Vec<DateTime<Utc>> = self.runs.iter().map(|one| one.started).collect();
        starts.sort_unstable();
        let mut gaps = Gaps::default();
        let ticks = std::iter::successors(next_due(from), |due| next_due(*due)).take_while(|due| *due <= to);
        for due in ticks.take(MOST_TICKS) {
            let end = next_due(due).map_or(DateTime::<Utc>::MAX_UTC, |next| next - EARLY);
            let served = starts.iter().find(|start| **start >= due - EARLY && **start < end);
            let late = due + TimeDelta::minutes(LATE_MINUTES);
            match served {
                Some(start) if *start > late => gaps.late.push((due, *start)),
                None if end <= to || late < to => gaps.missed.push(due),
                _ => {}
            }
        }
        gaps
    }

    /// What the section of the run that has just begun has to say of the time since the last run that did its work: killed
    /// and failed runs, missed ones, and whether this one is late. `run` is its id.
    pub fn since_last_success(&self, run: &str, now: DateTime<Utc>, next_due: NextDue<'_>) -> Vec<String> {
        let earlier = || self.runs.iter().rev().skip_while(|one| one.run == run && one.ended.is_none());
        let mut said: Vec<String> = earlier().take_while(|one| !one.is_success()).map(ended_badly).collect();
        said.reverse();
        let Some(from) = earlier().find(|one| one.is_success()).or_else(|| earlier().last()) else { return said };
        let gaps = self.gaps(from.started, now, next_due);
        said.extend(missed_words(&gaps.missed));
        said.extend(gaps.late.iter().filter(|(_, start)| *start <= now).map(|(due, start)| {
            let minutes = (*start - *due).num_minutes();
            format!("the review due {} started {minutes} minutes late", minute(*due))
        }));
        said
    }
}

/// The next due instant after one.
pub type NextDue<'a> = &'a dyn Fn(DateTime<Utc>) -> Option<DateTime<Utc>>;

/// `2026-11-29 12:00Z`.
fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%MZ").to_string()
}

/// A run that did not do its work.
fn ended_badly(one: &RunTimes) -> String {
    let started = minute(one.started);
    match one.exit {
        Some(exit) => {
            let reason = one.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("run {} of {started} failed with exit {exit}{reason}", one.run)
        }
        None => format!("run {} of {started} did not end: it was killed", one.run),
    }
}

/// Missed reviews in one sentence.
fn missed_words(missed: &[DateTime<Utc>]) -> Option<String> {
    match missed {
        [] => None,
        [one] => Some(format!("1 due review was missed: {}", minute(*one))),
        [first, .., last] => Some(format!(
            "{} due reviews were missed, the first {}, the last {}",
            missed.len(),
            minute(*first),
            minute(*last)
        )),
    }
}
