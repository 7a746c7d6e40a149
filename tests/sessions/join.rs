//! What joins calls to pools, classes and days, and what is said where something is not read: as people run it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::fresh;

/// Runs the verb at noon of 2026-11-29.
fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(folder)
        .env_clear()
        .args([&["sessions", "--now", "2026-11-29T12:00:00Z", "--format", "json"], args].concat())
        .output()
        .unwrap()
}

/// The answer of a run with no cache.
fn answer(folder: &Path, args: &[&str]) -> Value {
    let output = run(folder, &[args, &["--no-cache"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// One column of the rows of an answer that hold responses.
fn column<'a>(answer: &'a Value, name: &str) -> Vec<&'a Value> {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["responses"] != 0).map(|row| &row[name]).collect()
}

/// Whether a remark holds some words.
fn says(answer: &Value, words: &str) -> bool {
    answer["remarks"].as_array().unwrap().iter().any(|remark| remark.as_str().unwrap().contains(words))
}

/// A prompt and its response, 5 s later, of 100 tokens.
fn turn(session: &str, id: &str, at: &str, request: Option<&str>) -> String {
    let prompt = json!({ "type": "user", "uuid": format!("u{id}"), "sessionId": session, "timestamp": format!("{at}0.000Z"),
        "message": { "role": "user", "content": "do it" } });
    let usage = json!({ "input_tokens": 1, "output_tokens": 100 });
    let response = json!({ "type": "assistant", "uuid": format!("a{id}"), "sessionId": session, "timestamp": format!("{at}5.000Z"),
        "requestId": request, "cwd": "/home/dev/infra", "effort": "high",
        "message": { "id": id, "role": "assistant", "model": "claude-opus-4-6", "stop_reason": "end_turn", "usage": usage } });
    format!("{prompt}\n{response}\n")
}

/// A fleet of two pools that hold the same member, a Claude Code store of one response, and these scorecards.
fn fleet(name: &str, cards: &str) -> PathBuf {
    let folder = fresh(name);
    for below in [".opencode", "data", "claude/projects/p"] {
        std::fs::create_dir_all(folder.join(below)).unwrap();
    }
    let member = ["anthropic/claude-opus-4-6#high"];
    let routes = json!({ "w": { "targets": member }, "w2": { "targets": member } });
    let config = json!({ "experimental": { "model_routes": routes } });
    std::fs::write(folder.join(".opencode/opencode.jsonc"), config.to_string()).unwrap();
    let cost = json!({ "input": 3, "output": 15 });
    let offer = json!({ "id": "claude-opus-4-6", "name": "Claude Opus 4.6", "cost": cost });
    let catalogue = json!({ "anthropic": { "id": "anthropic", "models": { "claude-opus-4-6": offer } } });
    std::fs::write(folder.join("data/models-dev.json"), catalogue.to_string()).unwrap();
    let head = "task_id,attempt,session_id,finished_at,pool,provider,model,effort,task_class,outcome,basis,epoch\n";
    std::fs::write(folder.join("cards.csv"), format!("{head}{cards}")).unwrap();
    let settings = "---\nconfig:\n  opencode: .opencode/opencode.jsonc\ndata:\n  catalogues: data/models-dev.json\n  sessions: cards.csv\n  \
                    session_stores:\n    - { kind: claude-code, path: claude }\n  task_classes:\n    - { folder: \"*/infra\", class: operations }\n---\npolicy\n";
    std::fs::write(folder.join("i.md"), settings).unwrap();
    std::fs::write(folder.join("claude/projects/p/s1.jsonl"), turn("s1", "m1", "2026-11-20T10:00:0", Some("r")))
        .unwrap();
    folder
}

/// A scorecard of session s1 in a pool.
fn card(task: &str, pool: &str, class: &str) -> String {
    format!("{task},1,s1,2026-11-20T12:00:00Z,{pool},anthropic,claude-opus-4-6,high,{class},success,check,e7\n")
}

#[test]
fn a_session_has_pool_class_and_epoch_of_its_scorecard_however_old_that_is() {
    let folder = fleet("join-card", &card("t1", "w2", "bugfix"));
    let found = answer(&folder, &["-i", "i.md", "--by", "pool,class"]);
    assert_eq!((column(&found, "pool"), column(&found, "task_class")), (vec![&json!("w2")], vec![&json!("bugfix")]));
    assert_eq!(found["pools_found_by"], json!({ "session": 1 }), "two pools hold the member: only the card tells");
    assert!(says(&found, "scorecards: nothing newer than 2026-11-20 12:00, too old"), "{}", found["remarks"]);
    let rollup = answer(&folder, &["-i", "i.md", "--rollup", "csv"]);
    let line = rollup["text"].as_str().unwrap().lines().find(|line| line.contains("claude-code")).unwrap().to_owned();
    assert!(line.contains(",e7,"), "{line}");
    assert!(says(&found, "catalogue: nothing says how old it is"), "why nothing has a price: {}", found["remarks"]);
}

#[test]
fn scorecards_that_contradict_each_other_or_are_broken_are_said() {
    let cards =
        card("t1", "w2", "bugfix") + &card("t2", "w", "") + &card("t3", "w", "review").replace("success", "great");
    let folder = fleet("join-dispute", &cards);
    let found = answer(&folder, &["-i", "i.md", "--by", "pool,class"]);
    assert_eq!((column(&found, "pool"), column(&found, "task_class")), (vec![&json!("")], vec![&json!("bugfix")]));
    assert_eq!(found["pools_found_by"], json!({ "ambiguous": 1 }));
    assert!(says(&found, "1 sessions are said to be of several pools, so of none; the first: s1"));
    assert!(says(&found, "cards.csv:4") && says(&found, "great"), "{}", found["remarks"]);
}

#[test]
fn the_verb_keeps_days_as_a_review_does_unless_it_keeps_nothing() {
    let folder = fleet("join-keep", "");
    let kept = folder.join("reports/history/sessions-2026-11.csv");
    answer(&folder, &["-i", "i.md"]);
    assert!(!kept.exists(), "--no-cache keeps nothing");
    run(&folder, &["--store", "claude-code=claude"]);
    assert!(!kept.exists(), "stores of flags have no history");
    assert!(run(&folder, &["-i", "i.md"]).status.success());
    assert!(kept.exists());
    std::fs::remove_file(folder.join("claude/projects/p/s1.jsonl")).unwrap();
    std::fs::write(folder.join("claude/projects/p/s2.jsonl"), turn("s2", "m2", "2026-11-21T10:00:0", Some("r")))
        .unwrap();
    let output = run(&folder, &["-i", "i.md", "--by", "day"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(column(&found, "day"), [&json!("2026-11-20"), &json!("2026-11-21")], "the client deleted the first day");
}

#[test]
fn a_rollup_adds_up_and_is_never_kept_and_a_store_that_is_named_no_more_counts_for_nothing() {
    let folder = fleet("join-rollup", "");
    let kept = folder.join("reports/history/sessions-2026-11.csv");
    let rollup = answer(&folder, &["-i", "i.md", "--rollup", "csv"]);
    std::fs::write(folder.join("roll.csv"), rollup["text"].as_str().unwrap()).unwrap();
    let plain = std::fs::read_to_string(folder.join("i.md")).unwrap();
    let store = "  session_stores:\n    - { kind: claude-code, path: claude }\n";
    std::fs::write(folder.join("i.md"), plain.replacen(store, &format!("  rollup: roll.csv\n{store}"), 1)).unwrap();
    let read = |args: &[&str]| -> Value { serde_json::from_slice(&run(&folder, args).stdout).unwrap() };
    let both = read(&["-i", "i.md"]);
    assert_eq!(column(&both, "responses"), [&json!(2)], "rollups add, as that of another machine does");
    assert!(says(&both, "1 rollup rows are of sources and days that the stores hold, too"), "{}", both["remarks"]);
    let of_rows = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(folder.join("i.md"), &plain).unwrap();
    assert_eq!(column(&read(&["-i", "i.md"]), "responses"), [&json!(1)], "what the rollup said was not kept");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), of_rows);
    std::fs::write(folder.join("i.md"), plain.replacen(store, "  rollup: roll.csv\n", 1)).unwrap();
    std::fs::write(folder.join("roll.csv"), rollup["text"].as_str().unwrap().lines().next().unwrap()).unwrap();
    let gone = read(&["-i", "i.md"]);
    assert_eq!(column(&gone, "responses"), [&json!(null); 0], "kept days of a store that was taken out");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), of_rows, "they stay for the day it comes back");
}

