//! The instruction file: YAML front matter holds every setting, the body is the operator's policy in plain words.
//! Raw text is turned into validated settings before any source is read; errors name file and line.

mod build;
mod file;
mod kind;
mod reader;
mod reference;
mod rules;
mod thresholds;
mod written;
pub(crate) mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use globset::GlobMatcher;

use crate::vocabulary::{Digest, HomeId, PoolId, ProviderId, StoreKind, Term, Tier};

pub use file::broken_link;
pub use kind::{Kind, glob, nearest_first};
pub use reference::{Key, reference};
pub use thresholds::{
    Bars, Fetch, Latest, Market, MaxAges, Mix, Prior, Rows, Sizing, Speed, Structure, Thresholds, Traffic, Weights,
    Windows,
};

/// Everything the operator settled, validated.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Path of the instruction file as given, relative to the workspace.
    pub path: String,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// The operator's policy in plain words: the text after the front matter.
    pub body: String,
    /// Five-field cron expression, not yet interpreted (the schedule room does).
    pub schedule: String,
    /// Zone of the schedule.
    pub timezone: Tz,
    /// The demo's frozen clock; without it the clock rules.
    pub frozen_now: Option<DateTime<Utc>>,
    /// Where the config is.
    pub config: ConfigPaths,
    /// Where the data is.
    pub data: DataPaths,
    /// Folder that a run writes.
    pub reports: PathBuf,
    /// The composition log.
    pub log: PathBuf,
    /// Folder for what can be read again.
    pub cache: PathBuf,
    /// Home → what it is. Every provider belongs to at most one home.
    pub homes: BTreeMap<HomeId, Home>,
    /// Rules for pools, in file order; the first whose pattern matches a pool applies whole.
    pub pools: Vec<PoolRule>,
    /// What may be in which pool.
    pub policy: Policy,
    /// Tier → its numbers.
    pub tiers: BTreeMap<Tier, TierSettings>,
    /// Tokens of a task where the pool's own are unknown.
    pub tokens_per_task: f64,
    /// Thresholds; the accessor is the dotted key: `thresholds.latest.quality` is the setting `latest.quality`.
    pub thresholds: Thresholds,
    /// Ages from which on a source is stale, in hours.
    pub max_age_hours: MaxAges,
    /// When a body of the market is believed.
    pub market: Market,
    /// How `fetch` asks.
    pub fetch: Fetch,
    /// Where `fetch` gets its bodies.
    pub addresses: Addresses,
    /// Provider → where its own list is.
    pub connections: BTreeMap<ProviderId, Connection>,
    /// The issue plan.
    pub issues: Issues,
    /// Dotted key → line in the file, for every key that is written there.
    pub lines: BTreeMap<String, usize>,
    /// The compiled patterns of `pools`, in the same order.
    pool_globs: Vec<GlobMatcher>,
}

/// Where the canonical config is; paths relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The canonical opencode file: unreadable is fatal.
    pub opencode: PathBuf,
    /// Further opencode files or folders, lowest first; where the canonical file stands among them, else below it.
    pub layers: Vec<PathBuf>,
    /// A file with what the content variable holds: the highest layer.
    pub content: Option<PathBuf>,
    /// The user's `route-overrides.json`.
    pub overrides: Option<PathBuf>,
    /// `OpenChamber`'s `routing.json`; `None` when the fleet has none.
    pub openchamber: Option<PathBuf>,
    /// oh-my-openagent files, lowest first.
    pub omo: Vec<PathBuf>,
    /// `LiteLLM` `config.yaml`.
    pub litellm: Option<PathBuf>,
    /// claude-code-router `config.json`.
    pub ccr: Option<PathBuf>,
    /// Jobs of opencode-scheduler: one file, or a folder.
    pub scheduler: Option<PathBuf>,
}

/// Where the data is; paths relative to the workspace. `None` is "not configured".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPaths {
    /// Artificial Analysis v2 pages: one file, or a folder of `*.json` pages.
    pub market: Option<PathBuf>,
    /// models.dev `api.json`.
    pub catalogues: Option<PathBuf>,
    /// `LiteLLM` map.
    pub retirements: Option<PathBuf>,
    /// Reviewed alias file.
    pub aliases: Option<PathBuf>,
    /// Old Artificial Analysis bodies.
    pub market_history: Option<PathBuf>,
    /// `OpenRouter`'s own list.
    pub openrouter: Option<PathBuf>,
    /// Dated prices.
    pub prices: Option<PathBuf>,
    /// Retirement list.
    pub retirement_list: Option<PathBuf>,
    /// What providers list themselves: one file, or a folder of `<provider>.json`.
    pub provider_catalogue: Option<PathBuf>,
    /// Measured speeds CSV.
    pub speeds: Option<PathBuf>,
    /// Scorecards CSV.
    pub sessions: Option<PathBuf>,
    /// Folder of `quota-snapshot/1` files, or one file.
    pub quotas: Option<PathBuf>,
    /// Babysitter log.
    pub babysitter: Option<PathBuf>,
    /// Session rollup made by another engine.
    pub rollup: Option<PathBuf>,
    /// Rollup of `LiteLLM`'s spend logs, as `fetch` writes it.
    pub spend_logs: Option<PathBuf>,
    /// Session stores.
    pub session_stores: Vec<SessionStore>,
    /// Which calls are of which task class, in order.
    pub task_classes: Vec<TaskClassRule>,
}

