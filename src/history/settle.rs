//! The proposals of this run against those the ledger holds open: what stays byte for byte, what gets a new revision,
//! what is missed, and what is withdrawn or has lapsed (methods §18.2, §19).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::baseline::{Current, Previous, baseline_state};
use super::compare::SeenNow;
use super::facts::{ProposalFact, ProposalState};
use super::ledger::Past;
use crate::verdict::{Baseline, Condition, Effect, Proposal, content_digest};

/// Counted runs in a row without a proposal that withdraw it.
const MISSES_TO_WITHDRAW: u64 = 2;

/// What this run knows of a proposal of the ledger that it did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was not made.
    Missed,
    /// Its check could not be judged, or its claim still stands over the bar that keeps it: that is no miss.
    Kept,
    /// Two low looks withdrew it.
    Withdrawn,
    /// The config holds what it predicted.
    Landed,
}

/// What became of every proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settlement {
    /// Open after this run, by fingerprint.
    pub open: Vec<Proposal>,
    /// What the ledger has to learn, by fingerprint.
    pub facts: Vec<ProposalFact>,
    /// Fingerprints of every open one, also of those whose file is missing; all other files go once the ledger says so.
    pub keep: BTreeSet<String>,
    /// Files that were missing or edited, one sentence each.
    pub warnings: Vec<String>,
    /// What the run saw beside its report.
    pub seen: SeenNow,
}

/// Settles the proposals that this run made against those that the ledger holds. `stored` reads a proposal's file;
/// `fate` says of one that this run did not make whether that counts.
pub fn settle_proposals(
    fresh: Vec<Proposal>,
    past: &Past,
    now: DateTime<Utc>,
    stored: impl Fn(&str) -> Option<Value>,
    fate: impl Fn(&ProposalFact) -> Fate,
) -> Settlement {
    let mut settlement = Settlement::default();
    let mut made = BTreeMap::new();
    for proposal in fresh {
        made.entry(proposal.fingerprint.clone()).or_insert(proposal);
    }
    let mut fingerprints: Vec<&String> = past.proposals.keys().chain(made.keys()).collect();
    fingerprints.sort();
    fingerprints.dedup();
    for fingerprint in fingerprints {
        let known = past.proposals.get(fingerprint);
        let file = || stored(fingerprint).filter(is_intact);
        match (made.get(fingerprint), known) {
            (Some(proposal), known) => settlement.produced(proposal, known, now, file),
            (None, Some(known)) => settlement.missed(known, now, file, fate(known)),
            (None, None) => {}
        }
    }
    settlement
}

impl Settlement {
    /// A proposal that this run made.
    fn produced(
        &mut self,
        proposal: &Proposal,
        known: Option<&ProposalFact>,
        now: DateTime<Utc>,
        file: impl Fn() -> Option<Value>,
    ) {
        self.keep.insert(proposal.fingerprint.clone());
        let open = known.filter(|known| known.is_open() && !has_lapsed(known, now));
        let state = match open {
            None => baseline_state(Some(&current(proposal)), None),
            Some(open) => baseline_state(Some(&current(proposal)), Some(&previous(open))),
        };
        match (state, open) {
            (Baseline::Unchanged, Some(open)) => self.kept(proposal, open, &file),
            (state, _) => self.renewed(proposal, known, state, file().as_ref()),
        }
    }

    /// An unchanged proposal: its stored content stays. Without an intact file it is made again if that gives the same
    /// content, else it gets a new revision.
    fn kept(&mut self, proposal: &Proposal, open: &ProposalFact, file: &impl Fn() -> Option<Value>) {
        let stored = file().and_then(|value| serde_json::from_value::<Proposal>(value).ok());
        let stored = stored.filter(|stored| stored.content_digest == open.content_digest);
        let mut kept = match stored {
            Some(stored) => stored,
            None if proposal.content_digest == open.content_digest => restored(proposal, open),
            None => {
                self.warn(&open.fingerprint, "its file is missing or was edited, so it gets a new revision");
                return self.renewed(proposal, Some(open), Baseline::Updated, None);
            }
        };
        Baseline::Unchanged.as_str().clone_into(&mut kept.baseline_state);
        self.open.push(kept);
        if open.misses > 0 {
            self.facts.push(ProposalFact { state: ProposalState::Unchanged, misses: 0, ..open.clone() });
        }
    }

    /// A new proposal, or new content of a known one.
    fn renewed(&mut self, proposal: &Proposal, known: Option<&ProposalFact>, state: Baseline, file: Option<&Value>) {
        let mut renewed = proposal.clone();
        if let Some(known) = known {
            renewed.revision = known.revision + 1;
            renewed.first_seen.clone_from(&known.first_seen);
        } else {
            renewed.revision = 1;
        }
        state.as_str().clone_into(&mut renewed.baseline_state);
        keep_transitions(&mut renewed.conditions, renewed.revision, file);
        let state = if state == Baseline::New { ProposalState::New } else { ProposalState::Updated };
        self.facts.push(fact_of(&renewed, state));
        self.open.push(renewed);
    }

