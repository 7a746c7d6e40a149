//! What a steward hears after a decision: what was recorded, and what happens next.

use serde_json::json;

use super::card::Card;
use super::patch::ConfigState;
use crate::history::{Decision, DecisionFact, Unless};

/// The name of the shape.
const SCHEMA: &str = "pool-review.proposals-decided/1";

/// What becomes of a test that is stopped.
const STOPPED: &str = "no config had changed, its rows stay evidence of both models like any others, and the comparison ends without an \
                       outcome and does not count for calibration";

/// A decision that stands in the ledger.
pub struct Answered<'a> {
    /// The proposal after it.
    pub card: &'a Card<'a>,
    /// What was decided.
    pub fact: &'a DecisionFact,
    /// Whether it was news.
    pub is_new: bool,
    /// How the definition stands.
    pub config: ConfigState,
}

/// One line for people.
pub fn answered(answer: &Answered<'_>) -> String {
    let said = if answer.is_new { "" } else { "already recorded; " };
    format!("{}: {said}{}\n", answer.card.label(), next(answer))
}

/// What happens next.
fn next(answer: &Answered<'_>) -> String {
    let label = answer.card.label();
    let until = answer.fact.until.as_deref().and_then(|until| until.get(..10));
    match answer.fact.decision {
        Decision::Accept if answer.config == ConfigState::AsPredicted => {
            "accepted; the config holds it already, and the next review records the landing".to_owned()
        }
        Decision::Accept if answer.card.fact.is_test() => format!(
            "accepted; run the test as `pool-review proposals show {label}` says and record its rows: the next reviews measure it"
        ),
        Decision::Accept => format!(
            "accepted; apply it with `pool-review proposals patch {label} | git apply`, and the next review sees it in the config"
        ),
        Decision::Rollback if answer.card.fact.is_test() => {
            format!("the test is stopped; {STOPPED}; a review that still argues it proposes it again")
        }
        Decision::Reject => {
            let is_stopped = answer.card.fact.is_test() && answer.card.life.verification.is_some();
            let stopped = if is_stopped { format!("the test is stopped; {STOPPED}; ") } else { String::new() };
            let raised = match answer.fact.unless {
                Some(Unless::EffectGrowsBeyondHi90) => {
                    "it comes back only when its effect grows beyond the claimed interval"
                }
                Some(Unless::ConfigChanges) => "it comes back only when its definition changes",
                Some(Unless::Never) | None => "it does not come back by itself",
            };
            let or = until.map_or(String::new(), |day| format!(", or on {day}"));
            format!("{stopped}rejected; {raised}{or}")
        }
        Decision::Defer => format!("deferred; it sleeps until {}", until.unwrap_or("its date")),
        Decision::Landed if answer.config == ConfigState::AsPredicted => {
            "noted; the config holds what it predicted, and the next review records the landing".to_owned()
        }
        Decision::Landed => format!(
            "noted, but nothing has landed: {} does not hold what it predicts; a landing is read from the config, not from a message",
            answer.card.fact.path
        ),
        Decision::Rollback if answer.config == ConfigState::AsReviewed => {
            "noted; the config is as it was before, and the next review records the rollback".to_owned()
        }
        Decision::Rollback => {
            format!("noted; take it back with `pool-review proposals patch {label} --rollback | git apply`")
        }
    }
}

/// The same as JSON.
pub fn answered_json(answer: &Answered<'_>) -> String {
    let value = json!({
        "schema": SCHEMA,
        "fingerprint": answer.card.fact.fingerprint,
        "number": answer.card.life.number,
        "revision": answer.fact.revision,
        "decision": answer.fact.decision,
        "status": answer.card.life.status,
        "is_new": answer.is_new,
        "reason": answer.fact.reason,
        "by": answer.fact.by,
        "until": answer.fact.until,
        "unless": answer.fact.unless,
        "config": answer.config.as_str(),
        "next": next(answer),
    });
    format!("{value:#}\n")
}
