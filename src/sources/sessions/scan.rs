//! Reads the files of a store with two threads: what the index knows is not read again, what was appended is read on,
//! everything else is read whole. One thread takes the files up in the order of the walk, one at a time.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Progress;
use super::file::{FileState, ReadFile, Records};
use super::index::{Entry, Keeper, Old, Shelf};
use super::lines::Block;
use super::names::Id;
use super::queue::Queue;
use super::walk::{Found, FoundFile, Stat, ends};

/// Bytes at the head of a file, and before the offset, that tell whether it is the same file.
const PROBE: usize = 4096;

/// How much was read for a scan.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Bytes read.
    pub(super) bytes_read: u64,
    /// Files read whole, read on, and taken from the index.
    pub(super) ways: [u64; 3],
    /// Why the index could not be kept, if so.
    pub(super) index_fault: Option<String>,
}

/// A file of a store, taken up.
pub(super) struct Taken<'a, R> {
    /// Its number.
    pub(super) number: usize,
    /// Its path below the root.
    pub(super) name: &'a str,
    /// What was read of it.
    pub(super) state: &'a FileState<R>,
    /// Why the reading stopped early, if it did.
    pub(super) fault: Option<&'a str>,
}

/// How one file was come by. States are encoded: many may wait.
struct Outcome {
    /// Everything up to the last line end: what a later reading goes on from.
    closed: Vec<u8>,
    /// Where that ends.
    offset: u64,
    /// With the last line, where that has no end yet.
    with_tail: Option<Vec<u8>>,
    /// Digests for the index; `None` for a file that could not be read to its end.
    probes: Option<(Id, Id)>,
    /// Why the reading stopped early, if it did.
    fault: Option<String>,
    /// Bytes read.
    bytes: u64,
    /// 0 whole, 1 read on, 2 from the index.
    way: usize,
}

