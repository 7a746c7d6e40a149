//! `proposals`: what a steward sees and decides. Verbs that only look take no lock, unless decision files wait to be taken in.

use anyhow::anyhow;
use chrono::{DateTime, Utc};

use super::{Answer, Surroundings};
use crate::cli::{AboutArgs, Cli, ExitCode, Failure, FileArgs, Format, ListArgs, PatchArgs, ProposalsVerb};
use crate::history::{Decision, ProposalFact, Unless};
use crate::outputs::steward::{self, Answered, Refusal, Request, Shelf, Way};
use crate::outputs::{self, text};
use crate::settings::{Settings, nearest_first};
use crate::store::Store;

/// Runs one of them.
pub(super) fn run(cli: &Cli, verb: &ProposalsVerb, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let decided = |about, decision, reason: &str, until: Option<&String>, unless: Option<&String>| {
        let said = Said { decision, reason, until, unless };
        decide(cli, about, &said, around)
    };
    match verb {
        ProposalsVerb::List(args) => list(&Desk::open(cli, &args.file, around)?, args),
        ProposalsVerb::Show { id, file } => show(&Desk::open(cli, file, around)?, id),
        ProposalsVerb::Patch(args) => patch(&Desk::open(cli, &args.file, around)?, args),
        ProposalsVerb::Accept(args) => decided(&args.about, Decision::Accept, &args.reason, None, None),
        ProposalsVerb::Reject(args) => {
            let (about, reason) = (&args.decide.about, &args.decide.reason);
            decided(about, Decision::Reject, reason, args.until.as_ref(), Some(&args.unless))
        }
        ProposalsVerb::Defer(args) => {
            let (about, reason) = (&args.decide.about, &args.decide.reason);
            decided(about, Decision::Defer, reason, Some(&args.until), Some(&args.unless))
        }
        ProposalsVerb::Landed(args) => {
            let reason = args.reason.as_deref().unwrap_or("landed by the steward's own path");
            decided(&args.about, Decision::Landed, reason, None, None)
        }
        ProposalsVerb::Rollback(args) => {
            let reason = args.reason.as_deref().unwrap_or("to be taken back");
            decided(&args.about, Decision::Rollback, reason, None, None)
        }
    }
}

/// A decision as it was typed.
struct Said<'a> {
    /// The decision.
    decision: Decision,
    /// Why.
    reason: &'a str,
    /// Until when.
    until: Option<&'a String>,
    /// What raises it again.
    unless: Option<&'a String>,
}

/// What every verb works on.
struct Desk<'a> {
    /// The command line.
    cli: &'a Cli,
    /// The settings.
    settings: Settings,
    /// The instant.
    now: DateTime<Utc>,
    /// Warnings so far.
    warnings: Vec<String>,
}

impl<'a> Desk<'a> {
    /// Reads the settings, and takes decision files in if there are any.
    fn open(cli: &'a Cli, file: &FileArgs, around: &Surroundings<'_>) -> Result<Self, Failure> {
        let mut desk = Self::at(cli, file, around)?;
        let reports = cli.workspace.join(&desk.settings.reports);
        if steward::is_waiting(&reports).map_err(Failure::Failed)? {
            match desk.store(around) {
                Ok(store) => desk.take_in(&store)?,
                Err(error) => desk.warnings.push(format!("decision files wait, and are not taken in now: {error:#}")),
            }
        }
        Ok(desk)
    }

    /// Reads the settings.
    fn at(cli: &'a Cli, file: &FileArgs, around: &Surroundings<'_>) -> Result<Self, Failure> {
        let settings = super::settings(cli, &file.instructions)?;
        super::instant::ensure_near(cli, &settings, (around.clock)())?;
        let now = cli.now.or(settings.frozen_now).unwrap_or_else(|| (around.clock)());
        Ok(Self { cli, settings, now, warnings: Vec::new() })
    }

    /// The store, with its lock.
    fn store(&self, around: &Surroundings<'_>) -> anyhow::Result<Store> {
        let steps = around.host.steps.clone();
        Store::open_with(&self.cli.workspace, &self.settings.reports, &self.settings.log, steps)
    }

    /// Completes what a killed run left, then takes decision files in.
    fn take_in(&mut self, store: &Store) -> Result<(), Failure> {
        self.warnings.extend(store.recovered().iter().cloned());
        self.warnings.extend(outputs::recover(store).map_err(Failure::Failed)?);
        let taken = steward::take_in(store, &self.cli.workspace, self.now).map_err(Failure::Failed)?;
        self.warnings.extend(taken);
        Ok(())
    }

    /// The proposals.
    fn shelf(&self) -> Result<Shelf, Failure> {
        let reports = self.cli.workspace.join(&self.settings.reports);
        Shelf::read(&reports, &self.settings.reports).map_err(Failure::Failed)
    }

    /// An answer with the warnings of the ledger.
    fn answer(&self, read: &Shelf, human: impl FnOnce() -> String, json: impl FnOnce() -> String) -> Answer {
        let mut warnings = self.warnings.clone();
        warnings.extend(read.problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)));
        let text = match (self.cli.quiet, self.cli.format) {
            (true, _) => String::new(),
            (false, Format::Json) => json(),
            (false, _) => human(),
        };
        Answer { text, warnings, code: ExitCode::Finished }
    }
}

