//! What several integration tests share: the handed folder, found by environment, and what lies in it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot read its input has failed, and says what it skipped"
)]

use std::path::{Path, PathBuf};

/// The handed folder, or `None` with a word on stderr where it is missing: the project's own suite passes without it.
pub(crate) fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("POOL_REVIEW_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: ../shared not present");
    None
}

/// Every file below a folder whose name passes, sorted by path.
pub(crate) fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if wanted(&entry.file_name().unwrap().to_string_lossy()) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}
