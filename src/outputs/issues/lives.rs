//! What became of the proposals behind an id, in good runs: an issue exists only while its proposal does, and two counted runs
//! in a row without it close it.

use std::collections::BTreeMap;

use super::flags::ids_of;
use crate::history::{Past, ProposalFact, ProposalState, RunFact, Settlement};
use crate::outputs::text;
use crate::verdict::{Report, Verdict};

/// Good runs that close an issue.
pub(super) const GOOD_RUNS: u64 = 2;

/// Misaligned runs that open a closed issue again.
pub(super) const HELD_RUNS: u64 = 2;

/// How the proposal behind an issue stands after this run, when this run does not flag it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Now {
    /// Open, but this run could not judge it, or its claim still stands over the bar that keeps it.
    Kept,
    /// Not asked for in so many good runs, and why.
    Good(u64, &'static str),
    /// A steward said no or later.
    Suppressed(&'static str),
}

/// Proposals by the id of their issues, and the verdicts of the runs so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Lives {
    /// Id → its proposals, each with the run that moved it last.
    by_id: BTreeMap<String, Vec<(String, ProposalFact)>>,
    /// Fingerprint → the run that gave it its content.
    made: BTreeMap<String, String>,
    /// Run → pool and check (empty: the pool as a whole) → verdict; oldest first, this run last.
    verdicts: Vec<(String, BTreeMap<(String, String), Verdict>)>,
}

impl Lives {
    /// The lives after a run.
    pub(super) fn new(report: &Report, settlement: &Settlement, past: &Past, runs: &[(&str, &RunFact)]) -> Self {
        let mut lives = Self::default();
        let mut facts: BTreeMap<&str, (&str, &ProposalFact)> = BTreeMap::new();
        for (fingerprint, fact) in &past.proposals {
            let runs = past.proposal_runs.get(fingerprint);
            facts.insert(fingerprint, (runs.map_or("", |runs| runs.moved.as_str()), fact));
            lives.made.insert(fingerprint.clone(), runs.map_or_else(String::new, |runs| runs.made.clone()));
        }
        for fact in &settlement.facts {
            facts.insert(&fact.fingerprint, (&report.run_id, fact));
            if matches!(fact.state, ProposalState::New | ProposalState::Updated) {
                lives.made.insert(fact.fingerprint.clone(), report.run_id.clone());
            }
        }
        for (moved, fact) in facts.into_values() {
            for id in ids_of(fact) {
                lives.by_id.entry(id).or_default().push((moved.to_owned(), fact.clone()));
            }
        }
        lives.verdicts = runs.iter().map(|(run, fact)| ((*run).to_owned(), verdicts_of(fact))).collect();
        lives.verdicts.push((report.run_id.clone(), verdicts_of_report(report)));
        lives
    }

    /// The run that gave a proposal its content; `now` for one that the ledger does not know yet.
    pub(super) fn made<'a>(&'a self, fingerprint: &str, now: &'a str) -> &'a str {
        self.made.get(fingerprint).filter(|run| !run.is_empty()).map_or(now, String::as_str)
    }

    /// How an id that this run does not flag stands.
    pub(super) fn now(&self, id: &str) -> Now {
        let Some(lives) = self.by_id.get(id) else { return self.unknown(id) };
        if let Some((_, open)) = lives.iter().find(|(_, fact)| fact.is_open()) {
            return if open.misses == 0 { Now::Kept } else { Now::Good(open.misses, "the review did not propose it") };
        }
        let last = lives.iter().max_by(|a, b| (&a.0, &a.1.fingerprint).cmp(&(&b.0, &b.1.fingerprint)));
        let Some((moved, fact)) = last else { return self.unknown(id) };
        self.ended(moved, fact)
    }

    /// How an id whose last proposal is over stands.
    fn ended(&self, moved: &str, fact: &ProposalFact) -> Now {
        let key = (fact.pool.clone(), fact.check.clone());
        match fact.state {
            ProposalState::Withdrawn => Now::Good(GOOD_RUNS, "the review no longer proposes it"),
            ProposalState::Expired => {
                Now::Good(self.good(moved, &key, is_judged), "its time ran out and it was not made again")
            }
            _ => Now::Good(self.good(moved, &key, is_not_blocked), "the config holds the change"),
        }
    }

    /// An id of which the ledger knows no proposal: its pool as a whole decides. A pool that is gone needs nothing.
    fn unknown(&self, id: &str) -> Now {
        let rest = id.split_once('/').map_or("", |(_, rest)| rest);
        let pools = self.verdicts.iter().flat_map(|(_, verdicts)| verdicts.keys()).map(|(pool, _)| pool);
        let pool =
            pools.filter(|pool| rest.starts_with(&format!("{}/", text::marker(pool)))).max_by_key(|pool| pool.len());
        let Some(pool) = pool.cloned() else { return Now::Kept };
        let newest_first = self.verdicts.iter().rev().map(|(_, verdicts)| verdicts.get(&(pool.clone(), String::new())));
        let judged = newest_first.filter(|verdict| is_judged(verdict.copied()) || *verdict == Some(&Verdict::Watch));
        let good =
            judged.take_while(|verdict| verdict.is_none_or(|verdict| *verdict == Verdict::Aligned)).count() as u64;
        if good == 0 { Now::Kept } else { Now::Good(good, "its pool is aligned") }
    }

    /// Runs from one on whose check counts.
    fn good(&self, from: &str, key: &(String, String), counts: fn(Option<Verdict>) -> bool) -> u64 {
        let since = self.verdicts.iter().filter(|(run, _)| run.as_str() >= from);
        since.filter(|(_, verdicts)| counts(verdicts.get(key).copied())).count() as u64
    }

    /// Runs from one on in which a check of a pool was misaligned, in a row up to this run.
    pub(super) fn held(&self, from: &str, pool: &str, check: &str) -> u64 {
        let key = (pool.to_owned(), check.to_owned());
        let newest_first = self.verdicts.iter().rev().take_while(|(run, _)| run.as_str() >= from);
        newest_first.take_while(|(_, verdicts)| verdicts.get(&key) == Some(&Verdict::Misaligned)).count() as u64
    }
}

/// Whether a verdict settles something. A pool or check that is gone does: there is nothing to change.
fn is_judged(verdict: Option<Verdict>) -> bool {
    matches!(verdict, None | Some(Verdict::Aligned | Verdict::Misaligned))
}

/// Whether a run counts for a fact of the config, which needs no evidence of the check.
fn is_not_blocked(verdict: Option<Verdict>) -> bool {
    verdict != Some(Verdict::Blocked)
}

/// The verdicts of a run of the ledger.
fn verdicts_of(run: &RunFact) -> BTreeMap<(String, String), Verdict> {
    let of = |(pool, verdicts): (&String, &crate::history::PoolVerdicts)| {
        let checks = verdicts.checks.iter().map(|(check, verdict)| ((pool.clone(), check.clone()), *verdict));
        checks.chain([((pool.clone(), String::new()), verdicts.verdict)]).collect::<Vec<_>>()
    };
    run.verdicts.iter().flat_map(of).collect()
}

/// The verdicts of this run.
fn verdicts_of_report(report: &Report) -> BTreeMap<(String, String), Verdict> {
    let of = |pool: &crate::verdict::PoolReport| {
        let id = pool.id.to_string();
        let checks = pool.checks.iter().map(|check| ((id.clone(), check.check.as_str().to_owned()), check.verdict));
        checks.chain([((id.clone(), String::new()), pool.verdict)]).collect::<Vec<_>>()
    };
    report.pools.iter().flat_map(of).collect()
}
