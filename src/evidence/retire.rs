//! Why a member may have to leave a pool (methods §11, retire codes). Pure: facts and thresholds in, codes out.

/// Two-sided 90 % normal quantile, for the Wilson bound.
const Z_90: f64 = 1.644_853_626_951_472_2;

/// Thresholds of the retire codes; the defaults are those of the methods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetireParams {
    /// An end date this many days away is due (`latest.retire_days`).
    pub retire_days: f64,
    /// Probability from which a member is dominated on own evidence.
    pub dominated: f64,
    /// Observed share below which a member is idle.
    pub idle_share: f64,
    /// Attempts availability is judged from.
    pub available_attempts: u64,
    /// Availability below which a member may be unavailable.
    pub available: f64,
    /// What the upper 90 % bound of its availability must stay under.
    pub available_upper: f64,
}

impl Default for RetireParams {
    fn default() -> Self {
        Self {
            retire_days: 30.0,
            dominated: 0.95,
            idle_share: 0.01,
            available_attempts: 20,
            available: 0.90,
            available_upper: 0.95,
        }
    }
}

/// What is known about a member that may have to leave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RetireFacts {
    /// Days to the offer's end date; below 0 it has passed.
    pub days_to_end: Option<f64>,
    /// Probability that another member saves more than ε against it.
    pub p_dominated: Option<f64>,
    /// A member dominates it on the market.
    pub is_market_dominated: bool,
    /// Its observed share of the last 14 days.
    pub share_14d: Option<f64>,
    /// Attempts.
    pub attempts: u64,
    /// Attempts without an infrastructure failure.
    pub available: u64,
}

/// A reason to take a member out, in the order it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetireCode {
    /// Another member is better on own evidence.
    Dominated,
    /// Hardly used, and dominated on the market.
    IdleDominated,
    /// Its end date is near.
    RetirementDue,
    /// Its end date has passed.
    Retired,
    /// Too often out of reach.
    Unavailable,
}

impl RetireCode {
    /// The code as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dominated => "dominated",
            Self::IdleDominated => "idle_dominated",
            Self::RetirementDue => "retirement_due",
            Self::Retired => "retired",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Every reason that holds. Which of them a pool's selection admits is the check's business.
pub fn retire_flags(facts: &RetireFacts, params: &RetireParams) -> Vec<RetireCode> {
    let is_due = |days: f64| (0.0..=params.retire_days).contains(&days);
    [
        (RetireCode::Dominated, facts.p_dominated.is_some_and(|p| p >= params.dominated)),
        (
            RetireCode::IdleDominated,
            facts.is_market_dominated && facts.share_14d.is_some_and(|share| share < params.idle_share),
        ),
        (RetireCode::RetirementDue, facts.days_to_end.is_some_and(is_due)),
        (RetireCode::Retired, facts.days_to_end.is_some_and(|days| days < 0.0)),
        (RetireCode::Unavailable, is_unavailable(facts, params)),
    ]
    .into_iter()
    .filter_map(|(code, holds)| holds.then_some(code))
    .collect()
}

/// Whether availability is low, and low beyond chance.
fn is_unavailable(facts: &RetireFacts, params: &RetireParams) -> bool {
    if facts.attempts == 0 || facts.attempts < params.available_attempts {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let (available, attempts) = (facts.available.min(facts.attempts) as f64, facts.attempts as f64);
    available / attempts < params.available && wilson_upper_90(available, attempts) < params.available_upper
}

/// Upper end of the Wilson 90 % interval of `k` of `n`.
fn wilson_upper_90(k: f64, n: f64) -> f64 {
    let (rate, z2) = (k / n, Z_90 * Z_90);
    let spread = Z_90 * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    ((rate + z2 / (2.0 * n) + spread) / (1.0 + z2 / n)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts of a member with this many attempts, this many of them answered.
    fn reach(available: u64, attempts: u64) -> RetireFacts {
        RetireFacts { attempts, available, ..RetireFacts::default() }
    }

    #[test]
    fn the_upper_bound_of_nine_in_ten_is_the_golden_one() {
        // Golden E00e: Wilson 90 % of 9 in 10 is 0.652281 .. 0.977365.
        assert!((wilson_upper_90(9.0, 10.0) - 0.977_365).abs() < 1e-6);
    }

    #[test]
    fn low_availability_needs_twenty_attempts_and_an_upper_bound_below_the_limit() {
        let params = RetireParams::default();
        // 14 of 20 = 0.70, upper bound 0.84; the same rate on 10 rows says nothing; 17 of 20 = 0.85 has an upper bound of 0.945;
        // 18 of 20 is 0.90, not below it.
        assert_eq!(retire_flags(&reach(14, 20), &params), [RetireCode::Unavailable]);
        assert_eq!(retire_flags(&reach(7, 10), &params), []);
        assert_eq!(retire_flags(&reach(18, 20), &params), []);
        assert_eq!(retire_flags(&reach(0, 0), &params), []);
    }

    #[test]
    fn an_end_date_is_due_from_thirty_days_to_today_and_passed_after_that() {
        let codes =
            |days| retire_flags(&RetireFacts { days_to_end: Some(days), ..reach(0, 0) }, &RetireParams::default());
        assert_eq!(codes(30.0), [RetireCode::RetirementDue]);
        assert_eq!(codes(0.0), [RetireCode::RetirementDue]);
        assert_eq!(codes(-1.0), [RetireCode::Retired]);
        assert_eq!(codes(31.0), []);
    }

    #[test]
    fn an_idle_member_leaves_only_when_the_market_has_a_better_one() {
        let facts = RetireFacts { share_14d: Some(0.004), is_market_dominated: true, ..reach(0, 0) };
        assert_eq!(retire_flags(&facts, &RetireParams::default()), [RetireCode::IdleDominated]);
        let unknown_share = RetireFacts { share_14d: None, ..facts };
        assert_eq!(retire_flags(&unknown_share, &RetireParams::default()), []);
    }
}
