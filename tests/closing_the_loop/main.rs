//! Closing the loop with the binary: proposals land, rows come, and the ledger learns whether the claim came true.
#![expect(clippy::unwrap_used, reason = "a run that leaves nothing to look at is a failed test")]

#[path = "../scene/binary.rs"]
mod binary;
mod bounds;
mod fleet;
mod reviewer;
mod rollback;
#[expect(dead_code, reason = "other tests start from the demo")]
#[path = "../scene/mod.rs"]
mod scene;

use std::path::Path;

use fleet::{Fleet, LANDED, LEAD, OTHER, START, day};
use serde_json::{Value, json};

/// The window before.
const BEFORE: (&str, &str) = ("2026-11-14T12:00:00Z", "2026-11-28T11:00:00Z");
/// The members of the pool that is changed.
const MEMBERS: &[&str] = &["\"openai/gpt-6-sol\"", "\"anthropic/claude-sonnet-5-5\""];
/// The members of a pool that nobody touches.
const CALM: (&str, &[&str]) = ("calm", &["\"openai/gpt-6-sol\""]);

/// A schema of the repository.
fn is_valid(schema: &str, value: &Value) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas").join(schema);
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    true
}

/// A fleet in which a swap of the lead was proposed, applied with git and seen.
fn swapped(name: &str, controls: &[(&str, &[&str])]) -> (Fleet, Value) {
    let mut pools = vec![("workhorse", MEMBERS)];
    pools.extend(controls);
    let mut fleet = Fleet::new(name, &pools);
    fleet.add("workhorse", LEAD, BEFORE, (41, 60));
    fleet.add("workhorse", OTHER, BEFORE, (58, 60));
    for (pool, targets) in controls {
        // Rows of a member that does not lead argue for nothing.
        let by = if *targets == CALM.1 { LEAD } else { OTHER };
        fleet.add(pool, by, BEFORE, (96, 120));
    }
    fleet.review(START);
    let proposal = fleet.proposals("swap_lead").remove(0);
    fleet.land(&proposal);
    fleet.review(LANDED);
    let is_landed = |fact: &Value| fact["state"] == "landed" && fact["fingerprint"] == proposal["fingerprint"];
    assert!(fleet.events("proposal").iter().any(is_landed), "the landing is detected");
    assert!(fleet.events("verification").is_empty(), "what was only just seen is measured by the next review");
    (fleet, proposal)
}

/// Rows of the changed pool since the landing until a day, eight a day.
fn work(fleet: &mut Fleet, days: (i64, i64), good: u32) {
    let span = (&*day(days.0), &*day(days.1));
    let n = u32::try_from(days.1 - days.0).unwrap() * 8;
    fleet.add("workhorse", OTHER, span, (good, n));
    fleet.add("calm", LEAD, span, (n * 4 / 5, n));
}

#[test]
fn a_change_that_does_what_was_claimed_is_confirmed() {
    let (mut fleet, proposal) = swapped("confirmed", &[CALM]);
    assert_eq!(proposal["verification"]["rule"], "did_standard_1");
    let mixes = fleet.events("mixes");
    assert_eq!(mixes.len(), 1, "the mix is frozen once");
    let digest = proposal["expected"][0]["mix_digest"].as_str().unwrap();
    assert_eq!(mixes[0]["mixes"][digest], json!({ "code": 1_000_000 }));

    work(&mut fleet, (0, 4), 31);
    fleet.review(&day(4));
    assert_eq!(fleet.measured(), ("verifying".to_owned(), 112, 24), "three mature days are too few rows");
    assert_eq!(fleet.proposals("swap_lead")[0]["status"], "verifying");
    work(&mut fleet, (4, 10), 47);
    fleet.review(&day(10));
    assert_eq!(fleet.measured(), ("confirmed".to_owned(), 112, 72));
    let fact = fleet.events("verification").pop().unwrap();
    assert_eq!((&fact["rule"], &fact["controls"]), (&json!("did_standard_1"), &json!(["calm"])));
    assert_eq!(fact["claimed_point"], proposal["expected"][0]["point"]);

    // The same run again, and runs after it, say it no second time.
    let ledger = fleet.text("reports/ledger.jsonl");
    fleet.review(&day(10));
    assert_eq!(fleet.text("reports/ledger.jsonl"), ledger, "the same run again adds nothing");
    work(&mut fleet, (10, 12), 8);
    fleet.review(&day(12));
    assert_eq!(fleet.measured(), ("confirmed".to_owned(), 112, 72), "what is confirmed is measured no more");

    let confirmed = fleet.proposals("swap_lead").remove(0);
    assert_eq!(confirmed["status"], "confirmed");
    assert_eq!(confirmed["outcome"]["point"], fact["realised_point"]);
    assert!(is_valid("proposal.v1.json", &confirmed));
    let run = fleet.run_file(&day(10));
    assert!(is_valid("run.v1.json", &run));
    assert!(fleet.ledger().iter().all(|event| is_valid("ledger.v1.json", event)));
    assert_eq!((&run["calibration"]["n"], &run["calibration"]["ended"][0]["status"]), (&json!(1), &json!("confirmed")));
    let log = fleet.text("reports/log/2026-11.md") + &fleet.text("reports/pool-composition-log.md");
    assert!(log.contains("### Landed changes, measured") && log.contains("| did_standard_1 | confirmed |"), "{log}");
    assert!(log.contains("Calibration of our own claims: 100 % inside 90 %") && log.contains("n 1;"), "{log}");
    let page = fleet.text("reports/index.html");
    assert!(
        page.contains("id=\"calibration\"") && page.contains("1 inside the 90 % band")
            || page.contains("1 of 1 inside")
    );
}

