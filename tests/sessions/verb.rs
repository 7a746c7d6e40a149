//! The verb `sessions` as people run it.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use pool_review::outputs::sessions::human;
use pool_review::rollup::{Dimension, Part, view};
use serde_json::Value;

use crate::common::shared;
use crate::support::{copy, fresh};

/// Runs the program in a folder.
fn run(workspace: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(workspace)
        .env_clear()
        .env("TZ", "America/Los_Angeles")
        .args(args)
        .output()
        .unwrap()
}

/// A workspace with the stores of one case; no two tests share one.
fn workspace(case: &str) -> Option<std::path::PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = fresh(&format!("verb-{case}-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    copy(&shared()?.join("cases/sessions").join(case).join("in"), &folder);
    Some(folder)
}

/// The rows of a JSON answer.
fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["rows"].as_array().unwrap().clone()
}

#[test]
fn every_grouping_adds_up_to_the_same_totals_in_any_zone() {
    let Some(folder) = workspace("se-23-day-boundary") else { return };
    for by in ["model", "effort", "pool", "home", "class", "day", "day,pool,effort"] {
        let output = run(&folder, &["sessions", "--store", "claude-code=claude", "--by", by, "--format", "json"]);
        let sum: u64 = rows(&output).iter().map(|row| row["output_tokens"].as_u64().unwrap()).sum();
        assert_eq!(sum, 460, "--by {by}");
    }
    let day = ["sessions", "--store", "claude-code=claude", "--by", "day", "--since", "2026-10-25", "--format", "csv"];
    let output = run(&folder, &day);
    let text = String::from_utf8(output.stdout).unwrap();
    let line: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    let column = text.lines().next().unwrap().split(',').position(|name| name == "output_tokens").unwrap();
    assert_eq!((line[1], line[column], text.lines().count()), ("2026-10-25", "250", 2), "UTC days, whatever the zone");
}

#[test]
fn a_second_run_reads_nothing_and_says_the_same() {
    let Some(folder) = workspace("se-31-speed") else { return };
    let args = ["sessions", "--store", "claude-code=claude", "--store", "codex=codex", "--format", "json"];
    let first = run(&folder, &args);
    assert_eq!(rows(&first).len(), 3, "opus standard and fast, gpt-5.5");
    let second = run(&folder, &args);
    assert_eq!(first.stdout, second.stdout);
    assert!(folder.join(".cache/pool-review/CACHEDIR.TAG").is_file());
    let bare = [&args[..], &["--no-cache"]].concat();
    assert_eq!(run(&folder, &bare).stdout, first.stdout, "the index changes no figure");
    std::fs::remove_dir_all(folder.join(".cache")).unwrap();
    assert_eq!(run(&folder, &bare).stdout, first.stdout, "and may be lost");
    assert!(!folder.join(".cache").exists(), "--no-cache writes none");
}

