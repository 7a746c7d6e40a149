//! The index of session stores: only what is new is read, and the totals are those of a full reading, whatever happened
//! to the files between.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::common::shared;
use crate::support::{fresh, generated};
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::store::Cache;
use pool_review::vocabulary::{StoreEvents, StoreKind};

/// Reads a store with an index.
fn scan(kind: StoreKind, path: &Path, index: Option<&[u8]>) -> StoreScan {
    read(&StoreSpec::new(kind, path.to_owned()), &BTreeSet::new(), index, &|_, _| {})
}

/// One assistant record.
fn answer(id: &str, output: u64, stop: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"uuid\":\"u-{id}-{output}\",\"timestamp\":\"2026-11-20T10:00:05.000Z\",\"sessionId\":\"s\",\"requestId\":\"r\",\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"role\":\"assistant\",\"stop_reason\":{stop},\"usage\":{{\"input_tokens\":1,\"output_tokens\":{output}}}}}}}\n"
    )
}

/// One prompt.
fn prompt(id: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{id}\",\"timestamp\":\"2026-11-20T10:00:00.000Z\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"do it\"}}}}\n"
    )
}

/// Responses, output and tasks.
fn figures(scan: &StoreScan) -> (u64, u64, u64) {
    let StoreEvents { tasks, .. } = scan.events;
    let sum = |count: fn(&StoreScan, usize) -> u64| (0..scan.rows.len()).map(|at| count(scan, at)).sum::<u64>();
    (sum(|scan, at| scan.rows[at].sums.responses), sum(|scan, at| scan.rows[at].sums.output_tokens), tasks)
}

/// Asserts that a reading with the index says what a full one says; returns it.
fn same(path: &Path, index: &[u8], why: &str) -> StoreScan {
    let (with, without) = (scan(StoreKind::ClaudeCode, path, Some(index)), scan(StoreKind::ClaudeCode, path, None));
    assert_eq!(with.rows, without.rows, "{why}");
    assert_eq!((with.events, with.input), (without.events, without.input), "{why}");
    with
}

#[test]
fn a_growing_response_is_counted_once_with_its_largest_figures() {
    let store = fresh("index-grow");
    let path = store.join("s.jsonl");
    std::fs::write(&path, prompt("p1") + &answer("a", 7, "null")).unwrap();
    let first = scan(StoreKind::ClaudeCode, &store, None);
    assert_eq!(figures(&first), (1, 7, 1));
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all((answer("a", 90, "\"end_turn\"") + &prompt("p2") + &answer("b", 5, "\"end_turn\"")).as_bytes())
        .unwrap();
    let second = same(&store, &first.index.unwrap(), "appended");
    assert_eq!(figures(&second), (2, 95, 2));
    assert_eq!(second.ways, [0, 1, 0], "read on from where it ended");
    let third = same(&store, &second.index.unwrap(), "unchanged");
    assert_eq!(
        (third.ways, third.bytes_read, third.index.is_none()),
        ([0, 0, 1], 0, true),
        "nothing is read or kept anew"
    );
}

#[test]
fn a_last_line_without_an_end_counts_now_and_is_not_counted_twice() {
    let store = fresh("index-tail");
    let path = store.join("s.jsonl");
    let whole = prompt("p1") + &answer("a", 60, "\"end_turn\"");
    std::fs::write(&path, whole.trim_end()).unwrap();
    let first = scan(StoreKind::ClaudeCode, &store, None);
    assert_eq!(
        (figures(&first), first.input.open_tails),
        ((1, 60, 1), 0),
        "a whole record counts without its line end"
    );
    std::fs::write(&path, whole.clone() + &prompt("p2")[..40]).unwrap();
    let second = same(&store, &first.index.unwrap(), "the line got its end, the next one is half");
    assert_eq!((figures(&second), second.input.open_tails), ((1, 60, 1), 1));
    std::fs::write(&path, whole + &prompt("p2")).unwrap();
    let third = same(&store, &second.index.unwrap(), "the half line is whole");
    assert_eq!((figures(&third), third.input.malformed_lines), ((1, 60, 2), 0));
}

#[test]
fn rewritten_truncated_renamed_and_rotated_files_are_recognised() {
    let store = fresh("index-change");
    let path = store.join("s.jsonl");
    let long: String =
        (0..200).map(|n| prompt(&format!("p{n}")) + &answer(&format!("a{n}"), 10 + n, "\"end_turn\"")).collect();
    std::fs::write(&path, &long).unwrap();
    let index = scan(StoreKind::ClaudeCode, &store, None).index.unwrap();
    std::fs::write(&path, long.replace("\"do it\"", "\"do 17\"").replace("a3\"", "x3\"") + &answer("new", 5, "null"))
        .unwrap();
    assert_eq!(same(&store, &index, "rewritten and longer").ways, [1, 0, 0]);
    std::fs::write(&path, &long[..long.len() / 2]).unwrap();
    assert_eq!(same(&store, &index, "truncated").ways, [1, 0, 0]);
    std::fs::write(&path, &long).unwrap();
    let index = scan(StoreKind::ClaudeCode, &store, None).index.unwrap();
    std::fs::rename(&path, store.join("old.jsonl")).unwrap();
    let renamed = same(&store, &index, "renamed");
    assert_eq!(renamed.ways, [0, 0, 1], "the same file under another name");
    std::fs::write(&path, answer("fresh", 8, "null")).unwrap();
    assert!(renamed.index.is_some(), "the index learns the new name");
    let rotated = same(&store, &renamed.index.unwrap(), "rotated");
    assert_eq!((rotated.ways, figures(&rotated).0), ([1, 0, 1], 201));
    std::fs::remove_file(store.join("old.jsonl")).unwrap();
    assert_eq!(figures(&same(&store, &rotated.index.unwrap(), "deleted")), (1, 8, 0));
}

