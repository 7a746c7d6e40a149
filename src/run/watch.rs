//! `watch`: stays, and runs a review whenever one is due.

use std::hash::{BuildHasher as _, RandomState};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::review::run as run_review;
use super::{Answer, Surroundings, Wake, schedule, settings, status};
use crate::cli::{Cli, ExitCode, Failure, Format, ReviewArgs, WatchArgs};
use crate::outputs::verbs::line;
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
    say(cli, around, &Event::Watching { next: watch.next_start() });
    loop {
        let wake = match watch.plan((around.clock)()) {
            Plan::Run { due, missed } => {
                if missed > 0 {
                    say(cli, around, &Event::Missed { due, missed });
                }
                review(cli, args, around);
                (around.host.pause)(TimeDelta::zero())
            }
            Plan::Sleep(time) => (around.host.pause)(time),
            Plan::Never => (around.host.pause)(IDLE),
        };
        match wake {
            Wake::Stop => return Ok(Event::Stopped.answer(cli.format, (around.clock)())),
            Wake::Elapsed => {}
            Wake::Reload => match read(cli, args) {
                Ok((_, schedule)) => {
                    watch.reschedule(schedule);
                    say(cli, around, &Event::Reloaded { next: watch.next_start() });
                }
                Err(error) => say(cli, around, &Event::Kept { error: format!("{error:#}") }),
            },
        }
    }
}

/// Settings and their schedule.
fn read(cli: &Cli, args: &WatchArgs) -> anyhow::Result<(Settings, Schedule)> {
    let settings = settings(cli, &args.file.instructions).map_err(|failure| failure.parts().0)?;
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
    let review = ReviewArgs {
        instructions: args.file.instructions.clone(),
        exit_code: false,
        file_issues: args.file_issues,
        accept_fewer: false,
    };
    let event = match run_review(cli, &review, around) {
        Ok(answer) => Event::Reviewed { answer },
        Err(failure) => {
            let (error, code) = failure.parts();
            Event::Failed { exit: code as u8, error: format!("{error:#}") }
        }
    };
    say(cli, around, &event);
}

/// An instant, or that there is none.
fn shown(at: Option<DateTime<Utc>>) -> String {
    at.map_or("never".to_owned(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// What happens while it watches.
enum Event {
    /// It began.
    Watching {
        /// The next start.
        next: Option<DateTime<Utc>>,
    },
    /// Settings were read again.
    Reloaded {
        /// The next start.
        next: Option<DateTime<Utc>>,
    },
    /// Settings could not be read again.
    Kept {
        /// Why.
        error: String,
    },
    /// One review makes up for several that were due.
    Missed {
        /// The due instant it is for.
        due: DateTime<Utc>,
        /// Due instants before it.
        missed: usize,
    },
    /// A review did its work.
    Reviewed {
        /// What it says.
        answer: Answer,
    },
    /// A review did not.
    Failed {
        /// Its exit code.
        exit: u8,
        /// Why.
        error: String,
    },
    /// It was told to end.
    Stopped,
}

impl Event {
    /// What is printed of it: lines and warnings for people, or one line of JSON. Warnings come either way.
    fn answer(&self, format: Format, at: DateTime<Utc>) -> Answer {
        let text = |text: String| answer(text, Vec::new());
        let warning = |line: String| answer(String::new(), vec![line]);
        let human = match self {
            Self::Watching { next } => text(format!("watching; next review {}\n", shown(*next))),
            Self::Reloaded { next } => text(format!("settings read again; next review {}\n", shown(*next))),
            Self::Kept { error } => warning(format!("settings kept as they were: {error}")),
            Self::Missed { due, missed } => warning(format!(
                "{missed} due reviews before {} were missed; one review makes up for them",
                shown(Some(*due))
            )),
            Self::Reviewed { answer: said } => answer(said.text.clone(), said.warnings.clone()),
            Self::Failed { exit, error } => warning(format!("this review ended with exit {exit}: {error}")),
            Self::Stopped => text("stopped\n".to_owned()),
        };
        if format == Format::Json { answer(self.json(at), human.warnings) } else { human }
    }

    /// One line of JSON; what does not apply is null.
    fn json(&self, at: DateTime<Utc>) -> String {
        let mut fields = json!({ "event": self.word(), "at": at, "next_start": null, "missed": null, "exit": null,
            "error": null, "report": null });
        match self {
            Self::Watching { next } | Self::Reloaded { next } => fields["next_start"] = json!(next),
            Self::Kept { error } => fields["error"] = json!(error),
            Self::Missed { missed, .. } => fields["missed"] = json!(missed),
            Self::Reviewed { answer } => {
                fields["exit"] = json!(answer.code as u8);
                fields["report"] = serde_json::from_str(&answer.text).unwrap_or_default();
            }
            Self::Failed { exit, error } => (fields["exit"], fields["error"]) = (json!(exit), json!(error)),
            Self::Stopped => {}
        }
        line("watch", fields)
    }

    /// Its name.
    fn word(&self) -> &'static str {
        match self {
            Self::Watching { .. } => "watching",
            Self::Reloaded { .. } => "reloaded",
            Self::Kept { .. } => "settings_kept",
            Self::Missed { .. } => "missed",
            Self::Reviewed { .. } => "reviewed",
            Self::Failed { .. } => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Prints what happened; of a quiet watch only its warnings.
fn say(cli: &Cli, around: &Surroundings<'_>, event: &Event) {
    let mut answer = event.answer(cli.format, (around.clock)());
    if cli.quiet {
        answer.text.clear();
    }
    (around.host.say)(&answer);
}

/// An answer of a verb that goes on.
fn answer(text: String, warnings: Vec<String>) -> Answer {
    Answer { text, warnings, code: ExitCode::Finished }
}
