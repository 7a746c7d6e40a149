//! A small fleet in a scratch workspace, and the binary's verbs run inside this process under a clock of the test's own.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run; a helper that cannot go on has failed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use clap::Parser as _;
use pool_review::cli::{Cli, ExitCode, Failure};
use pool_review::run::{Answer, Host, Surroundings, Wake, run};
use pool_review::store::Steps;

/// The instruction file of the small fleet.
const INSTRUCTIONS: &str = "---\nschedule: \"0 */12 * * *\"\nhomes:\n  a: { providers: [acme], billing: metered }\nissues:\n  repository: fleet/models\n---\n\nThe pools of a small fleet.\n";

/// Held while a verb runs in this process and while a child is started: a child inherits open files until it runs its own
/// program, and with them a lock that would otherwise be free.
static GATE: Mutex<()> = Mutex::new(());

/// Takes the gate.
pub(crate) fn gate() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An instant.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// The config: pools of two members each, the first `faulty` of them with a weight that has no effect.
pub(crate) fn config(pools: usize, faulty: usize) -> String {
    let pool = |i: usize| {
        let weights = if i < faulty { ", \"weights\": { \"acme/nobody\": 3 }" } else { "" };
        format!("    \"pool-{i}\": {{ \"targets\": [\"acme/one\", \"acme/two\"]{weights} }}")
    };
    let agent = |i: usize| format!("    \"agent-{i}\": {{ \"model\": \"opencode-route/pool-{i}\" }}");
    let pools_text: Vec<String> = (0..pools).map(pool).collect();
    let agents: Vec<String> = (0..pools).map(agent).collect();
    format!(
        "{{\n  // kept\n  \"experimental\": {{ \"model_routes\": {{\n{}\n  }} }},\n  \"agents\": {{\n{}\n  }}\n}}\n",
        pools_text.join(",\n"),
        agents.join(",\n")
    )
}

/// A workspace with the small fleet.
pub(crate) fn fleet(name: &str, pools: usize, faulty: usize) -> PathBuf {
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    match workspace.symlink_metadata() {
        Ok(left) if left.is_dir() => std::fs::remove_dir_all(&workspace).unwrap(),
        Ok(_) => std::fs::remove_file(&workspace).unwrap(), // a link that an earlier run of a test left
        Err(_) => {}
    }
    put(&workspace.join("instructions/pool-composition-review.md"), INSTRUCTIONS);
    put(&workspace.join(".opencode/opencode.jsonc"), &config(pools, faulty));
    workspace
}

/// Writes a file with its folders.
pub(crate) fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Every file below a folder with its bytes, but the lock and the cadence.
pub(crate) fn written(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !matches!(name.as_str(), ".lock" | "cadence.jsonl") {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A machine on which nothing happens.
pub(crate) fn host(steps: Option<Steps>) -> Host<'static> {
    Host {
        home: None,
        program: PathBuf::from("/usr/bin/pool-review"),
        job_summary: None,
        pause: &|_| Wake::Stop,
        say: &|_| {},
        steps,
    }
}

/// Runs a verb in a workspace at an instant of the clock.
pub(crate) fn verb(workspace: &Path, clock: DateTime<Utc>, host: Host<'_>, args: &[&str]) -> Result<Answer, Failure> {
    let workspace = workspace.display().to_string();
    let words = ["pool-review", "--workspace", &workspace].into_iter().chain(args.iter().copied());
    let cli = Cli::try_parse_from(words).unwrap();
    let _gate = gate();
    let around = Surroundings {
        clock: &move || clock,
        colour: false,
        columns: pool_review::outputs::wrap::WIDTH,
        progress: &|_, _, _| {},
        variable: &|_| None,
        sleep: &|_| {},
        doing: &|_| {},
        host,
    };
    run(&cli, &around)
}

/// One review at an instant of the clock; how it ended and what it warned of.
pub(crate) fn review(workspace: &Path, clock: DateTime<Utc>, steps: Option<Steps>) -> (u8, Vec<String>) {
    match verb(workspace, clock, host(steps), &["review", "--quiet"]) {
        Ok(answer) => (answer.code as u8, answer.warnings),
        Err(failure) => {
            let (error, code) = failure.parts();
            (code as u8, vec![format!("{error:#}")])
        }
    }
}

/// Whether a code is that of a run that did its work.
pub(crate) fn is_done(code: u8) -> bool {
    code == ExitCode::Finished as u8 || code == ExitCode::Blocked as u8
}

/// How often the log and its months hold the section of each run.
pub(crate) fn sections(workspace: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (name, bytes) in written(&workspace.join("reports")) {
        if name == "pool-composition-log.md" || name.starts_with("log/") {
            let text = String::from_utf8(bytes).unwrap();
            for run in text.split("\n<a id=\"run-").skip(1).filter_map(|rest| rest.split_once("\"></a>\n")) {
                if run.0.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    *counts.entry(run.0.to_owned()).or_insert(0) += 1;
                }
            }
        }
    }
    counts
}
