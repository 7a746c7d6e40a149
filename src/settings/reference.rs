//! Every setting in one table: key, what it may hold, default, meaning. The parser, the defaults and the page
//! `instructions/settings.md` all come from these rows; a setting that is not here does not exist.

use std::sync::LazyLock;

use super::kind::Kind;
use super::{
    Bars, Fetch, Latest, Market, MaxAges, Mix, Prior, Rows, Sizing, Speed, Structure, Traffic, Weights, Windows,
};

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Dotted key; `<id>` and `<tier>` stand for names, `[]` for the items of a list.
    pub key: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// The default as text: `none` is absent, `required` must be written, a dotted key is that setting's value, four values apart by ` · ` belong to
    /// scout, workhorse, specialist and summit.
    pub default: &'static str,
    /// Its meaning, with the unit.
    pub meaning: &'static str,
}

/// Makes rows of the table: `"key", kind, "default", "meaning";`.
macro_rules! rows {
    ($($key:literal, $kind:expr, $default:literal, $meaning:literal;)*) => {
        &[$(Key { key: $key, kind: $kind, default: $default, meaning: $meaning }),*]
    };
}

/// The words of [`super::Billing`].
const BILLING: Kind = Kind::Word(&["flat", "metered", "balance"]);
/// The words of [`crate::vocabulary::Term`].
const TERM: Kind = Kind::Word(&["monthly", "annual"]);
/// The words of [`super::Family`].
const FAMILY: Kind = Kind::Word(&["open", "all"]);
/// The words of [`super::PlanMeaning`].
const PLAN_MEANING: Kind = Kind::Word(&["plan_home", "planning_twin", "none"]);
/// The words of [`crate::vocabulary::Tier`].
const TIER: Kind = Kind::Word(&["scout", "workhorse", "specialist", "summit"]);
/// The words of [`super::Auth`].
const AUTH: Kind = Kind::Word(&["bearer", "x-api-key", "x-goog-api-key", "api-key"]);
/// The words of [`crate::vocabulary::StoreKind`].
const STORE: Kind = Kind::Word(&["claude-code", "codex", "opencode", "litellm"]);
/// A number of at least 0.
const AT_LEAST_0: Kind = Kind::AtLeast(0.0);

