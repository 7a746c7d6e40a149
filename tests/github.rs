//! Issue filing against a tracker that fails: statuses, limits, answers that are cut, late or lost, pages that are missing, and a
//! process that is killed at every step of its writing. Never are there two issues for one fingerprint.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests write into scratch folders of their own, talk to their children, and say how much they did"
)]

mod filing;
mod github_support;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::rc::Rc;

use filing::proxy::{Break, Proxy};
use filing::{TOKEN, VARIABLE, Workspace, copy, gate};
use github_support::{Fault, Hub};
use pool_review::outputs;
use pool_review::store::{Step, Steps, Store};
use wiremock::ResponseTemplate;

/// The write that opens the first issue: three labels come before it.
const FIRST: usize = 4;

/// A tracker and a fleet that files at it.
fn scene(name: &str) -> (Hub, Workspace) {
    let hub = Hub::start();
    let workspace = Workspace::new(name, &hub.url(), "fleet/models");
    (hub, workspace)
}

/// Every id has one issue, no comment stands twice, and a run that changes nothing sends nothing but GET.
fn all_is_well(hub: &Hub, workspace: &Workspace, number: i64, what: &str) {
    let again = workspace.review(number);
    assert_eq!(again.code, 0, "{what}: {}", again.said);
    hub.asked();
    let still = workspace.review(number + 1);
    assert_eq!(still.code, 0, "{what}: {}", still.said);
    assert_eq!(hub.written(), Vec::<String>::new(), "{what}");
    let ids = hub.ids();
    assert!(ids.len() >= 2 && ids.values().all(|count| *count == 1), "{what}: {ids:?}");
    hub.held(|held| assert!(held.comments.values().all(|comments| comments.len() == 1), "{what}: {:?}", held.comments));
}

#[test]
fn whatever_a_write_is_answered_with_there_is_one_issue_for_each_fingerprint() {
    let faults = [
        (Fault::DoneAnd502, "GitHub answered 502 Bad Gateway"),
        (Fault::Only502, "GitHub answered 502 Bad Gateway"),
        (Fault::Secondary403, "GitHub answered 403 Forbidden: You have exceeded a secondary rate limit."),
        (Fault::Spent403, "GitHub answered 403 Forbidden: API rate limit exceeded; it may be asked again in 100 s"),
        (Fault::Limit429, "GitHub answered 429 Too Many Requests: slow down; it may be asked again in 7 s"),
        (Fault::DoneAndCut, "GitHub answered 201 Created, and the answer cannot be read"),
        (Fault::DoneAndLate, "GitHub did not answer within 2 s"),
        (Fault::Unauthorized, "GitHub answered 401 Unauthorized: Bad credentials"),
        (Fault::Unprocessable, "GitHub answered 422 Unprocessable Entity: Validation Failed"),
    ];
    for (fault, words) in faults {
        let (hub, workspace) = scene(&format!("fault-{fault:?}").to_lowercase());
        hub.fail_at(FIRST, fault);
        let failed = workspace.review(0);
        assert_eq!(failed.code, 1, "{fault:?}: {}", failed.said);
        let line = format!("issues not updated: creating issue: {words}");
        assert_eq!(failed.said.lines().last(), Some(line.as_str()), "{fault:?}");
        assert_eq!(
            hub.written().len(),
            FIRST,
            "{fault:?}: one call is one request, and the first that fails is the last"
        );
        let log = workspace.report("pool-composition-log.md");
        assert!(log.contains(&format!("**issues not updated:** `creating issue: {words}`")), "{fault:?}: {log}");
        assert!(log.contains("### `workhorse`"), "{fault:?}: everything else is delivered");
        all_is_well(&hub, &workspace, 1, &format!("{fault:?}"));
    }
}

#[test]
fn a_label_a_comment_and_a_closing_that_fail_are_made_up_for() {
    for fault in [Fault::DoneAnd502, Fault::Only502, Fault::DoneAndCut, Fault::Limit429] {
        for write in [1, 2] {
            let (hub, workspace) = scene(&format!("closing-{fault:?}-{write}").to_lowercase());
            hub.fail_at(write, fault);
            let first = workspace.review(0);
            assert_eq!(
                first.code,
                u8::from(fault != Fault::DoneAndCut),
                "{fault:?}: a label needs no answer: {}",
                first.said
            );
            assert_eq!(workspace.review(1).code, 0);
            workspace.mend();
            assert_eq!(workspace.review(2).code, 0);
            hub.fail_at(write, fault);
            let failed = workspace.review(3);
            assert!(failed.code == 1 || fault == Fault::DoneAndCut, "{fault:?}: {}", failed.said);
            all_is_well(&hub, &workspace, 4, &format!("{fault:?} at write {write}"));
            hub.held(|held| assert!(held.issues.iter().all(|issue| issue["state"] == "closed"), "{fault:?}"));
        }
    }
}

