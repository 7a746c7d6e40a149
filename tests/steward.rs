//! Playing the steward in a scratch git repository with the compiled binary: the kit's own commands, every way a proposal's
//! life can go, decision files, patches that no longer fit, and files that somebody edited.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "steward/damage.rs"]
mod damage;
#[path = "steward/decisions.rs"]
mod decisions;
#[path = "steward/fleet.rs"]
mod fleet;
#[path = "steward/schemas.rs"]
mod schemas;

use fleet::{Fleet, PATH, noon, one_o_clock};
use serde_json::Value;

/// The code of the weight that has no effect.
const DEAD: &str = "dead_weight";
/// The code of the pool that nobody names.
const IDLE: &str = "no_consumer";

/// An edit by hand.
type Edit<'a> = &'a dyn Fn(&str) -> String;

/// The commands of the kit: its code spans that are one, in order.
fn kit_commands(kit: &str) -> Vec<String> {
    let spans = kit.split('`').skip(1).step_by(2);
    let is_command = |span: &&str| ["pool-review ", "git ", "rm "].iter().any(|start| span.starts_with(start));
    spans.filter(is_command).map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The first command that begins so.
fn command<'a>(commands: &'a [String], start: &str) -> &'a str {
    commands.iter().find(|command| command.starts_with(start)).unwrap_or_else(|| panic!("the kit has no {start}"))
}

#[test]
fn a_steward_that_knows_nothing_but_the_kit_lands_a_proposal_and_takes_it_back() {
    let fleet = Fleet::new("kit");
    let now = |command: &str| {
        let at = |word: &str| format!("{word} --now {}", one_o_clock(20));
        command
            .replace("\"...\"", "\"the key does nothing\"")
            .replace("NAME", "agent")
            .replace("pool-review proposals", &at("pool-review proposals"))
    };
    fleet.review(20);
    let kit = fleet.sh("pool-review steward-kit");
    let commands = kit_commands(&kit);
    let run = |start: &str| fleet.sh(&now(command(&commands, start)));
    let listed: Value = serde_json::from_str(&run("pool-review proposals list")).unwrap();
    assert_eq!(listed["proposals"][0]["number"], 1, "R1 is the first");
    let (pool, code) = (&listed["proposals"][0]["pool"], &listed["proposals"][0]["code"]);
    assert!(run("pool-review proposals show R1").starts_with("R1  "));
    assert!(run("pool-review proposals accept R1").starts_with("R1: accepted; apply it"));
    let accepted = fleet.row(20, pool.as_str().unwrap(), code.as_str().unwrap());
    assert_eq!((&accepted["status"], &accepted["decision"]["by"]), (&"accepted".into(), &"agent".into()));
    let before = fleet.text(PATH);
    for start in [
        "git switch",
        "pool-review proposals patch R1 >",
        "git apply --check",
        "git apply R1",
        "rm R1",
        "git add",
        "git commit",
    ] {
        run(start);
    }
    assert_ne!(fleet.text(PATH), before);
    assert!(fleet.sh("git log -1 --format=%s").starts_with("Land R1"));
    assert_eq!(fleet.sh("git status --porcelain"), "", "nothing is left lying about");
    let landed = fleet.review(21);
    assert_eq!(landed["standings"][0]["status"], "landed");
    let row = fleet.row(21, pool.as_str().unwrap(), code.as_str().unwrap());
    assert_eq!(row["landing"]["detected_at"], noon(21));
    for start in
        ["pool-review proposals patch R1 --rollback >", "git apply --check", "git apply R1", "rm R1", "git add"]
    {
        run(start);
    }
    assert_eq!(fleet.text(PATH), before, "the way back leads to the same bytes");
    assert_eq!(fleet.review(22)["standings"][0]["status"], "rolled_back");
}

