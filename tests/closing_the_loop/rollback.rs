//! Ways back: a lead that fails since it landed is said, with its numbers, until it does so no longer; a test is stopped.

use serde_json::{Value, json};

use crate::fleet::{Fleet, LANDED, LEAD, OTHER, START, day};
use crate::{BEFORE, CALM, MEMBERS, is_valid, swapped};

/// The trigger events so far: whether due, and the reading.
fn triggers(fleet: &Fleet) -> Vec<(bool, Value)> {
    let events = fleet.events("trigger").into_iter();
    events.map(|event| (event["is_due"].as_bool().unwrap(), event["reading"].clone())).collect()
}

/// What a verb prints.
fn prints(fleet: &Fleet, now: &str, args: &[&str]) -> String {
    let ran = fleet.scene.run(&[args, &["--now", now]].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.stdout
}

/// Rows of the new lead in the changed pool between two days, one every three hours.
fn rows(fleet: &mut Fleet, (from, until): (i64, i64), good: u32) {
    let n = u32::try_from(until - from).unwrap() * 8;
    fleet.add("workhorse", OTHER, (&day(from), &day(until)), (good, n));
    fleet.add("calm", LEAD, (&day(from), &day(until)), (n * 4 / 5, n));
}

#[test]
fn a_lead_that_fails_since_the_landing_makes_the_way_back_due_until_it_does_no_longer() {
    let (mut fleet, proposal) = swapped("rollback", &[CALM]);
    let trigger = &proposal["rollback"]["trigger"];
    assert_eq!(trigger["rule"], "below_floor_1");
    // 24 rows in three days, of which 7 are mature (a day old) by then: one fewer than the trigger asks for.
    rows(&mut fleet, (0, 3), 6);
    fleet.review("2026-12-01T22:00:00Z");
    assert_eq!(triggers(&fleet), [], "7 rows are fewer than 8");

    fleet.review(&day(4));
    let due = triggers(&fleet);
    assert_eq!(due.len(), 1);
    let (is_due, reading) = &due[0];
    assert!(*is_due);
    // 6 of 24: Beta(6.5, 18.5) lies below the floor of 0.65 with probability 0.999969 (by Simpson's rule on its density).
    let expected = json!({
        "rule": "below_floor_1", "lead": "anthropic/claude-sonnet-5-5", "floor_ppm": 650_000, "below_ppm": 999_969,
        "needed_ppm": 900_000, "rows_milli": 24_000, "needed_rows_milli": 8_000,
    });
    assert_eq!(reading, &expected);
    let ledger = fleet.text("reports/ledger.jsonl");
    fleet.review(&day(4));
    assert_eq!(fleet.text("reports/ledger.jsonl"), ledger, "the same run again adds nothing");

    let words = "success of the lead `anthropic/claude-sonnet-5-5` below the floor of";
    let log = fleet.text("reports/pool-composition-log.md");
    let plain = words.replace('`', "");
    assert!(
        log.contains(words) && log.contains("with probability 1.000, due from 0.900 on; 24.0 weighted rows"),
        "{log}"
    );
    let run = fleet.run_file(&day(4));
    assert!(is_valid("run.v1.json", &run));
    let standing = run["standings"].as_array().unwrap().iter().find(|one| !one["rollback_due"].is_null()).unwrap();
    assert_eq!(standing["rollback_due"]["since"], "20261204T000000Z");
    let page = fleet.text("reports/index.html");
    assert!(page.contains("rollback due since run"), "the page says it");
    let now = day(4);
    let terminal = prints(&fleet, &now, &["review"]);
    assert!(terminal.replace('\n', " ").contains("rollback due since run 20261204T000000Z"), "{terminal}");
    let status = prints(&fleet, &now, &["status"]);
    assert!(status.contains(&format!(" is due since run 20261204T000000Z: {plain}")), "{status}");
    assert!(status.contains("--rollback` prints the way back"), "{status}");
    let list = prints(&fleet, &now, &["proposals", "list"]);
    assert!(list.contains("ROLLBACK DUE since 20261204T000000Z"), "also without --all: {list}");
    for (verb, schema) in [("list", "proposals-list.v1.json"), ("show", "proposals-show.v1.json")] {
        let id: &[&str] = if verb == "show" { &[proposal["fingerprint"].as_str().unwrap()] } else { &[] };
        let text = prints(&fleet, &now, &[&["proposals", verb, "--format", "json"], id].concat());
        let document: Value = serde_json::from_str(&text).unwrap();
        assert!(is_valid(schema, &document) && text.contains("below_floor_1"), "{text}");
    }
    assert!(is_valid(
        "status.v1.json",
        &serde_json::from_str(&prints(&fleet, &now, &["status", "--format", "json"])).unwrap()
    ));

    fleet.review(&day(5));
    assert_eq!(triggers(&fleet).len(), 1, "it is no news that it is still due");
    assert_eq!(fleet.run_file(&day(5))["standings"][0]["rollback_due"]["since"], "20261204T000000Z");
    rows(&mut fleet, (5, 30), 200);
    fleet.review(&day(30));
    let ended = triggers(&fleet).pop().unwrap();
    assert_eq!((ended.0, triggers(&fleet).len()), (false, 2), "{ended:?}");
    assert!(!prints(&fleet, &day(30), &["proposals", "list", "--all"]).contains("ROLLBACK DUE"));
    assert!(fleet.ledger().iter().all(|event| is_valid("ledger.v1.json", event)));
}

#[test]
fn a_change_that_is_taken_back_is_due_no_longer() {
    let (mut fleet, proposal) = swapped("rollback-taken", &[CALM]);
    rows(&mut fleet, (0, 3), 6);
    fleet.review(&day(4));
    let id = proposal["fingerprint"].as_str().unwrap().to_owned();
    let shown = prints(&fleet, &day(4), &["proposals", "show", &id]);
    assert!(shown.contains("rollback     ROLLBACK DUE since run 20261204T000000Z: success of the lead"), "{shown}");
    fleet.take_back(&id, &day(4));
    fleet.review(&day(5));
    assert_eq!(fleet.events("proposal").pop().unwrap()["state"], "rolled_back");
    let run = fleet.run_file(&day(5));
    assert!(run["standings"].as_array().unwrap().iter().all(|one| one["rollback_due"].is_null()), "{run:#}");
    let shown = prints(&fleet, &day(5), &["proposals", "show", &id]);
    assert!(!shown.contains("ROLLBACK DUE"), "{shown}");
}

#[test]
fn show_says_when_and_by_which_rows_a_claim_is_was_or_will_be_verified() {
    let (mut fleet, proposal) = swapped("shown", &[CALM]);
    let id = proposal["fingerprint"].as_str().unwrap().to_owned();
    let line = |fleet: &Fleet, now: &str| {
        let shown = prints(fleet, now, &["proposals", "show", &id]);
        let line = shown.lines().find_map(|line| line.strip_prefix("verification ")).unwrap();
        line.to_owned()
    };
    let (rows_needed, days) = (&proposal["verification"]["min_rows"], &proposal["verification"]["deadline_days"]);
    let planned = format!(
        "to come, in force since 2026-11-30T00:00:00Z: did_standard_1, loss_per_task on {rows_needed} rows or after {days} days"
    );
    assert_eq!(line(&fleet, &day(0)), planned);
    rows(&mut fleet, (0, 4), 31);
    fleet.review(&day(4));
    let under_way = line(&fleet, &day(4));
    let begins = "under way since 2026-11-30T00:00:00Z, looked at 2026-12-04T00:00:00Z, by did_standard_1: claimed ";
    assert!(under_way.starts_with(begins), "{under_way}");
    assert!(under_way.ends_with("; 112 rows before and 24 after, against calm"), "{under_way}");
    rows(&mut fleet, (4, 10), 47);
    fleet.review(&day(10));
    let ended = line(&fleet, &day(10));
    assert!(
        ended.starts_with("confirmed at 2026-12-10T00:00:00Z, in force since 2026-11-30T00:00:00Z, by did_standard_1"),
        "{ended}"
    );
    assert!(
        ended.contains(" USD of loss_per_task, found ")
            && ended.ends_with("; 112 rows before and 72 after, against calm"),
        "{ended}"
    );
}

/// A fleet whose test was accepted, with rows that do not settle it yet; the test's fingerprint.
fn testing(name: &str) -> (Fleet, String) {
    let mut fleet = Fleet::new(name, &[("workhorse", MEMBERS), CALM]);
    fleet.add("workhorse", LEAD, BEFORE, (48, 60));
    fleet.add("workhorse", OTHER, BEFORE, (9, 10));
    fleet.review(START);
    let proposal = fleet.proposals("controlled_test").remove(0);
    fleet.accept(&proposal, LANDED);
    fleet.add_pairs("workhorse", &day(1), &[(true, true), (false, true), (true, true)]);
    fleet.review(&day(3));
    assert_eq!(fleet.measured(), ("verifying".to_owned(), 3, 3));
    (fleet, proposal["fingerprint"].as_str().unwrap().to_owned())
}

#[test]
fn a_steward_stops_a_test_under_way_and_its_rows_stay_evidence_without_an_outcome() {
    let told = "the test is stopped; no config had changed, its rows stay evidence of both models like any others, and the comparison ends \
                without an outcome and does not count for calibration; ";
    for (decision, status, then) in [
        ("reject", "rejected", "rejected; it comes back only when its effect grows beyond the claimed interval"),
        ("rollback", "rolled_back", "a review that still argues it proposes it again"),
    ] {
        let (mut fleet, id) = testing(&format!("stopped-{decision}"));
        let said = prints(&fleet, &day(3), &["proposals", decision, &id, "--reason", "too dear"]);
        assert!(said.contains(&format!(": {told}{then}")), "{said}");
        let listed: Value =
            serde_json::from_str(&prints(&fleet, &day(3), &["proposals", "list", "--all", "--format", "json"]))
                .unwrap();
        let row = listed["proposals"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["fingerprint"] == id.as_str())
            .unwrap()
            .clone();
        assert_eq!(row["status"], status);
        let shown = prints(&fleet, &day(3), &["proposals", "show", &id]);
        assert!(
            shown.contains("verification stopped without an outcome, in force since 2026-11-30T00:00:00Z"),
            "{shown}"
        );
        let again = fleet.scene.run(&["--now", &day(3), "proposals", "rollback", &id]);
        assert!(
            again.code == Some(1) && again.stderr.contains("not under way: there is nothing to stop"),
            "{}",
            again.stderr
        );

        // Rows that would have settled it come in; nothing is measured of a test that was stopped.
        let before = fleet.events("verification").len();
        fleet.add_pairs("workhorse", &day(4), &[(false, true); 30]);
        fleet.review(&day(6));
        assert_eq!(fleet.events("verification").len(), before, "{decision}");
        let run = fleet.run_file(&day(6));
        assert_eq!(run["calibration"]["n"], 0);
        let open = run["proposals"].as_array().unwrap().iter().any(|one| one["fingerprint"] == id.as_str());
        assert!(decision == "rollback" || !open, "what was rejected sleeps");
        let pool = run["pools"].as_array().unwrap().iter().find(|pool| pool["id"] == "workhorse").unwrap().to_string();
        assert!(pool.contains("/43"), "its rows count like any others: {pool}");
        assert!(fleet.ledger().iter().all(|event| is_valid("ledger.v1.json", event)));
        for proposal in fleet.proposals("controlled_test") {
            assert!(is_valid("proposal.v1.json", &proposal));
        }
    }
}