#[test]
fn an_answer_that_is_lost_or_broken_off_on_the_way_is_looked_for() {
    for how in [Break::Before, Break::After, Break::Half, Break::Silence] {
        let hub = Hub::start();
        let proxy = Proxy::before(hub.port());
        let workspace = Workspace::new(&format!("lost-{how:?}").to_lowercase(), &proxy.url(), "fleet/models");
        proxy.break_at(FIRST, how, None);
        let failed = workspace.review(0);
        assert_eq!(failed.code, 1, "{how:?}: {}", failed.said);
        assert!(failed.said.contains("issues not updated: creating issue: GitHub"), "{how:?}: {}", failed.said);
        assert_eq!(proxy.written().len(), FIRST, "{how:?}");
        all_is_well(&hub, &workspace, 1, &format!("{how:?}"));
    }
}

#[test]
fn when_a_page_of_the_list_fails_nothing_is_written() {
    let (hub, workspace) = scene("pages");
    assert_eq!(workspace.review(0).code, 0);
    hub.held(|held| held.page_size = 1);
    hub.asked();
    assert_eq!(workspace.review(1).code, 0);
    let pages = hub.asked().iter().filter(|line| line.contains("/issues?")).count();
    assert!(pages >= 2, "the list is followed to its last page, at the same server: {pages}");
    workspace.forbid_successor();
    hub.held(|held| held.list_fault = Some((2, ResponseTemplate::new(500), usize::MAX)));
    let failed = workspace.review(2);
    assert_eq!(failed.code, 1);
    let line = "issues not updated: listing issues: GitHub answered 500 Internal Server Error";
    assert_eq!(failed.said.lines().last(), Some(line));
    assert_eq!(failed.waits, [1, 2], "a read is repeated, twice");
    assert_eq!(hub.written(), Vec::<String>::new());
    hub.held(|held| {
        held.list_fault =
            Some((1, ResponseTemplate::new(200).set_body_raw("[{\"number\":", "application/json"), usize::MAX));
    });
    let failed = workspace.review(3);
    assert_eq!(
        failed.said.lines().last(),
        Some("issues not updated: listing issues: page 1 of the list cannot be read")
    );
    hub.held(|held| held.list_fault = None);
    assert_eq!(workspace.review(4).code, 0);
    assert!(!hub.written().is_empty());
}

#[test]
fn a_read_waits_as_long_as_the_server_says_within_bounds() {
    let (hub, workspace) = scene("waits");
    let limit = |seconds: &str| ResponseTemplate::new(429).insert_header("retry-after", seconds);
    hub.held(|held| held.list_fault = Some((1, limit("7"), 2)));
    let reviewed = workspace.review(0);
    assert_eq!((reviewed.code, &reviewed.waits[..2]), (0, &[7, 7][..]), "{}", reviewed.said);
    hub.held(|held| held.list_fault = Some((1, limit("3600"), 1)));
    let failed = workspace.review(1);
    assert_eq!((failed.code, failed.waits.len()), (1, 0), "{}", failed.said);
    let line =
        "issues not updated: listing issues: GitHub answered 429 Too Many Requests; it may be asked again in 3600 s";
    assert_eq!(failed.said.lines().last(), Some(line));
}

#[test]
fn a_pull_request_and_an_issue_of_somebody_else_are_not_ours() {
    let (hub, workspace) = scene("foreign");
    assert_eq!(workspace.review(0).code, 0);
    hub.held(|held| {
        for (change, value) in
            [("pull_request", serde_json::json!({})), ("user", serde_json::json!({"login": "somebody"}))]
        {
            let mut copy = held.issues[0].clone();
            copy["number"] = serde_json::json!(held.issues.len() + 1);
            copy[change] = value;
            held.issues.push(copy);
        }
    });
    hub.asked();
    assert_eq!(workspace.review(1).code, 0);
    assert_eq!(hub.written(), Vec::<String>::new());
}

#[test]
fn a_server_that_is_not_there_is_said_in_one_line() {
    let workspace = Workspace::new("nobody", "http://127.0.0.1:9", "fleet/models");
    let failed = workspace.review(0);
    assert_eq!(failed.code, 1);
    let line = "issues not updated: listing issues: GitHub cannot be reached: connection refused";
    assert_eq!(failed.said.lines().last(), Some(line));
}

