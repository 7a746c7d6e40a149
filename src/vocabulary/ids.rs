//! Ids. Each wraps text, so that a pool can never be passed where a home is meant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares a transparent text id with display, order and serde.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id from its text.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id! {
    /// A pool. An opencode route keeps its id; others are `openchamber:<id>`, `agent:<id>`, `default:<key>`
    /// with bytes outside `[A-Za-z0-9._-]` percent-encoded (DESIGN §14).
    PoolId
}
text_id! {
    /// A released model version under its canonical name, whoever hosts it and at whatever effort.
    ModelId
}
text_id! {
    /// A provider id as the router spells it.
    ProviderId
}
text_id! {
    /// A home: the plan seat or key whose quota a call draws on.
    HomeId
}
text_id! {
    /// A reasoning effort in lower case; `default` when none is set.
    Effort
}

impl PoolId {
    /// `prefix:name` with every byte of the name outside `[A-Za-z0-9._-]` percent-encoded.
    pub fn prefixed(prefix: &str, name: &str) -> Self {
        use fmt::Write as _;
        let mut text = format!("{prefix}:");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02X}").expect("writing to a String cannot fail");
            }
        }
        Self(text)
    }
}

impl Effort {
    /// The effort of a target without a variant.
    pub fn default_effort() -> Self {
        Self("default".to_owned())
    }

    /// Whether no effort is set.
    pub fn is_default(&self) -> bool {
        self.0 == "default"
    }

    /// Where it stands from lowest to highest; `None` of a word that is no known effort.
    pub fn height(&self) -> Option<usize> {
        const ORDER: [&str; 9] =
            ["non-reasoning", "none", "minimal", "low", "medium", "reasoning", "high", "xhigh", "max"];
        ORDER.iter().position(|known| *known == self.0)
    }
}

/// A member's identity for evidence and proposals: `model@effort#home` (methods §1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberKey {
    /// Canonical model.
    pub model: ModelId,
    /// Effort, `default` when none is set.
    pub effort: Effort,
    /// The home whose quota it draws on.
    pub home: HomeId,
}

impl fmt::Display for MemberKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}#{}", self.model, self.effort, self.home)
    }
}

impl Serialize for MemberKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A target as the router spells it: `provider/model[#variant]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetRef {
    /// Text before the first slash.
    pub provider: ProviderId,
    /// Text between the first slash and the first `#`; may hold slashes.
    pub model: String,
    /// Text after the `#`.
    pub variant: Option<String>,
}

impl TargetRef {
    /// Parses `provider/model[#variant]`: split at the first slash, then at the first `#` after it.
    /// An empty part, a second `#` or a missing slash is an error that says which.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (provider, rest) =
            text.split_once('/').ok_or_else(|| "has no \"/\" between provider and model".to_owned())?;
        let (model, variant) = match rest.split_once('#') {
            Some((model, variant)) => (model, Some(variant)),
            None => (rest, None),
        };
        if provider.is_empty() || provider.contains('#') || model.is_empty() {
            return Err("has an empty provider or model".to_owned());
        }
        if variant.is_some_and(|v| v.is_empty() || v.contains('#')) {
            return Err("has an empty variant or a second \"#\"".to_owned());
        }
        Ok(Self { provider: ProviderId::new(provider), model: model.to_owned(), variant: variant.map(str::to_owned) })
    }

    /// `provider/model`, the key of weights, budgets, cooldown and health; variants share it.
    pub fn weight_key(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

impl fmt::Display for TargetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)?;
        match &self.variant {
            Some(variant) => write!(f, "#{variant}"),
            None => Ok(()),
        }
    }
}

/// The tier of a pool: what a failed task costs, how dear waiting is, which success is too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Cheap and fast look-around work.
    Scout,
    /// The bulk of the work.
    Workhorse,
    /// Hard or delicate work.
    Specialist,
    /// The hardest questions.
    Summit,
}

impl Tier {
    /// Every tier, cheapest first.
    pub const ALL: [Self; 4] = [Self::Scout, Self::Workhorse, Self::Specialist, Self::Summit];

    /// The settings key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scout => "scout",
            Self::Workhorse => "workhorse",
            Self::Specialist => "specialist",
            Self::Summit => "summit",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A check, in print order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckId {
    /// Are the latest models in the pool?
    LatestModel,
    /// Is its lead the best choice?
    BestPerPool,
    /// Are its members right-sized?
    RightSizing,
    /// Is the configuration of the pool and its consumers sound?
    Structure,
}

impl CheckId {
    /// The id used in files, settings, log and markers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LatestModel => "latest-model",
            Self::BestPerPool => "best-per-pool",
            Self::RightSizing => "right-sizing",
            Self::Structure => "structure",
        }
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An input of the review, in print order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceId {
    /// The canonical config: opencode model routes.
    Pools,
    /// `OpenChamber` categories.
    Categories,
    /// Market quality, speed and price: Artificial Analysis.
    Market,
    /// Who offers which id: models.dev.
    Catalogues,
    /// End dates and successors: `LiteLLM` map.
    Retirements,
    /// `OpenRouter`'s own list: its offers, prices and end dates.
    OpenRouter,
    /// Dated prices: genai-prices.
    Prices,
    /// Second opinion on end dates: the retirement list.
    #[serde(rename = "retirement_list")]
    RetirementList,
    /// What providers themselves list: `/v1/models` bodies.
    #[serde(rename = "provider_catalogue")]
    ProviderCatalogue,
    /// Measured speeds.
    Speeds,
    /// Session evidence: scorecards.
    Sessions,
    /// Session stores and rollups of other engines: model calls.
    #[serde(rename = "session_stores")]
    SessionStores,
    /// Quota windows.
    Quotas,
}

impl SourceId {
    /// The id used in tables and reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pools => "pools",
            Self::Categories => "categories",
            Self::Market => "market",
            Self::Catalogues => "catalogues",
            Self::Retirements => "retirements",
            Self::OpenRouter => "openrouter",
            Self::Prices => "prices",
            Self::RetirementList => "retirement_list",
            Self::ProviderCatalogue => "provider_catalogue",
            Self::Speeds => "speeds",
            Self::Sessions => "sessions",
            Self::SessionStores => "session_stores",
            Self::Quotas => "quotas",
        }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
