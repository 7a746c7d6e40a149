//! The binary on input that is broken, hostile, huge or half-written: a clear line, nothing written where nothing may be,
//! and never a pool that becomes `aligned`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

#[path = "scene/binary.rs"]
mod binary;
#[path = "scene/files.rs"]
mod files;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use binary::Ran;
use files::tree;
use pool_review::history::Ledger;
use scene::Scene;
use serde_json::Value;

/// The canonical config of the demo.
const CONFIG: &str = "data/fleet/.opencode/opencode.jsonc";

/// The instruction file.
const INSTRUCTIONS: &str = "instructions/pool-composition-review.md";

/// The run of the demo's own instant.
const RUN: &str = "20261129T120000Z";

/// That run.
const FIRST: [&str; 3] = ["review", "--now", "2026-11-29T12:00:00Z"];

/// The next scheduled run.
const LATER: [&str; 3] = ["review", "--now", "2026-11-30T00:00:00Z"];

/// Rows of a long file: enough to see anything that grows faster than they do (a million take five times as long).
const ROWS: u64 = 200_000;

/// Writes a file of a workspace.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn put(scene: &Scene, path: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(scene.root.join(path), bytes).unwrap();
}

/// Takes a file of a workspace away.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn take(scene: &Scene, path: &str) {
    std::fs::remove_file(scene.root.join(path)).unwrap();
}

/// Puts a folder in the place of a file of a workspace.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn folder(scene: &Scene, path: &str) {
    std::fs::create_dir_all(scene.root.join(path)).unwrap();
}

/// A file of a workspace.
fn get(scene: &Scene, path: &str) -> String {
    std::fs::read_to_string(scene.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The run file of the demo's instant.
fn run_file(scene: &Scene) -> Value {
    serde_json::from_str(&get(scene, &format!("reports/runs/{RUN}.json"))).unwrap()
}

/// Verdict and reasons of a check of a pool.
fn judged(run: &Value, pool: &str, check: &str) -> (String, String) {
    let pools = run["pools"].as_array().unwrap();
    let pool = pools.iter().find(|found| found["id"] == pool).unwrap_or_else(|| panic!("no pool {pool}"));
    let check = pool["checks"].as_array().unwrap().iter().find(|found| found["check"] == check).unwrap();
    (check["verdict"].as_str().unwrap().to_owned(), check["reasons"].to_string())
}

/// The note of a source.
fn source<'a>(run: &'a Value, id: &str) -> &'a Value {
    run["sources"].as_array().unwrap().iter().find(|note| note["source"] == id).unwrap()
}

/// Asserts that a run ended with exit 2, one line that says all of this, and nothing written.
fn refused(scene: &Scene, args: &[&str], says: &[&str]) {
    let before = tree(&scene.root);
    let ran = scene.run(args);
    assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{args:?}");
    one_line(&ran, says);
    assert!(tree(&scene.root) == before, "{args:?}: something was written");
    assert!(!scene.root.join("reports").exists(), "{args:?}: a reports folder was made");
}

