//! What a run must remember of the market: the last accepted snapshot, how many rows each source ever had, and the prices that
//! were used; beside it the readings of quota windows. From it follow the guard (a body that lost rows is not believed), the re-basing of an index, slugs that moved
//! and rows that are new by id. The memory is one file, `history/market.json`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::listing::{Listing, shortened};
use crate::verdict::Sentence;
use crate::vocabulary::{KeptReadings, MarketModel, RememberedPrice};

/// What the file says of its own shape.
const SCHEMA: &str = "market-memory/1";

/// Whose numbers the file holds.
const CREDIT: &str = "Source: Artificial Analysis, https://artificialanalysis.ai";

/// Rows that two snapshots must share before a movement of all of them says something.
const MIN_SHARED: usize = 20;

/// Share of the shared rows that must move one way for the index to count as re-based.
const REBASED_SHARE: f64 = 0.8;

/// Mean movement in points from which on a movement of most rows is a new base; below it is a calibration.
const REBASED_POINTS: f64 = 2.0;

/// Share of the speeds that must be lost on one day to be a fault of the feed.
const LOST_SHARE: f64 = 0.1;

/// The memory after one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MarketMemory {
    /// When the last accepted snapshot was taken.
    pub as_of: Option<DateTime<Utc>>,
    /// Its index version.
    pub version: Option<String>,
    /// Its rows, by id.
    pub rows: Vec<MarketModel>,
    /// Id → slug and in how many accepted snapshots in a row it was missing.
    pub missing: BTreeMap<String, Missing>,
    /// Source → the most rows it ever had.
    pub high_water: BTreeMap<String, u64>,
    /// Model → the list price as it was used.
    pub prices: BTreeMap<String, RememberedPrice>,
    /// What the providers of the pools listed in the last accepted catalogue.
    #[serde(default)]
    pub listing: Listing,
    /// Readings of quota windows, which nobody else keeps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: KeptReadings,
}

/// A row that is not listed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its last slug.
    pub slug: String,
    /// Accepted snapshots in a row that lacked it.
    pub times: u64,
}

/// The file: the memory after the newest run, and what that run began with, so that judging it again sees the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MarketFile {
    /// Shape of the file.
    schema: String,
    /// Whom to credit.
    credit: String,
    /// The newest run.
    run: String,
    /// After it.
    after: MarketMemory,
    /// Before it.
    before: MarketMemory,
}

impl MarketFile {
    /// The file of a text. One that is damaged or of another shape is no memory, and the sentence says so.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|error| format!("is not used: {error}"))?;
        if file.schema == SCHEMA { Ok(file) } else { Err(format!("is not used: its schema is {:?}", file.schema)) }
    }

    /// What a run begins with: the memory after the run before it. Judging the newest run again begins as it did.
    pub fn before(&self, run: &str) -> &MarketMemory {
        if self.run.as_str() < run { &self.after } else { &self.before }
    }

    /// The file after a run, with what it began with; `None` when a newer run has written it.
    pub fn after(&self, run: &str, before: MarketMemory, after: MarketMemory) -> Option<Self> {
        let is_newest = self.run.as_str() <= run;
        is_newest.then(|| Self {
            schema: SCHEMA.to_owned(),
            credit: CREDIT.to_owned(),
            run: run.to_owned(),
            after,
            before,
        })
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a memory holds text and finite numbers only");
        text.push('\n');
        text
    }
}

/// Something that happened to the market between two accepted snapshots.
#[derive(Debug, Clone, PartialEq)]
pub enum MarketEvent {
    /// The index has a new base: nothing is compared across it.
    Rebased {
        /// Version before, if stated.
        from: Option<String>,
        /// Version now, if stated.
        to: Option<String>,
        /// Mean movement of the shared rows in points.
        mean: f64,
    },
    /// Most rows moved a little inside one version: not a change of any model.
    Calibrated {
        /// Rows that moved.
        moved: usize,
        /// Mean movement in points.
        mean: f64,
    },
    /// Rows with an id that was not there before: display names.
    New(Vec<String>),
    /// A row that was published again under another id.
    Replaced {
        /// The slug both have.
        slug: String,
    },
    /// A slug that belongs to another row now; the old row goes on under another slug.
    Repointed {
        /// The slug.
        slug: String,
        /// The name of the row that holds it now.
        name: String,
        /// Where the old row is now.
        old_slug: String,
    },
    /// Rows that are not listed; that is not an end.
    NotListed(Vec<String>),
    /// The list stopped at a round number, so that new rows pushed old ones out.
    Capped(usize),
    /// Rows that lost their speed at once: unknown, not slow.
    SpeedLost(usize),
}

