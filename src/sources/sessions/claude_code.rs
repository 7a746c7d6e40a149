//! Claude Code session files: one response is several records that share `message.id`; of all of them the field-wise
//! maximum counts (reference sessions §1, §7.1).

mod record;
mod response;
mod words;

use serde::{Deserialize, Serialize};

use super::file::{Kinds, Records};
use super::names::{Id, Names, Places};
use super::skim::{Odd, millis, says, text};
pub(super) use record::effort;
use record::{Message, Record, Usage};
pub(super) use response::{Claims, Response};
pub(super) use words::Failure;
use words::{Words, failure, words};

/// No instant.
pub(super) const NO_TIME: i64 = i64::MIN;

/// What one file says of one response. Model, effort, session and folder are numbers of the file's names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Sighting {
    /// What its records say.
    pub(super) response: Response,
    /// Model.
    pub(super) model: u32,
    /// Effort.
    pub(super) effort: u32,
    /// Session.
    pub(super) session: u32,
    /// Folder.
    pub(super) folder: u32,
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
    /// The end of the response before, which a clock set back may put behind the next.
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
    /// Records so far.
    records: u64,
    /// Whether it is bookkeeping without usage.
    is_journal: bool,
    /// Response → place in `sightings`, while the file is read.
    #[serde(skip)]
    places: Places<Id>,
    /// Writer → place in `chains`, while the file is read.
    #[serde(skip)]
    writers: Places<Vec<u8>>,
    /// The writer of the last record.
    #[serde(skip)]
    writer: usize,
}

impl Records for ClaudeFile {
    const TAG: u8 = b'a';

    fn begin(name: &str) -> Self {
        Self {
            names: Names::default(),
            sightings: Vec::new(),
            marks: Vec::new(),
            dated: NO_TIME,
            chains: Vec::new(),
            records: 0,
            is_journal: name.rsplit('/').next().is_some_and(|name| name.starts_with("journal.")),
            places: Places::default(),
            writers: Places::default(),
            writer: 0,
        }
    }

    fn object(&mut self, object: &[u8], kinds: &mut Kinds) -> Result<(), Odd> {
        let record = Record::of(object)?;
        let kind = text(record.kind);
        let message = &record.message;
        let is_answer = kind.is_none() && says(message.role, "assistant");
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
        self.places = Places::default();
        self.writers = Places::default();
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
        let is_own = says(message.model, "<synthetic>") || record.is_error;
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
            "system" if says(record.subtype, "api_error") => {
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
        let key = [&[u8::from(record.is_side)], record.session, record.agent].concat();
        let known = self.writers.of(&key, self.chains.len(), |at| self.chains[at].0.clone());
        self.writer = known.unwrap_or_else(|| {
            let chain = Chain { input: NO_TIME, end: NO_TIME, has_error: false, model: 0, effort: 0 };
            self.chains.push((key, chain));
            self.chains.len() - 1
        });
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
        let (id, is_nameless) = self.response_id(record, message);
        let model = self.names.optional(text(message.model).as_deref());
        let effort = self.names.optional(effort(record.effort).or_else(|| effort(message.effort)).as_deref());
        let known = self.place(id);
        let place = known.unwrap_or_else(|| {
            let session = self.names.optional(text(record.session).as_deref());
            let folder = self.names.optional(text(record.folder).as_deref());
            let response = Response::new(id, is_nameless);
            self.sightings.push(Sighting { response, model: 0, effort: 0, session, folder });
            self.sightings.len() - 1
        });
        let chain = &mut self.chains[self.writer].1;
        let sighting = &mut self.sightings[place];
        let is_better = sighting.response.claims.has(Claims::SIDE) && !record.is_side && known.is_some();
        if known.is_none() || is_better {
            sighting.response.start =
                if chain.input == NO_TIME || chain.has_error { NO_TIME } else { chain.input.max(chain.end) };
        }
        if model != 0 && (sighting.model == 0 || is_better) {
            sighting.model = model;
        }
        if effort != 0 && (sighting.effort == 0 || is_better) {
            sighting.effort = effort;
        }
        sighting.response.take(record, usage, at);
        if at != NO_TIME {
            chain.end = at;
        }
        (chain.has_error, chain.model, chain.effort) = (false, sighting.model, sighting.effort);
    }

    /// Where a response stands in this file. Most records repeat the one before them.
    fn place(&mut self, id: Id) -> Option<usize> {
        let length = self.sightings.len();
        if self.sightings.last().is_some_and(|last| last.response.id == id) {
            return Some(length - 1);
        }
        self.places.of(&id, length, |at| self.sightings[at].response.id)
    }

    /// The identity of a response: `message.id`, else `uuid`, else the record; and whether it is the last.
    fn response_id(&self, record: &Record<'_>, message: &Message<'_>) -> (Id, bool) {
        match (text(message.id), text(record.uuid)) {
            (Some(id), _) => (Id::of(b'm', id.as_bytes()), false),
            (None, Some(uuid)) => (Id::of(b'a', uuid.as_bytes()), false),
            (None, None) => (Id::of(b'n', &self.records.to_le_bytes()), true),
        }
    }
}
