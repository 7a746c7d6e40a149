//! The rollup table as CSV, and either format by its first bytes.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, Utc};

use super::parquet::read_parquet;
use super::records::Records;
use super::table::{COLUMNS, Column, FORMAT_VERSION, RollupKey, RollupRow};
use crate::vocabulary::{Usd, UsdSquared};

/// Largest count of a row that is believed: sums of many stay whole numbers everywhere.
const MOST: u64 = 1_000_000_000_000_000;
/// Largest amount of a row that is believed: sums of many stay finite.
const MOST_AMOUNT: f64 = 1e24;

/// The cells of one row by column.
pub(super) type Cells = BTreeMap<String, String>;

/// The table as CSV, columns and rows in fixed order.
pub fn write_csv(rows: &[RollupRow], as_of: DateTime<Utc>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = ["day"].into_iter().chain(COLUMNS.map(|(name, _)| name));
    let names = names.chain(["first_at", "last_at", "as_of", "format_version"]);
    writer.write_record(names).expect("memory can be written");
    for row in rows {
        let mut row = row.clone();
        let mut cells = vec![row.key.day.to_string()];
        for (_, column) in COLUMNS {
            cells.push(match column {
                Column::Text(field) => field(&mut row).clone(),
                Column::Count(field) => field(&mut row).to_string(),
                Column::Amount(field) => field(&mut row).to_string(),
                Column::Seconds(field) => seconds(*field(&mut row)).to_string(),
                Column::Usd(field) => field(&mut row).to_f64().to_string(),
                Column::UsdSquared(field) => field(&mut row).to_f64().to_string(),
            });
        }
        cells.extend([row.first_at, row.last_at, as_of].map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true)));
        cells.push(FORMAT_VERSION.to_string());
        writer.write_record(cells).expect("memory can be written");
    }
    String::from_utf8(writer.into_inner().expect("memory can be flushed")).expect("every cell is text")
}

/// Milliseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a few centuries fit an f64 exactly")]
pub(super) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// Usable rows, and broken ones by number with what is wrong with them.
pub type ReadRows = (Vec<RollupRow>, Vec<(usize, String)>);

/// A table of either format: Parquet begins with `PAR1`. Broken rows come back with their number and what is wrong.
/// The error is a fragment about the whole file.
pub fn read_file(bytes: &[u8]) -> Result<ReadRows, String> {
    if bytes.starts_with(b"PAR1") { read_parquet(bytes) } else { read_csv(bytes) }
}

/// The rows of a CSV table, by column name. Unknown columns are not read.
pub fn read_csv(bytes: &[u8]) -> Result<ReadRows, String> {
    let mut records = Records::of(bytes);
    let (_, header) = records.next().ok_or("is empty")?;
    let header: Vec<String> = header?.into_iter().map(|name| name.trim().to_owned()).collect();
    check_columns(&header.iter().map(String::as_str).collect::<Vec<_>>())?;
    records.expect(header.len());
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for (line, record) in records {
        let row = record.map_err(str::to_owned);
        match row.and_then(|cells| parse(&header.iter().cloned().zip(cells).collect())) {
            Ok(row) => rows.push(row),
            Err(fault) => broken.push((line, fault)),
        }
    }
    Ok((rows, broken))
}

/// Columns without which a file is no rollup.
pub(super) fn check_columns(names: &[&str]) -> Result<(), String> {
    let missing = ["day", "provider", "model", "source", "attempts"].into_iter().find(|name| !names.contains(name));
    if let Some(name) = missing {
        return Err(format!("has no column {name}"));
    }
    let twice = names.iter().enumerate().find(|(at, name)| !name.is_empty() && names[..*at].contains(name));
    twice.map_or(Ok(()), |(_, name)| Err(format!("has column {name:?} twice")))
}

/// A row of its cells.
pub(super) fn parse(cells: &Cells) -> Result<RollupRow, String> {
    let text = |name: &str| cells.get(name).map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
    if let Some(version) = text("format_version")
        && version != FORMAT_VERSION.to_string()
    {
        return Err(format!("format_version {version:?} is not {FORMAT_VERSION}"));
    }
    let day = text("day").ok_or("day is empty")?;
    let day = date(day).ok_or_else(|| format!("day {day:?} is not a date"))?;
    let midnight = day.and_time(NaiveTime::MIN).and_utc();
    let time = |name: &str| match text(name) {
        None => Ok(midnight),
        Some(cell) => time(cell).ok_or_else(|| format!("{name} {cell:?} is not a time")),
    };
    let key = RollupKey { day, ..RollupKey::default() };
    let mut row = RollupRow { last_at: time("last_at")?, ..RollupRow::empty(key, time("first_at")?) };
    for (name, column) in COLUMNS {
        let Some(cell) = text(name) else { continue };
        match column {
            Column::Text(field) => cell.clone_into(field(&mut row)),
            Column::Count(field) => *field(&mut row) = count(name, cell)?,
            Column::Amount(field) => *field(&mut row) = amount(name, cell)?,
            Column::Seconds(field) => *field(&mut row) = milliseconds(amount(name, cell)?),
            Column::Usd(field) => *field(&mut row) = Usd::of(amount(name, cell)?),
            Column::UsdSquared(field) => *field(&mut row) = UsdSquared::of(amount(name, cell)?),
        }
    }
    for (field, default) in [
        (&mut row.key.effort, "unrecorded"),
        (&mut row.key.mode, "standard"),
        (&mut row.key.task_class, "unclassified"),
    ] {
        if field.is_empty() {
            default.clone_into(field);
        }
    }
    Ok(row)
}

/// A day, also as the midnight at which it begins: engines without a type for days write that.
fn date(cell: &str) -> Option<NaiveDate> {
    let day = time(cell).filter(|at| at.time() == NaiveTime::MIN).map(|at| at.date_naive());
    cell.parse().ok().or(day)
}

/// An instant; without a zone it is UTC, as every day of the table is.
fn time(cell: &str) -> Option<DateTime<Utc>> {
    let zoned = DateTime::parse_from_rfc3339(cell).map(|time| time.to_utc()).ok();
    zoned.or_else(|| cell.replacen(' ', "T", 1).parse::<NaiveDateTime>().ok().map(|at| at.and_utc()))
}

/// Seconds as milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and amounts are not negative"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// A whole number; `12.0` is one, as other engines write it.
fn count(name: &str, cell: &str) -> Result<u64, String> {
    let count = cell.strip_suffix(".0").unwrap_or(cell).parse().ok().filter(|count| *count <= MOST);
    count.ok_or_else(|| format!("{name} {cell:?} is not a whole number up to {MOST}"))
}

/// A finite number of at least 0.
fn amount(name: &str, cell: &str) -> Result<f64, String> {
    match cell.parse::<f64>() {
        Ok(value) if value.abs() <= MOST_AMOUNT && (value >= 0.0 || name.starts_with("sum_ln")) => Ok(value + 0.0),
        _ => Err(format!("{name} {cell:?} is not a number of at least 0")),
    }
}
