//! Which ids mean the same released model. Three things decide, in this order: the reviewed alias file, the catalogue's own
//! link between an offer and a model, and anchored rules on the text. Nothing is matched by substring or loose tokens; what
//! merely looks near is a suggestion for a person and is never used.

mod aliases;
mod link;
mod rules;
#[cfg(test)]
mod tests;
mod vendors;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{CatalogueOffer, Effort, MarketModel, ModelId, ProviderId, Reject, RetirementRow};

use aliases::{AliasSource, Aliases};
use rules::{Stripped, strip_offer};
use vendors::is_first_party;
pub use vendors::is_vendor_of;
use words::is_versioned_name;

/// What decided that an id means a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// A reviewed line of the alias file.
    Alias,
    /// The catalogue's `canonical_model_id`, where the text does not contradict it.
    Canonical,
    /// Anchored rules on the text alone.
    Rule,
}

impl Via {
    /// The word as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alias => "alias",
            Self::Canonical => "canonical",
            Self::Rule => "rule",
        }
    }
}

/// What an id means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A model, and the effort if the id or its alias states one.
    Model {
        /// The model under its canonical name.
        model: ModelId,
        /// The effort the id itself stands for.
        effort: Option<Effort>,
        /// What decided.
        via: Via,
    },
    /// Nothing that may be used.
    Unmatched {
        /// A known model with a near name, for a person to look at; never used.
        suggestion: Option<String>,
    },
}

impl Resolution {
    /// The model, if there is one.
    pub fn model(&self) -> Option<&ModelId> {
        match self {
            Self::Model { model, .. } => Some(model),
            Self::Unmatched { .. } => None,
        }
    }

    /// The effort the id stands for, if it states one.
    pub fn effort(&self) -> Option<&Effort> {
        match self {
            Self::Model { effort, .. } => effort.as_ref(),
            Self::Unmatched { .. } => None,
        }
    }
}

/// Every model known by name, and how to tell that an id means one of them.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Reviewed lines.
    aliases: Aliases,
    /// Provider and id → the catalogue's `lab/model`.
    links: BTreeMap<(String, String), String>,
    /// Folded key → canonical name.
    names: BTreeMap<String, ModelId>,
    /// Folded key without date → the dates it is offered with.
    dates: BTreeMap<String, BTreeSet<String>>,
}

impl Identity {
    /// Builds the index from the alias file (text, and path for messages) and the catalogue's offers. Broken alias lines come
    /// back as rejects and are not used. The order of lines and offers changes nothing.
    pub fn new(aliases_csv: Option<(&str, &str)>, offers: &[CatalogueOffer]) -> (Self, Vec<Reject>) {
        let (aliases, rejects) = aliases_csv.map_or_else(Default::default, |(text, path)| Aliases::parse(text, path));
        let mut identity = Self { aliases, ..Self::default() };
        for offer in offers {
            let stripped = strip_offer(offer.provider.as_str(), &offer.id);
            if let Some(date) = stripped.date {
                identity.dates.entry(stripped.key).or_default().insert(date);
            }
        }
        for offer in offers {
            if let Some(canonical) = &offer.canonical {
                let place = (offer.provider.as_str().to_owned(), offer.id.clone());
                identity.links.insert(place, canonical.clone());
            }
        }
        identity.names = identity.collect_names(offers);
        (identity, rejects)
    }

    /// Folded key → name. The alias file's spelling wins, then a model the catalogue links to, then a vendor's own id; of
    /// several the shortest, then the first by text.
    fn collect_names(&self, offers: &[CatalogueOffer]) -> BTreeMap<String, ModelId> {
        let mut ranked: BTreeMap<String, BTreeSet<(u8, usize, String)>> = BTreeMap::new();
        let mut add = |rank: u8, text: &str| {
            let name = text.to_lowercase();
            let stripped = strip_offer("", &name);
            if !stripped.is_moving && !stripped.is_variant {
                ranked.entry(self.key(&stripped)).or_default().insert((rank, name.len(), name));
            }
        };
        for model in self.aliases.models() {
            add(0, model);
        }
        for offer in offers {
            if let Some(canonical) = &offer.canonical {
                add(1, model_part(canonical));
            }
            if is_first_party(offer.provider.as_str()) && !offer.id.contains(['/', ':', '@']) {
                add(2, &offer.id);
            }
        }
        let first = |names: BTreeSet<(u8, usize, String)>| names.into_iter().next();
        ranked.into_iter().filter_map(|(key, names)| Some((key, ModelId::new(first(names)?.2)))).collect()
    }

