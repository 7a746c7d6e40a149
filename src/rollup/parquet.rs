//! The rollup table as Parquet. Columns as in CSV; counts are 64-bit integers, amounts doubles, the rest text.

use chrono::{DateTime, SecondsFormat, Utc};
use polars::prelude::{Column as PolarsColumn, DataFrame, PolarsResult};
use polars_io::parquet::write::ParquetWriter;

use super::files::{ReadRows, check_columns, parse, seconds};
use super::table::{COLUMNS, Column, FORMAT_VERSION, RollupRow};
use crate::parquet::texts;

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
    let table = texts(bytes)?;
    check_columns(&table.names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let wanted = ["day", "first_at", "last_at", "format_version"];
    table.unread_of(COLUMNS.iter().map(|(name, _)| *name).chain(wanted))?;
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for (at, row) in table.rows.into_iter().enumerate() {
        let cells = table.names.iter().zip(row).filter_map(|(name, cell)| Some((name.clone(), cell?)));
        match parse(&cells.collect()) {
            Ok(row) => rows.push(row),
            Err(fault) => broken.push((at + 1, fault)),
        }
    }
    Ok((rows, broken))
}
