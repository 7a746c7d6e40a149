//! Which pool the calls of session stores belong to (reference sessions §7.6): the router's word, the session's pool, the
//! only pool that holds the member. Calls that fit several pools count for their member and for no pool.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::identity::Identity;
use crate::vocabulary::{CallKey, Effort, ModelId, ProviderId, StatedPool};

/// A pool and a member it holds today.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// The pool.
    pub pool: String,
    /// Provider of the member.
    pub provider: String,
    /// Canonical model.
    pub model: ModelId,
    /// Effort.
    pub effort: Effort,
}

/// How the pool of a call was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The router logged it.
    RouteAttempt,
    /// Its session names it.
    Session,
    /// Only one pool holds the member: inferred.
    Member,
    /// Several pools hold it, or its session is said to be of several.
    Ambiguous,
    /// No pool holds it.
    Outside,
}

impl Way {
    /// Every way, in print order.
    pub const ALL: [Self; 5] = [Self::RouteAttempt, Self::Session, Self::Member, Self::Ambiguous, Self::Outside];

    /// The word in notes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RouteAttempt => "route_attempt",
            Self::Session => "session",
            Self::Member => "member",
            Self::Ambiguous => "ambiguous",
            Self::Outside => "outside",
        }
    }
}

/// What the pools hold, and which pool a session was opened on.
pub struct Pools<'a> {
    /// Names.
    identity: &'a Identity,
    /// Provider and model → pool → efforts.
    holders: BTreeMap<(String, ModelId), BTreeMap<String, BTreeSet<Effort>>>,
    /// Ids of pools.
    ids: BTreeSet<String>,
    /// Session → pool, from scorecards and the babysitter log; `None` where they name several.
    sessions: &'a BTreeMap<String, Option<String>>,
    /// Provider → name → what it means: thousands of rows name a handful of models.
    models: RefCell<BTreeMap<String, BTreeMap<String, Option<ModelId>>>>,
}

impl<'a> Pools<'a> {
    /// Sorts what the pools hold.
    pub fn new(
        identity: &'a Identity,
        holders: impl IntoIterator<Item = Holder>,
        sessions: &'a BTreeMap<String, Option<String>>,
    ) -> Self {
        let models = RefCell::default();
        let mut pools = Self { identity, holders: BTreeMap::new(), ids: BTreeSet::new(), sessions, models };
        for Holder { pool, provider, model, effort } in holders {
            pools.ids.insert(pool.clone());
            pools.holders.entry((provider, model)).or_default().entry(pool).or_default().insert(effort);
        }
        pools
    }

    /// The pool of some calls, and how it was found.
    pub fn of(&self, key: &CallKey) -> (Option<String>, Way) {
        match &key.stated {
            StatedPool::Attempt(pool) => return (pool.clone(), Way::RouteAttempt),
            StatedPool::Session(pool) => return (Some(self.known(pool)), Way::Session),
            StatedPool::Nothing => {}
        }
        match self.sessions.get(&key.session) {
            Some(Some(pool)) => return (Some(pool.clone()), Way::Session),
            Some(None) => return (None, Way::Ambiguous),
            None => {}
        }
        if self.holders.is_empty() {
            return (None, Way::Outside);
        }
        // The name as written where it cannot be matched.
        let model = self.model(&key.provider, &key.model).unwrap_or_else(|| ModelId::new(key.model.to_lowercase()));
        let effort = key.effort.as_deref().map(|effort| Effort::new(effort.to_lowercase()));
        let mut found = self
            .holders
            .get(&(key.provider.clone(), model))
            .into_iter()
            .flatten()
            .filter(|(_, efforts)| effort.as_ref().is_none_or(|effort| efforts.contains(effort)))
            .map(|(pool, _)| pool);
        match (found.next(), found.next()) {
            (Some(only), None) => (Some(only.clone()), Way::Member),
            (Some(_), Some(_)) => (None, Way::Ambiguous),
            (None, _) => (None, Way::Outside),
        }
    }

    /// The canonical model of an offer; `None` where it cannot be matched.
    pub fn model(&self, provider: &str, model: &str) -> Option<ModelId> {
        if let Some(known) = self.models.borrow().get(provider).and_then(|models| models.get(model)) {
            return known.clone();
        }
        let found = self.identity.offer(&ProviderId::new(provider), model).model().cloned();
        self.models.borrow_mut().entry(provider.to_owned()).or_default().insert(model.to_owned(), found.clone());
        found
    }

    /// A pool as a gateway names it: `litellm:` goes before it where only that pool exists.
    fn known(&self, pool: &str) -> String {
        let prefixed = format!("litellm:{pool}");
        if !self.ids.contains(pool) && self.ids.contains(&prefixed) { prefixed } else { pool.to_owned() }
    }
}
