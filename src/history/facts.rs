//! The events of the ledger as values. Shape and meaning of every field: `instructions/schemas/ledger.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::issues::IssueFact;
use super::lifecycle::{DecisionFact, Status, TriggerFact, VerificationFact};
use super::looks::LooksFact;
use super::measured::{BoundCheckFact, BoundsFact, MixesFact};
use crate::verdict::{Counts, Verdict};

/// What one event says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum Fact {
    /// A run judged.
    Run(RunFact),
    /// The same run judged again on other inputs; what it said before counts no longer.
    Rerun(RunFact),
    /// An outcome began, changed or ended.
    Outcome(OutcomeFact),
    /// A proposal was made, changed, missed or closed.
    Proposal(Box<ProposalFact>),
    /// Models this review had never seen before.
    FirstSeen(FirstSeenFact),
    /// Comparisons that were looked at.
    Looks(LooksFact),
    /// What the measurement of a landed change found.
    Verification(VerificationFact),
    /// The way back of a landed change became due, or is due no longer.
    Trigger(TriggerFact),
    /// Class mixes that claims were frozen on.
    Mixes(MixesFact),
    /// What aligned verdicts say could still be gained.
    Bounds(BoundsFact),
    /// What became of such a bound when somebody else changed the pool.
    BoundCheck(BoundCheckFact),
    /// What a steward decided; no event of a run.
    Decision(DecisionFact),
    /// What was done to a tracker; no event of a run.
    Issue(IssueFact),
}

impl Fact {
    /// Whether a run said it. What a steward decided and what was filed belong to no run: judging a run again leaves them as
    /// they are.
    pub fn is_of_run(&self) -> bool {
        !matches!(self, Self::Decision(_) | Self::Issue(_))
    }
}

/// A run: what it read and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFact {
    /// Digest of each source that was read, by its id.
    pub sources: BTreeMap<String, String>,
    /// Digest of the instruction file.
    pub settings: String,
    /// Digest of the policy.
    pub policy: String,
    /// Pool → its verdict and those of its checks.
    pub verdicts: BTreeMap<String, PoolVerdicts>,
    /// Outcomes by baseline state.
    pub counts: Counts,
    /// Pool → digest of its definition.
    #[serde(default)]
    pub subtrees: BTreeMap<String, String>,
}

/// The verdicts of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolVerdicts {
    /// The pool's.
    pub verdict: Verdict,
    /// Check → its verdict.
    pub checks: BTreeMap<String, Verdict>,
}

/// How an outcome moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeState {
    /// Not there before.
    New,
    /// There before, and different.
    Updated,
    /// There before, and gone.
    Absent,
}

/// What one finding says, without its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingKey {
    /// Its code.
    pub code: String,
    /// Its verdict; `note` changes none.
    pub verdict: String,
    /// Whom it is about.
    pub subject: String,
    /// The other side, or empty.
    pub counterpart: String,
    /// The run where it was found first and has been found ever since; a ledger of an older version does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl FindingKey {
    /// Whether two keys are the same finding with the same verdict, whenever it began.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.is_same_fact(other) && self.verdict == other.verdict
    }

    /// Whether two keys are the same fact, whatever its verdict.
    pub fn is_same_fact(&self, other: &Self) -> bool {
        self.code == other.code && self.subject == other.subject && self.counterpart == other.counterpart
    }
}

/// The outcome of one check of one pool, or of the pool as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeFact {
    /// The pool.
    pub pool: String,
    /// The check; `None` is the pool as a whole.
    pub check: Option<String>,
    /// How it moved.
    pub state: OutcomeState,
    /// Its verdict; of an absent one the last.
    pub verdict: Verdict,
    /// What its findings say, in no order of importance; numbers do not enter, or every run would move.
    pub findings: Vec<FindingKey>,
    /// The run where it began.
    pub since: String,
}

/// Where a proposal stands after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProposalState {
    /// Open, for the first time or again.
    New,
    /// Open, with new content.
    Updated,
    /// Open, made again after it was missed.
    Unchanged,
    /// Open, not made by this run.
    Absent,
    /// Closed: not made by two counted runs in a row.
    Withdrawn,
    /// Closed: its time ran out.
    Expired,
    /// Closed: another change of the same definition came first.
    Superseded,
    /// The config holds what it predicted.
    Landed,
    /// It had landed, and the config is again what it was before.
    #[serde(rename = "rolled_back")]
    RolledBack,
}

impl ProposalState {
    /// The status that the state alone says; of an older ledger, whose facts hold none, it is all there is.
    fn status(self) -> Option<Status> {
        match self {
            Self::Withdrawn => Some(Status::Withdrawn),
            Self::Expired => Some(Status::Expired),
            Self::Superseded => Some(Status::Superseded),
            Self::Landed => Some(Status::Landed),
            Self::RolledBack => Some(Status::RolledBack),
            Self::New | Self::Updated | Self::Unchanged | Self::Absent => None,
        }
    }
}

/// One proposal, as much of it as later runs need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalFact {
    /// What is argued.
    pub fingerprint: String,
    /// Between whom, in no order.
    #[serde(default)]
    pub axis: String,
    /// The finding's code.
    #[serde(default)]
    pub code: String,
    /// What the change does.
    #[serde(default)]
    pub change: String,
    /// Whom it is about.
    #[serde(default)]
    pub subject: String,
    /// The other side, or empty.
    #[serde(default)]
    pub counterpart: String,
    /// The pool.
    pub pool: String,
    /// The check.
    pub check: String,
    /// Where it stands.
    pub state: ProposalState,
    /// Its status after the run; of a fold its present one.
    #[serde(default = "proposed")]
    pub status: Status,
    /// Its number, R1, R2 …, given once; 0 in an older ledger.
    #[serde(default)]
    pub number: u64,
    /// Fingerprints that it replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// Counts contents.
    pub revision: u64,
    /// What it says.
    pub content_digest: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Primary effect, in the effect's unit.
    pub point: i64,
    /// Its lower 90 % bound.
    pub lo90: i64,
    /// Its upper 90 % bound.
    pub hi90: i64,
    /// The file of the config subtree it was computed on; empty in an older ledger.
    #[serde(default)]
    pub path: String,
    /// The pointer of that subtree.
    #[serde(default)]
    pub pointer: String,
    /// Git's object id of the file that its patch applies to; none of a test, or in an older ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// The subtree's digest.
    pub subtree_digest: String,
    /// Digest of that subtree after the change, for a change of config.
    #[serde(default)]
    pub subtree_digest_after: Option<String>,
    /// When it was first made.
    pub first_seen: String,
    /// When it lapses.
    pub expires: String,
    /// Counted runs in a row that did not make it.
    pub misses: u64,
}

impl ProposalFact {
    /// Whether it is a test plan, which changes no config.
    pub fn is_test(&self) -> bool {
        self.change == "controlled_test"
    }

    /// The status that the run gave it; of an older ledger the one its state says.
    pub(super) fn said_status(&self) -> Status {
        self.state.status().unwrap_or(self.status)
    }

    /// Whether the proposal waits for somebody to land it.
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }
}

/// The status of a proposal in a ledger that does not say.
fn proposed() -> Status {
    Status::Proposed
}

/// Models that a run saw first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeenFact {
    /// Canonical model ids.
    pub models: BTreeSet<String>,
}
