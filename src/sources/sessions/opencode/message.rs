//! Messages of either generation as one struct.

use serde_json::Value;

use super::ROUTE;
use super::routes::AttemptFailure;
use crate::sources::sessions::claude_code::{Failure, NO_TIME};
use crate::sources::sessions::names::{Id, Names};

/// The last millisecond of the year 9999.
pub(super) const MOST_MS: f64 = 253_402_300_799_999.0;

/// Why a message is not an ordinary answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A person cut it short.
    Cut,
    /// The call failed.
    Failed(AttemptFailure),
}

/// An assistant message, or a compaction.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Its id.
    pub(super) id: Id,
    /// Its id as text: of copies the smallest counts.
    pub(super) text_id: Box<str>,
    /// Session, provider, model, effort, agent and folder by name.
    pub(super) session: u32,
    /// See `session`.
    pub(super) provider: u32,
    /// See `session`.
    pub(super) model: u32,
    /// See `session`.
    pub(super) effort: u32,
    /// See `session`.
    pub(super) agent: u32,
    /// See `session`.
    pub(super) folder: u32,
    /// Epoch milliseconds.
    pub(super) created: i64,
    /// End of the stream.
    pub(super) streamed: i64,
    /// End, tools included.
    pub(super) completed: i64,
    /// Uncached input.
    pub(super) input: u64,
    /// Read from cache.
    pub(super) cache_read: u64,
    /// Written to cache.
    pub(super) cache_write: u64,
    /// Output with reasoning.
    pub(super) output: u64,
    /// Reasoning.
    pub(super) reasoning: u64,
    /// Cost as stored.
    pub(super) cost: Option<f64>,
    /// Retries inside.
    pub(super) retries: u64,
    /// What went wrong.
    pub(super) trouble: Option<Trouble>,
    /// Whether it sums up a context.
    pub(super) is_compaction: bool,
    /// Tool intervals inside.
    pub(super) tools: Vec<(i64, i64)>,
}

impl Message {
    /// A message of the first generation; `None` unless an assistant wrote it.
    pub(super) fn of_v1(id: &str, session: &str, data: &Value, names: &mut Names) -> Option<Self> {
        if data["role"] != "assistant" {
            return None;
        }
        let model = data["modelID"].as_str().or_else(|| data["model"]["modelID"].as_str());
        let provider = data["providerID"].as_str().or_else(|| data["model"]["providerID"].as_str());
        let mut message = Self::common(id, session, data, names);
        message.model = names.optional(model);
        message.provider = names.optional(provider);
        message.effort = names.optional(data["variant"].as_str());
        message.agent = names.optional(data["agent"].as_str());
        message.folder = names.optional(data["path"]["cwd"].as_str());
        message.trouble = trouble(&data["error"]);
        Some(message)
    }

    /// A message of the second generation.
    pub(super) fn of_v2(id: &str, session: &str, data: &Value, names: &mut Names) -> Self {
        let mut message = Self::common(id, session, data, names);
        message.set_member(member(&data["model"], names));
        message.agent = names.optional(data["agent"].as_str());
        message.trouble = trouble(&data["error"]);
        message.retries = data["retry"]["attempt"].as_f64().map_or(0, tokens);
        for part in data["content"].as_array().into_iter().flatten() {
            message.tools.extend(tool_interval(part));
        }
        message
    }

    /// What both generations write alike.
    fn common(id: &str, session: &str, data: &Value, names: &mut Names) -> Self {
        let stated = &data["tokens"];
        let count = |value: &Value| value.as_f64().map_or(0, tokens);
        let reasoning = count(&stated["reasoning"]);
        let time = |name: &str| instant(&data["time"][name]).unwrap_or(NO_TIME);
        Self {
            id: Id::of(b'o', id.as_bytes()),
            text_id: id.into(),
            session: names.number(session),
            provider: 0,
            model: 0,
            effort: 0,
            agent: 0,
            folder: 0,
            created: time("created"),
            streamed: time("streamed"),
            completed: time("completed"),
            input: count(&stated["input"]),
            cache_read: count(&stated["cache"]["read"]),
            cache_write: count(&stated["cache"]["write"]),
            output: count(&stated["output"]) + reasoning,
            reasoning,
            cost: data["cost"].as_f64().filter(|cost| *cost >= 0.0),
            retries: 0,
            trouble: None,
            is_compaction: false,
            tools: Vec::new(),
        }
    }

