//! The pool sources: who the pools are, what their definitions say and who names them. Files are opened read-only, once.

pub mod ccr;
mod jsonc;
pub mod layers;
pub mod litellm;
pub mod omo;
pub mod openchamber;
pub mod opencode;
pub mod overrides;
pub mod scheduler;
mod shell;

use std::io::Read as _;
use std::path::Path;

use crate::settings::broken_link;
use crate::vocabulary::ConfigFile;

/// The largest config that is read: far above any real one, far below what would hurt.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a config file whole. Only a regular file of valid UTF-8 is taken, so that a FIFO or device can never hang a run.
/// The error is one line that names the path as the operator wrote it.
pub fn read_config(path: &Path, display: &str) -> Result<ConfigFile, String> {
    let metadata = std::fs::metadata(path).map_err(|error| format!("{display}: {}", plain_io(path, &error)))?;
    if !metadata.is_file() {
        return Err(format!("{display}: not a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(format!(
            "{display}: larger than {} MiB, the most that is read; is it the right file?",
            MAX_BYTES / 1024 / 1024
        ));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("{display}: {}", plain_io(path, &error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = String::from_utf8_lossy(valid).split('\n').count();
        format!("{display}:{line}: not valid UTF-8")
    })?;
    Ok(ConfigFile { path: display.to_owned(), text })
}

/// An I/O error as a fragment without a number.
fn plain_io(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => broken_link(path).unwrap_or_else(|| "no such file".to_owned()),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string().to_lowercase(),
    }
}
