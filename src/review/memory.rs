//! What earlier reviews left behind, as far as judging needs it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::history::{LookFact, Past};
use crate::vocabulary::{CheckId, LookKey, LookMemory, ModelId, PoolId, SourceId};

/// How long ago a look must lie to count as another scheduled one, hours (methods §8.3).
const SECOND_LOOK_HOURS: i64 = 11;

/// The past of one run.
pub struct Memory<'a> {
    /// The fold of the ledger before this run.
    past: &'a Past,
    /// The review instant.
    now: DateTime<Utc>,
}

impl<'a> Memory<'a> {
    /// The memory of a run.
    pub fn new(past: &'a Past, now: DateTime<Utc>) -> Self {
        Self { past, now }
    }

    /// Whole hours from an instant to the review.
    pub fn hours_since(&self, instant: DateTime<Utc>) -> i64 {
        (self.now - instant).num_hours()
    }

    /// When a review first saw a model.
    pub fn first_seen(&self, model: &ModelId) -> Option<DateTime<Utc>> {
        self.past.first_seen(model.as_str())
    }

    /// Code and counterpart of what the checks of windows found in a pool at an earlier scheduled look, on older readings.
    pub fn seen(&self, pool: &PoolId, quotas: Option<&str>) -> BTreeSet<(String, String)> {
        let is_earlier = self.past.previous_at().is_some_and(|at| (self.now - at).num_hours() >= SECOND_LOOK_HOURS);
        let is_newer = self.past.source_digest(SourceId::Quotas.as_str()) != quotas;
        if !is_earlier || !is_newer {
            return BTreeSet::new();
        }
        let of = |check: CheckId| self.past.findings(pool.as_str(), check.as_str());
        let findings = of(CheckId::BestPerPool).chain(of(CheckId::RightSizing));
        findings.map(|finding| (finding.code.clone(), finding.counterpart.clone())).collect()
    }

    /// What the looks at a pool's comparisons left behind.
    pub fn looks(&self, pool: &PoolId, basis: &str) -> BTreeMap<LookKey, LookMemory> {
        let memory = |fact: &LookFact| {
            #[expect(clippy::cast_precision_loss, reason = "millionths of 1")]
            let p = fact.p_ppm as f64 / 1e6;
            let at = DateTime::parse_from_rfc3339(&fact.at).ok()?.to_utc();
            let key = LookKey::new(&fact.code, &fact.subject, &fact.counterpart);
            Some((key, LookMemory { at, p, streak: fact.streak, low: fact.low, is_open: fact.is_open }))
        };
        self.past.looks(pool.as_str(), basis).filter_map(memory).collect()
    }

    /// When changes of a pool landed last, by axis.
    pub fn landed(&self, pool: &PoolId) -> BTreeMap<String, DateTime<Utc>> {
        self.past.landed(pool.as_str()).map(|(axis, at)| (axis.to_owned(), at)).collect()
    }

    /// When a review first found that nothing names a pool, and every one since has.
    pub fn unused_since(&self, pool: &PoolId) -> Option<DateTime<Utc>> {
        let structure = CheckId::Structure.as_str();
        let mut unused = self.past.findings(pool.as_str(), structure).filter(|finding| finding.code == "no_consumer");
        let run = self.past.finding_since(pool.as_str(), structure, unused.next()?)?;
        NaiveDateTime::parse_from_str(run, "%Y%m%dT%H%M%SZ").ok().map(|at| at.and_utc())
    }

    /// Targets that an earlier accepted catalogue did not have either: found missing on another snapshot, or settled since.
    pub fn missing(&self, pool: &PoolId, catalogue: Option<&str>) -> BTreeSet<String> {
        let is_new_snapshot = self.past.source_digest("catalogues").is_some_and(|known| Some(known) != catalogue);
        let findings = self.past.findings(pool.as_str(), CheckId::Structure.as_str());
        let unknown = findings.filter(|finding| finding.code == "unknown_member");
        unknown
            .filter(|finding| is_new_snapshot || finding.verdict == "misaligned")
            .map(|f| f.subject.clone())
            .collect()
    }
}
