//! Every handed case and fixture of session logs: the figures of its `expected.json` come out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::{files_below, shared};
use crate::support::{answers, copy, differences, flat, fresh, opencode_store, read_case, read_tree};
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::StoreKind;
use serde_json::{Value, json};

/// Parts of an answer that must be complete where the answer has them.
const TABLES: [&str; 4] = ["rows", "speed", "decode", "days"];

/// Every case folder with its answer.
pub(crate) fn cases() -> Vec<(String, PathBuf, Value)> {
    let Some(shared) = shared() else { return Vec::new() };
    let found = files_below(&shared.join("cases/sessions"), &|name| name == "expected.json");
    assert!(found.len() >= 27, "{} cases", found.len());
    found
        .into_iter()
        .map(|path| {
            let folder = path.parent().unwrap().to_owned();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            (name, folder, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        })
        .collect()
}

/// Compares scans with an answer. Of a table only the sources that the answer speaks of are compared.
fn compare(name: &str, scans: &[StoreScan], answer: &Value) {
    let sources: BTreeSet<&str> = ["rows", "speed", "days"]
        .iter()
        .flat_map(|part| answer[part].as_array().into_iter().flatten())
        .filter_map(|row| row["source"].as_str())
        .collect();
    let is_meant = |key: &String| match key.split_once('[') {
        Some((_, rest)) => sources.iter().any(|source| rest.starts_with(source)),
        None => true,
    };
    let found: BTreeMap<String, f64> = flat(scans).into_iter().filter(|(key, _)| is_meant(key)).collect();
    let whole: Vec<&str> = TABLES.into_iter().filter(|part| answer.get(part).is_some()).collect();
    let wanted = answers(answer).into_iter().filter(|(key, _)| is_meant(key)).collect();
    let differences = differences(&found, &wanted, &whole);
    assert!(differences.is_empty(), "{name}: {differences:#?}");
}

#[test]
fn every_case_gives_its_rows_speeds_days_and_events() {
    let mut compared = 0;
    for (name, folder, answer) in cases() {
        if answer.get("rows").is_none() {
            continue;
        }
        compared += 1;
        let mut answer = answer.clone();
        if name.starts_with("se-28") {
            // Its speeds carry no source or mode; they are compared below.
            answer.as_object_mut().unwrap().remove("speed");
        }
        compare(&name, &read_case(&folder.join("in"), &name), &answer);
    }
    assert!(compared == 0 || compared >= 23, "{compared} cases compared");
}

#[test]
fn every_fixture_set_gives_its_totals() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/sessions");
    let document: Value = serde_json::from_slice(&std::fs::read(data.join("expected.json")).unwrap()).unwrap();
    let sets = document["sets"].as_array().unwrap();
    assert!(sets.len() >= 27, "{} sets", sets.len());
    for set in sets {
        let name = set["id"].as_str().unwrap();
        let tree = fresh(&format!("set-{name}"));
        for file in set["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()) {
            let is_archived = file.contains("archived_sessions");
            let below = match (set["source"].as_str().unwrap(), is_archived) {
                ("codex", true) => "codex/archived_sessions",
                ("codex", false) => "codex/sessions",
                _ => "claude/projects",
            };
            let target = tree.join(below).join(file);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::copy(data.join(file), target).unwrap();
        }
        compare(name, &read_tree(&tree), set);
    }
}

#[test]
fn the_three_real_fork_families_give_their_totals() {
    let Some(shared) = shared() else { return };
    for (family, total) in
        [("live-fork", 26_801_911), ("archived-fork", 15_309_178), ("missing-parent-siblings", 15_312_271)]
    {
        let home = shared.join("data/sessions/codex/codexbar").join(family).join("codex-home");
        let scan = read(&StoreSpec::new(StoreKind::Codex, home), &BTreeSet::new(), None, &|_, _| {});
        let tokens: u64 = scan
            .rows
            .iter()
            .map(|row| row.sums.input_tokens + row.sums.cache_read_tokens + row.sums.output_tokens)
            .sum();
        assert_eq!(tokens, total, "{family}: input + output of both files, copies once");
    }
}

/// The scan of a case's opencode store.
fn opencode(folder: &Path, name: &str) -> StoreScan {
    let store = opencode_store(&folder.join("in"), &format!("{name}-own")).unwrap();
    read(&StoreSpec::new(StoreKind::Opencode, store), &BTreeSet::new(), None, &|_, _| {})
}

