//! Raw success and availability with Wilson intervals.

/// The 95 % quantile of the standard normal: half of what a 90 % interval leaves out lies on either side.
const Z_90: f64 = 1.644_853_626_951_472_7;

/// The Wilson 90 % interval of `successes` out of `n`, counts or weighted rows. `None` for no rows: unknown, not 0 to 1.
///
/// Source: E. B. Wilson (1927), the roots of `|p - p̂| = z·sqrt(p(1-p)/n)`; at 0 and at `n` successes the outer bound is
/// exactly 0 or 1.
pub fn wilson(successes: f64, n: f64) -> Option<(f64, f64)> {
    wilson_at(successes, n, Z_90)
}

/// The Wilson interval at another quantile of the standard normal.
pub fn wilson_at(successes: f64, n: f64, z: f64) -> Option<(f64, f64)> {
    if !(n > 0.0 && n.is_finite() && (0.0..=n).contains(&successes)) {
        return None;
    }
    let z2 = z * z;
    let p = successes / n;
    let center = p + z2 / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    let lo = if successes <= 0.0 { 0.0 } else { (center - spread) / scale };
    let hi = if successes >= n { 1.0 } else { (center + spread) / scale };
    Some((lo.clamp(0.0, 1.0), hi.clamp(0.0, 1.0)))
}

/// A share with its 90 % interval and the counts behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Rows that count for it.
    pub hits: u64,
    /// All rows.
    pub n: u64,
    /// `hits / n`.
    pub value: f64,
    /// Lower bound.
    pub lo: f64,
    /// Upper bound.
    pub hi: f64,
}

impl Share {
    /// The share of some rows; `None` of none.
    #[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
    pub fn of(hits: u64, n: u64) -> Option<Self> {
        let (hits_f, n_f) = (hits as f64, n as f64);
        wilson(hits_f, n_f).map(|(lo, hi)| Self { hits, n, value: hits_f / n_f, lo, hi })
    }
}

/// Raw counts of one member, mature rows only except for `immature`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawRate {
    /// Attempts that did the task.
    pub successes: u64,
    /// Attempts that did not.
    pub failures: u64,
    /// Attempts lost to the infrastructure.
    pub infra: u64,
    /// Attempts without a verdict.
    pub unknown: u64,
    /// Attempts too young to be scored.
    pub immature: u64,
    /// Distinct tasks among successes and failures.
    pub tasks: u64,
    /// Distinct days among successes and failures.
    pub days: u64,
}

impl RawRate {
    /// Attempts with a verdict.
    pub fn scored(&self) -> u64 {
        self.successes + self.failures
    }

    /// Mature attempts of every outcome.
    pub fn attempts(&self) -> u64 {
        self.scored() + self.infra + self.unknown
    }

    /// Successes among scored attempts; `None` without any.
    pub fn success(&self) -> Option<Share> {
        Share::of(self.successes, self.scored())
    }

    /// Attempts that were not lost to the infrastructure among all mature ones; `None` without any.
    pub fn availability(&self) -> Option<Share> {
        Share::of(self.attempts() - self.infra, self.attempts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These successes and failures, each a task of its own, on four days.
    fn rate(successes: u64, failures: u64) -> RawRate {
        RawRate { successes, failures, tasks: successes + failures, days: 4, ..RawRate::default() }
    }

    #[test]
    fn wilson_of_nine_in_ten_is_worked_by_hand() {
        // z² = 2.705543; p = 0.9, n = 10. Center 0.9 + 2.705543/20 = 1.035277; spread = 1.644854·sqrt(0.09/10 +
        // 2.705543/400) = 1.644854·sqrt(0.009 + 0.00676386) = 1.644854·0.12555421 = 0.20651829; scale 1.2705543.
        // lo = 0.82875886/1.2705543 = 0.65228 and hi = 1.24179544/1.2705543 = 0.97737.
        let (lo, hi) = wilson(9.0, 10.0).unwrap();
        assert!((lo - 0.652_28).abs() < 1e-5 && (hi - 0.977_37).abs() < 1e-5, "{lo} {hi}");
    }

    #[test]
    fn a_rate_of_no_rows_is_unknown() {
        assert_eq!(wilson(0.0, 0.0), None);
        assert_eq!(RawRate { infra: 3, ..RawRate::default() }.success(), None);
    }

    #[test]
    fn the_outer_bound_of_a_clean_record_is_exact() {
        assert_eq!(wilson(0.0, 5.0).map(|interval| interval.0.to_bits()), Some(0.0_f64.to_bits()));
        assert_eq!(wilson(5.0, 5.0).map(|interval| interval.1.to_bits()), Some(1.0_f64.to_bits()));
    }

    #[test]
    fn infrastructure_lowers_availability_and_never_success() {
        // 8 of 10 decided; 5 of 15 attempts were lost, 10 of 15 were not.
        let lossy = RawRate { infra: 5, ..rate(8, 2) };
        assert_eq!(lossy.success(), rate(8, 2).success());
        assert_eq!(lossy.availability().map(|share| (share.hits, share.n)), Some((10, 15)));
    }
}
