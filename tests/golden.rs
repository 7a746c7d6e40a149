//! Golden folders: each `tests/golden/<case>` is a workspace, the command lines that run in it, and everything they print
//! and write. After a change that is meant, `BLESS=1 cargo test --test golden` rewrites `expected/`; read the diff.
//!
//! | in a case | what it is |
//! |:--|:--|
//! | `args` | one command line per line, run in this order |
//! | `in/` | the workspace before the first run |
//! | `base` | `<path of the repository> as <path of the workspace>` per line, put there before `in/` |
//! | `read-only` | paths that nobody may write while it runs |
//! | `expected/<n>/` | exit code, stdout and stderr of the n-th command line |
//! | `expected/files/` | every file that is new or other after the last, indexes of stores excepted; a large one as its size and digest |

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

#[path = "scene/binary.rs"]
mod binary;
#[path = "scene/files.rs"]
mod files;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use binary::Ran;
use clap::CommandFactory as _;
use files::tree;
use pool_review::checks::CHECKS;
use pool_review::vocabulary::sha256_hex;
use scene::Scene;

/// From this size on a written file is compared by its digest.
const MOST_KEPT_BYTES: usize = 40 * 1024;

/// Runs these cases, one test each, and fails when a folder is in none of them.
macro_rules! cases {
    ($($test:ident: $folder:literal,)*) => {
        $(#[test] fn $test() { run_case($folder); })*

        /// The folders that a test runs.
        const CASES: &[&str] = &[$($folder,)*];
    };
}

cases! {
    the_demo: "demo",
    a_whole_fleet_can_be_aligned: "aligned",
    latest_model: "latest-model",
    best_per_pool: "best-per-pool",
    right_sizing: "right-sizing",
    structure: "structure",
    a_fleet_of_rollups_gets_what_they_support: "calls-only",
    a_member_the_router_cannot_reach_is_unavailable: "calls-unavailable",
    spend_logs_stand_beside_scorecards: "calls-spend-logs",
    a_stale_market_blocks: "market-stale",
    an_empty_market_blocks: "market-empty",
    sources_that_are_not_configured_are_not_judged: "not-configured",
    a_quota_snapshot_of_last_month_is_not_used: "quota-of-last-month",
    quota_windows_stand_in_the_logs_of_clients: "quota-from-logs",
    categories_that_cannot_be_read_block: "categories-broken",
    a_category_may_name_a_missing_pool: "missing-pool",
    a_second_run_on_the_same_evidence_says_unchanged: "second-run-12h-later",
    a_second_run_after_readings_grew_old_says_what_moved: "second-run-moved",
    the_same_instant_twice_is_one_run: "same-now-twice",
    without_file_issues_a_plan_is_made_and_nothing_is_sent: "issue-plan",
    format_json: "format-json",
    quiet: "quiet",
    exit_code: "exit-code",
    explain: "explain",
    help: "help",
}

#[test]
fn every_case_folder_is_run() {
    let entries = std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap());
    let folders: BTreeSet<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, CASES.iter().map(|case| (*case).to_owned()).collect());
}

#[test]
fn every_check_has_a_case_of_its_name() {
    for check in CHECKS {
        assert!(CASES.contains(&check.id.as_str()), "no golden folder {}", check.id.as_str());
    }
}

#[test]
fn every_verb_has_its_help_in_the_help_case() {
    let args = std::fs::read_to_string(golden().join("help/args")).unwrap();
    for verb in pool_review::cli::Cli::command().get_subcommands() {
        let line = format!("{} --help", verb.get_name());
        assert!(args.lines().any(|args| args == line), "tests/golden/help/args lacks {line:?}");
    }
}

#[test]
fn explain_prints_the_page_of_the_check() {
    let scene = Scene::new("explain-pages");
    for check in CHECKS {
        let id = check.id.as_str();
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("instructions/checks/{id}.md"));
        let ran = scene.run(&["explain", id]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "explain {id}");
        assert_eq!(ran.stdout, std::fs::read_to_string(page).unwrap(), "explain {id}");
    }
    assert!(tree(&scene.root).is_empty(), "explain writes nothing");
}