#[test]
fn an_edit_of_equal_length_in_the_middle_of_a_file_is_seen() {
    let folder = fleet("join-edit", "");
    let path = folder.join("claude/projects/p/s1.jsonl");
    let turns: String = (0..200).map(|n| turn("s1", &format!("m{n}"), "2026-11-20T10:00:0", Some("r"))).collect();
    std::fs::write(&path, &turns).unwrap();
    let output = |args: &[&str]| {
        let output = run(&folder, &[&["--store", "claude-code=claude"], args].concat());
        column(&serde_json::from_slice(&output.stdout).unwrap(), "output_tokens")[0].as_u64().unwrap()
    };
    assert_eq!(output(&[]), 20_000);
    let times = std::fs::metadata(&path).unwrap().modified().unwrap();
    let middle = turns[turns.len() / 2..].find("\"output_tokens\":100").unwrap() + turns.len() / 2;
    for (is_set_back, tokens) in [(false, "900"), (true, "800")] {
        let mut edited = turns.clone();
        edited.replace_range(middle + 16..middle + 19, tokens);
        let mut file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all(edited.as_bytes()).unwrap();
        if is_set_back && cfg!(unix) {
            file.set_modified(times).unwrap();
        }
        drop(file);
        assert_eq!(output(&[]), output(&["--no-cache"]), "{tokens}: with the index as without");
    }
}

