//! How the job lives: what `watch` starts under a clock of the test's own, and what `status`, `diff` and `init` say.
#![expect(clippy::unwrap_used, reason = "tests write into scratch folders of their own")]

mod scratch;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::process::{Command, Stdio};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use clap::Parser as _;
use pool_review::cli::Cli;
use pool_review::history::{Cadence, Rhythm};
use pool_review::run::{Answer, Host, Surroundings, Wake, run};
use pool_review::schedule::Schedule;
use pool_review::schedule::watch::{Plan, Watch};
use scratch::{at, config, fleet, gate, host, is_done, put, review, sections, verb};

/// The schedule of an expression.
fn schedule(expression: &str, zone: Tz) -> Schedule {
    Schedule::parse(expression, zone).unwrap()
}

/// Keeps a schedule from one instant to another under a clock that goes on as told; `stretch` says how long a sleep really
/// takes. Returns what was run: due instant, start, and how many were missed.
fn kept(
    watch: &mut Watch,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    stretch: impl Fn(DateTime<Utc>, TimeDelta) -> TimeDelta,
) -> Vec<(DateTime<Utc>, DateTime<Utc>, usize)> {
    let (mut now, mut runs) = (from, Vec::new());
    while now < to {
        match watch.plan(now) {
            Plan::Run { due, missed } => {
                runs.push((due, now, missed));
                now += TimeDelta::seconds(2);
            }
            Plan::Sleep(time) => {
                assert!(time <= TimeDelta::seconds(60) && time > TimeDelta::zero(), "{time}");
                now += stretch(now, time);
            }
            Plan::Never => panic!("something is always due"),
        }
    }
    runs
}

#[test]
fn over_two_years_every_due_instant_of_four_zones_is_run_exactly_once() {
    let (from, to) = (at("2027-01-01T00:30:00Z"), at("2029-01-01T00:00:00Z"));
    for zone in [Tz::Europe__Berlin, Tz::America__New_York, Tz::Asia__Kolkata, Tz::UTC] {
        for (expression, count) in [("0 */12 * * *", 1461..=1462), ("30 2 * * *", 730..=731)] {
            let schedule = schedule(expression, zone);
            let next = |now: &DateTime<Utc>| schedule.next_after(*now).filter(|due| *due < to);
            let due: Vec<DateTime<Utc>> = std::iter::successors(next(&from), next).collect();
            let mut watch = Watch::new(schedule.clone(), None, from, 0, 1);
            let runs = kept(&mut watch, from, to, |_, time| time);
            let ran: Vec<DateTime<Utc>> = runs.iter().map(|(due, ..)| *due).collect();
            assert_eq!(ran, due, "{expression} in {zone}");
            assert!(count.contains(&ran.len()), "{expression} in {zone}: {}", ran.len());
            assert!(runs.iter().all(|(due, start, missed)| due == start && *missed == 0), "{expression} in {zone}");
        }
    }
}

#[test]
fn a_laptop_that_slept_three_days_catches_up_once() {
    let from = at("2027-03-01T01:00:00Z");
    let mut watch = Watch::new(schedule("0 */12 * * *", Tz::UTC), None, from, 0, 1);
    let lid = at("2027-03-03T05:00:00Z");
    let runs = kept(&mut watch, from, at("2027-03-07T13:00:00Z"), |now, time| {
        if now <= lid && now + time > lid { TimeDelta::days(3) } else { time }
    });
    let starts: Vec<String> =
        runs.iter().map(|(_, start, missed)| format!("{} {missed}", start.format("%dT%H:%M"))).collect();
    assert_eq!(starts.len(), 8, "{starts:?}");
    assert!(starts[4].starts_with("06T0") && starts[4].ends_with(" 5"), "one run for six due instants: {starts:?}");
    assert_eq!(starts[5], "06T12:00 0");
}

#[test]
fn a_process_that_starts_late_catches_up_once_and_one_that_starts_first_waits() {
    let now = at("2027-03-01T13:00:00Z");
    let every_twelve = || schedule("0 */12 * * *", Tz::UTC);
    let mut late = Watch::new(every_twelve(), Some(at("2027-02-28T12:00:05Z")), now, 0, 1);
    assert_eq!(late.plan(now), Plan::Run { due: at("2027-03-01T12:00:00Z"), missed: 1 });
    assert_eq!(late.plan(now), Plan::Sleep(TimeDelta::seconds(60)));
    let mut first = Watch::new(every_twelve(), None, now, 0, 1);
    assert_eq!(first.plan(now), Plan::Sleep(TimeDelta::seconds(60)));
    assert_eq!(first.next_start(), Some(at("2027-03-02T00:00:00Z")));
}

