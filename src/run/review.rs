//! `review`: one audit, from settings to what is written and printed.

use anyhow::anyhow;

use super::{Answer, Surroundings, filing, instant, schedule, sessions, settings};
use crate::cli::{Cli, ExitCode, Failure, Format, ReviewArgs};
use crate::history::{Cadence, ProposalFiles, Rhythm};
use crate::outputs::ledger::Opened;
use crate::outputs::log_file::Lost;
use crate::outputs::terminal::Look;
use crate::outputs::{self, Delivery};
use crate::review::gather::{Canonical, canonical, gather};
use crate::review::{Clock, Reviewed, review};
use crate::settings::Settings;
use crate::store::{self, Cache, Store};

/// How the warning begins that says why issues were not filed.
const NOT_FILED: &str = "issues not updated: ";

/// One audit. Settings and canonical config are read first: while they are unusable nothing is written.
pub(super) fn run(cli: &Cli, args: &ReviewArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let settings = settings(cli, &args.instructions)?;
    let schedule = schedule(&settings).map_err(Failure::Unusable)?;
    filing::check(&settings, args.file_issues).map_err(Failure::Unusable)?;
    let started = (around.clock)();
    let now = cli.now.or(settings.frozen_now).unwrap_or(started);
    let clock = Clock {
        now,
        is_frozen: cli.now.is_none() && settings.frozen_now.is_some(),
        next_due: schedule.next_after(now),
    };
    instant::ensure_near(cli, &settings, started)?;
    let config = canonical(&cli.workspace, &settings, now).map_err(|error| Failure::Unusable(anyhow!(error)))?;
    let steps = around.host.steps.clone();
    let store = Store::open_with(&cli.workspace, &settings.reports, &settings.log, steps).map_err(Failure::Failed)?;
    let mut warnings = store.recovered().to_vec();
    warnings.extend(outputs::recover(&store).map_err(Failure::Failed)?);
    warnings.extend(outputs::steward::take_in(&store, &cli.workspace, now).map_err(Failure::Failed)?);
    let run = clock.run_id();
    let mut rhythm = rhythm(&store).map_err(Failure::Failed)?;
    let is_wall_clock = now == started;
    if is_wall_clock {
        instant::ensure_forward(&rhythm, now, &settings).map_err(Failure::Failed)?;
    }
    let cache = Cache::at(&cli.workspace, &settings.cache);
    let opened = outputs::ledger::open(&store, Some(&cache), &run);
    let opened = opened.and_then(|opened| {
        let time = instant::Time { now, started, is_frozen: clock.is_frozen, is_forced: cli.force_now };
        instant::ensure_in_order(&opened.ledger, &time, &settings).map(|()| opened)
    });
    let opened = match opened {
        // A scheduled run that is refused has failed, and `status` is to know; a wrong `--now` is no run of the schedule.
        Err(error) if !is_wall_clock => return Err(Failure::Failed(error)),
        opened => opened,
    };
    warnings.extend(note(&Cadence::start(&run, started), &store)?);
    rhythm.begin(&run, started);
    let said = if is_wall_clock {
        rhythm.since_last_success(&run, started, &|due| schedule.next_after(due))
    } else {
        Vec::new()
    };
    let audit_of = Audit { cli, args, settings: &settings, store: &store, cache: &cache, around };
    let outcome = opened.and_then(|opened| audit(&audit_of, opened, config, clock, &said));
    (around.doing)("");
    let ended = (around.clock)();
    let exit = outcome.as_ref().map_or(ExitCode::Failed, |answer| answer.code);
    let duration = (ended - started).num_milliseconds().max(0).unsigned_abs();
    let end = Cadence::end(&run, ended, exit as u8, duration, clock.next_due).because(why_failed(&outcome).as_deref());
    let noted = note(&end, &store);
    let mut answer = outcome.map_err(Failure::Failed)?;
    warnings.extend(noted?);
    answer.warnings.splice(0..0, warnings.into_iter().chain(schedule.warnings().iter().cloned()));
    Ok(answer)
}

/// Why a review failed: its error, or that issues were not filed.
fn why_failed(outcome: &anyhow::Result<Answer>) -> Option<String> {
    match outcome {
        Err(error) => Some(format!("{error:#}")),
        Ok(answer) if answer.code == ExitCode::Failed => {
            answer.warnings.iter().find(|line| line.starts_with(NOT_FILED)).cloned()
        }
        Ok(_) => None,
    }
}

/// The runs that the reports folder knows.
fn rhythm(store: &Store) -> anyhow::Result<Rhythm> {
    Ok(Rhythm::of(&outputs::read_cadence(store)?))
}

/// Notes a start or an end; a torn line that was set aside is a warning.
fn note(cadence: &Cadence, store: &Store) -> Result<Vec<String>, Failure> {
    let torn = outputs::note_cadence(cadence, store).map_err(Failure::Failed)?;
    Ok(torn.into_iter().collect())
}

/// What one audit works with.
struct Audit<'a> {
    /// The command line.
    cli: &'a Cli,
    /// Its flags.
    args: &'a ReviewArgs,
    /// The settings.
    settings: &'a Settings,
    /// Where it writes.
    store: &'a Store,
    /// What may be lost.
    cache: &'a Cache,
    /// Where it runs.
    around: &'a Surroundings<'a>,
}

