//! A small fleet whose sessions, changes and clock are made by the test, and the binary that reviews it.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run; what cannot be made is a failed test"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use pool_review::history::{Decision, DecisionFact, Fact, Ledger};
use serde_json::{Value, json};

use crate::scene::Scene;

/// The lead before any change.
pub(crate) const LEAD: (&str, &str) = ("openai", "gpt-6-sol");
/// The member that does better.
pub(crate) const OTHER: (&str, &str) = ("anthropic", "claude-sonnet-5-5");

/// The first review.
pub(crate) const START: &str = "2026-11-29T12:00:00Z";
/// The review that sees the landing.
pub(crate) const LANDED: &str = "2026-11-30T00:00:00Z";

/// The instruction file.
const SETTINGS: &str = "---
timezone: UTC
config:
  opencode: opencode.jsonc
data:
  catalogues: data/models-dev.json
  sessions: data/scorecards.csv
homes:
  claude-api: { providers: [anthropic], billing: metered }
  openai-api: { providers: [openai], billing: metered }
---

# A small fleet for a test
";

/// The heads of the scorecards.
const HEADS: &str = "task_id,attempt,finished_at,pool,provider,model,home,task_class,outcome,basis,duration_s,input_tokens,\
                     cache_read_tokens,output_tokens\n";

