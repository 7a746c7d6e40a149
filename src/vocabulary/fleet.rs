//! What the pool sources say beside routes and consumers: the file a definition comes from, layers, overrides, notes, and
//! what the config says of providers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Digest, FleetConfig, Place, PoolId, ProviderId, RouteDef};

/// Words that stand for a variant at the end of a reference of oh-my-openagent.
pub const OMO_VARIANTS: [&str; 9] = ["low", "medium", "high", "xhigh", "max", "minimal", "none", "auto", "thinking"];

/// The kind of file that defines a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolFormat {
    /// opencode `experimental.model_routes`.
    #[default]
    OpenCode,
    /// A category or agent of oh-my-openagent: an ordered list.
    Omo,
    /// A `model_name` group of `LiteLLM`.
    LiteLlm,
    /// A slot of claude-code-router: an ordered list.
    Ccr,
}

impl PoolFormat {
    /// The name as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenCode => "opencode",
            Self::Omo => "oh-my-openagent",
            Self::LiteLlm => "LiteLLM",
            Self::Ccr => "claude-code-router",
        }
    }

    /// Whether work arrives at its pools from outside the config: a category is picked by a task, a group by a client. Only
    /// opencode's pools need something that names them.
    pub fn is_entry(self) -> bool {
        self != Self::OpenCode
    }
}

/// How long a seat is paid ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// Month by month.
    Monthly,
    /// For a year.
    Annual,
}

impl Term {
    /// The term of a word of the settings.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "monthly" => Some(Self::Monthly),
            "annual" => Some(Self::Annual),
            _ => None,
        }
    }
}

/// What an override of `route-overrides.json` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrideAction {
    /// The members are passed over.
    Avoid,
    /// Their weight is multiplied.
    Prefer,
    /// Their budget does not hold them back.
    AllowOverBudget,
}

impl OverrideAction {
    /// The word of the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Avoid => "avoid",
            Self::Prefer => "prefer",
            Self::AllowOverBudget => "allow-over-budget",
        }
    }
}

/// One entry of `route-overrides.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteOverride {
    /// Its id.
    pub id: String,
    /// What it does.
    pub action: OverrideAction,
    /// Providers it names.
    pub providers: Vec<String>,
    /// Models it names, with `*`; case does not count.
    pub models: Vec<String>,
    /// Routes it reaches; empty means all.
    pub routes: Vec<String>,
    /// Whether it reaches routes at `fixed`.
    pub fixed: bool,
    /// What `prefer` multiplies a weight by.
    pub factor: f64,
    /// When it ends, epoch milliseconds.
    pub until_ms: i64,
    /// Why, in the words of its author.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// One entry of `experimental.model_route_tuning.notes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuningNote {
    /// A part of `provider/model`; case does not count.
    pub matches: String,
    /// The text after the colon.
    pub text: String,
    /// The reset it states as an instant, epoch milliseconds; `None` when it states none, or only one that counts from a moment
    /// the file does not tell.
    pub until_ms: Option<i64>,
    /// Where it stands.
    pub place: Place,
}

/// One rule on which providers may be used; of several that match the last decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRule {
    /// Provider id, or `*`.
    pub resource: String,
    /// Whether it may be used.
    pub is_allowed: bool,
}

/// A model that the config itself adds to a provider, or switches off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigModel {
    /// Whether it is switched off.
    pub is_disabled: bool,
}

/// One config file that was looked for, in layer order: lowest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Path as the operator wrote it.
    pub path: String,
    /// What kind of file it is ("opencode layer").
    pub kind: &'static str,
    /// What came of it.
    pub state: LayerState,
}

