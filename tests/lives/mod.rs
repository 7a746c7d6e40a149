//! The lives of proposals: which status may follow which, landing and rolling back by digest, supersession, sleep, numbers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod any;

use std::collections::{BTreeMap, BTreeSet};

use crate::reports::{at, pool, proposal, report};
use pool_review::history::{
    Asks, Decision, DecisionFact, Dues, Fact, Fate, Ledger, Past, ProposalFact, ProposalFiles, ProposalState,
    Settlement, Status, Unless, VerificationFact, run_facts, settle_proposals,
};
use pool_review::verdict::Proposal;
use pool_review::vocabulary::Digest;
use serde_json::Value;

/// A ledger in memory, the files of proposals, and the digest of the one definition there is.
struct World {
    /// The ledger's text.
    text: String,
    /// Fingerprint → its file.
    files: BTreeMap<String, Value>,
    /// The digest of the definition now; `None` when it cannot be read.
    digest: Option<String>,
    /// What becomes of proposals that a run does not make.
    fate: Fate,
}

/// The digest of the definition before any change.
fn before() -> String {
    Digest::of(b"subtree").to_string()
}

/// The digest that every proposal of these tests predicts.
fn after() -> String {
    Digest::of(b"after").to_string()
}

/// The id of noon of a day.
fn noon(day: u32) -> String {
    format!("202611{day:02}T120000Z")
}

impl World {
    /// Nothing yet.
    fn new() -> Self {
        Self { text: String::new(), files: BTreeMap::new(), digest: Some(before()), fate: Fate::Missed }
    }

    /// The ledger, which must be whole.
    fn ledger(&self) -> Ledger {
        let (ledger, problems) = Ledger::read("ledger.jsonl", &self.text);
        assert!(problems.is_empty(), "{problems:?}");
        ledger
    }

    /// The past of everything.
    fn past(&self) -> Past {
        self.ledger().present()
    }

    /// A run at noon of a day that makes some proposals.
    fn run(&mut self, day: u32, fresh: Vec<Proposal>) -> Settlement {
        let report = report(day, vec![pool("scout")]);
        let ledger = self.ledger();
        let past = ledger.before(&report.run_id);
        let stored = |fingerprint: &str| self.files.get(fingerprint).cloned();
        let asks = Asks {
            run: &report.run_id,
            now: report.now,
            files: &ProposalFiles { stored: &stored, untouched: &|_| None, damage: &|_| None },
            fate: &|_| self.fate,
            digest: &|_| self.digest.clone(),
            dues: &Dues::new(),
        };
        let settled = settle_proposals(fresh, &past, &asks);
        for proposal in settled.open.iter().chain(&settled.suppressed).chain(&settled.landed) {
            self.files.insert(proposal.fingerprint.clone(), proposal.to_json());
        }
        self.files.retain(|fingerprint, _| settled.keep.contains(fingerprint));
        let facts = run_facts(&report, &past, &settled, "sha256:s", &BTreeSet::new());
        for line in ledger.lines_for(&report.run_id, report.now, &facts) {
            self.text += &(line + "\n");
        }
        settled
    }

    /// A decision at an instant.
    fn decide(&mut self, instant: &str, fact: DecisionFact) {
        let now = at(instant);
        let run = now.format("%Y%m%dT%H%M%SZ").to_string();
        for line in self.ledger().chained(&run, now, &[Fact::Decision(fact)]) {
            self.text += &(line + "\n");
        }
    }

    /// The status of the one proposal.
    fn status(&self) -> Status {
        self.past().lives.get(&one(20).fingerprint).unwrap().status
    }
}

/// The one proposal, made at noon of a day.
fn one(day: u32) -> Proposal {
    proposal("scout", "acme/old@default#seat", at(&format!("2026-11-{day:02}T12:00:00Z")), (15, 10, 20))
}

/// A decision on the one proposal.
fn decision(decision: Decision) -> DecisionFact {
    DecisionFact {
        fingerprint: one(20).fingerprint,
        revision: 1,
        decision,
        reason: "we wait for the contract".to_owned(),
        by: "ada".to_owned(),
        until: None,
        unless: (decision == Decision::Reject).then_some(Unless::EffectGrowsBeyondHi90),
    }
}

/// The state of the last fact of a settlement.
fn last(settled: &Settlement) -> Option<(ProposalState, Status)> {
    settled.facts.last().map(|fact| (fact.state, fact.status))
}

