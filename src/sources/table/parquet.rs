//! Tables of our own evidence as Parquet: the texts of every cell, as a line of CSV would have them. Times with a zone become
//! RFC 3339; types that no cell of ours can have are an error.

use std::io::Cursor;

use chrono::{DateTime, SecondsFormat};
use polars::prelude::{AnyValue, TimeUnit};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

/// A table as texts: names of the columns, and rows of cells; `None` is an empty one.
pub(super) struct Texts {
    /// Names of the columns.
    pub(super) names: Vec<String>,
    /// Rows, cells in the order of the names.
    pub(super) rows: Vec<Vec<Option<String>>>,
}

/// The texts of a file; the error is a fragment without its name.
pub(super) fn texts(bytes: &[u8]) -> Result<Texts, String> {
    let frame = ParquetReader::new(Cursor::new(bytes)).finish().map_err(|_| "is no readable Parquet".to_owned())?;
    let names: Vec<String> = frame.get_column_names().into_iter().map(ToString::to_string).collect();
    let mut rows = vec![Vec::with_capacity(names.len()); frame.height()];
    for (name, column) in names.iter().zip(frame.columns()) {
        for (at, row) in rows.iter_mut().enumerate() {
            let value = column.get(at).map_err(|_| format!("column {name} ends early"))?;
            row.push(text(&value).map_err(|()| format!("column {name} is of a type that is not read"))?);
        }
    }
    Ok(Texts { names, rows })
}

/// The text of a value.
fn text(value: &AnyValue<'_>) -> Result<Option<String>, ()> {
    let nanos = |count: i64, unit: TimeUnit| match unit {
        TimeUnit::Nanoseconds => Some(DateTime::from_timestamp_nanos(count)),
        TimeUnit::Microseconds => DateTime::from_timestamp_micros(count),
        TimeUnit::Milliseconds => DateTime::from_timestamp_millis(count),
    };
    Ok(match value {
        AnyValue::Null => None,
        AnyValue::String(text) => Some((*text).to_owned()),
        AnyValue::Boolean(flag) => Some(flag.to_string()),
        AnyValue::Float32(number) => Some(number.to_string()),
        AnyValue::Float64(number) => Some(number.to_string()),
        // Without a zone it is no instant, and is left as it would be in CSV: its reader says so.
        AnyValue::Datetime(count, unit, zone) => nanos(*count, *unit).map(|at| match zone {
            Some(_) => at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
            None => at.naive_utc().to_string(),
        }),
        whole if whole.is_integer() => Some(whole.to_string()),
        _ => return Err(()),
    })
}
