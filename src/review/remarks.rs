//! What a run has to say that belongs to no pool: rules that reach nothing, copies of prices, indices that are repeated, and what
//! providers list since the last accepted catalogue.

use std::collections::BTreeSet;

use super::gather::Gathered;
use super::pools::Planned;
use crate::evidence::book::Book;
use crate::history::{Listing, ListingChange, changes};
use crate::ring::ResolvedRing;
use crate::settings::Settings;
use crate::verdict::Sentence;
use crate::vocabulary::{PoolId, ProviderId, TargetRef};

/// How the indices that `OpenRouter` repeats stand to the market's own, in one line.
pub(super) fn index_remark(book: &Book) -> Option<Sentence> {
    let held = book.repeated().filter_map(|model| Some((model, book.repeats_market(model)?)));
    let (same, other): (Vec<_>, Vec<_>) = held.partition(|(_, is_same)| *is_same);
    let first = other.first().map(|(model, _)| model.to_string());
    let text = format!(
        "OpenRouter repeats the index of {} rated models without version or effort: {} as the market has it, {} otherwise; only the market's own is used",
        same.len() + other.len(),
        same.len(),
        other.len()
    );
    let said = Sentence::new().own(text);
    let said = match first {
        Some(model) => said.own(", first ").name(&model),
        None => said,
    };
    (!same.is_empty() || !other.is_empty()).then_some(said)
}

/// What the providers of the pools offer for text; what an earlier run knew while the catalogue may not be used.
pub(super) fn listing(gathered: &Gathered, planned: &[Planned]) -> Listing {
    if gathered.offers.is_empty() {
        return gathered.memory.listing.clone();
    }
    let members = planned.iter().filter_map(|pool| pool.ring.as_ref().ok()).flat_map(ResolvedRing::members);
    let providers: BTreeSet<&ProviderId> = members.map(|member| &member.target.provider).collect();
    let mut listing = Listing::new();
    for offer in gathered.offers.iter().filter(|offer| offer.writes_text && providers.contains(&offer.provider)) {
        listing.entry(offer.provider.to_string()).or_default().insert(offer.id.clone());
    }
    listing
}

/// What came and went in the lists of the pools' providers, one line per provider.
pub(super) fn listing_remarks(before: &Listing, now: &Listing, book: &Book) -> Vec<Sentence> {
    let end_of = |provider: &str, id: &str| {
        let target = TargetRef { provider: ProviderId::new(provider), model: id.to_owned(), variant: None };
        book.end_of(&target).map(|end| end.date)
    };
    changes(before, now, end_of).iter().map(ListingChange::sentence).collect()
}

/// Copies of a provider's price that are not what the provider itself asks, in one line.
pub(super) fn price_remarks(book: &Book) -> Option<Sentence> {
    let (first, count) = (book.deviations().first()?, book.deviations().len());
    let text = format!("{count} copies of an offer's price differ from the provider's own, which is used: ");
    Some(Sentence::new().own(text).name(first).own(if count > 1 { " and others" } else { "" }))
}

/// Remarks on the whole run: rules that apply to no pool, pools without a tier.
pub(super) fn remarks(settings: &Settings, planned: &[Planned]) -> Vec<Sentence> {
    let ids: Vec<&PoolId> = planned.iter().map(|pool| &pool.route.id).collect();
    let idle = settings.unmatched_rules(ids.iter().copied());
    let idle = idle.into_iter().map(|rule| {
        Sentence::new()
            .own(format!("the rule at {}:{} applies to no pool: ", settings.path, rule.line))
            .name(&rule.pattern)
    });
    let assumed: Vec<&PoolId> =
        planned.iter().filter(|pool| pool.tier.1 && !pool.is_single).map(|pool| &pool.route.id).collect();
    let assumed = (!assumed.is_empty())
        .then(|| Sentence::new().own("no tier is set, so the numbers of workhorse are used: ").names(assumed));
    idle.chain(assumed).collect()
}
