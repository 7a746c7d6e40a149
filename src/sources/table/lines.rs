//! The lines of one file: numbered, bounded in length and hashed on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Take};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::settings::broken_link;
use crate::vocabulary::Digest;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// Longest line, and longest record of several lines, that is looked at.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;

/// A file as numbered lines without their ends.
pub(super) struct Lines {
    /// The rest of the file.
    file: BufReader<Take<File>>,
    /// Everything read so far.
    hasher: Sha256,
    /// Number of the line handed out last; 0 before the first.
    number: usize,
}

/// One line of a file.
pub(super) struct Line {
    /// Its number, counted from 1.
    pub(super) number: usize,
    /// Its bytes without the line end; of an over-long line only the beginning.
    pub(super) bytes: Vec<u8>,
    /// Whether it is longer than what is looked at.
    pub(super) is_too_long: bool,
}

impl Lines {
    /// Opens a file. A path that is missing, no regular file or too large is an error, as a fragment without the path.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let meta = std::fs::metadata(path).map_err(|error| describe(path, &error))?;
        if !meta.is_file() {
            return Err("is not a regular file".to_owned());
        }
        if meta.len() > MAX_FILE_BYTES {
            return Err(format!("is larger than {} MiB", MAX_FILE_BYTES >> 20));
        }
        let file = File::open(path).map_err(|error| describe(path, &error))?;
        Ok(Self { file: BufReader::new(file.take(MAX_FILE_BYTES)), hasher: Sha256::new(), number: 0 })
    }

    /// The next line; `None` at the end. A byte-order mark before the first and a carriage return at the end are dropped.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = MAX_RECORD_BYTES as u64 + 1;
        if (&mut self.file).take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.hasher.update(&bytes);
        self.number += 1;
        let is_too_long = bytes.len() > MAX_RECORD_BYTES && !bytes.ends_with(b"\n");
        if is_too_long {
            self.skip_line()?;
        }
        if self.number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
        Ok(Some(Line { number: self.number, bytes, is_too_long }))
    }

    /// Reads on to the end of the present line without keeping it.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let block = self.file.fill_buf()?;
            let end = block.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(block.len(), |at| at + 1);
            self.hasher.update(&block[..length]);
            self.file.consume(length);
            if end.is_some() || length == 0 {
                return Ok(());
            }
        }
    }

    /// Every byte that is left, and the digest of the file.
    pub(super) fn rest(mut self) -> io::Result<(Vec<u8>, Digest)> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.hasher.update(&bytes);
        let digest = self.digest();
        Ok((bytes, digest))
    }

    /// The digest of every byte read.
    pub(super) fn digest(&self) -> Digest {
        Digest::of_stream(self.hasher.clone())
    }
}

/// What went wrong with a file, without the path and without the words of one operating system.
pub(super) fn describe(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => broken_link(path).unwrap_or_else(|| "does not exist".to_owned()),
        io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        kind => format!("cannot be read: {kind}"),
    }
}
