//! What the ledger keeps so that the reviewer itself can be measured: frozen mixes, when definitions changed, what landed
//! changes did, and what an aligned verdict said could still be gained (methods §20).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::facts::Fact;
use super::lifecycle::{Status, TriggerFact, VerificationFact};

/// Changes of definitions that are remembered: no window reaches further back.
const REMEMBERED_DAYS: i64 = 120;

/// The rule by which a fact is looked at: it is no forecast, and no estimate is held against it.
const LOOKED_AT: &str = "structural_1";

/// Class mixes that claims were frozen on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixesFact {
    /// Digest, as the claim names it → class → share in millionths.
    pub mixes: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What an aligned verdict said of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFact {
    /// The pool.
    pub pool: String,
    /// Largest excess regret of an alternative, millionths of a dollar a task, rounded up to two digits; `None` is a pool
    /// that is aligned no longer.
    pub regret_usd_micros: Option<u64>,
    /// The threshold it lies beyond, likewise.
    pub threshold_usd_micros: u64,
}

/// Bounds that moved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundsFact {
    /// By pool.
    pub bounds: Vec<BoundFact>,
}

/// What became of a bound when somebody else changed its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundOutcome {
    /// Too early.
    Pending,
    /// No more was gained than the bound allows.
    Held,
    /// More was gained.
    Missed,
    /// The measurement does not tell.
    Open,
}

impl BoundOutcome {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Missed => "missed",
            Self::Open => "open",
        }
    }
}

/// A bound held against what somebody else's change of the pool did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundCheckFact {
    /// The pool.
    pub pool: String,
    /// The review that saw the change first.
    pub changed_at: String,
    /// What it was held against: bound and threshold, millionths of a dollar a task.
    pub allowed_usd_micros: u64,
    /// What the change saved, likewise; `None` while there is nothing to measure.
    pub realised_point: Option<i64>,
    /// Its standard error.
    pub realised_se: Option<i64>,
    /// Rows before and after.
    pub rows: (u64, u64),
    /// What became of it.
    pub outcome: BoundOutcome,
}

impl BoundCheckFact {
    /// What tells checks apart.
    fn key(&self) -> String {
        format!("{} {}", self.changed_at, self.pool)
    }
}

/// A change of a definition: no review looked between the two instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// The last review before it.
    pub before: DateTime<Utc>,
    /// The first review that saw it.
    pub after: DateTime<Utc>,
    /// What an aligned verdict said of the pool until then, if it was aligned.
    pub bound: Option<BoundFact>,
}

/// Pool → its changes, oldest first.
pub type Touches = BTreeMap<String, Vec<Touch>>;

/// What one run measured, and what it keeps for measuring; only what is not in the ledger already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuredNow {
    /// Landed changes.
    pub verifications: Vec<VerificationFact>,
    /// Ways back that became due, or are due no longer.
    pub triggers: Vec<TriggerFact>,
    /// Mixes of claims.
    pub mixes: MixesFact,
    /// Bounds that moved.
    pub bounds: BoundsFact,
    /// Bounds that were checked.
    pub checks: Vec<BoundCheckFact>,
}

impl MeasuredNow {
    /// As events, in their fixed order.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let verifications = self.verifications.iter().cloned().map(Fact::Verification);
        let checks = self.checks.iter().cloned().map(Fact::BoundCheck);
        let mixes = Some(self.mixes.clone()).filter(|fact| !fact.mixes.is_empty()).map(Fact::Mixes);
        let bounds = Some(self.bounds.clone()).filter(|fact| !fact.bounds.is_empty()).map(Fact::Bounds);
        let triggers = self.triggers.iter().cloned().map(Fact::Trigger);
        verifications.chain(triggers).chain(checks).chain(mixes).chain(bounds).collect()
    }
}

/// What the fold of the ledger keeps for measuring.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures {
    /// Digest → mix.
    mixes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Changes of definitions.
    touches: Touches,
    /// Measured changes by landing and fingerprint, each with its place in the order in which they were first measured.
    measured: BTreeMap<String, (usize, VerificationFact)>,
    /// Pool → what an aligned verdict says of it.
    bounds: BTreeMap<String, BoundFact>,
    /// Bounds that were checked, by instant and pool.
    checks: BTreeMap<String, BoundCheckFact>,
}

