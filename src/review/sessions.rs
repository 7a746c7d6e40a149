//! Session evidence of a run: every store, the babysitter log and rollups of other engines, read once, priced and put to
//! their pools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Duration, Utc};

use super::gather::Gathered;
use super::pools;
use super::speeds::speeds;
use crate::evidence::calls::{Holder, Pools, Way, ways};
use crate::identity::Identity;
use crate::ring::Catalogue;
use crate::rollup::{
    Part, Priced, RollupKey, RollupRow, better_kept, merge, of_calls, read_file, with_kept, with_sitter,
};
use crate::settings::{Home, SessionStore, Settings, TaskClassRule, glob};
use crate::sources::babysitter;
use crate::sources::sessions::{self, ClassRule, Shelf, StoreScan, StoreSpec};
use crate::vocabulary::{
    CallKey, CallRow, HomeId, ModelId, Outcome, Prices, ProviderId, ScorecardRow, SitterEvent, SitterRow, SourceId,
    SourceNote, SourceState, SpeedRow, StatedPool, StoreKind, sha256_hex,
};

/// The word of rows whose effort nobody recorded.
pub(super) const UNRECORDED: &str = "unrecorded";

/// The shelf that holds the index of this name; `None` where nothing is to be kept.
pub type Shelves<'a> = &'a dyn Fn(&str) -> Option<Box<dyn Shelf + 'a>>;

/// Called now and then with the store's name, bytes done and bytes in all.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// What was read of sessions beside scorecards.
#[derive(Debug, Default)]
pub struct Stores {
    /// Every store with its name, in order of the settings.
    pub scans: Vec<(String, StoreScan)>,
    /// The babysitter log.
    pub sitter: Vec<SitterRow>,
    /// How its reading went.
    pub sitter_note: Option<SourceNote>,
    /// Rows that another engine made.
    pub external: Vec<RollupRow>,
    /// What to say of them.
    pub external_remarks: Vec<String>,
}

/// The stores of the settings, ready to read.
pub fn specs(workspace: &Path, settings: &Settings) -> Vec<StoreSpec> {
    let homes = homes(settings);
    let rule = |rule: &TaskClassRule| ClassRule {
        folder: rule.folder.as_deref().and_then(|pattern| glob(pattern).ok()),
        agent: rule.agent.as_deref().and_then(|pattern| glob(pattern).ok()),
        class: rule.class.clone(),
    };
    let classes: Vec<ClassRule> = settings.data.task_classes.iter().map(rule).collect();
    let spec = |store: &SessionStore| {
        let plain = StoreSpec::new(store.kind, workspace.join(&store.path));
        StoreSpec {
            display: store.path.to_string_lossy().replace('\\', "/"),
            provider: store.provider.clone().or(plain.provider),
            gateway: store.gateway.clone(),
            home: store.home.clone(),
            homes: homes.clone(),
            classes: classes.clone(),
            ..plain
        }
    };
    settings.data.session_stores.iter().map(spec).collect()
}

/// Provider → home.
fn homes(settings: &Settings) -> BTreeMap<String, String> {
    let of_home = |(home, facts): (&HomeId, &Home)| {
        let home = home.to_string();
        facts.providers.iter().map(|provider| (provider.to_string(), home.clone())).collect::<Vec<_>>()
    };
    settings.homes.iter().flat_map(of_home).collect()
}

/// The name of a store's index in the cache.
pub fn index_name(spec: &StoreSpec) -> String {
    let digest = sha256_hex(spec.path.to_string_lossy().as_bytes());
    format!("sessions-{}-{}.idx", spec.kind, &digest[..16])
}

/// Reads stores. `shelves` hold what an earlier run kept, and take what this one keeps.
pub fn read_stores(
    specs: &[StoreSpec],
    joined: &BTreeSet<String>,
    shelves: Shelves<'_>,
    progress: Progress<'_>,
) -> Vec<(String, StoreScan)> {
    let read = |spec: &StoreSpec| {
        let shelf = shelves(&index_name(spec));
        let tell = |done, total| progress(&spec.display, done, total);
        (spec.display.clone(), sessions::read_with(spec, joined, shelf.as_deref(), &tell))
    };
    specs.iter().map(read).collect()
}

/// Reads everything the settings name beside scorecards.
pub fn read(
    workspace: &Path,
    settings: &Settings,
    cards: &[ScorecardRow],
    now: DateTime<Utc>,
    shelves: Shelves<'_>,
    progress: Progress<'_>,
) -> Stores {
    let mut stores = Stores::default();
    if let Some(path) = &settings.data.babysitter {
        let (rows, note) = babysitter::read(&workspace.join(path), &path.to_string_lossy(), now);
        stores.sitter = rows;
        stores.sitter_note = Some(note);
    }
    for path in [&settings.data.rollup, &settings.data.spend_logs].into_iter().flatten() {
        stores.read_rollup(&workspace.join(path), &path.to_string_lossy());
    }
    let homes = homes(settings);
    for row in stores.external.iter_mut().filter(|row| row.key.home.is_empty()) {
        row.key.home = homes.get(&row.key.provider).cloned().unwrap_or_default();
    }
    let joined: BTreeSet<String> = session_pools(cards, &stores.sitter).into_keys().collect();
    stores.scans = read_stores(&specs(workspace, settings), &joined, shelves, progress);
    stores
}