#[test]
fn a_change_that_makes_it_worse_is_refuted_and_the_next_claims_are_smaller_and_wider() {
    let (mut fleet, _) = swapped("refuted", &[CALM]);
    work(&mut fleet, (0, 10), 50);
    fleet.review(&day(10));
    assert_eq!(fleet.measured().0, "refuted");
    let told = &fleet.run_file(&day(10))["calibration"];
    assert!(told["slope_used"].as_f64() < Some(0.6) && told["inflation"].as_f64() > Some(1.2), "{told:#}");
    assert_eq!((&told["skill"], &told["propose_bar"]), (&Value::Null, &json!(0.95)), "one change is no skill");
}

#[test]
fn what_settles_nothing_is_inconclusive_until_new_rows_come() {
    let (mut fleet, _) = swapped("inconclusive", &[CALM]);
    work(&mut fleet, (0, 10), 70);
    fleet.review(&day(10));
    assert_eq!(fleet.measured(), ("inconclusive".to_owned(), 112, 72));
    // Rows until the tenth day are mature a day later, and then no new ones come.
    fleet.review(&day(12));
    assert_eq!(fleet.measured(), ("inconclusive".to_owned(), 112, 80));
    let said = fleet.events("verification").len();
    fleet.review(&day(13));
    assert_eq!(fleet.events("verification").len(), said, "it sticks");
    assert_eq!(fleet.run_file(&day(13))["calibration"]["n"], 1, "it counts");
    work(&mut fleet, (13, 25), 96);
    fleet.review(&day(25));
    let (status, _, rows) = fleet.measured();
    assert!(rows > 80, "{status} {rows}");
    assert_eq!(status, "confirmed", "{:#}", fleet.events("verification").pop().unwrap());
}

#[test]
fn at_the_deadline_too_few_rows_settle_nothing() {
    let (mut fleet, _) = swapped("too-few", &[CALM]);
    fleet.add("workhorse", OTHER, (LANDED, &day(5)), (6, 6));
    fleet.add("calm", LEAD, (LANDED, &day(5)), (5, 6));
    fleet.review(&day(13));
    assert_eq!(fleet.measured(), ("verifying".to_owned(), 112, 6));
    fleet.review(&day(14));
    assert_eq!(fleet.measured(), ("inconclusive".to_owned(), 112, 6));
}

#[test]
fn before_and_after_alone_confirms_nothing() {
    let (mut fleet, proposal) = swapped("before-after", &[]);
    assert_eq!(proposal["verification"]["rule"], "before_after_1");
    fleet.add("workhorse", OTHER, (LANDED, &day(10)), (80, 80));
    fleet.review(&day(10));
    let fact = fleet.events("verification").pop().unwrap();
    let low = fact["realised_point"].as_f64().unwrap() - 1.645 * fact["realised_se"].as_f64().unwrap();
    assert!(low > 0.0, "it is plainly better: {fact:#}");
    assert_eq!((&fact["status"], &fact["rule"]), (&json!("inconclusive"), &json!("before_after_1")));
}

#[test]
fn a_control_that_somebody_changed_since_is_none() {
    let (mut fleet, proposal) = swapped("touched-control", &[CALM, ("still", CALM.1)]);
    assert_eq!(proposal["verification"]["controls"], json!(["calm", "still"]));
    work(&mut fleet, (0, 10), 78);
    fleet.add("still", LEAD, (LANDED, &day(10)), (64, 80));
    let text = fleet.text("opencode.jsonc");
    let at = text.find("\"calm\": {").unwrap();
    let changed = text[at..].replacen("\"openai/gpt-6-sol\"", "\"openai/gpt-6-sol#high\"", 1);
    fleet.write("opencode.jsonc", &format!("{}{changed}", &text[..at]));
    fleet.review(&day(10));
    let fact = fleet.events("verification").pop().unwrap();
    assert_eq!((&fact["controls"], &fact["status"]), (&json!(["still"]), &json!("confirmed")));
}

