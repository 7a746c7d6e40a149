//! Everything the checks see of one pool: an immutable view in which each number is known with its source, or unknown with
//! the reason.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::around::MarketView;
use super::book::{EndDate, PriceChange};
use super::cells::OwnEvidence;
use super::fit;
use super::rates::RawRate;
use super::seats::SeatCost;
use super::speed::MemberSpeed;
use super::statistics::calibration::Correction;
use super::statistics::cost::Worth;
use super::statistics::mix::ClassMix;
use super::statistics::severity::Severities;
use super::usage::MemberCalls;
use super::windows::{MemberWindows, WindowRules};
use crate::ring::{Hold, ResolvedRing, RingError, RingMember, Rule};
use crate::vocabulary::{Known, LookKey, LookMemory, Place, PoolId, Prices, RouteDef, SourceId, Tier};

/// Whether a source can be leaned on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Read and fresh.
    Ready,
    /// Not in the settings.
    NotConfigured,
    /// Missing, failed or stale; the reason code (`stale:market`).
    Blocked(String),
}

/// What the operator asks of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requirements {
    /// Slowest output accepted, tokens per second.
    pub min_output_tps: Option<f64>,
    /// Longest wait for the first answer token, seconds.
    pub max_first_answer_s: Option<f64>,
    /// Smallest role-mix index, points.
    pub min_index: Option<f64>,
    /// Largest bill, USD per million task input tokens.
    pub max_bill: Option<f64>,
    /// Largest cost of a task at list price, USD.
    pub max_task_usd: Option<f64>,
}

/// The numbers of a tier that evidence needs.
#[derive(Debug, Clone, PartialEq)]
pub struct TierNumbers {
    /// The tier.
    pub tier: Tier,
    /// Whether it was assumed because none is set.
    pub is_assumed: bool,
    /// Dollars lost when a task fails.
    pub stake_usd: f64,
    /// Dollars per minute of waiting.
    pub minute_usd: f64,
    /// Success rate below which a member is too weak.
    pub floor: f64,
    /// Index name → weight.
    pub index_mix: BTreeMap<String, f64>,
    /// Share of input read from cache.
    pub cache_share: f64,
    /// Input tokens per output token.
    pub input_per_output: f64,
    /// Tokens of a task.
    pub tokens_per_task: f64,
}

/// What becomes of the work of a member that ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Successor {
    /// The named successor is a member already.
    InPool {
        /// Its canonical name.
        model: String,
    },
    /// A held home offers it, policy lets it in, and it does not end earlier.
    Offered {
        /// Its canonical name.
        model: String,
        /// The target to write.
        target: String,
        /// The key of its weight and budget.
        weight_key: String,
    },
    /// None is named, or the named one cannot be used; why, as a fragment.
    Unusable(String),
}

/// A member's end date.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The date and where it is stated.
    pub end: EndDate,
    /// Days from the review to that date; negative when it has passed.
    pub days_left: i64,
    /// What becomes of its work.
    pub successor: Successor,
}

/// What the market says of one member's offer beside its bill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemberMarket {
    /// The announced change of its list price, with the bills before and after.
    pub change: Option<(PriceChange, Option<f64>, Option<f64>)>,
    /// The lower prices of other hours; its bill is that of the highest, an upper bound.
    pub other_hours: Vec<Prices>,
    /// What one source alone says of its list price, while the price of the run before is used.
    pub jump: Option<(SourceId, Prices)>,
    /// What its provider asks for this very offer.
    pub offer_prices: Prices,
    /// Why a price that is written was not taken.
    pub price_note: Option<&'static str>,
    /// What the catalogue says of its state.
    pub status: Option<String>,
    /// Whether its provider's own list has it; `None` without such a list.
    pub is_listed: Option<bool>,
    /// The market's rows of the model at other efforts, where its own effort has none or none is set.
    pub efforts: String,
    /// Its intelligence index as `OpenRouter` repeats it, where the market has none or another: shown, never used.
    pub repeated_index: Option<f64>,
    /// What a call costs on its seat, where the seat's term decides that.
    pub seat: Option<SeatCost>,
}

