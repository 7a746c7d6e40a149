//! What one reading of a window is worth at the review instant: its class, the interval its use lies in, and the price
//! at both ends (quota §3.3). Unknown stays unknown.

use chrono::{DateTime, Months, TimeDelta, Utc};

use super::price::{Phase, WindowInput, WindowPrice, window_price};
use super::scope;
use crate::vocabulary::{HomeId, QuotaWindow, WindowAge, WindowRemark, WindowStatus, hours_between};

/// Used fractions below this are "nothing used".
const NOTHING: f64 = 1e-9;

/// How fast a window empties if the member leads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BurnRate {
    /// Fraction of the window per hour.
    PerHour(f64),
    /// One window per window, and said so.
    EvenPace,
}

/// A burn that somebody states instead of the fallback chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurnOverride {
    /// The burn.
    pub rate: BurnRate,
    /// Largest burn to reckon with while a reading ages, fraction per hour; twice the burn where not stated.
    pub max_per_h: Option<f64>,
}

/// Where a burn comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BurnSource {
    /// Stated by an override.
    Stated,
    /// The slope of the readings of this cycle.
    RecentSlope,
    /// Used divided by elapsed, in the cycle of the reading, at the instant of the reading.
    CycleAverage,
    /// Assumed: one window per window.
    EvenPace,
}

/// What a reading is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowClass {
    /// The value is a point.
    Fresh,
    /// The value is an interval that grows with its age.
    Aging,
    /// A first-use window nobody has opened: full, without a deadline.
    Unstarted,
    /// Its reset has passed: the old value is void, the new cycle's use is an interval.
    Rolled,
    /// Too old. A window not longer than the review period is then priced by its load alone, if the reading is of the last day.
    Stale,
    /// Value, length and reset contradict each other or earlier readings.
    Invalid,
    /// The use or the reset is not stated.
    Unknown,
    /// The vendor says there is no limit.
    Unlimited,
}

impl WindowClass {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Aging => "aging",
            Self::Unstarted => "unstarted",
            Self::Rolled => "rolled",
            Self::Stale => "stale",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
            Self::Unlimited => "unlimited",
        }
    }
}

/// One window as it stands for a member: what is printed of it, and its price at both ends of its use.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowView {
    /// `home/window`, the identity of the bucket.
    pub id: String,
    /// What the reading is worth.
    pub class: WindowClass,
    /// Whether it binds some models only.
    pub is_scoped: bool,
    /// Length in hours, if known.
    pub length_h: Option<f64>,
    /// The reset: as stated, or the next boundary of a rolled window.
    pub resets_at: Option<DateTime<Utc>>,
    /// Hours since the vendor's value was seen.
    pub age_h: Option<f64>,
    /// Where the burn comes from.
    pub burn_source: BurnSource,
    /// Reasons and remarks in our own words.
    pub flags: Vec<String>,
    /// The price at the lowest and at the highest possible use; equal for a point, `None` when there is no price.
    pub ends: Option<(WindowPrice, WindowPrice)>,
}

/// What the use of a window is known to be.
struct Cycle {
    /// Class it gives.
    class: WindowClass,
    /// Lowest and highest used fraction.
    used: (f64, f64),
    /// Where in the cycle.
    phase: Phase,
    /// Length of that cycle in hours.
    length_h: f64,
    /// End of that cycle.
    resets_at: Option<DateTime<Utc>>,
}