#[test]
fn a_clock_that_is_set_back_runs_nothing_twice_and_one_set_back_for_days_goes_on() {
    let now = at("2027-03-01T12:00:00Z");
    let mut watch = Watch::new(schedule("0 */12 * * *", Tz::UTC), Some(at("2027-03-01T00:00:00Z")), now, 0, 1);
    assert!(matches!(watch.plan(now), Plan::Run { .. }));
    for minutes in 0..60 {
        let back = at("2027-03-01T11:30:00Z") + TimeDelta::minutes(minutes);
        assert!(matches!(watch.plan(back), Plan::Sleep(_)), "{back}: noon was served before the clock went back");
    }
    let days_back = at("2027-02-20T23:59:00Z");
    assert!(matches!(watch.plan(days_back), Plan::Sleep(_)));
    assert_eq!(watch.next_start(), Some(at("2027-02-21T00:00:00Z")));
}

#[test]
fn jitter_delays_every_start_a_little_the_same_each_time_it_is_asked() {
    let (from, to) = (at("2027-03-01T01:00:00Z"), at("2027-03-21T01:00:00Z"));
    let of = |seed| {
        kept(&mut Watch::new(schedule("0 */12 * * *", Tz::UTC), None, from, 600, seed), from, to, |_, time| time)
    };
    let delays: Vec<i64> = of(7).iter().map(|(due, start, _)| (*start - *due).num_seconds()).collect();
    assert_eq!(delays.len(), 40, "no due instant is lost");
    assert!(delays.iter().all(|delay| (0..=600).contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > 60) && delays.windows(2).any(|pair| pair[0] != pair[1]), "{delays:?}");
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8), "two machines start at different times");
}

/// Runs `watch` under a clock that a pause moves on, until an instant. `at_pause` may do something and answer for the pause.
fn watching(
    workspace: &Path,
    from: &str,
    to: &str,
    at_pause: &dyn Fn(DateTime<Utc>) -> Option<Wake>,
) -> (Vec<String>, Vec<String>) {
    let (clock, to) = (Cell::new(at(from)), at(to));
    let (said, warned) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let pause = |time: TimeDelta| {
        clock.set(clock.get() + time);
        at_pause(clock.get()).unwrap_or(if clock.get() >= to { Wake::Stop } else { Wake::Elapsed })
    };
    let say = |answer: &Answer| {
        said.borrow_mut().extend(answer.text.lines().take(1).map(str::to_owned));
        warned.borrow_mut().extend(answer.warnings.iter().cloned());
    };
    let host = Host { pause: &pause, say: &say, ..host(None) };
    let path = workspace.display().to_string();
    let cli = Cli::try_parse_from(["pool-review", "--workspace", &path, "watch", "--jitter", "0"]).unwrap();
    let gate = gate();
    let answer = run(
        &cli,
        &Surroundings {
            clock: &|| clock.get(),
            colour: false,
            columns: pool_review::outputs::wrap::WIDTH,
            progress: &|_, _, _| {},
            variable: &|_| None,
            sleep: &|_| {},
            doing: &|_| {},
            host,
        },
    );
    drop(gate);
    assert_eq!(answer.map_err(|failure| failure.parts().0).unwrap().text, "stopped\n");
    (said.into_inner(), warned.into_inner())
}

