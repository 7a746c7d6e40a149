//! What a person at a terminal sees, by a pseudo-terminal (`script` of util-linux): lines that fit, colour unless it is not wanted,
//! progress that is taken away again. Where stdout is no terminal none of it is there.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run, and a word on what could not be run"
)]

#[path = "scene/binary.rs"]
mod binary;
mod scene;

use std::process::Command;

use scene::Scene;

/// The demo, with a session store.
fn demo(name: &str) -> Scene {
    let scene = Scene::demo(name);
    let path = scene.root.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let stores = "data:\n  session_stores: [{ kind: claude-code, path: projects }]";
    std::fs::write(&path, text.replacen("\ndata:", &format!("\n{stores}"), 1)).unwrap();
    for i in 0..40 {
        let folder = scene.root.join(format!("projects/p{i}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("session.jsonl"), "{\"type\":\"user\"}\n".repeat(500)).unwrap();
    }
    scene
}

/// What a review shows at a terminal with this environment; `None`, said on stderr, without `script`.
fn at_terminal(scene: &Scene, set: &[(&str, &str)], args: &str) -> Option<String> {
    let command = format!("'{}' {args}", env!("CARGO_BIN_EXE_pool-review"));
    let mut script = Command::new("script");
    let path = std::env::var_os("PATH").unwrap_or_default();
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.current_dir(&scene.root).env_clear().env("PATH", path).env("SHELL", "/bin/sh").envs(set.iter().copied());
    let Ok(output) = script.output() else {
        eprintln!("skipped: no script on this machine; tests/units/install.sh brings it");
        return None;
    };
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Lines as they stand in the end: of a line that was drawn anew only what came last, without colour.
fn lines(shown: &str) -> Vec<String> {
    let plain = ["31", "32", "33", "36", "0"]
        .iter()
        .fold(shown.to_owned(), |text, code| text.replace(&format!("\x1b[{code}m"), ""));
    let last =
        |line: &str| line.trim_end_matches('\r').rsplit(['\r']).next().unwrap_or_default().replace("\x1b[2K", "");
    plain.split('\n').map(last).collect()
}

#[test]
fn lines_fit_the_terminal_and_lose_nothing() {
    let scene = demo("width");
    let piped = scene.run(&["review"]);
    assert_eq!(piped.code, Some(3), "{}", piped.stderr);
    assert!(piped.stdout.lines().all(|line| line.chars().count() <= 160), "{}", piped.stdout);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for columns in [72, 100, 132] {
        let Some(shown) = at_terminal(&scene, &[("COLUMNS", &columns.to_string())], "review") else { return };
        let lines = lines(&shown);
        let wide: Vec<&String> = lines.iter().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{columns}: {wide:#?}");
        assert_eq!(words(&lines.join("\n")), words(&piped.stdout), "{columns}: the same words in the same order");
    }
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let scene = demo("colour");
    let Some(shown) = at_terminal(&scene, &[], "review") else { return };
    assert!(shown.contains("\x1b[31mmisaligned"), "{shown}");
    let bare = at_terminal(&scene, &[("NO_COLOR", "1")], "review").unwrap();
    assert!(!bare.contains("\x1b[3") && bare.contains("misaligned"), "{bare}");
    let empty = at_terminal(&scene, &[("NO_COLOR", "")], "review").unwrap();
    assert!(empty.contains("\x1b[31mmisaligned"), "an empty NO_COLOR is none");
    assert!(!scene.run(&["review"]).stdout.contains('\x1b'), "a pipe gets no colour");
}

#[test]
fn progress_is_drawn_on_a_terminal_only_and_taken_away() {
    let scene = demo("progress");
    let Some(shown) = at_terminal(&scene, &[], "review") else { return };
    for said in ["reading pools, market and evidence", "] 5", "judging pools", "writing reports"] {
        assert!(shown.contains(said), "{said}: {shown:?}");
    }
    let last = lines(&shown);
    assert!(last[0].starts_with("pool-review run"), "nothing of it is left: {:?}", last[0]);
    let quiet = at_terminal(&scene, &[], "review --quiet").unwrap();
    assert_eq!(quiet.trim(), "", "{quiet:?}");
    assert_eq!(scene.run(&["review"]).stderr, "", "a pipe gets none");
}
