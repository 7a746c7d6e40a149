//! The lives of all proposals: the fold of what runs said of them, what stewards decided and what was measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::{Fact, ProposalFact, ProposalState};
use super::ledger::Event;
use super::lifecycle::{Decision, DecisionFact, Status, TriggerFact, VerificationFact};
use crate::verdict::RollbackDue;

/// The rule by which a test is measured.
const PAIRED: &str = "paired_standard_1";

/// A decision with its place in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When it was made.
    pub at: String,
    /// The id of that instant, or of the newest run where the clock lay behind it.
    pub run: String,
    /// What was decided.
    pub fact: DecisionFact,
}

/// A landing that a run detected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The instant of the run that saw it.
    pub detected_at: String,
    /// That run.
    pub run: String,
    /// The revision that landed.
    pub revision: u64,
    /// The digest that was predicted and is there.
    pub subtree_digest_after: String,
}

/// What a measurement said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// The instant of the run that measured.
    pub at: String,
    /// What it found.
    pub fact: VerificationFact,
}

/// One proposal's life so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Where it stands.
    pub status: Status,
    /// The run (or the instant id of the decision) where that began.
    pub since: String,
    /// Its number, R1, R2 …, for life.
    pub number: u64,
    /// The run since which it has been carried without an end.
    pub opened: String,
    /// That run's place among all runs, counted from 1.
    pub(super) opened_index: u64,
    /// The last acceptance, rejection or deferral.
    pub decision: Option<Decided>,
    /// The steward's last message of a landing or a rollback: it changes nothing by itself.
    pub message: Option<Decided>,
    /// The last landing.
    pub landing: Option<Landing>,
    /// The last measurement of a landed revision.
    pub verification: Option<Measurement>,
    /// That the way back of what landed is due.
    pub due: Option<RollbackDue>,
}

/// The lives of all proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lives {
    /// Fingerprint → its life.
    by_fingerprint: BTreeMap<String, Life>,
    /// Fingerprint → the last decision on it, also on one that no run before this one made.
    decisions: BTreeMap<String, Decided>,
    /// Fingerprint → its number.
    numbers: BTreeMap<String, u64>,
    /// The largest number given.
    last_number: u64,
    /// Runs so far.
    runs: u64,
}

impl Lives {
    /// The life of a proposal.
    pub fn get(&self, fingerprint: &str) -> Option<&Life> {
        self.by_fingerprint.get(fingerprint)
    }