#[test]
fn a_clock_that_ran_ahead_once_spoils_one_response_and_no_more() {
    let folder = fleet("join-clock", "");
    let turns = turn("s1", "m1", "2026-11-20T12:00:0", Some("r"))
        + &turn("s1", "m2", "2026-11-20T10:00:0", Some("r"))
        + &turn("s1", "m3", "2026-11-20T10:00:1", Some("r"));
    std::fs::write(folder.join("claude/projects/p/s1.jsonl"), turns).unwrap();
    let found = answer(&folder, &["--store", "claude-code=claude"]);
    // The response behind the outlier seems to begin after it ended. The one after begins with its prompt, 10:00:10, as ever.
    assert_eq!((column(&found, "n_speed"), column(&found, "busy_s")), (vec![&json!(2)], vec![&json!(10.0)]));
}

#[test]
fn a_call_through_a_gateway_nobody_names_has_no_provider() {
    let folder = fleet("join-gateway", "");
    let turns = turn("s1", "m1", "2026-11-20T10:00:0", Some("r")) + &turn("s1", "m2", "2026-11-20T10:00:1", None);
    std::fs::write(folder.join("claude/projects/p/s1.jsonl"), turns).unwrap();
    let found = answer(&folder, &["--store", "claude-code=claude"]);
    assert_eq!(
        column(&found, "provider"),
        [&json!(""), &json!("anthropic")],
        "without a request id it came through one"
    );
}

#[test]
fn files_that_two_stores_name_are_read_once_and_a_list_of_folders_is_one_store() {
    let folder = fleet("join-overlap", "");
    std::fs::create_dir_all(folder.join("other/projects/p")).unwrap();
    std::fs::copy(folder.join("claude/projects/p/s1.jsonl"), folder.join("other/projects/p/copy.jsonl")).unwrap();
    let responses = |stores: &[&str]| {
        let flags: Vec<String> = stores.iter().map(|store| format!("claude-code={store}")).collect();
        let args: Vec<&str> = flags.iter().flat_map(|flag| ["--store", flag.as_str()]).collect();
        let found = answer(&folder, &args);
        let sum: u64 = column(&found, "responses").iter().map(|n| n.as_u64().unwrap()).sum();
        (sum, says(&found, "once: both name the same files"))
    };
    assert_eq!(responses(&["claude", "claude"]), (1, true));
    assert_eq!(responses(&["claude/projects", "claude"]), (1, true), "one inside the other");
    assert_eq!(responses(&["claude,other"]), (1, false), "one id over both folders");
    assert_eq!(responses(&["claude,claude/projects"]), (1, true));
    assert_eq!(responses(&["claude", "other"]), (2, false), "two stores are two");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.join("claude"), folder.join("link")).unwrap();
        assert_eq!(responses(&["link", "claude"]), (1, true));
    }
}