#[test]
fn of_all_pairs_of_statuses_exactly_those_of_the_table_may_follow() {
    let table = "draft: proposed
        proposed: accepted rejected deferred superseded expired withdrawn landed
        accepted: rejected deferred superseded expired withdrawn landed
        rejected: proposed accepted deferred landed
        deferred: proposed accepted rejected landed
        superseded: proposed
        expired: proposed
        withdrawn: proposed
        landed: verifying confirmed refuted inconclusive rolled_back proposed
        verifying: confirmed refuted inconclusive rolled_back proposed
        confirmed: rolled_back proposed
        refuted: rolled_back proposed
        inconclusive: confirmed refuted rolled_back proposed
        rolled_back: proposed";
    let mut expected = BTreeSet::new();
    for line in table.lines() {
        let (from, to) = line.trim().split_once(": ").unwrap();
        expected.extend(to.split(' ').map(|to| (from.to_owned(), to.to_owned())));
    }
    let pairs = Status::ALL.iter().flat_map(|from| Status::ALL.iter().map(move |to| (*from, *to)));
    let allowed = pairs.filter(|(from, to)| from.may_become(*to));
    let allowed: BTreeSet<(String, String)> =
        allowed.map(|(from, to)| (from.as_str().to_owned(), to.as_str().to_owned())).collect();
    assert_eq!(allowed, expected);
}

#[test]
fn a_landing_is_seen_in_the_config_whatever_was_decided() {
    for decided in [None, Some(Decision::Accept), Some(Decision::Reject), Some(Decision::Defer)] {
        let mut world = World::new();
        world.run(20, vec![one(20)]);
        if let Some(decided) = decided {
            let until = (decided == Decision::Defer).then(|| "2026-12-31T00:00:00Z".to_owned());
            world.decide("2026-11-20T13:00:00Z", DecisionFact { until, ..decision(decided) });
            assert_eq!(Some(world.status()), decided.status());
        }
        world.digest = Some(after());
        let settled = world.run(21, Vec::new());
        assert_eq!(last(&settled), Some((ProposalState::Landed, Status::Landed)), "{decided:?}");
        let past = world.past();
        let landing = past.lives.get(&one(20).fingerprint).unwrap().landing.clone().unwrap();
        assert_eq!((landing.run, landing.revision), (noon(21), 1));
        assert_eq!((landing.detected_at.as_str(), landing.subtree_digest_after), ("2026-11-21T12:00:00Z", after()));
        let file = &settled.landed[0];
        assert_eq!(
            (file.status.as_str(), file.landing.as_ref().unwrap().landed_at.as_str()),
            ("landed", "2026-11-21T12:00:00Z")
        );
        assert_eq!(file.suppressed, None);
        assert_eq!(world.run(22, Vec::new()).facts, [], "it has landed once");
        assert_eq!(world.files.len(), 1, "the way back stays");
    }
}

#[test]
fn a_message_of_a_landing_lands_nothing() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T13:00:00Z", decision(Decision::Landed));
    assert_eq!(world.status(), Status::Proposed);
    let settled = world.run(21, vec![one(21)]);
    assert_eq!((settled.open[0].status.as_str(), settled.facts.len()), ("proposed", 0));
    assert!(world.past().lives.get(&one(20).fingerprint).unwrap().message.is_some());
}

#[test]
fn another_edit_of_the_definition_supersedes_and_the_new_proposal_says_so() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T13:00:00Z", decision(Decision::Accept));
    world.digest = Some(Digest::of(b"another").to_string());
    let heir = proposal("scout", "acme/other@default#seat", at("2026-11-21T12:00:00Z"), (1, 1, 1));
    let settled = world.run(21, vec![heir.clone()]);
    assert_eq!(world.status(), Status::Superseded);
    assert_eq!(settled.open[0].supersedes, [one(20).fingerprint]);
    assert_eq!(world.files.keys().collect::<Vec<_>>(), [&heir.fingerprint], "its files go");
    let again = world.run(22, vec![heir]);
    assert_eq!(
        (again.facts.len(), again.open[0].baseline_state.as_str()),
        (0, "unchanged"),
        "what it replaces stays in it"
    );
    assert_eq!(again.open[0].supersedes, [one(20).fingerprint]);
}

#[test]
fn a_definition_that_cannot_be_read_or_judged_ends_nothing() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.fate = Fate::Blocked;
    world.digest = Some(Digest::of(b"another").to_string());
    assert_eq!(world.run(21, Vec::new()).open[0].baseline_state, "absent");
    world.digest = None;
    assert_eq!(world.run(22, Vec::new()).facts, []);
    assert_eq!(world.status(), Status::Proposed);
}

