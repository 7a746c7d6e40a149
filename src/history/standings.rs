//! Where proposals stand after a run, for readers.

use std::collections::BTreeMap;

use super::facts::ProposalFact;
use super::ledger::Past;
use super::lifecycle::{Decision, Status};
use super::lives::{Decided, Life};
use crate::verdict::{RollbackDue, Ruling, Standing};

/// The standings after a run that adds these facts, by fingerprint.
pub(super) fn standings(past: &Past, facts: &[ProposalFact], run: &str) -> BTreeMap<String, Standing> {
    let moved: BTreeMap<&str, &ProposalFact> = facts.iter().map(|fact| (fact.fingerprint.as_str(), fact)).collect();
    let heirs: BTreeMap<&str, &str> = facts
        .iter()
        .flat_map(|fact| fact.supersedes.iter().map(|old| (old.as_str(), fact.fingerprint.as_str())))
        .collect();
    let known = past.proposals.values().filter(|known| !moved.contains_key(known.fingerprint.as_str()));
    let all = known.chain(moved.values().copied());
    let shown = all.filter_map(|fact| {
        let (standing, is_shown) = standing(past, fact, run, &heirs);
        is_shown.then(|| (fact.fingerprint.clone(), standing))
    });
    shown.collect()
}

/// Fingerprint → that the way back of a landed change is due.
pub type Dues = BTreeMap<String, RollbackDue>;

/// Says in the standings which ways back are due; a change that would not be shown otherwise is shown for that.
pub(super) fn mark_due(standings: &mut BTreeMap<String, Standing>, past: &Past, run: &str, dues: &Dues) {
    for (fingerprint, due) in dues {
        let Some(fact) = past.proposals.get(fingerprint) else { continue };
        let known = standings.entry(fingerprint.clone());
        known.or_insert_with(|| standing(past, fact, run, &BTreeMap::new()).0).due = Some(due.clone());
    }
}

/// One standing, and whether it is worth a word: one that ended before is not.
fn standing(past: &Past, fact: &ProposalFact, run: &str, heirs: &BTreeMap<&str, &str>) -> (Standing, bool) {
    let life = past.lives.get(&fact.fingerprint);
    let before = life.map(|life| life.status);
    let has_moved = before != Some(fact.status);
    let since = life.filter(|_| !has_moved).map_or(run, |life| life.since.as_str());
    let decision = life.and_then(|life| life.decision.as_ref()).or_else(|| past.lives.decision(&fact.fingerprint));
    let decision = decision.filter(|decided| decided.fact.decision.status() == Some(fact.status));
    // A decision made at the instant of the run before came after it.
    let is_news = |previous: &str| since > previous || (decision.is_some() && since == previous);
    let is_moved = since == run || past.previous_run.as_deref().is_some_and(is_news);
    let is_shown = fact.status.is_open()
        || fact.status.is_suppressed()
        || matches!(fact.status, Status::Landed | Status::Verifying)
        || is_moved;
    let comes_back = fact.status.is_open() && !before.is_some_and(|before| before.is_open() || before.is_suppressed());
    let (opened, carried) = match life.filter(|_| !comes_back) {
        Some(life) => (life.opened.clone(), life.carried(past.lives.runs() + 1)),
        None => (run.to_owned(), 0),
    };
    let standing = Standing {
        number: fact.number,
        fingerprint: fact.fingerprint.clone(),
        pool: fact.pool.clone(),
        kind: fact.change.clone(),
        subject: fact.subject.clone(),
        counterpart: fact.counterpart.clone(),
        status: fact.status.as_str().to_owned(),
        since: since.to_owned(),
        is_moved,
        opened,
        carried,
        ruling: decision.map(ruling),
        heir: heirs.get(fact.fingerprint.as_str()).map(|heir| (*heir).to_owned()),
        unseen: life.and_then(|life| unseen(life, fact)),
        due: None,
    };
    (standing, is_shown)
}

/// A decision for readers.
pub fn ruling(decided: &Decided) -> Ruling {
    let fact = &decided.fact;
    Ruling {
        decision: fact.decision.as_str().to_owned(),
        by: fact.by.clone(),
        reason: fact.reason.clone(),
        until: fact.until.clone(),
        unless: fact.unless.map(|unless| unless.as_str().to_owned()),
    }
}

/// Who said that it landed or was taken back, while the config says otherwise.
fn unseen(life: &Life, fact: &ProposalFact) -> Option<String> {
    let message = life.message.as_ref().filter(|message| message.fact.revision == fact.revision)?;
    let is_contradicted = match message.fact.decision {
        Decision::Landed => fact.status.is_open() || fact.status.is_suppressed(),
        Decision::Rollback => fact.status.is_landed(),
        Decision::Accept | Decision::Reject | Decision::Defer => false,
    };
    is_contradicted.then(|| message.fact.by.clone())
}
