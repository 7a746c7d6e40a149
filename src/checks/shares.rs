//! How much work a member with a scarcer window should hand to one that may stand in for it, as weights (methods §13).

use std::collections::BTreeMap;

use super::intents;
use crate::evidence::statistics::shares::{ShareLimits, ShareSide, SharedWindow, SustainableShare, sustainable_share};
use crate::evidence::windows::{BurnSource, Phase, Standing, WindowView};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::Intent;

/// The limits of a move.
pub(super) fn share_limits(settings: &Settings) -> ShareLimits {
    let (windows, weights) = (&settings.thresholds.windows, &settings.thresholds.weights);
    ShareLimits {
        pressure: windows.pressure,
        gap: windows.gap,
        gap_high: windows.gap_high,
        lead_hours: windows.lead_hours,
        max_denominator: weights.max_denominator,
        tolerance: weights.tolerance,
        ..ShareLimits::default()
    }
}

/// A move of work between two members, and the change that makes it.
pub(super) struct ShareMove {
    /// The numbers.
    pub(super) found: SustainableShare,
    /// The weights, if there is a finding and this pool holds every line.
    pub(super) intent: Option<Intent>,
}

/// What `from` should hand to `to`. Readings are taken where they claim least: the giver at its cheapest, the taker at its
/// dearest.
pub(super) fn share_move(
    evidence: &PoolEvidence,
    from: &MemberEvidence,
    to: &MemberEvidence,
    settings: &Settings,
) -> ShareMove {
    let others: BTreeMap<String, f64> = evidence
        .members
        .iter()
        .filter(|member| member.key != from.key && member.key != to.key)
        .map(|member| (member.key.clone(), member.share))
        .collect();
    let found = match (side(from, false), side(to, true)) {
        (Some(from), Some(to)) => sustainable_share(&from, &to, &others, &share_limits(settings)),
        _ => unknown(),
    };
    let intent = found.weights.as_ref().and_then(|weights| {
        let moved = found.moved.unwrap_or_default();
        intents::reweight(evidence, &weights.weights, moved)
    });
    ShareMove { found, intent }
}

/// The answer when a window has no price.
fn unknown() -> SustainableShare {
    SustainableShare {
        reason: Some("unknown_window"),
        moved: None,
        price_from: None,
        price_to_after: None,
        shares: BTreeMap::new(),
        weights: None,
        is_high: None,
        binding: None,
    }
}

/// A member with its windows at one end of what is known; `None` when one has no price.
fn side(member: &MemberEvidence, at_dearest: bool) -> Option<ShareSide> {
    if matches!(member.windows.standing, Standing::Unknown(_) | Standing::Stale(_)) {
        return None;
    }
    let windows: Vec<&WindowView> = member.windows.windows.iter().filter(|view| view.ends.is_some()).collect();
    let windows = windows.into_iter().filter_map(|view| shared(member, view, at_dearest)).collect();
    Some(ShareSide { key: member.key.clone(), share: member.share, windows })
}

/// A window as the pool draws on it. A burn that was measured is what this member draws at its share today, if nobody else
/// draws on the window; one that is stated or assumed is that of the whole pool's work.
fn shared(member: &MemberEvidence, view: &WindowView, at_dearest: bool) -> Option<SharedWindow> {
    let (low, high) = view.ends.as_ref()?;
    let price = if at_dearest { high } else { low };
    let is_measured =
        matches!(view.burn_source, BurnSource::RecentSlope | BurnSource::CycleAverage) && member.share > 0.0;
    Some(SharedWindow {
        id: view.id.clone(),
        used: Some(if price.remaining > 0.0 { price.used } else { price.used.max(1.0) }),
        is_rejected: price.remaining <= 0.0,
        phase: Phase::ResetsIn(price.tau_h),
        length_h: view.length_h?,
        rest_per_h: 0.0,
        per_share_per_h: if is_measured { price.burn_per_h / member.share } else { price.burn_per_h },
    })
}
