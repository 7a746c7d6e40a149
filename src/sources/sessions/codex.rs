//! Codex rollouts: cumulative counters, of which the positive difference counts, once per lineage (reference sessions
//! §2, §7.2). A file is read on its own; which of its events are copies is decided when all files are known.

mod counters;
mod payload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::claude_code::{Failure, NO_TIME, effort};
use super::file::{Kinds, Records};
use super::limits::{LimitWindow, Seen, remember};
use super::names::{Id, Names};
use super::skim::{Odd, millis, says, text, whole};
use counters::{Count, Counters};
use payload::{Payload, Record};

/// One advance of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Advance {
    /// Place among the records of the file.
    pub(super) place: u64,
    /// When.
    pub(super) at: i64,
    /// The counters as they stand, and the stated total.
    pub(super) identity: Id,
    /// Input with cache.
    pub(super) input: u64,
    /// Of that, cached.
    pub(super) cached: u64,
    /// Output with reasoning.
    pub(super) output: u64,
    /// Reasoning.
    pub(super) reasoning: u64,
    /// Model and effort by name.
    pub(super) model: u32,
    /// See `model`.
    pub(super) effort: u32,
    /// Milliseconds of the model, if they can be told.
    pub(super) busy: Option<i64>,
    /// Whether a live task has started before.
    pub(super) is_live: bool,
}

/// What a record can say beside counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum MarkKind {
    /// A task began.
    Task,
    /// A stream broke and was taken up again.
    Retry,
    /// A turn was cut short.
    Interrupt,
    /// A call failed.
    Failed(Failure),
    /// A turn ended: milliseconds to its first token, and the advances it holds.
    Complete(Option<i64>, usize, usize),
}

/// One such mark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// What it says.
    pub(super) kind: MarkKind,
    /// Place among the records of the file.
    pub(super) place: u64,
    /// When.
    pub(super) at: i64,
    /// Type, time and payload: the same record in another copy of the thread is the same.
    pub(super) identity: Id,
    /// Model and effort in force.
    pub(super) model: u32,
    /// See `model`.
    pub(super) effort: u32,
    /// Whether a live task has started before, this one included.
    pub(super) is_live: bool,
}

/// One rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CodexFile {
    /// Names by number.
    pub(super) names: Names,
    /// The thread; `None` until its first meta.
    pub(super) id: Option<String>,
    /// The thread it was forked from.
    pub(super) parent: Option<String>,
    /// The thread that spawned it.
    pub(super) spawner: Option<String>,
    /// Whether a thread spawned it.
    pub(super) is_spawned: bool,
    /// When the thread began.
    pub(super) born: i64,
    /// Threads named by further metas.
    pub(super) ancestors: Vec<String>,
    /// First dated record: the day of undated ones.
    pub(super) dated: i64,
    /// Provider and folder by name.
    pub(super) provider: u32,
    /// See `provider`.
    pub(super) folder: u32,
    /// Advances of the counters.
    pub(super) advances: Vec<Advance>,
    /// Tasks, errors and ends of turns.
    pub(super) marks: Vec<Mark>,
    /// Place of the first live task.
    first_live: Option<u64>,
    /// Whether an older task stands before it.
    has_old_task: bool,
    /// Counts that say nothing: without counters, unchanged, restarted, wobbling.
    pub(super) no_info: u64,
    /// See `no_info`.
    pub(super) unchanged: u64,
    /// See `no_info`.
    pub(super) resets: u64,
    /// See `no_info`.
    pub(super) wobbles: u64,
    /// Last state of every window.
    pub(super) windows: Vec<LimitWindow>,
    /// Records so far.
    records: u64,
    /// The counters so far.
    base: [u64; 4],
    /// Model and effort in force.
    model: u32,
    /// See `model`.
    effort: u32,
    /// Last task, user message or tool output.
    last_input: i64,
    /// Where the present response begins.
    start: i64,
    /// Whether an error stands in the present span.
    has_error: bool,
    /// Open tool calls.
    calls: BTreeMap<Id, i64>,
    /// Finished tool intervals since the last count.
    tools: Vec<(i64, i64)>,
    /// The first advance of the present turn.
    turn: usize,
}

impl Records for CodexFile {
    const TAG: u8 = b'x';

