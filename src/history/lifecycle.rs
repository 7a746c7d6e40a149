//! The life of a proposal (methods §19): its statuses and which may follow which, and the events that are not a run's own:
//! what a steward decided, what a measurement found.

use serde::{Deserialize, Serialize};

use crate::verdict::TriggerReading;

/// Where a proposal stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not yet proposed.
    Draft,
    /// Open, nobody has decided.
    Proposed,
    /// A steward means to land it.
    Accepted,
    /// A steward said no; not argued with until the condition holds.
    Rejected,
    /// A steward said later.
    Deferred,
    /// Another change of the same definition came first.
    Superseded,
    /// Its time ran out.
    Expired,
    /// The review no longer makes it.
    Withdrawn,
    /// The config holds what it predicted.
    Landed,
    /// Landed, and its effect is being measured.
    Verifying,
    /// The effect was there.
    Confirmed,
    /// The effect was not there.
    Refuted,
    /// The measurement ended and settles nothing.
    Inconclusive,
    /// The change was taken back.
    RolledBack,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 14] = [
        Self::Draft,
        Self::Proposed,
        Self::Accepted,
        Self::Rejected,
        Self::Deferred,
        Self::Superseded,
        Self::Expired,
        Self::Withdrawn,
        Self::Landed,
        Self::Verifying,
        Self::Confirmed,
        Self::Refuted,
        Self::Inconclusive,
        Self::RolledBack,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Proposed => "proposed",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Deferred => "deferred",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Landed => "landed",
            Self::Verifying => "verifying",
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Inconclusive => "inconclusive",
            Self::RolledBack => "rolled_back",
        }
    }

    /// What may follow. `draft` to `rolled_back` is the table of methods §19; what it says in words is here too: a landing is
    /// detected whatever was decided, a steward may change their mind, and what ended may come back as a new revision.
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Draft | Self::Superseded | Self::Expired | Self::Withdrawn | Self::RolledBack => &[Self::Proposed],
            Self::Proposed => &[
                Self::Accepted,
                Self::Rejected,
                Self::Deferred,
                Self::Superseded,
                Self::Expired,
                Self::Withdrawn,
                Self::Landed,
            ],
            Self::Accepted => {
                &[Self::Rejected, Self::Deferred, Self::Superseded, Self::Expired, Self::Withdrawn, Self::Landed]
            }
            Self::Rejected => &[Self::Proposed, Self::Accepted, Self::Deferred, Self::Landed],
            Self::Deferred => &[Self::Proposed, Self::Accepted, Self::Rejected, Self::Landed],
            Self::Landed => {
                &[Self::Verifying, Self::Confirmed, Self::Refuted, Self::Inconclusive, Self::RolledBack, Self::Proposed]
            }
            Self::Verifying => &[Self::Confirmed, Self::Refuted, Self::Inconclusive, Self::RolledBack, Self::Proposed],
            Self::Confirmed | Self::Refuted => &[Self::RolledBack, Self::Proposed],
            Self::Inconclusive => &[Self::Confirmed, Self::Refuted, Self::RolledBack, Self::Proposed],
        }
    }

    /// Whether that status may follow this one.
    pub fn may_become(self, next: Self) -> bool {
        self.next().contains(&next)
    }

    /// Whether the proposal waits for somebody to land it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Proposed | Self::Accepted)
    }

    /// Whether a steward has put it to sleep.
    pub fn is_suppressed(self) -> bool {
        matches!(self, Self::Rejected | Self::Deferred)
    }

    /// Whether its change is in force, or its test under way, and the measurement has not ended.
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Landed | Self::Verifying)
    }

    /// Whether its change is in the config, measured or not.
    pub fn is_landed(self) -> bool {
        matches!(self, Self::Landed | Self::Verifying | Self::Confirmed | Self::Refuted | Self::Inconclusive)
    }
}

/// What a steward decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It will be landed.
    Accept,
    /// It will not be landed.
    Reject,
    /// Later.
    Defer,
    /// It was landed: a message only, the config's digest decides.
    Landed,
    /// It was taken back: a message only, the config's digest decides.
    Rollback,
}

impl Decision {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Defer => "defer",
            Self::Landed => "landed",
            Self::Rollback => "rollback",
        }
    }

    /// The status that it leads to; `None` for a message.
    pub fn status(self) -> Option<Status> {
        match self {
            Self::Accept => Some(Status::Accepted),
            Self::Reject => Some(Status::Rejected),
            Self::Defer => Some(Status::Deferred),
            Self::Landed | Self::Rollback => None,
        }
    }
}

/// The only condition that raises a suppressed proposal again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unless {
    /// Nothing does.
    Never,
    /// The effect's point leaves the upper end of the interval it had.
    EffectGrowsBeyondHi90,
    /// The definition changes.
    ConfigChanges,
}

impl Unless {
    /// Every condition.
    pub const ALL: [Self; 3] = [Self::Never, Self::EffectGrowsBeyondHi90, Self::ConfigChanges];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::EffectGrowsBeyondHi90 => "effect_grows_beyond_hi90",
            Self::ConfigChanges => "config_changes",
        }
    }
}

/// A steward's decision as the ledger keeps it. It is no event of a run: it counts for every run at its instant or later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionFact {
    /// Which proposal.
    pub fingerprint: String,
    /// The revision the steward saw.
    pub revision: u64,
    /// What was decided.
    pub decision: Decision,
    /// Why, in the steward's words.
    pub reason: String,
    /// Who.
    pub by: String,
    /// Until when it sleeps, for a deferral or a rejection with a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What raises it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless: Option<Unless>,
}

/// That the way back of a landed change has become due, or is due no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerFact {
    /// Which proposal.
    pub fingerprint: String,
    /// Which revision of it landed.
    pub revision: u64,
    /// Whether it is due.
    pub is_due: bool,
    /// The numbers.
    pub reading: TriggerReading,
}

/// What a measurement of a landed change found, as far as it has come (methods §20). Numbers are whole, in the unit of the
/// claim's primary metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationFact {
    /// Which proposal.
    pub fingerprint: String,
    /// Which revision of it landed.
    pub revision: u64,
    /// When it landed.
    pub landed_at: String,
    /// The rule: `did_standard_1`, `paired_standard_1`, `before_after_1` or `structural_1`.
    pub rule: String,
    /// `verifying` (pending), `confirmed`, `refuted` or `inconclusive`.
    pub status: Status,
    /// Metric and unit of the claim.
    pub metric: String,
    /// The unit.
    pub unit: String,
    /// The claimed point.
    pub claimed_point: i64,
    /// Standard deviation of the claim.
    pub claimed_sd: i64,
    /// What was measured; `None` while there is nothing to measure.
    #[serde(default)]
    pub realised_point: Option<i64>,
    /// Its standard error.
    #[serde(default)]
    pub realised_se: Option<i64>,
    /// Rows before and after.
    pub rows: (u64, u64),
    /// The pools it was held against; none is before and after, or no such measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
}
