//! The ledger: append-only, hash-chained lines of canonical JSON. Reading never fails: a line that is broken, edited,
//! copied or out of order is reported and left alone, and the events that still form one chain are used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::base::{Base, effective};
use super::chain::Chain;
use super::damage::Damage;
use super::facts::{Fact, FindingKey, OutcomeFact, OutcomeState, ProposalFact, ProposalState, RunFact};
use super::lives::Lives;
use super::looks::LookFact;
use super::measured::{Measures, Touches};
use super::pairs;
use super::reading::{Read, Reading};
use crate::vocabulary::{Digest, Reject, canonical_json};

/// Sorts behind the id of every run.
pub const END_OF_RUNS: &str = "~";

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Counts from 1.
    pub seq: u64,
    /// The run's `now`.
    pub at: String,
    /// The run's id.
    pub run: String,
    /// What it says; `None` for a kind this version does not know.
    pub fact: Option<Fact>,
    /// Digest of the event without this field.
    pub hash: String,
}

impl Event {
    /// Whether a run said it; a kind that this version does not know counts as such.
    pub(super) fn is_of_run(&self) -> bool {
        self.fact.as_ref().is_none_or(Fact::is_of_run)
    }
}

/// The runs that a proposal's present content and state come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRuns {
    /// The run that gave it its content.
    pub made: String,
    /// The run that moved it last.
    pub moved: String,
}

/// The events that form one chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// What its old part folds into.
    base: Arc<Base>,
    /// Those behind the base, in the order of the file.
    events: Vec<Event>,
    /// Where each of them begins: byte and lines before it.
    starts: Vec<(u64, usize)>,
    /// Where the chain stands.
    chain: Chain,
    /// Lines of the text, counted from 1, that are no event of the chain.
    outside: Vec<usize>,
    /// What those lines may have said of proposals.
    damage: Damage,
}

/// What the runs before one run left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The run before.
    pub previous_run: Option<String>,
    /// (pool, check or `None` for the pool) → its present outcome.
    #[serde(with = "pairs")]
    pub outcomes: BTreeMap<(String, Option<String>), OutcomeFact>,
    /// Fingerprint → what a run said of the proposal last, with its present status.
    pub proposals: BTreeMap<String, ProposalFact>,
    /// Fingerprint → the runs that the proposal's content and state come from.
    pub proposal_runs: BTreeMap<String, ProposalRuns>,
    /// The lives of the proposals.
    pub lives: Lives,
    /// Fingerprint → what an earlier judgement of the very run said of the proposal, where the run is judged again.
    pub again: BTreeMap<String, ProposalFact>,
    /// Model → when a run saw it first.
    first_seen: BTreeMap<String, DateTime<Utc>>,
    /// When the run before reviewed.
    previous_at: Option<DateTime<Utc>>,
    /// Source → its digest (or how its reading ended) in the run before.
    sources: BTreeMap<String, String>,
    /// What the last counted look at each comparison left behind.
    #[serde(with = "pairs")]
    looks: BTreeMap<(String, String, String, String), LookFact>,
    /// Pool → digest of its definition in the run before.
    subtrees: BTreeMap<String, String>,
    /// Pool → the sources of the run before its definition last changed.
    changed: BTreeMap<String, BTreeMap<String, String>>,
    /// Pool, axis → when a change on it landed or was taken back last.
    #[serde(with = "pairs")]
    landings: BTreeMap<(String, String), DateTime<Utc>>,
    /// What measuring needs.
    pub measures: Measures,
}

impl Past {
    /// When a run before saw this model first; `None` when none did.
    pub fn first_seen(&self, model: &str) -> Option<DateTime<Utc>> {
        self.first_seen.get(model).copied()
    }

    /// When the run before reviewed; `None` without one.
    pub fn previous_at(&self) -> Option<DateTime<Utc>> {
        self.previous_at
    }

    /// The digest of a source in the run before, or how its reading ended.
    pub fn source_digest(&self, source: &str) -> Option<&str> {
        self.sources.get(source).map(String::as_str)
    }

    /// What the findings of a check of a pool said at the run before.
    pub fn findings(&self, pool: &str, check: &str) -> impl Iterator<Item = &FindingKey> {
        let outcome = self.outcomes.get(&(pool.to_owned(), Some(check.to_owned())));
        outcome.into_iter().flat_map(|outcome| &outcome.findings)
    }

    /// What the looks at the comparisons of a pool left behind, where they rest on the same basis.
    pub fn looks(&self, pool: &str, basis: &str) -> impl Iterator<Item = &LookFact> {
        self.looks.values().filter(move |look| look.pool == pool && look.basis == basis)
    }

