//! The JSON form of every verb. Verbs are enumerated from the command line's own description: one without a row here fails,
//! and so does a document whose shape has no schema in `instructions/schemas`.
#![expect(clippy::unwrap_used, reason = "a verb that does not answer is a failed test")]

mod scene;
#[expect(dead_code, reason = "other tests use more of it")]
mod scratch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;

use chrono::TimeDelta;
use clap::{Command, CommandFactory as _, Parser as _};
use pool_review::cli::Cli;
use pool_review::run::{Answer, Host, Surroundings, Wake, run};
use pool_review::store::Store;
use scene::Scene;
use scratch::{at, fleet, gate, host, put, verb};
use serde_json::Value;

/// A verb with the command lines it is asked with, in the demo after two reviews. `{proposal}` stands for an open one.
type Row = (&'static str, &'static [&'static [&'static str]]);

/// Every verb. A verb of verbs (`proposals list`) is named in full.
const ROWS: &[Row] = &[
    ("review", &[&["--now", "2026-11-30T12:00:00Z", "review"]]),
    ("fetch", &[&["fetch", "-i", "elsewhere.md", "--force", "catalogues"]]),
    ("status", &[&["status"], &["status", "--calibration"]]),
    ("proposals list", &[&["proposals", "list"], &["proposals", "list", "--all"]]),
    ("proposals show", &[&["proposals", "show", "{proposal}"]]),
    ("proposals patch", &[&["proposals", "patch", "{proposal}"]]),
    ("proposals accept", &[&["proposals", "accept", "{proposal}", "--reason", "it fits"]]),
    ("proposals defer", &[&["proposals", "defer", "{proposal}", "--reason", "later", "--until", "2026-12-24"]]),
    ("proposals reject", &[&["proposals", "reject", "{proposal}", "--reason", "it does not"]]),
    ("proposals landed", &[&["proposals", "landed", "{proposal}"]]),
    // Answers as the decisions above; before a landing it is refused.
    ("proposals rollback", &[]),
    ("steward-kit", &[&["steward-kit"]]),
    ("diff", &[&["diff"], &["diff", "last", "last"]]),
    ("init", &[&["init", "-i", "new.md"]]),
    (
        "schedule",
        &[
            &["schedule", "crontab"],
            &["schedule", "systemd"],
            &["schedule", "github-actions"],
            &["schedule", "kubernetes"],
            &["schedule", "opencode-scheduler"],
        ],
    ),
    ("completions", &[&["completions", "bash"], &["completions", "powershell"]]),
    ("man", &[&["man"]]),
    (
        "sessions",
        &[
            &["sessions"],
            &["sessions", "--by", "model,effort,pool,home,class,day"],
            &["sessions", "--rollup", "csv"],
            &["sessions", "--rollup", "parquet"],
        ],
    ),
    (
        "explain",
        &[&["explain", "right-sizing"], &["explain", "dead_weight"], &["explain", "scout"], &["explain", "specialist"]],
    ),
    ("doctor", &[&["doctor"], &["doctor", "--names"]]),
    // Prints one document per line until it is stopped: `watch_prints_one_document_per_event`.
    ("watch", &[]),
];

/// Shapes that no verb prints: what a run writes for others.
const FILES: [&str; 4] = ["decision", "ledger", "plan", "proposal"];

/// The names of all verbs, verbs of verbs in full; hidden ones too.
fn verbs(command: &Command, before: &str) -> BTreeSet<String> {
    let below = |command: &Command| {
        let name = format!("{before} {}", command.get_name()).trim().to_owned();
        if command.has_subcommands() { verbs(command, &name) } else { BTreeSet::from([name]) }
    };
    command.get_subcommands().flat_map(below).collect()
}

/// Asserts that a document fits the schema of the shape it names; returns that name.
fn assert_fits(document: &str) -> String {
    let value: Value = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {document}"));
    let shape = value["schema"].as_str().unwrap_or_else(|| panic!("no schema is named: {document}"));
    let (name, version) = shape.strip_prefix("pool-review.").unwrap().split_once('/').unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("instructions/schemas/{name}.v{version}.json"));
    let schema = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let faults: Vec<String> =
        schema.iter_errors(&value).map(|fault| format!("{} {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{shape}: {faults:#?}");
    name.to_owned()
}

/// The demo after its review, with an instruction file of another name that asks a server that is not there.
fn demo(name: &str) -> Scene {
    let scene = Scene::demo(name);
    let text = std::fs::read_to_string(scene.root.join("instructions/pool-composition-review.md")).unwrap();
    let (front, prose) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let nowhere = "fetch: { urls: { catalogues: \"http://127.0.0.1:9/api.json\" } }";
    put(&scene.root.join("elsewhere.md"), &format!("---\n{front}\n{nowhere}\n---\n{prose}"));
    scene.copy("data/fleet/.opencode", ".opencode");
    scene
}

/// Asks a verb for JSON.
fn ask(scene: &Scene, args: &[&str]) -> Answer {
    let args: Vec<&str> = ["--format", "json"].into_iter().chain(args.iter().copied()).collect();
    let answer = verb(&scene.root, at("2026-11-29T12:00:00Z"), host(None), &args);
    answer.map_err(|failure| failure.parts().0).unwrap_or_else(|error| panic!("{args:?}: {error:#}"))
}

