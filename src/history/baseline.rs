//! How a proposal of this run relates to the one kept (methods §18.2).

use crate::verdict::{Baseline, Verdict};

/// What this run says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current<'a> {
    /// Digest of its content.
    pub content_digest: &'a str,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its primary effect, in the effect's unit.
    pub point: i64,
    /// Digest of the config subtree it was computed on.
    pub subtree_digest: &'a str,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous<'a> {
    /// Digest of its content.
    pub content_digest: &'a str,
    /// Its verdict.
    pub verdict: Verdict,
    /// Lower 90 % bound of its primary effect.
    pub lo90: i64,
    /// Upper 90 % bound.
    pub hi90: i64,
    /// Digest of the config subtree it was computed on.
    pub subtree_digest: &'a str,
}

/// The baseline state. Content that wobbles inside the kept 90 % interval, bounds included, under the same verdict and on
/// the same config is unchanged.
pub fn baseline_state(current: Option<&Current<'_>>, previous: Option<&Previous<'_>>) -> Baseline {
    match (current, previous) {
        (None, _) => Baseline::Absent,
        (Some(_), None) => Baseline::New,
        (Some(current), Some(previous)) if holds(current, previous) => Baseline::Unchanged,
        _ => Baseline::Updated,
    }
}

/// Whether what was kept still says what this run says.
fn holds(current: &Current<'_>, previous: &Previous<'_>) -> bool {
    current.content_digest == previous.content_digest
        || (current.verdict == previous.verdict
            && (previous.lo90..=previous.hi90).contains(&current.point)
            && current.subtree_digest == previous.subtree_digest)
}
