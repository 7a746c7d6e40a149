//! The table of session evidence, for people and programs, and the days that are kept when clients delete theirs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{DateTime, Datelike as _, Utc};
use serde_json::{Map, Value, json};

use super::text::{Place, name, own};
use super::verbs::document;
use super::wrap;
use crate::rollup::{COLUMNS, Column, Line, MIN_TIMED, Rate, RollupRow, View, read_csv, write_csv};
use crate::store::{Store, files_in};

/// Folder of the history in the reports folder.
const HISTORY: &str = "history";
/// Where a rollup asked for as Parquet is written, in the reports folder.
const ROLLUP: &str = "rollup/sessions.parquet";

/// The rate, if it stands on enough responses.
fn shown(rate: Option<Rate>) -> Option<Rate> {
    rate.filter(|rate| rate.n >= MIN_TIMED)
}

/// Figures of a line beside the columns of the rollup.
fn figures(line: &Line) -> Vec<(&'static str, Option<f64>)> {
    let effective = shown(line.effective);
    let decode = shown(line.decode);
    let is_shown = line.row.usage.n_speed >= MIN_TIMED as u64;
    vec![
        ("effective_tps", line.row.effective_tps().filter(|_| is_shown)),
        ("effective_tps_lo", effective.and_then(|rate| Some(rate.tps_90?.0))),
        ("effective_tps_hi", effective.and_then(|rate| Some(rate.tps_90?.1))),
        ("median_tps", effective.map(|rate| rate.median_tps)),
        ("decode_tps", decode.map(|rate| rate.tps)),
        ("ttft_s", line.first_token_s.filter(|(_, n)| *n >= MIN_TIMED).map(|(seconds, _)| seconds)),
        ("priced_share", line.row.priced_share()),
    ]
}

/// The columns of the rollup that are figures, for one row. A cost that nobody knows is null.
fn counts(row: &RollupRow) -> Vec<(&'static str, Value)> {
    let mut row = row.clone();
    let is_costed = row.cost_usd().is_some();
    COLUMNS
        .into_iter()
        .filter_map(|(name, column)| {
            Some((
                name,
                match column {
                    Column::Text(_) => return None,
                    Column::Count(field) => json!(*field(&mut row)),
                    Column::Amount(field) => json!(*field(&mut row)),
                    Column::Usd(field) => json!(is_costed.then(|| field(&mut row).to_f64())),
                    Column::UsdSquared(field) => json!(is_costed.then(|| field(&mut row).to_f64())),
                    #[expect(clippy::cast_precision_loss, reason = "milliseconds fit an f64 exactly")]
                    Column::Seconds(field) => json!(*field(&mut row) as f64 / 1000.0),
                },
            ))
        })
        .collect()
}

/// The view as one JSON document.
pub fn json(view: &View, ways: &[(&str, u64)], remarks: &[String], events: &Value) -> String {
    let line = |line: &Line| {
        let mut object = Map::new();
        for (column, value) in view.columns.iter().zip(&line.values) {
            object.insert((*column).to_owned(), json!(value));
        }
        object.extend(counts(&line.row).into_iter().map(|(name, value)| (name.to_owned(), value)));
        object.extend(figures(line).into_iter().map(|(name, value)| (name.to_owned(), json!(value))));
        Value::Object(object)
    };
    let ways: BTreeMap<&str, u64> = ways.iter().copied().collect();
    let rows: Vec<Value> = view.lines.iter().map(line).collect();
    document("sessions", json!({ "rows": rows, "pools_found_by": ways, "events": events, "remarks": remarks }))
}

/// The view as CSV. An empty cell is unknown.
pub fn csv(view: &View) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<&str> = view.columns.clone();
    let empty = RollupRow::empty(crate::rollup::RollupKey::default(), DateTime::<Utc>::UNIX_EPOCH);
    header.extend(counts(&empty).into_iter().map(|(name, _)| name));
    let extra =
        ["effective_tps", "effective_tps_lo", "effective_tps_hi", "median_tps", "decode_tps", "ttft_s", "priced_share"];
    header.extend(extra);
    writer.write_record(&header).expect("memory can be written");
    for line in &view.lines {
        let mut cells = line.values.clone();
        let shown = |value: Value| if value.is_null() { String::new() } else { value.to_string() };
        cells.extend(counts(&line.row).into_iter().map(|(_, value)| shown(value)));
        cells.extend(
            figures(line).into_iter().map(|(_, value)| value.map_or_else(String::new, |value| format!("{value:.6}"))),
        );
        writer.write_record(&cells).expect("memory can be written");
    }
    String::from_utf8(writer.into_inner().expect("memory can be flushed")).expect("every cell is text")
}

/// Figures that people see, by the names they have in every output.
const FIGURES: [&str; 18] = [
    "attempts",
    "responses",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "effective_tps",
    "effective_tps_lo",
    "effective_tps_hi",
    "median_tps",
    "n_speed",
    "decode_tps",
    "ttft_s",
    "cost_usd",
    "priced_share",
    "infra",
    "retries",
    "quota_hits",
];

