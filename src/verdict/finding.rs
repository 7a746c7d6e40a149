//! One fact with its number, its limit and its code, and what it asks to be changed.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::{Claim, Sentence, Verdict};
use crate::vocabulary::{CheckId, Digest, Place, PoolId, SourceId};

/// What a number counts. Each unit has a fixed number of decimals in every output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A whole number of things.
    Count,
    /// Days, one decimal.
    Days,
    /// Hours, one decimal.
    Hours,
    /// Market standing q or index points, one decimal.
    Points,
    /// USD per million task input tokens, three decimals.
    UsdPerMtok,
    /// US dollars, two decimals.
    Usd,
    /// How many times, two decimals.
    Ratio,
    /// A fraction of 1, shown as a percentage with one decimal.
    Share,
    /// Tokens per second, one decimal.
    TokensPerSecond,
    /// Seconds, one decimal.
    Seconds,
    /// Scarcity price Π of a window, 0 to 1, three decimals.
    WindowPrice,
}

impl Unit {
    /// The key in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Days => "days",
            Self::Hours => "hours",
            Self::Points => "points",
            Self::UsdPerMtok => "usd_per_mtok",
            Self::Usd => "usd",
            Self::Ratio => "ratio",
            Self::Share => "share",
            Self::TokensPerSecond => "tokens_per_second",
            Self::Seconds => "seconds",
            Self::WindowPrice => "window_price",
        }
    }

    /// A value in this unit as people read it: fixed decimals, unit in the cell, ASCII only.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Count => format!("{value:.0}"),
            Self::Days => format!("{value:.1} d"),
            Self::Hours => format!("{value:.1} h"),
            Self::Points => format!("{value:.1} points"),
            Self::UsdPerMtok => format!("{value:.3} USD/M"),
            Self::Usd => format!("{value:.2} USD"),
            Self::Ratio => format!("{value:.2} x"),
            Self::Share => format!("{:.1} %", value * 100.0),
            Self::TokensPerSecond => format!("{value:.1} tok/s"),
            Self::Seconds => format!("{value:.1} s"),
            Self::WindowPrice => format!("{value:.3}"),
        }
    }
}

/// A measured value, its unit and the observations behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What it is, in a word or three ("speed ratio").
    pub what: &'static str,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Observations behind it: the smaller side of a comparison. `None` where counting makes no sense.
    pub n: Option<u64>,
}

/// What observations are where they are no task attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Model calls of session stores and rollups: they say nothing of success.
    Calls,
}

impl Basis {
    /// The word in run files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
        }
    }
}

/// Which side of a limit is fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOp {
    /// Fine at or above.
    AtLeast,
    /// Fine at or below.
    AtMost,
    /// Fine below.
    Below,
}

impl LimitOp {
    /// The sign as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }
}

/// The bound a measurement was held against, in the measurement's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Which side is fine.
    pub op: LimitOp,
    /// The bound.
    pub value: f64,
    /// The settings key it comes from ("latest.quality"); the output adds file and line.
    pub setting: &'static str,
}

/// How serious a finding is, beside its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A remark.
    Low,
    /// Worth a look.
    Medium,
    /// Act soon.
    High,
}

impl Severity {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What a proposal does (methods §18.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// Another member leads.
    SwapLead,
    /// Another order of targets.
    Reorder,
    /// A target behind the others.
    AddMember,
    /// The same with a share of at most a fifth.
    AddTrial,
    /// A target out, with its weight and budget keys.
    RetireMember,
    /// A target out and its successor in.
    ReplaceMember,
    /// Weights of one pool.
    Reweight,
    /// A consumer of one class gets another pool.
    MoveClass,
    /// An end date on a target.
    SetUntil,
    /// A key that has no effect.
    FixKey,
    /// A consumer gets another pool.
    RepointConsumer,
    /// A pool without consumers out.
    RetirePool,
    /// No config change: a test plan.
    ControlledTest,
}

impl ProposalKind {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SwapLead => "swap_lead",
            Self::Reorder => "reorder",
            Self::AddMember => "add_member",
            Self::AddTrial => "add_trial",
            Self::RetireMember => "retire_member",
            Self::ReplaceMember => "replace_member",
            Self::Reweight => "reweight",
            Self::MoveClass => "move_class",
            Self::SetUntil => "set_until",
            Self::FixKey => "fix_key",
            Self::RepointConsumer => "repoint_consumer",
            Self::RetirePool => "retire_pool",
            Self::ControlledTest => "controlled_test",
        }
    }
}

