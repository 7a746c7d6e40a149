//! Parquet files as texts: every cell as a line of CSV would have it, whatever types the engine that wrote them prefers. What
//! a column means is the business of whoever asks.

use std::collections::BTreeSet;
use std::io::Cursor;

use chrono::{DateTime, Days, NaiveDate, SecondsFormat};
use polars::prelude::{AnyValue, ArrowDataType, DataFrame, DataType, TimeUnit};
use polars_io::SerReader as _;
use polars_io::parquet::read::{ParallelStrategy, ParquetReader};

/// The name of the threads that read. What ends one of them is told by the error of [`texts`].
pub const THREAD: &str = "parquet";
/// The error of a file that is damaged, or something else.
const BROKEN: &str = "is no readable Parquet";
/// What stands in a filled cell of a type that has no text.
const NO_TEXT: &str = "⟨no text⟩";

/// A table as texts.
pub struct Texts {
    /// Names of the columns, in the order of the file.
    pub names: Vec<String>,
    /// Rows, cells in the order of the names; `None` is an empty one.
    pub rows: Vec<Vec<Option<String>>>,
    /// Columns of a type that has no text, such as lists.
    pub unread: BTreeSet<String>,
}

impl Texts {
    /// The first of some columns whose type has no text, as a fragment of an error.
    pub fn unread_of<'a>(&self, wanted: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
        let unread = wanted.into_iter().find(|name| self.unread.contains(*name));
        unread.map_or(Ok(()), |name| Err(format!("column {name} is of a type that is not read")))
    }
}

/// The texts of a file. Dates become `2026-11-29`, instants RFC 3339, times without a zone the same without one, decimals and
/// integers their digits. The error is a fragment without the file's name. The reader of some damaged files ends its thread
/// instead of returning an error, so it has one of its own.
pub fn texts(bytes: &[u8]) -> Result<Texts, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn_scoped(scope, || read(bytes));
        let thread = thread.map_err(|_| "cannot be read: no thread can be started".to_owned())?;
        thread.join().unwrap_or_else(|_| Err(BROKEN.to_owned()))
    })
}

/// The texts of a file, on the thread that may be lost.
fn read(bytes: &[u8]) -> Result<Texts, String> {
    let broken = |_| BROKEN.to_owned();
    let schema = ParquetReader::new(Cursor::new(bytes)).schema().map_err(broken)?;
    let names: Vec<String> = schema.iter_names().map(ToString::to_string).collect();
    let readable: Vec<usize> =
        schema.iter_values().enumerate().filter(|(_, field)| has_text(field.dtype())).map(|(at, _)| at).collect();
    let reader = ParquetReader::new(Cursor::new(bytes)).read_parallel(ParallelStrategy::None);
    let reader = reader.with_projection(Some(readable.clone()));
    let frame = reader.finish().map_err(broken)?;
    let height = ParquetReader::new(Cursor::new(bytes)).num_rows().map_err(broken)?;
    let mut rows = vec![vec![None; names.len()]; height];
    for (column, at) in readable.iter().enumerate() {
        fill(&mut rows, *at, &frame, column).map_err(|fault| format!("column {} {fault}", names[*at]))?;
    }
    let is_unread = |at: &usize| readable.binary_search(at).is_err();
    for at in (0..names.len()).filter(is_unread) {
        for row in &mut rows {
            row[at] = Some(NO_TEXT.to_owned());
        }
    }
    let unread = (0..names.len()).filter(is_unread).map(|at| names[at].clone()).collect();
    Ok(Texts { names, rows, unread })
}

/// Puts the texts of a column of the frame into their place in the rows.
fn fill(rows: &mut [Vec<Option<String>>], place: usize, frame: &DataFrame, column: usize) -> Result<(), String> {
    let column = &frame.columns()[column];
    let is_category = matches!(column.dtype(), DataType::Categorical(..) | DataType::Enum(..));
    let column = if is_category { column.cast(&DataType::String).map_err(|_| "is damaged")? } else { column.clone() };
    for (at, row) in rows.iter_mut().enumerate() {
        row[place] = text(&column.get(at).map_err(|_| "ends early")?);
    }
    Ok(())
}

/// Whether values of a type have a text.
fn has_text(kind: &ArrowDataType) -> bool {
    use ArrowDataType as A;
    let is_text = |kind: &A| matches!(kind, A::Utf8 | A::LargeUtf8 | A::Utf8View);
    let is_number = matches!(kind, A::Boolean | A::Float32 | A::Float64 | A::Decimal(..));
    let is_whole =
        matches!(kind, A::Int8 | A::Int16 | A::Int32 | A::Int64 | A::UInt8 | A::UInt16 | A::UInt32 | A::UInt64);
    let is_time = matches!(kind, A::Date32 | A::Timestamp(..));
    let is_category = matches!(kind, A::Dictionary(_, values, _) if is_text(values));
    *kind == A::Null || is_number || is_whole || is_time || is_text(kind) || is_category
}

/// The text of a value; `None` of null.
fn text(value: &AnyValue<'_>) -> Option<String> {
    if let Some(text) = value.get_str() {
        return Some(text.to_owned());
    }
    match value.as_borrowed() {
        AnyValue::Boolean(flag) => Some(flag.to_string()),
        AnyValue::Float32(number) => Some(number.to_string()),
        AnyValue::Float64(number) => Some(number.to_string()),
        AnyValue::Date(days) => date(days),
        AnyValue::Datetime(count, unit, zone) => time(count, unit, zone.is_some()),
        AnyValue::Decimal(digits, _, scale) => Some(decimal(digits, scale)),
        whole if whole.is_integer() => Some(whole.to_string()),
        _ => None,
    }
}

/// A day counted from 1970.
fn date(days: i32) -> Option<String> {
    let (epoch, distance) = (NaiveDate::default(), Days::new(days.unsigned_abs().into()));
    let day = if days < 0 { epoch.checked_sub_days(distance) } else { epoch.checked_add_days(distance) };
    day.map(|day| day.to_string())
}

/// An instant, or a time of which nobody says where.
fn time(count: i64, unit: TimeUnit, has_zone: bool) -> Option<String> {
    let at = match unit {
        TimeUnit::Nanoseconds => Some(DateTime::from_timestamp_nanos(count)),
        TimeUnit::Microseconds => DateTime::from_timestamp_micros(count),
        TimeUnit::Milliseconds => DateTime::from_timestamp_millis(count),
    }?;
    let text = at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    Some(if has_zone { text } else { text.trim_end_matches('Z').to_owned() })
}

/// A decimal number: its digits, the last `scale` of them behind the point.
fn decimal(digits: i128, scale: usize) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let part = part.trim_end_matches('0');
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_their_point_where_the_scale_puts_it() {
        let cases = [(12_345, 2, "123.45"), (-5, 3, "-0.005"), (700, 2, "7"), (0, 6, "0"), (42, 0, "42")];
        for (digits, scale, wanted) in cases {
            assert_eq!(decimal(digits, scale), wanted);
        }
    }

    #[test]
    fn days_count_from_1970_in_both_directions() {
        assert_eq!(date(20_777).as_deref(), Some("2026-11-20"));
        assert_eq!(date(-1).as_deref(), Some("1969-12-31"));
    }
}