#[test]
fn the_life_of_proposals_from_proposed_to_every_end_but_measured() {
    let fleet = Fleet::new("life");
    let first = fleet.review(10);
    assert_eq!(first["proposals"].as_array().unwrap().len(), 3);
    let id = |pool, code| fleet.row(10, pool, code)["fingerprint"].as_str().unwrap().to_owned();
    let (dead, idle, second) = (id("first", DEAD), id("idle", IDLE), id("second", DEAD));
    let accepted = fleet.proposals(10, &["accept", &dead, "--reason", "it does nothing", "--by", "ada"]);
    assert_eq!((&accepted["status"], &accepted["is_new"]), (&"accepted".into(), &true.into()));
    let again = fleet.proposals(10, &["accept", &dead, "--reason", "it does nothing", "--by", "ada"]);
    assert_eq!((again["is_new"].clone(), fleet.events("decision").len()), (false.into(), 1), "twice adds nothing");
    fleet.proposals(10, &["reject", &second, "--reason", "we like it", "--unless", "never"]);
    fleet.proposals(10, &["defer", &idle, "--reason", "next week", "--until", "2026-11-13"]);
    let quiet = fleet.run(&noon(11), &["review", "--exit-code"]);
    assert_eq!(quiet.code, 10, "the accepted one is open: {}", quiet.stderr);
    let patch = fleet.run(&one_o_clock(11), &["proposals", "patch", &dead]);
    fleet.put("landed.patch", &patch.stdout);
    fleet.sh("git apply landed.patch && rm landed.patch");
    let quiet = fleet.run(&noon(12), &["review", "--exit-code", "--format", "json"]);
    assert_eq!(quiet.code, 0, "nothing is open: one landed, one is rejected, one sleeps");
    let run: Value = serde_json::from_str(&quiet.stdout).unwrap();
    assert_eq!(run["proposals"].as_array().unwrap().len(), 0);
    let statuses: Vec<&str> =
        run["standings"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    let mut sorted = statuses.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["deferred", "landed", "rejected"]);
    assert_eq!(fleet.status(12, "first", DEAD), "landed");
    let file: Value = serde_json::from_str(&fleet.text(&format!("reports/proposals/{second}.json"))).unwrap();
    assert_eq!((&file["status"], &file["suppressed"]["unless"]), (&"rejected".into(), &"never".into()));
    let file: Value = serde_json::from_str(&fleet.text(&format!("reports/proposals/{dead}.json"))).unwrap();
    assert_eq!((&file["status"], &file["landing"]["landed_at"]), (&"landed".into(), &noon(12).into()));
    fleet.review(13);
    assert_eq!(fleet.status(13, "idle", IDLE), "proposed", "its date has come");
    fleet.edit(
        "\"b\": { \"model\": \"opencode-route/second\" }",
        "\"b\": { \"model\": \"opencode-route/second\" },\n    \"c\": { \"model\": \"opencode-route/idle\" }",
    );
    fleet.review(14);
    assert_eq!(fleet.status(14, "idle", IDLE), "proposed", "missed once");
    fleet.review(15);
    assert_eq!(fleet.status(15, "idle", IDLE), "withdrawn");
    fleet.review(29);
    assert_eq!(fleet.status(29, "second", DEAD), "rejected", "never means never");
}

#[test]
fn one_that_nobody_makes_any_more_when_its_time_is_over_expires_and_keeps_its_number() {
    let fleet = Fleet::new("expired");
    fleet.review(1);
    let number = fleet.row(1, "idle", IDLE)["number"].clone();
    let named = ",\n    \"c\": { \"model\": \"opencode-route/idle\" }";
    let end = "\"b\": { \"model\": \"opencode-route/second\" }";
    fleet.edit(end, &format!("{end}{named}"));
    fleet.review(9);
    assert_eq!(fleet.status(9, "idle", IDLE), "expired");
    fleet.edit(named, "");
    fleet.review(10);
    let back = fleet.row(10, "idle", IDLE);
    assert_eq!((&back["status"], &back["revision"], &back["number"]), (&"proposed".into(), &2.into(), &number));
    let log = fleet.text("reports/pool-composition-log.md");
    assert!(log.contains("expired, its time ran out"), "the log says so");
    let carried = fleet.review(11);
    let of_idle = carried["proposals"].as_array().unwrap().iter().find(|one| one["pool"] == "idle").unwrap();
    assert_eq!((&of_idle["carried_runs"], &of_idle["carried_since"]), (&1.into(), &"20261110T120000Z".into()));
    let label = format!("R{number} ");
    let log = fleet.text("reports/pool-composition-log.md");
    let last = log.rsplit("<a id=\"run-20261111T120000Z\">").next().unwrap();
    let row = last.lines().find(|line| line.starts_with("| `idle`")).unwrap_or_default();
    assert!(row.contains(&label) && row.contains("carried 1 run") && row.ends_with("| 20261110T120000Z |"), "{last}");
}

