//! Proposal files: `<fingerprint>.json` and the `.patch` beside it. A file whose content did not change keeps its bytes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use chrono::DateTime;
use serde_json::Value;

use crate::store::Store;
use crate::verdict::{Proposal, content_digest};

/// The folder in the reports folder.
pub const FOLDER: &str = "proposals";

/// The file of a proposal as it is on disk, `null` when it is no JSON; `None` when there is none.
pub fn stored(store: &Store, fingerprint: &str) -> Option<Value> {
    let bytes = store.read(&path(store, fingerprint, "json").ok()?).ok()??;
    Some(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Writes the files of proposals whose files stay: open ones, sleeping ones, landed ones. A patch that is not the one of the
/// content it lies beside was edited; a sentence says so.
pub fn write<'a>(store: &Store, proposals: impl IntoIterator<Item = &'a Proposal>) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for proposal in proposals {
        let file = path(store, &proposal.fingerprint, "json")?;
        let old = stored(store, &proposal.fingerprint);
        if !old.as_ref().is_some_and(|old| says_the_same(old, proposal)) {
            store.replace(&file, file_text(proposal)?.as_bytes())?;
        }
        if let Some(change) = proposal.change.config() {
            let patch = path(store, &proposal.fingerprint, "patch")?;
            let (text, is_of_old) =
                (change.patch.text.as_bytes(), old.as_ref().is_some_and(|old| holds(old, proposal)));
            if is_of_old && store.read(&patch)?.is_some_and(|found| found != text) {
                warnings.push(format!(
                    "{}: was edited by hand, and is written as the proposal has it",
                    store.shown(&patch)
                ));
            }
            store.replace(&patch, text)?;
        }
    }
    Ok(warnings)
}

/// Removes the files of proposals that are not open: the ledger has said before why they are gone, or a killed run left
/// them before it could say anything. `knows` are the fingerprints that the ledger speaks of. What no run of ours wrote stays: a
/// sentence comes back for each file that is named like a proposal and is none of ours.
pub fn remove_others(store: &Store, keep: &BTreeSet<String>, knows: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    // The patch of a proposal comes behind its file: what becomes of the two is settled by the file.
    let mut left_by_killed = BTreeSet::new();
    for name in store.names(FOLDER)? {
        let Some((fingerprint, ending)) = name.split_once('.') else { continue };
        let is_named_like_ours = is_fingerprint(fingerprint) && matches!(ending, "json" | "patch");
        if !is_named_like_ours || keep.contains(fingerprint) {
            continue;
        }
        let path = path(store, fingerprint, ending)?;
        let is_left = || stored(store, fingerprint).is_some_and(|value| is_of_a_run(&value, fingerprint, store));
        if !knows.contains(fingerprint) && ending == "json" && is_left() {
            left_by_killed.insert(fingerprint.to_owned());
        }
        if knows.contains(fingerprint) || left_by_killed.contains(fingerprint) {
            store.remove(&path)?;
        } else {
            let path = store.shown(&path);
            warnings.push(format!(
                "{path}: no run of this ledger wrote it, so it was left alone and does not count; move it away if it is not meant to be here"
            ));
        }
    }
    Ok(warnings)
}

/// Whether a file is a proposal as a run here made it: its content is intact, and there is the run file of the instant at which it
/// was made, which every run writes first.
fn is_of_a_run(value: &Value, fingerprint: &str, store: &Store) -> bool {
    let made = value["first_seen"].as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
    let run = made.map(|at| at.to_utc().format("runs/%Y%m%dT%H%M%SZ.json").to_string());
    value["fingerprint"].as_str() == Some(fingerprint)
        && value["content_digest"].as_str() == Some(content_digest(value).as_str())
        && run.is_some_and(|run| store.read(&store.in_reports(&run)).is_ok_and(|file| file.is_some()))
}

/// A proposal as a file, with a line end.
pub fn file_text(proposal: &Proposal) -> Result<String> {
    let mut text = serde_json::to_string_pretty(proposal).context("writing a proposal")?;
    text.push('\n');
    Ok(text)
}

/// Whether a file holds this revision, unedited, and says where it stands. The other fields that move without the content
/// (methods §18.1) do not count.
fn says_the_same(old: &Value, proposal: &Proposal) -> bool {
    let stands = |old: &Proposal| {
        (&old.status, &old.suppressed, &old.landing, &old.outcome)
            == (&proposal.status, &proposal.suppressed, &proposal.landing, &proposal.outcome)
    };
    holds(old, proposal) && serde_json::from_value(old.clone()).is_ok_and(|old| stands(&old))
}

/// Whether a file holds this revision's content, unedited.
fn holds(old: &Value, proposal: &Proposal) -> bool {
    old["revision"].as_u64() == Some(proposal.revision)
        && old["content_digest"].as_str() == Some(&proposal.content_digest)
        && content_digest(old).as_str() == proposal.content_digest
}

/// The path of a proposal's file. A fingerprint that is none never becomes a path.
pub(super) fn path(store: &Store, fingerprint: &str, ending: &str) -> Result<PathBuf> {
    if !is_fingerprint(fingerprint) {
        bail!("{:?} is no fingerprint", super::view::shortened(fingerprint, 60));
    }
    Ok(store.in_reports(&format!("{FOLDER}/{fingerprint}.{ending}")))
}

/// Whether a text is a fingerprint: `pcr1-` and 32 hex digits.
fn is_fingerprint(text: &str) -> bool {
    let hex = text.strip_prefix("pcr1-").unwrap_or_default();
    hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
