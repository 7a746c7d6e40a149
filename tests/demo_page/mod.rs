//! `data/README.md` read as data: its tables, and the numbers and names in their cells.

#![expect(clippy::unwrap_used, reason = "a page that cannot be read is a failed test")]

use std::path::Path;

/// A table: its rows as cells, without the header.
pub(crate) type Rows = Vec<Vec<String>>;

/// The rows of the table whose header cells are these. A first cell that is empty repeats the one above it.
pub(crate) fn table(header: &[&str]) -> Rows {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/README.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut lines = page.lines().skip_while(|line| cells(line).iter().map(String::as_str).ne(header.iter().copied()));
    assert!(lines.next().is_some(), "data/README.md has no table {header:?}");
    let mut rows: Rows = Vec::new();
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let mut row = cells(line);
        assert_eq!(row.len(), header.len(), "data/README.md: {line}");
        if row[0].is_empty() {
            row[0].clone_from(&rows.last().unwrap()[0]);
        }
        rows.push(row);
    }
    rows
}

/// The cells of a table line, without emphasis.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_matches('|');
    inner.split('|').map(|cell| cell.trim().replace("**", "")).collect()
}

/// The first word in code marks.
pub(crate) fn code(cell: &str) -> Option<&str> {
    cell.split('`').nth(1)
}

/// Every number in a text, in order, with its printed decimals. A digit inside a word is no number.
pub(crate) fn numbers(text: &str) -> Vec<(f64, usize)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-']));
    words
        .filter(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.'))
        .map(|word| (word.parse().unwrap(), word.split_once('.').map_or(0, |(_, decimals)| decimals.len())))
        .collect()
}

/// Whether a value is printed so: equal to half a unit of the last printed decimal.
pub(crate) fn prints_as(value: f64, (printed, decimals): (f64, usize)) -> bool {
    let half = 0.5 * 0.1_f64.powi(i32::try_from(decimals).unwrap());
    (value - printed).abs() <= half + 1e-9
}
