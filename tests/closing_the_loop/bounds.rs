//! What an aligned verdict says could still be gained, held against what somebody else's change did.

use serde_json::json;

use crate::fleet::{Fleet, LANDED, START, day};
use crate::{BEFORE, is_valid};

/// The lead of the pool.
const LUNA: (&str, &str) = ("openai", "gpt-6-luna");
/// The other member.
const FLASH: (&str, &str) = ("google", "gemini-3.5-flash-lite");

/// The config: the pool with its members in an order, and one that nobody touches.
fn config(first: &str, second: &str) -> String {
    format!(
        "{{\n  \"model\": \"opencode-route/scout\",\n  \"small_model\": \"opencode-route/calm\",\n  \"experimental\": {{\n    \"model_routes\": {{\n      \
         \"scout\": {{ \"targets\": [\"{first}\", \"{second}\"] }},\n      \"calm\": {{ \"targets\": [\"openai/gpt-6-luna#low\"] }}\n    }}\n  }}\n}}\n"
    )
}

/// A fleet whose pool was aligned when somebody else turned its order round, with so many good rows out of 200 since.
fn turned_round(name: &str, good: u32) -> Fleet {
    let (luna, flash) = ("openai/gpt-6-luna#low", "google/gemini-3.5-flash-lite");
    let mut fleet = Fleet::aligned(name, &config(luna, flash));
    fleet.add("scout", LUNA, BEFORE, (170, 200));
    fleet.add("scout", FLASH, BEFORE, (50, 80));
    fleet.add("calm", LUNA, BEFORE, (160, 200));
    fleet.review(START);
    let bounds = fleet.events("bounds");
    assert_eq!(bounds[0]["bounds"][0]["pool"], "scout", "the pool is aligned, and the bound is kept");
    assert!(bounds[0]["bounds"][0]["regret_usd_micros"].as_u64().is_some());
    assert_eq!(fleet.run_file(START)["calibration"]["bounds"], json!([]));
    fleet.write("fleet/opencode.jsonc", &config(flash, luna));
    fleet.review(LANDED);
    assert!(fleet.events("bound_check").is_empty());
    let gone = fleet.events("bounds").pop().unwrap();
    assert_eq!(gone["bounds"][0]["regret_usd_micros"], json!(null), "the pool is aligned no longer");
    fleet.add("scout", FLASH, (LANDED, &day(8)), (good, 200));
    fleet.add("calm", LUNA, (LANDED, &day(8)), (160, 200));
    fleet.review(&day(1));
    assert_eq!(fleet.events("bound_check")[0]["outcome"], "pending");
    fleet.review(&day(9));
    fleet
}

#[test]
fn a_change_that_gains_more_than_an_aligned_verdict_allowed_is_a_miss_of_the_verdict() {
    let fleet = turned_round("missed", 199);
    let check = fleet.events("bound_check").pop().unwrap();
    assert_eq!(check["outcome"], "missed", "{check:#}");
    assert!(check["realised_point"].as_u64() > check["allowed_usd_micros"].as_u64());
    assert!(fleet.ledger().iter().all(|event| is_valid("ledger.v1.json", event)));
    let told = &fleet.run_file(&day(9))["calibration"];
    assert_eq!(
        (&told["bounds"][0]["outcome"], &told["n"]),
        (&json!("missed"), &json!(0)),
        "it is no forecast of an effect"
    );
    let log = fleet.text("reports/pool-composition-log.md");
    assert!(
        log.contains("of 1 aligned verdicts that somebody else's change put to the test 0 held, 1 missed"),
        "{log}"
    );
    fleet.review(&day(12));
    assert_eq!(fleet.events("bound_check").pop().unwrap(), check, "what is settled is settled");
}

#[test]
fn a_change_that_gains_nothing_leaves_the_verdict_standing() {
    let fleet = turned_round("held", 124);
    let check = fleet.events("bound_check").pop().unwrap();
    assert_eq!(check["outcome"], "held", "{check:#}");
}
