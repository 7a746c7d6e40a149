//! One file of a store: its lines counted, its damaged ones remembered, its objects handed to a reader of records.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lines::{Block, Line, Source};
use super::skim::{Odd, blank, has_control};

/// How many damaged lines of a file are remembered by number.
const KEPT_DAMAGED: usize = 5;
/// How many kinds of records a file may name; the rest is counted together.
const MAX_KINDS: usize = 64;

/// What a reader keeps of the objects of one file. It must be the same whatever other files hold.
pub(super) trait Records: Clone + PartialEq + Send + Serialize + DeserializeOwned {
    /// What tells its index from that of another reader.
    const TAG: u8;

    /// The empty state of a file with this path below the root.
    fn begin(name: &str) -> Self;

    /// Takes one object. `Odd` means that nothing was taken and a strict parser must look.
    fn object(&mut self, object: &[u8], kinds: &mut Kinds) -> Result<(), Odd>;

    /// Bytes that are needed no more once the whole file is read.
    fn settle(&mut self) {}
}

/// How often each kind of record occurs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kinds(Vec<(String, u64)>);

impl Kinds {
    /// Counts one record.
    pub(super) fn count(&mut self, kind: &str) {
        self.add(kind, 1);
    }

    /// Counts some records.
    pub(super) fn add(&mut self, kind: &str, n: u64) {
        let is_full = self.0.len() >= MAX_KINDS;
        match self.0.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += n,
            None if is_full => self.0[MAX_KINDS - 1].1 += n,
            None => self.0.push((kind.chars().take(80).collect(), n)),
        }
    }

    /// Every kind with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }
}

/// What the lines of a file add up to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LineTally {
    /// Bytes, decompressed.
    pub(super) bytes: u64,
    /// Lines.
    pub(super) lines: u64,
    /// Lines of blanks.
    pub(super) blank: u64,
    /// Lines that hold no record.
    pub(super) malformed: u64,
    /// 1 when the last line is still being written.
    pub(super) open_tails: u64,
    /// Longest line in bytes.
    pub(super) longest: u64,
    /// Numbers of the first damaged lines.
    pub(super) damaged: Vec<u64>,
    /// Kinds of records.
    pub(super) kinds: Kinds,
}

/// One file as far as it has been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FileState<R> {
    /// Its lines.
    pub(super) tally: LineTally,
    /// Its records.
    pub(super) records: R,
    /// Where the line after the last closed one begins.
    pub(super) offset: u64,
}

/// A file after a reading.
#[derive(Debug, Clone)]
pub(super) struct ReadFile<R> {
    /// Everything up to the last line end: what a later reading goes on from.
    pub(super) closed: FileState<R>,
    /// With the last line, where that has no end yet.
    pub(super) with_tail: Option<FileState<R>>,
    /// Why the reading stopped early, if it did.
    pub(super) fault: Option<String>,
}

impl<R> ReadFile<R> {
    /// What counts now.
    pub(super) fn present(&self) -> &FileState<R> {
        self.with_tail.as_ref().unwrap_or(&self.closed)
    }
}

impl<R: Records> FileState<R> {
    /// A file of which nothing has been read.
    pub(super) fn begin(name: &str) -> Self {
        Self { tally: LineTally::default(), records: R::begin(name), offset: 0 }
    }

    /// Reads on from the present offset, `most` bytes at the most. `source` must stand there.
    pub(super) fn read_on(mut self, source: impl Source, most: u64, block: &mut Block) -> ReadFile<R> {
        let mut with_tail: Option<Self> = None;
        let result = block.each_line(source, most, |line| {
            if line.is_closed {
                self.take(line);
                self.offset += line.length + 1;
                self.tally.bytes += line.length + 1;
            } else {
                let mut tail = self.clone();
                tail.take(line);
                tail.tally.bytes += line.length;
                with_tail = Some(tail);
            }
        });
        self.records.settle();
        let fault = result.err().map(|error| super::fault(&error));
        if let Some(tail) = &mut with_tail {
            tail.records.settle();
        }
        ReadFile { closed: self, with_tail, fault }
    }

    /// Takes one line.
    fn take(&mut self, line: Line<'_>) {
        self.tally.lines += 1;
        self.tally.longest = self.tally.longest.max(line.length);
        let mut bytes = line.bytes;
        if self.tally.lines == 1 {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map_or(bytes, super::lines::trim_nul);
        }
        let has_nul = line.length > line.bytes.len() as u64;
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() && !has_nul {
            self.tally.blank += 1;
            return;
        }
        let is_taken = !line.is_too_long && (self.quick(bytes) || self.strict(bytes));
        if is_taken {
            return;
        }
        if !line.is_closed {
            self.tally.open_tails += 1;
            return;
        }
        self.tally.malformed += 1;
        if self.tally.damaged.len() < KEPT_DAMAGED {
            self.tally.damaged.push(self.tally.lines);
        }
    }

    /// Takes a line that is one object without surprises.
    fn quick(&mut self, bytes: &[u8]) -> bool {
        bytes.first() == Some(&b'{') && !has_control(bytes) && self.records.object(bytes, &mut self.tally.kinds).is_ok()
    }

    /// Takes every object of a line with a strict parser. Returns whether there is one.
    fn strict(&mut self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let mut is_taken = false;
        for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            let Ok(value @ Value::Object(_)) = value else { break };
            let plain = serde_json::to_vec(&value).expect("a parsed value can be written");
            is_taken |= self.records.object(&plain, &mut self.tally.kinds).is_ok();
        }
        is_taken
    }
}

/// Walks every field of an object and makes sure that nothing but blanks stands behind it.
pub(super) fn each_field<'a>(object: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) -> Result<(), Odd> {
    let mut fields = super::skim::Fields::of(object)?;
    while let Some((key, value)) = fields.next()? {
        visit(key, value);
    }
    if blank(object, fields.end()) == object.len() { Ok(()) } else { Err(Odd) }
}
