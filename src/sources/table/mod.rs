//! Tables of our own evidence files: CSV (RFC 4180), JSONL with the same field names, one record at a time, and Parquet.
//! Knows files, lines and cells; what a column means is the business of the source that asks.

mod cells;
mod lines;
mod quoted;

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Terminator};
use serde_json::{Deserializer, Map, Value};

pub(super) use self::cells::{Cells, effort, quoted, rows_of};
use self::lines::{Lines, describe};
use self::quoted::WholeRecords;
use crate::parquet;
use crate::vocabulary::{Digest, Place, SourceId, SourceNote, SourceState};

/// How many unknown columns a remark names.
const NAMED_COLUMNS: usize = 5;

/// The columns of one kind of table.
pub(super) struct Columns {
    /// Every column that means something, in the order of the documentation.
    pub(super) known: &'static [&'static str],
    /// Those without which a file is no such table.
    pub(super) required: &'static [&'static str],
    /// Groups of which a file must have at least one column each.
    pub(super) one_of: &'static [&'static [&'static str]],
}

/// One file to read.
pub(super) struct TableFile<'a> {
    /// Where it is.
    pub(super) path: &'a Path,
    /// What it is called in places.
    pub(super) display: &'a str,
    /// The source it belongs to.
    pub(super) source: SourceId,
    /// Its columns.
    pub(super) columns: &'static Columns,
}

/// The rows read so far and how the reading goes.
struct Reading<'a, T, F> {
    /// The file.
    file: &'a TableFile<'a>,
    /// Makes a row of a record, or says what is wrong with it.
    parse: F,
    /// The rows.
    rows: Vec<T>,
    /// The note, growing.
    note: SourceNote,
    /// Unknown column → records that fill it.
    unknown: BTreeMap<String, u64>,
}

/// Reads a table; a name that ends in `.jsonl` is JSONL, in `.parquet` Parquet, every other one CSV. Rows keep the order of the file.
/// A file that cannot be read, or holds no usable row, is a failed note and no rows. The caller sets `used` and `as_of`.
pub(super) fn read<T>(file: &TableFile, parse: impl FnMut(&Cells) -> Result<T, String>) -> (Vec<T>, SourceNote) {
    let mut reading = Reading {
        file,
        parse,
        rows: Vec::new(),
        note: SourceNote::new(file.source, SourceState::Fresh),
        unknown: BTreeMap::new(),
    };
    let ends = |ending| file.path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case(ending));
    let outcome =
        Lines::open(file.path).map_err(|reason| format!("{} {reason}", file.display)).and_then(|lines| {
            match (ends("jsonl"), ends("parquet")) {
                (true, _) => reading.read_jsonl(lines),
                (_, true) => reading.read_parquet(lines),
                _ => reading.read_csv(lines),
            }
        });
    match outcome {
        Ok(digest) => reading.finish(digest),
        Err(reason) => (Vec::new(), SourceNote::failed(file.source, reason)),
    }
}