/// Reads every file and hands out each in the order of the walk. `shelf` holds what an earlier scan kept.
pub(super) fn scan<R: Records>(
    found: &Found,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
    visit: &mut dyn FnMut(Taken<'_, R>),
) -> Scanned {
    let old = Old::open(shelf.and_then(Shelf::kept), R::TAG);
    let desk = Desk::new(found, &old, progress);
    let to_read = desk.to_read();
    let queue = Queue::new(&to_read);
    let mut scanned = Scanned::default();
    let mut keeper = Keeper::new(shelf, &old, R::TAG);
    std::thread::scope(|scope| {
        if to_read.len() > 1 {
            scope.spawn(|| {
                let _watch = queue.watch();
                let mut block = Block::default();
                queue.help(|number| desk.read::<R>(number, &mut block));
            });
        }
        let _watch = queue.watch();
        let mut block = Block::default();
        for (at, number) in (0..found.len()).zip(0..) {
            let (state, outcome) = desk.take::<R>(number, &queue, &mut block);
            scanned.bytes_read += outcome.bytes;
            scanned.ways[outcome.way] += 1;
            let FoundFile { name, stat, .. } = found.get(at);
            visit(Taken { number: at, name: &name, state: &state, fault: outcome.fault.as_deref() });
            if let Some(probes) = outcome.probes {
                keeper.put(&Entry { name, stat, offset: outcome.offset, probes }.record(&outcome.closed));
            }
        }
    });
    scanned.index_fault = keeper.finish();
    scanned
}

/// What the threads of a scan share.
struct Desk<'a, 's> {
    /// The files.
    found: &'a Found,
    /// What an earlier scan kept.
    old: &'a Old<'s>,
    /// What that knows of every file.
    known: Vec<Option<u32>>,
    /// Bytes of files that are done.
    done: AtomicU64,
    /// Bytes of all files.
    total: u64,
    /// Is told.
    progress: Progress<'a>,
}

impl<'a, 's> Desk<'a, 's> {
    /// Nothing done yet.
    fn new(found: &'a Found, old: &'a Old<'s>, progress: Progress<'a>) -> Self {
        let mut guess = 0;
        let find = |at| {
            let known = old.find(&found.name(at), found.stat(at), guess);
            guess = known.map_or(guess, |known| known + 1);
            known
        };
        let known = (0..found.len()).map(find).collect();
        let total = (0..found.len()).map(|at| found.stat(at).size).sum();
        Self { found, old, known, done: AtomicU64::new(0), total, progress }
    }

    /// The files that must be opened, with their sizes.
    fn to_read(&self) -> Vec<(u32, u64)> {
        let numbers = (0..).zip(0..self.found.len());
        let changed = numbers.filter(|(number, _)| !self.is_unchanged(*number));
        changed.map(|(number, at)| (number, self.found.stat(at).size)).collect()
    }

    /// Whether a file is as it was when it was read to its end.
    fn is_unchanged(&self, number: u32) -> bool {
        let (at, stat) = (number as usize, self.found.stat(number as usize));
        self.known[at].is_some_and(|known| self.old.is_unchanged(known, stat, || self.found.name(at)))
    }

    /// One file, from the index or from whichever thread read it.
    fn take<R: Records>(&self, number: u32, queue: &Queue<Outcome>, block: &mut Block) -> (FileState<R>, Outcome) {
        let is_unchanged = self.is_unchanged(number);
        if is_unchanged && let Some(kept) = self.kept(number) {
            self.tell(number);
            return kept;
        }
        let outcome = if is_unchanged {
            self.read::<R>(number, block).0
        } else {
            queue.take(number, |number| self.read::<R>(number, block))
        };
        let bytes = outcome.with_tail.as_ref().unwrap_or(&outcome.closed);
        (postcard::from_bytes(bytes).expect("it was encoded by this very reader"), outcome)
    }

    /// What the index knows of a file that did not change.
    fn kept<R: Records>(&self, number: u32) -> Option<(FileState<R>, Outcome)> {
        let (entry, closed) = self.old.get(self.known[number as usize]?)?;
        let (name, stat) = (self.found.name(number as usize), self.found.stat(number as usize));
        let is_it = entry.stat.inode == stat.inode && is_same(&entry, &name, stat);
        let state = postcard::from_bytes(&closed).ok()?;
        let is_it = is_it && is_alike::<R>(&entry.name, &name);
        let Entry { offset, probes, .. } = entry;
        let outcome = Outcome { offset, probes: Some(probes), way: 2, ..Outcome::of(closed) };
        is_it.then_some((state, outcome))
    }

    /// Reads one file. Returns what came of it, and the bytes that holds.
    fn read<R: Records>(&self, number: u32, block: &mut Block) -> (Outcome, usize) {
        let file = self.found.get(number as usize);
        let outcome = self.open::<R>(number, &file, block).unwrap_or_else(|fault| {
            let nothing = encode(&FileState::<R>::begin(&file.name));
            Outcome { fault: Some(fault), ..Outcome::of(nothing) }
        });
        self.tell(number);
        let held = outcome.closed.len() + outcome.with_tail.as_ref().map_or(0, Vec::len);
        (outcome, held + size_of::<Outcome>())
    }

    /// Says that a file is done.
    fn tell(&self, number: u32) {
        let size = self.found.stat(number as usize).size;
        (self.progress)(self.done.fetch_add(size, Ordering::Relaxed) + size, self.total);
    }

    /// Opens one file and reads what is new in it.
    fn open<R: Records>(&self, number: u32, file: &FoundFile, block: &mut Block) -> Result<Outcome, String> {
        let fault = |error: std::io::Error| super::fault(&error);
        let source = File::open(&file.path).map_err(fault)?;
        if super::is_gzip(&source) {
            return Err(super::GZIP.to_owned());
        }
        (&source).seek(SeekFrom::Start(0)).map_err(fault)?;
        if ends(&file.name, ".zst") {
            return Ok(packed(source, FileState::<R>::begin(&file.name), block));
        }
        let grown = self.grown::<R>(number, file, &source);
        let way = usize::from(grown.is_some());
        let state = grown.unwrap_or_else(|| FileState::begin(&file.name));
        let from = state.offset;
        let size = source.metadata().map_err(fault)?.len();
        (&source).seek(SeekFrom::Start(from)).map_err(fault)?;
        let mut read = state.read_on(&source, size.saturating_sub(from), block);
        let probes = probes(&source, read.closed.offset);
        if let (Err(error), None) = (&probes, &read.fault) {
            read.fault = Some(super::fault(error));
        }
        let bytes = read.present().tally.bytes.saturating_sub(from);
        let probes = probes.ok().filter(|_| read.fault.is_none());
        Ok(Outcome { probes, bytes, way, ..Outcome::of_read(&read) })
    }

    /// What is known of a file that begins as it did and has grown, or did not change. One of the same size that was written to is
    /// another one: head and end say nothing of what lies between.
    fn grown<R: Records>(&self, number: u32, file: &FoundFile, source: &File) -> Option<FileState<R>> {
        let (entry, state) = self.old.get(self.known[number as usize]?)?;
        let is_it = entry.stat.inode == file.stat.inode
            && (file.stat.size > entry.stat.size || is_same(&entry, &file.name, &file.stat));
        let is_it = is_it && is_alike::<R>(&entry.name, &file.name);
        (is_it && probes(source, entry.offset).is_ok_and(|probes| probes == entry.probes))
            .then(|| postcard::from_bytes(&state).ok())?
    }
}

impl Outcome {
    /// Of an encoded state alone.
    fn of(closed: Vec<u8>) -> Self {
        Self { closed, offset: 0, with_tail: None, probes: None, fault: None, bytes: 0, way: 0 }
    }

    /// Of a file that was read.
    fn of_read<R: Records>(read: &ReadFile<R>) -> Self {
        let with_tail = read.with_tail.as_ref().map(encode);
        Self { offset: read.closed.offset, with_tail, fault: read.fault.clone(), ..Self::of(encode(&read.closed)) }
    }
}

/// The bytes of a state.
fn encode<R: Records>(state: &FileState<R>) -> Vec<u8> {
    postcard::to_stdvec(state).expect("memory can be written")
}

/// Whether a file is as it was; a new name alone changes nothing in it.
fn is_same(entry: &Entry, name: &str, stat: &Stat) -> bool {
    let old = &entry.stat;
    let is_touched = old.touched_ns != stat.touched_ns && entry.name == name;
    (old.size, old.changed_ns) == (stat.size, stat.changed_ns) && !is_touched
}

/// Whether what was read under one name is what would have been read under another.
fn is_alike<R: Records>(one: &str, other: &str) -> bool {
    one == other || ends(one, ".zst") == ends(other, ".zst") && R::begin(one) == R::begin(other)
}

/// Reads a packed file whole. A broken one gives what came out before the fault.
fn packed<R: Records>(source: File, state: FileState<R>, block: &mut Block) -> Outcome {
    let mut read = match zstd::stream::read::Decoder::new(source) {
        Ok(decoder) => state.read_on(decoder, u64::MAX, block),
        Err(error) => ReadFile { closed: state, with_tail: None, fault: Some(super::fault(&error)) },
    };
    // A last line without an end is final here: nobody appends to a packed file.
    read.closed = read.with_tail.take().unwrap_or(read.closed);
    let probe = Id::of(b'z', b"");
    let probes = read.fault.is_none().then_some((probe, probe));
    Outcome { probes, bytes: read.closed.tally.bytes, ..Outcome::of_read(&read) }
}

/// Digests of the head of a file and of the last bytes before an offset.
fn probes(mut source: &File, offset: u64) -> std::io::Result<(Id, Id)> {
    let mut room = [0; PROBE];
    let length = usize::try_from(offset).map_or(PROBE, |offset| offset.min(PROBE));
    let bytes = &mut room[..length];
    source.seek(SeekFrom::Start(0))?;
    source.read_exact(bytes)?;
    let head = Id::of(b'h', bytes);
    if offset > length as u64 {
        source.seek(SeekFrom::Start(offset - length as u64))?;
        source.read_exact(bytes)?;
    }
    Ok((head, Id::of(b't', bytes)))
}
