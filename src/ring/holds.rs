//! What changes a route's behaviour today although the config does not show it: the user's overrides and tuning notes. Pure;
//! the ring stays what the config says, and these stand beside it.

use super::catalogue::matches_stars;
use super::{ResolvedRing, RingMember};
use crate::vocabulary::{FleetConfig, OverrideAction, Place, RouteOverride, TuningNote};

/// What a hold does to a member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HoldKind {
    /// It is passed over.
    Avoid,
    /// Its weight is multiplied by this.
    Prefer(f64),
    /// Its budget does not hold it back.
    AllowOverBudget,
    /// A note says it is spent until a reset: it is passed over.
    Note,
}

impl HoldKind {
    /// The kind as a fragment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Avoid => "avoid",
            Self::Prefer(_) => "prefer",
            Self::AllowOverBudget => "allow-over-budget",
            Self::Note => "note",
        }
    }
}

/// An override or note that is in force for a member.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// Index of the member in the ring.
    pub member: usize,
    /// What it does.
    pub kind: HoldKind,
    /// When it ends, epoch milliseconds.
    pub until_ms: i64,
    /// The override's id; of a note what it matches.
    pub id: String,
    /// Why, in the words of its author.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// Everything in force for the members of a ring, in the order of the files. A route at `fixed` is out of the reach of notes and
/// of overrides that spare it.
pub fn holds(ring: &ResolvedRing, config: &FleetConfig, is_fixed: bool, now_ms: i64) -> Vec<Hold> {
    let route = ring.pool().as_str();
    let overrides = config.overrides.iter().filter(|item| {
        now_ms < item.until_ms
            && (item.fixed || !is_fixed)
            && (item.routes.is_empty() || item.routes.iter().any(|named| named == route))
    });
    let notes = config.notes.iter().filter(|note| !is_fixed && note.until_ms.is_some_and(|until| now_ms < until));
    let by_override = overrides.flat_map(|item| named(ring, |member| names(item, member)).map(|i| held(item, i)));
    let by_note = notes.flat_map(|note| {
        named(ring, |member| mentions(note, member)).map(|i| Hold {
            member: i,
            kind: HoldKind::Note,
            until_ms: note.until_ms.unwrap_or(now_ms),
            id: note.matches.clone(),
            text: note.text.clone(),
            place: note.place.clone(),
        })
    });
    by_override.chain(by_note).collect()
}

/// The indices of the members that something names.
fn named(ring: &ResolvedRing, is_named: impl Fn(&RingMember) -> bool) -> impl Iterator<Item = usize> {
    let named: Vec<usize> =
        ring.members().iter().enumerate().filter(|(_, member)| is_named(member)).map(|(i, _)| i).collect();
    named.into_iter()
}

/// An override as a hold of a member.
fn held(item: &RouteOverride, member: usize) -> Hold {
    Hold {
        member,
        kind: match item.action {
            OverrideAction::Avoid => HoldKind::Avoid,
            OverrideAction::Prefer => HoldKind::Prefer(item.factor),
            OverrideAction::AllowOverBudget => HoldKind::AllowOverBudget,
        },
        until_ms: item.until_ms,
        id: item.id.clone(),
        text: item.text.clone(),
        place: item.place.clone(),
    }
}

/// Whether an override names a member: by provider where it lists some, and by model where it lists some; case does not count.
fn names(item: &RouteOverride, member: &RingMember) -> bool {
    let (provider, model) = (member.target.provider.as_str(), member.target.model.to_lowercase());
    let by_provider = item.providers.is_empty() || item.providers.iter().any(|id| id.eq_ignore_ascii_case(provider));
    by_provider && (item.models.is_empty() || item.models.iter().any(|p| matches_stars(&p.to_lowercase(), &model)))
}

/// Whether a note mentions a member: its match is a part of `provider/model`, so `openai/gpt-6` also means `openai/gpt-6-luna`.
fn mentions(note: &TuningNote, member: &RingMember) -> bool {
    let part = note.matches.trim().to_lowercase();
    !part.is_empty() && member.target.weight_key().to_lowercase().contains(&part)
}