impl Stores {
    /// Reads a rollup that another engine made.
    fn read_rollup(&mut self, path: &Path, shown: &str) {
        let bytes = match sessions::whole_file(path) {
            Ok(bytes) => bytes,
            Err(fault) => return self.external_remarks.push(format!("{shown} {fault}")),
        };
        match read_file(&bytes) {
            Ok((rows, broken)) => {
                self.external_remarks.push(format!("{shown}: {} rollup rows", rows.len()));
                let first = broken.first().map(|(row, fault)| format!("{shown}:{row} {fault}"));
                self.external_remarks
                    .extend(first.map(|first| format!("{} rows not used, the first: {first}", broken.len())));
                self.external.extend(rows);
            }
            Err(fault) => self.external_remarks.push(format!("{shown} {fault}")),
        }
    }

    /// Every call of every store.
    pub fn calls(&self) -> impl Iterator<Item = &CallRow> {
        self.scans.iter().flat_map(|(_, scan)| &scan.rows)
    }

    /// Why the index of a store could not be kept, where that is so.
    pub fn index_faults(&self) -> Vec<String> {
        self.scans.iter().filter_map(|(_, scan)| scan.index_fault.clone()).collect()
    }

    /// What to say about the reading, one sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.scans.iter().flat_map(|(name, scan)| scan.remarks(name)).collect();
        if let Some(note) = &self.sitter_note {
            if let SourceState::Failed(reason) = &note.state {
                remarks.push(format!("babysitter log not read: {reason}"));
            } else {
                remarks.push(format!("babysitter log: {} of {} events used", note.used, note.rows));
            }
            remarks.extend(note.rejects.iter().map(|reject| format!("{} {}", reject.place, reject.reason)));
        }
        remarks.extend(self.external_remarks.iter().cloned());
        remarks
    }
}

/// Session → pool, as scorecards state it, else the babysitter log.
pub fn session_pools(cards: &[ScorecardRow], sitter: &[SitterRow]) -> BTreeMap<String, String> {
    let of_sitter =
        sitter.iter().filter_map(|event| Some((event.session_id.clone(), event.pool.as_ref()?.to_string())));
    let of_cards = cards.iter().filter_map(|card| Some((card.session_id.clone()?, card.pool.as_ref()?.to_string())));
    of_sitter.chain(of_cards).collect()
}

/// What the pools of the fleet hold today.
pub fn holders(gathered: &Gathered, settings: &Settings, now: DateTime<Utc>) -> Vec<Holder> {
    let catalogue = Catalogue::of_offers(&gathered.offers);
    let planned = pools::plan(gathered, settings, Some(&catalogue), now.timestamp_millis());
    let rings = planned.iter().filter(|planned| !planned.is_single).filter_map(|planned| planned.ring.as_ref().ok());
    rings
        .flat_map(|ring| {
            ring.members().iter().map(|member| Holder {
                pool: ring.pool().to_string(),
                provider: member.target.provider.to_string(),
                model: member.key.model.clone(),
                effort: member.key.effort.clone(),
            })
        })
        .collect()
}

/// List prices by provider and canonical model, from the catalogue.
pub fn prices(gathered: &Gathered) -> BTreeMap<(String, ModelId), Prices> {
    let price = |offer: &crate::vocabulary::CatalogueOffer| {
        let model = gathered.identity.offer(&offer.provider, &offer.id).model()?.clone();
        Some(((offer.provider.to_string(), model), offer.prices))
    };
    gathered.offers.iter().filter_map(price).collect()
}

/// Session evidence put to its pools and priced: what the table and the history are made of.
pub struct Table<'a> {
    /// One part per call row, scorecard row, babysitter row and row of another engine; days the history knows better
    /// are taken from there.
    pub parts: Vec<Part<'a>>,
    /// Responses by the way their pool was found.
    pub ways: BTreeMap<Way, u64>,
    /// What to say.
    pub remarks: Vec<String>,
}