/// An instant.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// So many days after the landing was seen.
pub(crate) fn day(days: i64) -> String {
    (at(LANDED) + TimeDelta::days(days)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A fleet under review.
pub(crate) struct Fleet {
    /// Its workspace.
    pub(crate) scene: Scene,
    /// Rows of the scorecards so far.
    rows: String,
}

impl Fleet {
    /// A fleet of these pools with these members.
    pub(crate) fn new(name: &str, pools: &[(&str, &[&str])]) -> Self {
        let scene = Scene::new(name);
        scene.copy("data/market/models-dev.json", "data/models-dev.json");
        std::fs::create_dir_all(scene.root.join("instructions")).unwrap();
        let fleet = Self { scene, rows: String::new() };
        fleet.write("instructions/pool-composition-review.md", SETTINGS);
        fleet.define(pools);
        fleet
    }

    /// The small fleet of the golden case in which a pool is aligned, with another config and no rows yet.
    pub(crate) fn aligned(name: &str, config: &str) -> Self {
        let scene = Scene::new(name);
        scene.copy("tests/golden/aligned/in", "");
        let fleet = Self { scene, rows: String::new() };
        fleet.write("fleet/opencode.jsonc", config);
        fleet
    }

    /// Writes the config, a pool a consumer.
    pub(crate) fn define(&self, pools: &[(&str, &[&str])]) {
        let routes = pools.iter().map(|(pool, targets)| {
            let targets: Vec<String> = targets.iter().map(|target| format!("          {target}")).collect();
            format!(
                "      // what {pool} is for\n      \"{pool}\": {{\n        \"selection\": \"ordered\",\n        \"targets\": [\n{}\n        ]\n      }}",
                targets.join(",\n")
            )
        });
        let routes: Vec<String> = routes.collect();
        let agents: Vec<String> = pools
            .iter()
            .map(|(pool, _)| format!("    \"agent-{pool}\": {{ \"model\": \"opencode-route/{pool}\" }}"))
            .collect();
        self.write(
            "opencode.jsonc",
            &format!(
                "{{\n  \"agent\": {{\n{}\n  }},\n  \"experimental\": {{\n    \"model_routes\": {{\n{}\n    }}\n  }}\n}}\n",
                agents.join(",\n"),
                routes.join(",\n")
            ),
        );
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.scene.root.join(path), text).unwrap();
    }

    /// The text of a file of the workspace.
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.scene.root.join(path)).unwrap()
    }

    /// Adds rows of a member that end evenly between two instants.
    pub(crate) fn add(&mut self, pool: &str, member: (&str, &str), (from, until): (&str, &str), (good, n): (u32, u32)) {
        let (from, until) = (at(from), at(until));
        for i in 0..n {
            let ended = from + (until - from) * (i32::try_from(i).unwrap() + 1) / i32::try_from(n).unwrap();
            let bad = n - good;
            let outcome = if (i + 1) * bad / n > i * bad / n { "failure" } else { "success" };
            let ended = ended.to_rfc3339_opts(SecondsFormat::Secs, true);
            let (provider, model) = member;
            writeln!(
                self.rows,
                "{pool}-{model}-{ended}-{i},1,{ended},{pool},{provider},{model},,code,{outcome},check,480,30000,120000,4000"
            )
            .unwrap();
        }
    }

    /// Adds the same tasks on two members: one id, two attempts.
    pub(crate) fn add_pairs(&mut self, pool: &str, ended: &str, outcomes: &[(bool, bool)]) {
        for (i, (first, second)) in outcomes.iter().enumerate() {
            for (attempt, member, is_good) in [(1, LEAD, first), (2, OTHER, second)] {
                let outcome = if *is_good { "success" } else { "failure" };
                writeln!(
                    self.rows,
                    "{pool}-pair-{ended}-{i},{attempt},{ended},{pool},{},{},,code,{outcome},check,480,30000,120000,4000",
                    member.0, member.1
                )
                .unwrap();
            }
        }
    }

    /// Reviews at an instant; sources are as fresh as they can be.
    pub(crate) fn review(&self, now: &str) {
        let young = at(now) - TimeDelta::hours(1);
        let young = young.to_rfc3339_opts(SecondsFormat::Secs, true);
        let fresh = format!("young,1,{young},elsewhere,openai,gpt-6-sol,,code,success,check,480,30000,120000,4000\n");
        self.write("data/scorecards.csv", &format!("{HEADS}{}{fresh}", self.rows));
        for body in ["models-dev", "market", "litellm"] {
            self.write(&format!("data/{body}.json.meta.json"), &json!({ "fetched_at": now }).to_string());
        }
        let ran = self.scene.run(&["--now", now, "review"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{}{}", ran.stdout, ran.stderr);
    }

    /// The proposals on disk of one kind.
    pub(crate) fn proposals(&self, kind: &str) -> Vec<Value> {
        let folder = self.scene.root.join("reports/proposals");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
        files.sort();
        let all = files.iter().map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap());
        all.filter(|proposal| proposal["kind"] == kind).collect()
    }

    /// Applies a proposal's patch as a steward would.
    pub(crate) fn land(&self, proposal: &Value) {
        self.apply(proposal["change"]["patch"]["text"].as_str().unwrap());
    }

    /// Takes a landed change back, as a steward would.
    pub(crate) fn take_back(&self, id: &str, now: &str) {
        let ran = self.scene.run(&["proposals", "patch", id, "--rollback", "--now", now]);
        self.apply(&ran.stdout);
    }

    /// Applies a patch with git.
    fn apply(&self, patch: &str) {
        let parent = self.scene.root.parent().unwrap();
        let mut git = Command::new("git")
            .args(["apply", "-"])
            .current_dir(&self.scene.root)
            .env("GIT_CEILING_DIRECTORIES", parent)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
        assert!(git.wait().unwrap().success(), "{patch}");
    }

    /// Accepts a proposal, as the ledger keeps it.
    pub(crate) fn accept(&self, proposal: &Value, now: &str) {
        let text = self.text("reports/ledger.jsonl");
        let (ledger, problems) = Ledger::read("ledger.jsonl", &text);
        assert!(problems.is_empty());
        let fact = Fact::Decision(DecisionFact {
            fingerprint: proposal["fingerprint"].as_str().unwrap().to_owned(),
            revision: proposal["revision"].as_u64().unwrap(),
            decision: Decision::Accept,
            reason: "worth a try".to_owned(),
            by: "steward".to_owned(),
            until: None,
            unless: None,
        });
        let run = at(now).format("%Y%m%dT%H%M%SZ").to_string();
        let lines = ledger.chained(&run, at(now), &[fact]);
        self.write("reports/ledger.jsonl", &format!("{text}{}\n", lines.join("\n")));
    }

    /// Every event of the ledger.
    pub(crate) fn ledger(&self) -> Vec<Value> {
        self.text("reports/ledger.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the ledger holds of one kind, oldest first.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.ledger().into_iter().filter(|event| event["kind"] == kind).map(|event| event["data"].clone()).collect()
    }

    /// The run file of an instant.
    pub(crate) fn run_file(&self, now: &str) -> Value {
        let name = at(now).format("reports/runs/%Y%m%dT%H%M%SZ.json").to_string();
        serde_json::from_str(&self.text(&name)).unwrap()
    }

    /// The status of the newest measurement in the ledger, with rows before and after.
    pub(crate) fn measured(&self) -> (String, u64, u64) {
        let last = self.events("verification").pop().unwrap();
        let rows = |i: usize| last["rows"][i].as_u64().unwrap();
        (last["status"].as_str().unwrap().to_owned(), rows(0), rows(1))
    }
}
