//! What earlier reviews left behind, as far as judging needs it.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::history::Past;
use crate::vocabulary::{CheckId, ModelId, PoolId};

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

    /// Code and counterpart of what a check found in a pool at an earlier scheduled look.
    pub fn seen(&self, pool: &PoolId, check: CheckId) -> BTreeSet<(String, String)> {
        let is_earlier = self.past.previous_at().is_some_and(|at| (self.now - at).num_hours() >= SECOND_LOOK_HOURS);
        if !is_earlier {
            return BTreeSet::new();
        }
        let findings = self.past.findings(pool.as_str(), check.as_str());
        findings.map(|finding| (finding.code.clone(), finding.counterpart.clone())).collect()
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
