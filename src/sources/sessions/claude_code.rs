//! Claude Code session files: one response is several records that share `message.id`; of all of them the field-wise
//! maximum counts (reference sessions §1, §7.1).

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Kinds, Records, each_field};
use super::names::{Id, Names};
use super::skim::{Fields, Items, Odd, blank, millis, text, whole};

/// No instant.
pub(super) const NO_TIME: i64 = i64::MIN;
/// Words of a limit message.
const LIMIT_WORDS: [&str; 2] = ["Claude AI usage limit reached|", "You've hit your limit"];
/// How a prompt begins that nobody typed.
const ECHOES: [&str; 3] = ["<command-", "<local-command-", "Caveat: The messages below"];

/// What one file says of one response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent claims about a response, each named")]
pub(super) struct Sighting {
    /// Which response.
    pub(super) id: Id,
    /// Uncached input.
    pub(super) input: u32,
    /// Input read from cache.
    pub(super) cache_read: u32,
    /// Input written to cache.
    pub(super) cache_write: u32,
    /// Of that, written for one hour; `None` when the split is unknown.
    pub(super) write_1h: Option<u32>,
    /// Output.
    pub(super) output: u32,
    /// Records seen.
    pub(super) records: u32,
    /// When the model began, epoch milliseconds.
    pub(super) start: i64,
    /// When the last record was written.
    pub(super) end: i64,
    /// Model, effort, session and folder by name.
    pub(super) model: u32,
    /// See `model`.
    pub(super) effort: u32,
    /// See `model`.
    pub(super) session: u32,
    /// See `model`.
    pub(super) folder: u32,
    /// Whether some record is final.
    pub(super) is_final: bool,
    /// Whether every record is of a side chain.
    pub(super) is_side: bool,
    /// Whether it ran in fast mode.
    pub(super) is_fast: bool,
    /// Whether it came straight from the vendor: it has a request id and no id of a gateway.
    pub(super) is_direct: bool,
}

/// What a record can say beside responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MarkKind {
    /// A prompt typed by a person.
    Task,
    /// A user record that is neither a prompt nor a tool result: it only takes its uuid.
    Nothing,
    /// A retry of a call.
    Retry,
    /// A call that failed for good.
    Failed(Failure),
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Failure {
    /// A limit message was shown.
    Quota,
    /// Too many calls at once; no word of a limit.
    RateLimited,
    /// The vendor was overloaded or broken.
    Overloaded,
    /// Key, login or credits.
    Auth,
    /// The network.
    Network,
    /// Anything else.
    Other,
}

impl Failure {
    /// The class in tables.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Quota | Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Other => "other",
        }
    }
}

/// One such mark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Its record, for copies in other files.
    pub(super) uuid: Option<Id>,
    /// What it says.
    pub(super) kind: MarkKind,
    /// When.
    pub(super) at: i64,
    /// Model, effort, session and folder of the response before it.
    pub(super) model: u32,
    /// See `model`.
    pub(super) effort: u32,
    /// See `model`.
    pub(super) session: u32,
    /// See `model`.
    pub(super) folder: u32,
}

/// Where one writer stands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Chain {
    /// Its last user record.
    input: i64,
    /// The end of its last response.
    end: i64,
    /// Whether a client-made record stands behind the last user record or response.
    has_error: bool,
    /// Model and effort of its last response.
    model: u32,
    /// See `model`.
    effort: u32,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClaudeFile {
    /// Names by number.
    pub(super) names: Names,
    /// Responses, in order of their first record.
    pub(super) sightings: Vec<Sighting>,
    /// Prompts, retries and errors.
    pub(super) marks: Vec<Mark>,
    /// First dated record: the day of undated ones.
    pub(super) dated: i64,
    /// Writers by session, side-chain flag and agent.
    chains: Vec<(Vec<u8>, Chain)>,
    /// The file, for records without an id.
    path: Id,
    /// Records so far.
    records: u64,
    /// Whether it is bookkeeping without usage.
    is_journal: bool,
    /// Response → place in `sightings`, while the file is read.
    #[serde(skip)]
    places: BTreeMap<Id, u32>,
    /// Writer → place in `chains`, while the file is read.
    #[serde(skip)]
    writers: BTreeMap<Vec<u8>, usize>,
    /// The writer of the last record.
    #[serde(skip)]
    writer: usize,
}

