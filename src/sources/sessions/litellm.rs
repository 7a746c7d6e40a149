//! `LiteLLM` spend logs as exported: CSV or JSONL with the names of the table (reference sessions §4). Cached tokens
//! stand inside the prompt; a cached answer is no model work; times are naive UTC.

mod entry;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, Seek as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::groups::{Call, Groups, MIN_BUSY_MS, MIN_OUTPUT, timed};
use super::lines::Block;
use super::names::Id;
use super::{Progress, StoreScan, StoreSpec, walk};
use crate::vocabulary::{Bill, StatedPool, Timed};
use entry::{COLUMNS, Cell, Entry, Part, text};

/// Columns without which a file is no export.
const NEEDED: [&str; 4] = ["startTime", "endTime", "model", "completion_tokens"];

/// Columns without which an export is read, and what then nobody knows.
const TELLING: [(&str, &str); 6] = [
    ("status", "failed calls count as answered"),
    ("metadata", "cached tokens, retries, efforts and classes of errors are unknown"),
    ("cache_hit", "answers from a cache count as calls"),
    ("call_type", "calls that generate nothing count as well"),
    ("spend", "no bill is known"),
    ("request_id", "calls are told apart by times, model and tokens"),
];

/// Reads an export: one file, or every `.csv` and `.jsonl` of a folder. Exports overlap, so a call may stand in several rows. Rows
/// that say the same count once, as they come. Where they differ, everything is read again and the greatest of them counts, so that no
/// order of files and rows decides.
pub(super) fn read(spec: &StoreSpec, joined: &BTreeSet<String>, progress: Progress<'_>) -> StoreScan {
    let mut scan = StoreScan::default();
    let files: Vec<(PathBuf, String)> = if spec.path.is_dir() {
        let (files, faults) =
            walk::files(&spec.path, &[""], |name| walk::ends(name, ".csv") || walk::ends(name, ".jsonl"));
        for (name, reason) in faults {
            scan.fault(&format!("{}/{name}", spec.display), &reason);
        }
        files.iter().map(|file| (file.path, format!("{}/{}", spec.display, file.name))).collect()
    } else {
        vec![(spec.path.clone(), spec.display.clone())]
    };
    let export = Export::of(spec, joined, scan.clone(), BTreeSet::new()).read(&files, progress);
    if export.contested.is_empty() {
        return export.finish();
    }
    let contested = export.contested;
    Export::of(spec, joined, scan, contested).read(&files, progress).finish()
}

/// A row that was seen, by its identity alone.
struct Seen {
    /// Its identity.
    id: Id,
    /// A digest of what it says.
    digest: u64,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Seen {}

impl Hash for Seen {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// An export under way.
struct Export<'a> {
    /// Groups.
    groups: Groups<'a>,
    /// Rows seen.
    seen: HashSet<Seen>,
    /// Calls of which this reading found differing rows.
    contested: BTreeSet<Id>,
    /// Calls of which the reading before found differing rows, with the greatest so far.
    rivals: BTreeMap<Id, Option<Entry>>,
    /// What was found.
    scan: StoreScan,
}

impl<'a> Export<'a> {
    /// Nothing read yet.
    fn of(spec: &'a StoreSpec, joined: &'a BTreeSet<String>, scan: StoreScan, contested: BTreeSet<Id>) -> Self {
        let rivals = contested.into_iter().map(|id| (id, None)).collect();
        Self { groups: Groups::new(spec, joined), seen: HashSet::new(), contested: BTreeSet::new(), rivals, scan }
    }

    /// Reads the files.
    fn read(mut self, files: &[(PathBuf, String)], progress: Progress<'_>) -> Self {
        for (at, (path, shown)) in files.iter().enumerate() {
            progress(at as u64, files.len() as u64);
            self.scan.input.files += 1;
            self.scan.input.bytes += path.metadata().map_or(0, |meta| meta.len());
            let result = if path.extension().is_some_and(|ending| ending == "jsonl") {
                self.jsonl(path, shown)
            } else {
                self.csv(path, shown)
            };
            if let Err(fault) = result {
                self.scan.fault(shown, &fault);
            }
        }
        self
    }

