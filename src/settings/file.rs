//! The instruction file as a file: read with bounds, taken apart into front matter and policy text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::yaml::Fault;

/// Largest instruction file read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The text of an instruction file. It is never opened unless it is a regular file of at most 1 MiB.
/// Errors are one line and name the path.
pub(super) fn read(file: &Path, shown: &str) -> Result<String> {
    let found = match std::fs::metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("{shown}: {}", broken_link(file).unwrap_or_else(|| "no such file".to_owned()))
        }
        Err(error) => return Err(error).context(shown.to_owned()),
    };
    if found.is_dir() {
        bail!("{shown}: is a folder, not a file");
    }
    if !found.is_file() {
        bail!("{shown}: is not a regular file");
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .with_context(|| shown.to_owned())?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{shown}: is larger than 1 MiB");
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        anyhow::anyhow!("{shown}:{}: is not UTF-8 text", good.split(|byte| *byte == b'\n').count())
    })
}

/// That a path is, or lies behind, a symbolic link whose target does not exist, as a fragment: such a path looks as if nothing were
/// there.
pub fn broken_link(path: &Path) -> Option<String> {
    let broken = |part: &&Path| part.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) && !part.exists();
    let link = path.ancestors().filter(|part| !part.as_os_str().is_empty()).find(broken)?;
    let target = link.read_link().ok()?;
    let what = format!("a link to {}, which does not exist", target.display());
    Some(if link == path { format!("is {what}") } else { format!("lies behind {}, {what}", link.display()) })
}

/// The parts of an instruction file.
pub(super) struct Parts<'a> {
    /// The YAML between the `---` lines; its first line is line 2 of the file.
    pub(super) front_matter: &'a str,
    /// The policy in plain words, not blank.
    pub(super) body: &'a str,
}

/// Takes an instruction file apart. A byte order mark before the first `---` and blanks after either are tolerated.
pub(super) fn split(text: &str) -> Result<Parts<'_>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if first.trim_end() != "---" {
        return Err(Fault::new(1, "the file must begin with a line \"---\" that opens the settings"));
    }
    let mut start = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            let body = &rest[start + line.len()..];
            return if body.trim().is_empty() {
                Err(Fault::new(index + 2, "the policy text after the settings is empty"))
            } else {
                Ok(Parts { front_matter: &rest[..start], body })
            };
        }
        start += line.len();
    }
    Err(Fault::new(1, "no second line \"---\" closes the settings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_parts_are_found() {
        let parts = split("---\na: 1\n---\nWords.\n").unwrap();
        assert_eq!((parts.front_matter, parts.body), ("a: 1\n", "Words.\n"));
        let parts = split("\u{feff}---\r\na: 1\r\n--- \r\nWords.").unwrap();
        assert_eq!((parts.front_matter, parts.body), ("a: 1\r\n", "Words."));
        assert_eq!(split("---\n---\nWords.").unwrap().front_matter, "");
    }

    #[test]
    fn what_is_missing_is_named_with_its_line() {
        for (text, line, part) in [
            ("", 1, "must begin"),
            ("schedule: x", 1, "must begin"),
            ("\n---\n---\nx", 1, "must begin"),
            ("---", 1, "no second line"),
            ("---\na: 1\n----\nx\n", 1, "no second line"),
            ("---\na: 1\n---\n \n\n", 3, "is empty"),
            ("---\n---", 2, "is empty"),
        ] {
            let fault = split(text).err().unwrap_or_else(|| panic!("{text:?} has no fault"));
            assert!(fault.line == line && fault.message.contains(part), "{text:?}: {fault:?}");
        }
    }
}
