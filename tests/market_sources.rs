//! The market readers on files: every handed file to every reader, the counts of its provenance table, sidecars and
//! paths that are no files.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use pool_review::sources::market::artificial_analysis::{self, read_history};
use pool_review::sources::market::{
    BodyKind, count_rows, genai_prices, litellm, models_dev, openrouter, retirement_list,
};
use pool_review::vocabulary::{SourceNote, SourceState};
use serde_json::Value;

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

/// Rows and note of every reader on one path.
fn notes(path: &Path) -> Vec<(&'static str, usize, SourceNote)> {
    let (market, _, market_note) = artificial_analysis::read(path, "body", now());
    let (offers, offers_note) = models_dev::read(path, "body", now());
    let (rows, rows_note) = litellm::read(path, "body", now());
    let (own, own_note) = openrouter::read(path, "body", now());
    let (dated, dated_note) = genai_prices::read(path, "body", now());
    let (listed, listed_note) = retirement_list::read(path, "body", now());
    let mut notes = vec![
        ("artificial_analysis", market.len(), market_note),
        ("models_dev", offers.len(), offers_note),
        ("litellm", rows.len(), rows_note),
        ("openrouter", own.len(), own_note),
        ("genai_prices", dated.len(), dated_note),
        ("retirement_list", listed.len(), listed_note),
    ];
    let old = read_history(path, "body");
    notes.extend(old.into_iter().map(|snapshot| ("legacy", snapshot.rows.len(), snapshot.note)));
    notes
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
    // A single page of several is no snapshot, so the market reader takes no single handed file of v2.
    let expected = [
        ("genai_prices", "genai-prices"),
        ("legacy", "aa"),
        ("litellm", "litellm"),
        ("models_dev", "models.dev"),
        ("openrouter", "openrouter"),
        ("retirement_list", "retirements"),
    ];
    assert_eq!(accepted, expected.map(|(reader, kind)| (reader, kind.to_owned())));
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

#[test]
fn the_further_readers_give_the_rows_of_the_provenance_table_as_well() {
    let Some(folder) = handed() else { return };
    let used = |(rows, note): (usize, SourceNote)| {
        assert_eq!(note.rejected, 0, "{note:?}");
        assert_eq!(note.used, rows as u64);
        note.rows
    };
    let own = |name: &str| {
        let (rows, note) = openrouter::read(&folder.join("openrouter").join(name), "body", now());
        used((rows.len(), note))
    };
    assert_eq!(own("raw-2026-05-13.json"), 364);
    assert_eq!(own("reduced-2026-07-28-with-overrides.json"), 367);
    assert_eq!(own("sample-current-shape.json"), 13);
    let (rows, note) = genai_prices::read(&folder.join("genai-prices/genai-prices-0.2.3.json"), "body", now());
    assert_eq!(used((rows.len(), note)), 2330);
    let (rows, note) = retirement_list::read(&folder.join("retirements/retirements.json"), "body", now());
    assert_eq!(used((rows.len(), note)), 428);
    let counts = [365, 505, 363, 505, 530, 531, 531, 531, 533, 575, 577, 584, 591, 597];
    let old = read_history(&folder.join("aa/legacy"), "legacy");
    let found: Vec<usize> = old.iter().map(|snapshot| snapshot.rows.len()).collect();
    assert_eq!(found, counts);
    assert!(old.iter().all(|snapshot| snapshot.rows.iter().all(|row| !row.prices.is_free())), "a legacy 0 is unknown");
    let versions: Vec<&str> = old.iter().filter_map(|snapshot| snapshot.version.as_deref()).collect();
    assert_eq!((versions.len(), versions[0], versions[7], versions[13]), (14, "3", "4.1", "4.1"));
}

#[test]
fn conditions_of_prices_are_read_with_them() {
    let Some(folder) = handed() else { return };
    let usd = |text: &str| -> Option<rust_decimal::Decimal> { Some(text.parse().expect("a decimal")) };
    let (rows, _) = openrouter::read(&folder.join("openrouter/reduced-2026-07-28-with-overrides.json"), "body", now());
    assert_eq!(rows.iter().filter(|row| !row.bands.is_empty()).count(), 49, "overrides by the length of the prompt");
    let flash = rows.iter().find(|row| row.id == "qwen/qwen3.7-flash").expect("a row");
    assert_eq!((flash.bands.len(), flash.bands[1].when.above_tokens), (2, Some(256_000)));
    assert_eq!(flash.bands[1].prices.input, usd("0.2"));
    let (rows, _) = openrouter::read(&folder.join("openrouter/sample-current-shape.json"), "body", now());
    assert!(rows.iter().flat_map(|row| &row.bands).any(|band| band.when.hours.is_some()), "overrides by the hour");
    let opus = rows.iter().find(|row| row.id == "anthropic/claude-opus-5").expect("a row");
    assert_eq!((opus.default_effort.as_deref(), opus.indices.get("coding")), (Some("high"), Some(&78.0)));
    assert!(rows.iter().any(|row| row.stands_for.as_deref() == Some("anthropic/claude-opus-5.5")));
    let (offers, _) = models_dev::read(&folder.join("models.dev/api-2026-09-30.json"), "body", now());
    let tiered = offers.iter().filter(|offer| offer.bands.iter().any(|band| band.when.above_tokens.is_some())).count();
    assert_eq!(tiered, 608, "609 models have tiers, one of them with a base price of 0/0, which is unknown");
    let fast =
        |offer: &&pool_review::vocabulary::CatalogueOffer| offer.bands.iter().any(|band| band.when.mode.is_some());
    assert!(offers.iter().filter(fast).count() > 40, "fast modes");
    let (rows, _) = litellm::read(&folder.join("litellm/model_prices_1.110.2.json"), "body", now());
    let with = |holds: &dyn Fn(&pool_review::vocabulary::PriceWhen) -> bool| {
        rows.iter().filter(|row| row.bands.iter().any(|band| holds(&band.when))).count()
    };
    assert!(
        with(&|when| when.above_tokens == Some(200_000)) > 50
            && with(&|when| when.mode.as_deref() == Some("batch")) > 50
    );
    let scaled: Vec<_> = rows.iter().filter_map(|row| row.prices.input).filter(|usd| usd.scale() > 6).collect();
    assert!(scaled.is_empty(), "float noise is shed at six decimals: {scaled:?}");
}

/// A small generator that gives the same numbers on every machine.
struct Random(u64);

impl Random {
    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).expect("below a bound")
    }
}