    /// The sources that were read when a pool's definition was last judged before it changed; `None` when it did not change.
    pub fn sources_before_change(&self, pool: &str, subtree: &str) -> Option<&BTreeMap<String, String>> {
        match self.subtrees.get(pool) {
            Some(known) if known != subtree => Some(&self.sources),
            _ => self.changed.get(pool),
        }
    }

    /// When changes of a pool landed last, by axis.
    pub fn landed(&self, pool: &str) -> impl Iterator<Item = (&str, DateTime<Utc>)> {
        let of_pool = self.landings.iter().filter(move |((known, _), _)| known == pool);
        of_pool.map(|((_, axis), at)| (axis.as_str(), *at))
    }

    /// The changes of every definition, those that a run with these definitions sees first among them.
    pub fn touches(&self, subtrees: &BTreeMap<String, String>, now: DateTime<Utc>) -> Touches {
        self.measures.touches((&self.subtrees, self.previous_at), subtrees, now)
    }

    /// Takes one run in: what it read, and which definitions changed before it.
    fn take_run(&mut self, event: &Event, run: &RunFact) {
        for (pool, subtree) in &run.subtrees {
            if self.subtrees.get(pool).is_some_and(|known| known != subtree) {
                self.changed.insert(pool.clone(), self.sources.clone());
            }
        }
        if let Ok(at) = DateTime::parse_from_rfc3339(&event.at) {
            self.measures.take_subtrees((&self.subtrees, self.previous_at), &run.subtrees, at.to_utc());
        }
        self.previous_run = Some(event.run.clone());
        self.previous_at = DateTime::parse_from_rfc3339(&event.at).ok().map(|at| at.to_utc());
        self.sources.clone_from(&run.sources);
        self.subtrees.clone_from(&run.subtrees);
    }

    /// Takes one proposal in.
    fn take_proposal(&mut self, event: &Event, proposal: &ProposalFact) {
        let has_moved_config = matches!(proposal.state, ProposalState::Landed | ProposalState::RolledBack);
        if let (true, Ok(at)) = (has_moved_config, DateTime::parse_from_rfc3339(&event.at)) {
            self.landings.insert((proposal.pool.clone(), proposal.axis.clone()), at.to_utc());
        }
        let runs = self.proposal_runs.entry(proposal.fingerprint.clone()).or_default();
        runs.moved.clone_from(&event.run);
        if matches!(proposal.state, ProposalState::New | ProposalState::Updated) || runs.made.is_empty() {
            runs.made.clone_from(&event.run);
        }
        self.proposals.insert(proposal.fingerprint.clone(), proposal.clone());
    }

    /// The run where a finding of the run before began; of a ledger that does not say, where its outcome began.
    pub fn finding_since(&self, pool: &str, check: &str, key: &FindingKey) -> Option<&str> {
        let outcome = self.outcomes.get(&(pool.to_owned(), Some(check.to_owned())))?;
        let known = outcome.findings.iter().find(|known| known.is_same_fact(key))?;
        Some(known.since.as_ref().unwrap_or(&outcome.since))
    }

    /// Takes one event in.
    pub(super) fn take(&mut self, event: &Event) {
        match &event.fact {
            Some(Fact::Run(run) | Fact::Rerun(run)) => {
                self.take_run(event, run);
            }
            Some(Fact::Outcome(outcome)) => self.take_outcome(outcome),
            Some(Fact::Proposal(proposal)) => self.take_proposal(event, proposal),
            Some(Fact::Looks(fact)) => self.looks.extend(fact.looks.iter().map(|look| (look.key(), look.clone()))),
            Some(Fact::FirstSeen(seen)) => {
                if let Ok(at) = DateTime::parse_from_rfc3339(&event.at) {
                    for model in &seen.models {
                        self.first_seen.entry(model.clone()).or_insert(at.to_utc());
                    }
                }
            }
            Some(Fact::Verification(fact)) => self.measures.take_verification(fact),
            Some(Fact::Mixes(fact)) => self.measures.take_mixes(fact),
            Some(Fact::Bounds(fact)) => self.measures.take_bounds(fact),
            Some(Fact::BoundCheck(fact)) => self.measures.take_check(fact),
            Some(Fact::Decision(_) | Fact::Issue(_) | Fact::Trigger(_)) | None => {}
        }
        self.lives.take(event);
    }

    /// Gives every proposal its present status.
    fn settle(&mut self) {
        for (fingerprint, proposal) in &mut self.proposals {
            if let Some(life) = self.lives.get(fingerprint) {
                (proposal.status, proposal.number) = (life.status, life.number);
            }
        }
    }

    /// Takes one outcome in; an absent one goes.
    fn take_outcome(&mut self, outcome: &OutcomeFact) {
        let key = (outcome.pool.clone(), outcome.check.clone());
        if outcome.state == OutcomeState::Absent {
            self.outcomes.remove(&key);
        } else {
            self.outcomes.insert(key, outcome.clone());
        }
    }
}

