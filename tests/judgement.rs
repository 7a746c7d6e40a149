//! The judgement of the binary over several runs: a better member is proposed and explained, its landing is noticed, nothing
//! flips back, and a lead that gets the hard work is not called a loser.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test writes into scratch folders of its own")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::change::apply_ops;
use serde_json::{Value, json};

/// Where the demo stands.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// An empty folder of this test run.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("judgement-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
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

/// A copy of the demo.
fn demo(name: &str) -> PathBuf {
    let folder = scratch(name);
    for part in ["data", "instructions"] {
        copy(&Path::new(ROOT).join(part), &folder.join(part));
    }
    folder
}

/// One review.
fn review(folder: &Path, now: &str) -> Output {
    let ran = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(["--now", now, "review"])
        .current_dir(folder)
        .env_clear()
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&ran.stderr));
    ran
}

/// The newest run file.
fn run(folder: &Path) -> Value {
    let runs = std::fs::read_dir(folder.join("reports/runs")).unwrap().map(|entry| entry.unwrap().path());
    let newest = runs.filter(|path| path.extension().is_some_and(|e| e == "json")).max().unwrap();
    serde_json::from_slice(&std::fs::read(newest).unwrap()).unwrap()
}

/// The findings of a check of a pool.
fn findings(run: &Value, pool: &str, check: &str) -> Vec<Value> {
    let pool = run["pools"].as_array().unwrap().iter().find(|one| one["id"] == pool).unwrap();
    let check = pool["checks"].as_array().unwrap().iter().find(|one| one["check"] == check).unwrap();
    check["findings"].as_array().unwrap().clone()
}

/// The open proposals by fingerprint.
fn proposals(folder: &Path) -> BTreeMap<String, Value> {
    let files = std::fs::read_dir(folder.join("reports/proposals")).unwrap().map(|entry| entry.unwrap().path());
    let json = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
    json.map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap())
        .map(|proposal| (proposal["fingerprint"].as_str().unwrap().to_owned(), proposal))
        .collect()
}

