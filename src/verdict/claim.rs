//! What a statistical finding claims: its probability, its measurable effects, the bars it cleared and the rows behind it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BarTerm, Effect};

/// A plan to run the same tasks on two members, in the frozen shape of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestPlan {
    /// `paired-test`.
    pub format: String,
    /// The two members, lead first.
    pub arms: Vec<String>,
    /// The class to take tasks from; null for the pool's own mix.
    pub class: Option<String>,
    /// Pairs of runs.
    pub pairs: u64,
    /// What they cost, millionths of a dollar.
    pub cost_usd_micros: i64,
    /// What the answer is worth over the horizon, before the cost.
    pub value_usd_micros: i64,
    /// Chance that the answer clears the bar.
    pub pass_probability_ppm: u64,
    /// Constant true: graders do not see the names of models.
    pub blinded: bool,
    /// One sentence for a person.
    pub human: String,
}

/// The rows behind a claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimRows {
    /// Raw scored rows.
    pub rows: u64,
    /// Their weight now.
    pub weighted: f64,
    /// Raw scored rows by task class.
    pub classes: BTreeMap<String, u64>,
    /// Rows left out, by reason.
    pub excluded: BTreeMap<String, u64>,
    /// Which span.
    pub window: String,
    /// The class mix that the effects are frozen on, in millionths: what their `mix_digest` is the digest of.
    pub mix: BTreeMap<String, u64>,
}

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its probability: what looks, the one-look route and the run's mean error work with.
    pub probability: f64,
    /// Dollars a day that acting on it is worth: which of a run's claims come first.
    pub usd_per_day: f64,
    /// What it is expected to do; the first is primary.
    pub effects: Vec<Effect>,
    /// Which bar it cleared (`swap-lead/1`).
    pub bar: &'static str,
    /// Every threshold with its value.
    pub terms: Vec<BarTerm>,
    /// The rows behind it, in a sentence.
    pub rows_said: String,
    /// The probability and the looks behind it, in a sentence.
    pub bar_said: String,
    /// The verdicts at half, one and double the stake, in a sentence; `None` where no stake enters.
    pub stake_said: Option<String>,
    /// The rows.
    pub rows: ClaimRows,
    /// The success floor of the tier: what rolls the change back.
    pub floor: f64,
    /// The plan, when a test is asked for instead of a change.
    pub test: Option<TestPlan>,
}
