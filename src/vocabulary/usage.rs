//! What session stores saw of model calls: one row per source, UTC day, pool and member, as counts that add. A call is no
//! task: these rows say how often a member could be reached, what it used and who got the traffic, never how well it did.

use chrono::{DateTime, NaiveDate, Utc};

use super::{Effort, HomeId, PoolId, ProviderId, StoreKind, Usd};

/// Who saw a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallSource {
    /// The router's own log in opencode's database.
    RouteAttempt,
    /// opencode's messages.
    Opencode,
    /// Claude Code transcripts.
    ClaudeCode,
    /// Codex rollouts.
    Codex,
    /// `LiteLLM` spend logs.
    Litellm,
    /// Another engine's rollup, by the name it gives its source.
    Other(String),
}

/// What is taken from one source per member and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Calls, those lost to availability, retries, quota hits.
    Calls,
    /// Output and the time it took.
    Speed,
    /// Tokens by kind.
    Tokens,
    /// Dollars.
    Cost,
}

impl CallSource {
    /// The source of a name in the column `source` of a rollup.
    pub fn named(name: &str) -> Self {
        match StoreKind::ALL.into_iter().find(|kind| kind.as_str() == name) {
            Some(kind) => Self::of(kind),
            None if name == "route_attempt" => Self::RouteAttempt,
            None => Self::Other(name.to_owned()),
        }
    }

    /// The source of a kind of store.
    pub fn of(kind: StoreKind) -> Self {
        match kind {
            StoreKind::ClaudeCode => Self::ClaudeCode,
            StoreKind::Codex => Self::Codex,
            StoreKind::Opencode => Self::Opencode,
            StoreKind::Litellm => Self::Litellm,
        }
    }

    /// Its name in notes and remarks.
    pub fn as_str(&self) -> &str {
        match self {
            Self::RouteAttempt => "route_attempt",
            Self::Opencode => StoreKind::Opencode.as_str(),
            Self::ClaudeCode => StoreKind::ClaudeCode.as_str(),
            Self::Codex => StoreKind::Codex.as_str(),
            Self::Litellm => StoreKind::Litellm.as_str(),
            Self::Other(name) => name,
        }
    }

    /// Its place among the sources of a quantity, first 0 (reference sessions §7.7). What another engine counted goes last.
    pub fn rank(&self, quantity: Quantity) -> u8 {
        let [routed, opencode, client, gateway] = match quantity {
            Quantity::Calls => [0, 2, 3, 1],
            Quantity::Speed | Quantity::Tokens => [0, 0, 1, 2],
            Quantity::Cost => [1, 1, 2, 0],
        };
        match self {
            Self::RouteAttempt => routed,
            Self::Opencode => opencode,
            Self::ClaudeCode | Self::Codex => client,
            Self::Litellm => gateway,
            Self::Other(_) => 4,
        }
    }
}

/// Counts of some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallCounts {
    /// Calls, answered or not.
    pub calls: u64,
    /// Those lost to limits, overload, authentication or the network.
    pub infra: u64,
    /// Calls with tokens.
    pub responses: u64,
    /// Responses whose output is a lower bound.
    pub incomplete: u64,
    /// Uncached input, cache read, cache write, output with reasoning.
    pub tokens: [u64; 4],
    /// Dollars of the responses whose cost is known, as billed where anything is billed.
    pub cost: Usd,
    /// How many those are.
    pub n_cost: u64,
    /// Retries.
    pub retries: u64,
    /// Limit messages.
    pub quota_hits: u64,
    /// Times a session stood still, as the babysitter saw it.
    pub stalls: u64,
}

impl CallCounts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.infra = self.infra.saturating_add(other.infra);
        self.responses = self.responses.saturating_add(other.responses);
        self.incomplete = self.incomplete.saturating_add(other.incomplete);
        for (sum, more) in self.tokens.iter_mut().zip(other.tokens) {
            *sum = sum.saturating_add(more);
        }
        self.cost.add(other.cost);
        self.n_cost = self.n_cost.saturating_add(other.n_cost);
        self.retries = self.retries.saturating_add(other.retries);
        self.quota_hits = self.quota_hits.saturating_add(other.quota_hits);
        self.stalls = self.stalls.saturating_add(other.stalls);
    }
}

/// The calls of one source, day, pool and member.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// Who saw them.
    pub source: CallSource,
    /// UTC day.
    pub day: NaiveDate,
    /// Pool; `None` when none can be named.
    pub pool: Option<PoolId>,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` is unrecorded.
    pub effort: Option<Effort>,
    /// Home, if known.
    pub home: Option<HomeId>,
    /// Their counts.
    pub counts: CallCounts,
}

/// Calls that the router logged for one pool and member, with the span they fall in.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedCalls {
    /// The root pool.
    pub pool: PoolId,
    /// Provider as written.
    pub provider: ProviderId,
    /// Model as written.
    pub model: String,
    /// Effort; `None` is unrecorded.
    pub effort: Option<Effort>,
    /// First and last call.
    pub span: (DateTime<Utc>, DateTime<Utc>),
    /// Calls, answered or not.
    pub calls: u64,
    /// Those that were answered.
    pub answered: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources of a quantity in the order in which they are asked; those of one place together.
    fn order(quantity: Quantity) -> Vec<String> {
        let names = ["warehouse", "litellm", "claude-code", "codex", "opencode", "route_attempt"];
        let mut sources: Vec<CallSource> = names.into_iter().map(CallSource::named).collect();
        sources.sort_by_key(|source| (source.rank(quantity), source.as_str().to_owned()));
        let mut places: Vec<(u8, String)> = Vec::new();
        for source in &sources {
            match places.last_mut().filter(|(rank, _)| *rank == source.rank(quantity)) {
                Some((_, together)) => *together = format!("{together} {}", source.as_str()),
                None => places.push((source.rank(quantity), source.as_str().to_owned())),
            }
        }
        places.into_iter().map(|(_, names)| names).collect()
    }

    #[test]
    fn the_order_of_sources_is_that_of_the_reference() {
        assert_eq!(order(Quantity::Calls), ["route_attempt", "litellm", "opencode", "claude-code codex", "warehouse"]);
        assert_eq!(order(Quantity::Speed), ["opencode route_attempt", "claude-code codex", "litellm", "warehouse"]);
        assert_eq!(order(Quantity::Tokens), ["opencode route_attempt", "claude-code codex", "litellm", "warehouse"]);
        assert_eq!(order(Quantity::Cost), ["litellm", "opencode route_attempt", "claude-code codex", "warehouse"]);
    }
}