/// Lands every change that still applies, one after the other, and says which pools it touched.
fn land(folder: &Path, proposals: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for proposal in proposals.values().filter(|proposal| proposal["kind"] != "controlled_test") {
        let path = folder.join(proposal["change"]["target"].as_str().unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let file = pool_review::vocabulary::ConfigFile { path: "config".to_owned(), text };
        let document = pool_review::change::document(&file).unwrap();
        // Another change of the same pool may have landed before: this one is stale then, and the next review refreshes it.
        if let Ok(changed) = apply_ops(&document, proposal["change"]["ops"].as_array().unwrap()) {
            std::fs::write(&path, serde_json::to_string_pretty(&changed).unwrap()).unwrap();
            touched.insert(proposal["pool"].as_str().unwrap().to_owned());
        }
    }
    touched
}

#[test]
fn applying_a_run_and_reviewing_the_same_evidence_again_proposes_nothing_new_about_those_pools() {
    let folder = demo("flip-flop");
    review(&folder, "2026-11-29T12:00:00Z");
    let before = proposals(&folder);
    let touched = land(&folder, &before);
    assert!(touched.len() >= 5, "{touched:?}");
    review(&folder, "2026-11-29T12:30:00Z");
    let is_new = |fingerprint: &&String| !before.contains_key(*fingerprint);
    let after = proposals(&folder);
    let new: Vec<_> = after.keys().filter(is_new).map(|fingerprint| &after[fingerprint]["title"]).collect();
    assert!(new.is_empty(), "{new:?}");
}

/// Rows of two members of the demo's pool `workhorse`: member, class, successes, rows, minutes.
fn cards(rows: &[(&str, &str, &str, u32, u32, f64)], until: &str) -> String {
    let until: DateTime<Utc> = until.parse().unwrap();
    let mut text = String::from(
        "task_id,attempt,finished_at,pool,provider,model,home,task_class,outcome,basis,duration_s,input_tokens,cache_read_tokens,output_tokens\n",
    );
    for (provider, model, class, successes, n, minutes) in rows {
        for i in 0..*n {
            let at = until - TimeDelta::minutes(i64::from(i) * 14 * 24 * 60 / i64::from(*n));
            let failures = n - successes;
            let outcome = if (i + 1) * failures / n > i * failures / n { "failure" } else { "success" };
            writeln!(
                text,
                "{model}-{class}-{i}-{n},1,{},workhorse,{provider},{model},,{class},{outcome},check,{:.0},30000,120000,4000",
                at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
                minutes * 60.0
            )
            .unwrap();
        }
    }
    // One row that is too young to be scored keeps the source fresh.
    let fresh = (until + TimeDelta::hours(20)).to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    writeln!(text, "young,1,{fresh},workhorse,openai,gpt-6-sol,,implement,success,check,480,30000,120000,4000")
        .unwrap();
    text
}

/// The lead of `workhorse` and the member it is held against.
const LEAD: (&str, &str) = ("openai", "gpt-6-sol");
/// The alternative.
const OTHER: (&str, &str) = ("anthropic", "claude-sonnet-5-5");

/// The finding about that pair.
fn pair(run: &Value) -> Option<Value> {
    let found = findings(run, "workhorse", "best-per-pool").into_iter();
    found
        .filter(|f| f["code"] == "lead_loses_on_sessions")
        .find(|f| f["counterpart"].as_str().unwrap().contains(OTHER.1))
}

#[test]
fn a_better_member_takes_two_counted_looks_unless_it_is_plain_and_its_landing_is_noticed() {
    let folder = demo("looks");
    let at = |day: &str| format!("2026-11-{day}T12:00:00Z");
    let rows = |successes: u32, until: &str| {
        cards(&[(LEAD.0, LEAD.1, "implement", 41, 60, 8.0), (OTHER.0, OTHER.1, "implement", successes, 60, 8.0)], until)
    };
    let write = |text: &str| std::fs::write(folder.join("data/evidence/scorecards.csv"), text).unwrap();

    // Plain: 58 of 60 against 41 of 60 passes the bar of one look, and states what it will do.
    write(&rows(58, &at("28")));
    review(&folder, &at("29"));
    let found = pair(&run(&folder)).unwrap();
    assert_eq!(found["verdict"], "misaligned", "{found:#}");
    let swap = proposals(&folder).into_values().find(|p| p["kind"] == "swap_lead").unwrap();
    let primary: Vec<_> = swap["expected"].as_array().unwrap().iter().filter(|e| e["primary"] == true).collect();
    assert_eq!(primary.len(), 1);
    assert_eq!((&primary[0]["metric"], &primary[0]["unit"]), (&json!("loss_per_task"), &json!("usd_micros")));
    assert!(primary[0]["lo90"].as_i64() > Some(0) && primary[0]["horizon_days"].as_u64() <= Some(14));
    assert!(primary[0]["mix_digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(swap["bar"]["terms"].as_array().unwrap().iter().all(|term| term["pass"] == true));
    assert_eq!(swap["rollback"]["trigger"]["rule"], "below_floor_1");

    // It lands: the ledger says so, and the same evidence argues neither for it nor back.
    land(&folder, &BTreeMap::from([(String::new(), swap.clone())]));
    review(&folder, "2026-11-29T12:30:00Z");
    let ledger = std::fs::read_to_string(folder.join("reports/ledger.jsonl")).unwrap();
    assert!(ledger.contains("\"state\":\"landed\""), "the landing is in the ledger");
    let swaps = proposals(&folder).into_values().filter(|proposal| proposal["kind"] == "swap_lead");
    assert!(swaps.into_iter().all(|proposal| proposal["status"] == "landed"), "its file stays while it is measured");
}

#[test]
fn the_first_look_over_the_bar_is_watched_and_the_second_with_new_rows_is_proposed() {
    let folder = demo("second-look");
    let write = |lead: u32, other: u32, n: u32, until: &str| {
        let rows = [(LEAD.0, LEAD.1, "implement", lead, n, 8.0), (OTHER.0, OTHER.1, "implement", other, n, 8.0)];
        std::fs::write(folder.join("data/evidence/scorecards.csv"), cards(&rows, until)).unwrap();
    };
    write(42, 54, 60, "2026-11-28T11:00:00Z");
    review(&folder, "2026-11-29T12:00:00Z");
    let first = pair(&run(&folder)).unwrap();
    let p = first["measured"]["value"].as_f64().unwrap();
    assert!((0.95..0.99).contains(&p), "the rows are chosen to lie between the two bars: {p}");
    assert_eq!(first["verdict"], "watch", "{first:#}");
    assert!(first["why"].to_string().contains("first_look"));

    // The same rows again prove nothing.
    review(&folder, "2026-11-29T13:00:00Z");
    assert_eq!(pair(&run(&folder)).unwrap()["verdict"], "watch");

    // Half a day later with rows of another half day: the second counted look.
    write(44, 57, 63, "2026-11-29T00:00:00Z");
    review(&folder, "2026-11-30T00:00:00Z");
    let second = pair(&run(&folder)).unwrap();
    assert_eq!(second["verdict"], "misaligned", "{second:#}");
}

#[test]
fn a_lead_that_gets_the_hard_work_is_no_loser_and_both_rates_are_shown() {
    let folder = demo("simpson");
    let rows = [
        (LEAD.0, LEAD.1, "implement", 66, 100, 8.0),
        (LEAD.0, LEAD.1, "refactor", 20, 20, 8.0),
        (OTHER.0, OTHER.1, "implement", 12, 20, 8.0),
        (OTHER.0, OTHER.1, "refactor", 95, 100, 8.0),
    ];
    std::fs::write(folder.join("data/evidence/scorecards.csv"), cards(&rows, "2026-11-28T11:00:00Z")).unwrap();
    review(&folder, "2026-11-29T12:00:00Z");
    let run = run(&folder);
    // Raw 86 of 120 against 107 of 120, 17.5 points; in both classes the lead is the better one.
    let found = pair(&run);
    assert!(
        found.as_ref().is_none_or(|found| found["verdict"] != "misaligned" && found["verdict"] != "watch"),
        "{found:#?}"
    );
    let log = std::fs::read_to_string(folder.join("reports/pool-composition-log.md")).unwrap();
    assert!(log.contains("raw 86/120, standardised 8"), "raw and standardised stand side by side in the log");
    let why = found.map(|found| found["why"].to_string()).unwrap_or_default();
    assert!(why.contains("raw 86/120") && why.contains("raw 107/120") && why.contains("standardised"), "{why}");
    let pool = run["pools"].as_array().unwrap().iter().find(|pool| pool["id"] == "workhorse").unwrap();
    let best = pool["checks"].as_array().unwrap().iter().find(|check| check["check"] == "best-per-pool").unwrap();
    let rate = |what: &str, of: &str| {
        let numbers = best["numbers"].as_array().unwrap().iter();
        let mut of_member = numbers.filter(|n| n["what"] == what && n["of"].as_str().unwrap().contains(of));
        of_member.next().unwrap()["value"].as_f64().unwrap()
    };
    assert!(rate("raw success", LEAD.1) < rate("raw success", OTHER.1) - 0.15);
    assert!(rate("standardised success", LEAD.1) > rate("standardised success", OTHER.1));
}
