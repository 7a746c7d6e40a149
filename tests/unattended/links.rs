//! Links whose target does not exist: a path that looks as if nothing were there says what is wrong, everywhere.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::scratch::{fleet, is_done, put};
use crate::{Said, say};

/// The clock.
const CLOCK: &str = "2026-11-30T00:00:00Z";

/// Puts a link that leads nowhere in the place of what may be there.
fn dangle(path: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/nowhere/at/all", path).unwrap();
}

/// Whether something says that the link leads nowhere.
fn is_said(said: &Said) -> bool {
    let words = "a link to /nowhere/at/all, which does not exist";
    said.warns(words) || said.text.contains(words)
}

#[test]
fn a_link_without_a_target_in_the_reports_folder_is_named_by_review_and_by_every_verb_that_looks_there() {
    for (name, path, verbs) in [
        ("reports", "reports", &[&["review"][..], &["status"], &["proposals", "list"], &["diff"]][..]),
        ("log", "reports/pool-composition-log.md", &[&["review"], &["status"]]),
        ("months", "reports/log", &[&["review"], &["status"]]),
        ("ledger", "reports/ledger.jsonl", &[&["review"], &["status"], &["proposals", "list"], &["doctor"]]),
        ("cadence", "reports/cadence.jsonl", &[&["review"], &["status"]]),
        ("runs", "reports/runs", &[&["diff"]]),
    ] {
        let workspace = fleet(&format!("links-{name}"), 1, 1);
        assert!(is_done(say(&workspace, "2026-11-29T12:00:00Z", &["review"]).code));
        dangle(&workspace.join(path));
        for args in verbs {
            let said = say(&workspace, CLOCK, args);
            assert!(is_said(&said), "{path} {args:?}: exit {} {:?}\n{}", said.code, said.warnings, said.text);
        }
        assert!(workspace.join(path).symlink_metadata().unwrap().is_symlink(), "{path}: it stays as it is");
    }
}

#[test]
fn a_workspace_instruction_file_config_or_source_that_is_such_a_link_is_named() {
    let workspace = fleet("links-inputs", 1, 0);
    let text = std::fs::read_to_string(workspace.join("instructions/pool-composition-review.md")).unwrap();
    let data = "data: { market: m.json, catalogues: c.json, speeds: s.csv, sessions: r.csv, quotas: q }\n";
    put(
        &workspace.join("instructions/pool-composition-review.md"),
        &text.replacen("---\n", &format!("---\n{data}"), 1),
    );
    for path in ["m.json", "c.json", "s.csv", "r.csv", "q"] {
        dangle(&workspace.join(path));
    }
    let said = say(&workspace, CLOCK, &["doctor"]);
    for path in ["m.json", "c.json", "s.csv", "r.csv", "q"] {
        let words = "is a link to /nowhere/at/all, which does not exist";
        let is_named = said.text.lines().any(|line| line.contains(path) && line.contains(words));
        assert!(is_named, "{path}: {}", said.text);
    }
    dangle(&workspace.join(".opencode/opencode.jsonc"));
    let config = say(&workspace, CLOCK, &["review"]);
    assert!(config.code == 2 && is_said(&config), "{:?}", config.warnings);
    dangle(&workspace.join(".opencode"));
    let behind = say(&workspace, CLOCK, &["review"]);
    assert!(behind.code == 2 && behind.warns("lies behind ") && is_said(&behind), "{:?}", behind.warnings);
    dangle(&workspace.join("instructions/pool-composition-review.md"));
    let instructions = say(&workspace, CLOCK, &["review"]);
    assert!(instructions.code == 2 && is_said(&instructions), "{:?}", instructions.warnings);
    dangle(&workspace);
    let gone = say(&workspace, CLOCK, &["review"]);
    assert!(gone.code == 2 && is_said(&gone), "{:?}", gone.warnings);
}
