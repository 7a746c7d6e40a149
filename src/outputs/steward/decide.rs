//! A steward's decision: checked against the proposal's life, appended to the ledger once, shown in the proposal's file.

use std::fmt;

use anyhow::Result;
use chrono::{DateTime, NaiveDate, Utc};

use super::patch::ConfigState;
use crate::history::{Decided, Decision, DecisionFact, Fact, Ledger, Life, Past, ProposalFact, Status, Unless, stand};
use crate::outputs::{LEDGER, proposals};
use crate::store::Store;

/// Most characters of a reason (schema of the proposal).
const REASON_CHARS: usize = 400;
/// Most characters of a name.
const BY_CHARS: usize = 80;

/// What somebody asks for, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The decision.
    pub decision: Decision,
    /// The revision it speaks of; the present one where none is named.
    pub revision: Option<u64>,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// Until when: a day or an instant.
    pub until: Option<String>,
    /// What raises it again.
    pub unless: Option<Unless>,
}

/// Why a decision is not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// What was said is not right in itself.
    Words(String),
    /// The proposal does not take it now.
    Life(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(reason) | Self::Life(reason) => f.write_str(reason),
        }
    }
}

/// The event of a request, or why it is refused. `config` is how the definition stands now.
pub fn decision_fact(
    request: &Request,
    fact: &ProposalFact,
    life: &Life,
    config: ConfigState,
    now: DateTime<Utc>,
) -> Result<DecisionFact, Refusal> {
    let (reason, by) = (request.reason.trim(), request.by.trim());
    for (what, text, most) in [("reason", reason, REASON_CHARS), ("by", by, BY_CHARS)] {
        let count = text.chars().count();
        if count == 0 || count > most {
            return Err(Refusal::Words(format!("{what} has {count} characters, 1 to {most} are taken")));
        }
    }
    if let Some(revision) = request.revision.filter(|revision| *revision != fact.revision) {
        let (asked, at) = (revision, fact.revision);
        return Err(Refusal::Life(format!(
            "it speaks of revision {asked}, the proposal is at revision {at}: read it again"
        )));
    }
    ensure_fits_test(request.decision, fact, life).map_err(Refusal::Life)?;
    ensure_allowed(request.decision, life, config).map_err(Refusal::Life)?;
    let until = until(request, now).map_err(Refusal::Words)?;
    Ok(DecisionFact {
        fingerprint: fact.fingerprint.clone(),
        revision: fact.revision,
        decision: request.decision,
        reason: reason.to_owned(),
        by: by.to_owned(),
        until,
        unless: unless(request).map_err(Refusal::Words)?,
    })
}

/// Errors when a decision asks of a test what only a change of config has.
fn ensure_fits_test(decision: Decision, fact: &ProposalFact, life: &Life) -> Result<(), String> {
    match decision {
        _ if !fact.is_test() => Ok(()),
        Decision::Landed => Err("it is a test and changes no config, so nothing lands".to_owned()),
        Decision::Reject | Decision::Rollback if life.is_test_under_way() => Ok(()),
        Decision::Rollback if life.status == Status::Accepted => {
            Err("the test has no measured rows yet: reject it to withdraw the acceptance".to_owned())
        }
        Decision::Rollback => Err(format!(
            "the test is {} since {}, not under way: there is nothing to stop, and no config has changed",
            life.status.as_str(),
            life.since
        )),
        _ if life.status.is_landed() => Err(format!(
            "the test is {} since {}; it ends by itself with its rows or at its deadline, `reject` or `rollback` stops it while it is under \
             way, and no config has changed",
            life.status.as_str(),
            life.since
        )),
        _ => Ok(()),
    }
}

