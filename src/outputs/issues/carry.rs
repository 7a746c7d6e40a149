//! Carries a plan out: looks first, writes one thing at a time, and keeps an outbox in the ledger, so that a crash or an unclear
//! answer never leads to a second issue.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use chrono::{DateTime, Utc};

use super::Desk;
use super::decide::{Known, KnownState};
use super::flags::LABEL;
use super::marker::{Marker, comment_key};
use super::plan::{Entry, Plan, Write};
use super::tracker::{Listed, Listing, Tracker, Trouble};
use crate::history::{Fact, IssueFact, IssueMemory, IssueStep, Ledger, Standing, StepState};
use crate::store::Store;

/// Least time between two writes.
const PACE: Duration = Duration::from_secs(1);

/// Colour of the labels.
const COLOUR: &str = "0e5a8a";

/// Who carries a plan out.
#[derive(Clone, Copy)]
pub struct Filing<'a> {
    /// The server, or why nobody can speak to it.
    pub tracker: Result<&'a dyn Tracker, &'a str>,
    /// Waits.
    pub sleep: &'a dyn Fn(Duration),
}

/// What came of filing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// The plan, with numbers where issues were made.
    pub plan: Plan,
    /// How many of its entries were reached.
    pub reached: usize,
    /// Why it ended early.
    pub failure: Option<String>,
}

/// The ledger, held open for the outbox.
pub struct Outbox<'a> {
    /// Where it is written.
    pub store: &'a Store,
    /// Its path.
    pub path: PathBuf,
    /// What it holds.
    pub ledger: &'a mut Ledger,
    /// The run that files.
    pub run: &'a str,
    /// Its instant.
    pub at: DateTime<Utc>,
}

impl Outbox<'_> {
    /// Appends one event, on disk before this returns.
    fn note(&mut self, fact: IssueFact) -> Result<()> {
        let lines = self.ledger.chained(self.run, self.at, &[Fact::Issue(fact)]);
        self.store.append_lines(&self.path, &lines)?;
        self.ledger.extend(&lines).map_err(|reason| anyhow!("an event of filing {reason}"))
    }
}

/// Looks, plans and writes. What a server refuses or leaves unclear ends it, and is part of what comes back; an error is one of
/// the disk.
pub(in crate::outputs) fn carry_out(desk: &Desk<'_>, filing: Filing<'_>, outbox: &mut Outbox<'_>) -> Result<Filed> {
    let mut memories = desk.memories.clone();
    let failed = |failure: String, memories| {
        let plan = Plan { entries: Vec::new(), ..desk.plan_for(&BTreeMap::new(), memories, "server") };
        Ok(Filed { plan, reached: 0, failure: Some(failure) })
    };
    let tracker = match filing.tracker {
        Ok(tracker) => tracker,
        Err(reason) => return failed(reason.to_owned(), &memories),
    };
    let known = match look(tracker, &memories) {
        Ok(seen) => seen.settle(desk, tracker, &mut memories, outbox)?,
        Err(trouble) => Err(trouble),
    };
    match known {
        Ok(known) => write_all(desk.plan_for(&known, &memories, "server"), tracker, filing.sleep, outbox),
        Err(trouble) => failed(format!("listing issues: {}", trouble.reason()), &memories),
    }
}

/// What a server shows, by id.
struct Seen {
    /// Our login.
    login: String,
    /// Id → its issues.
    issues: BTreeMap<String, Vec<Listed>>,
    /// Ids whose remembered issue the server no longer has, with its number.
    gone: BTreeMap<String, u64>,
}

