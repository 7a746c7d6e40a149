//! What every session store is read into: model calls of one session and member, as counts and sums that add.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, NaiveDate, Utc};

use super::{Charge, Usd, UsdSquared};

/// Kinds of session stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreKind {
    /// Claude Code JSONL trees.
    ClaudeCode,
    /// Codex rollouts.
    Codex,
    /// opencode's database and its older JSON files.
    Opencode,
    /// `LiteLLM` spend-log exports.
    Litellm,
}

impl StoreKind {
    /// Every kind, in print order.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Opencode, Self::Litellm];

    /// The name in settings and in the column `source`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Litellm => "litellm",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a store itself says about the pool of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatedPool {
    /// Nothing.
    #[default]
    Nothing,
    /// The session was opened on this pool.
    Session(String),
    /// The router logged this pool for the call; `None` is its word that the call was outside any pool.
    Attempt(Option<String>),
}

/// Kinds of tokens a call used, as bits.
pub mod used {
    /// Uncached input.
    pub const INPUT: u8 = 1;
    /// Input read from cache.
    pub const CACHE_READ: u8 = 2;
    /// Input written to cache for five minutes.
    pub const WRITE_5M: u8 = 4;
    /// Input written to cache for one hour.
    pub const WRITE_1H: u8 = 8;
    /// Input written to cache for an unknown time.
    pub const WRITE_UNKNOWN: u8 = 16;
    /// Output.
    pub const OUTPUT: u8 = 32;
}

/// What the calls of one row have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// Kind of store.
    pub source: StoreKind,
    /// UTC day of the last record; `None` when nothing is dated.
    pub day: Option<NaiveDate>,
    /// Session id; empty when not stated.
    pub session: String,
    /// What the store says about the pool.
    pub stated: StatedPool,
    /// Provider; empty when not known.
    pub provider: String,
    /// Model as written; `unknown` when not stated.
    pub model: String,
    /// Effort as recorded; `None` is unrecorded.
    pub effort: Option<String>,
    /// Whether the calls ran in fast mode: another price and another speed.
    pub is_fast: bool,
    /// Home; empty when not known.
    pub home: String,
    /// Task class.
    pub task_class: String,
    /// What their price depends on.
    pub charge: Charge,
}

/// Output and the time it took: one timed response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timed {
    /// Output tokens.
    pub output: u64,
    /// Milliseconds.
    pub ms: u64,
}

/// Counts and sums over some calls. Everything adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSums {
    /// Model calls, answered or not.
    pub calls: u64,
    /// Calls lost to limits, overload, authentication or the network.
    pub infra: u64,
    /// Calls that ended without an answer and without blame: cut short, or the losing leg of a race.
    pub blameless: u64,
    /// Calls with tokens.
    pub responses: u64,
    /// Responses without a final count: their output is a lower bound.
    pub output_incomplete: u64,
    /// Responses of subagents.
    pub sidechain_responses: u64,
    /// Input without cache.
    pub input_tokens: u64,
    /// Input read from cache.
    pub cache_read_tokens: u64,
    /// Input written to cache.
    pub cache_write_tokens: u64,
    /// Of those, written for one hour.
    pub cache_write_1h_tokens: u64,
    /// Of those, written for an unknown time.
    pub cache_write_unknown_tokens: u64,
    /// Output with reasoning.
    pub output_tokens: u64,
    /// Of those, reasoning where it is stated.
    pub reasoning_tokens: u64,
    /// Retries of calls.
    pub retries: u64,
    /// Limit messages.
    pub quota_hits: u64,
    /// Cost as billed.
    pub cost: Usd,
    /// Sum of its squares.
    pub cost_squares: UsdSquared,
    /// Responses with a cost as billed; the cost of calls that failed is counted without them.
    pub n_cost: u64,
    /// Classes of failed calls.
    pub failures: BTreeMap<&'static str, u64>,
    /// Responses that may be timed.
    pub timed: Vec<Timed>,
    /// Output and time behind the first token.
    pub decoded: Vec<Timed>,
    /// Milliseconds to the first token.
    pub first_token_ms: Vec<u64>,
    /// First and last call.
    pub span: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

impl CallSums {
    /// Adds other calls.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.infra += other.infra;
        self.blameless += other.blameless;
        self.responses += other.responses;
        self.output_incomplete += other.output_incomplete;
        self.sidechain_responses += other.sidechain_responses;
        self.input_tokens += other.input_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cache_write_1h_tokens += other.cache_write_1h_tokens;
        self.cache_write_unknown_tokens += other.cache_write_unknown_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.retries += other.retries;
        self.quota_hits += other.quota_hits;
        self.cost.add(other.cost);
        self.cost_squares.add(other.cost_squares);
        self.n_cost += other.n_cost;
        for (class, n) in &other.failures {
            *self.failures.entry(class).or_default() += n;
        }
        self.timed.extend_from_slice(&other.timed);
        self.decoded.extend_from_slice(&other.decoded);
        self.first_token_ms.extend_from_slice(&other.first_token_ms);
        if let Some((first, last)) = other.span {
            self.seen(first);
            self.seen(last);
        }
    }

    /// Counts the bill of one call. That of a call that is no response was paid, and prices no response.
    pub fn bill(&mut self, amount: f64, is_response: bool) {
        let Some(bill) = Usd::billed(amount) else { return };
        self.cost.add(bill);
        self.cost_squares.add(bill.squared());
        self.n_cost += u64::from(is_response);
    }

    /// Widens the span.
    pub fn seen(&mut self, at: DateTime<Utc>) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }
}

/// The calls of one session, day and member.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// What they have in common.
    pub key: CallKey,
    /// Their counts and sums.
    pub sums: CallSums,
}

/// Things that happen beside calls, per kind of store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreEvents {
    /// Prompts typed by a person.
    pub tasks: u64,
    /// Errors that ended a call.
    pub api_errors: u64,
    /// Limit messages.
    pub quota_hits: u64,
    /// Retries.
    pub retries: u64,
    /// Turns a person cut short.
    pub interrupts: u64,
}

impl StoreEvents {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.api_errors += other.api_errors;
        self.quota_hits += other.quota_hits;
        self.retries += other.retries;
        self.interrupts += other.interrupts;
    }
}
