//! Files as lines in reused blocks: a 1 GB file is never in memory, a run of NUL bytes of any length neither. A hole of a
//! sparse file is skipped, not read.

use std::fs::File;
use std::io::{self, BufReader, Read};

use memchr::memchr;

/// Size of a block. It fits well into the second-level cache, so that a line is still warm when it is looked at.
const BLOCK: usize = 1 << 18;
/// Room that is kept from file to file once a long line has needed it: fresh memory costs more than reading.
const KEPT_ROOM: usize = 1 << 22;
/// Longest line that is kept; a longer one is damaged.
const MAX_LINE: usize = 1 << 28;

/// What lines are read from.
pub(super) trait Source: Read {
    /// Skips a hole that begins here, which reads as NUL bytes; returns its length. 0 where there is none, or none is known.
    fn skip_hole(&mut self) -> u64 {
        0
    }
}

impl Source for &File {
    #[cfg(target_os = "linux")]
    fn skip_hole(&mut self) -> u64 {
        use rustix::fs::{SeekFrom, seek, tell};
        let Ok(here) = tell(*self) else { return 0 };
        let data = match seek(*self, SeekFrom::Data(here)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => seek(*self, SeekFrom::End(0)).unwrap_or(here),
            Err(_) => return 0,
        };
        data.saturating_sub(here)
    }
}

impl Source for zstd::stream::read::Decoder<'_, BufReader<File>> {}

/// A buffer that is used for one file after the other.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The bytes; only the first part is filled.
    bytes: Vec<u8>,
}

/// One line as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its bytes without the line end and without the NUL bytes before it.
    pub(super) bytes: &'a [u8],
    /// Its length in the file without the line end.
    pub(super) length: u64,
    /// Whether it has a line end.
    pub(super) is_closed: bool,
    /// Whether it is longer than what is kept; then `bytes` is only its beginning.
    pub(super) is_too_long: bool,
}

impl Block {
    /// Hands out every line of a reader, of `most` bytes at the most: a file that grows faster than it is read has an end as
    /// well. Returns the number of bytes read. The buffer shrinks again behind a long line.
    pub(super) fn each_line(
        &mut self,
        mut file: impl Source,
        most: u64,
        mut visit: impl FnMut(Line<'_>),
    ) -> io::Result<u64> {
        let mut total = 0;
        let mut state = Partial::default();
        loop {
            let left = usize::try_from(most.saturating_sub(total)).unwrap_or(usize::MAX);
            let room = self.make_room(&state).min(state.filled.saturating_add(left));
            if room == state.filled {
                break;
            }
            let read = match file.read(&mut self.bytes[state.filled..room]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.last_line(&state, &mut visit);
                    return Err(error);
                }
            };
            total += read as u64;
            state.filled += read;
            let dropped = state.dropped;
            self.hand_out(&mut state, &mut visit);
            if state.filled == 0 && state.dropped >= dropped + BLOCK as u64 {
                let hole = file.skip_hole();
                state.dropped += hole;
                total += hole;
            }
        }
        self.last_line(&state, &mut visit);
        self.bytes.truncate(KEPT_ROOM);
        self.bytes.shrink_to(KEPT_ROOM);
        Ok(total)
    }

    /// Makes room behind the part of a line that is kept. Returns where it ends.
    fn make_room(&mut self, state: &Partial) -> usize {
        let wanted = if state.filled < BLOCK / 2 { BLOCK } else { state.filled * 2 };
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        wanted
    }

