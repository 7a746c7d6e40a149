//! What session stores and rollups give to the checks, and what they never give: calls are no tasks, a day that two stores saw
//! counts once, and nothing that goes missing makes a verdict better.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{copy, fresh};
use crate::usage::SOURCES;

/// The small fleet of the golden case of this name, with other sources in its settings.
pub(crate) fn fleet(name: &str, case: &str, sources: &str) -> PathBuf {
    let folder = fresh(name);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case).join("in"), &folder);
    configure(&folder, sources);
    folder
}

/// Puts sources in the place of speeds and scorecards.
fn configure(folder: &Path, sources: &str) {
    let file = folder.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("data:\n").unwrap();
    let behind = &after[after.find("homes:").unwrap()..];
    let market = "  market: data/market.json\n  catalogues: data/models-dev.json\n  retirements: data/litellm.json\n";
    std::fs::write(&file, format!("{before}data:\n{market}{sources}{behind}")).unwrap();
}

/// The run at an instant, as JSON.
fn review_at(folder: &Path, now: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(folder)
        .env_clear()
        .args(["review", "--format", "json", "--now", now])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The run at the instant of the golden cases.
pub(crate) fn review(folder: &Path) -> Value {
    review_at(folder, "2026-11-29T12:00:00Z")
}

/// Verdicts by pool and check, pools included.
fn verdicts(run: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_pool = |pool: &Value| {
        let id = text(&pool["id"]);
        let checks = pool["checks"].as_array().unwrap().iter();
        let checks = checks.map(|check| (format!("{id} {}", text(&check["check"])), text(&check["verdict"])));
        checks.chain([(id.clone(), text(&pool["verdict"]))]).collect::<Vec<_>>()
    };
    run["pools"].as_array().unwrap().iter().flat_map(of_pool).collect()
}

/// What became aligned although it was not.
fn brightened(before: &Value, after: &Value) -> Vec<String> {
    let (before, after) = (verdicts(before), verdicts(after));
    let is_new = |key: &String| before.get(key).is_some_and(|verdict| verdict != "aligned");
    after.into_iter().filter(|(key, verdict)| verdict == "aligned" && is_new(key)).map(|(key, _)| key).collect()
}

/// The pools of a run without the lines at which settings stand.
fn without_lines(run: &Value) -> Value {
    let mut pools = run["pools"].clone();
    for check in pools[0]["checks"].as_array_mut().unwrap() {
        for finding in check["findings"].as_array_mut().unwrap() {
            finding["limit"]["set_at"] = Value::Null;
        }
    }
    pools
}

/// One check of the only pool.
fn check<'a>(run: &'a Value, id: &str) -> &'a Value {
    run["pools"][0]["checks"].as_array().unwrap().iter().find(|check| check["check"] == id).unwrap()
}

/// A number of a check.
pub(crate) fn number<'a>(run: &'a Value, id: &str, what: &str, of: &str) -> Option<&'a Value> {
    let numbers = check(run, id)["numbers"].as_array().unwrap();
    numbers.iter().find(|number| number["what"] == what && number["of"] == of)
}

/// Codes of the findings of a check.
fn codes(run: &Value, id: &str) -> Vec<String> {
    let findings = check(run, id)["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Whether a check lacks something that starts like this.
fn lacks(run: &Value, id: &str, start: &str) -> bool {
    check(run, id)["reasons"].as_array().unwrap().iter().any(|reason| reason.as_str().unwrap().starts_with(start))
}

/// The state of a source; `None` where it is not listed.
fn state<'a>(run: &'a Value, source: &str) -> Option<&'a str> {
    let found = run["sources"].as_array().unwrap().iter().find(|one| one["source"] == source)?;
    found["state"].as_str()
}

