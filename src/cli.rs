//! Verbs, flags and exit codes. Parsing a flag is here; what it means is elsewhere.

mod proposals;

use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use proposals::{AboutArgs, DecideArgs, ListArgs, PatchArgs, ProposalsVerb};

/// Audits the model pools of an AI-agent fleet. It never edits config.
#[derive(Debug, Parser)]
#[command(name = "pool-review", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// Folder that paths of the instruction file are relative to
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Review instant instead of the clock, RFC 3339 (2026-11-29T12:00:00Z)
    #[arg(long, global = true, value_name = "INSTANT", value_parser = instant)]
    pub now: Option<DateTime<Utc>>,
    /// Take a --now that lies before the last run of the ledger, or far ahead of the clock
    #[arg(long, global = true)]
    pub force_now: bool,
    /// How to print the answer
    #[arg(long, global = true, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Print nothing but errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// An instant of the command line.
fn instant(text: &str) -> Result<DateTime<Utc>, &'static str> {
    text.parse().map_err(|_| "write it like 2026-11-29T12:00:00Z")
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Lines for people
    Human,
    /// One JSON document
    Json,
    /// A table with a header line; for `sessions`
    Csv,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run one audit: read everything, judge every pool, write log, proposals and ledger
    Review(ReviewArgs),
    /// Bring market data and provider lists into the data folder; the only verb that asks servers for them
    Fetch(FetchArgs),
    /// Stay and run a review whenever one is due; SIGTERM ends it, SIGHUP reads the settings again
    Watch(WatchArgs),
    /// Show the last runs, what was missed, what is due next, and why a run was silent
    Status(StatusArgs),
    /// List, show, decide and hand out proposals: what a steward does
    Proposals {
        /// What to do
        #[command(subcommand)]
        verb: ProposalsVerb,
    },
    /// Print a short instruction for a steward agent
    StewardKit,
    /// Compare two runs: only outcomes that moved
    Diff {
        /// Run id (20261129T120000Z), or `last` or `previous`
        #[arg(value_name = "BEFORE", default_value = "previous")]
        before: String,
        /// The same of the later run
        #[arg(value_name = "AFTER", default_value = "last")]
        after: String,
        /// Where the settings are
        #[command(flatten)]
        file: FileArgs,
    },
    /// Write a commented instruction file from what is on this machine; never overwrites one
    Init(InitArgs),
    /// Print a unit for an outside scheduler; installs nothing
    Schedule {
        /// Which scheduler
        #[arg(value_enum)]
        target: Target,
        /// Where the settings are
        #[command(flatten)]
        file: FileArgs,
    },
    /// Print a completion script
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Print what our own sessions say of each model at each effort: tokens, speed, cost, mishaps
    Sessions(SessionsArgs),
    /// Print the page of a check, what a code means, or a pool as the router resolves it
    Explain(ExplainArgs),
    /// List every config file in layer order with what it gave, how fresh each source is, and which names were not matched
    Doctor(DoctorArgs),
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// latest-model, best-per-pool, right-sizing or structure; a code such as `dead_weight`; or the name of a pool
    #[arg(value_name = "CHECK|CODE|POOL")]
    pub topic: String,
    /// The instruction file, for pools
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The instruction file: settings and policy
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
    /// Print the match table instead: what every name of the market means and by what it was decided
    #[arg(long)]
    pub names: bool,
}

/// Flags of `review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The instruction file: settings and policy
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
    /// Exit with 10 when proposals are open
    #[arg(long)]
    pub exit_code: bool,
    /// Look at the tracker (`issues.repository`) and file, update and close issues there; without it nothing is sent
    #[arg(long)]
    pub file_issues: bool,
    /// Take market bodies that lost more rows than `market.coverage` allows, as the new measure
    #[arg(long)]
    pub accept_fewer: bool,
}

/// Flags of `fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// The instruction file: settings and policy
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
    /// Only these sources: market, catalogues, retirements, openrouter, prices, `retirement_list`, `provider_catalogue`,
    /// `spend_logs`
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// Ask even for bodies that are fresh
    #[arg(long)]
    pub force: bool,
    /// Take a body that lost more rows than `market.coverage` allows
    #[arg(long)]
    pub accept_fewer: bool,
}

/// Where the settings are.
#[derive(Debug, Clone, Args)]
pub struct FileArgs {
    /// The instruction file: settings and policy
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
}

/// Flags of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Where the settings are.
    #[command(flatten)]
    pub file: FileArgs,
    /// Start up to so many seconds after a review is due, so that many machines do not all start at once
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub jitter: u32,
    /// File issues in every review, as `review --file-issues` does
    #[arg(long)]
    pub file_issues: bool,
}