/// What came of reading a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum LayerState {
    /// Read.
    Read {
        /// Digest of its bytes.
        digest: Digest,
        /// The pools it defines.
        pools: Vec<PoolId>,
        /// The consumers it states.
        consumers: Vec<String>,
        /// Further facts ("1 route override").
        facts: Vec<String>,
    },
    /// Could not be read; the text is the reason. What it defines is unknown.
    Unreadable(String),
    /// Read, but no config: the router leaves the whole file out, and so does the review. The text is the reason.
    Dropped(String),
}

impl Layer {
    /// A layer that was read, with what its config contributes.
    pub fn read(path: &str, kind: &'static str, digest: Digest, config: &FleetConfig) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            state: LayerState::Read {
                digest,
                pools: config.routes.iter().map(|route| route.id.clone()).collect(),
                consumers: config.consumers.iter().map(|consumer| consumer.id.clone()).collect(),
                facts: facts(config),
            },
        }
    }
}

/// What a config contributes beside pools and consumers.
fn facts(config: &FleetConfig) -> Vec<String> {
    let count = |count: usize, one: &str, more: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { more }))
    };
    let models: usize = config.own_models.values().map(BTreeMap::len).sum();
    [
        count(config.blacklist.values().map(Vec::len).sum(), "model on a blacklist", "models on a blacklist"),
        count(config.overrides.len(), "route override", "route overrides"),
        count(config.notes.len(), "tuning note", "tuning notes"),
        count(config.provider_rules.len(), "provider rule", "provider rules"),
        count(models, "own model", "own models"),
        count(config.problems.len(), "remark", "remarks"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl FleetConfig {
    /// The definition of every pool that counts: of an id that stands in several layers the highest one the router keeps; a
    /// definition that it drops leaves a lower one in force.
    pub fn effective(&self) -> BTreeMap<&PoolId, &RouteDef> {
        let mut effective: BTreeMap<&PoolId, &RouteDef> = BTreeMap::new();
        for route in &self.routes {
            let known = effective.get(&route.id);
            if route.invalid.is_none() || known.is_none_or(|known| known.invalid.is_some()) {
                effective.insert(&route.id, route);
            }
        }
        effective
    }

    /// Whether the config lets a provider be used; without a rule it does.
    pub fn allows(&self, provider: &ProviderId) -> bool {
        let matching = |rule: &&ProviderRule| rule.resource == "*" || rule.resource == provider.as_str();
        self.provider_rules.iter().rev().find(matching).is_none_or(|rule| rule.is_allowed)
    }

    /// What the config itself says of a model.
    pub fn own_model(&self, provider: &ProviderId, model: &str) -> Option<&ConfigModel> {
        self.own_models.get(provider)?.get(model)
    }

    /// Adds a higher layer: its definitions stand behind the lower ones, its consumers replace those of the same id.
    pub fn stack(&mut self, higher: Self) {
        self.files.extend(higher.files);
        self.routes.extend(higher.routes);
        let replaced: BTreeSet<String> = higher.consumers.iter().map(|consumer| consumer.id.clone()).collect();
        self.consumers.retain(|consumer| !replaced.contains(&consumer.id));
        self.consumers.extend(higher.consumers);
        for (provider, models) in higher.blacklist {
            self.blacklist.entry(provider).or_default().extend(models);
        }
        for (provider, models) in higher.own_models {
            self.own_models.entry(provider).or_default().extend(models);
        }
        self.overrides.extend(higher.overrides);
        if !higher.notes.is_empty() {
            self.notes = higher.notes;
        }
        self.provider_rules.extend(higher.provider_rules);
        self.problems.extend(higher.problems);
        self.layers.extend(higher.layers);
        self.routes_off = self.routes_off.take().or(higher.routes_off);
        self.settle_routes_off();
    }

    /// Drops every route of opencode when something leaves them all off.
    pub fn settle_routes_off(&mut self) {
        let Some(reject) = &self.routes_off else { return };
        for route in self.routes.iter_mut().filter(|route| route.format == PoolFormat::OpenCode) {
            route.invalid.get_or_insert_with(|| reject.clone());
        }
    }
}