#[test]
fn a_place_that_holds_no_store_and_packed_files_are_named() {
    let folder = fleet("join-wrong", "");
    std::fs::create_dir_all(folder.join("codex/sessions")).unwrap();
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    let said = |store: &str| String::from_utf8(run(&folder, &["--store", store]).stderr).unwrap();
    let empty = |kind: &str| answer(&folder, &["--store", &format!("{kind}=empty")]);
    assert!(says(&empty("codex"), "empty holds neither sessions/ nor archived_sessions/"));
    assert!(says(&empty("claude-code"), "empty holds neither projects/ nor a transcript"));
    assert_eq!(said("codex=codex"), "", "a client that was never used");
    std::fs::write(folder.join("codex/sessions/rollout-1.jsonl.gz"), "x").unwrap();
    assert!(said("codex=codex").contains("codex/sessions/rollout-1.jsonl.gz is packed with gzip"));
    std::fs::write(folder.join("claude/projects/p/s9.jsonl"), b"\x1f\x8b\x08\0rest").unwrap();
    let found = answer(&folder, &["--store", "claude-code=claude"]);
    assert!(says(&found, "s9.jsonl is packed with gzip") && !says(&found, "damaged") && !says(&found, "being written"));
    std::fs::write(folder.join("logs.csv.gz"), b"\x1f\x8b\x08\0rest").unwrap();
    assert!(said("litellm=logs.csv.gz").contains("logs.csv.gz is packed with gzip"));
}

#[test]
fn the_sessions_folder_itself_is_a_codex_store_and_its_undated_work_is_of_the_day_of_its_file() {
    let folder = fleet("join-codex", "");
    std::fs::create_dir_all(folder.join("sessions")).unwrap();
    let lines = [
        json!({ "timestamp": "2026-11-20T10:00:00Z", "type": "session_meta", "payload": { "id": "t", "timestamp": "2026-11-20T10:00:00Z" } }),
        json!({ "type": "event_msg", "payload": { "type": "token_count", "info": { "total_token_usage": { "input_tokens": 10, "output_tokens": 5 } } } }),
        json!({ "type": "turn.failed", "error": { "message": "You've hit your usage limit" } }),
    ];
    let text: String = lines.map(|line| line.to_string() + "\n").concat();
    std::fs::write(folder.join("sessions/rollout-1.jsonl"), text).unwrap();
    let found = answer(&folder, &["--store", "codex=sessions", "--by", "day"]);
    assert_eq!(column(&found, "day"), [&json!("2026-11-20")]);
    assert!(says(&found, "1 responses without a time") && !says(&found, "unknown kinds"), "{}", found["remarks"]);
    let events = &found["events"][0];
    assert_eq!((&events["api_errors"], &events["quota_hits"]), (&json!(1), &json!(1)), "codex exec says what failed");
}

#[test]
fn what_happened_beside_calls_stands_in_the_document() {
    let folder = fleet("join-events", "");
    let failed = |uuid: &str, words: &str| {
        json!({ "type": "assistant", "uuid": uuid, "sessionId": "s1", "timestamp": "2026-11-20T11:00:00Z", "isApiErrorMessage": true,
            "message": { "model": "<synthetic>", "content": [{ "type": "text", "text": words }] } })
    };
    let words = [
        "You\u{2019}ve hit your session limit \u{2219} resets 8pm",
        "You've reached your weekly limit",
        "Credit balance is too low",
        "API Error: 529 overloaded",
        "API Error: 400 prompt is too long",
    ];
    let lines: String =
        words.iter().enumerate().map(|(n, words)| failed(&n.to_string(), words).to_string() + "\n").collect();
    let path = folder.join("claude/projects/p/s1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("\u{feff}\0\0{text}{lines}")).unwrap();
    let found = answer(&folder, &["--store", "claude-code=claude"]);
    let events = &found["events"][0];
    assert_eq!((&events["store"], &events["source"]), (&json!("claude"), &json!("claude-code")));
    assert_eq!((&events["tasks"], &events["api_errors"], &events["quota_hits"]), (&json!(1), &json!(5), &json!(2)));
    let failures = json!({ "rate_limited": 2, "auth": 1, "overloaded": 1, "other": 1 });
    assert_eq!((&events["failures"], &events["infra"]), (&failures, &json!(4)), "credits are no fault of the model");
    assert!(!says(&found, "damaged"), "NUL bytes behind the byte-order mark are skipped: {}", found["remarks"]);
}

#[test]
fn an_export_says_which_columns_it_lacks() {
    let folder = fleet("join-gaps", "");
    let row = "r1,2026-11-20 10:00:00,2026-11-20 10:00:05,m,1,100,101,0.5\n";
    let head = "request_id,startTime,endTime,model,prompt_tokens,completion_tokens,total_tokens,spend\n";
    std::fs::write(folder.join("a.csv"), format!("{head}{row}{row}")).unwrap();
    let found = answer(&folder, &["--store", "litellm=a.csv"]);
    for column in ["status", "metadata", "cache_hit"] {
        assert!(says(&found, &format!("a.csv has no column {column}: ")), "{}", found["remarks"]);
    }
    assert!(says(&found, "1 rows of calls that stand in other rows too") && !says(&found, "under another id"));
}
