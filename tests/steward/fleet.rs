//! A small fleet in a scratch git repository, and what a steward runs in it: the compiled binary, git, a shell.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run; a helper that cannot go on has failed"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The instruction file.
const INSTRUCTIONS: &str = "---\nschedule: \"0 */12 * * *\"\nhomes:\n  a: { providers: [acme], billing: metered }\n---\n\nThe pools of a small fleet.\n";

/// The config: two pools with a weight that has no effect, and one that nobody names.
pub(crate) const CONFIG: &str = r#"{
  // kept
  "experimental": { "model_routes": {
    "first": {
      "targets": ["acme/one", "acme/two"], // the pair
      "weights": { "acme/one": 2, "acme/nobody": 3 }
    },
    "second": { "targets": ["acme/two", "acme/one"], "weights": { "acme/nobody": 3, "acme/two": 1 } },
    "idle": { "targets": ["acme/one", "acme/two"] }
  } },
  "agents": {
    "a": { "model": "opencode-route/first" },
    "b": { "model": "opencode-route/second" }
  }
}
"#;

/// The config file.
pub(crate) const PATH: &str = ".opencode/opencode.jsonc";

/// The fleet's workspace.
pub(crate) struct Fleet {
    /// Its folder.
    pub(crate) root: PathBuf,
}

/// How a command ended.
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it warned of.
    pub(crate) stderr: String,
}

impl Fleet {
    /// A fleet with a name of its own, committed.
    pub(crate) fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steward").join(name);
        if root.exists() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        let fleet = Self { root };
        fleet.put("instructions/pool-composition-review.md", INSTRUCTIONS);
        fleet.put(PATH, CONFIG);
        fleet.put(".gitignore", "reports/\n");
        fleet.sh("git init --quiet -b main && git add -A && git commit --quiet -m 'A fleet'");
        fleet
    }

    /// Writes a file with its folders.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Whether a file is there.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Edits the config by replacing one text by another.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = self.text(PATH);
        assert!(text.contains(from), "{from:?} is not in the config");
        self.put(PATH, &text.replacen(from, to, 1));
    }

    /// A command with git's own settings and the tests' environment left out; the binary's folder is on the path.
    fn command(&self, program: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_pool-review")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(binary.to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command.current_dir(&self.root).env_clear().env("PATH", std::env::join_paths(folders).unwrap());
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TZ", "UTC")
            .env("LC_ALL", "C");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Steward").env(format!("GIT_{who}_EMAIL"), "steward@example.org");
        }
        command
    }

    /// Runs a line of a shell, which must succeed; what it printed.
    pub(crate) fn sh(&self, line: &str) -> String {
        let ran = ran(&self.command("sh").args(["-ec", line]).output().unwrap());
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        ran.stdout
    }

    /// Runs the binary at an instant.
    pub(crate) fn run(&self, now: &str, args: &[&str]) -> Ran {
        ran(&self.command("pool-review").args(args).args(["--now", now]).output().unwrap())
    }

    /// A review at noon of a day of November 2026; its run file.
    pub(crate) fn review(&self, day: u32) -> Value {
        let ran = self.run(&noon(day), &["review", "--format", "json"]);
        assert!(matches!(ran.code, 0 | 3), "{}: {}", ran.code, ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// A verb of `proposals` at one o'clock of a day, which must succeed, as JSON.
    pub(crate) fn proposals(&self, day: u32, args: &[&str]) -> Value {
        let words: Vec<&str> = ["proposals"].iter().chain(args).chain(&["--format", "json"]).copied().collect();
        let ran = self.run(&one_o_clock(day), &words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// A verb of `proposals` that is refused: its code and its error.
    pub(crate) fn refused(&self, day: u32, args: &[&str]) -> (i32, String) {
        let words: Vec<&str> = ["proposals"].iter().chain(args).copied().collect();
        let ran = self.run(&one_o_clock(day), &words);
        assert_ne!(ran.code, 0, "{words:?} passed: {}", ran.stdout);
        (ran.code, ran.stderr)
    }

    /// Every proposal: what it is about → its row of the list.
    pub(crate) fn rows(&self, day: u32) -> Vec<Value> {
        self.proposals(day, &["list", "--all"])["proposals"].as_array().unwrap().clone()
    }

    /// The row of the one proposal with this pool and code.
    pub(crate) fn row(&self, day: u32, pool: &str, code: &str) -> Value {
        let rows = self.rows(day);
        let of = |row: &&Value| row["pool"] == pool && row["code"] == code;
        rows.iter().find(of).unwrap_or_else(|| panic!("no {code} of {pool}: {rows:#?}")).clone()
    }

    /// The status of the one proposal with this pool and code.
    pub(crate) fn status(&self, day: u32, pool: &str, code: &str) -> String {
        self.row(day, pool, code)["status"].as_str().unwrap().to_owned()
    }

    /// The events of the ledger of one kind, as their data.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let events = self.text("reports/ledger.jsonl");
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["kind"] == kind).map(|event| event["data"].clone()).collect()
    }
}

/// Noon of a day.
pub(crate) fn noon(day: u32) -> String {
    format!("2026-11-{day:02}T12:00:00Z")
}

/// One hour later.
pub(crate) fn one_o_clock(day: u32) -> String {
    format!("2026-11-{day:02}T13:00:00Z")
}

/// What a process left.
fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}
