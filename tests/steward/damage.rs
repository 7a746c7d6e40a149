//! A ledger that somebody damaged: every damage is said with file and line, copied aside, and costs no more than what is gone.

use serde_json::Value;

use crate::fleet::{Fleet, noon, one_o_clock};
use crate::{DEAD, IDLE};

/// The ledger.
const LEDGER: &str = "reports/ledger.jsonl";
/// Copies of lines that are not used.
const QUARANTINE: &str = "reports/ledger.jsonl.quarantine";

/// A fleet after two reviews and two decisions.
fn decided(name: &str) -> Fleet {
    let fleet = Fleet::new(name);
    fleet.review(20);
    for (pool, code, words) in [("first", DEAD, "never"), ("idle", IDLE, "config_changes")] {
        let id = fleet.row(20, pool, code)["fingerprint"].as_str().unwrap().to_owned();
        fleet.proposals(20, &["reject", &id, "--reason", "we know", "--unless", words]);
    }
    fleet.review(21);
    fleet
}

/// The ledger's lines.
fn lines(fleet: &Fleet) -> Vec<String> {
    fleet.text(LEDGER).lines().map(str::to_owned).collect()
}

/// Puts lines in the place of the ledger and reviews; what was warned of.
fn reviewed_with(fleet: &Fleet, lines: &[String]) -> String {
    fleet.put(LEDGER, &(lines.join("\n") + "\n"));
    let ran = fleet.run(&noon(22), &["review", "--quiet"]);
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
    assert!(fleet.text(LEDGER).starts_with(&(lines.join("\n") + "\n")), "no byte of the ledger is taken away");
    ran.stderr
}

