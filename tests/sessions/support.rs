//! What the session tests share: stores of the handed folders, and readings as the plain tables the answers are written in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{StoreKind, Timed};
use serde_json::{Map, Value, json};

/// Names of a table's rows.
const NAMES: [&str; 5] = ["source", "model", "effort", "mode", "day"];

/// Reads the Claude Code and Codex stores of a tree, with or without dots before the names.
pub(crate) fn read_tree(tree: &Path) -> Vec<StoreScan> {
    let stores = [(StoreKind::ClaudeCode, "claude"), (StoreKind::Codex, "codex")];
    stores
        .into_iter()
        .flat_map(|(kind, name)| [tree.join(name), tree.join(format!(".{name}"))].map(|path| (kind, path)))
        .filter(|(_, path)| path.is_dir())
        .map(|(kind, path)| read(&StoreSpec::new(kind, path), &BTreeSet::new(), None, &|_, _| {}))
        .collect()
}

/// A table of sums per key.
type Sums = BTreeMap<Vec<String>, Map<String, Value>>;

/// What the scans found, in the form of `truth.json`: flat, one entry per figure.
pub(crate) fn flat(scans: &[StoreScan]) -> BTreeMap<String, f64> {
    let mut tables: BTreeMap<&str, Sums> = BTreeMap::new();
    let mut rates: BTreeMap<(&str, Vec<String>), Vec<Timed>> = BTreeMap::new();
    let mut first: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
    for row in scans.iter().flat_map(|scan| &scan.rows) {
        let (key, sums) = (&row.key, &row.sums);
        let effort = key.effort.clone().unwrap_or_else(|| "unrecorded".to_owned());
        let name = vec![key.source.to_string(), key.model.clone(), effort];
        let mode = if key.is_fast { "fast" } else { "standard" };
        let with_mode = [name.clone(), vec![mode.to_owned()]].concat();
        if sums.responses > 0 {
            let day = key.day.map_or_else(|| "None".to_owned(), |day| day.to_string());
            let counts = json!({
                "responses": sums.responses, "output_incomplete": sums.output_incomplete,
                "sidechain_responses": sums.sidechain_responses, "input_tokens": sums.input_tokens,
                "cache_read_tokens": sums.cache_read_tokens, "cache_write_tokens": sums.cache_write_tokens,
                "cache_write_1h_tokens": sums.cache_write_1h_tokens, "output_tokens": sums.output_tokens,
                "reasoning_tokens": sums.reasoning_tokens,
            });
            let of_day = json!({ "responses": sums.responses, "output_tokens": sums.output_tokens });
            add(tables.entry("rows").or_default().entry(name.clone()).or_default(), &counts);
            let days = tables.entry("days").or_default();
            add(days.entry(vec![key.source.to_string(), day]).or_default(), &of_day);
        }
        rates.entry(("speed", with_mode)).or_default().extend(&sums.timed);
        rates.entry(("decode", name.clone())).or_default().extend(&sums.decoded);
        first.entry(name).or_default().extend(&sums.first_token_ms);
    }
    let mut found = BTreeMap::new();
    for (table, rows) in tables {
        for (name, row) in rows {
            for (field, value) in row {
                found.insert(format!("{table}[{}].{field}", name.join("/")), value.as_f64().unwrap());
            }
        }
    }
    for ((table, name), timed) in rates.into_iter().filter(|(_, timed)| !timed.is_empty()) {
        for (field, value) in rate(table, &timed) {
            found.insert(format!("{table}[{}].{field}", name.join("/")), value);
        }
    }
    for (name, mut times) in first.into_iter().filter(|(_, times)| !times.is_empty()) {
        times.sort_unstable();
        let times: Vec<f64> = times.into_iter().map(|time| time as f64).collect();
        found.insert(format!("ttft[{}].n", name.join("/")), times.len() as f64);
        found.insert(format!("ttft[{}].median_ms", name.join("/")), middle(&times));
    }
    found.extend(events(scans));
    found
}

