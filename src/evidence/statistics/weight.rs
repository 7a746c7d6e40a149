//! What one row of our own counts for (methods §2).

/// How rows are weighted; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowWeights {
    /// Age at which a row counts half, days.
    pub half_life_days: f64,
    /// Older rows are out, days.
    pub max_age_days: f64,
    /// Correlation of the attempts of one task.
    pub cluster_correlation: f64,
    /// Weight of a row from before the member's behaviour epoch.
    pub epoch_factor: f64,
}

impl Default for RowWeights {
    fn default() -> Self {
        Self { half_life_days: 14.0, max_age_days: 60.0, cluster_correlation: 0.5, epoch_factor: 0.25 }
    }
}

/// Why a row is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// Older than the limit.
    TooOld,
    /// Ended after the review.
    Future,
}

impl Unused {
    /// The reason as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooOld => "too_old",
            Self::Future => "future",
        }
    }
}

/// The weight of a row, `[fn row_weight]`: decay with age, design effect of `attempts` at one task, behaviour epoch.
pub fn row_weight(age_days: f64, attempts: u64, before_epoch: bool, rules: &RowWeights) -> Result<f64, Unused> {
    if age_days < 0.0 {
        return Err(Unused::Future);
    }
    if age_days > rules.max_age_days || age_days.is_nan() {
        return Err(Unused::TooOld);
    }
    #[expect(clippy::cast_precision_loss, reason = "attempts at one task are few")]
    let extra = attempts.max(1) as f64 - 1.0;
    let epoch = if before_epoch { rules.epoch_factor } else { 1.0 };
    Ok((-age_days / rules.half_life_days).exp2() / (1.0 + rules.cluster_correlation * extra) * epoch)
}
