//! The aggregate of one shared cell over independent sources (methods §21; Huber 1964).

use super::duration::median;

/// Sources from which on the aggregate is robust.
const ROBUST_FROM: usize = 5;
/// Huber's tuning constant, in robust standard deviations.
const HUBER: f64 = 1.345;
/// Makes the median absolute deviation a standard deviation under a normal distribution.
const MAD_SCALE: f64 = 1.4826;
/// Movement below which the estimate has converged.
const CONVERGED: f64 = 1e-12;

/// How an aggregate was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellMethod {
    /// No rows.
    None,
    /// Mean weighted by counts.
    Weighted,
    /// Huber's estimate of the source means.
    Huber,
    /// Their median.
    Median,
}

impl CellMethod {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Weighted => "weighted",
            Self::Huber => "huber",
            Self::Median => "median",
        }
    }
}

/// `[fn cell_mean]` over (mean, rows) of independent sources.
pub fn cell_mean(sources: &[(f64, f64)]) -> (Option<f64>, CellMethod) {
    let used: Vec<(f64, f64)> = sources.iter().copied().filter(|(_, n)| *n > 0.0).collect();
    if used.is_empty() {
        return (None, CellMethod::None);
    }
    if used.len() < ROBUST_FROM {
        let total: f64 = used.iter().map(|(_, n)| n).sum();
        return (Some(used.iter().map(|(mean, n)| mean * n).sum::<f64>() / total), CellMethod::Weighted);
    }
    let mut means: Vec<f64> = used.iter().map(|(mean, _)| *mean).collect();
    let middle = median(&mut means).unwrap_or_default();
    let mut deviations: Vec<f64> = means.iter().map(|mean| (mean - middle).abs()).collect();
    let reach = HUBER * MAD_SCALE * median(&mut deviations).unwrap_or_default();
    if reach <= 0.0 {
        return (Some(middle), CellMethod::Median);
    }
    (Some(huber(&means, middle, reach)), CellMethod::Huber)
}

/// Huber's estimate by reweighting from the median until it no longer moves.
fn huber(means: &[f64], start: f64, reach: f64) -> f64 {
    let mut estimate = start;
    for _ in 0..10_000 {
        let weight = |mean: f64| (reach / (mean - estimate).abs()).min(1.0);
        let (sum, total) = means.iter().fold((0.0, 0.0), |(sum, total), mean| {
            let weight = if (mean - estimate).abs() > 0.0 { weight(*mean) } else { 1.0 };
            (sum + weight * mean, total + weight)
        });
        let next = sum / total;
        let moved = (next - estimate).abs();
        estimate = next;
        if moved <= CONVERGED {
            break;
        }
    }
    estimate
}
