//! The rollup table as Parquet. Columns as in CSV; counts are 64-bit integers, amounts doubles, the rest text.

use std::io::Cursor;

use chrono::{DateTime, SecondsFormat, Utc};
use polars::prelude::{Column as PolarsColumn, DataFrame, DataType, PolarsResult};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;
use polars_io::parquet::write::ParquetWriter;

use super::files::{Cells, ReadRows, check_columns, parse, seconds};
use super::table::{COLUMNS, Column, FORMAT_VERSION, RollupRow};

/// The table as Parquet.
pub fn write_parquet(rows: &[RollupRow], as_of: DateTime<Utc>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(rows, as_of)
        .and_then(|mut frame| ParquetWriter::new(&mut bytes).finish(&mut frame))
        .expect("columns of one length and plain types can be written to memory");
    bytes
}

/// The table as a frame.
fn frame(rows: &[RollupRow], as_of: DateTime<Utc>) -> PolarsResult<DataFrame> {
    let mut rows = rows.to_vec();
    let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let days: Vec<String> = rows.iter().map(|row| row.key.day.to_string()).collect();
    let mut columns = vec![PolarsColumn::new("day".into(), days)];
    for (name, column) in COLUMNS {
        let name = name.into();
        columns.push(match column {
            Column::Text(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| field(row).clone()).collect::<Vec<_>>())
            }
            Column::Count(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| field(row).cast_signed()).collect::<Vec<_>>())
            }
            Column::Amount(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| *field(row)).collect::<Vec<_>>())
            }
            Column::Usd(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| field(row).to_f64()).collect::<Vec<_>>())
            }
            Column::UsdSquared(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| field(row).to_f64()).collect::<Vec<_>>())
            }
            Column::Seconds(field) => {
                PolarsColumn::new(name, rows.iter_mut().map(|row| seconds(*field(row))).collect::<Vec<_>>())
            }
        });
    }
    columns.push(PolarsColumn::new("first_at".into(), rows.iter().map(|row| time(row.first_at)).collect::<Vec<_>>()));
    columns.push(PolarsColumn::new("last_at".into(), rows.iter().map(|row| time(row.last_at)).collect::<Vec<_>>()));
    columns.push(PolarsColumn::new("as_of".into(), vec![time(as_of); rows.len()]));
    columns.push(PolarsColumn::new("format_version".into(), vec![FORMAT_VERSION.cast_signed(); rows.len()]));
    DataFrame::new(rows.len(), columns)
}

/// The rows of a Parquet table, by column name; broken rows come back with their number, counted from 1.
pub fn read_parquet(bytes: &[u8]) -> Result<ReadRows, String> {
    let frame = ParquetReader::new(Cursor::new(bytes)).finish().map_err(|_| "is no readable Parquet".to_owned())?;
    let names: Vec<&str> = frame.get_column_names().into_iter().map(polars::prelude::PlSmallStr::as_str).collect();
    check_columns(&names)?;
    let wanted = ["day", "first_at", "last_at", "format_version"];
    let mut table: Vec<Cells> = vec![Cells::new(); frame.height()];
    for name in COLUMNS.iter().map(|(name, _)| *name).chain(wanted) {
        let Ok(column) = frame.column(name) else { continue };
        let fault = |_| format!("column {name} is of a type that is not read");
        fill(&mut table, name, column).map_err(fault)?;
    }
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for (at, cells) in table.iter().enumerate() {
        match parse(cells) {
            Ok(row) => rows.push(row),
            Err(fault) => broken.push((at + 1, fault)),
        }
    }
    Ok((rows, broken))
}

/// Puts the values of a column into the cells. Null is no cell.
fn fill(table: &mut [Cells], name: &str, column: &PolarsColumn) -> PolarsResult<()> {
    let mut put = |at: usize, value: String| table[at].insert(name.to_owned(), value);
    match column.dtype() {
        DataType::String => {
            for (at, value) in column.str()?.iter().enumerate() {
                value.and_then(|value| put(at, value.to_owned()));
            }
        }
        DataType::Float64 | DataType::Float32 => {
            for (at, value) in column.cast(&DataType::Float64)?.f64()?.iter().enumerate() {
                value.and_then(|value| put(at, value.to_string()));
            }
        }
        _ => {
            for (at, value) in column.cast(&DataType::Int64)?.i64()?.iter().enumerate() {
                value.and_then(|value| put(at, value.to_string()));
            }
        }
    }
    Ok(())
}
