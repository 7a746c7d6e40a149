//! `LiteLLM` spend logs as exported: CSV or JSONL with the names of the table (reference sessions §4). Cached tokens
//! stand inside the prompt; a cached answer is no model work; times are naive UTC.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;

use super::claude_code::NO_TIME;
use super::groups::{Call, Groups, MIN_BUSY_MS, MIN_OUTPUT, timed};
use super::lines::Block;
use super::names::Id;
use super::{Progress, StoreScan, StoreSpec, walk};
use crate::vocabulary::{StatedPool, Timed, used};

/// Calls that generate.
const GENERATION: [&str; 7] = [
    "completion",
    "acompletion",
    "text_completion",
    "atext_completion",
    "responses",
    "aresponses",
    "anthropic_messages",
];
/// Errors of availability, and their class.
const INFRA: [(&str, &str); 7] = [
    ("RateLimitError", "rate_limited"),
    ("ServiceUnavailableError", "overloaded"),
    ("InternalServerError", "overloaded"),
    ("APIConnectionError", "network"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("BudgetExceededError", "credits"),
];
/// Columns without which a file is no export.
const NEEDED: [&str; 4] = ["startTime", "endTime", "model", "completion_tokens"];

/// Reads an export: one file, or every `.csv` and `.jsonl` of a folder.
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
    let mut export = Export { groups: Groups::new(spec, joined), seen: HashSet::new(), scan: &mut scan };
    for (at, (path, shown)) in files.iter().enumerate() {
        progress(at as u64, files.len() as u64);
        export.scan.input.files += 1;
        export.scan.input.bytes += path.metadata().map_or(0, |meta| meta.len());
        let result = if path.extension().is_some_and(|ending| ending == "jsonl") {
            export.jsonl(path, shown)
        } else {
            export.csv(path, shown)
        };
        if let Err(fault) = result {
            export.scan.fault(shown, &fault);
        }
    }
    let rows = export.groups.rows();
    scan.rows = rows;
    scan.bytes_read = scan.input.bytes;
    scan
}

/// An export under way.
struct Export<'a, 's> {
    /// Groups.
    groups: Groups<'a>,
    /// Rows seen, by request id or by what they say.
    seen: HashSet<Id>,
    /// What was found.
    scan: &'s mut StoreScan,
}

/// One row by column name.
type Cells = BTreeMap<String, Value>;

