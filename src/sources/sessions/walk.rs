//! The files of a store, in one fixed order, with what tells a file from another. Their names share one text: a file of a
//! store of 200,000 costs some sixty bytes here.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Deepest folder that is entered.
const MAX_DEPTH: usize = 32;

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its path below the root of the store, with `/` between parts.
    pub(super) name: String,
    /// What tells it from another.
    pub(super) stat: Stat,
}

/// What the system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stat {
    /// Device and inode.
    pub(super) inode: (u64, u64),
    /// Size in bytes.
    pub(super) size: u64,
    /// Time of the last change of its content, nanoseconds.
    pub(super) changed_ns: i64,
    /// Time of the last change of anything of it, its name included, nanoseconds: nobody can set it back.
    pub(super) touched_ns: i64,
}

/// Folders and files that could not be entered, with the reason.
pub(super) type Faults = Vec<(String, String)>;

/// Every file that was found, in the order of the walk.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The root of the store.
    root: PathBuf,
    /// Paths of the folders below the root.
    folders: Vec<String>,
    /// Names of the files without their folders, one behind the other.
    names: String,
    /// Of every file its folder, where its name ends, and what the system says of it.
    files: Vec<(u32, usize, Stat)>,
    /// Paths that their names do not spell, by number: they are no UTF-8.
    strange: BTreeMap<usize, PathBuf>,
}

impl Found {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// What the system said of a file.
    pub(super) fn stat(&self, number: usize) -> &Stat {
        &self.files[number].2
    }

    /// The path of a file below the root.
    pub(super) fn name(&self, number: usize) -> String {
        let (folder, end, _) = self.files[number];
        let start = if number == 0 { 0 } else { self.files[number - 1].1 };
        joined(&self.folders[folder as usize], &self.names[start..end])
    }

    /// A file by its number.
    pub(super) fn get(&self, number: usize) -> FoundFile {
        let name = self.name(number);
        let path = self.strange.get(&number).cloned().unwrap_or_else(|| self.root.join(&name));
        FoundFile { path, name, stat: *self.stat(number) }
    }

    /// Every file.
    pub(super) fn iter(&self) -> impl Iterator<Item = FoundFile> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Adds a file of the folder with this name.
    fn add(&mut self, folder: &str, name: &str, path: PathBuf, stat: Stat) {
        if self.folders.last().is_none_or(|last| last != folder) {
            self.folders.push(folder.to_owned());
        }
        if self.root.join(folder).join(name) != path {
            self.strange.insert(self.len(), path);
        }
        self.names.push_str(name);
        let folder = u32::try_from(self.folders.len() - 1).unwrap_or(u32::MAX);
        self.files.push((folder, self.names.len(), stat));
    }
}

/// Every regular file below some folders of a root whose name passes: folder by folder as given, the files of a folder before
/// its folders, both by name. Links to folders are not entered; the root may be one. A folder that is missing holds nothing.
pub(super) fn files(root: &Path, below: &[&str], passes: impl Fn(&str) -> bool) -> (Found, Faults) {
    let top = |below: &&str| (if below.is_empty() { root.to_owned() } else { root.join(below) }, (*below).to_owned());
    files_of(root, &below.iter().map(top).collect::<Vec<_>>(), passes)
}

/// As [`files`], of folders that stand anywhere, each with the name that goes before those of its files.
pub(super) fn files_of(root: &Path, tops: &[(PathBuf, String)], passes: impl Fn(&str) -> bool) -> (Found, Faults) {
    let found = Found { root: root.to_owned(), ..Found::default() };
    let mut walk = Walk { passes, found, faults: Vec::new() };
    for (top, name) in tops {
        if top.symlink_metadata().is_ok() {
            walk.enter(top, name, 0);
        }
    }
    walk.found.files.shrink_to_fit();
    (walk.found, walk.faults)
}

/// A walk under way.
struct Walk<F> {
    /// Which names pass.
    passes: F,
    /// Files so far.
    found: Found,
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
                self.file(folder.join(&file), name, &text);
            } else if text.strip_suffix(".gz").is_some_and(&self.passes) {
                self.faults.push((joined(name, &text), super::GZIP.to_owned()));
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
    fn file(&mut self, path: PathBuf, folder: &str, name: &str) {
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => {
                self.found.add(folder, name, path, stat(&meta));
            }
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => self.faults.push((joined(folder, name), "is not a regular file".to_owned())),
            Err(error) => self.faults.push((joined(folder, name), super::fault(&error))),
        }
    }
}

/// A name below another.
pub(super) fn joined(above: &str, name: &str) -> String {
    if name.is_empty() {
        above.to_owned()
    } else if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    }
}

/// Size, device, inode and times.
#[cfg(unix)]
fn stat(meta: &Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt as _;
    let ns = |seconds: i64, more: i64| seconds.saturating_mul(1_000_000_000).saturating_add(more);
    Stat {
        inode: (meta.dev(), meta.ino()),
        size: meta.len(),
        changed_ns: ns(meta.mtime(), meta.mtime_nsec()),
        touched_ns: ns(meta.ctime(), meta.ctime_nsec()),
    }
}

/// Elsewhere there is no inode: only path, size and time tell files apart.
#[cfg(not(unix))]
fn stat(meta: &Metadata) -> Stat {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let changed_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default();
    Stat { inode: (0, 0), size: meta.len(), changed_ns, touched_ns: 0 }
}

/// Whether a name ends so. Clients write their endings in small letters, and only those are theirs.
pub(super) fn ends(name: &str, ending: &str) -> bool {
    name.as_bytes().ends_with(ending.as_bytes())
}
