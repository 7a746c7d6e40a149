//! The literal picture: the lead's window is about to reset while an equal sits on a fresh one (quota §3.4, rule 4).
//! It is printed with its numbers whatever the verdict; by itself it moves nothing.

use super::judge::Side;
use super::judgement::WindowLabel;
use super::{WindowClass, WindowRules};

/// Share of a window's length within which its reset counts as near.
const NEAR: f64 = 0.10;
/// Hours to a reset that count as near however short the window is.
const NEAR_HOURS: f64 = 0.25;
/// Remaining fraction, and share of the length to the reset, from which on a window counts as fresh.
const FRESH: f64 = 0.80;

/// The picture with its numbers, both sides on their binding windows.
#[derive(Debug, Clone, PartialEq)]
pub struct LiteralPicture {
    /// Key of the equal on the fresh window.
    pub equal: String,
    /// The lead's binding window.
    pub lead_window: String,
    /// The equal's binding window.
    pub equal_window: String,
    /// Hours to the lead's reset.
    pub lead_tau_h: f64,
    /// What the lead has left, a fraction.
    pub lead_remaining: f64,
    /// Hours the lead is dry before its reset.
    pub lead_shortfall_h: f64,
    /// Fraction of the lead's window that lapses at its reset if the lead stays.
    pub fraction_lost: f64,
    /// The same as hours of leading.
    pub lead_hours_lost: f64,
    /// Hours to the equal's reset; its length when it is unopened.
    pub equal_tau_h: f64,
    /// What the equal has left, a fraction.
    pub equal_remaining: f64,
    /// What it is called while the gap is small; `None` is aligned without a label.
    pub label: Option<WindowLabel>,
}

/// The picture, if the lead and one of the equals (best first) show it.
pub(super) fn picture(lead: &Side<'_>, equals: &[Side<'_>], rules: &WindowRules) -> Option<LiteralPicture> {
    let (lead_view, x) = lead.binding()?;
    let is_near = x.tau_h <= (NEAR * lead_view.length_h?).max(NEAR_HOURS);
    if !is_near || lead_view.is_load_only() {
        return None;
    }
    let (equal, equal_view, y) = equals.iter().find_map(|side| {
        let (view, price) = side.binding()?;
        let is_new = view.class == WindowClass::Unstarted || price.tau_h >= FRESH * view.length_h?;
        (is_new && price.remaining >= FRESH && !view.is_load_only()).then_some((side, view, price))
    })?;
    Some(LiteralPicture {
        equal: equal.member.key.clone(),
        lead_window: lead_view.id.clone(),
        equal_window: equal_view.id.clone(),
        lead_tau_h: x.tau_h,
        lead_remaining: x.remaining,
        lead_shortfall_h: x.shortfall_h,
        fraction_lost: x.expiring,
        lead_hours_lost: Some(x.expiring / x.burn_per_h)
            .filter(|hours| hours.is_finite())
            .unwrap_or(x.tau_h)
            .min(x.tau_h),
        equal_tau_h: y.tau_h,
        equal_remaining: y.remaining,
        label: label(x.shortfall_h, x.slack_h, rules),
    })
}

/// What the picture is called: dry for a while, or a surplus that lapses.
fn label(shortfall_h: f64, slack_h: Option<f64>, rules: &WindowRules) -> Option<WindowLabel> {
    if shortfall_h >= rules.tail_minutes / 60.0 {
        return Some(WindowLabel::Tail);
    }
    slack_h.is_none_or(|slack| slack >= 0.0).then_some(WindowLabel::UseItOrLoseIt)
}
