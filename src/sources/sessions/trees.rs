//! The trees of files that Claude Code and Codex write: which files are read, and how what they say is put together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::claude_code::ClaudeFile;
use super::codex::CodexFile;
use super::file::Records;
use super::fold_codex::Ledger;
use super::groups::Groups;
use super::index::Shelf;
use super::scan::Taken;
use super::walk::{Faults, Found};
use super::{Progress, StoreNotes, StoreScan, StoreSpec, fault, fold_claude, fold_codex, scan, walk};
use crate::vocabulary::StoreEvents;

/// The folders of a Codex store.
const BELOW: [&str; 2] = ["sessions", "archived_sessions"];

/// Reads a Claude Code tree.
pub(super) fn claude_code(
    spec: &StoreSpec,
    joined: &BTreeSet<String>,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
) -> StoreScan {
    const KNOWN: [&str; 12] = [
        "assistant",
        "user",
        "system",
        "summary",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "attachment",
        "custom-title",
        "last-prompt",
        "started",
        "result",
    ];
    let (found, faults) = claude_files(spec);
    let is_empty = found.len() == 0 && faults.is_empty();
    let (mut events, mut notes) = (StoreEvents::default(), StoreNotes::default());
    let mut groups = Groups::new(spec, joined);
    let mut fold = fold_claude::Fold::new(spec, &mut groups, &mut events, &mut notes);
    let take = &mut |file: &Taken<'_, ClaudeFile>| fold.take(file.number, &file.state.records);
    let scan = scan_files(spec, &found, faults, shelf, progress, &KNOWN, take);
    fold.finish();
    let lacking = spec.tops().into_iter().filter(|(top, _)| is_empty && top.is_dir() && !top.join("projects").is_dir());
    let gaps = lacking.map(|(_, shown)| format!("{shown} holds neither projects/ nor a transcript")).collect();
    StoreScan { rows: groups.rows(), events, notes, gaps, ..scan }
}

/// Reads Codex rollouts.
pub(super) fn codex(
    spec: &StoreSpec,
    joined: &BTreeSet<String>,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
) -> StoreScan {
    const KNOWN: [&str; 7] =
        ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "ghost_snapshot", "turn.failed"];
    let (found, faults) = codex_files(spec);
    let is_empty = found.len() == 0 && faults.is_empty();
    let mut fold = fold_codex::Fold::default();
    let take = &mut |file: &Taken<'_, CodexFile>| fold.take(file.number, file.name, &file.state.records);
    let mut scan = scan_files(spec, &found, faults, shelf, progress, &KNOWN, take);
    let mut groups = Groups::new(spec, joined);
    let StoreScan { events, notes, windows, limits, .. } = &mut scan;
    fold.finish(&found, spec, &mut Ledger { groups: &mut groups, events, notes, windows, limits });
    scan.rows = groups.rows();
    if is_empty && spec.path.is_dir() && !BELOW.iter().any(|below| spec.path.join(below).is_dir()) {
        scan.gaps.insert(format!("{} holds neither sessions/ nor archived_sessions/", spec.display));
    }
    scan
}

/// The transcripts of a Claude Code store: those below `projects/`, where a folder has one.
fn claude_files(spec: &StoreSpec) -> (Found, Faults) {
    let top = |(path, shown): (&Path, &str)| {
        let below = if path.join("projects").is_dir() { "projects" } else { "" };
        let name = if spec.roots.is_empty() { String::new() } else { shown.to_owned() };
        (if below.is_empty() { path.to_owned() } else { path.join(below) }, walk::joined(&name, below))
    };
    let root = if spec.roots.is_empty() { spec.path.clone() } else { PathBuf::new() };
    let tops: Vec<_> = spec.tops().into_iter().map(top).collect();
    walk::files_of(&root, &tops, is_transcript)
}

/// The rollouts of a Codex store: those below its two folders, else those of a folder that is one of the two.
fn codex_files(spec: &StoreSpec) -> (Found, Faults) {
    if BELOW.iter().any(|below| spec.path.join(below).symlink_metadata().is_ok()) || !spec.path.exists() {
        return walk::files(&spec.path, &BELOW, is_transcript);
    }
    walk::files(&spec.path, &[""], |name| name.starts_with("rollout-") && is_transcript(name))
}

/// Whether a file name is that of a transcript.
pub(super) fn is_transcript(name: &str) -> bool {
    walk::ends(name, ".jsonl") || walk::ends(name, ".jsonl.zst")
}

/// Reads the files of a tree, adds up their lines and hands each on.
fn scan_files<R: Records>(
    spec: &StoreSpec,
    found: &Found,
    faults: Faults,
    shelf: Option<&dyn Shelf>,
    progress: Progress<'_>,
    known: &[&str],
    take: &mut dyn FnMut(&Taken<'_, R>),
) -> StoreScan {
    let mut scan = StoreScan::default();
    let tops = spec.tops();
    let wrong = |top: &Path| match std::fs::metadata(top) {
        Ok(meta) if meta.is_dir() => None,
        Ok(_) => Some("is not a folder".to_owned()),
        Err(error) => Some(fault(&error)),
    };
    let roots: Vec<(&str, Option<String>)> = tops.iter().map(|(top, shown)| (*shown, wrong(top))).collect();
    for (shown, reason) in roots.iter().filter_map(|(shown, reason)| Some((shown, reason.as_ref()?))) {
        scan.fault(shown, reason);
    }
    let is_said = |name: &str| {
        let is_root = |shown: &str| name == shown || name.is_empty() && spec.roots.is_empty();
        roots.iter().any(|(shown, reason)| reason.is_some() && is_root(shown))
    };
    let shown = |name: &str| spec.shown(name);
    for (name, reason) in faults.into_iter().filter(|(name, _)| !is_said(name)) {
        scan.fault(&shown(&name), &reason);
    }
    let scanned = scan::scan(found, shelf, progress, &mut |file: Taken<'_, R>| {
        scan.add_lines(&|| shown(file.name), &file.state.tally);
        if let Some(fault) = file.fault {
            scan.fault(&shown(file.name), fault);
            scan.cut_tails += file.state.tally.open_tails;
        }
        take(&file);
    });
    scan.bytes_read = scanned.bytes_read;
    scan.ways = scanned.ways;
    scan.index_fault = scanned.index_fault;
    scan.input.files = found.len() as u64;
    let unknown = scan.kinds.iter().filter(|(kind, _)| !known.contains(&kind.as_str()));
    scan.unknown_kinds = unknown.map(|(kind, count)| (kind.clone(), *count)).collect();
    scan
}