/// Everything a table is made from.
pub struct Ingredients<'a> {
    /// Names.
    pub identity: &'a Identity,
    /// Scorecards.
    pub cards: &'a [ScorecardRow],
    /// Stores, babysitter log, other engines.
    pub stores: &'a Stores,
    /// What the pools hold.
    pub holders: Vec<Holder>,
    /// List prices.
    pub prices: BTreeMap<(String, ModelId), Prices>,
    /// Days kept from earlier runs.
    pub kept: Vec<RollupRow>,
    /// The instant of the run.
    pub now: DateTime<Utc>,
    /// Attempts younger than this are immature.
    pub mature_hours: f64,
}

impl<'a> Ingredients<'a> {
    /// The table.
    pub fn table(self) -> Table<'a> {
        let sessions = session_pools(self.cards, &self.stores.sitter);
        let pools = Pools::new(self.identity, self.holders.iter().cloned(), &sessions);
        let mut parts: Vec<Part<'a>> = Vec::new();
        let mut unpriced: BTreeSet<String> = BTreeSet::new();
        for row in self.stores.calls() {
            let prices = price(self.identity, &self.prices, row);
            if prices.is_none() && row.sums.responses > 0 && row.sums.n_cost == 0 {
                unpriced.insert(format!("{}/{}", row.key.provider, row.key.model));
            }
            let call = Priced { row, pool: pools.of(&row.key).0, prices };
            let rows = of_calls([call], self.now);
            parts.extend(rows.into_iter().map(|whole| Part { row: whole, calls: Some(&row.sums) }));
        }
        let mut all = BTreeMap::new();
        for (_, scan) in &self.stores.scans {
            for (way, count) in ways(&pools, &scan.rows) {
                *all.entry(way).or_default() += count;
            }
        }
        for row in &self.stores.external {
            let (row, way) = settled(row, &pools);
            *all.entry(way).or_default() += row.usage.responses;
            parts.push(Part { row, calls: None });
        }
        let mut remarks = self.stores.remarks();
        let fresh: Vec<RollupRow> = parts.iter().map(|part| part.row.clone()).collect();
        let better: BTreeSet<_> = better_kept(&fresh, &self.kept).into_iter().collect();
        remarks.extend(oldest(&fresh, &better));
        parts.retain(|part| !better.contains(&(part.row.key.day, part.row.key.source.clone())));
        let kept = self.kept.iter().filter(|row| better.contains(&(row.key.day, row.key.source.clone())));
        parts.extend(kept.map(|row| Part { row: row.clone(), calls: None }));
        parts.extend(self.attempts().into_iter().map(|row| Part { row, calls: None }));
        remarks.extend(
            (!unpriced.is_empty())
                .then(|| format!("no price for {}", unpriced.into_iter().collect::<Vec<_>>().join(", "))),
        );
        Table { parts, ways: all, remarks }
    }

    /// Rows of scorecards and the babysitter log.
    fn attempts(&self) -> Vec<RollupRow> {
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let mature = Duration::try_seconds((self.mature_hours * 3600.0) as i64).unwrap_or_default();
        with_sitter(self.cards, &self.stores.sitter, self.now - mature)
    }
}

/// A row of another engine with its pool: the one it states, as a gateway names it, else the only one that holds the member.
fn settled(row: &RollupRow, pools: &Pools<'_>) -> (RollupRow, Way) {
    let RollupKey { pool, provider, model, effort, .. } = row.key.clone();
    let key = CallKey {
        source: StoreKind::Litellm,
        day: Some(row.key.day),
        session: String::new(),
        stated: if pool.is_empty() { StatedPool::Nothing } else { StatedPool::Session(pool) },
        provider,
        model,
        effort: Some(effort).filter(|effort| effort != UNRECORDED),
        is_fast: row.key.mode == "fast",
        home: row.key.home.clone(),
        task_class: row.key.task_class.clone(),
        kinds: 0,
    };
    let (pool, way) = pools.of(&key);
    let key = RollupKey { pool: pool.unwrap_or_default(), ..row.key.clone() };
    (RollupRow { key, ..row.clone() }, way)
}

/// What session evidence adds to a review: measured speeds, and failures of sessions that were ended without a scorecard.
/// Returns the days to keep.
pub fn join(
    gathered: &mut Gathered,
    stores: &Stores,
    settings: &Settings,
    kept: Vec<RollupRow>,
    now: DateTime<Utc>,
) -> Vec<RollupRow> {
    let ingredients = Ingredients {
        identity: &gathered.identity,
        cards: &gathered.cards,
        stores,
        holders: holders(gathered, settings, now),
        prices: prices(gathered),
        kept: kept.clone(),
        now,
        mature_hours: settings.thresholds.rows.mature_hours,
    };
    let table = ingredients.table();
    let (speeds, summed) = speeds(&table.parts, settings, now);
    let is_of_store = |row: &RollupRow| StoreKind::ALL.iter().any(|kind| kind.as_str() == row.key.source);
    let fresh = table.parts.iter().map(|part| part.row.clone()).filter(is_of_store);
    let days = with_kept(merge(fresh), kept);
    let mut remarks = table.remarks;
    remarks.extend((!table.ways.is_empty()).then(|| {
        let ways: Vec<String> = table.ways.iter().map(|(way, count)| format!("{} {count}", way.as_str())).collect();
        format!("pools of responses found by: {}", ways.join(", "))
    }));
    remarks.extend((summed > 0).then(|| format!("{summed} speeds stand on rollup rows alone: they have no interval")));
    add_speeds(gathered, speeds, settings, now);
    add_kills(gathered, &stores.sitter);
    if let Some(note) = gathered.notes.iter_mut().find(|note| note.source == SourceId::Sessions) {
        note.remarks.extend(remarks);
    }
    days
}

