//! The market half of gathering: every source is read once with its note, held against the memory of earlier runs, and the
//! providers' own lists are applied. A body that is not believed changes nothing.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::gather::{identity, settle};
use crate::evidence::offers::merge;
use crate::history::{MarketEvent, MarketMemory};
use crate::identity::Identity;
use crate::settings::Settings;
use crate::sources::market::{
    artificial_analysis, genai_prices, litellm, models_dev, openrouter, provider_list, retirement_list, settled_measure,
};
use crate::sources::pools::layers::shown;
use crate::vocabulary::{
    CatalogueOffer, ListedEnd, MarketModel, PriceRow, ProviderId, ProviderList, RetirementRow, SourceId, SourceNote,
    SourceState,
};

/// What to do about a body that lost rows and is right.
const WAY_OUT: &str = "if it is right, `review --accept-fewer` takes it";

/// What the market sources gave.
pub(super) struct MarketSide {
    /// One note per source, in print order.
    pub(super) notes: Vec<SourceNote>,
    /// Market rows that may be used.
    pub(super) market: Vec<MarketModel>,
    /// Their index version.
    pub(super) index_version: Option<String>,
    /// Offers that may be used, each provider's own list applied.
    pub(super) offers: Vec<CatalogueOffer>,
    /// Providers whose own list was applied to them.
    pub(super) own_lists: Vec<ProviderId>,
    /// Rows of the price map that may be used.
    pub(super) retirements: Vec<RetirementRow>,
    /// Dated prices that may be used.
    pub(super) prices: Vec<PriceRow>,
    /// Rows of the retirement list that may be used.
    pub(super) listed_ends: Vec<ListedEnd>,
    /// Names.
    pub(super) identity: Identity,
    /// The memory after this run, prices excepted.
    pub(super) memory: MarketMemory,
    /// What happened since the last accepted snapshot.
    pub(super) events: Vec<MarketEvent>,
}

/// One reading of the market sources.
struct Reading<'a> {
    /// Where paths start.
    workspace: &'a Path,
    /// Settings.
    settings: &'a Settings,
    /// The review instant.
    now: DateTime<Utc>,
    /// The memory, as it grows.
    memory: MarketMemory,
    /// The notes, in print order.
    notes: Vec<SourceNote>,
}

/// Reads every market source. `memory` is what the run before left; a first run takes the old bodies of the settings for it.
pub(super) fn read(workspace: &Path, settings: &Settings, memory: &MarketMemory, now: DateTime<Utc>) -> MarketSide {
    let mut reading = Reading { workspace, settings, now, memory: memory.clone(), notes: Vec::new() };
    let (data, ages) = (&settings.data, &settings.max_age_hours);
    let history_remarks = reading.recall_history();
    let (market, index_version, events) = reading.market(history_remarks);
    let (catalogue, note) = reading.rows(data.catalogues.as_ref(), SourceId::Catalogues, models_dev::read);
    let (identity, alias_remarks) = identity(workspace, settings, &catalogue);
    let mut catalogue = reading.accepted(catalogue, note, data.catalogues.as_ref(), ages.catalogues);
    let (rows, note) = reading.rows(data.retirements.as_ref(), SourceId::Retirements, litellm::read);
    let retirements = reading.accepted(rows, note, data.retirements.as_ref(), ages.retirements);
    let (rows, note) = reading.rows(data.openrouter.as_ref(), SourceId::OpenRouter, openrouter::read);
    let own = reading.accepted(rows, note, data.openrouter.as_ref(), ages.openrouter);
    let (rows, note) = reading.rows(data.prices.as_ref(), SourceId::Prices, genai_prices::read);
    let prices = reading.accepted(rows, note, data.prices.as_ref(), ages.prices);
    let (rows, note) = reading.rows(data.retirement_list.as_ref(), SourceId::RetirementList, retirement_list::read);
    let listed_ends = reading.accepted(rows, note, data.retirement_list.as_ref(), ages.retirement_list);
    let lists = reading.lists();
    let mut own_lists: Vec<ProviderId> = lists.iter().map(|list| list.provider.clone()).collect();
    own_lists.extend(own.first().map(|offer| offer.provider.clone()));
    let mut remarks = Vec::new();
    let has_own_word = !own.is_empty() || !lists.is_empty();
    if has_own_word && !catalogue.is_empty() {
        (catalogue, remarks) = merge(catalogue, own, &lists);
    }
    if let Some(note) = reading.notes.iter_mut().find(|note| note.source == SourceId::Catalogues) {
        note.remarks.extend(alias_remarks);
        note.remarks.extend(remarks);
    }
    let Reading { notes, memory, .. } = reading;
    let offers = catalogue;
    MarketSide {
        notes,
        market,
        index_version,
        offers,
        own_lists,
        retirements,
        prices,
        listed_ends,
        identity,
        memory,
        events,
    }
}