/// A class without a price, and why.
type NoPrice = (WindowClass, &'static str);

impl WindowView {
    /// One reading at `now`. `burn` replaces the fallback chain (recent slope, cycle average, even pace).
    pub fn read(
        home: &HomeId,
        window: &QuotaWindow,
        burn: Option<&BurnOverride>,
        review_hours: f64,
        now: DateTime<Utc>,
    ) -> Self {
        let (rate, burn_source) = burn_in_use(window, burn);
        let mut view = Self {
            id: format!("{home}/{}", window.window_id),
            class: WindowClass::Unlimited,
            is_scoped: !scope::binds_all(&window.scope),
            length_h: window.length_hours(),
            resets_at: window.resets_at,
            age_h: window.age_hours(now).map(|hours| hours.max(0.0)),
            burn_source,
            flags: Vec::new(),
            ends: None,
        };
        let most = burn.and_then(|burn| burn.max_per_h);
        match settle(window, &|length| most.unwrap_or(2.0 * rate.unwrap_or(1.0 / length)), now) {
            Ok(None) => {}
            Ok(Some(cycle)) => view.price(window, &cycle, rate, review_hours),
            Err((class, reason)) => view.void(class, reason, window),
        }
        view
    }

    /// A priced window whose use is a point, or one without a price: for callers that have the numbers already.
    pub fn from_price(id: impl Into<String>, is_scoped: bool, length_h: f64, price: Option<WindowPrice>) -> Self {
        Self {
            id: id.into(),
            class: if price.is_some() { WindowClass::Fresh } else { WindowClass::Unknown },
            is_scoped,
            length_h: Some(length_h),
            resets_at: None,
            age_h: None,
            burn_source: BurnSource::Stated,
            flags: Vec::new(),
            ends: price.map(|price| (price, price)),
        }
    }

    /// Whether the price stands on its load alone, because the reading is stale.
    pub fn is_load_only(&self) -> bool {
        self.class == WindowClass::Stale && self.ends.is_some()
    }

    /// Takes over a class without a price. What an old reading said is not repeated.
    fn void(&mut self, class: WindowClass, reason: &str, window: &QuotaWindow) {
        self.class = class;
        let reason = window.invalid.as_deref().filter(|_| class == WindowClass::Invalid).unwrap_or(reason);
        self.flags.push(reason.to_owned());
    }

    /// Takes over a cycle and its price at both ends of its use.
    fn price(&mut self, window: &QuotaWindow, cycle: &Cycle, rate: Option<f64>, review_hours: f64) {
        let end = |used: f64| {
            let input = WindowInput {
                used: Some(used),
                is_rejected: window.status == WindowStatus::Rejected && cycle.class != WindowClass::Stale,
                phase: cycle.phase,
                length_h: cycle.length_h,
                burn_per_h: rate,
            };
            window_price(&input, review_hours)
        };
        self.class = cycle.class;
        self.length_h = Some(cycle.length_h);
        self.resets_at = cycle.resets_at;
        self.ends = end(cycle.used.0).zip(end(cycle.used.1));
        if self.ends.is_none() {
            self.void(WindowClass::Unknown, "burn or use out of range", window);
            return;
        }
        self.flags = flags(window, cycle, self.burn_source);
    }
}

/// What is remarkable about a priced reading.
fn flags(window: &QuotaWindow, cycle: &Cycle, burn: BurnSource) -> Vec<String> {
    let says_use = matches!(cycle.class, WindowClass::Fresh | WindowClass::Aging);
    let is_rejected = window.status == WindowStatus::Rejected;
    let states = [
        (burn == BurnSource::EvenPace, "burn assumed (even pace)"),
        (cycle.phase == Phase::NoDeadline, "no deadline"),
        (cycle.class == WindowClass::Stale, "stale, its load alone counts"),
        (cycle.class == WindowClass::Rolled && cycle.phase == Phase::NoDeadline, "assumed unopened (low confidence)"),
        (says_use && window.used.is_some_and(|used| used > 1.0), "over the limit, raw value kept"),
        (says_use && is_rejected && window.used.is_some_and(|used| used < 1.0), "rejected beats the percentage"),
        (says_use && is_rejected && window.used.is_none(), "rejected, use not stated"),
    ];
    let held = states.iter().filter(|(holds, _)| *holds).map(|(_, text)| (*text).to_owned());
    held.chain(window.remarks.iter().filter(|_| says_use).map(ToString::to_string)).collect()
}

/// The burn by the fallback chain and where it comes from; `None` is even pace.
fn burn_in_use(window: &QuotaWindow, stated: Option<&BurnOverride>) -> (Option<f64>, BurnSource) {
    match stated.map(|burn| burn.rate) {
        Some(BurnRate::PerHour(burn)) => (Some(burn), BurnSource::Stated),
        Some(BurnRate::EvenPace) => (None, BurnSource::EvenPace),
        None => match (window.recent_burn, cycle_average(window)) {
            (Some(burn), _) => (Some(burn), BurnSource::RecentSlope),
            (None, Some(burn)) => (Some(burn), BurnSource::CycleAverage),
            (None, None) => (None, BurnSource::EvenPace),
        },
    }
}

/// Used divided by elapsed at the instant of the reading, once a tenth of the cycle has passed (quota §3.1).
/// Unknown when the cycle began anew without a new reset, when the reading contradicts itself, and for windows that slide.
fn cycle_average(window: &QuotaWindow) -> Option<f64> {
    let is_sound = window.invalid.is_none() && !window.remarks.contains(&WindowRemark::NewCycleSuspected);
    let reset = window.resets_at.filter(|_| is_sound && window.has_reset() && window.started != Some(false))?;
    let length = window.length_hours()?;
    let elapsed = length - hours_between(window.observed_at?, reset);
    let used = window.used.filter(|used| used.is_finite() && *used >= 0.0)?;
    (elapsed >= 0.1 * length && elapsed <= length).then(|| used / elapsed)
}

/// What a reading says of the present cycle. `Ok(None)` is no limit. `most` is the largest burn to reckon with at a length.
fn settle(window: &QuotaWindow, most: &dyn Fn(f64) -> f64, now: DateTime<Utc>) -> Result<Option<Cycle>, NoPrice> {
    let age = window.age_hours(now).ok_or((WindowClass::Stale, "when the value was seen is not stated"))?.max(0.0);
    let freshness = window.age(now);
    if freshness == WindowAge::Stale && !window.tells_load(now) {
        return Err((WindowClass::Stale, "too old"));
    }
    if window.invalid.is_some() {
        return Err((WindowClass::Invalid, "invalid"));
    }
    if window.is_unlimited {
        return Ok(None);
    }
    let length = window.length_hours().ok_or((WindowClass::Unknown, "length of the window unknown"))?;
    if let Some(fault) = window.fault(now) {
        return Err((WindowClass::Invalid, fault));
    }
    if freshness == WindowAge::Stale {
        return Ok(Some(full(WindowClass::Stale, length)));
    }
    if window.has_reset() && window.resets_at.is_some_and(|reset| reset <= now) {
        return rolled(window, length, most, now).map(Some);
    }
    let grown =
        |used: f64| if freshness == WindowAge::Aging { used.max((used + most(length) * age).min(1.0)) } else { used };
    running(window, length, freshness, &grown, now).map(Some)
}

/// A full window without a deadline: its price is its load.
fn full(class: WindowClass, length_h: f64) -> Cycle {
    Cycle { class, used: (0.0, 0.0), phase: Phase::NoDeadline, length_h, resets_at: None }
}

/// A reading whose reset lies ahead, or that has none. `grown` is the highest use that age allows.
fn running(
    window: &QuotaWindow,
    length_h: f64,
    freshness: WindowAge,
    grown: &dyn Fn(f64) -> f64,
    now: DateTime<Utc>,
) -> Result<Cycle, NoPrice> {
    let is_rejected = window.status == WindowStatus::Rejected;
    let class = if freshness == WindowAge::Fresh { WindowClass::Fresh } else { WindowClass::Aging };
    let is_unopened = !is_rejected && is_unopened(window, length_h);
    if is_unopened && class == WindowClass::Fresh {
        return Ok(full(WindowClass::Unstarted, length_h));
    }
    let used = match window.used {
        _ if is_unopened => 0.0,
        Some(used) => used,
        None if is_rejected => 1.0,
        None if window.resets_at.is_some() => return Err((WindowClass::Unknown, "usage unknown, reset known")),
        None => return Err((WindowClass::Unknown, "usage unknown")),
    };
    let phase = match window.resets_at {
        _ if is_unopened || window.kind == "sliding" => Phase::NoDeadline,
        Some(reset) => Phase::ResetsIn(hours_between(now, reset)),
        None if is_rejected || used >= 1.0 => return Err((WindowClass::Unknown, "dry now, reset unknown")),
        None => return Err((WindowClass::Unknown, "reset unknown")),
    };
    Ok(Cycle { class, used: (used, grown(used)), phase, length_h, resets_at: window.resets_at })
}

/// Whether nobody has opened it: said so, or nothing used and a reset that is missing or stands a whole length ahead.
fn is_unopened(window: &QuotaWindow, length_h: f64) -> bool {
    let is_untouched = window.used.is_some_and(|used| used.abs() < NOTHING);
    let is_anchored = matches!(window.kind.as_str(), "fixed" | "calendar" | "sliding");
    match (window.resets_at, window.observed_at) {
        (None, _) if window.started == Some(false) => is_untouched || window.used.is_none(),
        (None, _) => is_untouched && window.kind != "sliding" && window.kind != "calendar",
        (Some(reset), Some(observed)) => {
            let ahead = hours_between(observed, reset) - length_h;
            is_untouched && !is_anchored && ahead.abs() <= window.tolerance_hours()
        }
        (Some(_), None) => false,
    }
}

/// A window past its reset: the old value is void. Its next boundary bounds the use since the last one.
fn rolled(
    window: &QuotaWindow,
    length_h: f64,
    most: &dyn Fn(f64) -> f64,
    now: DateTime<Utc>,
) -> Result<Cycle, NoPrice> {
    if window.status == WindowStatus::Rejected {
        return Err((WindowClass::Rolled, "still enforced: dry now, reset unknown"));
    }
    match window.kind.as_str() {
        "first_use" => Ok(full(WindowClass::Rolled, length_h)),
        "fixed" | "calendar" => {
            let (begun, resets_at) =
                next_cycle(window, now).ok_or((WindowClass::Rolled, "reset passed, the next one unknown"))?;
            let length_h = hours_between(begun, resets_at);
            let used = (0.0, (most(length_h) * hours_between(begun, now)).min(1.0));
            let phase = Phase::ResetsIn(hours_between(now, resets_at));
            Ok(Cycle { class: WindowClass::Rolled, used, phase, length_h, resets_at: Some(resets_at) })
        }
        _ => Err((WindowClass::Rolled, "reset passed, the next one unknown")),
    }
}

/// The cycle that runs at `now`, when the stated reset has passed: the last boundary and the next one.
fn next_cycle(window: &QuotaWindow, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let reset = window.resets_at?;
    if window.is_calendar_month() {
        let boundary = |months: u32| reset.checked_add_months(Months::new(months));
        let ahead = (1..).map_while(|months| boundary(months).map(|at| (months, at))).find(|(_, at)| *at > now)?;
        return Some((boundary(ahead.0 - 1)?, ahead.1));
    }
    let length = window.window_seconds.filter(|seconds| *seconds > 0)?;
    let passed = (now - reset).num_seconds() / length * length;
    let begun = reset.checked_add_signed(TimeDelta::try_seconds(passed)?)?;
    Some((begun, begun.checked_add_signed(TimeDelta::try_seconds(length)?)?))
}
