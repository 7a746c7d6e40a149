//! The one place that opens files for writing. A store holds the lock of the reports folder for as long as it lives and
//! writes nowhere but in that folder, to the log and to the log's months beside it. It knows nothing of what it writes.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};

/// The name of the lock in the reports folder. It is never deleted; an empty one is free.
const LOCK: &str = ".lock";

/// The folder beside the log that holds finished months.
const MONTHS: &str = "log";

/// What a whole file is called until it is put in its place: `.<name>.new`, beside it.
const NEW: &str = ".new";

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
        let workspace =
            workspace.canonicalize().with_context(|| format!("opening the workspace {}", workspace.display()))?;
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
        let names = entries(&self.log.with_file_name(MONTHS))?.into_iter();
        let names = names.filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        let mut months: Vec<String> =
            names.filter(|name| is_month_name(name)).map(|name| name[..7].to_owned()).collect();
        months.sort();
        Ok(months)
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
        let is_new = self.read(&path)?.is_none();
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
        let Some(bytes) = self.read(path)? else { return Ok(None) };
        let kept = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if kept == bytes.len() {
            return Ok(None);
        }
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

/// The bytes of any file, for verbs that look without taking the lock; `None` when there is none.
pub fn look(path: &Path) -> Result<Option<Vec<u8>>> {
    read_file(path).with_context(|| format!("reading {}", path.display()))
}

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

/// The plain files of a folder whose names pass, sorted by name, each with its bytes or a fragment that says why not.
pub fn files_in(folder: &Path, passes: &dyn Fn(&str) -> bool) -> Vec<(String, std::result::Result<Vec<u8>, String>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| passes(name));
    names.sort();
    let read = |name: String| {
        let bytes = read_file(&folder.join(&name)).map_err(|error| format!("cannot be read: {}", error.kind()));
        (name, bytes.map(Option::unwrap_or_default))
    };
    names.into_iter().map(read).collect()
}

/// What marks a cache folder (bford.info/cachedir).
const CACHE_MARK: &[u8] =
    b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of pool-review; it may be deleted at any time.\n";

/// The names of what lies in a folder, sorted; none when there is no folder.
pub fn look_into(folder: &Path) -> Result<Vec<String>> {
    let names = entries(folder)?.into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// The process id that stands in the lock of a reports folder; `None` when it is free.
pub fn lock_owner(reports: &Path) -> Option<u32> {
    fs::read_to_string(reports.join(LOCK)).ok()?.trim().parse().ok()
}

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
fn write_whole(steps: Option<&Steps>, path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let written = write_new(steps, path, new, bytes);
    if written.is_err() {
        // The error that counts is the first one; what stays is swept by the next run.
        let _ = fs::remove_file(new);
    }
    written
}

/// The steps of [`write_whole`].
fn write_new(steps: Option<&Steps>, path: &Path, new: &Path, bytes: &[u8]) -> std::io::Result<()> {
    ask(steps, Step::Open, new)?;
    if new.symlink_metadata().is_ok() {
        fs::remove_file(new)?;
    }
    let mut file = File::options().write(true).create_new(true).open(new)?;
    if let Ok(old) = path.metadata() {
        file.set_permissions(old.permissions())?;
    }
    write_bytes(steps, &mut file, new, bytes)?;
    ask(steps, Step::Sync, new)?;
    file.sync_all()?;
    ask(steps, Step::Rename, path)?;
    fs::rename(new, path)?;
    sync_folder(steps, path)
}

/// Writes bytes in two halves, so that a step lies between them.
fn write_bytes(steps: Option<&Steps>, file: &mut File, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    ask(steps, Step::WriteHalf, path)?;
    file.write_all(half)?;
    ask(steps, Step::WriteRest, path)?;
    file.write_all(rest)
}

/// Syncs the folder of a file, so that its new name is kept.
fn sync_folder(steps: Option<&Steps>, path: &Path) -> std::io::Result<()> {
    ask(steps, Step::SyncFolder, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Asks before a step.
fn ask(steps: Option<&Steps>, step: Step, path: &Path) -> std::io::Result<()> {
    steps.map_or(Ok(()), |steps| steps(step, path))
}

/// What lies in a folder; nothing when there is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    read().with_context(|| format!("listing {}", folder.display()))
}

/// `.<name>.new` beside a file; `mark` tells writers apart that hold no lock.
fn new_path(path: &Path, mark: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(mark);
    name.push(NEW);
    path.with_file_name(name)
}

/// Whether a file name reads `YYYY-MM.md`.
fn is_month_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() == 10
        && bytes.ends_with(b".md")
        && bytes[4] == b'-'
        && bytes[..7].iter().enumerate().all(|(i, byte)| i == 4 || byte.is_ascii_digit())
}

/// A folder, made if missing, resolved.
fn made_folder(path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(path).with_context(|| format!("making the folder {}", path.display()))?;
    path.canonicalize().with_context(|| format!("opening the folder {}", path.display()))
}

/// The log's path with its folder made and links followed.
fn resolved_log(log: &Path) -> Result<PathBuf> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name()) else {
        bail!("the log path {} names no file", log.display());
    };
    if log.extension().is_none_or(|ending| ending != "md") {
        bail!("the log path {} does not end in .md", log.display());
    }
    let path = made_folder(folder)?.join(name);
    let path = resolve(&path).with_context(|| format!("opening the log {}", log.display()))?;
    if path.extension().is_none_or(|ending| ending != "md") {
        bail!("the log path {} leads to {}, which does not end in .md", log.display(), path.display());
    }
    Ok(path)
}

/// Takes the exclusive lock and writes the process id into it for people. A process id that is still there belongs to a run
/// that was killed; the sentence says so.
fn take_lock(path: &Path) -> Result<(File, Option<String>)> {
    ensure_regular(path).with_context(|| format!("opening {}", path.display()))?;
    let open = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = open.with_context(|| format!("opening {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held_by_another(path, &mut file)),
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("locking {}", path.display())),
    }
    let killed = owner(&mut file)
        .map(|pid| format!("the run of process {pid} was killed; the lock was taken over and its work is completed"));
    let write = file.set_len(0).and_then(|()| {
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}", std::process::id())
    });
    write.with_context(|| format!("writing {}", path.display()))?;
    Ok((file, killed))
}

/// The process id in a lock file.
fn owner(file: &mut File) -> Option<String> {
    let mut owner = String::new();
    file.take(20).read_to_string(&mut owner).ok()?;
    let owner = owner.trim();
    (!owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_digit())).then(|| owner.to_owned())
}

/// The one line that a second run ends with: who holds the lock, and for how long.
fn held_by_another(path: &Path, file: &mut File) -> anyhow::Error {
    let since = file.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    let since = since.map_or(String::new(), |age| format!(", for {} s", age.as_secs()));
    let owner = owner(file).unwrap_or_else(|| "unknown".to_owned());
    anyhow!("another run holds {} (pid {owner}{since})", path.display())
}

/// Follows links of the deepest part that exists and joins the rest. A link that leads nowhere is an error.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return path.canonicalize();
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
        _ => path.canonicalize(),
    }
}

/// An error unless the path is a plain file or nothing.
fn ensure_regular(path: &Path) -> std::io::Result<()> {
    match path.metadata() {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(std::io::Error::other("not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The bytes of a plain file, `None` when there is none.
fn read_file(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    ensure_regular(path)?;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// `<file>.torn`.
fn torn_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}
