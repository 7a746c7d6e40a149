//! Reads every source once, each with its note. Only the canonical config is fatal here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::market;
use crate::evidence::Readiness;
use crate::history::{MarketEvent, MarketMemory};
use crate::identity::Identity;
use crate::settings::Settings;
use crate::sources::pools::layers::{self, shown};
use crate::sources::pools::read_config;
use crate::sources::{quotas, scorecards, speeds};
use crate::vocabulary::{
    CatalogueOffer, Digest, FleetConfig, HomeId, Layer, LayerState, ListedEnd, MarketModel, ModelId, PriceRow,
    ProviderId, QuotaHome, RetirementRow, RoutedCalls, ScorecardRow, SourceId, SourceNote, SourceState, SpeedRow,
    UsageRow,
};

/// The canonical config, read and validated before anything is written.
#[derive(Debug)]
pub struct Canonical {
    /// Definitions and opencode's own consumers.
    config: FleetConfig,
    /// How the reading went.
    note: SourceNote,
}

impl Canonical {
    /// Definitions and opencode's own consumers.
    pub fn config(&self) -> &FleetConfig {
        &self.config
    }
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
    /// Scorecards that may not be used: they judge nothing, but still say what a session was about.
    pub old_cards: Vec<ScorecardRow>,
    /// Measured speeds; empty unless they may be used.
    pub speeds: Vec<SpeedRow>,
    /// Model calls of session stores; empty unless they may be used.
    pub usage: Vec<UsageRow>,
    /// Calls that the router logged; `None` where no store holds its log.
    pub routed: Option<Vec<RoutedCalls>>,
    /// Newest reading of every home.
    pub quotas: BTreeMap<HomeId, QuotaHome>,
    /// Names.
    pub identity: Identity,
    /// Models the owner never wants proposed.
    pub blacklisted: BTreeSet<ModelId>,
}

impl Gathered {
    /// Scorecards whatever their age: what a session was about does not age (reference sessions §7.6).
    pub fn all_cards(&self) -> &[ScorecardRow] {
        if self.cards.is_empty() { &self.old_cards } else { &self.cards }
    }
}

/// Reads the canonical config. The error is one line that names the file, and the line where there is one (exit 2).
pub fn canonical(workspace: &Path, settings: &Settings, now: DateTime<Utc>) -> Result<Canonical, String> {
    let config = layers::opencode_layers(workspace, &settings.config)?;
    let mut note = SourceNote::new(SourceId::Pools, SourceState::Fresh);
    note.as_of = Some(now);
    settle_note(&mut note, &config);
    Ok(Canonical { config, note })
}

/// Fills the note on the pools in: definitions used and dropped, and what else is worth a remark.
fn settle_note(note: &mut SourceNote, config: &FleetConfig) {
    note.digest = Some(digest_of(config));
    note.rows = config.routes.len() as u64;
    note.rejected = 0;
    note.rejects.clear();
    for reject in config.routes.iter().filter_map(|route| route.invalid.as_ref()) {
        note.reject(reject.place.clone(), reject.reason.clone());
    }
    note.used = note.rows - note.rejected;
    let unread = config.layers.iter().filter_map(|layer| match &layer.state {
        LayerState::Unreadable(reason) | LayerState::Dropped(reason) => {
            Some(format!("{} not used: {reason}", layer.kind))
        }
        LayerState::Read { .. } => None,
    });
    note.remarks = unread.collect();
    note.remarks.extend(config.problems.iter().map(|problem| format!("{}: {}", problem.place, problem.reason)));
}

/// One digest of every config file read, in layer order. Of a single file it is that file's own.
fn digest_of(config: &FleetConfig) -> Digest {
    let read = |layer: &Layer| match &layer.state {
        LayerState::Read { digest, .. } => Some(digest.clone()),
        _ => None,
    };
    let digests: Vec<Digest> = config.layers.iter().filter_map(read).collect();
    match digests.as_slice() {
        [one] => one.clone(),
        many => Digest::of(many.iter().map(Digest::as_str).collect::<Vec<_>>().join("\n").as_bytes()),
    }
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
    let Canonical { mut config, mut note } = canonical;
    config.stack(layers::other_files(workspace, &settings.config));
    settle_note(&mut note, &config);
    let categories = categories(workspace, settings, &mut config, now);
    let mut notes = vec![note, categories];
    let side = market::read(workspace, settings, memory, now);
    notes.extend(side.notes);
    let (rows, note) = read(data.speeds.as_ref(), SourceId::Speeds, |path| speeds::read(&at(path).0, &at(path).1, now));
    let speeds = settle(rows, note, ages.speeds, now, &mut notes);
    let (rows, note) =
        read(data.sessions.as_ref(), SourceId::Sessions, |path| scorecards::read(&at(path).0, &at(path).1, now));
    let (cards, old_cards) = sorted(rows, note, ages.sessions, now, &mut notes);
    let (homes, note) = read(data.quotas.as_ref(), SourceId::Quotas, |path| {
        quotas::read_with(&at(path).0, &at(path).1, &memory.readings, now)
    });
    notes.push(note);
    let readings = quotas::keep(&memory.readings, &homes, now);
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
        memory: MarketMemory { readings, ..side.memory },
        market_events: side.events,
        cards,
        old_cards,
        speeds,
        usage: Vec::new(),
        routed: None,
        quotas: homes.into_iter().map(|home| (home.home.clone(), home)).collect(),
        identity: side.identity,
        blacklisted,
    }
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
    note: SourceNote,
    max_age: f64,
    now: DateTime<Utc>,
    notes: &mut Vec<SourceNote>,
) -> Vec<T> {
    sorted(rows, note, max_age, now, notes).0
}

/// As [`settle`]; rows that may not be used come second.
fn sorted<T>(
    rows: Vec<T>,
    mut note: SourceNote,
    max_age: f64,
    now: DateTime<Utc>,
    notes: &mut Vec<SourceNote>,
) -> (Vec<T>, Vec<T>) {
    note.settle_age(now, max_age);
    let is_usable = note.is_usable();
    if !is_usable {
        note.used = 0;
    }
    notes.push(note);
    if is_usable { (rows, Vec::new()) } else { (Vec::new(), rows) }
}

/// Reads the categories into the config. A file that is configured and unreadable blocks them; pools go on.
fn categories(workspace: &Path, settings: &Settings, config: &mut FleetConfig, now: DateTime<Utc>) -> SourceNote {
    let Some(path) = &settings.config.openchamber else { return SourceNote::not_configured(SourceId::Categories) };
    match layers::categories(workspace, path) {
        Err(reason) => {
            let state = LayerState::Unreadable(reason.clone());
            config.layers.push(Layer { path: shown(path), kind: "OpenChamber categories", state });
            SourceNote::failed(SourceId::Categories, reason)
        }
        Ok((file, parsed)) => {
            let mut note = SourceNote::new(SourceId::Categories, SourceState::Fresh);
            note.as_of = Some(now);
            note.digest = Some(file.digest());
            note.rows = parsed.consumers.len() as u64;
            note.used = note.rows;
            config.stack(parsed);
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
