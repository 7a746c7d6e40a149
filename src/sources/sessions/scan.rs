//! Reads the files of a store with two threads: what the index knows is not read again, what was appended is read on,
//! everything else is read whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::Progress;
use super::file::{FileState, ReadFile, Records};
use super::lines::Block;
use super::names::Id;
use super::walk::FoundFile;

/// Threads that read.
const THREADS: usize = 2;
/// Bytes at the head of a file, and before the offset, that tell whether it is the same file.
const PROBE: u64 = 4096;

/// What the index knows of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "R: Records")]
pub(super) struct Indexed<R> {
    /// Path below the root.
    name: String,
    /// Device and inode.
    inode: (u64, u64),
    /// Size when it was read.
    size: u64,
    /// Time of the last change.
    changed_ns: i64,
    /// Digest of its head.
    head: Id,
    /// Digest of the last bytes before the offset.
    tail: Id,
    /// What was read.
    #[serde(with = "shared")]
    state: Arc<FileState<R>>,
}

/// A shared state is written as what it holds.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes what is shared.
    pub(super) fn serialize<T: Serialize, S: Serializer>(shared: &Arc<T>, to: S) -> Result<S::Ok, S::Error> {
        T::serialize(shared, to)
    }

    /// Reads what is then shared.
    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

/// The files of a store after a scan, and how much was read for it.
pub(super) struct Scanned<R> {
    /// One per found file, in their order.
    pub(super) files: Vec<ReadFile<R>>,
    /// What to keep for the next scan.
    pub(super) index: Vec<Indexed<R>>,
    /// Whether the index changed.
    pub(super) is_changed: bool,
    /// Bytes read.
    pub(super) bytes_read: u64,
    /// Files read whole, read on, and taken from the index.
    pub(super) ways: [u64; 3],
}

/// How one file was come by.
struct Outcome<R> {
    /// The file.
    file: ReadFile<R>,
    /// What the index keeps; `None` for a file that could not be read to its end.
    indexed: Option<(Id, Id)>,
    /// Bytes read.
    bytes: u64,
    /// 0 whole, 1 read on, 2 from the index.
    way: usize,
}

/// Reads every file. `index` is what an earlier scan kept.
pub(super) fn scan<R: Records>(found: &[FoundFile], index: Vec<Indexed<R>>, progress: Progress<'_>) -> Scanned<R> {
    let known = Known::new(index);
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(found[*at].size));
    let total: u64 = found.iter().map(|file| file.size).sum();
    let next = AtomicUsize::new(0);
    let done: Mutex<(u64, Vec<Option<Outcome<R>>>)> = Mutex::new((0, (0..found.len()).map(|_| None).collect()));
    let work = || {
        let mut block = Block::default();
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = one(&found[*at], &known, &mut block);
            let mut done = done.lock().expect("no thread panics while it holds the lock");
            done.0 += found[*at].size;
            done.1[*at] = Some(outcome);
            progress(done.0, total);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..THREADS.min(found.len()) {
            scope.spawn(work);
        }
        work();
    });
    let (_, outcomes) = done.into_inner().expect("no thread panics while it holds the lock");
    collect(found, outcomes, &known)
}

/// Puts the outcomes together.
fn collect<R: Records>(found: &[FoundFile], outcomes: Vec<Option<Outcome<R>>>, known: &Known<R>) -> Scanned<R> {
    let mut scanned = Scanned {
        files: Vec::with_capacity(found.len()),
        index: Vec::new(),
        is_changed: false,
        bytes_read: 0,
        ways: [0; 3],
    };
    for (file, outcome) in found.iter().zip(outcomes) {
        let outcome = outcome.expect("every file was given to a thread");
        scanned.bytes_read += outcome.bytes;
        scanned.ways[outcome.way] += 1;
        scanned.is_changed |= outcome.way != 2 && !known.tells(file, &outcome);
        if let Some((head, tail)) = outcome.indexed {
            let FoundFile { name, inode, size, changed_ns, .. } = file.clone();
            let state = Arc::clone(&outcome.file.closed);
            scanned.index.push(Indexed { name, inode, size, changed_ns, head, tail, state });
        }
        scanned.files.push(outcome.file);
    }
    let names = scanned.index.iter().map(|file| file.name.as_str());
    scanned.is_changed |=
        scanned.index.len() != known.by_name.len() || !names.eq(known.order.iter().map(String::as_str));
    scanned
}

/// What the index knows, by name and by inode.
struct Known<R> {
    /// By name.
    by_name: BTreeMap<String, Indexed<R>>,
    /// Inode → name.
    by_inode: BTreeMap<(u64, u64), String>,
    /// Names in the order of the index.
    order: Vec<String>,
}