    /// A proposal of the ledger that this run did not make.
    fn missed(&mut self, known: &ProposalFact, now: DateTime<Utc>, file: impl Fn() -> Option<Value>, fate: Fate) {
        if !known.is_open() {
            return;
        }
        if fate == Fate::Landed {
            return self.close(known, ProposalState::Landed, 0);
        }
        if has_lapsed(known, now) {
            return self.close(known, ProposalState::Expired, known.misses);
        }
        if fate == Fate::Withdrawn {
            return self.close(known, ProposalState::Withdrawn, known.misses);
        }
        if fate == Fate::Missed {
            let misses = known.misses + 1;
            if misses >= MISSES_TO_WITHDRAW {
                return self.close(known, ProposalState::Withdrawn, misses);
            }
            self.facts.push(ProposalFact { state: ProposalState::Absent, misses, ..known.clone() });
        }
        self.keep.insert(known.fingerprint.clone());
        match file().and_then(|value| serde_json::from_value::<Proposal>(value).ok()) {
            Some(mut stored) => {
                Baseline::Absent.as_str().clone_into(&mut stored.baseline_state);
                self.open.push(stored);
            }
            None => self.warn(&known.fingerprint, "it is open, but its file is missing or was edited"),
        }
    }

    /// Closes a proposal.
    fn close(&mut self, known: &ProposalFact, state: ProposalState, misses: u64) {
        self.facts.push(ProposalFact { state, misses, ..known.clone() });
    }

    /// Notes something about a proposal's file.
    fn warn(&mut self, fingerprint: &str, what: &str) {
        self.warnings.push(format!("proposal {fingerprint}: {what}"));
    }
}

/// Whether a file says what its digest says.
fn is_intact(value: &Value) -> bool {
    value["content_digest"].as_str() == Some(content_digest(value).as_str())
}

/// Whether a proposal's time has run out. An instant that does not parse never lapses.
fn has_lapsed(known: &ProposalFact, now: DateTime<Utc>) -> bool {
    DateTime::parse_from_rfc3339(&known.expires).is_ok_and(|expires| expires <= now)
}

/// The primary effect; a proposal without one has an effect of zero.
fn primary(proposal: &Proposal) -> (i64, i64, i64) {
    let of = |effect: &Effect| (effect.point, effect.lo90, effect.hi90);
    proposal.expected.iter().find(|effect| effect.primary).map_or((0, 0, 0), of)
}

/// What a proposal says now.
fn current(proposal: &Proposal) -> Current<'_> {
    Current {
        content_digest: &proposal.content_digest,
        verdict: proposal.verdict,
        point: primary(proposal).0,
        subtree_digest: &proposal.config.subtree_digest,
    }
}

/// What the ledger kept of it.
fn previous(known: &ProposalFact) -> Previous<'_> {
    Previous {
        content_digest: &known.content_digest,
        verdict: known.verdict,
        lo90: known.lo90,
        hi90: known.hi90,
        subtree_digest: &known.subtree_digest,
    }
}

/// The same content again, with the dates and the revision that the ledger knows.
fn restored(proposal: &Proposal, open: &ProposalFact) -> Proposal {
    let mut restored = proposal.clone();
    restored.revision = open.revision;
    restored.first_seen.clone_from(&open.first_seen);
    restored.expires.clone_from(&open.expires);
    for condition in &mut restored.conditions {
        condition.observed_revision = open.revision;
    }
    restored
}

/// A condition that says what it said in the file keeps the instant of its last flip.
fn keep_transitions(conditions: &mut [Condition], revision: u64, file: Option<&Value>) {
    let old = file.and_then(|file| file["conditions"].as_array()).map_or(&[][..], Vec::as_slice);
    for condition in conditions {
        condition.observed_revision = revision;
        let same = old.iter().find(|old| {
            old["type"].as_str() == Some(&condition.r#type) && old["status"].as_str() == Some(&condition.status)
        });
        if let Some(at) = same.and_then(|same| same["last_transition"].as_str()) {
            at.clone_into(&mut condition.last_transition);
        }
    }
}

/// What the ledger keeps of a proposal.
fn fact_of(proposal: &Proposal, state: ProposalState) -> ProposalFact {
    let (point, lo90, hi90) = primary(proposal);
    ProposalFact {
        fingerprint: proposal.fingerprint.clone(),
        axis: proposal.axis.clone(),
        code: proposal.code.clone(),
        change: proposal.kind.clone(),
        subject: proposal.subject.clone(),
        counterpart: proposal.counterpart.clone(),
        pool: proposal.pool.clone(),
        check: proposal.check.clone(),
        state,
        revision: proposal.revision,
        content_digest: proposal.content_digest.clone(),
        verdict: proposal.verdict,
        point,
        lo90,
        hi90,
        subtree_digest: proposal.config.subtree_digest.clone(),
        subtree_digest_after: proposal.config.subtree_digest_after.clone(),
        first_seen: proposal.first_seen.clone(),
        expires: proposal.expires.clone(),
        misses: 0,
    }
}
