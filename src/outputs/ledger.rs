//! The ledger's file: read block by block, its old part spared by a checkpoint in the cache where the file is as it was. Why a
//! checkpoint may be believed: `instructions/decisions/0091-checkpoint-of-the-ledger.md`.

use std::path::Path;

use anyhow::Result;

use crate::history::{Checkpoint, EDGE, END_OF_RUNS, Ledger, Read, Reading, Stamp};
use crate::store::{Cache, Look, Store, look_at, look_into, read_blocks};
use crate::vocabulary::{Place, Reject, sha256_hex};

/// The ledger's name in the reports folder.
pub(super) const LEDGER: &str = "ledger.jsonl";

/// Bytes of an old part from which a checkpoint pays.
const WORTH: u64 = 1 << 20;

/// A ledger that was read for one run and later ones.
#[derive(Debug)]
pub struct Opened {
    /// The ledger.
    pub ledger: Ledger,
    /// Lines that are not part of its chain.
    pub problems: Vec<Reject>,
    /// Sentences for people.
    pub warnings: Vec<String>,
    /// Whether something else than a run rewrote its line ends.
    is_rewritten: bool,
    /// How often the checkpoint was used since every line was verified; 0 after a verification.
    uses: u32,
}

impl Opened {
    /// Whether every line was verified.
    pub fn is_verified(&self) -> bool {
        self.uses == 0
    }
}

/// The whole ledger of a reports folder, and its lines that are not part of its chain.
pub fn read_ledger(store: &Store) -> Result<(Ledger, Vec<Reject>)> {
    let path = store.in_reports(LEDGER);
    let read = read(&path, &store.shown(&path), u64::MAX, None)?;
    Ok((read.ledger, read.problems))
}

/// What the whole ledger says at present, every run folded.
pub fn present(store: &Store) -> Result<Ledger> {
    Ok(open(store, None, END_OF_RUNS)?.ledger)
}

/// The ledger for a run and later ones. A checkpoint in the cache spares its old part; one whose time is over, or whose file does
/// not look as it did, is held against the lines first.
pub fn open(store: &Store, cache: Option<&Cache>, run: &str) -> Result<Opened> {
    let path = store.in_reports(LEDGER);
    let shown = store.shown(&path);
    let kept = cache.and_then(|cache| Checkpoint::decode(&cache.read(&name(&shown))?));
    let mut warnings = Vec::new();
    if let Some(kept) = kept.filter(|kept| kept.serves(run)) {
        let is_spared = stamp(&path).is_some_and(|now| kept.fits(now, || edges(&path, kept.length())));
        let old = if is_spared { None } else { Some(read(&path, &shown, kept.length(), Some(run))?) };
        if old.as_ref().is_some_and(|old| kept.contradicts(&old.ledger)) {
            warnings.push(format!(
                "the checkpoint of {shown} in the cache said something else than its verified lines: it was dropped"
            ));
        }
        if old.is_none_or(|old| old.problems.is_empty() && kept.agrees(&old.ledger)) {
            let (uses, length) = (if is_spared { kept.uses() + 1 } else { 0 }, kept.length());
            let mut reading = kept.resume(&shown, run);
            read_blocks(&path, &shown, length, u64::MAX, &mut |block| reading.feed(block))?;
            let Read { ledger, problems, is_out_of_order, line_ends } = reading.finish();
            if problems.is_empty() && !is_out_of_order && line_ends.is_none() {
                return Ok(Opened { ledger, problems, warnings, is_rewritten: false, uses });
            }
        }
    }
    let Read { ledger, problems, line_ends, .. } = read(&path, &shown, u64::MAX, Some(run))?;
    let is_rewritten = line_ends.is_some();
    warnings.extend(line_ends.map(|ends| format!("{} {}", ends.place, ends.reason)));
    Ok(Opened { ledger, problems, warnings, is_rewritten, uses: 0 })
}

/// Keeps a checkpoint of what was read, after everything of the run is in the file. A ledger with broken lines, or one that is
/// quickly read anyway, has none. A cache that cannot be written costs time only.
pub fn keep(store: &Store, cache: &Cache, opened: &Opened) -> Option<String> {
    let length = opened.ledger.folded_bytes();
    if length < WORTH || !opened.problems.is_empty() || opened.is_rewritten {
        return None;
    }
    let path = store.in_reports(LEDGER);
    let (stamp, edges) = (stamp(&path)?, edges(&path, length)?);
    let bytes = Checkpoint::new(&opened.ledger, stamp, edges, opened.uses).encode();
    cache.replace(&name(&store.shown(&path)), &bytes).err().map(|error| format!("{error:#}"))
}

/// What a whole ledger says at present, for verbs that take no lock, and its lines that are not part of its chain. Every line is
/// verified, whatever a checkpoint says.
pub fn unlocked(path: &Path, shown: &str) -> Result<(Ledger, Vec<Reject>)> {
    let Read { ledger, mut problems, line_ends, .. } = read(path, shown, u64::MAX, Some(END_OF_RUNS))?;
    problems.extend(line_ends);
    problems.extend(lost(path, shown, &ledger)?);
    Ok((ledger, problems))
}

/// Where a ledger is damaged, `file:line`, if what it said of a proposal may be gone with that.
pub fn damage(ledger: &Ledger, shown: &str, fingerprint: &str) -> Option<String> {
    Some(format!("{shown}:{}", ledger.damaged_line(fingerprint)?))
}

/// That a ledger knows of no run although run files stand beside it.
fn lost(path: &Path, shown: &str, ledger: &Ledger) -> Result<Option<Reject>> {
    let runs = path.parent().map(|reports| look_into(&reports.join("runs"))).transpose()?.unwrap_or_default();
    let is_lost = ledger.newest_run().is_none() && !runs.is_empty();
    Ok(is_lost.then(|| Reject {
        place: Place::new(shown, 1),
        reason:
            "knows of no run although run files stand beside it: it was lost or emptied, with every decision in it; \
                 restore it from version control"
                .to_owned(),
    }))
}

/// Reads the first `most` bytes of a ledger, folding what lies before a run; events out of order are read again without folding.
fn read(path: &Path, shown: &str, most: u64, run: Option<&str>) -> Result<Read> {
    let once = |run: Option<&str>| -> Result<Read> {
        let mut reading = Reading::new(shown, run);
        read_blocks(path, shown, 0, most, &mut |block| reading.feed(block))?;
        Ok(reading.finish())
    };
    let read = once(run)?;
    if read.is_out_of_order { once(None) } else { Ok(read) }
}

/// The name of a ledger's checkpoint in the cache.
fn name(shown: &str) -> String {
    format!("ledger-{}.checkpoint", &sha256_hex(shown.as_bytes())[..16])
}

/// What the file looks like from outside.
fn stamp(path: &Path) -> Option<Stamp> {
    look_at(path).map(Into::into)
}

impl From<Look> for Stamp {
    fn from(Look { length, inode, modified, changed }: Look) -> Self {
        Self { length, inode, modified, changed }
    }
}

/// Digest of both ends of the first `length` bytes; `None` when they cannot be read.
fn edges(path: &Path, length: u64) -> Option<String> {
    let mut bytes = Vec::new();
    for from in [0, length.saturating_sub(EDGE)] {
        read_blocks(path, LEDGER, from, EDGE.min(length), &mut |block| bytes.extend_from_slice(block)).ok()?;
    }
    Some(sha256_hex(&bytes))
}
