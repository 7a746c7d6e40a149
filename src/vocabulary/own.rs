//! What our own work says: measured speeds, scorecards and the babysitter's log.

use chrono::{DateTime, Utc};

use super::{CallSource, Effort, HomeId, Place, PoolId, ProviderId};

/// One measured-speed row: one summary of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedRow {
    /// End of the measurement span.
    pub measured_at: DateTime<Utc>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// Home, if stated.
    pub home: Option<HomeId>,
    /// Pool, if stated.
    pub pool: Option<PoolId>,
    /// Task class, if stated.
    pub task_class: Option<String>,
    /// Requests behind the row, at least 1.
    pub n: u64,
    /// Effective output tokens per second.
    pub output_tps: Option<f64>,
    /// 90 % interval of `output_tps`.
    pub output_tps_90: Option<(f64, f64)>,
    /// Seconds to the first answer token.
    pub first_answer_s: Option<f64>,
    /// Median task duration in seconds.
    pub task_s: Option<f64>,
    /// The session store whose calls it sums up; `None` for a row that somebody measured and wrote down.
    pub of_calls: Option<CallSource>,
    /// Where the row stands.
    pub place: Place,
}

/// What became of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The task was done.
    Success,
    /// It was not, and the member is to blame.
    Failure,
    /// Rate limit, overload, network, authentication, credits or window: availability, never quality.
    Infra,
    /// No verdict, or a judge's score only.
    Unknown,
}

/// One scorecard row: one attempt at one task.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorecardRow {
    /// The task; the same task tried twice has one id.
    pub task_id: String,
    /// Attempt number, from 1.
    pub attempt: u64,
    /// End of the attempt.
    pub finished_at: DateTime<Utc>,
    /// The pool it was routed to.
    pub pool: Option<PoolId>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// Home, if stated.
    pub home: Option<HomeId>,
    /// Kind of work; `unclassified` when not stated.
    pub task_class: String,
    /// What became of it, judge rows and infra kinds already settled.
    pub outcome: Outcome,
    /// Wall time in seconds.
    pub duration_s: Option<f64>,
    /// Whether it ended at its time limit: the work would have taken longer.
    pub is_cut_off: bool,
    /// Cost as billed; 0 with tokens on a subscription reads as unknown.
    pub cost_usd: Option<f64>,
    /// The score a model judge gave, 0 to 100: shown beside the outcome, never inside it.
    pub judged: Option<JudgeScore>,
    /// Session, if stated: joins session stores and the babysitter log.
    pub session_id: Option<String>,
    /// Harness or prompt version; empty when not stated.
    pub epoch: String,
    /// Input without cache, cache read, cache write, output, where stated.
    pub tokens: [Option<u64>; 4],
    /// Where the row stands.
    pub place: Place,
}

/// Tokens of one attempt, by how they are charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskTokens {
    /// Input that was not in the cache.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output with reasoning.
    pub output: u64,
}

/// A score that a model judge gave.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeScore {
    /// Who judged.
    pub judge: String,
    /// 0 to 100.
    pub score: f64,
}

/// What the babysitter saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SitterEvent {
    /// The session stood still.
    Stall,
    /// It was told to go on.
    Nudge,
    /// It was started again.
    Restart,
    /// It was ended.
    Kill,
    /// It ran out of time.
    Timeout,
    /// It went round in circles.
    Loop,
    /// It went on by itself.
    Recovered,
}

impl SitterEvent {
    /// Every event with its word.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("stall", Self::Stall),
        ("nudge", Self::Nudge),
        ("restart", Self::Restart),
        ("kill", Self::Kill),
        ("timeout", Self::Timeout),
        ("loop", Self::Loop),
        ("recovered", Self::Recovered),
    ];

    /// Whether it ended the session.
    pub fn ends(self) -> bool {
        matches!(self, Self::Kill | Self::Timeout)
    }
}

/// One line of the babysitter log.
#[derive(Debug, Clone, PartialEq)]
pub struct SitterRow {
    /// When.
    pub at: DateTime<Utc>,
    /// Session.
    pub session_id: String,
    /// Task, if stated.
    pub task_id: Option<String>,
    /// Pool, if stated.
    pub pool: Option<PoolId>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// What was seen.
    pub event: SitterEvent,
    /// Seconds waited.
    pub waited_s: Option<f64>,
    /// Where the line stands.
    pub place: Place,
}
