//! The compiled binary in a workspace, with an emptied environment.

#![expect(clippy::unwrap_used, reason = "a binary that cannot be run is a failed test")]

use std::process::{Command, Stdio};

use crate::scene::Scene;

/// What one run of the binary left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// stdout.
    pub(crate) stdout: String,
    /// stderr.
    pub(crate) stderr: String,
}

impl Scene {
    /// The command that runs the binary here, with nothing of the test's own environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.current_dir(&self.root).args(args).env_clear().env("PATH", path).env("TZ", "UTC").env("LC_ALL", "C");
        command.stdin(Stdio::null());
        command
    }

    /// Runs the binary here.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