#[test]
fn a_pool_that_nests_the_changed_one_is_no_control() {
    let outer = ("outer", &["\"opencode-route/workhorse\""][..]);
    let (mut fleet, proposal) = swapped("nesting", &[CALM, outer]);
    assert_eq!(proposal["verification"]["controls"], json!(["calm", "outer"]));
    work(&mut fleet, (0, 10), 78);
    fleet.add("outer", OTHER, (LANDED, &day(10)), (79, 80));
    fleet.review(&day(10));
    assert_eq!(fleet.events("verification").pop().unwrap()["controls"], json!(["calm"]));
}

#[test]
fn a_fact_is_looked_at_and_confirmed() {
    let dead = "{ \"model\": \"openai/gpt-6-luna\", \"until\": 1794700800000 }"; // 2026-11-15, and it is still there
    let fleet = Fleet::new("structural", &[("workhorse", &[MEMBERS[0], MEMBERS[1], dead])]);
    fleet.review(START);
    let proposal = fleet.proposals("retire_member").remove(0);
    assert_eq!(proposal["verification"]["rule"], "structural_1");
    fleet.land(&proposal);
    fleet.review(LANDED);
    assert_eq!(fleet.proposals("retire_member")[0]["status"], "landed");
    fleet.review(&day(1));
    let fact = fleet.events("verification").pop().unwrap();
    assert_eq!((&fact["status"], &fact["realised_point"]), (&json!("confirmed"), &json!(1)));
    assert!(is_valid("proposal.v1.json", &fleet.proposals("retire_member")[0]));
    let told = &fleet.run_file(&day(1))["calibration"];
    assert_eq!((&told["n"], &told["ended"][0]["status"]), (&json!(0), &json!("confirmed")), "a fact is no forecast");
    fleet.review(&day(2));
    assert_eq!(fleet.events("verification").len(), 1);
}

#[test]
fn a_proposal_whose_file_was_edited_is_not_measured_and_the_run_says_so() {
    let (mut fleet, proposal) = swapped("edited", &[CALM]);
    work(&mut fleet, (0, 10), 78);
    let path = format!("reports/proposals/{}.json", proposal["fingerprint"].as_str().unwrap());
    let edited = fleet.text(&path).replace("\"point\": 2", "\"point\": 9");
    fleet.write(&path, &edited);
    fleet.review(&day(9));
    assert!(fleet.events("verification").is_empty());
    let ran = fleet.scene.run(&["--now", &day(10), "review"]);
    assert!(ran.stderr.contains("it cannot be measured"), "{}", ran.stderr);
    fleet.review(&day(14));
    let fact = fleet.events("verification").pop().unwrap();
    assert_eq!(
        (&fact["status"], &fact["realised_point"]),
        (&json!("inconclusive"), &Value::Null),
        "then it is given up"
    );
    assert_eq!(fleet.run_file(&day(14))["calibration"]["n"], 0);
    fleet.review(&day(15));
    assert_eq!(fleet.events("verification").len(), 1);
}

#[test]
fn a_test_is_measured_on_the_tasks_that_both_arms_did_since_it_was_accepted() {
    let mut fleet = Fleet::new("paired", &[("workhorse", MEMBERS), CALM]);
    fleet.add("workhorse", LEAD, BEFORE, (48, 60));
    fleet.add("workhorse", OTHER, BEFORE, (9, 10));
    fleet.review(START);
    let proposal = fleet.proposals("controlled_test").remove(0);
    assert_eq!(proposal["verification"]["rule"], "paired_standard_1");
    fleet.add_pairs("workhorse", "2026-11-29T20:00:00Z", &[(false, true); 10]);
    fleet.accept(&proposal, LANDED);
    fleet.review(&day(2));
    assert_eq!(fleet.measured(), ("verifying".to_owned(), 0, 0), "pairs from before the acceptance do not count");
    let under_way = fleet.proposals("controlled_test").remove(0);
    assert_eq!(under_way["status"], "verifying", "it stays while it is measured");
    let id = proposal["fingerprint"].as_str().unwrap();
    for (args, says) in [
        (&["patch", id][..], "is a test plan: it changes no config"),
        (&["patch", id, "--rollback"], "is a test plan: it changes no config"),
        (&["landed", id], "it is a test and changes no config"),
        (
            &["defer", id, "--reason", "no", "--until", "2027-01-31"],
            "`reject` or `rollback` stops it while it is under way",
        ),
    ] {
        let ran = fleet.scene.run(&[&["--now", &day(2), "proposals"], args].concat());
        assert!(ran.code == Some(1) && ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
    assert!(is_valid("proposal.v1.json", &under_way));
    let mut outcomes = vec![(true, true); 24];
    outcomes.extend(vec![(false, true); 12]);
    fleet.add_pairs("workhorse", &day(3), &outcomes);
    fleet.review(&day(5));
    let fact = fleet.events("verification").pop().unwrap();
    let says = if proposal["expected"][0]["direction"] == "decrease" { "confirmed" } else { "refuted" };
    assert_eq!((&fact["status"], &fact["rows"]), (&json!(says), &json!([36, 36])), "{fact:#}");
    assert_eq!(fleet.run_file(&day(5))["calibration"]["n"], 1);
}