impl Measures {
    /// The mix of a digest, as shares of about 1.
    pub fn mix(&self, digest: &str) -> Option<&BTreeMap<String, u64>> {
        self.mixes.get(digest)
    }

    /// The changes of every definition, those that this run sees first among them.
    pub fn touches(
        &self,
        before: (&BTreeMap<String, String>, Option<DateTime<Utc>>),
        subtrees: &BTreeMap<String, String>,
        now: DateTime<Utc>,
    ) -> Touches {
        let mut seen = Self { touches: self.touches.clone(), bounds: self.bounds.clone(), ..Self::default() };
        seen.take_subtrees(before, subtrees, now);
        seen.touches
    }

    /// The changes that were measured, oldest first; `more` are those of the present run.
    pub fn measured(&self, more: &[VerificationFact]) -> Vec<VerificationFact> {
        let mut all = Self { measured: self.measured.clone(), ..Self::default() };
        for fact in more {
            all.take_verification(fact);
        }
        let mut measured: Vec<(usize, VerificationFact)> = all.measured.into_values().collect();
        measured.sort_by_key(|(place, _)| *place);
        measured.into_iter().map(|(_, fact)| fact).collect()
    }

    /// What an aligned verdict says of a pool.
    pub fn bound(&self, pool: &str) -> Option<&BoundFact> {
        self.bounds.get(pool)
    }

    /// Pools of which an aligned verdict says something.
    pub fn bounded(&self) -> impl Iterator<Item = &BoundFact> {
        self.bounds.values()
    }

    /// The check of a pool's bound against the change that a review saw first at some instant.
    pub fn check(&self, pool: &str, changed_at: &str) -> Option<&BoundCheckFact> {
        self.checks.get(&format!("{changed_at} {pool}"))
    }

    /// Bounds that were checked, oldest change first; `more` are those of the present run.
    pub fn checks(&self, more: &[BoundCheckFact]) -> Vec<BoundCheckFact> {
        let mut all = self.checks.clone();
        all.extend(more.iter().map(|check| (check.key(), check.clone())));
        all.into_values().collect()
    }

    /// Takes mixes in.
    pub(super) fn take_mixes(&mut self, fact: &MixesFact) {
        self.mixes.extend(fact.mixes.iter().map(|(digest, mix)| (digest.clone(), mix.clone())));
    }

    /// Takes bounds in.
    pub(super) fn take_bounds(&mut self, fact: &BoundsFact) {
        for bound in &fact.bounds {
            if bound.regret_usd_micros.is_some() {
                self.bounds.insert(bound.pool.clone(), bound.clone());
            } else {
                self.bounds.remove(&bound.pool);
            }
        }
    }

    /// Takes a check of a bound in.
    pub(super) fn take_check(&mut self, fact: &BoundCheckFact) {
        self.checks.insert(fact.key(), fact.clone());
    }

    /// Takes a measurement in. One that ended with a number counts; a later one of the same landing takes its place.
    pub(super) fn take_verification(&mut self, fact: &VerificationFact) {
        let is_forecast = fact.rule != LOOKED_AT && fact.realised_point.is_some() && fact.realised_se.is_some();
        if fact.status == Status::Verifying || !is_forecast {
            return;
        }
        let place = self.measured.len();
        let known = self.measured.entry(format!("{} {}", fact.landed_at, fact.fingerprint));
        known.or_insert_with(|| (place, fact.clone())).1 = fact.clone();
    }

    /// Takes the definitions of a run in, which are held against those of the run before it: a pool that is new there was
    /// changed too.
    pub(super) fn take_subtrees(
        &mut self,
        (before, previous): (&BTreeMap<String, String>, Option<DateTime<Utc>>),
        subtrees: &BTreeMap<String, String>,
        now: DateTime<Utc>,
    ) {
        let Some(previous) = previous else { return };
        let pools: BTreeSet<&String> = before.keys().chain(subtrees.keys()).collect();
        for pool in pools.into_iter().filter(|pool| before.get(*pool) != subtrees.get(*pool)) {
            let bound = self.bounds.get(pool).cloned();
            self.touches.entry(pool.clone()).or_default().push(Touch { before: previous, after: now, bound });
        }
        let oldest = now - Duration::days(REMEMBERED_DAYS);
        self.touches.retain(|_, touches| {
            touches.retain(|touch| touch.after >= oldest);
            !touches.is_empty()
        });
    }
}