impl MarketEvent {
    /// The event as one line.
    pub fn sentence(&self) -> Sentence {
        let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "unstated".to_owned());
        match self {
            Self::Rebased { from, to, mean } => Sentence::new().own(format!(
                "AA index re-based {} -> {}, baseline reset (shared rows moved by {mean:+.1} points on average); nothing is compared across it",
                version(from),
                version(to)
            )),
            Self::Calibrated { moved, mean } => Sentence::new().own(format!(
                "AA index calibrated: {moved} rows moved by {mean:+.1} points on average in one day, no model changed"
            )),
            Self::New(names) => {
                let sentence = Sentence::new().own(format!("{} new AA rows since the last accepted snapshot: ", names.len()));
                shortened(sentence, names)
            }
            Self::Replaced { slug } => {
                Sentence::new().own("AA row replaced: same slug, new id: ").name(slug)
            }
            Self::Repointed { slug, name, old_slug } => Sentence::new()
                .own("a newer model (")
                .name(name)
                .own(") now holds the AA slug ")
                .name(slug)
                .own("; the old row goes on as ")
                .name(old_slug),
            Self::NotListed(slugs) => {
                let sentence = Sentence::new().own(format!("{} AA rows are not listed (that is no end): ", slugs.len()));
                shortened(sentence, slugs)
            }
            Self::Capped(rows) => Sentence::new()
                .own(format!("the AA list looks capped at {rows} rows: what is not in it says nothing")),
            Self::SpeedLost(rows) => {
                Sentence::new().own(format!("{rows} AA rows lost their speed at once: unknown, not slow"))
            }
        }
    }
}

impl MarketMemory {
    /// Whether a body with so many rows is believed; the reason when it is not. One that is adds to the most rows ever.
    pub fn accept(&mut self, source: &str, rows: u64, coverage: f64) -> Result<(), String> {
        let most = self.high_water.entry(source.to_owned()).or_default();
        #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^53")]
        let share = rows as f64 / (*most).max(1) as f64;
        if *most > 0 && share < coverage {
            return Err(format!("{rows} of {most} rows, below {:.0} %", coverage * 100.0));
        }
        *most = rows.max(*most);
        Ok(())
    }

    /// The same memory that holds no body against an earlier one: whatever comes next is the new measure.
    #[must_use]
    pub fn without_measure(&self) -> Self {
        Self { high_water: BTreeMap::new(), ..self.clone() }
    }

    /// Lowers the most rows of a source to what the operator has taken for the new measure.
    pub fn settle_measure(&mut self, source: &str, most: u64) {
        self.high_water.entry(source.to_owned()).and_modify(|known| *known = most.min(*known));
    }

    /// Takes an accepted snapshot in and says what happened since the last one. Rows come sorted by id.
    pub fn take(
        &mut self,
        rows: &[MarketModel],
        version: Option<&str>,
        as_of: Option<DateTime<Utc>>,
    ) -> Vec<MarketEvent> {
        let is_first = self.rows.is_empty();
        let is_same = self.rows == rows && self.version.as_deref() == version;
        let events = if is_first || is_same { Vec::new() } else { self.events(rows, version) };
        if !is_same {
            self.count_missing(rows, events.iter().any(|event| matches!(event, MarketEvent::Capped(_))));
            self.rows = rows.to_vec();
            self.version = version.map(str::to_owned);
        }
        self.as_of = as_of.or(self.as_of);
        events
    }

    /// Counts rows that are missing; on a capped list nothing is counted.
    fn count_missing(&mut self, rows: &[MarketModel], is_capped: bool) {
        let now: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        self.missing.retain(|id, _| !now.contains(id.as_str()));
        if is_capped {
            return;
        }
        let gone = self.rows.iter().filter(|row| !now.contains(row.id.as_str()));
        for row in gone {
            self.missing.entry(row.id.clone()).or_insert_with(|| Missing { slug: row.slug.clone(), times: 0 });
        }
        self.missing.values_mut().for_each(|missing| missing.times += 1);
    }