/// Errors unless the life takes the decision.
fn ensure_allowed(decision: Decision, life: &Life, config: ConfigState) -> Result<(), String> {
    let status = life.status;
    let is = |what: &str| Err(format!("it is {} since {}: {what}", status.as_str(), life.since));
    if life.is_test_under_way() && matches!(decision, Decision::Reject | Decision::Rollback) {
        return Ok(());
    }
    match (decision, decision.status()) {
        (Decision::Accept, _) if status.is_open() || status.is_suppressed() => match config {
            ConfigState::Moved => {
                Err("the definition has changed since it was reviewed, so the proposal is stale; run `pool-review review` for a \
                     fresh one"
                    .to_owned())
            }
            _ => Ok(()),
        },
        (_, Some(next)) if status == next || status.may_become(next) => Ok(()),
        (_, Some(_)) => is("there is nothing left to decide"),
        (Decision::Rollback, None) if !status.is_landed() => is("it has not landed, so there is nothing to take back"),
        (Decision::Landed, None) if !status.is_open() && !status.is_suppressed() => {
            is("there is no landing to wait for")
        }
        (_, None) => Ok(()),
    }
}

/// The instant until which it sleeps. Errors: a date on a decision that does not sleep, a deferral without one, a date that is
/// no date or is over.
fn until(request: &Request, now: DateTime<Utc>) -> Result<Option<String>, String> {
    let sleeps = matches!(request.decision, Decision::Reject | Decision::Defer);
    let Some(text) = &request.until else {
        let needs = request.decision == Decision::Defer;
        return if needs { Err("a deferral needs an until, a day such as 2026-12-31".to_owned()) } else { Ok(None) };
    };
    if !sleeps {
        return Err("until goes with reject and defer only".to_owned());
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
    let instant =
        day.map(|day| day.and_utc()).or_else(|| DateTime::parse_from_rfc3339(text).ok().map(|at| at.to_utc()));
    let instant = instant.ok_or_else(|| format!("until is {text:?}, which is no day such as 2026-12-31"))?;
    if instant <= now {
        return Err(format!("until is {text:?}, which is over"));
    }
    Ok(Some(instant.format("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// What raises it again: of a rejection an effect beyond the interval unless said otherwise, of a deferral nothing but its
/// date.
fn unless(request: &Request) -> Result<Option<Unless>, String> {
    match (request.decision, request.unless) {
        (Decision::Reject, None) => Ok(Some(Unless::EffectGrowsBeyondHi90)),
        (Decision::Defer, None) => Ok(Some(Unless::Never)),
        (Decision::Reject | Decision::Defer, said) => Ok(said),
        (_, None) => Ok(None),
        (_, Some(_)) => Err("unless goes with reject and defer only".to_owned()),
    }
}

/// Appends a decision to the ledger, unless it is what was decided last. Returns whether it was news, and a sentence when a
/// torn line was moved aside. A decision never stands before the newest run: it was made on what that run said.
pub fn record(
    store: &Store,
    ledger: &Ledger,
    now: DateTime<Utc>,
    fact: &DecisionFact,
) -> Result<(bool, Option<String>)> {
    let past = ledger.present();
    let life = past.lives.get(&fact.fingerprint);
    let last = life.and_then(|life| match fact.decision.status() {
        Some(_) => stands(life),
        None => life.message.as_ref(),
    });
    if last.is_some_and(|last| last.fact == *fact) {
        return Ok((false, None));
    }
    let instant = now.format("%Y%m%dT%H%M%SZ").to_string();
    let run = ledger.newest_run().filter(|newest| **newest > *instant).unwrap_or(&instant);
    let lines = ledger.chained(run, now, &[Fact::Decision(fact.clone())]);
    Ok((true, store.append_lines(&store.in_reports(LEDGER), &lines)?))
}

/// Writes where a proposal stands into its intact file; without one nothing is written.
pub fn restand_file(store: &Store, past: &Past, fingerprint: &str) -> Result<Vec<String>> {
    let known = past.proposals.get(fingerprint).zip(past.lives.get(fingerprint));
    let stored = proposals::stored(store, fingerprint).filter(|value| {
        let digest = crate::verdict::content_digest(value);
        known.is_some_and(|(fact, _)| digest.as_str() == fact.content_digest)
    });
    let stored = stored.and_then(|value| serde_json::from_value::<crate::verdict::Proposal>(value).ok());
    if let (Some(mut proposal), Some((_, life))) = (stored, known) {
        stand(&mut proposal, life);
        return proposals::write(store, [&proposal]);
    }
    Ok(Vec::new())
}

/// Whether a decision is the one that stands.
pub(super) fn stands(life: &Life) -> Option<&Decided> {
    life.decision.as_ref().filter(|decided| decided.fact.decision.status() == Some(life.status))
}
