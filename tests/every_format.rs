//! Changes of every kind on every handed fleet, reviewed again by the binary; and proposals on files of every format that are
//! landed as a steward lands them, with git.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and what it writes is a scratch folder"
)]

#[path = "change_support/asks.rs"]
mod asks;
#[path = "change_support/handed.rs"]
mod handed;
#[path = "scene/mod.rs"]
#[expect(dead_code, reason = "the demo is not this test's fleet")]
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use asks::asks;
use handed::{files_under, shared};
use pool_review::change::{apply, document};
use pool_review::verdict::ProposalKind;
use pool_review::vocabulary::ConfigFile;
use scene::Scene;
use serde_json::Value;

/// The instruction file of a fleet with a file of every format.
const SETTINGS: &str = "---
policy: {plan_meaning: none, never: [{model: glm-5.3-air}, {model: gpt-6-astra}]}
config:
  opencode: .opencode/opencode.jsonc
  openchamber: routing.json
  omo: [.opencode/oh-my-openagent.jsonc]
  litellm: litellm.yaml
  ccr: ccr.json
---
Our policy.
";

/// Handed files and their places in the workspace.
const FILES: [(&str, &str); 5] = [
    ("opencode/opencode.jsonc", ".opencode/opencode.jsonc"),
    ("openchamber/routing.json", "routing.json"),
    ("omo/oh-my-openagent.jsonc", ".opencode/oh-my-openagent.jsonc"),
    ("litellm/config.yaml", "litellm.yaml"),
    ("ccr/config.json", "ccr.json"),
];

/// A workspace with a file of every format; `None` without the handed folder.
fn fleet(name: &str) -> Option<Scene> {
    let examples = shared()?.join("examples/pools");
    for path in files_under(&examples, "yaml").into_iter().chain(files_under(&examples, "jsonc")) {
        let known = path.strip_prefix(&examples).unwrap().to_str().unwrap();
        let is_broken = known.ends_with("bad-routes.jsonc"); // every route of it is wrong in one way
        assert!(is_broken || FILES.iter().any(|(from, _)| *from == known), "{known} has no place in the fleet");
    }
    let scene = Scene::new(name);
    for (from, to) in FILES {
        scene.copy(examples.join(from).to_str().unwrap(), to);
    }
    std::fs::write(scene.root.join("review.md"), SETTINGS).unwrap();
    Some(scene)
}

/// Runs a review at an hour of the review's day.
fn review(root: &Path, hour: u32) -> (Output, Value) {
    let now = format!("2026-10-20T{hour:02}:00:00Z");
    let args = ["review", "-i", "review.md", "--now", &now, "--format", "json"];
    let ran =
        Command::new(env!("CARGO_BIN_EXE_pool-review")).args(args).current_dir(root).env_clear().output().unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&ran.stderr));
    let report = serde_json::from_slice(&ran.stdout).unwrap();
    (ran, report)
}

/// Runs git in a workspace.
fn git(root: &Path, args: &[&str]) {
    let ran = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=steward", "-c", "user.email=steward@fleet.invalid", "-c", "core.autocrlf=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The ids of a report's pools that have a member.
fn pools_with_members(report: &Value) -> BTreeSet<String> {
    let pools = report["pools"].as_array().unwrap().iter();
    let filled = pools.filter(|pool| pool["members"].as_array().is_some_and(|members| !members.is_empty()));
    filled.map(|pool| pool["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_result_of_every_kind_of_change_is_accepted_when_it_is_reviewed() {
    let Some(scene) = fleet("kinds") else { return };
    let before = pools_with_members(&review(&scene.root, 0).1);
    let mut seen: BTreeSet<(String, ProposalKind)> = BTreeSet::new();
    for (_, path) in FILES {
        let text = std::fs::read_to_string(scene.root.join(path)).unwrap();
        let file = ConfigFile { path: path.to_owned(), text };
        for finding in asks(path, &document(&file).unwrap()) {
            let intent = finding.intent.as_ref().unwrap();
            if !seen.insert((path.to_owned(), intent.kind)) {
                continue;
            }
            let applied = apply(&file, &intent.edits).unwrap();
            std::fs::write(scene.root.join(path), &applied.text).unwrap();
            std::fs::remove_dir_all(scene.root.join("reports")).unwrap();
            let after = pools_with_members(&review(&scene.root, 0).1);
            let lost: Vec<&String> = before.difference(&after).collect();
            let is_its_own = |pool: &&&String| **pool == finding.pool.as_str() || pool.starts_with("openchamber:");
            let takes_out = matches!(intent.kind, ProposalKind::RetirePool | ProposalKind::RetireMember);
            let may_lose =
                |pool: &&&String| is_its_own(pool) && (takes_out || intent.kind == ProposalKind::RepointConsumer);
            assert!(
                lost.iter().all(|pool| may_lose(&pool)),
                "{path} {}: {lost:?}\n{}",
                intent.kind,
                applied.patch.text
            );
        }
        std::fs::write(scene.root.join(path), &file.text).unwrap();
    }
    let of = |path: &str| seen.iter().filter(|(known, _)| known == path).count();
    assert_eq!(FILES.map(|(_, path)| of(path)), [10, 1, 7, 6, 0], "kinds by file: {seen:?}");
}

/// The proposals that lie in a workspace: path of the config → fingerprints.
fn proposed(root: &Path) -> BTreeMap<String, Vec<(String, Value)>> {
    let mut found: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root.join("reports/proposals")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
        let value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let config = value["config"]["path"].as_str().unwrap().to_owned();
        found.entry(config).or_default().push((value["fingerprint"].as_str().unwrap().to_owned(), value));
    }
    found
}

#[test]
fn a_model_that_is_never_to_be_used_leaves_the_files_of_every_format_and_each_landing_is_seen() {
    let Some(scene) = fleet("landing") else { return };
    let root = &scene.root;
    git(root, &["init", "--quiet"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "--quiet", "-m", "before"]);
    review(root, 0);
    let proposals = proposed(root);
    for path in [".opencode/opencode.jsonc", ".opencode/oh-my-openagent.jsonc", "litellm.yaml"] {
        assert!(proposals.contains_key(path), "{path}: {:?}", proposals.keys());
    }
    let mut landed = BTreeSet::new();
    for (path, open) in &proposals {
        let (fingerprint, proposal) = &open[0];
        let patch = format!("reports/proposals/{fingerprint}.patch");
        git(root, &["apply", "--check", &patch]);
        git(root, &["apply", &patch]);
        let text = std::fs::read_to_string(root.join(path)).unwrap();
        let after = ConfigFile { path: path.clone(), text };
        assert_eq!(after.blob(), proposal["change"]["patch"]["result_blob"], "{path}");
        landed.insert(fingerprint.clone());
    }
    review(root, 12);
    let ledger = std::fs::read_to_string(root.join("reports/ledger.jsonl")).unwrap();
    let events = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let seen: BTreeSet<String> = events
        .filter(|event| event["data"]["state"] == "landed")
        .map(|event| event["data"]["fingerprint"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, landed);
    assert!(!ledger.contains("os.environ"), "no word of a key enters the ledger");
}