#[test]
fn opencode_counts_files_and_database_once_and_forks_once() {
    for (name, folder, answer) in cases().into_iter().filter(|(name, ..)| name.starts_with("se-28")) {
        let scan = opencode(&folder, &name);
        assert_eq!(scan.notes.copies_dropped, 1, "msg_d1 is msg_c1 again");
        let mut cost: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
        let mut speed: BTreeMap<(&str, &str), [u64; 3]> = BTreeMap::new();
        for row in &scan.rows {
            let cost = cost.entry(&row.key.model).or_default();
            *cost = (cost.0 + row.sums.cost.to_f64(), cost.1 + row.sums.n_cost);
            let figures = speed.entry((&row.key.model, row.key.effort.as_deref().unwrap_or("unrecorded"))).or_default();
            for timed in &row.sums.timed {
                *figures = [figures[0] + 1, figures[1] + timed.output, figures[2] + timed.ms];
            }
        }
        let (billed, n) = cost["claude-sonnet-5"];
        assert!((billed - 0.049).abs() < 1e-12 && n == 3, "{billed} over {n}");
        assert_eq!(cost["gpt-6-luna"].1, 0, "cost 0 with tokens is not billed");
        for wanted in answer["speed"].as_array().unwrap() {
            let key = (wanted["model"].as_str().unwrap(), wanted["effort"].as_str().unwrap());
            let figures = ["n", "output_tokens", "busy_ms"].map(|field| wanted[field].as_u64().unwrap());
            assert_eq!(speed[&key], figures, "{key:?}");
        }
        let limited: u64 = scan.rows.iter().filter_map(|row| row.sums.failures.get("rate_limited")).sum();
        assert_eq!(limited, 1, "the call that answered 429");
    }
}

#[test]
fn the_router_log_times_calls_and_withholds_what_cannot_be_a_rate() {
    for (name, folder, answer) in cases().into_iter().filter(|(_, _, answer)| answer.get("route_attempt").is_some()) {
        let scan = opencode(&folder, &name);
        for wanted in answer["route_attempt"].as_array().unwrap() {
            let row = scan.rows.iter().find(|row| row.key.model == wanted["model"] && !row.sums.timed.is_empty());
            let sums = &row.unwrap().sums;
            let timed = sums.timed[0];
            assert_eq!(sums.timed.len() as u64, wanted["n"].as_u64().unwrap());
            assert_eq!(json!([timed.output, timed.ms]), json!([wanted["output_tokens"], wanted["busy_ms"]]));
            match wanted["decode_tps"].as_f64() {
                None => assert!(sums.decoded.is_empty(), "29 ms behind the first token are no rate"),
                Some(rate) => {
                    let decoded = sums.decoded[0];
                    let found = decoded.output as f64 * 1000.0 / decoded.ms as f64;
                    assert!((found - rate).abs() < 1e-6, "{found} is not {rate}");
                    assert_eq!(json!(sums.first_token_ms), json!([wanted["ttft_ms"]]));
                }
            }
        }
    }
}

#[test]
fn spend_logs_of_either_format_give_the_same_row() {
    for (_, folder, answer) in cases().into_iter().filter(|(_, _, answer)| answer.get("from_export").is_some()) {
        let wanted = &answer["from_export"][0];
        for file in ["spend_logs.csv", "spend_logs.jsonl"] {
            let path = folder.join("in/litellm").join(file);
            let scan = read(&StoreSpec::new(StoreKind::Litellm, path), &BTreeSet::new(), None, &|_, _| {});
            let mut sums = pool_review::vocabulary::CallSums::default();
            for row in &scan.rows {
                sums.add(&row.sums);
                assert_eq!(row.key.day.unwrap().to_string(), wanted["day"].as_str().unwrap());
            }
            sums.first_token_ms.sort_unstable();
            let middle = sums.first_token_ms.len() / 2;
            let found = json!({
                "attempts": sums.calls, "infra": sums.infra, "unknown": sums.calls - sums.infra,
                "responses": sums.responses, "failure_kinds": sums.failures, "cache_hits": scan.notes.cache_hits,
                "retries": sums.retries, "input_tokens": sums.input_tokens, "cache_read_tokens": sums.cache_read_tokens,
                "cache_write_tokens": sums.cache_write_tokens, "output_tokens": sums.output_tokens,
                "n_cost": sums.n_cost, "n_speed": sums.timed.len(), "n_decode": sums.decoded.len(),
                "speed_output_tokens": sums.timed.iter().map(|timed| timed.output).sum::<u64>(),
                "busy_s": sums.timed.iter().map(|timed| timed.ms).sum::<u64>() / 1000,
                "ttft_s_median": f64::midpoint(sums.first_token_ms[middle - 1] as f64, sums.first_token_ms[middle] as f64) / 1000.0,
            });
            for (field, value) in found.as_object().unwrap() {
                assert_eq!(value, &wanted[field], "{file}: {field}");
            }
            let cost: f64 = wanted["cost_usd"].as_str().unwrap().parse().unwrap();
            assert_eq!(sums.cost.to_f64().to_bits(), cost.to_bits(), "{file}: {} is not {cost}", sums.cost.to_f64());
        }
    }
}