/// The fields of a record that mean something.
#[derive(Debug, Default)]
struct Record<'a> {
    /// `type`.
    kind: &'a [u8],
    /// `timestamp`.
    timestamp: &'a [u8],
    /// `uuid`.
    uuid: &'a [u8],
    /// `isSidechain`.
    is_side: bool,
    /// `isMeta`.
    is_meta: bool,
    /// `isApiErrorMessage`.
    is_error: bool,
    /// `subtype`.
    subtype: &'a [u8],
    /// `error`.
    error: &'a [u8],
    /// `effort`.
    effort: &'a [u8],
    /// `requestId`.
    request: &'a [u8],
    /// `sessionId`.
    session: &'a [u8],
    /// `agentId`.
    agent: &'a [u8],
    /// `cwd`.
    folder: &'a [u8],
    /// `message`, if it is an object.
    message: Message<'a>,
}

/// The fields of a message that mean something.
#[derive(Debug, Default)]
struct Message<'a> {
    /// `id`.
    id: &'a [u8],
    /// `model`.
    model: &'a [u8],
    /// `role`.
    role: &'a [u8],
    /// `stop_reason`.
    stop: &'a [u8],
    /// `effort`.
    effort: &'a [u8],
    /// `usage`, if it is an object.
    usage: Option<&'a [u8]>,
    /// `content`.
    content: &'a [u8],
}

/// The counts of one record.
#[derive(Debug, Default)]
struct Usage {
    /// Uncached input.
    input: u32,
    /// Read from cache.
    cache_read: u32,
    /// Written to cache.
    cache_write: u32,
    /// Of that for one hour, where the split fits.
    write_1h: Option<u32>,
    /// Output.
    output: u32,
    /// Whether in fast mode.
    is_fast: bool,
}

impl Records for ClaudeFile {
    fn begin(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self {
            names: Names::default(),
            sightings: Vec::new(),
            marks: Vec::new(),
            dated: NO_TIME,
            chains: Vec::new(),
            path: Id::of(b'p', path.to_string_lossy().as_bytes()),
            records: 0,
            is_journal: name.starts_with("journal."),
            places: BTreeMap::new(),
            writers: BTreeMap::new(),
            writer: 0,
        }
    }

    fn object(&mut self, object: &[u8], kinds: &mut Kinds) -> Result<(), Odd> {
        let record = Record::of(object)?;
        let kind = text(record.kind);
        let message = &record.message;
        let is_answer = kind.is_none() && message.role == b"\"assistant\"";
        let kind = kind.as_deref().unwrap_or(if is_answer { "assistant" } else { "?" });
        let usage = match (kind, message.usage) {
            ("assistant", Some(usage)) => Some(Usage::of(usage)?),
            _ => None,
        };
        kinds.count(kind);
        if !self.is_journal {
            self.take(kind, &record, message, usage);
        }
        Ok(())
    }

    fn settle(&mut self) {
        self.names.settle();
        self.places = BTreeMap::new();
        self.writers = BTreeMap::new();
        self.sightings.shrink_to_fit();
        self.marks.shrink_to_fit();
    }
}

impl ClaudeFile {
    /// Takes a record that has been understood.
    fn take(&mut self, kind: &str, record: &Record<'_>, message: &Message<'_>, usage: Option<Usage>) {
        self.records += 1;
        let at = millis(record.timestamp).unwrap_or(NO_TIME);
        if self.dated == NO_TIME {
            self.dated = at;
        }
        let is_own = message.model == b"\"<synthetic>\"" || record.is_error;
        match kind {
            "user" => {
                self.find_writer(record);
                let chain = &mut self.chains[self.writer].1;
                (chain.input, chain.has_error) = (at, false);
                match words(message.content) {
                    Words::OfTool => {}
                    Words::Typed if !record.is_side && !record.is_meta => self.mark(MarkKind::Task, record, at),
                    Words::Typed | Words::Other => self.mark(MarkKind::Nothing, record, at),
                }
            }
            "system" if record.subtype == b"\"api_error\"" => {
                self.find_writer(record);
                self.chains[self.writer].1.has_error = true;
                self.mark(MarkKind::Retry, record, at);
            }
            "assistant" if is_own => {
                self.find_writer(record);
                self.chains[self.writer].1.has_error = true;
                self.mark(MarkKind::Failed(failure(record.error, message.content)), record, at);
            }
            "assistant" => {
                if let Some(usage) = usage {
                    self.find_writer(record);
                    self.answer(record, message, &usage, at);
                }
            }
            _ => {}
        }
    }