/// A stretch of a body: of every long list and map a few entries that stand together, from a random place on, in the shape of
/// the whole. Over many rounds every part of the body is met, and each round costs a few kilobytes.
fn stretch(value: &Value, depth: usize, random: &mut Random) -> Value {
    match value {
        Value::Array(items) => {
            let from = random.below(items.len().saturating_sub(2));
            Value::Array(items.iter().skip(from).take(3).map(|item| stretch(item, depth + 1, random)).collect())
        }
        Value::Object(entries) => {
            let is_long = depth < 3 && entries.len() > 40;
            let (from, most) = if is_long { (random.below(entries.len() - 3), 4) } else { (0, entries.len()) };
            let kept = entries.iter().skip(from).take(most);
            Value::Object(kept.map(|(key, item)| (key.clone(), stretch(item, depth + 1, random))).collect())
        }
        other => other.clone(),
    }
}

/// Flips a few bits, and cuts every second time.
fn broken(mut bytes: Vec<u8>, is_cut: bool, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
    if is_cut {
        bytes.truncate(random.below(bytes.len()));
    }
    bytes
}

/// Every kind of body.
const KINDS: [BodyKind; 7] = [
    BodyKind::Market,
    BodyKind::Catalogues,
    BodyKind::Retirements,
    BodyKind::OpenRouter,
    BodyKind::Prices,
    BodyKind::RetirementList,
    BodyKind::ProviderList,
];

/// The handed folders of bodies with the reader each is for.
const SOURCES: [(&str, BodyKind); 6] = [
    ("aa", BodyKind::Market),
    ("genai-prices", BodyKind::Prices),
    ("litellm", BodyKind::Retirements),
    ("models.dev", BodyKind::Catalogues),
    ("openrouter", BodyKind::OpenRouter),
    ("retirements", BodyKind::RetirementList),
];

#[test]
fn a_thousand_cuts_and_flipped_bits_of_each_body_are_read_or_rejected_by_every_reader() {
    let Some(folder) = handed() else { return };
    let scratch = scratch("mutations");
    for (source, own) in SOURCES {
        let mut read = 0_u64;
        for path in files(&folder.join(source)) {
            let mut whole: Value =
                serde_json::from_slice(&fs::read(&path).expect("a body")).expect("a handed body is JSON");
            if let Some(pages) = whole.get_mut("pagination") {
                *pages = serde_json::json!({ "page": 1, "page_size": 3, "total_pages": 1, "has_more": false });
            }
            let is_old = path.parent().is_some_and(|parent| parent.ends_with("legacy"));
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            for round in 0..1000 {
                let part = stretch(&whole, 0, &mut random).to_string().into_bytes();
                let bytes = broken(part, round % 2 == 0, &mut random);
                for kind in KINDS.into_iter().filter(|kind| *kind == own || round % 5 == 0) {
                    let rows = count_rows(kind, bytes.clone());
                    assert_ne!(rows, Ok(0), "no row is a failure");
                    read += u64::from(rows.is_ok());
                }
                if is_old {
                    let file = scratch.join("2026-06-15.json");
                    put_bytes(&file, &bytes);
                    for old in read_history(&file, "old") {
                        assert_honest_old(old.rows.len(), &old.note);
                        read += old.rows.len() as u64;
                    }
                }
            }
        }
        assert!(read > 0, "{source}: some changes leave a body that can be read");
    }
}

#[test]
fn cuts_and_flipped_bits_of_whole_bodies_are_read_or_rejected_by_their_own_reader() {
    let Some(folder) = handed() else { return };
    for (source, own) in SOURCES {
        for path in files(&folder.join(source)) {
            let whole = fs::read(&path).expect("a body");
            let mut random = Random(0x2545_f491_4f6c_dd1d);
            for round in 0..6 {
                let rows = count_rows(own, broken(whole.clone(), round % 2 == 0, &mut random));
                assert_ne!(rows, Ok(0), "{}", path.display());
                assert!(round % 2 == 1 || rows.is_err(), "{}: half a body is no body", path.display());
            }
        }
    }
}

/// Whether a reading of an old body is honest.
fn assert_honest_old(rows: usize, note: &SourceNote) {
    assert_eq!(rows > 0, note.state == SourceState::Fresh, "{note:?}");
}

/// Puts bytes into a file.
#[expect(clippy::disallowed_methods, reason = "a test places its input")]
fn put_bytes(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a scratch file");
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
