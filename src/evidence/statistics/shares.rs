//! Traffic against weights, and how much work a member with a scarcer window should give away (methods §13).

use std::collections::BTreeMap;

use super::normal::Z_995;
use crate::evidence::rates::wilson_at;
use crate::evidence::weights::{IntegerWeights, integer_weights};
use crate::evidence::windows::{Phase, WindowInput, WindowPrice, binding, window_price};

/// One member's observed share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservedShare {
    /// Tasks assigned to it ÷ tasks of the pool.
    pub observed: f64,
    /// Lower 99 % bound.
    pub lo99: f64,
    /// Upper 99 % bound.
    pub hi99: f64,
    /// Observed − configured.
    pub difference: f64,
}

/// Does the traffic follow the weights?
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShareMismatch {
    /// Tasks.
    pub n: u64,
    /// Member → its share; empty without tasks.
    pub members: BTreeMap<String, ObservedShare>,
    /// Members that differ beyond chance and by enough, sorted.
    pub flagged: Vec<String>,
}

/// `[fn share_mismatch]`: differs by at least `difference`, with the configured share outside the 99 % interval, from
/// `least_tasks` on.
#[expect(clippy::cast_precision_loss, reason = "task counts stay far below 2^53")]
pub fn share_mismatch(
    configured: &BTreeMap<String, f64>,
    observed: &BTreeMap<String, u64>,
    difference: f64,
    least_tasks: f64,
) -> ShareMismatch {
    let n: u64 = observed.values().sum();
    let share = |(member, share): (&String, &f64)| {
        let tasks = observed.get(member).copied().unwrap_or(0);
        let (lo99, hi99) = wilson_at(tasks as f64, n as f64, Z_995)?;
        let observed = tasks as f64 / n as f64;
        Some((member.clone(), ObservedShare { observed, lo99, hi99, difference: observed - share }))
    };
    let members: BTreeMap<String, ObservedShare> = configured.iter().filter_map(share).collect();
    let is_off = |(member, share): &(&String, &ObservedShare)| {
        let wanted = configured[*member];
        share.difference.abs() >= difference - 1e-12 && !(share.lo99..=share.hi99).contains(&wanted)
    };
    let flagged = if (n as f64) < least_tasks {
        Vec::new()
    } else {
        members.iter().filter(is_off).map(|(member, _)| member.clone()).collect()
    };
    ShareMismatch { n, members, flagged }
}

/// A window as a member of a weighted pool draws on it.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedWindow {
    /// `home/window`.
    pub id: String,
    /// Used fraction; `None` is unknown.
    pub used: Option<f64>,
    /// Whether the vendor refuses calls.
    pub is_rejected: bool,
    /// Where it is in its cycle.
    pub phase: Phase,
    /// Length in hours.
    pub length_h: f64,
    /// What others burn, windows per hour.
    pub rest_per_h: f64,
    /// The draw of the whole pool's work on this member, windows per hour.
    pub per_share_per_h: f64,
}

impl SharedWindow {
    /// Burn at a share of the pool.
    fn burn(&self, share: f64) -> f64 {
        self.rest_per_h + self.per_share_per_h * share
    }

    /// Its price at a share.
    fn price(&self, share: f64, review_hours: f64) -> Option<WindowPrice> {
        let input = WindowInput {
            used: self.used,
            is_rejected: self.is_rejected,
            phase: self.phase,
            length_h: self.length_h,
            burn_per_h: Some(self.burn(share)),
        };
        window_price(&input, review_hours)
    }

    /// The largest share at which its pressure stays at `limit`: `b·τ/r`, or the load `b·L` of a window that is not longer
    /// than the review period.
    fn largest_share(&self, limit: f64, review_hours: f64) -> Option<f64> {
        let price = self.price(0.0, review_hours)?;
        let most_burn =
            if self.length_h <= review_hours { limit / self.length_h } else { limit * price.remaining / price.tau_h };
        let room = most_burn - self.rest_per_h;
        Some(if self.per_share_per_h > 0.0 {
            (room / self.per_share_per_h).clamp(0.0, 1.0)
        } else if room >= 0.0 {
            1.0
        } else {
            0.0
        })
    }
}

/// A member that may give or take work.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareSide {
    /// Its key.
    pub key: String,
    /// Its share now.
    pub share: f64,
    /// Every window that binds it.
    pub windows: Vec<SharedWindow>,
}

impl ShareSide {
    /// Π and the binding window at a share; `None` when a window has no price.
    fn price(&self, share: f64, review_hours: f64) -> Option<(f64, &SharedWindow)> {
        let prices: Vec<(&SharedWindow, WindowPrice)> = self
            .windows
            .iter()
            .map(|window| Some((window, window.price(share, review_hours)?)))
            .collect::<Option<_>>()?;
        let id = binding(prices.iter().map(|(window, price)| (window.id.as_str(), price)))?.to_owned();
        prices.into_iter().find(|(window, _)| window.id == id).map(|(window, price)| (price.price, window))
    }
}

