//! What a controlled test of an unresolved pair is worth (methods §9).

use super::normal::{Z_95, cdf, density};

/// The sizes that are tried, in pairs of runs.
pub const SIZES: [u64; 6] = [4, 8, 12, 16, 24, 32];
/// Days from which on passive rows are too slow, so that a test is worth asking for.
pub const PATIENCE_DAYS: f64 = 7.0;

/// What is known before a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialInput {
    /// d now, $/task.
    pub saving: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// ε, $/task.
    pub epsilon: f64,
    /// H, $.
    pub stake: f64,
    /// Success rate expected of a test run.
    pub rate: f64,
    /// Tasks of the pool that a result would serve.
    pub horizon_tasks: f64,
    /// Cost of one paired run, $.
    pub pair_cost: f64,
    /// Rows the alternative gets per day without a test.
    pub rows_per_day: f64,
}

/// One size of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialSize {
    /// Pairs.
    pub n: u64,
    /// Chance that the result clears the bar.
    pub pass: f64,
    /// Expected gain over the horizon, $.
    pub gain: f64,
    /// Cost, $.
    pub cost: f64,
}

impl TrialSize {
    /// Gain less cost, $.
    pub fn net(&self) -> f64 {
        self.gain - self.cost
    }
}

/// What to do about an unresolved pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialOutcome {
    /// Ask for a test.
    Test,
    /// The rows come soon by themselves.
    Wait,
    /// Not worth it.
    Keep,
}

impl TrialOutcome {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Test => "controlled_test",
            Self::Wait => "wait",
            Self::Keep => "keep",
        }
    }
}

/// The value of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Every size tried.
    pub table: Vec<TrialSize>,
    /// The one with the largest net, ties to the smaller.
    pub best: TrialSize,
    /// Days until as many rows come by themselves; `None` when none come.
    pub passive_days: Option<f64>,
    /// What to do.
    pub outcome: TrialOutcome,
}

/// `[fn value_of_test]`; `None` without a size to try.
pub fn value_of_test(input: &TrialInput, sizes: &[u64]) -> Option<Trial> {
    let table: Vec<TrialSize> = sizes.iter().map(|n| size(input, *n)).collect();
    let best = table.iter().copied().reduce(|best, next| if next.net() > best.net() { next } else { best })?;
    #[expect(clippy::cast_precision_loss, reason = "tests are small")]
    let passive_days = (input.rows_per_day > 0.0).then(|| best.n as f64 / input.rows_per_day);
    let outcome = if best.net() <= 0.0 || best.net().is_nan() {
        TrialOutcome::Keep
    } else if passive_days.is_none_or(|days| days > PATIENCE_DAYS) {
        TrialOutcome::Test
    } else {
        TrialOutcome::Wait
    };
    Some(Trial { table, best, passive_days, outcome })
}

/// A test of `n` pairs: the posterior mean after it must clear the bar.
fn size(input: &TrialInput, n: u64) -> TrialSize {
    #[expect(clippy::cast_precision_loss, reason = "tests are small")]
    let pairs = n as f64;
    let noise = input.stake.powi(2) * input.rate * (1.0 - input.rate) / pairs;
    let variance = input.sd.powi(2);
    let total = variance + noise;
    let (pre, after) =
        if total > 0.0 { (variance / total.sqrt(), (variance * noise / total).sqrt()) } else { (0.0, 0.0) };
    let bar = input.epsilon + Z_95 * after;
    let (pass, gain) = if pre > 0.0 {
        let z = (bar - input.saving) / pre;
        let pass = 1.0 - cdf(z);
        (pass, input.saving * pass + pre * density(z))
    } else if input.saving >= bar {
        (1.0, input.saving)
    } else {
        (0.0, 0.0)
    };
    TrialSize { n, pass, gain: input.horizon_tasks * gain, cost: pairs * input.pair_cost }
}
