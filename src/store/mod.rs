//! The one place that opens files for writing. A store holds the lock of the reports folder for as long as it lives and
//! writes nowhere but in that folder, to the log and to the log's months beside it. It knows nothing of what it writes.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

mod blocks;
mod cache;
mod lock;
mod look;
mod write;

pub use blocks::{Look, look_at, read_blocks};
pub use cache::{Cache, CacheDraft};
pub use lock::lock_owner;
pub use look::{files_in, log_files, look, look_into};
pub use write::{Step, Steps, append_aside, create_new, replace_fetched};

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use lock::{LOCK, take_lock};
use look::{entries, is_month_name, made_folder, months, read_file, resolve, resolved_log};
use write::{NEW, ask, new_path, sync_folder, torn_path, write_bytes, write_whole};

/// The folder beside the log that holds finished months.
pub const MONTHS: &str = "log";

/// Where a run may write. Dropping it frees the lock.
pub struct Store {
    /// The workspace, resolved; relative paths start here.
    workspace: PathBuf,
    /// The reports folder, resolved.
    reports: PathBuf,
    /// The log, resolved.
    log: PathBuf,
    /// The open lock file.
    lock: File,
    /// Is asked before every step.
    steps: Option<Steps>,
    /// What an earlier run left behind, in sentences.
    recovered: Vec<String>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("reports", &self.reports).field("log", &self.log).finish_non_exhaustive()
    }
}

impl Store {
    /// Creates the reports folder and the log's folder if they are missing and takes the lock. Relative paths start at
    /// the workspace. Errors: a log that is no `.md` file, a folder that cannot be made, another run that holds the lock.
    pub fn open(workspace: &Path, reports: &Path, log: &Path) -> Result<Self> {
        Self::open_with(workspace, reports, log, None)
    }

    /// As [`Self::open`]; `steps` is asked before everything that changes a file. Temporary files that a killed run left are
    /// taken away, and a lock that it did not free is taken over: the system frees it with the process.
    pub fn open_with(workspace: &Path, reports: &Path, log: &Path, steps: Option<Steps>) -> Result<Self> {
        let workspace = workspace
            .canonicalize()
            .map_err(|error| look::of_link(workspace, error))
            .with_context(|| format!("opening the workspace {}", workspace.display()))?;
        ask(steps.as_ref(), Step::MakeFolder, reports)
            .with_context(|| format!("making the folder {}", reports.display()))?;
        let reports = made_folder(&workspace.join(reports))?;
        let log = resolved_log(&workspace.join(log))?;
        let path = reports.join(LOCK);
        ask(steps.as_ref(), Step::Lock, &path).with_context(|| format!("locking {}", path.display()))?;
        let (lock, killed) = take_lock(&path)?;
        let mut store = Self { workspace, reports, log, lock, steps, recovered: Vec::new() };
        store.recovered.extend(killed);
        store.sweep()?;
        Ok(store)
    }

    /// What an earlier run left behind and this store put right when it was opened, in sentences.
    pub fn recovered(&self) -> &[String] {
        &self.recovered
    }

    /// Takes away what a killed run had not yet put in its place.
    fn sweep(&mut self) -> Result<()> {
        let months = self.log.with_file_name(MONTHS);
        let folders = [self.reports.clone(), self.log.with_file_name("")];
        let below = entries(&self.reports)?.into_iter().filter(|path| path.is_dir() && !path.is_symlink());
        let mut left: Vec<PathBuf> = Vec::new();
        for folder in folders.into_iter().chain(below).chain([months]) {
            left.extend(entries(&folder)?.into_iter().filter(|path| self.is_left_over(path)));
        }
        left.sort();
        left.dedup();
        for path in left {
            let shown = self.shown(&path);
            self.recovered.push(match self.step(Step::Remove, &path).and_then(|()| fs::remove_file(&path)) {
                Ok(()) => format!("{shown}: left by a killed run, removed"),
                Err(error) => format!("{shown}: left by a killed run, cannot be removed: {error}"),
            });
        }
        Ok(())
    }

