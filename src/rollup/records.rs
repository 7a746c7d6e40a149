//! Records of a CSV table, one by one: a cell in quotes may span lines, and a quote that is never closed costs its line and
//! never the rest of the file.

/// How many lines one record may span: no cell of the table holds more of them.
const MOST_LINES: usize = 16;

/// A record: the number of its first line and its cells, or what is wrong with the line.
pub(super) type Record = (usize, Result<Vec<String>, &'static str>);

/// The records of a table; blank lines are none. With `width` every record must have so many cells.
pub(super) struct Records<'a> {
    /// The lines that are left, without their ends.
    lines: Vec<&'a [u8]>,
    /// The line to go on with.
    at: usize,
    /// Cells of a record; 0 is any number.
    width: usize,
}

impl<'a> Records<'a> {
    /// The records of some bytes. A byte-order mark before the first is dropped.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        Self { lines: lines.collect(), at: 0, width: 0 }
    }

    /// From now on a record has so many cells.
    pub(super) fn expect(&mut self, width: usize) {
        self.width = width;
    }

    /// The record that begins here, over as few lines as it needs; how many those are.
    fn record(&self) -> Result<(Vec<String>, usize), &'static str> {
        let mut fault = "is not CSV";
        let mut text = Vec::new();
        for (count, line) in self.lines[self.at..].iter().take(MOST_LINES).enumerate() {
            if count > 0 {
                text.push(b'\n');
            }
            text.extend_from_slice(line);
            match cells(&text) {
                Ok(cells) if self.width == 0 || cells.len() == self.width => return Ok((cells, count + 1)),
                Ok(_) => fault = "has another number of cells than the header",
                Err(reason) => fault = reason,
            }
            if !is_open(&text) {
                break;
            }
        }
        Err(fault)
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.lines.get(self.at)?.trim_ascii().is_empty() {
            self.at += 1;
        }
        let line = self.at + 1;
        match self.record() {
            Ok((cells, count)) => {
                self.at += count;
                Some((line, Ok(cells)))
            }
            Err(fault) => {
                self.at += 1;
                Some((line, Err(fault)))
            }
        }
    }
}

/// Whether a quote has been opened and not closed.
fn is_open(text: &[u8]) -> bool {
    text.iter().fold(false, |is_open, byte| is_open != (*byte == b'"'))
}

/// The cells of one record.
fn cells(text: &[u8]) -> Result<Vec<String>, &'static str> {
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8")?;
    if !text.contains('"') {
        return Ok(text.split(',').map(str::to_owned).collect());
    }
    if is_open(text.as_bytes()) && text.matches(",\"").count() + usize::from(text.starts_with('"')) > 0 {
        return Err("opens a quote that is never closed");
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(true) => Ok(record.iter().map(str::to_owned).collect()),
        _ => Err("is not CSV"),
    }
}