/// When to run and where everything lies.
const PLACES: &[Key] = rows! {
    "schedule", Kind::Cron, "0 */12 * * *", "when `watch` runs a review: minute, hour, day of month, month, day of week";
    "timezone", Kind::Zone, "UTC", "zone in which the schedule is read";
    "frozen_now", Kind::Instant, "none", "the instant that every run takes for now; for demos, and said loudly";
    "config.opencode", Kind::Path, ".opencode/opencode.jsonc", "canonical opencode config; unreadable ends the run with exit code 2";
    "config.layers", Kind::Paths, "none", "further opencode config files or folders, lowest first; name the canonical file among them if something stands above it";
    "config.content", Kind::Path, "none", "a file with the text of opencode's content variable, the highest layer; the environment itself is never read";
    "config.overrides", Kind::Path, "none", "`route-overrides.json` of opencode's data folder";
    "config.openchamber", Kind::Path, "none", "OpenChamber `routing.json` with the categories";
    "config.omo", Kind::Paths, "none", "oh-my-openagent config files, lowest first";
    "config.litellm", Kind::Path, "none", "LiteLLM `config.yaml`; its secrets are never read";
    "config.ccr", Kind::Path, "none", "claude-code-router `config.json`; its secrets are never read";
    "config.scheduler", Kind::Path, "none", "opencode-scheduler jobs: one file, or a folder that is searched for `jobs/*.json`";
    "data.market", Kind::Path, "none", "Artificial Analysis v2 bodies: a file, or a folder of pages";
    "data.catalogues", Kind::Path, "none", "models.dev `api.json`";
    "data.retirements", Kind::Path, "none", "LiteLLM map of models with end dates and successors";
    "data.aliases", Kind::Path, "none", "reviewed alias file";
    "data.market_history", Kind::Path, "none", "old Artificial Analysis bodies of the retired path, `YYYY-MM-DD.json`: the memory of a first run";
    "data.openrouter", Kind::Path, "none", "OpenRouter `/api/v1/models`: its offers, prices and end dates";
    "data.prices", Kind::Path, "none", "genai-prices `data.json`: dated prices";
    "data.retirement_list", Kind::Path, "none", "retirement list: second opinion on end dates";
    "data.provider_catalogue", Kind::Path, "none", "what providers list themselves, `<provider>.json` each: a file, or a folder of files";
    "data.speeds", Kind::Path, "none", "measured speeds CSV";
    "data.sessions", Kind::Path, "none", "scorecards CSV";
    "data.babysitter", Kind::Path, "none", "babysitter log: stalls, kills and restarts of sessions";
    "data.rollup", Kind::Path, "none", "session rollup made by another engine: CSV or Parquet";
    "data.spend_logs", Kind::Path, "none", "rollup of LiteLLM's spend logs: a CSV file that `fetch` writes from the database";
    "data.session_stores[].kind", STORE, "required", "what wrote the session store";
    "data.session_stores[].path", Kind::Path, "required", "its folder, database or export; read, never written";
    "data.session_stores[].provider", Kind::Text, "none", "provider of calls that state none; `anthropic` for claude-code";
    "data.session_stores[].gateway", Kind::Text, "none", "provider of claude-code calls that came through a gateway";
    "data.session_stores[].home", Kind::Text, "none", "home of every call of the store; without it the home of the provider";
    "data.task_classes[].folder", Kind::Glob, "none", "working folder of the session that the rule applies to";
    "data.task_classes[].agent", Kind::Glob, "none", "agent or category that the rule applies to";
    "data.task_classes[].class", Kind::Text, "required", "task class of those calls; the first rule that applies wins";
    "data.quotas", Kind::Path, "none", "`quota-snapshot/1`: a file, or a folder of files";
    "reports", Kind::Path, "reports", "folder that a run writes";
    "cache", Kind::Path, ".cache/pool-review", "folder for what can be read again, such as the index of session stores; may be deleted at any time";
    "log", Kind::Path, "<reports>/pool-composition-log.md", "the composition log; may lie anywhere";
};

