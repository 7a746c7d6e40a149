//! opencode's store: its database of either generation, the routing tables beside it, and the JSON files of older
//! releases. Read-only; tables of accounts and credentials are never named (references sessions §3, pools §4).

mod columns;
mod count;
mod database;
mod files;
mod limits;
mod message;
mod routes;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::names::{Id, Names};
use super::{Progress, StoreScan, StoreSpec, walk};
use limits::RouteLimits;
use message::{Message, member};
use routes::Attempts;

/// Provider of sessions that are on a pool.
const ROUTE: &str = "opencode-route";

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

/// What a store says of a session.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The pool it is on.
    pool: Option<String>,
    /// The provider, model and effort it is on; zeros on a pool, and where none is stated.
    member: [u32; 3],
    /// Whether a session spawned it.
    is_side: bool,
    /// Its folder.
    folder: u32,
    /// Its agent: that of messages that name none.
    agent: u32,
}

impl Session {
    /// A session on a model or pool.
    fn on(model: &Value, names: &mut Names) -> Self {
        let pool = model["id"].as_str().filter(|_| model["providerID"] == ROUTE).map(str::to_owned);
        Self { pool, member: member(model, names), ..Self::default() }
    }
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
    files::read(spec, &mut found, &mut scan, progress);
    scan.bytes_read = scan.input.bytes;
    scan.limits = std::mem::take(&mut found.limits).into_readings(spec.home.as_deref()).collect();
    count::fold(found, spec, joined, &mut scan);
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

impl Found {
    /// Adds a message unless its id is known.
    fn add(&mut self, message: Message) {
        if self.ids.insert(message.id) {
            self.messages.push(message);
        }
    }
}