#[test]
fn an_index_that_is_lost_torn_or_of_another_store_is_no_index() {
    let store = fresh("index-lost");
    std::fs::write(store.join("s.jsonl"), prompt("p") + &answer("a", 9, "null")).unwrap();
    let index = scan(StoreKind::ClaudeCode, &store, None).index.unwrap();
    for cut in [0, 1, 20, 41, index.len() - 1] {
        assert_eq!(same(&store, &index[..cut], "torn").ways, [1, 0, 0]);
    }
    for at in [0, 8, 45, index.len() - 3] {
        let mut broken = index.clone();
        broken[at] ^= 0x55;
        assert_eq!(same(&store, &broken, "one byte changed").ways, [1, 0, 0], "byte {at}");
    }
    let mut older = index.clone();
    older[7] -= 1;
    let read_again = same(&store, &older, "of an older version");
    assert_eq!((read_again.ways, read_again.index.as_ref()), ([1, 0, 0], Some(&index)), "and it is written anew");
    let codex = scan(StoreKind::Codex, &store, Some(&index));
    assert_eq!(codex.input.files, 0, "a store of another kind is not there");
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    std::fs::rename(store.join("s.jsonl"), store.join("sessions/s.jsonl")).unwrap();
    let codex = scan(StoreKind::Codex, &store, Some(&index));
    assert_eq!(codex.ways, [1, 0, 0], "the same file, but the index of another reader");
}

#[test]
fn a_draft_takes_the_place_of_the_old_index_only_when_it_is_kept() {
    let folder = fresh("index-draft");
    let cache = Cache::at(&folder, Path::new("cache"));
    let names = || {
        let entries = std::fs::read_dir(folder.join("cache")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let begin = |bytes: &[u8]| {
        let mut draft = cache.draft("x.idx").unwrap();
        draft.write_all(bytes).unwrap();
        draft
    };
    begin(b"one").keep().unwrap();
    assert_eq!(cache.read("x.idx").unwrap(), b"one");
    drop(begin(b"lost"));
    assert_eq!((cache.read("x.idx").unwrap(), names()), (b"one".to_vec(), vec!["CACHEDIR.TAG".into(), "x.idx".into()]));
    // A run that is killed drops nothing: its draft stays, and nobody holds its lock.
    std::fs::write(folder.join("cache/.x.idx.1.new"), "half").unwrap();
    std::fs::write(folder.join("cache/.y.idx.1.new"), "of another").unwrap();
    begin(b"two").keep().unwrap();
    assert_eq!(cache.read("x.idx").unwrap(), b"two");
    assert_eq!(names(), [".y.idx.1.new", "CACHEDIR.TAG", "x.idx"], "the draft that was left is gone");
    assert!(cache.draft("../x.idx").is_err(), "nothing is written elsewhere");
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning_and_the_figures_stand() {
    let store = fresh("index-shut");
    std::fs::create_dir_all(store.join("projects")).unwrap();
    std::fs::write(store.join("projects/s.jsonl"), prompt("p") + &answer("a", 9, "null")).unwrap();
    std::fs::write(store.join(".cache"), "a file where the folder should be").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(&store)
        .args(["sessions", "--store", "claude-code=.", "--format", "csv"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{err}");
    assert!(out.lines().count() == 2 && err.contains(".cache"), "{out}{err}");
}

#[test]
fn a_tree_read_in_two_steps_equals_a_tree_read_at_once() {
    let Some(shared) = shared() else { return };
    let tree = generated(&shared, "index-tree", 8, 77);
    let stores = [(StoreKind::ClaudeCode, ".claude"), (StoreKind::Codex, ".codex")];
    let files =
        crate::common::files_below(&tree, &|name| Path::new(name).extension().is_some_and(|own| own == "jsonl"));
    let whole: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    for (at, (file, bytes)) in files.iter().zip(&whole).enumerate() {
        let kept = bytes.len() * (at % 11) / 10;
        std::fs::write(file, &bytes[..kept.min(bytes.len())]).unwrap();
    }
    let index: Vec<_> = stores.iter().map(|(kind, below)| scan(*kind, &tree.join(below), None).index).collect();
    for (file, bytes) in files.iter().zip(&whole) {
        let have = file.metadata().unwrap().len();
        let mut file = File::options().write(true).open(file).unwrap();
        file.seek(SeekFrom::Start(have)).unwrap();
        file.write_all(&bytes[usize::try_from(have).unwrap()..]).unwrap();
    }
    for ((kind, below), index) in stores.into_iter().zip(index) {
        let (with, without) = (scan(kind, &tree.join(below), index.as_deref()), scan(kind, &tree.join(below), None));
        assert!(with.ways[1] >= 3, "{kind}: files were read on: {:?}", with.ways);
        assert_eq!(with.rows, without.rows, "{kind}");
        assert_eq!((with.events, with.input, with.notes), (without.events, without.input, without.notes), "{kind}");
    }
}
