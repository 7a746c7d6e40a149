//! Stores that name the same files: the same folder twice, one inside another, or a link to it. Each is read once.

use std::path::{Path, PathBuf};

use super::{StoreSpec, is_transcript, walk};
use crate::vocabulary::StoreKind;

/// A folder or file of a store.
struct Top {
    /// Place of the store.
    store: usize,
    /// Place among its folders.
    at: usize,
    /// Kind of the store.
    kind: StoreKind,
    /// Where the files that are read begin, links resolved.
    paths: Vec<PathBuf>,
    /// What it is called.
    shown: String,
}

/// The stores without what another store of the same kind reads already, and what to say of that. Of equal ones the first stays, of
/// nested ones the outer one.
pub fn without_overlaps(mut specs: Vec<StoreSpec>) -> (Vec<StoreSpec>, Vec<String>) {
    let tops: Vec<Top> = specs.iter().enumerate().flat_map(|(store, spec)| tops(store, spec)).collect();
    let holder = |one: &Top, place: usize| {
        let is_holder = |(other_place, other): &(usize, &Top)| {
            *other_place != place && other.holds(one) && (*other_place < place || !one.holds(other))
        };
        tops.iter().enumerate().find(is_holder).map(|(_, other)| other)
    };
    let mut said = Vec::new();
    let mut lost: Vec<(usize, usize)> = Vec::new();
    for (place, top) in tops.iter().enumerate() {
        if let Some(other) = holder(top, place) {
            said.push(format!("{} is read with {}, once: both name the same files", top.shown, other.shown));
            lost.push((top.store, top.at));
        }
    }
    for (store, at) in lost.iter().rev() {
        if specs[*store].roots.is_empty() {
            specs.remove(*store);
        } else {
            specs[*store].roots.remove(*at);
            if specs[*store].roots.is_empty() {
                specs.remove(*store);
            }
        }
    }
    (specs, said)
}

/// The folders of a store that exist.
fn tops(store: usize, spec: &StoreSpec) -> Vec<Top> {
    let top = |(at, (path, shown)): (usize, (&Path, &str))| {
        let paths = read_below(spec.kind, path).iter().filter_map(|path| path.canonicalize().ok()).collect();
        Top { store, at, kind: spec.kind, paths, shown: shown.to_owned() }
    };
    spec.tops().into_iter().enumerate().map(top).filter(|top| !top.paths.is_empty()).collect()
}

/// Where the files of a store begin.
fn read_below(kind: StoreKind, path: &Path) -> Vec<PathBuf> {
    let below: &[&str] = match kind {
        StoreKind::ClaudeCode => &["projects"],
        StoreKind::Codex => &["sessions", "archived_sessions"],
        StoreKind::Opencode | StoreKind::Litellm => &[],
    };
    let found: Vec<PathBuf> = below.iter().map(|below| path.join(below)).filter(|below| below.is_dir()).collect();
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

impl Top {
    /// Whether everything that another reads is read here.
    fn holds(&self, other: &Self) -> bool {
        let is_in = |inner: &PathBuf| self.paths.iter().any(|outer| self.reaches(outer, inner));
        self.kind == other.kind && other.paths.iter().all(is_in)
    }

    /// Whether a walk from one place comes by another. The database of an opencode folder lies in it and nowhere deeper.
    fn reaches(&self, outer: &Path, inner: &Path) -> bool {
        if outer == inner {
            return true;
        }
        let name = inner.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match self.kind {
            StoreKind::Opencode => {
                inner.parent() == Some(outer) && name.starts_with("opencode") && walk::ends(name, ".db")
            }
            StoreKind::Litellm => {
                inner.starts_with(outer) && (inner.is_dir() || walk::ends(name, ".csv") || walk::ends(name, ".jsonl"))
            }
            StoreKind::ClaudeCode | StoreKind::Codex => {
                inner.starts_with(outer) && (inner.is_dir() || is_transcript(name))
            }
        }
    }
}
