//! The standard normal distribution: density, cumulative probability, and the quantiles the methods use.

use std::f64::consts::{PI, SQRT_2};

use super::beta::root;

/// 95 % quantile: half of what a 90 % interval leaves out lies on either side.
pub const Z_95: f64 = 1.644_853_626_951_472_7;
/// 99.5 % quantile, for 99 % intervals.
pub const Z_995: f64 = 2.575_829_303_548_900_4;
/// 80 % quantile, for planning with 80 % chance.
pub const Z_80: f64 = 0.841_621_233_572_914_3;

/// φ(z).
pub fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Φ(z), to about 1e-15 absolute over the whole line.
pub fn cdf(z: f64) -> f64 {
    if z.is_nan() {
        return 0.5;
    }
    0.5 * erfc(-z / SQRT_2)
}

/// The chance that a normal variable of mean `mean` and standard deviation `sd` is above 0; without spread it is certain,
/// and at exactly 0 a coin.
pub fn chance_positive(mean: f64, sd: f64) -> f64 {
    if sd > 0.0 {
        return cdf(mean / sd);
    }
    match mean.total_cmp(&0.0) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5,
    }
}

/// The z below which a share `p` of the standard normal lies, to 1e-12; beyond eight standard deviations it is cut.
pub fn quantile(p: f64) -> f64 {
    root(-8.0, 8.0, 1e-12, |z| cdf(z) - p)
}

/// E[max(0, X)] of a normal variable.
pub fn expected_gain(mean: f64, sd: f64) -> f64 {
    if sd > 0.0 {
        let z = mean / sd;
        (mean * cdf(z) + sd * density(z)).max(0.0)
    } else {
        mean.max(0.0)
    }
}

/// The complementary error function: the series of erf near 0, the continued fraction beyond (Abramowitz and Stegun 7.1.6
/// and 7.1.14).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

/// erf by its all-positive series, for small arguments.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (x, x, 0.0);
    while term > sum * 1e-17 {
        k += 1.0;
        term *= 2.0 * x * x / (2.0 * k + 1.0);
        sum += term;
        if sum <= 0.0 {
            break;
        }
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// erfc by its continued fraction, evaluated from the far end.
fn erfc_fraction(x: f64) -> f64 {
    let mut tail = 0.0;
    for k in (1..=120).rev() {
        tail = f64::from(k) / 2.0 / (x + tail);
    }
    (-x * x).exp() / PI.sqrt() / (x + tail)
}
