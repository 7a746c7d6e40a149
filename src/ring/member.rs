//! One member of a ring: who it is, how it came in, and what may be done with it.

use std::collections::BTreeMap;

use crate::vocabulary::{Budget, MemberKey, Place, PoolId, TargetRef};

/// What the home of a provider begins with that no home of the settings has. An id of the settings holds no slash.
pub(super) const UNASSIGNED: &str = "unassigned/";

/// One member of a ring.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent claims about a member, each named")]
pub struct RingMember {
    /// Identity for evidence: canonical model, effort, home.
    pub key: MemberKey,
    /// The target as the router calls it.
    pub target: TargetRef,
    /// Whether its name was matched to a canonical model; if not the key holds the name as written.
    pub is_matched: bool,
    /// Whether its home is a plan home.
    pub on_plan_home: bool,
    /// Whether the catalogue or the config shows that it exists.
    pub is_listed: bool,
    /// Weight where it is listed.
    pub weight: f64,
    /// Configured share of the pool's tasks, 0 to 1.
    pub share: f64,
    /// Whether policy lets it lead.
    pub may_lead: bool,
    /// End of the membership, epoch milliseconds.
    pub until_ms: Option<i64>,
    /// Its budget: that of the outermost route on the way which names it.
    pub budget: Option<Box<Budget>>,
    /// Variant used when the pool is chosen without one.
    pub default_variant: Option<String>,
    /// Variant of the pool → variant of the member, where they differ.
    pub variant_map: BTreeMap<String, String>,
    /// The route that lists it: the pool itself, or one nested in it.
    pub listed_in: PoolId,
    /// The JSON pointer of the entry that brings it in.
    pub pointer: String,
    /// Where that entry stands.
    pub place: Place,
    /// Whether a pattern brought it in.
    pub by_pattern: bool,
    /// Whether it is a fallback.
    pub is_fallback: bool,
    /// Variants a pool over it may offer; `None` when its own is pinned.
    pub offers: Option<Vec<String>>,
}

impl RingMember {
    /// A model outside the pool as it would stand in it, for asking the policy.
    pub fn candidate(pool: &PoolId, target: TargetRef, key: MemberKey, on_plan_home: bool) -> Self {
        Self {
            key,
            target,
            is_matched: true,
            on_plan_home,
            is_listed: true,
            weight: 1.0,
            share: 0.0,
            may_lead: false,
            until_ms: None,
            budget: None,
            default_variant: None,
            variant_map: BTreeMap::new(),
            listed_in: pool.clone(),
            pointer: String::new(),
            place: Place::new(String::new(), 1),
            by_pattern: false,
            is_fallback: false,
            offers: None,
        }
    }

    /// Whether the settings say which home its provider belongs to.
    pub fn has_home(&self) -> bool {
        !self.key.home.as_str().starts_with(UNASSIGNED)
    }

    /// How it came into a pool, as a fragment: directly, through a nested pool, by a pattern, as a fallback.
    pub fn way_in(&self, pool: &PoolId) -> String {
        let mut way =
            if self.listed_in == *pool { "direct".to_owned() } else { format!("nested in {}", self.listed_in) };
        if self.by_pattern {
            way.push_str(", by a pattern");
        }
        if self.is_fallback {
            way.push_str(", as a fallback");
        }
        way
    }
}
