//! Quiet issue filing: what is done to a tracker is a pure function of what stands there (or what the ledger remembers), the
//! report and the past. Nothing here knows a socket; a second, small part carries a plan out behind [`Tracker`].

mod body;
mod carry;
mod decide;
mod flags;
mod lives;
mod marker;
mod plan;
mod shown;
mod tracker;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;

pub use body::Places;
pub use carry::{Filed, Filing, Outbox};
pub use decide::{Known, KnownState};
pub use marker::{Marker, comment_key};
pub use plan::{Entry, Plan, plan_json};
pub(in crate::outputs) use shown::{KILLED, PLANNED, without_tracker};
pub use shown::{lines, section_lines};
pub use tracker::{Answer, Draft, Edit, Listed, Listing, NewState, Tracker, Trouble};

use crate::history::{IssueMemory, Ledger, Past, RunFact, Settlement, issue_memories};
use crate::verdict::Report;
use lives::Lives;

/// Which tracker, and how much may be filed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackerPlace {
    /// The address that people see the server at, without a slash at its end: `https://github.com`.
    pub web: String,
    /// `owner/name`.
    pub repository: String,
    /// Most new issues per run.
    pub new_per_run: usize,
}

impl TrackerPlace {
    /// What the ledger calls it: address and `owner/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.web.trim_end_matches('/'), self.repository)
    }

    /// The address of an issue.
    pub fn issue_url(&self, number: u64) -> String {
        format!("{}/issues/{number}", self.key())
    }
}

/// Everything that a plan is made from, beside the issues themselves.
pub struct Desk<'a> {
    /// The report, with its open proposals.
    report: &'a Report,
    /// Where issues go.
    place: TrackerPlace,
    /// Where files can be looked at.
    places: Places,
    /// What became of the proposals behind each id.
    lives: Lives<'a>,
    /// What the ledger remembers of each id.
    memories: BTreeMap<String, IssueMemory>,
    /// How it is carried out; without it the plan is made from the ledger and nothing is sent.
    filing: Option<Filing<'a>>,
}

impl fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<'a> Desk<'a> {
    /// A desk for one settled run. `past` is what the runs before it left behind.
    pub fn new(
        report: &'a Report,
        settlement: &'a Settlement,
        past: &'a Past,
        ledger: &Ledger,
        place: TrackerPlace,
        places: Places,
    ) -> Self {
        let earlier = ledger.runs().into_iter().filter(|(run, _)| *run < report.run_id.as_str());
        let runs: Vec<(String, RunFact)> = earlier.map(|(run, fact)| (run.to_owned(), fact.clone())).collect();
        let memories = issue_memories(ledger.of_issues(), &place.key());
        let lives = Lives::new(report, settlement, past, runs);
        let places = Places { credit: super::credit(report), ..places };
        Self { report, place, places, lives, memories, filing: None }
    }

    /// The same desk with somebody who carries its plan out.
    #[must_use]
    pub fn filing(self, filing: Option<Filing<'a>>) -> Self {
        Self { filing, ..self }
    }

    /// Whether the plan is carried out.
    pub fn is_filing(&self) -> bool {
        self.filing.is_some()
    }

    /// Looks at the tracker and carries the plan out; `None` when nobody is to.
    pub(in crate::outputs) fn carry_out(&self, outbox: &mut Outbox<'_>) -> Result<Option<Filed>> {
        self.filing.map(|filing| carry::carry_out(self, filing, outbox)).transpose()
    }

    /// Where issues go.
    pub fn place(&self) -> &TrackerPlace {
        &self.place
    }

    /// The plan as far as the ledger knows, without a socket.
    pub fn plan(&self) -> Plan {
        let known =
            self.memories.iter().filter_map(|(id, memory)| Some((id.clone(), vec![decide::remembered(memory)?])));
        self.plan_for(&known.collect(), &self.memories, "ledger")
    }
}