/// Events and input, added up.
fn events(scans: &[StoreScan]) -> BTreeMap<String, f64> {
    let sum = |count: &dyn Fn(&StoreScan) -> u64| scans.iter().map(count).sum::<u64>() as f64;
    [
        ("events.tasks", sum(&|scan| scan.events.tasks)),
        ("events.api_errors", sum(&|scan| scan.events.api_errors)),
        ("events.quota_hits", sum(&|scan| scan.events.quota_hits)),
        ("events.retries", sum(&|scan| scan.events.retries)),
        ("events.interrupts", sum(&|scan| scan.events.interrupts)),
        ("input.files", sum(&|scan| scan.input.files)),
        ("input.bytes", sum(&|scan| scan.input.bytes)),
        ("input.lines", sum(&|scan| scan.input.lines)),
        ("input.blank_lines", sum(&|scan| scan.input.blank_lines)),
        ("input.malformed_lines", sum(&|scan| scan.input.malformed_lines)),
        ("input.open_tails", sum(&|scan| scan.input.open_tails)),
        ("input.longest_line", scans.iter().map(|scan| scan.input.longest_line).max().unwrap_or(0) as f64),
        ("notes.cache_split_unknown_tokens", sum(&|scan| scan.notes.split_unknown)),
        ("notes.extra_stream_records", sum(&|scan| scan.notes.extra_records)),
        ("notes.undated_responses", sum(&|scan| scan.notes.undated)),
        ("notes.codex_no_info", sum(&|scan| scan.notes.codex_no_info)),
        ("notes.codex_unchanged", sum(&|scan| scan.notes.codex_unchanged)),
        ("notes.codex_resets", sum(&|scan| scan.notes.codex_resets)),
        ("notes.codex_wobbles", sum(&|scan| scan.notes.codex_wobbles)),
        ("notes.codex_replayed", sum(&|scan| scan.notes.codex_replayed)),
        ("notes.codex_orphan_replay_tokens", sum(&|scan| scan.notes.codex_orphan_replay_tokens)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Adds the numbers of a row.
fn add(sums: &mut Map<String, Value>, row: &Value) {
    for (field, value) in row.as_object().unwrap() {
        let sum = sums.get(field).and_then(Value::as_u64).unwrap_or(0) + value.as_u64().unwrap();
        sums.insert(field.clone(), json!(sum));
    }
}

/// The figures of some timed responses.
fn rate(table: &str, timed: &[Timed]) -> Vec<(&'static str, f64)> {
    let output: f64 = timed.iter().map(|timed| timed.output as f64).sum();
    let time: f64 = timed.iter().map(|timed| timed.ms as f64).sum();
    let mut rates: Vec<f64> = timed.iter().map(|timed| timed.output as f64 * 1000.0 / timed.ms as f64).collect();
    rates.sort_by(f64::total_cmp);
    let n = ("n", timed.len() as f64);
    if table == "decode" {
        return vec![n, ("output_tokens", output), ("decode_ms", time), ("decode_tps", output * 1000.0 / time)];
    }
    let effective = ("effective_tps", output * 1000.0 / time);
    vec![n, ("output_tokens", output), ("busy_ms", time), effective, ("median_tps", middle(&rates))]
}

/// The median of sorted numbers.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

/// The answers of a document, in the same flat form.
pub(crate) fn answers(document: &Value) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for part in ["input", "events", "notes"] {
        for (field, value) in document[part].as_object().into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                found.insert(format!("{part}.{field}"), value);
            }
        }
    }
    for part in ["rows", "speed", "decode", "ttft", "days"] {
        for row in document[part].as_array().into_iter().flatten() {
            let name: Vec<&str> = NAMES.iter().filter_map(|name| row.get(*name)?.as_str()).collect();
            for (field, value) in row.as_object().unwrap() {
                if let Some(value) = value.as_f64() {
                    found.insert(format!("{part}[{}].{field}", name.join("/")), value);
                }
            }
        }
    }
    found
}

/// Every figure that differs. Of the parts that the answer has, every found figure must be in the answer too.
pub(crate) fn differences(
    found: &BTreeMap<String, f64>,
    wanted: &BTreeMap<String, f64>,
    whole: &[&str],
) -> Vec<String> {
    let keys: BTreeSet<&String> = wanted
        .keys()
        .chain(found.keys().filter(|key| {
            whole.iter().any(|part| key.starts_with(&format!("{part}[")) || key.starts_with(&format!("{part}.")))
        }))
        .collect();
    keys.into_iter()
        .filter(|key| match (found.get(*key), wanted.get(*key)) {
            (Some(found), Some(wanted)) => (found - wanted).abs() > 2e-6,
            (found, wanted) => found.or(wanted).is_some_and(|value| *value != 0.0),
        })
        .map(|key| format!("{key}: found {:?}, wanted {:?}", found.get(key), wanted.get(key)))
        .collect()
}

/// Reads every store of a case folder: logs, the database built from its SQL, exports.
pub(crate) fn read_case(case: &Path, name: &str) -> Vec<StoreScan> {
    let mut scans = read_tree(case);
    if let Some(store) = opencode_store(case, name) {
        scans.push(read(&StoreSpec::new(StoreKind::Opencode, store), &BTreeSet::new(), None, &|_, _| {}));
    }
    scans
}

/// A copy of a case's opencode store with its database built.
pub(crate) fn opencode_store(case: &Path, name: &str) -> Option<std::path::PathBuf> {
    let source = case.join("opencode");
    if !source.is_dir() {
        return None;
    }
    let store = fresh(&format!("store-{name}"));
    copy(&source, &store);
    let sql = std::fs::read_to_string(source.join("opencode.sql")).unwrap();
    rusqlite::Connection::open(store.join("opencode.db")).unwrap().execute_batch(&sql).unwrap();
    Some(store)
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// An empty folder of this test run.
pub(crate) fn fresh(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A generated tree of about this size, with its `truth.json`. It is made anew.
pub(crate) fn generated(shared: &Path, name: &str, size_mb: u32, seed: u32) -> std::path::PathBuf {
    let folder = fresh(name);
    let output = Command::new("python3")
        .arg(shared.join("tools/gen_sessions.py"))
        .args(["--out", folder.to_str().unwrap(), "--size-mb", &size_mb.to_string(), "--seed", &seed.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}