#[test]
fn an_accepted_one_stays_accepted_when_it_is_refreshed_and_can_still_be_withdrawn() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T13:00:00Z", decision(Decision::Accept));
    let mut refreshed = proposal("scout", "acme/old@default#seat", at("2026-11-21T12:00:00Z"), (40, 30, 50));
    refreshed.config.subtree_digest = Digest::of(b"another").to_string();
    refreshed.content_digest = pool_review::verdict::content_digest(&refreshed.to_json()).to_string();
    world.digest = Some(Digest::of(b"another").to_string());
    let settled = world.run(21, vec![refreshed]);
    assert_eq!((settled.open[0].revision, settled.open[0].status.as_str()), (2, "accepted"));
    world.run(22, Vec::new());
    assert_eq!(last(&world.run(23, Vec::new())), Some((ProposalState::Withdrawn, Status::Withdrawn)));
}

#[test]
fn a_rejection_is_not_argued_with_until_its_condition_holds() {
    let make = |day: u32, effect| {
        proposal("scout", "acme/old@default#seat", at(&format!("2026-11-{day:02}T12:00:00Z")), effect)
    };
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T13:00:00Z", decision(Decision::Reject));
    for (day, effect) in [(21, (15, 10, 20)), (22, (20, 12, 28)), (28, (5, 0, 9))] {
        let settled = world.run(day, vec![make(day, effect)]);
        assert_eq!((settled.open.len(), settled.facts.len()), (0, 0), "day {day}: quiet, also past its end");
        assert_eq!((settled.suppressed[0].status.as_str(), settled.suppressed[0].revision), ("rejected", 1));
        let why = settled.suppressed[0].suppressed.as_ref().unwrap();
        assert_eq!((why.by.as_str(), why.unless.as_str()), ("ada", "effect_grows_beyond_hi90"));
    }
    assert_eq!(world.run(29, Vec::new()).facts, [], "to be missed is no event for one that sleeps");
    let settled = world.run(30, vec![make(30, (21, 16, 26))]);
    assert_eq!((settled.open[0].status.as_str(), settled.open[0].revision), ("proposed", 2), "21 is beyond 20");
    assert_eq!(settled.open[0].suppressed, None);
}

#[test]
fn a_rejection_for_good_is_never_raised_and_one_until_the_config_changes_is() {
    for (unless, raised) in [(Unless::Never, false), (Unless::ConfigChanges, true)] {
        let mut world = World::new();
        world.run(20, vec![one(20)]);
        world.decide("2026-11-20T13:00:00Z", DecisionFact { unless: Some(unless), ..decision(Decision::Reject) });
        let mut moved = proposal("scout", "acme/old@default#seat", at("2026-11-21T12:00:00Z"), (99, 90, 100));
        moved.config.subtree_digest = Digest::of(b"another").to_string();
        world.digest = Some(Digest::of(b"another").to_string());
        let settled = world.run(21, vec![moved]);
        assert_eq!(settled.open.len(), usize::from(raised), "{unless:?}");
        assert_eq!(world.status(), if raised { Status::Proposed } else { Status::Rejected });
    }
}

#[test]
fn a_deferral_sleeps_until_its_date_and_then_the_same_revision_is_back() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    let until = Some("2026-11-23T00:00:00Z".to_owned());
    world.decide("2026-11-20T13:00:00Z", DecisionFact { until, ..decision(Decision::Defer) });
    assert_eq!(world.run(22, vec![one(22)]).open, []);
    let settled = world.run(23, vec![one(23)]);
    assert_eq!((settled.open[0].status.as_str(), settled.open[0].revision), ("proposed", 1));
    assert_eq!(last(&settled), Some((ProposalState::Unchanged, Status::Proposed)));
    world.run(24, Vec::new());
    assert_eq!(last(&world.run(25, Vec::new())), Some((ProposalState::Withdrawn, Status::Withdrawn)));
}

#[test]
fn a_deferral_that_nobody_makes_any_more_wakes_to_be_missed_first() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    let until = Some("2026-11-22T00:00:00Z".to_owned());
    world.decide("2026-11-20T13:00:00Z", DecisionFact { until, ..decision(Decision::Defer) });
    assert_eq!(world.run(21, Vec::new()).facts, []);
    assert_eq!(last(&world.run(22, Vec::new())), Some((ProposalState::Absent, Status::Proposed)));
    assert_eq!(last(&world.run(23, Vec::new())), Some((ProposalState::Withdrawn, Status::Withdrawn)));
}