#[test]
fn another_edit_of_the_same_definition_supersedes() {
    let fleet = Fleet::new("superseded");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    fleet.proposals(20, &["accept", &id, "--reason", "good"]);
    fleet.edit(
        "\"weights\": { \"acme/one\": 2, \"acme/nobody\": 3 }",
        "\"selection\": \"weighted\", \"weights\": { \"acme/one\": 3, \"acme/two\": 1 }",
    );
    let (code, error) = fleet.refused(20, &["patch", &id]);
    assert_eq!(code, 1);
    assert!(
        error
            .contains("/experimental/model_routes/first in .opencode/opencode.jsonc has changed since it was reviewed"),
        "{error}"
    );
    assert!(error.contains("run `pool-review review` for a fresh one"), "{error}");
    let run = fleet.review(21);
    let standing = run["standings"].as_array().unwrap().iter().find(|one| one["fingerprint"] == id.as_str()).unwrap();
    assert_eq!(standing["status"], "superseded");
    assert!(!fleet.holds(&format!("reports/proposals/{id}.json")), "its files are gone");
    let (_, error) = fleet.refused(21, &["patch", &id]);
    assert!(error.contains("is superseded: it is argued no more"), "{error}");
    let (code, error) = fleet.refused(21, &["accept", &id, "--reason", "still good"]);
    assert!(
        code == 1 && error.contains("it is superseded since 20261121T120000Z: there is nothing left to decide"),
        "{error}"
    );
}

#[test]
fn a_pool_that_is_retired_has_landed_when_it_is_gone() {
    let fleet = Fleet::new("retired");
    fleet.review(20);
    let id = fleet.row(20, "idle", IDLE)["fingerprint"].as_str().unwrap().to_owned();
    let patch = fleet.run(&one_o_clock(20), &["proposals", "patch", &id]).stdout;
    fleet.put("p.patch", &patch);
    fleet.sh("git apply p.patch && rm p.patch");
    assert!(!fleet.text(PATH).contains("idle"));
    fleet.review(21);
    assert_eq!(fleet.status(21, "idle", IDLE), "landed");
    assert_eq!(
        fleet.run(&one_o_clock(21), &["proposals", "patch", &id, "--rollback"]).code,
        0,
        "the way back is there"
    );
}

#[test]
fn a_message_lands_nothing_and_the_review_says_so() {
    let fleet = Fleet::new("message");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let said = fleet.run(&one_o_clock(20), &["proposals", "landed", &id, "--by", "ada"]);
    assert!(said.stdout.contains("nothing has landed"), "{}", said.stdout);
    let run = fleet.run(&noon(21), &["review"]);
    assert!(run.stdout.contains("ada says that it landed, but the config does not hold"), "{}", run.stdout);
    assert_eq!(fleet.status(21, "first", DEAD), "proposed");
    let (code, error) = fleet.refused(21, &["rollback", &id]);
    assert!(code == 1 && error.contains("it has not landed, so there is nothing to take back"), "{error}");
}

#[test]
fn a_patch_whose_surroundings_changed_is_refused_and_the_next_review_makes_a_fresh_one() {
    let fleet = Fleet::new("refused");
    fleet.review(20);
    let row = fleet.row(20, "first", DEAD);
    let (id, number) = (row["fingerprint"].as_str().unwrap().to_owned(), row["number"].clone());
    // Other line ends: no old line of the patch stands in the file any more, though the definition says the same.
    fleet.put(PATH, &fleet.text(PATH).replace('\n', "\r\n"));
    let (code, error) = fleet.refused(20, &["patch", &id]);
    assert!(code == 1 && error.contains("has changed around /experimental/model_routes/first"), "{error}");
    assert!(fleet.proposals(20, &["accept", &id, "--reason", "good"])["status"] == "accepted", "the definition stands");
    fleet.review(21);
    let row = fleet.row(21, "first", DEAD);
    let seen = (&row["status"], &row["revision"], &row["number"]);
    assert_eq!(seen, (&"accepted".into(), &2.into(), &number), "the same argument, on the file as it is now");
    fleet.put("p.patch", &fleet.run(&one_o_clock(21), &["proposals", "patch", &id]).stdout);
    fleet.sh("git apply --check p.patch");
    let (_, error) = fleet.refused(21, &["patch", &id, "--rollback"]);
    assert!(error.contains("has not landed: there is nothing to take back"), "{error}");
}

