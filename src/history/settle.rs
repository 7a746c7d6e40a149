//! The proposals of this run against those the ledger holds: what stays byte for byte, what gets a new revision, what is
//! missed, withdrawn, superseded or has lapsed, what landed or was taken back, and what sleeps (methods §18.2, §19).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::baseline::baseline_state;
use super::compare::SeenNow;
use super::facts::{ProposalFact, ProposalState};
use super::kept::{carrying, current, fact_of, has_lapsed, is_intact, is_on_file, name_superseded, previous, primary};
use super::ledger::Past;
use super::lifecycle::{Status, Unless};
use super::lives::{Decided, Life, Lives};
use super::standing::{keep_transitions, restored, stand, wears};
use super::standings::{Dues, mark_due, standings};
use super::untouched::ProposalFiles;
use crate::verdict::{Baseline, Proposal, Standing};

/// Counted runs in a row without a proposal that withdraw it.
const MISSES_TO_WITHDRAW: u64 = 2;

/// What this run knows of a proposal of the ledger that it did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was not made.
    Missed,
    /// Its claim still stands over the bar that keeps it: that is no miss.
    Kept,
    /// Its check could not be judged: that is no miss, and says nothing about the change either.
    Blocked,
    /// Two low looks withdrew it.
    Withdrawn,
}

/// The present digest of the definition that a proposal speaks of; `None` when it cannot be read.
pub type DigestNow<'a> = &'a dyn Fn(&ProposalFact) -> Option<String>;

/// What settling asks about the world.
pub struct Asks<'a> {
    /// The run.
    pub run: &'a str,
    /// The review instant.
    pub now: DateTime<Utc>,
    /// The proposals' files.
    pub files: &'a ProposalFiles<'a>,
    /// Of a proposal that this run did not make, whether that counts.
    pub fate: &'a dyn Fn(&ProposalFact) -> Fate,
    /// The present digest of the definition that a proposal speaks of; `None` when it cannot be read.
    pub digest: DigestNow<'a>,
    /// Ways back that are due.
    pub dues: &'a Dues,
}

/// What became of every proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settlement {
    /// Open after this run, by fingerprint.
    pub open: Vec<Proposal>,
    /// Rejected or deferred, and not argued with, by fingerprint.
    pub suppressed: Vec<Proposal>,
    /// Landed, and its definition is still the predicted one or its measurement has not ended: the files with the way back,
    /// by fingerprint.
    pub landed: Vec<Proposal>,
    /// What the ledger has to learn, by fingerprint.
    pub facts: Vec<ProposalFact>,
    /// Fingerprints of every one whose files stay, also of those whose file is missing; all other files go once the ledger
    /// says so.
    pub keep: BTreeSet<String>,
    /// Files that were missing or edited, one sentence each.
    pub warnings: Vec<String>,
    /// Where proposals stand, by fingerprint, for readers.
    pub standings: BTreeMap<String, Standing>,
    /// What the run saw beside its report.
    pub seen: SeenNow,
}

/// Settles the proposals that this run made against those that the ledger holds.
pub fn settle_proposals(fresh: Vec<Proposal>, past: &Past, asks: &Asks<'_>) -> Settlement {
    let mut made = BTreeMap::new();
    for proposal in fresh {
        made.entry(proposal.fingerprint.clone()).or_insert(proposal);
    }
    let mut settling =
        Settling { asks, lives: &past.lives, last_number: past.lives.last_number(), done: Settlement::default() };
    let mut fingerprints: Vec<&String> = past.proposals.keys().chain(made.keys()).chain(past.again.keys()).collect();
    fingerprints.sort();
    fingerprints.dedup();
    for fingerprint in fingerprints {
        let known = past.proposals.get(fingerprint).and_then(|fact| Some((fact, past.lives.get(fingerprint)?)));
        let again = past.again.get(fingerprint).filter(|_| known.is_none());
        if !again.is_some_and(|again| settling.landed_meanwhile(again)) {
            settling.one(made.get(fingerprint), known);
        }
    }
    settling.link_superseded();
    settling.done.standings = standings(past, &settling.done.facts, asks.run);
    mark_due(&mut settling.done.standings, past, asks.run, asks.dues);
    settling.done
}

