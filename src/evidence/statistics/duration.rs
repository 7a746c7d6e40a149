//! Typical task durations and how many times slower one member is (methods §5). Minutes in, ln minutes inside.

use std::collections::BTreeMap;

use super::normal::{Z_95, chance_positive};

/// Deviations from the median, in robust standard deviations, that a row is pulled back to.
const WINSOR: f64 = 3.0;
/// Makes the median absolute deviation a standard deviation under a normal distribution.
const MAD_SCALE: f64 = 1.4826;

/// How durations are estimated; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DurationRules {
    /// Standard deviation of ln minutes assumed before there are rows.
    pub sd0: f64,
    /// Rows that this assumption weighs.
    pub rows0: f64,
    /// Weighted share of rows cut off at their limit above which the plain median is taken.
    pub max_censored: f64,
}

impl Default for DurationRules {
    fn default() -> Self {
        Self { sd0: 0.6, rows0: 4.0, max_censored: 0.20 }
    }
}

/// One row's duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedRow {
    /// Minutes, above 0.
    pub minutes: f64,
    /// Weight of the row.
    pub weight: f64,
    /// Whether it ended at its limit.
    pub is_censored: bool,
}

/// Typical duration of one member in one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogDuration {
    /// Mean of winsorised ln minutes, or their plain median.
    pub log_mean: f64,
    /// Its weighted standard deviation.
    pub log_sd: f64,
    /// Variance of `log_mean`.
    pub log_var: f64,
    /// Σ of weights.
    pub n: f64,
    /// Weighted share of rows that ended at their limit.
    pub censored_share: f64,
    /// Whether too many did, so that the median speaks.
    pub is_median: bool,
}

/// The typical duration of some rows, `[fn log_duration]`; `None` without any.
pub fn log_duration(rows: &[TimedRow], rules: &DurationRules) -> Option<LogDuration> {
    let usable = |row: &&TimedRow| row.minutes > 0.0 && row.minutes.is_finite() && row.weight > 0.0;
    let rows: Vec<(f64, TimedRow)> = rows.iter().filter(usable).map(|row| (row.minutes.ln(), *row)).collect();
    let mut sorted: Vec<f64> = rows.iter().map(|(log, _)| *log).collect();
    let middle = median(&mut sorted)?;
    let mut deviations: Vec<f64> = sorted.iter().map(|log| (log - middle).abs()).collect();
    let reach = WINSOR * MAD_SCALE * median(&mut deviations)?;
    let kept = |log: f64| if reach > 0.0 { log.clamp(middle - reach, middle + reach) } else { log };
    let n: f64 = rows.iter().map(|(_, row)| row.weight).sum();
    let mean = rows.iter().map(|(log, row)| row.weight * kept(*log)).sum::<f64>() / n;
    let squares: f64 = rows.iter().map(|(log, row)| row.weight * (kept(*log) - mean).powi(2)).sum();
    let sd = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    let censored_share = rows.iter().filter(|(_, row)| row.is_censored).map(|(_, row)| row.weight).sum::<f64>() / n;
    let is_median = censored_share > rules.max_censored;
    let widen = if is_median { std::f64::consts::FRAC_PI_2 } else { 1.0 };
    Some(LogDuration {
        log_mean: if is_median { middle } else { mean },
        log_sd: sd,
        log_var: mean_variance(sd, n, rules) * widen,
        n,
        censored_share,
        is_median,
    })
}

/// Variance of a mean of `n` weighted rows: the spread is shrunk towards the assumed one.
pub fn mean_variance(sd: f64, n: f64, rules: &DurationRules) -> f64 {
    shrunk(sd * sd, rules.sd0 * rules.sd0, n, rules.rows0) / n
}

/// A variance of `n` rows, shrunk towards an assumed one that weighs `rows0` rows.
pub(super) fn shrunk(variance: f64, assumed: f64, n: f64, rows0: f64) -> f64 {
    let freedom = (n - 1.0).max(0.0);
    (freedom * variance + rows0 * assumed) / (freedom + rows0)
}

/// The median of some values, which end up sorted; the mean of the middle two when their number is even.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// How many times slower one member is than another, on the classes both have rows in.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedRatio {
    /// Slow over fast.
    pub ratio: f64,
    /// Lower 90 % bound.
    pub lo90: f64,
    /// Upper 90 % bound.
    pub hi90: f64,
    /// Typical minutes of the slow one on the shared mix.
    pub minutes_slow: f64,
    /// Typical minutes of the fast one on the shared mix.
    pub minutes_fast: f64,
    /// Standard error of ln of the ratio.
    pub log_se: f64,
    /// Classes both have, sorted.
    pub shared: Vec<String>,
}

impl SpeedRatio {
    /// The chance that the true ratio is above some value.
    pub fn chance_above(&self, ratio: f64) -> f64 {
        chance_positive(self.ratio.ln() - ratio.ln(), self.log_se)
    }
}

/// A class of one member: ln minutes and the variance of that mean.
pub type LogCells = BTreeMap<String, (f64, f64)>;

/// The ratio, `[fn speed_ratio]`; `None` without a shared class.
pub fn speed_ratio(slow: &LogCells, fast: &LogCells, mix: &BTreeMap<String, f64>) -> Option<SpeedRatio> {
    let shared: Vec<(&String, f64)> = mix
        .iter()
        .filter(|(class, share)| **share > 0.0 && slow.contains_key(*class) && fast.contains_key(*class))
        .map(|(class, share)| (class, *share))
        .collect();
    let total: f64 = shared.iter().map(|(_, share)| share).sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let on_mix =
        |cells: &LogCells| -> f64 { shared.iter().map(|(class, share)| share / total * cells[*class].0).sum() };
    let (log_slow, log_fast) = (on_mix(slow), on_mix(fast));
    let variance: f64 =
        shared.iter().map(|(class, share)| (share / total).powi(2) * (slow[*class].1 + fast[*class].1)).sum();
    let (log, se) = (log_slow - log_fast, variance.sqrt());
    Some(SpeedRatio {
        ratio: log.exp(),
        lo90: (log - Z_95 * se).exp(),
        hi90: (log + Z_95 * se).exp(),
        minutes_slow: log_slow.exp(),
        minutes_fast: log_fast.exp(),
        log_se: se,
        shared: shared.into_iter().map(|(class, _)| class.clone()).collect(),
    })
}
