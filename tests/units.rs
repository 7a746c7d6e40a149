//! Units for outside schedulers, completions and manual: printed, and read by their real parsers where this machine has them.
//! `tests/units/install.sh` brings those; .ci/run calls it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests write into scratch folders of their own and say what they could not run"
)]

#[expect(dead_code, reason = "other tests use more of it")]
mod scratch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chrono_tz::Tz;
use pool_review::schedule::Schedule;
use scratch::{at, fleet, gate, host, put, verb};

/// What tests/units/install.sh puts beside this test.
fn installed(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units/node_modules").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no {name}; tests/units/install.sh brings it");
    None
}

/// What actionlint says of a workflow, one line each; `None` where it is missing.
fn linted(workflow: &str) -> Option<String> {
    installed("actionlint")?;
    let mut child = {
        let _gate = gate();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units");
        let mut command = Command::new("node");
        command.arg("lint.cjs").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    child.stdin.take().unwrap().write_all(workflow.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn actionlint_accepts_the_workflow() {
    let workspace = fleet("units actionlint", 1, 0);
    for expression in EXPRESSIONS {
        let text = unit(&workspace, expression, "github-actions");
        let Some(said) = linted(&text) else { return };
        assert_eq!(said, "", "{expression}\n{text}");
        let broken = linted(&text.replace("runs-on:", "runs-onn:")).unwrap();
        assert!(broken.contains("runs-onn"), "it does read the file: {broken}");
    }
}

#[test]
fn the_schema_of_kubernetes_accepts_the_cronjob() {
    let workspace = fleet("units kubernetes", 1, 0);
    let Some(schema) = installed("cronjob.json") else { return };
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for expression in EXPRESSIONS {
        let mut job: serde_json::Value = serde_saphyr::from_str(&unit(&workspace, expression, "kubernetes")).unwrap();
        let faults: Vec<String> =
            schema.iter_errors(&job).map(|fault| format!("{} {fault}", fault.instance_path())).collect();
        assert!(faults.is_empty(), "{expression}: {faults:#?}");
        job["spec"]["concurency"] = "Forbid".into();
        assert!(!schema.is_valid(&job), "it knows which keys there are");
    }
}

/// The schedule of an expression.
fn schedule(expression: &str, zone: Tz) -> Schedule {
    Schedule::parse(expression, zone).unwrap()
}

/// A unit for a scheduler.
fn unit(workspace: &Path, expression: &str, target: &str) -> String {
    let file = workspace.join("instructions/pool-composition-review.md");
    let text = format!("---\nschedule: \"{expression}\"\ntimezone: Europe/Berlin\n---\n\nA fleet.\n");
    put(&file, &text);
    verb(workspace, at("2027-01-10T00:00:00Z"), host(None), &["schedule", target])
        .map_err(|failure| failure.parts().0)
        .unwrap()
        .text
}

/// Expressions that units are made for.
const EXPRESSIONS: [&str; 4] = ["0 */12 * * *", "17 3,15 * * mon-fri", "5 6 13 * 5", "*/20 1-3 1-7 feb *"];

/// Runs a program with a file; `None`, said on stderr, when this machine lacks it.
fn parsed_by(program: &str, args: &[&str], files: &[&Path]) -> Option<std::process::Output> {
    let started = {
        let _gate = gate();
        Command::new(program)
            .args(args)
            .args(files)
            .env("TZ", "UTC")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let ran = started.ok().map(|child| child.wait_with_output().unwrap());
    if ran.is_none() {
        eprintln!("skipped: {program} is not on this machine");
    }
    ran
}

#[test]
fn systemd_itself_accepts_the_service_and_the_timer() {
    let workspace = fleet("units systemd", 1, 0);
    for expression in EXPRESSIONS {
        let text = unit(&workspace, expression, "systemd").replace("/usr/bin/pool-review", "/usr/bin/true");
        let (service, timer) = text.split_once("# ~/.config/systemd/user/pool-review.timer\n").unwrap();
        let paths = [workspace.join("units/pool-review.service"), workspace.join("units/pool-review.timer")];
        put(&paths[0], service);
        put(&paths[1], timer);
        let Some(ran) = parsed_by("systemd-analyze", &["verify", "--user"], &[&paths[0], &paths[1]]) else { return };
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!said.contains("pool-review"), "{expression}: {said}\n{text}");
        for calendar in timer.lines().filter_map(|line| line.strip_prefix("OnCalendar=")) {
            let ran = parsed_by("systemd-analyze", &["calendar", calendar], &[]).unwrap();
            assert!(ran.status.success(), "{calendar}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
}

#[test]
fn the_cron_of_debian_accepts_the_line() {
    let workspace = fleet("units crontab", 1, 0);
    for expression in EXPRESSIONS {
        let path = workspace.join("crontab");
        put(&path, &unit(&workspace, expression, "crontab"));
        // `-n` reads the file and installs nothing.
        let Some(ran) = parsed_by("crontab", &["-n"], &[&path]) else { return };
        assert!(ran.status.success(), "{expression}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn workflow_cronjob_and_scheduler_job_are_well_formed_and_say_what_they_must() {
    let workspace = fleet("units-rest", 1, 0);
    for expression in EXPRESSIONS {
        let workflow: serde_json::Value =
            serde_saphyr::from_str(&unit(&workspace, expression, "github-actions")).unwrap();
        let crons = workflow["on"]["schedule"].as_array().unwrap();
        assert!(!crons.is_empty() && workflow["jobs"]["review"]["steps"].as_array().unwrap().len() == 4);
        for cron in crons {
            schedule(cron["cron"].as_str().unwrap(), Tz::UTC);
        }
        let job: serde_json::Value = serde_saphyr::from_str(&unit(&workspace, expression, "kubernetes")).unwrap();
        assert_eq!((job["apiVersion"].as_str(), job["kind"].as_str()), (Some("batch/v1"), Some("CronJob")));
        assert_eq!(job["spec"]["timeZone"], "Europe/Berlin");
        assert_eq!(job["spec"]["concurrencyPolicy"], "Forbid");
        schedule(job["spec"]["schedule"].as_str().unwrap(), Tz::Europe__Berlin);
        let job: serde_json::Value = serde_json::from_str(&unit(&workspace, expression, "opencode-scheduler")).unwrap();
        let fields = job["schedule"].as_str().unwrap();
        assert!(
            fields.bytes().all(|byte| byte.is_ascii_digit() || b"*/, ".contains(&byte)),
            "no ranges, no names: {fields}"
        );
        assert_eq!(job["invocation"]["command"], "/usr/bin/pool-review");
        assert!(job["run"]["prompt"].is_string() && job["slug"].is_string() && job["createdAt"].is_string());
    }
    let utc: serde_json::Value = serde_saphyr::from_str(&unit(&workspace, "0 */12 * * *", "github-actions")).unwrap();
    assert_eq!(utc["on"]["schedule"][0]["cron"], "0 11,23 * * *", "noon in Berlin is 11:00 UTC in January");
}

#[test]
fn completions_and_manual_name_every_verb() {
    let workspace = fleet("shell", 1, 0);
    let text = |args: &[&str]| verb(&workspace, at("2027-01-10T00:00:00Z"), host(None), args).ok().unwrap().text;
    let verbs = ["review", "watch", "status", "diff", "init", "schedule", "completions", "man", "explain"];
    for page in
        [text(&["completions", "bash"]), text(&["completions", "zsh"]), text(&["completions", "fish"]), text(&["man"])]
    {
        for verb in verbs {
            assert!(page.contains(verb), "{verb}");
        }
    }
    let path = workspace.join("pool-review.bash");
    put(&path, &text(&["completions", "bash"]));
    if let Some(ran) = parsed_by("bash", &["-n"], &[&path]) {
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}
