//! The lock of a reports folder: who holds it, since when, and whose was left behind.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};

use super::look::ensure_regular;

/// The name of the lock in the reports folder. It is never deleted; an empty one is free.
pub(super) const LOCK: &str = ".lock";

/// The process that holds the lock of a reports folder; `None` when it is free or the process in it is gone.
pub fn lock_owner(reports: &Path) -> Option<u32> {
    let path = reports.join(LOCK);
    let pid = fs::read_to_string(&path).ok()?.trim().parse().ok()?;
    is_held_by(pid, &path).then_some(pid)
}

/// Whether a process has the lock open. One of another user, and any where processes cannot be looked up, is believed.
fn is_held_by(pid: u32, lock: &Path) -> bool {
    if !Path::new("/proc/self/fd").exists() {
        return true;
    }
    match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => {
            let lock = lock.canonicalize().ok();
            files.flatten().any(|file| fs::read_link(file.path()).ok() == lock)
        }
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

/// Takes the exclusive lock and writes the process id into it for people. A process id that is still there belongs to a run
/// that was killed; the sentence says so.
pub(super) fn take_lock(path: &Path) -> Result<(File, Option<String>)> {
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