    fn begin(_: &str) -> Self {
        Self {
            names: Names::default(),
            id: None,
            parent: None,
            spawner: None,
            is_spawned: false,
            born: NO_TIME,
            ancestors: Vec::new(),
            dated: NO_TIME,
            provider: 0,
            folder: 0,
            advances: Vec::new(),
            marks: Vec::new(),
            first_live: None,
            has_old_task: false,
            no_info: 0,
            unchanged: 0,
            resets: 0,
            wobbles: 0,
            windows: Vec::new(),
            records: 0,
            base: [0; 4],
            model: 0,
            effort: 0,
            last_input: NO_TIME,
            start: NO_TIME,
            has_error: false,
            calls: BTreeMap::new(),
            tools: Vec::new(),
            turn: 0,
        }
    }

    fn object(&mut self, object: &[u8], kinds: &mut Kinds) -> Result<(), Odd> {
        let Record { kind, timestamp, payload, error } = Record::of(object)?;
        let kind = text(kind);
        let kind = kind.as_deref().unwrap_or("?");
        let count = match (kind, payload.kind.as_deref()) {
            ("event_msg", Some("token_count")) => Some(Count::of(payload.info)?),
            _ => None,
        };
        kinds.count(kind);
        let at = millis(timestamp).unwrap_or(NO_TIME);
        if self.dated == NO_TIME {
            self.dated = at;
        }
        match kind {
            "turn.failed" => {
                self.has_error = true;
                self.mark(MarkKind::Failed(payload::failure(error, b"")), &[timestamp, error], at);
            }
            "session_meta" => self.meta(&payload),
            "turn_context" => {
                if let Some(model) = text(payload.model) {
                    self.model = self.names.number(&model);
                }
                self.effort = self.names.optional(effort(payload.effort).as_deref());
            }
            "response_item" => self.item(&payload, at),
            "event_msg" => self.event(&payload, count, timestamp, at),
            _ => {}
        }
        self.records += 1;
        Ok(())
    }

    fn settle(&mut self) {
        self.names.settle();
        self.advances.shrink_to_fit();
        self.marks.shrink_to_fit();
    }
}

impl CodexFile {
    /// Whether it is a fork.
    pub(super) fn is_forked(&self) -> bool {
        self.parent.is_some()
    }

    /// Place of the first record that is this file's own; 0 when nothing shows a copied history.
    pub(super) fn own_from(&self) -> u64 {
        let has_copied_meta = self.parent.as_ref().is_some_and(|parent| self.ancestors.contains(parent));
        match self.first_live {
            Some(place) if self.is_forked() && (self.has_old_task || has_copied_meta) => place,
            _ => 0,
        }
    }

    /// A meta: the first names the file, further ones its ancestors.
    fn meta(&mut self, payload: &Payload<'_>) {
        let id = text(payload.id).map(std::borrow::Cow::into_owned);
        if self.born != NO_TIME || self.id.is_some() {
            self.ancestors.extend(id.filter(|id| !self.ancestors.contains(id)));
            return;
        }
        self.id = id;
        self.parent = text(payload.forked_from).map(std::borrow::Cow::into_owned);
        self.born = millis(payload.timestamp).unwrap_or(0);
        self.provider = self.names.optional(text(payload.provider).as_deref());
        self.folder = self.names.optional(text(payload.folder).as_deref());
        let source: Value = serde_json::from_slice(payload.source).unwrap_or_default();
        if let Some(Value::Object(spawn)) = source.pointer("/subagent/thread_spawn") {
            self.is_spawned = !spawn.is_empty();
            self.spawner = spawn.get("parent_thread_id").and_then(Value::as_str).map(str::to_owned);
        }
    }

    /// A prompt, a tool result or something the model made.
    fn item(&mut self, payload: &Payload<'_>, at: i64) {
        let kind = payload.kind.as_deref().unwrap_or_default();
        let call = text(payload.call).map(|call| Id::of(b'c', call.as_bytes()));
        if kind == "message" && says(payload.role, "user") || kind.ends_with("_output") {
            if let Some(begun) = call.and_then(|call| self.calls.remove(&call)) {
                self.tools.push((begun, at));
            }
            (self.last_input, self.has_error) = (at, false);
        } else if matches!(
            kind,
            "message" | "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call"
        ) {
            if self.start == NO_TIME {
                self.start = self.last_input;
            }
            if let (Some(call), true) = (call, at != NO_TIME) {
                self.calls.insert(call, at);
            }
        }
    }

