//! This run's outcomes against the last run's: new, unchanged, updated or absent, and since when.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Fact, FindingKey, FirstSeenFact, OutcomeFact, OutcomeState, PoolVerdicts, RunFact};
use super::ledger::Past;
use super::looks::LooksFact;
use super::measured::MeasuredNow;
use super::settle::Settlement;
use crate::verdict::{Baseline, CheckReport, Counts, Finding, PoolReport, Report, Verdict};
use crate::vocabulary::SourceState;

/// Fills `previous_run`, `counts`, and `state` and `since` of every pool and check. An outcome is its verdict with the
/// codes, verdicts and subjects of its findings; numbers do not enter, or every run would move.
pub fn compare(report: &mut Report, past: &Past) {
    report.previous_run.clone_from(&past.previous_run);
    let mut counts = Counts::default();
    for pool in &mut report.pools {
        let id = pool.id.as_str().to_owned();
        for check in &mut pool.checks {
            let key = (id.clone(), Some(check.check.as_str().to_owned()));
            (check.state, check.since) =
                relate(past.outcomes.get(&key), check.verdict, &finding_keys(check), &report.run_id);
            count(&mut counts, check.state);
        }
        relate_pool(pool, past, &report.run_id);
    }
    counts.absent = gone(report, past).iter().filter(|outcome| outcome.check.is_some()).count() as u64;
    report.counts = counts;
}

/// The facts that a compared report adds to the ledger, in their fixed order: the run, outcomes that moved, outcomes that
/// are gone, proposals, models seen for the first time, looks, what was measured.
pub fn run_facts(
    report: &Report,
    past: &Past,
    settlement: &Settlement,
    settings_digest: &str,
    models: &BTreeSet<String>,
) -> Vec<Fact> {
    let seen = &settlement.seen;
    let mut facts = vec![Fact::Run(run_fact(report, settings_digest, &seen.subtrees))];
    facts.extend(report.pools.iter().flat_map(|pool| moved(pool, past, &report.run_id)).map(Fact::Outcome));
    facts.extend(gone(report, past).into_iter().map(Fact::Outcome));
    facts.extend(settlement.facts.iter().map(|fact| Fact::Proposal(Box::new(fact.clone()))));
    let unseen: BTreeSet<String> = models.iter().filter(|model| past.first_seen(model).is_none()).cloned().collect();
    if !unseen.is_empty() {
        facts.push(Fact::FirstSeen(FirstSeenFact { models: unseen }));
    }
    if !seen.looks.looks.is_empty() {
        facts.push(Fact::Looks(seen.looks.clone()));
    }
    facts.extend(seen.measured.facts());
    facts
}

/// What a run saw beside its report: the definitions of the pools, and the looks that counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenNow {
    /// Pool → digest of its definition.
    pub subtrees: BTreeMap<String, String>,
    /// Looks that counted or moved.
    pub looks: LooksFact,
    /// What it measured, and what it keeps for measuring.
    pub measured: MeasuredNow,
}

/// State and since of one outcome.
fn relate(known: Option<&OutcomeFact>, verdict: Verdict, findings: &[FindingKey], run: &str) -> (Baseline, String) {
    match known {
        None => (Baseline::New, run.to_owned()),
        Some(known) if known.verdict == verdict && say_the_same(&known.findings, findings) => {
            (Baseline::Unchanged, known.since.clone())
        }
        Some(_) => (Baseline::Updated, run.to_owned()),
    }
}

/// Whether two sorted lists of findings are the same, whenever they began.
fn say_the_same(a: &[FindingKey], b: &[FindingKey]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.says_the_same(b))
}

/// State and since of a pool: its verdict's since, and moved as soon as one of its checks moved.
fn relate_pool(pool: &mut PoolReport, past: &Past, run: &str) {
    let key = (pool.id.as_str().to_owned(), None);
    (pool.state, pool.since) = relate(past.outcomes.get(&key), pool.verdict, &[], run);
    let is_still = pool.checks.iter().all(|check| check.state == Baseline::Unchanged);
    if pool.state == Baseline::Unchanged && !is_still {
        pool.state = Baseline::Updated;
    }
}

/// Counts one outcome.
fn count(counts: &mut Counts, state: Baseline) {
    match state {
        Baseline::New => counts.new += 1,
        Baseline::Unchanged => counts.unchanged += 1,
        Baseline::Updated => counts.updated += 1,
        Baseline::Absent => counts.absent += 1,
    }
}

