//! Everything that a review or a verb of `proposals` writes holds its frozen schema.

use std::collections::BTreeMap;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::fleet::{Fleet, one_o_clock};
use crate::{DEAD, IDLE};

/// The schema of a name.
fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas").join(format!("{name}.v1.json"));
    jsonschema::draft202012::new(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).unwrap()
}

/// Fails with every complaint.
fn assert_holds(schema: &Validator, what: &str, value: &Value) {
    let complaints: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(complaints.is_empty(), "{what}: {complaints:#?}\n{value:#}");
}

/// Every file of the fleet's reports in a folder with this ending: name → text.
fn files(fleet: &Fleet, folder: &str, ending: &str) -> BTreeMap<String, String> {
    let entries =
        std::fs::read_dir(fleet.root.join("reports").join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.filter(|path| path.to_str().unwrap().ends_with(ending));
    named.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect()
}

/// Holds everything in the reports folder against its schema; how many values there were.
fn assert_all(fleet: &Fleet) -> usize {
    let (run, proposal, ledger) = (schema("run"), schema("proposal"), schema("ledger"));
    let mut count = 0;
    let mut check = |schema: &Validator, what: &str, text: &str| {
        assert_holds(schema, what, &serde_json::from_str(text).unwrap());
        count += 1;
    };
    for (name, text) in files(fleet, "runs", ".json") {
        check(&run, &name, &text);
    }
    for (name, text) in files(fleet, "proposals", ".json") {
        check(&proposal, &name, &text);
    }
    for line in fleet.text("reports/ledger.jsonl").lines() {
        check(&ledger, "ledger", line);
    }
    count
}

#[test]
fn every_file_and_every_answer_of_every_stage_of_a_life_holds_its_schema() {
    let fleet = Fleet::new("schemas");
    let (list, show, patch, decided) =
        (schema("proposals-list"), schema("proposals-show"), schema("proposals-patch"), schema("proposals-decided"));
    assert_holds(&list, "an empty list", &fleet.proposals(9, &["list"]));
    fleet.review(10);
    let id = |pool: &str, code: &str| fleet.row(10, pool, code)["fingerprint"].as_str().unwrap().to_owned();
    let (first, second, idle) = (id("first", DEAD), id("second", DEAD), id("idle", IDLE));
    let mut seen = assert_all(&fleet);
    for words in [
        vec!["accept", &first, "--reason", "good"],
        vec!["reject", &second, "--reason", "no", "--until", "2026-12-24"],
        vec!["defer", &idle, "--reason", "later", "--until", "2026-12-01", "--unless", "config_changes"],
        vec!["landed", &first],
    ] {
        assert_holds(&decided, words[0], &fleet.proposals(10, &words));
    }
    assert_holds(&patch, "patch", &fleet.proposals(10, &["patch", &first]));
    seen += assert_all(&fleet);
    fleet.review(11);
    seen += assert_all(&fleet);
    fleet.put("p.patch", &fleet.run(&one_o_clock(11), &["proposals", "patch", &first]).stdout);
    fleet.sh("git apply p.patch");
    fleet.review(12);
    seen += assert_all(&fleet);
    assert_holds(&decided, "rollback", &fleet.proposals(12, &["rollback", &first]));
    assert_holds(&patch, "rollback patch", &fleet.proposals(12, &["patch", &first, "--rollback"]));
    assert_holds(&list, "list", &fleet.proposals(12, &["list", "--all"]));
    for one in [&first, &second, &idle] {
        let shown = fleet.proposals(12, &["show", one]);
        assert_holds(&show, "show", &shown);
        assert_holds(&schema("proposal"), "the file in it", &shown["proposal"]);
    }
    fleet.sh("git apply -R p.patch");
    fleet.review(13);
    seen += assert_all(&fleet);
    assert!(seen > 100, "{seen} values were held against a schema");
}

#[test]
fn the_ledgers_of_all_golden_folders_hold_the_schema() {
    let ledger = schema("ledger");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut lines = 0;
    for folder in std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(text) = std::fs::read_to_string(folder.join("expected/files/reports/ledger.jsonl")) else { continue };
        for line in text.lines().filter(|line| line.starts_with('{')) {
            assert_holds(&ledger, &folder.display().to_string(), &serde_json::from_str(line).unwrap());
            lines += 1;
        }
    }
    assert!(lines > 50, "{lines} lines");
}

#[test]
fn the_decision_schema_takes_what_the_program_takes_and_refuses_what_it_refuses() {
    let decision = schema("decision");
    let kit = pool_review::outputs::steward::KIT;
    let example = kit.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    assert_holds(&decision, "the kit's example", &example);
    for (change, is_taken) in [
        (json!({ "decision": "defer", "until": "2026-12-24" }), true),
        (json!({ "decision": "reject", "unless": "config_changes" }), true),
        (json!({ "decision": "reject", "until": "2026-12-24T06:00:00Z", "unless": "never" }), true),
        (json!({ "decision": "landed", "revision": null }), true),
        (json!({ "decision": "defer" }), false),
        (json!({ "decision": "accept", "unless": "never" }), false),
        (json!({ "decision": "accept", "until": "2026-12-24" }), false),
        (json!({ "reason": "" }), false),
        (json!({ "extra": 1 }), false),
        (json!({ "unless": "someday", "decision": "reject" }), false),
        (json!({ "schema": "pool-review.decision/2" }), false),
    ] {
        let mut value = example.clone();
        value.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert_eq!(decision.is_valid(&value), is_taken, "{change}");
    }
}