/// What is known of one member, in ring order.
#[derive(Debug, Clone)]
pub struct MemberEvidence {
    /// `model@effort#home`.
    pub key: String,
    /// `model@effort`: members that share it are the same model on two homes.
    pub model_effort: String,
    /// The target as the router calls it.
    pub target: String,
    /// Configured share, 0 to 1.
    pub share: f64,
    /// Whether policy lets it lead.
    pub may_lead: bool,
    /// Role-mix index in points of one index version.
    pub index: Known<f64>,
    /// Standing 0 to 100 inside this pool's set.
    pub q: Known<f64>,
    /// USD per million task input tokens.
    pub bill: Known<f64>,
    /// Market output speed, tokens per second.
    pub market_tps: Known<f64>,
    /// Market time to the first answer, seconds.
    pub market_first_answer_s: Known<f64>,
    /// Names of imputed indices, and `effort` when another effort's row stands in.
    pub imputed: Vec<String>,
    /// End date of this offer, if one is known.
    pub end: Option<Ending>,
    /// What else the market says of its offer.
    pub market: MemberMarket,
    /// What our own rows say of it in this pool; members of one model at one effort share their rows.
    pub own: OwnEvidence,
    /// Measured speed in this pool.
    pub speed: Option<MemberSpeed>,
    /// What session stores saw of its calls.
    pub calls: MemberCalls,
    /// Its windows.
    pub windows: MemberWindows,
}

impl MemberEvidence {
    /// The raw rate over all classes.
    pub fn rate(&self) -> RawRate {
        self.own.raw
    }

    /// As the fit sees it.
    pub fn market_values(&self) -> fit::MarketValues {
        fit::MarketValues {
            id: self.key.clone(),
            bill: self.bill.get(),
            q: self.q.get(),
            speed: self.market_tps.get(),
            imputed: self.imputed.len(),
        }
    }
}

/// Another definition of the same pool, in another layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// Where it stands.
    pub place: Place,
    /// Whether it differs from the one in force.
    pub differs: bool,
    /// Why the router drops it, if it does: then it is a higher layer's, and the one in force stands in for it.
    pub dropped: Option<String>,
}

/// A category that sends one class of work to a pool, and could send it to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassConsumer {
    /// Its id, `category/<class>`.
    pub id: String,
    /// The file that holds it.
    pub path: String,
    /// Its JSON pointer there.
    pub pointer: String,
}

/// Attempts of a pool in the last two days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeadAttempts {
    /// All of them.
    pub attempts: u64,
    /// Those that the lead answered.
    pub answered: u64,
    /// Whether they are calls that the router logged; else attempts at tasks.
    pub are_calls: bool,
}

impl LeadAttempts {
    /// Attempts from which on a silent lead says something.
    pub const ENOUGH: u64 = 20;

    /// Whether there are enough of them to tell.
    pub fn is_enough(&self) -> bool {
        self.attempts >= Self::ENOUGH
    }
}

/// What is known of a pool's definition beside its ring.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigFacts {
    /// Class of work → the category of that name that names this pool.
    pub classes: BTreeMap<String, ClassConsumer>,
    /// `model@effort` → another pool that it leads; filled in where a class could move there.
    pub led_elsewhere: BTreeMap<String, PoolId>,
    /// Definitions of the same pool that are not in force.
    pub shadows: Vec<Shadow>,
    /// Overrides and notes in force for its members, with the member's target.
    pub holds: Vec<(String, Hold)>,
    /// Attempts of the pool in the last two days, and how many of them the lead answered; `None` where nothing tells.
    pub lead_attempts: Option<LeadAttempts>,
    /// Whether a store is named that would hold the router's log.
    pub has_router_log: bool,
    /// Files that name pools and could not be read: who uses what is then not known.
    pub unread: Vec<String>,
    /// When a review first saw that nothing names the pool.
    pub unused_since: Option<DateTime<Utc>>,
}