#[test]
fn run_files_with_calls_follow_their_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parse = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let schema = jsonschema::validator_for(&parse(&root.join("instructions/schemas/run.v1.json"))).unwrap();
    let folder = fleet("evidence-schema", "right-sizing", ROLLUP);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    let errors: Vec<String> =
        schema.iter_errors(&run).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let marked = run.to_string().matches("\"basis\":\"calls\"").count();
    assert!(marked > 10, "{marked} numbers and findings say what they rest on");
}

/// Rows of a rollup: source, day, provider, model, effort, calls and how many of them were lost.
fn rollup(rows: &[(&str, u32, &str, &str, &str, u64, u64)]) -> String {
    let head = "day,pool,provider,model,effort,source,attempts,infra,responses,input_tokens,cache_read_tokens,output_tokens,\
                cost_usd,n_cost,speed_output_tokens,busy_s,n_speed,last_at\n";
    let row = |(source, day, provider, model, effort, calls, infra): &(&str, u32, &str, &str, &str, u64, u64)| {
        let n = calls - infra;
        format!(
            "2026-11-{day},scout,{provider},{model},{effort},{source},{calls},{infra},{n},{},{},{},{},{n},{},{},{n},2026-11-{day}T22:00:00Z\n",
            1000 * n,
            3000 * n,
            200 * n,
            0.001 * n as f64,
            200 * n,
            2 * n
        )
    };
    head.to_owned() + &rows.iter().map(row).collect::<String>()
}

/// Rows of three members of which the last is often out of reach, as one source saw them.
fn often_lost(source: &str) -> String {
    rollup(&[
        (source, 28, "openai", "gpt-6-luna", "low", 60, 0),
        (source, 28, "google", "gemini-3.5-flash-lite", "", 40, 1),
        (source, 28, "anthropic", "claude-haiku-4-5", "", 40, 20),
    ])
}

#[test]
fn a_lead_that_answers_none_of_the_routers_calls_is_unreachable() {
    let stores = "  session_stores:\n    - { kind: opencode, path: store/opencode.db }\n";
    let folder = fleet("evidence-silent", "right-sizing", stores);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/calls-unavailable/in/store");
    copy(&golden, &folder.join("store"));
    let silent = |run: &Value| codes(run, "structure").contains(&"lead_unreachable".to_owned());
    assert!(!silent(&review(&folder)), "it answers");
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    let database = rusqlite::Connection::open(folder.join("store/opencode.db")).unwrap();
    let day = "time_started >= 1795824000000 AND model_id = 'gpt-6-luna'";
    database
        .execute_batch(&format!(
            "DELETE FROM message WHERE id IN (SELECT assistant_message_id FROM route_attempt WHERE {day});
             UPDATE route_attempt SET outcome = 'failure', error_tag = 'Transport' WHERE {day}"
        ))
        .unwrap();
    drop(database);
    let run = review(&folder);
    assert!(silent(&run), "{}", check(&run, "structure"));
    let found = &check(&run, "structure")["findings"][0];
    // 35 calls of the 28th, and 10 of the 27th that all lie behind noon.
    assert_eq!((found["measured"]["n"].as_u64(), found["basis"].as_str()), (Some(45), Some("calls")));
    std::fs::write(folder.join("store/opencode.db"), "no database at all, and long enough to be one").unwrap();
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    assert!(lacks(&review(&folder), "structure", "failed:session_stores"));
}

/// Sources of a fleet with a rollup.
const ROLLUP: &str = "  rollup: data/rollup.csv\n";
/// Sources of a fleet with scorecards.
pub(crate) const CARDS: &str = "  speeds: data/speeds.csv\n  sessions: data/scorecards.csv\n";

