//! A folder for what can be read again.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::look::{made_folder, read_file};
use super::write::{new_path, write_whole};

/// What marks a cache folder (bford.info/cachedir).
const CACHE_MARK: &[u8] =
    b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of pool-review; it may be deleted at any time.\n";

/// A folder for what can be read again. Anything in it may be lost; nothing else may be written through it.
#[derive(Debug)]
pub struct Cache {
    /// The folder.
    folder: PathBuf,
}

impl Cache {
    /// A cache in a folder; a relative path starts at the workspace. Nothing is made yet.
    pub fn at(workspace: &Path, folder: &Path) -> Self {
        Self { folder: workspace.join(folder) }
    }

    /// The bytes of a file; `None` when there is none or it cannot be read.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        read_file(&self.folder.join(name)).ok().flatten()
    }

    /// Puts these bytes in the place of a file, and a mark in the folder that tells backups to pass it by.
    /// Errors: a name that leads elsewhere, a folder that cannot be made or written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if Path::new(name).file_name().is_none_or(|plain| plain != name) {
            bail!("refusing to write {name:?} into the cache");
        }
        let folder = made_folder(&self.folder)?;
        let mark = folder.join("CACHEDIR.TAG");
        let owner = format!(".{}", std::process::id());
        let shown = || format!("writing {}", self.folder.join(name).display());
        if !mark.exists() {
            let new = new_path(&mark, &owner);
            write_whole(None, &mark, &new, CACHE_MARK).with_context(shown)?;
        }
        let path = folder.join(name);
        write_whole(None, &path, &new_path(&path, &owner), bytes).with_context(shown)
    }
}