    /// Puts the message to a provider, model and effort.
    pub(super) fn set_member(&mut self, [provider, model, effort]: [u32; 3]) {
        (self.provider, self.model, self.effort) = (provider, model, effort);
    }

    /// Whether any token was used.
    pub(super) fn has_tokens(&self) -> bool {
        self.input + self.cache_read + self.cache_write + self.output > 0
    }

    /// What a copy under another id shares with its original; `None` for messages that take no part.
    pub(super) fn copy_key(&self) -> Option<Id> {
        if self.completed == NO_TIME || self.created == NO_TIME || !self.has_tokens() {
            return None;
        }
        let numbers = [
            self.created.unsigned_abs(),
            self.completed.unsigned_abs(),
            u64::from(self.provider),
            u64::from(self.model),
            self.input,
            self.cache_read,
            self.cache_write,
            self.output,
            self.reasoning,
        ]
        .map(u64::to_le_bytes);
        Some(Id::of_parts(&numbers.each_ref().map(<[u8; 8]>::as_slice)))
    }
}

/// Provider, model and effort of a `model` object by name; zeros of a pool, which is none.
pub(super) fn member(model: &Value, names: &mut Names) -> [u32; 3] {
    if model["providerID"] == ROUTE {
        return [0; 3];
    }
    let id = model["id"].as_str().or_else(|| model["modelID"].as_str());
    [model["providerID"].as_str(), id, model["variant"].as_str()].map(|name| names.optional(name))
}

/// When the tool of a part ran, if it is one that ended.
pub(super) fn tool_interval(part: &Value) -> Option<(i64, i64)> {
    let time = if part["state"]["time"].is_object() { &part["state"]["time"] } else { &part["time"] };
    let interval = instant(&time["start"]).zip(instant(&time["end"]));
    interval.filter(|_| part["type"] == "tool")
}

/// Epoch milliseconds between 1970 and the year 9999; other numbers are no time.
pub(super) fn instant(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is that of dates")]
    value.as_f64().filter(|ms| (0.0..=MOST_MS).contains(ms)).map(|ms| ms as i64)
}

/// A number as a count: whole, of at least 0, and no more than one response can hold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and counts are not negative"
)]
pub(super) fn tokens(value: f64) -> u64 {
    u64::from(value.max(0.0) as u32)
}

/// What an `error` of either generation means.
fn trouble(error: &Value) -> Option<Trouble> {
    let name = error["name"].as_str().or_else(|| error["type"].as_str())?;
    let status = error["data"]["statusCode"].as_i64().or_else(|| error["status"].as_i64());
    let is = |part: &str| name.to_lowercase().contains(part);
    if is("abort") || is("interrupt") {
        return Some(Trouble::Cut);
    }
    Some(Trouble::Failed(if is("contextoverflow") || is("context-overflow") || is("context_overflow") {
        AttemptFailure::Own("context")
    } else if let Some(status) = status {
        of_status(status)
    } else if is("auth") {
        AttemptFailure::Infra(Failure::Auth)
    } else if is("quota") {
        AttemptFailure::Infra(Failure::Quota)
    } else if is("ratelimit") || is("rate-limit") || is("rate_limit") {
        AttemptFailure::Infra(Failure::RateLimited)
    } else if is("transport") || is("network") {
        AttemptFailure::Infra(Failure::Network)
    } else {
        AttemptFailure::Own("other")
    }))
}

/// Why a status code failed a call.
fn of_status(status: i64) -> AttemptFailure {
    AttemptFailure::Infra(match status {
        429 => Failure::RateLimited,
        401..=403 => Failure::Auth,
        500..=599 => Failure::Overloaded,
        _ => return AttemptFailure::Own("other"),
    })
}