/// The fleet and its rules.
const FLEET: &[Key] = rows! {
    "homes.<id>.providers", Kind::Ids, "required", "provider ids whose calls draw on this home; a provider belongs to one home";
    "homes.<id>.billing", BILLING, "required", "how it is paid: subscription, per token, or per token from a prepaid balance";
    "homes.<id>.cash_usd_per_lead_hour", AT_LEAST_0, "none", "cash that one hour of leading a pool costs here, USD; flat homes cost 0 and take no price";
    "homes.<id>.term", TERM, "none", "how long the seat is paid ahead, where that decides what a call costs: GitHub Copilot counts requests of annual seats and bills tokens of monthly ones";
    "pools[].pattern", Kind::Glob, "required", "pool name or glob; the first rule whose pattern matches a pool applies whole";
    "pools[].tier", TIER, "none", "tier of the pool; without one workhorse is assumed and said so";
    "pools[].owner", Kind::Text, "none", "who answers for the pool";
    "pools[].task_class", Kind::Text, "none", "kind of work";
    "pools[].min_output_tps", Kind::Above0, "none", "slowest output accepted, tokens per second";
    "pools[].max_first_answer_s", Kind::Above0, "none", "longest wait for the first answer token accepted, seconds";
    "pools[].min_index", AT_LEAST_0, "none", "smallest role-mix index accepted, points";
    "pools[].max_bill_usd_per_mtok", AT_LEAST_0, "none", "largest bill accepted, USD per million task input tokens";
    "pools[].max_usd_per_task", AT_LEAST_0, "none", "largest cost of a task accepted, USD, at list price by our own rows";
    "pools[].needs_tools", Kind::Flag, "false", "members must call tools";
    "pools[].min_context", Kind::Whole(1), "none", "smallest context window accepted, tokens";
    "pools[].plan_meaning", PLAN_MEANING, "policy.plan_meaning", "what `-plan` in the pool's name means";
    "pools[].family", FAMILY, "policy.family", "weights accepted";
    "pools[].unpooled", Kind::Flag, "false", "it has one member only: every other one breaks the rule (deep tiers and reviewers that are not pooled)";
    "pools[].different_vendor_from", Kind::Text, "none", "name of a pool whose vendors no member may share: a checker against the workers it checks";
    "policy.never[].model", Kind::Glob, "required", "canonical model or family, or glob, that is never used and never proposed";
    "policy.never[].pools", Kind::Glob, "*", "pools it applies to";
    "policy.never[].reason", Kind::Text, "none", "why; shown wherever the rule speaks";
    "policy.never_lead[].model", Kind::Glob, "required", "canonical model, or glob, that may be a member and never leads";
    "policy.never_lead[].pools", Kind::Glob, "*", "pools it applies to";
    "policy.never_lead[].reason", Kind::Text, "none", "why; shown wherever the rule speaks";
    "policy.not_in_tier[].tier", TIER, "required", "tier in whose pools the model is not used";
    "policy.not_in_tier[].model", Kind::Glob, "required", "canonical model, or glob";
    "policy.not_in_tier[].pools", Kind::Glob, "*", "pools of that tier it applies to";
    "policy.not_in_tier[].reason", Kind::Text, "none", "why; shown wherever the rule speaks";
    "policy.only_homes", Kind::Ids, "none", "homes that may be used; without it all of `homes`";
    "policy.family", FAMILY, "all", "weights accepted: published ones only, or any";
    "policy.plan_meaning", PLAN_MEANING, "plan_home", "what `-plan` in a pool's name means: members on plan homes, the planning-mode twin of its base pool, or nothing";
};

/// What `fetch` brings, and from where.
const CONNECTIONS: &[Key] = rows! {
    "fetch.market_key", Kind::EnvName, "ARTIFICIAL_ANALYSIS_API_KEY", "environment variable with the key of Artificial Analysis";
    "fetch.urls.market", Kind::Url, "https://artificialanalysis.ai/api/v2/language/models/free", "where the body of `data.market` comes from, page by page";
    "fetch.urls.catalogues", Kind::Url, "https://models.dev/api.json", "where the body of `data.catalogues` comes from";
    "fetch.urls.retirements", Kind::Url, "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json", "where the body of `data.retirements` comes from";
    "fetch.urls.openrouter", Kind::Url, "https://openrouter.ai/api/v1/models", "where the body of `data.openrouter` comes from";
    "fetch.urls.prices", Kind::Url, "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json", "where the body of `data.prices` comes from";
    "fetch.urls.retirement_list", Kind::Url, "none", "where the body of `data.retirement_list` comes from; without it the file is placed by hand";
    "fetch.spend_logs.variable", Kind::EnvName, "LITELLM_DATABASE_URL", "environment variable with the connection string of LiteLLM's PostgreSQL";
    "fetch.spend_logs.table", Kind::Text, "LiteLLM_SpendLogs", "its table of spend logs, `schema.table` where it lies outside the search path";
    "fetch.spend_logs.days", Kind::Whole(1), "90", "how many days back the spend logs are summed up";
    "fetch.spend_logs.timeout_s", Kind::Above0, "300", "longest time the summing up may take in the database, seconds";
    "connections.<id>.base_url", Kind::Url, "required", "OpenAI-compatible endpoint; `/models` below it is fetched as the own list of the provider `<id>`";
    "connections.<id>.key", Kind::EnvName, "none", "environment variable with its key; without it the list is asked for without one";
    "connections.<id>.auth", AUTH, "bearer", "how the key is sent: `Authorization: Bearer`, or a header of that name";
    "connections.<id>.headers", Kind::Headers, "none", "further headers, each `Name: value`; not the place for a key";
};

