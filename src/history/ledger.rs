//! The ledger: append-only, hash-chained lines of canonical JSON. Reading never fails: a line that is broken, edited,
//! copied or out of order is reported and left alone, and the events that still form one chain are used.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::facts::{Fact, FindingKey, OutcomeFact, OutcomeState, ProposalFact, ProposalState, RunFact};
use super::lives::Lives;
use super::looks::LookFact;
use super::measured::{Measures, Touches};
use crate::vocabulary::{Digest, Place, Reject, canonical_json};

/// What the first event's `prev` is the digest of.
const GENESIS: &[u8] = b"pool-review.ledger/1\n";

/// Sorts behind the id of every run.
const END_OF_RUNS: &str = "~";

/// Most lines that are reported one by one.
const KEPT_PROBLEMS: usize = 5;

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    fn is_of_run(&self) -> bool {
        self.fact.as_ref().is_none_or(Fact::is_of_run)
    }
}

/// The runs that a proposal's present content and state come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalRuns {
    /// The run that gave it its content.
    pub made: String,
    /// The run that moved it last.
    pub moved: String,
}

/// The events that form one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// In the order of the file.
    events: Vec<Event>,
    /// The hash that the next event names.
    head: String,
    /// Lines of the text, counted from 1, that are no event of the chain.
    outside: Vec<usize>,
}

