//! Memory of a reading is bounded by what it must remember: a row per response and a little per file.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::fresh;

/// Most bytes that one more small file with one response may cost. Of them 72 are the row of its response, some 60 its place in
/// the walk, 32 its place in the old index; some 180 were measured.
const MOST_PER_FILE: u64 = 260;
/// The row and the place in the walk alone are more than that: a smaller figure means that the peak was not seen.
const LEAST_PER_FILE: u64 = 90;

/// A store of many small files, a hundred in a folder.
fn small_files(name: &str, count: usize) -> std::path::PathBuf {
    let store = fresh(name);
    for file in 0..count {
        let folder = store.join(format!("projects/p{}", file / 100));
        if file % 100 == 0 {
            std::fs::create_dir_all(&folder).unwrap();
        }
        let line = format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"sessionId\":\"session-of-file-{file}\",\"cwd\":\"/home/someone/project\",\"message\":{{\"id\":\"m{file}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n"
        );
        std::fs::write(folder.join(format!("{file:06}.jsonl")), line).unwrap();
    }
    store
}

/// The most memory that the program holds of its own while it reads a store, KiB: the system is asked until the program ends.
fn peak_kib(store: &Path) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(store)
        .args(["sessions", "--store", "claude-code=.", "--format", "csv"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("RssAnon"));
        peak = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(peak).max(peak);
        if let Some(code) = child.try_wait().unwrap() {
            break code;
        }
    };
    assert!(code.success());
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn one_more_small_file_costs_a_few_hundred_bytes_cold_unchanged_and_grown() {
    const FEW: usize = 1_000;
    const MANY: usize = 21_000;
    let (few, many) = (small_files("bounds-few", FEW), small_files("bounds-many", MANY));
    for why in ["cold", "unchanged", "one file has grown"] {
        if why == "one file has grown" {
            for store in [&few, &many] {
                let path = store.join("projects/p3/000300.jsonl");
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, text.clone() + &text.replace("m300", "another")).unwrap();
            }
        }
        let per_file = peak_kib(&many).saturating_sub(peak_kib(&few)) * 1024 / (MANY - FEW) as u64;
        assert!((LEAST_PER_FILE..=MOST_PER_FILE).contains(&per_file), "{why}: {per_file} bytes a file");
    }
    std::fs::remove_dir_all(many).unwrap();
}