#[test]
fn watch_reviews_when_due_reads_settings_again_on_request_and_stops_when_told() {
    let workspace = fleet("watch-days", 2, 1);
    let instructions = workspace.join("instructions/pool-composition-review.md");
    let twelve = std::fs::read_to_string(&instructions).unwrap();
    let asked = Cell::new(0);
    let at_pause = |now: DateTime<Utc>| {
        let reload = |number, text: &str| {
            put(&instructions, text);
            asked.set(number);
            Some(Wake::Reload)
        };
        match asked.get() {
            0 if now > at("2027-03-02T01:00:00Z") => reload(1, &twelve.replace("0 */12", "0 */6")),
            1 if now > at("2027-03-02T07:00:00Z") => reload(2, "broken"),
            2 if now > at("2027-03-02T08:00:00Z") => reload(3, &twelve),
            _ => None,
        }
    };
    let (said, warned) = watching(&workspace, "2027-03-01T01:00:00Z", "2027-03-03T13:00:00Z", &at_pause);
    let ran: Vec<String> = sections(&workspace).into_keys().collect();
    assert_eq!(
        ran,
        [
            "20270301T120000Z",
            "20270302T000000Z",
            "20270302T060000Z",
            "20270302T120000Z",
            "20270303T000000Z",
            "20270303T120000Z"
        ]
    );
    assert_eq!(said[0], "watching; next review 2027-03-01 12:00:00Z");
    assert!(said.contains(&"settings read again; next review 2027-03-02 06:00:00Z".to_owned()), "{said:?}");
    assert!(warned.iter().any(|line| line.starts_with("settings kept as they were: ")), "{warned:?}");
}

#[test]
fn missed_late_killed_and_failed_runs_are_said_in_the_next_section_and_in_status() {
    let workspace = fleet("watch-misses", 2, 1);
    assert!(is_done(review(&workspace, at("2027-03-01T00:00:10Z"), None).0));
    let cadence = workspace.join("reports/cadence.jsonl");
    let killed = Cadence::start("20270301T120000Z", at("2027-03-01T12:00:00Z"));
    let mut text = std::fs::read_to_string(&cadence).unwrap();
    text += &(killed.line() + "\n");
    put(&cadence, &text);
    assert!(is_done(review(&workspace, at("2027-03-03T12:40:00Z"), None).0));
    let log = std::fs::read_to_string(workspace.join("reports/pool-composition-log.md")).unwrap();
    for said in [
        "- run 20270301T120000Z of 2027-03-01 12:00Z did not end: it was killed",
        "- 3 due reviews were missed, the first 2027-03-02 00:00Z, the last 2027-03-03 00:00Z",
        "- the review due 2027-03-03 12:00Z started 40 minutes late",
    ] {
        assert_eq!(log.matches(said).count(), 1, "{said}\n{log}");
    }
    let status = |now: &str, args: &[&str]| {
        let answer = verb(&workspace, at(now), host(None), &[&["status"], args].concat());
        let answer = answer.map_err(|failure| failure.parts().0).unwrap();
        (answer.code as u8, answer.text)
    };
    let (code, healthy) = status("2027-03-03T13:00:00Z", &["--check"]);
    assert_eq!(code, 0, "{healthy}");
    assert!(
        healthy.contains("3 missed, the last: 2027-03-02 00:00Z, 2027-03-02 12:00Z, 2027-03-03 00:00Z"),
        "{healthy}"
    );
    assert!(healthy.contains("1 late, the last: 2027-03-03 12:00Z") && healthy.contains("\nhealthy\n"), "{healthy}");
    let (code, stalled) = status("2027-03-04T03:00:00Z", &["--check"]);
    assert_eq!(code, 1, "{stalled}");
    assert!(
        stalled.contains("problem: the review due 2027-03-04 00:00Z has not started; the last began 2027-03-03 12:40Z"),
        "{stalled}"
    );
    assert!(stalled.contains("to do: to re-arm, run one now: pool-review --workspace "), "{stalled}");
    assert_eq!(status("2027-03-04T03:00:00Z", &[]).0, 0, "only --check is for monitors");
}

#[test]
fn status_explains_silence_is_valid_json_and_speaks_prometheus() {
    let workspace = fleet("watch-status", 2, 0);
    let status = |args: &[&str]| {
        let answer = verb(&workspace, at("2027-03-01T00:10:00Z"), host(None), args);
        answer.map_err(|failure| failure.parts().0).unwrap()
    };
    let before = status(&["status", "--check"]);
    assert_eq!(before.code as u8, 1);
    assert!(
        before.text.contains("no run yet") && before.text.contains("problem: no review has run yet"),
        "{}",
        before.text
    );
    assert!(is_done(review(&workspace, at("2027-03-01T00:00:10Z"), None).0));
    let text = status(&["status", "--check", "--prometheus"]).text;
    assert!(text.contains("nothing was filed: 2 watch (waiting for another look)"), "{text}");
    let metrics = std::fs::read_to_string(workspace.join("reports/metrics.prom")).unwrap();
    for line in ["pool_review_healthy 1", "pool_review_pools{verdict=\"watch\"} 2", "pool_review_last_exit_code 0"] {
        assert!(metrics.lines().any(|one| one == line), "{line}\n{metrics}");
    }
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("pool_review_") && value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
    }
    assert_fits(
        "status.v1.json",
        &verb(&workspace, at("2027-03-01T00:10:00Z"), host(None), &["--format", "json", "status"]).ok().unwrap().text,
    );
}

