//! What became of a landed change (methods §20).

use super::normal::Z_95;
use super::prior::Tally;

/// A pool before and after, as successes and rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeforeAfter {
    /// Before the landing.
    pub pre: Tally,
    /// After it.
    pub post: Tally,
}

/// The mean of some rows of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The mean.
    pub mean: f64,
    /// Variance of that mean.
    pub variance: f64,
    /// Rows behind it.
    pub n: f64,
}

impl Cell {
    /// A success rate; `None` without rows. The variance is that of `p̃ = (S+½)/(n+1)` over `n + 2` rows: an all-success cell
    /// does not claim certainty.
    pub fn of_rate(tally: Tally) -> Option<Self> {
        let p = (tally.s + 0.5) / (tally.n + 1.0);
        (tally.n > 0.0).then(|| Self { mean: tally.s / tally.n, variance: p * (1.0 - p) / (tally.n + 2.0), n: tally.n })
    }

    /// Several cells on a mix: shares and their cells; `None` of none. Shares need not sum to 1.
    pub fn on_mix(cells: &[(f64, Self)]) -> Option<Self> {
        let total: f64 = cells.iter().map(|(share, _)| share).sum();
        (total > 0.0 && total.is_finite()).then(|| Self {
            mean: cells.iter().map(|(share, cell)| share / total * cell.mean).sum(),
            variance: cells.iter().map(|(share, cell)| (share / total).powi(2) * cell.variance).sum(),
            n: cells.iter().map(|(_, cell)| cell.n).sum(),
        })
    }
}

/// One mean before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Before the landing.
    pub pre: Cell,
    /// After it.
    pub post: Cell,
}

impl Change {
    /// Post − pre.
    pub fn difference(&self) -> f64 {
        self.post.mean - self.pre.mean
    }

    /// Variance of that difference.
    pub fn variance(&self) -> f64 {
        self.pre.variance + self.post.variance
    }

    /// What it weighs among the controls.
    fn weight(&self) -> f64 {
        self.pre.n * self.post.n / (self.pre.n + self.post.n)
    }
}

/// Difference in differences, in the unit of the cells.
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

/// `[fn did]`: the treated pool against pools that were left alone; fractions.
pub fn did(treated: &BeforeAfter, controls: &[BeforeAfter]) -> Did {
    let change = |pool: &BeforeAfter| Some(Change { pre: Cell::of_rate(pool.pre)?, post: Cell::of_rate(pool.post)? });
    let controls: Vec<Change> = controls.iter().filter_map(change).collect();
    did_of(change(treated).as_ref(), &controls)
}

/// The same of any means: money, minutes, rates on a mix.
pub fn did_of(treated: Option<&Change>, controls: &[Change]) -> Did {
    let naive = treated.map(Change::difference);
    let total: f64 = controls.iter().map(Change::weight).sum();
    if !(total > 0.0 && total.is_finite()) {
        return Did { naive, control: None, did: None, se: None };
    }
    let shares = || controls.iter().map(|pool| (pool.weight() / total, pool));
    let control: f64 = shares().map(|(share, pool)| share * pool.difference()).sum();
    let spread: f64 = shares().map(|(share, pool)| share.powi(2) * pool.variance()).sum();
    Did {
        naive,
        control: Some(control),
        did: naive.map(|naive| naive - control),
        se: treated.map(|treated| (treated.variance() + spread).sqrt()),
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
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DidStandard => "did_standard_1",
            Self::PairedStandard => "paired_standard_1",
            Self::BeforeAfter => "before_after_1",
            Self::Structural => "structural_1",
        }
    }

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