#[test]
fn without_token_or_repository_it_says_what_is_missing_and_shows_no_token() {
    let (hub, workspace) = scene("token");
    let output = {
        let _gate = gate();
        workspace.binary(0).env_remove(VARIABLE).output().unwrap()
    };
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("issues not updated: the variable FLEET_TOKEN (issues.token) is not set"), "{said}");
    let output = {
        let _gate = gate();
        workspace.binary(0).env(VARIABLE, "ghp_one\ntwo").output().unwrap()
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "a token that no header takes is a failure like any other");
    assert!(said.contains("(issues.token) holds a space, a line break") && !said.contains("ghp_one"), "{said}");
    assert_eq!(hub.asked(), Vec::<String>::new());
    assert_eq!(workspace.review(1).code, 0);
    for (path, bytes) in files(&workspace.root.join("reports")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(TOKEN), "{path} shows the token");
    }
    workspace.rewrite("instructions/pool-composition-review.md", "  repository: fleet/models\n", "");
    let refused = workspace.review(2);
    assert_eq!(
        (refused.code, refused.said.contains("--file-issues needs issues.repository")),
        (2, true),
        "{}",
        refused.said
    );
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// What a child is told by its environment.
fn told(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().unwrap())
}

/// Not a test of its own: what a child process of the test below does. Without its environment it does nothing.
#[test]
fn a_child_files_and_dies_where_it_is_told_to() {
    let Some(root) = told("FILING_WORKSPACE").map(PathBuf::from) else { return };
    let left = Cell::new(told("FILING_STEP").unwrap().parse::<usize>().unwrap());
    let number = told("FILING_REVIEW").unwrap().parse().unwrap();
    let steps: Steps = Rc::new(move |_: Step, path: &Path| {
        let is_outbox = path.file_name().is_some_and(|name| name == "ledger.jsonl");
        left.set(left.get() - usize::from(is_outbox));
        if is_outbox && left.get() == 0 {
            signal_hook::low_level::raise(signal_hook::consts::SIGKILL).unwrap();
        }
        Ok(())
    });
    assert_eq!(Workspace { root }.review_with(number, Some(steps)).code, 0);
}

/// Kills the review of a number before every step of its writing to the ledger; `before` brings a workspace to it.
fn kill_everywhere(name: &str, number: i64, before: &dyn Fn(&Workspace)) -> usize {
    let (hub, start) = scene(&format!("{name}-start"));
    before(&start);
    let held = hub.held(|held| held.clone());
    let workspace = Workspace { root: start.root.with_file_name(name) };
    for step in 1.. {
        copy(&start.root, &workspace.root);
        hub.held(|now| now.clone_from(&held));
        let output = killed_child(&workspace, number, step);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.signal(), Some(9), "step {step}: {said}");
        }
        all_is_well(&hub, &workspace, number + 1, &format!("{name} killed at step {step}"));
        let store = store_of(&workspace);
        let (_, problems) = outputs::read_ledger(&store).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        if output.status.success() {
            return step - 1;
        }
    }
    unreachable!("a review has an end")
}

/// The store of a workspace.
fn store_of(workspace: &Workspace) -> Store {
    let _gate = gate();
    Store::open(&workspace.root, Path::new("reports"), Path::new("reports/pool-composition-log.md")).unwrap()
}

/// A child that files and is killed before a step of its outbox.
fn killed_child(workspace: &Workspace, number: i64, step: usize) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_child_files_and_dies_where_it_is_told_to", "--nocapture"]);
    command.env("FILING_WORKSPACE", &workspace.root).env("FILING_REVIEW", number.to_string());
    command.env("FILING_STEP", step.to_string()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = {
        let _gate = gate();
        command.spawn().unwrap()
    };
    child.wait_with_output().unwrap()
}

#[test]
fn a_process_killed_before_any_step_of_its_outbox_files_nothing_twice() {
    let files = kill_everywhere("killed-filing", 0, &|_| {});
    let closes = kill_everywhere("killed-closing", 2, &|workspace| {
        assert_eq!(workspace.review(0).code, 0);
        workspace.mend();
        assert_eq!(workspace.review(1).code, 0);
    });
    eprintln!("killed at {} steps: {files} while it files, {closes} while it closes", files + closes);
    assert!(files > 40 && closes > 20, "{files} + {closes}");
}

#[test]
fn an_enterprise_server_is_asked_below_its_own_path() {
    let hub = Hub::start();
    let workspace = Workspace::new("enterprise", &format!("{}/api/v3", hub.url()), "fleet/models");
    hub.held(|held| held.page_size = 1);
    assert_eq!(workspace.review(0).code, 0);
    assert_eq!(workspace.review(1).code, 0);
    let asked = hub.asked();
    assert!(
        asked.len() > 10 && asked.iter().all(|line| line.contains(" /api/v3/") && !line.contains("v3/api")),
        "{asked:?}"
    );
    let log = workspace.report("pool-composition-log.md");
    assert!(
        log.contains(&format!("[#1]({}/fleet/models/issues/1)", hub.url())),
        "people see the host, not the API: {log}"
    );
}
