//! The ledger and what is built on it: the chain, outcomes against the last run, proposals and their states.
#![expect(clippy::disallowed_methods, reason = "tests write into scratch folders of their own")]

#[path = "lives/mod.rs"]
mod lives;
mod reports;

use std::collections::BTreeSet;

use pool_review::history::{
    Asks, Cadence, Current, Dues, Fact, Fate, Ledger, Previous, ProposalState, Settlement, baseline_state, compare,
    run_facts, settle_proposals,
};
use pool_review::verdict::{Baseline, Proposal, Report, Verdict};
use pool_review::vocabulary::CheckId;
use proptest::prelude::*;
use reports::{aligned, at, blocked, pool, proposal, report, retirement, run, settled, store, with_finding, workspace};
use serde_json::Value;

/// What was kept, for the rows of the table in methods §18.2.
const KEPT: Previous<'static> =
    Previous { content_digest: "a", verdict: Verdict::Misaligned, lo90: 10, hi90: 20, subtree_digest: "s" };

#[test]
fn each_reason_of_the_table_makes_a_proposal_updated_and_nothing_else_does() {
    let state = |content_digest, verdict, point, subtree_digest| {
        baseline_state(Some(&Current { content_digest, verdict, point, subtree_digest }), Some(&KEPT))
    };
    let m = Verdict::Misaligned;
    assert_eq!(state("a", m, 99, "s"), Baseline::Unchanged, "the same digest decides alone");
    assert_eq!(state("b", m, 10, "s"), Baseline::Unchanged, "the bounds belong to the interval");
    assert_eq!(state("b", m, 20, "s"), Baseline::Unchanged, "the bounds belong to the interval");
    assert_eq!(state("b", m, 21, "s"), Baseline::Updated, "the point left the interval");
    assert_eq!(state("b", Verdict::Watch, 15, "s"), Baseline::Updated, "the verdict changed");
    assert_eq!(state("b", m, 15, "t"), Baseline::Updated, "the subtree moved");
}

/// A ledger of some days, each a report of two pools.
fn ledger_text(days: &[u32]) -> String {
    let mut text = String::new();
    for day in days {
        let (ledger, problems) = Ledger::read("ledger.jsonl", &text);
        assert!(problems.is_empty(), "{problems:?}");
        let mut report = report(*day, vec![pool("scout"), pool("summit")]);
        let past = ledger.before(&report.run_id);
        compare(&mut report, &past);
        let models = BTreeSet::from([format!("acme/of-day-{day}")]);
        let facts = run_facts(&report, &past, &Settlement::default(), "sha256:s", &models);
        for line in ledger.lines_for(&report.run_id, report.now, &facts) {
            text += &line;
            text.push('\n');
        }
    }
    text
}

#[test]
fn a_written_ledger_reads_back_whole_and_chained() {
    let text = ledger_text(&[27, 28, 29]);
    let (ledger, problems) = Ledger::read("ledger.jsonl", &text);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(ledger.events().len(), text.lines().count());
    assert!(ledger.events().iter().zip(1..).all(|(event, seq)| event.seq == seq && event.fact.is_some()));
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let genesis = pool_review::vocabulary::Digest::of(b"pool-review.ledger/1\n");
    assert_eq!(first["prev"], genesis.as_str(), "the documented genesis");
}

/// What reading says of a text: the number of events used, and the first problem as `path:line reason`.
fn reading(text: &str) -> (usize, String) {
    let (ledger, problems) = Ledger::read("ledger.jsonl", text);
    let first = problems.first().map_or(String::new(), |problem| format!("{} {}", problem.place, problem.reason));
    (ledger.events().len(), first)
}

#[test]
fn an_edited_line_is_reported_and_only_that_one_is_not_used() {
    let text = ledger_text(&[27, 28]);
    let edited = text.replacen("aligned", "blocked", 3);
    let (ledger, problems) = Ledger::read("ledger.jsonl", &edited);
    let said: Vec<String> = problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)).collect();
    let gap = "continues behind a gap: event 1 is missing, edited or out of order; what is not there is not used";
    assert_eq!(
        said,
        ["ledger.jsonl:1 was edited: its hash does not fit its content".to_owned(), format!("ledger.jsonl:2 {gap}")]
    );
    assert_eq!((ledger.events().len(), ledger.outside()), (text.lines().count() - 1, &[1][..]));
    let spaced = text.replacen(",\"kind\":", ", \"kind\":", 1);
    assert_eq!(reading(&spaced).1, "ledger.jsonl:1 was edited: it is not in canonical form");
}

