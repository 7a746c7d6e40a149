//! A folder for what can be read again: whole files, or streams that never stand in memory whole.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::look::{ensure_regular, entries, made_folder, read_file};
use super::write::{NEW, new_path, open_new, put_in_place, write_whole};

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

    /// A file, open for reading; `None` when there is none or it cannot be read.
    pub fn open(&self, name: &str) -> Option<File> {
        let path = self.folder.join(name);
        ensure_regular(&path).ok()?;
        File::open(path).ok()
    }

    /// Puts these bytes in the place of a file, and a mark in the folder that tells backups to pass it by.
    /// Errors: a name that leads elsewhere, a folder that cannot be made or written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (path, new) = self.place(name)?;
        write_whole(None, &path, &new, bytes).with_context(|| self.writing(name))
    }

    /// Begins a file that is written as a stream and takes the place of the old one when it is kept. Errors as
    /// [`Self::replace`].
    pub fn draft(&self, name: &str) -> Result<CacheDraft> {
        let (path, new) = self.place(name)?;
        sweep(&path);
        let file = open_new(None, &path, &new).with_context(|| self.writing(name))?;
        // Where a file system knows no locks, no draft is swept either.
        let _ = file.try_lock();
        Ok(CacheDraft { file: Some(BufWriter::with_capacity(1 << 16, file)), path, new, shown: self.writing(name) })
    }

    /// Where a file goes and what it is called until then. The folder is made and marked.
    fn place(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        if Path::new(name).file_name().is_none_or(|plain| plain != name) {
            bail!("refusing to write {name:?} into the cache");
        }
        let folder = made_folder(&self.folder)?;
        let mark = folder.join("CACHEDIR.TAG");
        let owner = format!(".{}", std::process::id());
        if !mark.exists() {
            let new = new_path(&mark, &owner);
            write_whole(None, &mark, &new, CACHE_MARK).with_context(|| self.writing(name))?;
        }
        let path = folder.join(name);
        let new = new_path(&path, &owner);
        Ok((path, new))
    }

    /// What is being done, for errors.
    fn writing(&self, name: &str) -> String {
        format!("writing {}", self.folder.join(name).display())
    }
}

/// Takes away the drafts of a file that killed runs left: nobody holds their lock.
fn sweep(path: &Path) {
    let start = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let is_draft = |draft: &Path| {
        let name = draft.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(&start).is_some_and(|rest| rest.ends_with(NEW))
    };
    let drafts = path.parent().and_then(|folder| entries(folder).ok()).unwrap_or_default();
    for draft in drafts.into_iter().filter(|draft| is_draft(draft)) {
        if File::open(&draft).is_ok_and(|file| file.try_lock().is_ok()) {
            // What cannot be removed is tried again by the next run.
            let _ = fs::remove_file(draft);
        }
    }
}

/// A file of the cache under way. Dropped before it is kept, it is taken away again.
#[derive(Debug)]
pub struct CacheDraft {
    /// The new file; `None` once it has its place.
    file: Option<BufWriter<File>>,
    /// Its place.
    path: PathBuf,
    /// What it is called until then.
    new: PathBuf,
    /// What is being done, for errors.
    shown: String,
}

impl CacheDraft {
    /// Syncs it and puts it in the place of the old one.
    pub fn keep(mut self) -> Result<()> {
        let file = self.file.take().expect("only this takes it");
        let kept = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|file| put_in_place(None, &file, &self.path, &self.new));
        if kept.is_err() {
            let _ = fs::remove_file(&self.new);
        }
        kept.with_context(|| self.shown.clone())
    }
}

impl Write for CacheDraft {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for CacheDraft {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What stays is a file of the cache that nothing reads.
            let _ = fs::remove_file(&self.new);
        }
    }
}
