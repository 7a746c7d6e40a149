//! Whatever happens to the files of a store between two scans, a reading with the index says what a reading of everything
//! says. Real files, random changes, both kinds of transcripts.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::StoreKind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::fresh;

/// Names of the files of a store: one is bookkeeping, one lies in a folder of its own.
const FILES: [&str; 5] = ["a.jsonl", "b.jsonl", "journal.jsonl", "deep/c.jsonl", "z.jsonl"];

/// What happens to a file.
#[derive(Debug, Clone)]
enum Change {
    /// Lines are added; the last one may lack its end or its second half.
    Append(usize, Vec<u8>, usize),
    /// It loses its end.
    Truncate(usize, prop::sample::Index),
    /// It is written anew.
    Rewrite(usize, Vec<u8>),
    /// It gets the name of another one, which is lost.
    Rename(usize, usize),
    /// It is copied.
    Copy(usize, usize),
    /// It is deleted.
    Delete(usize),
}

/// Any change.
fn change() -> impl Strategy<Value = Change> {
    let file = || 0..FILES.len();
    let seeds = || prop::collection::vec(any::<u8>(), 1..5);
    prop_oneof![
        6 => (file(), seeds(), 0_usize..60).prop_map(|(file, seeds, cut)| Change::Append(file, seeds, cut.saturating_sub(30))),
        2 => (file(), any::<prop::sample::Index>()).prop_map(|(file, at)| Change::Truncate(file, at)),
        2 => (file(), seeds()).prop_map(|(file, seeds)| Change::Rewrite(file, seeds)),
        2 => (file(), file()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => (file(), file()).prop_map(|(from, to)| Change::Copy(from, to)),
        1 => file().prop_map(Change::Delete),
    ]
}

/// One line: a few ids and kinds, so that files repeat what others say.
fn line(kind: StoreKind, seed: u8) -> String {
    let (n, at) = (seed % 7, format!("2026-11-20T10:{:02}:{:02}.000Z", seed % 60, seed / 5));
    if kind == StoreKind::Codex {
        let total = u64::from(seed) * 40;
        return match seed % 5 {
            0 => format!(
                "{{\"timestamp\":\"{at}\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"t{n}\",\"timestamp\":\"{at}\",\"forked_from_id\":\"t{}\"}}}}\n",
                n / 2
            ),
            1 => format!(
                "{{\"timestamp\":\"{at}\",\"type\":\"turn_context\",\"payload\":{{\"model\":\"m{n}\",\"effort\":\"high\"}}}}\n"
            ),
            2 => format!(
                "{{\"timestamp\":\"{at}\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"task_started\",\"turn_id\":\"{n}\"}}}}\n"
            ),
            3 => "{\"type\":\"response_item\",\"payload\":{\"type\":\"mess\n".to_owned(),
            _ => format!(
                "{{\"timestamp\":\"{at}\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{total},\"output_tokens\":{}}}}}}}}}\n",
                total / 2
            ),
        };
    }
    match seed % 6 {
        0 => format!(
            "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"timestamp\":\"{at}\",\"sessionId\":\"s{}\",\"message\":{{\"role\":\"user\",\"content\":\"do it\"}}}}\n",
            n % 2
        ),
        1 => format!("{{\"type\":\"assistant\",\"message\":{{\"usage\":{{\"output_tokens\":{seed}}}}}}}\n"),
        2 => "{\"type\":\"assistant\",\"mess\n".to_owned(),
        3 => format!(
            "{{\"type\":\"system\",\"subtype\":\"api_error\",\"uuid\":\"e{n}\",\"timestamp\":\"{at}\",\"sessionId\":\"s{}\"}}\n",
            n % 2
        ),
        _ => format!(
            "{{\"type\":\"assistant\",\"uuid\":\"u{seed}\",\"timestamp\":\"{at}\",\"isSidechain\":{},\"sessionId\":\"s{}\",\"message\":{{\"id\":\"m{n}\",\"model\":\"x{}\",\"stop_reason\":{},\"usage\":{{\"output_tokens\":{seed}}}}}}}\n",
            seed.is_multiple_of(2),
            n % 2,
            n % 3,
            if seed.is_multiple_of(3) { "null" } else { "\"end_turn\"" }
        ),
    }
}

/// The lines of some seeds, short of a few bytes at their end.
fn lines(kind: StoreKind, seeds: &[u8], cut: usize) -> Vec<u8> {
    let mut text = seeds.iter().map(|seed| line(kind, *seed)).collect::<String>().into_bytes();
    text.truncate(text.len() - cut.min(text.len()));
    text
}

/// Makes one change. Every one has a time of its own, so that none hides behind the coarse clock of a file system.
fn make(kind: StoreKind, folder: &Path, change: &Change, time: u64) {
    let path = |file: usize| folder.join(FILES[file]);
    let touch = |path: PathBuf| {
        if let Ok(file) = File::options().append(true).open(path) {
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + time)).unwrap();
        }
    };
    match change {
        Change::Append(file, seeds, cut) => {
            let mut out = File::options().append(true).create(true).open(path(*file)).unwrap();
            out.write_all(&lines(kind, seeds, *cut)).unwrap();
            touch(path(*file));
        }
        Change::Truncate(file, at) => {
            if let Ok(out) = File::options().append(true).open(path(*file)) {
                let length = usize::try_from(out.metadata().unwrap().len()).unwrap();
                out.set_len(at.index(length + 1) as u64).unwrap();
            }
            touch(path(*file));
        }
        Change::Rewrite(file, seeds) => {
            std::fs::write(path(*file), lines(kind, seeds, 0)).unwrap();
            touch(path(*file));
        }
        Change::Rename(from, to) => drop(std::fs::rename(path(*from), path(*to))),
        Change::Copy(from, to) => {
            if from != to && path(*from).is_file() {
                std::fs::copy(path(*from), path(*to)).unwrap();
            }
            touch(path(*to));
        }
        Change::Delete(file) => drop(std::fs::remove_file(path(*file))),
    }
}