impl fmt::Display for ProposalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is argued about (methods §18.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Seat {
    /// Who leads.
    Lead,
    /// Who belongs.
    Member,
    /// How traffic splits.
    Weights,
    /// Who names a pool.
    Consumer,
    /// The pool itself.
    Pool,
}

impl Seat {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Member => "member",
            Self::Weights => "weights",
            Self::Consumer => "consumer",
            Self::Pool => "pool",
        }
    }
}

/// One edit of a JSONC document, by JSON pointers into the document *before* any edit of the same change.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Takes a member of an array or object out.
    Remove {
        /// Pointer of the member.
        pointer: String,
    },
    /// Puts another value in its place.
    Replace {
        /// Pointer of the value.
        pointer: String,
        /// The new value.
        value: Value,
    },
    /// Adds a value at the end of an array.
    Append {
        /// Pointer of the array.
        array: String,
        /// The new value.
        value: Value,
    },
    /// Adds a key to an object, at its end.
    Insert {
        /// Pointer of the object.
        object: String,
        /// The key.
        key: String,
        /// Its value.
        value: Value,
    },
    /// Moves one element of an array to its front; the others keep their order.
    ToFront {
        /// Pointer of the element.
        pointer: String,
    },
    /// Moves one element of an array; the others keep their order.
    Move {
        /// Pointer of the element.
        pointer: String,
        /// Its index once it has been taken out and put back in.
        to: usize,
    },
    /// Changes nothing: a value that the change relies on, to be tested before the first edit.
    Expect {
        /// Pointer of the value.
        pointer: String,
    },
}

/// What a finding asks to be changed, before it is made into a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// What it does.
    pub kind: ProposalKind,
    /// What is argued about.
    pub seat: Seat,
    /// Path of the file to change, as in `FleetConfig::files`.
    pub path: String,
    /// Pointer of the subtree that the change stands in: the pool or the consumer.
    pub pointer: String,
    /// The edits.
    pub edits: Vec<Edit>,
    /// One sentence that says what a person would do by hand, at most 400 characters.
    pub human: String,
    /// The share of the pool's tasks that moves because of it, where that can be told from the config (0 to 1).
    pub moved_share: Option<f64>,
    /// When the reason for it ends, if that is sooner than a proposal lapses anyway: the reset of a window.
    pub expires: Option<DateTime<Utc>>,
}

/// One fact that a check states about a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The check.
    pub check: CheckId,
    /// The pool, or `category/<id>` for a consumer.
    pub pool: PoolId,
    /// What kind of fact (methods §11 to §14).
    pub code: &'static str,
    /// Whom it is about: a member key, a consumer, a key of the config.
    pub subject: String,
    /// The other side of a comparison; empty when there is none.
    pub counterpart: String,
    /// What it means for the check. `None` is a note: it changes no verdict.
    pub verdict: Option<Verdict>,
    /// How serious, if graded.
    pub severity: Option<Severity>,
    /// The number.
    pub measured: Option<Measured>,
    /// What its observations are, where they are no attempts of our own rows.
    pub basis: Option<Basis>,
    /// What it was held against.
    pub limit: Option<Limit>,
    /// One sentence why.
    pub why: Sentence,
    /// One sentence what to do; empty when there is nothing to do.
    pub todo: Sentence,
    /// Where the thing stands in the config.
    pub place: Option<Place>,
    /// The sources it rests on.
    pub sources: Vec<SourceId>,
    /// The change it asks for.
    pub intent: Option<Intent>,
    /// Why no proposal follows although a change was asked for.
    pub held: Option<String>,
    /// What it claims, if it is an estimate.
    pub claim: Option<Box<Claim>>,
    /// Digest of the definition it was found in, as the ring and the proposal carry it.
    pub subtree: Option<Digest>,
}

impl Finding {
    /// A finding with the parts every finding has; the rest is filled in with struct update syntax.
    pub fn new(
        check: CheckId,
        pool: PoolId,
        code: &'static str,
        subject: impl Into<String>,
        verdict: Option<Verdict>,
    ) -> Self {
        Self {
            check,
            pool,
            code,
            subject: subject.into(),
            counterpart: String::new(),
            verdict,
            severity: None,
            measured: None,
            basis: None,
            limit: None,
            why: Sentence::new(),
            todo: Sentence::new(),
            place: None,
            sources: Vec::new(),
            intent: None,
            held: None,
            claim: None,
            subtree: None,
        }
    }
}