#[test]
fn the_same_instant_again_touches_no_file() {
    let scene = Scene::demo("touched");
    let state = || -> BTreeMap<String, _> {
        let files = tree(&scene.root).into_iter().filter(|(path, _)| !OUTSIDE.iter().any(|end| path.ends_with(end)));
        files.map(|(path, bytes)| (path.clone(), (modified(&scene.root.join(path)), bytes))).collect()
    };
    assert_eq!(scene.run(&["review"]).code, Some(3));
    let first = state();
    assert_eq!(scene.run(&["review"]).code, Some(3));
    for (path, second) in state() {
        assert!(first.get(&path) == Some(&second), "{path} was written again");
    }
    assert_eq!(state().len(), first.len());
}

#[test]
fn another_place_and_environment_give_the_same_bytes() {
    let (here, there) = (Scene::demo("here"), Scene::demo("a folder/of somebody else's"));
    let first = here.run(&["review"]);
    let mut command = there.command(&["review", "--workspace", there.root.to_str().unwrap()]);
    command
        .current_dir("/")
        .env("TZ", "Asia/Tokyo")
        .env("LC_ALL", "de_DE.UTF-8")
        .env("COLUMNS", "20")
        .env("CI", "true");
    command.env("TERM", "xterm").env("CLICOLOR_FORCE", "1").env("FORCE_COLOR", "1").env("RUST_BACKTRACE", "1");
    command
        .env("RUST_LOG", "trace")
        .env("HOME", "/nowhere")
        .env("XDG_CONFIG_HOME", "/nowhere")
        .env("POLARS_MAX_THREADS", "1");
    let second = command.output().unwrap();
    assert_eq!(String::from_utf8(second.stdout).unwrap(), first.stdout);
    assert_eq!(String::from_utf8(second.stderr).unwrap(), first.stderr);
    let reports = |scene: &Scene| {
        let files = tree(&scene.root.join("reports")).into_iter();
        files.filter(|(path, _)| !OUTSIDE.iter().any(|end| path.ends_with(end))).collect::<BTreeMap<_, _>>()
    };
    assert!(reports(&here) == reports(&there), "some file of the reports folder depends on the machine");
}

/// What every run touches: the cadence, which is outside the promise, and the lock.
const OUTSIDE: [&str; 2] = ["cadence.jsonl", ".lock"];

/// When a file was last written.
fn modified(path: &Path) -> std::time::SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

