//! Proposal files: `<fingerprint>.json` and the `.patch` beside it. A file whose content did not change keeps its bytes.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::store::Store;
use crate::verdict::{Proposal, content_digest};

/// The file of a proposal as it is on disk; `None` when there is none or it is no JSON.
pub fn stored(store: &Store, fingerprint: &str) -> Option<Value> {
    let bytes = store.read(&path(store, fingerprint, "json").ok()?).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Writes the files of open proposals.
pub fn write_open(store: &Store, proposals: &[Proposal]) -> Result<()> {
    for proposal in proposals {
        let file = path(store, &proposal.fingerprint, "json")?;
        if !stored(store, &proposal.fingerprint).is_some_and(|old| says_the_same(&old, proposal)) {
            store.replace(&file, file_text(proposal)?.as_bytes())?;
        }
        if !proposal.change.patch.text.is_empty() {
            let patch = path(store, &proposal.fingerprint, "patch")?;
            store.replace(&patch, proposal.change.patch.text.as_bytes())?;
        }
    }
    Ok(())
}

/// Removes the files of closed proposals; the ledger has said before why they are gone.
pub fn remove_closed(store: &Store, fingerprints: &[String]) -> Result<()> {
    for fingerprint in fingerprints {
        store.remove(&path(store, fingerprint, "patch")?)?;
        store.remove(&path(store, fingerprint, "json")?)?;
    }
    Ok(())
}

/// A proposal as a file, with a line end.
pub fn file_text(proposal: &Proposal) -> Result<String> {
    let mut text = serde_json::to_string_pretty(proposal).context("writing a proposal")?;
    text.push('\n');
    Ok(text)
}

/// Whether a file holds this revision, unedited. Fields that move without the content (methods §18.1) do not count.
fn says_the_same(old: &Value, proposal: &Proposal) -> bool {
    old["revision"].as_u64() == Some(proposal.revision)
        && old["content_digest"].as_str() == Some(&proposal.content_digest)
        && content_digest(old).as_str() == proposal.content_digest
}

/// The path of a proposal's file. A fingerprint that is none never becomes a path.
fn path(store: &Store, fingerprint: &str, ending: &str) -> Result<PathBuf> {
    let hex = fingerprint.strip_prefix("pcr1-").unwrap_or_default();
    if hex.len() != 32 || !hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
        bail!("{:?} is no fingerprint", super::view::shortened(fingerprint, 60));
    }
    Ok(store.in_reports(&format!("proposals/{fingerprint}.{ending}")))
}
