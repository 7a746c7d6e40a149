//! Broken, hostile and unreadable stores: nothing panics or hangs, memory stays bounded, and every fault has its note.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Instant;

use crate::common::{files_below, shared};
use crate::support::fresh;
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::StoreKind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

/// Reads a store.
fn scan(kind: StoreKind, path: &Path) -> StoreScan {
    read(&StoreSpec::new(kind, path.to_owned()), &BTreeSet::new(), None, &|_, _| {})
}

/// A Codex store with one rollout.
fn rollout(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let store = fresh(name);
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    std::fs::write(store.join("sessions/rollout-a.jsonl"), bytes).unwrap();
    store
}

/// Every line of the handed logs.
fn lines() -> Vec<Vec<u8>> {
    let Some(shared) = shared() else { return Vec::new() };
    let mut lines = Vec::new();
    for folder in ["cases/sessions", "data/sessions/claude-code", "data/sessions/codex"] {
        for file in
            files_below(&shared.join(folder), &|name| Path::new(name).extension().is_some_and(|own| own == "jsonl"))
        {
            let bytes = std::fs::read(file).unwrap();
            lines.extend(bytes.split(|byte| *byte == b'\n').filter(|line| line.len() < 20_000).map(<[u8]>::to_vec));
        }
    }
    assert!(lines.len() > 1000, "{} handed lines", lines.len());
    lines
}

/// What one mutation does to a line.
#[derive(Debug, Clone)]
enum Change {
    /// Cuts it.
    Cut(prop::sample::Index),
    /// Changes a byte.
    Byte(prop::sample::Index, u8),
    /// Puts something in.
    Insert(prop::sample::Index, &'static [u8]),
    /// Spells a letter by its number.
    Escape(prop::sample::Index),
    /// Takes a piece out.
    Remove(prop::sample::Index, usize),
}

/// Changes a line.
fn change(line: &mut Vec<u8>, change: &Change) {
    if line.is_empty() {
        return;
    }
    match change {
        Change::Cut(at) => line.truncate(at.index(line.len())),
        Change::Byte(at, byte) => {
            let at = at.index(line.len());
            line[at] = if *byte == b'\n' { b' ' } else { *byte };
        }
        Change::Insert(at, piece) => {
            let at = at.index(line.len());
            line.splice(at..at, piece.iter().copied());
        }
        Change::Escape(at) => {
            let at = at.index(line.len());
            if line[at].is_ascii_alphabetic() {
                let escape = format!("\\u{:04x}", line[at]);
                line.splice(at..=at, escape.bytes());
            }
        }
        Change::Remove(at, count) => {
            let at = at.index(line.len());
            let end = (at + count).min(line.len());
            line.drain(at..end);
        }
    }
}

/// Any change.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<prop::sample::Index>;
    let pieces: [&'static [u8]; 12] = [
        b" ",
        b"\t",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b",",
        b"\0\0\0",
        b"\xff\xfe",
        b"\"usage\":{\"output_tokens\":7}",
        b"{\"a\":1}",
    ];
    let one = prop_oneof![
        1 => at().prop_map(Change::Cut),
        3 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        3 => (at(), prop::sample::select(pieces.to_vec())).prop_map(|(at, piece)| Change::Insert(at, piece)),
        4 => at().prop_map(Change::Escape),
        1 => (at(), 1_usize..20).prop_map(|(at, count)| Change::Remove(at, count)),
    ];
    prop::collection::vec(one, 0..4)
}

/// What a strict parser makes of a line: whether it is an object, and the tokens of the response it holds.
fn strict(line: &[u8], kind: StoreKind) -> Option<u64> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let whole = |value: &Value| value.as_u64().unwrap_or(0).min(u64::from(u32::MAX));
    value.as_object()?;
    if kind == StoreKind::Codex {
        let info = &value["payload"]["info"];
        let is_count = value["type"] == "event_msg" && value["payload"]["type"] == "token_count" && info.is_object();
        let total = &info["total_token_usage"];
        let is_count = is_count && total.is_object();
        return Some(if is_count { total["output_tokens"].as_u64().unwrap_or(0) } else { 0 });
    }
    let message = &value["message"];
    let kind = value["type"].as_str().filter(|kind| !kind.is_empty());
    let is_answer = kind == Some("assistant") || kind.is_none() && message["role"] == "assistant";
    let is_own = message["model"] == "<synthetic>" || value["isApiErrorMessage"] == true;
    let is_answer = is_answer && !is_own && message["usage"].is_object();
    Some(if is_answer { whole(&message["usage"]["output_tokens"]) } else { 0 })
}

