//! The index of a store: one record per file in the order of the walk, read and written as a stream. It is a cache: anything
//! that does not fit is taken for no index.

mod keeper;
mod old;

use std::io::{self, Read, Seek, Write};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

pub(super) use keeper::{InMemory, Keeper};
pub(super) use old::Old;

use super::names::Id;
use super::walk::Stat;

/// The first bytes of an index: the last but one rises whenever a reader keeps something else, the last tells the reader.
const MAGIC: [u8; 9] = *b"prindex\x04?";
/// Length and check sum before every record. A length of 0 ends the index.
const HEAD: usize = 12;

/// The first bytes of the index of a reader.
fn magic(reader: u8) -> [u8; MAGIC.len()] {
    let mut magic = MAGIC;
    magic[MAGIC.len() - 1] = reader;
    magic
}

/// Where the index of a store lies between two scans.
pub trait Shelf {
    /// What an earlier scan kept, to be read from its start.
    fn kept(&self) -> Option<Box<dyn Kept + '_>>;

    /// Begins what this scan keeps. What was kept stays until the new index is put in its place.
    fn begin(&self) -> Result<Box<dyn Draft + '_>, String>;
}

/// An index to read.
pub trait Kept: Read + Seek + Send {}

impl<T: Read + Seek + Send> Kept for T {}

/// An index under way. Dropped, it leaves nothing.
pub trait Draft: Write {
    /// Puts it in the place of the old one.
    fn keep(self: Box<Self>) -> Result<(), String>;
}

/// What the index knows of one file beside what was read of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Path below the root.
    pub(super) name: String,
    /// What the system said of it.
    pub(super) stat: Stat,
    /// Where the line after the last closed one begins.
    pub(super) offset: u64,
    /// Digests of its head and of the last bytes before the offset.
    pub(super) probes: (Id, Id),
}

impl Entry {
    /// The record of this entry and of an encoded state.
    pub(super) fn record(&self, state: &[u8]) -> Vec<u8> {
        let mut record =
            postcard::to_extend(self, Vec::with_capacity(128 + state.len())).expect("memory can be written");
        record.extend_from_slice(state);
        record
    }
}

/// Reads one record of at most so many bytes; an empty one is the end. Returns whether its check sum fits.
fn read_record(source: &mut impl Read, most: u64, record: &mut Vec<u8>) -> io::Result<bool> {
    let mut head = [0; HEAD];
    source.read_exact(&mut head)?;
    let [length @ .., _, _, _, _, _, _, _, _] = head;
    let length = u32::from_le_bytes(length);
    record.clear();
    if u64::from(length) > most {
        return Ok(false);
    }
    record.resize(length as usize, 0);
    source.read_exact(record)?;
    Ok(head == head_of(record))
}

/// Length and check sum of a record. The sum guards against torn writes and flipped bits, not against people.
fn head_of(record: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes());
    head[4..].copy_from_slice(&xxh3_64(record).to_le_bytes());
    head
}

/// Writes one record.
fn write_record(draft: &mut dyn Write, record: &[u8]) -> io::Result<()> {
    draft.write_all(&head_of(record))?;
    draft.write_all(record)
}
