//! The log's files: a section goes to the end of the running one, a finished month moves beside it, and sections that the ledger
//! knows of and no file holds are missed.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::log::{self, sections};
use super::view::counted;
use crate::history::Ledger;
use crate::store::{MONTHS, Store, log_files, look};

/// Appends a section. The first run of a month moves the finished log beside it first: month file, then a new log; a run
/// killed between the two finds an equal month file and does the second.
pub(super) fn append_section(run: &str, section: &str, store: &Store) -> Result<()> {
    let Some(month) = log::month_of_run(run) else { bail!("{run:?} is no run id") };
    let path = store.log_path();
    let archived = store.read(&store.month_path(&month))?.unwrap_or_default();
    if log::holds_run(&String::from_utf8_lossy(&archived), run) {
        return Ok(());
    }
    let old = store.read(path)?;
    let finished = old.as_deref().and_then(|old| finished_month(old, &month, run));
    let kept = match finished {
        Some(finished) => {
            archive(store, &finished, old.as_deref().unwrap_or_default())?;
            None
        }
        None => old,
    };
    let new = log::append(section, run, &month, kept.as_deref());
    if let Some(bytes) = new.with_context(|| format!("appending to {}", store.shown(path)))? {
        store.replace(path, &bytes)?;
    }
    Ok(())
}

/// The month of a log that a later month finishes, unless the log has this run already.
fn finished_month(log: &[u8], month: &str, run: &str) -> Option<String> {
    let log = String::from_utf8_lossy(log);
    let begun = log::month_of(&log).filter(|begun| *begun < month)?;
    (!log::holds_run(&log, run)).then(|| begun.to_owned())
}

/// Puts a finished log into its month's file. Another text under that month is never overwritten.
fn archive(store: &Store, month: &str, log: &[u8]) -> Result<()> {
    let path = store.month_path(month);
    if store.read(&path)?.is_some_and(|old| old != log) {
        bail!("{} holds another text than the finished log; move one of them away", store.shown(&path));
    }
    store.replace(&path, log)?;
    Ok(())
}

/// Sections that should be in the log or its months.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// Runs of the ledger that no file has a section of, oldest first.
    missing: Vec<String>,
    /// Runs whose section does not go to its end, oldest first.
    cut: Vec<String>,
    /// What sections say of it.
    notes: BTreeSet<String>,
}

impl Lost {
    /// What is lost of the runs that a ledger knows of: the log is read with its months. A section is written after its events, so
    /// every run of the ledger has one; `run` is the present run, which may not have its own yet.
    pub fn of(log: &Path, ledger: &Ledger, run: &str) -> Result<Self> {
        let mut known: BTreeSet<&str> = ledger.runs().into_iter().map(|(run, _)| run).collect();
        known.remove(run);
        let mut lost = Self::default();
        for path in log_files(log)? {
            let bytes = look(&path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            lost.notes.extend(text.lines().filter(|line| line.starts_with(log::LOST)).map(str::to_owned));
            for (run, is_whole) in sections(&text) {
                if known.remove(run) && !is_whole {
                    lost.cut.push(run.to_owned());
                }
            }
        }
        lost.missing = known.into_iter().map(str::to_owned).collect();
        lost.cut.sort();
        Ok(lost)
    }

    /// What is lost and what to do, in one sentence; `log` is how messages name the log.
    pub fn sentence(&self, log: &Path) -> Option<String> {
        let missing = (!self.missing.is_empty()).then(|| {
            let sections = counted(self.missing.len(), "section is", "sections are");
            format!("{sections} missing ({})", named(&self.missing))
        });
        let cut = (!self.cut.is_empty()).then(|| {
            let sections = counted(self.cut.len(), "section is", "sections are");
            format!("{sections} cut short ({})", named(&self.cut))
        });
        let what: Vec<String> = missing.into_iter().chain(cut).collect();
        let months = log.with_file_name(MONTHS);
        (!what.is_empty()).then(|| {
            format!(
                "{}: of the runs that the ledger knows, {}: the log or a month in {} was deleted, emptied or edited; restore it from \
                 version control and keep the sections that were added since at its end. What those runs said is also in runs/",
                log.display(),
                what.join(" and "),
                months.display()
            )
        })
    }

    /// Whether a section says that sentence already.
    pub fn is_said(&self, sentence: &str) -> bool {
        self.notes.contains(&log::lost_note(sentence))
    }
}

/// `run 20261129T120000Z`, or the first and the last of several.
fn named(runs: &[String]) -> String {
    match runs {
        [] => "none".to_owned(),
        [one] => format!("run {one}"),
        [first, .., last] => format!("runs {first} to {last}"),
    }
}
