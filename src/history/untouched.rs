//! Proposal files that need not be read: what they say beside the content that a run has made again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::ProposalFact;
use crate::verdict::{Condition, Proposal, Reviewer};

/// What lies in the folder of the proposals, as far as settling asks.
pub struct ProposalFiles<'a> {
    /// A proposal's file as it is on disk.
    pub stored: &'a dyn Fn(&str) -> Option<Value>,
    /// What a file says beside its content, where it is surely as it was written.
    pub untouched: &'a dyn Fn(&str) -> Option<Untouched>,
    /// Where the ledger is damaged, `file:line`, if what it said of a proposal may be gone with that.
    pub damage: &'a dyn Fn(&str) -> Option<String>,
}

impl ProposalFiles<'_> {
    /// An empty folder.
    pub const NONE: ProposalFiles<'static> =
        ProposalFiles { stored: &|_| None, untouched: &|_| None, damage: &|_| None };
}

/// What a proposal's file says beside its content (methods §18.1), but for where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untouched {
    /// Its content.
    content_digest: String,
    /// Counts contents.
    revision: u64,
    /// Program and method.
    reviewer: Reviewer,
    /// Answers, with the instants of their last flips.
    conditions: Vec<Condition>,
    /// When it was first made.
    first_seen: String,
    /// When it lapses.
    expires: String,
}

impl Untouched {
    /// What a proposal's file says.
    pub fn of(proposal: &Proposal) -> Self {
        Self {
            content_digest: proposal.content_digest.clone(),
            revision: proposal.revision,
            reviewer: proposal.reviewer.clone(),
            conditions: proposal.conditions.clone(),
            first_seen: proposal.first_seen.clone(),
            expires: proposal.expires.clone(),
        }
    }

    /// Whether a file says what a proposal says, but for where it stands.
    pub fn says(&self, proposal: &Proposal) -> bool {
        *self == Self::of(proposal)
    }

    /// The file's proposal, if it holds the content that was made again and the ledger knows.
    pub(super) fn proposal(self, made: &Proposal, fact: &ProposalFact) -> Option<Proposal> {
        let is_same = self.content_digest == made.content_digest
            && self.content_digest == fact.content_digest
            && self.revision == fact.revision;
        is_same.then(|| Proposal {
            revision: self.revision,
            reviewer: self.reviewer,
            conditions: self.conditions,
            first_seen: self.first_seen,
            expires: self.expires,
            ..made.clone()
        })
    }
}
