//! Speeds of timed responses: ratio of sums, median of the single rates, and an interval.

use crate::vocabulary::{CallSums, Timed};

/// Fewest timed responses from which a rate is shown.
pub const MIN_TIMED: usize = 8;
/// Half width of a 90 % interval in standard errors.
const Z_90: f64 = 1.645;

/// The speed of some responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Responses.
    pub n: usize,
    /// Tokens per second: sum of output over sum of time.
    pub tps: f64,
    /// Median of the single rates.
    pub median_tps: f64,
    /// 90 % interval of `tps`, by linearising the ratio; it takes responses for independent.
    pub tps_90: Option<(f64, f64)>,
}

impl Rate {
    /// The speed of some responses, whatever their order; `None` without any.
    #[expect(clippy::cast_precision_loss, reason = "token counts and milliseconds fit an f64 exactly")]
    pub fn of(timed: &[Timed]) -> Option<Self> {
        let mut timed = timed.to_vec();
        timed.sort_unstable();
        let pairs: Vec<(f64, f64)> =
            timed.iter().map(|timed| (timed.output as f64, timed.ms as f64 / 1000.0)).collect();
        let (output, seconds) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if pairs.is_empty() || seconds <= 0.0 {
            return None;
        }
        let tps = output / seconds;
        let mut rates: Vec<f64> = pairs.iter().map(|(output, seconds)| output / seconds).collect();
        rates.sort_by(f64::total_cmp);
        let n = pairs.len();
        let spread = |n: f64| {
            let squares: f64 = pairs.iter().map(|(output, seconds)| (output - tps * seconds).powi(2)).sum();
            Z_90 * (n / (n - 1.0) * squares).sqrt() / seconds
        };
        let tps_90 = (n >= MIN_TIMED).then(|| {
            let spread = spread(n as f64);
            ((tps - spread).max(0.0), tps + spread)
        });
        Some(Self { n, tps, median_tps: middle(&rates), tps_90 })
    }
}

/// Median seconds to the first token of some calls; `None` where fewer than [`MIN_TIMED`] logged one.
#[expect(clippy::cast_precision_loss, reason = "milliseconds fit an f64 exactly")]
pub fn first_token_s(calls: &CallSums) -> Option<f64> {
    let mut times: Vec<f64> = calls.first_token_ms.iter().map(|ms| *ms as f64 / 1000.0).collect();
    times.sort_by(f64::total_cmp);
    (times.len() >= MIN_TIMED).then(|| middle(&times))
}

/// The median of sorted numbers.
pub(super) fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_ratio_of_sums_with_the_median_beside_it() {
        // 1060 tokens in 51 s: 20.784; the single rates are 60 and 20, their median 40 (case se-31).
        let timed = [Timed { output: 60, ms: 1000 }, Timed { output: 1000, ms: 50_000 }];
        let rate = Rate::of(&timed).expect("two responses");
        assert!((rate.tps - 1060.0 / 51.0).abs() < 1e-12 && (rate.median_tps - 40.0).abs() < 1e-12);
        assert_eq!(rate.tps_90, None, "two responses bear no interval");
        assert_eq!(Rate::of(&[]), None);
    }

    #[test]
    fn equal_rates_have_no_spread_and_unequal_ones_have() {
        let equal = [Timed { output: 100, ms: 2000 }; 8];
        let rate = Rate::of(&equal).expect("eight responses");
        assert_eq!(rate.tps_90, Some((50.0, 50.0)), "100 tokens in 2 s each");
        // Four of 100 and four of 300 tokens in 2 s: 100 tok/s. Residuals are 100 tokens each, so the half width is
        // 1.645 * sqrt(8/7 * 8 * 100^2) / 16 s = 31.09.
        let mixed: Vec<Timed> = (0..8).map(|at| Timed { output: if at < 4 { 100 } else { 300 }, ms: 2000 }).collect();
        let (low, high) = Rate::of(&mixed).expect("eight responses").tps_90.expect("an interval");
        assert!((low - 68.911_8).abs() < 1e-3 && (high - 131.088_2).abs() < 1e-3, "{low} to {high}");
    }
}