impl Export<'_, '_> {
    /// Reads a CSV file.
    fn csv(&mut self, path: &PathBuf, shown: &str) -> Result<(), String> {
        let file = File::open(path).map_err(|error| super::fault(&error))?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(BufReader::new(file));
        let header = reader.byte_headers().map_err(|_| "is not CSV".to_owned())?.clone();
        let header: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if let Some(missing) = NEEDED.iter().find(|needed| !header.iter().any(|name| name == *needed)) {
            return Err(format!("has no column {missing}"));
        }
        let mut record = csv::ByteRecord::new();
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    let text = |cell: &[u8]| Value::String(String::from_utf8_lossy(cell).into_owned());
                    let cells = header.iter().cloned().zip(record.iter().map(text)).collect();
                    self.row(&cells, shown, line);
                }
                Err(error) => return Err(format!("ends early: {:?}", error.kind())),
            }
        }
    }

    /// Reads a JSONL file.
    fn jsonl(&mut self, path: &PathBuf, shown: &str) -> Result<(), String> {
        let file = File::open(path).map_err(|error| super::fault(&error))?;
        let mut number = 0;
        let read = Block::default().each_line(&file, u64::MAX, |line| {
            number += 1;
            match serde_json::from_slice::<Cells>(line.bytes) {
                Ok(cells) => self.row(&cells, shown, number),
                Err(_) if line.bytes.trim_ascii().is_empty() => self.scan.input.blank_lines += 1,
                Err(_) if !line.is_closed => self.scan.input.open_tails += 1,
                Err(_) => self.damaged(shown, number),
            }
        });
        read.map(drop).map_err(|error| super::fault(&error))
    }

    /// Counts a row that is none.
    fn damaged(&mut self, shown: &str, line: u64) {
        self.scan.input.malformed_lines += 1;
        if self.scan.damaged.len() < super::KEPT {
            self.scan.damaged.push(crate::vocabulary::Place::new(shown, usize::try_from(line).unwrap_or(0)));
        }
    }

    /// Takes one row.
    fn row(&mut self, cells: &Cells, shown: &str, line: u64) {
        self.scan.input.lines += 1;
        let (start, end) = (time(cells, "startTime"), time(cells, "endTime"));
        let (Some(end), Some(_)) = (end, text(cells, "model")) else { return self.damaged(shown, line) };
        if !self.seen.insert(identity(cells)) {
            self.scan.notes.copies_dropped += 1;
            return;
        }
        if text(cells, "call_type").is_some_and(|kind| !GENERATION.contains(&kind.as_str())) {
            self.scan.notes.not_generation += 1;
            return;
        }
        if text(cells, "cache_hit").is_some_and(|hit| hit.eq_ignore_ascii_case("true")) {
            self.scan.notes.cache_hits += 1;
            return;
        }
        let row = Entry::of(cells, start, end);
        let call = self.call(cells, &row, end);
        self.count(&row, &call);
    }

    /// The group of a row.
    fn call(&mut self, cells: &Cells, row: &Entry, end: i64) -> Call {
        let mut name = |text: Option<String>| self.groups.names.optional(text.as_deref());
        let provider = name(text(cells, "custom_llm_provider"));
        let model = name(text(cells, "model"));
        let effort = name(row.effort.clone());
        let pool = text(cells, "model_group").map_or(StatedPool::Nothing, StatedPool::Session);
        Call {
            at: end,
            session: self.groups.session(text(cells, "session_id").as_deref()),
            stated: self.groups.stated(pool),
            provider,
            model,
            effort,
            kinds: row.kinds(),
            ..Call::default()
        }
    }

    /// Counts a row.
    fn count(&mut self, row: &Entry, call: &Call) {
        let sums = self.groups.sums(call);
        sums.calls += 1;
        sums.retries += row.retries;
        self.scan.events.retries += row.retries;
        if let Some(class) = row.failure {
            let is_infra = INFRA.iter().any(|(_, known)| *known == class);
            sums.infra += u64::from(is_infra);
            *sums.failures.entry(class).or_default() += 1;
            self.scan.events.api_errors += 1;
        } else if row.has_tokens() {
            sums.responses += 1;
            self.scan.notes.not_billed += u64::from(row.spend <= 0.0);
        }
        sums.input_tokens += row.input;
        sums.cache_read_tokens += row.cache_read;
        sums.cache_write_tokens += row.cache_write;
        sums.cache_write_unknown_tokens += row.cache_write;
        sums.output_tokens += row.output;
        if row.spend > 0.0 {
            sums.cost_usd += row.spend;
            sums.sum_cost_sq += row.spend * row.spend;
            sums.n_cost += 1;
        }
        if row.failure.is_some() || row.retries > 0 {
            return;
        }
        sums.timed.extend(timed(row.output, row.busy_ms));
        if let (Some(first), Some(busy)) = (row.first_ms, row.busy_ms) {
            sums.first_token_ms.extend(u64::try_from(first));
            if busy - first >= MIN_BUSY_MS && row.output >= MIN_OUTPUT {
                sums.decoded.push(Timed { output: row.output, ms: (busy - first).unsigned_abs() });
            }
        }
    }
}

/// What counts of a row.
#[derive(Debug, Default)]
struct Entry {
    /// Input without cache.
    input: u64,
    /// Read from cache.
    cache_read: u64,
    /// Written to cache.
    cache_write: u64,
    /// Output.
    output: u64,
    /// USD as billed.
    spend: f64,
    /// Retries of the gateway.
    retries: u64,
    /// Effort, where the deployment logs it.
    effort: Option<String>,
    /// Why it failed.
    failure: Option<&'static str>,
    /// Milliseconds of the call.
    busy_ms: Option<i64>,
    /// Milliseconds to the first token, where it was streamed.
    first_ms: Option<i64>,
}