/// One session store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStore {
    /// What wrote it.
    pub kind: StoreKind,
    /// Where it is.
    pub path: PathBuf,
    /// Provider of calls that state none.
    pub provider: Option<String>,
    /// Provider of calls that came through a gateway.
    pub gateway: Option<String>,
    /// Home of every call.
    pub home: Option<String>,
}

/// Which calls are of a task class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskClassRule {
    /// Glob on the working folder.
    pub folder: Option<String>,
    /// Glob on the agent or category.
    pub agent: Option<String>,
    /// The class.
    pub class: String,
}

/// Where `fetch` gets its bodies.
#[derive(Debug, Clone, PartialEq)]
pub struct Addresses {
    /// Environment variable with the key of Artificial Analysis.
    pub market_key: String,
    /// Pages of the market.
    pub market: String,
    /// models.dev.
    pub catalogues: String,
    /// `LiteLLM` map.
    pub retirements: String,
    /// `OpenRouter`.
    pub openrouter: String,
    /// Dated prices.
    pub prices: String,
    /// Retirement list; `None`: placed by hand.
    pub retirement_list: Option<String>,
    /// The database of spend logs.
    pub spend_logs: SpendLogs,
}

/// Where `LiteLLM`'s spend logs are summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendLogs {
    /// Environment variable with the connection string.
    pub variable: String,
    /// The table, after its schema and a dot where one is named.
    pub table: String,
    /// Days back.
    pub days: u32,
    /// Longest time of the statement, seconds.
    pub timeout_s: f64,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer <key>`.
    Bearer,
    /// A header of this name.
    Header(&'static str),
}

/// An OpenAI-compatible endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The address that `/models` is added to.
    pub base_url: String,
    /// Environment variable with the key.
    pub key: Option<String>,
    /// How the key is sent.
    pub auth: Auth,
    /// Further headers.
    pub headers: Vec<(String, String)>,
}

/// How a home is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// A subscription: windows, no price per token.
    Flat,
    /// Per token.
    Metered,
    /// Per token from a prepaid balance.
    Balance,
}

/// A plan seat or key.
#[derive(Debug, Clone, PartialEq)]
pub struct Home {
    /// Providers whose calls draw on it.
    pub providers: Vec<ProviderId>,
    /// How it is paid.
    pub billing: Billing,
    /// What an hour of leading a pool costs in cash on this home; `None` is unknown. Flat homes cost 0.
    pub cash_usd_per_lead_hour: Option<f64>,
    /// How long the seat is paid ahead, if stated.
    pub term: Option<Term>,
}

impl Home {
    /// Whether it is a plan home: its billing is flat.
    pub fn is_plan(&self) -> bool {
        self.billing == Billing::Flat
    }
}

/// What a `*-plan` pool means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMeaning {
    /// Its members must sit on plan homes.
    PlanHome,
    /// It is the planning-mode twin of its base pool.
    PlanningTwin,
    /// Nothing.
    None,
}

/// Which weights a pool accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Published weights only.
    Open,
    /// Any.
    All,
}

/// What the operator asks of the pools a pattern matches.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolRule {
    /// Pool name or glob (`*`).
    pub pattern: String,
    /// Line of the rule.
    pub line: usize,
    /// Its tier; workhorse, and said so, without one.
    pub tier: Option<Tier>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Kind of work.
    pub task_class: Option<String>,
    /// Slowest output accepted, tokens per second.
    pub min_output_tps: Option<f64>,
    /// Longest wait for the first answer token accepted, seconds.
    pub max_first_answer_s: Option<f64>,
    /// Smallest role-mix index accepted, points.
    pub min_index: Option<f64>,
    /// Largest bill accepted, USD per million task input tokens.
    pub max_bill_usd_per_mtok: Option<f64>,
    /// Largest cost of a task accepted, USD.
    pub max_usd_per_task: Option<f64>,
    /// Members must call tools.
    pub needs_tools: bool,
    /// Smallest context window accepted, tokens.
    pub min_context: Option<u64>,
    /// What `-plan` in its name means.
    pub plan_meaning: Option<PlanMeaning>,
    /// Which weights it accepts; the policy's where not set.
    pub family: Option<Family>,
    /// It has one member only.
    pub unpooled: bool,
    /// The pool whose vendors none of its members may share.
    pub different_vendor_from: Option<PoolId>,
}

/// A model that must not be used, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverRule {
    /// Glob on the canonical model.
    pub model: String,
    /// Glob on pool ids it applies to; `*` where not set.
    pub pools: String,
    /// Why.
    pub reason: Option<String>,
    /// Line of the rule.
    pub line: usize,
}

/// A model that must not be used in the pools of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierRule {
    /// The tier.
    pub tier: Tier,
    /// The model, the pools of that tier it applies to, and why.
    pub never: NeverRule,
}

/// What may be in which pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Models never used.
    pub never: Vec<NeverRule>,
    /// Models that may be members and never lead: globs on the canonical model.
    pub never_lead: Vec<NeverRule>,
    /// Models that are not used in the pools of a tier.
    pub not_in_tier: Vec<TierRule>,
    /// Homes that may be used; empty means every home of the settings.
    pub only_homes: Vec<HomeId>,
    /// Which weights are accepted by default.
    pub family: Family,
    /// What `-plan` means by default.
    pub plan_meaning: PlanMeaning,
    /// Digest of the policy: of its settings subtree and of the rules for pools.
    pub digest: Digest,
}

/// The numbers of a tier (methods §6, §15).
#[derive(Debug, Clone, PartialEq)]
pub struct TierSettings {
    /// Dollars lost when a task fails.
    pub stake_usd: f64,
    /// Dollars per minute of waiting.
    pub minute_usd: f64,
    /// Success rate below which a member is too weak.
    pub floor: f64,
    /// Index name (`intelligence`, `coding`, `agentic`) → weight.
    pub index_mix: BTreeMap<String, f64>,
    /// Share of input read from cache.
    pub cache_share: f64,
    /// Input tokens per output token.
    pub input_per_output: f64,
}

/// Where issues go.
#[derive(Debug, Clone, PartialEq)]
pub struct Issues {
    /// `owner/name` of the tracker; `None` writes no plan.
    pub repository: Option<String>,
    /// Most new issues per run.
    pub new_per_run: usize,
    /// Base address of the REST API.
    pub api: String,
    /// Environment variable with the token.
    pub token: String,
    /// The login that the token files under; `None` asks the server.
    pub login: Option<String>,
    /// Longest wait for one answer, seconds.
    pub timeout_s: f64,
    /// The address that paths of the workspace are shown below; `None` is the tracker's own repository.
    pub files_url: Option<String>,
}

impl Issues {
    /// The address that people see the server at: of the public API and of an Enterprise Server the host, else the API's own.
    pub fn web(&self) -> String {
        let api = self.api.trim_end_matches('/');
        match api.strip_suffix("/api/v3") {
            _ if api == "https://api.github.com" => "https://github.com".to_owned(),
            Some(host) => host.to_owned(),
            None => api.to_owned(),
        }
    }
}

impl Settings {
    /// The settings of an instruction file: YAML between two `---` lines, then the policy in plain words.
    /// The error is one line, `path:line: what is wrong`; nothing else has been read by then.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let parse = || {
            let parts = file::split(text)?;
            let tree = yaml::parse(parts.front_matter, 1)?;
            build::settings(text, path, parts.body, written::Written::from_tree(&tree)?)
        };
        parse().map_err(|fault| anyhow!("{path}:{}: {}", fault.line, fault.message))
    }

    /// The settings of an instruction file of the workspace: a regular file of at most 1 MiB of UTF-8 text.
    /// The error is one line that names the path, and the line where there is one.
    pub fn load(workspace: &Path, path: &Path) -> Result<Self> {
        let shown = path.strip_prefix(workspace).unwrap_or(path).display().to_string();
        let text = file::read(&workspace.join(path), &shown)?;
        Self::parse(&text, &shown)
    }

    /// The rule that applies to a pool: the first whose pattern is its id or matches it.
    pub fn pool_rule(&self, pool: &PoolId) -> Option<&PoolRule> {
        self.rule_index(pool).map(|index| &self.pools[index])
    }

    /// The rules that apply to none of these pools, in file order: nothing matches, or an earlier rule matched first.
    pub fn unmatched_rules<'a>(&self, pools: impl Iterator<Item = &'a PoolId>) -> Vec<&PoolRule> {
        let used: BTreeSet<usize> = pools.filter_map(|pool| self.rule_index(pool)).collect();
        self.pools.iter().enumerate().filter(|(index, _)| !used.contains(index)).map(|(_, rule)| rule).collect()
    }

    /// Which rule applies to a pool.
    fn rule_index(&self, pool: &PoolId) -> Option<usize> {
        let id = pool.as_str();
        self.pools.iter().zip(&self.pool_globs).position(|(rule, glob)| rule.pattern == id || glob.is_match(id))
    }

    /// The tier of a pool and whether it is assumed: its rule's; else, for a plan variant, its base pool's; else workhorse.
    pub fn tier_of(&self, pool: &PoolId) -> (Tier, bool) {
        let of = |pool: &PoolId| self.pool_rule(pool).and_then(|rule| rule.tier);
        let base = || pool.as_str().strip_suffix("-plan").and_then(|base| of(&PoolId::new(base)));
        of(pool).or_else(base).map_or((Tier::Workhorse, true), |tier| (tier, false))
    }

    /// The home of a provider.
    pub fn home_of(&self, provider: &ProviderId) -> Option<(&HomeId, &Home)> {
        self.homes.iter().find(|(_, home)| home.providers.contains(provider))
    }
}
