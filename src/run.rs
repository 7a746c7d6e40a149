//! What each verb does, from settings to what is printed. Prints nothing itself; the clock comes from outside.

mod diff;
mod filing;
mod init;
mod instant;
mod proposals;
mod review;
mod sessions;
mod shell;
mod status;
mod stored;
mod units;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use crate::checks::CHECKS;
use crate::cli::{Cli, DoctorArgs, ExitCode, ExplainArgs, Failure, FetchArgs, Format, Verb};
use crate::fetch;
use crate::history::MarketMemory;
use crate::outputs;
use crate::outputs::verbs::document;
use crate::review::gather::{Gathered, canonical, gather};
use crate::review::names::names;
use crate::review::{Clock, inspect};
use crate::schedule::Schedule;
use crate::settings::{Settings, broken_link};
use crate::store::Steps;

/// What a verb leaves for `main` to print.
#[derive(Debug)]
pub struct Answer {
    /// The answer, for stdout.
    pub text: String,
    /// Warnings, for stderr, one line each.
    pub warnings: Vec<String>,
    /// How to exit.
    pub code: ExitCode,
}

/// Where a verb runs.
pub struct Surroundings<'a> {
    /// The wall clock.
    pub clock: &'a dyn Fn() -> DateTime<Utc>,
    /// Whether stdout takes colour.
    pub colour: bool,
    /// Columns of a line on stdout.
    pub columns: usize,
    /// A variable of the environment: keys and proxies, by name.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Waits.
    pub sleep: &'a dyn Fn(std::time::Duration),
    /// Shows what is being done until the next message; an empty one takes it away. Says nothing where stderr is no terminal.
    pub doing: &'a dyn Fn(&str),
    /// The machine around it.
    pub host: Host<'a>,
    /// Called while session stores are read: store, bytes done, bytes in all.
    pub progress: &'a (dyn Fn(&str, u64, u64) + Sync),
}

/// What `main` reads from the machine for verbs that need it.
#[derive(Clone)]
pub struct Host<'a> {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// This program's path, for units of schedulers.
    pub program: PathBuf,
    /// The file to which a job of GitHub Actions adds its summary.
    pub job_summary: Option<PathBuf>,
    /// Waits; says what ended the waiting.
    pub pause: &'a dyn Fn(TimeDelta) -> Wake,
    /// Prints an answer of a verb that goes on.
    pub say: &'a dyn Fn(&Answer),
    /// Is asked before every step of writing.
    pub steps: Option<Steps>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The time is over.
    Elapsed,
    /// The settings are to be read again.
    Reload,
    /// The process is to end.
    Stop,
}

/// Runs a verb. `--quiet` leaves warnings and errors only.
pub fn run(cli: &Cli, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let mut answer = carry_out(cli, around)?;
    if cli.quiet {
        answer.text.clear();
    }
    Ok(answer)
}

/// Runs a verb and comes back with all it has to say.
fn carry_out(cli: &Cli, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    match &cli.verb {
        verb if cli.format == Format::Csv && !matches!(verb, Verb::Sessions(_)) => {
            Err(Failure::Unusable(anyhow!("--format csv is for `sessions`; other verbs print human or json")))
        }
        Verb::Review(args) => review::run(cli, args, around),
        Verb::Fetch(args) => run_fetch(cli, args, around),
        Verb::Watch(args) => watch::run(cli, args, around),
        Verb::Proposals { verb } => proposals::run(cli, verb, around),
        Verb::StewardKit => Ok(shell::steward_kit(cli)),
        Verb::Status(args) => status::run(cli, args, around),
        Verb::Diff { before, after, file } => diff::run(cli, file, (before, after), around.columns),
        Verb::Init(args) => init::run(cli, args, around),
        Verb::Schedule { target, file } => units::run(cli, file, *target, around),
        Verb::Completions { shell } => Ok(shell::completions(cli, *shell)),
        Verb::Man => shell::man(cli),
        Verb::Sessions(args) => sessions::run(cli, args, around),
        Verb::Explain(args) => explain(cli, args, around),
        Verb::Doctor(args) => doctor(cli, args, around),
    }
}

/// The settings of an instruction file; where there is none the error says how to come by one.
fn settings(cli: &Cli, path: &Path) -> Result<Settings, Failure> {
    let file = cli.workspace.join(path);
    if let Some(what) = broken_link(&file) {
        return Err(Failure::Unusable(anyhow!("{}: it {what}", file.display())));
    }
    if !file.exists() {
        let (path, folder) = (path.display(), cli.workspace.display());
        let error = anyhow!(
            "{path}: no such file in the workspace {folder}; `pool-review init` writes one from what is on this machine, \
             --instructions names another, --workspace names another folder"
        );
        return Err(Failure::Unusable(error));
    }
    Settings::load(&cli.workspace, path).map_err(Failure::Unusable)
}

