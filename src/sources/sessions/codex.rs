//! Codex rollouts: cumulative counters, of which the positive difference counts, once per lineage (reference sessions
//! §2, §7.2). A file is read on its own; which of its events are copies is decided when all files are known.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::claude_code::{Failure, NO_TIME, effort};
use super::file::{Kinds, Records, each_field};
use super::limits::{LimitWindow, Seen, remember};
use super::names::{Id, Names};
use super::skim::{Fields, Odd, blank, millis, text, whole};

/// A task that started at most this long before its line was written is live, milliseconds.
const LIVE_MS: f64 = 5_000.0;
/// A larger `started_at` counts milliseconds, not seconds.
const MILLISECONDS_FROM: f64 = 1e11;

/// Largest counter that is believed: no sum of a store overflows.
const MOST: u64 = 1_000_000_000_000_000;

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
    fn begin(_: &Path) -> Self {
        Self {
            names: Names::default(),
            id: None,
            parent: None,
            spawner: None,
            is_spawned: false,
            born: NO_TIME,
            ancestors: Vec::new(),
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
        let (mut kind, mut timestamp, mut late): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        let mut payload = Payload::default();
        let mut fields = Fields::of(object)?;
        while let Some(key) = fields.next_key()? {
            if key == b"payload"
                && has_fields(kind)
                && let Some(mut inner) = fields.enter()
            {
                payload = Payload::of(&mut inner)?;
                fields.leave(&inner);
                late = b"";
                continue;
            }
            let value = fields.skip()?;
            match key {
                b"type" => kind = value,
                b"timestamp" => timestamp = value,
                b"payload" => (payload, late) = (Payload::default(), value),
                _ => {}
            }
        }
        if blank(object, fields.end()) != object.len() {
            return Err(Odd);
        }
        if has_fields(kind) && late.first() == Some(&b'{') {
            payload = Payload::of(&mut Fields::of(late)?)?;
        } else if !has_fields(kind) {
            payload = Payload::default();
        }
        let kind = text(kind);
        let kind = kind.as_deref().unwrap_or("?");
        let count = match (kind, payload.kind.as_deref()) {
            ("event_msg", Some("token_count")) => Some(Count::of(payload.info)?),
            _ => None,
        };
        kinds.count(kind);
        let at = millis(timestamp).unwrap_or(NO_TIME);
        match kind {
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
        if kind == "message" && text(payload.role).as_deref() == Some("user") || kind.ends_with("_output") {
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
        let mark = |file: &mut Self, kind| {
            let Self { model, effort, records, .. } = *file;
            let identity = Id::of_parts(&[timestamp, &payload.plain()]);
            let is_live = file.first_live.is_some();
            file.marks.push(Mark { kind, place: records, at, identity, model, effort, is_live });
        };
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

/// Whether records of this kind have a payload that means something.
fn has_fields(kind: &[u8]) -> bool {
    matches!(kind, b"\"session_meta\"" | b"\"turn_context\"" | b"\"response_item\"" | b"\"event_msg\"")
        || kind.contains(&b'\\')
}

/// The fields of a payload that mean something.
#[derive(Debug, Default)]
struct Payload<'a> {
    /// The whole payload.
    whole: &'a [u8],
    /// `type`.
    kind: Option<std::borrow::Cow<'a, str>>,
    /// `id`.
    id: &'a [u8],
    /// `timestamp`.
    timestamp: &'a [u8],
    /// `forked_from_id`.
    forked_from: &'a [u8],
    /// `source`.
    source: &'a [u8],
    /// `model_provider`.
    provider: &'a [u8],
    /// `cwd`.
    folder: &'a [u8],
    /// `model`.
    model: &'a [u8],
    /// `effort`.
    effort: &'a [u8],
    /// `role`.
    role: &'a [u8],
    /// `call_id`.
    call: &'a [u8],
    /// `info`.
    info: &'a [u8],
    /// `rate_limits`.
    limits: &'a [u8],
    /// `started_at`.
    started: &'a [u8],
    /// `time_to_first_token_ms`.
    first_token: &'a [u8],
    /// `message`.
    message: &'a [u8],
    /// `codex_error_info`.
    error: &'a [u8],
}

impl<'a> Payload<'a> {
    /// The fields of a payload, read to its end.
    fn of(fields: &mut Fields<'a>) -> Result<Self, Odd> {
        let mut payload = Self::default();
        while let Some((key, value)) = fields.next()? {
            match key {
                b"type" => payload.kind = text(value),
                b"id" => payload.id = value,
                b"timestamp" => payload.timestamp = value,
                b"forked_from_id" => payload.forked_from = value,
                b"source" => payload.source = value,
                b"model_provider" => payload.provider = value,
                b"cwd" => payload.folder = value,
                b"model" => payload.model = value,
                b"effort" => payload.effort = value,
                b"role" => payload.role = value,
                b"call_id" => payload.call = value,
                b"info" => payload.info = value,
                b"rate_limits" => payload.limits = value,
                b"started_at" => payload.started = value,
                b"time_to_first_token_ms" => payload.first_token = value,
                b"message" => payload.message = value,
                b"codex_error_info" => payload.error = value,
                _ => {}
            }
        }
        payload.whole = fields.passed();
        Ok(payload)
    }

    /// Whether a task began when its line was written.
    fn is_live(&self, at: i64) -> bool {
        let Ok(started) = serde_json::from_slice::<f64>(self.started) else { return true };
        if at == NO_TIME {
            return true;
        }
        let started = if started > MILLISECONDS_FROM { started } else { started * 1000.0 };
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few centuries fit an f64 exactly")]
        let at = at as f64;
        (at - started).abs() <= LIVE_MS
    }

    /// The payload with sorted keys: equal payloads are equal bytes.
    fn plain(&self) -> Vec<u8> {
        serde_json::from_slice::<Value>(self.whole)
            .map_or_else(|_| self.whole.to_vec(), |value| value.to_string().into_bytes())
    }

    /// Why a call failed.
    fn failure(&self) -> Failure {
        let words = text(self.message).unwrap_or_default();
        let info = String::from_utf8_lossy(self.error);
        let says = |parts: &[&str]| parts.iter().any(|part| info.contains(part) || words.contains(part));
        if text(self.error).as_deref() == Some("usage_limit_exceeded") || words.contains("usage limit") {
            Failure::Quota
        } else if says(&["overload", "server_error", "internal_server", "high demand"]) {
            Failure::Overloaded
        } else if says(&["unauthorized", "auth"]) {
            Failure::Auth
        } else if says(&["stream disconnected", "connection", "http_connection", "network"]) {
            Failure::Network
        } else {
            Failure::Other
        }
    }
}

/// Counters as one object states them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counters {
    /// Input, cached, output, reasoning.
    values: [u64; 4],
    /// Stated total; input + output when not stated.
    stated: u64,
}

/// What a `token_count` says.
#[derive(Debug, Default)]
struct Count {
    /// Cumulative counters.
    total: Option<Counters>,
    /// Those of the last response.
    last: Option<Counters>,
    /// The model, where it is stated.
    model: Option<String>,
}

impl Count {
    /// The counters of an `info` object; nothing of any other value.
    fn of(info: &[u8]) -> Result<Self, Odd> {
        let mut count = Self::default();
        if info.first() != Some(&b'{') {
            return Ok(count);
        }
        let (mut total, mut last): (&[u8], &[u8]) = (b"", b"");
        each_field(info, |key, value| match key {
            b"total_token_usage" => total = value,
            b"last_token_usage" => last = value,
            b"model" => count.model = text(value).map(std::borrow::Cow::into_owned),
            _ => {}
        })?;
        count.total = counters(total)?;
        count.last = counters(last)?;
        Ok(count)
    }
}

/// The counters of an object; nothing of any other value.
fn counters(value: &[u8]) -> Result<Option<Counters>, Odd> {
    if value.first() != Some(&b'{') {
        return Ok(None);
    }
    let mut values = [0; 4];
    let mut stated = None;
    each_field(value, |key, value| match key {
        b"input_tokens" => values[0] = whole(value).min(MOST),
        b"cached_input_tokens" => values[1] = whole(value).min(MOST),
        b"output_tokens" => values[2] = whole(value).min(MOST),
        b"reasoning_output_tokens" => values[3] = whole(value).min(MOST),
        b"total_tokens" => stated = Some(whole(value).min(MOST)),
        _ => {}
    })?;
    let stated = stated.unwrap_or_else(|| values[0].saturating_add(values[2]));
    Ok(Some(Counters { values, stated }))
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
