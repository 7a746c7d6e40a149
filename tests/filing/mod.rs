//! A fleet with two flags in a scratch workspace, reviewed by this process or by the real binary with `--file-issues`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run; a helper that cannot go on has failed"
)]

pub(crate) mod proxy;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Parser as _;
use pool_review::cli::Cli;
use pool_review::run::{Host, Surroundings, Wake, run};
use pool_review::store::Steps;

/// The name of the variable with the token.
pub(crate) const VARIABLE: &str = "FLEET_TOKEN";

/// The token; no output may hold it.
pub(crate) const TOKEN: &str = "test_token_bot";

/// Held while a review runs in this process and while a child is started: a child inherits open files until it runs its own
/// program, and with them a lock that would otherwise be free.
static GATE: Mutex<()> = Mutex::new(());

/// Takes the gate.
pub(crate) fn gate() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A workspace.
pub(crate) struct Workspace {
    /// Its folder.
    pub(crate) root: PathBuf,
}

/// What a review left behind.
#[derive(Debug)]
pub(crate) struct Reviewed {
    /// Its exit code.
    pub(crate) code: u8,
    /// stdout and warnings.
    pub(crate) said: String,
    /// The waits, in seconds.
    pub(crate) waits: Vec<u64>,
}

impl Workspace {
    /// A fleet whose old model has a successor: one issue for each half. `api` is the tracker's address.
    pub(crate) fn new(name: &str, api: &str, repository: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/latest-model/in"), &root);
        let workspace = Self { root };
        let tracker = format!(
            "issues:\n  repository: {repository}\n  api: {api}\n  token: {VARIABLE}\n  timeout_s: 2\n---\n\n# "
        );
        workspace.rewrite("instructions/pool-composition-review.md", "---\n\n# ", &tracker);
        workspace
    }

    /// Replaces a text in a file, which must hold it.
    pub(crate) fn rewrite(&self, file: &str, old: &str, new: &str) {
        let path = self.root.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file} lacks {old:?}");
        std::fs::write(&path, text.replace(old, new)).unwrap();
    }

    /// The successor may not be used any more: the same member has to go for another reason.
    pub(crate) fn forbid_successor(&self) {
        let rule = "policy:\n  never:\n    - { model: claude-sonnet-5-5 }\nissues:\n";
        self.rewrite("instructions/pool-composition-review.md", "issues:\n", rule);
    }

    /// The old model is taken out, as a steward would do.
    pub(crate) fn mend(&self) {
        self.rewrite("fleet/opencode.jsonc", "\"anthropic/claude-sonnet-4-5\": 1, // the old one", "");
        self.rewrite("fleet/opencode.jsonc", "\"anthropic/claude-sonnet-4-5\",", "");
    }

    /// A file of the reports folder.
    pub(crate) fn report(&self, file: &str) -> String {
        std::fs::read_to_string(self.root.join("reports").join(file)).unwrap()
    }

    /// Reviews in this process; the token is in the environment, and waits take no time.
    pub(crate) fn review(&self, number: i64) -> Reviewed {
        self.review_with(number, None)
    }

    /// The same, asking before every step of writing.
    pub(crate) fn review_with(&self, number: i64, steps: Option<Steps>) -> Reviewed {
        let workspace = self.root.display().to_string();
        let words = ["pool-review", "--workspace", &workspace, "--now", &instant(number), "review", "--file-issues"];
        let cli = Cli::try_parse_from(words).unwrap();
        let waits = RefCell::new(Vec::new());
        let around = Surroundings {
            clock: &move || clock(number) + TimeDelta::seconds(1),
            colour: false,
            columns: pool_review::outputs::wrap::WIDTH,
            progress: &|_, _, _| {},
            variable: &|name| (name == VARIABLE).then(|| TOKEN.to_owned()),
            sleep: &|time: Duration| waits.borrow_mut().push(time.as_secs()),
            doing: &|_| {},
            host: Host {
                home: None,
                program: PathBuf::from("/usr/bin/pool-review"),
                job_summary: None,
                pause: &|_| Wake::Stop,
                say: &|_| {},
                steps,
            },
        };
        let _gate = gate();
        let (code, said) = match run(&cli, &around) {
            Ok(answer) => (answer.code as u8, answer.text + &answer.warnings.join("\n")),
            Err(failure) => {
                let (error, code) = failure.parts();
                (code as u8, format!("{error:#}"))
            }
        };
        Reviewed { code, said, waits: waits.into_inner() }
    }

    /// The real binary, with nothing of the test's own environment but the token.
    pub(crate) fn binary(&self, number: i64) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
        command.current_dir(&self.root).env_clear().env(VARIABLE, TOKEN);
        command.args(["review", "--file-issues", "--now", &instant(number)]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// When the review of a number takes place: an hour after the one before, so that no source grows old.
fn clock(number: i64) -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(number)
}

/// The same as text.
pub(crate) fn instant(number: i64) -> String {
    clock(number).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Copies a folder into the place of another.
pub(crate) fn copy(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).unwrap();
    }
    std::fs::create_dir_all(to).unwrap();
    for path in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