/// The folder of the cases.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Builds the workspace of a case, runs its command lines and compares everything they leave behind.
fn run_case(case: &str) {
    let folder = golden().join(case);
    let scene = workspace(case, &folder);
    let before = tree(&scene.root);
    let read_only = read_only(&folder, &scene);
    let args = std::fs::read_to_string(folder.join("args")).unwrap();
    let mut actual = BTreeMap::new();
    for (n, line) in (1..).zip(args.lines()) {
        let ran = scene.run(&line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
        actual.extend(answer(n, line, &ran, &scene));
    }
    drop(read_only);
    let after = tree(&scene.root);
    for (path, bytes) in &before {
        assert!(after.get(path) == Some(bytes), "{case}: {path} was there before and is not as it was");
    }
    let is_index = |path: &str| Path::new(path).extension().is_some_and(|ending| ending == "idx");
    // The index of session stores holds inodes and times of files: it is of one machine.
    let written = after.iter().filter(|(path, _)| !before.contains_key(*path) && !is_index(path));
    actual.extend(written.map(|(path, bytes)| (format!("files/{path}"), kept(path, bytes, &scene))));
    compare(case, &folder.join("expected"), &actual);
}

/// The workspace before the first run.
fn workspace(case: &str, folder: &Path) -> Scene {
    let scene = Scene::new(case);
    let base = std::fs::read_to_string(folder.join("base")).unwrap_or_default();
    for line in base.lines() {
        let (from, to) = line.split_once(" as ").unwrap_or_else(|| panic!("{case}: base line {line:?}"));
        scene.copy(from, to);
    }
    if folder.join("in").exists() {
        scene.copy(&format!("tests/golden/{case}/in"), ".");
    }
    scene
}

/// Files that cannot be written until this is dropped.
struct ReadOnly(Vec<PathBuf>);

/// Takes the right to write from the files that a case names.
fn read_only(folder: &Path, scene: &Scene) -> ReadOnly {
    let list = std::fs::read_to_string(folder.join("read-only")).unwrap_or_default();
    let paths: Vec<PathBuf> = list.lines().map(|path| scene.root.join(path)).collect();
    set_readonly(&paths, true);
    ReadOnly(paths)
}

/// Sets or clears the right to write.
fn set_readonly(paths: &[PathBuf], readonly: bool) {
    for path in paths {
        let mut rights = path.metadata().unwrap().permissions();
        rights.set_readonly(readonly);
        std::fs::set_permissions(path, rights).unwrap();
    }
}

impl Drop for ReadOnly {
    /// Gives the right back, so that the folder can be made anew.
    fn drop(&mut self) {
        set_readonly(&self.0, false);
    }
}

/// What one command line printed and how it ended.
fn answer(n: usize, line: &str, ran: &Ran, scene: &Scene) -> [(String, String); 3] {
    let code = ran.code.map_or("ended by a signal".to_owned(), |code| code.to_string());
    [
        (format!("{n}/exit"), format!("{code}  {line}\n")),
        (format!("{n}/stdout"), kept("", ran.stdout.as_bytes(), scene)),
        (format!("{n}/stderr"), kept("", ran.stderr.as_bytes(), scene)),
    ]
}

/// A written file as it is compared: without what depends on machine or clock, and large ones by their digest.
fn kept(path: &str, bytes: &[u8], scene: &Scene) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let text = text.replace(scene.root.to_str().unwrap(), "[ROOT]");
    if path.ends_with("cadence.jsonl") {
        return text.lines().map(|line| clockless(line) + "\n").collect();
    }
    if text.len() > MOST_KEPT_BYTES {
        return format!("{} bytes, sha256 {}\n", text.len(), sha256_hex(text.as_bytes()));
    }
    text
}

/// A line of the cadence without the wall clock, which no two runs share.
fn clockless(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    for key in ["at", "duration_ms"] {
        if !value[key].is_null() {
            value[key] = "[CLOCK]".into();
        }
    }
    value.to_string()
}

/// Compares with the expected folder, or rewrites it when asked.
fn compare(case: &str, expected: &Path, actual: &BTreeMap<String, String>) {
    if std::env::var_os("BLESS").is_some_and(|bless| bless == "1") {
        return bless(expected, actual);
    }
    let wanted = if expected.exists() { tree(expected) } else { BTreeMap::new() };
    let mut problems = String::new();
    for path in wanted.keys().chain(actual.keys()).collect::<BTreeSet<_>>() {
        let (want, have) = (wanted.get(path), actual.get(path));
        if want.map(|bytes| String::from_utf8_lossy(bytes)).as_deref() != have.map(String::as_str) {
            let want = want.map_or("nothing".into(), |bytes| String::from_utf8_lossy(bytes));
            writeln!(problems, "{path}: {}", first_difference(&want, have.map_or("nothing", String::as_str))).unwrap();
        }
    }
    assert!(problems.is_empty(), "{case}: BLESS=1 rewrites tests/golden/{case}/expected\n{problems}");
}

/// The first line in which two texts differ.
fn first_difference(want: &str, have: &str) -> String {
    let lines = want.lines().map(Some).chain(std::iter::repeat(None)).zip(have.lines().map(Some).chain([None]));
    let (n, (want, have)) = (1..).zip(lines).find(|(_, (want, have))| want != have).unwrap_or_default();
    let show = |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("{line:?}"));
    format!("line {n}\n  expected {}\n  found    {}", show(want), show(have))
}

/// Rewrites an expected folder.
#[expect(clippy::disallowed_methods, reason = "rewrites the expected output on demand")]
fn bless(expected: &Path, actual: &BTreeMap<String, String>) {
    if expected.exists() {
        std::fs::remove_dir_all(expected).unwrap();
    }
    for (path, text) in actual {
        let path = expected.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