/// Asserts that a document fits a schema of the instructions.
fn assert_fits(schema: &str, document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas").join(schema);
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(document).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_rhythm_pairs_starts_with_their_ends_and_counts_failures_in_a_row() {
    let lines = [
        Cadence::start("a", at("2027-03-01T00:00:00Z")),
        Cadence::end("a", at("2027-03-01T00:00:01Z"), 3, 1000, None),
        Cadence::start("b", at("2027-03-01T12:00:00Z")),
        Cadence::end("b", at("2027-03-01T12:00:01Z"), 1, 1000, None),
        Cadence::start("c", at("2027-03-02T00:00:00Z")),
        Cadence::end("never-began", at("2027-03-02T00:00:00Z"), 0, 1, None),
    ];
    let rhythm = Rhythm::of(&lines);
    assert_eq!(rhythm.runs.len(), 3);
    assert_eq!(rhythm.failures_in_a_row(), 2, "b failed, c did not end");
    assert_eq!(rhythm.last_success().unwrap().run, "a", "blocked pools are no failure");
}

#[test]
fn diff_prints_only_what_moved_and_names_runs_by_their_beginning() {
    let workspace = fleet("watch-diff", 3, 3);
    assert!(is_done(review(&workspace, at("2027-03-01T00:00:00Z"), None).0));
    put(&workspace.join(".opencode/opencode.jsonc"), &config(3, 2));
    assert!(is_done(review(&workspace, at("2027-03-01T12:00:00Z"), None).0));
    let diff = |args: &[&str]| verb(&workspace, at("2027-03-01T13:00:00Z"), host(None), args);
    let text = diff(&["diff"]).map_err(|failure| failure.parts().0).unwrap().text;
    assert!(text.contains("pool-2  structure  misaligned → "), "{text}");
    assert!(!text.contains("pool-0") && text.ends_with("1 moved, 11 unchanged\n"), "{text}");
    let named = diff(&["diff", "20270301T00", "20270301T12"]).map_err(|failure| failure.parts().0).unwrap().text;
    assert_eq!(named, text);
    assert_fits("diff.v1.json", &diff(&["--format", "json", "diff"]).ok().unwrap().text);
    let (error, code) = diff(&["diff", "2027"]).unwrap_err().parts();
    assert_eq!((code as u8, format!("{error:#}")), (2, "\"2027\" begins several run ids; write more of it".to_owned()));
}

/// A home folder laid out like a real one.
fn home(name: &str) -> std::path::PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if home.exists() {
        std::fs::remove_dir_all(&home).unwrap();
    }
    put(
        &home.join(".config/opencode/opencode.jsonc"),
        &config(2, 0).replace("pool-0", "scout").replace("pool-1", "daily"),
    );
    put(&home.join(".config/openchamber/routing.json"), "{ \"version\": 1 }\n");
    put(&home.join(".config/opencode/oh-my-openagent.jsonc"), "{}\n");
    put(&home.join(".config/litellm/config.yaml"), "model_list: []\n");
    put(&home.join(".claude/projects/x/session.jsonl"), "");
    put(&home.join(".codex/sessions/2027/rollout.jsonl"), "");
    put(&home.join("fleet/.keep"), "");
    home
}

