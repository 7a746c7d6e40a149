//! The proposals of the demo's run: valid by schema, taken by real git, operations and patch saying the same, and once all
//! of them have landed the review asks for nothing more about the config.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "scratch workspaces; a test that cannot read its input has failed"
)]

#[path = "scene/binary.rs"]
mod binary;
#[path = "demo_page/run.rs"]
mod run_file;
mod scene;
#[path = "change_support/scratch.rs"]
mod scratch;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use pool_review::change::apply_ops;
use pool_review::vocabulary::ConfigFile;
use run_file::{findings, list, text};
use scene::Scene;
use scratch::Scratch;
use serde_json::Value;

/// The run of a workspace, and its proposals as written.
fn review(scene: &Scene) -> (Value, Vec<Value>) {
    let ran = scene.run(&["review", "--format", "json"]);
    assert!(matches!(ran.code, Some(0 | 3)) && ran.stderr.is_empty(), "{ran:?}");
    let run: Value = serde_json::from_str(&ran.stdout).unwrap();
    let read = |proposal: &Value| read_json(&scene.root.join("reports").join(text(proposal, "file")));
    let proposals = list(&run, "proposals").iter().map(read).collect();
    (run, proposals)
}

/// A JSON file.
fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap()
}

/// A schema of this repository.
fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas").join(name);
    jsonschema::validator_for(&read_json(&path)).unwrap()
}

/// A JSONC text as the router reads it.
fn parsed(text: &str) -> Value {
    parse_to_serde_value(text, &ParseOptions::default()).unwrap()
}

/// The file that a proposal changes, as it stands in a workspace.
fn target(scene: &Scene, proposal: &Value) -> ConfigFile {
    let path = text(&proposal["change"]["patch"], "path").to_owned();
    ConfigFile { text: std::fs::read_to_string(scene.root.join(&path)).unwrap(), path }
}

#[test]
fn run_file_and_proposals_follow_their_schemas() {
    let scene = Scene::demo("schemas");
    let (run, proposals) = review(&scene);
    assert!(proposals.len() >= 11, "{} proposals", proposals.len());
    for (schema, documents) in [(schema("run.v1.json"), vec![run]), (schema("proposal.v1.json"), proposals)] {
        for document in documents {
            let errors: Vec<_> =
                schema.iter_errors(&document).map(|e| format!("{} at {}", e, e.instance_path())).collect();
            assert!(errors.is_empty(), "{errors:#?}");
        }
    }
}

#[test]
fn git_takes_every_patch_and_it_says_what_the_operations_say() {
    let scene = Scene::demo("patches");
    let repository = Scratch::new("demo-patches");
    for proposal in review(&scene).1.iter().filter(|proposal| proposal["kind"] != "controlled_test") {
        let (change, title) = (&proposal["change"], text(proposal, "title"));
        let before = target(&scene, proposal);
        let beside = scene.root.join("reports/proposals").join(format!("{}.patch", text(proposal, "fingerprint")));
        assert_eq!(std::fs::read_to_string(beside).unwrap(), text(&change["patch"], "text"), "{title}: file and text");
        assert_eq!(text(&change["patch"], "blob"), before.blob(), "{title}: made for the file as it stands");
        let after = repository.apply(&before, text(&change["patch"], "text"));
        let result = ConfigFile { text: after.clone(), path: before.path.clone() };
        assert_eq!(result.blob(), text(&change["patch"], "result_blob"), "{title}: leads to the file it names");
        let document = apply_ops(&parsed(&before.text), list(change, "ops")).unwrap();
        assert_eq!(document, parsed(&after), "{title}: patch and operations part");
        let lost: Vec<_> = comments(&before.text).difference(&comments(&after)).cloned().collect();
        assert!(lost.is_empty() || text(proposal, "kind") == "retire_pool", "{title} loses {lost:?}");
    }
}

/// The comments of a JSONC text that stand on lines of their own.
fn comments(text: &str) -> BTreeSet<String> {
    text.lines().map(str::trim).filter(|line| line.starts_with("//")).map(str::to_owned).collect()
}

