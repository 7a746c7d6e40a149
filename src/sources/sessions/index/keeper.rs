//! What a scan keeps: nothing as long as the old index says the same, then a new one written as a stream.

use std::io::{self, Write};
use std::sync::Mutex;

use super::{Draft, HEAD, Kept, MAGIC, Old, Shelf, head_of, magic, write_record};

/// What a scan keeps. As long as it says what the old index says nothing is written.
pub(in crate::sources::sessions) struct Keeper<'a, 's> {
    /// Where to; nowhere when nothing is to be kept.
    shelf: Option<&'s dyn Shelf>,
    /// What an earlier scan kept.
    old: &'a Old<'s>,
    /// The reader.
    reader: u8,
    /// Up to where both say the same.
    same: u64,
    /// The new index, once they differ.
    draft: Option<Box<dyn Draft + 's>>,
    /// Why nothing can be kept.
    fault: Option<String>,
}

impl<'a, 's> Keeper<'a, 's> {
    /// Nothing kept yet.
    pub(in crate::sources::sessions) fn new(shelf: Option<&'s dyn Shelf>, old: &'a Old<'s>, reader: u8) -> Self {
        Self { shelf, old, reader, same: MAGIC.len() as u64, draft: None, fault: None }
    }

    /// Keeps the record of the next file. A store of which nothing can be kept is read as well.
    pub(in crate::sources::sessions) fn put(&mut self, record: &[u8]) {
        if self.shelf.is_none() || self.fault.is_some() {
            return;
        }
        if self.draft.is_none() && self.is_same(record) {
            self.same += (HEAD + record.len()) as u64;
            return;
        }
        let written = self.begun().and_then(|draft| write_record(draft, record).map_err(fault));
        self.fault = written.err();
    }

    /// Whether the old index goes on with this record.
    fn is_same(&self, record: &[u8]) -> bool {
        let mut known = Vec::new();
        self.same < self.old.end && self.old.record(self.same, &mut known).is_ok_and(|is_one| is_one && known == record)
    }

    /// The new index, begun with what both say.
    fn begun(&mut self) -> Result<&mut (dyn Draft + 's), String> {
        if self.draft.is_none() {
            let mut draft = self.shelf.ok_or("there is no place for an index")?.begin()?;
            draft.write_all(&magic(self.reader)).map_err(fault)?;
            self.old.copy_to(self.same, &mut *draft).map_err(fault)?;
            self.draft = Some(draft);
        }
        Ok(&mut **self.draft.as_mut().expect("it was begun above"))
    }

    /// Ends the index and puts it in the place of the old one, if it differs. Returns why nothing was kept, if so.
    pub(in crate::sources::sessions) fn finish(mut self) -> Option<String> {
        let differs = self.draft.is_some() || self.same != self.old.end;
        if self.shelf.is_some() && self.fault.is_none() && differs {
            let ended = self.begun().and_then(|draft| draft.write_all(&head_of(&[])).map_err(fault));
            let kept = ended.and_then(|()| self.draft.take().map_or(Ok(()), Draft::keep));
            self.fault = kept.err();
        }
        self.fault
    }
}

/// What went wrong with an index under way.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn fault(error: io::Error) -> String {
    format!("writing the index of a session store: {error}")
}

/// An index in memory.
pub(in crate::sources::sessions) struct InMemory<'a> {
    /// What an earlier scan kept.
    kept: Option<&'a [u8]>,
    /// What this scan keeps.
    new: Mutex<Option<Vec<u8>>>,
}

impl<'a> InMemory<'a> {
    /// A shelf that holds what an earlier scan kept.
    pub(in crate::sources::sessions) fn holding(kept: Option<&'a [u8]>) -> Self {
        Self { kept, new: Mutex::new(None) }
    }

    /// What the new scan kept, if that is something else.
    pub(in crate::sources::sessions) fn into_new(self) -> Option<Vec<u8>> {
        self.new.into_inner().expect("no thread panics while it holds the lock")
    }
}

impl Shelf for InMemory<'_> {
    fn kept(&self) -> Option<Box<dyn Kept + '_>> {
        self.kept.map(|kept| Box::new(io::Cursor::new(kept)) as _)
    }

    fn begin(&self) -> Result<Box<dyn Draft + '_>, String> {
        Ok(Box::new(MemoryDraft { bytes: Vec::new(), shelf: self }))
    }
}

/// A new index in memory.
struct MemoryDraft<'a> {
    /// So far.
    bytes: Vec<u8>,
    /// Where it goes.
    shelf: &'a InMemory<'a>,
}

impl Write for MemoryDraft<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Draft for MemoryDraft<'_> {
    fn keep(self: Box<Self>) -> Result<(), String> {
        *self.shelf.new.lock().expect("no thread panics while it holds the lock") = Some(self.bytes);
        Ok(())
    }
}
