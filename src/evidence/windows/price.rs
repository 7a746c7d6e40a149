//! The scarcity price Π of one window and of a member (quota §3.1, §3.2). Hours and fractions in, hours and fractions out.

/// Shape of the demand distribution around the expected burn (quota §3.2): quartiles at -24 % and +32 %.
const SHAPE: i32 = 4;

/// Where a window is in its cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// It resets in this many hours.
    ResetsIn(f64),
    /// No deadline: an unopened first-use window, or one that slides. τ is the length, and nothing lapses.
    NoDeadline,
}

/// What the price of a window is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowInput {
    /// Used fraction, unclamped; `None` is unknown.
    pub used: Option<f64>,
    /// Whether the vendor refuses calls: nothing is left, whatever `used` says.
    pub is_rejected: bool,
    /// Where it is in its cycle.
    pub phase: Phase,
    /// Length in hours.
    pub length_h: f64,
    /// Fraction of the window per hour if this member leads; `None` means even pace, and says so.
    pub burn_per_h: Option<f64>,
}

/// The price of a window and every number that goes into it. All numbers are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowPrice {
    /// u: used fraction as stated, unclamped.
    pub used: f64,
    /// r: remaining fraction, 0 to 1.
    pub remaining: f64,
    /// τ: hours to the reset; the length where there is no deadline.
    pub tau_h: f64,
    /// b: fraction per hour.
    pub burn_per_h: f64,
    /// Whether b is even pace for want of anything better.
    pub is_burn_assumed: bool,
    /// h: hours of work left; `None` is not limiting.
    pub hours_left: Option<f64>,
    /// h - τ: positive hours lapse, negative hours are blocked; `None` is not limiting.
    pub slack_h: Option<f64>,
    /// g: hours blocked before the reset.
    pub shortfall_h: f64,
    /// P: projected use at the reset, unclamped fraction.
    pub projected_use: f64,
    /// x: fraction that lapses at the reset if nothing changes; 0 without a deadline.
    pub expiring: f64,
    /// ρ: 1 is exactly on pace; `None` is dry.
    pub pressure: Option<f64>,
    /// b·L: windows needed per window.
    pub load: f64,
    /// Π, 0 (free) to 1 (every hour drawn is missing later).
    pub price: f64,
}

/// Chance that a window under this pressure runs dry before its reset: ρ⁴ / (1 + ρ⁴). 0 at 0, 1 at infinity, never NaN.
pub fn run_dry_chance(pressure: f64) -> f64 {
    1.0 / (1.0 + pressure.powi(-SHAPE))
}

/// The price of one window over the next `review_hours`. `None` when the use is unknown or an input is impossible
/// (not finite, negative use or burn, no length, a reset that has passed).
pub fn window_price(window: &WindowInput, review_hours: f64) -> Option<WindowPrice> {
    let used = window.used.filter(|used| used.is_finite() && *used >= 0.0)?;
    let length = Some(window.length_h).filter(|length| length.is_finite() && *length > 0.0)?;
    let (tau, has_deadline) = match window.phase {
        Phase::ResetsIn(tau) => (tau, true),
        Phase::NoDeadline => (length, false),
    };
    let burn = window.burn_per_h.unwrap_or(1.0 / length);
    if !(tau.is_finite() && tau > 0.0 && burn.is_finite() && burn >= 0.0) {
        return None;
    }
    let remaining = if window.is_rejected { 0.0 } else { (1.0 - used).clamp(0.0, 1.0) };
    let needed = burn * tau;
    let pressure = if remaining <= 0.0 { f64::INFINITY } else { needed / remaining };
    let hours_left = hours_of_work(remaining, burn);
    let load = burn * length;
    let now_part = tau.min(review_hours) * run_dry_chance(pressure);
    let later_part = (review_hours - tau).max(0.0) * run_dry_chance(load);
    let price = WindowPrice {
        used,
        remaining,
        tau_h: tau,
        burn_per_h: burn,
        is_burn_assumed: window.burn_per_h.is_none(),
        hours_left,
        slack_h: hours_left.map(|hours| hours - tau),
        shortfall_h: hours_left.map_or(0.0, |hours| (tau - hours).max(0.0)),
        projected_use: used + needed,
        expiring: if has_deadline { (remaining - needed).max(0.0) } else { 0.0 },
        pressure: Some(pressure).filter(|pressure| pressure.is_finite()),
        load,
        price: ((now_part + later_part) / review_hours).clamp(0.0, 1.0),
    };
    (price.projected_use.is_finite() && load.is_finite() && price.price.is_finite()).then_some(price)
}

/// Hours of work left: 0 when nothing remains, `None` when nothing is burnt.
fn hours_of_work(remaining: f64, burn: f64) -> Option<f64> {
    if remaining <= 0.0 { Some(0.0) } else { Some(remaining / burn).filter(|hours| hours.is_finite()) }
}

impl WindowPrice {
    /// The order in which windows bind: dearest last, ties to the smaller slack.
    pub fn cmp_binding(&self, other: &Self) -> std::cmp::Ordering {
        let slack = |price: &Self| price.slack_h.unwrap_or(f64::INFINITY);
        self.price.total_cmp(&other.price).then_with(|| slack(other).total_cmp(&slack(self)))
    }
}

/// The window that binds among priced ones: the dearest; ties to the smaller slack, then to the smaller id.
/// `None` when there is none.
pub fn binding<'a>(prices: impl IntoIterator<Item = (&'a str, &'a WindowPrice)>) -> Option<&'a str> {
    prices
        .into_iter()
        .max_by(|(left_id, left), (right_id, right)| left.cmp_binding(right).then_with(|| right_id.cmp(left_id)))
        .map(|(id, _)| id)
}
