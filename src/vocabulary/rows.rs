//! What the sources return: one struct per kind of row, and the note that says how the reading went.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ConfigFile, ConfigModel, Digest, Effort, HomeId, Layer, Place, PoolFormat, PoolId, PriceBand, Prices, ProviderId,
    ProviderRule, RouteOverride, SourceId, TargetRef, TuningNote, WindowRemark,
};

/// A row that was not used: where it stands and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// File and line; for JSON bodies the line of the value where it can be told, else 1.
    pub place: Place,
    /// What is wrong, as a fragment.
    pub reason: String,
}

/// How the reading of one source ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// Read; the rows may be used.
    Fresh,
    /// Read, but older than its limit (or of unknown age): what depends on it is blocked.
    Stale,
    /// Not named in the settings: what needs it has insufficient evidence.
    NotConfigured,
    /// Named, but missing, empty or unreadable: what depends on it is blocked. The text is the reason.
    Failed(String),
}

/// How one source was read. Rows that were rejected are data to count, never an error.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNote {
    /// Which source.
    pub source: SourceId,
    /// How the reading ended.
    pub state: SourceState,
    /// The newest instant the rows speak of; `None` when nothing says.
    pub as_of: Option<DateTime<Utc>>,
    /// The age from which on it is stale, in hours; `None` when the source has no limit of its own.
    pub max_age_hours: Option<f64>,
    /// Rows seen.
    pub rows: u64,
    /// Rows used.
    pub used: u64,
    /// Rows not used because they are broken.
    pub rejected: u64,
    /// The first few of them.
    pub rejects: Vec<Reject>,
    /// Further facts worth a line ("3 rows immature").
    pub remarks: Vec<String>,
    /// SHA-256 over the bytes read, files in path order; `None` when nothing was read.
    pub digest: Option<Digest>,
}

impl SourceNote {
    /// How many rejects are kept word for word.
    pub const KEPT_REJECTS: usize = 5;

    /// A note of a source that is not configured.
    pub fn not_configured(source: SourceId) -> Self {
        Self::new(source, SourceState::NotConfigured)
    }

    /// A note of a source that could not be read.
    pub fn failed(source: SourceId, reason: impl Into<String>) -> Self {
        Self::new(source, SourceState::Failed(reason.into()))
    }

    /// An empty note in some state.
    pub fn new(source: SourceId, state: SourceState) -> Self {
        Self {
            source,
            state,
            as_of: None,
            max_age_hours: None,
            rows: 0,
            used: 0,
            rejected: 0,
            rejects: Vec::new(),
            remarks: Vec::new(),
            digest: None,
        }
    }

    /// Counts a row that is not used and keeps it if it is among the first few.
    pub fn reject(&mut self, place: Place, reason: impl Into<String>) {
        self.rejected += 1;
        if self.rejects.len() < Self::KEPT_REJECTS {
            self.rejects.push(Reject { place, reason: reason.into() });
        }
    }

    /// Age at `now` in hours, if an as-of time is known.
    pub fn age_hours(&self, now: DateTime<Utc>) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        self.as_of.map(|as_of| (now - as_of).num_seconds() as f64 / 3600.0)
    }

    /// Settles `Fresh` or `Stale` from as-of and limit. An unknown age is stale (DESIGN §14). Failed notes stay as they are.
    pub fn settle_age(&mut self, now: DateTime<Utc>, max_age_hours: f64) {
        self.max_age_hours = Some(max_age_hours);
        if self.state == SourceState::Fresh && self.age_hours(now).is_none_or(|age| age > max_age_hours) {
            self.state = SourceState::Stale;
        }
    }

    /// Whether the rows may be used.
    pub fn is_usable(&self) -> bool {
        self.state == SourceState::Fresh
    }
}

/// How a new session picks a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selection {
    /// The first member that is up.
    Ordered,
    /// Smooth rotation by weight.
    RoundRobin,
    /// A draw by weight.
    Weighted,
}

impl Selection {
    /// The word the router uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::RoundRobin => "round-robin",
            Self::Weighted => "weighted",
        }
    }
}

