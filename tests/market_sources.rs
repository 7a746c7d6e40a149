//! The three market readers on files: every handed file to every reader, the counts of its provenance table, sidecars and
//! paths that are no files.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use pool_review::sources::market::{artificial_analysis, litellm, models_dev};
use pool_review::vocabulary::{SourceNote, SourceState};

/// The review instant of the handed material.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().expect("a fixed instant")
}

/// The handed market folder; `None` (said on stderr) when it is not there.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn handed() -> Option<PathBuf> {
    let shared = std::env::var_os("POOL_REVIEW_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    if !shared.is_dir() {
        eprintln!("skipped: ../shared not present");
        return None;
    }
    Some(shared.join("data/market"))
}

/// Every file under a folder, by path.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The notes of all three readers on one path.
fn notes(path: &Path) -> [(&'static str, usize, SourceNote); 3] {
    let (market, _, market_note) = artificial_analysis::read(path, "body", now());
    let (offers, offers_note) = models_dev::read(path, "body", now());
    let (rows, rows_note) = litellm::read(path, "body", now());
    [
        ("artificial_analysis", market.len(), market_note),
        ("models_dev", offers.len(), offers_note),
        ("litellm", rows.len(), rows_note),
    ]
}

/// Whether a reading is honest: rows if and only if fresh, counts that fit, and a reason that names the body.
fn assert_honest(what: &str, rows: usize, note: &SourceNote) {
    match &note.state {
        SourceState::Fresh => {
            assert!(rows > 0 && note.used == rows as u64 && note.used <= note.rows, "{what}: {note:?}");
        }
        SourceState::Failed(reason) => assert!(rows == 0 && reason.starts_with("body"), "{what}: {reason}"),
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn every_handed_file_is_read_or_cleanly_rejected_by_every_reader() {
    let Some(folder) = handed() else { return };
    let mut accepted = Vec::new();
    for path in files(&folder) {
        for (reader, rows, note) in notes(&path) {
            let what = format!("{reader} on {}", path.display());
            assert_honest(&what, rows, &note);
            if rows > 0 {
                let kind = path.strip_prefix(&folder).expect("below").components().next().expect("a folder");
                accepted.push((reader, kind.as_os_str().to_string_lossy().into_owned()));
            }
        }
    }
    accepted.sort();
    accepted.dedup();
    // A single page of several is no snapshot, so the market reader takes no single handed file.
    assert_eq!(accepted, [("litellm", "litellm".to_owned()), ("models_dev", "models.dev".to_owned())]);
}

#[test]
fn the_right_reader_gives_the_rows_of_the_provenance_table() {
    let Some(folder) = handed() else { return };
    let offers = |name: &str| models_dev::read(&folder.join("models.dev").join(name), "api.json", now());
    let (september, note) = offers("api-2026-09-30.json");
    assert_eq!((note.rows, note.used, note.rejected, september.len()), (8337, 8337, 0, 8337));
    let (may, note) = offers("api-2026-05-21.json");
    assert_eq!((note.rows, note.rejected, may.len()), (4803, 0, 4803));
    let (rows, note) = litellm::read(&folder.join("litellm/model_prices_1.110.2.json"), "map.json", now());
    assert_eq!((note.rows, note.rejected), (4877, 0));
    assert_eq!(rows.iter().filter(|row| row.ends.is_some()).count(), 924, "end dates");
    assert_eq!(rows.iter().filter(|row| row.successor.is_some()).count(), 446, "successors");
    let (_, _, note) = artificial_analysis::read(&folder.join("aa/v2-free_2026-06-27_page1.json"), "page1", now());
    assert_eq!((note.rows, note.state), (200, SourceState::Failed("page1:1: holds 1 of 3 pages".to_owned())));
}

/// A fresh folder below the build's own scratch folder.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old scratch folder");
    }
    fs::create_dir(&folder).expect("a scratch folder");
    folder
}

/// Puts text into a file.
#[expect(clippy::disallowed_methods, reason = "a test places its input")]
fn put(path: &Path, text: &str) {
    fs::write(path, text).expect("a scratch file");
}

#[test]
fn four_pages_in_a_folder_are_one_snapshot_as_old_as_its_oldest_page() {
    let Some(folder) = handed() else { return };
    let pages = scratch("four-pages");
    for path in files(&folder.join("aa")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("composed") {
            fs::copy(&path, pages.join(&name)).expect("a page");
        }
    }
    let (rows, version, note) = artificial_analysis::read(&pages, "aa", now());
    assert_eq!((rows.len(), version.as_deref(), note.rejected), (689, Some("4.3"), 0));
    assert_eq!((note.state.clone(), note.as_of), (SourceState::Fresh, None));
    put(&pages.join("meta.json"), r#"{"fetched_at": "2026-11-29T06:00:00Z"}"#);
    let first = files(&pages).remove(0);
    put(&PathBuf::from(format!("{}.meta.json", first.display())), r#"{"fetched_at": "2026-11-28T06:00:00Z"}"#);
    let (rows, _, note) = artificial_analysis::read(&pages, "aa", now());
    assert_eq!(rows.len(), 689, "a sidecar is no page");
    assert_eq!(note.as_of, Some("2026-11-28T06:00:00Z".parse().expect("an instant")));
}

#[test]
fn a_sidecar_dates_a_body_and_one_from_the_future_does_not() {
    let folder = scratch("sidecar");
    let body = folder.join("map.json");
    put(&body, r#"{"zai/a": {"input_cost_per_token": 1e-06}}"#);
    let as_of = || litellm::read(&body, "map.json", now()).1.as_of;
    assert_eq!(as_of(), None);
    put(&folder.join("map.json.meta.json"), r#"{"fetched_at": "2026-11-29T00:00:00Z", "etag": "x"}"#);
    assert_eq!(as_of(), Some("2026-11-29T00:00:00Z".parse().expect("an instant")));
    put(&folder.join("map.json.meta.json"), r#"{"fetched_at": "2027-11-29T00:00:00Z"}"#);
    assert_eq!(as_of(), None);
}

/// Makes a sparse file of this length.
#[expect(clippy::disallowed_methods, reason = "a test places its input")]
fn grow(path: &Path, length: u64) {
    fs::File::create(path).expect("a scratch file").set_len(length).expect("a length");
}

#[test]
fn a_path_that_is_no_body_fails_the_source_and_says_why() {
    let folder = scratch("no-body");
    let empty = folder.join("empty.json");
    put(&empty, "");
    let huge = folder.join("huge.json");
    grow(&huge, 64 * 1024 * 1024 + 1);
    let pipe = folder.join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()) || !cfg!(unix), "a named pipe");
    let hollow = folder.join("hollow");
    fs::create_dir(&hollow).expect("a folder");
    for path in [folder.join("missing.json"), empty, huge, hollow, pipe] {
        for (reader, rows, note) in notes(&path) {
            assert!(matches!(note.state, SourceState::Failed(_)), "{reader} on {}", path.display());
            assert_honest(reader, rows, &note);
        }
    }
}
