//! Reads every source once, each with its note. Only the canonical config is fatal here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::market;
use crate::evidence::Readiness;
use crate::history::{MarketEvent, MarketMemory};
use crate::identity::Identity;
use crate::settings::Settings;
use crate::sources::pools::{openchamber, opencode, read_config};
use crate::sources::{quotas, scorecards, speeds};
use crate::vocabulary::{
    CatalogueOffer, FleetConfig, HomeId, ListedEnd, MarketModel, ModelId, PriceRow, ProviderId, QuotaHome,
    RetirementRow, ScorecardRow, SourceId, SourceNote, SourceState, SpeedRow,
};

/// The canonical config, read and validated before anything is written.
#[derive(Debug)]
pub struct Canonical {
    /// Definitions and opencode's own consumers.
    config: FleetConfig,
    /// How the reading went.
    note: SourceNote,
}

/// Everything one run read.
pub struct Gathered {
    /// Definitions and consumers of every file.
    pub config: FleetConfig,
    /// One note per source, in print order.
    pub notes: Vec<SourceNote>,
    /// Market rows; empty unless they may be used.
    pub market: Vec<MarketModel>,
    /// Index version of the market.
    pub index_version: Option<String>,
    /// Offers; empty unless they may be used.
    pub offers: Vec<CatalogueOffer>,
    /// End dates; empty unless they may be used.
    pub retirements: Vec<RetirementRow>,
    /// Providers whose own list was applied to the offers.
    pub own_lists: Vec<ProviderId>,
    /// Dated prices; empty unless they may be used.
    pub prices: Vec<PriceRow>,
    /// The retirement list; empty unless it may be used.
    pub listed_ends: Vec<ListedEnd>,
    /// What the next run must remember of the market, prices excepted.
    pub memory: MarketMemory,
    /// What happened to the market since its last accepted snapshot.
    pub market_events: Vec<MarketEvent>,
    /// Scorecards; empty unless they may be used.
    pub cards: Vec<ScorecardRow>,
    /// Measured speeds; empty unless they may be used.
    pub speeds: Vec<SpeedRow>,
    /// Newest reading of every home.
    pub quotas: BTreeMap<HomeId, QuotaHome>,
    /// Names.
    pub identity: Identity,
    /// Models the owner never wants proposed.
    pub blacklisted: BTreeSet<ModelId>,
}

/// Reads the canonical config. The error is one line that names the file, and the line where there is one (exit 2).
pub fn canonical(workspace: &Path, settings: &Settings, now: DateTime<Utc>) -> Result<Canonical, String> {
    let display = shown(&settings.config.opencode);
    let file = read_config(&workspace.join(&settings.config.opencode), &display)?;
    let config = opencode::parse(&file)?;
    let mut note = SourceNote::new(SourceId::Pools, SourceState::Fresh);
    note.as_of = Some(now);
    note.digest = Some(file.digest());
    note.rows = config.routes.len() as u64;
    for reject in config.routes.iter().filter_map(|route| route.invalid.as_ref()) {
        note.reject(reject.place.clone(), reject.reason.clone());
    }
    note.used = note.rows - note.rejected;
    Ok(Canonical { config, note })
}

/// Reads everything else. `memory` is what the run before knew of the market.
pub fn gather(
    workspace: &Path,
    settings: &Settings,
    canonical: Canonical,
    memory: &MarketMemory,
    now: DateTime<Utc>,
) -> Gathered {
    let ages = &settings.max_age_hours;
    let data = &settings.data;
    let at = |path: &Path| (workspace.join(path), shown(path));
    let Canonical { mut config, note } = canonical;
    let mut notes = vec![note, categories(workspace, settings, &mut config, now)];
    let side = market::read(workspace, settings, memory, now);
    notes.extend(side.notes);
    let (rows, note) = read(data.speeds.as_ref(), SourceId::Speeds, |path| speeds::read(&at(path).0, &at(path).1, now));
    let speeds = settle(rows, note, ages.speeds, now, &mut notes);
    let (rows, note) =
        read(data.sessions.as_ref(), SourceId::Sessions, |path| scorecards::read(&at(path).0, &at(path).1, now));
    let cards = settle(rows, note, ages.sessions, now, &mut notes);
    let (homes, note) =
        read(data.quotas.as_ref(), SourceId::Quotas, |path| quotas::read(&at(path).0, &at(path).1, now));
    notes.push(note);
    let blacklisted = blacklisted(&config, &side.identity);
    Gathered {
        config,
        notes,
        index_version: side.index_version.filter(|_| !side.market.is_empty()),
        market: side.market,
        offers: side.offers,
        retirements: side.retirements,
        own_lists: side.own_lists,
        prices: side.prices,
        listed_ends: side.listed_ends,
        memory: side.memory,
        market_events: side.events,
        cards,
        speeds,
        quotas: homes.into_iter().map(|home| (home.home.clone(), home)).collect(),
        identity: side.identity,
        blacklisted,
    }
}