/// What the runs before one run left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// The run before.
    pub previous_run: Option<String>,
    /// (pool, check or `None` for the pool) → its present outcome.
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
    looks: BTreeMap<(String, String, String, String), LookFact>,
    /// Pool → digest of its definition in the run before.
    subtrees: BTreeMap<String, String>,
    /// Pool → the sources of the run before its definition last changed.
    changed: BTreeMap<String, BTreeMap<String, String>>,
    /// Pool, axis → when a change on it landed or was taken back last.
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
    fn take(&mut self, event: &Event) {
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
            Some(Fact::Decision(_) | Fact::Issue(_)) | None => {}
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

impl Default for Ledger {
    /// An empty ledger.
    fn default() -> Self {
        Self { events: Vec::new(), head: Digest::of(GENESIS).to_string(), outside: Vec::new() }
    }
}

impl Ledger {
    /// The ledger that a text holds, and what is wrong with it, by `path:line`. A line that is edited, copied or out of order
    /// is not used. An event behind a gap is used, so that one damaged line costs one event, and the gap is said.
    pub fn read(path: &str, text: &str) -> (Self, Vec<Reject>) {
        let mut ledger = Self::default();
        let mut problems = Problems::default();
        for (i, line) in text.split_inclusive('\n').enumerate() {
            let place = Place::new(path, i + 1);
            let is_whole = line.ends_with('\n');
            let line = line.trim_end_matches(['\n', '\r']);
            if !is_whole {
                problems.add(place, "has no line end: a killed run left it, it is not used".to_owned());
            } else if !line.is_empty() {
                match ledger.take(line) {
                    Ok(gap) => gap.into_iter().for_each(|gap| problems.add(place.clone(), gap)),
                    Err(reason) => {
                        ledger.outside.push(i + 1);
                        problems.add(place, reason);
                    }
                }
            }
        }
        (ledger, problems.into_rejects())
    }

    /// Lines of the text, counted from 1, that are no event of the chain; one without its line end is not among them.
    pub fn outside(&self) -> &[usize] {
        &self.outside
    }

    /// The events of the chain.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What the runs before this one left behind. The run's own events and later ones stay out, so that judging a run
    /// again sees what it saw the first time. Decisions count up to the run's instant; when the newest run is judged again,
    /// also those that were made since.
    pub fn before(&self, run: &str) -> Past {
        let is_before = |event: &&Event| event.run.as_str() < run || (!event.is_of_run() && event.run.as_str() == run);
        let mut earlier: Vec<&Event> = self.effective().into_iter().filter(is_before).collect();
        earlier.sort_by(|a, b| a.run.cmp(&b.run));
        let mut past = Past::default();
        for event in earlier {
            past.take(event);
        }
        for event in self.events.iter().filter(|event| event.run.as_str() <= run) {
            past.lives.take_number(event);
        }
        for event in self.effective().into_iter().filter(|event| event.run == run) {
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
        self.events.iter().filter(|event| event.is_of_run()).map(|event| event.run.as_str()).max()
    }

    /// What each run said, oldest first; of a run that was judged again what it said last.
    pub fn runs(&self) -> Vec<(&str, &RunFact)> {
        let mut runs: BTreeMap<&str, &RunFact> = BTreeMap::new();
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
            self.effective().into_iter().filter(of_run).map(|event| event.fact.as_ref()).collect();
        let is_prefix = held.len() <= facts.len()
            && held.iter().zip(facts).all(|(held, fact)| held.is_some_and(|held| says_the_same(held, fact)));
        let missing = if is_prefix { facts[held.len()..].to_vec() } else { as_rerun(facts) };
        self.chained(run, at, &missing)
    }

    /// Facts as lines that continue the chain.
    pub fn chained(&self, run: &str, at: DateTime<Utc>, facts: &[Fact]) -> Vec<String> {
        let mut prev = self.head.clone();
        let first = self.events.last().map_or(1, |event| event.seq + 1);
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

    /// Takes lines in that were appended to the file.
    pub fn extend(&mut self, lines: &[String]) -> Result<(), String> {
        lines.iter().try_for_each(|line| self.take(line).map(drop))
    }

    /// Checks one line and takes it in; what comes back is the gap before it, if there is one. The error says why it is not used.
    fn take(&mut self, line: &str) -> Result<Option<String>, String> {
        let mut value: Value = serde_json::from_str(line).map_err(|error| format!("is not JSON: {error}"))?;
        if canonical_json(&value) != line {
            return Err("was edited: it is not in canonical form".to_owned());
        }
        let hash = value.as_object_mut().and_then(|object| object.remove("hash"));
        let hash = hash.and_then(|hash| hash.as_str().map(str::to_owned)).ok_or("has no hash")?;
        if Digest::of_json(&value).as_str() != hash {
            return Err("was edited: its hash does not fit its content".to_owned());
        }
        let event = event_of(&value, hash.clone()).ok_or("is not a ledger event: seq, at or run is missing")?;
        let gap = self.gap_before(&event, value["prev"].as_str())?;
        self.events.push(event);
        self.head = hash;
        Ok(gap)
    }

    /// The gap between the last event and the next; `None` when the one continues the other. An event that is there already, or
    /// that belongs before the last one, is an error.
    fn gap_before(&self, event: &Event, prev: Option<&str>) -> Result<Option<String>, String> {
        let (last, seq) = (self.events.last().map_or(0, |event| event.seq), event.seq);
        if prev == Some(self.head.as_str()) && seq == last + 1 {
            return Ok(None);
        }
        if seq > last + 1 {
            let (first, last) = (last + 1, seq - 1);
            let which =
                if first == last { format!("event {first} is") } else { format!("events {first} to {last} are") };
            return Ok(Some(format!(
                "continues behind a gap: {which} missing, edited or out of order; what is not there is not used"
            )));
        }
        if seq == last + 1 {
            return Ok(Some(format!(
                "continues another event {last} than the one before it: that one was put in another's place"
            )));
        }
        match self.events.iter().find(|known| known.hash == event.hash) {
            Some(twin) => Err(format!("is a copy of event {}", twin.seq)),
            None => Err(format!("is out of order: event {seq} stands behind event {last}")),
        }
    }

    /// The events that count: of a run that was judged again only those since it was, and every one that is no run's own.
    fn effective(&self) -> Vec<&Event> {
        let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
        for event in &self.events {
            if matches!(event.fact, Some(Fact::Rerun(_))) {
                starts.insert(&event.run, event.seq);
            }
        }
        let counts =
            |event: &&Event| !event.is_of_run() || starts.get(event.run.as_str()).is_none_or(|seq| event.seq >= *seq);
        self.events.iter().filter(counts).collect()
    }
}

/// Lines that are not part of the chain: the first few, and how many more.
#[derive(Default)]
struct Problems {
    /// The first few.
    kept: Vec<Reject>,
    /// Where the first one beyond them stands, and their number.
    more: Option<(Place, usize)>,
}

impl Problems {
    /// Adds one.
    fn add(&mut self, place: Place, reason: String) {
        if self.kept.len() < KEPT_PROBLEMS {
            self.kept.push(Reject { place, reason });
        } else {
            self.more.get_or_insert((place, 0)).1 += 1;
        }
    }

    /// All of them as rejects; what is beyond the first few becomes one line.
    fn into_rejects(mut self) -> Vec<Reject> {
        if let Some((place, count)) = self.more {
            self.kept.push(Reject { place, reason: format!("and {count} more lines from here on are not used") });
        }
        self.kept
    }
}

/// An instant as the ledger writes it.
pub(super) fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The event of a checked value.
fn event_of(value: &Value, hash: String) -> Option<Event> {
    let fact = json!({ "kind": value["kind"], "data": value["data"] });
    Some(Event {
        seq: value["seq"].as_u64()?,
        at: value["at"].as_str()?.to_owned(),
        run: value["run"].as_str()?.to_owned(),
        fact: serde_json::from_value(fact).ok(),
        hash,
    })
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
