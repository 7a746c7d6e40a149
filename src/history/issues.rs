//! What the ledger remembers of issues: the outbox of filing, one event before and one after every write, and its fold.
//! They are no events of a run: what stands on a server stands there whatever a run is judged to say later.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::facts::Fact;
use super::ledger::Event;
use crate::verdict::Verdict;

/// One thing that is done to a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueStep {
    /// A label that the tracker lacks is made.
    Label,
    /// An issue is opened.
    Create,
    /// Its text is replaced.
    Patch,
    /// A comment is added.
    Comment,
    /// It is closed.
    Close,
    /// It is opened again.
    Reopen,
    /// A second open issue of the same id is closed.
    Duplicate,
    /// Nothing is written: a person closed it as not planned, and that is kept.
    Refusal,
    /// Nothing is written: an issue was found on the server that the ledger did not know.
    Found,
}

impl IssueStep {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Comment => "comment",
            Self::Close => "close",
            Self::Reopen => "reopen",
            Self::Duplicate => "duplicate",
            Self::Refusal => "refusal",
            Self::Found => "found",
        }
    }
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// About to be sent. Without an event after it nobody knows whether it arrived.
    Intent,
    /// The server said that it is done.
    Done,
    /// The server said no: it is not done.
    Refused,
    /// No clear answer came: the next run looks before it writes.
    Unclear,
}

/// One event of filing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueFact {
    /// The tracker: its address and `owner/name`.
    pub tracker: String,
    /// `add/<pool>/<model>` or `retire/<pool>/<model>`, in the characters of a marker.
    pub id: String,
    /// The proposal it speaks for.
    pub fingerprint: String,
    /// What is done.
    pub step: IssueStep,
    /// How far it has come.
    pub state: StepState,
    /// The issue's number, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Digest of the visible text that is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The verdict that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The key of a comment, the name of a label, or as what an issue is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Why it is done, or why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the ledger remembers an issue to stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// There is none that is known of.
    #[default]
    None,
    /// Open.
    Open,
    /// Closed: by us, or by somebody as completed.
    Closed,
}

/// What the ledger remembers of one id in one tracker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueMemory {
    /// The issue's number.
    pub number: Option<u64>,
    /// How it stands.
    pub standing: Standing,
    /// The run that closed it, or saw first that somebody had.
    pub closed_in: Option<String>,
    /// As what it was closed by us: `completed` or `not_planned`.
    pub closed_as: Option<String>,
    /// The fingerprint that its text shows.
    pub shown: Option<String>,
    /// Digest of the visible text written last.
    pub body: Option<String>,
    /// The fingerprint and verdict that people were told of last.
    pub told: Option<(String, Option<Verdict>)>,
    /// Key of the last comment since it was opened, closed or opened again.
    pub commented: Option<String>,
    /// How many comments were written.
    pub comments: u64,
    /// Fingerprints that a person refused.
    pub refusals: BTreeSet<String>,
    /// A step of which nobody knows whether it arrived.
    pub unclear: Option<IssueFact>,
}

impl IssueMemory {
    /// Takes one event of a run in.
    pub fn take(&mut self, fact: &IssueFact, run: &str) {
        match fact.state {
            StepState::Intent => self.unclear = Some(fact.clone()),
            StepState::Unclear => {}
            StepState::Refused => self.unclear = None,
            StepState::Done => {
                self.unclear = None;
                self.done(fact, run);
            }
        }
    }

    /// Takes in what was done.
    fn done(&mut self, fact: &IssueFact, run: &str) {
        if !matches!(fact.step, IssueStep::Label | IssueStep::Duplicate) {
            self.number = fact.number.or(self.number);
        }
        match fact.step {
            IssueStep::Create | IssueStep::Found => {
                self.standing = Standing::Open;
                (self.closed_in, self.closed_as) = (None, None);
                self.shows(fact);
                self.told = Some((fact.fingerprint.clone(), fact.verdict));
                self.commented = None;
            }
            IssueStep::Patch => self.shows(fact),
            IssueStep::Comment => {
                self.told = Some((fact.fingerprint.clone(), fact.verdict));
                self.commented.clone_from(&fact.key);
                self.comments += 1;
            }
            IssueStep::Close => {
                self.standing = Standing::Closed;
                self.closed_in = Some(run.to_owned());
                self.closed_as.clone_from(&fact.key);
                self.commented = None;
            }
            IssueStep::Reopen => {
                self.standing = Standing::Open;
                (self.closed_in, self.closed_as) = (None, None);
                self.shows(fact);
                self.commented = None;
            }
            IssueStep::Refusal => {
                self.refusals.insert(fact.fingerprint.clone());
            }
            IssueStep::Label | IssueStep::Duplicate => {}
        }
    }

    /// The text now says what the event says.
    fn shows(&mut self, fact: &IssueFact) {
        self.shown = Some(fact.fingerprint.clone());
        if fact.body.is_some() {
            self.body.clone_from(&fact.body);
        }
    }
}

/// What the events say of each id in one tracker.
pub fn issue_memories<'a>(events: impl IntoIterator<Item = &'a Event>, tracker: &str) -> BTreeMap<String, IssueMemory> {
    let mut memories: BTreeMap<String, IssueMemory> = BTreeMap::new();
    for event in events {
        if let Some(Fact::Issue(fact)) = &event.fact
            && fact.tracker == tracker
        {
            memories.entry(fact.id.clone()).or_default().take(fact, &event.run);
        }
    }
    memories
}