#[test]
fn copied_removed_and_reordered_lines_are_told_apart() {
    let text = ledger_text(&[27]);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let copied = format!("{}{}{}", lines[0], lines[0], lines[1..].concat());
    assert_eq!(reading(&copied), (lines.len(), "ledger.jsonl:2 is a copy of event 1".to_owned()));
    let gap = format!("{}{}", lines[0], lines[2..].concat());
    let missing = "ledger.jsonl:2 continues behind a gap: event 2 is missing, edited or out of order; what is not there is not used";
    assert_eq!(reading(&gap), (lines.len() - 1, missing.to_owned()));
    let swapped = format!("{}{}{}{}", lines[0], lines[2], lines[1], lines[3..].concat());
    let (ledger, problems) = Ledger::read("ledger.jsonl", &swapped);
    assert_eq!(ledger.events().len(), lines.len() - 1, "all but the one that came late");
    assert_eq!(problems[0].reason, missing.split_once(' ').expect("a place").1);
    assert_eq!(problems[1].reason, "is out of order: event 2 stands behind event 3");
    assert_eq!((problems.len(), ledger.outside()), (2, &[3][..]));
}

#[test]
fn an_event_that_was_put_in_anothers_place_is_said_at_the_next_one() {
    let text = ledger_text(&[27]);
    let mut event: Value = serde_json::from_str(text.lines().nth(1).expect("a line")).expect("JSON");
    let real = format!("{event}");
    event.as_object_mut().expect("an object").remove("hash");
    event["data"]["verdict"] = "blocked".into();
    event["hash"] = pool_review::vocabulary::Digest::of_json(&event).as_str().into();
    let forged = text.replacen(&real, &pool_review::vocabulary::canonical_json(&event), 1);
    assert_ne!(forged, text);
    let (_, problem) = reading(&forged);
    let said = "ledger.jsonl:3 continues another event 2 than the one before it: that one was put in another's place";
    assert_eq!(problem, said);
}

#[test]
fn a_torn_last_line_is_reported_and_not_used() {
    let text = ledger_text(&[27]);
    let torn = &text[..text.len() - 10];
    let (used, problem) = reading(torn);
    assert_eq!(used, text.lines().count() - 1);
    assert!(problem.ends_with("has no line end: a killed run left it, it is not used"), "{problem}");
}

#[test]
fn after_a_broken_line_new_events_continue_from_the_last_one_and_are_read() {
    let text = ledger_text(&[27]);
    let broken = text.replacen("\"seq\":3", "\"seq\":33", 1);
    let (ledger, problems) = Ledger::read("ledger.jsonl", &broken);
    let used = text.lines().count() - 1;
    assert_eq!((ledger.events().len(), problems.len()), (used, 2), "the line, and the gap it leaves");
    let facts = [Fact::FirstSeen(pool_review::history::FirstSeenFact { models: BTreeSet::from(["m".to_owned()]) })];
    let added = ledger.lines_for("20261128T120000Z", at("2026-11-28T12:00:00Z"), &facts);
    let (ledger, _) = Ledger::read("ledger.jsonl", &format!("{broken}{}\n", added[0]));
    assert_eq!(ledger.events().len(), used + 1, "the new event hangs on the last one");
    assert_eq!(ledger.before("20261129T120000Z").first_seen("m"), Some(at("2026-11-28T12:00:00Z")));
}

#[test]
fn many_broken_lines_end_in_one_sentence() {
    let (_, problems) = Ledger::read("ledger.jsonl", &"nonsense\n".repeat(40));
    assert_eq!(problems.len(), 6, "five one by one, the rest in one");
    assert_eq!(problems[5].reason, "and 35 more lines from here on are not used");
    assert_eq!(problems[5].place.line, 6);
}