/// The view as lines for people: a table, or where a terminal is known to be narrower a paragraph for each line of it.
pub fn human(view: &View, ways: &[(&str, u64)], remarks: &[String], width: usize) -> String {
    let names = |line: &Line| -> Vec<String> {
        let shown = |value: &String| if value.is_empty() { "-".to_owned() } else { name(value, Place::Terminal) };
        line.values.iter().map(shown).collect()
    };
    let mut text = table(view, &names);
    let is_known = width != wrap::WIDTH;
    if is_known && text.lines().any(|line| line.chars().count() > width) {
        text = view.lines.iter().map(|line| paragraph(&names(line), &figure_cells(line), width)).collect();
    }
    if view.lines.is_empty() {
        "no calls\n".clone_into(&mut text);
    }
    let ways: Vec<String> = ways.iter().map(|(way, count)| format!("{way} {count}")).collect();
    let found = (!ways.is_empty()).then(|| format!("pools found by: {}", ways.join(" · ")));
    let legend = format!(
        "effective_tps is output over model-busy time, prefill included, with its 90 % interval; `?` is fewer than {MIN_TIMED} timed \
         responses or nothing known; `≥` is a lower bound"
    );
    let said = found.into_iter().chain(remarks.iter().map(|remark| own(remark, Place::Terminal))).chain([legend]);
    text.push('\n');
    for line in said.flat_map(|words| wrap::line(&words, width)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The lines of a view as a table. Long names of figures stand in the header over several lines.
fn table(view: &View, names: &dyn Fn(&Line) -> Vec<String>) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let heads: Vec<Vec<&str>> = FIGURES.iter().map(|name| pieces(name)).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(1);
    for level in 0..height {
        let is_last = level + 1 == height;
        let own = view.columns.iter().map(|column| if is_last { (*column).to_owned() } else { String::new() });
        let piece = |head: &Vec<&str>| (level + head.len()).checked_sub(height).map_or("", |at| head[at]).to_owned();
        rows.push(own.chain(heads.iter().map(piece)).collect());
    }
    rows.extend(view.lines.iter().map(|line| [names(line), figure_cells(line)].concat()));
    aligned(&rows, view.columns.len())
}

/// A name in pieces that end with its underscores, short ones together.
fn pieces(name: &str) -> Vec<&str> {
    const LONGEST: usize = 10;
    let mut pieces = Vec::new();
    let (mut from, mut to) = (0, 0);
    for part in name.split_inclusive('_') {
        if to > from && to - from + part.len() > LONGEST {
            pieces.push(&name[from..to]);
            from = to;
        }
        to += part.len();
    }
    pieces.push(&name[from..]);
    pieces
}

/// One line of a view as a paragraph: what it is about, then every figure with its name.
fn paragraph(names: &[String], figures: &[String], width: usize) -> String {
    let each: Vec<String> = FIGURES.iter().zip(figures).map(|(name, figure)| format!("{name} {figure}")).collect();
    let about = wrap::line(&names.join("  "), width);
    let figures = wrap::line(&format!("  {}", each.join("  ")), width);
    about.into_iter().chain(figures).map(|line| line + "\n").collect()
}

/// The figures of a line as cells, in the order of [`FIGURES`].
fn figure_cells(line: &Line) -> Vec<String> {
    let usage = &line.row.usage;
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.digits$}"));
    let figure =
        |wanted: &str| figures(line).into_iter().find(|(name, _)| *name == wanted).and_then(|(_, value)| value);
    vec![
        line.row.sums.attempts.to_string(),
        usage.responses.to_string(),
        usage.input_tokens.to_string(),
        usage.cache_read_tokens.to_string(),
        usage.cache_write_tokens.to_string(),
        format!("{}{}", if usage.output_incomplete > 0 { "≥" } else { "" }, usage.output_tokens),
        number(figure("effective_tps"), 1),
        number(figure("effective_tps_lo"), 1),
        number(figure("effective_tps_hi"), 1),
        number(figure("median_tps"), 1),
        usage.n_speed.to_string(),
        number(figure("decode_tps"), 1),
        number(figure("ttft_s"), 2),
        number(line.row.cost_usd(), 2),
        line.row.priced_share().map_or_else(|| "?".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        line.row.sums.infra.to_string(),
        usage.retries.to_string(),
        usage.quota_hits.to_string(),
    ]
}

/// A table with aligned columns: names to the left, figures to the right.
fn aligned(table: &[Vec<String>], names: usize) -> String {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for row in table {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                if at < names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Writes a rollup as Parquet; returns where.
pub fn write_rollup(store: &Store, bytes: &[u8]) -> Result<String> {
    let path = store.in_reports(ROLLUP);
    store.replace(&path, bytes)?;
    Ok(store.shown(&path))
}

/// The days kept from earlier runs, and what is wrong with their files.
pub fn kept(reports: &Path) -> (Vec<RollupRow>, Vec<String>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for (name, bytes) in files_in(&reports.join(HISTORY), &|name| name.starts_with("sessions-")) {
        match bytes.and_then(|bytes| read_csv(&bytes)) {
            Ok((found, broken)) => {
                rows.extend(found);
                let fault = |(line, fault)| format!("{HISTORY}/{name}:{line} {fault}");
                faults.extend(broken.into_iter().take(3).map(fault));
            }
            Err(fault) => faults.push(format!("{HISTORY}/{name} {fault}")),
        }
    }
    (rows, faults)
}

/// Keeps the days of session stores, one file a month. Equal bytes are left alone.
pub fn keep(store: &Store, rows: &[RollupRow]) -> Result<()> {
    let mut months: BTreeMap<String, Vec<RollupRow>> = BTreeMap::new();
    for row in rows {
        let month = format!("{:04}-{:02}", row.key.day.year(), row.key.day.month());
        months.entry(month).or_default().push(row.clone());
    }
    for (month, rows) in months {
        let as_of = rows.iter().map(|row| row.last_at).max().unwrap_or_default();
        let path = store.in_reports(&format!("{HISTORY}/sessions-{month}.csv"));
        store.replace(&path, write_csv(&rows, as_of).as_bytes())?;
    }
    Ok(())
}