/// Limits of a move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareLimits {
    /// Pressure up to which a share is sustainable.
    pub pressure: f64,
    /// Π gap that is misaligned.
    pub gap: f64,
    /// Π gap of high severity.
    pub gap_high: f64,
    /// Lead-hours per review a move must be worth.
    pub lead_hours: f64,
    /// Hours one review's answer lasts.
    pub review_hours: f64,
    /// Largest sum of weights.
    pub max_denominator: u32,
    /// How far a share may be rounded.
    pub tolerance: f64,
}

impl Default for ShareLimits {
    fn default() -> Self {
        Self {
            pressure: 0.9,
            gap: 0.30,
            gap_high: 0.60,
            lead_hours: 1.0,
            review_hours: crate::vocabulary::REVIEW_HOURS,
            max_denominator: 20,
            tolerance: 0.05,
        }
    }
}

/// How much work should move.
#[derive(Debug, Clone, PartialEq)]
pub struct SustainableShare {
    /// Why there is no finding; `None`: there is one.
    pub reason: Option<&'static str>,
    /// Share that moves, or would.
    pub moved: Option<f64>,
    /// Π of the giver now.
    pub price_from: Option<f64>,
    /// Π of the taker after the move.
    pub price_to_after: Option<f64>,
    /// Shares after the move; as they are without a finding.
    pub shares: BTreeMap<String, f64>,
    /// Small integer weights, with a finding.
    pub weights: Option<IntegerWeights>,
    /// Whether the gap is of high severity, with a finding.
    pub is_high: Option<bool>,
    /// The window that binds the giver.
    pub binding: Option<String>,
}

impl SustainableShare {
    /// Π of the giver minus Π of the taker after the move.
    pub fn gap(&self) -> Option<f64> {
        self.price_from.zip(self.price_to_after).map(|(from, to)| from - to)
    }

    /// Lead-hours per review that the move is worth.
    pub fn moved_lead_hours(&self, limits: &ShareLimits) -> Option<f64> {
        self.moved.map(|moved| moved * limits.review_hours)
    }
}

/// `[fn sustainable_share]`: what `from` should hand to the interchangeable `to`; `others` keep their shares.
pub fn sustainable_share(
    from: &ShareSide,
    to: &ShareSide,
    others: &BTreeMap<String, f64>,
    limits: &ShareLimits,
) -> SustainableShare {
    let mut shares = others.clone();
    shares.insert(from.key.clone(), from.share);
    shares.insert(to.key.clone(), to.share);
    let mut found = SustainableShare {
        reason: None,
        moved: None,
        price_from: None,
        price_to_after: None,
        shares,
        weights: None,
        is_high: None,
        binding: None,
    };
    if from.windows.is_empty() || to.windows.is_empty() {
        found.reason = Some("metered");
        return found;
    }
    let hours = limits.review_hours;
    let Some((price_from, binding)) = from.price(from.share, hours).zip(room(to, limits)).map(|(from, _)| from) else {
        found.reason = Some("unknown_window");
        return found;
    };
    let keep = binding.largest_share(limits.pressure, hours).unwrap_or(0.0).min(from.share);
    let room = room(to, limits).unwrap_or(0.0);
    let moved = (from.share - keep).min(room).max(0.0);
    let after = to.price(to.share + moved, hours).map(|(price, _)| price);
    found.price_from = Some(price_from);
    found.price_to_after = after;
    found.moved = Some(moved);
    found.binding = Some(binding.id.clone());
    let is_same = to.windows.iter().any(|window| window.id == binding.id);
    found.reason = why_not(is_same, from.share - keep, room, moved * hours, found.gap(), limits);
    if found.reason.is_none() {
        found.shares.insert(from.key.clone(), from.share - moved);
        found.shares.insert(to.key.clone(), to.share + moved);
        found.weights = integer_weights(&found.shares, limits.max_denominator, limits.tolerance);
        found.is_high = found.gap().map(|gap| gap >= limits.gap_high);
    }
    found
}

/// The share that the taker still has room for; `None` when a window of it has no price.
fn room(to: &ShareSide, limits: &ShareLimits) -> Option<f64> {
    let largest = to.windows.iter().map(|window| window.largest_share(limits.pressure, limits.review_hours));
    let least = largest.collect::<Option<Vec<f64>>>()?.into_iter().fold(1.0, f64::min);
    Some((least - to.share).max(0.0))
}

/// The first reason that applies.
fn why_not(
    is_same: bool,
    wanted: f64,
    room: f64,
    lead_hours: f64,
    gap: Option<f64>,
    limits: &ShareLimits,
) -> Option<&'static str> {
    if is_same {
        Some("same_window")
    } else if wanted <= 1e-12 {
        Some("sustainable")
    } else if room <= 1e-12 {
        Some("no_room")
    } else if lead_hours < limits.lead_hours - 1e-9 {
        Some("too_little")
    } else if gap.is_none_or(|gap| gap < limits.gap) {
        Some("gap")
    } else {
        None
    }
}
