//! The difference of two independent success rates, exactly: no normal approximation at any number of rows (methods §4).

use std::f64::consts::FRAC_PI_2;

use super::Beta;
use super::beta::root;
use super::normal::Z_95;

/// Standard deviations around its mean that the integral runs over.
const REACH: f64 = 14.0;
/// The same when one of its parameters is small, so that a tail is heavy.
const WIDE_REACH: f64 = 40.0;
/// A parameter below this has a heavy tail.
const SMALL: f64 = 4.0;
/// Spacing of the nodes in the middle, standard deviations.
const SPACING: f64 = 0.15;
/// A node that adds no more than this is left out: a thousand of them stay far below what is asked for.
const UNSEEN: f64 = 1e-19;
/// How exactly a quantile of the difference is found.
const TOLERANCE: f64 = 1e-10;
/// Steps after which the secant rule is given up.
const MOST_STEPS: u32 = 20;
/// How far around the normal approximation a quantile is looked for first, standard deviations.
const NEAR: f64 = 0.25;
/// Where the double exponential rule is cut off: its weights are below 1e-17 from here on.
const EDGE: f64 = 3.2;

/// `P(R_B − R_A > δ)`, `[fn p_diff]`. δ is a fraction: −0.03 is three points worse.
///
/// `∫ f_A(x)·[1 − F_B(x+δ)] dx`, plus `F_A(−δ)` when δ < 0, over the narrower of the two, by a tanh-sinh rule.
pub fn p_diff(a: Beta, b: Beta, delta: f64) -> f64 {
    if delta >= 1.0 || delta.is_nan() {
        return 0.0;
    }
    if delta <= -1.0 {
        return 1.0;
    }
    // B − A = (1−A) − (1−B): the same question with the roles swapped, so that the narrower one is integrated over.
    let (narrow, other) = if a.weight() >= b.weight() { (a, b) } else { (b.mirrored(), a.mirrored()) };
    let (lo, hi) = ((-delta).max(0.0), (1.0 - delta).min(1.0));
    let certain = if delta < 0.0 { narrow.cdf(-delta) } else { 0.0 };
    (certain + integral(narrow, other, delta, lo, hi)).clamp(0.0, 1.0)
}

/// The part of the integral between two ends.
fn integral(narrow: Beta, other: Beta, delta: f64, lo: f64, hi: f64) -> f64 {
    let reach = if narrow.alpha.min(narrow.beta) < SMALL { WIDE_REACH } else { REACH };
    let (mean, sd) = (narrow.mean(), narrow.sd());
    let (from, to) = ((mean - reach * sd).max(lo), (mean + reach * sd).min(hi));
    if from >= to {
        return 0.0;
    }
    let mirrored = other.mirrored();
    let integrand = Integrand { narrow, ln_narrow: narrow.ln_beta(), mirrored, ln_mirrored: mirrored.ln_beta(), delta };
    let spacing = SPACING * sd.min(other.sd());
    let middle = other.mean() - delta;
    // Cut in two where the other distribution is in its middle: its own scale may be narrower than the range.
    if middle > from && middle < to {
        integrand.piece(from, middle, spacing) + integrand.piece(middle, to, spacing)
    } else {
        integrand.piece(from, to, spacing)
    }
}

/// `f_A(x)·[1 − F_B(x+δ)]`, with what is the same at every x.
struct Integrand {
    /// The distribution that is integrated over.
    narrow: Beta,
    /// ln B of it.
    ln_narrow: f64,
    /// The other one's failure rate.
    mirrored: Beta,
    /// ln B of it.
    ln_mirrored: f64,
    /// δ.
    delta: f64,
}

