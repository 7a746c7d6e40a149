//! What a change may claim to do, measurably (methods §17).

use super::normal::{Z_95, chance_positive};

/// Square of the 95 % and 80 % quantiles together: 80 % chance of a one-sided 5 % test.
const POWER: f64 = 6.182_557;
/// Fewest rows a measurement takes.
const LEAST_ROWS: u64 = 20;
/// Most rows that are asked for.
const MOST_ROWS: u64 = 400;
/// Days within which an effect must show.
pub const HORIZON_DAYS: u64 = 14;

/// What a claim is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimInput {
    /// d, $/task.
    pub saving: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// H, $.
    pub stake: f64,
    /// R of the lead.
    pub rate_lead: f64,
    /// R of the alternative.
    pub rate_alternative: f64,
    /// Rows of the pool per day.
    pub rows_per_day: f64,
    /// Calibration: multiplies the point.
    pub slope: f64,
    /// Calibration: widens the interval.
    pub inflation: f64,
}

/// A claimed effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimedEffect {
    /// Expected saving, $/task.
    pub point: f64,
    /// Lower 90 % bound.
    pub lo90: f64,
    /// Upper 90 % bound.
    pub hi90: f64,
    /// Chance that the effect has the claimed sign.
    pub probability: f64,
    /// Rows the measurement needs.
    pub min_rows: u64,
    /// Days until then; `None` when no rows come.
    pub horizon_days: Option<u64>,
}

impl ClaimedEffect {
    /// Whether it can be measured within the horizon.
    pub fn is_measurable(&self) -> bool {
        self.horizon_days.is_some_and(|days| days <= HORIZON_DAYS)
    }
}

/// `[fn claim]`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "rows and days are clamped to small positive counts"
)]
pub fn claim(input: &ClaimInput) -> ClaimedEffect {
    let point = input.slope * input.saving;
    let sd = input.inflation * input.sd;
    let of = |rate: f64| rate * (1.0 - rate);
    let min_rows = if point > 0.0 {
        let rows = POWER * input.stake.powi(2) * (of(input.rate_lead) + of(input.rate_alternative)) / point.powi(2);
        (rows.ceil().min(1e9) as u64).clamp(LEAST_ROWS, MOST_ROWS)
    } else {
        MOST_ROWS
    };
    let horizon_days =
        (input.rows_per_day > 0.0).then(|| (min_rows as f64 / input.rows_per_day).ceil().min(1e9) as u64);
    ClaimedEffect {
        point,
        lo90: point - Z_95 * sd,
        hi90: point + Z_95 * sd,
        probability: chance_positive(point, sd),
        min_rows,
        horizon_days,
    }
}