    /// All of them by fingerprint.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Life)> {
        self.by_fingerprint.iter().map(|(fingerprint, life)| (fingerprint.as_str(), life))
    }

    /// The last decision on a proposal, also on one that only the run that is judged again made.
    pub fn decision(&self, fingerprint: &str) -> Option<&Decided> {
        self.decisions.get(fingerprint)
    }

    /// The number of a proposal, if it has one.
    pub fn number(&self, fingerprint: &str) -> Option<u64> {
        self.numbers.get(fingerprint).copied()
    }

    /// The largest number that was ever given.
    pub fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Takes one event in, after every earlier one.
    pub(super) fn take(&mut self, event: &Event) {
        match &event.fact {
            Some(Fact::Run(_) | Fact::Rerun(_)) => self.runs += 1,
            Some(Fact::Proposal(proposal)) => self.take_proposal(event, proposal),
            Some(Fact::Decision(decision)) => self.take_decision(event, decision),
            Some(Fact::Verification(measured)) => self.take_verification(event, measured),
            Some(Fact::Trigger(trigger)) => self.take_trigger(event, trigger),
            _ => {}
        }
    }

    /// Remembers the number that an event gave, also one that counts no longer: no number is given twice.
    pub(super) fn take_number(&mut self, event: &Event) {
        if let Some(Fact::Proposal(proposal)) = &event.fact {
            self.numbered(proposal);
        }
    }

    /// The number of a proposal; one of a ledger without numbers gets the next.
    fn numbered(&mut self, proposal: &ProposalFact) -> u64 {
        if let Some(number) = self.numbers.get(&proposal.fingerprint) {
            return *number;
        }
        let number = if proposal.number == 0 { self.last_number + 1 } else { proposal.number };
        self.last_number = self.last_number.max(number);
        self.numbers.insert(proposal.fingerprint.clone(), number);
        number
    }

    /// What a run said of a proposal. A status that may not follow leaves the life as it is.
    fn take_proposal(&mut self, event: &Event, proposal: &ProposalFact) {
        let number = self.numbered(proposal);
        let status = proposal.said_status();
        let begins = |status: Status| Life {
            since: event.run.clone(),
            number,
            opened: event.run.clone(),
            opened_index: self.runs,
            decision: self.decisions.get(&proposal.fingerprint).cloned(),
            ..Life::at(status)
        };
        let life = self.by_fingerprint.entry(proposal.fingerprint.clone()).or_insert_with(|| begins(status));
        let comes_back = status.is_open() && !life.status.is_open() && !life.status.is_suppressed();
        if comes_back {
            (life.opened, life.opened_index) = (event.run.clone(), self.runs);
        }
        life.go_to(status, &event.run);
        if proposal.state == ProposalState::Landed && life.status == Status::Landed {
            life.landing = Some(Landing {
                detected_at: event.at.clone(),
                run: event.run.clone(),
                revision: proposal.revision,
                subtree_digest_after: proposal.subtree_digest_after.clone().unwrap_or_default(),
            });
            (life.verification, life.due) = (None, None);
        }
        if !life.status.is_landed() {
            life.due = None;
        }
    }

    /// That the way back is due or not. What is said of a revision that is not the landed one is kept out.
    fn take_trigger(&mut self, event: &Event, fact: &TriggerFact) {
        let Some(life) = self.by_fingerprint.get_mut(&fact.fingerprint) else { return };
        let is_landed =
            life.status.is_landed() && life.landing.as_ref().is_some_and(|landing| landing.revision == fact.revision);
        let due = || RollbackDue { since: event.run.clone(), reading: fact.reading.clone() };
        if is_landed {
            life.due = fact.is_due.then(due);
        }
    }

    /// What a steward decided.
    fn take_decision(&mut self, event: &Event, fact: &DecisionFact) {
        let decided = Decided { at: event.at.clone(), run: event.run.clone(), fact: fact.clone() };
        let is_message = matches!(fact.decision, Decision::Landed | Decision::Rollback);
        let mut life = self.by_fingerprint.get_mut(&fact.fingerprint);
        if let Some(life) = life.as_deref_mut().filter(|life| life.is_test_under_way())
            && matches!(fact.decision, Decision::Reject | Decision::Rollback)
        {
            life.stop_test(decided.clone());
            if fact.decision == Decision::Reject {
                self.decisions.insert(fact.fingerprint.clone(), decided);
            }
            return;
        }
        if is_message {
            if let Some(life) = life {
                life.message = Some(decided);
            }
            return;
        }
        if let (Some(life), Some(status)) = (life, fact.decision.status()) {
            if life.status != status && !life.status.may_become(status) {
                return;
            }
            life.go_to(status, &event.run);
            life.decision = Some(decided.clone());
        }
        self.decisions.insert(fact.fingerprint.clone(), decided);
    }

    /// What a measurement found. One of a revision that is not the landed one is kept out. A test lands nowhere: it is measured
    /// once it is accepted.
    fn take_verification(&mut self, event: &Event, fact: &VerificationFact) {
        let Some(life) = self.by_fingerprint.get_mut(&fact.fingerprint) else { return };
        let is_test = life.landing.is_none() && fact.rule == PAIRED;
        if !is_test && life.landing.as_ref().is_none_or(|landing| landing.revision != fact.revision) {
            return;
        }
        if is_test && life.status == Status::Accepted {
            life.status = fact.status;
            event.run.clone_into(&mut life.since);
        } else if life.status.is_landed() {
            life.go_to(fact.status, &event.run);
        }
        life.verification = Some(Measurement { at: event.at.clone(), fact: fact.clone() });
    }
}

impl Life {
    /// A life that has no past.
    pub(super) fn at(status: Status) -> Self {
        Self {
            status,
            since: String::new(),
            number: 0,
            opened: String::new(),
            opened_index: 0,
            decision: None,
            message: None,
            landing: None,
            verification: None,
            due: None,
        }
    }

    /// Whether it is a test that was accepted and whose rows are being measured: it lands nowhere.
    pub fn is_test_under_way(&self) -> bool {
        self.landing.is_none() && self.status == Status::Verifying
    }

    /// Ends a test under way: rejected it sleeps, taken back it may be argued again. No config has changed.
    fn stop_test(&mut self, decided: Decided) {
        decided.run.clone_into(&mut self.since);
        if decided.fact.decision == Decision::Reject {
            self.status = Status::Rejected;
            self.decision = Some(decided);
        } else {
            self.status = Status::RolledBack;
            self.message = Some(decided);
        }
    }

    /// Runs, of so many in all, that carried the proposal after the one that opened it.
    pub fn carried(&self, runs: u64) -> u64 {
        runs.saturating_sub(self.opened_index)
    }

    /// Goes to a status if it may follow.
    fn go_to(&mut self, status: Status, run: &str) {
        if self.status.may_become(status) {
            self.status = status;
            run.clone_into(&mut self.since);
        }
    }
}
