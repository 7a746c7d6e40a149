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
mod overlaps;
mod queue;
mod remarks;
mod scan;
mod skim;
mod trees;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use self::file::LineTally;
use self::index::InMemory;
pub use self::index::{Draft, Kept, Shelf};
pub use self::limits::LimitWindow;
pub use self::overlaps::without_overlaps;
use self::trees::is_transcript;
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
    /// Every folder of a store of several, with what each is called; empty for a store of one.
    pub roots: Vec<(PathBuf, String)>,
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
        let (roots, homes, classes) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { kind, path, roots, display, provider, gateway: None, home: None, homes, classes }
    }

    /// A store at a path that starts at the workspace. Of Claude Code it may be a list with commas, as `CLAUDE_CONFIG_DIR` may be:
    /// several folders are one store, and ids are unique over all of them.
    pub fn below(kind: StoreKind, workspace: &Path, path: &Path) -> Self {
        let mut spec = Self::new(kind, workspace.join(path));
        spec.display = path.to_string_lossy().replace('\\', "/");
        let parts: Vec<&str> = spec.display.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        if kind == StoreKind::ClaudeCode && parts.len() > 1 && !spec.path.exists() {
            spec.roots = parts.into_iter().map(|part| (workspace.join(part), part.to_owned())).collect();
        }
        spec
    }

    /// Its folders, or its file, with what each is called.
    pub fn tops(&self) -> Vec<(&Path, &str)> {
        if self.roots.is_empty() {
            return vec![(&self.path, &self.display)];
        }
        self.roots.iter().map(|(path, shown)| (path.as_path(), shown.as_str())).collect()
    }

    /// What a file of it is called.
    fn shown(&self, name: &str) -> String {
        match (name.is_empty(), self.roots.is_empty()) {
            (true, _) => self.display.clone(),
            (false, true) => format!("{}/{name}", self.display),
            (false, false) => name.to_owned(),
        }
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
    /// Rows of calls that stand in other rows too: exports overlap.
    pub repeated: u64,
    /// Responses that state more tokens than are counted.
    pub capped: u64,
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
    /// Of the last lines still being written, those of files that were cut off: nobody writes on.
    pub cut_tails: u64,
    /// What files do not say at all, one sentence each.
    pub gaps: BTreeSet<String>,
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
        StoreKind::ClaudeCode => trees::claude_code(spec, joined, shelf, progress),
        StoreKind::Codex => trees::codex(spec, joined, shelf, progress),
        StoreKind::Opencode => opencode::read(spec, joined, progress),
        StoreKind::Litellm => litellm::read(spec, joined, progress),
    }
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

/// The bytes of a file; the error is a fragment without the path.
pub fn whole_file(path: &std::path::Path) -> Result<Vec<u8>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => std::fs::read(path).map_err(|error| fault(&error)),
        Ok(_) => Err("is not a regular file".to_owned()),
        Err(error) => Err(fault(&error)),
    }
}

/// What is wrong with a file that is packed with gzip.
const GZIP: &str = "is packed with gzip, which is not read: unpack it, or pack it with zstd";

/// Whether a file is packed with gzip, whatever its name.
fn is_gzip(mut source: &std::fs::File) -> bool {
    use std::io::Read as _;
    let mut head = [0; 2];
    source.read_exact(&mut head).is_ok() && head == [0x1f, 0x8b]
}

/// What went wrong with a file, without the path and without the words of one operating system.
fn fault(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        kind => format!("cannot be read: {kind}"),
    }
}