    /// The key of a stripped id. Its date is noise where the catalogue knows one dated snapshot at most, else part of it.
    fn key(&self, stripped: &Stripped) -> String {
        match &stripped.date {
            Some(date) if self.dates.get(&stripped.key).is_some_and(|dates| dates.len() > 1) => {
                format!("{}-{date}", stripped.key)
            }
            _ => stripped.key.clone(),
        }
    }

    /// What an id means at a provider (both as the router and the catalogue spell them).
    pub fn offer(&self, provider: &ProviderId, id: &str) -> Resolution {
        if let Some(found) = self.alias(AliasSource::Offer, &format!("{provider}/{id}")) {
            return found;
        }
        let stripped = strip_offer(provider.as_str(), id);
        let link = self.links.get(&(provider.as_str().to_owned(), id.to_owned()));
        if let Some(found) = link.and_then(|canonical| self.linked(canonical, &stripped)) {
            return found;
        }
        match self.by_rule(&stripped) {
            Resolution::Unmatched { suggestion } => Resolution::Unmatched {
                suggestion: suggestion.or_else(|| link.map(|canonical| model_part(canonical).to_lowercase())),
            },
            found @ Resolution::Model { .. } => found,
        }
    }

    /// What a market row means: its model and effort. The display name decides, whatever the slug says; a row whose name
    /// carries a date ("Feb '24") is matched by the alias file only.
    pub fn market(&self, row: &MarketModel) -> Resolution {
        let effort = row.effort.as_ref().map(market_effort);
        let found = self
            .alias(AliasSource::Market, &row.id)
            .or_else(|| self.alias(AliasSource::Market, &row.name))
            .unwrap_or_else(|| self.market_by_name(row));
        match found {
            Resolution::Model { model, effort: None, via } => Resolution::Model { model, effort, via },
            other => other,
        }
    }

    /// A market row by its name; by its slug's spelling where slug and name hold the same words in another order.
    fn market_by_name(&self, row: &MarketModel) -> Resolution {
        let Some(stripped) = rules::strip_market_name(&row.name) else {
            return Resolution::Unmatched { suggestion: None };
        };
        let is_known = |stripped: &Stripped| {
            let key = self.key(stripped);
            self.names.contains_key(&key) || self.aliases.text(&key).is_some()
        };
        if !is_known(&stripped) {
            let twin = rules::slug_twin(&row.slug, &stripped.key).map(|slug| strip_offer("", &slug));
            if let Some(twin) = twin.filter(is_known) {
                return self.by_rule(&twin);
            }
        }
        self.by_rule(&stripped)
    }

    /// What a row of the retirement source means.
    pub fn retirement(&self, row: &RetirementRow) -> Resolution {
        self.alias(AliasSource::Retirement, &row.key).unwrap_or_else(|| self.offer(&row.provider, &row.model))
    }

    /// What the successor that a retirement row names means; `None` when it names none. Free text is unmatched.
    pub fn successor(&self, row: &RetirementRow) -> Option<Resolution> {
        let text = row.successor.as_deref()?;
        if text.contains(char::is_whitespace) {
            return Some(Resolution::Unmatched { suggestion: None });
        }
        let prefix = row.key.strip_suffix(row.model.as_str()).unwrap_or_default();
        let id = text.strip_prefix(prefix).unwrap_or(text);
        Some(self.alias(AliasSource::Retirement, text).unwrap_or_else(|| self.offer(&row.provider, id)))
    }