/// A key the router does not know, and the known one it may have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key as written.
    pub key: String,
    /// The JSON pointer of the value it names.
    pub pointer: String,
    /// Where it stands.
    pub place: Place,
    /// The known key within one edit, if any.
    pub near: Option<String>,
}

/// One entry of `weights`.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightDef {
    /// Relative share, finite and above 0.
    pub weight: f64,
    /// Where it stands.
    pub place: Place,
}

/// One entry of `budgets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// The allowances as written; keeping them is the router's business.
    pub raw: Value,
    /// Where it stands.
    pub place: Place,
}

/// What one entry of `targets` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// A model of a provider; its model part may hold `*`.
    Model(TargetRef),
    /// Another pool, and the variant handed down to its members.
    Pool {
        /// The route id.
        id: PoolId,
        /// `#variant` on the reference.
        variant: Option<String>,
    },
    /// Text whose model cannot be told without resolving it (`{env:}`, `{file:}`, a reference without a provider); as written.
    Unreadable(String),
}

/// One entry of a route's `targets`.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteTarget {
    /// What it points to.
    pub kind: TargetKind,
    /// Variant used when the pool is chosen without one.
    pub default_variant: Option<String>,
    /// End of the membership, epoch milliseconds.
    pub until_ms: Option<i64>,
    /// Weight stated on the entry itself, where the format does so.
    pub weight: Option<f64>,
    /// Tier inside the pool, lowest first, where the format has tiers: a higher one is used when the lower has nobody left.
    pub order: Option<i64>,
    /// Whether it is a fallback: used only when what stands before it failed.
    pub is_fallback: bool,
    /// The JSON pointer of this entry.
    pub pointer: String,
    /// Where it stands.
    pub place: Place,
    /// The entry as parsed.
    pub raw: Value,
}

/// One pool definition as one config file states it, before expansion.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteDef {
    /// The route id.
    pub id: PoolId,
    /// The kind of file that defines it.
    pub format: PoolFormat,
    /// Path of the config file that defines it, as in [`FleetConfig::files`].
    pub path: String,
    /// The JSON pointer of the definition.
    pub pointer: String,
    /// Where its key stands.
    pub place: Place,
    /// How a new session picks.
    pub selection: Selection,
    /// Whether `selection` is written in the file.
    pub selection_written: bool,
    /// `autonomy: "fixed"`: weights, selection and budgets are dead text.
    pub is_fixed: bool,
    /// Ordered targets.
    pub targets: Vec<RouteTarget>,
    /// `provider/model` or `opencode-route/<id>` → weight.
    pub weights: BTreeMap<String, WeightDef>,
    /// `provider/model` → budget.
    pub budgets: BTreeMap<String, Budget>,
    /// Keys the router ignores.
    pub unknown_keys: Vec<UnknownKey>,
    /// The definition as parsed.
    pub raw: Value,
    /// Why the router drops the whole route, if it does; then nothing below the key was used.
    pub invalid: Option<Reject>,
    /// Whether `invalid` is no fault of the definition: what the router makes of it cannot be told from the file.
    pub is_untellable: bool,
    /// Why `OpenChamber` would refuse to save the routes with this one among them, if it would.
    pub unsaveable: Option<Reject>,
}

/// What a consumer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsumerTarget {
    /// A pool by id, which may not exist.
    Pool(PoolId),
    /// A model directly: a pool of one member.
    Model(TargetRef),
    /// Nothing of its own: it runs on the fallback.
    Fallback,
    /// Text that is no reference, or one that needs `{env:}` or `{file:}`; kept as written.
    Unreadable(String),
}

/// Anything that names a pool: a category, an agent, a default model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// `category/<id>`, `agent/<id>`, `command/<id>`, `default/<key>`, `fallback/openchamber`, `omo/<id>`, `omo-agent/<id>`,
    /// `litellm/<alias>`, `scheduler/<slug>`.
    pub id: String,
    /// What it names.
    pub target: ConsumerTarget,
    /// Effort asked for with the target.
    pub variant: Option<String>,
    /// Whether it can receive work (a disabled category cannot).
    pub is_enabled: bool,
    /// Path of the file that states it; the configured path of the file for shipped defaults.
    pub path: String,
    /// The JSON pointer of the value that names the target; of the consumer when nothing names one.
    pub pointer: String,
    /// Where it stands; line 1 for shipped defaults.
    pub place: Place,
}

