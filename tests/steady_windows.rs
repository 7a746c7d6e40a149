//! An open window proposal over many runs: readings that hardly move leave it as it is, byte for byte; one that moves far
//! gives it a new revision (methods §18.2).
#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]
#![expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

/// One model on two homes.
const INSTRUCTIONS: &str = "---
data:
  quotas: quotas.json
homes:
  a: { providers: [anthropic], billing: flat }
  b: { providers: [github-copilot], billing: flat }
---

Our policy.
";

/// A pool whose members differ in their homes only.
const CONFIG: &str = r#"{ "model": "opencode-route/p", "experimental": { "model_routes": {
  "p": { "targets": ["anthropic/claude-sonnet-5-5", "github-copilot/claude-sonnet-5-5"] } } } }"#;

/// An instant as files write it.
fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A fresh workspace.
fn workspace(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("windows-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    for name in ["instructions", ".opencode"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("instructions/pool-composition-review.md"), INSTRUCTIONS).unwrap();
    std::fs::write(folder.join(".opencode/opencode.jsonc"), CONFIG).unwrap();
    folder
}

/// One review with these percentages used of two weekly windows that reset at one instant; the bytes of its only proposal.
fn review(folder: &Path, now: DateTime<Utc>, resets_at: DateTime<Utc>, used: [f64; 2]) -> String {
    let seen = written(now - TimeDelta::minutes(2));
    let home = |home: &str, used: f64| {
        json!({"home_id": home, "windows": [{"window_id": "weekly", "kind": "fixed", "scope": ["*"], "unit": "percent",
            "used_percent": used, "usage_known": true, "status": "ok", "window_seconds": 604_800,
            "resets_at": written(resets_at), "observed_at": seen}]})
    };
    let homes = [home("a", used[0]), home("b", used[1])];
    let document = json!({"schema": "quota-snapshot/1", "generated_at": seen, "homes": homes});
    std::fs::write(folder.join("quotas.json"), document.to_string()).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(["review", "--now", &written(now)])
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&ran.stderr));
    let files = std::fs::read_dir(folder.join("reports/proposals")).unwrap().map(|entry| entry.unwrap().path());
    let mut json: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    assert_eq!(json.len(), 1, "one proposal at {now}: {json:?}");
    std::fs::read_to_string(json.remove(0)).unwrap()
}

/// The price that a proposal takes off, with its interval.
fn relief(proposal: &str) -> [i64; 3] {
    let proposal: Value = serde_json::from_str(proposal).unwrap();
    let primary = proposal["expected"].as_array().unwrap().iter().find(|effect| effect["primary"] == true).unwrap();
    assert_eq!(primary["metric"], "window_price");
    ["lo90", "point", "hi90"].map(|key| primary[key].as_i64().unwrap())
}

#[test]
fn ten_runs_over_slowly_moving_readings_leave_an_open_window_proposal_as_it_is() {
    let folder = workspace("steady");
    let start: DateTime<Utc> = "2026-11-29T12:00:00Z".parse().unwrap();
    let resets_at = start + TimeDelta::hours(138);
    let first = review(&folder, start, resets_at, [60.0, 5.0]);
    let [lo, point, hi] = relief(&first);
    assert!((300_000..=point).contains(&lo) && (point..=1_000_000).contains(&hi) && lo < hi, "{lo} {point} {hi}");
    for run in 1..=10_u32 {
        let now = start + TimeDelta::hours(12 * i64::from(run));
        let used = [(60.0 + 12.0 * f64::from(run)).min(100.0), 5.0 + 3.0 * f64::from(run)];
        assert_eq!(review(&folder, now, resets_at, used), first, "run {run}");
    }
    let ledger = std::fs::read_to_string(folder.join("reports/ledger.jsonl")).unwrap();
    assert_eq!(ledger.matches("\"content_digest\"").count(), 1, "the ledger has nothing to learn after the first run");
}

#[test]
fn a_price_that_leaves_the_stored_interval_gives_a_new_revision() {
    let folder = workspace("moved");
    let start: DateTime<Utc> = "2026-11-29T12:00:00Z".parse().unwrap();
    let resets_at = start + TimeDelta::hours(138);
    let first = review(&folder, start, resets_at, [90.0, 5.0]);
    // Twelve hours later the equal is almost on pace: ρ = 0.23/42·126/0.77 = 0.90, its price 0.40, and the gap 0.60.
    let second = review(&folder, start + TimeDelta::hours(12), resets_at, [91.0, 23.0]);
    assert!(relief(&second)[1] < relief(&first)[0], "{:?} {:?}", relief(&first), relief(&second));
    let parsed: Value = serde_json::from_str(&second).unwrap();
    assert_eq!((&parsed["revision"], &parsed["baseline_state"]), (&json!(2), &json!("updated")));
}
