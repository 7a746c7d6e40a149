//! Sums of dollars that do not depend on the order of what was added: each amount becomes a whole number of a small unit,
//! whole numbers are added, and a float is made once, where a sum is written (decision 0120).

/// Units of a dollar: 10⁻¹² USD, finer than any list price of one token.
const UNITS: u128 = 1_000_000_000_000;
/// What one call may be billed at most, USD. What is more, or no number, is no bill.
const MOST_BILLED: f64 = 1e15;
/// Where the two halves of a sum of squares meet, in their unit of 10⁻²⁴ USD².
const HALF: u128 = 10u128.pow(36);

/// An amount of dollars as a whole number of 10⁻¹² USD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u128);

impl Usd {
    /// The bill of one call; `None` for what is none: 0, below 0, no number, or 10¹⁵ USD and more. Its whole dollars, and the rest
    /// times 10¹² rounded to the nearest unit, halves to the even one. `fetch/spend.sql` says the same: no other arithmetic than
    /// IEEE's goes into it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a bill is above 0 and far below 2^128"
    )]
    pub fn billed(amount: f64) -> Option<Self> {
        let units = |amount: f64| amount.trunc() as u128 * UNITS + (amount.fract() * 1e12).round_ties_even() as u128;
        (amount > 0.0 && amount < MOST_BILLED).then(|| Self(units(amount)))
    }

    /// An amount of at least 0 that was written down: the decimal it is written as, to the nearest unit.
    pub fn of(amount: f64) -> Self {
        let (whole, rest) = decimal(amount, 12);
        Self(whole.saturating_mul(UNITS).saturating_add(rest))
    }

    /// An amount of its units, as a database counts them.
    pub fn of_units(units: &str) -> Option<Self> {
        units.parse().ok().map(Self)
    }

    /// Adds another amount.
    pub fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Its square.
    pub fn squared(self) -> UsdSquared {
        const ROOT: u128 = 10u128.pow(18);
        let (high, low) = (self.0 / ROOT, self.0 % ROOT);
        let cross = high.saturating_mul(low).saturating_mul(2);
        let mut square = UsdSquared { high: high.saturating_mul(high), low: low * low };
        square.add(UsdSquared { high: cross / ROOT, low: cross % ROOT * ROOT });
        square
    }

    /// The nearest float, USD.
    pub fn to_f64(self) -> f64 {
        nearest(&format!("{}e-12", self.0))
    }
}

/// A sum of squares of amounts, in 10⁻²⁴ USD²: `high` times 10³⁶ and `low`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsdSquared {
    /// What stands above 10³⁶ units.
    high: u128,
    /// The rest, below 10³⁶.
    low: u128,
}

impl UsdSquared {
    /// A sum of squares of at least 0 that was written down: the decimal it is written as, to the nearest unit.
    pub fn of(amount: f64) -> Self {
        let (whole, rest) = decimal(amount, 24);
        let mut sum = Self { high: whole / UNITS, low: whole % UNITS * (UNITS * UNITS) };
        sum.add(Self { high: 0, low: rest });
        sum
    }

    /// A sum of its units, as a database counts them.
    pub fn of_units(units: &str) -> Option<Self> {
        let (high, low) = units.split_at_checked(units.len().saturating_sub(36))?;
        let high = if high.is_empty() { 0 } else { high.parse().ok()? };
        Some(Self { high, low: low.parse().ok()? })
    }

    /// Adds another sum.
    pub fn add(&mut self, other: Self) {
        let low = self.low + other.low;
        self.low = low % HALF;
        self.high = self.high.saturating_add(other.high).saturating_add(low / HALF);
    }

    /// The nearest float, USD².
    pub fn to_f64(self) -> f64 {
        nearest(&format!("{}{:036}e-24", self.high, self.low))
    }
}

/// The decimal that a float is written as: what stands before the point, and so many places behind it, rounded.
fn decimal(amount: f64, places: usize) -> (u128, u128) {
    if amount.is_nan() || amount <= 0.0 {
        return (0, 0);
    }
    let text = amount.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let kept: String = rest.chars().chain(std::iter::repeat('0')).take(places).collect();
    let is_up = rest.as_bytes().get(places).is_some_and(|digit| *digit >= b'5');
    let rest = kept.parse::<u128>().expect("a float is written in digits") + u128::from(is_up);
    (whole.parse().unwrap_or(u128::MAX), rest)
}

