//! What the router logged: which pool and member each attempt went to, how long it took and how it ended.

use std::collections::{BTreeMap, HashSet};

use super::StoreScan;
use crate::sources::sessions::claude_code::Failure;
use crate::sources::sessions::groups::{Call, Groups};
use crate::sources::sessions::names::Id;
use crate::vocabulary::{Charge, StatedPool};

/// One attempt at one call.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The message it was made for.
    pub(super) message: Option<Id>,
    /// The root pool; `None` is the router's word for outside any pool.
    pub(super) pool: Option<String>,
    /// Provider, model, effort and session by name.
    pub(super) provider: u32,
    /// See `provider`.
    pub(super) model: u32,
    /// See `provider`.
    pub(super) effort: u32,
    /// See `provider`.
    pub(super) session: u32,
    /// When it ended.
    pub(super) at: i64,
    /// Whether it succeeded.
    pub(super) is_success: bool,
    /// Whether it may be timed: no estimate, no losing leg.
    pub(super) is_timed: bool,
    /// Whether it is blamed on nobody: cut short, or the losing leg of a race.
    pub(super) is_blameless: bool,
    /// Why it failed.
    pub(super) failure: Option<AttemptFailure>,
    /// Milliseconds of the response.
    pub(super) response_ms: Option<i64>,
    /// Milliseconds to the first token.
    pub(super) first_token_ms: Option<i64>,
    /// Output with reasoning.
    pub(super) output: u64,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptFailure {
    /// Availability.
    Infra(Failure),
    /// The model, the context or the time limit: its class.
    Own(&'static str),
}

impl AttemptFailure {
    /// The failure of a tag and an outcome.
    pub(super) fn of(outcome: &str, tag: &str) -> Self {
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
}

/// Every attempt, by message.
#[derive(Default)]
pub(super) struct Attempts {
    /// Message → its attempts, in order.
    by_message: BTreeMap<Id, Vec<Attempt>>,
    /// Attempts of no message.
    loose: Vec<Attempt>,
}

impl Attempts {
    /// Adds an attempt; they come in order of their ids.
    pub(super) fn add(&mut self, attempt: Attempt) {
        match attempt.message {
            Some(message) => self.by_message.entry(message).or_default().push(attempt),
            None => self.loose.push(attempt),
        }
    }

    /// The attempts of a message.
    pub(super) fn of(&self, message: Id) -> &[Attempt] {
        self.by_message.get(&message).map_or(&[], Vec::as_slice)
    }
}

/// Adds what the attempts of a message say beside its tokens: retries, and calls lost on the way. A lost call is its own
/// member's, not that of the member which answered in the end.
pub(super) fn count(attempts: &[Attempt], call: &Call, map: &[u32], groups: &mut Groups<'_>, scan: &mut StoreScan) {
    let tried = attempts.iter().filter(|attempt| !attempt.is_blameless).count() as u64;
    if tried > 1 {
        groups.sums(call).retries += tried - 1;
        scan.events.retries += tried - 1;
    }
    for attempt in attempts {
        let own = |number: u32, stated: u32| if number == 0 { stated } else { map[number as usize] };
        let (provider, model) = (own(attempt.provider, call.provider), own(attempt.model, call.model));
        let is_same = (provider, model) == (call.provider, call.model);
        let effort = own(attempt.effort, if is_same { call.effort } else { 0 });
        let member = Call { provider, model, effort, ..*call };
        lost(attempt, &member, groups, scan);
    }
}

/// Counts an attempt that failed.
fn lost(attempt: &Attempt, call: &Call, groups: &mut Groups<'_>, scan: &mut StoreScan) {
    let Some(failure) = attempt.failure else { return };
    let stated = groups.stated(StatedPool::Attempt(attempt.pool.clone()));
    let call = Call { at: attempt.at, stated, charge: Charge::default(), ..*call };
    match failure {
        AttemptFailure::Infra(failure) => super::failed(failure, &call, groups, &mut scan.events),
        AttemptFailure::Own(class) => {
            scan.events.api_errors += 1;
            let sums = groups.sums(&call);
            sums.calls += 1;
            *sums.failures.entry(class).or_default() += 1;
        }
    }
}

/// Attempts whose message is not in the store: that they were made, their times and failures count, their tokens do not.
pub(super) fn loose(
    attempts: &Attempts,
    ids: &HashSet<Id>,
    map: &[u32],
    groups: &mut Groups<'_>,
    scan: &mut StoreScan,
) {
    let orphans = attempts.by_message.iter().filter(|(message, _)| !ids.contains(*message));
    for attempt in attempts.loose.iter().chain(orphans.flat_map(|(_, attempts)| attempts)) {
        let call = Call {
            at: attempt.at,
            session: groups.joined_session(map[attempt.session as usize]),
            stated: groups.stated(StatedPool::Attempt(attempt.pool.clone())),
            provider: map[attempt.provider as usize],
            model: map[attempt.model as usize],
            effort: map[attempt.effort as usize],
            ..Call::default()
        };
        if attempt.is_success {
            let sums = groups.sums(&call);
            sums.calls += 1;
            attempt.time(attempt.output, sums);
        }
        lost(attempt, &call, groups, scan);
    }
}
