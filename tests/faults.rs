//! Crash safety: a process is killed at every step of its writing, a disk is full at every step, and two processes start
//! together. What is left behind is read by the next run without repair by hand.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests write into scratch folders of their own, talk to their children, and say how much they did"
)]

mod scratch;

use std::cell::Cell;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::rc::Rc;

use chrono::{DateTime, Utc};
use pool_review::history::{Fact, Ledger, Status};
use pool_review::store::{Step, Steps, Store};
use scratch::{at, config, fleet, gate, is_done, put, review, sections, written};

/// Reviews of the small fleet: all pools faulty, then four of seven mended, then the third review drops what the second missed
/// and begins a month.
const TIMES: [&str; 4] =
    ["2026-11-29T12:00:00Z", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-01T12:00:00Z"];

/// Run ids of those times.
const RUNS: [&str; 4] = ["20261129T120000Z", "20261130T000000Z", "20261201T000000Z", "20261201T120000Z"];

/// Whether a file name has an ending.
fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|own| own == ending)
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
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

/// What a child is told by its environment.
fn told(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().unwrap())
}

/// The first proposal of the small fleet, and a decision on it as a file.
fn decision_file(workspace: &Path) -> (String, PathBuf) {
    let folder = workspace.join("reports/proposals");
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let id = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).min().unwrap();
    let text = format!(
        r#"{{"schema":"pool-review.decision/1","fingerprint":"{id}","revision":1,"decision":"reject","reason":"no","by":"agent"}}"#
    );
    let file = folder.join(format!("{id}.decision.json"));
    put(&file, &text);
    (id, file)
}

/// The decisions that a ledger holds, a torn last line or not.
fn decisions(workspace: &Path) -> usize {
    let text = std::fs::read_to_string(workspace.join("reports/ledger.jsonl")).unwrap();
    let (ledger, _) = Ledger::read("ledger.jsonl", &text);
    ledger.events().iter().filter(|event| matches!(event.fact, Some(Fact::Decision(_)))).count()
}

#[test]
fn a_decision_file_is_recorded_once_whatever_kills_the_review_that_takes_it_in() {
    let start = fleet("faults-decision-start", 2, 2);
    assert!(is_done(review(&start, at(TIMES[0]), None).0));
    let (id, file) = decision_file(&start);
    let name = file.strip_prefix(&start).unwrap();
    let killed = start.with_file_name("faults-decision-killed");
    let mut taken = 0;
    for step in 1.. {
        copy(&start, &killed);
        let output = child(&killed, TIMES[1], Some(step)).wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "step {step}: {}", String::from_utf8_lossy(&output.stdout));
        let is_there = killed.join(name).exists();
        assert!(is_there || decisions(&killed) == 1, "step {step}: the file, or what it says");
        let (code, warnings) = review(&killed, at(TIMES[2]), None);
        assert!(is_done(code), "step {step}: {warnings:?}");
        assert_eq!((decisions(&killed), killed.join(name).exists()), (1, false), "step {step}: once, and taken in");
        let past = ledger(&killed).present();
        assert_eq!(past.lives.get(&id).unwrap().status, Status::Rejected, "step {step}");
        taken += usize::from(!is_there);
        if taken == 3 {
            eprintln!("killed at {step} steps until a decision file was taken in, and then some");
            assert!(step > 10, "{step}");
            break;
        }
    }
}

/// Not a test of its own: what a child process of the tests below does. Without their environment it does nothing.
#[test]
fn a_child_reviews_and_dies_where_it_is_told_to() {
    let Some(workspace) = told("FAULTS_WORKSPACE").map(PathBuf::from) else { return };
    let clock = at(&told("FAULTS_CLOCK").unwrap());
    let steps: Steps = match told("FAULTS_STEP") {
        Some(step) => dying(step.parse().unwrap()),
        None => holding(),
    };
    let (code, warnings) = review(&workspace, clock, Some(steps));
    println!("ended with {code}: {}", warnings.join("; "));
}

/// Kills the process before the step of a number, counted from 1: no destructor runs, nothing is cleaned up.
fn dying(step: usize) -> Steps {
    let left = Cell::new(step);
    Rc::new(move |_: Step, _: &Path| {
        left.set(left.get() - 1);
        if left.get() == 0 {
            signal_hook::low_level::raise(signal_hook::consts::SIGKILL).unwrap();
        }
        Ok(())
    })
}

/// Once the lock is taken, waits for a line on stdin before the first file is opened.
fn holding() -> Steps {
    let is_first = Cell::new(true);
    Rc::new(move |step: Step, _: &Path| {
        if step == Step::Open && is_first.replace(false) {
            std::io::stdin().lock().read_line(&mut String::new()).unwrap();
        }
        Ok(())
    })
}

