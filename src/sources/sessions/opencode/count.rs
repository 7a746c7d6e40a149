//! Messages and the attempts of the router as calls: every message once, every attempt once, and an attempt that is a
//! message's own call not a second time.

use std::collections::{BTreeSet, HashSet};

use super::message::{Message, Trouble};
use super::routes::{Attempt, AttemptFailure, End};
use super::{Found, Session, StoreScan, StoreSpec};
use crate::sources::sessions::claude_code::NO_TIME;
use crate::sources::sessions::codex::inside;
use crate::sources::sessions::fold_claude::translate;
use crate::sources::sessions::groups::{Call, Groups, MIN_OUTPUT, timed};
use crate::sources::sessions::names::Id;
use crate::vocabulary::{Bill, CallSums, Charge, StatedPool, StoreEvents};

/// Counts every message once, by id; of copies under other ids the one that the router knows counts, else the first.
pub(super) fn fold(mut found: Found, spec: &StoreSpec, joined: &BTreeSet<String>, scan: &mut StoreScan) {
    let mut groups = Groups::new(spec, joined);
    let map = translate(&found.names, &mut groups);
    let Found { messages, attempts, .. } = &mut found;
    attempts.join(messages);
    messages.sort_by(|a, b| {
        let rank = |message: &Message| attempts.of(message.id).is_empty();
        (rank(a), &a.text_id).cmp(&(rank(b), &b.text_id))
    });
    let mut count = Count { found: &found, map, groups, scan };
    let (mut copies, mut counted) = (HashSet::new(), HashSet::new());
    for message in &found.messages {
        if message.copy_key().is_some_and(|key| !copies.insert(key)) {
            count.scan.notes.copies_dropped += 1;
        } else {
            counted.insert(message.id);
            count.message(message);
        }
    }
    count.loose(&counted);
    scan.rows = count.groups.rows();
}

/// A count under way.
struct Count<'a, 'g> {
    /// What was read.
    found: &'a Found,
    /// Number of a name in the groups.
    map: Vec<u32>,
    /// The groups.
    groups: Groups<'g>,
    /// Notes and events.
    scan: &'a mut StoreScan,
}

impl Count<'_, '_> {
    /// Counts one message and the attempts at it.
    fn message(&mut self, message: &Message) {
        let found = self.found;
        let attempts = found.attempts.of(message.id);
        let own = message.own(attempts);
        let call = self.call(message, own.map(|at| &attempts[at]), attempts.last());
        let own = if message.has_tokens() {
            self.answered(message, attempts, own, &call);
            own
        } else {
            self.unanswered(message, attempts.is_empty(), &call);
            None
        };
        for (at, attempt) in attempts.iter().enumerate() {
            if own == Some(at) {
                self.end(attempt, &call);
                continue;
            }
            let of_attempt = self.attempt(attempt, &call);
            let sums = self.groups.sums(&of_attempt);
            sums.calls += 1;
            if !message.has_tokens() && message.trouble.is_none() {
                attempt.time(attempt.output, sums);
            }
            self.end(attempt, &of_attempt);
        }
        self.retried(attempts, &call);
    }

    /// The group of a message. What it does not say of itself, its own attempt and its session do.
    fn call(&mut self, message: &Message, own: Option<&Attempt>, last: Option<&Attempt>) -> Call {
        let session = self.found.sessions.get(&message.session);
        let stated = own.or(last).map_or(&StatedPool::Nothing, |attempt| &attempt.stated).clone();
        let [provider, model, effort] = message.member(own);
        let of_session = |own: u32, of: fn(&Session) -> u32| if own == 0 { session.map_or(0, of) } else { own };
        Call {
            at: if message.completed == NO_TIME { message.created } else { message.completed },
            session: self.groups.joined_session(self.map[message.session as usize]),
            stated: self.pool(stated, session),
            provider: self.map[provider as usize],
            model: self.map[model as usize],
            effort: self.map[effort as usize],
            folder: self.map[of_session(message.folder, |session| session.folder) as usize],
            agent: self.map[of_session(message.agent, |session| session.agent) as usize],
            is_fast: false,
            charge: message.charge(),
        }
    }

