//! The plan: every step that would be taken, in a fixed order, each with its reason. Issues that are there come first, then the
//! flags, most serious first; only new issues are limited in number.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::body::{MOST_BODY, body, cut, sentence};
use super::decide::{Kind, Known, KnownState, Move, flagged, unflagged};
use super::flags::{Flag, flags};
use super::marker::{Marker, comment_line};
use super::tracker::{Draft, Edit, NewState};
use super::{Desk, lives};
use crate::history::{IssueFact, IssueMemory, IssueStep, StepState};
use crate::outputs::text::{self, Place};

/// The plan of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the shape.
    pub schema: &'static str,
    /// Run id.
    pub run: String,
    /// `owner/name` of the tracker.
    pub repository: String,
    /// Most new issues per run.
    pub new_per_run: usize,
    /// What it was made from: `ledger`, or `server` after listing.
    pub source: &'static str,
    /// What would be done, in this order.
    pub entries: Vec<Entry>,
}

/// One step, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `label`, `create`, `patch`, `comment`, `close`, `reopen`, `duplicate`; `wait` behind the limit; `nothing`.
    pub step: &'static str,
    /// Why.
    pub reason: String,
    /// `add/<pool>/<model>` or `retire/<pool>/<model>`, in the characters of a marker.
    pub id: String,
    /// The proposal it speaks for.
    pub fingerprint: String,
    /// The issue, once there is one.
    pub number: Option<u64>,
    /// The title of a new issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The labels of a new issue, or the one that is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The text that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is sent.
    #[serde(skip)]
    pub(super) write: Option<Write>,
    /// What the ledger says of it.
    #[serde(skip)]
    pub(super) fact: Option<IssueFact>,
}

/// What is sent for one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Write {
    /// A label that may be missing.
    Label(String),
    /// A new issue.
    Create(Draft),
    /// A change of an issue.
    Edit(u64, Edit),
    /// A comment.
    Comment(u64, String),
}

impl Entry {
    /// The entry in a line: `create retire/specialist/acme/old-f`, `close add/scout/acme/x (good 2/2)`,
    /// `wait add/workhorse/zeta/y (filing limit)`.
    pub fn line(&self) -> String {
        let number = self.number.map_or(String::new(), |number| format!(" #{number}"));
        let reason = match self.step {
            "create" | "label" => String::new(),
            _ => format!(" ({})", self.reason.split(": ").next().unwrap_or_default()),
        };
        format!("{} {}{reason}{number}", self.step, self.id)
    }

    /// Whether something is sent.
    pub fn is_write(&self) -> bool {
        self.write.is_some()
    }
}

/// The plan as a file, with a line end.
pub fn plan_json(plan: &Plan) -> String {
    let mut text = serde_json::to_string_pretty(plan).expect("a plan holds text and whole numbers only");
    text.push('\n');
    text
}

