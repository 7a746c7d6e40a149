//! Our own evidence files as Parquet: equal to the same table as CSV, whatever types their writer chose.

use std::path::{Path, PathBuf};

use crate::mutations::Dice;
use crate::support::fresh;
use chrono::{DateTime, Utc};
use polars::prelude::{Column, DataFrame};
use pool_review::rollup::{RollupRow, read_file};
use pool_review::sources::{babysitter, scorecards, speeds};
use pool_review::vocabulary::{Place, ScorecardRow, SitterRow, SourceNote, SourceState, SpeedRow};

/// Scorecards: two sound rows, one of an unknown word, one unknown column.
const CARDS: &str = "task_id,attempt,finished_at,pool,provider,model,outcome,basis,duration_s,cost_usd,note
t1,1,2026-11-20T10:00:00Z,p,acme,one,success,check,61.5,0.25,x
t1,2,2026-11-21T10:00:00Z,p,acme,one,failure,merge,,,
t2,1,2026-11-21T11:00:00Z,p,acme,one,nonsense,merge,,,
";
/// Speeds: two sound rows, one that measured nothing.
const SPEEDS: &str = "measured_at,provider,model,effort,n,output_tps,ttft_s,task_s,output_tps_lo,output_tps_hi,source
2026-11-20T10:00:00Z,acme,one,high,12,80.5,0.5,,70,90,us
2026-11-21T10:00:00Z,acme,two,,40,,1.25,300,,,
2026-11-21T11:00:00Z,acme,three,,3,,,,,,
";
/// Events of the babysitter: two sound ones, one of no session.
const EVENTS: &str = "at,session_id,task_id,pool,provider,model,effort,event,waited_s,note
2026-11-20T10:00:00Z,s1,t1,p,acme,one,high,stall,42.5,slow
2026-11-21T10:00:00Z,s2,,,acme,one,,kill,,
2026-11-21T11:00:00Z,,,,acme,one,,kill,,
";

/// An instant after every row.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// A table of CSV as Parquet: columns of numbers as numbers, the rest as text.
fn parquet(csv: &str) -> Vec<u8> {
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let column = |(at, name): (usize, &str)| {
        let cells = || rows.iter().map(|row| Some(row[at]).filter(|cell| !cell.is_empty()));
        let numbers: Option<Vec<Option<f64>>> = cells().map(|cell| cell.map(str::parse).transpose().ok()).collect();
        match (name, numbers) {
            ("attempt" | "n", Some(numbers)) => {
                Column::new(name.into(), numbers.into_iter().map(|number| number.unwrap() as i32).collect::<Vec<i32>>())
            }
            (_, Some(numbers)) => Column::new(name.into(), numbers),
            _ => Column::new(name.into(), cells().collect::<Vec<Option<&str>>>()),
        }
    };
    let columns = csv.lines().next().unwrap().split(',').enumerate().map(column).collect();
    let mut frame = DataFrame::new(rows.len(), columns).unwrap();
    let mut bytes = Vec::new();
    polars_io::parquet::write::ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
    bytes
}

/// Writes a table in both formats, reads both and compares: the same rows, two used and one rejected; half a file is none.
fn compare<T: PartialEq + std::fmt::Debug>(name: &str, csv: &str, read: &dyn Fn(&Path) -> (Vec<T>, SourceNote)) {
    let folder = fresh(&format!("parquet-{name}"));
    std::fs::write(folder.join("table.csv"), csv).unwrap();
    let (from_csv, note_of_csv) = read(&folder.join("table.csv"));
    assert_eq!((from_csv.len(), note_of_csv.rejected), (2, 1), "{name}: {:?}", note_of_csv.rejects);
    let bytes = parquet(csv);
    std::fs::write(folder.join("table.parquet"), &bytes).unwrap();
    let (rows, note) = read(&folder.join("table.parquet"));
    assert_eq!(rows, from_csv, "{name}");
    assert_eq!((note.used, note.rejected, note.rejects[0].place.line), (2, 1, 3), "{name}: {:?}", note.rejects);
    let reasons = |note: &SourceNote| note.rejects.iter().map(|reject| reject.reason.clone()).collect::<Vec<_>>();
    assert_eq!((reasons(&note), &note.remarks), (reasons(&note_of_csv), &note_of_csv.remarks), "{name}");
    std::fs::write(folder.join("table.parquet"), &bytes[..bytes.len() - 20]).unwrap();
    let (rows, note) = read(&folder.join("table.parquet"));
    assert!(rows.is_empty() && format!("{:?}", note.state).contains("is no readable Parquet"), "{:?}", note.state);
}

