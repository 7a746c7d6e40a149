//! The direction of the arrows: who may name whom, which crate belongs to which room, who may touch files, clock and
//! environment, and that a check is called the same everywhere. A new room or crate needs a row here, and a reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

#[path = "scene/files.rs"]
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use files::tree;
use pool_review::checks::CHECKS;
use serde_json::Value;

/// Room → the rooms it may name. `vocabulary` is the words of all and may be named by every room but `store`.
const ARROWS: &[(&str, &[&str])] = &[
    ("vocabulary", &[]),
    ("store", &[]),
    ("schedule", &[]),
    ("settings", &["vocabulary"]),
    // Tables as texts, for the rollup and for our own evidence files (0041).
    ("parquet", &[]),
    ("sources", &["vocabulary", "settings", "parquet"]),
    ("identity", &["vocabulary", "settings"]),
    ("ring", &["vocabulary", "settings"]),
    ("rollup", &["vocabulary", "parquet"]),
    ("verdict", &["vocabulary", "ring"]),
    ("evidence", &["vocabulary", "identity", "ring", "rollup"]),
    ("checks", &["vocabulary", "ring", "evidence", "verdict", "settings"]),
    ("change", &["vocabulary", "ring", "verdict"]),
    ("history", &["vocabulary", "verdict"]),
    ("outputs", &["vocabulary", "verdict", "history", "change", "rollup", "store"]),
    (
        "review",
        &[
            "vocabulary",
            "settings",
            "sources",
            "identity",
            "ring",
            "rollup",
            "verdict",
            "evidence",
            "checks",
            "change",
            "history",
        ],
    ),
    // The sums of a database are written as the table that session readers end in.
    ("fetch", &["vocabulary", "settings", "sources", "rollup", "store"]),
    // It stands behind the contract of issue filing, which the outputs define.
    ("github", &["outputs"]),
    ("cli", &[]),
    (
        "run",
        &[
            "vocabulary",
            "cli",
            "fetch",
            "github",
            "settings",
            "schedule",
            "sources",
            "identity",
            "rollup",
            "review",
            "outputs",
            "history",
            "checks",
            "store",
        ],
    ),
    ("main", &["cli", "parquet", "run", "outputs"]),
];

/// Crate → the rooms that may name it. One dependency, one room, where the work allows it.
const CRATES: &[(&str, &[&str])] = &[
    ("anyhow", &["cli", "github", "main", "outputs", "run", "schedule", "settings", "store"]),
    (
        "chrono",
        &[
            "change",
            "checks",
            "cli",
            "evidence",
            "fetch",
            "github",
            "history",
            "main",
            "outputs",
            "parquet",
            "review",
            "rollup",
            "run",
            "schedule",
            "settings",
            "sources",
            "verdict",
            "vocabulary",
        ],
    ),
    ("chrono_tz", &["schedule", "settings"]),
    ("clap", &["cli", "main", "run"]),
    ("clap_complete", &["cli", "run"]),
    ("clap_mangen", &["run"]),
    ("comrak", &["outputs"]),
    ("cron", &["schedule"]),
    ("csv", &["identity", "outputs", "rollup", "sources"]),
    // The parser below serde-saphyr: only it says which bytes a value stands on.
    ("granit_parser", &["change"]),
    ("globset", &["ring", "settings", "sources"]),
    ("jsonc_parser", &["change", "sources"]),
    ("memchr", &["sources"]),
    ("octocrab", &["github"]),
    ("plotters", &["outputs"]),
    ("polars", &["parquet", "rollup"]),
    ("polars_io", &["parquet", "rollup"]),
    ("postcard", &["sources"]),
    ("postgres", &["fetch"]),
    ("rusqlite", &["sources"]),
    // TLS to a database, with the stack that ureq brings (0121).
    ("rustls", &["fetch"]),
    ("serde", &["fetch", "github", "history", "outputs", "settings", "sources", "verdict", "vocabulary"]),
    (
        "serde_json",
        &[
            "change",
            "checks",
            "fetch",
            "github",
            "history",
            "outputs",
            "review",
            "ring",
            "run",
            "settings",
            "sources",
            "verdict",
            "vocabulary",
        ],
    ),
    ("rustix", &["sources"]),
    ("rust_decimal", &["evidence", "sources", "vocabulary"]),
    ("serde_json_canonicalizer", &["vocabulary"]),
    ("serde_saphyr", &["settings"]),
    ("sha1", &["vocabulary"]),
    ("sha2", &["sources", "vocabulary"]),
    ("signal_hook", &["main"]),
    ("similar", &["change"]),
    ("termsize", &["main"]),
    ("tokio", &["github"]),
    ("tokio_postgres_rustls", &["fetch"]),
    ("ureq", &["fetch"]),
    ("webpki_roots", &["fetch"]),
    ("strsim", &["identity", "settings", "sources"]),
    // Ids of responses, probes of files and the sums of the index (0110).
    ("xxhash_rust", &["sources"]),
    ("zstd", &["sources"]),
];

/// A word of the source → the rooms that may say it, and why not the others.
const WORDS: &[(&str, &[&str], &str)] = &[
    ("std::fs", &["fetch", "settings", "sources", "store"], "rooms between sources and outputs see no file"),
    ("std::env", &["main"], "only main reads the environment"),
    ("std::net", &[], "a review opens no socket"),
    ("Utc::now", &["main"], "everything else is given `now`"),
    ("Local::now", &[], "everything else is given `now`"),
    ("SystemTime", &[], "everything else is given `now`"),
    ("Instant::now", &[], "everything else is given `now`"),
    ("OpenOptions", &["sources"], "readers open without blocking; only the store writes"),
    ("process::exit", &[], "only main ends the process, by its return value"),
    ("println!", &["main"], "what a verb says comes back as text"),
    ("HashMap", &[], "nothing that is iterated may have an order of its own"),
    ("unsafe", &[], "forbidden"),
];