/// A settlement in the making.
struct Settling<'a> {
    /// The world.
    asks: &'a Asks<'a>,
    /// The lives before this run.
    lives: &'a Lives,
    /// The largest number given so far.
    last_number: u64,
    /// What is settled.
    done: Settlement,
}

impl Settling<'_> {
    /// One proposal: made by this run, known to the ledger, or both. What the config says comes before what anybody argues.
    fn one(&mut self, made: Option<&Proposal>, known: Option<(&ProposalFact, &Life)>) {
        let Some((fact, life)) = known else {
            return made.map_or((), |made| self.renewed(made, None, Baseline::New, None));
        };
        let digest = if may_have_moved(life.status) { (self.asks.digest)(fact) } else { None };
        let is_after = digest.is_some() && digest == fact.subtree_digest_after;
        if is_after && life.status.may_become(Status::Landed) {
            return self.landed(fact, life);
        }
        if life.landing.is_some() && life.status.is_landed() && digest.as_ref() == Some(&fact.subtree_digest) {
            return self.close(fact, ProposalState::RolledBack, 0);
        }
        match made {
            Some(made) if self.sleeps(life, fact, Some(made)) => self.asleep(fact, life, Some(made), digest.as_ref()),
            Some(made) => self.produced(made, fact, life),
            None if self.sleeps(life, fact, None) => self.asleep(fact, life, None, digest.as_ref()),
            None if life.status.is_landed() && (is_after || life.status.is_measured()) => self.stands(fact, life),
            None if life.status.is_open() || life.status.is_suppressed() => self.missed(fact, life, digest.as_ref()),
            None => {}
        }
    }

    /// Whether a proposal that only an earlier judgement of this very run made has landed since; then that is settled.
    fn landed_meanwhile(&mut self, again: &ProposalFact) -> bool {
        let digest = (self.asks.digest)(again);
        let was_there = again.is_open() || again.state == ProposalState::Landed;
        let is_landed = was_there && digest.is_some() && digest == again.subtree_digest_after;
        if is_landed {
            let decided = self.lives.decision(&again.fingerprint).filter(|said| said.fact.revision == again.revision);
            let status = decided.and_then(|said| said.fact.decision.status()).unwrap_or(Status::Proposed);
            self.landed(again, &wears(status, decided.cloned()));
        }
        is_landed
    }

    /// The config holds what was predicted. What this run argues about the same is left for the next: the change has only
    /// just landed.
    fn landed(&mut self, fact: &ProposalFact, life: &Life) {
        let landed = ProposalFact { state: ProposalState::Landed, status: Status::Landed, misses: 0, ..fact.clone() };
        if let Some(stored) = self.file(fact) {
            let at = self.asks.now.format("%Y-%m-%dT%H:%M:%SZ").to_string();
            let landing = super::lives::Landing {
                detected_at: at,
                run: String::new(),
                revision: fact.revision,
                subtree_digest_after: fact.subtree_digest_after.clone().unwrap_or_default(),
            };
            let now = Life { status: Status::Landed, landing: Some(landing), verification: None, ..life.clone() };
            let stored = self.restand(stored, life, &now);
            self.done.landed.push(stored);
        }
        self.done.keep.insert(fact.fingerprint.clone());
        self.done.facts.push(landed);
    }

    /// A landed one whose definition is as predicted, or whose measurement has not ended: its files stay.
    fn stands(&mut self, fact: &ProposalFact, life: &Life) {
        self.done.keep.insert(fact.fingerprint.clone());
        if let Some(stored) = self.file(fact) {
            let stored = self.restand(stored, life, life);
            self.done.landed.push(stored);
        }
    }

    /// Whether a rejected or deferred one is not to be argued with.
    fn sleeps(&self, life: &Life, fact: &ProposalFact, made: Option<&Proposal>) -> bool {
        let Some(decided) = life.decision.as_ref().filter(|_| life.status.is_suppressed()) else { return false };
        let is_over = decided
            .fact
            .until
            .as_deref()
            .is_some_and(|until| DateTime::parse_from_rfc3339(until).is_ok_and(|until| until <= self.asks.now));
        let is_raised = made.is_some_and(|made| match decided.fact.unless {
            Some(Unless::EffectGrowsBeyondHi90) => primary(made).0 > fact.hi90,
            Some(Unless::ConfigChanges) => made.config.subtree_digest != fact.subtree_digest,
            Some(Unless::Never) | None => false,
        });
        !is_over && (!is_raised || decided.fact.revision > fact.revision)
    }

    /// One that sleeps costs no event. Its files stay while they still say something about the config.
    fn asleep(&mut self, fact: &ProposalFact, life: &Life, made: Option<&Proposal>, digest: Option<&String>) {
        if let Some(made) = made.filter(|_| self.decided_later(life, fact)) {
            return self.renewed(made, Some((fact, life)), Baseline::Updated, None);
        }
        if digest.is_some_and(|digest| *digest != fact.subtree_digest) {
            return;
        }
        self.done.keep.insert(fact.fingerprint.clone());
        let again = made.filter(|made| made.content_digest == fact.content_digest);
        if let Some(stored) = self.file(fact).or_else(|| again.map(|made| restored(made, fact))) {
            let stored = self.restand(stored, life, life);
            self.done.suppressed.push(stored);
        }
    }

    /// A proposal that this run made and that does not sleep.
    fn produced(&mut self, made: &Proposal, fact: &ProposalFact, life: &Life) {
        let made = &carrying(made, fact);
        let is_known = life.status.is_open() || life.status.is_suppressed();
        let open = (is_known && !has_lapsed(fact, self.asks.now)).then_some(fact);
        match (baseline_state(Some(&current(made)), open.map(previous).as_ref()), open) {
            (Baseline::Unchanged, Some(_)) if is_on_file(made, fact) && !self.decided_later(life, fact) => {
                self.kept(made, fact, life);
            }
            (Baseline::Unchanged, _) => self.renewed(made, Some((fact, life)), Baseline::Updated, None),
            (state, _) => {
                let file = self.file_value(fact);
                self.renewed(made, Some((fact, life)), state, file.as_ref());
            }
        }
    }

    /// An unchanged proposal: its stored content stays. Without an intact file it is made again if that gives the same
    /// content, else it gets a new revision.
    fn kept(&mut self, made: &Proposal, fact: &ProposalFact, life: &Life) {
        let status = woken(life.status);
        let now = Life { status, ..life.clone() };
        let untouched = (self.asks.files.untouched)(&fact.fingerprint).and_then(|file| file.proposal(made, fact));
        let kept = match untouched.or_else(|| self.file(fact).map(|stored| self.restand(stored, life, &now))) {
            Some(kept) => kept,
            None if made.content_digest == fact.content_digest => restored(made, fact),
            None => {
                self.warn(&fact.fingerprint, "its file is missing or was edited, so it gets a new revision");
                return self.renewed(made, Some((fact, life)), Baseline::Updated, None);
            }
        };
        if fact.misses > 0 || status != life.status {
            let state = ProposalState::Unchanged;
            self.done.facts.push(ProposalFact { state, status, misses: 0, ..fact.clone() });
        }
        self.place(kept, &now, Baseline::Unchanged);
    }

    /// A new proposal, or new content of a known one.
    fn renewed(
        &mut self,
        made: &Proposal,
        known: Option<(&ProposalFact, &Life)>,
        state: Baseline,
        file: Option<&Value>,
    ) {
        let mut renewed = made.clone();
        renewed.revision = known.map_or(1, |(fact, _)| fact.revision + 1);
        if let Some((fact, _)) = known {
            renewed.first_seen.clone_from(&fact.first_seen);
        }
        keep_transitions(&mut renewed.conditions, renewed.revision, file);
        let decided = self.decided_ahead(&renewed, known);
        let status = match (&decided, known) {
            (Some(decided), _) => decided.fact.decision.status().unwrap_or(Status::Proposed),
            (None, Some((_, life))) => woken(life.status),
            (None, None) => Status::Proposed,
        };
        let number = self.lives.number(&made.fingerprint).unwrap_or_else(|| {
            self.last_number += 1;
            self.last_number
        });
        let moved = if state == Baseline::New { ProposalState::New } else { ProposalState::Updated };
        self.done.facts.push(fact_of(&renewed, moved, status, number));
        let decision = decided.or_else(|| known.and_then(|(_, life)| life.decision.clone()));
        self.place(renewed, &wears(status, decision), state);
    }

    /// The decision on a revision that only an earlier judgement of this very run had made.
    fn decided_ahead(&self, renewed: &Proposal, known: Option<(&ProposalFact, &Life)>) -> Option<Decided> {
        let decided = self.lives.decision(&renewed.fingerprint)?;
        let seen = known.map_or(0, |(fact, _)| fact.revision);
        let is_of_this_run = decided.run.as_str() >= self.asks.run;
        (is_of_this_run && decided.fact.revision > seen).then(|| decided.clone())
    }

    /// Whether the last decision speaks of a revision that only an earlier judgement of this very run made.
    fn decided_later(&self, life: &Life, fact: &ProposalFact) -> bool {
        let decided = life.decision.as_ref().filter(|decided| decided.run.as_str() >= self.asks.run);
        decided.is_some_and(|decided| decided.fact.revision > fact.revision)
    }

    /// A proposal of the ledger that waits for somebody and that this run did not make.
    fn missed(&mut self, fact: &ProposalFact, life: &Life, digest: Option<&String>) {
        let fate = (self.asks.fate)(fact);
        if life.status.is_suppressed() {
            let status = Status::Proposed;
            self.done.facts.push(ProposalFact { state: ProposalState::Absent, status, misses: 1, ..fact.clone() });
            return self.absent(fact, life, &Life { status, ..life.clone() });
        }
        let has_moved = digest.is_some_and(|digest| *digest != fact.subtree_digest);
        if has_moved && fate != Fate::Blocked {
            return self.close(fact, ProposalState::Superseded, fact.misses);
        }
        if has_lapsed(fact, self.asks.now) {
            return self.close(fact, ProposalState::Expired, fact.misses);
        }
        if fate == Fate::Withdrawn {
            return self.close(fact, ProposalState::Withdrawn, fact.misses);
        }
        if fate == Fate::Missed {
            let misses = fact.misses + 1;
            if misses >= MISSES_TO_WITHDRAW {
                return self.close(fact, ProposalState::Withdrawn, misses);
            }
            self.done.facts.push(ProposalFact { state: ProposalState::Absent, misses, ..fact.clone() });
        }
        self.absent(fact, life, life);
    }

    /// An open one that this run did not make: its file stays.
    fn absent(&mut self, fact: &ProposalFact, before: &Life, life: &Life) {
        self.done.keep.insert(fact.fingerprint.clone());
        match self.file(fact) {
            Some(stored) => {
                let stored = self.restand(stored, before, life);
                self.place(stored, life, Baseline::Absent);
            }
            None => self.warn(&fact.fingerprint, "it is open, but its file is missing or was edited"),
        }
    }

    /// Puts a proposal where its status belongs.
    fn place(&mut self, mut proposal: Proposal, life: &Life, state: Baseline) {
        self.done.keep.insert(proposal.fingerprint.clone());
        state.as_str().clone_into(&mut proposal.baseline_state);
        stand(&mut proposal, life);
        let list = if life.status.is_suppressed() { &mut self.done.suppressed } else { &mut self.done.open };
        list.push(proposal);
    }

    /// Closes a proposal.
    fn close(&mut self, fact: &ProposalFact, state: ProposalState, misses: u64) {
        let closed = ProposalFact { state, misses, ..fact.clone() };
        self.done.facts.push(ProposalFact { status: closed.said_status(), ..closed });
    }

    /// The file of a proposal, if it says what the ledger kept.
    fn file(&mut self, fact: &ProposalFact) -> Option<Proposal> {
        let value = (self.asks.files.stored)(&fact.fingerprint)?;
        let is_kept = is_intact(&value) && value["content_digest"].as_str() == Some(&fact.content_digest);
        let proposal = serde_json::from_value(value).ok().filter(|_| is_kept);
        if proposal.is_none() {
            let why = self.why_file_differs(&fact.fingerprint);
            self.warn(&fact.fingerprint, &format!("its file is not what the ledger knows {why}"));
        }
        proposal
    }

    /// The intact file of a proposal as JSON, whatever revision it holds.
    fn file_value(&self, fact: &ProposalFact) -> Option<Value> {
        (self.asks.files.stored)(&fact.fingerprint).filter(is_intact)
    }

    /// A file with its new standing. One that says neither where the proposal stood nor where it stands was edited.
    fn restand(&mut self, stored: Proposal, before: &Life, now: &Life) -> Proposal {
        let said = |proposal: &Proposal| {
            (proposal.status.clone(), proposal.suppressed.clone(), proposal.landing.clone(), proposal.outcome.clone())
        };
        let (file, fingerprint) = (said(&stored), stored.fingerprint.clone());
        let (mut then, mut stands) = (stored.clone(), stored);
        stand(&mut then, before);
        stand(&mut stands, now);
        if file != said(&then) && file != said(&stands) {
            let (file, now) = (&file.0, now.status.as_str());
            let why = self.why_file_differs(&fingerprint);
            self.warn(&fingerprint, &format!("its file says {file:?} where the ledger says {now:?} {why}"));
        }
        stands
    }

    /// Why the file of a proposal may say something else than the ledger, and which of them counts.
    fn why_file_differs(&self, fingerprint: &str) -> String {
        match (self.asks.files.damage)(fingerprint) {
            Some(place) => format!(
                "because the ledger is damaged at {place}, which may have spoken of it: restore that line from version control; until then \
                 what is left of the ledger counts"
            ),
            None => "(edited by hand, or left by a killed run): the ledger counts".to_owned(),
        }
    }

    /// Notes something about a proposal's file.
    fn warn(&mut self, fingerprint: &str, what: &str) {
        self.done.warnings.push(format!("proposal {fingerprint}: {what}"));
    }

    /// Every proposal that this run superseded names the new one that took its place, if there is one.
    fn link_superseded(&mut self) {
        let is = |fact: &&ProposalFact, state| fact.state == state;
        let gone: Vec<ProposalFact> =
            self.done.facts.iter().filter(|fact| is(fact, ProposalState::Superseded)).cloned().collect();
        for old in gone {
            let rivals = self.done.facts.iter().filter(|fact| {
                is(fact, ProposalState::New)
                    && fact.pool == old.pool
                    && (fact.axis == old.axis || fact.check == old.check)
            });
            let closest =
                rivals.min_by_key(|fact| (fact.axis != old.axis, fact.subject != old.subject, &fact.fingerprint));
            let Some(heir) = closest.map(|fact| fact.fingerprint.clone()) else { continue };
            let Settlement { facts, open, suppressed, .. } = &mut self.done;
            let proposal = open.iter_mut().chain(suppressed).find(|proposal| proposal.fingerprint == heir);
            let fact = facts.iter_mut().find(|fact| fact.fingerprint == heir);
            if let (Some(proposal), Some(fact)) = (proposal, fact) {
                fact.supersedes.push(old.fingerprint);
                name_superseded(proposal, &fact.supersedes);
                fact.content_digest.clone_from(&proposal.content_digest);
            }
        }
    }
}

/// Whether the present digest of its definition says anything about a proposal.
fn may_have_moved(status: Status) -> bool {
    status.is_open() || status.is_suppressed() || status.is_landed()
}

/// The status of a proposal that is made and does not sleep: an acceptance stays, everything else is proposed.
fn woken(status: Status) -> Status {
    if status == Status::Accepted { status } else { Status::Proposed }
}
