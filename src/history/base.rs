//! What the old part of a ledger folds into, so that it need not be held, or read again, event by event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::{Fact, RunFact};
use super::ledger::{Event, Past};

/// Runs whose own facts are kept: more than any output shows.
const KEPT_RUNS: usize = 400;

/// The fold of the first events of a ledger. Every later event is of a later run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    /// The largest run id in it, of a run or of a decision.
    pub(super) run: String,
    /// Its newest run.
    pub(super) newest_run: Option<String>,
    /// The number of its last event.
    pub(super) seq: u64,
    /// Hash of its last event; empty without one.
    pub(super) head: String,
    /// Bytes of the file that it stands for.
    pub(super) length: u64,
    /// Lines of the file that it stands for.
    pub(super) lines: usize,
    /// What it left behind.
    pub(super) past: Past,
    /// What its newest runs said.
    pub(super) runs: BTreeMap<String, RunFact>,
    /// What it says of issues, event by event: few, and looked at by tracker.
    pub(super) issues: Vec<Event>,
}

impl Base {
    /// Whether an event belongs behind the base: of a later run, or a decision at its very end.
    pub(super) fn precedes(&self, event: &Event) -> bool {
        self.run < event.run || (self.run == event.run && !event.is_of_run())
    }

    /// Takes the next events in, in the order of the file.
    pub(super) fn fold(&mut self, events: &[Event]) {
        let mut sorted = effective(events);
        sorted.sort_by(|a, b| a.run.cmp(&b.run));
        for event in sorted {
            self.past.take(event);
        }
        for event in events {
            self.past.lives.take_number(event);
            self.run = event.run.clone().max(std::mem::take(&mut self.run));
            if event.is_of_run() {
                self.newest_run = self.newest_run.take().max(Some(event.run.clone()));
            }
            match &event.fact {
                Some(Fact::Run(run) | Fact::Rerun(run)) => {
                    self.runs.insert(event.run.clone(), run.clone());
                }
                Some(Fact::Issue(_)) => self.issues.push(event.clone()),
                _ => {}
            }
        }
        while self.runs.len() > KEPT_RUNS {
            self.runs.pop_first();
        }
        if let Some(last) = events.last() {
            (self.seq, self.head) = (last.seq, last.hash.clone());
        }
    }
}

/// The events that count: of a run that was judged again only those since it was, and every one that is no run's own.
pub(super) fn effective(events: &[Event]) -> Vec<&Event> {
    let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        if matches!(event.fact, Some(Fact::Rerun(_))) {
            starts.insert(&event.run, event.seq);
        }
    }
    let counts =
        |event: &&Event| !event.is_of_run() || starts.get(event.run.as_str()).is_none_or(|seq| event.seq >= *seq);
    events.iter().filter(counts).collect()
}