impl Desk<'_> {
    /// The plan for issues as they stand: id → its issues, of which the lowest open number, else the lowest, is the one.
    pub(super) fn plan_for(
        &self,
        known: &BTreeMap<String, Vec<Known>>,
        memories: &BTreeMap<String, IssueMemory>,
        source: &'static str,
    ) -> Plan {
        let main = |id: &str| known.get(id).and_then(|all| one_of(all));
        let shows = |id: &str| main(id).map(|known| known.shows.clone());
        let flags = flags(&self.report.proposals, &shows);
        let flagged_ids: BTreeSet<&str> = flags.iter().map(|flag| flag.id.as_str()).collect();
        let none = IssueMemory::default();
        let memory = |id: &str| memories.get(id).unwrap_or(&none);
        let mut entries = Vec::new();
        for (id, all) in known {
            let kept = one_of(all).map(|known| known.number);
            let others = all.iter().filter(|one| one.state == KnownState::Open && Some(one.number) != kept);
            entries.extend(others.map(|other| self.duplicate(id, other, kept.unwrap_or_default())));
            if let Some(one) = main(id).filter(|_| !flagged_ids.contains(id.as_str())) {
                let moves = unflagged(id, one, memory(id), &self.lives);
                entries.extend(moves.iter().map(|moved| self.unflagged_entry(id, one, memory(id), moved)));
            }
        }
        let mut left = self.place.new_per_run;
        let mut labels = BTreeSet::new();
        for flag in &flags {
            let text = self.body(flag);
            let digest = Marker::read(&text).map_or(String::new(), |marker| marker.body);
            let known = main(&flag.id);
            for moved in flagged(flag, &digest, known, memory(&flag.id), &self.lives) {
                if moved.step == Some(IssueStep::Create) && left == 0 {
                    entries.push(entry(flag, None, "wait", "filing limit"));
                    continue;
                }
                if moved.step == Some(IssueStep::Create) {
                    left -= 1;
                    entries.extend(self.label_entries(flag, &mut labels));
                }
                entries.push(self.flagged_entry(flag, known, memory(&flag.id), &moved, &text));
            }
        }
        Plan {
            schema: "pool-review.issue-plan/1",
            run: self.report.run_id.clone(),
            repository: self.place.repository.clone(),
            new_per_run: self.place.new_per_run,
            source,
            entries,
        }
    }

    /// The text of a flag's issue.
    fn body(&self, flag: &Flag<'_>) -> String {
        let made = self.lives.made(&flag.proposal.fingerprint);
        let pool = self.report.pools.iter().find(|pool| pool.id.as_str() == flag.proposal.pool);
        body(flag, made, pool.and_then(|pool| pool.owner.as_deref()), &self.places)
    }

    /// The labels that a new issue needs, each once in a plan.
    fn label_entries(&self, flag: &Flag<'_>, seen: &mut BTreeSet<String>) -> Vec<Entry> {
        let new = flag.labels().into_iter().filter(|label| seen.insert(label.clone()));
        let made = |label: String| {
            let base = entry(flag, None, "label", "made if it is missing");
            let fact = IssueFact { step: IssueStep::Label, key: Some(label.clone()), ..self.fact(flag, None) };
            Entry { labels: vec![label.clone()], write: Some(Write::Label(label)), fact: Some(fact), ..base }
        };
        new.map(made).collect()
    }

    /// One step of a flag.
    fn flagged_entry(
        &self,
        flag: &Flag<'_>,
        known: Option<&Known>,
        memory: &IssueMemory,
        moved: &Move,
        text: &str,
    ) -> Entry {
        let number = known.map(|known| known.number);
        let word = moved.step.map_or("nothing", IssueStep::as_str);
        let base = entry(flag, number, word, &moved.reason);
        let Some(step) = moved.step else { return base };
        let digest = Marker::read(text).map(|marker| marker.body);
        let fact = IssueFact { step, reason: Some(moved.reason.clone()), ..self.fact(flag, number) };
        let number = number.unwrap_or_default();
        match step {
            IssueStep::Create => {
                let draft = Draft { title: flag.title(), body: text.to_owned(), labels: flag.labels() };
                let (title, labels) = (Some(draft.title.clone()), draft.labels.clone());
                let fact = Some(IssueFact { number: None, body: digest, ..fact });
                let (text, write) = (Some(draft.body.clone()), Some(Write::Create(draft)));
                Entry { number: None, title, labels, text, write, fact, ..base }
            }
            IssueStep::Comment => {
                let (key, words) = comment(memory, moved.kind, &self.flag_words(flag, known, moved));
                let (fact, write) =
                    (Some(IssueFact { key: Some(key), ..fact }), Some(Write::Comment(number, words.clone())));
                Entry { text: Some(words), write, fact, ..base }
            }
            IssueStep::Patch | IssueStep::Reopen => {
                let is_other = known.is_some_and(|known| known.shows != flag.proposal.fingerprint);
                let is_written = known.is_some_and(|known| !known.is_edited);
                let edit = Edit {
                    title: (is_other && is_written).then(|| flag.title()),
                    body: is_written.then(|| text.to_owned()),
                    state: (step == IssueStep::Reopen).then_some(NewState::Open),
                };
                let (text, fact) = (edit.body.clone(), Some(IssueFact { body: digest.filter(|_| is_written), ..fact }));
                Entry { text, title: edit.title.clone(), write: Some(Write::Edit(number, edit)), fact, ..base }
            }
            _ => base,
        }
    }

    /// One step of an issue that this run does not flag.
    fn unflagged_entry(&self, id: &str, known: &Known, memory: &IssueMemory, moved: &Move) -> Entry {
        let word = moved.step.map_or("nothing", IssueStep::as_str);
        let base = bare(id, &known.shows, Some(known.number), word, &moved.reason);
        let Some(step) = moved.step else { return base };
        let fact = IssueFact { step, reason: Some(moved.reason.clone()), ..self.plain(id, &known.shows, known.number) };
        if step == IssueStep::Comment {
            let (key, words) =
                comment(memory, moved.kind, &closing_words(&moved.reason, moved.kind, &self.report.run_id));
            let (fact, write) =
                (Some(IssueFact { key: Some(key), ..fact }), Some(Write::Comment(known.number, words.clone())));
            return Entry { text: Some(words), write, fact, ..base };
        }
        let state = if moved.kind == Kind::Suppressed { NewState::NotPlanned } else { NewState::Completed };
        let edit = Edit { state: Some(state), ..Edit::default() };
        let fact = IssueFact { key: Some(state.as_str().to_owned()), ..fact };
        Entry { write: Some(Write::Edit(known.number, edit)), fact: Some(fact), ..base }
    }

    /// A second open issue of one id.
    fn duplicate(&self, id: &str, other: &Known, kept: u64) -> Entry {
        let reason = format!("#{kept} says the same");
        let base = bare(id, &other.shows, Some(other.number), "duplicate", &reason);
        let edit = Edit { state: Some(NewState::Duplicate), ..Edit::default() };
        let fact = IssueFact { step: IssueStep::Duplicate, ..self.plain(id, &other.shows, other.number) };
        Entry { write: Some(Write::Edit(other.number, edit)), fact: Some(fact), ..base }
    }

    /// The event of a flag's step.
    fn fact(&self, flag: &Flag<'_>, number: Option<u64>) -> IssueFact {
        let plain = self.plain(&flag.id, &flag.proposal.fingerprint, number.unwrap_or_default());
        IssueFact { number, verdict: Some(flag.proposal.verdict), ..plain }
    }

    /// The event of a step of a known issue.
    pub(super) fn plain(&self, id: &str, fingerprint: &str, number: u64) -> IssueFact {
        IssueFact {
            tracker: self.place.key(),
            id: id.to_owned(),
            fingerprint: fingerprint.to_owned(),
            step: IssueStep::Found,
            state: StepState::Intent,
            number: Some(number),
            body: None,
            verdict: None,
            key: None,
            reason: None,
        }
    }

    /// What a comment says about a flag.
    fn flag_words(&self, flag: &Flag<'_>, known: Option<&Known>, moved: &Move) -> String {
        let begin = match moved.kind {
            Kind::Reopening => format!("Opened again: {}.", moved.reason),
            _ => "The reason or the candidate changed.".to_owned(),
        };
        let before = known.map(|known| &known.shows).filter(|shows| **shows != flag.proposal.fingerprint);
        let before = before.map_or(String::new(), |shows| {
            format!(" Until now this issue stood for {}.", text::name(shows, Place::Markdown))
        });
        let (run, now) = (&self.report.run_id, text::name(&flag.proposal.fingerprint, Place::Markdown));
        format!("{begin} {}\n\nProposal {now}, run {run}.{before}", sentence(flag))
    }
}