/// The repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether a file is code, not a style sheet or a piece of HTML.
fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "rs")
}

/// Every source file outside tests: path below `src` → its code without comments and without its test module.
fn sources() -> BTreeMap<String, String> {
    let is_code = |path: &str| is_rust(path) && !path.ends_with("tests.rs");
    let files = tree(&root().join("src")).into_iter().filter(|(path, _)| is_code(path));
    files.map(|(path, bytes)| (path, code(&String::from_utf8(bytes).unwrap()))).collect()
}

/// Code without comments and test module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The room of a file: its folder, or the file itself.
fn room(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

/// The words that stand behind each occurrence of a prefix.
fn behind<'a>(code: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = code.match_indices(prefix).filter(|(at, _)| !code[..*at].ends_with(is_word));
    let words = starts.map(|(at, _)| {
        let rest = &code[at + prefix.len()..];
        &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
    });
    words.collect()
}

#[test]
fn every_room_names_only_the_rooms_its_arrows_lead_to() {
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut used = BTreeSet::new();
    for (path, code) in sources().iter().filter(|(path, _)| *path != "lib.rs") {
        let allowed = arrows.get(room(path)).unwrap_or_else(|| panic!("src/{path}: no row for this room"));
        assert!(!code.contains("crate::{"), "src/{path}: one `use crate::` per room, so that this test can read it");
        let mut named = behind(code, "crate::");
        named.extend(behind(code, "pool_review::"));
        for other in named.into_iter().filter(|other| *other != room(path)) {
            assert!(allowed.contains(&other), "src/{path}: {} may not use {other}", room(path));
            used.insert((room(path).to_owned(), other.to_owned()));
        }
    }
    assert!(used.len() > 30, "the files were read: {} arrows", used.len());
}

#[test]
fn every_crate_stays_in_its_rooms() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = dependencies.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').next().unwrap());
    let declared: BTreeSet<String> = names.map(|name| name.replace('-', "_")).collect();
    let listed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(declared, listed, "the rows of CRATES are the dependencies");
    for (path, code) in sources() {
        for (name, rooms) in CRATES {
            let is_used = !behind(&code, &format!("{name}::")).is_empty();
            assert!(!is_used || rooms.contains(&room(&path)), "src/{path}: {name} belongs to {rooms:?}");
        }
    }
}

#[test]
fn files_clock_and_environment_stay_where_they_belong() {
    for (path, code) in sources() {
        for (word, rooms, why) in WORDS {
            assert!(!code.contains(word) || rooms.contains(&room(&path)), "src/{path}: {word}: {why}");
        }
    }
}

#[test]
fn no_check_names_another() {
    let checks: BTreeSet<String> = CHECKS.iter().map(|check| check.id.as_str().replace('-', "_")).collect();
    for (path, code) in sources() {
        let Some(own) = path.strip_prefix("checks/").and_then(|file| file.split(['/', '.']).next()) else { continue };
        let named = behind(&code, "super::").into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        let others: Vec<_> = named.intersection(&checks).filter(|name| *name != own).collect();
        assert!(own == "mod" || others.is_empty(), "src/{path} names {others:?}");
    }
}

#[test]
fn a_check_is_called_the_same_everywhere() {
    let ids: BTreeSet<String> = CHECKS.iter().map(|check| check.id.as_str().to_owned()).collect();
    assert_eq!(ids.len(), CHECKS.len(), "no id twice");
    let pages = names(&root().join("instructions/checks"), ".md");
    assert_eq!(pages, ids, "a page per check, a check per page");
    for id in &ids {
        let file = format!("src/checks/{}", id.replace('-', "_"));
        let is_there = root().join(format!("{file}.rs")).is_file() || root().join(&file).is_dir();
        assert!(is_there, "{file}.rs judges {id}");
        assert!(root().join("tests/golden").join(id).join("in").is_dir(), "tests/golden/{id}/in shows {id}");
    }
    for check in CHECKS {
        assert!(
            check.page.starts_with(&format!("# {}\n", check.id.as_str())),
            "explain {} prints its page",
            check.id.as_str()
        );
    }
}

/// The names of a folder's files without this ending.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect()
}

#[test]
fn the_code_map_names_every_room() {
    let page = std::fs::read_to_string(root().join("instructions/architecture.md")).unwrap();
    let map = page.split("## Code map").nth(1).unwrap().split("\n## ").next().unwrap();
    for (room, _) in ARROWS {
        let is_named = [format!("`{room}/`"), format!("`{room}.rs`")].iter().any(|name| map.contains(name));
        assert!(is_named, "the code map of instructions/architecture.md lacks {room}");
    }
}

#[test]
fn every_module_says_what_it_holds() {
    for (path, bytes) in tree(&root().join("src")).into_iter().filter(|(path, _)| is_rust(path)) {
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
        assert!((1..=6).contains(&lines), "src/{path} opens with {lines} lines of `//!`, not one to six");
    }
}

#[test]
fn the_schemas_are_schemas() {
    let folder = root().join("instructions/schemas");
    let names = names(&folder, ".json");
    for path in names.iter().map(|name| folder.join(format!("{name}.json"))) {
        let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{}", path.display());
        assert!(!jsonschema::is_valid(&schema, &Value::Null), "{} takes anything", path.display());
    }
    assert!(names.len() > 10, "the folder was read");
}