    /// What happened between the last accepted snapshot and this one.
    fn events(&self, rows: &[MarketModel], version: Option<&str>) -> Vec<MarketEvent> {
        let before: BTreeMap<&str, &MarketModel> = self.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let now: BTreeMap<&str, &MarketModel> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let slugs_before: BTreeMap<&str, &MarketModel> = self.rows.iter().map(|row| (row.slug.as_str(), row)).collect();
        let added: Vec<&MarketModel> = rows.iter().filter(|row| !before.contains_key(row.id.as_str())).collect();
        let gone: Vec<&MarketModel> = self.rows.iter().filter(|row| !now.contains_key(row.id.as_str())).collect();
        let mut events: Vec<MarketEvent> = self.movement(&before, rows, version).into_iter().collect();
        let is_capped = rows.len() == self.rows.len() && rows.len().is_multiple_of(100) && !added.is_empty();
        if is_capped {
            events.push(MarketEvent::Capped(rows.len()));
        }
        for row in rows {
            let Some(owner) = slugs_before.get(row.slug.as_str()).filter(|owner| owner.id != row.id) else { continue };
            events.push(match now.get(owner.id.as_str()) {
                Some(old) => MarketEvent::Repointed {
                    slug: row.slug.clone(),
                    name: row.name.clone(),
                    old_slug: old.slug.clone(),
                },
                None => MarketEvent::Replaced { slug: row.slug.clone() },
            });
        }
        if !added.is_empty() {
            events.push(MarketEvent::New(added.iter().map(|row| row.name.clone()).collect()));
        }
        if !gone.is_empty() && !is_capped {
            events.push(MarketEvent::NotListed(gone.iter().map(|row| row.slug.clone()).collect()));
        }
        events.extend(speed_lost(&before, rows));
        events
    }

    /// How the shared rows moved: a new base when the version says so or when most of them moved one way, far.
    fn movement(
        &self,
        before: &BTreeMap<&str, &MarketModel>,
        rows: &[MarketModel],
        version: Option<&str>,
    ) -> Option<MarketEvent> {
        let index = |row: &MarketModel| row.indices.get("intelligence").copied();
        let steps: Vec<f64> =
            rows.iter().filter_map(|row| Some(index(row)? - index(before.get(row.id.as_str())?)?)).collect();
        #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^53")]
        let count = steps.len().max(1) as f64;
        let mean = steps.iter().sum::<f64>() / count;
        let share = |holds: &dyn Fn(f64) -> bool| {
            #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^53")]
            let found = steps.iter().filter(|change| holds(**change)).count() as f64;
            found / count
        };
        let one_way = share(&|change| change > 0.0).max(share(&|change| change < 0.0));
        let moved_far = steps.len() >= MIN_SHARED && one_way >= REBASED_SHARE && mean.abs() >= REBASED_POINTS;
        if self.version.as_deref() != version || moved_far {
            let (from, to) = (self.version.clone(), version.map(str::to_owned));
            return Some(MarketEvent::Rebased { from, to, mean });
        }
        let moved = steps.iter().filter(|change| change.abs() > 0.0).count();
        let is_calibrated = steps.len() >= MIN_SHARED && moved * 2 > steps.len();
        is_calibrated.then_some(MarketEvent::Calibrated { moved, mean })
    }
}

/// Rows that lost their speed at once.
fn speed_lost(before: &BTreeMap<&str, &MarketModel>, rows: &[MarketModel]) -> Option<MarketEvent> {
    let had = |row: &&MarketModel| before.get(row.id.as_str()).is_some_and(|old| old.output_tps.is_some());
    let shared: Vec<&MarketModel> = rows.iter().filter(had).collect();
    let lost = shared.iter().filter(|row| row.output_tps.is_none()).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^53")]
    let share = lost as f64 / shared.len().max(1) as f64;
    (shared.len() >= MIN_SHARED && share >= LOST_SHARE).then_some(MarketEvent::SpeedLost(lost))
}