/// Everything the pool sources say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetConfig {
    /// The files read, each once, lowest layer first.
    pub files: Vec<ConfigFile>,
    /// Definitions, lowest layer first; a later one of the same id replaces an earlier one whole.
    pub routes: Vec<RouteDef>,
    /// Who names what.
    pub consumers: Vec<Consumer>,
    /// `provider → model ids` that the owner never wants proposed (`blacklist`).
    pub blacklist: BTreeMap<ProviderId, Vec<String>>,
    /// What is dropped, ignored or merely worth knowing of a file as a whole, with its place.
    pub problems: Vec<Reject>,
    /// Models that the config itself adds or switches off.
    pub own_models: BTreeMap<ProviderId, BTreeMap<String, ConfigModel>>,
    /// Which providers may be used, in order.
    pub provider_rules: Vec<ProviderRule>,
    /// The user's overrides of routes.
    pub overrides: Vec<RouteOverride>,
    /// Notes that hold members back until a stated time.
    pub notes: Vec<TuningNote>,
    /// Every config file looked for, lowest layer first.
    pub layers: Vec<Layer>,
    /// Why the router leaves all routes off, if it does.
    pub routes_off: Option<Reject>,
}

/// One Artificial Analysis row: one model at one effort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarketModel {
    /// The row's UUID: stable, unlike its slug.
    pub id: String,
    /// The slug; may be re-pointed to another model.
    pub slug: String,
    /// The display name, with the effort in parentheses.
    pub name: String,
    /// The effort the name states, in lower case.
    pub effort: Option<Effort>,
    /// Release date, if the row states one.
    pub released: Option<NaiveDate>,
    /// Intelligence, coding and agentic index in points of one index version.
    pub indices: BTreeMap<String, f64>,
    /// List price as this source sees it across hosts.
    pub prices: Prices,
    /// Median output speed, tokens per second.
    pub output_tps: Option<f64>,
    /// Median time to the first answer token, thinking included, seconds.
    pub first_answer_s: Option<f64>,
}

/// One model as one provider offers it (models.dev).
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent claims about an offer, each named")]
pub struct CatalogueOffer {
    /// Provider id.
    pub provider: ProviderId,
    /// Model id under that provider; may hold slashes.
    pub id: String,
    /// `lab/model`, where the catalogue links the offer to one.
    pub canonical: Option<String>,
    /// Release date with day precision, if stated.
    pub released: Option<NaiveDate>,
    /// Effort values the offer takes; empty when it takes none.
    pub efforts: Vec<String>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether its weights are published.
    pub open_weights: bool,
    /// Context window in tokens.
    pub context: Option<u64>,
    /// `alpha`, `beta` or `deprecated`; a hint, never a retirement.
    pub status: Option<String>,
    /// Prices; a row of 0/0 means "subscription or unknown" and reads as unknown unless the id says that it is free.
    pub prices: Prices,
    /// Prices under a condition: long prompts, hours, batch and fast modes.
    pub bands: Vec<PriceBand>,
    /// Why a price that is written was not taken (`router`, `0 without :free`).
    pub price_note: Option<&'static str>,
    /// The effort of a call that sets none.
    pub default_effort: Option<String>,
    /// Whether it writes text and nothing else is its business; `false` for images, speech, songs and embeddings.
    pub writes_text: bool,
    /// Whether tools, weights and context are stated at all; a bare list of ids says nothing of them.
    pub is_described: bool,
    /// The day the provider says it ends.
    pub ends: Option<NaiveDate>,
    /// The id a moving name stands for.
    pub stands_for: Option<String>,
    /// Indices that the provider republishes for this very id; comparable inside one body only.
    pub indices: BTreeMap<String, f64>,
}