#[test]
fn no_line_that_a_strict_parser_accepts_is_lost() {
    let lines = lines();
    if lines.is_empty() {
        return;
    }
    for kind in [StoreKind::ClaudeCode, StoreKind::Codex] {
        let folder = rollout(&format!("mutated-{kind}"), b"");
        let file = folder.join("sessions/rollout-a.jsonl");
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 10_000, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let strategy = (prop::sample::select(lines.clone()), changes());
        let began = Instant::now();
        runner
            .run(&strategy, |(mut line, edits)| {
                for edit in &edits {
                    change(&mut line, edit);
                }
                line.retain(|byte| *byte != b'\n');
                line.push(b'\n');
                std::fs::write(&file, &line).unwrap();
                let scan = scan(kind, &folder);
                prop_assert_eq!(scan.input.lines, 1);
                if let Some(output) = strict(&line, kind) {
                    let found: u64 = scan.rows.iter().map(|row| row.sums.output_tokens).sum();
                    prop_assert_eq!(
                        scan.input.malformed_lines,
                        0,
                        "a strict parser accepts {}",
                        String::from_utf8_lossy(&line)
                    );
                    prop_assert_eq!(found, output, "{}", String::from_utf8_lossy(&line));
                }
                Ok(())
            })
            .unwrap();
        assert!(began.elapsed().as_secs() < 120, "10,000 lines of {kind} in {:?}", began.elapsed());
    }
}

#[test]
fn a_hole_of_seventy_gigabytes_is_one_damaged_line() {
    let Some(shared) = shared() else { return };
    let case = shared.join("cases/sessions/se-44-codex-counters/in/codex/sessions");
    let source = files_below(&case, &|name| name.contains("-ka")).remove(0);
    let whole = std::fs::read(source).unwrap();
    let plain = scan(StoreKind::Codex, &rollout("hole-plain", &whole));
    let store = rollout("hole", &whole);
    let mut file = File::options().append(true).open(store.join("sessions/rollout-a.jsonl")).unwrap();
    // Where holes are not known to the reader, their NUL bytes are read: two gigabytes of them.
    let hole = if cfg!(target_os = "linux") { 70_000_000_000 } else { 2_000_000_000 };
    file.set_len(whole.len() as u64 + hole).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"\n").unwrap();
    let began = Instant::now();
    let scan = scan(StoreKind::Codex, &store);
    assert!(began.elapsed().as_secs() < 60, "the hole took {:?}", began.elapsed());
    assert_eq!(scan.rows, plain.rows, "the records before the hole count");
    assert!(scan.remarks("store").iter().any(|remark| remark.contains("damaged lines, the first: ")), "it has a note");
    assert_eq!((scan.input.malformed_lines, scan.input.longest_line), (1, hole));
    assert!(peak_mib().is_none_or(|peak| peak < 1000.0), "nothing of the hole is held");
}

/// Peak memory of this process, where the system says.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

