//! `pool-review`: parse, run, print, exit code. Nothing else exits, prints, reads the clock or the environment.
#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "the one place that talks to the terminal, the clock and the environment"
)]

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser as _;
use clap::error::ErrorKind;
use pool_review::cli::{Cli, Failure, Verb};
use pool_review::outputs::{text, wrap};
use pool_review::run::{Answer, Host, Surroundings, Wake, run};

fn main() -> ExitCode {
    hush_readers();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let signals = Signals::default();
    if matches!(cli.verb, Verb::Watch(_)) {
        signals.listen();
    }
    let host = Host {
        home: set("HOME"),
        program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("pool-review")),
        job_summary: set("GITHUB_STEP_SUMMARY"),
        pause: &|time| signals.pause(time),
        say: &|answer| {
            print(answer);
        },
        steps: None,
    };
    let drawn = AtomicU64::new(u64::MAX);
    let is_drawn = std::io::stderr().is_terminal() && !cli.quiet;
    let progress = |store: &str, done: u64, total: u64| {
        if is_drawn {
            draw(&drawn, store, done, total);
        }
    };
    let around = Surroundings {
        clock: &chrono::Utc::now,
        colour,
        columns: columns(),
        progress: &progress,
        variable: &|name| std::env::var_os(name)?.into_string().ok(),
        sleep: &std::thread::sleep,
        doing: &|message| {
            if is_drawn {
                eprint!("\r\x1b[2K{}\r", one_line(message));
            }
        },
        host,
    };
    match run(&cli, &around) {
        Ok(answer) => print(&answer),
        Err(failure) => {
            let (error, code) = failure.parts();
            let advice = Failure::advice(&error).map_or(String::new(), |advice| format!("; {advice}"));
            eprintln!("error: {}", one_line(&format!("{error:#}{advice}")));
            code.into()
        }
    }
}

/// A reader of Parquet that ends on a damaged file says so by its error, not by a backtrace.
fn hush_readers() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        if std::thread::current().name() != Some(pool_review::parquet::THREAD) {
            tell(fault);
        }
    }));
}

/// Columns of stdout: what `COLUMNS` says, else what the terminal says, where stdout is one.
fn columns() -> usize {
    let is_terminal = std::io::stdout().is_terminal();
    let said = std::env::var_os("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let seen = || termsize::get().map(|size| usize::from(size.cols));
    let known = if is_terminal { said.or_else(seen) } else { None };
    known.filter(|columns| *columns > 0).unwrap_or(wrap::WIDTH)
}

/// How long a signal may wait to be seen.
const LOOK: Duration = Duration::from_millis(200);

/// Signals that came in since they were looked at last. Every verb but `watch` ends as usual on a signal: a run that is killed is
/// completed by the next one.
#[derive(Default)]
struct Signals {
    /// SIGTERM or SIGINT.
    stop: Arc<AtomicBool>,
    /// SIGHUP.
    reload: Arc<AtomicBool>,
}

impl Signals {
    /// Listens for them; a review that is under way is finished first.
    fn listen(&self) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        for (signal, flag) in [(SIGTERM, &self.stop), (SIGINT, &self.stop), (SIGHUP, &self.reload)] {
            if let Err(error) = signal_hook::flag::register(signal, Arc::clone(flag)) {
                eprintln!("warning: signal {signal} is not listened for: {error}");
            }
        }
    }

    /// Waits in short steps.
    fn pause(&self, time: chrono::TimeDelta) -> Wake {
        let mut left = time.to_std().unwrap_or_default();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Wake::Stop;
            }
            if self.reload.swap(false, Ordering::Relaxed) {
                return Wake::Reload;
            }
            if left.is_zero() {
                return Wake::Elapsed;
            }
            let step = left.min(LOOK);
            std::thread::sleep(step);
            left -= step;
        }
    }
}

/// Parts of a full bar.
const BAR: usize = 20;

/// Draws how far a store has been read, as a bar, once per percent; at the end the line is wiped.
fn draw(drawn: &AtomicU64, store: &str, done: u64, total: u64) {
    let percent = done.saturating_mul(100).checked_div(total).unwrap_or(100).min(100);
    if drawn.swap(percent, Ordering::Relaxed) == percent {
        return;
    }
    if percent == 100 {
        eprint!("\r\x1b[2K");
    } else {
        let full = usize::try_from(percent).unwrap_or(100) * BAR / 100;
        let (full, rest) = ("#".repeat(full), "-".repeat(BAR - full));
        eprint!("\r\x1b[2Kreading {} [{full}{rest}] {percent} %\r", one_line(store));
    }
}

/// Prints help and version as they are, and what is wrong with the arguments in one line.
fn usage(error: &clap::Error) -> ExitCode {
    let is_help = !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help {
        let _closed_pipe = error.print();
    } else {
        let message = error.render().to_string();
        let parts =
            message.split("\n\n").take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
        let words: Vec<String> = parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        eprintln!("{} (see --help)", one_line(&words.join("; ")));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints an answer. A closed stdout (broken pipe) is success.
fn print(answer: &Answer) -> ExitCode {
    for warning in &answer.warnings {
        eprintln!("warning: {}", one_line(warning));
    }
    if let Err(error) = std::io::stdout().write_all(answer.text.as_bytes())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        eprintln!("error: writing the answer: {error}");
        return pool_review::cli::ExitCode::Failed.into();
    }
    answer.code.into()
}

/// Text for one line of a terminal: line breaks flattened, control characters made visible.
fn one_line(message: &str) -> String {
    text::own(&message.replace(['\n', '\r'], " "), text::Place::Terminal)
}