    /// Makes the writer of a record the present one.
    fn find_writer(&mut self, record: &Record<'_>) {
        let is_same = |key: &[u8]| {
            key.len() == record.session.len() + record.agent.len() + 1
                && key[0] == u8::from(record.is_side)
                && key[1..].starts_with(record.session)
                && key.ends_with(record.agent)
        };
        if self.chains.get(self.writer).is_some_and(|(key, _)| is_same(key)) {
            return;
        }
        if self.writers.len() != self.chains.len() {
            self.writers = self.chains.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        }
        let key = [&[u8::from(record.is_side)], record.session, record.agent].concat();
        let next = self.chains.len();
        self.writer = *self.writers.entry(key.clone()).or_insert(next);
        if self.writer == next {
            let chain = Chain { input: NO_TIME, end: NO_TIME, has_error: false, model: 0, effort: 0 };
            self.chains.push((key, chain));
        }
    }

    /// Notes a prompt, retry or error.
    fn mark(&mut self, kind: MarkKind, record: &Record<'_>, at: i64) {
        let chain = self.chains[self.writer].1;
        let uuid = text(record.uuid).map(|uuid| Id::of(b'u', uuid.as_bytes()));
        let session = self.names.optional(text(record.session).as_deref());
        let folder = self.names.optional(text(record.folder).as_deref());
        self.marks.push(Mark { uuid, kind, at, model: chain.model, effort: chain.effort, session, folder });
    }

    /// Takes one record of a response.
    fn answer(&mut self, record: &Record<'_>, message: &Message<'_>, usage: &Usage, at: i64) {
        let id = self.response_id(record, message);
        let model = self.names.optional(text(message.model).as_deref());
        let effort = self.names.optional(effort(record.effort).or_else(|| effort(message.effort)).as_deref());
        let is_new = !self.place_is_known(id);
        if is_new {
            let session = self.names.optional(text(record.session).as_deref());
            let folder = self.names.optional(text(record.folder).as_deref());
            self.places.insert(id, u32::try_from(self.sightings.len()).unwrap_or(u32::MAX));
            self.sightings.push(Sighting::new(id, session, folder));
        }
        let place = self.places[&id] as usize;
        let chain = &mut self.chains[self.writer].1;
        let sighting = &mut self.sightings[place];
        let is_better = sighting.is_side && !record.is_side && !is_new;
        if is_new || is_better {
            sighting.start =
                if chain.input == NO_TIME || chain.has_error { NO_TIME } else { chain.input.max(chain.end) };
        }
        if model != 0 && (sighting.model == 0 || is_better) {
            sighting.model = model;
        }
        if effort != 0 && (sighting.effort == 0 || is_better) {
            sighting.effort = effort;
        }
        sighting.is_side &= record.is_side;
        sighting.is_final |= !matches!(message.stop, b"" | b"null");
        sighting.is_direct |= text(record.request).is_some() && !message.id.starts_with(b"\"chatcmpl-");
        sighting.end = sighting.end.max(at);
        sighting.records = sighting.records.saturating_add(1);
        sighting.take(usage);
        chain.end = chain.end.max(at);
        (chain.has_error, chain.model, chain.effort) = (false, sighting.model, sighting.effort);
    }

    /// Whether a response was seen in this file.
    fn place_is_known(&mut self, id: Id) -> bool {
        if self.places.len() != self.sightings.len() {
            self.places = self
                .sightings
                .iter()
                .enumerate()
                .map(|(at, s)| (s.id, u32::try_from(at).unwrap_or(u32::MAX)))
                .collect();
        }
        self.places.contains_key(&id)
    }

    /// The identity of a response: `message.id`, else `uuid`, else the record.
    fn response_id(&self, record: &Record<'_>, message: &Message<'_>) -> Id {
        match (text(message.id), text(record.uuid)) {
            (Some(id), _) => Id::of(b'm', id.as_bytes()),
            (None, Some(uuid)) => Id::of(b'a', uuid.as_bytes()),
            (None, None) => Id::of_parts(&[format!("{:?}", self.path).as_bytes(), &self.records.to_le_bytes()]),
        }
    }
}