/// Gathers, judges and delivers. `said` is what the cadence has to say.
fn audit(
    audit: &Audit<'_>,
    mut opened: Opened,
    config: Canonical,
    clock: Clock,
    said: &[String],
) -> anyhow::Result<Answer> {
    let Audit { cli, args, settings, store, cache, around } = *audit;
    let (file, warning) = outputs::read_market(store)?;
    let remembered = file.before(&clock.run_id()).clone();
    (around.doing)("reading pools, market and evidence");
    let known = if args.accept_fewer { remembered.without_measure() } else { remembered.clone() };
    let mut gathered = gather(&cli.workspace, settings, config, &known, clock.now);
    let (days, lost) = sessions::add_to_review(&cli.workspace, settings, &mut gathered, clock.now, around.progress);
    let past = opened.ledger.before(&clock.run_id());
    let (files, ledger_path) = (outputs::proposal_files::Files::read(store, cache), store.in_reports("ledger.jsonl"));
    let stored = |fingerprint: &str| outputs::proposals::stored(store, fingerprint);
    let untouched = |fingerprint: &str| files.untouched(store, fingerprint);
    let damage = |fingerprint: &str| outputs::ledger::damage(&opened.ledger, &store.shown(&ledger_path), fingerprint);
    let on_disk = ProposalFiles { stored: &stored, untouched: &untouched, damage: &damage };
    (around.doing)("judging pools");
    let reviewed = review(&gathered, settings, &past, clock, &on_disk);
    let runs = opened.ledger.runs();
    let before = runs.iter().rev().find(|(run, _)| *run < clock.run_id().as_str()).map(|(_, fact)| (*fact).clone());
    let sections = Lost::of(store.log_path(), &opened.ledger, &clock.run_id())?;
    let missing = sections.sentence(&settings.log);
    let note = missing.as_deref().filter(|missing| !sections.is_said(missing));
    let since = outputs::log::Since { cadence: said, before: before.as_ref(), issues: &[], lost: note };
    if let Some(file) = file.after(&clock.run_id(), remembered, reviewed.market.clone()) {
        outputs::keep_market(&file, store)?;
    }
    let github = args.file_issues.then(|| filing::client(settings, around));
    let desk = filing::desk(settings, &reviewed, &past, &opened.ledger);
    let desk = desk.map(|desk| desk.filing(github.as_ref().map(|github| filing::filing(github, around))));
    let delivery = delivery(&reviewed, settings, since, desk.as_ref());
    (around.doing)("writing reports");
    let outputs::Delivered { mut warnings, filed, section } =
        outputs::deliver_on(delivery, &mut opened, &files, store)?;
    warnings.extend(args.file_issues.then(|| filing::unused_proxy(settings, around)).flatten());
    warnings.extend(outputs::remember(delivery, &opened, store, cache));
    warnings.extend(warning);
    warnings.extend(missing.iter().cloned());
    let failure = filed.as_ref().and_then(|filed| filed.failure.as_ref());
    warnings.extend(failure.map(|reason| format!("{NOT_FILED}{reason}")));
    if let Some(summary) = &around.host.job_summary {
        let section = outputs::job::summary(&section);
        warnings.extend(store::append_aside(summary, section.as_bytes()).err().map(|error| format!("{error:#}")));
    }
    outputs::sessions::keep(store, &days)?;
    warnings.extend(lost);
    let text = printed(audit, delivery, filed.as_ref());
    let code = if failure.is_some() { ExitCode::Failed } else { exit_code(&reviewed, args) };
    Ok(Answer { text, warnings, code })
}

/// The answer of a review that was delivered.
fn printed(audit: &Audit<'_>, delivery: Delivery<'_>, filed: Option<&outputs::issues::Filed>) -> String {
    let (around, report) = (audit.around, delivery.report);
    match audit.cli.format {
        Format::Json => outputs::json::run_json(report),
        Format::Human | Format::Csv => {
            let annotations = around.host.job_summary.as_ref().map(|_| outputs::job::annotations(report));
            let issues = delivery.issues.map(|desk| outputs::issues::lines(desk, filed)).unwrap_or_default();
            let look = Look { colour: around.colour, columns: around.columns, reports: delivery.reports };
            outputs::terminal::render_with(report, look, &issues) + &annotations.unwrap_or_default()
        }
    }
}

/// What is delivered of a review.
fn delivery<'a>(
    reviewed: &'a Reviewed,
    settings: &'a Settings,
    since: outputs::log::Since<'a>,
    issues: Option<&'a outputs::issues::Desk<'a>>,
) -> Delivery<'a> {
    Delivery {
        report: &reviewed.report,
        settlement: &reviewed.settlement,
        settings_digest: settings.digest.as_str(),
        models: &reviewed.models,
        reports: settings.reports.to_str().unwrap_or("reports"),
        issues,
        since,
    }
}

/// How a finished review exits.
fn exit_code(reviewed: &Reviewed, args: &ReviewArgs) -> ExitCode {
    if args.exit_code && !reviewed.report.proposals.is_empty() {
        return ExitCode::Proposals;
    }
    if reviewed.report.has_blocked() { ExitCode::Blocked } else { ExitCode::Finished }
}