#[test]
fn every_verb_has_a_json_form_that_fits_its_schema() {
    let named: BTreeSet<String> = ROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named, verbs(&Cli::command(), ""), "a row for every verb, a verb for every row");
    let scene = demo("json");
    ask(&scene, &["review"]);
    let mut shapes: BTreeSet<String> = FILES.map(str::to_owned).into_iter().collect();
    for args in ROWS.iter().flat_map(|(_, lines)| lines.iter()) {
        let open = std::fs::read_dir(scene.root.join("reports/proposals")).unwrap();
        let files = open.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut fingerprints: Vec<String> =
            files.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        fingerprints.sort();
        let given: Vec<String> = args.iter().map(|word| word.replace("{proposal}", &fingerprints[0])).collect();
        let answer = ask(&scene, &given.iter().map(String::as_str).collect::<Vec<_>>());
        shapes.insert(assert_fits(&answer.text));
    }
    shapes.extend(watched("verbs-watch-shapes").iter().map(|line| assert_fits(line)));
    let folder = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas")).unwrap();
    let files = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let schemas: BTreeSet<String> = files.filter_map(|file| Some(file.strip_suffix(".v1.json")?.to_owned())).collect();
    assert_eq!(shapes, schemas, "every schema is of a document that was seen");
}

/// What `watch` prints while settings break and mend, reviews are missed, another process holds the lock, and it is stopped.
fn watched(name: &str) -> Vec<String> {
    let workspace = fleet(name, 1, 0);
    let settings = workspace.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&settings).unwrap();
    let (clock, pauses) = (Cell::new(at("2027-03-01T11:50:00Z")), Cell::new(0));
    let held: RefCell<Option<Store>> = RefCell::default();
    let pause = |time: TimeDelta| {
        clock.set(clock.get() + time);
        pauses.set(pauses.get() + 1);
        match pauses.get() {
            1 => put(&settings, "---\nnonsense: 1\n---\n"),
            2 => put(&settings, &text),
            3..=40 => return Wake::Elapsed,
            41 => {
                let log = Path::new("reports/pool-composition-log.md");
                held.replace(Some(Store::open(&workspace, Path::new("reports"), log).unwrap()));
                clock.set(at("2027-03-04T11:00:00Z"));
                return Wake::Elapsed;
            }
            _ => return Wake::Stop,
        }
        Wake::Reload
    };
    let said = RefCell::new(Vec::new());
    let say = |answer: &Answer| said.borrow_mut().push(answer.text.clone());
    let path = workspace.display().to_string();
    let words = ["pool-review", "--workspace", &path, "--format", "json", "watch", "--jitter", "0"];
    let cli = Cli::try_parse_from(words).unwrap();
    let around = Surroundings {
        clock: &|| clock.get(),
        colour: false,
        columns: pool_review::outputs::wrap::WIDTH,
        progress: &|_, _, _| {},
        variable: &|_| None,
        sleep: &|_| {},
        doing: &|_| {},
        host: Host { pause: &pause, say: &say, ..host(None) },
    };
    let _gate = gate();
    let last = run(&cli, &around).map_err(|failure| failure.parts().0).unwrap();
    said.borrow_mut().push(last.text);
    said.into_inner()
}

#[test]
fn watch_prints_one_document_per_event() {
    let lines = watched("verbs-watch-events");
    let events: Vec<String> = lines
        .iter()
        .map(|line| {
            assert_eq!(line.matches('\n').count(), 1, "one line each: {line}");
            let value: Value = serde_json::from_str(line).unwrap();
            value["event"].as_str().unwrap().to_owned()
        })
        .collect();
    let expected = ["watching", "settings_kept", "reloaded", "reviewed", "missed", "failed", "stopped"];
    assert_eq!(events, expected);
    let reviewed: Value = serde_json::from_str(&lines[3]).unwrap();
    assert_eq!(reviewed["report"]["schema"], "pool-review.run/1");
}

#[test]
fn quiet_leaves_stdout_empty_and_csv_is_for_sessions() {
    let scene = demo("quiet");
    for args in ROWS.iter().flat_map(|(_, lines)| lines.iter()) {
        let args: Vec<&str> = ["--quiet"].into_iter().chain(args.iter().copied()).collect();
        if let Ok(answer) = verb(&scene.root, at("2026-11-29T12:00:00Z"), host(None), &args) {
            assert_eq!(answer.text, "", "{args:?}");
        }
    }
    let csv = |args: &[&str]| {
        let args: Vec<&str> = ["--format", "csv"].into_iter().chain(args.iter().copied()).collect();
        verb(&scene.root, at("2026-11-29T12:00:00Z"), host(None), &args)
    };
    assert!(csv(&["sessions"]).is_ok());
    for args in ROWS.iter().filter(|(name, _)| *name != "sessions").flat_map(|(_, lines)| lines.iter()) {
        assert_eq!(csv(args).unwrap_err().parts().1 as u8, 2, "{args:?}");
    }
}