impl Ledger {
    /// The ledger that a text holds, and what is wrong with it, by `path:line`. A line that is edited, copied or out of order
    /// is not used. An event behind a gap is used, so that one damaged line costs one event, and the gap is said.
    pub fn read(path: &str, text: &str) -> (Self, Vec<Reject>) {
        let mut reading = Reading::new(path, None);
        reading.feed(text.as_bytes());
        let Read { ledger, problems, .. } = reading.finish();
        (ledger, problems)
    }

    /// A ledger whose events up to here are folded.
    pub(super) fn behind(base: Base) -> Self {
        let chain = if base.seq == 0 { Chain::default() } else { Chain::at(base.seq, base.head.clone()) };
        Self { base: Arc::new(base), chain, ..Self::default() }
    }

    /// What its old part folds into.
    pub(super) fn base(&self) -> &Base {
        &self.base
    }

    /// Bytes of the file that are folded.
    pub fn folded_bytes(&self) -> u64 {
        self.base.length
    }

    /// Events in all, the folded ones among them.
    pub fn count(&self) -> u64 {
        self.chain.seq
    }

    /// Whether a line would continue the chain.
    pub fn accepts(&self, line: &str) -> bool {
        self.chain.clone().take(line).is_ok_and(|(_, gap)| gap.is_none())
    }

    /// Takes lines in that were appended to the file.
    pub fn extend(&mut self, lines: &[String]) -> Result<(), String> {
        lines.iter().try_for_each(|line| self.take(line, (0, 0)).map(drop))
    }

    /// What was said of issues, the folded part included.
    pub fn of_issues(&self) -> impl Iterator<Item = &Event> {
        let later = self.events.iter().filter(|event| matches!(event.fact, Some(Fact::Issue(_))));
        self.base.issues.iter().chain(later)
    }

    /// Checks one line and takes it in; what comes back is the gap before it, if there is one. The error says why it is not used.
    pub(super) fn take(&mut self, line: &str, start: (u64, usize)) -> Result<Option<String>, String> {
        let is_behind_damage = self.outside.last() == Some(&start.1);
        let taken = self.chain.take(line).inspect_err(|reason| {
            self.outside.push(start.1 + 1);
            self.damage.add(start.1 + 1, line, reason);
        });
        let (event, gap) = taken?;
        if gap.is_some() && !is_behind_damage {
            self.damage.add_gap(start.1 + 1);
        }
        self.events.push(event);
        self.starts.push(start);
        Ok(gap)
    }

    /// The line, counted from 1, that is not used and may have said something of a proposal.
    pub fn damaged_line(&self, fingerprint: &str) -> Option<usize> {
        self.damage.line(fingerprint)
    }

    /// Whether events are damaged or gone; copies of events that are there take nothing away.
    pub fn is_damaged(&self) -> bool {
        self.damage != Damage::default()
    }

    /// Lines of the text, counted from 1, that are no event of the chain; one without its line end is not among them.
    pub fn outside(&self) -> &[usize] {
        &self.outside
    }

    /// Whether the last event belongs behind what is folded.
    pub(super) fn is_in_order(&self) -> bool {
        self.events.last().is_none_or(|event| self.base.precedes(event))
    }

    /// Folds every run before the one that the last event begins, as far as they lie before `run`.
    pub(super) fn fold_finished(&mut self, run: &str) {
        let Some((last, earlier)) = self.events.split_last() else { return };
        let begins = last.is_of_run() && earlier.iter().all(|event| event.run < last.run);
        if begins && !earlier.is_empty() && earlier.iter().all(|event| event.run.as_str() < run) {
            let count = earlier.len();
            self.fold(count, self.starts[count]);
        }
    }

    /// Folds every event before `run`, as far as no later event belongs among them. `end` is where the file ends.
    pub(super) fn fold_before(&mut self, run: &str, end: (u64, usize)) {
        let count = self.events.iter().take_while(|event| event.run.as_str() < run).count();
        let largest = self.events[..count].iter().map(|event| &event.run).max();
        let is_apart = |event: &Event| largest.is_some_and(|largest| *largest < event.run);
        if count > 0 && self.events[count..].iter().all(is_apart) {
            self.fold(count, self.starts.get(count).copied().unwrap_or(end));
        }
    }

    /// Folds the first events; what follows begins at `start`.
    fn fold(&mut self, count: usize, start: (u64, usize)) {
        let folded: Vec<Event> = self.events.drain(..count).collect();
        self.starts.drain(..count);
        let base = Arc::make_mut(&mut self.base);
        base.fold(&folded);
        (base.length, base.lines) = start;
    }

