//! The checks: pure functions of a pool's evidence and the settings. No clock, no files, no other check.

mod aligned;
mod best_per_pool;
mod calls;
mod estimates;
mod intents;
mod latest_model;
mod retire;
mod right_sizing;
mod shares;
mod structure;

use crate::evidence::statistics::looks::LookStep;
use crate::evidence::{PoolEvidence, Readiness};
use crate::settings::Settings;
use crate::verdict::{Baseline, CheckReport, Finding, Number, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, Known, LookKey, SourceId};

/// A check: its id, its page and its judge.
pub struct Check {
    /// The id.
    pub id: CheckId,
    /// The page that `explain` prints.
    pub page: &'static str,
    /// The judge.
    judge: fn(&PoolEvidence, &Settings) -> Judgement,
}

/// Every check, in print order. A new one is a file, a page, a golden folder and a line here.
pub const CHECKS: [Check; 4] = [
    Check {
        id: CheckId::LatestModel,
        page: include_str!("../../instructions/checks/latest-model.md"),
        judge: latest_model::judge,
    },
    Check {
        id: CheckId::BestPerPool,
        page: include_str!("../../instructions/checks/best-per-pool.md"),
        judge: best_per_pool::judge,
    },
    Check {
        id: CheckId::RightSizing,
        page: include_str!("../../instructions/checks/right-sizing.md"),
        judge: right_sizing::judge,
    },
    Check {
        id: CheckId::Structure,
        page: include_str!("../../instructions/checks/structure.md"),
        judge: structure::judge,
    },
];

/// What a check says of one pool.
#[derive(Debug, Clone, Default)]
struct Judgement {
    /// Facts.
    findings: Vec<Finding>,
    /// The numbers behind the verdict.
    numbers: Vec<Number>,
    /// What could not be judged or settled: the verdict that gives, and why as a code (`stale:market`).
    open: Vec<(Verdict, String)>,
    /// The sentence that carries the verdict when there is no finding; empty when its numbers are not all there.
    aligned: Sentence,
    /// Readings of comparisons, for the ledger.
    looks: Vec<Look>,
}

/// One review's reading of one comparison (methods §8.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// What is compared.
    pub key: LookKey,
    /// The claim probability now.
    pub p: f64,
    /// Where it stands after this look.
    pub step: LookStep,
}

/// What all checks say of one pool.
#[derive(Debug, Clone)]
pub struct PoolJudgement {
    /// The checks, in registry order.
    pub checks: Vec<CheckReport>,
    /// Readings of comparisons, by key.
    pub looks: Vec<Look>,
    /// What could still be gained, if the pool is aligned and has an alternative.
    pub bound: Option<Bound>,
}

/// What an aligned verdict says could still be gained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Largest excess regret of an alternative, USD a task.
    pub regret_usd: f64,
    /// The threshold it lies beyond, USD a task.
    pub threshold_usd: f64,
}

/// Runs every check on one pool. A pool is aligned only with the full set of numbers that shows it (methods §23).
pub fn judge_pool(evidence: &PoolEvidence, settings: &Settings) -> PoolJudgement {
    let mut judged = PoolJudgement { checks: Vec::new(), looks: Vec::new(), bound: None };
    for check in &CHECKS {
        let mut judgement = (check.judge)(evidence, settings);
        judged.looks.append(&mut judgement.looks);
        judged.checks.push(report(check, evidence, judgement));
    }
    judged.looks.sort_by(|a, b| a.key.cmp(&b.key));
    judged.bound = aligned::verify(evidence, settings, &mut judged.checks);
    judged
}