/// Starts a child that reviews a workspace.
fn child(workspace: &Path, clock: &str, step: Option<usize>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_child_reviews_and_dies_where_it_is_told_to", "--nocapture"]);
    command.env("FAULTS_WORKSPACE", workspace).env("FAULTS_CLOCK", clock);
    if let Some(step) = step {
        command.env("FAULTS_STEP", step.to_string());
    }
    let _gate = gate();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A workspace in which the reviews before one were done, and the config is as that one finds it.
fn before(name: &str, review_number: usize) -> PathBuf {
    let workspace = fleet(name, 7, 7);
    for (number, time) in TIMES.iter().enumerate().take(review_number) {
        mend(&workspace, number);
        assert!(is_done(review(&workspace, at(time), None).0));
    }
    mend(&workspace, review_number);
    workspace
}

/// The config as a review finds it.
fn mend(workspace: &Path, review_number: usize) {
    let faulty = if review_number == 0 { 7 } else { 3 };
    put(&workspace.join(".opencode/opencode.jsonc"), &config(7, faulty));
}

/// The ledger of a workspace, which must hold nothing that is not part of its chain.
fn ledger(workspace: &Path) -> Ledger {
    let text = std::fs::read_to_string(workspace.join("reports/ledger.jsonl")).unwrap();
    let (ledger, problems) = Ledger::read("ledger.jsonl", &text);
    assert!(problems.is_empty(), "{problems:?}");
    ledger
}

/// Kills a review at every step; returns how many steps there were.
fn kill_everywhere(name: &str, number: usize) -> usize {
    let start = before(&format!("{name}-start"), number);
    let undisturbed = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-undisturbed"));
    copy(&start, &undisturbed);
    assert!(is_done(review(&undisturbed, at(TIMES[number]), None).0));
    let expected = written(&undisturbed.join("reports"));
    let (killed, resumed) =
        (start.with_file_name(format!("{name}-killed")), start.with_file_name(format!("{name}-next")));
    for step in 1.. {
        copy(&start, &killed);
        let output = child(&killed, TIMES[number], Some(step)).wait_with_output().unwrap();
        if output.status.success() {
            assert!(step > 1, "{}", String::from_utf8_lossy(&output.stdout));
            assert_eq!(written(&killed.join("reports")), expected, "the child does what this process does");
            return step - 1;
        }
        assert_eq!(output.status.signal(), Some(9), "step {step}: {}", String::from_utf8_lossy(&output.stderr));
        copy(&killed, &resumed);
        again_ends_in_the_same_bytes(&killed, number, step, &expected);
        the_next_review_loses_and_doubles_nothing(&resumed, number, step);
    }
    unreachable!("a review has an end")
}

/// The same review again, as somebody would do by hand.
fn again_ends_in_the_same_bytes(
    workspace: &Path,
    number: usize,
    step: usize,
    expected: &std::collections::BTreeMap<String, Vec<u8>>,
) {
    let (code, warnings) = review(workspace, at(TIMES[number]), None);
    assert!(is_done(code), "step {step}: {warnings:?}");
    let got = written(&workspace.join("reports"));
    let differing: Vec<&String> = got
        .keys()
        .chain(expected.keys())
        .filter(|name| got.get(*name) != expected.get(*name))
        .filter(|name| name.as_str() != "pool-composition-log.md" || !only_the_cadence_differs(&got, expected))
        .filter(|name| !has_ending(name, "torn"))
        .collect();
    assert!(differing.is_empty(), "killed at step {step}, done again: {differing:?} differ");
}

/// Whether two logs differ only in what they say about killed runs, which the undisturbed one cannot know.
fn only_the_cadence_differs(
    got: &std::collections::BTreeMap<String, Vec<u8>>,
    expected: &std::collections::BTreeMap<String, Vec<u8>>,
) -> bool {
    let plain = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
        let text = String::from_utf8(files["pool-composition-log.md"].clone()).unwrap();
        let parts =
            text.split("\n\n").filter(|part| !part.starts_with("Cadence since") && !part.contains("it was killed"));
        parts.collect::<Vec<_>>().join("\n\n")
    };
    plain(got) == plain(expected)
}

/// The next review, as the scheduler would start it.
fn the_next_review_loses_and_doubles_nothing(workspace: &Path, number: usize, step: usize) {
    let (code, warnings) = review(workspace, at(TIMES[number + 1]), None);
    assert!(is_done(code), "step {step}: {warnings:?}");
    let (ledger, sections) = (ledger(workspace), sections(workspace));
    let runs: Vec<&str> = ledger.runs().into_iter().map(|(run, _)| run).collect();
    let counted: Vec<&str> = sections.keys().map(String::as_str).collect();
    assert_eq!(runs, counted, "step {step}: a run is in the ledger exactly when its section is in the log");
    assert!(sections.values().all(|count| *count == 1), "step {step}: {sections:?}");
    for run in &RUNS[..number] {
        assert!(runs.contains(run), "step {step}: earlier runs stay");
    }
    assert!(runs.contains(&RUNS[number + 1]), "step {step}");
    let left = written(&workspace.join("reports"));
    let temporary: Vec<&String> =
        left.keys().filter(|name| name.contains(".new") || name.contains("pending")).collect();
    assert!(temporary.is_empty(), "step {step}: {temporary:?}");
    for name in left.keys().filter(|name| name.starts_with("proposals/") && has_ending(name, "json")) {
        serde_json::from_slice::<serde_json::Value>(&left[name]).unwrap();
    }
}

