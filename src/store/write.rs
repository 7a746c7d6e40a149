//! How bytes come to lie on the disk: whole files by a new name, sync and rename; every step can be watched and made to fail.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result};

use super::look::resolve;

/// What a whole file is called until it is put in its place: `.<name>.new`, beside it.
pub(super) const NEW: &str = ".new";

/// One thing that is about to happen to a file. Between any two of them a process may be killed or a disk may be full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Makes a folder that is missing.
    MakeFolder,
    /// Takes the lock.
    Lock,
    /// Creates or opens a file.
    Open,
    /// Writes the first half of some bytes.
    WriteHalf,
    /// Writes the rest.
    WriteRest,
    /// Syncs a file.
    Sync,
    /// Puts a new file in the place of an old one.
    Rename,
    /// Syncs a folder.
    SyncFolder,
    /// Cuts a file.
    Truncate,
    /// Deletes a file.
    Remove,
}

/// Is asked before every step. What it answers with is what the step fails with; tests end the process in it.
pub type Steps = Rc<dyn Fn(Step, &Path) -> std::io::Result<()>>;

/// Adds bytes to the end of a file that the surroundings named for it, such as the summary of a job: nothing of a run.
pub fn append_aside(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || File::options().append(true).create(true).open(path)?.write_all(bytes);
    write().with_context(|| format!("appending to {}", path.display()))
}

/// Replaces a file of the data folder whole, for `fetch` alone; its folder is made if it is missing. A link is followed, so
/// that it stays a link. Writers hold no lock here, so the new name carries the process.
pub fn replace_fetched(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let target = resolve(path)?;
        write_whole(None, &target, &new_path(&target, &format!(".{}", std::process::id())), bytes)
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Makes a new file with its folders, for `init` alone; a file that is there is an error and stays as it is.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut file = File::options().write(true).create_new(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Writes a whole file under a new name beside its place and puts it there. The old file's mode is kept. On an error the old
/// file stands, and the new one is taken away as far as that is possible.
pub(super) fn write_whole(steps: Option<&Steps>, path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let written = write_new(steps, path, new, bytes);
    if written.is_err() {
        // The error that counts is the first one; what stays is swept by the next run.
        let _ = fs::remove_file(new);
    }
    written
}

/// The steps of [`write_whole`].
fn write_new(steps: Option<&Steps>, path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = open_new(steps, path, new)?;
    write_bytes(steps, &mut file, new, bytes)?;
    put_in_place(steps, &file, path, new)
}

/// Creates the new file of a place, with the mode of the old one.
pub(super) fn open_new(steps: Option<&Steps>, path: &Path, new: &Path) -> std::io::Result<File> {
    ask(steps, Step::Open, new)?;
    if new.symlink_metadata().is_ok() {
        fs::remove_file(new)?;
    }
    let file = File::options().write(true).create_new(true).open(new)?;
    if let Ok(old) = path.metadata() {
        file.set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// Syncs a written new file and puts it in its place.
pub(super) fn put_in_place(steps: Option<&Steps>, file: &File, path: &Path, new: &Path) -> std::io::Result<()> {
    ask(steps, Step::Sync, new)?;
    file.sync_all()?;
    ask(steps, Step::Rename, path)?;
    fs::rename(new, path)?;
    sync_folder(steps, path)
}

/// Writes bytes in two halves, so that a step lies between them.
pub(super) fn write_bytes(steps: Option<&Steps>, file: &mut File, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    ask(steps, Step::WriteHalf, path)?;
    file.write_all(half)?;
    ask(steps, Step::WriteRest, path)?;
    file.write_all(rest)
}

/// Syncs the folder of a file, so that its new name is kept.
pub(super) fn sync_folder(steps: Option<&Steps>, path: &Path) -> std::io::Result<()> {
    ask(steps, Step::SyncFolder, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Asks before a step.
pub(super) fn ask(steps: Option<&Steps>, step: Step, path: &Path) -> std::io::Result<()> {
    steps.map_or(Ok(()), |steps| steps(step, path))
}

/// `.<name>.new` beside a file; `mark` tells writers apart that hold no lock.
pub(super) fn new_path(path: &Path, mark: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(mark);
    name.push(NEW);
    path.with_file_name(name)
}

/// `<file>.torn`.
pub(super) fn torn_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}
