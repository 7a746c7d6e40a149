//! Issue filing against a peer: emulate 0.11.2, a stateful server on loopback that speaks GitHub's REST API. The whole review runs
//! behind a proxy that writes down every request. Without Node or the package (tests/peer/install.sh) it says that it was skipped.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test whose peer cannot be asked has failed, and says what it skipped"
)]

#[path = "peer/ask.rs"]
mod ask;
mod filing;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ask::ask;
use filing::proxy::{Break, Proxy};
use filing::{TOKEN, Workspace, gate, instant};
use serde_json::Value;

/// The peer and the proxy before it.
struct Peer {
    /// Its process.
    child: Child,
    /// Where it listens.
    port: u16,
    /// The proxy.
    proxy: Proxy,
    /// Its repository, `owner/name`.
    repository: String,
}

impl Peer {
    /// Starts one; `None` when it is not here.
    fn start(repository: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer");
        if !folder.join("node_modules/emulate").is_dir() {
            eprintln!("skipped: emulate is not installed; tests/peer/install.sh brings it");
            return None;
        }
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new("node");
        command.current_dir(&folder).args(["-r", "./loopback.cjs", "node_modules/emulate/dist/index.js", "start"]);
        command.args(["--service", "github", "--seed", "seed.yaml", "--port", &port.to_string()]);
        command.args(["--base-url", &format!("http://127.0.0.1:{port}")]);
        let started = {
            let _gate = gate();
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let Ok(child) = started else {
            eprintln!("skipped: node is not here; tests/peer/install.sh brings it");
            return None;
        };
        let peer = Self { child, port, proxy: Proxy::before(port), repository: format!("fleet/{repository}") };
        let is_there = (0..300).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() && ask(port, "GET", "/", TOKEN, "").0 != 0
        });
        assert!(is_there, "the peer answers within half a minute");
        Some(peer)
    }

    /// A workspace that files at it.
    fn workspace(&self, name: &str) -> Workspace {
        Workspace::new(name, &self.proxy.url(), &self.repository)
    }

    /// Its issues, as it lists them.
    fn issues(&self) -> Vec<Value> {
        let path = format!("/repos/{}/issues?state=all&per_page=100", self.repository);
        serde_json::from_str(&ask(self.port, "GET", &path, TOKEN, "").1).unwrap()
    }

    /// The issue with this id in its marker.
    fn issue(&self, id: &str) -> Value {
        let of_id: Vec<Value> = self
            .issues()
            .into_iter()
            .filter(|issue| issue["body"].as_str().unwrap().contains(&format!("id={id} ")))
            .collect();
        assert_eq!(of_id.len(), 1, "one issue of {id}: {of_id:?}");
        of_id[0].clone()
    }

    /// The comments of an issue.
    fn comments(&self, issue: &Value) -> Vec<Value> {
        let path = format!("/repos/{}/issues/{}/comments", self.repository, issue["number"]);
        serde_json::from_str(&ask(self.port, "GET", &path, TOKEN, "").1).unwrap()
    }

    /// Closes an issue as a person.
    fn close(&self, issue: &Value, reason: &str) {
        let path = format!("/repos/{}/issues/{}", self.repository, issue["number"]);
        let body = format!("{{\"state\":\"closed\",\"state_reason\":\"{reason}\"}}");
        assert_eq!(ask(self.port, "PATCH", &path, "test_token_maintainer", &body).0, 200);
    }
}