/// Lists what is there: by label, by author when a new issue may have arrived without anybody knowing, and one by one what
/// the ledger remembers and the lists do not show.
fn look(tracker: &dyn Tracker, memories: &BTreeMap<String, IssueMemory>) -> Result<Seen, Trouble> {
    let login = tracker.login()?;
    let mut listed = tracker.list(Listing::Label(LABEL))?;
    let is_unclear = |memory: &IssueMemory| memory.unclear.as_ref().is_some_and(|fact| fact.step == IssueStep::Create);
    if memories.values().any(is_unclear) {
        listed.extend(tracker.list(Listing::Creator(&login))?);
    }
    let mut seen = Seen { login, issues: BTreeMap::new(), gone: BTreeMap::new() };
    let by_number: BTreeMap<u64, &str> =
        memories.iter().filter_map(|(id, memory)| Some((memory.number?, id.as_str()))).collect();
    for issue in listed {
        let id = Marker::read(&issue.body).map(|marker| marker.id);
        let id = id.or_else(|| by_number.get(&issue.number).map(|id| (*id).to_owned()));
        if let Some(id) = id.filter(|_| issue.author.eq_ignore_ascii_case(&seen.login)) {
            seen.add(id, issue);
        }
    }
    for (id, memory) in memories {
        let Some(number) = memory.number else { continue };
        if seen.issues.get(id).is_some_and(|all| all.iter().any(|one| one.number == number)) {
            continue;
        }
        match tracker.issue(number) {
            Ok(issue) => seen.add(id.clone(), issue),
            Err(Trouble::Gone(_)) => drop(seen.gone.insert(id.clone(), number)),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(seen)
}

impl Seen {
    /// Adds an issue, once.
    fn add(&mut self, id: String, issue: Listed) {
        let all = self.issues.entry(id).or_default();
        if !all.iter().any(|known| known.number == issue.number) {
            all.push(issue);
        }
    }

    /// Brings the ledger's memory up to what the server shows: steps that nobody knew the end of, closings and refusals by
    /// other hands, issues that the ledger did not know.
    fn settle(
        mut self,
        desk: &Desk<'_>,
        tracker: &dyn Tracker,
        memories: &mut BTreeMap<String, IssueMemory>,
        outbox: &mut Outbox<'_>,
    ) -> Result<Result<BTreeMap<String, Vec<Known>>, Trouble>> {
        let mut known: BTreeMap<String, Vec<Known>> = BTreeMap::new();
        for (id, memory) in memories.iter_mut().filter(|(_, memory)| memory.unclear.is_some()) {
            let fact = memory.unclear.clone().expect("the filter lets only unclear ones pass");
            let arrived = match self.arrived(tracker, id, &fact) {
                Ok(arrived) => arrived,
                Err(trouble) => return Ok(Err(trouble)),
            };
            let fact = match arrived {
                Some(number) => IssueFact { state: StepState::Done, number: Some(number), ..fact },
                None => IssueFact { state: StepState::Refused, reason: Some("it had not arrived".to_owned()), ..fact },
            };
            note(memory, fact, outbox)?;
        }
        for (id, issues) in std::mem::take(&mut self.issues) {
            let memory = memories.entry(id.clone()).or_default();
            for issue in issues {
                let state = match state_of(tracker, &self.login, &issue, memory) {
                    Ok(state) => state,
                    Err(trouble) => return Ok(Err(trouble)),
                };
                known.entry(id.clone()).or_default().push(Known::of(&issue, memory, state));
            }
            for fact in news(desk, &id, &known[&id], memory) {
                note(memory, fact, outbox)?;
            }
        }
        for (id, number) in self.gone {
            let shows = memories.get(&id).and_then(|memory| memory.shown.clone()).unwrap_or_default();
            let gone = Known { number, shows, body: String::new(), is_edited: true, state: KnownState::Gone };
            known.entry(id).or_default().push(gone);
        }
        Ok(Ok(known))
    }

    /// Whether a step of which no end is known arrived, and the number of its issue; `None`: it did not.
    fn arrived(&self, tracker: &dyn Tracker, id: &str, fact: &IssueFact) -> Result<Option<u64>, Trouble> {
        let issues = self.issues.get(id).map_or(&[][..], Vec::as_slice);
        let one = |number: Option<u64>| issues.iter().find(|issue| Some(issue.number) == number);
        let has = |issue: Option<&Listed>, passes: &dyn Fn(&Listed) -> bool| issue.is_some_and(passes);
        let is_there = match fact.step {
            IssueStep::Create => return Ok(issues.iter().map(|issue| issue.number).min()),
            IssueStep::Patch => has(one(fact.number), &|issue| {
                Marker::read(&issue.body).is_some_and(|marker| Some(marker.body) == fact.body)
            }),
            IssueStep::Close => has(one(fact.number), &|issue| !issue.is_open),
            IssueStep::Reopen => has(one(fact.number), &|issue| issue.is_open),
            IssueStep::Comment => {
                let (Some(number), Some(key)) = (fact.number, &fact.key) else { return Ok(None) };
                let texts = match tracker.comments(number, &self.login) {
                    Err(Trouble::Gone(_)) => Vec::new(),
                    texts => texts?,
                };
                texts.iter().any(|text| comment_key(text) == Some(key))
            }
            IssueStep::Label | IssueStep::Duplicate | IssueStep::Refusal | IssueStep::Found => false,
        };
        Ok(fact.number.filter(|_| is_there))
    }
}

/// Notes an event in the outbox and takes it into the memory.
fn note(memory: &mut IssueMemory, fact: IssueFact, outbox: &mut Outbox<'_>) -> Result<()> {
    memory.take(&fact, outbox.run);
    outbox.note(fact)
}

/// How a listed issue stands. Who closed it is asked only where it decides: closed as not planned, and not refused before.
fn state_of(tracker: &dyn Tracker, login: &str, issue: &Listed, memory: &IssueMemory) -> Result<KnownState, Trouble> {
    if issue.is_open {
        return Ok(KnownState::Open);
    }
    if !matches!(issue.state_reason.as_str(), "not_planned" | "duplicate") {
        return Ok(KnownState::Closed);
    }
    let shows = Marker::read(&issue.body).map(|marker| marker.fingerprint).or_else(|| memory.shown.clone());
    if shows.is_some_and(|shows| memory.refusals.contains(&shows)) {
        return Ok(KnownState::Refused);
    }
    if memory.number == Some(issue.number) && memory.closed_as.as_ref() == Some(&issue.state_reason) {
        return Ok(KnownState::Closed);
    }
    let closer = tracker.issue(issue.number)?.closed_by;
    let is_ours = closer.is_some_and(|closer| closer.eq_ignore_ascii_case(login));
    Ok(if is_ours { KnownState::Closed } else { KnownState::Refused })
}

/// What the ledger has to learn of the issues of one id, none of which is written.
fn news(desk: &Desk<'_>, id: &str, all: &[Known], memory: &IssueMemory) -> Vec<IssueFact> {
    let mut facts = Vec::new();
    let open = all.iter().filter(|one| one.state == KnownState::Open).min_by_key(|one| one.number);
    let Some(one) = open.or_else(|| all.iter().min_by_key(|one| one.number)) else { return facts };
    let plain = IssueFact { state: StepState::Done, ..desk.plain(id, &one.shows, one.number) };
    let is_new = memory.number != Some(one.number);
    let is_reopened = memory.standing == Standing::Closed && one.state == KnownState::Open;
    if is_new || is_reopened {
        let body = Some(one.body.clone());
        let reason = if is_new { "the ledger did not know it" } else { "opened again by other hands" };
        facts.push(IssueFact { step: IssueStep::Found, body, reason: Some(reason.to_owned()), ..plain.clone() });
    }
    let is_open_here = is_new || memory.standing == Standing::Open;
    if one.state != KnownState::Open && is_open_here {
        let reason = Some("closed by other hands".to_owned());
        facts.push(IssueFact { step: IssueStep::Close, reason, ..plain.clone() });
    }
    if one.state == KnownState::Refused && !memory.refusals.contains(&one.shows) {
        let reason = Some("closed as not planned by other hands".to_owned());
        facts.push(IssueFact { step: IssueStep::Refusal, reason, ..plain });
    }
    facts
}

/// Writes one thing after the other. The first that fails is the last.
fn write_all(
    mut plan: Plan,
    tracker: &dyn Tracker,
    sleep: &dyn Fn(Duration),
    outbox: &mut Outbox<'_>,
) -> Result<Filed> {
    let paced = Cell::new(false);
    let pace = || {
        if paced.replace(true) {
            sleep(PACE);
        }
    };
    for i in 0..plan.entries.len() {
        let entry = &plan.entries[i];
        let (Some(write), Some(fact)) = (entry.write.clone(), entry.fact.clone()) else { continue };
        match write_one(&write, &fact, tracker, &pace, outbox)? {
            Ok(number) => plan.entries[i].number = number.or(plan.entries[i].number),
            Err(trouble) => {
                let failure = Some(format!("{}: {}", doing(&plan.entries[i]), trouble.reason()));
                return Ok(Filed { plan, reached: i, failure });
            }
        }
    }
    let reached = plan.entries.len();
    Ok(Filed { plan, reached, failure: None })
}

/// What an entry does, for an error.
fn doing(entry: &Entry) -> String {
    let what = match entry.step {
        "label" => "making label",
        "create" => "creating issue",
        "patch" => "updating issue",
        "comment" => "commenting on issue",
        "reopen" => "reopening issue",
        _ => "closing issue",
    };
    entry.number.map_or_else(|| what.to_owned(), |number| format!("{what} #{number}"))
}

/// One write between its two events; the number of a new issue comes back. A label that is there is not written.
fn write_one(
    write: &Write,
    fact: &IssueFact,
    tracker: &dyn Tracker,
    pace: &dyn Fn(),
    outbox: &mut Outbox<'_>,
) -> Result<Result<Option<u64>, Trouble>> {
    if let Write::Label(name) = write {
        match tracker.has_label(name) {
            Ok(true) => return Ok(Ok(None)),
            Ok(false) => {}
            Err(trouble) => return Ok(Err(trouble)),
        }
    }
    pace();
    outbox.note(IssueFact { state: StepState::Intent, ..fact.clone() })?;
    let sent = send(write, tracker);
    let (state, number, reason) = match &sent {
        Ok(number) => (StepState::Done, number.or(fact.number), fact.reason.clone()),
        Err(Trouble::Unclear(reason)) => (StepState::Unclear, fact.number, Some(reason.clone())),
        Err(Trouble::Refused(reason) | Trouble::Gone(reason)) => {
            (StepState::Refused, fact.number, Some(reason.clone()))
        }
    };
    outbox.note(IssueFact { state, number, reason, ..fact.clone() })?;
    Ok(sent)
}

/// Sends one write.
fn send(write: &Write, tracker: &dyn Tracker) -> Result<Option<u64>, Trouble> {
    match write {
        Write::Label(name) => make_label(name, tracker).map(|()| None),
        Write::Edit(number, edit) => tracker.edit(*number, edit).map(|()| None),
        Write::Comment(number, text) => tracker.comment(*number, text).map(|()| None),
        Write::Create(draft) => Ok(Some(tracker.create(draft)?.number)),
    }
}

/// Makes a label. One that was refused may have been made by somebody else meanwhile: it is looked up again.
fn make_label(name: &str, tracker: &dyn Tracker) -> Result<(), Trouble> {
    let made = tracker.make_label(name, COLOUR, "Filed by pool-review");
    match made {
        Err(Trouble::Refused(_)) if tracker.has_label(name)? => Ok(()),
        made => made,
    }
}