#[test]
fn rate_limit_windows_are_told_by_length_and_keep_their_age() {
    for (name, folder, answer) in cases().into_iter().filter(|(_, _, answer)| answer.get("windows").is_some()) {
        let scans = read_case(&folder.join("in"), &name);
        for wanted in answer["windows"].as_array().unwrap() {
            let file = wanted["file"].as_str().unwrap();
            let windows =
                scans.iter().flat_map(|scan| &scan.windows).find(|(name, _)| name.ends_with(&format!("{file}.jsonl")));
            if wanted["window"] == "unknown" {
                assert!(windows.is_none(), "{file} states none");
                continue;
            }
            let window = windows.unwrap().1.iter().find(|window| window.window == wanted["window"]).unwrap();
            let seen = chrono::DateTime::from_timestamp_millis(window.captured_at).unwrap();
            assert_eq!(seen.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(), wanted["captured_at"].as_str().unwrap());
            assert_eq!(
                json!([window.used_percent, window.resets_at]),
                json!([wanted["used_percent"], wanted["resets_at"]])
            );
        }
    }
}

#[test]
fn the_order_and_the_place_of_files_change_nothing() {
    for (name, folder, answer) in
        cases().into_iter().filter(|(name, ..)| name.starts_with("se-11") || name.starts_with("se-m3"))
    {
        let moved = fresh(&format!("moved-{name}"));
        copy(&folder.join("in"), &moved);
        let mut answer = answer.clone();
        answer.as_object_mut().unwrap().remove("input");
        for file in files_below(&moved, &|name| Path::new(name).extension().is_some_and(|own| own == "jsonl")) {
            let other = file.with_file_name(format!("z{}.jsonl", file.file_name().unwrap().to_string_lossy().len()));
            if !other.exists() {
                std::fs::rename(&file, other).unwrap();
            }
        }
        compare(&name, &read_tree(&moved), &answer);
    }
}

#[test]
fn the_example_stores_of_both_generations_are_read_with_their_pools() {
    let Some(shared) = shared() else { return };
    let example = shared.join("examples/pools/session-store");
    let figures = |path: PathBuf| {
        let scan = read(&StoreSpec::new(StoreKind::Opencode, path), &BTreeSet::new(), None, &|_, _| {});
        assert_eq!(scan.faults, Vec::<String>::new());
        let sum = |count: fn(&pool_review::vocabulary::CallSums) -> u64| {
            scan.rows.iter().map(|row| count(&row.sums)).sum::<u64>()
        };
        (sum(|sums| sums.responses), sum(|sums| sums.output_tokens), scan)
    };
    let v1 = fresh("example-v1");
    std::fs::copy(example.join("v1.db"), v1.join("opencode.db")).unwrap();
    let (responses, output, _) = figures(v1.clone());
    assert!(responses >= 2 && output > 0);
    copy(&example.join("json-storage"), &v1.join("storage"));
    let (both, same_output, _) = figures(v1);
    assert_eq!((both, same_output), (responses, output), "msg_0002 lies in the database and in a file: once");
    let v2 = fresh("example-v2");
    std::fs::copy(example.join("v2.db"), v2.join("opencode.db")).unwrap();
    let (_, _, scan) = figures(v2);
    let pools: BTreeSet<String> = scan
        .rows
        .iter()
        .filter_map(|row| match &row.key.stated {
            pool_review::vocabulary::StatedPool::Attempt(pool) => pool.clone(),
            _ => None,
        })
        .collect();
    assert!(!pools.is_empty(), "the router's log names pools");
    assert!(scan.kinds.keys().any(|kind| kind.starts_with("route_decision:")), "{:?}", scan.kinds);
}
