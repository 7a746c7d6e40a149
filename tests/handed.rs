//! Nothing handed is silently skipped: every function of a golden file and every folder of cases and examples is run by some
//! test of this project, which is named. What no test runs fails here.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot read its input has failed, and says who covers what"
)]

mod common;
#[path = "scene/files.rs"]
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{files_below, shared};
use files::tree;
use serde_json::Value;

/// Folder or file → words of which one stands in the test that reads it. A folder covers what is below it.
const COVERED: &[(&str, &[&str])] = &[
    ("cases/identity.csv", &["cases/identity.csv"]),
    ("cases/market.md", &["cases/market.md"]),
    ("cases/sessions", &["cases/sessions"]),
    ("cases/sessions.md", &["cases/sessions"]),
    ("examples/pools/session-store", &["examples/pools/session-store"]),
    ("examples/fleet", &["ends_with(\".opencode\")"]),
    ("examples/pools/README.md", &["examples/pools"]),
    ("examples/pools/ccr", &["examples/pools/ccr"]),
    ("examples/pools/litellm", &["name == \"config.yaml\""]),
    ("examples/pools/omo", &["oh-my-openagent.jsonc"]),
    ("examples/pools/scheduler", &["examples/pools/scheduler"]),
    ("examples/pools/opencode", &["bad-routes.expected.json"]),
    ("examples/pools/openchamber", &["routing.expected-effective.json"]),
    ("examples/proposal.example.json", &["examples/proposal.example.json"]),
    ("examples/quota", &["examples/quota"]),
];

/// The test sources beside this one: path → text.
fn tests() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let sources = tree(&root).into_iter().filter(|(path, _)| ends_with(path, "rs") && path != "handed.rs");
    sources.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect()
}

/// Whether a file's name has this ending.
fn ends_with(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

/// The test files that run a golden function: they pick cases by `fn`, and name it.
fn runners<'a>(tests: &'a BTreeMap<String, String>, function: &str) -> Vec<&'a str> {
    let name = format!("\"{function}\"");
    let picks = |path: &str, text: &str| text.contains("[\"fn\"]") || path.starts_with("golden_");
    tests
        .iter()
        .filter(|(path, text)| picks(path, text) && text.contains(&name))
        .map(|(path, _)| path.as_str())
        .collect()
}

#[test]
fn every_golden_function_is_run() {
    let Some(shared) = shared() else { return };
    let tests = tests();
    let goldens = files_below(&shared.join("golden"), &|name| ends_with(name, "json"));
    assert!(!goldens.is_empty(), "the handed folder holds golden files");
    let mut open = Vec::new();
    for path in goldens {
        let golden: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let cases = golden["cases"].as_array().into_iter().flatten().filter_map(|case| case["fn"].as_str());
        let listed = golden["functions"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        for function in cases.chain(listed).collect::<BTreeSet<_>>() {
            let runners = runners(&tests, function);
            eprintln!("{function}: {}", runners.join(", "));
            if runners.is_empty() {
                open.push(function.to_owned());
            }
        }
    }
    assert_eq!(open, Vec::<String>::new(), "golden functions that no test runs");
}

/// Folders of the handed cases and examples, and the files that lie beside them.
fn handed(shared: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["cases", "examples", "examples/pools", "cases/sessions"] {
        let entries: Vec<PathBuf> =
            std::fs::read_dir(shared.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(!entries.is_empty(), "{folder} holds something");
        found.extend(entries.iter().map(|path| format!("{folder}/{}", path.file_name().unwrap().to_string_lossy())));
    }
    found.remove("examples/pools");
    found
}

#[test]
fn every_handed_case_and_example_is_read() {
    let Some(shared) = shared() else { return };
    let tests = tests();
    let is_below = |path: &str, row: &str| path == row || path.starts_with(&format!("{row}/"));
    let mut open = Vec::new();
    for path in handed(&shared) {
        let Some((_, words)) = COVERED.iter().find(|(row, _)| is_below(&path, row)) else {
            open.push(path);
            continue;
        };
        let readers = tests.iter().filter(|(_, text)| words.iter().any(|word| text.contains(word)));
        let readers: Vec<&str> = readers.map(|(path, _)| path.as_str()).collect();
        assert!(!readers.is_empty(), "{path}: no test says {words:?} any more");
        eprintln!("{path}: {}", readers.join(", "));
    }
    assert_eq!(open, Vec::<String>::new(), "handed, and read by no test");
}