    /// Whether an id names a price or speed variant of an offer (free, batch, fast, long context): the same model, never the
    /// vendor's list price.
    pub fn is_variant_offer(provider: &ProviderId, id: &str) -> bool {
        strip_offer(provider.as_str(), id).is_variant
    }

    /// Whether a model is known by name to the alias file or the catalogue.
    pub fn is_known(&self, model: &ModelId) -> bool {
        self.names.values().any(|name| name == model)
    }

    /// A reviewed line, if there is one for this id of this source. A line without model says: never match it.
    fn alias(&self, source: AliasSource, id: &str) -> Option<Resolution> {
        let alias = self.aliases.get(source, id)?;
        let Some(model) = &alias.model else { return Some(Resolution::Unmatched { suggestion: None }) };
        Some(Resolution::Model { model: self.spelled(model), effort: alias.effort.clone(), via: Via::Alias })
    }

    /// A model through the catalogue's link, unless the offer's text contradicts it or either side is a moving name.
    fn linked(&self, canonical: &str, offer: &Stripped) -> Option<Resolution> {
        let target = strip_offer("", model_part(canonical));
        if !link::is_plausible(&offer.key, &target.key) {
            return None;
        }
        if let Some(found) = self.alias(AliasSource::Canonical, canonical) {
            return Some(found);
        }
        let drops_preview = target.key.ends_with("-preview") && !offer.key.ends_with("-preview");
        if target.is_moving || offer.is_moving || (drops_preview && self.names.contains_key(&offer.key)) {
            return None;
        }
        match self.by_rule(&target) {
            Resolution::Model { model, effort, via: Via::Rule } => {
                Some(Resolution::Model { model, effort, via: Via::Canonical })
            }
            Resolution::Model { model, effort, via } => Some(Resolution::Model { model, effort, via }),
            Resolution::Unmatched { .. } => None,
        }
    }

    /// A model by text: a reviewed text first, then a known name, then a name of its own if it looks like a versioned one.
    fn by_rule(&self, stripped: &Stripped) -> Resolution {
        let key = self.key(stripped);
        if !stripped.is_moving {
            if let Some(alias) = self.aliases.text(&key) {
                return match &alias.model {
                    Some(model) => {
                        Resolution::Model { model: self.spelled(model), effort: alias.effort.clone(), via: Via::Alias }
                    }
                    None => Resolution::Unmatched { suggestion: None },
                };
            }
            if let Some(model) = self.names.get(&key) {
                return Resolution::Model { model: model.clone(), effort: None, via: Via::Rule };
            }
            if is_versioned_name(&key) {
                let model = ModelId::new(words::spell(&key));
                return Resolution::Model { model, effort: None, via: Via::Rule };
            }
        }
        Resolution::Unmatched { suggestion: self.nearest(&key) }
    }

    /// A name from the alias file in the index's spelling.
    fn spelled(&self, model: &ModelId) -> ModelId {
        let key = self.key(&strip_offer("", model.as_str()));
        self.names.get(&key).unwrap_or(model).clone()
    }

    /// The known name at most two edits away, the nearest, then the first by text.
    fn nearest(&self, key: &str) -> Option<String> {
        let first = key.chars().next()?;
        self.names
            .iter()
            .filter(|(known, _)| known.starts_with(first) && known.len().abs_diff(key.len()) <= 2)
            .map(|(known, name)| (strsim::levenshtein(known, key), name))
            .filter(|(edits, _)| *edits <= 2)
            .min()
            .map(|(_, name)| name.as_str().to_owned())
    }
}

/// The model of `lab/model`.
fn model_part(canonical: &str) -> &str {
    canonical.split_once('/').map_or(canonical, |(_, model)| model)
}

/// A market effort in the catalogue's words: "non-reasoning" is `none` there.
fn market_effort(effort: &Effort) -> Effort {
    if effort.as_str() == "non-reasoning" { Effort::new("none") } else { effort.clone() }
}
