//! What config files say: pools, their targets, and whoever names a pool.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ConfigFile, ConfigModel, Layer, Place, PoolFormat, PoolId, ProviderId, ProviderRule, Reject, RouteOverride,
    TargetRef, TuningNote,
};

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
