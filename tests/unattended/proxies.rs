//! The proxy of the environment, which the tracker's client does not use: who relies on it is told.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::scratch::{fleet, gate};

/// What the binary writes to stderr under these variables.
fn warns(workspace: &Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
    command.arg("--workspace").arg(workspace).args(args).env_clear().envs(variables.iter().copied());
    let child = {
        let _gate = gate();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn a_proxy_that_is_not_used_for_issues_is_said_where_issues_are_filed_and_by_doctor() {
    let workspace = fleet("proxies", 1, 0);
    let words =
        "issues of fleet/models are sent to https://api.github.com directly: the proxy that the environment names";
    let (proxy, except) = (("HTTPS_PROXY", "http://user:secret@127.0.0.1:9"), ("NO_PROXY", "api.github.com"));
    let filing = ["--now", "2026-11-30T00:00:00Z", "review", "--quiet", "--file-issues"];
    for args in [&filing[..], &["doctor"]] {
        let said = warns(&workspace, args, &[proxy]);
        assert!(said.contains(words) && !said.contains("secret"), "{args:?}: {said}");
        assert!(!warns(&workspace, args, &[proxy, except]).contains(words), "{args:?}: it is meant");
        assert!(!warns(&workspace, args, &[]).contains(words), "{args:?}: no proxy");
    }
    let planning = ["--now", "2026-11-30T00:00:00Z", "review", "--quiet"];
    assert!(!warns(&workspace, &planning, &[proxy]).contains(words), "a plan is sent nowhere");
}
