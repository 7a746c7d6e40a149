//! The checks: pure functions of a pool's evidence and the settings. No clock, no files, no other check.

mod intents;
mod structure;

use crate::evidence::PoolEvidence;
use crate::settings::Settings;
use crate::verdict::{Finding, Number, Sentence, Verdict};
use crate::vocabulary::CheckId;

/// What a check says of one pool.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Facts.
    pub findings: Vec<Finding>,
    /// The numbers behind the verdict.
    pub numbers: Vec<Number>,
    /// What a check says about parts it could not judge or settle, with the reason code (`stale:market`).
    pub open: Vec<(Verdict, String)>,
    /// The sentence that carries the verdict when there is no finding.
    pub aligned: Sentence,
}
