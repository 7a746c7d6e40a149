//! What a job that nobody watches meets in the course of years: wrong clocks, files that were lost, links that lead nowhere. Every
//! time it says what is wrong and what to do, and loses nothing.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests write into scratch folders of their own; a helper that cannot go on has failed"
)]

mod clock;
mod links;
mod log;
mod proxies;
mod reports;
#[path = "../scratch/mod.rs"]
mod scratch;

use std::path::Path;

use scratch::{at, host, verb};

/// What a verb said: exit code, stdout, and warnings or the error.
struct Said {
    /// Exit code.
    code: u8,
    /// stdout.
    text: String,
    /// Warnings, or the one error.
    warnings: Vec<String>,
}

impl Said {
    /// Whether some warning, or the error, holds these words.
    fn warns(&self, words: &str) -> bool {
        self.warnings.iter().any(|line| line.contains(words))
    }
}

/// Runs a verb at an instant of the clock.
fn say(workspace: &Path, clock: &str, args: &[&str]) -> Said {
    match verb(workspace, at(clock), host(None), args) {
        Ok(answer) => Said { code: answer.code as u8, text: answer.text, warnings: answer.warnings },
        Err(failure) => {
            let (error, code) = failure.parts();
            Said { code: code as u8, text: String::new(), warnings: vec![format!("{error:#}")] }
        }
    }
}
