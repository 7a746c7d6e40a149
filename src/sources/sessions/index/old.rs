//! The index that an earlier scan kept: read once to see that it is whole, then record by record as files ask for it.

use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::sync::{Mutex, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::{Entry, HEAD, Kept, MAGIC, magic, read_record, write_record};
use crate::sources::sessions::walk::{Stat, ends};

/// Where a record stands and what it is found by, as digests: the entry itself is looked at before it is believed.
#[derive(Debug)]
struct Slot {
    /// Of the name.
    name: u64,
    /// Of device and inode.
    inode: u64,
    /// Of everything that must be equal if the file is not to be read again; 0 for a file that was not read to its end.
    stamp: u64,
    /// When anything of it changed last.
    touched_ns: i64,
    /// Where its record begins.
    at: u64,
}

/// The index that an earlier scan kept.
pub(in crate::sources::sessions) struct Old<'a> {
    /// The bytes, and where they stand.
    source: Mutex<(BufReader<Box<dyn Kept + 'a>>, u64)>,
    /// Every record, in order.
    slots: Vec<Slot>,
    /// Their numbers by name and inode, made when they are asked for.
    by_name: OnceLock<Vec<u32>>,
    /// Their numbers by inode alone.
    by_inode: OnceLock<Vec<u32>>,
    /// Where the last record ends.
    pub(super) end: u64,
}

impl<'a> Old<'a> {
    /// An index of this reader whose every record is whole; an empty one of anything else.
    pub(in crate::sources::sessions) fn open(kept: Option<Box<dyn Kept + 'a>>, reader: u8) -> Self {
        kept.and_then(|kept| Self::read(kept, reader).ok().flatten())
            .unwrap_or_else(|| Self::of(BufReader::new(Box::new(io::empty())), 0, Vec::new(), MAGIC.len() as u64))
    }

    /// Of its parts.
    fn of(source: BufReader<Box<dyn Kept + 'a>>, stands: u64, slots: Vec<Slot>, end: u64) -> Self {
        let source = Mutex::new((source, stands));
        Self { source, slots, by_name: OnceLock::new(), by_inode: OnceLock::new(), end }
    }

    /// Reads every record once.
    fn read(mut kept: Box<dyn Kept + 'a>, reader: u8) -> io::Result<Option<Self>> {
        let length = kept.seek(SeekFrom::End(0))?;
        kept.seek(SeekFrom::Start(0))?;
        let mut source = BufReader::with_capacity(1 << 16, kept);
        let mut first = [0; MAGIC.len()];
        source.read_exact(&mut first)?;
        let (mut slots, mut record, mut at) = (Vec::new(), Vec::new(), MAGIC.len() as u64);
        while first == magic(reader) && read_record(&mut source, length - at, &mut record)? {
            if record.is_empty() {
                return Ok(Some(Self::of(source, at + HEAD as u64, slots, at)));
            }
            let Ok((entry, _)) = postcard::take_from_bytes::<Entry>(&record) else { break };
            slots.push(Slot {
                name: xxh3_64(entry.name.as_bytes()),
                inode: digest(&entry.stat.inode),
                stamp: if is_whole(&entry) { stamp(&entry.stat) } else { 0 },
                touched_ns: entry.stat.touched_ns,
                at,
            });
            at += (HEAD + record.len()) as u64;
        }
        Ok(None)
    }

    /// The number of what is known of a file: the same inode under this name, else the same inode under another one. `guess`
    /// is where it stands if the store did not change.
    pub(in crate::sources::sessions) fn find(&self, name: &str, stat: &Stat, guess: u32) -> Option<u32> {
        let (name, inode) = (xxh3_64(name.as_bytes()), digest(&stat.inode));
        if self.slots.get(guess as usize).is_some_and(|slot| (slot.name, slot.inode) == (name, inode)) {
            return Some(guess);
        }
        let by_name = self.by_name.get_or_init(|| self.sorted(|slot| (slot.name, slot.inode)));
        let by_inode = || self.by_inode.get_or_init(|| self.sorted(|slot| (slot.inode, 0)));
        let last = |numbers: &[u32], key, of: fn(&Slot) -> (u64, u64)| {
            let behind = numbers.partition_point(|number| of(&self.slots[*number as usize]) <= key);
            let number = numbers[..behind].last().copied()?;
            (of(&self.slots[number as usize]) == key).then_some(number)
        };
        last(by_name, (name, inode), |slot| (slot.name, slot.inode))
            .or_else(|| last(by_inode(), (inode, 0), |slot| (slot.inode, 0)).filter(|_| stat.inode != (0, 0)))
    }

    /// The numbers of all slots, by a key; of equal ones the last goes last.
    fn sorted(&self, key: impl Fn(&Slot) -> (u64, u64)) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..).zip(&self.slots).map(|(number, _)| number).collect();
        numbers.sort_unstable_by_key(|number| (key(&self.slots[*number as usize]), *number));
        numbers
    }

    /// Whether a file is as it was when it was read to its end. A new name touches a file and changes nothing in it.
    pub(in crate::sources::sessions) fn is_unchanged(
        &self,
        number: u32,
        stat: &Stat,
        name: impl Fn() -> String,
    ) -> bool {
        let slot = &self.slots[number as usize];
        let is_renamed = || slot.name != xxh3_64(name().as_bytes());
        slot.stamp == stamp(stat) && (slot.touched_ns == stat.touched_ns || is_renamed())
    }

    /// What is known of a file, and its encoded state. `None` when the bytes have changed under way.
    pub(in crate::sources::sessions) fn get(&self, number: u32) -> Option<(Entry, Vec<u8>)> {
        let mut record = Vec::new();
        self.record(self.slots[number as usize].at, &mut record).ok().filter(|is_record| *is_record)?;
        let (entry, state) = postcard::take_from_bytes::<Entry>(&record).ok()?;
        let start = record.len() - state.len();
        record.drain(..start);
        Some((entry, record))
    }

    /// Reads the record that begins at some place.
    pub(super) fn record(&self, at: u64, record: &mut Vec<u8>) -> io::Result<bool> {
        let mut source = self.source.lock().expect("no thread panics while it holds the lock");
        let (reader, stands) = &mut *source;
        reader.seek_relative(at.cast_signed().wrapping_sub(stands.cast_signed()))?;
        *stands = at;
        let is_record = read_record(reader, self.end.saturating_sub(at), record)?;
        *stands = at + (HEAD + record.len()) as u64;
        Ok(is_record && !record.is_empty())
    }

    /// Copies everything before some place.
    pub(super) fn copy_to(&self, end: u64, draft: &mut dyn Write) -> io::Result<()> {
        let mut record = Vec::new();
        let mut at = MAGIC.len() as u64;
        while at < end && self.record(at, &mut record)? {
            write_record(draft, &record)?;
            at += (HEAD + record.len()) as u64;
        }
        if at == end { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

/// Whether nothing of a file is left to be read. Nobody appends to a packed one.
fn is_whole(entry: &Entry) -> bool {
    entry.offset == entry.stat.size || ends(&entry.name, ".zst")
}

/// A digest of device and inode.
fn digest((device, inode): &(u64, u64)) -> u64 {
    xxh3_64(&[device.to_le_bytes(), inode.to_le_bytes()].concat())
}

/// A digest of what the system says of a file; never 0.
fn stamp(stat: &Stat) -> u64 {
    let parts = [stat.inode.0, stat.inode.1, stat.size, stat.changed_ns.cast_unsigned()];
    xxh3_64(&parts.map(u64::to_le_bytes).concat()) | 1
}