/// Everything about one pool.
#[derive(Debug, Clone)]
pub struct PoolEvidence {
    /// The pool.
    pub pool: PoolId,
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Whether a consumer names a model directly: a pool of one without a definition.
    pub is_single: bool,
    /// The ring, or why there is none.
    pub ring: Result<ResolvedRing, RingError>,
    /// The definition.
    pub definition: Option<RouteDef>,
    /// Who names it, sorted.
    pub consumers: Vec<String>,
    /// The files in which consumers were looked for.
    pub consumer_files: Vec<String>,
    /// What is known of its definition beside its ring.
    pub facts: ConfigFacts,
    /// Pointer and rule of violations that a nested pool reports itself.
    pub faults_of_nested: BTreeSet<(String, Rule)>,
    /// Code and counterpart of findings that an earlier scheduled review of this pool made.
    pub seen_before: BTreeSet<(String, String)>,
    /// Targets that an earlier accepted catalogue did not have either.
    pub missing_before: BTreeSet<String>,
    /// Dropped target → variants its model takes.
    pub variants: BTreeMap<String, Vec<String>>,
    /// Tier.
    pub tier: TierNumbers,
    /// Requirements.
    pub requirements: Requirements,
    /// Members in ring order; empty without a ring.
    pub members: Vec<MemberEvidence>,
    /// Index of the lead in `members`.
    pub lead: Option<usize>,
    /// Whether its members carry weights (weighted or round-robin selection).
    pub is_weighted: bool,
    /// What the market shows around it.
    pub market: MarketView,
    /// Which sources can be leaned on.
    pub readiness: BTreeMap<SourceId, Readiness>,
    /// The pool's own class mix.
    pub mix: ClassMix,
    /// Tasks of the idle span by the member that got them first: `model@effort` → tasks.
    pub assigned: BTreeMap<String, u64>,
    /// Days of that span.
    pub assigned_days: f64,
    /// Age from which on a row is scored, hours.
    pub mature_hours: f64,
    /// What windows are judged by.
    pub window_rules: WindowRules,
    /// What earlier looks left behind, by comparison.
    pub looks: BTreeMap<LookKey, LookMemory>,
    /// Axis → when a change on it landed last.
    pub landed: BTreeMap<String, DateTime<Utc>>,
    /// Scores of model judges, severity corrected: shown beside success, never inside it.
    pub judged: Severities,
    /// Rows of the pool's own sessions left out, by reason.
    pub excluded: BTreeMap<String, u64>,
    /// Tasks of the pool in the last days of the idle rule.
    pub recent_tasks: u64,
    /// Member keys without a task in those days.
    pub idle: BTreeSet<String>,
    /// How claims are told, from how the reviewer's last ones came true.
    pub correction: Correction,
}

impl PoolEvidence {
    /// The variants the model of a dropped target takes.
    pub fn variants_of(&self, target: &str) -> &[String] {
        self.variants.get(target).map_or(&[], Vec::as_slice)
    }

    /// The lead.
    pub fn lead(&self) -> Option<&MemberEvidence> {
        self.members.get(self.lead?)
    }

    /// The members that are not the lead and may lead.
    pub fn alternatives(&self) -> impl Iterator<Item = &MemberEvidence> {
        let lead = self.lead;
        self.members.iter().enumerate().filter(move |(i, member)| Some(*i) != lead && member.may_lead).map(|(_, m)| m)
    }

    /// The members whose line this pool holds itself; those of nested pools are that pool's business.
    pub fn own_members(&self) -> impl Iterator<Item = &MemberEvidence> {
        self.members
            .iter()
            .filter(|member| self.ring_member(&member.key).is_some_and(|ring| ring.listed_in == self.pool))
    }

    /// The ring member of a key.
    pub fn ring_member(&self, key: &str) -> Option<&RingMember> {
        self.ring.as_ref().ok()?.members().iter().find(|member| member.key.to_string() == key)
    }

    /// Where the line stands that brings a member in.
    pub fn place_of(&self, key: &str) -> Option<Place> {
        self.ring_member(key).map(|member| member.place.clone())
    }

    /// The JSON pointer of a member's line, when this pool holds it and no pattern brings it in.
    pub fn pointer_of(&self, key: &str) -> Option<String> {
        let member = self.ring_member(key).filter(|member| member.listed_in == self.pool && !member.by_pattern)?;
        Some(member.pointer.clone())
    }

    /// What a failed task and a minute are worth here.
    pub fn worth(&self) -> Worth {
        Worth { stake_usd: self.tier.stake_usd, minute_usd: self.tier.minute_usd }
    }

    /// Tasks of the pool per day, over the idle span.
    #[expect(clippy::cast_precision_loss, reason = "task counts stay far below 2^53")]
    pub fn tasks_per_day(&self) -> f64 {
        self.recent_tasks as f64 / self.assigned_days
    }

    /// Weighted rows of two members that came in since an instant.
    #[expect(clippy::cast_possible_truncation, reason = "hours of maturity are few")]
    pub fn rows_since(&self, a: &MemberEvidence, b: &MemberEvidence, at: DateTime<Utc>) -> f64 {
        let mature_s = (self.mature_hours * 3600.0) as i64;
        let of = |member: &MemberEvidence| member.own.rows_since(at.timestamp(), mature_s);
        of(a) + if a.model_effort == b.model_effort { 0.0 } else { of(b) }
    }

    /// Whether a source can be leaned on.
    pub fn readiness(&self, source: SourceId) -> &Readiness {
        self.readiness.get(&source).unwrap_or(&Readiness::NotConfigured)
    }
}