    /// The events of the chain that are not folded.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What the runs before this one left behind. The run's own events and later ones stay out, so that judging a run
    /// again sees what it saw the first time. Decisions count up to the run's instant; when the newest run is judged again,
    /// also those that were made since.
    pub fn before(&self, run: &str) -> Past {
        let is_before = |event: &&Event| event.run.as_str() < run || (!event.is_of_run() && event.run.as_str() == run);
        let mut earlier: Vec<&Event> = effective(&self.events).into_iter().filter(is_before).collect();
        earlier.sort_by(|a, b| a.run.cmp(&b.run));
        let mut past = self.base.past.clone();
        for event in earlier {
            past.take(event);
        }
        for event in self.events.iter().filter(|event| event.run.as_str() <= run) {
            past.lives.take_number(event);
        }
        for event in effective(&self.events).into_iter().filter(|event| event.run == run) {
            if let Some(Fact::Proposal(proposal)) = &event.fact {
                past.again.insert(proposal.fingerprint.clone(), (**proposal).clone());
            }
        }
        past.settle();
        past
    }

    /// What all runs and all decisions left behind.
    pub fn present(&self) -> Past {
        self.before(END_OF_RUNS)
    }

    /// The newest run by its id, if there is any.
    pub fn newest_run(&self) -> Option<&str> {
        let newer = self.events.iter().filter(|event| event.is_of_run()).map(|event| event.run.as_str()).max();
        newer.or(self.base.newest_run.as_deref())
    }

    /// Every proposal that some run spoke of, by fingerprint.
    pub fn proposals(&self) -> BTreeSet<&str> {
        let later = self.events.iter().filter_map(|event| match &event.fact {
            Some(Fact::Proposal(proposal)) => Some(proposal.fingerprint.as_str()),
            _ => None,
        });
        self.base.past.proposals.keys().map(String::as_str).chain(later).collect()
    }

    /// What each of the last runs said, oldest first; of a run that was judged again what it said last.
    pub fn runs(&self) -> Vec<(&str, &RunFact)> {
        let mut runs: BTreeMap<&str, &RunFact> =
            self.base.runs.iter().map(|(run, fact)| (run.as_str(), fact)).collect();
        for event in &self.events {
            if let Some(Fact::Run(run) | Fact::Rerun(run)) = &event.fact {
                runs.insert(&event.run, run);
            }
        }
        runs.into_iter().collect()
    }

    /// Whether there are events of a run.
    pub fn holds_run(&self, run: &str) -> bool {
        self.events.iter().any(|event| event.run == run && event.is_of_run())
    }

    /// The lines to append so that the ledger holds these facts of a run; none when it holds them already. A run that was
    /// killed half-way is completed. Other facts under a run id that is known begin with `rerun` and replace the old ones.
    pub fn lines_for(&self, run: &str, at: DateTime<Utc>, facts: &[Fact]) -> Vec<String> {
        let of_run = |event: &&Event| event.run == run && event.is_of_run();
        let held: Vec<Option<&Fact>> =
            effective(&self.events).into_iter().filter(of_run).map(|event| event.fact.as_ref()).collect();
        let is_prefix = held.len() <= facts.len()
            && held.iter().zip(facts).all(|(held, fact)| held.is_some_and(|held| says_the_same(held, fact)));
        let missing = if is_prefix { facts[held.len()..].to_vec() } else { as_rerun(facts) };
        self.chained(run, at, &missing)
    }

    /// Facts as lines that continue the chain.
    pub fn chained(&self, run: &str, at: DateTime<Utc>, facts: &[Fact]) -> Vec<String> {
        let mut prev = self.chain.head.clone();
        let first = self.chain.seq + 1;
        let lines = facts.iter().zip(first..).map(|(fact, seq)| {
            let fact = serde_json::to_value(fact).expect("facts hold text and whole numbers only");
            let mut event = json!({
                "seq": seq, "at": instant(at), "run": run, "kind": fact["kind"], "data": fact["data"], "prev": prev,
            });
            prev = Digest::of_json(&event).to_string();
            event["hash"] = Value::String(prev.clone());
            canonical_json(&event)
        });
        lines.collect()
    }
}

/// An instant as the ledger writes it.
pub(super) fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether two facts are the same, `run` and `rerun` being one.
fn says_the_same(held: &Fact, fact: &Fact) -> bool {
    match (held, fact) {
        (Fact::Run(a) | Fact::Rerun(a), Fact::Run(b) | Fact::Rerun(b)) => a == b,
        (a, b) => a == b,
    }
}

/// The same facts with `rerun` in the place of `run`.
fn as_rerun(facts: &[Fact]) -> Vec<Fact> {
    let rerun = |fact: &Fact| match fact {
        Fact::Run(run) => Fact::Rerun(run.clone()),
        other => other.clone(),
    };
    facts.iter().map(rerun).collect()
}
