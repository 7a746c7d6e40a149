//! Session stores: Claude Code trees, Codex rollouts, opencode databases and `LiteLLM` spend logs. Every reader ends in
//! the same rows: model calls by session, day and member. Nothing here judges, joins pools or writes.

mod claude_code;
mod codex;
mod file;
mod fold_claude;
mod fold_codex;
mod groups;
mod index;
mod limits;
mod lines;
mod litellm;
mod names;
mod opencode;
mod queue;
mod scan;
mod skim;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use globset::GlobMatcher;

use self::claude_code::ClaudeFile;
use self::codex::CodexFile;
use self::file::{LineTally, Records};
use self::fold_codex::Ledger;
use self::groups::Groups;
use self::index::InMemory;
pub use self::index::{Draft, Kept, Shelf};
pub use self::limits::LimitWindow;
use self::scan::Taken;
use self::walk::{Faults, Found};
use crate::vocabulary::{CallRow, LimitReading, Place, StoreEvents, StoreKind};

/// How many places and faults of a store are kept word for word.
pub const KEPT: usize = 5;

/// Called now and then with bytes done and bytes in all.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Which calls are of which task class. The first rule whose patterns all match applies.
#[derive(Debug, Clone)]
pub struct ClassRule {
    /// Pattern on the working folder.
    pub folder: Option<GlobMatcher>,
    /// Pattern on the agent or category.
    pub agent: Option<GlobMatcher>,
    /// The class.
    pub class: String,
}

/// One store to read.
#[derive(Debug, Clone)]
pub struct StoreSpec {
    /// Its kind.
    pub kind: StoreKind,
    /// Where it is: a folder, or the file of a database or export.
    pub path: PathBuf,
    /// What it is called in messages.
    pub display: String,
    /// Provider of calls that state none.
    pub provider: Option<String>,
    /// Provider of calls that came through a gateway.
    pub gateway: Option<String>,
    /// Home of every call.
    pub home: Option<String>,
    /// Provider → home, where `home` is not set.
    pub homes: BTreeMap<String, String>,
    /// Task classes.
    pub classes: Vec<ClassRule>,
}

impl StoreSpec {
    /// A store of some kind at a path, with nothing else known.
    pub fn new(kind: StoreKind, path: PathBuf) -> Self {
        let display = path.to_string_lossy().replace('\\', "/");
        let provider = (kind == StoreKind::ClaudeCode).then(|| "anthropic".to_owned());
        Self { kind, path, display, provider, gateway: None, home: None, homes: BTreeMap::new(), classes: Vec::new() }
    }
}

/// What was read, in lines and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreInput {
    /// Files.
    pub files: u64,
    /// Bytes, decompressed.
    pub bytes: u64,
    /// Lines, or rows of a database.
    pub lines: u64,
    /// Lines of blanks.
    pub blank_lines: u64,
    /// Lines that hold no record.
    pub malformed_lines: u64,
    /// Last lines that are still being written.
    pub open_tails: u64,
    /// Longest line in bytes.
    pub longest_line: u64,
}

/// Facts about the counting that a reader of the numbers may want.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreNotes {
    /// Responses without a time, put on the day of their file.
    pub undated: u64,
    /// Records beyond the first of a response.
    pub extra_records: u64,
    /// Cache writes of unknown life time, tokens.
    pub split_unknown: u64,
    /// Codex: counts without counters.
    pub codex_no_info: u64,
    /// Codex: counts that repeat the counters.
    pub codex_unchanged: u64,
    /// Codex: counters that began again.
    pub codex_resets: u64,
    /// Codex: counters that fell without beginning again.
    pub codex_wobbles: u64,
    /// Codex: copies of events that were counted in another file.
    pub codex_replayed: u64,
    /// Codex: tokens of copied work whose own file is gone.
    pub codex_orphan_replay_tokens: u64,
    /// Copies of calls under another id.
    pub copies_dropped: u64,
    /// Calls answered from a cache of the gateway: no model work.
    pub cache_hits: u64,
    /// Rows that are no generation.
    pub not_generation: u64,
    /// Responses with tokens and no bill.
    pub not_billed: u64,
    /// Messages with neither tokens nor an error.
    pub silent: u64,
}

