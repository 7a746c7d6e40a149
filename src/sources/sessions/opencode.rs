//! opencode's store: its database of either generation, the routing tables beside it, and the JSON files of older
//! releases. Read-only; tables of accounts and credentials are never named (references sessions §3, pools §4).

mod database;
mod limits;
mod message;
mod routes;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::claude_code::{Failure, NO_TIME};
use super::codex::inside;
use super::fold_claude::failed;
use super::groups::{Call, Groups, MIN_BUSY_MS, MIN_OUTPUT, timed};
use super::names::{Id, Names};
use super::{Progress, StoreScan, StoreSpec, walk};
use crate::vocabulary::{Bill, Charge, StatedPool, Timed};
use limits::RouteLimits;
use message::{Message, Trouble};
use routes::Attempts;

/// Largest message file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Everything the files of one store say.
#[derive(Default)]
pub(super) struct Found {
    /// Names by number.
    names: Names,
    /// Assistant messages and compactions.
    messages: Vec<Message>,
    /// Ids of them: a database row beats a file.
    ids: HashSet<Id>,
    /// Session → what is known of it.
    sessions: BTreeMap<u32, Session>,
    /// Tool intervals per message.
    tools: BTreeMap<Id, Vec<(i64, i64)>>,
    /// What the router logged.
    attempts: Attempts,
    /// What providers told the router of their limits.
    limits: RouteLimits,
}

/// What a session table says of a session.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The pool it was opened on.
    pool: Option<String>,
    /// Whether a session spawned it.
    is_side: bool,
    /// Its folder.
    folder: u32,
}

/// Reads an opencode store: a data folder, or one database file.
pub(super) fn read(spec: &StoreSpec, joined: &BTreeSet<String>, progress: Progress<'_>) -> StoreScan {
    let mut scan = StoreScan::default();
    let mut found = Found::default();
    let (databases, faults) = databases(&spec.path);
    if databases.is_empty() && faults.is_empty() && !spec.path.join("storage").is_dir() {
        scan.fault(&spec.display, "holds neither opencode*.db nor storage/");
    }
    let shown = |name: &str| if name.is_empty() { spec.display.clone() } else { format!("{}/{name}", spec.display) };
    for (name, reason) in faults {
        scan.fault(&shown(&name), &reason);
    }
    for database in &databases {
        let shown = shown(&database.name);
        scan.input.files += 1;
        scan.input.bytes += database.size;
        if let Err(fault) = database::read(&database.path, &shown, &mut found, &mut scan) {
            scan.fault(&shown, &fault);
        }
    }
    json_files(spec, &mut found, &mut scan, progress);
    scan.bytes_read = scan.input.bytes;
    scan.limits = std::mem::take(&mut found.limits).into_readings(spec.home.as_deref()).collect();
    fold(found, spec, joined, &mut scan);
    scan
}

/// A database of a store.
struct DatabaseFile {
    /// Where it is.
    path: PathBuf,
    /// Its name in the folder; empty when the store is the file itself.
    name: String,
    /// Its size in bytes.
    size: u64,
}

/// The databases of a store: the file itself, or `opencode.db` and its channels in the folder, and what is none though it is
/// called so. Pipes and devices are never opened.
fn databases(path: &Path) -> (Vec<DatabaseFile>, walk::Faults) {
    let names: Vec<String> = if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("opencode") && walk::ends(name, ".db")).collect()
    } else {
        vec![String::new()]
    };
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for name in names {
        let path = if name.is_empty() { path.to_owned() } else { path.join(&name) };
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => found.push(DatabaseFile { path, name, size: meta.len() }),
            Ok(_) => faults.push((name, "is not a regular file".to_owned())),
            Err(error) => faults.push((name, super::fault(&error))),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    faults.sort();
    (found, faults)
}

/// The one JSON object of some bytes. Broken UTF-8, a byte-order mark and NUL bytes around it do not matter; the error is a
/// fragment.
fn object(bytes: &[u8]) -> Result<Value, String> {
    let is_nothing = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let mut bytes = bytes;
    while let Some(rest) = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .or_else(|| bytes.split_first().filter(|(first, _)| is_nothing(first)).map(|(_, rest)| rest))
    {
        bytes = rest;
    }
    let end = bytes.iter().rposition(|byte| !is_nothing(byte)).map_or(0, |at| at + 1);
    let bytes = &bytes[..end];
    let value: Value = serde_json::from_slice(bytes)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(bytes)))
        .map_err(|error| format!("is not JSON: line {}", error.line()))?;
    if value.is_object() { Ok(value) } else { Err("is no JSON object".to_owned()) }
}

/// Reads `storage/message/<session>/<message>.json`. Ids come from the path: those inside may be stale.
fn json_files(spec: &StoreSpec, found: &mut Found, scan: &mut StoreScan, progress: Progress<'_>) {
    let (files, faults) = walk::files(&spec.path, &["storage/message"], |name| walk::ends(name, ".json"));
    for (name, reason) in faults {
        scan.fault(&format!("{}/{name}", spec.display), &reason);
    }
    let total: u64 = files.iter().map(|file| file.stat.size).sum();
    let mut done = 0;
    for file in files.iter() {
        done += file.stat.size;
        progress(done, total);
        scan.input.files += 1;
        scan.input.bytes += file.stat.size;
        let mut parts = file.name.rsplit('/');
        let name = parts.next().unwrap_or_default();
        let id = name.strip_suffix(".json").unwrap_or(name);
        let session = parts.next().unwrap_or_default();
        let data = if file.stat.size > MOST_BYTES {
            Err(format!("is larger than {} MiB", MOST_BYTES >> 20))
        } else {
            std::fs::read(&file.path).map_err(|error| super::fault(&error)).and_then(|bytes| object(&bytes))
        };
        match data {
            Ok(data) => {
                if let Some(message) = Message::of_v1(id, session, &data, &mut found.names) {
                    found.add(message);
                }
            }
            Err(fault) => {
                scan.input.malformed_lines += 1;
                scan.fault(&format!("{}/{}", spec.display, file.name), &fault);
            }
        }
    }
}