/// `list`.
fn list(desk: &Desk<'_>, args: &ListArgs) -> Result<Answer, Failure> {
    let shelf = desk.shelf()?;
    for pool in &args.pools {
        ensure_known(pool, &shelf).map_err(Failure::Unusable)?;
    }
    let is_of_pool = |fact: &ProposalFact| args.pools.is_empty() || args.pools.contains(&fact.pool);
    let is_due = |fact: &ProposalFact| shelf.past.lives.get(&fact.fingerprint).is_some_and(|life| life.due.is_some());
    let is_wanted = |fact: &ProposalFact| {
        let named = args.statuses.iter().any(|wanted| wanted == fact.status.as_str());
        let needs_someone = || args.all || fact.is_open() || is_due(fact);
        is_of_pool(fact) && (named || (args.statuses.is_empty() && needs_someone()))
    };
    let cards = shelf.cards(is_wanted).map_err(Failure::Failed)?;
    let (all, of_pools) = (shelf.past.proposals.len(), shelf.past.proposals.values().filter(|fact| is_of_pool(fact)));
    let of_pools = of_pools.count();
    let hidden = steward::Hidden {
        of_other_pools: all - of_pools,
        of_other_statuses: of_pools - cards.len(),
        is_asked_by_status: !args.statuses.is_empty(),
    };
    let mut configs = steward::Configs::new(&desk.cli.workspace);
    let rows: Vec<_> =
        cards.into_iter().map(|card| (configs.state(card.fact), card)).map(|(state, card)| (card, state)).collect();
    Ok(desk.answer(&shelf, || steward::list(&rows, &hidden), || steward::list_json(&rows, &hidden)))
}

/// An error (exit 2) when a pool is in no review and has no proposal; it names those that are, the nearest first.
fn ensure_known(pool: &str, shelf: &Shelf) -> anyhow::Result<()> {
    let known = shelf.pools();
    if known.contains(pool) {
        return Ok(());
    }
    let names = nearest_first(pool, known.iter().map(String::as_str)).join(", ");
    let names =
        if names.is_empty() { "the ledger knows none yet".to_owned() } else { format!("the ledger knows {names}") };
    Err(anyhow!("no pool is called {pool:?}; {}", text::own(&names, text::Place::Terminal)))
}

/// `show`.
fn show(desk: &Desk<'_>, id: &str) -> Result<Answer, Failure> {
    let shelf = desk.shelf()?;
    let card = shelf.find(id).map_err(Failure::Unusable)?;
    let state = steward::config_state(&desk.cli.workspace, card.fact);
    Ok(desk.answer(&shelf, || steward::show(&card, state), || steward::show_json(&card, state)))
}

/// `patch`.
fn patch(desk: &Desk<'_>, args: &PatchArgs) -> Result<Answer, Failure> {
    let shelf = desk.shelf()?;
    let card = shelf.find(&args.id).map_err(Failure::Unusable)?;
    let way = if args.rollback { Way::Back } else { Way::Forward };
    let patch = steward::patch(&desk.cli.workspace, &card, way).map_err(Failure::Failed)?;
    Ok(desk.answer(&shelf, || patch.text.clone(), || steward::patch_json(&card, &patch, way)))
}

/// A decision: the lock is taken, decision files come first, then this one is checked, recorded and answered.
fn decide(cli: &Cli, about: &AboutArgs, said: &Said<'_>, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let mut desk = Desk::at(cli, &about.file, around)?;
    let known = desk.shelf()?.find(&about.id).map(|card| card.fact.fingerprint.clone()).map_err(Failure::Unusable)?;
    let store = desk.store(around).map_err(Failure::Failed)?;
    desk.take_in(&store)?;
    let request = Request {
        decision: said.decision,
        revision: about.revision,
        reason: said.reason.to_owned(),
        by: about.by.clone(),
        until: said.until.cloned(),
        unless: said.unless.and_then(|word| Unless::ALL.into_iter().find(|unless| unless.as_str() == word)),
    };
    let shelf = desk.shelf()?;
    let card = shelf.card(&known).map_err(Failure::Failed)?;
    let config = steward::config_state(&cli.workspace, card.fact);
    let fact = steward::decision_fact(&request, card.fact, card.life, config, desk.now);
    let fact = fact.map_err(|refusal| refused(&card.label(), &request, &refusal))?;
    let ledger = outputs::ledger::present(&store).map_err(Failure::Failed)?;
    let (is_new, torn) = steward::record(&store, &ledger, desk.now, &fact).map_err(Failure::Failed)?;
    desk.warnings.extend(torn);
    let shelf = desk.shelf()?;
    desk.warnings.extend(steward::restand_file(&store, &shelf.past, &known).map_err(Failure::Failed)?);
    let card = shelf.card(&known).map_err(Failure::Failed)?;
    let answered = Answered { card: &card, fact: &fact, is_new, config };
    Ok(desk.answer(&shelf, || steward::answered(&answered), || steward::answered_json(&answered)))
}

/// The error of a decision that is refused: what was typed is wrong (exit 2), or the proposal does not take it now (exit 1).
fn refused(label: &str, request: &Request, refusal: &Refusal) -> Failure {
    let (decision, reason) = (request.decision.as_str(), text::own(&refusal.to_string(), text::Place::Terminal));
    let error = anyhow!("{decision} {label}: {reason}");
    match refusal {
        Refusal::Words(_) => Failure::Unusable(error),
        Refusal::Life(_) => Failure::Failed(error),
    }
}