    /// Hands out the lines that end in the filled part and moves what is left to the front.
    fn hand_out(&mut self, state: &mut Partial, visit: &mut impl FnMut(Line<'_>)) {
        let mut start = 0;
        let mut look = state.scanned;
        while let Some(found) = memchr(b'\n', &self.bytes[look..state.filled]) {
            let end = look + found;
            let bytes = trim_nul(&self.bytes[start..end]);
            let length = (end - start) as u64 + state.dropped;
            visit(Line { bytes, length, is_closed: true, is_too_long: state.is_too_long });
            *state = Partial { filled: state.filled, ..Partial::default() };
            start = end + 1;
            look = start;
        }
        let mut kept = &self.bytes[start..state.filled];
        if state.is_too_long {
            state.dropped += (kept.len() - kept.len().min(1)) as u64;
            kept = &kept[..kept.len().min(1)];
        } else {
            let rest = trim_nul(kept);
            state.dropped += (kept.len() - rest.len()) as u64;
            kept = rest;
        }
        let from = kept.as_ptr().addr() - self.bytes.as_ptr().addr();
        let length = kept.len();
        self.bytes.copy_within(from..from + length, 0);
        state.filled = length;
        state.scanned = length;
        state.is_too_long |= length > MAX_LINE;
    }

    /// Hands out what stands behind the last line end.
    fn last_line(&self, state: &Partial, visit: &mut impl FnMut(Line<'_>)) {
        let length = state.filled as u64 + state.dropped;
        if length > 0 {
            let bytes = trim_nul(&self.bytes[..state.filled]);
            visit(Line { bytes, length, is_closed: false, is_too_long: state.is_too_long });
        }
    }
}

/// A line of which only a part has been read.
#[derive(Debug, Default)]
struct Partial {
    /// Bytes kept at the front of the buffer.
    filled: usize,
    /// Bytes of them without a line end.
    scanned: usize,
    /// Bytes of the line that were dropped: leading NULs, or the rest of one that is too long.
    dropped: u64,
    /// Whether the line is longer than what is kept.
    is_too_long: bool,
}

/// The bytes behind leading NULs.
pub(super) fn trim_nul(bytes: &[u8]) -> &[u8] {
    if bytes.first() != Some(&0) {
        return bytes;
    }
    let words =
        bytes.chunks_exact(64).take_while(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0).count() * 64;
    let rest = &bytes[words..];
    &rest[rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of some bytes, read `step` bytes at a time.
    fn lines(bytes: &[u8], step: usize) -> Vec<(Vec<u8>, u64, bool)> {
        struct Slow<'a>(&'a [u8], usize);
        impl Source for Slow<'_> {}
        impl Read for Slow<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = self.1.min(self.0.len()).min(into.len());
                into[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut found = Vec::new();
        let total = Block::default()
            .each_line(Slow(bytes, step), u64::MAX, |line| {
                found.push((line.bytes.to_vec(), line.length, line.is_closed));
            })
            .expect("memory can be read");
        assert_eq!(total, bytes.len() as u64, "every byte is read");
        found
    }

    #[test]
    fn lines_are_the_same_whatever_a_read_returns() {
        let text = b"one\n\ntwo\r\n\0\0\0three\n\0\0\0\0\nlast";
        let wanted: Vec<(Vec<u8>, u64, bool)> = [
            (&b"one"[..], 3, true),
            (b"", 0, true),
            (b"two\r", 4, true),
            (b"three", 8, true),
            (b"", 4, true),
            (b"last", 4, false),
        ]
        .map(|(bytes, length, closed)| (bytes.to_vec(), length, closed))
        .to_vec();
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(lines(text, step), wanted, "{step} bytes a time");
        }
    }

    impl Source for io::Chain<io::Take<io::Repeat>, io::Repeat> {}

    #[test]
    fn nothing_behind_the_most_is_read() {
        let mut found = Vec::new();
        let endless = io::repeat(b'x').take(2).chain(io::repeat(b'\n'));
        let total = Block::default().each_line(endless, 4, |line| found.push((line.bytes.to_vec(), line.is_closed)));
        assert_eq!(total.expect("memory can be read"), 4);
        assert_eq!(found, [(b"xx".to_vec(), true), (Vec::new(), true)]);
    }

    #[test]
    fn a_line_longer_than_a_block_is_whole() {
        let mut text = vec![b'x'; 3 * BLOCK + 17];
        text.push(b'\n');
        text.extend_from_slice(b"next\n");
        let found = lines(&text, 70_001);
        assert_eq!(found[0].0.len(), 3 * BLOCK + 17);
        assert_eq!(found[1].0, b"next");
    }
}