/// One store, read.
#[derive(Debug, Clone, Default)]
pub struct StoreScan {
    /// Its calls, sorted.
    pub rows: Vec<CallRow>,
    /// Things beside calls.
    pub events: StoreEvents,
    /// What was read.
    pub input: StoreInput,
    /// Facts about the counting.
    pub notes: StoreNotes,
    /// Kinds of records with their count.
    pub kinds: BTreeMap<String, u64>,
    /// Of those, kinds that no reader knows.
    pub unknown_kinds: BTreeMap<String, u64>,
    /// The first damaged lines.
    pub damaged: Vec<Place>,
    /// Files and folders that could not be read, with the reason: the first few.
    pub faults: Vec<String>,
    /// How many there are.
    pub fault_count: u64,
    /// What is not known because its record is of another make, one sentence each.
    pub asides: Vec<String>,
    /// Rate-limit windows as last seen, per file.
    pub windows: BTreeMap<String, Vec<LimitWindow>>,
    /// The same as readings of the seat's limits.
    pub limits: Vec<LimitReading>,
    /// What to keep for the next scan, if it changed and is not on a shelf.
    pub index: Option<Vec<u8>>,
    /// Why nothing could be kept for the next scan, if so.
    pub index_fault: Option<String>,
    /// Bytes read this time.
    pub bytes_read: u64,
    /// Files read whole, read on from where they ended, and not read because they did not change.
    pub ways: [u64; 3],
}

/// Reads one store. `joined` are the sessions that other evidence names; `index` is what the last scan kept, and the scan has
/// what to keep for the next.
pub fn read(spec: &StoreSpec, joined: &BTreeSet<String>, index: Option<&[u8]>, progress: Progress<'_>) -> StoreScan {
    let shelf = InMemory::holding(index);
    let scan = read_with(spec, joined, Some(&shelf), progress);
    StoreScan { index: shelf.into_new(), ..scan }
}

/// As [`read`], with the index on a shelf: neither the old one nor the new one is held in memory. Without a shelf nothing is
/// known of earlier scans and nothing is kept.
pub fn read_with(
    spec: &StoreSpec,
    joined: &BTreeSet<String>,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
) -> StoreScan {
    match spec.kind {
        // A pipe or a device may never answer.
        _ if std::fs::metadata(&spec.path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) => {
            let mut scan = StoreScan::default();
            scan.fault(&spec.display, "is not a regular file");
            scan
        }
        StoreKind::ClaudeCode => claude_code(spec, joined, shelf, progress),
        StoreKind::Codex => codex(spec, joined, shelf, progress),
        StoreKind::Opencode => opencode::read(spec, joined, progress),
        StoreKind::Litellm => litellm::read(spec, joined, progress),
    }
}

/// Reads a Claude Code tree.
fn claude_code(
    spec: &StoreSpec,
    joined: &BTreeSet<String>,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
) -> StoreScan {
    const KNOWN: [&str; 12] = [
        "assistant",
        "user",
        "system",
        "summary",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "attachment",
        "custom-title",
        "last-prompt",
        "started",
        "result",
    ];
    let below = if spec.path.join("projects").is_dir() { "projects" } else { "" };
    let (found, faults) = walk::files(&spec.path, &[below], is_transcript);
    let (mut events, mut notes) = (StoreEvents::default(), StoreNotes::default());
    let mut groups = Groups::new(spec, joined);
    let mut fold = fold_claude::Fold::new(spec, &mut groups, &mut events, &mut notes);
    let take = &mut |file: &Taken<'_, ClaudeFile>| fold.take(file.number, &file.state.records);
    let scan = scan_files(spec, &found, faults, shelf, progress, &KNOWN, take);
    fold.finish();
    StoreScan { rows: groups.rows(), events, notes, ..scan }
}