/// What the findings of a check say, sorted.
fn finding_keys(check: &CheckReport) -> Vec<FindingKey> {
    let key = |finding: &Finding| FindingKey {
        code: finding.code.to_owned(),
        verdict: finding.verdict.map_or("note", Verdict::as_str).to_owned(),
        subject: finding.subject.clone(),
        counterpart: finding.counterpart.clone(),
        since: None,
    };
    let mut keys: Vec<FindingKey> = check.findings.iter().map(key).collect();
    keys.sort();
    keys
}

/// What the findings of a check say, each with the run where it began.
fn dated_keys(pool: &str, check: &CheckReport, past: &Past, run: &str) -> Vec<FindingKey> {
    let since = |key: &FindingKey| past.finding_since(pool, check.check.as_str(), key).unwrap_or(run).to_owned();
    finding_keys(check).into_iter().map(|key| FindingKey { since: Some(since(&key)), ..key }).collect()
}

/// The outcomes of a pool that moved in this run.
fn moved(pool: &PoolReport, past: &Past, run: &str) -> Vec<OutcomeFact> {
    let id = pool.id.as_str();
    let own = pool.checks.iter().filter_map(|check| {
        let state = moved_state(check.state)?;
        let keys = dated_keys(id, check, past, run);
        Some(outcome(id, Some(check.check.as_str()), state, check.verdict, keys, &check.since))
    });
    let whole = moved_state(pool.state).map(|state| outcome(id, None, state, pool.verdict, Vec::new(), &pool.since));
    whole.into_iter().chain(own).collect()
}

/// The state as the ledger keeps it; `None` for what did not move.
fn moved_state(state: Baseline) -> Option<OutcomeState> {
    match state {
        Baseline::New => Some(OutcomeState::New),
        Baseline::Updated => Some(OutcomeState::Updated),
        Baseline::Unchanged | Baseline::Absent => None,
    }
}

/// An outcome from its parts.
fn outcome(
    pool: &str,
    check: Option<&str>,
    state: OutcomeState,
    verdict: Verdict,
    findings: Vec<FindingKey>,
    since: &str,
) -> OutcomeFact {
    let check = check.map(str::to_owned);
    OutcomeFact { pool: pool.to_owned(), check, state, verdict, findings, since: since.to_owned() }
}

/// The outcomes of the past that this report does not have, as absent ones, in key order.
fn gone(report: &Report, past: &Past) -> Vec<OutcomeFact> {
    let mut present: BTreeSet<(&str, Option<&str>)> = BTreeSet::new();
    for pool in &report.pools {
        present.insert((pool.id.as_str(), None));
        present.extend(pool.checks.iter().map(|check| (pool.id.as_str(), Some(check.check.as_str()))));
    }
    let is_gone = |outcome: &&OutcomeFact| !present.contains(&(outcome.pool.as_str(), outcome.check.as_deref()));
    let absent = |outcome: &OutcomeFact| OutcomeFact {
        state: OutcomeState::Absent,
        since: report.run_id.clone(),
        ..outcome.clone()
    };
    past.outcomes.values().filter(is_gone).map(absent).collect()
}

/// The run's own fact. A source without a digest is named by how its reading ended.
fn run_fact(report: &Report, settings_digest: &str, subtrees: &BTreeMap<String, String>) -> RunFact {
    let sources = report.sources.iter().map(|note| {
        let state = match &note.state {
            SourceState::Fresh => "fresh",
            SourceState::Stale => "stale",
            SourceState::NotConfigured => "not_configured",
            SourceState::Failed(_) => "failed",
        };
        (note.source.as_str().to_owned(), note.digest.as_ref().map_or(state.to_owned(), ToString::to_string))
    });
    RunFact {
        sources: sources.collect(),
        settings: settings_digest.to_owned(),
        policy: report.policy_digest.clone(),
        verdicts: report.pools.iter().map(verdicts).collect(),
        counts: report.counts,
        subtrees: subtrees.clone(),
    }
}

/// One pool's verdicts.
fn verdicts(pool: &PoolReport) -> (String, PoolVerdicts) {
    let checks = pool.checks.iter().map(|check| (check.check.as_str().to_owned(), check.verdict)).collect();
    (pool.id.as_str().to_owned(), PoolVerdicts { verdict: pool.verdict, checks })
}
