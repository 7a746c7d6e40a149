//! A wrong time: once it stands in the ledger, every later run would be "older than" it.

use std::path::PathBuf;

use crate::say;
use crate::scratch::{at, fleet, is_done, put, review, sections, written};

/// The wall clock of these tests.
const CLOCK: &str = "2026-11-29T12:00:00Z";

/// A fleet with one run at the clock.
fn begun(name: &str) -> PathBuf {
    let workspace = fleet(name, 1, 1);
    assert!(is_done(review(&workspace, at(CLOCK), None).0));
    workspace
}

#[test]
fn a_mistyped_year_is_refused_before_anything_is_written_and_taken_when_it_is_meant() {
    let workspace = begun("clock-year");
    let before = written(&workspace.join("reports"));
    let ahead = ["--now", "2027-11-29T12:00:00Z"];
    for words in [&["review"][..], &["proposals", "accept", "R1", "--reason", "so"], &["proposals", "list"]] {
        let refused = say(&workspace, CLOCK, &[words, &ahead].concat());
        assert_eq!(refused.code, 2, "{words:?}: the argument is wrong");
        let words = "--now 2027-11-29T12:00:00Z lies 365 days ahead: the clock shows 2026-11-29T12:00:00Z and the last run is of \
                     2026-11-29T12:00:00Z; a run of that time would make every later one older than it";
        assert!(refused.warnings[0].starts_with(words), "{:?}", refused.warnings);
        assert!(refused.warnings[0].ends_with("--force-now takes it"), "{:?}", refused.warnings);
        assert_eq!(written(&workspace.join("reports")), before);
    }
    let forced = say(&workspace, CLOCK, &["review", "--now", "2027-11-29T12:00:00Z", "--force-now"]);
    assert!(is_done(forced.code), "{:?}", forced.warnings);
    assert!(sections(&workspace).contains_key("20271129T120000Z"));
}

#[test]
fn what_is_ahead_is_counted_from_the_later_of_clock_and_last_run() {
    let workspace = begun("clock-steps");
    // A plan for the spring, and from there on for the autumn: each lies less than 180 days ahead of the run before it.
    for now in ["2027-05-01T12:00:00Z", "2027-10-20T12:00:00Z"] {
        let said = say(&workspace, CLOCK, &["review", "--now", now]);
        assert!(is_done(said.code), "{now}: {:?}", said.warnings);
    }
    assert_eq!(say(&workspace, CLOCK, &["review", "--now", "2028-10-20T12:00:00Z"]).code, 2, "a year ahead of both");
}

#[test]
fn a_ledger_without_a_run_takes_any_year_that_somebody_may_mean() {
    let workspace = fleet("clock-first", 1, 0);
    let refused = say(&workspace, CLOCK, &["review", "--now", "2206-11-29T12:00:00Z"]);
    assert_eq!(refused.code, 2, "{:?}", refused.warnings);
    assert!(refused.warns("the clock shows 2026-11-29T12:00:00Z; a run of that time"), "{:?}", refused.warnings);
    assert!(!workspace.join("reports").exists(), "nothing was written");
    assert!(is_done(say(&workspace, CLOCK, &["review", "--now", "2029-11-29T12:00:00Z"]).code), "it spoils no past");
}

#[test]
fn a_run_before_the_newest_of_the_ledger_is_refused_with_the_way_out_and_added_to_history_when_forced() {
    let workspace = begun("clock-older");
    let before = written(&workspace.join("reports"));
    let older = ["review", "--now", "2026-11-01T12:00:00Z"];
    let refused = say(&workspace, "2026-11-29T13:00:00Z", &older);
    assert_eq!(refused.code, 1);
    for words in [
        "this run is of 2026-11-01T12:00:00Z, but the newest run in reports/ledger.jsonl is 20261129T120000Z, which is later: give a \
         later --now; --force-now adds it to history, and leaves what is open alone",
        "If 20261129T120000Z was given a wrong time, take it back first: restore reports from version control as it was before it",
    ] {
        assert!(refused.warns(words), "{:?}", refused.warnings);
    }
    assert_eq!(written(&workspace.join("reports")), before, "nothing was written, also no start in the cadence");
    let forced = say(&workspace, "2026-11-29T13:00:00Z", &[&older[..], &["--force-now"]].concat());
    assert!(is_done(forced.code) && forced.warns("proposals and issue plan were left alone"), "{:?}", forced.warnings);
    assert!(sections(&workspace).contains_key("20261101T120000Z"));
    let again = say(&workspace, "2026-11-29T14:00:00Z", &older);
    assert!(is_done(again.code) && again.warns("and known: nothing was written"), "{:?}", again.warnings);
}

#[test]
fn a_scheduled_run_behind_a_run_of_the_future_fails_visibly_and_is_mended_by_taking_that_run_back() {
    let workspace = begun("clock-poisoned");
    let kept = written(&workspace.join("reports"));
    let wrong = ["review", "--now", "2036-11-29T12:00:00Z", "--force-now"];
    assert!(is_done(say(&workspace, "2026-11-29T12:05:00Z", &wrong).code));
    let failed = say(&workspace, "2026-11-30T00:00:00Z", &["review"]);
    assert_eq!(failed.code, 1);
    assert!(failed.warns("wait until then, or say the time with --now"), "{:?}", failed.warnings);
    let status = say(&workspace, "2026-11-30T00:01:00Z", &["status", "--check"]);
    assert_eq!(status.code, 1);
    assert!(status.text.contains("failures in a row: 1"), "a monitor sees it: {}", status.text);
    std::fs::remove_dir_all(workspace.join("reports")).unwrap();
    for (name, bytes) in &kept {
        put(&workspace.join("reports").join(name), std::str::from_utf8(bytes).unwrap());
    }
    let mended = say(&workspace, "2026-11-30T00:05:00Z", &["review"]);
    assert!(is_done(mended.code), "{:?}", mended.warnings);
    assert_eq!(sections(&workspace).len(), 2, "the first run and this one");
}

#[test]
fn a_clock_that_is_set_back_by_seconds_ends_no_run() {
    let workspace = begun("clock-seconds");
    let said = say(&workspace, "2026-11-29T11:59:30Z", &["review"]);
    assert!(is_done(said.code) && said.warns("proposals and issue plan were left alone"), "{:?}", said.warnings);
}

#[test]
fn a_frozen_clock_is_never_held_against_the_machines_and_runs_twice() {
    let workspace = fleet("clock-frozen", 1, 1);
    let path = workspace.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&path).unwrap();
    put(&path, &text.replacen("---\n", "---\nfrozen_now: 2026-11-29T12:00:00Z\n", 1));
    for clock in ["2019-01-01T00:00:00Z", "2031-01-01T00:00:00Z"] {
        assert!(is_done(say(&workspace, clock, &["review"]).code), "{clock}");
    }
    assert_eq!(sections(&workspace).len(), 1);
    put(&path, &text.replacen("---\n", "---\nfrozen_now: 2026-11-01T12:00:00Z\n", 1));
    let refused = say(&workspace, "2031-01-01T00:00:00Z", &["review"]);
    assert_eq!(refused.code, 1);
    assert!(refused.warns("frozen_now in instructions/pool-composition-review.md says so"), "{:?}", refused.warnings);
}
