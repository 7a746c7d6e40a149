//! The table: one issue as it stands against what this run says of its id. Every cell is one line here, with its reason.

use super::flags::Flag;
use super::lives::{GOOD_RUNS, HELD_RUNS, Lives, Now};
use super::marker::{self, Marker};
use super::tracker::Listed;
use crate::history::{IssueMemory, IssueStep, Standing};

/// How an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownState {
    /// Open.
    Open,
    /// Closed as completed, or by us.
    Closed,
    /// Closed by somebody else as not planned or as a duplicate.
    Refused,
    /// The server no longer has it.
    Gone,
}

/// One issue, as the server shows it or as the ledger remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its number.
    pub number: u64,
    /// The fingerprint that its text shows.
    pub shows: String,
    /// Digest of the visible text that was written last.
    pub body: String,
    /// Whether a person edited the text since.
    pub is_edited: bool,
    /// How it stands.
    pub state: KnownState,
}

impl Known {
    /// What a listed issue says of itself. `state` is how it stands; a text without marker was edited, and then the ledger's
    /// memory says what it shows.
    pub fn of(listed: &Listed, memory: &IssueMemory, state: KnownState) -> Self {
        let marker = Marker::read(&listed.body);
        let is_edited =
            marker.as_ref().is_none_or(|marker| marker.body != marker::digest(marker::visible(&listed.body)));
        let remembered = |text: &Option<String>| text.clone().unwrap_or_default();
        let (shows, body) = match marker {
            Some(marker) => (marker.fingerprint, marker.body),
            None => (remembered(&memory.shown), remembered(&memory.body)),
        };
        Self { number: listed.number, shows, body, is_edited, state }
    }
}

/// What the ledger remembers as an issue; `None` when it knows of none.
pub(super) fn remembered(memory: &IssueMemory) -> Option<Known> {
    let shows = memory.shown.clone().unwrap_or_default();
    let state = match memory.standing {
        _ if memory.refusals.contains(&shows) => KnownState::Refused,
        Standing::Open => KnownState::Open,
        Standing::Closed => KnownState::Closed,
        Standing::None => return None,
    };
    let body = memory.body.clone().unwrap_or_default();
    Some(Known { number: memory.number?, shows, body, is_edited: false, state })
}

/// One decision: what to do, and why. `None` as the step is nothing at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Move {
    /// What to do.
    pub(super) step: Option<IssueStep>,
    /// Why.
    pub(super) reason: String,
    /// What a comment speaks of.
    pub(super) kind: Kind,
}

/// What a comment speaks of, or why an issue is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No comment.
    None,
    /// The reason or the candidate changed.
    Changed,
    /// It is opened again.
    Reopening,
    /// Two good runs.
    Completed,
    /// A steward decided.
    Suppressed,
}

impl Kind {
    /// The word in the key of a comment.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Changed => "changed",
            Self::Reopening => "reopening",
            Self::Completed => "completed",
            Self::Suppressed => "suppressed",
        }
    }
}

/// Nothing to do, and why.
fn nothing(reason: impl Into<String>) -> Vec<Move> {
    vec![Move { step: None, reason: reason.into(), kind: Kind::None }]
}

/// One step.
fn step(step: IssueStep, reason: impl Into<String>, kind: Kind) -> Move {
    Move { step: Some(step), reason: reason.into(), kind }
}

/// A comment, unless it was written already, and then the step that it goes with.
fn with_comment(memory: &IssueMemory, then: IssueStep, reason: &str, kind: Kind) -> Vec<Move> {
    let is_said = memory.commented.as_deref().is_some_and(|key| key.starts_with(kind.as_str()));
    let comment = (!is_said).then(|| step(IssueStep::Comment, reason, kind));
    comment.into_iter().chain([step(then, reason, kind)]).collect()
}

/// What a flag of this run asks of its issue. `body` is the digest of the text that it would have.
pub(super) fn flagged(
    flag: &Flag<'_>,
    body: &str,
    known: Option<&Known>,
    memory: &IssueMemory,
    lives: &Lives<'_>,
) -> Vec<Move> {
    let fingerprint = &flag.proposal.fingerprint;
    let Some(known) = known else {
        return vec![step(IssueStep::Create, "flagged for the first time", Kind::None)];
    };
    let is_refused = memory.refusals.contains(fingerprint);
    match known.state {
        KnownState::Gone if known.shows == *fingerprint || is_refused => {
            nothing("refused: the issue was deleted on the server")
        }
        KnownState::Gone => {
            vec![step(IssueStep::Create, "flagged for another reason than the deleted one", Kind::None)]
        }
        KnownState::Refused if known.shows == *fingerprint || is_refused => nothing("refused: closed as not planned"),
        KnownState::Refused => {
            let reason = "another reason than the one that was refused";
            with_comment(memory, IssueStep::Reopen, reason, Kind::Reopening)
        }
        KnownState::Closed if is_refused => nothing("refused: closed as not planned"),
        KnownState::Closed => {
            let from = memory.closed_in.as_deref().unwrap_or("~");
            let held = lives.held(from, &flag.proposal.pool, &flag.proposal.check);
            if held >= HELD_RUNS {
                with_comment(memory, IssueStep::Reopen, "flagged again since it was closed", Kind::Reopening)
            } else {
                nothing(format!("closed; flagged again {held}/{HELD_RUNS}"))
            }
        }
        KnownState::Open => open(flag, body, known, memory),
    }
}

/// What a flag of this run asks of an open issue.
fn open(flag: &Flag<'_>, body: &str, known: &Known, memory: &IssueMemory) -> Vec<Move> {
    let (fingerprint, verdict) = (&flag.proposal.fingerprint, flag.proposal.verdict);
    let is_told = match &memory.told {
        Some((told, said)) => told == fingerprint && said.is_none_or(|said| said == verdict),
        None => known.shows == *fingerprint,
    };
    let mut moves = Vec::new();
    if !is_told {
        moves.push(step(IssueStep::Comment, "the reason or the candidate changed", Kind::Changed));
    }
    if known.is_edited {
        moves.extend(nothing("edited by hand: the text is left alone"));
    } else if known.body != body {
        moves.push(step(IssueStep::Patch, "what it shows changed", Kind::None));
    }
    if moves.is_empty() { nothing("open, unchanged") } else { moves }
}

/// What an id that this run does not flag asks of its issue.
pub(super) fn unflagged(id: &str, known: &Known, memory: &IssueMemory, lives: &Lives<'_>) -> Vec<Move> {
    if known.state != KnownState::Open {
        return Vec::new();
    }
    match lives.now(id) {
        Now::Kept => nothing("open; this run says nothing new"),
        Now::Good(good, why) if good < GOOD_RUNS => nothing(format!("good {good}/{GOOD_RUNS}: {why}")),
        Now::Good(_, why) => {
            let reason = format!("good {GOOD_RUNS}/{GOOD_RUNS}: {why}");
            with_comment(memory, IssueStep::Close, &reason, Kind::Completed)
        }
        Now::Suppressed(word) => {
            let reason = format!("the proposal was {word} by its steward");
            with_comment(memory, IssueStep::Close, &reason, Kind::Suppressed)
        }
    }
}
