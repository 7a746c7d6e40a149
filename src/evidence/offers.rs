//! Who offers what: the catalogue of all providers, corrected by what a provider says of itself. A second-hand catalogue can
//! neither add an offer to a provider that lists its own nor keep one alive.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{CatalogueOffer, ProviderId, ProviderList};

/// The offers after every provider's own word, sorted by provider and id, and one line per provider that says what it changed.
/// `own` are offers that a provider describes itself (its whole list), `lists` are bare lists of ids.
pub fn merge(
    catalogue: Vec<CatalogueOffer>,
    own: Vec<CatalogueOffer>,
    lists: &[ProviderList],
) -> (Vec<CatalogueOffer>, Vec<String>) {
    let mut by_provider: BTreeMap<ProviderId, BTreeMap<String, CatalogueOffer>> = BTreeMap::new();
    for offer in catalogue {
        by_provider.entry(offer.provider.clone()).or_default().entry(offer.id.clone()).or_insert(offer);
    }
    let mut remarks = Vec::new();
    let mut described: BTreeMap<ProviderId, Vec<CatalogueOffer>> = BTreeMap::new();
    for offer in own {
        described.entry(offer.provider.clone()).or_default().push(offer);
    }
    for (provider, offers) in described {
        let known = by_provider.remove(&provider).unwrap_or_default();
        let ids: BTreeSet<&str> = offers.iter().map(|offer| offer.id.as_str()).collect();
        remarks.extend(changed(&provider, &known.keys().map(String::as_str).collect(), &ids));
        let offers = offers.into_iter().map(|offer| (offer.id.clone(), filled(offer, &known))).collect();
        by_provider.insert(provider, offers);
    }
    for list in lists {
        let known = by_provider.entry(list.provider.clone()).or_default();
        let ids: BTreeSet<&str> = list.ids.iter().map(String::as_str).collect();
        remarks.extend(changed(&list.provider, &known.keys().map(String::as_str).collect(), &ids));
        known.retain(|id, _| list.ids.contains(id));
        for id in &list.ids {
            known.entry(id.clone()).or_insert_with(|| CatalogueOffer {
                is_described: false,
                ..CatalogueOffer::new(list.provider.clone(), id.clone())
            });
        }
    }
    (by_provider.into_values().flat_map(BTreeMap::into_values).collect(), remarks)
}

/// What a provider's own list changed.
fn changed(provider: &ProviderId, known: &BTreeSet<&str>, own: &BTreeSet<&str>) -> Option<String> {
    let (added, gone) = (own.difference(known).count(), known.difference(own).count());
    (added + gone > 0).then(|| format!("{provider} lists {} ids itself: {added} more, {gone} fewer", own.len()))
}

/// An offer of a provider's own list, with what only the catalogue knows of it.
fn filled(own: CatalogueOffer, known: &BTreeMap<String, CatalogueOffer>) -> CatalogueOffer {
    let Some(known) = known.get(&own.id) else { return own };
    CatalogueOffer {
        canonical: own.canonical.or_else(|| known.canonical.clone()),
        released: own.released.or(known.released),
        efforts: if own.efforts.is_empty() { known.efforts.clone() } else { own.efforts },
        tools: own.tools || known.tools,
        open_weights: own.open_weights || known.open_weights,
        context: own.context.or(known.context),
        status: own.status.or_else(|| known.status.clone()),
        ..own
    }
}
