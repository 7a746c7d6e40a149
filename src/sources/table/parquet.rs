//! Tables of our own evidence as Parquet: the texts of every cell, as a line of CSV would have them. Times with a zone become
//! RFC 3339; types that no cell of ours can have are an error. Whether a time has a zone says the file's own schema: the frame
//! drops it.

use std::io::Cursor;

use chrono::{DateTime, SecondsFormat};
use polars::datatypes::ArrowDataType;
use polars::prelude::{AnyValue, TimeUnit};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

use crate::vocabulary::without_panic;

/// What is said of a file that is none.
const DAMAGED: &str = "is no readable Parquet";

/// A table as texts: names of the columns, and rows of cells; `None` is an empty one.
pub(super) struct Texts {
    /// Names of the columns.
    pub(super) names: Vec<String>,
    /// Rows, cells in the order of the names.
    pub(super) rows: Vec<Vec<Option<String>>>,
}

/// The texts of a file; the error is a fragment without its name. A column of a type that this build does not read is passed
/// over, unless it is among the `known` ones. On damaged files the reader may panic.
pub(super) fn texts(bytes: &[u8], known: &[&str]) -> Result<Texts, String> {
    without_panic(|| read(bytes, known)).unwrap_or_else(|| Err(DAMAGED.to_owned()))
}

/// The same, without the wall.
fn read(bytes: &[u8], known: &[&str]) -> Result<Texts, String> {
    let fault = |_| DAMAGED.to_owned();
    let mut reader = ParquetReader::new(Cursor::new(bytes));
    let schema = reader.schema().map_err(fault)?;
    let has_zone =
        |name: &str| schema.get(name).is_some_and(|field| matches!(field.dtype, ArrowDataType::Timestamp(_, Some(_))));
    let (plain, odd): (Vec<_>, Vec<_>) = schema.iter_values().partition(|field| is_plain(&field.dtype));
    if let Some(field) = odd.iter().find(|field| known.contains(&field.name.as_str())) {
        let advice = "of a type that is not read; write it as text or as a 64-bit number";
        return Err(format!("column {} is {advice}", field.name));
    }
    let plain = plain.into_iter().map(|field| field.name.to_string()).collect();
    let frame = reader.with_columns(Some(plain)).finish().map_err(fault)?;
    let names: Vec<String> = frame.get_column_names().into_iter().map(ToString::to_string).collect();
    let mut rows = vec![Vec::with_capacity(names.len()); frame.height()];
    for (name, column) in names.iter().zip(frame.columns()) {
        let has_zone = has_zone(name);
        for (at, row) in rows.iter_mut().enumerate() {
            let value = column.get(at).map_err(|_| format!("column {name} ends early"))?;
            row.push(text(&value, has_zone).map_err(|()| format!("column {name} is of a type that is not read"))?);
        }
    }
    Ok(Texts { names, rows })
}

/// Whether a column can become part of a frame in this build. Others end the program inside the reader.
fn is_plain(kind: &ArrowDataType) -> bool {
    use ArrowDataType as Kind;
    let is_number = matches!(
        kind,
        Kind::Int32 | Kind::Int64 | Kind::UInt32 | Kind::UInt64 | Kind::Float32 | Kind::Float64 | Kind::Boolean
    );
    is_number
        || matches!(
            kind,
            Kind::Utf8 | Kind::LargeUtf8 | Kind::Utf8View | Kind::Date32 | Kind::Timestamp(..) | Kind::Null
        )
}

/// The text of a value; a time is an instant where its column has a zone.
fn text(value: &AnyValue<'_>, has_zone: bool) -> Result<Option<String>, ()> {
    let nanos = |count: i64, unit: TimeUnit| match unit {
        TimeUnit::Nanoseconds => Some(DateTime::from_timestamp_nanos(count)),
        TimeUnit::Microseconds => DateTime::from_timestamp_micros(count),
        TimeUnit::Milliseconds => DateTime::from_timestamp_millis(count),
    };
    Ok(match value {
        AnyValue::Null => None,
        AnyValue::String(text) => Some((*text).to_owned()),
        AnyValue::Boolean(flag) => Some(flag.to_string()),
        AnyValue::Date(days) => {
            DateTime::from_timestamp(i64::from(*days) * 86_400, 0).map(|at| at.date_naive().to_string())
        }
        AnyValue::Float32(number) => Some(number.to_string()),
        AnyValue::Float64(number) => Some(number.to_string()),
        // Without a zone it is no instant, and is left as it would be in CSV: its reader says so.
        AnyValue::Datetime(count, unit, _) => nanos(*count, *unit).map(|at| {
            if has_zone { at.to_rfc3339_opts(SecondsFormat::AutoSi, true) } else { at.naive_utc().to_string() }
        }),
        whole if whole.is_integer() => Some(whole.to_string()),
        _ => return Err(()),
    })
}
