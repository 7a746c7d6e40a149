//! The flags of `proposals`.

use clap::{Args, Subcommand};

use super::FileArgs;

/// What a steward can do with proposals.
#[derive(Debug, Subcommand)]
pub enum ProposalsVerb {
    /// List open proposals, or those that are asked for
    List(ListArgs),
    /// Show one proposal: its life, its claim, its conditions
    Show {
        /// R and its number, its fingerprint, or how that begins
        #[arg(value_name = "ID")]
        id: String,
        /// Where the settings are
        #[command(flatten)]
        file: FileArgs,
    },
    /// Print the patch for `git apply`; refused when the pool's definition has moved since the review
    Patch(PatchArgs),
    /// Record that it will be landed
    Accept(DecideArgs),
    /// Record that it will not be landed; it is not argued again until the condition holds or the date passes
    Reject(RejectArgs),
    /// Record that it sleeps until a day
    Defer(DeferArgs),
    /// Record that it was landed; only the config's digest lands it
    Landed(MessageArgs),
    /// Record that a landed change is to be taken back; only the config's digest rolls it back. Stops a test that is under way
    Rollback(MessageArgs),
}

/// Flags of `proposals list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Every proposal, also those that ended
    #[arg(long)]
    pub all: bool,
    /// Only those with this status; may be repeated
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',', value_parser = STATUSES)]
    pub statuses: Vec<String>,
    /// Only those of this pool; may be repeated
    #[arg(long = "pool", value_name = "POOL")]
    pub pools: Vec<String>,
    /// Where the settings are
    #[command(flatten)]
    pub file: FileArgs,
}

/// Flags of `proposals patch`.
#[derive(Debug, Args)]
pub struct PatchArgs {
    /// R and its number, its fingerprint, or how that begins
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print the way back of a landed change
    #[arg(long)]
    pub rollback: bool,
    /// Where the settings are
    #[command(flatten)]
    pub file: FileArgs,
}

/// About which proposal, and who speaks.
#[derive(Debug, Args)]
pub struct AboutArgs {
    /// R and its number, its fingerprint, or how that begins
    #[arg(value_name = "ID")]
    pub id: String,
    /// Who decides
    #[arg(long, value_name = "NAME", default_value = "steward")]
    pub by: String,
    /// The revision that was read; another one is refused
    #[arg(long, value_name = "N")]
    pub revision: Option<u64>,
    /// Where the settings are
    #[command(flatten)]
    pub file: FileArgs,
}

/// Flags of `proposals accept`.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// About which one
    #[command(flatten)]
    pub about: AboutArgs,
    /// Why, in at most 400 characters
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

/// Flags of `proposals reject`.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// About which one
    #[command(flatten)]
    pub decide: DecideArgs,
    /// Argue it again from this day on
    #[arg(long, value_name = "DAY")]
    pub until: Option<String>,
    /// Argue it again when this holds
    #[arg(long, value_name = "CONDITION", value_parser = CONDITIONS, default_value = "effect_grows_beyond_hi90")]
    pub unless: String,
}

/// Flags of `proposals defer`.
#[derive(Debug, Args)]
pub struct DeferArgs {
    /// About which one
    #[command(flatten)]
    pub decide: DecideArgs,
    /// Sleep until this day
    #[arg(long, value_name = "DAY")]
    pub until: String,
    /// Wake before that when this holds
    #[arg(long, value_name = "CONDITION", value_parser = CONDITIONS, default_value = "never")]
    pub unless: String,
}

/// Flags of `proposals landed` and `proposals rollback`.
#[derive(Debug, Args)]
pub struct MessageArgs {
    /// About which one
    #[command(flatten)]
    pub about: AboutArgs,
    /// Why, in at most 400 characters
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Every status, in the order of a life.
const STATUSES: [&str; 13] = [
    "proposed",
    "accepted",
    "rejected",
    "deferred",
    "superseded",
    "expired",
    "withdrawn",
    "landed",
    "verifying",
    "confirmed",
    "refuted",
    "inconclusive",
    "rolled_back",
];

/// What can raise a proposal that sleeps.
const CONDITIONS: [&str; 3] = ["never", "effect_grows_beyond_hi90", "config_changes"];
