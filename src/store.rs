//! The one place that opens files for writing. A store holds the lock of the reports folder for as long as it lives and
//! writes nowhere but in that folder, to the log and to the log's months beside it. It knows nothing of what it writes.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use atomic_write_file::AtomicWriteFile;

/// The name of the lock in the reports folder. It is never deleted; an empty one is free.
const LOCK: &str = ".lock";

/// The folder beside the log that holds finished months.
const MONTHS: &str = "log";

/// Where a run may write. Dropping it frees the lock.
#[derive(Debug)]
pub struct Store {
    /// The workspace, resolved; relative paths start here.
    workspace: PathBuf,
    /// The reports folder, resolved.
    reports: PathBuf,
    /// The log, resolved.
    log: PathBuf,
    /// The open lock file.
    lock: File,
}

impl Store {
    /// Creates the reports folder and the log's folder if they are missing and takes the lock. Relative paths start at
    /// the workspace. Errors: a log that is no `.md` file, a folder that cannot be made, another run that holds the lock.
    pub fn open(workspace: &Path, reports: &Path, log: &Path) -> Result<Self> {
        let workspace =
            workspace.canonicalize().with_context(|| format!("opening the workspace {}", workspace.display()))?;
        let reports = made_folder(&workspace.join(reports))?;
        let log = resolved_log(&workspace.join(log))?;
        let lock = take_lock(&reports.join(LOCK))?;
        let store = Self { workspace, reports, log, lock };
        store.sweep();
        Ok(store)
    }

    /// Takes away the temporary files that a run left which was killed while it wrote. The lock is held, so nobody else's
    /// are there; what cannot be removed stays and does no harm.
    fn sweep(&self) {
        let log = self.log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        sweep_folder(&self.reports, true, &|_| true);
        for folder in self.log.parent().into_iter().chain([&*self.log.with_file_name(MONTHS)]) {
            sweep_folder(folder, false, &|of| of == log || is_month_name(of));
        }
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

    /// The path as messages show it: relative to the workspace where it is inside.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string()
    }

    /// The bytes of a file this store may write; `None` when there is none. A folder or a pipe is an error.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let path = self.target(path)?;
        read_file(&path).with_context(|| format!("reading {}", self.shown(&path)))
    }

    /// Puts these bytes in the place of a file: a temporary file beside it, synced, renamed, folder synced. Bytes that
    /// are there already are left alone. Returns whether something was written.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let path = self.target_with_folder(path)?;
        if self.read(&path)?.is_some_and(|old| old == bytes) {
            return Ok(false);
        }
        write_whole(&path, bytes).with_context(|| format!("writing {}", self.shown(&path)))?;
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
        append(&path, &bytes).with_context(|| format!("appending to {}", self.shown(&path)))?;
        if is_new {
            sync_folder(&path).with_context(|| format!("appending to {}", self.shown(&path)))?;
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
        fs::remove_file(&path).with_context(|| format!("removing {}", self.shown(&path)))?;
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
        append(&self.target(&aside)?, &tail).with_context(|| format!("appending to {}", self.shown(&aside)))?;
        truncate(path, kept).with_context(|| format!("mending {}", self.shown(path)))?;
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
            fs::create_dir_all(folder).with_context(|| format!("making the folder {}", self.shown(folder)))?;
        }
        Ok(path)
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
        let shown = || format!("writing {}", self.folder.join(name).display());
        if !mark.exists() {
            write_whole(&mark, CACHE_MARK).with_context(shown)?;
        }
        write_whole(&folder.join(name), bytes).with_context(shown)
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

/// Removes the temporary files of a folder that belong to a wanted file.
fn sweep_folder(folder: &Path, is_deep: bool, is_wanted: &dyn Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && is_deep {
            sweep_folder(&path, is_deep, is_wanted);
        } else if kind.is_file() && temporary_of(&name.to_string_lossy()).is_some_and(is_wanted) {
            let _left = fs::remove_file(&path);
        }
    }
}

/// The file whose temporary file this is: `.<file>.` and six letters or digits, as `write_whole` leaves it when killed.
fn temporary_of(name: &str) -> Option<&str> {
    let (of, random) = name.strip_prefix('.')?.rsplit_once('.')?;
    let is_random = random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_random && of.contains('.')).then_some(of)
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

/// Takes the exclusive lock and writes the process id into it for people.
fn take_lock(path: &Path) -> Result<File> {
    ensure_regular(path).with_context(|| format!("opening {}", path.display()))?;
    let open = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = open.with_context(|| format!("opening {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held_by_another(path, &mut file)),
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("locking {}", path.display())),
    }
    let write = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    write.with_context(|| format!("writing {}", path.display()))?;
    Ok(file)
}

/// The one line that a second run ends with.
fn held_by_another(path: &Path, file: &mut File) -> anyhow::Error {
    let mut owner = String::new();
    let digits = file.take(20).read_to_string(&mut owner).is_ok()
        && !owner.trim().is_empty()
        && owner.trim().bytes().all(|byte| byte.is_ascii_digit());
    let owner = if digits { owner.trim() } else { "unknown" };
    anyhow!("another run holds {} (pid {owner})", path.display())
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

/// Writes a whole file beside the old one and puts it in its place.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Adds bytes at the end and syncs them; on an error the file gets its old length back.
fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        file.set_len(length)?;
    }
    written
}

/// Cuts a file to a length and syncs it.
fn truncate(path: &Path, length: usize) -> std::io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(u64::try_from(length).expect("a length in memory fits 64 bits"))?;
    file.sync_all()
}

/// Syncs the folder of a file, so that its new name is kept.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// `<file>.torn`.
fn torn_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}
