//! The nine questions about a proposal and their honest answers: what a kind of evidence cannot say is `unknown`, not true.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::terms::Family;
use super::text::{cut, visible};
use crate::verdict::{Condition, Finding};
use crate::vocabulary::{SourceId, SourceNote, SourceState};

/// The longest message the schema takes, in characters.
const MESSAGE_CHARS: usize = 400;

/// A question about a proposal (methods §18.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Are there enough observations?
    EvidenceSufficient,
    /// Is the bar cleared?
    BarCleared,
    /// Is the verdict the same at half and double the stake?
    StakeRobust,
    /// Is the run's mean error of claims small enough?
    FalseDiscoveryClear,
    /// Does the result keep the policy?
    PolicyClean,
    /// Is the config the one reviewed?
    ConfigCurrent,
    /// Are the sources within their ages?
    SourcesFresh,
    /// Has the axis rested since the last landing?
    CooldownClear,
    /// Is no other change of the pool open?
    NoConflict,
}

impl Question {
    /// Every question, in print order.
    pub const ALL: [Self; 9] = [
        Self::EvidenceSufficient,
        Self::BarCleared,
        Self::StakeRobust,
        Self::FalseDiscoveryClear,
        Self::PolicyClean,
        Self::ConfigCurrent,
        Self::SourcesFresh,
        Self::CooldownClear,
        Self::NoConflict,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EvidenceSufficient => "EvidenceSufficient",
            Self::BarCleared => "BarCleared",
            Self::StakeRobust => "StakeRobust",
            Self::FalseDiscoveryClear => "FalseDiscoveryClear",
            Self::PolicyClean => "PolicyClean",
            Self::ConfigCurrent => "ConfigCurrent",
            Self::SourcesFresh => "SourcesFresh",
            Self::CooldownClear => "CooldownClear",
            Self::NoConflict => "NoConflict",
        }
    }
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Yes, no, or unknown.
    pub status: Option<bool>,
    /// A CamelCase reason.
    pub reason: String,
    /// A sentence with the numbers.
    pub message: String,
}

impl Answer {
    /// An answer from its parts.
    pub fn new(status: Option<bool>, reason: &str, message: impl Into<String>) -> Self {
        Self { status, reason: reason.to_owned(), message: message.into() }
    }
}

/// What the answers are told from.
pub(super) struct Facts<'a> {
    /// The finding.
    pub(super) finding: &'a Finding,
    /// Its kind of evidence.
    pub(super) family: Family,
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// How the sources were read.
    pub(super) notes: &'a [SourceNote],
    /// Digest of the policy.
    pub(super) policy_digest: &'a str,
    /// Pointer of the subtree.
    pub(super) pointer: &'a str,
    /// Its digest.
    pub(super) subtree_digest: &'a str,
}

/// The nine conditions: the caller's answers where it gave one, else what the facts say.
pub(super) fn conditions(
    facts: &Facts<'_>,
    answers: &BTreeMap<Question, Answer>,
    last_transition: &str,
    revision: u64,
) -> Vec<Condition> {
    let answered = |question: Question| answers.get(&question).cloned().unwrap_or_else(|| facts.answer(question));
    Question::ALL.map(|question| condition(question, answered(question), last_transition, revision)).into()
}

/// A condition in its file shape.
fn condition(question: Question, answer: Answer, last_transition: &str, observed_revision: u64) -> Condition {
    let status = match answer.status {
        Some(true) => "true",
        Some(false) => "false",
        None => "unknown",
    };
    Condition {
        r#type: question.as_str().to_owned(),
        status: status.to_owned(),
        reason: answer.reason,
        message: cut(&visible(&answer.message), MESSAGE_CHARS),
        last_transition: last_transition.to_owned(),
        observed_revision,
    }
}