#[test]
fn a_process_killed_before_any_step_of_its_writing_loses_and_doubles_nothing() {
    let first = kill_everywhere("faults-first", 0);
    let third = kill_everywhere("faults-third", 2);
    eprintln!("killed at {} steps: {first} of a first review, {third} of one that begins a month", first + third);
    assert!(first + third > 200, "{first} + {third}");
}

#[test]
fn an_error_at_any_step_is_said_and_leaves_what_the_next_run_goes_on_from() {
    let said = fail_everywhere(2);
    eprintln!("failed at {said} steps");
    assert!(said > 60, "{said}");
}

/// Lets a review fail at every step; returns how many steps there were.
fn fail_everywhere(number: usize) -> usize {
    let start = before(&format!("faults-error-start-{number}"), number);
    let workspace = start.with_file_name(format!("faults-error-{number}"));
    let kinds = [(28, "No space left on device"), (30, "Read-only file system"), (13, "Permission denied")];
    let mut said = 0;
    for step in 1.. {
        let (code, words) = kinds[step % kinds.len()];
        copy(&start, &workspace);
        let (exit, warnings) = review(&workspace, at(TIMES[number]), Some(failing(step, code)));
        if is_done(exit) && !warnings.join("").contains(words) {
            break;
        }
        // A temporary file that cannot be removed is said and does no harm; everything else ends the run.
        assert_eq!(exit, 1, "step {step}: {warnings:?}");
        assert!(warnings[0].contains(words), "step {step}: {warnings:?}");
        assert!(!warnings[0].contains('\n'), "one line: {warnings:?}");
        the_next_review_loses_and_doubles_nothing(&workspace, number, step);
        said = step;
    }
    said
}

/// Fails with an error of the system at the step of a number and at every later one.
fn failing(step: usize, code: i32) -> Steps {
    let left = Cell::new(step);
    Rc::new(move |_: Step, _: &Path| {
        left.set(left.get().saturating_sub(1));
        if left.get() == 0 { Err(std::io::Error::from_raw_os_error(code)) } else { Ok(()) }
    })
}

/// Waits for one of two children in a thread and says which ended.
fn wait(number: usize, child: Child, ended: std::sync::mpsc::Sender<(usize, Output)>) {
    std::thread::spawn(move || ended.send((number, child.wait_with_output().unwrap())));
}

#[test]
fn of_two_processes_that_start_together_one_runs_and_one_says_why_not() {
    let workspace = fleet("faults-two", 2, 1);
    let mut clock: DateTime<Utc> = at(TIMES[0]);
    for round in 0..100 {
        clock += chrono::TimeDelta::hours(1);
        let time = clock.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut inputs = Vec::new();
        for number in 0..2 {
            let mut child = child(&workspace, &time, None);
            inputs.push(child.stdin.take().unwrap());
            wait(number, child, sender.clone());
        }
        let (loser, output) = receiver.recv().unwrap();
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(words.contains("ended with 1: another run holds "), "round {round}: {words}");
        assert!(words.contains("reports/.lock (pid "), "round {round}: {words}");
        inputs[1 - loser].write_all(b"go on\n").unwrap();
        let (_, output) = receiver.recv().unwrap();
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(words.contains("ended with 0: ") || words.contains("ended with 3: "), "round {round}: {words}");
    }
    let sections = sections(&workspace);
    assert_eq!((sections.len(), sections.values().sum::<usize>()), (100, 100), "each of 100 rounds left one section");
}

#[test]
fn a_lock_whose_owner_was_killed_is_taken_over_and_that_is_said() {
    let workspace = fleet("faults-stale-lock", 1, 0);
    put(&workspace.join("reports/.lock"), "4194303\n");
    put(&workspace.join("reports/.ledger.jsonl.new"), "half");
    put(&workspace.join("reports/.mine.new.txt"), "not ours");
    let store = Store::open(&workspace, Path::new("reports"), Path::new("reports/pool-composition-log.md")).unwrap();
    assert_eq!(
        store.recovered(),
        [
            "the run of process 4194303 was killed; the lock was taken over and its work is completed",
            "reports/.ledger.jsonl.new: left by a killed run, removed"
        ]
    );
    let left = written(&workspace.join("reports"));
    assert_eq!(left.keys().collect::<Vec<_>>(), [".mine.new.txt"]);
}

#[test]
fn a_clock_that_went_back_ends_the_run_with_a_sentence_and_no_byte() {
    let workspace = fleet("faults-clock", 1, 0);
    assert!(is_done(review(&workspace, at(TIMES[1]), None).0));
    let before = written(&workspace.join("reports"));
    let (code, warnings) = review(&workspace, at(TIMES[0]), None);
    assert_eq!(code, 1);
    assert_eq!(
        warnings,
        [
            "the clock shows 2026-11-29T12:00:00Z, but the last run began at 2026-11-30T00:00:00Z: the clock went back; set it \
          right, or say the time with --now. If that run was the wrong one, take its lines out of reports/cadence.jsonl"
        ]
    );
    assert_eq!(written(&workspace.join("reports")), before);
}