/// Brings bodies into the data folder. A source that fails is a warning; only when every one fails has the run failed.
fn run_fetch(cli: &Cli, args: &FetchArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let settings = settings(cli, &args.instructions)?;
    let jobs = fetch::plan(&settings, &args.sources);
    if jobs.is_empty() {
        let named = if args.sources.is_empty() { "no source" } else { "none of the named sources" };
        return Err(Failure::Unusable(anyhow!("{named} has a place (data.*) and an address in {}", settings.path)));
    }
    let outside = fetch::Surroundings {
        clock: around.clock,
        sleep: around.sleep,
        variable: around.variable,
        progress: around.doing,
    };
    let done = fetch::run(&cli.workspace, &settings, &jobs, (args.force, args.accept_fewer), &outside);
    (around.doing)("");
    let failed = done.iter().filter(|fetched| fetched.is_failed());
    let warnings: Vec<String> = failed.map(fetch::Fetched::line).collect();
    let code = if warnings.len() == done.len() { ExitCode::Failed } else { ExitCode::Finished };
    let text = match cli.format {
        Format::Human | Format::Csv => {
            let fine = done.iter().filter(|fetched| !fetched.is_failed());
            fine.map(|fetched| outputs::text::own(&fetched.line(), outputs::text::Place::Terminal) + "\n").collect()
        }
        Format::Json => {
            let rows: Vec<_> = done.iter().map(fetch::Fetched::json).collect();
            document("fetch", json!({ "sources": rows }))
        }
    };
    Ok(Answer { text, warnings, code })
}

/// The page of a check, the meaning of a code, or a pool as resolved.
fn explain(cli: &Cli, args: &ExplainArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let topic = args.topic.as_str();
    if let Some(check) = CHECKS.iter().find(|check| check.id.as_str() == topic) {
        let fields = || json!({ "kind": "check", "id": topic, "page": check.page });
        let is_json = cli.format == Format::Json;
        return Ok(answer(if is_json { document("explain", fields()) } else { check.page.to_owned() }));
    }
    let pages: Vec<(&str, &str)> = CHECKS.iter().map(|check| (check.id.as_str(), check.page)).collect();
    if let Some(view) = outputs::inspect::code(topic, &pages) {
        return Ok(answer(if cli.format == Format::Json { view.json() } else { view.human() }));
    }
    let no_page = |failure| match failure {
        Failure::Unusable(error) => Failure::Unusable(error.context(format!("no check or code is called {topic:?}"))),
        Failure::Failed(error) => Failure::Failed(error),
    };
    let (settings, clock, gathered) = look(cli, &args.instructions, around).map_err(no_page)?;
    match inspect::pool(&gathered, &settings, clock, topic) {
        Ok(view) if cli.format == Format::Json => Ok(answer(outputs::inspect::pool_json(&view))),
        Ok(view) => Ok(answer(outputs::inspect::pool(&view))),
        Err(pools) => {
            let checks = pages.iter().map(|(id, _)| *id).collect::<Vec<_>>().join(", ");
            let pools = if pools.is_empty() { "none".to_owned() } else { pools.join(", ") };
            let error = anyhow!("nothing is called {topic:?}; checks: {checks}; pools: {pools}");
            Err(Failure::Unusable(error))
        }
    }
}

/// What was found, and how fresh.
fn doctor(cli: &Cli, args: &DoctorArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let (settings, clock, gathered) = look(cli, &args.instructions, around)?;
    if args.names {
        let rows = names(&gathered, &settings);
        let is_json = cli.format == Format::Json;
        return Ok(answer(if is_json { outputs::names::names_json(&rows) } else { outputs::names::names(&rows) }));
    }
    let view = inspect::doctor(&gathered, &settings, clock);
    let text =
        if cli.format == Format::Json { outputs::inspect::doctor_json(&view) } else { outputs::inspect::doctor(&view) };
    let shown = settings.reports.join("ledger.jsonl");
    let verified = outputs::ledger::unlocked(&cli.workspace.join(&shown), &shown.display().to_string());
    let warnings = match verified {
        Ok((_, problems)) => problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)).collect(),
        Err(error) => vec![format!("{error:#}")],
    };
    let warnings: Vec<String> = warnings.into_iter().chain(filing::unused_proxy(&settings, around)).collect();
    Ok(Answer { warnings, ..answer(text) })
}

/// Reads everything as a review does, and writes nothing.
fn look(cli: &Cli, path: &Path, around: &Surroundings<'_>) -> Result<(Settings, Clock, Gathered), Failure> {
    let settings = settings(cli, path)?;
    let now = cli.now.or(settings.frozen_now).unwrap_or_else(|| (around.clock)());
    let is_frozen = cli.now.is_none() && settings.frozen_now.is_some();
    let clock = Clock { now, is_frozen, next_due: None };
    let config = canonical(&cli.workspace, &settings, now).map_err(|error| Failure::Unusable(anyhow!(error)))?;
    let gathered = gather(&cli.workspace, &settings, config, &MarketMemory::default(), now);
    Ok((settings, clock, gathered))
}

/// An answer that finished.
fn answer(text: String) -> Answer {
    Answer { text, warnings: Vec::new(), code: ExitCode::Finished }
}

/// The schedule of the settings; an error names the line.
fn schedule(settings: &Settings) -> anyhow::Result<Schedule> {
    let place = settings
        .lines
        .get("schedule")
        .map_or_else(|| settings.path.clone(), |line| format!("{}:{line}", settings.path));
    Schedule::parse(&settings.schedule, settings.timezone).with_context(|| place)
}
