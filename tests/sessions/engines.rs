//! Tables that other engines wrote as Parquet, each with the types it prefers: they read like the CSV beside them.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::common::files_below;
use crate::support::fresh;
use pool_review::parquet::texts;
use pool_review::rollup::read_file;
use pool_review::sources::{scorecards, speeds};
use pool_review::vocabulary::{Place, SourceNote};

/// When the tables are read.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// The folder of the tables.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/engines")
}

/// Every Parquet file with the CSV file that holds the same table.
fn tables() -> Vec<(PathBuf, PathBuf)> {
    let is_parquet = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "parquet");
    let found = files_below(&folder(), &is_parquet);
    assert!(!found.is_empty(), "the folder holds tables");
    let twin = |path: &PathBuf| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        folder().join(format!("{}.csv", stem.rsplit_once('-').unwrap().0))
    };
    found.into_iter().map(|path| (twin(&path), path)).collect()
}

/// What of a note does not depend on the format.
fn figures(note: &SourceNote) -> (u64, u64, u64, String) {
    (note.rows, note.used, note.rejected, format!("{:?} {:?}", note.state, note.as_of))
}

#[test]
fn tables_of_every_engine_read_like_their_csv() {
    for (csv, parquet) in tables() {
        let name = parquet.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("rollup") {
            let read = |path: &Path| read_file(&std::fs::read(path).unwrap()).unwrap();
            assert_eq!(read(&parquet), read(&csv), "{name}");
        } else if name.starts_with("scorecards") {
            let read = |path: &Path| {
                let (mut rows, note) = scorecards::read(path, "x", now());
                for row in &mut rows {
                    row.place = Place::new("x", 1);
                }
                (rows, figures(&note))
            };
            assert_eq!(read(&parquet), read(&csv), "{name}");
        } else {
            let read = |path: &Path| {
                let (mut rows, note) = speeds::read(path, "x", now());
                for row in &mut rows {
                    row.place = Place::new("x", 1);
                }
                (rows, figures(&note))
            };
            assert_eq!(read(&parquet), read(&csv), "{name}");
        }
    }
}

#[test]
fn a_column_that_is_needed_and_has_no_text_is_named() {
    use polars::prelude::{Column, DataFrame, DataType};
    let bytes: Vec<&[u8]> = vec![b"\xff"];
    let day = Column::new("day".into(), ["2026-11-20"]);
    let model = Column::new("model".into(), bytes);
    assert_eq!(*model.dtype(), DataType::Binary);
    let more = ["provider", "source"].map(|name| Column::new(name.into(), ["x"]));
    let attempts = Column::new("attempts".into(), [1_i64]);
    let columns = [day, model, attempts].into_iter().chain(more).collect();
    let mut frame = DataFrame::new(1, columns).unwrap();
    let mut file = Vec::new();
    polars_io::parquet::write::ParquetWriter::new(&mut file).finish(&mut frame).unwrap();
    assert_eq!(read_file(&file).unwrap_err(), "column model is of a type that is not read");
}

#[test]
fn damaged_parquet_is_an_error_and_never_an_end() {
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for (_, path) in tables() {
        let sound = std::fs::read(&path).unwrap();
        for _ in 0..40 {
            let mut bytes = sound.clone();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                bytes[at] = u8::try_from(below(256)).unwrap();
            }
            if below(4) == 0 {
                bytes.truncate(below(bytes.len()));
            }
            let _ = texts(&bytes);
            let copy = fresh("damaged-parquet").join("cards.parquet");
            std::fs::write(&copy, &bytes).unwrap();
            let (_, note) = scorecards::read(&copy, "cards.parquet", now());
            assert!(note.rows >= note.rejected, "{}", path.display());
        }
    }
}