impl<R: Records> Known<R> {
    /// Sorts what the index knows.
    fn new(index: Vec<Indexed<R>>) -> Self {
        let by_inode = index.iter().map(|file| (file.inode, file.name.clone())).collect();
        let order = index.iter().map(|file| file.name.clone()).collect();
        Self { order, by_name: index.into_iter().map(|file| (file.name.clone(), file)).collect(), by_inode }
    }

    /// Whether a file that was read gave nothing but what is known: its last line still has no end.
    fn tells(&self, file: &FoundFile, outcome: &Outcome<R>) -> bool {
        self.by_name.get(&file.name).is_some_and(|known| {
            (known.inode, known.size, known.changed_ns) == (file.inode, file.size, file.changed_ns)
                && known.state.offset == outcome.file.closed.offset
                && outcome.indexed == Some((known.head, known.tail))
        })
    }

    /// What is known of a file: the same inode under this name, else the same inode under another one.
    fn of(&self, file: &FoundFile) -> Option<&Indexed<R>> {
        let same = self.by_name.get(&file.name).filter(|known| known.inode == file.inode);
        same.or_else(|| self.by_name.get(self.by_inode.get(&file.inode)?))
    }
}

/// Comes by one file.
fn one<R: Records>(found: &FoundFile, known: &Known<R>, block: &mut Block) -> Outcome<R> {
    let fresh = || FileState::<R>::begin(Path::new(&found.name));
    let broken = |fault: String| Outcome {
        file: ReadFile { closed: Arc::new(fresh()), with_tail: None, fault: Some(fault) },
        indexed: None,
        bytes: 0,
        way: 0,
    };
    let is_packed = super::walk::ends(&found.name, ".zst");
    let known = known.of(found);
    if let Some(known) = known
        && (known.size, known.changed_ns) == (found.size, found.changed_ns)
        && (is_packed || known.state.offset == found.size)
    {
        let file = ReadFile { closed: Arc::clone(&known.state), with_tail: None, fault: None };
        return Outcome { file, indexed: Some((known.head, known.tail)), bytes: 0, way: 2 };
    }
    let mut source = match File::open(&found.path) {
        Ok(source) => source,
        Err(error) => return broken(super::fault(&error)),
    };
    if is_packed {
        return packed(source, fresh(), block);
    }
    let grown = known.filter(|known| known.state.offset <= found.size && is_same(&source, known));
    let (state, way) = grown.map_or_else(|| (fresh(), 0), |known| (FileState::clone(&known.state), 1));
    let from = state.offset;
    if let Err(error) = source.seek(SeekFrom::Start(from)) {
        return broken(super::fault(&error));
    }
    let mut file = state.read_on(&source, block);
    let end = file.present().tally.bytes;
    let probes = match (probes(&source, file.closed.offset), &file.fault) {
        (Ok(probes), None) => Some(probes),
        (Err(error), None) => {
            file.fault = Some(super::fault(&error));
            None
        }
        _ => None,
    };
    Outcome { file, indexed: probes, bytes: end.saturating_sub(from), way }
}

/// Reads a packed file whole. A broken one gives what came out before the fault.
fn packed<R: Records>(source: File, state: FileState<R>, block: &mut Block) -> Outcome<R> {
    let file = match zstd::stream::read::Decoder::new(source) {
        Ok(decoder) => state.read_on(decoder, block),
        Err(error) => ReadFile { closed: Arc::new(state), with_tail: None, fault: Some(super::fault(&error)) },
    };
    let bytes = file.present().tally.bytes;
    // A last line without an end is final here: nobody appends to a packed file.
    let file = ReadFile { closed: file.with_tail.map_or(file.closed, Arc::new), with_tail: None, fault: file.fault };
    let probe = Id::of(b'z', b"");
    Outcome { indexed: file.fault.is_none().then_some((probe, probe)), file, bytes, way: 0 }
}

/// Whether the bytes that were probed are still there.
fn is_same<R>(source: &File, known: &Indexed<R>) -> bool {
    probes(source, known.state.offset).is_ok_and(|probes| probes == (known.head, known.tail))
}

/// Digests of the head of a file and of the last bytes before an offset.
fn probes(mut source: &File, offset: u64) -> std::io::Result<(Id, Id)> {
    let length = offset.min(PROBE);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    source.seek(SeekFrom::Start(0))?;
    source.read_exact(&mut bytes)?;
    let head = Id::of(b'h', &bytes);
    source.seek(SeekFrom::Start(offset - length))?;
    source.read_exact(&mut bytes)?;
    Ok((head, Id::of(b't', &bytes)))
}
