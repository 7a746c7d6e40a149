//! How far the reviewer's own claims came true (methods §20).

use super::normal::{Z_95, cdf, quantile};

/// Changes that are looked back on.
const LAST: usize = 20;
/// Changes below which there is no skill to speak of.
const SKILL_CHANGES: usize = 8;
/// Changes from which on a poor skill raises the bar.
const BAR_CHANGES: usize = 12;
/// Claims' worth of prior for slope and inflation.
const PRIOR: f64 = 4.0;

/// How the next claims are told, from how the last ones came true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correction {
    /// Multiplies points.
    pub slope: f64,
    /// Widens intervals.
    pub inflation: f64,
}

impl Default for Correction {
    /// No history: claims stand as they are.
    fn default() -> Self {
        Self { slope: 1.0, inflation: 1.0 }
    }
}

impl Correction {
    /// Whether claims stand as they are.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// A point with its 90 % bounds.
    pub fn of_values(&self, (point, lo90, hi90): (f64, f64, f64)) -> (f64, f64, f64) {
        let kept = self.slope * point;
        (kept, kept - self.inflation * (point - lo90), kept + self.inflation * (hi90 - point))
    }

    /// The chance of its sign.
    pub fn of_probability(&self, p: f64) -> f64 {
        cdf(quantile(p) * self.slope / self.inflation)
    }
}

/// One landed and measured change, in the unit of its claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredClaim {
    /// Claimed point.
    pub expected: f64,
    /// Standard deviation of the claim.
    pub sd_claim: f64,
    /// Measured effect.
    pub realised: f64,
    /// Its standard error.
    pub se_realised: f64,
}

impl MeasuredClaim {
    /// Variance of claim and measurement together.
    fn variance(&self) -> f64 {
        self.sd_claim.powi(2) + self.se_realised.powi(2)
    }
}

/// The reviewer measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Standardised errors, oldest first.
    pub z: Vec<f64>,
    /// Share with |z| ≤ 1.645; `None` without changes.
    pub coverage_90: Option<f64>,
    /// Widens the next intervals, at least 1.
    pub inflation: f64,
    /// Raw slope of realised on expected.
    pub slope: f64,
    /// Share realised above 0.
    pub hit_rate: Option<f64>,
    /// Brier score of the forecasts.
    pub brier: Option<f64>,
    /// Brier score of the constant hit rate.
    pub brier_constant: Option<f64>,
    /// 1 − ratio of the two; `None` under 8 changes or without variance.
    pub skill: Option<f64>,
    /// The bar that claims must now clear.
    pub propose_bar: f64,
}

impl Calibration {
    /// How the next claims are told.
    pub fn correction(&self) -> Correction {
        Correction { slope: self.slope_used(), inflation: self.inflation }
    }

    /// The slope that multiplies the next points: a modest reviewer is not rewarded with larger claims.
    pub fn slope_used(&self) -> f64 {
        self.slope.clamp(0.0, 1.0)
    }
}

/// `[fn calibration]` over the last 20 changes, oldest first.
#[expect(clippy::cast_precision_loss, reason = "at most 20 changes")]
pub fn calibration(changes: &[MeasuredClaim]) -> Calibration {
    let used: Vec<MeasuredClaim> = changes[changes.len().saturating_sub(LAST)..].to_vec();
    let n = used.len() as f64;
    let mean = |f: &dyn Fn(&MeasuredClaim) -> f64| (n > 0.0).then(|| used.iter().map(f).sum::<f64>() / n);
    let z: Vec<f64> = used.iter().map(|c| (c.realised - c.expected) / c.variance().sqrt()).collect();
    let squares: f64 = z.iter().map(|z| z * z).sum();
    let cross: f64 = used.iter().map(|c| c.expected * c.realised / c.variance()).sum();
    let own: f64 = used.iter().map(|c| c.expected.powi(2) / c.variance()).sum();
    let hit = |c: &MeasuredClaim| f64::from(u8::from(c.realised > 0.0));
    let hit_rate = mean(&hit);
    let brier = mean(&|c| (cdf(c.expected / c.variance().sqrt()) - hit(c)).powi(2));
    let brier_constant = hit_rate.and_then(|rate| mean(&|c| (rate - hit(c)).powi(2)));
    let skill = brier
        .zip(brier_constant)
        .filter(|(_, constant)| used.len() >= SKILL_CHANGES && *constant > 0.0)
        .map(|(brier, constant)| 1.0 - brier / constant);
    let is_poor = used.len() >= BAR_CHANGES && skill.is_some_and(|skill| skill < 0.0);
    Calibration {
        coverage_90: (n > 0.0).then(|| z.iter().filter(|z| z.abs() <= Z_95).count() as f64 / n),
        z,
        inflation: ((squares + PRIOR) / (n + PRIOR)).sqrt().max(1.0),
        slope: (cross + PRIOR) / (own + PRIOR),
        hit_rate,
        brier,
        brier_constant,
        skill,
        propose_bar: if is_poor { 0.975 } else { 0.95 },
    }
}