    /// What was found.
    fn finish(mut self) -> StoreScan {
        for entry in std::mem::take(&mut self.rivals).into_values().flatten() {
            self.take(&entry);
        }
        self.scan.rows = self.groups.rows();
        self.scan.bytes_read = self.scan.input.bytes;
        self.scan
    }

    /// Reads a CSV file.
    fn csv(&mut self, path: &Path, shown: &str) -> Result<(), String> {
        let file = opened(path)?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(BufReader::with_capacity(1 << 18, file));
        let header = reader.byte_headers().map_err(|_| "is not CSV".to_owned())?.clone();
        let place = |name: &str| header.iter().position(|column| column == name.as_bytes());
        if let Some(missing) = NEEDED.iter().find(|needed| place(needed).is_none()) {
            return Err(format!("has no column {missing}"));
        }
        self.gaps(shown, &|name| place(name).is_some());
        let places = COLUMNS.map(place);
        let (session, metadata) = (place("session_id"), place("metadata"));
        let mut record = csv::ByteRecord::new();
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    // A row that was cut, or one whose open quote took in what follows: no cell of it is where it belongs.
                    if record.len() != header.len() {
                        self.scan.input.lines += 1;
                        self.damaged(shown, line);
                        continue;
                    }
                    let cell = |place: Option<usize>| cell(&record, place);
                    let metadata = cell(metadata).map_or(Value::Null, |text| json(&text));
                    self.row(&places.map(cell), &cell(session), &metadata, (shown, line));
                }
                Err(error) => return Err(format!("ends early: {:?}", error.kind())),
            }
        }
    }

    /// Reads a JSONL file.
    fn jsonl(&mut self, path: &Path, shown: &str) -> Result<(), String> {
        let file = opened(path)?;
        let mut number = 0;
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let read = Block::default().each_line(&file, u64::MAX, |line| {
            number += 1;
            match serde_json::from_slice::<Value>(line.bytes) {
                Ok(Value::Object(mut cells)) => {
                    known.extend(TELLING.map(|(name, _)| name).iter().filter(|name| cells.contains_key(**name)));
                    let metadata = match cells.remove("metadata") {
                        Some(Value::String(text)) => json(&text),
                        other => other.unwrap_or_default(),
                    };
                    let column = |name: &str| text(&cells, name);
                    self.row(&COLUMNS.map(column), &column("session_id"), &metadata, (shown, number));
                }
                Err(_) if line.bytes.trim_ascii().is_empty() => self.scan.input.blank_lines += 1,
                Err(_) if !line.is_closed => self.scan.input.open_tails += 1,
                Ok(_) | Err(_) => self.damaged(shown, number),
            }
        });
        if number > 0 {
            self.gaps(shown, &|name| known.contains(name));
        }
        read.map(drop).map_err(|error| super::fault(&error))
    }

    /// Says which columns that tell something are not there.
    fn gaps(&mut self, shown: &str, has: &dyn Fn(&str) -> bool) {
        let missing = TELLING.iter().filter(|(name, _)| !has(name));
        self.scan.gaps.extend(missing.map(|(name, so)| format!("{shown} has no column {name}: {so}")));
    }

    /// Counts a row that is none.
    fn damaged(&mut self, shown: &str, line: u64) {
        self.scan.input.malformed_lines += 1;
        if self.scan.damaged.len() < super::KEPT {
            self.scan.damaged.push(crate::vocabulary::Place::new(shown, usize::try_from(line).unwrap_or(0)));
        }
    }

    /// Takes one row.
    fn row(
        &mut self,
        cells: &[Cell<'_>; COLUMNS.len()],
        session: &Cell<'_>,
        metadata: &Value,
        (shown, line): (&str, u64),
    ) {
        self.scan.input.lines += 1;
        let Some((entry, id)) = Entry::of(cells, session, metadata) else { return self.damaged(shown, line) };
        if let Some(greatest) = self.rivals.get_mut(&id) {
            self.scan.notes.repeated += u64::from(greatest.is_some());
            *greatest = Some(entry).max(greatest.take());
            return;
        }
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        let row = Seen { id, digest: hasher.finish() };
        if let Some(known) = self.seen.get(&row) {
            self.scan.notes.repeated += 1;
            if known.digest != row.digest {
                self.contested.insert(id);
            }
            return;
        }
        self.seen.insert(row);
        self.take(&entry);
    }

    /// Takes a row that is no copy.
    fn take(&mut self, row: &Entry) {
        match row.part {
            Part::NotGeneration => self.scan.notes.not_generation += 1,
            Part::CacheHit => self.scan.notes.cache_hits += 1,
            Part::Call => {
                let call = self.call(row);
                self.count(row, &call);
            }
        }
    }

    /// The group of a row.
    fn call(&mut self, row: &Entry) -> Call {
        let stated = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        let mut name = |text: &str| self.groups.names.optional(Some(text).filter(|text| !text.is_empty()));
        let (provider, model, effort) = (name(&row.provider), name(&row.model), name(&row.effort));
        let pool = stated(&row.pool).map_or(StatedPool::Nothing, StatedPool::Session);
        Call {
            at: row.end,
            session: self.groups.session(stated(&row.session).as_deref()),
            stated: self.groups.stated(pool),
            provider,
            model,
            effort,
            charge: row.charge(),
            ..Call::default()
        }
    }

    /// Counts a row.
    fn count(&mut self, row: &Entry, call: &Call) {
        let sums = self.groups.sums(call);
        sums.calls += 1;
        sums.retries += row.retries;
        self.scan.events.retries += row.retries;
        sums.bill(row.spend(), row.is_response());
        if let Some(class) = row.failure {
            sums.infra += u64::from(row.is_infra);
            *sums.failures.entry(class).or_default() += 1;
            self.scan.events.api_errors += 1;
        } else if row.is_response() {
            sums.responses += 1;
            self.scan.notes.not_billed += u64::from(call.charge.bill == Bill::Nothing);
        }
        sums.input_tokens += row.input;
        sums.cache_read_tokens += row.cache_read;
        sums.cache_write_tokens += row.cache_write;
        sums.cache_write_unknown_tokens += row.cache_write;
        sums.output_tokens += row.output;
        if row.failure.is_some() || row.retries > 0 {
            return;
        }
        sums.timed.extend(timed(row.output, row.busy_ms()));
        if let (Some(first), Some(busy)) = (row.first_ms, row.busy_ms()) {
            sums.first_token_ms.extend(u64::try_from(first));
            if busy - first >= MIN_BUSY_MS && row.output >= MIN_OUTPUT {
                sums.decoded.push(Timed { output: row.output, ms: (busy - first).unsigned_abs() });
            }
        }
    }
}

/// A file to read, if it is not packed.
fn opened(path: &Path) -> Result<File, String> {
    let fault = |error: std::io::Error| super::fault(&error);
    let mut file = File::open(path).map_err(fault)?;
    if super::is_gzip(&file) {
        return Err(super::GZIP.to_owned());
    }
    file.rewind().map_err(fault)?;
    Ok(file)
}

/// The text of a CSV cell; an empty one is not there.
fn cell(record: &csv::ByteRecord, place: Option<usize>) -> Cell<'_> {
    let bytes = record.get(place?).filter(|bytes| !bytes.is_empty())?;
    Some(String::from_utf8_lossy(bytes))
}

/// JSON in a cell; null where it is none. `parse` is compiled with the parser, which is optimised in every profile.
fn json(text: &str) -> Value {
    text.parse().unwrap_or_default()
}