#[test]
fn an_event_of_a_kind_from_the_future_stays_in_the_chain() {
    let text = ledger_text(&[27]);
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    let mut event: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    let prev = event["hash"].clone();
    let object = event.as_object_mut().expect("an object");
    object.remove("hash");
    object.insert("kind".to_owned(), "accepted".into());
    object.insert("seq".to_owned(), (ledger.events().len() + 1).into());
    object.insert("prev".to_owned(), prev);
    event["hash"] = pool_review::vocabulary::Digest::of_json(&event).as_str().into();
    let longer = format!("{text}{}\n", pool_review::vocabulary::canonical_json(&event));
    let (longer, problems) = Ledger::read("ledger.jsonl", &longer);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(longer.events().len(), ledger.events().len() + 1);
    assert_eq!(longer.before("20261130T000000Z"), ledger.before("20261130T000000Z"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_fail(text in "\\PC{0,200}\n?\\PC{0,50}") {
        let (ledger, problems) = Ledger::read("ledger.jsonl", &text);
        prop_assert!(ledger.events().is_empty());
        prop_assert_eq!(problems.is_empty(), text.trim_matches(['\n', '\r']).is_empty());
    }

    #[test]
    fn a_ledger_cut_anywhere_reads_as_its_whole_lines(cut in 0_usize..8000) {
        let text = ledger_text(&[27]);
        let part = &text[..cut.min(text.len())];
        let (ledger, problems) = Ledger::read("ledger.jsonl", part);
        prop_assert_eq!(ledger.events().len(), part.matches('\n').count());
        prop_assert_eq!(problems.is_empty(), part.is_empty() || part.ends_with('\n'));
    }
}

#[test]
fn the_first_run_is_new_the_same_again_is_unchanged_and_since_stays() {
    let text = ledger_text(&[27, 28]);
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    let mut report = report(29, vec![pool("scout"), pool("attic")]);
    let past = ledger.before(&report.run_id);
    compare(&mut report, &past);
    assert_eq!(report.previous_run.as_deref(), Some("20261128T120000Z"));
    let (scout, attic) = (&report.pools[0], &report.pools[1]);
    assert_eq!((scout.state, scout.since.as_str()), (Baseline::Unchanged, "20261127T120000Z"));
    assert_eq!((attic.state, attic.since.as_str()), (Baseline::New, "20261129T120000Z"));
    let counts = report.counts;
    assert_eq!((counts.new, counts.unchanged, counts.updated, counts.absent), (4, 4, 0, 4), "summit's four are gone");
}

#[test]
fn a_new_finding_moves_its_check_and_a_wobbling_number_moves_nothing() {
    let ws = workspace("ledger-moves");
    let store = store(&ws);
    let with = |value: f64| {
        let mut finding = retirement("scout", "acme/old@default#seat");
        finding.measured.as_mut().expect("a number").value = value;
        with_finding(pool("scout"), finding)
    };
    run(report(27, vec![pool("scout")]), Vec::new(), &store);
    let (moved, _) = run(report(28, vec![with(12.0)]), Vec::new(), &store);
    let states: Vec<_> = moved.pools[0].checks.iter().map(|check| check.state).collect();
    assert_eq!(states, [Baseline::Updated, Baseline::Unchanged, Baseline::Unchanged, Baseline::Unchanged]);
    assert_eq!((moved.pools[0].state, moved.pools[0].since.as_str()), (Baseline::Updated, "20261128T120000Z"));
    let (still, _) = run(report(29, vec![with(11.0)]), Vec::new(), &store);
    assert_eq!(still.pools[0].checks[0].state, Baseline::Unchanged);
    assert_eq!(still.pools[0].checks[0].since, "20261128T120000Z");
}

#[test]
fn first_seen_is_the_first_run_that_saw_a_model_and_never_the_run_itself() {
    let text = ledger_text(&[27, 28]);
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    let past = ledger.before("20261129T120000Z");
    assert_eq!(past.first_seen("acme/of-day-27"), Some(at("2026-11-27T12:00:00Z")));
    assert_eq!(past.first_seen("acme/never"), None);
    assert_eq!(ledger.before("20261127T120000Z").first_seen("acme/of-day-27"), None);
}

#[test]
fn judging_an_old_run_again_after_a_newer_one_appends_nothing() {
    let text = ledger_text(&[27, 28, 29]);
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    let mut again = report(28, vec![pool("scout"), pool("summit")]);
    let past = ledger.before(&again.run_id);
    compare(&mut again, &past);
    let models = BTreeSet::from(["acme/of-day-28".to_owned()]);
    let facts = run_facts(&again, &past, &Settlement::default(), "sha256:s", &models);
    assert_eq!(ledger.lines_for(&again.run_id, again.now, &facts), Vec::<String>::new());
}

#[test]
fn the_same_run_on_other_inputs_is_a_rerun_and_what_it_said_before_counts_no_longer() {
    let ws = workspace("ledger-rerun");
    let store = store(&ws);
    run(
        report(28, vec![with_finding(pool("scout"), retirement("scout", "acme/old@default#seat"))]),
        Vec::new(),
        &store,
    );
    run(report(28, vec![pool("scout")]), Vec::new(), &store);
    let text = std::fs::read_to_string(store.in_reports("ledger.jsonl")).expect("a ledger");
    assert_eq!(text.matches("\"kind\":\"rerun\"").count(), 1);
    let (next, _) = run(report(29, vec![pool("scout")]), Vec::new(), &store);
    assert_eq!(next.pools[0].checks[0].state, Baseline::Unchanged, "compared with the second reading");
    assert_eq!(next.pools[0].since, "20261128T120000Z");
}

/// A day's report of one pool with some proposals, run against a store; the states of the open ones.
fn day(day: u32, fresh: Vec<Proposal>, store: &pool_review::store::Store) -> (Vec<(String, u64)>, Settlement) {
    let (report, settlement) = settled(report(day, vec![pool("scout")]), fresh.clone(), store);
    run(reports::report(day, vec![pool("scout")]), fresh, store);
    let states = report.proposals.iter().map(|one| (one.baseline_state.clone(), one.revision)).collect();
    (states, settlement)
}

/// A proposal of the tests with an effect; the interval is its own.
fn fresh(day: u32, effect: (i64, i64, i64)) -> Vec<Proposal> {
    vec![proposal("scout", "acme/old@default#seat", at(&format!("2026-11-{day:02}T12:00:00Z")), effect)]
}

/// One expected state.
fn state(word: &str, revision: u64) -> Vec<(String, u64)> {
    vec![(word.to_owned(), revision)]
}

#[test]
fn a_proposal_that_wobbles_inside_its_interval_keeps_its_file_byte_for_byte() {
    let ws = workspace("ledger-wobble");
    let store = store(&ws);
    assert_eq!(day(20, fresh(20, (15, 10, 20)), &store).0, state("new", 1));
    let before = reports::files(&ws.join("reports/proposals"));
    assert_eq!(day(21, fresh(21, (19, 14, 24)), &store).0, state("unchanged", 1));
    assert_eq!(reports::files(&ws.join("reports/proposals")), before);
    assert_eq!(day(22, fresh(22, (21, 16, 26)), &store).0, state("updated", 2), "21 is outside 10 to 20");
    assert_ne!(reports::files(&ws.join("reports/proposals")), before);
    let (report, _) = settled(report(23, vec![pool("scout")]), fresh(23, (22, 17, 27)), &store);
    assert_eq!(report.proposals[0].first_seen, "2026-11-20T12:00:00Z", "the first run that made it");
    assert_eq!(report.proposals[0].conditions[0].observed_revision, 2);
    assert_eq!(report.proposals[0].conditions[0].last_transition, "2026-11-20T12:00:00Z", "it never flipped");
}

#[test]
fn two_counted_runs_without_it_withdraw_a_proposal_and_then_its_files_go() {
    let ws = workspace("ledger-withdraw");
    let store = store(&ws);
    day(20, fresh(20, (15, 10, 20)), &store);
    assert_eq!(day(21, Vec::new(), &store).0, state("absent", 1), "never at once");
    assert_eq!(reports::files(&ws.join("reports/proposals")).len(), 2, "patch and file are still there");
    let (open, settlement) = day(22, Vec::new(), &store);
    assert!(open.is_empty());
    assert_eq!(settlement.facts[0].state, ProposalState::Withdrawn);
    assert!(reports::files(&ws.join("reports/proposals")).is_empty());
    assert_eq!(day(23, fresh(23, (15, 10, 20)), &store).0, state("new", 2), "it may come back as a new revision");
}

#[test]
fn a_proposal_that_comes_back_after_one_miss_starts_to_count_again() {
    let ws = workspace("ledger-miss-reset");
    let store = store(&ws);
    day(20, fresh(20, (15, 10, 20)), &store);
    day(21, Vec::new(), &store);
    assert_eq!(day(22, fresh(22, (15, 10, 20)), &store).0, state("unchanged", 1));
    assert_eq!(day(23, Vec::new(), &store).0, state("absent", 1), "the first miss in a row, not the second");
}

#[test]
fn a_blocked_check_neither_counts_nor_resets_a_miss() {
    let ws = workspace("ledger-blocked");
    let store = store(&ws);
    day(20, fresh(20, (15, 10, 20)), &store);
    for day in [21, 22, 23] {
        let (blocked, _) = run(report(day, vec![blocked("scout", CheckId::LatestModel)]), Vec::new(), &store);
        assert_eq!(blocked.proposals.len(), 1, "still open");
    }
    assert_eq!(day(24, Vec::new(), &store).0, state("absent", 1));
    run(report(25, vec![blocked("scout", CheckId::LatestModel)]), Vec::new(), &store);
    assert!(day(26, Vec::new(), &store).0.is_empty(), "the second counted miss in a row");
}

#[test]
fn a_proposal_past_its_time_expires_or_comes_back_as_a_new_revision() {
    let ws = workspace("ledger-expiry");
    let store = store(&ws);
    day(20, fresh(20, (15, 10, 20)), &store);
    assert_eq!(day(26, fresh(26, (15, 10, 20)), &store).0, state("unchanged", 1), "one day before its end");
    let (_, settlement) = settled(report(27, vec![pool("scout")]), Vec::new(), &store);
    assert_eq!(settlement.facts[0].state, ProposalState::Expired);
    assert_eq!(day(27, fresh(27, (15, 10, 20)), &store).0, state("new", 2));
}

#[test]
fn an_edited_or_missing_file_is_named_and_made_again() {
    let ws = workspace("ledger-edited");
    let store = store(&ws);
    let same = || fresh(20, (15, 10, 20));
    day(20, same(), &store);
    let folder = ws.join("reports/proposals");
    let before = reports::files(&folder);
    let (name, bytes) = before.first_key_value().expect("the file, and the patch after it");
    let edited = String::from_utf8(bytes.clone()).expect("text").replace("Take the target out.", "Leave it.");
    std::fs::write(folder.join(name), edited).expect("an edit by hand");
    assert_eq!(day(21, same(), &store).0, state("unchanged", 1), "the content is known, so it is restored");
    let restored: Value = serde_json::from_slice(&reports::files(&folder)[name]).expect("JSON");
    assert_eq!(restored["change"]["human"], "Take the target out.");
    std::fs::remove_file(folder.join(name)).expect("removed by hand");
    let (states, settlement) = day(22, fresh(22, (16, 11, 21)), &store);
    assert_eq!(states, state("updated", 2), "the old content is gone, the new one is another");
    assert!(settlement.warnings[0].contains("is missing or was edited"), "{:?}", settlement.warnings);
}

#[test]
fn settling_does_not_depend_on_the_order_of_proposals() {
    let now = at("2026-11-29T12:00:00Z");
    let one = |name: &str| proposal("scout", name, now, (1, 1, 1));
    let past = Ledger::default().before("20261129T120000Z");
    let files = &pool_review::history::ProposalFiles::NONE;
    let asks =
        Asks { run: "20261129T120000Z", now, files, fate: &|_| Fate::Missed, digest: &|_| None, dues: &Dues::new() };
    let settle = |fresh| settle_proposals(fresh, &past, &asks);
    let forth = settle(vec![one("a"), one("b"), one("c")]);
    assert_eq!(forth, settle(vec![one("c"), one("a"), one("b")]));
    assert_eq!(forth.open.len(), 3);
    assert_eq!(settle(vec![one("a"), one("a")]).open.len(), 1, "one fingerprint, one proposal");
}

#[test]
fn comparing_and_settling_the_same_run_again_says_the_same() {
    let ws = workspace("ledger-same");
    let store = store(&ws);
    let judge =
        |day: u32| -> Report { run(report(day, vec![pool("scout")]), fresh(day, (i64::from(day), 0, 22)), &store).0 };
    judge(20);
    let second = judge(21);
    assert_eq!(judge(21), second);
    assert_eq!(second.proposals[0].baseline_state, "unchanged");
}

#[test]
fn cadence_lines_read_back_and_a_broken_one_is_named() {
    let (start, due) = (at("2026-11-29T12:00:01Z"), at("2026-11-30T00:00:00Z"));
    let lines = [Cadence::start("r", start), Cadence::end("r", start, 3, 412, Some(due))];
    let text = format!("{}\n{}\nhalf a li", lines[0].line(), lines[1].line());
    let (read, problems) = Cadence::read("reports/cadence.jsonl", &text);
    assert_eq!(read, lines);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].place.to_string(), "reports/cadence.jsonl:3");
    assert_eq!(read[1].exit, Some(3));
}

#[test]
fn two_findings_of_one_check_sign_the_same_in_either_order() {
    let sides = |first: &str, second: &str| {
        let pool = with_finding(pool("scout"), retirement("scout", first));
        with_finding(pool, retirement("scout", second))
    };
    let ws = workspace("ledger-order");
    let store = store(&ws);
    run(report(28, vec![sides("a", "b")]), Vec::new(), &store);
    let (again, _) = run(report(29, vec![sides("b", "a")]), Vec::new(), &store);
    assert_eq!(again.pools[0].checks[0].state, Baseline::Unchanged);
    assert_eq!(aligned(CheckId::Structure).findings.len(), 0);
}