impl CatalogueOffer {
    /// An offer of which nothing is known but its place.
    pub fn new(provider: ProviderId, id: impl Into<String>) -> Self {
        Self {
            provider,
            id: id.into(),
            canonical: None,
            released: None,
            efforts: Vec::new(),
            tools: false,
            open_weights: false,
            context: None,
            status: None,
            prices: Prices::default(),
            bands: Vec::new(),
            price_note: None,
            default_effort: None,
            writes_text: true,
            is_described: true,
            ends: None,
            stands_for: None,
            indices: BTreeMap::new(),
        }
    }
}

/// What one provider says it offers, whole: an id that is not in it is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderList {
    /// The provider.
    pub provider: ProviderId,
    /// The ids it lists.
    pub ids: BTreeSet<String>,
}

/// One row of the retirement list: an end date as one provider's page states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEnd {
    /// Provider in the catalogue's spelling.
    pub provider: ProviderId,
    /// Model id as the provider writes it.
    pub model: String,
    /// The day it stops answering; `None`: announced, day unknown.
    pub ends: Option<NaiveDate>,
    /// What it names as replacements; may be text that is no model.
    pub successors: Vec<String>,
    /// The page that says so.
    pub stated_by: Option<String>,
}

/// One model of the dated price list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRow {
    /// Provider in the catalogue's spelling.
    pub provider: ProviderId,
    /// Model id.
    pub model: String,
    /// Prices without a condition.
    pub prices: Prices,
    /// Prices with one, in the order of the list: of those that hold the last wins.
    pub bands: Vec<PriceBand>,
    /// Whether the list says that no such model is served any more.
    pub is_deprecated: bool,
}

/// One row of the retirement source: an offer with an end date, a successor or a price opinion.
#[derive(Debug, Clone, PartialEq)]
pub struct RetirementRow {
    /// The key in the source.
    pub key: String,
    /// Provider in the catalogue's spelling, where it can be told.
    pub provider: ProviderId,
    /// Model id without the provider's prefix.
    pub model: String,
    /// End date of this offer.
    pub ends: Option<NaiveDate>,
    /// Where the source has the date from.
    pub stated_by: Option<String>,
    /// Named successor: a key, or free text.
    pub successor: Option<String>,
    /// Second opinion on the price.
    pub prices: Prices,
    /// Prices under a condition: long prompts, batch, flex and priority.
    pub bands: Vec<PriceBand>,
}

/// One measured-speed row: one summary of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedRow {
    /// End of the measurement span.
    pub measured_at: DateTime<Utc>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// Home, if stated.
    pub home: Option<HomeId>,
    /// Pool, if stated.
    pub pool: Option<PoolId>,
    /// Task class, if stated.
    pub task_class: Option<String>,
    /// Requests behind the row, at least 1.
    pub n: u64,
    /// Effective output tokens per second.
    pub output_tps: Option<f64>,
    /// 90 % interval of `output_tps`.
    pub output_tps_90: Option<(f64, f64)>,
    /// Seconds to the first answer token.
    pub first_answer_s: Option<f64>,
    /// Median task duration in seconds.
    pub task_s: Option<f64>,
    /// Where the row stands.
    pub place: Place,
}

/// What became of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The task was done.
    Success,
    /// It was not, and the member is to blame.
    Failure,
    /// Rate limit, overload, network, authentication, credits or window: availability, never quality.
    Infra,
    /// No verdict, or a judge's score only.
    Unknown,
}

/// One scorecard row: one attempt at one task.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorecardRow {
    /// The task; the same task tried twice has one id.
    pub task_id: String,
    /// Attempt number, from 1.
    pub attempt: u64,
    /// End of the attempt.
    pub finished_at: DateTime<Utc>,
    /// The pool it was routed to.
    pub pool: Option<PoolId>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// Home, if stated.
    pub home: Option<HomeId>,
    /// Kind of work; `unclassified` when not stated.
    pub task_class: String,
    /// What became of it, judge rows and infra kinds already settled.
    pub outcome: Outcome,
    /// Wall time in seconds.
    pub duration_s: Option<f64>,
    /// Whether it ended at its time limit: the work would have taken longer.
    pub is_cut_off: bool,
    /// Cost as billed; 0 with tokens on a subscription reads as unknown.
    pub cost_usd: Option<f64>,
    /// The score a model judge gave, 0 to 100: shown beside the outcome, never inside it.
    pub judged: Option<JudgeScore>,
    /// Session, if stated: joins session stores and the babysitter log.
    pub session_id: Option<String>,
    /// Harness or prompt version; empty when not stated.
    pub epoch: String,
    /// Input without cache, cache read, cache write, output, where stated.
    pub tokens: [Option<u64>; 4],
    /// Where the row stands.
    pub place: Place,
}