    /// The number of a pool: what the router says, else the pool of the session.
    fn pool(&mut self, stated: StatedPool, session: Option<&Session>) -> u32 {
        let of_session = || session.and_then(|session| session.pool.clone()).map(StatedPool::Session);
        self.groups.stated(if stated == StatedPool::Nothing { of_session().unwrap_or(stated) } else { stated })
    }

    /// The group of an attempt at a message. A lost call is its own member's, not that of the member which answered in the end.
    fn attempt(&mut self, attempt: &Attempt, call: &Call) -> Call {
        let own = |number: u32, stated: u32| if number == 0 { stated } else { self.map[number as usize] };
        let (provider, model) = (own(attempt.provider, call.provider), own(attempt.model, call.model));
        let is_same = (provider, model) == (call.provider, call.model);
        let effort = own(attempt.effort, if is_same { call.effort } else { 0 });
        let stated = match &attempt.stated {
            StatedPool::Nothing => call.stated,
            stated => self.groups.stated(stated.clone()),
        };
        Call { at: attempt.at, stated, provider, model, effort, charge: Charge::default(), ..*call }
    }

    /// Counts how an attempt ended; that it was made is counted elsewhere.
    fn end(&mut self, attempt: &Attempt, call: &Call) {
        match attempt.end {
            End::Success => {}
            End::Interrupted | End::RaceLost => self.groups.sums(call).blameless += 1,
            End::Failed(failure) => blame(failure, self.groups.sums(call), &mut self.scan.events),
        }
    }

    /// Retries: the attempts of one message beyond the first.
    fn retried(&mut self, attempts: &[Attempt], call: &Call) {
        if attempts.len() > 1 {
            let retries = attempts.len() as u64 - 1;
            self.groups.sums(call).retries += retries;
            self.scan.events.retries += retries;
        }
    }

    /// A message without tokens: failed, cut short, or still under way. Where the router logged its attempts, they speak.
    fn unanswered(&mut self, message: &Message, is_unlogged: bool, call: &Call) {
        self.scan.events.interrupts += u64::from(message.trouble == Some(Trouble::Cut));
        if !is_unlogged {
            return;
        }
        let Some(trouble) = message.trouble else {
            self.scan.notes.silent += 1;
            return;
        };
        let sums = self.groups.sums(call);
        sums.calls += 1;
        match trouble {
            Trouble::Cut => sums.blameless += 1,
            Trouble::Failed(failure) => blame(failure, sums, &mut self.scan.events),
        }
    }

    /// A message with tokens.
    fn answered(&mut self, message: &Message, attempts: &[Attempt], own: Option<usize>, call: &Call) {
        let is_side = self.found.sessions.get(&message.session).is_some_and(|session| session.is_side);
        let tools = self.found.tools.get(&message.id).map_or(&[][..], Vec::as_slice);
        let sums = self.groups.sums(call);
        sums.calls += 1;
        sums.responses += 1;
        sums.sidechain_responses += u64::from(is_side);
        sums.input_tokens += message.input;
        sums.cache_read_tokens += message.cache_read;
        sums.cache_write_tokens += message.cache_write;
        sums.cache_write_unknown_tokens += message.cache_write;
        sums.output_tokens += message.output;
        sums.reasoning_tokens += message.reasoning;
        sums.bill(message.cost.unwrap_or_default(), true);
        self.scan.notes.not_billed += u64::from(call.charge.bill == Bill::Nothing);
        if attempts.is_empty() {
            sums.retries += message.retries;
            self.scan.events.retries += message.retries;
        }
        message.time(attempts, own, tools, sums);
    }

    /// Attempts of no message of the store: calls of their own. Their times and failures count, their tokens do not.
    fn loose(&mut self, counted: &HashSet<Id>) {
        let attempts = &self.found.attempts;
        for attempt in attempts.of_none() {
            self.lonely(attempt);
        }
        for (_, attempts) in attempts.by_message().filter(|(message, _)| !counted.contains(*message)) {
            let calls: Vec<Call> = attempts.iter().map(|attempt| self.lonely(attempt)).collect();
            let answered = attempts.iter().rposition(|attempt| attempt.end == End::Success);
            self.retried(attempts, &calls[answered.unwrap_or(calls.len() - 1)]);
        }
    }

