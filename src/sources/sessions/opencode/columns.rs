//! What is asked of a table, probed column by column: a database of another make lacks some, and that is said.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, RowIndex};
use serde_json::Value;

use super::{StoreScan, object};

/// The columns of a table; none when there is no such table.
pub(super) fn columns(database: &Connection, table: &str) -> rusqlite::Result<HashSet<String>> {
    let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// What is asked of a table.
pub(super) struct Asks {
    /// Its name.
    pub(super) table: &'static str,
    /// Columns without which a row says nothing.
    pub(super) needed: &'static [&'static str],
    /// Columns that may be missing, with what is then not known.
    pub(super) optional: &'static [(&'static str, &'static str)],
    /// The order of rows.
    pub(super) order: &'static [&'static str],
}

impl Asks {
    /// A query of the columns that exist, `more` of it before the order; missing ones are NULL. `None` when there is no such
    /// table, or a needed column is missing: then that is said.
    pub(super) fn query(
        &self,
        database: &Connection,
        more: &str,
        shown: &str,
        scan: &mut StoreScan,
    ) -> rusqlite::Result<Option<String>> {
        let known = columns(database, self.table)?;
        if known.is_empty() {
            return Ok(None);
        }
        let table = format!("{shown}: table {}", self.table);
        let missing: Vec<&str> = self.needed.iter().copied().filter(|column| !known.contains(*column)).collect();
        if !missing.is_empty() {
            scan.fault(&table, &format!("has no column {}: it is not read", missing.join(" and no ")));
            return Ok(None);
        }
        let mut wanted: Vec<String> = self.needed.iter().map(|column| format!("\"{column}\"")).collect();
        for (column, loss) in self.optional {
            if known.contains(*column) {
                wanted.push(format!("\"{column}\""));
            } else {
                wanted.push(format!("NULL AS \"{column}\""));
                if !loss.is_empty() {
                    scan.asides.push(format!("{table} has no column {column}: {loss}"));
                }
            }
        }
        let order = self.order.iter().filter(|column| known.contains(**column)).map(|column| format!("\"{column}\""));
        let order: Vec<String> = order.chain(["1".to_owned()]).collect();
        Ok(Some(format!("SELECT {} FROM \"{}\" {more} ORDER BY {}", wanted.join(", "), self.table, order.join(", "))))
    }
}

/// The text of a column.
pub(super) fn text(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(_) | ValueRef::Null => None,
    })
}

/// The number of a column.
#[expect(clippy::cast_precision_loss, reason = "milliseconds and token counts fit an f64 exactly")]
pub(super) fn number(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Option<f64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) if number.is_finite() => Some(number),
        _ => None,
    })
}

/// A number as a whole one.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
pub(super) fn rounded(number: f64) -> i64 {
    number.round() as i64
}

/// The JSON object of a column, if it is one. Broken UTF-8 in a text is replaced.
pub(super) fn json(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Option<Value>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => object(bytes).ok(),
        _ => None,
    })
}