/// The one issue of an id: the lowest open number, else the lowest.
fn one_of(all: &[Known]) -> Option<&Known> {
    let lowest =
        |open: bool| all.iter().filter(|one| (one.state == KnownState::Open) == open).min_by_key(|one| one.number);
    lowest(true).or_else(|| lowest(false))
}

/// An entry of a flag that sends nothing.
fn entry(flag: &Flag<'_>, number: Option<u64>, step: &'static str, reason: &str) -> Entry {
    bare(&flag.id, &flag.proposal.fingerprint, number, step, reason)
}

/// An entry that sends nothing.
fn bare(id: &str, fingerprint: &str, number: Option<u64>, step: &'static str, reason: &str) -> Entry {
    Entry {
        step,
        reason: reason.to_owned(),
        id: id.to_owned(),
        fingerprint: fingerprint.to_owned(),
        number,
        title: None,
        labels: Vec::new(),
        text: None,
        write: None,
        fact: None,
    }
}

/// A comment with its key, by which it is known whether it arrived: what it speaks of, and how many there were before.
fn comment(memory: &IssueMemory, kind: Kind, words: &str) -> (String, String) {
    let key = format!("{}-{}", kind.as_str(), memory.comments + 1);
    let text = format!("{}\n{words}", comment_line(&key));
    (key, cut(&text, MOST_BODY, "the composition log"))
}

/// What a comment says before an issue is closed.
fn closing_words(reason: &str, kind: Kind, run: &str) -> String {
    let reason = text::own(reason, Place::Markdown);
    match kind {
        Kind::Suppressed => format!("Closed as not planned: {reason} (run {run})."),
        _ => format!(
            "Closed as completed after {} reviews in a row that did not ask for this: {reason} (run {run}).",
            lives::GOOD_RUNS
        ),
    }
}
