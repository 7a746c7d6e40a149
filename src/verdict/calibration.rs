//! How far the reviewer's own claims came true (methods §20), as every output shows it. What is not known is `None`.

/// One landed change, as far as its measurement has come. Numbers are whole, in the unit of the claim's primary metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredChange {
    /// The proposal.
    pub fingerprint: String,
    /// Its pool.
    pub pool: String,
    /// Which revision landed.
    pub revision: u64,
    /// When a review first saw it, or when the test began.
    pub landed_at: String,
    /// The rule in force.
    pub rule: String,
    /// `verifying`, `confirmed`, `refuted` or `inconclusive`.
    pub status: &'static str,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// What was claimed.
    pub claimed_point: i64,
    /// Standard deviation of the claim.
    pub claimed_sd: i64,
    /// What was measured.
    pub realised_point: Option<i64>,
    /// Its standard error.
    pub realised_se: Option<i64>,
    /// Rows before and after.
    pub rows: (u64, u64),
    /// Pools it was held against.
    pub controls: Vec<String>,
    /// How far the measurement lies from the claim, in standard deviations of both.
    pub z: Option<f64>,
}

/// What became of the bound of an aligned verdict when somebody else changed its pool. Millionths of a dollar a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedBound {
    /// The pool.
    pub pool: String,
    /// The review that saw the change first.
    pub changed_at: String,
    /// What it was held against.
    pub allowed_usd_micros: u64,
    /// What the change saved.
    pub realised_point: Option<i64>,
    /// Its standard error.
    pub realised_se: Option<i64>,
    /// Rows before and after.
    pub rows: (u64, u64),
    /// `pending`, `held`, `missed` or `open`.
    pub outcome: &'static str,
}

/// The reviewer, measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Changes that are being measured, oldest landing first.
    pub verifying: Vec<MeasuredChange>,
    /// Changes whose measurement ended in this run, among them those that were only looked at.
    pub ended: Vec<MeasuredChange>,
    /// The last measured changes, oldest first: what the numbers below are about.
    pub changes: Vec<MeasuredChange>,
    /// Share of them inside 90 %; `None` without any.
    pub coverage_90: Option<f64>,
    /// Widens the next intervals.
    pub inflation: f64,
    /// Slope of what was measured on what was claimed.
    pub slope: f64,
    /// The same as it multiplies the next points.
    pub slope_used: f64,
    /// Share of changes that did better than nothing.
    pub hit_rate: Option<f64>,
    /// Brier score of the forecasts.
    pub brier: Option<f64>,
    /// The same of the constant hit rate.
    pub brier_constant: Option<f64>,
    /// 1 − their ratio; `None` under 8 changes or without variance.
    pub skill: Option<f64>,
    /// The bar that new claims must clear.
    pub propose_bar: f64,
    /// Whether poor skill raised it.
    pub is_bar_raised: bool,
    /// Pools of which an aligned verdict says what could still be gained.
    pub bounds_kept: usize,
    /// Bounds that somebody else's change put to the test, oldest first.
    pub bounds: Vec<CheckedBound>,
}

impl Default for Calibration {
    /// No history: claims and bar stand as they are, everything else is unknown.
    fn default() -> Self {
        Self {
            verifying: Vec::new(),
            ended: Vec::new(),
            changes: Vec::new(),
            coverage_90: None,
            inflation: 1.0,
            slope: 1.0,
            slope_used: 1.0,
            hit_rate: None,
            brier: None,
            brier_constant: None,
            skill: None,
            propose_bar: 0.95,
            is_bar_raised: false,
            bounds_kept: 0,
            bounds: Vec::new(),
        }
    }
}

impl Calibration {
    /// Whether there is anything to tell beyond how many aligned bounds are kept.
    pub fn has_history(&self) -> bool {
        !(self.verifying.is_empty() && self.ended.is_empty() && self.changes.is_empty() && self.bounds.is_empty())
    }
}
