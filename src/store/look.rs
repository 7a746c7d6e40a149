//! What a place holds and where a path leads, for the store and for verbs that look without taking the lock.
#![expect(clippy::disallowed_methods, reason = "the one room that opens files for writing")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::MONTHS;

/// The bytes of any file, for verbs that look without taking the lock; `None` when there is none.
pub fn look(path: &Path) -> Result<Option<Vec<u8>>> {
    read_file(path).with_context(|| format!("reading {}", path.display()))
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

/// The names of what lies in a folder, sorted; none when there is no folder.
pub fn look_into(folder: &Path) -> Result<Vec<String>> {
    let names = entries(folder)?.into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// The files of a log: its finished months, oldest first, then the running one, whether it is there or not.
pub fn log_files(log: &Path) -> Result<Vec<PathBuf>> {
    let mut files = months(log)?;
    files.push(log.to_owned());
    Ok(files)
}

/// The files of the finished months of a log, oldest first.
pub(super) fn months(log: &Path) -> Result<Vec<PathBuf>> {
    let is_month = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_month_name);
    let mut months: Vec<PathBuf> = entries(&log.with_file_name(MONTHS))?.into_iter().filter(is_month).collect();
    months.sort();
    Ok(months)
}

/// What lies in a folder; nothing when there is none.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound && broken_link(folder).is_none() => Ok(Vec::new()),
        Err(error) => Err(of_link(folder, error)),
    };
    read().with_context(|| format!("listing {}", folder.display()))
}

/// Whether a file name reads `YYYY-MM.md`.
pub(super) fn is_month_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() == 10
        && bytes.ends_with(b".md")
        && bytes[4] == b'-'
        && bytes[..7].iter().enumerate().all(|(i, byte)| i == 4 || byte.is_ascii_digit())
}

/// A folder, made if missing, resolved.
pub(super) fn made_folder(path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(path)
        .map_err(|error| of_link(path, error))
        .with_context(|| format!("making the folder {}", path.display()))?;
    path.canonicalize().with_context(|| format!("opening the folder {}", path.display()))
}

/// The log's path with its folder made and links followed.
pub(super) fn resolved_log(log: &Path) -> Result<PathBuf> {
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

/// Follows links of the deepest part that exists and joins the rest. A link that leads nowhere is an error.
pub(super) fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return path.canonicalize().map_err(|error| of_link(path, error));
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
        _ => path.canonicalize(),
    }
}

/// That a path is, or lies behind, a symbolic link whose target does not exist, as a fragment: such a path looks as if nothing were
/// there.
pub(super) fn broken_link(path: &Path) -> Option<String> {
    let broken = |part: &&Path| part.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) && !part.exists();
    let link = path.ancestors().filter(|part| !part.as_os_str().is_empty()).find(broken)?;
    let target = link.read_link().ok()?;
    let what = format!("a link to {}, which does not exist", target.display());
    Some(if link == path { format!("is {what}") } else { format!("lies behind {}, {what}", link.display()) })
}

/// An error that names a link without a target, where that is why nothing is there.
pub(super) fn of_link(path: &Path, error: std::io::Error) -> std::io::Error {
    match broken_link(path) {
        Some(what) => std::io::Error::other(format!("it {what}")),
        None => error,
    }
}

/// An error unless the path is a plain file or nothing.
pub(super) fn ensure_regular(path: &Path) -> std::io::Result<()> {
    match path.metadata() {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(std::io::Error::other("not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => match broken_link(path) {
            Some(_) => Err(of_link(path, error)),
            None => Ok(()),
        },
        Err(error) => Err(error),
    }
}

/// The bytes of a plain file, `None` when there is none.
pub(super) fn read_file(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    ensure_regular(path)?;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
