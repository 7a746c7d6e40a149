//! The words every room shares: ids, numbers with their three states, prices, source rows and digests.
//! Nothing here reads a file, knows the clock or depends on another room.

mod calls;
mod digest;
mod fleet;
mod ids;
mod known;
mod looks;
mod place;
mod prices;
mod quota;
mod rows;

pub use calls::{CallKey, CallRow, CallSums, StatedPool, StoreEvents, StoreKind, Timed, used};
pub use digest::{Digest, canonical_json, git_blob, sha256_hex, subtree_digest};
pub use fleet::{
    ConfigModel, Layer, LayerState, OverrideAction, PoolFormat, ProviderRule, RouteOverride, Term, TuningNote,
};
pub use ids::{CheckId, Effort, HomeId, MemberKey, ModelId, PoolId, ProviderId, SourceId, TargetRef, Tier};
pub use known::{Known, Provenance};
pub use looks::{LookKey, LookMemory};
pub use place::{ConfigFile, Place};
pub use prices::{Hours, PriceBand, PriceWhen, Prices, RememberedPrice, as_number, next_change, prices_at};
pub use quota::{REVIEW_HOURS, WindowAge, WindowRemark, hours_between};
pub use rows::{
    Budget, CatalogueOffer, Consumer, ConsumerTarget, FleetConfig, JudgeScore, ListedEnd, MarketModel, Outcome,
    PriceRow, ProviderList, QuotaHome, QuotaWindow, Reject, RetirementRow, RouteDef, RouteTarget, ScorecardRow,
    Selection, SitterEvent, SitterRow, SourceNote, SourceState, SpeedRow, TargetKind, TaskTokens, UnknownKey,
    WeightDef, WindowStatus,
};