#[test]
fn a_rollup_that_goes_missing_blocks_by_name_and_aligns_nothing() {
    let folder = fleet("evidence-missing", "right-sizing", ROLLUP);
    let file = folder.join("data/rollup.csv");
    std::fs::write(&file, often_lost("warehouse")).unwrap();
    let before = review(&folder);
    assert_eq!(codes(&before, "latest-model"), ["unavailable"]);
    assert_eq!(check(&before, "latest-model")["findings"][0]["basis"], "calls");
    for (what, content) in [
        ("gone", None),
        ("another thing", Some("a,b\n1,2\n".to_owned())),
        ("broken rows only", Some(rollup(&[]) + "yesterday,,,,,x,1,,,,,,,,,,,\n")),
    ] {
        std::fs::remove_dir_all(folder.join("reports")).unwrap();
        match content {
            Some(content) => std::fs::write(&file, content).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let after = review(&folder);
        assert_eq!(state(&after, "session_stores"), Some("failed"), "{what}");
        assert_eq!(brightened(&before, &after), Vec::<String>::new(), "{what}");
        for check in ["latest-model", "right-sizing"] {
            assert!(lacks(&after, check, "failed:session_stores"), "{what}: {after}");
            assert_eq!(verdicts(&after)[&format!("scout {check}")], "blocked", "{what}");
        }
    }
}

#[test]
fn a_store_that_cannot_be_read_blocks_what_the_others_cannot_settle() {
    let stores = "  session_stores:\n    - { kind: litellm, path: store/spend.jsonl }\n";
    let folder = fleet("evidence-unread", "right-sizing", &(ROLLUP.to_owned() + stores));
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    assert_eq!(state(&run, "session_stores"), Some("failed"));
    assert_eq!(codes(&run, "latest-model"), ["unavailable"], "what is known is still said");
    assert_eq!(verdicts(&run)["scout latest-model"], "blocked");
    // Where scorecards tell how often every member could be reached, and how long it took, nothing hangs on the store.
    let folder = fleet("evidence-settled", "aligned", &(CARDS.to_owned() + stores));
    let run = review(&folder);
    assert_eq!((state(&run, "session_stores"), verdicts(&run)["scout"].as_str()), (Some("failed"), "aligned"));
}

#[test]
fn calls_of_yesterday_are_evidence_and_those_of_last_week_are_stale() {
    let folder = fleet("evidence-stale", "right-sizing", ROLLUP);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let late = review_at(&folder, "2026-11-29T23:00:00Z");
    assert_eq!(state(&late, "session_stores"), Some("stale"));
    assert_eq!(codes(&late, "latest-model"), Vec::<String>::new(), "stale calls find nothing");
    assert!(lacks(&late, "latest-model", "stale:session_stores"));
    assert_eq!(number(&late, "best-per-pool", "availability of calls", "anthropic/claude-haiku-4-5"), None);
}

#[test]
fn a_store_without_a_call_changes_no_verdict_and_no_number() {
    for (case, sources) in [("aligned", CARDS), ("right-sizing", CARDS), ("right-sizing", "")] {
        let folder = fleet(&format!("evidence-none-{case}-{}", sources.len()), case, sources);
        let before = review(&folder);
        std::fs::remove_dir_all(folder.join("reports")).unwrap();
        std::fs::create_dir_all(folder.join("store/claude/projects")).unwrap();
        std::fs::create_dir_all(folder.join("store/codex/sessions")).unwrap();
        std::fs::write(folder.join("store/spend.jsonl"), "").unwrap();
        std::fs::write(folder.join("data/rollup.csv"), rollup(&[])).unwrap();
        let stores = "  session_stores:\n    - { kind: claude-code, path: store/claude }\n    - { kind: codex, path: store/codex }\n    \
                      - { kind: litellm, path: store/spend.jsonl }\n";
        configure(&folder, &[sources, ROLLUP, stores].concat());
        let after = review(&folder);
        assert_eq!(state(&after, "session_stores"), Some("fresh"), "{}", after["sources"]);
        assert!(without_lines(&after) == without_lines(&before), "{case} with {sources:?}: {}", after["pools"]);
    }
}

#[test]
fn task_attempts_of_a_rollup_are_no_calls_and_calls_are_no_outcome() {
    let folder = fleet("evidence-tasks", "right-sizing", ROLLUP);
    let rows = often_lost("warehouse").replace(",warehouse,", ",scorecards,");
    std::fs::write(folder.join("data/rollup.csv"), rows).unwrap();
    let run = review(&folder);
    assert_eq!(codes(&run, "latest-model"), Vec::<String>::new());
    assert!(run["sources"].to_string().contains("3 rollup rows are of task attempts"), "{}", run["sources"]);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    let success = number(&run, "best-per-pool", "raw success", "openai/gpt-6-luna#low").unwrap();
    assert_eq!((success["value"].as_f64(), success["n"].as_u64()), (None, Some(0)), "no outcome is invented");
    assert!(lacks(&run, "best-per-pool", "not_configured:sessions"));
    let share = number(&run, "right-sizing", "observed share of calls", "anthropic/claude-haiku-4-5").unwrap();
    assert_eq!((share["n"].as_u64(), share["basis"].as_str()), (Some(140), Some("calls")));
    assert!((share["value"].as_f64().unwrap() - 40.0 / 140.0).abs() < 1e-12);
    let priced = number(&run, "best-per-pool", "cost of calls", "openai/gpt-6-luna#low").unwrap();
    assert!((priced["value"].as_f64().unwrap() - 0.25).abs() < 1e-9, "0.001 dollars for 4000 input tokens: {priced}");
}

#[test]
fn attempts_decide_where_there_are_enough_and_lost_calls_are_a_note_beside_them() {
    let folder = fleet("evidence-both", "aligned", &(CARDS.to_owned() + ROLLUP));
    std::fs::write(folder.join("data/rollup.csv"), rollup(&[("litellm", 28, "openai", "gpt-6-luna", "low", 60, 30)]))
        .unwrap();
    let run = review(&folder);
    let found = &check(&run, "latest-model")["findings"][0];
    assert_eq!((found["code"].as_str(), found["verdict"].as_str()), (Some("calls_lost"), None));
    assert_eq!(verdicts(&run)["scout"], "aligned", "its 121 attempts were all reached");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever calls a fleet without scorecards shows: nothing that needs attempts is aligned by them, no outcome is invented,
    /// rows in another order say the same, and without its rollup no check looks better.
    #[test]
    fn calls_alone_align_nothing_that_needs_attempts(
        rows in proptest::collection::vec((0..SOURCES.len(), 25_u32..=28, 0_usize..3, 1_u64..60, 0_u64..60), 1..12),
    ) {
        let members = [
            ("openai", "gpt-6-luna", "low"),
            ("google", "gemini-3.5-flash-lite", ""),
            ("anthropic", "claude-haiku-4-5", "unrecorded"),
        ];
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(source, day, member, calls, lost)| {
                let (provider, model, effort) = members[member];
                (SOURCES[source], day, provider, model, effort, calls, lost.min(calls))
            })
            .chain([("warehouse", 28, "openai", "gpt-6-luna", "low", 1, 0)])
            .collect();
        let folder = fleet("evidence-random", "right-sizing", ROLLUP);
        let again = |rows: Option<&[_]>| {
            if folder.join("reports").exists() {
                std::fs::remove_dir_all(folder.join("reports")).unwrap();
            }
            match rows {
                Some(rows) => std::fs::write(folder.join("data/rollup.csv"), rollup(rows)).unwrap(),
                None => std::fs::remove_file(folder.join("data/rollup.csv")).unwrap(),
            }
            review(&folder)
        };
        let before = again(Some(&rows));
        for check in ["best-per-pool", "right-sizing"] {
            let verdict = verdicts(&before)[&format!("scout {check}")].clone();
            prop_assert_ne!(verdict, "aligned");
        }
        let numbers = check(&before, "best-per-pool")["numbers"].as_array().unwrap();
        prop_assert!(numbers.iter().filter(|number| number["what"] == "raw success").all(|number| number["n"] == 0));
        let turned: Vec<_> = rows.iter().rev().copied().collect();
        prop_assert!(again(Some(&turned))["pools"] == before["pools"]);
        prop_assert_eq!(brightened(&before, &again(None)), Vec::<String>::new());
    }
}
