//! Measured speeds (`instructions/data/speeds.md`): one row is one summary of measurements.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::table::{self, Cells, Columns, TableFile, effort};
use crate::vocabulary::{HomeId, PoolId, ProviderId, SourceId, SourceNote, SpeedRow};

/// The columns of a speeds file.
const COLUMNS: Columns = Columns {
    known: &[
        "measured_at",
        "provider",
        "model",
        "effort",
        "home",
        "pool",
        "task_class",
        "n",
        "output_tps",
        "ttft_s",
        "task_s",
        "output_tps_lo",
        "output_tps_hi",
        "source",
    ],
    required: &["measured_at", "provider", "model", "n"],
    one_of: &[&["output_tps", "ttft_s", "task_s"]],
};

/// Reads a speeds file, rows in file order; `display` is what the file is called in places. The note's age is not yet settled.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<SpeedRow>, SourceNote) {
    let file = TableFile { path, display, source: SourceId::Speeds, columns: &COLUMNS };
    let (rows, mut note) = table::read(&file, |cells| row(cells, now));
    if note.digest.is_some() {
        table::settle(&mut note, display, rows.iter().map(|row| row.measured_at));
    }
    (rows, note)
}

/// One row, or what is wrong with it.
fn row(cells: &Cells, now: DateTime<Utc>) -> Result<SpeedRow, String> {
    let output_tps = cells.above_zero("output_tps")?;
    let row = SpeedRow {
        measured_at: cells.past_time("measured_at", now)?,
        provider: ProviderId::new(cells.needed("provider")?),
        model: cells.needed("model")?.to_owned(),
        effort: effort(cells.text("effort")),
        home: cells.text("home").map(HomeId::new),
        pool: cells.text("pool").map(PoolId::new),
        task_class: cells.text("task_class").map(str::to_owned),
        n: cells.whole("n", 1)?.ok_or("n is empty")?,
        output_tps,
        output_tps_90: interval(cells, output_tps)?,
        first_answer_s: cells.number("ttft_s")?,
        task_s: cells.above_zero("task_s")?,
        of_calls: None,
        place: cells.place.clone(),
    };
    if row.output_tps.or(row.first_answer_s).or(row.task_s).is_none() {
        return Err("has none of output_tps, ttft_s, task_s".to_owned());
    }
    Ok(row)
}

/// The interval of `output_tps`: both bounds or none, in order, around the value.
fn interval(cells: &Cells, value: Option<f64>) -> Result<Option<(f64, f64)>, String> {
    let (lo, hi) = (cells.number("output_tps_lo")?, cells.number("output_tps_hi")?);
    let (Some(lo), Some(hi)) = (lo, hi) else {
        return match lo.or(hi) {
            Some(_) => Err("has one of output_tps_lo and output_tps_hi without the other".to_owned()),
            None => Ok(None),
        };
    };
    if lo > hi {
        return Err(format!("output_tps_lo {lo} is above output_tps_hi {hi}"));
    }
    match value {
        Some(value) if value < lo || value > hi => {
            Err(format!("output_tps {value} lies outside its interval {lo} to {hi}"))
        }
        Some(_) => Ok(Some((lo, hi))),
        None => Err("has an interval without output_tps".to_owned()),
    }
}
