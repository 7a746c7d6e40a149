//! The reviewer, measured: what a history of claims does to the next one, whatever it was wrong about.

use pool_review::evidence::statistics::calibration::{MeasuredClaim, calibration};
use pool_review::history::{Fact, Ledger, Status, VerificationFact};
use serde_json::{Value, json};

use crate::fleet::{Fleet, LEAD, OTHER, START, at};
use crate::{BEFORE, CALM, MEMBERS, is_valid};

/// Whole numbers from 0 to 1, evenly spread, the same for the same seed.
struct Dice(u64);

impl Dice {
    /// The next one.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let roll = ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        roll
    }

    /// A standard normal number, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.roll().ln()).sqrt() * (std::f64::consts::TAU * self.roll()).cos()
    }
}

/// Twenty claims of an honest spread whose truth is `bias` of what is said, and `spread` times as far from it.
fn claims(dice: &mut Dice, bias: f64, spread: f64) -> Vec<MeasuredClaim> {
    (0..20)
        .map(|_| {
            let (expected, sd_claim, se_realised) = (1.0 + dice.roll(), 0.3, 0.2);
            let truth = bias * expected + spread * sd_claim * dice.normal();
            MeasuredClaim { expected, sd_claim, realised: truth + se_realised * dice.normal(), se_realised }
        })
        .collect()
}

/// Mean slope and inflation over many reviewers of one kind.
fn reviewers(bias: f64, spread: f64) -> (f64, f64) {
    let mut dice = Dice(20_261_129);
    let all: Vec<_> = (0..200).map(|_| calibration(&claims(&mut dice, bias, spread))).collect();
    let mean = |f: &dyn Fn(&pool_review::evidence::statistics::calibration::Calibration) -> f64| {
        all.iter().map(f).sum::<f64>() / 200.0
    };
    (mean(&|c| c.slope_used()), mean(&|c| c.inflation))
}

#[test]
fn a_reviewer_that_exaggerates_is_shrunk_one_that_is_too_sure_is_widened_and_an_honest_one_keeps_its_word() {
    let (slope, inflation) = reviewers(1.0, 1.0);
    assert!(slope > 0.95 && inflation < 1.1, "honest: {slope} {inflation}");
    let (slope, _) = reviewers(0.5, 1.0);
    assert!((0.48..0.62).contains(&slope), "half of what is said comes true: {slope}");
    let (slope, _) = reviewers(0.0, 1.0);
    assert!(slope < 0.1, "nothing of what is said comes true: {slope}");
    let (slope, inflation) = reviewers(1.0, 4.0);
    assert!(inflation > 2.0 && slope > 0.9, "four times as far off as it says: {slope} {inflation}");
    let (slope, _) = reviewers(2.0, 1.0);
    assert!((0.999..=1.0).contains(&slope), "a modest one is not rewarded: {slope}");
}

/// A fleet whose ledger holds measured changes of another pool: claimed and measured, in dollars.
fn with_history(name: &str, history: &[(f64, f64)]) -> Fleet {
    let mut fleet = Fleet::new(name, &[("workhorse", MEMBERS), CALM]);
    fleet.review("2026-11-29T00:00:00Z");
    #[expect(clippy::cast_possible_truncation, reason = "a few dollars in millionths")]
    let micros = |usd: f64| (usd * 1e6) as i64;
    let facts: Vec<Fact> = history
        .iter()
        .enumerate()
        .map(|(i, (claimed, realised))| {
            Fact::Verification(VerificationFact {
                fingerprint: format!("pcr1-{i:032x}"),
                revision: 1,
                landed_at: format!("2026-10-{:02}T00:00:00Z", i + 1),
                rule: "did_standard_1".to_owned(),
                status: if *realised > 0.0 { Status::Confirmed } else { Status::Refuted },
                metric: "loss_per_task".to_owned(),
                unit: "usd_micros".to_owned(),
                claimed_point: micros(*claimed),
                claimed_sd: micros(0.3),
                realised_point: Some(micros(*realised)),
                realised_se: Some(micros(0.2)),
                rows: (100, 100),
                controls: vec!["calm".to_owned()],
            })
        })
        .collect();
    let text = fleet.text("reports/ledger.jsonl");
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    let now = at("2026-11-29T06:00:00Z");
    let lines = ledger.chained("20261129T060000Z", now, &facts);
    fleet.write("reports/ledger.jsonl", &format!("{text}{}\n", lines.join("\n")));
    fleet.add("workhorse", LEAD, BEFORE, (41, 60));
    fleet.add("workhorse", OTHER, BEFORE, (58, 60));
    fleet.add("calm", LEAD, BEFORE, (96, 120));
    fleet
}

/// The primary effect of the only swap.
fn effect(fleet: &Fleet) -> Value {
    fleet.proposals("swap_lead").remove(0)["expected"][0].clone()
}

