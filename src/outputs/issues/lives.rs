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
#[derive(Debug, Clone)]
pub(super) struct Lives<'a> {
    /// Id → its proposals, each with the run that moved it last.
    by_id: BTreeMap<String, Vec<(&'a str, &'a ProposalFact)>>,
    /// Fingerprint → the run that gave it its content.
    made: BTreeMap<&'a str, &'a str>,
    /// Earlier runs, oldest first.
    runs: Vec<(&'a str, &'a RunFact)>,
    /// This run.
    report: &'a Report,
}

impl<'a> Lives<'a> {
    /// The lives after a run; `runs` are the earlier ones.
    pub(super) fn new(
        report: &'a Report,
        settlement: &'a Settlement,
        past: &'a Past,
        runs: Vec<(&'a str, &'a RunFact)>,
    ) -> Self {
        let mut lives = Self { by_id: BTreeMap::new(), made: BTreeMap::new(), runs, report };
        let mut facts: BTreeMap<&str, (&str, &ProposalFact)> = BTreeMap::new();
        for (fingerprint, fact) in &past.proposals {
            let runs = past.proposal_runs.get(fingerprint);
            facts.insert(fingerprint, (runs.map_or("", |runs| runs.moved.as_str()), fact));
            lives.made.extend(runs.map(|runs| (fingerprint.as_str(), runs.made.as_str())));
        }
        for fact in &settlement.facts {
            facts.insert(&fact.fingerprint, (&report.run_id, fact));
            if matches!(fact.state, ProposalState::New | ProposalState::Updated) {
                lives.made.insert(&fact.fingerprint, &report.run_id);
            }
        }
        for (moved, fact) in facts.into_values() {
            for id in ids_of(fact) {
                lives.by_id.entry(id).or_default().push((moved, fact));
            }
        }
        lives
    }

    /// The run that gave a proposal its content: this one, if the ledger does not know it yet.
    pub(super) fn made(&self, fingerprint: &str) -> &'a str {
        self.made.get(fingerprint).copied().unwrap_or(&self.report.run_id)
    }

    /// How an id that this run does not flag stands.
    pub(super) fn now(&self, id: &str) -> Now {
        let Some(lives) = self.by_id.get(id) else { return self.unknown(id) };
        if let Some((_, open)) = lives.iter().find(|(_, fact)| fact.is_open()) {
            return if open.misses == 0 { Now::Kept } else { Now::Good(open.misses, "the review did not propose it") };
        }
        let last = lives.iter().max_by(|a, b| (a.0, &a.1.fingerprint).cmp(&(b.0, &b.1.fingerprint)));
        let Some((moved, fact)) = last else { return self.unknown(id) };
        self.ended(moved, fact)
    }

    /// How an id whose last proposal is over stands.
    fn ended(&self, moved: &str, fact: &ProposalFact) -> Now {
        let key = (fact.pool.as_str(), fact.check.as_str());
        match fact.state {
            _ if fact.status.is_suppressed() => Now::Suppressed(fact.status.as_str()),
            ProposalState::Withdrawn => Now::Good(GOOD_RUNS, "the review no longer proposes it"),
            ProposalState::Expired => {
                Now::Good(self.good(moved, key, is_judged), "its time ran out and it was not made again")
            }
            _ => Now::Good(self.good(moved, key, is_not_blocked), "the config holds the change"),
        }
    }

    /// An id of which the ledger knows no proposal: its pool as a whole decides.
    fn unknown(&self, id: &str) -> Now {
        let rest = id.split_once('/').map_or("", |(_, rest)| rest);
        let is_its = |pool: &&str| rest.starts_with(&format!("{}/", text::marker(pool)));
        let pools = self.report.pools.iter().map(|pool| pool.id.as_str()).filter(is_its);
        let Some(pool) = pools.max_by_key(|pool| pool.len()) else { return Now::Kept };
        let verdicts = self.newest_first().map(|run| run.verdict(pool, None));
        let judged = verdicts.filter(|verdict| is_judged(*verdict) || *verdict == Some(Verdict::Watch));
        let good = judged.take_while(|verdict| *verdict == Some(Verdict::Aligned)).count() as u64;
        if good == 0 { Now::Kept } else { Now::Good(good, "its pool is aligned") }
    }

    /// This run and all earlier ones.
    fn newest_first(&self) -> impl Iterator<Item = Seen<'a>> + '_ {
        let earlier = self.runs.iter().rev().map(|(run, fact)| Seen::Earlier(run, fact));
        std::iter::once(Seen::This(self.report)).chain(earlier)
    }

    /// Runs from one on whose check counts.
    fn good(&self, from: &str, (pool, check): (&str, &str), counts: fn(Option<Verdict>) -> bool) -> u64 {
        let since = self.newest_first().take_while(|run| run.id() >= from);
        since.filter(|run| counts(run.verdict(pool, Some(check)))).count() as u64
    }

    /// Runs from one on in which a check of a pool was misaligned, in a row up to this run.
    pub(super) fn held(&self, from: &str, pool: &str, check: &str) -> u64 {
        let since = self.newest_first().take_while(|run| run.id() >= from);
        since.take_while(|run| run.verdict(pool, Some(check)) == Some(Verdict::Misaligned)).count() as u64
    }
}

/// One run with its verdicts.
enum Seen<'a> {
    /// The one that is delivered.
    This(&'a Report),
    /// One of the ledger.
    Earlier(&'a str, &'a RunFact),
}

impl Seen<'_> {
    /// Its id.
    fn id(&self) -> &str {
        match self {
            Self::This(report) => &report.run_id,
            Self::Earlier(run, _) => run,
        }
    }

    /// What it said of a check of a pool, or of the pool as a whole; `None` when that was not there.
    fn verdict(&self, pool: &str, check: Option<&str>) -> Option<Verdict> {
        match self {
            Self::This(report) => {
                let of_pool = report.pools.iter().find(|one| one.id.as_str() == pool)?;
                match check {
                    None => Some(of_pool.verdict),
                    Some(id) => of_pool.checks.iter().find(|one| one.check.as_str() == id).map(|one| one.verdict),
                }
            }
            Self::Earlier(_, run) => {
                let of_pool = run.verdicts.get(pool)?;
                check.map_or(Some(of_pool.verdict), |id| of_pool.checks.get(id).copied())
            }
        }
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
