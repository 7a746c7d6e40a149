//! Reads a ledger block by block: lines are checked as they come, and events of runs that are over are folded, so that memory
//! follows what a ledger says and not how long it is.

use super::base::Base;
use super::ledger::Ledger;
use crate::vocabulary::{Place, Reject};

/// Most lines that are reported one by one.
const KEPT_PROBLEMS: usize = 5;

/// A ledger that is being read.
#[derive(Debug)]
pub struct Reading {
    /// Its path, for messages.
    path: String,
    /// The run that it is read for: only what lies before it is folded. `None` folds nothing.
    run: Option<String>,
    /// What was read.
    ledger: Ledger,
    /// What is wrong with it.
    problems: Problems,
    /// Lines so far.
    lines: usize,
    /// Bytes of whole lines so far.
    length: u64,
    /// The beginning of a line whose end is in the next block.
    begun: Vec<u8>,
    /// Whether an event belongs into what was folded already.
    is_out_of_order: bool,
    /// The first line that ends in CR LF, and how many do.
    carriage_returns: Option<(usize, usize)>,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// The ledger.
    pub ledger: Ledger,
    /// Lines that are not part of its chain.
    pub problems: Vec<Reject>,
    /// Whether events of one run stand in places so far apart that folding lost their order: read it again without folding.
    pub is_out_of_order: bool,
    /// That lines end in CR LF, which no run writes. Their events are whole and used.
    pub line_ends: Option<Reject>,
}

impl Reading {
    /// A reading from the beginning. With a run, what lies before that run is folded on the way: the ledger then answers for
    /// this run and later ones.
    pub fn new(path: &str, run: Option<&str>) -> Self {
        Self::behind(path, run, Base::default())
    }

    /// A reading of what stands behind a base.
    pub(super) fn behind(path: &str, run: Option<&str>, base: Base) -> Self {
        let (lines, length) = (base.lines, base.length);
        Self {
            path: path.to_owned(),
            run: run.map(str::to_owned),
            ledger: Ledger::behind(base),
            problems: Problems::default(),
            lines,
            length,
            begun: Vec::new(),
            is_out_of_order: false,
            carriage_returns: None,
        }
    }

    /// Takes the next bytes in.
    pub fn feed(&mut self, block: &[u8]) {
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            if !part.ends_with(b"\n") {
                self.begun.extend_from_slice(part);
            } else if self.begun.is_empty() {
                self.line(part);
            } else {
                let mut whole = std::mem::take(&mut self.begun);
                whole.extend_from_slice(part);
                self.line(&whole);
            }
        }
    }

    /// Takes a whole line in.
    fn line(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let line = text.trim_end_matches(['\n', '\r']);
        let start = (self.length, self.lines);
        self.lines += 1;
        self.length += bytes.len() as u64;
        if line.is_empty() {
            return;
        }
        if bytes.ends_with(b"\r\n") {
            self.carriage_returns.get_or_insert((self.lines, 0)).1 += 1;
        }
        match self.ledger.take(line, start) {
            Ok(gap) => {
                if let Some(gap) = gap {
                    self.problems.add(Place::new(self.path.clone(), self.lines), gap);
                }
                self.fold();
            }
            Err(reason) => self.problems.add(Place::new(self.path.clone(), self.lines), reason),
        }
    }

    /// Folds what lies before the run that has just begun.
    fn fold(&mut self) {
        self.is_out_of_order |= !self.ledger.is_in_order();
        if let Some(run) = &self.run
            && !self.is_out_of_order
        {
            self.ledger.fold_finished(run);
        }
    }

    /// What was read.
    pub fn finish(mut self) -> Read {
        if !self.begun.is_empty() {
            let reason = "has no line end: a killed run left it, it is not used".to_owned();
            self.problems.add(Place::new(self.path.clone(), self.lines + 1), reason);
        }
        if let Some(run) = &self.run
            && !self.is_out_of_order
        {
            self.ledger.fold_before(run, (self.length, self.lines));
        }
        let line_ends =
            self.carriage_returns.map(|(first, count)| line_ends(Place::new(self.path.clone(), first), count));
        let problems = self.problems.into_rejects();
        Read { ledger: self.ledger, problems, is_out_of_order: self.is_out_of_order, line_ends }
    }
}

/// That lines end in CR LF: every byte of a ledger is written once, so something else rewrote the file.
fn line_ends(place: Place, count: usize) -> Reject {
    let what =
        if count == 1 { "ends in CR LF".to_owned() } else { format!("and {} more lines end in CR LF", count - 1) };
    let reason = format!(
        "{what}, which no run writes: something rewrote the file, such as autocrlf of git; its events are whole and are used. Restore \
         the file as it was, and keep it so with `*.jsonl -text` in .gitattributes"
    );
    Reject { place, reason }
}

/// Lines that are not part of the chain: the first few, and how many more.
#[derive(Debug, Default)]
struct Problems {
    /// The first few.
    kept: Vec<Reject>,
    /// Where the first one beyond them stands, and their number.
    more: Option<(Place, usize)>,
}

impl Problems {
    /// Adds one.
    fn add(&mut self, place: Place, reason: String) {
        if self.kept.len() < KEPT_PROBLEMS {
            self.kept.push(Reject { place, reason });
        } else {
            self.more.get_or_insert((place, 0)).1 += 1;
        }
    }

    /// All of them as rejects; what is beyond the first few becomes one line.
    fn into_rejects(mut self) -> Vec<Reject> {
        if let Some((place, count)) = self.more {
            self.kept.push(Reject { place, reason: format!("and {count} more lines from here on are not used") });
        }
        self.kept
    }
}