#[test]
fn many_small_files_are_all_counted() {
    let store = fresh("small-files");
    for folder in 0..20 {
        let folder = store.join(format!("projects/p{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..250 {
            let id = format!("{}-{file}", folder.file_name().unwrap().to_string_lossy());
            std::fs::write(folder.join(format!("{file}.jsonl")), format!("{{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n")).unwrap();
        }
    }
    let scan = scan(StoreKind::ClaudeCode, &store);
    assert_eq!((scan.input.files, scan.rows.iter().map(|row| row.sums.responses).sum::<u64>()), (5000, 5000));
}

#[test]
#[cfg(unix)]
fn what_cannot_be_read_is_named_and_the_rest_counts() {
    use std::os::unix::fs::symlink;
    let store = fresh("unreadable");
    let projects = store.join("projects/p");
    std::fs::create_dir_all(&projects).unwrap();
    let answer = "{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{\"id\":\"a\",\"model\":\"m\",\"usage\":{\"output_tokens\":3}}}\n";
    std::fs::write(projects.join("good.jsonl"), answer).unwrap();
    symlink("../p", projects.join("loop")).unwrap();
    symlink("nowhere.jsonl", projects.join("dead.jsonl")).unwrap();
    symlink("itself.jsonl", projects.join("itself.jsonl")).unwrap();
    symlink("/dev/zero", projects.join("endless.jsonl")).unwrap();
    std::fs::write(projects.join("broken.jsonl.zst"), b"this is not packed").unwrap();
    std::fs::create_dir(projects.join("folder.jsonl")).unwrap();
    let deep = (0..40).fold(store.join("projects"), |folder, n| folder.join(format!("d{n}")));
    std::fs::create_dir_all(&deep).unwrap();
    let scan = scan(StoreKind::ClaudeCode, &store);
    assert_eq!(scan.rows.iter().map(|row| row.sums.output_tokens).sum::<u64>(), 3);
    assert!(scan.fault_count >= 5, "{:?}", scan.faults);
    assert!(scan.faults.iter().any(|fault| fault.contains("dead.jsonl does not exist")), "{:?}", scan.faults);
    let missing = self::scan(StoreKind::ClaudeCode, &store.join("not-there"));
    assert!(missing.faults[0].ends_with("does not exist"), "{:?}", missing.faults);
}

#[test]
fn a_packed_file_of_several_frames_is_read_and_a_torn_one_gives_what_came_out() {
    let Some(shared) = shared() else { return };
    let case = shared.join("cases/sessions/se-44-codex-counters/in/codex/sessions");
    let whole = std::fs::read(files_below(&case, &|name| name.contains("-ka")).remove(0)).unwrap();
    let plain = scan(StoreKind::Codex, &rollout("packed-plain", &whole));
    let half = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1;
    let frames = [&whole[..half], &whole[half..]].map(|part| zstd::encode_all(part, 3).unwrap()).concat();
    let store = fresh("packed");
    std::fs::create_dir_all(store.join("archived_sessions")).unwrap();
    let file = store.join("archived_sessions/rollout-a.jsonl.zst");
    std::fs::write(&file, &frames).unwrap();
    assert_eq!(scan(StoreKind::Codex, &store).rows, plain.rows, "two frames are one file");
    std::fs::write(&file, &frames[..frames.len() - 9]).unwrap();
    let torn = scan(StoreKind::Codex, &store);
    assert_eq!(torn.fault_count, 1, "{:?}", torn.faults);
    assert!(torn.input.lines > 0, "the first frame came out");
}

#[test]
fn a_database_that_is_locked_damaged_or_none_is_a_note_and_nothing_is_written_beside_it() {
    let store = fresh("databases");
    let path = store.join("opencode.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let data = "{\"role\":\"assistant\",\"time\":{\"created\":1792440000000,\"completed\":1792440009000},\"modelID\":\"m\",\"providerID\":\"p\",\"tokens\":{\"input\":1,\"output\":80}}";
    database.execute_batch("CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, data TEXT)").unwrap();
    database.execute("INSERT INTO message VALUES('msg_1','s',?1)", [data]).unwrap();
    let count = |store: &Path| {
        let scan = scan(StoreKind::Opencode, store);
        (scan.rows.iter().map(|row| row.sums.output_tokens).sum::<u64>(), scan.faults)
    };
    assert_eq!(count(&store), (80, Vec::new()));
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let (output, faults) = count(&store);
    assert_eq!(output, 0);
    assert!(faults[0].contains("is locked by another program"), "{faults:?}");
    database
        .execute_batch("ROLLBACK; PRAGMA journal_mode=WAL; INSERT INTO message VALUES('msg_2','s','broken')")
        .unwrap();
    let (output, faults) = count(&store);
    assert_eq!((output, faults.len()), (80, 0), "a live write-ahead database is read beside its writer: {faults:?}");
    database
        .execute("INSERT INTO message VALUES('msg_3','s',?1)", [data.replace("80", "70").replace("9000,", "9001,")])
        .unwrap();
    let grown = count(&store).0;
    assert_eq!(grown, 150, "rows that stand in the write-ahead file only");
    drop(database);
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (names(), std::fs::read(&path).unwrap());
    assert_eq!(count(&store).0, 150);
    assert_eq!((names(), std::fs::read(&path).unwrap()), before, "no file is made or changed");
    std::fs::write(
        &path,
        b"SQLite format 3\0 and then nothing of it, over more than one hundred bytes of no database at all, quite so",
    )
    .unwrap();
    assert!(!count(&store).1.is_empty(), "a damaged database has a note");
    std::fs::write(&path, b"plain text").unwrap();
    assert!(count(&store).1[0].contains("is no SQLite database"));
}

#[test]
fn a_store_that_grows_and_shrinks_while_it_is_read_ends_in_a_count() {
    let store = fresh("live");
    let file = store.join("s.jsonl");
    let line = |n: u64| {
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n"
        )
    };
    std::fs::write(&file, line(0)).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 1;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut out = File::options().append(true).open(&file).unwrap();
                for _ in 0..50 {
                    out.write_all(line(n).as_bytes()).unwrap();
                    n += 1;
                }
                if n % 500 > 450 {
                    out.set_len(0).unwrap();
                }
            }
        });
        let mut index: Option<Vec<u8>> = None;
        for _ in 0..200 {
            let spec = StoreSpec::new(StoreKind::ClaudeCode, store.clone());
            let scan = read(&spec, &BTreeSet::new(), index.as_deref(), &|_, _| {});
            index = scan.index.or(index);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let last = scan(StoreKind::ClaudeCode, &store);
    let lines = std::fs::read_to_string(&file).unwrap().lines().count() as u64;
    assert_eq!(last.rows.iter().map(|row| row.sums.responses).sum::<u64>(), lines, "at rest everything is counted");
}