    /// An event.
    fn event(&mut self, payload: &Payload<'_>, count: Option<Count>, timestamp: &[u8], at: i64) {
        let mark = |file: &mut Self, kind| file.mark(kind, &[timestamp, &payload.plain()], at);
        match payload.kind.as_deref().unwrap_or_default() {
            "task_started" => {
                match (payload.is_live(at), self.first_live) {
                    (true, None) => self.first_live = Some(self.records),
                    (false, None) => self.has_old_task = true,
                    _ => {}
                }
                (self.last_input, self.start, self.has_error) = (at, NO_TIME, false);
                self.turn = self.advances.len();
                mark(self, MarkKind::Task);
            }
            "user_message" => self.last_input = at,
            "stream_error" => {
                self.has_error = true;
                mark(self, MarkKind::Retry);
            }
            "turn_aborted" => mark(self, MarkKind::Interrupt),
            "error" => {
                self.has_error = true;
                mark(self, MarkKind::Failed(payload.failure()));
            }
            "task_complete" => {
                let first = payload.first_token;
                let first = (!first.is_empty() && first.iter().all(u8::is_ascii_digit)).then(|| whole(first));
                let first = first.and_then(|first| i64::try_from(first).ok());
                mark(self, MarkKind::Complete(first, self.turn, self.advances.len()));
            }
            "token_count" => {
                self.limits(payload.limits, at);
                match count {
                    Some(Count { total: Some(total), last, model }) => self.count(total, last, model.as_deref(), at),
                    _ => self.no_info += 1,
                }
            }
            _ => {}
        }
    }

    /// Notes a task, an error or the end of a turn; `parts` tell it from others.
    fn mark(&mut self, kind: MarkKind, parts: &[&[u8]], at: i64) {
        let Self { model, effort, records, .. } = *self;
        let is_live = self.first_live.is_some();
        self.marks.push(Mark { kind, place: records, at, identity: Id::of_parts(parts), model, effort, is_live });
    }

    /// Counters: what they rose by is one response (reference sessions §7.2, step 4).
    fn count(&mut self, total: Counters, last: Option<Counters>, model: Option<&str>, at: i64) {
        let now = total.values;
        if now.iter().zip(&self.base).any(|(now, base)| now < base) {
            let is_restart = now.iter().all(|n| *n == 0) || last.is_some_and(|last| last.values == now);
            if is_restart {
                self.base = [0; 4];
                self.resets += 1;
            } else {
                self.wobbles += 1;
            }
        }
        let mut delta = [0; 4];
        for (place, delta) in delta.iter_mut().enumerate() {
            *delta = now[place].saturating_sub(self.base[place]);
            self.base[place] = self.base[place].max(now[place]);
        }
        if delta == [0; 4] {
            self.unchanged += 1;
            return;
        }
        let parts = [now[0], now[1], now[2], now[3], total.stated].map(u64::to_le_bytes);
        let begun = if self.start == NO_TIME { self.last_input } else { self.start };
        let is_timed = begun != NO_TIME && at != NO_TIME && !self.has_error;
        let busy = is_timed.then(|| at - begun - inside(&self.tools, begun, at));
        self.advances.push(Advance {
            place: self.records,
            at,
            identity: Id::of_parts(&parts.each_ref().map(<[u8; 8]>::as_slice)),
            input: delta[0],
            cached: delta[1].min(delta[0]),
            output: delta[2],
            reasoning: delta[3].min(delta[2]),
            model: model.map_or(self.model, |model| self.names.number(model)),
            effort: self.effort,
            busy,
            is_live: self.first_live.is_some(),
        });
        (self.last_input, self.start, self.has_error) = (NO_TIME, NO_TIME, false);
        self.tools.clear();
    }

    /// Remembers the windows of a rate-limit object.
    fn limits(&mut self, value: &[u8], at: i64) {
        let model = self.names.get(self.model);
        if at != NO_TIME {
            let seen = Seen { at, record: self.records + 1, model, is_live: self.first_live.is_some() };
            remember(&mut self.windows, value, seen);
        }
    }
}

/// Milliseconds covered by the intervals that lie wholly between two instants.
pub(super) fn inside(intervals: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let mut wholly: Vec<_> =
        intervals.iter().copied().filter(|(begin, end)| *begin >= from && *end <= to && *end != NO_TIME).collect();
    wholly.sort_unstable();
    let (mut covered, mut reached) = (0, from);
    for (begin, end) in wholly {
        covered += (end - begin.max(reached)).max(0);
        reached = reached.max(end);
    }
    covered
}
