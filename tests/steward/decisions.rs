//! Decision files: taken in once, whatever kills the program; refused with a reason, and then left where they are.

use serde_json::{Value, json};

use crate::fleet::{Fleet, noon, one_o_clock};
use crate::{DEAD, IDLE};

/// The path of a decision file.
fn path(id: &str) -> String {
    format!("reports/proposals/{id}.decision.json")
}

/// A good decision file.
fn good(id: &str) -> Value {
    json!({
        "schema": "pool-review.decision/1", "fingerprint": id, "revision": 1, "decision": "reject", "reason": "we like it",
        "by": "agent", "unless": "never"
    })
}

/// A reviewed fleet and the id of its first proposal.
fn reviewed(name: &str) -> (Fleet, String) {
    let fleet = Fleet::new(name);
    fleet.review(20);
    let id = fleet.row(20, "first", DEAD)["fingerprint"].as_str().unwrap().to_owned();
    (fleet, id)
}

#[test]
fn the_next_review_takes_a_decision_file_in_once_and_removes_it() {
    let (fleet, id) = reviewed("file-review");
    fleet.put(&path(&id), &good(&id).to_string());
    let run = fleet.review(21);
    assert_eq!(run["proposals"].as_array().unwrap().len(), 2, "the rejected one is not open");
    assert!(!fleet.holds(&path(&id)));
    let events = fleet.events("decision");
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["by"], &events[0]["unless"]), (&"agent".into(), &"never".into()));
    fleet.put(&path(&id), &good(&id).to_string());
    fleet.review(22);
    assert_eq!((fleet.events("decision").len(), fleet.holds(&path(&id))), (1, false), "the same again adds nothing");
}

#[test]
fn a_verb_of_proposals_takes_decision_files_in_as_well() {
    let (fleet, id) = reviewed("file-verb");
    fleet.put(&path(&id), &good(&id).to_string());
    assert_eq!(fleet.status(20, "first", DEAD), "rejected");
    assert!(!fleet.holds(&path(&id)));
    let idle = fleet.row(20, "idle", IDLE)["fingerprint"].as_str().unwrap().to_owned();
    let later = json!({ "decision": "defer", "until": "2026-12-01", "unless": null });
    let mut file = good(&idle);
    file.as_object_mut().unwrap().extend(later.as_object().unwrap().clone());
    fleet.put(&path(&idle), &file.to_string());
    fleet.proposals(20, &["accept", &id, "--reason", "after all"]);
    assert_eq!(
        (fleet.status(20, "idle", IDLE), fleet.status(20, "first", DEAD)),
        ("deferred".to_owned(), "accepted".to_owned())
    );
}

