//! What the review says: verdicts, findings, proposals and the report that every output is a view of.
//! Plain values. Nothing here knows a source, a check or an output.

mod calibration;
mod chart;
mod claim;
mod finding;
mod inspect;
mod names;
mod proposal;
mod report;
mod sentence;
mod standing;
mod trigger;

pub use calibration::{Calibration, CheckedBound, MeasuredChange};
pub use chart::{Chart, ChartPoint, ChartSpeed, ChartWindow, PointRole};
pub use claim::{Claim, ClaimRows, TestPlan};
pub use finding::{Basis, Edit, Finding, Intent, Limit, LimitOp, Measured, ProposalKind, Seat, Severity, Unit};
pub use inspect::{DoctorView, LayerView, MemberView, PoolView, RotationView, ViolationView};
pub use names::NameRow;
pub use proposal::{
    Bar, BarTerm, Change, Condition, ConfigChange, ConfigRef, Effect, EvidenceRef, LandingRef, Outcome, Patch,
    PolicyRef, Proposal, Reviewer, Rollback, Suppressed, Trigger, Verification, axis, content_digest, fingerprint,
};
pub use report::{Baseline, CheckReport, Counts, Number, PoolReport, Report, Subject};
pub use sentence::{Piece, Sentence};
pub use standing::{Ruling, Standing};
pub use trigger::{RollbackDue, TriggerReading};

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the six verdict words, ordered from best to worst (methods §8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Judged with the full set of numbers, and inside every limit.
    Aligned,
    /// Too few observations, or a source that is not configured.
    InsufficientEvidence,
    /// Outside a limit, and not yet to be acted upon.
    Watch,
    /// The evidence is there and does not settle it.
    Unresolved,
    /// Outside a limit, and settled.
    Misaligned,
    /// A source the question needs is missing or stale.
    Blocked,
}

impl Verdict {
    /// Every word, worst first, as tallies print them.
    pub const WORST_FIRST: [Self; 6] =
        [Self::Blocked, Self::Misaligned, Self::Unresolved, Self::Watch, Self::InsufficientEvidence, Self::Aligned];

    /// The word, spelled the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::InsufficientEvidence => "insufficient_evidence",
            Self::Watch => "watch",
            Self::Unresolved => "unresolved",
            Self::Misaligned => "misaligned",
            Self::Blocked => "blocked",
        }
    }

    /// The worst of some verdicts; `None` of none. Nothing judged is not aligned.
    pub fn worst(verdicts: impl IntoIterator<Item = Self>) -> Option<Self> {
        verdicts.into_iter().max()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
