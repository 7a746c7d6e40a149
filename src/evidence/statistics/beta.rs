//! The beta distribution: cumulative probability by a continued fraction that runs until it has converged (Lentz 1976;
//! Thompson and Barnett 1986), quantiles by bracketed root finding on it.

use super::gamma::ln_beta;

/// Relative change at which the continued fraction has converged.
const CONVERGED: f64 = 1e-16;
/// A bound that no sensible input reaches: the fraction needs about √(rows) steps.
const MOST_STEPS: u32 = 10_000_000;
/// What stands for zero in a denominator.
const TINY: f64 = 1e-300;

/// A success rate as a beta distribution; both parameters above 0 and finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    /// Successes and what stands for them.
    pub alpha: f64,
    /// Failures and what stands for them.
    pub beta: f64,
}

impl Beta {
    /// A distribution from its parameters.
    pub fn new(alpha: f64, beta: f64) -> Self {
        Self { alpha, beta }
    }

    /// α + β: how many rows it is worth.
    pub fn weight(&self) -> f64 {
        self.alpha + self.beta
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.alpha / self.weight()
    }

    /// Its variance.
    pub fn variance(&self) -> f64 {
        let k = self.weight();
        (self.alpha / k) * (self.beta / k) / (k + 1.0)
    }

    /// Its standard deviation.
    pub fn sd(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The distribution of the failure rate.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self { alpha: self.beta, beta: self.alpha }
    }

    /// `I_x(α, β)`, `[fn beta_cdf]`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 || x.is_nan() {
            return 0.0;
        }
        if x >= 1.0 {
            return 1.0;
        }
        self.cdf_of(x, 1.0 - x, self.ln_beta())
    }

    /// ln B(α, β): the same for every x, so that whoever asks at many takes it once.
    pub(super) fn ln_beta(&self) -> f64 {
        ln_beta(self.alpha, self.beta)
    }

    /// The cumulative probability where 1 − x is known to more digits than x tells.
    pub(super) fn cdf_of(&self, x: f64, y: f64, ln_beta: f64) -> f64 {
        let (a, b) = (self.alpha, self.beta);
        let log_front = a * x.ln() + b * y.ln() - ln_beta;
        let value = if x < (a + 1.0) / (a + b + 2.0) {
            log_front.exp() * fraction(a, b, x) / a
        } else {
            1.0 - log_front.exp() * fraction(b, a, y) / b
        };
        value.clamp(0.0, 1.0)
    }

    /// ln of the density at x, where y = 1 − x.
    pub(super) fn log_density(&self, x: f64, y: f64, ln_beta: f64) -> f64 {
        (self.alpha - 1.0) * x.ln() + (self.beta - 1.0) * y.ln() - ln_beta
    }

    /// The x at which the cumulative probability is `p`, `[fn beta_quantile]`.
    pub fn quantile(&self, p: f64) -> f64 {
        if p <= 0.0 || p.is_nan() {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        let (mean, sd) = (self.mean(), self.sd());
        let (lo, hi) = ((mean - 14.0 * sd).max(0.0), (mean + 14.0 * sd).min(1.0));
        let (lo, hi) = (if self.cdf(lo) > p { 0.0 } else { lo }, if self.cdf(hi) < p { 1.0 } else { hi });
        let ln_beta = self.ln_beta();
        root(
            lo,
            hi,
            1e-13,
            |x| if x <= 0.0 || x >= 1.0 { self.cdf(x) - p } else { self.cdf_of(x, 1.0 - x, ln_beta) - p },
        )
    }

    /// The equal-tailed 90 % interval.
    pub fn interval_90(&self) -> (f64, f64) {
        (self.quantile(0.05), self.quantile(0.95))
    }
}

/// The continued fraction of the incomplete beta (Abramowitz and Stegun 26.5.8) by Lentz's method.
fn fraction(alpha: f64, beta: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let sum = alpha + beta;
    let mut upper = 1.0;
    let mut lower = 1.0 / away(1.0 - sum * x / (alpha + 1.0));
    let mut value = lower;
    for step in 1..MOST_STEPS {
        let m = f64::from(step);
        let at = alpha + 2.0 * m;
        let even = m * (beta - m) * x / ((at - 1.0) * at);
        lower = 1.0 / away(1.0 + even * lower);
        upper = away(1.0 + even / upper);
        value *= lower * upper;
        let odd = -(alpha + m) * (sum + m) * x / (at * (at + 1.0));
        lower = 1.0 / away(1.0 + odd * lower);
        upper = away(1.0 + odd / upper);
        let change = lower * upper;
        value *= change;
        if (change - 1.0).abs() <= CONVERGED {
            break;
        }
    }
    value
}

/// The root of a rising function between two ends, by false position with bisection as a fallback (the Illinois rule).
pub(super) fn root(lo: f64, hi: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut lo, mut hi) = (lo, hi);
    let (mut f_lo, mut f_hi) = (f(lo), f(hi));
    if f_lo >= 0.0 {
        return lo;
    }
    if f_hi <= 0.0 {
        return hi;
    }
    let mut side = 0;
    for step in 0..300 {
        if hi - lo <= tolerance {
            break;
        }
        let secant = (lo * f_hi - hi * f_lo) / (f_hi - f_lo);
        let is_safe = step % 3 != 2 && secant > lo && secant < hi;
        let x = if is_safe { secant } else { f64::midpoint(lo, hi) };
        let f_x = f(x);
        if f_x < 0.0 {
            (lo, f_lo) = (x, f_x);
            f_hi = if side == -1 { f_hi / 2.0 } else { f_hi };
            side = -1;
        } else {
            (hi, f_hi) = (x, f_x);
            f_lo = if side == 1 { f_lo / 2.0 } else { f_lo };
            side = 1;
        }
    }
    f64::midpoint(lo, hi)
}
