//! `watch`: stays, and runs a review whenever one is due.

use std::hash::{BuildHasher as _, RandomState};

use chrono::{DateTime, TimeDelta, Utc};

use super::{Answer, Surroundings, Wake, run_review, schedule, status};
use crate::cli::{Cli, ExitCode, Failure, ReviewArgs, WatchArgs};
use crate::schedule::Schedule;
use crate::schedule::watch::{Plan, Watch};
use crate::settings::Settings;

/// Longest wait when nothing is due at all.
const IDLE: TimeDelta = TimeDelta::seconds(60);

/// Runs reviews until the process is told to end. A review that fails is said and the next one is waited for.
pub(super) fn run(cli: &Cli, args: &WatchArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let (settings, first) = read(cli, args).map_err(Failure::Unusable)?;
    let started = (around.clock)();
    let seed = RandomState::new().hash_one(std::process::id());
    let mut watch = Watch::new(first, last_start(cli, &settings, started), started, args.jitter, seed);
    say(around, &format!("watching; next review {}", shown(watch.next_start())));
    loop {
        let wake = match watch.plan((around.clock)()) {
            Plan::Run { due, missed } => {
                if missed > 0 {
                    warn(
                        around,
                        format!(
                            "{missed} due reviews before {} were missed; one review makes up for them",
                            shown(Some(due))
                        ),
                    );
                }
                review(cli, args, around);
                (around.host.pause)(TimeDelta::zero())
            }
            Plan::Sleep(time) => (around.host.pause)(time),
            Plan::Never => (around.host.pause)(IDLE),
        };
        match wake {
            Wake::Stop => return Ok(answer("stopped\n".to_owned())),
            Wake::Elapsed => {}
            Wake::Reload => match read(cli, args) {
                Ok((_, schedule)) => {
                    watch.reschedule(schedule);
                    say(around, &format!("settings read again; next review {}", shown(watch.next_start())));
                }
                Err(error) => warn(around, format!("settings kept as they were: {error:#}")),
            },
        }
    }
}

/// Settings and their schedule.
fn read(cli: &Cli, args: &WatchArgs) -> anyhow::Result<(Settings, Schedule)> {
    let settings = Settings::load(&cli.workspace, &args.file.instructions)?;
    let schedule = schedule(&settings)?;
    Ok((settings, schedule))
}

/// When the latest run began, by the cadence; one that lies ahead of the clock does not count.
fn last_start(cli: &Cli, settings: &Settings, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let rhythm = status::rhythm(&cli.workspace.join(&settings.reports)).ok()?;
    rhythm.last_start().filter(|last| *last <= now)
}

/// One review; what it says is printed at once.
fn review(cli: &Cli, args: &WatchArgs, around: &Surroundings<'_>) {
    let review =
        ReviewArgs { instructions: args.file.instructions.clone(), exit_code: false, file_issues: args.file_issues };
    match run_review(cli, &review, around) {
        Ok(answer) => (around.host.say)(&answer),
        Err(failure) => {
            let (error, code) = failure.parts();
            warn(around, format!("this review ended with exit {}: {error:#}", code as u8));
        }
    }
}

/// An instant, or that there is none.
fn shown(at: Option<DateTime<Utc>>) -> String {
    at.map_or("never".to_owned(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// Prints a line.
fn say(around: &Surroundings<'_>, line: &str) {
    (around.host.say)(&answer(format!("{line}\n")));
}

/// Prints a warning.
fn warn(around: &Surroundings<'_>, line: String) {
    (around.host.say)(&Answer { warnings: vec![line], ..answer(String::new()) });
}

/// An answer that is text alone.
fn answer(text: String) -> Answer {
    Answer { text, warnings: Vec::new(), code: ExitCode::Finished }
}