/// Everything a scan says of a store, without how it was come by.
fn told(scan: &StoreScan) -> String {
    let StoreScan { rows, events, input, notes, kinds, unknown_kinds, damaged, faults, windows, .. } = scan;
    format!("{rows:#?}{events:?}{input:?}{notes:?}{kinds:?}{unknown_kinds:?}{damaged:?}{faults:?}{windows:?}")
}

#[test]
fn a_reading_with_the_index_says_what_a_reading_of_everything_says() {
    for kind in [StoreKind::ClaudeCode, StoreKind::Codex] {
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 150, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let ways = std::cell::Cell::new([0_u64; 3]);
        let steps = prop::collection::vec(prop::collection::vec(change(), 1..4), 1..8);
        let outcome = runner.run(&steps, |steps| {
            let store = fresh(&format!("changes-{kind}"));
            let folder = store.join(if kind == StoreKind::Codex { "sessions" } else { "projects" });
            std::fs::create_dir_all(folder.join("deep")).unwrap();
            let spec = StoreSpec::new(kind, store);
            let read = |index: Option<&[u8]>| read(&spec, &BTreeSet::from(["s1".to_owned()]), index, &|_, _| {});
            let (mut index, mut time) = (None, 0);
            for changes in &steps {
                for change in changes {
                    time += 1;
                    make(kind, &folder, change, time);
                }
                let (with, without) = (read(index.as_deref()), read(None));
                prop_assert_eq!(told(&with), told(&without), "{:?}", changes);
                let mut sum = ways.get();
                (0..3).for_each(|way| sum[way] += with.ways[way]);
                ways.set(sum);
                index = with.index.or(index);
                if with.input.files > 0 {
                    prop_assert_eq!(&index, &without.index, "the index itself is that of a whole reading");
                }
            }
            Ok(())
        });
        outcome.unwrap();
        assert!(ways.get().iter().all(|count| *count > 100), "{kind}: every way was gone: {:?}", ways.get());
    }
}
