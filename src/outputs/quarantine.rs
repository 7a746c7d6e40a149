//! What a damaged ledger loses nothing by: copies of lines that are not used, and a word when its end was cut off.

use std::collections::BTreeSet;

use anyhow::Result;

use super::view::counted;
use super::{LEDGER, log};
use crate::history::Ledger;
use crate::store::Store;

/// Where copies of lines that are not used are kept, in the reports folder.
const QUARANTINE: &str = "ledger.jsonl.quarantine";

/// Copies the lines of the ledger that are not used into the quarantine, each once; the ledger keeps its bytes. A sentence comes
/// back when there are new ones.
pub(super) fn keep(store: &Store, ledger: &Ledger) -> Result<Option<String>> {
    if ledger.outside().is_empty() {
        return Ok(None);
    }
    let (from, to) = (store.in_reports(LEDGER), store.in_reports(QUARANTINE));
    let (bytes, kept) = (store.read(&from)?.unwrap_or_default(), store.read(&to)?.unwrap_or_default());
    let (text, kept) = (String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&kept));
    let known: BTreeSet<&str> = kept.split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let outside = ledger.outside().iter().filter_map(|number| lines.get(number - 1).copied());
    let new: Vec<String> = outside.filter(|line| !known.contains(line)).map(str::to_owned).collect();
    if new.is_empty() {
        return Ok(None);
    }
    store.append_lines(&to, &new)?;
    let count = counted(new.len(), "line that is not used was", "lines that are not used were");
    Ok(Some(format!("{}: {count} copied to {}; nothing was taken out", store.shown(&from), store.shown(&to))))
}

/// What to do about a damaged ledger.
pub(super) fn advice(shown: &str, ledger: &Ledger) -> Option<String> {
    ledger.is_damaged().then(|| {
        format!("{shown}: restore the lines named above from version control; until then what they said is not used, decisions among it")
    })
}

/// A sentence when the log has a section of a run that is newer than the ledger's newest: a section is written after its events.
pub(super) fn cut_off(store: &Store, ledger: &Ledger) -> Result<Option<String>> {
    let text = store.read(store.log_path())?.unwrap_or_default();
    let newest = ledger.newest_run().unwrap_or_default();
    let missing = log::newest_run(&String::from_utf8_lossy(&text)).filter(|run| run.as_str() > newest);
    Ok(missing.map(|run| {
        format!(
            "{}: it has no event of run {run}, which the log has a section of: its end was cut off; restore it from version control",
            store.shown(&store.in_reports(LEDGER))
        )
    }))
}
