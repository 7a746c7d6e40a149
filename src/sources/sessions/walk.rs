//! The files of a store, in one fixed order, with what tells a file from another.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Deepest folder that is entered.
const MAX_DEPTH: usize = 32;

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its path below the root of the store, with `/` between parts.
    pub(super) name: String,
    /// Device and inode.
    pub(super) inode: (u64, u64),
    /// Size in bytes.
    pub(super) size: u64,
    /// Time of the last change, nanoseconds.
    pub(super) changed_ns: i64,
}

/// Folders and files that could not be entered, with the reason.
pub(super) type Faults = Vec<(String, String)>;

/// Every regular file below a folder whose name passes: the files of a folder before its folders, both by name.
/// Links to folders are not entered; the root may be one. A root that is missing holds nothing.
pub(super) fn files(root: &Path, below: &str, passes: impl Fn(&str) -> bool) -> (Vec<FoundFile>, Faults) {
    let mut walk = Walk { passes, files: Vec::new(), faults: Vec::new() };
    let top = if below.is_empty() { root.to_owned() } else { root.join(below) };
    if top.symlink_metadata().is_ok() {
        walk.enter(&top, below, 0);
    }
    (walk.files, walk.faults)
}

/// A walk under way.
struct Walk<F> {
    /// Which names pass.
    passes: F,
    /// Files so far.
    files: Vec<FoundFile>,
    /// Faults so far.
    faults: Faults,
}

impl<F: Fn(&str) -> bool> Walk<F> {
    /// Walks one folder.
    fn enter(&mut self, folder: &Path, name: &str, depth: usize) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.faults.push((name.to_owned(), super::fault(&error))),
        };
        let mut folders = Vec::new();
        let mut files = Vec::new();
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry))) {
                Ok((kind, entry)) if kind.is_dir() => folders.push(entry.file_name()),
                Ok((_, entry)) => files.push(entry.file_name()),
                Err(error) => self.faults.push((name.to_owned(), super::fault(&error))),
            }
        }
        files.sort_unstable();
        folders.sort_unstable();
        for file in files {
            let text = file.to_string_lossy();
            if (self.passes)(&text) {
                self.file(folder.join(&file), joined(name, &text));
            }
        }
        for below in folders {
            let shown = joined(name, &below.to_string_lossy());
            if depth < MAX_DEPTH {
                self.enter(&folder.join(&below), &shown, depth + 1);
            } else {
                self.faults.push((shown, "lies too deep".to_owned()));
            }
        }
    }

    /// Takes one file.
    fn file(&mut self, path: PathBuf, name: String) {
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => {
                let (inode, changed_ns) = identity(&meta);
                self.files.push(FoundFile { path, name, inode, size: meta.len(), changed_ns });
            }
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => self.faults.push((name, "is not a regular file".to_owned())),
            Err(error) => self.faults.push((name, super::fault(&error))),
        }
    }
}

/// A name below another.
fn joined(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// Device, inode and time of the last change.
#[cfg(unix)]
fn identity(meta: &Metadata) -> ((u64, u64), i64) {
    use std::os::unix::fs::MetadataExt as _;
    ((meta.dev(), meta.ino()), meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()))
}

/// Elsewhere there is no inode: only path, size and time tell files apart.
#[cfg(not(unix))]
fn identity(meta: &Metadata) -> ((u64, u64), i64) {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    ((0, 0), since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default())
}

/// Whether a name ends so. Clients write their endings in small letters, and only those are theirs.
pub(super) fn ends(name: &str, ending: &str) -> bool {
    name.as_bytes().ends_with(ending.as_bytes())
}