impl Facts<'_> {
    /// What is known without the ledger.
    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::EvidenceSufficient => self.evidence(),
            Question::BarCleared => self.bar(),
            Question::StakeRobust if self.finding.claim.as_ref().is_some_and(|claim| claim.stake_said.is_some()) => {
                let said = self.finding.claim.as_ref().and_then(|claim| claim.stake_said.clone());
                Answer::new(Some(true), "HalfAndDouble", said.unwrap_or_default())
            }
            Question::StakeRobust => {
                self.estimates_only("no stake enters this verdict", "the verdict at half and double the stake")
            }
            Question::FalseDiscoveryClear => {
                self.estimates_only("it states no claim probability", "the mean error of the run's claims")
            }
            Question::PolicyClean => Answer::new(
                Some(true),
                "CheckedOnResult",
                format!("the result was rebuilt under policy {} without a violation", self.policy_digest),
            ),
            Question::ConfigCurrent => Answer::new(
                Some(true),
                "DigestMatches",
                format!("{} is the subtree that was reviewed, {}", self.pointer, self.subtree_digest),
            ),
            Question::SourcesFresh => self.freshness(),
            Question::CooldownClear => self.ledger_only("landed changes on this axis"),
            Question::NoConflict => self.ledger_only("other open changes of this pool"),
        }
    }

    /// Whether there is enough to go by.
    fn evidence(&self) -> Answer {
        if let Some(claim) = &self.finding.claim {
            return Answer::new(Some(true), "RowsAboveFloor", claim.rows_said.as_str());
        }
        let measured_n = self.finding.measured.as_ref().and_then(|measured| measured.n);
        match (self.family, measured_n) {
            (Family::Structural, _) => {
                Answer::new(Some(true), "FactRead", "a fact of the files read; it needs no rows")
            }
            (Family::Market, _) => {
                Answer::new(Some(true), "MarketValues", "market values; no rows of our own are needed")
            }
            (Family::Window, _) => {
                Answer::new(Some(true), "WindowsRead", "readings of quota windows; no rows are needed")
            }
            (Family::Measured, Some(n)) => {
                Answer::new(Some(true), "RowsCounted", format!("{n} observations behind the number"))
            }
            (Family::Measured, None) => {
                Answer::new(None, "RowsNotCounted", "the finding does not state its observations")
            }
        }
    }

    /// What was held against what.
    fn bar(&self) -> Answer {
        if let Some(claim) = &self.finding.claim {
            return Answer::new(Some(true), "BarPassed", claim.bar_said.as_str());
        }
        match (&self.finding.measured, &self.finding.limit) {
            (Some(measured), Some(limit)) => {
                let (value, bound) = (measured.unit.show(measured.value), measured.unit.show(limit.value));
                let (what, op, setting) = (measured.what, limit.op.as_str(), limit.setting);
                let credit = credit(self.finding);
                let message = format!("{what} {value}, limit {op} {bound} ({setting}){credit}");
                Answer::new(Some(true), "LimitCrossed", message)
            }
            _ => Answer::new(Some(true), "FactHolds", format!("{} holds at first sight", self.finding.code)),
        }
    }

    /// A question that only estimates answer.
    fn estimates_only(&self, why_not: &str, what: &str) -> Answer {
        match self.family {
            Family::Measured => Answer::new(None, "NotAssessed", format!("{what} was not worked out")),
            _ => Answer::new(None, "NotApplicable", why_not),
        }
    }

    /// A question that only the ledger answers, and that facts do not wait for (methods §8.4).
    fn ledger_only(&self, what: &str) -> Answer {
        match self.family {
            Family::Structural => Answer::new(None, "NotApplicable", format!("a fact does not wait for {what}")),
            _ => Answer::new(None, "NotAssessed", format!("nothing is stated about {what}")),
        }
    }

    /// How old the sources are that the finding rests on.
    fn freshness(&self) -> Answer {
        let mut cited: Vec<SourceId> = self.finding.sources.clone();
        cited.sort_unstable();
        cited.dedup();
        if cited.is_empty() {
            return Answer::new(Some(true), "ReadNow", "rests on the config alone, read in this review");
        }
        let notes: Vec<Option<&SourceNote>> =
            cited.iter().map(|id| self.notes.iter().find(|note| note.source == *id)).collect();
        let ages: Vec<String> = cited.iter().zip(&notes).map(|(id, note)| self.age(*id, *note)).collect();
        let message = ages.join(", ");
        if notes.iter().any(Option::is_none) {
            Answer::new(None, "SourceNotNoted", message)
        } else if notes.iter().flatten().all(|note| note.state == SourceState::Fresh) {
            Answer::new(Some(true), "AllWithinLimits", message)
        } else {
            Answer::new(Some(false), "SourceNotUsable", message)
        }
    }

    /// "market 0.3 h old (48)".
    fn age(&self, id: SourceId, note: Option<&SourceNote>) -> String {
        let Some(note) = note else { return format!("{id} without a note") };
        let limit = note.max_age_hours.map_or_else(String::new, |limit| format!(" (limit {limit:.0} h)"));
        match (note.age_hours(self.now), id) {
            (Some(hours), _) => format!("{id} {hours:.1} h old{limit}"),
            (None, SourceId::Pools | SourceId::Categories) => format!("{id} read in this review"),
            (None, _) => format!("{id} of unknown age{limit}"),
        }
    }
}

/// Whom a finding's own sentence credits for numbers of the market; its number goes nowhere without it.
fn credit(finding: &Finding) -> String {
    let said = finding.why.plain();
    let credit = said.split_once("(Source: ").and_then(|(_, rest)| rest.split_once(')'));
    credit.map_or_else(String::new, |(credit, _)| format!(" (Source: {credit})"))
}