/// One check of one pool. Without findings and without anything open it is `aligned`, if the numbers that show it are there.
fn report(check: &Check, evidence: &PoolEvidence, mut judgement: Judgement) -> CheckReport {
    if evidence.ring.is_err() && check.id != CheckId::Structure {
        judgement.open.push((Verdict::InsufficientEvidence, "no_member".to_owned()));
    }
    for finding in &mut judgement.findings {
        finding.subtree = evidence.ring.as_ref().ok().map(|ring| ring.subtree_digest().clone());
    }
    judgement.open.sort();
    judgement.open.dedup();
    judgement.findings.sort_by(|a, b| order(a).cmp(&order(b)));
    let verdicts = judgement.findings.iter().filter_map(|finding| finding.verdict);
    let settled = Verdict::worst(verdicts.chain(judgement.open.iter().map(|(verdict, _)| *verdict)));
    let verdict = settled.unwrap_or(if judgement.aligned.is_empty() { Verdict::Watch } else { Verdict::Aligned });
    CheckReport {
        check: check.id,
        verdict,
        state: Baseline::New,
        since: String::new(),
        summary: summary(verdict, &judgement),
        reasons: judgement.open.into_iter().map(|(_, reason)| reason).collect(),
        findings: judgement.findings,
        numbers: judgement.numbers,
    }
}

/// Codes that do not wait: printed before the others of the same verdict.
const URGENT: [&str; 5] = ["retired", "retirement_due", "policy_violation", "empty_pool", "lead_window_scarce"];

/// Findings worst first, notes last; then what cannot wait, what has a change ready, code and sides.
fn order(finding: &Finding) -> impl Ord + use<'_> {
    let is_urgent = URGENT.contains(&finding.code);
    let is_held = finding.intent.is_none() || finding.held.is_some();
    (std::cmp::Reverse(finding.verdict), !is_urgent, is_held, finding.code, &finding.subject, &finding.counterpart)
}

/// One sentence that carries the verdict.
fn summary(verdict: Verdict, judgement: &Judgement) -> Sentence {
    if verdict == Verdict::Aligned {
        return judgement.aligned.clone();
    }
    if let Some(finding) = judgement.findings.iter().find(|finding| finding.verdict == Some(verdict)) {
        return finding.why.clone();
    }
    let reasons: Vec<_> =
        judgement.open.iter().filter(|(v, _)| *v == verdict).map(|(_, reason)| reason.as_str()).collect();
    if reasons.is_empty() {
        Sentence::from("a number that would show it is missing")
    } else {
        Sentence::from(reasons.join(", "))
    }
}

/// What the sources a part needs leave open: a source that is not configured gives insufficient evidence, one that is
/// missing, failed or stale blocks.
fn lacking(evidence: &PoolEvidence, sources: &[SourceId]) -> Vec<(Verdict, String)> {
    let open = |source: &SourceId| match evidence.readiness(*source) {
        Readiness::Ready => None,
        Readiness::NotConfigured => Some((Verdict::InsufficientEvidence, format!("not_configured:{source}"))),
        Readiness::Blocked(reason) => Some((Verdict::Blocked, reason.clone())),
    };
    sources.iter().filter_map(open).collect()
}

/// What a part leaves open because a source that is configured is missing, failed or stale: it may hold what would misalign
/// the pool. Of one that is not configured nothing is asked.
fn broken(evidence: &PoolEvidence, source: SourceId) -> Option<(Verdict, String)> {
    lacking(evidence, &[source]).into_iter().find(|(verdict, _)| *verdict == Verdict::Blocked)
}

/// A number of a subject, known or not.
fn number(what: &str, of: &str, value: &Known<f64>, unit: Unit) -> Number {
    Number {
        what: what.to_owned(),
        of: of.to_owned(),
        value: value.get(),
        unit,
        interval: None,
        n: value.provenance().map(|provenance| provenance.n),
        basis: None,
        remark: value.reason().unwrap_or_default().to_owned(),
    }
}

/// A plain number of the whole pool.
fn plain(what: &str, value: Option<f64>, unit: Unit) -> Number {
    let (of, remark) = (String::new(), String::new());
    Number { what: what.to_owned(), of, value, unit, interval: None, n: None, basis: None, remark }
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts of config entries and rows stay far below 2^53")]
fn count(what: &str, value: usize) -> Number {
    plain(what, Some(value as f64), Unit::Count)
}
