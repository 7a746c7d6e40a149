//! The match table: what every name of the market and of the fleet's own providers means, and by what it was decided.

use super::gather::Gathered;
use crate::identity::Resolution;
use crate::settings::Settings;
use crate::verdict::NameRow;
use crate::vocabulary::{ProviderId, SourceId};

/// One row per market row, and per offer of a provider that a home holds; sorted by source and name.
pub fn names(gathered: &Gathered, settings: &Settings) -> Vec<NameRow> {
    let market = gathered.market.iter().map(|row| name(SourceId::Market, &row.name, &gathered.identity.market(row)));
    let is_held = |provider: &ProviderId| settings.home_of(provider).is_some();
    let offers = gathered.offers.iter().filter(|offer| is_held(&offer.provider)).map(|offer| {
        let id = format!("{}/{}", offer.provider, offer.id);
        name(SourceId::Catalogues, &id, &gathered.identity.offer(&offer.provider, &offer.id))
    });
    let mut rows: Vec<NameRow> = market.chain(offers).collect();
    rows.sort_by(|a, b| (a.source, &a.id).cmp(&(b.source, &b.id)));
    rows
}

/// What one name means.
fn name(source: SourceId, id: &str, found: &Resolution) -> NameRow {
    let (via, suggestion) = match found {
        Resolution::Model { via, .. } => (Some(via.as_str()), None),
        Resolution::Unmatched { suggestion } => (None, suggestion.clone()),
    };
    NameRow {
        source,
        id: id.to_owned(),
        model: found.model().map(ToString::to_string),
        effort: found.effort().map(ToString::to_string),
        via,
        suggestion,
    }
}
