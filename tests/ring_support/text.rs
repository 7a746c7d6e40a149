//! Rings from a few lines of text: configs, catalogues, and what a ring holds and drops.

use pool_review::ring::{Catalogue, CatalogueEntry, ResolvedRing, RingError, RingInput};
use pool_review::settings::Settings;
use pool_review::sources::pools::opencode;
use pool_review::vocabulary::{ConfigFile, FleetConfig, PoolId, ProviderId};

use crate::ring_support::{NOW_MS, canonical};

/// A file with some text.
pub(crate) fn file(text: &str) -> ConfigFile {
    ConfigFile { path: "opencode.jsonc".to_owned(), text: text.to_owned() }
}

/// A config with some routes, as JSONC members of `model_routes`.
pub(crate) fn routes(members: &str) -> FleetConfig {
    opencode::parse(&file(&format!("{{\"experimental\": {{\"model_routes\": {{\n{members}\n}}}}}}"))).unwrap()
}

/// A catalogue of `provider/model` words, each with its variants after a colon (`a/m:low,high`).
pub(crate) fn catalogue(words: &[&str]) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for word in words {
        let (target, variants) = word.split_once(':').unwrap_or((word, ""));
        let (provider, model) = target.split_once('/').unwrap();
        let variants = variants.split(',').filter(|variant| !variant.is_empty()).map(str::to_owned).collect();
        let entry = CatalogueEntry {
            variants,
            enabled: true,
            tools: Some(true),
            open_weights: Some(false),
            context: Some(200_000),
        };
        catalogue.add(&ProviderId::new(provider), model, entry);
    }
    catalogue
}

/// The ring of a pool.
pub(crate) fn ring(
    config: &FleetConfig,
    catalogue: Option<&Catalogue>,
    settings: &Settings,
    pool: &str,
) -> Result<ResolvedRing, RingError> {
    let input = RingInput::new(config, catalogue, settings, &canonical, NOW_MS);
    let routes = config.effective();
    ResolvedRing::build(&input, routes[&PoolId::new(pool)])
}

/// The targets of a ring.
pub(crate) fn targets(ring: &ResolvedRing) -> Vec<String> {
    ring.members().iter().map(|member| member.target.to_string()).collect()
}

/// `target: reason` of what a ring, or the attempt to build one, dropped.
pub(crate) fn drops(ring: &Result<ResolvedRing, RingError>) -> Vec<String> {
    let dropped = ring.as_ref().map_or_else(RingError::dropped, ResolvedRing::dropped);
    dropped.iter().map(|dropped| format!("{}: {}", dropped.target, dropped.reason.as_str())).collect()
}
