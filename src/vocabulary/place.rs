//! Where a value stands: files, lines and JSON pointers.

use std::fmt;

use super::{Digest, digest::git_blob};

/// A line of a file, shown as `path:line`. The path is the one the operator wrote, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Path as the operator wrote it, with `/` between parts.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
}

impl Place {
    /// A place from its two parts.
    pub fn new(path: impl Into<String>, line: usize) -> Self {
        Self { path: path.into(), line }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// One configuration file, read once: what was validated is what is used, whatever happens to the file afterwards. Its text may
/// hold keys that nobody asked for, so it is not among what is shown for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Path relative to the workspace; the path a patch names.
    pub path: String,
    /// The text as read.
    pub text: String,
}

impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.text.len();
        f.debug_struct("ConfigFile").field("path", &self.path).field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl ConfigFile {
    /// The git object id of these bytes, as `git hash-object` prints it.
    pub fn blob(&self) -> String {
        git_blob(&self.text)
    }

    /// SHA-256 of these bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}