#[test]
fn landing_everything_leaves_nothing_new_to_propose() {
    let scene = Scene::demo("landed");
    git(&scene, &["init", "--quiet"]);
    let (_, proposals) = review(&scene);
    // A test changes no config: nothing of it lands.
    let is_test = |proposal: &&Value| text(proposal, "kind") == "controlled_test";
    let mut open: BTreeSet<String> =
        proposals.iter().filter(|p| !is_test(p)).map(|proposal| text(proposal, "fingerprint").to_owned()).collect();
    for _ in 0..3 {
        // A patch beside one that has landed may no longer fit; the next review makes it anew.
        open.retain(|fingerprint| !git(&scene, &["apply", &format!("reports/proposals/{fingerprint}.patch")]));
        std::fs::remove_dir_all(scene.root.join("reports")).unwrap();
        let (run, again) = review(&scene);
        let titles: Vec<_> = again
            .iter()
            .filter(|proposal| !is_test(proposal) && !open.contains(text(proposal, "fingerprint")))
            .map(|proposal| text(proposal, "title"))
            .collect();
        assert_eq!(titles, Vec::<&str>::new(), "proposed after the others have landed");
        if open.is_empty() {
            let faults =
                findings(&run).into_iter().filter(|(_, name, f)| *name == "structure" && !f["intent"].is_null());
            assert_eq!(faults.count(), 0, "no fault of the config that a change could mend is left");
            return;
        }
    }
    panic!("{open:?} never fit");
}

#[test]
fn a_window_of_the_new_lead_that_runs_dry_makes_the_way_back_due_and_a_fresh_one_ends_it() {
    let scene = Scene::demo("window-dry");
    git(&scene, &["init", "--quiet"]);
    let (_, proposals) = review(&scene);
    let moved = proposals.iter().find(|one| one["code"] == "lead_window_scarce").unwrap();
    assert_eq!(moved["rollback"]["trigger"]["rule"], "window_dry_1");
    assert!(git(&scene, &["apply", &format!("reports/proposals/{}.patch", text(moved, "fingerprint"))]));
    let at = |now: &str| {
        let ran = scene.run(&["--now", now, "review", "--format", "json"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
        let run: Value = serde_json::from_str(&ran.stdout).unwrap();
        let of = |standing: &&Value| standing["fingerprint"] == moved["fingerprint"];
        list(&run, "standings").iter().find(of).map(|standing| standing["rollback_due"].clone())
    };
    // The new lead draws on copilot-org, whose credits are counted by the month, until 2026-12-01 00:00Z.
    let folder = scene.root.join("data/evidence/quotas");
    let snapshot = std::fs::read_to_string(folder.join("2026-11-29T1155Z.json")).unwrap();
    let read_at = |stamp: &str, remaining: &str| {
        let (day, clock) = (&stamp[..10], format!("{}{}", &stamp[11..13], &stamp[14..16]));
        let shifted = snapshot.replace("2026-11-29T11:55:00Z", stamp).replace("\"remaining\": 17700", remaining);
        std::fs::write(folder.join(format!("{day}T{clock}Z.json")), shifted).unwrap();
    };
    assert_eq!(at("2026-11-29T18:00:00Z"), Some(Value::Null), "it has just landed");
    read_at("2026-11-30T05:55:00Z", "\"remaining\": 0");
    let due = at("2026-11-30T06:00:00Z").unwrap();
    assert_eq!(due["since"], "20261130T060000Z");
    let words = "the window copilot-org/monthly of the lead github-copilot/claude-opus-5.5#high has at most 0.0 % left and resets in 1080 \
                 minutes; due when dry for 60 minutes or longer";
    assert_eq!(due["words"], words, "18 hours to the reset");
    assert_eq!(at("2026-12-04T06:00:00Z").unwrap()["since"], "20261130T060000Z", "a stale reading ends nothing");
    read_at("2026-12-04T11:55:00Z", "\"remaining\": 30000");
    assert!(at("2026-12-04T12:00:00Z").is_none_or(|due| due.is_null()), "fresh credits");
}

/// Runs git in a workspace; whether it took what it was given.
fn git(scene: &Scene, args: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(&scene.root).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.output().unwrap().status.success()
}