#[test]
fn a_landed_change_that_is_taken_back_is_rolled_back_and_may_come_back() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.digest = Some(after());
    world.run(21, Vec::new());
    world.digest = Some(before());
    let settled = world.run(22, vec![one(22)]);
    assert_eq!(last(&settled), Some((ProposalState::RolledBack, Status::RolledBack)));
    assert_eq!(
        (settled.open.len(), world.files.len()),
        (0, 0),
        "what was just taken back is not argued in the same run"
    );
    assert_eq!(world.past().landed("scout").next().unwrap().1, at("2026-11-22T12:00:00Z"), "its axis rests from here");
    assert_eq!(world.run(23, vec![one(23)]).open[0].revision, 2);
}

/// What a measurement said of a revision that landed on the 21st.
fn measured(revision: u64, status: Status) -> Fact {
    Fact::Verification(VerificationFact {
        fingerprint: one(20).fingerprint,
        revision,
        landed_at: "2026-11-21T12:00:00Z".to_owned(),
        rule: "structural_1".to_owned(),
        status,
        metric: "structural_fact".to_owned(),
        unit: "count".to_owned(),
        claimed_point: 15,
        claimed_sd: 3,
        realised_point: Some(14),
        realised_se: Some(4),
        rows: (10, 12),
        controls: Vec::new(),
    })
}

#[test]
fn a_landed_definition_that_moves_on_keeps_its_status_and_loses_its_way_back() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.digest = Some(after());
    world.run(21, Vec::new());
    world.digest = Some(Digest::of(b"third").to_string());
    assert_eq!(world.run(22, Vec::new()).facts, []);
    assert_eq!((world.status(), world.files.len()), (Status::Landed, 1), "its file stays while it is measured");
    let line =
        world.ledger().chained(&noon(23), at("2026-11-23T12:00:00Z"), &[measured(1, Status::Confirmed)]).remove(0);
    world.text.push_str(&(line + "\n"));
    world.run(24, Vec::new());
    assert_eq!((world.status(), world.files.len()), (Status::Confirmed, 0));
}

#[test]
fn measurements_move_the_life_of_the_landed_revision_only() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.digest = Some(after());
    world.run(21, Vec::new());
    let say = |world: &mut World, day: u32, fact: Fact| {
        let line = world.ledger().chained(&noon(day), at(&format!("2026-11-{day:02}T12:00:00Z")), &[fact]).remove(0);
        world.text += &(line + "\n");
    };
    say(&mut world, 22, measured(2, Status::Confirmed));
    assert_eq!(world.status(), Status::Landed, "revision 2 never landed");
    say(&mut world, 23, measured(1, Status::Verifying));
    say(&mut world, 24, measured(1, Status::Confirmed));
    assert_eq!(world.status(), Status::Confirmed);
    let settled = world.run(25, Vec::new());
    let outcome = settled.landed[0].outcome.clone().unwrap();
    // z = (14 − 15) / √(3² + 4²) = −0.2; the interval is 14 ± 1.644854 · 4.
    assert_eq!((outcome.z_milli, outcome.lo90, outcome.hi90, outcome.rows), (Some(-200), 7, 21, 22));
    assert_eq!((settled.landed[0].status.as_str(), outcome.inside90), ("confirmed", true));
    world.digest = Some(before());
    assert_eq!(last(&world.run(26, Vec::new())), Some((ProposalState::RolledBack, Status::RolledBack)));
}

#[test]
fn numbers_are_given_once_and_kept_for_life() {
    let other =
        |day: u32| proposal("scout", "acme/b@default#seat", at(&format!("2026-11-{day:02}T12:00:00Z")), (1, 1, 1));
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.run(21, vec![one(21), other(21)]);
    let numbers = |world: &World| {
        let past = world.past();
        [one(20), other(20)].map(|one| past.lives.get(&one.fingerprint).unwrap().number)
    };
    assert_eq!(numbers(&world), [1, 2]);
    world.run(22, vec![other(22)]);
    world.run(23, vec![other(23)]);
    assert_eq!(world.status(), Status::Withdrawn);
    world.run(24, vec![one(24), other(24)]);
    assert_eq!(numbers(&world), [1, 2], "it came back with its number");
    let past = world.ledger().before(&noon(25));
    let life = |one: Proposal| past.lives.get(&one.fingerprint).unwrap().clone();
    assert_eq!((life(one(20)).opened, life(one(20)).carried(past.lives.runs() + 1)), (noon(24), 1));
    assert_eq!((life(other(20)).opened, life(other(20)).carried(past.lives.runs() + 1)), (noon(21), 4));
}

