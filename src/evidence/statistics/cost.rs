//! What a task costs and what it loses, in dollars (methods §6).

use super::duration::shrunk;

/// Coefficient of variation assumed of a task's cost before there are rows.
const ASSUMED_CV: f64 = 0.6;
/// Rows that this assumption weighs.
const ROWS0: f64 = 4.0;

/// A weighted mean cost with its standard error, USD per task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskCost {
    /// Mean.
    pub usd: f64,
    /// Standard error.
    pub se_usd: f64,
}

/// The list-price cost of a task of one member in one class, `[fn task_cost]`, from (cost, weight) of the rows with token
/// counts. A row whose cost is unknown makes it unknown: some token kind that was used has no price.
pub fn task_cost(rows: &[(Option<f64>, f64)]) -> Option<TaskCost> {
    let n: f64 = rows.iter().map(|(_, weight)| weight).sum();
    if !(n > 0.0 && n.is_finite()) {
        return None;
    }
    let known: Vec<(f64, f64)> = rows.iter().map(|(cost, weight)| Some(((*cost)?, *weight))).collect::<Option<_>>()?;
    let mean = known.iter().map(|(cost, weight)| weight * cost).sum::<f64>() / n;
    let squares: f64 = known.iter().map(|(cost, weight)| weight * (cost - mean).powi(2)).sum();
    let variance = if n > 1.0 { squares / (n - 1.0) } else { 0.0 };
    let assumed = (ASSUMED_CV * mean).powi(2);
    Some(TaskCost { usd: mean, se_usd: (shrunk(variance, assumed, n, ROWS0) / n).sqrt() })
}

/// What a lost task and a minute of waiting are worth, USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// H: dollars lost by a failed task.
    pub stake_usd: f64,
    /// λ: dollars per minute.
    pub minute_usd: f64,
}

impl Worth {
    /// The same with another stake.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { stake_usd: self.stake_usd * factor, ..self }
    }
}

/// The expected loss of one task, USD, by its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The known parts together.
    pub total: f64,
    /// Tokens at list price; `None` is unknown.
    pub cost: Option<f64>,
    /// Waiting; `None` is unknown.
    pub time: Option<f64>,
    /// Stake times the chance of failure.
    pub stake: f64,
}

impl Loss {
    /// Whether every part is known.
    pub fn is_complete(&self) -> bool {
        self.cost.is_some() && self.time.is_some()
    }
}

/// `L = c + λT + H(1−R)`, `[fn loss]`, over the known terms.
pub fn loss(rate: f64, cost_usd: Option<f64>, minutes: Option<f64>, worth: Worth) -> Loss {
    let stake = worth.stake_usd * (1.0 - rate);
    let time = minutes.map(|minutes| worth.minute_usd * minutes);
    Loss { total: cost_usd.unwrap_or(0.0) + time.unwrap_or(0.0) + stake, cost: cost_usd, time, stake }
}