impl Reading<'_> {
    /// Reads a source that is configured.
    fn rows<T>(
        &self,
        path: Option<&PathBuf>,
        source: SourceId,
        reader: impl Fn(&Path, &str, DateTime<Utc>) -> (Vec<T>, SourceNote),
    ) -> (Vec<T>, SourceNote) {
        match path {
            Some(path) => reader(&self.workspace.join(path), &shown(path), self.now),
            None => (Vec::new(), SourceNote::not_configured(source)),
        }
    }

    /// Whether a body with so many rows is believed. What `fetch` took on purpose is the measure from then on.
    fn believes(&mut self, source: &str, path: Option<&Path>, rows: u64) -> Result<(), String> {
        if let Some(most) = path.and_then(|path| settled_measure(&self.workspace.join(path))) {
            self.memory.settle_measure(source, most);
        }
        self.memory.accept(source, rows, self.settings.market.coverage)
    }

    /// The rows of a source if its body is believed and young enough.
    fn accepted<T>(&mut self, rows: Vec<T>, mut note: SourceNote, path: Option<&PathBuf>, max_age: f64) -> Vec<T> {
        if note.is_usable()
            && let Err(reason) = self.believes(note.source.as_str(), path.map(PathBuf::as_path), note.used)
        {
            note.state = SourceState::Failed(format!("not accepted: {reason}; {WAY_OUT}"));
        }
        settle(rows, note, max_age, self.now, &mut self.notes)
    }

    /// Lets a memory that is empty begin with the old bodies of the settings, oldest first.
    fn recall_history(&mut self) -> Vec<String> {
        let Some(path) = self.settings.data.market_history.as_ref().filter(|_| self.memory.rows.is_empty()) else {
            return Vec::new();
        };
        let mut remarks = Vec::new();
        for snapshot in artificial_analysis::read_history(&self.workspace.join(path), &shown(path)) {
            let day = snapshot.day.map_or_else(|| "undated".to_owned(), |day| day.to_string());
            let accepted = match &snapshot.note.state {
                SourceState::Failed(reason) => Err(reason.clone()),
                _ => self.memory.accept(SourceId::Market.as_str(), snapshot.note.used, self.settings.market.coverage),
            };
            match accepted {
                Ok(()) => drop(self.memory.take(&snapshot.rows, snapshot.version.as_deref(), snapshot.note.as_of)),
                Err(reason) => remarks.push(format!("old body {day} not taken: {reason}")),
            }
        }
        remarks
    }

    /// The market's rows. A body that is not believed leaves the last accepted snapshot, with its age.
    fn market(&mut self, remarks: Vec<String>) -> (Vec<MarketModel>, Option<String>, Vec<MarketEvent>) {
        let settings = self.settings;
        let (mut rows, mut version, mut note) = match &settings.data.market {
            Some(path) => artificial_analysis::read(&self.workspace.join(path), &shown(path), self.now),
            None => (Vec::new(), None, SourceNote::not_configured(SourceId::Market)),
        };
        note.remarks.extend(remarks);
        let refused = match &note.state {
            SourceState::Failed(reason) => Some(reason.clone()),
            SourceState::NotConfigured => None,
            _ => {
                let path = settings.data.market.as_deref();
                self.believes(SourceId::Market.as_str(), path, note.used)
                    .err()
                    .map(|reason| format!("{reason}; {WAY_OUT}"))
            }
        };
        let mut events = Vec::new();
        match refused {
            None if note.is_usable() => events = self.memory.take(&rows, version.as_deref(), note.as_of),
            Some(reason) if !self.memory.rows.is_empty() => {
                rows.clone_from(&self.memory.rows);
                version.clone_from(&self.memory.version);
                note.state = SourceState::Fresh;
                note.as_of = self.memory.as_of;
                note.used = rows.len() as u64;
                note.remarks.push(format!("body not accepted ({reason}): the last accepted one is used"));
            }
            Some(reason) => note.state = SourceState::Failed(reason),
            None => {}
        }
        let rows = settle(rows, note, settings.max_age_hours.market, self.now, &mut self.notes);
        (rows, version, events)
    }

    /// The lists of providers that are believed, each held against its own memory.
    fn lists(&mut self) -> Vec<ProviderList> {
        let settings = self.settings;
        let path = settings.data.provider_catalogue.as_ref();
        let (mut lists, mut note) = self.rows(path, SourceId::ProviderCatalogue, provider_list::read);
        lists.retain(|list| {
            let source = format!("{}:{}", SourceId::ProviderCatalogue, list.provider);
            let own = path.map(|folder| folder.join(format!("{}.json", list.provider)));
            let accepted = self.believes(&source, own.as_deref(), list.ids.len() as u64);
            let refused = |reason: &String| format!("{} not accepted: {reason}; {WAY_OUT}", list.provider);
            note.remarks.extend(accepted.as_ref().err().map(refused));
            accepted.is_ok()
        });
        settle(lists, note, self.settings.max_age_hours.provider_catalogue, self.now, &mut self.notes)
    }
}