/// Adds measured speeds. Where our sessions know a member, the speeds file is not asked (reference sessions §7.7).
fn add_speeds(gathered: &mut Gathered, rows: Vec<SpeedRow>, settings: &Settings, now: DateTime<Utc>) {
    let Some(newest) = rows.iter().map(|row| row.measured_at).max() else { return };
    let member = |row: &SpeedRow| (row.provider.clone(), row.model.clone(), row.effort.clone());
    let known: BTreeSet<_> = rows.iter().map(member).collect();
    let before = gathered.speeds.len();
    gathered.speeds.retain(|row| !known.contains(&member(row)));
    let dropped = before - gathered.speeds.len();
    let count = rows.len() as u64;
    let Some(note) = gathered.notes.iter_mut().find(|note| note.source == SourceId::Speeds) else { return };
    note.remarks
        .push(format!("{count} speeds measured in session stores; {dropped} rows of the file give way to them"));
    if note.state == SourceState::NotConfigured {
        note.state = SourceState::Fresh;
        note.as_of = Some(newest);
        (note.rows, note.used) = (count, count);
        note.settle_age(now, settings.max_age_hours.speeds);
    }
    if note.is_usable() {
        gathered.speeds.extend(rows);
    }
}

/// Adds a failure for every session that was ended without a scorecard. Without scorecards there is no rate to add to: kills
/// alone would say that nothing ever succeeds.
fn add_kills(gathered: &mut Gathered, sitter: &[SitterRow]) {
    if gathered.cards.is_empty() {
        return;
    }
    let scored: BTreeSet<&str> = gathered.cards.iter().filter_map(|card| card.session_id.as_deref()).collect();
    let ended: BTreeMap<&str, &SitterRow> = sitter
        .iter()
        .filter(|event| event.event.ends() && !scored.contains(event.session_id.as_str()))
        .map(|event| (event.session_id.as_str(), event))
        .collect();
    let failure = |event: &&SitterRow| ScorecardRow {
        is_cut_off: event.event == SitterEvent::Timeout,
        judged: None,
        task_id: event.task_id.clone().unwrap_or_else(|| format!("session {}", event.session_id)),
        attempt: 1,
        finished_at: event.at,
        pool: event.pool.clone(),
        provider: event.provider.clone(),
        model: event.model.clone(),
        effort: event.effort.clone(),
        home: None,
        task_class: "unclassified".to_owned(),
        outcome: Outcome::Failure,
        duration_s: None,
        cost_usd: None,
        session_id: Some(event.session_id.clone()),
        epoch: String::new(),
        tokens: [None; 4],
        place: event.place.clone(),
    };
    let failures: Vec<ScorecardRow> = ended.values().map(failure).collect();
    if failures.is_empty() {
        return;
    }
    if let Some(note) = gathered.notes.iter_mut().find(|note| note.source == SourceId::Sessions) {
        note.remarks.push(format!("{} sessions were ended without a scorecard: failures", failures.len()));
    }
    gathered.cards.extend(failures);
}

/// The list price of a row.
fn price(identity: &Identity, prices: &BTreeMap<(String, ModelId), Prices>, row: &CallRow) -> Option<Prices> {
    let provider = ProviderId::new(row.key.provider.as_str());
    let model = identity.offer(&provider, &row.key.model).model()?.clone();
    prices.get(&(row.key.provider.clone(), model)).copied().filter(|_| !row.key.is_fast)
}

/// How far the stores reach back, and how many days come from the history.
fn oldest(fresh: &[RollupRow], better: &BTreeSet<(chrono::NaiveDate, String)>) -> Vec<String> {
    let first = fresh.iter().filter(|row| row.usage.responses > 0).map(|row| row.key.day).min();
    let mut remarks: Vec<String> =
        first.map(|day| format!("the stores hold nothing older than {day}")).into_iter().collect();
    if !better.is_empty() {
        let days: BTreeSet<_> = better.iter().map(|(day, _)| day).collect();
        remarks.push(format!("{} days come from the history: the stores no longer hold all of them", days.len()));
    }
    remarks
}