#[test]
fn a_new_user_gets_from_init_to_a_first_review_of_own_pools_in_two_commands() {
    let home = home("init-home");
    let fleet = home.join("fleet");
    let on =
        |args: &[&str]| verb(&fleet, at("2027-03-01T00:00:00Z"), Host { home: Some(home.clone()), ..host(None) }, args);
    let said = on(&["init"]).map_err(|failure| failure.parts().0).unwrap().text;
    for found in [
        "opencode.jsonc",
        "scout, daily",
        "openchamber/routing.json",
        "oh-my-openagent.jsonc",
        "litellm/config.yaml",
        ".claude/projects",
        "/.codex (sessions of Codex",
    ] {
        assert!(said.contains(found), "{found}: {said}");
    }
    let reviewed = on(&["review"]).map_err(|failure| failure.parts().0).unwrap();
    assert!(is_done(reviewed.code as u8) && reviewed.text.contains("scout"), "{}", reviewed.text);
    let written = std::fs::read(fleet.join("instructions/pool-composition-review.md")).unwrap();
    let (error, code) = on(&["init"]).unwrap_err().parts();
    assert_eq!(code as u8, 2);
    assert!(format!("{error:#}").contains("never overwrites"), "{error:#}");
    assert_eq!(std::fs::read(fleet.join("instructions/pool-composition-review.md")).unwrap(), written);
    let text = String::from_utf8(written).unwrap();
    assert!(
        text.contains("  - pattern: scout\n    tier: scout\n")
            && text.contains("acme: { providers: [acme], billing: metered } # guessed"),
        "{text}"
    );
}

#[test]
fn init_without_a_config_says_where_it_looked_and_writes_nothing() {
    let home = home("init-empty");
    let (error, code) =
        verb(&home.join("fleet"), at("2027-03-01T00:00:00Z"), host(None), &["init"]).unwrap_err().parts();
    assert_eq!(code as u8, 2);
    assert!(format!("{error:#}").contains(".opencode/opencode.jsonc, .opencode/opencode.json"), "{error:#}");
    assert!(!home.join("fleet/instructions").exists());
}

#[test]
fn a_job_of_github_actions_gets_a_summary_and_annotations() {
    let workspace = fleet("job-summary", 2, 1);
    let text = std::fs::read_to_string(workspace.join("instructions/pool-composition-review.md")).unwrap();
    put(
        &workspace.join("instructions/pool-composition-review.md"),
        &text.replace("homes:", "data:\n  speeds: missing.csv\nhomes:"),
    );
    let summary = workspace.join("summary.md");
    put(&summary, "before\n");
    let host = Host { job_summary: Some(summary.clone()), ..host(None) };
    let answer =
        verb(&workspace, at("2027-03-01T00:00:00Z"), host, &["review"]).map_err(|failure| failure.parts().0).unwrap();
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n### 2027-03-01 00:00Z · run 20270301T000000Z\n"), "{text}");
    assert!(!text.contains("<a id=") && text.lines().all(|line| !line.starts_with("## ")), "{text}");
    assert!(answer.text.contains("::warning title=source failed::speeds: "), "{}", answer.text);
}

#[test]
fn the_program_itself_watches_reads_again_on_sighup_and_ends_on_sigterm() {
    use std::io::BufRead as _;
    let workspace = fleet("watch-signals", 1, 0);
    let mut child = {
        let _gate = gate();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
        command.args(["watch", "--workspace"]).arg(&workspace).env_clear();
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    let signal = |name: &str| {
        let _gate = gate();
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    };
    assert!(line().starts_with("watching; next review "));
    signal("-HUP");
    assert!(line().starts_with("settings read again; next review "));
    signal("-TERM");
    assert_eq!(line(), "stopped");
    assert!(child.wait().unwrap().success());
    assert!(sections(&workspace).is_empty(), "nothing was due");
}

#[test]
fn status_says_why_no_issue_was_filed() {
    let plan = |source: &str, steps: &[&str]| {
        let entries: Vec<serde_json::Value> = steps.iter().map(|step| serde_json::json!({ "step": step })).collect();
        serde_json::json!({ "source": source, "entries": entries })
    };
    let said = |plan: Option<&serde_json::Value>, place| pool_review::outputs::status::issues(plan, place);
    assert_eq!(said(None, None), "no issue is filed: issues.repository is not set");
    assert_eq!(said(None, Some("f/m")), "no issue was filed: no run has made a plan yet");
    assert_eq!(
        said(Some(&plan("ledger", &["create", "wait", "create"])), Some("f/m")),
        "issues of f/m: create 2, wait 1; nothing was sent, because that takes --file-issues"
    );
    assert_eq!(said(Some(&plan("server", &[])), Some("f/m")), "issues of f/m: nothing to do");
}