#[test]
fn thin_speeds_are_not_shown_and_the_words_say_why() {
    let Some(folder) = workspace("se-31-speed") else { return };
    let output = run(&folder, &["sessions", "--store", "codex=codex"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("gpt-5.5") && text.contains("fewer than 8 timed responses"), "{text}");
    assert!(!text.contains("47.6"), "three timed responses are too few for a rate: {text}");
}

#[test]
fn wrong_flags_exit_with_2_and_a_missing_store_is_said() {
    let folder = fresh("verb-wrong");
    for args in [
        &["sessions", "--store", "claude=x"][..],
        &["sessions", "--store", "codex"],
        &["sessions", "--store", "codex=x", "--since", "2026-11-02", "--until", "2026-11-01"],
        &["sessions"],
        &["review", "--format", "csv"],
    ] {
        let output = run(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{args:?}: one error, one line");
    }
    let output = run(&folder, &["sessions", "--store", "codex=not-there"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("warning: not-there does not exist"), "{said}");
    assert_eq!(output.status.code(), Some(1), "no store could be read at all");
}

#[test]
fn a_rollup_comes_out_as_csv_and_as_parquet() {
    let Some(folder) = workspace("se-31-speed") else { return };
    let store = ["sessions", "--store", "claude-code=claude", "--now", "2026-11-29T12:00:00Z"];
    let csv = run(&folder, &[&store[..], &["--rollup", "csv"]].concat());
    let parquet = run(&folder, &[&store[..], &["--rollup", "parquet"]].concat());
    let path = String::from_utf8(parquet.stdout).unwrap();
    assert_eq!(path.trim(), "reports/rollup/sessions.parquet");
    let written = std::fs::read(folder.join(path.trim())).unwrap();
    let rows = pool_review::rollup::read_file(&written).unwrap();
    assert_eq!(rows, pool_review::rollup::read_file(&csv.stdout).unwrap());
    assert!(!rows.0.is_empty());
}

#[test]
fn a_review_uses_the_stores_keeps_their_days_and_changes_no_store() {
    let folder = fresh("verb-review");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["data", "instructions"] {
        copy(&root.join(part), &folder.join(part));
    }
    let Some(shared) = shared() else { return };
    copy(&shared.join("cases/sessions/se-35-clients-delete-history/run1"), &folder.join("store"));
    let file = folder.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let stores = "data:\n  session_stores:\n    - { kind: claude-code, path: store/claude }\n";
    std::fs::write(&file, text.replacen("data:\n", stores, 1)).unwrap();
    let review = run(&folder, &["review"]);
    assert!(matches!(review.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&review.stderr));
    let kept = folder.join("reports/history/sessions-2026-10.csv");
    assert!(std::fs::read_to_string(&kept).unwrap().contains("2026-10-20"));
    let before = std::fs::read(&kept).unwrap();
    run(&folder, &["review"]);
    assert_eq!(std::fs::read(&kept).unwrap(), before, "a second run changes no kept day");
    std::fs::remove_file(folder.join("store/claude/projects/-home-dev-demo/old.jsonl")).unwrap();
    let table = run(&folder, &["sessions", "--by", "day", "--format", "json"]);
    let days: Vec<(String, u64)> = rows(&table)
        .iter()
        .filter(|row| row["source"] == "claude-code")
        .map(|row| (row["day"].as_str().unwrap().to_owned(), row["output_tokens"].as_u64().unwrap()))
        .collect();
    assert_eq!(days, [("2026-10-20".to_owned(), 100), ("2026-11-20".to_owned(), 120)], "one file gone, its day kept");
}

/// A rollup of one model on one day: source, effort and output of twenty timed responses in 100 s.
fn rollup(rows: &[(&str, &str, u64)]) -> String {
    let head = "day,pool,provider,model,effort,source,attempts,responses,output_tokens,speed_output_tokens,busy_s,n_speed,last_at\n";
    let row = |(source, effort, output): &(&str, &str, u64)| {
        format!("2026-11-27,workhorse,acme,one,{effort},{source},20,20,{output},{output},100,20,2026-11-27T10:00:00Z\n")
    };
    [vec![head.to_owned()], rows.iter().map(row).collect()].concat().concat()
}

#[test]
fn a_rollup_of_another_engine_gives_speeds_to_a_review_and_counts_once_however_often_it_is_read() {
    let folder = fresh("verb-rollup");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["data", "instructions"] {
        copy(&root.join(part), &folder.join(part));
    }
    let file = folder.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let inputs = "data:\n  rollup: data/warehouse.csv\n  spend_logs: data/spend.csv\n";
    std::fs::write(&file, text.replacen("data:\n", inputs, 1)).unwrap();
    std::fs::write(folder.join("data/warehouse.csv"), rollup(&[("codex", "high", 4000), ("warehouse", "high", 1000)]))
        .unwrap();
    std::fs::write(folder.join("data/spend.csv"), rollup(&[("litellm", "unrecorded", 2000)])).unwrap();
    let said = |run: &Output| {
        assert!(matches!(run.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&run.stderr));
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        report["sources"].to_string()
    };
    let first = said(&self::run(&folder, &["review", "--format", "json"]));
    assert!(
        first.contains("data/warehouse.csv: 2 rollup rows") && first.contains("data/spend.csv: 1 rollup rows"),
        "{first}"
    );
    assert!(
        first.contains("1 speeds stand on rollup rows alone: they have no interval"),
        "the first source speaks: {first}"
    );
    assert!(first.contains("1 speeds measured in session stores"), "{first}");
    assert_eq!(
        said(&self::run(&folder, &["review", "--format", "json"])),
        first,
        "kept days are not added to themselves"
    );
    let table = self::run(&folder, &["sessions", "--by", "day", "--format", "json"]);
    let output = |source: &str| {
        let of_source = |row: &&Value| row["source"] == source && row["day"] == "2026-11-27";
        rows(&table).iter().filter(of_source).map(|row| row["output_tokens"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(["codex", "litellm", "warehouse"].map(output), [4000, 2000, 1000]);
    std::fs::remove_file(folder.join("data/spend.csv")).unwrap();
    let lost = said(&self::run(&folder, &["review", "--format", "json", "--now", "2026-11-29T13:00:00Z"]));
    assert!(lost.contains("data/spend.csv does not exist"), "{lost}");
}

/// Every way to group, and some combinations.
const GROUPINGS: [&str; 12] = [
    "model",
    "effort",
    "pool",
    "home",
    "class",
    "day",
    "model,effort",
    "day,pool,effort",
    "effort,model",
    "class,home,pool",
    "day,model,effort,pool,home,class",
    "day,day",
];

/// The numbers of a line that add, by name.
fn sums(rows: &[Value]) -> std::collections::BTreeMap<String, f64> {
    let mut all = std::collections::BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|row| row.as_object().unwrap().clone()) {
        let is_figure =
            name.ends_with("_tps") || name.contains("_tps_") || matches!(name.as_str(), "ttft_s" | "priced_share");
        if let Some(value) = value.as_f64().filter(|_| !is_figure) {
            *all.entry(name).or_default() += value;
        }
    }
    all
}

#[test]
fn every_grouping_and_span_adds_up_in_every_format_under_the_names_of_the_rollup() {
    let Some(folder) = workspace("se-23-day-boundary") else { return };
    let store = ["sessions", "--store", "claude-code=claude", "--format"];
    let spans: [&[&str]; 4] = [
        &[],
        &["--since", "2026-10-25"],
        &["--until", "2026-10-24"],
        &["--since", "2026-10-24", "--until", "2026-10-24"],
    ];
    let mut totals = Vec::new();
    for span in spans {
        let mut first = None;
        for by in GROUPINGS {
            let args = |format| [&store[..], &[format, "--by", by], span].concat();
            let lines = rows(&run(&folder, &args("json")));
            let total = sums(&lines);
            assert_eq!(first.get_or_insert_with(|| total.clone()), &total, "--by {by} {span:?}");
            let csv = String::from_utf8(run(&folder, &args("csv")).stdout).unwrap();
            let mut records = csv::Reader::from_reader(csv.as_bytes());
            let names: Vec<String> = records.headers().unwrap().iter().map(str::to_owned).collect();
            let records: Vec<csv::StringRecord> = records.records().map(Result::unwrap).collect();
            assert_eq!(records.len(), lines.len(), "--by {by}");
            for (record, line) in records.iter().zip(&lines) {
                assert_eq!(names.len(), line.as_object().unwrap().len(), "either format has every column");
                for (name, cell) in names.iter().zip(record) {
                    let value = &line[name];
                    let is_same = match value.as_f64() {
                        Some(number) => cell.parse::<f64>().is_ok_and(|cell| (cell - number).abs() < 1e-6),
                        None => value.as_str().unwrap_or_default() == cell,
                    };
                    assert!(is_same, "--by {by} {name}: {cell:?} is not {value}");
                }
            }
        }
        totals.push(first.unwrap()["output_tokens"]);
    }
    assert!((totals[0] - totals[1] - totals[2]).abs() < 1e-9, "the days before and from the 25th are all: {totals:?}");
    assert_eq!(totals[2].to_bits(), totals[3].to_bits(), "nothing is older than the 24th");
}

#[test]
fn columns_are_called_as_the_rollup_and_unknown_is_empty() {
    let Some(folder) = workspace("se-31-speed") else { return };
    let args = [
        "sessions",
        "--store",
        "claude-code=claude",
        "--store",
        "codex=codex",
        "--by",
        "day,pool,model,effort,home,class",
        "--format",
    ];
    let lines = rows(&run(&folder, &[&args[..], &["json"]].concat()));
    let known: Vec<&str> = pool_review::rollup::COLUMNS.iter().map(|(name, _)| *name).chain(["day"]).collect();
    let own =
        ["effective_tps", "effective_tps_lo", "effective_tps_hi", "median_tps", "decode_tps", "ttft_s", "priced_share"];
    for line in &lines {
        for (name, value) in line.as_object().unwrap() {
            assert!(known.contains(&name.as_str()) || own.contains(&name.as_str()), "{name} is no name of the rollup");
            assert!(
                name != "cost_usd" || value.is_null(),
                "nothing has a price: the cost is not known, it is not {value}"
            );
        }
        let missing: Vec<&&str> = known.iter().filter(|name| **name != "epoch" && line.get(**name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    let csv = String::from_utf8(run(&folder, &[&args[..], &["csv"]].concat()).stdout).unwrap();
    let place = csv.lines().next().unwrap().split(',').position(|name| name == "cost_usd").unwrap();
    assert!(csv.lines().skip(1).all(|line| line.split(',').nth(place) == Some("")), "{csv}");
}

#[test]
fn people_read_it_at_any_width_without_colour() {
    let Some(folder) = workspace("se-31-speed") else { return };
    let calls: Vec<_> = crate::support::read_tree(&folder).into_iter().flat_map(|scan| scan.rows).collect();
    let now = "2026-11-29T12:00:00Z".parse().unwrap();
    let priced = |row| pool_review::rollup::Priced { row, pool: None, prices: None };
    let parts: Vec<Part<'_>> = calls
        .iter()
        .flat_map(|row| {
            let rows = pool_review::rollup::of_calls([priced(row)], now);
            rows.into_iter()
                .map(|whole| Part { row: whole, calls: Some(&row.sums), is_routed: false })
                .collect::<Vec<_>>()
        })
        .collect();
    let all = view(&parts, &[Dimension::Model, Dimension::Effort], None, None);
    let remarks = ["a remark of several words that does not fit into one line of a narrow terminal".to_owned()];
    let wide = human(&all, &[("outside", 8)], &remarks, 300);
    let head: Vec<&str> = wide.lines().take_while(|line| !line.contains("claude-opus")).collect();
    assert!(head.len() > 1 && head.concat().contains("cache_"), "a header of several lines: {wide}");
    assert!(wide.lines().any(|line| line.starts_with("codex") && line.contains("25000")), "{wide}");
    for width in [20, 40, 80, 120] {
        let text = human(&all, &[("outside", 8)], &remarks, width);
        assert!(!text.contains('\u{1b}'), "no colour");
        let words: Vec<&str> = text.split_whitespace().collect();
        for name in ["attempts 4", "cache_read_tokens 25000", "output_tokens 1470", "n_speed 3", "effective_tps ?"] {
            assert!(words.windows(2).any(|pair| pair.join(" ") == name), "{width}: {name} in {text}");
        }
        let longest = words.iter().map(|word| word.chars().count()).max().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width.max(longest + 6)), "{width}: {text}");
    }
    let store = ["sessions", "--store", "claude-code=claude"];
    let never = [&store[..], &["--since", "2030-01-01"]].concat();
    let text = String::from_utf8(run(&folder, &never).stdout).unwrap();
    assert!(text.starts_with("no calls\n"), "{text}");
    let json = [&never[..], &["--format", "json"]].concat();
    assert_eq!(rows(&run(&folder, &json)), Vec::<Value>::new());
    let plain = run(&folder, &store).stdout;
    let coloured = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(&folder)
        .env_clear()
        .envs([("CLICOLOR_FORCE", "1"), ("FORCE_COLOR", "1"), ("COLUMNS", "40"), ("TERM", "xterm")])
        .args(store)
        .output();
    assert_eq!(coloured.unwrap().stdout, plain, "a pipe gets the same on every machine");
}

#[test]
fn huge_numbers_stay_numbers_in_every_format() {
    let folder = fresh("verb-huge");
    let line = |n: u32| {
        let usage = "{\"input_tokens\":18446744073709551615,\"output_tokens\":99999999999999999999,\"cache_read_input_tokens\":4294967296}";
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:0{n}Z\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{usage}}}}}\n"
        )
    };
    std::fs::create_dir_all(folder.join("claude")).unwrap();
    std::fs::write(folder.join("claude/s.jsonl"), (0..9).map(line).collect::<String>()).unwrap();
    std::fs::create_dir_all(folder.join("codex/sessions")).unwrap();
    let count = |n: u64, total: &str| {
        format!(
            "{{\"timestamp\":\"2026-11-20T10:00:0{n}Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{total},\"output_tokens\":{total},\"total_tokens\":{total}}}}}}}}}\n"
        )
    };
    for file in 0..3 {
        let text = count(1, "18446744073709551615") + &count(2, "0") + &count(3, "18446744073709551615");
        std::fs::write(folder.join(format!("codex/sessions/rollout-{file}.jsonl")), text).unwrap();
    }
    let args = ["sessions", "--store", "claude-code=claude", "--store", "codex=codex", "--format"];
    let lines = rows(&run(&folder, &[&args[..], &["json"]].concat()));
    assert_eq!(lines.len(), 2);
    assert!(
        lines.iter().all(|line| line["output_tokens"].as_u64().is_some_and(|tokens| tokens > 1_000_000_000)),
        "{lines:?}"
    );
    for format in ["csv", "human"] {
        assert_eq!(run(&folder, &[&args[..], &[format]].concat()).status.code(), Some(0), "{format}");
    }
    for format in ["csv", "parquet"] {
        let output = run(&folder, &[&args[..5], &["--rollup", format]].concat());
        assert_eq!(output.status.code(), Some(0), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