impl Integrand {
    /// One piece by the double exponential rule (Takahasi and Mori 1974). The distance of a node from either end is kept to
    /// full precision, because both densities may be infinite at 0 and 1.
    fn piece(&self, from: f64, to: f64, spacing: f64) -> f64 {
        let half = (to - from) / 2.0;
        let step = (spacing / (half * FRAC_PI_2)).clamp(1.0 / 512.0, 1.0 / 16.0);
        #[expect(clippy::cast_possible_truncation, reason = "the step is at least 1/512")]
        let count = (EDGE / step).ceil() as i32;
        let mut sum = 0.0;
        for i in -count..=count {
            let t = f64::from(i) * step;
            let u = FRAC_PI_2 * t.sinh();
            // 1 ∓ tanh(u) = 2 / (1 + e^{±2u}), without cancellation.
            let (from_lo, from_hi) = (2.0 / (1.0 + (-2.0 * u).exp()) * half, 2.0 / (1.0 + (2.0 * u).exp()) * half);
            let weight = FRAC_PI_2 * t.cosh() / (u.cosh() * u.cosh());
            sum += self.value(weight, half * step, (from, from_lo), (to, from_hi));
        }
        (sum * half * step).max(0.0)
    }

    /// The weighted integrand at a node given by its distances from both ends. A node whose density cannot show in the sum
    /// is not asked for the other distribution.
    fn value(&self, weight: f64, width: f64, (from, from_lo): (f64, f64), (to, from_hi): (f64, f64)) -> f64 {
        let x = if from_lo <= from_hi { from + from_lo } else { to - from_hi };
        let y = if from_hi <= from_lo { (1.0 - to) + from_hi } else { (1.0 - from) - from_lo };
        if x <= 0.0 || y <= 0.0 {
            return 0.0;
        }
        let density = weight * self.narrow.log_density(x, y, self.ln_narrow).exp();
        if density * width <= UNSEEN || !density.is_finite() {
            return 0.0;
        }
        density * self.upper(x + self.delta, y - self.delta)
    }

    /// 1 − F of the other distribution at x, where y = 1 − x.
    fn upper(&self, x: f64, y: f64) -> f64 {
        if x <= 0.0 {
            return 1.0;
        }
        if y <= 0.0 {
            return 0.0;
        }
        self.mirrored.cdf_of(y, x, self.ln_mirrored)
    }
}

/// The difference of two rates in fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of `R_B − R_A`.
    pub mean: f64,
    /// 5 % quantile.
    pub lo90: f64,
    /// 95 % quantile.
    pub hi90: f64,
}

/// The equal-tailed 90 % interval of `R_B − R_A`, `[fn diff_interval]`, by root finding on the same integral.
pub fn diff_interval(a: Beta, b: Beta) -> Difference {
    let mean = b.mean() - a.mean();
    let sd = (a.variance() + b.variance()).sqrt();
    let quantile = |p: f64, z: f64| {
        let below = |delta: f64| (1.0 - p) - p_diff(a, b, delta);
        let guess = mean + z * sd;
        secant(guess - NEAR * sd, guess + NEAR * sd, below)
            .unwrap_or_else(|| root((mean - 14.0 * sd).max(-1.0), (mean + 14.0 * sd).min(1.0), TOLERANCE, below))
    };
    Difference { mean, lo90: quantile(0.05, -Z_95), hi90: quantile(0.95, Z_95) }
}

/// The root of a rising, nearly straight function between two near ends by the secant rule; `None` where it does not lie
/// there or the rule leaves them.
fn secant(from: f64, to: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut last, mut x) = (from, to);
    let (mut f_last, mut f_x) = (f(from), f(to));
    if from <= -1.0 || to >= 1.0 || f_last >= 0.0 || f_x <= 0.0 {
        return None;
    }
    for _ in 0..MOST_STEPS {
        let next = x - f_x * (x - last) / (f_x - f_last);
        if !(from..=to).contains(&next) {
            return None;
        }
        if (next - x).abs() <= TOLERANCE {
            return Some(next);
        }
        (last, f_last) = (x, f_x);
        (x, f_x) = (next, f(next));
    }
    None
}
