//! What became of a landed change (methods §20).

use super::normal::Z_95;
use super::prior::Tally;

/// A pool before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeforeAfter {
    /// Before the landing.
    pub pre: Tally,
    /// After it.
    pub post: Tally,
}

/// Difference in differences of a success rate, as fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Did {
    /// Post − pre of the treated pool; `None` without rows on a side.
    pub naive: Option<f64>,
    /// Weighted change of the controls; `None` without any.
    pub control: Option<f64>,
    /// naive − control.
    pub did: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
}

impl Did {
    /// The 90 % interval.
    pub fn interval_90(&self) -> Option<(f64, f64)> {
        self.did.zip(self.se).map(|(did, se)| (did - Z_95 * se, did + Z_95 * se))
    }
}

/// Post − pre; `None` without rows on a side.
fn change(pool: &BeforeAfter) -> Option<f64> {
    let rate = |tally: Tally| (tally.n > 0.0).then(|| tally.s / tally.n);
    Some(rate(pool.post)? - rate(pool.pre)?)
}

/// Variance of a cell: an all-success cell does not claim certainty.
fn variance(tally: Tally) -> f64 {
    let p = (tally.s + 0.5) / (tally.n + 1.0);
    p * (1.0 - p) / (tally.n + 2.0)
}

/// `[fn did]`: the treated pool against pools that were left alone.
pub fn did(treated: &BeforeAfter, controls: &[BeforeAfter]) -> Did {
    let naive = change(treated);
    let weight = |pool: &BeforeAfter| {
        let (pre, post) = (pool.pre.n, pool.post.n);
        if pre > 0.0 && post > 0.0 { pre * post / (pre + post) } else { 0.0 }
    };
    let total: f64 = controls.iter().map(weight).sum();
    if !(total > 0.0 && total.is_finite()) {
        return Did { naive, control: None, did: None, se: None };
    }
    let usable: Vec<_> = controls.iter().filter_map(|pool| Some((weight(pool) / total, change(pool)?, pool))).collect();
    let control: f64 = usable.iter().map(|(share, change, _)| share * change).sum();
    let both = |pool: &BeforeAfter| variance(pool.pre) + variance(pool.post);
    let spread: f64 = usable.iter().map(|(share, _, pool)| share.powi(2) * both(pool)).sum();
    Did {
        naive,
        control: Some(control),
        did: naive.map(|naive| naive - control),
        se: naive.map(|_| (both(treated) + spread).sqrt()),
    }
}

/// How an outcome is decided: a closed list, nothing that anybody would evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationRule {
    /// Difference in differences.
    DidStandard,
    /// Paired runs.
    PairedStandard,
    /// Before and after, without an untouched pool: confirms nothing.
    BeforeAfter,
    /// The predicted state is there.
    Structural,
}

impl VerificationRule {
    /// The rule of a name in a file.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "did_standard_1" => Self::DidStandard,
            "paired_standard_1" => Self::PairedStandard,
            "before_after_1" => Self::BeforeAfter,
            "structural_1" => Self::Structural,
            _ => return None,
        })
    }
}

/// What was measured after a landing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasuredChange {
    /// An estimate with its 90 % bounds, in the claim's unit.
    Interval {
        /// Lower bound.
        lo90: f64,
        /// Upper bound.
        hi90: f64,
    },
    /// Whether the predicted state is there.
    State(bool),
}

/// The facts of a verification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerificationFacts {
    /// The rule.
    pub rule: VerificationRule,
    /// Claimed point.
    pub point: f64,
    /// Claimed lower 90 % bound.
    pub lo90: f64,
    /// What was measured; `None` when nothing could be.
    pub measured: Option<MeasuredChange>,
    /// Rows measured.
    pub rows: f64,
    /// Rows wanted.
    pub min_rows: f64,
    /// Days since the landing.
    pub days: f64,
    /// Deadline in days.
    pub deadline_days: f64,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// Too early.
    Pending,
    /// As claimed.
    Confirmed,
    /// Not as claimed.
    Refuted,
    /// The measurement does not tell.
    Inconclusive,
}

impl ChangeOutcome {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// `[fn verification]`. A measurement that is missing at the deadline is inconclusive.
pub fn verify(facts: &VerificationFacts) -> ChangeOutcome {
    let is_over = facts.days >= facts.deadline_days;
    if facts.rule == VerificationRule::Structural {
        return match facts.measured {
            Some(MeasuredChange::State(true)) => ChangeOutcome::Confirmed,
            _ if is_over => ChangeOutcome::Refuted,
            _ => ChangeOutcome::Pending,
        };
    }
    if facts.rows < facts.min_rows && !is_over {
        return ChangeOutcome::Pending;
    }
    let Some(MeasuredChange::Interval { lo90, hi90 }) = facts.measured else { return ChangeOutcome::Inconclusive };
    if hi90 < 0.0 || hi90 < 0.5 * facts.point {
        return ChangeOutcome::Refuted;
    }
    let may_confirm = facts.rule != VerificationRule::BeforeAfter;
    if may_confirm && lo90 > 0.0 && hi90 >= facts.lo90 { ChangeOutcome::Confirmed } else { ChangeOutcome::Inconclusive }
}