/// The float nearest to a decimal.
fn nearest(decimal: &str) -> f64 {
    decimal.parse().expect("digits and an exponent are a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of some bills, and of their squares.
    fn sums(bills: impl IntoIterator<Item = f64>) -> (f64, f64) {
        let (mut sum, mut squares) = (Usd::default(), UsdSquared::default());
        for bill in bills.into_iter().filter_map(Usd::billed) {
            sum.add(bill);
            squares.add(bill.squared());
        }
        (sum.to_f64(), squares.to_f64())
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "exact is what is promised")]
    fn decimal_bills_add_up_as_decimals_do_and_in_any_order() {
        // As floats 0.1 + 0.2 is 0.30000000000000004, and ten times 0.1 is 0.9999999999999999.
        assert_eq!(sums([0.1, 0.2]).0, 0.3);
        assert_eq!(sums([0.1; 10]).0, 1.0);
        // 0.1² + 0.2² = 0.05; as floats 0.05000000000000001.
        assert_eq!(sums([0.1, 0.2]).1, 0.05);
        let bills = [1e-9, 123_456.789_012, 3e14, 0.000_000_25, 7.0, 0.021, 2.5e-12, 999.999_999_999_9];
        let backwards = bills.iter().rev().copied();
        assert_eq!(sums(bills), sums(backwards));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "exact is what is promised")]
    fn what_is_no_bill_is_none_and_what_is_smaller_than_the_unit_is_rounded_to_it() {
        for none in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e15, 1e300] {
            assert_eq!(Usd::billed(none), None, "{none}");
        }
        // Halves go to the even unit: 0.5 of a unit to none, 1.5 to two.
        assert_eq!(Usd::billed(5e-13), Some(Usd(0)));
        assert_eq!(Usd::billed(1.5e-12), Some(Usd(2)));
        assert_eq!(Usd::billed(5e-324), Some(Usd(0)));
        // The largest bill, a million times: nothing overflows, and a unit still counts.
        let most = Usd::billed(999_999_999_999_999.0).expect("a bill");
        let (mut sum, mut squares) = (Usd::default(), UsdSquared::default());
        for _ in 0..1_000_000 {
            sum.add(most);
            squares.add(most.squared());
        }
        assert_eq!(sum.to_f64(), 999_999_999_999_999e6);
        assert_eq!(squares.to_f64(), "999999999999998000000000000001e6".parse::<f64>().expect("a number"));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "exact is what is promised")]
    fn a_written_sum_reads_back_as_itself() {
        for amount in [0.0, 1e-12, 0.072_45, 0.1, 2_251.799_813_685_248, 1e9 / 3.0, 1e20] {
            assert_eq!(Usd::of(amount).to_f64(), amount, "{amount}");
        }
        for square in [0.0, 1e-24, 0.005_249_002_5, 1.0 / 3.0, 1e9 / 7.0, 1e20] {
            assert_eq!(UsdSquared::of(square).to_f64(), square, "{square}");
        }
        // 0.35² is 0.1225 whichever way it comes.
        assert_eq!(Some(UsdSquared::of(0.1225)), Usd::billed(0.35).map(Usd::squared));
        assert_eq!(
            (Usd::of(1.499_999_999_999_5), Usd::of(-1.0), Usd::of(f64::NAN)),
            (Usd(1_500_000_000_000), Usd(0), Usd(0))
        );
        assert_eq!(Usd::of(1e300), Usd(u128::MAX), "as much as there is");
        assert_eq!(Usd::of_units("72450000000").map(Usd::to_f64), Some(0.072_45));
        assert_eq!(UsdSquared::of_units("5249002500000000000000").map(UsdSquared::to_f64), Some(0.005_249_002_5));
        // 10⁶ USD squared is 10³⁶ units: the first that needs both halves.
        let square = Usd::of(1e6).squared();
        assert_eq!((square.to_f64(), Some(square)), (1e12, UsdSquared::of_units(&format!("1{:036}", 0))));
    }
}