#[test]
fn a_type_that_is_not_read_is_named_and_ends_nothing() {
    let (speeds, note) = speeds::read(&made("speeds-of-words.parquet"), "tests/words.parquet", now());
    let said =
        "tests/words.parquet column provider is of a type that is not read; write it as text or as a 64-bit number";
    assert_eq!((speeds.len(), note.state), (0, SourceState::Failed(said.to_owned())));
    let (speeds, note) = speeds::read(&made("speeds-with-odd-notes.parquet"), "odd", now());
    assert_eq!(speeds.len(), 2, "columns that mean nothing do no harm: {:?}", note.state);
    let fault = read_file(&std::fs::read(made("rollup-of-words.parquet")).unwrap()).unwrap_err();
    assert_eq!(fault, "column provider is of a type that is not read; write it as text or as a 64-bit number");
}

#[test]
fn changed_bytes_of_a_file_end_in_rows_or_a_note() {
    let mut dice = Dice::new(77);
    let folder = fresh("parquet-changed");
    let whole = std::fs::read(made("speeds-in-a-zone.parquet")).unwrap();
    let rollup = std::fs::read(made("rollup.parquet")).unwrap();
    let mut broken = 0;
    for number in 0..600 {
        let change = |bytes: &[u8], dice: &mut Dice| {
            let mut bytes = bytes.to_vec();
            for _ in 0..=dice.below(2) {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            bytes
        };
        std::fs::write(folder.join("speeds.parquet"), change(&whole, &mut dice)).unwrap();
        let (rows, note) = speeds::read(&folder.join("speeds.parquet"), "speeds", now());
        assert!(!rows.is_empty() || matches!(note.state, SourceState::Failed(_)), "{number}");
        broken += usize::from(rows.is_empty()) + usize::from(read_file(&change(&rollup, &mut dice)).is_err());
    }
    assert!(broken > 100, "{broken} of 1,200 are no tables");
}

/// A file that another engine wrote (`tests/parquet/make.py`).
fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet").join(name)
}

#[test]
fn a_time_with_a_zone_is_an_instant_and_one_without_is_none() {
    let (speeds, note) = speeds::read(&made("speeds-in-a-zone.parquet"), "zoned", now());
    let told: Vec<_> = speeds.iter().map(|speed| (speed.measured_at.to_rfc3339(), speed.n, speed.output_tps)).collect();
    let wanted = [("2026-11-20T10:00:00+00:00", 12, Some(80.5)), ("2026-11-21T10:00:00+00:00", 40, None)];
    assert_eq!(told, wanted.map(|(at, n, tps)| (at.to_owned(), n, tps)), "{:?}", note.rejects);
    let (speeds, note) = speeds::read(&made("speeds-without-a-zone.parquet"), "naive", now());
    assert!(speeds.is_empty() && note.rejects[0].reason.starts_with("measured_at is not a time"), "{:?}", note.rejects);
}

#[test]
fn a_rollup_with_days_and_instants_of_another_engine_is_read() {
    let (rows, broken) = read_file(&std::fs::read(made("rollup.parquet")).unwrap()).unwrap();
    assert_eq!(broken, []);
    let told = |row: &RollupRow| {
        (row.key.day.to_string(), row.key.model.clone(), row.sums.attempts, row.usage.output_tokens, row.usage.busy_ms)
    };
    let wanted = [("2026-11-20", "one", 12, 5000, 61_500), ("2026-11-21", "", 3, 70, 0)];
    assert_eq!(
        rows.iter().map(told).collect::<Vec<_>>(),
        wanted.map(|(day, model, n, output, ms)| (day.to_owned(), model.to_owned(), n, output, ms))
    );
    assert_eq!(rows[1].last_at.to_rfc3339(), "2026-11-21T10:00:00+00:00");
}

#[test]
fn scorecards_in_parquet_are_those_of_the_csv_file() {
    let anywhere = |card: ScorecardRow| ScorecardRow { place: Place::new("x", 1), ..card };
    compare("cards", CARDS, &|path| {
        let (rows, note) = scorecards::read(path, "cards", now());
        assert!(rows.is_empty() || note.remarks.iter().any(|remark| remark.contains("unknown column \"note\"")));
        (rows.into_iter().map(anywhere).collect(), note)
    });
}

#[test]
fn speeds_in_parquet_are_those_of_the_csv_file() {
    let anywhere = |speed: SpeedRow| SpeedRow { place: Place::new("x", 1), ..speed };
    compare("speeds", SPEEDS, &|path| {
        let (rows, note) = speeds::read(path, "speeds", now());
        (rows.into_iter().map(anywhere).collect(), note)
    });
}

#[test]
fn a_babysitter_log_in_parquet_is_that_of_the_csv_file() {
    let anywhere = |event: SitterRow| SitterRow { place: Place::new("x", 1), ..event };
    compare("events", EVENTS, &|path| {
        let (rows, note) = babysitter::read(path, "log", now());
        (rows.into_iter().map(anywhere).collect(), note)
    });
}
