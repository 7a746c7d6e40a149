//! Which instants a run may have: a wrong one, once it stands in the ledger, makes every later run "older than" it.

use anyhow::{Result, anyhow};
use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::{Cli, Failure};
use crate::history::{Ledger, Rhythm};
use crate::outputs;
use crate::settings::Settings;

/// How far the clock may lie behind the last run before a run refuses to start: clocks are set.
const CLOCK_SLACK: TimeDelta = TimeDelta::minutes(5);

/// How far `--now` may lie ahead of the clock and of the last run: a mistyped year lies further.
const MOST_AHEAD: TimeDelta = TimeDelta::days(180);

/// The same while there is no run yet: a ledger without a past can be begun again.
const MOST_AHEAD_OF_NOTHING: TimeDelta = TimeDelta::days(3650);

/// The instant of a run and where it comes from.
pub(super) struct Time {
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// The wall clock.
    pub(super) started: DateTime<Utc>,
    /// Whether it comes from `frozen_now`.
    pub(super) is_frozen: bool,
    /// Whether `--force-now` was given.
    pub(super) is_forced: bool,
}

/// An error (exit 2) when `--now` lies further ahead of the clock, and of the last run, than anybody means it. The ledger is looked
/// at only when the clock alone does not settle it.
pub(super) fn ensure_near(cli: &Cli, settings: &Settings, clock: DateTime<Utc>) -> Result<(), Failure> {
    let Some(now) = cli.now.filter(|now| !cli.force_now && *now - clock > MOST_AHEAD) else { return Ok(()) };
    let shown = settings.reports.join("ledger.jsonl");
    let (ledger, _) = outputs::ledger::unlocked(&cli.workspace.join(&shown), &shown.display().to_string())
        .map_err(Failure::Failed)?;
    let last = ledger.newest_run().and_then(instant);
    let (most, from) = match last {
        Some(last) => (MOST_AHEAD, last.max(clock)),
        None => (MOST_AHEAD_OF_NOTHING, clock),
    };
    if now - from <= most {
        return Ok(());
    }
    let of_last = last.map_or(String::new(), |last| format!(" and the last run is of {}", second(last)));
    Err(Failure::Unusable(anyhow!(
        "--now {} lies {} days ahead: the clock shows {}{of_last}; a run of that time would make every later one older than it. Is \
         the date right? If so, --force-now takes it",
        second(now),
        (now - from).num_days(),
        second(clock)
    )))
}

/// An error when the clock lies behind the start of the last run: its sections would stand in the wrong order.
pub(super) fn ensure_forward(rhythm: &Rhythm, now: DateTime<Utc>, settings: &Settings) -> Result<()> {
    let last = rhythm.last_start().filter(|last| *last - now > CLOCK_SLACK);
    last.map_or(Ok(()), |last| {
        Err(anyhow!(
            "the clock shows {}, but the last run began at {}: the clock went back; set it right, or say the time with --now. If that \
             run was the wrong one, take its lines out of {}",
            second(now),
            second(last),
            settings.reports.join("cadence.jsonl").display()
        ))
    })
}

/// An error when a run would stand before the newest one of the ledger. One that the ledger knows is only judged again, which
/// writes nothing; one that lies before it by no more than a clock is set back is added to history.
pub(super) fn ensure_in_order(ledger: &Ledger, time: &Time, settings: &Settings) -> Result<()> {
    let run = time.now.format("%Y%m%dT%H%M%SZ").to_string();
    let Some(newest) = ledger.newest_run().filter(|newest| *newest > run.as_str()) else { return Ok(()) };
    let is_wall_clock = time.now == time.started;
    let is_close = is_wall_clock && instant(newest).is_some_and(|newest| newest - time.now <= CLOCK_SLACK);
    if time.is_forced || ledger.holds_run(&run) || is_close {
        return Ok(());
    }
    let way_in = match (is_wall_clock, time.is_frozen) {
        (true, _) => "wait until then, or say the time with --now".to_owned(),
        (false, true) => format!("frozen_now in {} says so, give a later one or a --now", settings.path),
        (false, false) => "give a later --now".to_owned(),
    };
    let reports = settings.reports.display();
    Err(anyhow!(
        "this run is of {}, but the newest run in {reports}/ledger.jsonl is {newest}, which is later: {way_in}; --force-now adds it to \
         history, and leaves what is open alone. If {newest} was given a wrong time, take it back first: restore {reports} from version \
         control as it was before it",
        second(time.now)
    ))
}

/// The instant of a run id.
fn instant(run: &str) -> Option<DateTime<Utc>> {
    chrono::NaiveDateTime::parse_from_str(run, "%Y%m%dT%H%M%SZ").ok().map(|at| at.and_utc())
}

/// An instant as it is typed.
fn second(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