/// Reads Codex rollouts.
fn codex(spec: &StoreSpec, joined: &BTreeSet<String>, shelf: Option<&dyn Shelf>, progress: Progress<'_>) -> StoreScan {
    const KNOWN: [&str; 6] =
        ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "ghost_snapshot"];
    let folders = ["sessions", "archived_sessions"];
    // The setting may name a folder of rollouts itself.
    let has_folders = folders.iter().any(|below| spec.path.join(below).is_dir());
    let is_rollout = |name: &str| is_transcript(name) && (has_folders || name.starts_with("rollout-"));
    let below = if has_folders { &folders[..] } else { &[""] };
    let (found, faults) = walk::files(&spec.path, below, is_rollout);
    let mut fold = fold_codex::Fold::default();
    let take = &mut |file: &Taken<'_, CodexFile>| fold.take(file.number, file.name, &file.state.records);
    let mut scan = scan_files(spec, &found, faults, shelf, progress, &KNOWN, take);
    let mut groups = Groups::new(spec, joined);
    let StoreScan { events, notes, windows, limits, .. } = &mut scan;
    fold.finish(&found, spec, &mut Ledger { groups: &mut groups, events, notes, windows, limits });
    scan.rows = groups.rows();
    scan
}

/// Whether a file name is that of a transcript.
fn is_transcript(name: &str) -> bool {
    walk::ends(name, ".jsonl") || walk::ends(name, ".jsonl.zst")
}

/// Reads the files of a tree, adds up their lines and hands each on.
fn scan_files<R: Records>(
    spec: &StoreSpec,
    found: &Found,
    faults: Faults,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
    known: &[&str],
    take: &mut dyn FnMut(&Taken<'_, R>),
) -> StoreScan {
    let mut scan = StoreScan::default();
    let root = match std::fs::metadata(&spec.path) {
        Ok(meta) if meta.is_dir() => None,
        Ok(_) => Some("is not a folder".to_owned()),
        Err(error) => Some(fault(&error)),
    };
    if let Some(reason) = &root {
        scan.fault(&spec.display, reason);
    }
    let shown = |name: &str| if name.is_empty() { spec.display.clone() } else { format!("{}/{name}", spec.display) };
    for (name, reason) in faults.into_iter().filter(|(name, _)| root.is_none() || !name.is_empty()) {
        scan.fault(&shown(&name), &reason);
    }
    let scanned = scan::scan(found, shelf, progress, &mut |file: Taken<'_, R>| {
        scan.add_lines(&|| shown(file.name), &file.state.tally);
        if let Some(fault) = file.fault {
            scan.fault(&shown(file.name), fault);
        }
        take(&file);
    });
    scan.bytes_read = scanned.bytes_read;
    scan.ways = scanned.ways;
    scan.index_fault = scanned.index_fault;
    scan.input.files = found.len() as u64;
    let unknown = scan.kinds.iter().filter(|(kind, _)| !known.contains(&kind.as_str()));
    scan.unknown_kinds = unknown.map(|(kind, count)| (kind.clone(), *count)).collect();
    scan
}

impl StoreScan {
    /// Whether nothing of the store could be read: every file of it has a fault, or the store itself has.
    pub fn is_lost(&self) -> bool {
        self.fault_count > 0 && self.fault_count >= self.input.files && self.input.lines == 0 && self.rows.is_empty()
    }

    /// Notes a file or folder that could not be read.
    fn fault(&mut self, name: &str, reason: &str) {
        self.fault_count += 1;
        if self.faults.len() < KEPT {
            self.faults.push(format!("{name} {reason}"));
        }
    }

    /// Keeps the place of a record that is none, if it is among the first few.
    fn add_damaged(&mut self, place: impl FnOnce() -> Place) {
        if self.damaged.len() < KEPT {
            self.damaged.push(place());
        }
    }

