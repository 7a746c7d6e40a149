//! What the router's loaded catalogue offers: which ids exist under which provider, and which variants they take.

use std::collections::BTreeMap;

use crate::vocabulary::{CatalogueOffer, ProviderId};

/// One model of one provider as the router sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Variants it takes; empty when it takes none.
    pub variants: Vec<String>,
    /// Whether it may be used.
    pub enabled: bool,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether its weights are published.
    pub open_weights: Option<bool>,
    /// Context window in tokens.
    pub context: Option<u64>,
}

/// The models of one provider.
#[derive(Debug, Clone, Default)]
struct Models {
    /// Ids in catalogue order.
    order: Vec<String>,
    /// Id → entry.
    entries: BTreeMap<String, CatalogueEntry>,
}

/// The models of every provider, each provider's in catalogue order.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Provider → its models.
    providers: BTreeMap<ProviderId, Models>,
}

impl Catalogue {
    /// The catalogue of some offers, in their order; of an id that stands twice the first counts.
    pub fn of_offers(offers: &[CatalogueOffer]) -> Self {
        let mut catalogue = Self::default();
        for offer in offers {
            let entry = CatalogueEntry {
                variants: offer.efforts.clone(),
                enabled: true,
                tools: offer.is_described.then_some(offer.tools),
                open_weights: offer.is_described.then_some(offer.open_weights),
                context: offer.context,
            };
            catalogue.add(&offer.provider, &offer.id, entry);
        }
        catalogue
    }

    /// Adds one model behind the others of its provider.
    pub fn add(&mut self, provider: &ProviderId, id: &str, entry: CatalogueEntry) {
        let models = self.providers.entry(provider.clone()).or_default();
        if !models.entries.contains_key(id) {
            models.entries.insert(id.to_owned(), entry);
            models.order.push(id.to_owned());
        }
    }

    /// Whether the catalogue speaks of a provider at all; of one it does not know nothing can be said to be missing.
    pub fn knows(&self, provider: &ProviderId) -> bool {
        self.providers.contains_key(provider)
    }

    /// A model of a provider.
    pub fn get(&self, provider: &ProviderId, id: &str) -> Option<&CatalogueEntry> {
        self.providers.get(provider)?.entries.get(id)
    }

    /// The enabled ids of one provider that match a pattern with `*`, whole and case sensitive, in catalogue order.
    pub fn matching<'a>(&'a self, provider: &ProviderId, pattern: &'a str) -> impl Iterator<Item = &'a str> {
        let models = self.providers.get(provider);
        let is_enabled = move |id: &str| models.and_then(|models| models.entries.get(id)).is_some_and(|e| e.enabled);
        let ids = models.into_iter().flat_map(|models| &models.order).map(String::as_str);
        ids.filter(move |id| is_enabled(id) && matches_stars(pattern, id))
    }
}

/// Whether a text matches a pattern in which `*` stands for any text; nothing else is special.
pub(super) fn matches_stars(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches_stars;

    #[test]
    fn a_star_stands_for_any_text_and_the_whole_id_must_match() {
        assert!(matches_stars("*sonnet*", "claude-sonnet-5"));
        assert!(matches_stars("claude-*-5", "claude-opus-5"));
        assert!(!matches_stars("sonnet", "claude-sonnet-5"), "without a star the whole id must be equal");
        assert!(!matches_stars("a*a", "a"), "one letter cannot serve both ends");
        assert!(matches_stars("*", ""));
    }
}
