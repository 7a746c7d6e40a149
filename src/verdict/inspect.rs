//! What `explain <pool>` and `doctor` show: plain values, so that the outputs room can render them without knowing rings or sources.

use chrono::{DateTime, Utc};

use crate::vocabulary::{Place, SourceNote};

/// One pool as resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolView {
    /// Its id.
    pub id: String,
    /// The kind of file that defines it.
    pub format: &'static str,
    /// Where its definition stands.
    pub place: Place,
    /// Tier, and whether it is assumed.
    pub tier: (&'static str, bool),
    /// Owner, if one is named.
    pub owner: Option<String>,
    /// How a new session picks.
    pub selection: &'static str,
    /// Members in order; empty without a ring.
    pub members: Vec<MemberView>,
    /// Target of the lead.
    pub lead: Option<String>,
    /// Why there is no ring.
    pub no_ring: Option<String>,
    /// What the router drops: target, reason, place.
    pub dropped: Vec<(String, &'static str, Place)>,
    /// Members kept out by policy.
    pub violations: Vec<ViolationView>,
    /// Other definitions of the pool: place, and what became of them.
    pub shadows: Vec<(Place, String)>,
    /// Who names it: consumer, and where.
    pub consumers: Vec<(String, Option<Place>)>,
    /// Variants a consumer may ask for.
    pub offers_variants: Vec<String>,
    /// How its rotation spreads work.
    pub rotation: Option<RotationView>,
    /// Digest of the definition, and of the policy it was held against; `None` without a ring.
    pub digests: Option<(String, String)>,
}

/// One member of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberView {
    /// The target as the router calls it.
    pub target: String,
    /// `model@effort`.
    pub model: String,
    /// The home whose quota it draws on.
    pub home: String,
    /// Configured share, 0 to 1.
    pub share: f64,
    /// Weight where it is listed.
    pub weight: f64,
    /// How it came in.
    pub way_in: String,
    /// Where the line stands that brings it in.
    pub place: Place,
    /// End of its membership.
    pub until: Option<DateTime<Utc>>,
    /// Its budget as written.
    pub budget: Option<String>,
    /// What the policy says of it.
    pub policy: String,
    /// Overrides and notes in force for it: what they do, and where they stand.
    pub holds: Vec<(String, Place)>,
}

/// A member that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ViolationView {
    /// The target.
    pub target: String,
    /// The rule.
    pub rule: &'static str,
    /// What exactly is wrong.
    pub detail: String,
    /// Where the rule stands.
    pub setting: String,
    /// How the member came in.
    pub way_in: String,
    /// Where its line stands.
    pub place: Place,
}

/// The two rings of a rotation.
#[derive(Debug, Clone, PartialEq)]
pub struct RotationView {
    /// The first member of each child, in order; the letters of the rings stand for them.
    pub members: Vec<String>,
    /// Each child its weight in a row.
    pub block: String,
    /// As evenly spread as the weights allow.
    pub smooth: String,
    /// After so many jobs: largest count error of block and smooth, and who gets nothing in a block ring.
    pub errors: Vec<(usize, f64, f64, Vec<String>)>,
    /// The member that is down, and the share each of the others then gets in a smooth ring.
    pub skipped: Vec<(String, Vec<(String, f64)>)>,
}

/// One config file.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerView {
    /// Its path.
    pub path: String,
    /// What kind of file it is.
    pub kind: &'static str,
    /// Why it gave nothing, if it did not.
    pub unused: Option<String>,
    /// Pools whose definition here is in force.
    pub pools: Vec<String>,
    /// Pools whose definition here is not: replaced by a higher layer, or dropped by the router.
    pub replaced: Vec<String>,
    /// Consumers it states.
    pub consumers: Vec<String>,
    /// What else it gives.
    pub facts: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DoctorView {
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Config files, lowest layer first.
    pub layers: Vec<LayerView>,
    /// How each source was read.
    pub sources: Vec<SourceNote>,
    /// Names that could not be matched: source, name, suggestion.
    pub unmatched: Vec<(String, String, Option<String>)>,
}