/// Which proposals are rejected, and their numbers.
fn rejected(fleet: &Fleet) -> Vec<(u64, String)> {
    let rows = fleet.proposals(22, &["list", "--status", "rejected"])["proposals"].as_array().unwrap().clone();
    rows.iter().map(|row| (row["number"].as_u64().unwrap(), row["pool"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn an_edited_line_is_named_copied_once_and_costs_only_itself() {
    let fleet = decided("damage-edited");
    let (mut damaged, before) = (lines(&fleet), rejected(&fleet));
    let at = damaged.iter().position(|line| line.contains("\"kind\":\"outcome\"")).unwrap();
    damaged[at] = damaged[at].replace("misaligned", "aligned").replace("blocked", "aligned");
    let said = reviewed_with(&fleet, &damaged);
    assert!(said.contains(&format!("{LEDGER}:{} was edited: its hash does not fit its content", at + 1)), "{said}");
    assert!(
        said.contains("1 line that is not used was copied to reports/ledger.jsonl.quarantine; nothing was taken out"),
        "{said}"
    );
    assert_eq!(fleet.text(QUARANTINE), format!("{}\n", damaged[at]));
    assert_eq!(rejected(&fleet), before, "decisions and numbers behind it are known");
    assert!(fleet.run(&noon(23), &["review", "--quiet"]).stderr.contains("was edited"), "said until it is mended");
    assert_eq!(fleet.text(QUARANTINE).lines().count(), 1, "copied once");
}

#[test]
fn lines_that_are_removed_doubled_or_swapped_are_named() {
    let fleet = decided("damage-order");
    let (whole, before) = (lines(&fleet), rejected(&fleet));
    let runs = whole.iter().position(|line| line.contains("\"kind\":\"outcome\"")).unwrap();
    let removed: Vec<String> =
        whole.iter().enumerate().filter(|(i, _)| *i != runs).map(|(_, line)| line.clone()).collect();
    let said = reviewed_with(&fleet, &removed);
    assert!(said.contains(&format!("continues behind a gap: event {} is missing", runs + 1)), "{said}");
    assert!(!fleet.holds(QUARANTINE), "nothing is there to copy");
    let mut doubled = whole.clone();
    doubled.insert(runs + 1, whole[runs].clone());
    let said = reviewed_with(&fleet, &doubled);
    assert!(said.contains(&format!("{LEDGER}:{} is a copy of event {}", runs + 2, runs + 1)), "{said}");
    let mut swapped = whole.clone();
    swapped.swap(runs, runs + 1);
    let said = reviewed_with(&fleet, &swapped);
    assert!(said.contains(&format!("is out of order: event {} stands behind event {}", runs + 1, runs + 2)), "{said}");
    assert_eq!(rejected(&fleet), before);
    let kept = fleet.text(QUARANTINE);
    assert_eq!(kept.lines().collect::<Vec<_>>(), [&whole[runs]], "a copy and a late line are the same line, kept once");
}

#[test]
fn an_end_that_was_cut_off_is_named_by_what_the_log_knows_and_no_file_goes() {
    let fleet = decided("damage-cut");
    let mut cut = lines(&fleet);
    let first = cut.iter().position(|line| line.contains("\"kind\":\"proposal\"")).unwrap();
    cut.truncate(first);
    let files = |fleet: &Fleet| std::fs::read_dir(fleet.root.join("reports/proposals")).unwrap().count();
    let before = files(&fleet);
    let end = "\"b\": { \"model\": \"opencode-route/second\" }";
    fleet.edit(end, &format!("{end},\n    \"c\": {{ \"model\": \"opencode-route/idle\" }}"));
    let said = reviewed_with(&fleet, &cut);
    assert!(
        said.contains("it has no event of run 20261121T120000Z, which the log has a section of: its end was cut off"),
        "{said}"
    );
    assert_eq!(files(&fleet), before, "also the files of a proposal that the ledger knows no more");
}

#[test]
fn a_torn_last_line_is_moved_aside_by_a_decision_as_by_a_run() {
    let fleet = decided("damage-torn");
    let text = fleet.text(LEDGER);
    fleet.put(LEDGER, &format!("{text}{{\"seq\":"));
    let id = fleet.row(21, "second", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let ran = fleet.run(&one_o_clock(21), &["proposals", "accept", &id, "--reason", "good"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("an unfinished last line of 7 bytes was moved to reports/ledger.jsonl.torn"),
        "{}",
        ran.stderr
    );
    assert_eq!(fleet.text("reports/ledger.jsonl.torn"), "{\"seq\":\n");
    assert_eq!(fleet.run(&noon(22), &["review", "--quiet"]).stderr, "", "whole again");
    let events: Vec<Value> = fleet.events("decision");
    assert_eq!(events.len(), 3);
}

#[test]
fn a_ledger_that_was_emptied_is_named_by_every_verb_that_looks() {
    let fleet = decided("damage-emptied");
    fleet.put(LEDGER, "");
    let says = "knows of no run although run files stand beside it";
    for args in [&["proposals", "list"][..], &["doctor"]] {
        let ran = fleet.run(&one_o_clock(21), args);
        assert!(ran.stdout.contains(says) || ran.stderr.contains(says), "{args:?}: {} {}", ran.stdout, ran.stderr);
    }
    let ran = fleet.run(&one_o_clock(21), &["status", "--check"]);
    assert!(ran.code == 1 && ran.stdout.contains(says), "{}", ran.stdout);
}

#[test]
fn a_ledger_too_large_for_status_is_not_called_sound() {
    let fleet = decided("damage-large");
    fleet.put(LEDGER, &"\n".repeat((32 << 20) + 1));
    let ran = fleet.run(&one_o_clock(21), &["status"]);
    assert!(ran.stdout.contains("verify the ledger with `pool-review doctor`"), "{}", ran.stdout);
}

#[test]
fn a_damaged_decision_is_blamed_on_its_line_of_the_ledger_and_not_on_the_proposal() {
    let fleet = decided("damage-decision");
    let (whole, before) = (lines(&fleet), rejected(&fleet));
    let at = whole.iter().position(|line| line.contains("\"kind\":\"decision\"")).unwrap();
    let id = whole[at].split("\"fingerprint\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let place = format!("{LEDGER}:{}", at + 1);
    let cases: [(&str, Vec<String>, String); 3] = [
        ("edited", whole.iter().map(|line| line.replace("we know", "we knew")).collect(), place.clone()),
        (
            "broken",
            whole.iter().map(|line| if *line == whole[at] { line[..40].to_owned() } else { line.clone() }).collect(),
            place,
        ),
        // The line behind what is gone is named, which has moved up by one.
        ("gone", whole.iter().filter(|line| **line != whole[at]).cloned().collect(), format!("{LEDGER}:{}", at + 1)),
    ];
    for (name, damaged, place) in cases {
        let file = fleet.text(&format!("reports/proposals/{id}.json"));
        assert!(file.contains("\"status\": \"rejected\""), "{name}");
        fleet.put(LEDGER, &(damaged.join("\n") + "\n"));
        let blames = format!("which is damaged at {place}: restore that line from version control");
        let listed = fleet.run(&one_o_clock(21), &["proposals", "list", "--all"]);
        assert!(
            listed.stdout.contains(&blames) && !listed.stdout.contains("edited by hand"),
            "{name}: {}",
            listed.stdout
        );
        let shown = fleet.run(&one_o_clock(21), &["proposals", "show", &id]);
        assert!(shown.stdout.contains(&blames), "{name}: {}", shown.stdout);
        let (code, patch) = fleet.refused(21, &["patch", &id]);
        assert!(code == 1 && patch.contains(&blames), "{name}: {patch}");
        let said = reviewed_with(&fleet, &damaged);
        let warns = format!(
            "proposal {id}: its file says \"rejected\" where the ledger says \"proposed\" because the ledger is damaged at {place}, which may \
             have spoken of it: restore that line from version control; until then what is left of the ledger counts"
        );
        assert!(said.contains(&warns), "{name}: {said}");
        assert!(!said.contains("edited by hand"), "{name}: {said}");
        assert!(
            said.contains("reports/ledger.jsonl: restore the lines named above from version control"),
            "{name}: {said}"
        );
        let status = fleet.run(&one_o_clock(22), &["status"]).stdout;
        assert!(
            status.contains("to do: restore the damaged lines of reports/ledger.jsonl from version control"),
            "{status}"
        );
        // Restored, the decision counts again and the file says so.
        fleet.put(LEDGER, &(whole.join("\n") + "\n"));
        assert_eq!(rejected(&fleet), before, "{name}");
        assert!(matches!(fleet.run(&noon(22), &["review", "--quiet"]).code, 0 | 3), "{name}");
        assert!(fleet.text(&format!("reports/proposals/{id}.json")).contains("\"status\": \"rejected\""), "{name}");
        fleet.put(LEDGER, &(whole.join("\n") + "\n"));
    }
}

#[test]
fn line_ends_that_something_rewrote_are_said_and_cost_no_event() {
    let fleet = decided("damage-crlf");
    let (whole, before) = (fleet.text(LEDGER), rejected(&fleet));
    let count = whole.lines().count();
    fleet.put(LEDGER, &whole.replace('\n', "\r\n"));
    let words = format!(
        "{LEDGER}:1 and {} more lines end in CR LF, which no run writes: something rewrote the file",
        count - 1
    );
    let ran = fleet.run(&noon(22), &["review", "--quiet"]);
    assert!(ran.stderr.contains(&words) && ran.stderr.contains("`*.jsonl -text` in .gitattributes"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("not used") && !fleet.holds(QUARANTINE), "{}", ran.stderr);
    assert_eq!(rejected(&fleet), before, "its events are whole");
    assert!(fleet.text(LEDGER).starts_with(&whole.replace('\n', "\r\n")), "no byte is taken away");
    for args in [&["status"][..], &["doctor"], &["proposals", "list"]] {
        let ran = fleet.run(&one_o_clock(22), args);
        assert!(ran.stdout.contains(&words) || ran.stderr.contains(&words), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
    fleet.put(LEDGER, &fleet.text(LEDGER).replace("\r\n", "\n"));
    assert_eq!(fleet.run(&noon(22), &["review", "--quiet"]).stderr, "", "as it was");
}
