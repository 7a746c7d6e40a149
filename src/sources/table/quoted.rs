//! Whole CSV records out of lines: a cell in quotes may span lines, and a quote that RFC 4180 does not allow costs one
//! line and never the rest of the file.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::lines::{Line, Lines, MAX_RECORD_BYTES};

/// Hands the csv reader exactly one well-formed record per read, so that its line number is known.
pub(super) struct WholeRecords {
    /// Where lines come from.
    lines: Lines,
    /// Lines that were read ahead of a broken record.
    ahead: VecDeque<Line>,
    /// The record in hand, with its line end.
    record: Vec<u8>,
    /// How much of it was handed out.
    given: usize,
    /// The line its first byte stands on.
    line: usize,
    /// Lines put aside since the last look: number and reason.
    broken: Vec<(usize, &'static str)>,
}

/// Where in a record the scan stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// Before the first byte of a cell.
    CellStart,
    /// In a cell without quotes.
    Plain,
    /// Between quotes.
    Quoted,
    /// Behind a quote inside quotes: it closes, or it is the first of two.
    QuoteSeen,
    /// Behind something RFC 4180 does not allow.
    Broken,
}

impl Scan {
    /// The place behind these bytes.
    fn over(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |scan, byte| match (scan, byte) {
            (Self::Quoted, b'"') => Self::QuoteSeen,
            (Self::CellStart | Self::QuoteSeen, b'"') | (Self::Quoted, _) => Self::Quoted,
            (Self::CellStart | Self::Plain | Self::QuoteSeen, b',') => Self::CellStart,
            (Self::CellStart | Self::Plain, _) => Self::Plain,
            (Self::QuoteSeen | Self::Broken, _) => Self::Broken,
        })
    }
}

impl WholeRecords {
    /// The records of some lines.
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, ahead: VecDeque::new(), record: Vec::new(), given: 0, line: 0, broken: Vec::new() }
    }

    /// The line on which the record in hand begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Where the bytes come from.
    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The lines put aside since the last call, in file order.
    pub(super) fn take_broken(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.broken)
    }

    /// The next line that is not blank.
    fn next_filled_line(&mut self) -> io::Result<Option<Line>> {
        while let Some(line) = self.next_line()? {
            if !line.bytes.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// The next line, those read ahead first.
    fn next_line(&mut self) -> io::Result<Option<Line>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next_line(),
        }
    }

    /// Takes the next well-formed record in hand; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        while let Some(first) = self.next_filled_line()? {
            let number = first.number;
            let (parts, fault) = self.gather(first)?;
            if let Some(fault) = fault {
                self.broken.push((number, fault));
                for line in parts.into_iter().skip(1).rev() {
                    self.ahead.push_front(line);
                }
                continue;
            }
            self.line = number;
            self.given = 0;
            self.record.clear();
            for line in parts {
                self.record.extend_from_slice(&line.bytes);
                self.record.push(b'\n');
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// The lines of one record that begins with this line, and what is wrong with it.
    fn gather(&mut self, first: Line) -> io::Result<(Vec<Line>, Option<&'static str>)> {
        let mut scan = Scan::CellStart.over(&first.bytes);
        let mut length = first.bytes.len();
        let mut is_too_long = first.is_too_long;
        let mut parts = vec![first];
        while scan == Scan::Quoted && !is_too_long {
            let Some(line) = self.next_line()? else { return Ok((parts, Some("opens a quote that is never closed"))) };
            scan = scan.over(b"\n").over(&line.bytes);
            length += line.bytes.len() + 1;
            is_too_long = line.is_too_long || length > MAX_RECORD_BYTES;
            parts.push(line);
        }
        let fault = match scan {
            _ if is_too_long => Some("is longer than 1 MiB"),
            Scan::Broken => Some("has text behind a closing quote"),
            _ => None,
        };
        Ok((parts, fault))
    }
}

impl Read for WholeRecords {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.record.len() && !self.advance()? {
            return Ok(0);
        }
        let rest = &self.record[self.given..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.given += length;
        Ok(length)
    }
}