#[test]
fn a_number_of_a_judgement_that_counts_no_longer_is_not_given_again() {
    let other = proposal("scout", "acme/b@default#seat", at("2026-11-20T12:00:00Z"), (1, 1, 1));
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.run(20, vec![other.clone()]);
    assert!(world.text.contains("\"rerun\""));
    let text = world.text.clone();
    world.run(20, vec![other.clone()]);
    assert_eq!(world.text, text, "the same again adds nothing");
    assert_eq!(world.past().lives.get(&other.fingerprint).unwrap().number, 2);
    assert_eq!(world.past().lives.get(&one(20).fingerprint), None);
}

#[test]
fn a_decision_at_the_instant_of_the_run_counts_when_that_run_is_judged_again() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T12:00:00Z", decision(Decision::Accept));
    assert_eq!(world.ledger().before(&noon(20)).lives.decision(&one(20).fingerprint).unwrap().run, noon(20));
    let settled = world.run(20, vec![one(20)]);
    assert_eq!((settled.open[0].status.as_str(), settled.open[0].revision), ("accepted", 1));
    let text = world.text.clone();
    world.run(20, vec![one(20)]);
    assert_eq!(world.text, text, "once the run has heard of it, the same again adds nothing");
    assert_eq!(world.status(), Status::Accepted);
    world.decide("2026-11-20T12:00:00Z", decision(Decision::Reject));
    let settled = world.run(20, vec![one(20)]);
    assert_eq!((settled.open.len(), settled.suppressed[0].status.as_str()), (0, "rejected"));
    assert_eq!(world.run(21, vec![one(21)]).suppressed[0].revision, 1);
}

#[test]
fn a_landing_is_seen_when_the_very_run_that_proposed_is_judged_again() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-20T12:00:00Z", decision(Decision::Accept));
    world.digest = Some(after());
    let settled = world.run(20, Vec::new());
    assert_eq!((last(&settled), world.files.len()), (Some((ProposalState::Landed, Status::Landed)), 1));
    let text = world.text.clone();
    world.run(20, Vec::new());
    assert_eq!(world.text, text, "the same again adds nothing");
    let life = world.past().lives.get(&one(20).fingerprint).unwrap().clone();
    assert_eq!((life.status, life.number, life.landing.unwrap().run), (Status::Landed, 1, noon(20)));
    assert_eq!(world.run(21, Vec::new()).facts, []);
}

#[test]
fn a_decision_is_no_run() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.decide("2026-11-25T12:00:00Z", decision(Decision::Accept));
    let ledger = world.ledger();
    assert_eq!(ledger.newest_run(), Some(noon(20).as_str()));
    assert!(!ledger.holds_run("20261125T120000Z"));
    assert_eq!(ledger.before(&noon(22)).lives.get(&one(20).fingerprint).unwrap().status, Status::Proposed);
}

#[test]
fn facts_of_an_older_ledger_have_the_status_that_their_state_says() {
    let mut world = World::new();
    world.run(20, vec![one(20)]);
    world.run(21, Vec::new());
    world.run(22, Vec::new());
    let old: Vec<ProposalFact> = world
        .ledger()
        .events()
        .iter()
        .filter_map(|event| match &event.fact {
            Some(Fact::Proposal(fact)) => {
                let mut value = serde_json::to_value(fact).unwrap();
                for key in ["status", "number", "path", "pointer"] {
                    value.as_object_mut().unwrap().remove(key).unwrap();
                }
                Some(serde_json::from_value(value).unwrap())
            }
            _ => None,
        })
        .collect();
    let mut text = String::new();
    for (day, fact) in (20..).zip(old) {
        let (ledger, _) = Ledger::read("ledger.jsonl", &text);
        let facts = [Fact::Proposal(Box::new(fact))];
        let lines = ledger.chained(&noon(day), at("2026-11-20T12:00:00Z"), &facts);
        text += &(lines.concat() + "\n");
    }
    let past = Ledger::read("ledger.jsonl", &text).0.present();
    let life = past.lives.get(&one(20).fingerprint).unwrap();
    assert_eq!((life.status, life.number), (Status::Withdrawn, 1));
}