/// Asserts that stderr is one error line that says all of this.
fn one_line(ran: &Ran, says: &[&str]) {
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    for part in ["error: "].iter().chain(says) {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

#[test]
fn a_missing_config_is_named() {
    let scene = Scene::demo("config-missing");
    take(&scene, CONFIG);
    refused(&scene, &["review"], &[CONFIG, "no such file"]);
}

#[test]
fn a_config_that_is_a_folder_is_named() {
    let scene = Scene::demo("config-folder");
    take(&scene, CONFIG);
    folder(&scene, CONFIG);
    refused(&scene, &["review"], &[CONFIG, "regular file"]);
}

#[test]
fn a_config_that_is_a_pipe_is_not_waited_for() {
    let scene = Scene::demo("config-pipe");
    take(&scene, CONFIG);
    assert!(Command::new("mkfifo").arg(scene.root.join(CONFIG)).status().unwrap().success());
    let started = Instant::now();
    refused(&scene, &["review"], &[CONFIG, "regular file"]);
    assert!(started.elapsed() < Duration::from_secs(10), "it waited for a writer");
}

#[test]
fn broken_jsonc_is_named_with_its_line() {
    let scene = Scene::demo("config-broken");
    put(
        &scene,
        CONFIG,
        "{\n  // fine\n  \"model\": \"opencode-route/scout\",\n  \"experimental\": { \"model_routes\": [ }\n}\n",
    );
    refused(&scene, &["review"], &[&format!("{CONFIG}:4")]);
}

#[test]
fn config_that_is_not_utf8_is_named_with_its_line() {
    let scene = Scene::demo("config-latin1");
    put(&scene, CONFIG, b"{\n  \"model\": \"caf\xe9\"\n}\n");
    refused(&scene, &["review"], &[&format!("{CONFIG}:2"), "UTF-8"]);
}

#[test]
fn an_unknown_setting_is_named_with_its_line_and_the_one_that_was_meant() {
    let scene = Scene::demo("setting-unknown");
    let settings = get(&scene, INSTRUCTIONS);
    let line = 1 + settings.lines().position(|line| line.starts_with("timezone:")).unwrap();
    put(&scene, INSTRUCTIONS, settings.replacen("timezone:", "timezne:", 1));
    refused(&scene, &["review"], &[&format!("{INSTRUCTIONS}:{line}"), "timezne", "did you mean \"timezone\""]);
}

#[test]
fn instructions_that_are_missing_or_empty_are_named() {
    let scene = Scene::demo("instructions");
    refused(&scene, &["review", "--instructions", "elsewhere.md"], &["elsewhere.md"]);
    put(&scene, INSTRUCTIONS, "");
    refused(&scene, &["review"], &[INSTRUCTIONS]);
}

#[test]
fn bad_arguments_are_one_line() {
    let scene = Scene::demo("arguments");
    refused(&scene, &["review", "--now", "yesterday"], &["--now", "yesterday"]);
    refused(&scene, &["revue"], &["revue", "review"]);
    refused(&scene, &["review", "--colour"], &["--colour"]);
    refused(&scene, &["review", "--now", "2026-11-29T12:00:00Z\u{1b}[2J"], &["--now", "⟨001B⟩"]);
    refused(&scene, &["explain", "best-per-poll"], &["best-per-poll", "best-per-pool"]);
}

#[test]
fn a_bad_row_is_counted_quoted_and_does_not_cost_the_others() {
    let scene = Scene::demo("bad-row");
    let cards = get(&scene, "data/evidence/scorecards.csv");
    let line = 1 + cards.lines().count();
    put(&scene, "data/evidence/scorecards.csv", cards + "t,one,yesterday,scout\n");
    assert_eq!(scene.run(&["review"]).code, Some(3));
    let run = run_file(&scene);
    let note = source(&run, "sessions");
    assert_eq!((&note["rejected"], &note["state"]), (&1.into(), &"fresh".into()));
    assert_eq!(note["rejects"][0]["place"]["line"], line);
    let log = get(&scene, "reports/pool-composition-log.md");
    assert!(log.contains(&format!("data/evidence/scorecards.csv:{line}")), "the log names the row");
    assert_eq!(judged(&run, "scout", "best-per-pool").0, "aligned", "the other rows still count");
}

#[test]
fn a_long_file_of_rows_takes_seconds() {
    let scene = Scene::demo("long");
    let cards = get(&scene, "data/evidence/scorecards.csv");
    let columns = cards.lines().next().unwrap().split(',').count();
    let mut many = cards.into_bytes();
    let row = ",1,2026-11-20T10:00:00Z,workhorse,openai,gpt-6-sol,,openai-api,implement,success,check";
    for i in 0..ROWS {
        writeln!(many, "m{i}{row}{}", ",".repeat(columns - 11)).unwrap();
    }
    put(&scene, "data/evidence/scorecards.csv", many);
    let started = Instant::now();
    assert_eq!(scene.run(&["review"]).code, Some(3));
    assert!(started.elapsed() < Duration::from_mins(1), "{:?} for {ROWS} rows", started.elapsed());
    assert!(source(&run_file(&scene), "sessions")["used"].as_u64().unwrap() > ROWS);
    take(&scene, "data/evidence/scorecards.csv");
}

#[test]
fn a_market_that_cannot_be_read_blocks_and_aligns_nothing() {
    let scene = Scene::demo("market");
    let page = "data/market/artificial-analysis/page-1.json";
    let whole = get(&scene, page);
    let bodies = [
        ("cut off", whole[..whole.len() / 2].to_owned()),
        ("a page for people", "<!doctype html>\n<html><body>Just a moment...</body></html>\n".to_owned()),
        ("empty", String::new()),
        ("another thing", "[1, 2, 3]\n".to_owned()),
    ];
    for (what, body) in bodies {
        put(&scene, page, body);
        assert_eq!(scene.run(&["review"]).code, Some(3), "{what}");
        let run = run_file(&scene);
        let note = source(&run, "market");
        assert_eq!(note["state"], "failed", "{what}: {note}");
        assert!(note["reason"].as_str().unwrap().contains(page), "{what}: {note}");
        for pool in ["scout", "summit", "workhorse"] {
            for check in ["latest-model", "best-per-pool"] {
                let (verdict, reasons) = judged(&run, pool, check);
                assert!(verdict == "blocked" && reasons.contains("failed:market"), "{what}: {pool} {check} {verdict}");
            }
        }
    }
}

#[test]
fn reports_that_cannot_be_written_fail_the_run_in_one_line() {
    let scene = Scene::demo("reports-file");
    put(&scene, "reports", "a file of somebody\n");
    let before = tree(&scene.root);
    let ran = scene.run(&["review"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    one_line(&ran, &["reports"]);
    assert!(tree(&scene.root) == before);

    let settings = get(&scene, INSTRUCTIONS);
    put(&scene, INSTRUCTIONS, settings.replace("reports: reports", "reports: /proc/no-such-folder"));
    let ran = scene.run(&["review"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    one_line(&ran, &["/proc/no-such-folder"]);
}

#[test]
fn a_second_run_at_the_same_time_says_why_not() {
    let scene = Scene::demo("two-runs");
    assert_eq!(scene.run(&["review"]).code, Some(3));
    let before = tree(&scene.root);
    let lock = std::fs::File::open(scene.root.join("reports/.lock")).unwrap();
    lock.lock().unwrap();
    let ran = scene.run(&LATER);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    one_line(&ran, &["another run", "reports/.lock"]);
    assert!(tree(&scene.root) == before, "the second run wrote something");
    lock.unlock().unwrap();
    assert_eq!(scene.run(&LATER).code, Some(3));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scene = Scene::demo("pipe");
    let mut child = scene.command(&["review"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(3), ""));
}

#[test]
fn an_edited_line_of_the_ledger_is_named_and_left_alone() {
    let scene = Scene::demo("ledger-edited");
    assert_eq!(scene.run(&["review"]).code, Some(3));
    let edited = get(&scene, "reports/ledger.jsonl").replacen("\"verdict\":\"blocked\"", "\"verdict\":\"aligned\"", 2);
    let line = 1 + edited.lines().position(|line| line.contains("\"kind\":\"outcome\"")).unwrap();
    put(&scene, "reports/ledger.jsonl", &edited);
    let ran = scene.run(&LATER);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("reports/ledger.jsonl:") && ran.stderr.contains("was edited"),
        "{line}: {}",
        ran.stderr
    );
    assert!(get(&scene, "reports/ledger.jsonl").starts_with(&edited), "old bytes stay as they are");
}

#[test]
fn a_torn_line_of_the_ledger_is_moved_aside() {
    let scene = Scene::demo("ledger-torn");
    assert_eq!(scene.run(&["review"]).code, Some(3));
    let whole = get(&scene, "reports/ledger.jsonl");
    put(&scene, "reports/ledger.jsonl", format!("{whole}{{\"at\":\"2026-"));
    let ran = scene.run(&LATER);
    assert!(ran.code == Some(3) && ran.stderr.contains("ledger.jsonl"), "{ran:?}");
    assert!(get(&scene, "reports/ledger.jsonl").starts_with(&whole));
    assert_eq!(get(&scene, "reports/ledger.jsonl.torn").trim_end(), "{\"at\":\"2026-");
    assert_chain(&scene, "a torn line");
}

/// Asserts that every line of the ledger is part of its chain.
fn assert_chain(scene: &Scene, what: &str) {
    let (ledger, problems) = Ledger::read("ledger", &get(scene, "reports/ledger.jsonl"));
    assert!(problems.is_empty() && !ledger.events().is_empty(), "{what}: {problems:?}");
}

/// The reports of a workspace without what is outside the promise of equal bytes.
fn reports(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let all = tree(&scene.root.join("reports")).into_iter();
    all.filter(|(path, _)| !path.starts_with("cadence.jsonl") && path != ".lock" && path != "ledger.jsonl.torn")
        .collect()
}

/// The paths that are not the same in both.
fn differing(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let paths: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    paths.into_iter().filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

/// Starts a review and kills it as soon as `is_time` says so; whether it was still running then.
fn kill_when(scene: &Scene, is_time: impl Fn(&Path, Duration) -> bool) -> bool {
    let mut child = scene.command(&FIRST).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if is_time(&scene.root.join("reports"), started.elapsed()) {
            child.kill().unwrap();
            return child.wait().unwrap().code().is_none();
        }
    }
    false
}

/// Kills a run at some point, then runs again at the same instant and twelve hours later: bytes as if nothing had happened.
fn survives(
    scene: &Scene,
    wanted: &[BTreeMap<String, Vec<u8>>; 2],
    what: &str,
    is_time: impl Fn(&Path, Duration) -> bool,
) -> bool {
    let reset = || std::fs::remove_dir_all(scene.root.join("reports")).unwrap_or_default();
    reset();
    let was_killed = kill_when(scene, &is_time);
    assert_eq!(scene.run(&FIRST).code, Some(0), "{what}");
    assert_eq!(differing(&reports(scene), &wanted[0]), Vec::<String>::new(), "{what}: the same run again");
    assert_eq!(scene.run(&LATER).code, Some(0), "{what}");
    assert_eq!(differing(&reports(scene), &wanted[1]), Vec::<String>::new(), "{what}: the next run");
    assert_chain(scene, what);

    reset();
    kill_when(scene, &is_time);
    assert_eq!(scene.run(&LATER).code, Some(0), "{what}, and only the next run");
    assert_chain(scene, what);
    let log = get(scene, "reports/pool-composition-log.md");
    for run in [RUN, "20261130T000000Z"] {
        assert!(log.matches(&format!("<!-- pool-review v1 run={run} -->")).count() <= 1, "{what}: {run} twice");
    }
    assert!(!scene.root.join("reports/pending-section.md").exists(), "{what}");
    was_killed
}

#[test]
fn a_run_killed_at_any_point_is_finished_by_the_next() {
    let scene = Scene::new("killed");
    scene.copy("tests/golden/aligned/in", ".");
    scene.copy("tests/golden/structure/in", ".");
    assert_eq!(scene.run(&FIRST).code, Some(0));
    let first = reports(&scene);
    assert_eq!(scene.run(&LATER).code, Some(0));
    let wanted = [first, reports(&scene)];
    let marks = ["cadence.jsonl", "runs", "pending-section.md", "proposals", "ledger.jsonl", "pool-composition-log.md"];
    let mut killed = 0;
    for mark in marks {
        killed += usize::from(survives(&scene, &wanted, mark, |reports, _| reports.join(mark).exists()));
    }
    for millis in [0, 10, 20, 40, 60, 80] {
        let at = Duration::from_millis(millis);
        killed += usize::from(survives(&scene, &wanted, &format!("{millis} ms"), |_, elapsed| elapsed >= at));
    }
    assert!(killed >= 6, "{killed} of the runs were killed before they ended");
}
