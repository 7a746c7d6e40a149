//! What was before: the ledger, how this run's outcomes and proposals relate to it, and the cadence of runs.
//! Everything here is a pure function of text and values; the outputs room does the writing.

mod base;
mod baseline;
mod cadence;
mod chain;
mod checkpoint;
mod compare;
mod damage;
mod facts;
mod issues;
mod kept;
mod ledger;
mod lifecycle;
mod listing;
mod lives;
mod looks;
mod market;
mod measured;
mod pairs;
mod reading;
mod settle;
mod standing;
mod standings;
mod untouched;

pub use baseline::{Current, Previous, baseline_state};
pub use cadence::{Cadence, CadenceEvent, Gaps, LATE_MINUTES, NextDue, Rhythm, RunTimes};
pub use checkpoint::{Checkpoint, EDGE, Stamp};
pub use compare::{SeenNow, compare, run_facts};
pub use facts::{
    Fact, FindingKey, FirstSeenFact, OutcomeFact, OutcomeState, PoolVerdicts, ProposalFact, ProposalState, RunFact,
};
pub use issues::{IssueFact, IssueMemory, IssueStep, Standing, StepState, issue_memories};
pub use ledger::{END_OF_RUNS, Event, Ledger, Past, ProposalRuns};
pub use lifecycle::{Decision, DecisionFact, Status, TriggerFact, Unless, VerificationFact};
pub use listing::{Listing, ListingChange, changes};
pub use lives::{Decided, Landing, Life, Lives, Measurement};
pub use looks::{LookFact, LooksFact};
pub use market::{MarketEvent, MarketFile, MarketMemory, Missing};
pub use measured::{
    BoundCheckFact, BoundFact, BoundOutcome, BoundsFact, MeasuredNow, Measures, MixesFact, Touch, Touches,
};
pub use reading::{Read, Reading};
pub use settle::{Asks, DigestNow, Fate, Settlement, settle_proposals};
pub use standing::stand;
pub use standings::{Dues, ruling};
pub use untouched::{ProposalFiles, Untouched};