impl Sighting {
    /// A response of which no record has been taken yet.
    fn new(id: Id, session: u32, folder: u32) -> Self {
        Self {
            id,
            input: 0,
            cache_read: 0,
            cache_write: 0,
            write_1h: None,
            output: 0,
            records: 0,
            start: NO_TIME,
            end: NO_TIME,
            model: 0,
            effort: 0,
            session,
            folder,
            is_final: false,
            is_side: true,
            is_fast: false,
            is_direct: false,
        }
    }

    /// The larger of each count; of the split the one that fits the largest write.
    fn take(&mut self, usage: &Usage) {
        self.join_writes(usage.cache_write, usage.write_1h);
        self.input = self.input.max(usage.input);
        self.cache_read = self.cache_read.max(usage.cache_read);
        self.output = self.output.max(usage.output);
        self.is_fast |= usage.is_fast;
    }

    /// Joins the writes of another record.
    fn join_writes(&mut self, write: u32, write_1h: Option<u32>) {
        if write > self.cache_write {
            (self.cache_write, self.write_1h) = (write, write_1h);
        } else if write == self.cache_write {
            self.write_1h = self.write_1h.or(write_1h);
        }
    }

    /// Joins what another file says of the same response; `self` is the one that goes before.
    pub(super) fn join(&mut self, other: &Self) {
        self.join_writes(other.cache_write, other.write_1h);
        self.input = self.input.max(other.input);
        self.cache_read = self.cache_read.max(other.cache_read);
        self.output = self.output.max(other.output);
        self.records = self.records.saturating_add(other.records);
        self.end = self.end.max(other.end);
        self.is_final |= other.is_final;
        self.is_side &= other.is_side;
        self.is_fast |= other.is_fast;
        self.is_direct |= other.is_direct;
    }
}

impl<'a> Record<'a> {
    /// The fields of a record. The message is read where it stands, so that its text is passed once.
    fn of(object: &'a [u8]) -> Result<Self, Odd> {
        let mut record = Self::default();
        let mut fields = Fields::of(object)?;
        while let Some(key) = fields.next_key()? {
            if key == b"message"
                && let Some(mut message) = fields.enter()
            {
                record.message = Message::of(&mut message)?;
                fields.leave(&message);
                continue;
            }
            let value = fields.skip()?;
            match key {
                b"type" => record.kind = value,
                b"timestamp" => record.timestamp = value,
                b"uuid" => record.uuid = value,
                b"isSidechain" => record.is_side = value == b"true",
                b"isMeta" => record.is_meta = value == b"true",
                b"isApiErrorMessage" => record.is_error = value == b"true",
                b"subtype" => record.subtype = value,
                b"error" => record.error = value,
                b"effort" => record.effort = value,
                b"requestId" => record.request = value,
                b"sessionId" => record.session = value,
                b"agentId" => record.agent = value,
                b"cwd" => record.folder = value,
                b"message" => record.message = Message::default(),
                _ => {}
            }
        }
        if blank(object, fields.end()) == object.len() { Ok(record) } else { Err(Odd) }
    }
}

impl<'a> Message<'a> {
    /// The fields of a message, read to its end.
    fn of(fields: &mut Fields<'a>) -> Result<Self, Odd> {
        let mut message = Self::default();
        while let Some((key, value)) = fields.next()? {
            match key {
                b"id" => message.id = value,
                b"model" => message.model = value,
                b"role" => message.role = value,
                b"stop_reason" => message.stop = value,
                b"effort" => message.effort = value,
                b"usage" => message.usage = (value.first() == Some(&b'{')).then_some(value),
                b"content" => message.content = value,
                _ => {}
            }
        }
        Ok(message)
    }
}

impl Usage {
    /// The counts of a usage object.
    fn of(value: &[u8]) -> Result<Self, Odd> {
        let mut usage = Self::default();
        let (mut split, mut iterations): (&[u8], &[u8]) = (b"", b"");
        each_field(value, |key, value| match key {
            b"input_tokens" => usage.input = count(value),
            b"cache_read_input_tokens" => usage.cache_read = count(value),
            b"cache_creation_input_tokens" => usage.cache_write = count(value),
            b"output_tokens" => usage.output = count(value),
            b"speed" => usage.is_fast = value == b"\"fast\"",
            b"cache_creation" => split = value,
            b"iterations" => iterations = value,
            _ => {}
        })?;
        usage.write_1h = write_1h(split, usage.cache_write);
        if usage.write_1h.is_none() && !iterations.is_empty() {
            usage.write_1h = of_iterations(iterations, usage.cache_write);
        }
        Ok(usage)
    }
}