/// Tokens of one attempt, by how they are charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskTokens {
    /// Input that was not in the cache.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output with reasoning.
    pub output: u64,
}

/// A score that a model judge gave.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeScore {
    /// Who judged.
    pub judge: String,
    /// 0 to 100.
    pub score: f64,
}

/// What the babysitter saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SitterEvent {
    /// The session stood still.
    Stall,
    /// It was told to go on.
    Nudge,
    /// It was started again.
    Restart,
    /// It was ended.
    Kill,
    /// It ran out of time.
    Timeout,
    /// It went round in circles.
    Loop,
    /// It went on by itself.
    Recovered,
}

impl SitterEvent {
    /// Every event with its word.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("stall", Self::Stall),
        ("nudge", Self::Nudge),
        ("restart", Self::Restart),
        ("kill", Self::Kill),
        ("timeout", Self::Timeout),
        ("loop", Self::Loop),
        ("recovered", Self::Recovered),
    ];

    /// Whether it ended the session.
    pub fn ends(self) -> bool {
        matches!(self, Self::Kill | Self::Timeout)
    }
}

/// One line of the babysitter log.
#[derive(Debug, Clone, PartialEq)]
pub struct SitterRow {
    /// When.
    pub at: DateTime<Utc>,
    /// Session.
    pub session_id: String,
    /// Task, if stated.
    pub task_id: Option<String>,
    /// Pool, if stated.
    pub pool: Option<PoolId>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` when not recorded.
    pub effort: Option<Effort>,
    /// What was seen.
    pub event: SitterEvent,
    /// Seconds waited.
    pub waited_s: Option<f64>,
    /// Where the line stands.
    pub place: Place,
}

/// What the vendor says of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowStatus {
    /// Usable.
    Ok,
    /// Usable, near its limit.
    Warning,
    /// Refuses calls until its reset.
    Rejected,
    /// Not in force.
    Inactive,
    /// Not stated.
    Unknown,
}

/// One window of one home as read (`quota-snapshot/1`), raw and unclamped.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaWindow {
    /// Stable id; with the home the identity of the bucket.
    pub window_id: String,
    /// `first_use`, `fixed`, `calendar`, `sliding`, `balance` or `unknown`.
    pub kind: String,
    /// Model globs the window binds; `["*"]` binds all.
    pub scope: Vec<String>,
    /// Used fraction: 0 is untouched, above 1 is over the limit; `None` is unknown.
    pub used: Option<f64>,
    /// The vendor says there is no limit.
    pub is_unlimited: bool,
    /// What the vendor says.
    pub status: WindowStatus,
    /// Length in seconds, from the payload.
    pub window_seconds: Option<i64>,
    /// Reset instant, rounded to the minute.
    pub resets_at: Option<DateTime<Utc>>,
    /// `Some(false)` is an unopened first-use window.
    pub started: Option<bool>,
    /// When the vendor's value was seen.
    pub observed_at: Option<DateTime<Utc>>,
    /// Why the reading cannot be used, if it cannot (sliding reset, two anchors, old value beside a new reset).
    pub invalid: Option<String>,
    /// Facts that do not void the reading, in order, each once.
    pub remarks: Vec<WindowRemark>,
    /// Where the reading stands.
    pub place: Place,
}

/// One home with its newest reading of every window.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaHome {
    /// The seat.
    pub home: HomeId,
    /// Its windows, by id.
    pub windows: Vec<QuotaWindow>,
}
