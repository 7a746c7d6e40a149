//! Our own evidence files as Parquet: equal to the same table as CSV, whatever types their writer chose.

use std::path::Path;

use crate::support::fresh;
use chrono::{DateTime, Utc};
use polars::prelude::{Column, DataFrame, DataType, TimeUnit, TimeZone};
use pool_review::sources::{babysitter, scorecards, speeds};
use pool_review::vocabulary::{Place, ScorecardRow, SitterRow, SourceNote, SpeedRow};

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

/// A table of CSV as Parquet: columns of numbers as numbers, times as text or as times in UTC.
fn parquet(csv: &str, has_times: bool) -> Vec<u8> {
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let column = |(at, name): (usize, &str)| {
        let cells = || rows.iter().map(|row| Some(row[at]).filter(|cell| !cell.is_empty()));
        let numbers: Option<Vec<Option<f64>>> = cells().map(|cell| cell.map(str::parse).transpose().ok()).collect();
        let times: Option<Vec<Option<DateTime<Utc>>>> =
            cells().map(|cell| cell.map(str::parse).transpose().ok()).collect();
        match (name, numbers, times) {
            ("attempt" | "n", Some(numbers), _) => {
                Column::new(name.into(), numbers.into_iter().map(|number| number.unwrap() as i32).collect::<Vec<i32>>())
            }
            (_, Some(numbers), _) => Column::new(name.into(), numbers),
            (_, _, Some(times)) if has_times => {
                let millis: Vec<Option<i64>> = times.into_iter().map(|time| Some(time?.timestamp_millis())).collect();
                let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
                Column::new(name.into(), millis).cast(&kind).unwrap()
            }
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
    for has_times in [false, true] {
        let bytes = parquet(csv, has_times);
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