    /// Adds up the lines of a file.
    fn add_lines(&mut self, name: &dyn Fn() -> String, tally: &LineTally) {
        self.input.bytes += tally.bytes;
        self.input.lines += tally.lines;
        self.input.blank_lines += tally.blank;
        self.input.malformed_lines += tally.malformed;
        self.input.open_tails += tally.open_tails;
        self.input.longest_line = self.input.longest_line.max(tally.longest);
        for line in &tally.damaged {
            self.add_damaged(|| Place::new(name(), usize::try_from(*line).unwrap_or(usize::MAX)));
        }
        for (kind, count) in tally.kinds.iter() {
            match self.kinds.get_mut(kind) {
                Some(known) => *known += count,
                None => drop(self.kinds.insert(kind.to_owned(), count)),
            }
        }
    }
}

/// The class of a working folder and an agent; `unclassified` when no rule applies.
fn class_of<'a>(rules: &'a [ClassRule], folder: Option<&str>, agent: Option<&str>) -> &'a str {
    let fits = |glob: Option<&GlobMatcher>, text: Option<&str>| {
        glob.is_none_or(|glob| text.is_some_and(|text| glob.is_match(text)))
    };
    rules
        .iter()
        .find(|rule| fits(rule.folder.as_ref(), folder) && fits(rule.agent.as_ref(), agent))
        .map_or("unclassified", |rule| &rule.class)
}

/// The bytes of a file; the error is a fragment without the path.
pub fn whole_file(path: &std::path::Path) -> Result<Vec<u8>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => std::fs::read(path).map_err(|error| fault(&error)),
        Ok(_) => Err("is not a regular file".to_owned()),
        Err(error) => Err(fault(&error)),
    }
}

/// What went wrong with a file, without the path and without the words of one operating system.
fn fault(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        kind => format!("cannot be read: {kind}"),
    }
}

impl StoreScan {
    /// What to say about the reading and counting of a store, one sentence each.
    pub fn remarks(&self, name: &str) -> Vec<String> {
        let responses: u64 = self.rows.iter().map(|row| row.sums.responses).sum();
        let incomplete: u64 = self.rows.iter().map(|row| row.sums.output_incomplete).sum();
        let StoreInput { files, lines, malformed_lines, open_tails, .. } = self.input;
        let mut remarks = vec![format!("{name}: {responses} responses in {files} files and {lines} lines")];
        let damaged: Vec<String> = self.damaged.iter().map(ToString::to_string).collect();
        let kinds = |kinds: &BTreeMap<String, u64>| {
            kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
        };
        let notes = &self.notes;
        let facts = [
            (malformed_lines, format!("damaged lines, the first: {}", damaged.join(", "))),
            (open_tails, "last lines still being written: read next time".to_owned()),
            (self.fault_count, format!("files or folders not read: {}", self.faults.join("; "))),
            (incomplete, format!("of {responses} responses have no final count; the output sum is a lower bound")),
            (self.unknown_kinds.values().sum(), format!("records of unknown kinds: {}", kinds(&self.unknown_kinds))),
            (notes.undated, "responses without a time, put on the day of their file".to_owned()),
            (notes.split_unknown, "tokens written to cache for an unknown time: not priced".to_owned()),
            (notes.codex_orphan_replay_tokens, "tokens of copied work whose own file is gone: not counted".to_owned()),
            (notes.copies_dropped, "copies of calls under another id: not counted".to_owned()),
            (notes.cache_hits, "answers from a cache: left out".to_owned()),
            (notes.not_generation, "calls that generate nothing: left out".to_owned()),
            (notes.not_billed, "responses with tokens and no bill: cost unknown".to_owned()),
            (
                notes.silent,
                "messages without tokens and without an error, as those still under way: not counted".to_owned(),
            ),
        ];
        remarks.extend(
            facts.into_iter().filter(|(count, _)| *count > 0).map(|(count, fact)| format!("{name}: {count} {fact}")),
        );
        remarks.extend(self.asides.iter().map(|aside| format!("{name}: {aside}")));
        remarks
    }
}