impl Found {
    /// Adds a message unless its id is known.
    fn add(&mut self, message: Message) {
        if self.ids.insert(message.id) {
            self.messages.push(message);
        }
    }
}

/// Counts every message once, by id; a copy under another id counts with the first.
fn fold(mut found: Found, spec: &StoreSpec, joined: &BTreeSet<String>, scan: &mut StoreScan) {
    let mut groups = Groups::new(spec, joined);
    let map = super::fold_claude::translate(&found.names, &mut groups);
    found.messages.sort_by(|a, b| a.text_id.cmp(&b.text_id));
    let mut copies: HashSet<Id> = HashSet::new();
    for message in &found.messages {
        if message.copy_key().is_some_and(|key| !copies.insert(key)) {
            scan.notes.copies_dropped += 1;
            continue;
        }
        take(message, &found, &map, &mut groups, scan);
    }
    routes::loose(&found.attempts, &found.ids, &map, &mut groups, scan);
    scan.rows = groups.rows();
}

/// Counts one message.
fn take(message: &Message, found: &Found, map: &[u32], groups: &mut Groups<'_>, scan: &mut StoreScan) {
    let session = found.sessions.get(&message.session);
    let attempts = found.attempts.of(message.id);
    let stated = match (attempts.last(), session.and_then(|session| session.pool.clone())) {
        (Some(attempt), _) => StatedPool::Attempt(attempt.pool.clone()),
        (None, Some(pool)) => StatedPool::Session(pool),
        (None, None) => StatedPool::Nothing,
    };
    let folder = if message.folder == 0 { session.map_or(0, |session| session.folder) } else { message.folder };
    let call = Call {
        at: if message.completed == NO_TIME { message.created } else { message.completed },
        session: groups.joined_session(map[message.session as usize]),
        stated: groups.stated(stated),
        provider: map[message.provider as usize],
        model: map[message.model as usize],
        effort: map[message.effort as usize],
        folder: map[folder as usize],
        agent: map[message.agent as usize],
        is_fast: false,
        charge: message.charge(),
    };
    if message.has_tokens() {
        let is_side = session.is_some_and(|session| session.is_side);
        answered(message, is_side, found, &call, groups, scan);
    } else {
        unanswered(message, attempts.is_empty(), &call, groups, scan);
        groups.sums(&call).calls += u64::from(attempts.iter().any(|attempt| attempt.is_success));
    }
    routes::count(attempts, &call, map, groups, scan);
}

/// A call without tokens: failed, cut short, or still under way. Where the router logged its attempts, they speak.
fn unanswered(message: &Message, is_unlogged: bool, call: &Call, groups: &mut Groups<'_>, scan: &mut StoreScan) {
    match message.trouble {
        Some(Trouble::Cut) => scan.events.interrupts += 1,
        Some(Trouble::Failed(failure)) if is_unlogged => failed(failure, call, groups, &mut scan.events),
        Some(Trouble::Context) if is_unlogged => {
            scan.events.api_errors += 1;
            let sums = groups.sums(call);
            sums.calls += 1;
            *sums.failures.entry("context").or_default() += 1;
        }
        _ => {}
    }
}

/// A call with tokens.
fn answered(
    message: &Message,
    is_side: bool,
    found: &Found,
    call: &Call,
    groups: &mut Groups<'_>,
    scan: &mut StoreScan,
) {
    let sums = groups.sums(call);
    sums.calls += 1;
    sums.responses += 1;
    sums.sidechain_responses += u64::from(is_side);
    sums.input_tokens += message.input;
    sums.cache_read_tokens += message.cache_read;
    sums.cache_write_tokens += message.cache_write;
    sums.cache_write_unknown_tokens += message.cache_write;
    sums.output_tokens += message.output;
    sums.reasoning_tokens += message.reasoning;
    sums.retries += message.retries;
    scan.events.retries += message.retries;
    sums.bill(message.cost.unwrap_or(0.0), true);
    scan.notes.not_billed += u64::from(call.charge.bill == Bill::Nothing);
    if message.trouble.is_some() || message.is_compaction || message.retries > 0 {
        return;
    }
    if let Some(attempt) = found.attempts.of(message.id).iter().rev().find(|attempt| attempt.is_success) {
        attempt.time(message.output, sums);
    } else {
        let tools = found.tools.get(&message.id).map_or(&[][..], Vec::as_slice);
        sums.timed.extend(timed(message.output, message.busy_ms(tools)));
    }
}

impl Message {
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
        Charge { bill: Bill::of(self.cost), ..Charge::of(tokens) }
    }
}

impl routes::Attempt {
    /// Adds the times of a successful attempt.
    fn time(&self, output: u64, sums: &mut crate::vocabulary::CallSums) {
        if !self.is_timed {
            return;
        }
        sums.timed.extend(timed(output, self.response_ms));
        let (Some(response), Some(first)) = (self.response_ms, self.first_token_ms) else { return };
        sums.first_token_ms.extend(u64::try_from(first));
        if response - first >= MIN_BUSY_MS && output >= MIN_OUTPUT {
            sums.decoded.push(Timed { output, ms: (response - first).unsigned_abs() });
        }
    }
}

/// Why a status code failed a call.
fn of_status(status: i64) -> Failure {
    match status {
        429 => Failure::RateLimited,
        401..=403 => Failure::Auth,
        500..=599 => Failure::Overloaded,
        _ => Failure::Other,
    }
}
