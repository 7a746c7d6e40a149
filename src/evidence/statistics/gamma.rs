//! ln Γ, and ln B for large arguments without cancellation.

use std::f64::consts::PI;

/// From here on Stirling's series is exact to the last digits.
const LARGE: f64 = 10.0;

/// Stirling's correction: ln Γ(x) minus `(x−½)ln x − x + ½ln 2π`, for x ≥ 10.
fn correction(x: f64) -> f64 {
    let r = 1.0 / (x * x);
    let series = r * (1.0 / 1188.0 - r * (691.0 / 360_360.0));
    let series = 1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - series)));
    series / x
}

/// ln Γ(x) for x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < LARGE {
        shift += x.ln();
        x += 1.0;
    }
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + correction(x) - shift
}

/// ln B(a, b) = ln Γ(a) + ln Γ(b) − ln Γ(a+b). For large arguments the big terms are cancelled by hand: at 10⁷ rows the
/// plain difference would lose eight digits.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a <= b { (a, b) } else { (b, a) };
    if small >= LARGE {
        let ratio = small / large;
        let (h, u) = ((small / (small + large)), -ratio.ln_1p());
        let corrections = correction(small) + correction(large) - correction(small + large);
        return 0.5 * (2.0 * PI).ln() - 0.5 * large.ln() + (small - 0.5) * h.ln() + large * u + corrections;
    }
    if large >= LARGE {
        let sum = small + large;
        let log = small * sum.ln() - small + (large - 0.5) * (small / large).ln_1p();
        return ln_gamma(small) - log + correction(large) - correction(sum);
    }
    ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large)
}