impl Entry {
    /// The figures of a row.
    fn of(cells: &Cells, start: Option<i64>, end: i64) -> Self {
        let metadata = object(cells, "metadata");
        let details = &metadata["usage_object"]["prompt_tokens_details"];
        let (cache_read, cache_write) = (count(&details["cached_tokens"]), count(&details["cache_creation_tokens"]));
        let prompt = cells.get("prompt_tokens").map_or(0, count);
        let is_failure = text(cells, "status").is_some_and(|status| status != "success");
        let class = metadata["error_information"]["error_class"].as_str().unwrap_or_default();
        let busy_ms = start.map(|start| end - start);
        let first = time(cells, "completionStartTime").filter(|first| *first < end);
        Self {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            cache_read,
            cache_write,
            output: cells.get("completion_tokens").map_or(0, count),
            spend: cells.get("spend").map_or(0.0, amount),
            retries: count(&metadata["attempted_retries"]),
            effort: metadata["reasoning_effort"].as_str().map(str::to_owned),
            failure: is_failure.then(|| failure(class)),
            busy_ms,
            first_ms: first.zip(start).map(|(first, start)| first - start).filter(|first| *first > 0),
        }
    }

    /// Whether any token was used.
    fn has_tokens(&self) -> bool {
        self.input + self.cache_read + self.cache_write + self.output > 0
    }

    /// Kinds of tokens.
    fn kinds(&self) -> u8 {
        [
            (self.input, used::INPUT),
            (self.cache_read, used::CACHE_READ),
            (self.cache_write, used::WRITE_UNKNOWN),
            (self.output, used::OUTPUT),
        ]
        .iter()
        .filter(|(tokens, _)| *tokens > 0)
        .fold(0, |kinds, (_, kind)| kinds | kind)
    }
}

/// The class of an error.
fn failure(class: &str) -> &'static str {
    let known = INFRA.iter().find(|(name, _)| *name == class).map(|(_, class)| *class);
    known.unwrap_or(match class {
        "ContextWindowExceededError" => "context",
        "Timeout" => "timeout",
        _ => "other",
    })
}

/// The text of a cell; an empty one is not there.
fn text(cells: &Cells, column: &str) -> Option<String> {
    match cells.get(column)? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// A JSON cell, written as an object or as text.
fn object(cells: &Cells, column: &str) -> Value {
    match cells.get(column) {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

/// A count, written as a number or as text; `12.0` is one, as other engines write it. Anything else is 0.
fn count(value: &Value) -> u64 {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return 0,
    };
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let is_whole = rest.bytes().all(|digit| digit == b'0') && whole.len() <= 18;
    whole.parse().ok().filter(|_| is_whole).unwrap_or(0)
}

/// An amount of at least 0, written as a number or as text.
fn amount(value: &Value) -> f64 {
    let amount = value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0.0);
    if amount.is_finite() && amount > 0.0 { amount } else { 0.0 }
}

/// Epoch milliseconds of a time; text without a zone is UTC.
fn time(cells: &Cells, column: &str) -> Option<i64> {
    let text = text(cells, column)?;
    let micros = DateTime::parse_from_rfc3339(&text)
        .map(|time| time.timestamp_micros())
        .or_else(|_| {
            let text = text.replace('T', " ");
            NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f").map(|time| time.and_utc().timestamp_micros())
        })
        .ok()?;
    Some((micros + 500).div_euclid(1000)).filter(|at| *at != NO_TIME)
}

/// The identity of a row: its request id, else what it says.
fn identity(cells: &Cells) -> Id {
    if let Some(id) = text(cells, "request_id") {
        return Id::of(b'r', id.as_bytes());
    }
    let parts = ["startTime", "endTime", "model", "total_tokens"].map(|column| text(cells, column).unwrap_or_default());
    Id::of_parts(&parts.each_ref().map(String::as_bytes))
}