#[test]
fn proposals_of_one_file_land_one_after_the_other_and_each_can_be_taken_back() {
    let fleet = Fleet::new("one-file");
    fleet.review(20);
    let id = |pool: &str| fleet.row(20, pool, DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let (first, second) = (id("first"), id("second"));
    for id in [&first, &second] {
        // The second patch is asked for while the file already holds the first change, which no review has seen.
        fleet.put("p.patch", &fleet.run(&one_o_clock(20), &["proposals", "patch", id]).stdout);
        fleet.sh("git apply p.patch && rm p.patch");
    }
    fleet.review(21);
    assert_eq!((fleet.status(21, "first", DEAD), fleet.status(21, "second", DEAD)), ("landed".into(), "landed".into()));
    fleet.put("p.patch", &fleet.run(&one_o_clock(21), &["proposals", "patch", &first, "--rollback"]).stdout);
    fleet.sh("git apply p.patch && rm p.patch");
    fleet.review(22);
    assert_eq!(fleet.status(22, "first", DEAD), "rolled_back", "the other one's landing does not stand in the way");
}

#[test]
fn a_decision_made_at_the_instant_of_a_run_is_told_by_the_next_one() {
    let fleet = Fleet::new("same-instant");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let accept = ["proposals", "accept", &id, "--reason", "we land it on Monday"];
    assert_eq!(fleet.run(&noon(20), &accept).code, 0);
    fleet.review(21);
    assert!(fleet.text("reports/pool-composition-log.md").contains("we land it on Monday"));
}

#[test]
fn ids_are_numbers_fingerprints_or_how_exactly_one_begins() {
    let fleet = Fleet::new("ids");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let number = fleet.row(20, "first", DEAD)["number"].clone();
    for one in [id.clone(), id[..13].to_owned(), id[5..13].to_uppercase(), format!("R{number}"), format!("r{number}")] {
        assert_eq!(fleet.proposals(20, &["show", &one])["standing"]["fingerprint"], id.as_str(), "{one}");
    }
    for (wrong, says) in [
        ("R99", "there is no R99"),
        ("ffffffffffff", "no proposal begins with"),
        ("pcr1-", "is no id"),
        ("../../etc", "is no id"),
        ("", "is no id"),
    ] {
        let (code, error) = fleet.refused(20, &["show", wrong]);
        assert!(code == 2 && error.contains(says), "{wrong}: {code} {error}");
    }
    let all: Vec<String> = fleet.rows(20).iter().map(|row| row["fingerprint"].as_str().unwrap().to_owned()).collect();
    let shared = (0..16)
        .map(|digit| format!("{digit:x}"))
        .find(|digit| all.iter().filter(|one| one[5..].starts_with(digit.as_str())).count() > 1);
    if let Some(digit) = shared {
        let (code, error) = fleet.refused(20, &["show", &digit]);
        assert!(code == 2 && error.contains("proposals begin with") && error.contains("give more of it"), "{error}");
    }
}

#[test]
fn a_list_shows_what_is_asked_for_and_says_how_many_are_hidden() {
    let fleet = Fleet::new("list");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    fleet.proposals(20, &["reject", &id, "--reason", "no"]);
    let list = |args: &[&str]| fleet.proposals(20, args)["proposals"].as_array().unwrap().len();
    assert_eq!(list(&["list"]), 2);
    assert_eq!(fleet.proposals(20, &["list"])["hidden"], 1);
    assert_eq!((list(&["list", "--all"]), list(&["list", "--status", "rejected"])), (3, 1));
    assert_eq!((list(&["list", "--pool", "idle"]), list(&["list", "--all", "--pool", "first"])), (1, 1));
    assert_eq!(fleet.refused(20, &["list", "--status", "gone"]).0, 2);
    let human = fleet.run(&one_o_clock(20), &["proposals", "list"]).stdout;
    assert!(human.ends_with("2 proposals, 1 more with --all\n"), "{human}");
    // Of three proposals, one each of first, second and idle, one is rejected: what is left out adds up to all of them.
    let told = |args: &[&str]| {
        let (json, human) =
            (fleet.proposals(20, args), fleet.run(&one_o_clock(20), &[&["proposals"], args].concat()).stdout);
        (json["hidden"].as_u64().unwrap(), human.lines().last().unwrap().to_owned())
    };
    for (args, hidden, last) in [
        (&["list", "--all"][..], 0, "3 proposals"),
        (&["list", "--status", "rejected"], 2, "1 proposal, 2 of other statuses"),
        (&["list", "--status", "landed"], 3, "0 proposals, 3 of other statuses"),
        (&["list", "--pool", "idle"], 2, "1 proposal, 2 of other pools"),
        (&["list", "--pool", "first"], 3, "0 proposals, 1 more with --all, 2 of other pools"),
        (&["list", "--pool", "first", "--status", "landed"], 3, "0 proposals, 1 of other statuses, 2 of other pools"),
        (&["list", "--pool", "first", "--status", "rejected,landed"], 2, "1 proposal, 2 of other pools"),
    ] {
        assert_eq!(told(args), (hidden, last.to_owned()), "{args:?}");
    }
}

#[test]
fn a_pool_or_status_that_there_is_not_is_refused_with_the_known_names_the_nearest_first() {
    let fleet = Fleet::new("unknown-names");
    let empty = fleet.refused(20, &["list", "--pool", "first"]);
    assert_eq!(empty, (2, "error: no pool is called \"first\"; the ledger knows none yet\n".to_owned()));
    fleet.review(20);
    let (code, said) = fleet.refused(20, &["list", "--pool", "frist"]);
    assert_eq!(code, 2);
    assert!(said.starts_with("error: no pool is called \"frist\"; the ledger knows first, "), "{said}");
    assert!(said.contains("second") && said.contains("idle"), "{said}");
    let (code, said) = fleet.refused(20, &["list", "--status", "lande"]);
    assert_eq!(code, 2);
    assert!(said.contains("rolled_back") && said.contains("a similar value exists: 'landed'"), "{said}");
    let known = fleet.proposals(20, &["list", "--pool", "second", "--status", "landed"]);
    assert_eq!(known["proposals"].as_array().unwrap().len(), 0, "a pool without such a proposal is no mistake");
}

#[test]
fn hand_edited_files_are_named_and_never_count() {
    let fleet = Fleet::new("edited");
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    let (file, patch) = (format!("reports/proposals/{id}.json"), format!("reports/proposals/{id}.patch"));
    let edits: [(&str, Edit<'_>, &str, u64); 4] = [
        (
            &file,
            &|text| text.replace("\"status\": \"proposed\"", "\"status\": \"accepted\""),
            "says \"accepted\" where the ledger says \"proposed\"",
            1,
        ),
        (&file, &|text| text.replace("acme/nobody", "acme/two"), "edited by hand, or left by a killed run", 2),
        (&file, &|_| "{".to_owned(), "edited by hand, or left by a killed run", 3),
        (&patch, &|text| text.replace("@@ -", "@@ -1"), "was edited by hand, and is written as the proposal has it", 3),
    ];
    let diff = fleet.text(&patch);
    for (day, (path, edit, says, revision)) in (21..).zip(edits) {
        fleet.put(path, &edit(&fleet.text(path)));
        assert_eq!(fleet.status(day - 1, "first", DEAD), "proposed");
        if path == file {
            assert_eq!(fleet.row(day - 1, "first", DEAD)["file"], "edited");
            let (code, error) = fleet.refused(day - 1, &["patch", &id]);
            assert!(code == 1 && error.contains("its file was edited by hand"), "{error}");
        }
        let ran = fleet.run(&noon(day), &["review"]);
        assert!(ran.stderr.contains(says), "day {day}: {}", ran.stderr);
        let written: Value = serde_json::from_str(&fleet.text(&file)).unwrap();
        assert_eq!(
            (&written["status"], written["revision"].as_u64()),
            (&"proposed".into(), Some(revision)),
            "day {day}"
        );
        assert_eq!(
            (written["change"]["patch"]["text"].as_str(), fleet.text(&patch)),
            (Some(diff.as_str()), diff.clone())
        );
        assert_eq!(fleet.row(day, "first", DEAD)["file"], "intact");
    }
}