impl Drop for Peer {
    /// The peer ends with its test.
    fn drop(&mut self) {
        // A peer that has ended already needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The two halves.
const RETIRE: &str = "retire/workhorse/claude-sonnet-4-5";

/// The other half.
const ADD: &str = "add/workhorse/claude-sonnet-5-5";

#[test]
fn the_first_run_files_and_the_second_sends_nothing_but_get() {
    let Some(peer) = Peer::start("twice") else { return };
    let workspace = peer.workspace("peer-twice");
    let first = workspace.review(0);
    assert_eq!(first.code, 0, "{}", first.said);
    assert!(first.said.contains("create retire/workhorse/claude-sonnet-4-5 #1"), "{}", first.said);
    let (retire, add) = (peer.issue(RETIRE), peer.issue(ADD));
    let labels: Vec<&str> =
        retire["labels"].as_array().unwrap().iter().filter_map(|label| label["name"].as_str()).collect();
    assert_eq!(labels, ["pool-review", "model:retire", "pool:workhorse"]);
    assert_eq!(retire["title"], "workhorse: retire claude-sonnet-4-5 (latest-model)");
    assert!(add["body"].as_str().unwrap().contains("Owner of the pool: `platform`."));
    assert_eq!(first.waits, vec![1; peer.proxy.written().len() - 1], "a second between two writes");
    let log = workspace.report("pool-composition-log.md");
    assert!(log.contains(&format!("[#1]({}/{}/issues/1)", peer.proxy.url(), peer.repository)), "{log}");
    for number in [1, 2, 3] {
        let next = workspace.review(number);
        assert_eq!(next.code, 0, "{}", next.said);
        let asked = peer.proxy.asked();
        assert!(asked.len() > 1 && asked.iter().all(|line| line.starts_with("GET ")), "run {number}: {asked:?}");
    }
    assert!(!log.contains(TOKEN) && !workspace.report("ledger.jsonl").contains(TOKEN), "the token is shown nowhere");
}

#[test]
fn a_changed_candidate_is_updated_and_said_once_and_two_good_runs_close() {
    let Some(peer) = Peer::start("changes") else { return };
    let workspace = peer.workspace("peer-changes");
    assert_eq!(workspace.review(0).code, 0);
    let before = peer.issue(RETIRE);
    workspace.forbid_successor();
    assert_eq!(workspace.review(1).code, 0);
    let after = peer.issue(RETIRE);
    assert_ne!(before["body"], after["body"]);
    let comments = peer.comments(&after);
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert!(comments[0]["body"].as_str().unwrap().contains("The reason or the candidate changed."));
    peer.proxy.asked();
    assert_eq!(workspace.review(2).code, 0);
    assert_eq!(peer.comments(&peer.issue(RETIRE)).len(), 1, "once");
    assert_eq!(peer.issue(ADD)["state_reason"], "completed", "two reviews in a row no longer ask for the successor");
    workspace.mend();
    assert_eq!(workspace.review(3).code, 0);
    assert_eq!(peer.issue(RETIRE)["state"], "open", "1/2");
    assert!(workspace.report("pool-composition-log.md").contains("good 1/2"));
    assert_eq!(workspace.review(4).code, 0);
    let closed = peer.issue(RETIRE);
    assert_eq!((closed["state"].as_str(), closed["state_reason"].as_str()), (Some("closed"), Some("completed")));
    assert_eq!(peer.comments(&closed).len(), 2);
    peer.proxy.asked();
    assert_eq!(workspace.review(5).code, 0);
    assert_eq!(peer.proxy.written(), Vec::<String>::new());
}

#[test]
fn a_refusal_is_respected() {
    let Some(peer) = Peer::start("refusal") else { return };
    let workspace = peer.workspace("peer-refusal");
    assert_eq!(workspace.review(0).code, 0);
    peer.close(&peer.issue(RETIRE), "not_planned");
    peer.proxy.asked();
    for number in [1, 2, 3] {
        assert_eq!(workspace.review(number).code, 0);
        assert_eq!(peer.proxy.written(), Vec::<String>::new(), "run {number}");
    }
    assert_eq!(peer.issue(RETIRE)["state"], "closed");
    assert!(workspace.report("pool-composition-log.md").contains("refused: closed as not planned"));
    assert!(workspace.report("ledger.jsonl").contains("\"step\":\"refusal\""));
}

#[test]
fn the_real_binary_killed_at_each_write_never_files_twice() {
    // Three labels come before the first issue, and two more before the second.
    let breaks = [
        (Break::Silence, 1),
        (Break::Before, 4),
        (Break::After, 4),
        (Break::Half, 4),
        (Break::Silence, 4),
        (Break::Silence, 6),
    ];
    for (how, write) in breaks {
        let Some(peer) = Peer::start("binary") else { return };
        let workspace = peer.workspace(&format!("binary-{how:?}-{write}").to_lowercase());
        let (sender, receiver) = std::sync::mpsc::channel();
        peer.proxy.break_at(write, how, Some(sender));
        let mut child = {
            let _gate = gate();
            workspace.binary(0).spawn().unwrap()
        };
        receiver.recv_timeout(Duration::from_mins(2)).unwrap();
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        for number in [1, 2] {
            let again = workspace.review(number);
            assert_eq!(again.code, 0, "{how:?} at {write}, {}: {}", instant(number), again.said);
        }
        peer.issue(RETIRE);
        peer.issue(ADD);
        let marker = |issue: &Value| issue["body"].as_str().unwrap().lines().next().unwrap().to_owned();
        let markers: BTreeSet<String> = peer.issues().iter().map(marker).collect();
        assert_eq!(markers.len(), peer.issues().len(), "{how:?} at {write}");
        peer.proxy.asked();
        assert_eq!(workspace.review(3).code, 0);
        assert_eq!(peer.proxy.written(), Vec::<String>::new(), "{how:?} at {write}");
    }
}
