//! Reading a long file piece by piece, and what a file looks like from outside.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Bytes of one block.
const BLOCK: usize = 1 << 20;

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Bytes.
    pub length: u64,
    /// Which file it is.
    pub inode: u64,
    /// When its bytes were written last, nanoseconds since 1970.
    pub modified: i128,
    /// When anything of it changed last, nanoseconds since 1970.
    pub changed: i128,
}

/// What a file looks like; `None` when there is none, or it is no plain file.
pub fn look_at(path: &Path) -> Option<Look> {
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let instant = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Some(Look {
        length: meta.len(),
        inode: meta.ino(),
        modified: instant(meta.mtime(), meta.mtime_nsec()),
        changed: instant(meta.ctime(), meta.ctime_nsec()),
    })
}

/// Reads a plain file from a byte on, block by block, at most `most` bytes; nothing when there is none. Errors call the file as
/// messages show it.
pub fn read_blocks(path: &Path, shown: &str, from: u64, most: u64, visit: &mut dyn FnMut(&[u8])) -> Result<()> {
    let mut read = || -> std::io::Result<()> {
        super::look::ensure_regular(path)?;
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(from))?;
        let mut rest = file.take(most);
        let mut block = vec![0; BLOCK];
        loop {
            match rest.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(count) => visit(&block[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().with_context(|| format!("reading {shown}"))
}