/// A token count.
fn count(value: &[u8]) -> u32 {
    u32::try_from(whole(value)).unwrap_or(u32::MAX)
}

/// Tokens written for one hour, where the split adds up to the write.
fn write_1h(split: &[u8], write: u32) -> Option<u32> {
    let (mut short, mut long) = (0_u32, 0_u32);
    let mut fields = Fields::of(split).ok()?;
    while let Some((key, value)) = fields.next().ok()? {
        match key {
            b"ephemeral_5m_input_tokens" => short = count(value),
            b"ephemeral_1h_input_tokens" => long = count(value),
            _ => {}
        }
    }
    (short.checked_add(long) == Some(write)).then_some(long)
}

/// The same from the last call of several inside one response whose write and split fit.
fn of_iterations(iterations: &[u8], write: u32) -> Option<u32> {
    let calls: Vec<&[u8]> = Items::of(iterations).collect();
    calls.iter().rev().find_map(|call| {
        let (mut own, mut split): (u32, &[u8]) = (0, b"");
        each_field(call, |key, value| match key {
            b"cache_creation_input_tokens" => own = count(value),
            b"cache_creation" => split = value,
            _ => {}
        })
        .ok()?;
        if own == write { write_1h(split, write) } else { None }
    })
}

/// An effort, written as text or as an object with a level.
pub(super) fn effort(value: &[u8]) -> Option<String> {
    if value.first() == Some(&b'{') {
        let mut level = None;
        each_field(value, |key, value| {
            if key == b"level" {
                level = text(value).map(std::borrow::Cow::into_owned);
            }
        })
        .ok()?;
        return level;
    }
    text(value).map(std::borrow::Cow::into_owned)
}

/// Whose words a user record holds.
enum Words {
    /// Those of a person.
    Typed,
    /// Those of a tool.
    OfTool,
    /// Those of the client, or none.
    Other,
}

/// Whose words the content of a user record is.
fn words(content: &[u8]) -> Words {
    let whose = |words: &[u8]| {
        let words = text(words).unwrap_or_default();
        let is_echo = ECHOES.iter().any(|echo| words.trim_start().starts_with(echo));
        if is_echo { Words::Other } else { Words::Typed }
    };
    match content.first() {
        Some(b'"') => whose(content),
        Some(b'[') => {
            let mut first = None;
            for block in Items::of(content) {
                match block_words(block) {
                    Block::Result => return Words::OfTool,
                    Block::Words(words) => first = first.or(Some(words)),
                    Block::Other => {}
                }
            }
            first.map_or(Words::Other, whose)
        }
        _ => Words::Other,
    }
}

/// What a block of content is.
enum Block<'a> {
    /// The result of a tool.
    Result,
    /// Words.
    Words(&'a [u8]),
    /// Anything else.
    Other,
}

/// What a block of content is. A tool result is known before its body is passed.
fn block_words(block: &[u8]) -> Block<'_> {
    let (mut kind, mut words): (&[u8], &[u8]) = (b"", b"");
    let Ok(mut fields) = Fields::of(block) else { return Block::Other };
    while let Ok(Some((key, value))) = fields.next() {
        match key {
            b"type" if value == b"\"tool_result\"" => return Block::Result,
            b"type" => kind = value,
            b"text" => words = value,
            _ => {}
        }
    }
    if kind == b"\"text\"" && words.first() == Some(&b'"') { Block::Words(words) } else { Block::Other }
}

/// Why the client made an error record.
fn failure(error: &[u8], content: &[u8]) -> Failure {
    let words = if memchr::memchr(b'\\', content).is_some() {
        serde_json::from_slice::<Value>(content).map(|value| value.to_string()).unwrap_or_default()
    } else {
        String::from_utf8_lossy(content).into_owned()
    };
    let error = text(error).unwrap_or_default();
    if error == "rate_limit" || LIMIT_WORDS.iter().any(|limit| words.contains(limit)) {
        return Failure::Quota;
    }
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part) || words.contains(part));
    if says(&["overloaded", "API Error: 5", "server_error"]) {
        Failure::Overloaded
    } else if says(&["auth", "billing", "credit", "API Error: 401", "API Error: 403", "Invalid API key"]) {
        Failure::Auth
    } else if says(&["Connection error", "network", "ECONN", "fetch failed"]) {
        Failure::Network
    } else {
        Failure::Other
    }
}
