//! Any history of runs, edits and decisions: the life goes only where the table lets it, the ledger says what the fold gives,
//! the file says where it stands, and the same run again adds nothing.

use pool_review::history::{Decision, DecisionFact, Status};
use pool_review::verdict::{Proposal, content_digest};
use pool_review::vocabulary::Digest;
use proptest::prelude::*;

use super::{World, after, at, before, decision, one, proposal};

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A run that makes the proposal, with this effect.
    Made(i64),
    /// A run that does not.
    Missed,
    /// The definition becomes this: 0 as before, 1 as predicted, 2 another.
    Edit(u8),
    /// A steward decides; a deferral and every second rejection have a date two days ahead.
    Decide(Decision, bool),
}

/// Any step.
fn step() -> impl Strategy<Value = Step> {
    let decisions = [Decision::Accept, Decision::Reject, Decision::Defer, Decision::Landed, Decision::Rollback];
    prop_oneof![
        4 => prop_oneof![Just(15_i64), Just(19), Just(60)].prop_map(Step::Made),
        2 => Just(Step::Missed),
        2 => (0_u8..3).prop_map(Step::Edit),
        2 => (proptest::sample::select(decisions.to_vec()), any::<bool>()).prop_map(|(said, dated)| Step::Decide(said, dated)),
    ]
}

/// The proposal on the definition as it stands.
fn made(day: u32, effect: i64, digest: &str) -> Proposal {
    let now = at(&format!("2026-11-{day:02}T12:00:00Z"));
    let mut made = proposal("scout", "acme/old@default#seat", now, (effect, effect - 5, effect + 5));
    digest.clone_into(&mut made.config.subtree_digest);
    if digest == after() {
        made.config.subtree_digest_after = Some(Digest::of(b"after that").to_string());
    }
    made.content_digest = content_digest(&made.to_json()).to_string();
    made
}

/// Runs once and once more on the same day, and checks what is said of both.
fn run(world: &mut World, day: u32, fresh: &[Proposal]) {
    let settled = world.run(day, fresh.to_vec());
    let past = world.past();
    for fact in &settled.facts {
        assert_eq!(past.lives.get(&fact.fingerprint).unwrap().status, fact.status, "the fold says what the run said");
    }
    for proposal in settled.open.iter().chain(&settled.suppressed).chain(&settled.landed) {
        let life = past.lives.get(&proposal.fingerprint).unwrap();
        assert_eq!(proposal.status, life.status.as_str(), "so does the file");
        assert_eq!(proposal.suppressed.is_some(), life.status.is_suppressed());
        assert_eq!(proposal.landing.is_some(), life.status.is_landed());
    }
    let text = world.text.clone();
    world.run(day, fresh.to_vec());
    assert_eq!(world.text, text, "the same run again adds nothing");
}

/// The status of the one proposal; nothing yet is a draft.
fn status(world: &World) -> Status {
    world.past().lives.get(&one(1).fingerprint).map_or(Status::Draft, |life| life.status)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_history_goes_only_where_the_table_lets_it(steps in proptest::collection::vec(step(), 1..16)) {
        let mut world = World::new();
        for (day, step) in (1_u32..).zip(steps) {
            let (was, digest) = (status(&world), world.digest.clone().unwrap());
            match step {
                Step::Made(effect) => run(&mut world, day, &[made(day, effect, &digest)]),
                Step::Missed => run(&mut world, day, &[]),
                Step::Edit(to) => {
                    world.digest = Some([before(), after(), Digest::of(b"another").to_string()][usize::from(to)].clone());
                }
                Step::Decide(said, is_dated) => {
                    let is_dated = said == Decision::Defer || (said == Decision::Reject && is_dated);
                    let until = is_dated.then(|| format!("2026-11-{:02}T00:00:00Z", day + 2));
                    let revision = world.past().proposals.values().next().map_or(1, |fact| fact.revision);
                    world.decide(&format!("2026-11-{day:02}T13:00:00Z"), DecisionFact { revision, until, ..decision(said) });
                }
            }
            let is = status(&world);
            prop_assert!(was == is || was.may_become(is), "{was:?} became {is:?} by {step:?}");
            let numbers: Vec<u64> = world.past().lives.iter().map(|(_, life)| life.number).collect();
            prop_assert!(numbers.is_empty() || numbers == [1]);
        }
    }
}