/// Flags of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Where the settings are.
    #[command(flatten)]
    pub file: FileArgs,
    /// Exit with 1 when the job is not healthy: failed, killed, missed or stale
    #[arg(long)]
    pub check: bool,
    /// Also write the numbers for Prometheus to `metrics.prom` in the reports folder
    #[arg(long)]
    pub prometheus: bool,
    /// Show instead how our own claims came true: landed changes, measured
    #[arg(long, conflicts_with_all = ["check", "prometheus"])]
    pub calibration: bool,
}

/// Flags of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
    /// Home folder to look in instead of your own
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
}

/// Schedulers that units are printed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// A line for `crontab -e`
    Crontab,
    /// A service and a timer
    Systemd,
    /// A workflow
    GithubActions,
    /// A `CronJob` with its volume
    Kubernetes,
    /// A job file of opencode-scheduler
    OpencodeScheduler,
}

/// Flags of `sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// The instruction file: where the stores are, pools and homes
    #[arg(long, short, value_name = "FILE", default_value = "instructions/pool-composition-review.md")]
    pub instructions: PathBuf,
    /// Read this store and no instruction file: claude-code, codex, opencode or litellm, and its path,
    /// which starts at the workspace; of claude-code several folders with commas are one store; may be repeated
    #[arg(long = "store", value_name = "KIND=PATH")]
    pub stores: Vec<String>,
    /// First UTC day, 2026-11-01
    #[arg(long, value_name = "DAY")]
    pub since: Option<NaiveDate>,
    /// Last UTC day
    #[arg(long, value_name = "DAY")]
    pub until: Option<NaiveDate>,
    /// What a line is about
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Model, By::Effort])]
    pub by: Vec<By>,
    /// Instead of a table the rollup of every day: CSV to stdout; Parquet to rollup/sessions.parquet in the reports folder,
    /// whose path is printed
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub rollup: Option<RollupFormat>,
    /// Read every file whole and keep no index of them
    #[arg(long)]
    pub no_cache: bool,
}

/// What a line of `sessions` can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Provider and model
    Model,
    /// Effort
    Effort,
    /// Pool
    Pool,
    /// Home
    Home,
    /// Task class
    Class,
    /// UTC day
    Day,
}

/// How a rollup is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RollupFormat {
    /// CSV
    Csv,
    /// Parquet
    Parquet,
}

/// How a run ends. When several apply the order is 2, 1, 10, 3, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// The run finished; proposals or not.
    Finished = 0,
    /// The run failed.
    Failed = 1,
    /// Bad arguments or settings, or an unreadable canonical config; nothing was written.
    Unusable = 2,
    /// The run finished, but some pools were not judged: a source they need is missing or stale.
    Blocked = 3,
    /// Proposals are open, and `--exit-code` was given.
    Proposals = 10,
}

impl ExitCode {
    /// Every code with its meaning, as the README repeats it.
    pub const TABLE: [(Self, &'static str); 5] = [
        (Self::Finished, "the run finished; proposals or not"),
        (Self::Failed, "the run failed"),
        (Self::Unusable, "bad arguments or settings, or an unreadable canonical config; nothing was written"),
        (Self::Blocked, "the run finished, but some pools were not judged (`blocked`)"),
        (Self::Proposals, "proposals are open, and `--exit-code` was given"),
    ];
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

/// Why a run did not finish, and so how it exits.
#[derive(Debug)]
pub enum Failure {
    /// Arguments, settings or canonical config: exit 2, nothing written.
    Unusable(anyhow::Error),
    /// Anything later: exit 1.
    Failed(anyhow::Error),
}

impl Failure {
    /// What to do about an error that the system gave.
    pub fn advice(error: &anyhow::Error) -> Option<&'static str> {
        use std::io::ErrorKind;
        let cause = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>())?;
        match cause.kind() {
            ErrorKind::PermissionDenied => {
                Some("give the user who runs this the right to it, or name another place in the settings")
            }
            ErrorKind::ReadOnlyFilesystem => Some("its file system is read-only; name another place in the settings"),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Some("make room and run it again; no file is half-written, and the next run completes this one")
            }
            _ => None,
        }
    }

    /// The error and the code it exits with.
    pub fn parts(self) -> (anyhow::Error, ExitCode) {
        match self {
            Self::Unusable(error) => (error, ExitCode::Unusable),
            Self::Failed(error) => (error, ExitCode::Failed),
        }
    }
}
