//! The log was deleted, emptied, cut or edited between two runs: the ledger knows which sections there should be.

use std::path::{Path, PathBuf};

use crate::scratch::{at, fleet, is_done, put, review, sections, written};
use crate::{Said, say};

/// Instants of three runs, the last in another month.
const TIMES: [&str; 3] = ["2026-11-30T00:00:00Z", "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z"];
/// The running log.
const LOG: &str = "reports/pool-composition-log.md";

/// A fleet with two runs, and its log.
fn begun(name: &str) -> (PathBuf, String) {
    let workspace = fleet(name, 1, 1);
    for time in &TIMES[..2] {
        assert_eq!(review(&workspace, at(time), None), (0, Vec::new()), "{time}");
    }
    let log = std::fs::read_to_string(workspace.join(LOG)).unwrap();
    (workspace, log)
}

/// The third run.
fn third(workspace: &Path) -> Said {
    let said = say(workspace, TIMES[2], &["review"]);
    assert!(is_done(said.code), "{:?}", said.warnings);
    said
}

/// What `status` says after it.
fn status(workspace: &Path) -> Said {
    say(workspace, "2026-12-01T00:05:00Z", &["status", "--check"])
}

/// Where the second section begins.
fn second(log: &str) -> usize {
    log.find("<a id=\"run-20261130T120000Z\">").unwrap()
}

/// What is left of a log; `None` is no file.
type Damage = fn(&str) -> Option<String>;

#[test]
fn a_log_that_was_deleted_emptied_or_cut_is_named_by_the_review_its_section_and_status() {
    let both = "2 sections are missing (runs 20261130T000000Z to 20261130T120000Z)";
    let cases: [(&str, Damage, &str); 6] = [
        ("deleted", |_| None, both),
        ("emptied", |_| Some(String::new()), both),
        ("head", |log| Some(log[..log.find("<a id").unwrap()].to_owned()), both),
        ("cut", |log| Some(log[..second(log) + 400].to_owned()), "1 section is cut short (run 20261130T120000Z)"),
        ("first", |log| Some(log[second(log)..].to_owned()), "1 section is missing (run 20261130T000000Z)"),
        ("last", |log| Some(log[..second(log)].to_owned()), "1 section is missing (run 20261130T120000Z)"),
    ];
    for (name, damage, words) in cases {
        let (workspace, log) = begun(&format!("log-{name}"));
        let left = damage(&log);
        match &left {
            Some(text) => put(&workspace.join(LOG), text),
            None => std::fs::remove_file(workspace.join(LOG)).unwrap(),
        }
        let reviewed = third(&workspace);
        assert!(
            reviewed.warns(&format!("{LOG}: of the runs that the ledger knows, {words}: ")),
            "{:?}",
            reviewed.warnings
        );
        let told = status(&workspace);
        assert_eq!(told.code, 1, "{name}: a monitor sees it");
        assert!(told.text.contains(words), "{name}: {}", told.text);
        let all: String = written(&workspace.join("reports"))
            .into_iter()
            .filter(|(path, _)| path == "pool-composition-log.md" || path.starts_with("log/"))
            .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
            .collect();
        let left = left.unwrap_or_default();
        assert!(all.contains(left.trim_end()), "{name}: not a byte that was left is gone");
        let note = all.split("<a id=\"run-20261201T000000Z\">").nth(1).unwrap();
        assert!(note.contains("> **Sections are lost.** ") && note.contains(words), "{name}: {note}");
        assert!(sections(&workspace).values().all(|count| *count == 1), "{name}: none is doubled");
    }
}

#[test]
fn a_month_that_is_gone_is_missed_and_what_is_restored_is_missed_no_more() {
    let (workspace, log) = begun("log-month");
    assert_eq!(third(&workspace).warnings, [""; 0], "the finished month has its sections");
    let month = workspace.join("reports/log/2026-11.md");
    assert_eq!(std::fs::read_to_string(&month).unwrap(), log);
    std::fs::remove_file(&month).unwrap();
    let words = "2 sections are missing (runs 20261130T000000Z to 20261130T120000Z)";
    assert!(status(&workspace).text.contains(words), "before the next run, too");
    let fourth = say(&workspace, "2026-12-01T12:00:00Z", &["review"]);
    assert!(fourth.warns(words), "{:?}", fourth.warnings);
    let fifth = say(&workspace, "2026-12-02T00:00:00Z", &["review"]);
    assert!(fifth.warns(words), "as long as they are missing: {:?}", fifth.warnings);
    let running = std::fs::read_to_string(workspace.join(LOG)).unwrap();
    assert_eq!(running.matches("**Sections are lost.**").count(), 1, "one section says it");
    put(&month, &log);
    let mended = say(&workspace, "2026-12-02T12:00:00Z", &["review"]);
    assert!(is_done(mended.code) && mended.warnings.is_empty(), "{:?}", mended.warnings);
    let told = say(&workspace, "2026-12-02T12:05:00Z", &["status", "--check"]);
    assert_eq!(told.code, 0, "{}", told.text);
}

#[test]
fn a_log_with_notes_of_people_or_other_line_ends_has_lost_nothing() {
    for (name, edit) in [
        ("notes", &(|log: &str| log.replace("\n### ", "\nA note of ours.\n\n### ")) as &dyn Fn(&str) -> String),
        ("crlf", &|log| log.replace('\n', "\r\n")),
        ("before", &|log| format!("Our log.\n\n{log}")),
    ] {
        let (workspace, log) = begun(&format!("log-same-{name}"));
        put(&workspace.join(LOG), &edit(&log));
        assert_eq!(third(&workspace).warnings, [""; 0], "{name}");
        let files = [workspace.join("reports/log/2026-11.md"), workspace.join(LOG)];
        let text: String = files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        for run in ["20261130T000000Z", "20261130T120000Z", "20261201T000000Z"] {
            assert_eq!(text.matches(&format!("<a id=\"run-{run}\"></a>")).count(), 1, "{name}: {run}");
        }
    }
}

#[test]
fn the_section_of_a_killed_run_is_not_lost_but_to_come() {
    let (workspace, _) = begun("log-killed");
    let asked = std::cell::Cell::new(0);
    let path = workspace.join("reports/pool-composition-log.md");
    let steps: pool_review::store::Steps = {
        let path = path.canonicalize().unwrap();
        std::rc::Rc::new(move |_, at| {
            let name = at.file_name().unwrap().to_string_lossy().into_owned();
            asked.set(asked.get() + 1);
            let is_log = at == path || name.contains("pool-composition-log.md");
            if is_log { Err(std::io::Error::other("killed")) } else { Ok(()) }
        })
    };
    let (code, warnings) = review(&workspace, at("2026-11-30T13:00:00Z"), Some(steps));
    assert_eq!(code, 1, "{warnings:?}");
    let cadence = workspace.join("reports/cadence.jsonl");
    let text = std::fs::read_to_string(&cadence).unwrap();
    // A process that is killed writes no end.
    put(&cadence, &text.split_inclusive('\n').take(5).collect::<String>());
    let told = say(&workspace, "2026-11-30T13:05:00Z", &["status"]);
    assert!(!told.text.contains("missing ("), "{}", told.text);
    let next = third(&workspace);
    assert!(next.warns("run 20261130T130000Z was killed while it wrote; it is complete now"), "{:?}", next.warnings);
    assert!(!next.warns("missing (") && sections(&workspace).len() == 4, "{:?}", next.warnings);
}
