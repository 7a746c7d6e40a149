//! Files of the reports folder that somebody damaged, and runs that failed: what is wrong stands in the answer, with what to do.

use std::path::PathBuf;

use crate::say;
use crate::scratch::{at, fleet, is_done, put, review};

/// A fleet with two runs.
fn begun(name: &str) -> PathBuf {
    let workspace = fleet(name, 1, 1);
    for time in ["2026-11-30T00:00:00Z", "2026-11-30T12:00:00Z"] {
        assert!(is_done(review(&workspace, at(time), None).0), "{time}");
    }
    workspace
}

#[test]
fn a_damaged_run_file_is_named_with_its_place_and_what_to_do_and_status_goes_on() {
    let newest = "reports/runs/20261130T120000Z.json";
    let todo = "restore it from version control; if it is the newest run, `pool-review review --now 2026-11-30T12:00:00Z` writes it again";
    for (name, text, words) in [
        ("cut", "{\n  \"schema\": \"pool-re", ":2:20: EOF while parsing a string: the file was cut or edited; "),
        ("empty", "", ":1:0: EOF while parsing a value: the file was cut or edited; "),
        ("edited", "{\n  \"schema\" \"x\"\n}\n", ":2:12: expected `:`: the file was cut or edited; "),
        (
            "another",
            "{ \"schema\": \"pool-review.status/1\" }",
            ":1: it is not the run file of 20261130T120000Z (pool-review.run/1); ",
        ),
    ] {
        let workspace = begun(&format!("reports-{name}"));
        let whole = std::fs::read_to_string(workspace.join(newest)).unwrap();
        put(&workspace.join(newest), text);
        let expected = format!("{newest}{words}{todo}");
        let diff = say(&workspace, "2026-11-30T13:00:00Z", &["diff"]);
        assert_eq!((diff.code, diff.warnings), (1, vec![expected.clone()]), "{name}");
        let status = say(&workspace, "2026-11-30T13:00:00Z", &["status", "--check"]);
        assert_eq!(status.code, 1, "{name}");
        assert!(status.text.contains(&format!("problem: {expected}")), "{name}: {}", status.text);
        assert!(status.text.contains("next due 2026-12-01 00:00Z"), "{name}: it says the rest: {}", status.text);
        assert!(is_done(say(&workspace, "2026-11-30T13:05:00Z", &["review", "--now", "2026-11-30T12:00:00Z"]).code));
        assert_eq!(std::fs::read_to_string(workspace.join(newest)).unwrap(), whole, "{name}: as it was told");
        assert_eq!(say(&workspace, "2026-11-30T13:10:00Z", &["diff"]).code, 0);
    }
}

#[test]
fn a_source_that_failed_is_a_problem_for_a_monitor_with_its_reason() {
    let workspace = fleet("reports-source", 1, 0);
    let instructions = workspace.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&instructions).unwrap();
    put(&instructions, &text.replacen("issues:", "data:\n  catalogues: data/nowhere.json\nissues:", 1));
    assert_eq!(review(&workspace, at("2026-11-30T00:00:00Z"), None).0, 3, "what needs it is blocked");
    let status = say(&workspace, "2026-11-30T00:05:00Z", &["status", "--check"]);
    assert_eq!(status.code, 1);
    assert!(status.text.contains("problem: source catalogues failed: data/nowhere.json"), "{}", status.text);
    assert!(status.text.contains("mend the files of the failed sources"), "{}", status.text);
}

#[test]
fn a_run_that_failed_in_filing_issues_alone_says_so_in_status_and_in_the_next_section() {
    let workspace = begun("reports-filing");
    let reason = "issues not updated: the variable GITHUB_TOKEN (issues.token) is not set";
    for time in ["2026-12-01T00:00:00Z", "2026-12-01T12:00:00Z"] {
        let failed = say(&workspace, time, &["review", "--file-issues"]);
        assert!(failed.code == 1 && failed.warns(reason), "{:?}", failed.warnings);
    }
    let status = say(&workspace, "2026-12-01T12:05:00Z", &["status"]);
    let problem = format!("problem: failures in a row: 2; the last run ended with exit 1: {reason}");
    assert!(status.text.contains(&problem), "{}", status.text);
    assert_eq!(status.text.matches(reason).count(), 3, "behind both runs, too: {}", status.text);
    assert!(is_done(say(&workspace, "2026-12-02T00:00:00Z", &["review"]).code));
    let log = std::fs::read_to_string(workspace.join("reports/pool-composition-log.md")).unwrap();
    let line = format!("- run 20261201T120000Z of 2026-12-01 12:00Z failed with exit 1: {reason}");
    assert_eq!(log.matches(&line).count(), 1, "{log}");
    let whole = say(&workspace, "2026-12-02T00:05:00Z", &["status", "--check"]);
    assert_eq!(whole.code, 0, "{}", whole.text);
}