impl<T, F: FnMut(&Cells) -> Result<T, String>> Reading<'_, T, F> {
    /// Reads records of CSV behind a header line.
    fn read_csv(&mut self, lines: Lines) -> Result<Digest, String> {
        let io = |error: csv::Error| match error.into_kind() {
            csv::ErrorKind::Io(error) => format!("{} {}", self.file.display, describe(self.file.path, &error)),
            _ => format!("{} is not CSV", self.file.display),
        };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(WholeRecords::new(lines));
        let mut record = ByteRecord::new();
        let is_record = reader.read_byte_record(&mut record).map_err(io)?;
        if let Some((line, fault)) = reader.get_mut().take_broken().first() {
            return Err(format!("{}: the header {fault}", Place::new(self.file.display, *line)));
        }
        if !is_record {
            return Err(format!("{} is empty", self.file.display));
        }
        let header = self.header(&record, reader.get_ref().line())?;
        loop {
            let is_record = reader.read_byte_record(&mut record).map_err(|_| self.torn())?;
            for (line, fault) in reader.get_mut().take_broken() {
                self.reject(line, fault);
            }
            if !is_record {
                return Ok(reader.get_ref().lines().digest());
            }
            match self.csv_cells(&header, &record) {
                Ok(cells) => self.take(reader.get_ref().line(), cells),
                Err(reason) => self.reject(reader.get_ref().line(), reason),
            }
        }
    }

    /// The reason of a file that stopped being readable.
    fn torn(&self) -> String {
        format!("{} stopped being readable", self.file.display)
    }

    /// Where each cell of a record belongs: the column's name, known or not. Errors name file and line.
    fn header(&self, record: &ByteRecord, line: usize) -> Result<Vec<String>, String> {
        let place = Place::new(self.file.display, line);
        let mut names: Vec<String> = Vec::with_capacity(record.len());
        for cell in record {
            let name = std::str::from_utf8(cell).map_err(|_| format!("{place}: the header is not UTF-8"))?.trim();
            if !name.is_empty() && names.iter().any(|known| known == name) {
                return Err(format!("{place}: column {} stands twice", quoted(name)));
            }
            names.push(name.to_owned());
        }
        let has = |column: &&str| names.iter().any(|name| name == column);
        if let Some(missing) = self.file.columns.required.iter().find(|column| !has(column)) {
            return Err(format!("{place}: no column \"{missing}\""));
        }
        match self.file.columns.one_of.iter().find(|group| !group.iter().any(has)) {
            Some(group) => Err(format!("{place}: no column of \"{}\"", group.join("\", \""))),
            None => Ok(names),
        }
    }

    /// The cells of a CSV record by known column; those of unknown columns are counted.
    fn csv_cells(&mut self, header: &[String], record: &ByteRecord) -> Result<Cells, String> {
        if record.len() != header.len() {
            return Err(format!("has {} cells, the header has {}", record.len(), header.len()));
        }
        let mut cells = Cells::new(self.file.columns.known);
        for (name, bytes) in header.iter().zip(record) {
            let text = std::str::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", quoted(name)))?.trim_ascii();
            if !text.is_empty() && !cells.set(name, text.to_owned()) {
                self.count_unknown(name);
            }
        }
        Ok(cells)
    }

    /// Reads the rows of Parquet; their places are numbers of rows, counted from 1.
    fn read_parquet(&mut self, lines: Lines) -> Result<Digest, String> {
        let (bytes, digest) = lines.rest().map_err(|_| self.torn())?;
        let named = |reason: String| format!("{} {reason}", self.file.display);
        let texts = parquet::texts(&bytes).map_err(named)?;
        texts.unread_of(self.file.columns.known.iter().copied()).map_err(named)?;
        let header = self.header(&ByteRecord::from(texts.names), 1)?;
        for (at, row) in texts.rows.into_iter().enumerate() {
            let mut cells = Cells::new(self.file.columns.known);
            for (name, text) in header.iter().zip(row) {
                let text = text.map(|text| text.trim_ascii().to_owned()).filter(|text| !text.is_empty());
                if text.is_some_and(|text| !cells.set(name, text)) {
                    self.count_unknown(name);
                }
            }
            self.take(at + 1, cells);
        }
        Ok(digest)
    }

    /// Reads records of JSONL, one object a line. NUL bytes around it, as a power cut leaves them, do not matter; two objects that
    /// two writers put on one line are two records.
    fn read_jsonl(&mut self, mut lines: Lines) -> Result<Digest, String> {
        while let Some(line) = lines.next_line().map_err(|_| self.torn())? {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            let is_something = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
            let begin = line.bytes.iter().position(is_something);
            let fault = match begin {
                _ if line.is_too_long => Some("is longer than 1 MiB"),
                None => Some("holds NUL bytes only"),
                Some(_) => None,
            };
            if let Some(fault) = fault {
                self.reject(line.number, fault);
                continue;
            }
            let end = line.bytes.iter().rposition(is_something).map_or(0, |at| at + 1);
            let text = &line.bytes[begin.unwrap_or(0)..end];
            for object in Deserializer::from_slice(text).into_iter::<Map<String, Value>>() {
                let cells = object.map_err(|_| "is not a JSON object".to_owned());
                match cells.and_then(|object| self.json_cells(object)) {
                    Ok(cells) => self.take(line.number, cells),
                    Err(reason) => self.reject(line.number, reason),
                }
            }
        }
        Ok(lines.digest())
    }

    /// The fields of one JSON object by known column; a null is an empty cell.
    fn json_cells(&mut self, object: Map<String, Value>) -> Result<Cells, String> {
        let mut cells = Cells::new(self.file.columns.known);
        for (name, value) in object {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.trim_ascii().to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::Array(_) | Value::Object(_) if self.file.columns.known.contains(&name.as_str()) => {
                    return Err(format!("{name} is not a single value"));
                }
                Value::Array(_) | Value::Object(_) => "nested".to_owned(),
            };
            if !text.is_empty() && !cells.set(&name, text) {
                self.count_unknown(&name);
            }
        }
        Ok(cells)
    }

    /// Counts a filled cell of an unknown column.
    fn count_unknown(&mut self, name: &str) {
        match self.unknown.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.unknown.insert(name.to_owned(), 1);
            }
        }
    }

    /// Makes a row of a record, or rejects it.
    fn take(&mut self, line: usize, mut cells: Cells) {
        cells.place = Place::new(self.file.display, line);
        match (self.parse)(&cells) {
            Ok(row) => {
                self.note.rows += 1;
                self.rows.push(row);
            }
            Err(reason) => self.reject(line, reason),
        }
    }

    /// Counts a record that is not used.
    fn reject(&mut self, line: usize, reason: impl Into<String>) {
        self.note.rows += 1;
        self.note.reject(Place::new(self.file.display, line), reason);
    }

    /// The rows and the note at the end of the file.
    fn finish(mut self, digest: Digest) -> (Vec<T>, SourceNote) {
        self.note.digest = Some(digest);
        let more = self.unknown.len().saturating_sub(NAMED_COLUMNS);
        for (name, rows) in self.unknown.iter().take(NAMED_COLUMNS) {
            self.note.remarks.push(format!("unknown column {} is filled in {}", quoted(name), rows_of(*rows)));
        }
        if more > 0 {
            self.note.remarks.push(format!("{more} more unknown columns"));
        }
        (self.rows, self.note)
    }
}

/// Settles what a note says at the end: rows used, newest time, and that no usable row at all is a failure.
pub(super) fn settle(
    note: &mut SourceNote,
    display: &str,
    times: impl ExactSizeIterator<Item = chrono::DateTime<chrono::Utc>>,
) {
    note.used = times.len() as u64;
    note.as_of = times.max();
    if note.used == 0 {
        note.state = SourceState::Failed(format!("{display} holds no usable row ({} rejected)", note.rejected));
    }
}