/// A path as the operator wrote it, with `/` between parts.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Reads a source if it is configured.
fn read<T>(
    path: Option<&PathBuf>,
    source: SourceId,
    reader: impl Fn(&Path) -> (Vec<T>, SourceNote),
) -> (Vec<T>, SourceNote) {
    path.map_or_else(|| (Vec::new(), SourceNote::not_configured(source)), |path| reader(path))
}

/// Settles the age of a source and gives its rows if they may be used.
pub(super) fn settle<T>(
    rows: Vec<T>,
    mut note: SourceNote,
    max_age: f64,
    now: DateTime<Utc>,
    notes: &mut Vec<SourceNote>,
) -> Vec<T> {
    note.settle_age(now, max_age);
    let is_usable = note.is_usable();
    if !is_usable {
        note.used = 0;
    }
    notes.push(note);
    if is_usable { rows } else { Vec::new() }
}

/// Reads the categories into the config. A file that is configured and unreadable blocks them; pools go on.
fn categories(workspace: &Path, settings: &Settings, config: &mut FleetConfig, now: DateTime<Utc>) -> SourceNote {
    let Some(path) = &settings.config.openchamber else { return SourceNote::not_configured(SourceId::Categories) };
    let read =
        read_config(&workspace.join(path), &shown(path)).and_then(|file| openchamber::parse(&file).map(|c| (file, c)));
    match read {
        Err(reason) => SourceNote::failed(SourceId::Categories, reason),
        Ok((file, parsed)) => {
            let mut note = SourceNote::new(SourceId::Categories, SourceState::Fresh);
            note.as_of = Some(now);
            note.digest = Some(file.digest());
            note.rows = parsed.consumers.len() as u64;
            note.used = note.rows;
            config.files.extend(parsed.files);
            config.consumers.extend(parsed.consumers);
            note
        }
    }
}

/// Names from the alias file and the catalogue, and what to say about the alias file. Offers serve naming whatever their age.
pub(super) fn identity(workspace: &Path, settings: &Settings, offers: &[CatalogueOffer]) -> (Identity, Vec<String>) {
    let Some(path) = &settings.data.aliases else { return (Identity::new(None, offers).0, Vec::new()) };
    let display = shown(path);
    match read_config(&workspace.join(path), &display) {
        Err(reason) => (Identity::new(None, offers).0, vec![format!("alias file not read: {reason}")]),
        Ok(file) => {
            let (identity, rejects) = Identity::new(Some((&file.text, &display)), offers);
            let remark =
                |reject: &crate::vocabulary::Reject| format!("alias line not used: {} {}", reject.place, reject.reason);
            (identity, rejects.iter().map(remark).collect())
        }
    }
}

/// The canonical models of the config's blacklists. A name that cannot be matched bans the name itself.
fn blacklisted(config: &FleetConfig, identity: &Identity) -> BTreeSet<ModelId> {
    let pairs =
        config.blacklist.iter().flat_map(|(provider, models)| models.iter().map(move |model| (provider, model)));
    pairs
        .map(|(provider, model)| {
            identity.offer(provider, model).model().cloned().unwrap_or_else(|| ModelId::new(model.to_lowercase()))
        })
        .collect()
}

/// Which sources can be leaned on.
pub fn readiness(notes: &[SourceNote]) -> BTreeMap<SourceId, Readiness> {
    let ready = |note: &SourceNote| match &note.state {
        SourceState::Fresh => Readiness::Ready,
        SourceState::NotConfigured => Readiness::NotConfigured,
        SourceState::Stale => Readiness::Blocked(format!("stale:{}", note.source)),
        SourceState::Failed(_) => Readiness::Blocked(format!("failed:{}", note.source)),
    };
    notes.iter().map(|note| (note.source, ready(note))).collect()
}
