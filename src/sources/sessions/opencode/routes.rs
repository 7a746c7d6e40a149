//! What the router logged: which pool and member each attempt went to, how long it took and how it ended.

use std::collections::{BTreeMap, HashSet};

use super::message::Message;
use crate::sources::sessions::claude_code::{Failure, NO_TIME};
use crate::sources::sessions::groups::{MIN_BUSY_MS, MIN_OUTPUT, timed};
use crate::sources::sessions::names::Id;
use crate::vocabulary::{CallSums, StatedPool, Timed};

/// A message begins at most this long before the attempt that answers it, milliseconds.
const MOST_WAIT_MS: i64 = 3_600_000;

/// One attempt at one call.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// What tells it from every other attempt: copies of a database repeat it.
    pub(super) id: Id,
    /// The message it was made for.
    pub(super) message: Option<Id>,
    /// Whether its table has no column for messages.
    pub(super) is_unnamed: bool,
    /// The root pool, or the router's word for outside any pool.
    pub(super) stated: StatedPool,
    /// Provider, model, effort and session by name.
    pub(super) provider: u32,
    /// See `provider`.
    pub(super) model: u32,
    /// See `provider`.
    pub(super) effort: u32,
    /// See `provider`.
    pub(super) session: u32,
    /// When it began, epoch milliseconds.
    pub(super) started: i64,
    /// When it ended.
    pub(super) at: i64,
    /// How it ended.
    pub(super) end: End,
    /// Whether its tokens are an estimate.
    pub(super) is_estimated: bool,
    /// Milliseconds of the response.
    pub(super) response_ms: Option<f64>,
    /// Milliseconds to the first token.
    pub(super) first_token_ms: Option<f64>,
    /// Output with reasoning.
    pub(super) output: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer.
    Success,
    /// Cut short: nobody is to blame.
    Interrupted,
    /// As the losing leg of a race: nobody is to blame.
    RaceLost,
    /// With a failure.
    Failed(AttemptFailure),
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptFailure {
    /// Availability.
    Infra(Failure),
    /// The model, the context or the time limit: its class.
    Own(&'static str),
}

impl End {
    /// The end of an outcome and a tag.
    pub(super) fn of(outcome: &str, tag: &str) -> Self {
        match outcome {
            "success" => Self::Success,
            "interrupted" => Self::Interrupted,
            "hedged-out" => Self::RaceLost,
            _ => Self::Failed(AttemptFailure::of(outcome, tag)),
        }
    }
}

impl AttemptFailure {
    /// The failure of a tag and an outcome.
    fn of(outcome: &str, tag: &str) -> Self {
        match tag {
            "RateLimit" => Self::Infra(Failure::RateLimited),
            "QuotaExceeded" => Self::Infra(Failure::Quota),
            "Authentication" => Self::Infra(Failure::Auth),
            "Transport" => Self::Infra(Failure::Network),
            "ProviderInternal" => Self::Infra(Failure::Overloaded),
            "ContextOverflow" => Self::Own("context"),
            _ if outcome == "timeout" => Self::Own("timeout"),
            _ => Self::Own("other"),
        }
    }

    /// Its class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Infra(failure) => failure.as_str(),
            Self::Own(class) => class,
        }
    }

    /// Whether it is one of availability.
    pub(super) fn is_infra(self) -> bool {
        matches!(self, Self::Infra(_))
    }

    /// Whether an allowance was spent.
    pub(super) fn is_quota(self) -> bool {
        self == Self::Infra(Failure::Quota)
    }
}

impl Attempt {
    /// Adds the times of a success whose tokens are no estimate. The limits hold for the times as logged, not as rounded.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the limit is small; times are checked"
    )]
    pub(super) fn time(&self, output: u64, sums: &mut CallSums) {
        if self.end != End::Success || self.is_estimated {
            return;
        }
        let long = |ms: f64| Some(ms.round() as i64).filter(|_| ms >= MIN_BUSY_MS as f64);
        sums.timed.extend(timed(output, self.response_ms.and_then(long)));
        let Some(first) = self.first_token_ms else { return };
        sums.first_token_ms.push((first.round() as i64).unsigned_abs());
        let behind = self.response_ms.and_then(|response| long(response - first));
        if let Some(ms) = behind.filter(|_| output >= MIN_OUTPUT) {
            sums.decoded.push(Timed { output, ms: ms.unsigned_abs() });
        }
    }
}

/// Every attempt, by message.
#[derive(Default)]
pub(super) struct Attempts {
    /// Message → its attempts, in order.
    by_message: BTreeMap<Id, Vec<Attempt>>,
    /// Attempts of no message.
    of_none: Vec<Attempt>,
    /// Those that were added.
    known: HashSet<Id>,
}

impl Attempts {
    /// Adds an attempt unless it is known; they come in order of their ids.
    pub(super) fn add(&mut self, attempt: Attempt) {
        if self.known.insert(attempt.id) {
            match attempt.message {
                Some(message) => self.by_message.entry(message).or_default().push(attempt),
                None => self.of_none.push(attempt),
            }
        }
    }

    /// The attempts of a message.
    pub(super) fn of(&self, message: Id) -> &[Attempt] {
        self.by_message.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Messages with their attempts.
    pub(super) fn by_message(&self) -> impl Iterator<Item = (&Id, &Vec<Attempt>)> {
        self.by_message.iter()
    }

    /// Attempts of no message.
    pub(super) fn of_none(&self) -> &[Attempt] {
        &self.of_none
    }

    /// Puts successes of a table that names no messages to the answers they gave: same session and member, at the same time.
    /// Without this every such call would count twice.
    pub(super) fn join(&mut self, messages: &[Message]) {
        if !self.of_none.iter().any(|attempt| attempt.is_unnamed) {
            return;
        }
        let mut answers: BTreeMap<(u32, u32), Answers<'_>> = BTreeMap::new();
        for (at, message) in messages.iter().enumerate() {
            if message.has_tokens() && message.created != NO_TIME {
                let of_member = answers.entry((message.provider, message.model)).or_default();
                of_member.insert((message.created, at), message);
            }
        }
        for mut attempt in std::mem::take(&mut self.of_none) {
            let of_member = answers.get_mut(&(attempt.provider, attempt.model));
            let answer = of_member.filter(|_| attempt.is_unnamed).and_then(|answers| taken(&attempt, answers));
            attempt.message = answer;
            match answer {
                Some(message) => self.by_message.entry(message).or_default().push(attempt),
                None => self.of_none.push(attempt),
            }
        }
    }
}

/// The answers of one member by their beginning.
type Answers<'a> = BTreeMap<(i64, usize), &'a Message>;

/// Takes the answer of a success from those of its member: the last that began before it ended, and ended after it began.
fn taken(attempt: &Attempt, answers: &mut Answers<'_>) -> Option<Id> {
    let is_of = |message: &Message| {
        let end = message.completed.max(message.streamed).max(message.created);
        (attempt.session == 0 || message.session == attempt.session) && end >= attempt.started
    };
    let first = attempt.started.saturating_sub(MOST_WAIT_MS).min(attempt.at);
    let mut near = answers.range((first, 0)..=(attempt.at, usize::MAX)).rev();
    let key = near.find(|(_, message)| is_of(message)).map(|(key, _)| *key);
    let key = key.filter(|_| attempt.end == End::Success)?;
    answers.remove(&key).map(|message| message.id)
}
