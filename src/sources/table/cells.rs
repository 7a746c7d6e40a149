//! One record's cells by column, and the few types a cell can have. Every fault is a fragment that names the column.

use chrono::{DateTime, Utc};

use crate::vocabulary::{Effort, Place};

/// Longest piece of outside text in a message, in characters.
const QUOTED_CHARS: usize = 60;

/// Largest number of a cell: no amount, time or count of ours is as large, and sums and squares of many stay finite.
const MOST: f64 = 1e15;
/// See [`MOST`].
const MOST_WHOLE: u64 = 1_000_000_000_000_000;

/// The cells of one record. An empty cell is not there.
pub(in crate::sources) struct Cells {
    /// Where the record stands.
    pub(in crate::sources) place: Place,
    /// The columns, as documented.
    columns: &'static [&'static str],
    /// Their texts, in the same order.
    texts: Vec<Option<String>>,
}

impl Cells {
    /// A record without cells.
    pub(super) fn new(columns: &'static [&'static str]) -> Self {
        Self { place: Place::new("", 0), columns, texts: vec![None; columns.len()] }
    }

    /// Fills a cell; `false` when there is no such column.
    pub(super) fn set(&mut self, column: &str, text: String) -> bool {
        let index = self.columns.iter().position(|name| *name == column);
        if let Some(index) = index {
            self.texts[index] = Some(text);
        }
        index.is_some()
    }

    /// The text of a cell.
    pub(in crate::sources) fn text(&self, column: &str) -> Option<&str> {
        let index = self.columns.iter().position(|name| *name == column)?;
        self.texts[index].as_deref()
    }

    /// The text of a cell that must be filled.
    pub(in crate::sources) fn needed(&self, column: &str) -> Result<&str, String> {
        self.text(column).ok_or_else(|| format!("{column} is empty"))
    }

    /// A cell that must hold a time with an offset, not after `now`.
    pub(in crate::sources) fn past_time(&self, column: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
        let text = self.needed(column)?;
        let time = DateTime::parse_from_rfc3339(text)
            .map_err(|_| format!("{column} is not a time: {}", quoted(text)))?
            .to_utc();
        if time > now {
            return Err(format!("{column} {} lies in the future", quoted(text)));
        }
        Ok(time)
    }

    /// A finite number of at least 0.
    pub(in crate::sources) fn number(&self, column: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(value) if !value.is_finite() => Err(format!("{column} {} is not a finite number", quoted(text))),
            Ok(value) if value < 0.0 => Err(format!("{column} {} is below 0", quoted(text))),
            Ok(value) if value > MOST => Err(format!("{column} {} is above {MOST:e}", quoted(text))),
            Ok(value) => Ok(Some(value + 0.0)),
            Err(_) => Err(format!("{column} {} is not a number", quoted(text))),
        }
    }

    /// A finite number above 0.
    pub(in crate::sources) fn above_zero(&self, column: &str) -> Result<Option<f64>, String> {
        match self.number(column)? {
            Some(value) if value <= 0.0 => Err(format!("{column} is 0")),
            other => Ok(other),
        }
    }

    /// A whole number of at least `least`. `12.0` is one, as other engines write it.
    pub(in crate::sources) fn whole(&self, column: &str, least: u64) -> Result<Option<u64>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        let digits = text.strip_suffix(".0").unwrap_or(text);
        match digits.parse::<u64>() {
            Ok(value) if value < least => Err(format!("{column} {} is below {least}", quoted(text))),
            Ok(value) if value > MOST_WHOLE => Err(format!("{column} {} is above {MOST:e}", quoted(text))),
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(format!("{column} {} is not a whole number of at least {least}", quoted(text))),
        }
    }

    /// One of some words; an empty cell is `None`.
    pub(in crate::sources) fn word(
        &self,
        column: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(format!("{column} {} is none of {}", quoted(text), words.join(", "))),
        }
    }
}

/// An effort as recorded: lower case; empty or `unrecorded` is not known.
pub(in crate::sources) fn effort(text: Option<&str>) -> Option<Effort> {
    let text = text?.to_lowercase();
    (text != "unrecorded").then(|| Effort::new(text))
}

/// Outside text in quotes, cut, with control characters made visible.
pub(in crate::sources) fn quoted(text: &str) -> String {
    if text.chars().nth(QUOTED_CHARS).is_none() {
        return format!("{text:?}");
    }
    let cut: String = text.chars().take(QUOTED_CHARS).chain(['…']).collect();
    format!("{cut:?}")
}

/// "1 row" or "12 rows".
pub(in crate::sources) fn rows_of(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}
