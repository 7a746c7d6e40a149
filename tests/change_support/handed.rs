//! The handed folder: where it is, and what is in it.

use std::path::{Path, PathBuf};

/// The handed folder, if it is there; says so on stderr if not.
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("POOL_REVIEW_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    say("skipped: ../shared not present");
    None
}

/// A line on stderr.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// Files below a folder with an extension, in path order.
pub(crate) fn files_under(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
