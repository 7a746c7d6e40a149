//! The words every room shares: ids, numbers with their three states, prices, source rows and digests.
//! Nothing here reads a file, knows the clock or depends on another room.

mod calls;
mod charge;
mod digest;
mod fleet;
mod ids;
mod known;
mod looks;
mod market;
mod money;
mod note;
mod own;
mod place;
mod prices;
mod quota;
mod routes;
mod usage;
mod windows;

pub use calls::{CallKey, CallRow, CallSums, StatedPool, StoreEvents, StoreKind, Timed, used};
pub use charge::{Bill, Charge, PromptBand, ServiceTier, prices_of};
pub use digest::{Digest, canonical_json, fnv1a_hex, git_blob, sha256_hex, subtree_digest};
pub use fleet::{
    ConfigModel, Layer, LayerState, OMO_VARIANTS, OverrideAction, PoolFormat, ProviderRule, RouteOverride, Term,
    TuningNote,
};
pub use ids::{CheckId, Effort, HomeId, MemberKey, ModelId, PoolId, ProviderId, SourceId, TargetRef, Tier};
pub use known::{Known, Provenance};
pub use looks::{LookKey, LookMemory};
pub use market::{CatalogueOffer, ListedEnd, MarketModel, PriceRow, ProviderList, RetirementRow};
pub use money::{Usd, UsdSquared};
pub use note::{Reject, SourceNote, SourceState};
pub use own::{JudgeScore, Outcome, ScorecardRow, SitterEvent, SitterRow, SpeedRow, TaskTokens};
pub use place::{ConfigFile, Place};
pub use prices::{Hours, PriceBand, PriceWhen, Prices, RememberedPrice, as_number, next_change, prices_at};
pub use quota::{REVIEW_HOURS, WindowAge, WindowRemark, hours_between};
pub use routes::{
    Budget, Consumer, ConsumerTarget, FleetConfig, RouteDef, RouteTarget, Selection, TargetKind, UnknownKey, WeightDef,
};
pub use usage::{CallCounts, CallSource, Quantity, RoutedCalls, UsageRow};
pub use windows::{KeptReading, KeptReadings, LimitReading, LimitedWindow, QuotaHome, QuotaWindow, WindowStatus};