#[test]
fn a_bad_decision_file_is_named_with_its_reason_and_stays() {
    let (fleet, id) = reviewed("file-bad");
    let with = |key: &str, value: Value| {
        let mut file = good(&id);
        file[key] = value;
        file.to_string()
    };
    let unknown = "pcr1-00000000000000000000000000000000".to_owned();
    let cases: Vec<(&String, String, &str)> = vec![
        (&id, "{".to_owned(), "is no decision: EOF"),
        (&id, "[]".to_owned(), "is no decision"),
        (&id, "\u{feff}{}".to_owned(), "is no decision"),
        (&id, with("schema", "pool-review.decision/9".into()), "its schema is"),
        (&id, with("revision", 7.into()), "it speaks of revision 7, the proposal is at revision 1: read it again"),
        (&id, with("revision", (-1).into()), "is no decision"),
        (&id, with("decision", "merge".into()), "unknown variant `merge`"),
        (&id, with("reason", "  ".into()), "reason has 0 characters"),
        (&id, with("reason", "x".repeat(401).into()), "reason has 401 characters"),
        (&id, with("by", "".into()), "by has 0 characters"),
        (&id, with("until", "tomorrow".into()), "which is no day such as"),
        (&id, with("until", "2020-01-01".into()), "which is over"),
        (&id, with("decision", "accept".into()), "unless goes with reject and defer only"),
        (&id, with("decision", "defer".into()), "a deferral needs"),
        (&id, with("colour", "red".into()), "unknown field `colour`"),
        (&id, good(&id).to_string().replacen('{', "{\"by\":\"eve\",", 1), "duplicate field `by`"),
        (&id, good(&unknown).to_string(), "which is not what its name says"),
        (&id, format!("{}{}", good(&id), " ".repeat(20_000)), "at most 16384 are read"),
        (&id, "[".repeat(10_000), "is no decision"),
        (&unknown, good(&unknown).to_string(), "no proposal has this fingerprint"),
    ];
    for (id, text, says) in cases {
        fleet.put(&path(id), &text);
        let ran = fleet.run(&noon(21), &["review", "--quiet"]);
        assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
        assert!(ran.stderr.contains(&path(id)) && ran.stderr.contains(says), "{says}: {}", ran.stderr);
        assert!(ran.stderr.contains("the file was left where it is") && ran.stderr.len() < 2000, "{}", ran.stderr);
        assert_eq!(fleet.text(&path(id)), text, "nothing is lost");
        fleet.sh(&format!("rm {}", path(id)));
    }
    assert_eq!(fleet.events("decision").len(), 0);
}

#[test]
fn a_stale_acceptance_is_refused_and_its_file_stays() {
    let (fleet, id) = reviewed("file-stale");
    let mut file = good(&id);
    file["decision"] = "accept".into();
    file.as_object_mut().unwrap().remove("unless");
    fleet.put(&path(&id), &file.to_string());
    fleet.edit("[\"acme/one\", \"acme/two\"], // the pair", "[\"acme/two\", \"acme/one\"], // the pair");
    let ran = fleet.run(&noon(21), &["review"]);
    assert!(
        ran.stderr.contains("the definition has changed since it was reviewed, so the proposal is stale"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        (fleet.status(21, "first", DEAD), fleet.row(21, "first", DEAD)["revision"].clone()),
        ("proposed".to_owned(), 2.into())
    );
    let ran = fleet.run(&noon(22), &["review"]);
    assert!(ran.stderr.contains("it speaks of revision 1, the proposal is at revision 2"), "{}", ran.stderr);
    assert_eq!(fleet.status(22, "first", DEAD), "proposed");
}

#[test]
fn an_agent_that_accepts_and_lands_before_the_next_review_is_heard_and_seen() {
    let (fleet, id) = reviewed("file-landed");
    let mut file = good(&id);
    file["decision"] = "accept".into();
    file.as_object_mut().unwrap().remove("unless");
    fleet.put("p.patch", &fleet.run(&one_o_clock(20), &["proposals", "patch", &id]).stdout);
    fleet.sh("git apply p.patch && rm p.patch");
    fleet.put(&path(&id), &file.to_string());
    fleet.review(21);
    let row = fleet.row(21, "first", DEAD);
    assert_eq!((&row["status"], &row["decision"]["decision"]), (&"landed".into(), &"accept".into()));
}

#[test]
fn two_that_decide_at_once_take_turns() {
    let (fleet, id) = reviewed("two-at-once");
    let binary = env!("CARGO_BIN_EXE_pool-review");
    let start = |word: &str| {
        let mut command = std::process::Command::new(binary);
        command.current_dir(&fleet.root).args(["proposals", word, &id, "--reason", "so", "--now", &one_o_clock(20)]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let (one, two) = (start("accept"), start("reject"));
    let ended = [one, two].map(|child| child.wait_with_output().unwrap());
    for output in &ended {
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || error.contains("another run holds"), "{error}");
    }
    let done = ended.iter().filter(|output| output.status.success()).count();
    assert_eq!(fleet.events("decision").len(), done, "each that succeeded is there once");
    assert_eq!(fleet.run(&noon(21), &["review"]).stderr, "", "and the chain is whole");
}