/// Numbers of the tiers.
const TIERS: &[Key] = rows! {
    "tiers.<tier>.stake_usd", Kind::Above0, "2 · 10 · 25 · 50", "dollars lost when a task fails";
    "tiers.<tier>.minute_usd", AT_LEAST_0, "0.05 · 0.02 · 0.01 · 0.01", "dollars per minute of waiting";
    "tiers.<tier>.floor", Kind::Share, "0.60 · 0.65 · 0.75 · 0.80", "success rate under which a member is too weak";
    "tiers.<tier>.index_mix.intelligence", AT_LEAST_0, "0.2 · 0.2 · 1/3 · 0.6", "weight of the market's intelligence index; weights need not sum to 1";
    "tiers.<tier>.index_mix.coding", AT_LEAST_0, "0.3 · 0.3 · 1/3 · 0", "weight of the coding index";
    "tiers.<tier>.index_mix.agentic", AT_LEAST_0, "0.5 · 0.5 · 1/3 · 0.4", "weight of the agentic index";
    "tiers.<tier>.cache_share", Kind::Share, "0.75 · 0.75 · 0.75 · 0", "share of input read from cache";
    "tiers.<tier>.input_per_output", Kind::Above0, "100 · 100 · 100 · 10", "input tokens per output token";
    "tokens_per_task", Kind::Above0, "4400000", "tokens of a task where the pool's own are unknown";
};

/// Spans in days that belong to no section.
const SPANS: &[Key] = rows! {
    "horizon_days", Kind::Above0, "14", "days of tasks over which the value of a test is reckoned";
    "expiry_days", Kind::Above0, "7", "days a proposal stays open";
    "test_expiry_days", Kind::Above0, "14", "days a proposed test stays open";
};

/// Where issues go.
const TRACKER: &[Key] = rows! {
    "issues.repository", Kind::Repository, "none", "tracker of the issue plan; without it no plan is written";
    "issues.new_per_run", Kind::Whole(0), "3", "most new issues per run";
    "issues.api", Kind::Url, "https://api.github.com", "base address of the REST API; of GitHub Enterprise Server `https://HOST/api/v3`";
    "issues.token", Kind::EnvName, "GITHUB_TOKEN", "environment variable with the token; read with `--file-issues` only, and never shown";
    "issues.login", Kind::Text, "none", "login that the token files under; without it the server is asked, which a token of GitHub Actions may not (`github-actions[bot]`)";
    "issues.timeout_s", Kind::Above0, "30", "longest wait for one answer of the tracker, seconds";
    "issues.files_url", Kind::Url, "none", "address that paths of the workspace are shown below, for links in issues; without it `blob/HEAD` of the repository";
};

/// Every setting, in the order of the page.
pub fn reference() -> &'static [Key] {
    static ALL: LazyLock<Vec<Key>> = LazyLock::new(|| {
        [
            PLACES,
            FLEET,
            CONNECTIONS,
            Fetch::KEYS,
            TIERS,
            Bars::KEYS,
            Rows::KEYS,
            Mix::KEYS,
            Prior::KEYS,
            Speed::KEYS,
            Traffic::KEYS,
            Windows::KEYS,
            Latest::KEYS,
            Sizing::KEYS,
            Structure::KEYS,
            Weights::KEYS,
            SPANS,
            MaxAges::KEYS,
            Market::KEYS,
            TRACKER,
        ]
        .concat()
    });
    &ALL
}

/// The setting with this key, if there is one.
pub(super) fn key(key: &str) -> Option<&'static Key> {
    reference().iter().find(|row| row.key == key)
}

/// The names that may stand under a pattern, in order: `intelligence`, `<id>`, or `never[]` for a list of groups.
pub(super) fn names_under(pattern: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for row in reference() {
        let rest = if pattern.is_empty() {
            Some(row.key)
        } else {
            row.key.strip_prefix(pattern).and_then(|rest| rest.strip_prefix('.'))
        };
        let name = rest.and_then(|rest| rest.split('.').next());
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}
