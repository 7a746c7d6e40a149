//! What a member pays in scarcity if it leads: the dearest of the windows that bind it, or why that is not known.
//! A plan home without a usable reading is unknown, never free.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::reading::{BurnOverride, WindowClass, WindowView};
use super::{WindowPrice, WindowRules, scope};
use crate::vocabulary::{QuotaHome, QuotaWindow, WindowStatus};

/// A value that is known to lie between two ends; equal for a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

impl Range {
    /// The range between two values, whichever is larger.
    pub fn between(a: f64, b: f64) -> Self {
        Self { low: a.min(b), high: a.max(b) }
    }

    /// Both ends changed alike.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self::between(f(self.low), f(self.high))
    }
}

/// Who a member is, and what is known about its cost.
#[derive(Debug, Clone)]
pub struct MemberOf<'a> {
    /// Key of the member, as findings name it.
    pub key: String,
    /// The newest readings of its home; `None` when no snapshot names it.
    pub home: Option<&'a QuotaHome>,
    /// Whether its home is paid by subscription.
    pub is_flat: bool,
    /// Cash of an hour of leading; `None` is unknown. A flat home costs 0 whatever stands here.
    pub cash_usd_per_lead_hour: Option<f64>,
    /// Every spelling of its model that a window's scope may use.
    pub models: &'a [&'a str],
    /// Window id → burn that replaces the fallback chain.
    pub burns: BTreeMap<String, BurnOverride>,
}

/// Price of a member as lead: the dearest window at either end of what is known.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberPrice {
    /// Π.
    pub price: Range,
    /// Index in [`MemberWindows::windows`] of the window that binds at the low end; `None` when nothing limits.
    pub binding_low: Option<usize>,
    /// The same at the high end.
    pub binding_high: Option<usize>,
}

/// Whether a member can be judged by its windows.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// No window binds it and its home is not a plan: Π is 0, and it costs cash.
    Metered,
    /// Every window that binds it has a price.
    Known(MemberPrice),
    /// A window that binds it has none, or its plan home has no reading; why, in our own words.
    Unknown(String),
    /// A reading that is needed is too old; why, in our own words.
    Stale(String),
}

/// A member with the windows that bind it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberWindows {
    /// Key of the member.
    pub key: String,
    /// Cash of an hour of leading; `None` is unknown.
    pub cash_usd_per_lead_hour: Option<f64>,
    /// Whether it can be judged.
    pub standing: Standing,
    /// The windows that bind it, by id.
    pub windows: Vec<WindowView>,
}

/// Which end of what is known is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Least used, cheapest.
    Low,
    /// Most used, dearest.
    High,
}

impl MemberWindows {
    /// The member at `now`: picks the windows whose scope matches one of its spellings and prices them.
    pub fn read(member: &MemberOf<'_>, rules: &WindowRules, now: DateTime<Utc>) -> Self {
        let windows = member.home.map_or_else(Vec::new, |home| {
            let read = |window: &QuotaWindow| {
                let burn = member.burns.get(&window.window_id);
                WindowView::read(&home.home, window, burn, rules.review_hours, now)
            };
            home.windows.iter().filter(|window| is_binding(window, member.models)).map(read).collect()
        });
        let cash = if member.is_flat { Some(0.0) } else { member.cash_usd_per_lead_hour };
        let mut read = Self::from_windows(member.key.clone(), cash, windows);
        if member.is_flat && read.windows.is_empty() {
            let reason =
                if member.home.is_some() { "no window of its home binds it" } else { "its home has no reading" };
            read.standing = Standing::Unknown(reason.to_owned());
        }
        read
    }

    /// A member from windows that are priced already; without windows it is metered.
    pub fn from_windows(key: impl Into<String>, cash_usd_per_lead_hour: Option<f64>, windows: Vec<WindowView>) -> Self {
        let mut windows = windows;
        windows.sort_by(|a, b| a.id.cmp(&b.id));
        let cash_usd_per_lead_hour = cash_usd_per_lead_hour.filter(|cash| cash.is_finite());
        Self { key: key.into(), cash_usd_per_lead_hour, standing: standing(&windows), windows }
    }

    /// Π at both ends, if it is known; a metered member's is 0.
    pub fn price(&self) -> Option<Range> {
        match &self.standing {
            Standing::Metered => Some(Range::between(0.0, 0.0)),
            Standing::Known(known) => Some(known.price),
            Standing::Unknown(_) | Standing::Stale(_) => None,
        }
    }

    /// The window that binds when least is used, with its numbers.
    pub fn binding(&self) -> Option<(&WindowView, &WindowPrice)> {
        self.binding_at(End::Low)
    }

    /// The window that binds at one end, with its numbers there.
    pub(super) fn binding_at(&self, end: End) -> Option<(&WindowView, &WindowPrice)> {
        let Standing::Known(known) = &self.standing else { return None };
        let index = if end == End::Low { known.binding_low } else { known.binding_high };
        let view = self.windows.get(index?)?;
        view.at(end).map(|price| (view, price))
    }
}

impl WindowView {
    /// Its price at one end.
    pub(super) fn at(&self, end: End) -> Option<&WindowPrice> {
        self.ends.as_ref().map(|(low, high)| if end == End::Low { low } else { high })
    }
}

/// Whether a window limits calls to a model. A prepaid balance has no reset and only counts once it is spent; a window
/// that is not in force never does.
fn is_binding(window: &QuotaWindow, models: &[&str]) -> bool {
    let is_spent = window.status == WindowStatus::Rejected || window.used.is_some_and(|used| used >= 1.0);
    let limits = window.status != WindowStatus::Inactive && (window.kind != "balance" || is_spent);
    limits && scope::binds(&window.scope, models)
}

/// What the windows of a member say together. A stale one blocks more than an unknown one.
fn standing(windows: &[WindowView]) -> Standing {
    if windows.is_empty() {
        return Standing::Metered;
    }
    let unpriced = |class: WindowClass| {
        windows
            .iter()
            .find(|view| view.ends.is_none() && view.class == class)
            .map(|view| view.flags.first().cloned().unwrap_or_else(|| class.as_str().to_owned()))
    };
    if let Some(reason) = unpriced(WindowClass::Stale) {
        return Standing::Stale(reason);
    }
    let without = [WindowClass::Invalid, WindowClass::Unknown, WindowClass::Rolled];
    if let Some(reason) = without.into_iter().find_map(unpriced) {
        return Standing::Unknown(reason);
    }
    let (low, high) = (dearest(windows, End::Low), dearest(windows, End::High));
    let price = |end: Option<(usize, f64)>| end.map_or(0.0, |(_, price)| price);
    Standing::Known(MemberPrice {
        price: Range::between(price(low), price(high)),
        binding_low: low.map(|(index, _)| index),
        binding_high: high.map(|(index, _)| index),
    })
}

/// The window that binds at one end: the dearest, ties to the smaller slack, then to the smaller id.
fn dearest(windows: &[WindowView], end: End) -> Option<(usize, f64)> {
    let dearer = |a: &(usize, &WindowPrice), b: &(usize, &WindowPrice)| match a.1.cmp_binding(b.1) {
        Ordering::Equal => windows[b.0].id.cmp(&windows[a.0].id),
        order => order,
    };
    let priced = windows.iter().enumerate().filter_map(|(index, view)| view.at(end).map(|price| (index, price)));
    priced.max_by(dearer).map(|(index, price)| (index, price.price))
}