    /// Counts one of them and returns its group.
    fn lonely(&mut self, attempt: &Attempt) -> Call {
        let session = self.found.sessions.get(&attempt.session);
        let blank = Session::default();
        let of = session.unwrap_or(&blank);
        let call = Call {
            at: attempt.at,
            session: self.groups.joined_session(self.map[attempt.session as usize]),
            stated: self.pool(attempt.stated.clone(), session),
            provider: self.map[attempt.provider as usize],
            model: self.map[attempt.model as usize],
            effort: self.map[attempt.effort as usize],
            folder: self.map[of.folder as usize],
            agent: self.map[of.agent as usize],
            ..Call::default()
        };
        let sums = self.groups.sums(&call);
        sums.calls += 1;
        attempt.time(attempt.output, sums);
        self.end(attempt, &call);
        call
    }
}

/// Counts why a call failed; the call itself is counted elsewhere.
fn blame(failure: AttemptFailure, sums: &mut CallSums, events: &mut StoreEvents) {
    let is_quota = u64::from(failure.is_quota());
    events.api_errors += 1;
    events.quota_hits += is_quota;
    sums.quota_hits += is_quota;
    sums.infra += u64::from(failure.is_infra());
    *sums.failures.entry(failure.class()).or_default() += 1;
}

impl Message {
    /// Which of the attempts at a message is the call that it records: the one that succeeded, best at the message's own
    /// member; else the last at that member that lost no race. `None` where that call was not logged.
    fn own(&self, attempts: &[Attempt]) -> Option<usize> {
        let is_member = |attempt: &Attempt| {
            self.model == 0 || attempt.model == 0 || (attempt.provider, attempt.model) == (self.provider, self.model)
        };
        let is_success = |attempt: &Attempt| attempt.end == End::Success;
        attempts
            .iter()
            .rposition(|attempt| is_success(attempt) && is_member(attempt))
            .or_else(|| attempts.iter().rposition(is_success))
            .or_else(|| attempts.iter().rposition(|attempt| is_member(attempt) && attempt.end != End::RaceLost))
    }

    /// Provider, model and effort: its own word, else that of the attempt that gave it.
    fn member(&self, own: Option<&Attempt>) -> [u32; 3] {
        match own {
            Some(own) if self.model == 0 => [own.provider, own.model, own.effort],
            Some(own) if self.effort == 0 && (own.provider, own.model) == (self.provider, self.model) => {
                [self.provider, self.model, own.effort]
            }
            _ => [self.provider, self.model, self.effort],
        }
    }

    /// Adds the times of an answer. Those of the attempt that gave it replace those of the message; retries that the router
    /// logged lie outside of them.
    fn time(&self, attempts: &[Attempt], own: Option<usize>, tools: &[(i64, i64)], sums: &mut CallSums) {
        let logged = attempts.len() as u64;
        let is_retried = self.retries > 0 && logged <= self.retries;
        if self.trouble.is_some() || self.is_compaction || is_retried {
            return;
        }
        let is_spanned = match own.map(|at| &attempts[at]).filter(|attempt| attempt.end == End::Success) {
            Some(attempt) => {
                attempt.time(self.output, sums);
                attempt.response_ms.is_some() || attempt.is_estimated || logged > 1
            }
            None => logged > 0,
        };
        if !is_spanned {
            sums.timed.extend(timed(self.output, self.busy_ms(tools)));
        }
    }

    /// Whether the busy time of a message is that between its ends without its tools.
    pub(super) fn is_timed_by_tools(&self) -> bool {
        let is_spanned = self.streamed == NO_TIME && self.created != NO_TIME && self.completed != NO_TIME;
        is_spanned && self.output >= MIN_OUTPUT && self.trouble.is_none()
    }

    /// Milliseconds of the model.
    fn busy_ms(&self, tools: &[(i64, i64)]) -> Option<i64> {
        if self.created == NO_TIME {
            return None;
        }
        if self.streamed != NO_TIME {
            return Some(self.streamed - self.created);
        }
        let own: Vec<_> = self.tools.iter().chain(tools).copied().collect();
        (self.completed != NO_TIME).then(|| self.completed - self.created - inside(&own, self.created, self.completed))
    }

    /// What its price depends on.
    fn charge(&self) -> Charge {
        let tokens = [self.input, self.cache_read, 0, 0, self.cache_write, self.output];
        let bill = if self.has_tokens() { Bill::of(self.cost) } else { Bill::Unstated };
        Charge { bill, ..Charge::of(tokens) }
    }
}