    /// Whether a path is the temporary name of a file this store may write.
    fn is_left_over(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let target = name.and_then(|name| name.strip_prefix('.')?.strip_suffix(NEW));
        target.is_some_and(|name| !name.is_empty() && self.allows(&path.with_file_name(name)) && !path.is_dir())
    }

    /// Asks before a step.
    fn step(&self, step: Step, path: &Path) -> std::io::Result<()> {
        ask(self.steps.as_ref(), step, path)
    }

    /// The path of a file in the reports folder.
    pub fn in_reports(&self, name: &str) -> PathBuf {
        self.reports.join(name)
    }

    /// The path of the log.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The path of a finished month of the log, `YYYY-MM`.
    pub fn month_path(&self, month: &str) -> PathBuf {
        self.log.with_file_name(MONTHS).join(format!("{month}.md"))
    }

    /// The finished months of the log, `YYYY-MM`, oldest first.
    pub fn months(&self) -> Result<Vec<String>> {
        let months = months(&self.log)?.into_iter();
        Ok(months.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
    }

    /// The path as messages show it: relative to the workspace where it is inside.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string()
    }

    /// The bytes of a file this store may write; `None` when there is none. A folder or a pipe is an error.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let path = self.target(path)?;
        read_file(&path).with_context(|| format!("reading {}", self.shown(&path)))
    }

    /// As [`Self::read`], for files that others put there: more bytes than `most` are an error, and are not read.
    pub fn read_at_most(&self, path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
        let path = self.target(path)?;
        let size = path.metadata().map_or(0, |meta| meta.len());
        if size > most {
            bail!("{} holds {size} bytes, at most {most} are read", self.shown(&path));
        }
        self.read(&path)
    }

    /// Puts these bytes in the place of a file: a temporary file beside it, synced, renamed, folder synced. Bytes that
    /// are there already are left alone. Returns whether something was written.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let path = self.target_with_folder(path)?;
        if self.read(&path)?.is_some_and(|old| old == bytes) {
            return Ok(false);
        }
        write_whole(self.steps.as_ref(), &path, &new_path(&path, ""), bytes)
            .with_context(|| format!("writing {}", self.shown(&path)))?;
        Ok(true)
    }

    /// Adds one line and its end to a file and syncs it; see [`Self::append_lines`].
    pub fn append_line(&self, path: &Path, line: &str) -> Result<Option<String>> {
        self.append_lines(path, &[line.to_owned()])
    }

    /// Adds lines to a file in one write and syncs it. A last line that was left without an end by a killed run is first
    /// moved to `<file>.torn`; the sentence that comes back then says so. When the disk is full the file gets its old length.
    pub fn append_lines(&self, path: &Path, lines: &[String]) -> Result<Option<String>> {
        if lines.is_empty() {
            return Ok(None);
        }
        let path = self.target_with_folder(path)?;
        let is_new = look_at(&path).is_none();
        let torn = self.move_torn_tail(&path)?;
        let mut bytes = lines.join("\n").into_bytes();
        bytes.push(b'\n');
        self.append(&path, &bytes).with_context(|| format!("appending to {}", self.shown(&path)))?;
        if is_new {
            sync_folder(self.steps.as_ref(), &path).with_context(|| format!("appending to {}", self.shown(&path)))?;
        }
        Ok(torn)
    }

    /// The names of the files in a folder of the reports folder, sorted; none when there is no folder.
    pub fn names(&self, folder: &str) -> Result<Vec<String>> {
        let folder = self.in_reports(folder);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| format!("listing {}", self.shown(&folder))),
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<String> =
            names.collect::<std::io::Result<_>>().with_context(|| format!("listing {}", self.shown(&folder)))?;
        names.sort();
        Ok(names)
    }

    /// Deletes a file of the reports folder. Returns whether it was there.
    pub fn remove(&self, path: &Path) -> Result<bool> {
        let path = self.target(path)?;
        if !path.starts_with(&self.reports) || self.read(&path)?.is_none() {
            return Ok(false);
        }
        self.step(Step::Remove, &path)
            .and_then(|()| fs::remove_file(&path))
            .with_context(|| format!("removing {}", self.shown(&path)))?;
        Ok(true)
    }

    /// Moves what follows the last line end to `<file>.torn`.
    fn move_torn_tail(&self, path: &Path) -> Result<Option<String>> {
        let mut last = Vec::new();
        let length = look_at(path).map_or(0, |look| look.length);
        read_blocks(path, &self.shown(path), length.saturating_sub(1), 1, &mut |block| last.extend_from_slice(block))?;
        if last.is_empty() || last == b"\n" {
            return Ok(None);
        }
        let Some(bytes) = self.read(path)? else { return Ok(None) };
        let kept = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let aside = torn_path(path);
        let mut tail = bytes[kept..].to_vec();
        tail.push(b'\n');
        self.append(&self.target(&aside)?, &tail).with_context(|| format!("appending to {}", self.shown(&aside)))?;
        self.truncate(path, kept).with_context(|| format!("mending {}", self.shown(path)))?;
        let count = bytes.len() - kept;
        let (from, to) = (self.shown(path), self.shown(&aside));
        Ok(Some(format!("{from}: an unfinished last line of {count} bytes was moved to {to}")))
    }

    /// The resolved path, if this store may write there: symbolic links are followed first.
    fn target(&self, path: &Path) -> Result<PathBuf> {
        let path = self.workspace.join(path);
        if path.components().any(|part| part == Component::ParentDir) {
            bail!("refusing to write {}: the path climbs with \"..\"", self.shown(&path));
        }
        let resolved = resolve(&path).with_context(|| format!("opening {}", self.shown(&path)))?;
        if !self.allows(&resolved) {
            bail!("refusing to write {}: outside the reports folder and the log", self.shown(&resolved));
        }
        Ok(resolved)
    }

    /// As [`Self::target`], with its folder made.
    fn target_with_folder(&self, path: &Path) -> Result<PathBuf> {
        let path = self.target(path)?;
        if let Some(folder) = path.parent() {
            let made = if folder.is_dir() {
                Ok(())
            } else {
                self.step(Step::MakeFolder, folder).and_then(|()| fs::create_dir_all(folder))
            };
            made.with_context(|| format!("making the folder {}", self.shown(folder)))?;
        }
        Ok(path)
    }

    /// Adds bytes at the end and syncs them; on an error the file gets its old length back.
    fn append(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        self.step(Step::Open, path)?;
        let mut file = File::options().append(true).create(true).open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        let written = write_bytes(self.steps.as_ref(), &mut file, path, bytes).and_then(|()| {
            self.step(Step::Sync, path)?;
            file.sync_data()
        });
        if written.is_err() {
            file.set_len(length)?;
        }
        written
    }

    /// Cuts a file to a length and syncs it.
    fn truncate(&self, path: &Path, length: usize) -> std::io::Result<()> {
        self.step(Step::Truncate, path)?;
        let file = File::options().write(true).open(path)?;
        file.set_len(u64::try_from(length).expect("a length in memory fits 64 bits"))?;
        file.sync_all()
    }

    /// The allow-list: inside the reports folder, the log, the log's months.
    fn allows(&self, resolved: &Path) -> bool {
        let is_month = resolved.parent().is_some_and(|folder| folder == self.log.with_file_name(MONTHS))
            && resolved.file_name().and_then(|name| name.to_str()).is_some_and(is_month_name);
        let is_report = resolved.starts_with(&self.reports) && resolved != self.reports.join(LOCK);
        is_report || resolved == self.log || is_month
    }
}

impl Drop for Store {
    /// Empties the lock file, so that a finished run leaves the same bytes every time; the lock itself goes with the file.
    fn drop(&mut self) {
        // An error leaves a stale process id in a file that only people read.
        let _ = self.lock.set_len(0);
    }
}