/// A whole number of JSON.
fn whole(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn claims_that_came_true_in_part_make_the_next_one_as_much_smaller_and_no_surer() {
    let plain = with_history("no-history", &[]);
    plain.review(START);
    let before = effect(&plain);
    let shrunk = with_history("in-part", &[(2.0, 1.5); 14]);
    shrunk.review(START);
    let after = effect(&shrunk);
    let told = shrunk.run_file(START)["calibration"].clone();
    let (slope, inflation) = (whole(&told["slope_used"]), whole(&told["inflation"]));
    assert!(slope < 0.8 && inflation > 1.2, "{told:#}");
    let close = |a: f64, b: f64| (a - b).abs() <= 2.0;
    assert!(close(whole(&after["point"]), slope * whole(&before["point"])), "{after:#}");
    let width = |effect: &Value| whole(&effect["hi90"]) - whole(&effect["lo90"]);
    assert!(close(width(&after), inflation * width(&before)), "{after:#}");
    assert!(after["claimed_probability_ppm"].as_u64() < before["claimed_probability_ppm"].as_u64());
    assert!(after["min_rows"].as_u64() > before["min_rows"].as_u64(), "a smaller effect takes more rows");
    assert_eq!(told["hit_rate"], json!(1.0));
    // Every one of them was better than nothing: the constant has no variance, and skill is unknown, not 0.
    assert_eq!((&told["skill"], &told["propose_bar"], &told["n"]), (&Value::Null, &json!(0.95), &json!(14)));
    assert!(
        plain.text("reports/pool-composition-log.md").contains("n 0; claims stand as they are; new claims at 0.950")
    );
}

#[test]
fn a_claim_that_is_shrunk_too_far_to_be_measured_is_held() {
    let shrunk = with_history("half-true", &[(2.0, 0.9); 14]);
    shrunk.review(START);
    let run = shrunk.run_file(START);
    let pools = run["pools"].as_array().unwrap();
    let workhorse = pools.iter().find(|pool| pool["id"] == "workhorse").unwrap();
    let findings =
        workhorse["checks"].as_array().unwrap().iter().flat_map(|check| check["findings"].as_array().unwrap());
    let found = findings.filter(|found| found["code"] == "lead_loses_on_sessions").collect::<Vec<_>>();
    assert_eq!(found[0]["verdict"], "misaligned", "what is seen is said all the same");
    let held = found[0]["held"].as_str().unwrap_or_default();
    assert!(held.contains("cannot be measured in 14 days"), "{:#}", found[0]);
}

#[test]
fn forecasts_that_are_worse_than_the_constant_raise_the_bar_and_say_so() {
    // Sure of a gain fourteen times, and wrong in half of them.
    let history: Vec<(f64, f64)> = (0..14).map(|i| (2.0, if i % 2 == 0 { 2.0 } else { -1.0 })).collect();
    let poor = with_history("poor-skill", &history);
    poor.review(START);
    let run = poor.run_file(START);
    let told = &run["calibration"];
    assert!(whole(&told["skill"]) < 0.0, "{told:#}");
    assert_eq!((&told["propose_bar"], &told["is_bar_raised"]), (&json!(0.975), &json!(true)));
    let section = poor.text("reports/pool-composition-log.md");
    assert!(section.contains("new claims at 0.975 (raised: the forecasts were worse than the constant hit rate)"));
    assert!(section.contains("< 97.5 %"), "the finding is held against the raised bar");
    assert!(is_valid("run.v1.json", &run));

    // Under twelve measured changes the bar stays.
    let few = with_history("few", &history[..11]);
    few.review(START);
    let told = &few.run_file(START)["calibration"];
    assert!(whole(&told["skill"]) < 0.0);
    assert_eq!((&told["propose_bar"], &told["is_bar_raised"]), (&json!(0.95), &json!(false)));

    let human = poor.scene.run(&["status", "--calibration"]);
    assert_eq!(human.code, Some(0), "{}", human.stderr);
    assert!(human.stdout.contains("n 14") && human.stdout.contains("2.000 ± 0.300 USD"), "{}", human.stdout);
    let machine = poor.scene.run(&["--format", "json", "status", "--calibration"]);
    let document: Value = serde_json::from_str(&machine.stdout).unwrap();
    assert!(is_valid("calibration.v1.json", &document));
    assert_eq!(document["calibration"]["changes"], told_changes(&poor));
    let none = Fleet::new("no-ledger", &[CALM]).scene.run(&["--format", "json", "status", "--calibration"]);
    let document: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!((&document["calibration"]["n"], &document["calibration"]["coverage_90"]), (&json!(0), &Value::Null));
}

/// The measured changes as the run file lists them.
fn told_changes(fleet: &Fleet) -> Value {
    fleet.run_file(START)["calibration"]["changes"].clone()
}
