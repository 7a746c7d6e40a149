//! The literal window picture (quota §3.4, rule 4) raised by its setting: it is said, and it moves nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// One model on two homes, and the setting.
const INSTRUCTIONS: &str = "---
data:
  quotas: quotas.json
homes:
  a: { providers: [anthropic], billing: flat }
  b: { providers: [github-copilot], billing: flat }
windows:
  flag_literal_picture: FLAG
---

Our policy.
";

/// A pool whose members differ in their homes only.
const CONFIG: &str = r#"{ "model": "opencode-route/p", "experimental": { "model_routes": {
  "p": { "targets": ["anthropic/claude-sonnet-5-5", "github-copilot/claude-sonnet-5-5"] } } } }"#;

/// A five-hour window of a home at 12:00Z.
fn window(home: &str, used_percent: u32, resets_at: &str) -> Value {
    json!({"home_id": home, "windows": [{"window_id": "five_hour", "kind": "fixed", "scope": ["*"], "unit": "percent",
        "used_percent": used_percent, "usage_known": true, "status": "ok", "window_seconds": 18000,
        "resets_at": resets_at, "observed_at": "2026-11-29T11:58:00Z"}]})
}

/// The findings of best-per-pool, with the setting on or off.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn findings(flag: bool) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("literal-{flag}"));
    for name in ["instructions", ".opencode"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    let settings = INSTRUCTIONS.replace("FLAG", &flag.to_string());
    std::fs::write(folder.join("instructions/pool-composition-review.md"), settings).unwrap();
    std::fs::write(folder.join(".opencode/opencode.jsonc"), CONFIG).unwrap();
    // The lead resets in 18 minutes with half left; the equal has just begun.
    let homes = [window("a", 50, "2026-11-29T12:18:00Z"), window("b", 2, "2026-11-29T16:54:00Z")];
    let quotas = json!({"schema": "quota-snapshot/1", "generated_at": "2026-11-29T11:59:00Z", "homes": homes});
    std::fs::write(folder.join("quotas.json"), quotas.to_string()).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(["review", "--now", "2026-11-29T12:00:00Z", "--format", "json"])
        .current_dir(&folder)
        .env_clear()
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let checks = run["pools"][0]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == "best-per-pool").unwrap()["findings"].as_array().unwrap().clone()
}

/// The codes of some findings with their verdicts; the three picks, which every pool has, left out.
fn said(findings: &[Value]) -> Vec<(&str, Option<&str>)> {
    let said = findings.iter().map(|finding| (finding["code"].as_str().unwrap(), finding["verdict"].as_str()));
    said.filter(|(code, _)| *code != "three_picks").collect()
}

#[test]
fn the_literal_picture_alone_is_a_note_with_its_numbers() {
    assert_eq!(said(&findings(false)), [("literal_window_picture", None)]);
}

#[test]
fn raised_by_its_setting_it_is_misaligned_and_waits_for_no_proposal() {
    let findings = findings(true);
    assert_eq!(said(&findings), [("lead_window_scarce", Some("misaligned")), ("literal_window_picture", None)]);
    // The prices say the opposite: the lead's is about 0.07, the equal's 0.5. A reorder would forfeit half a window.
    assert!(findings[0]["measured"]["value"].as_f64().unwrap() < 0.0, "{}", findings[0]["measured"]);
    assert_eq!((&findings[0]["held"], &findings[0]["proposal"]), (&Value::Null, &Value::Null), "{}", findings[0]);
}
