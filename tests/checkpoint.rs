//! The old part of the ledger: folding it as it is read, sparing it by a checkpoint, and never believing one that does not fit.
//! Proposal files that are as they were are neither read nor written.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "it changes files of a scratch folder behind the program's back")]

#[expect(dead_code, reason = "other tests use more of it")]
mod reports;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pool_review::history::{
    Asks, Decision, DecisionFact, Dues, Fact, Fate, FirstSeenFact, Ledger, ProposalFact, ProposalFiles, Read, Reading,
    Settlement, settle_proposals,
};
use pool_review::outputs::{self, ledger::Opened, proposal_files::Files};
use pool_review::store::{Cache, Store};
use pool_review::verdict::Proposal;
use pool_review::vocabulary::fnv1a_hex;
use proptest::prelude::*;
use reports::{at, delivery, pool, proposal, report, report_at};
use serde_json::Value;

/// The id of noon of a day.
fn noon(day: u32) -> String {
    format!("202611{day:02}T120000Z")
}

/// Adds lines to a text.
fn add(text: &mut String, lines: &[String]) {
    for line in lines {
        text.extend([line.as_str(), "\n"]);
    }
}

/// A ledger: (day, what it says). A day that comes again is judged again; `decide` adds a decision of that day.
fn ledger_of(days: &[(u32, u8)]) -> String {
    let mut text = String::new();
    for (day, what) in days {
        let (ledger, _) = Ledger::read("ledger.jsonl", &text);
        let now = at(&format!("2026-11-{day:02}T12:00:00Z"));
        let reviewed = report(*day, vec![pool("scout")]);
        let past = ledger.before(&reviewed.run_id);
        let asks = Asks {
            run: &reviewed.run_id,
            now,
            files: &ProposalFiles::NONE,
            fate: &|_| Fate::Missed,
            digest: &|fact: &ProposalFact| Some(fact.subtree_digest.clone()),
            dues: &Dues::new(),
        };
        let fresh =
            (0..*what % 3).map(|i| proposal("scout", &format!("acme/{i}@default#seat"), now, (1, 1, 1))).collect();
        let settled = settle_proposals(fresh, &past, &asks);
        let models = BTreeSet::from([format!("acme/{what}")]);
        let mut facts = pool_review::history::run_facts(&reviewed, &past, &settled, "sha256:s", &models);
        facts.push(Fact::FirstSeen(FirstSeenFact { models: BTreeSet::from([format!("m{what}")]) }));
        add(&mut text, &ledger.lines_for(&reviewed.run_id, now, &facts));
        if let Some(open) = settled.open.first().filter(|_| what % 5 == 0) {
            let decision = DecisionFact {
                fingerprint: open.fingerprint.clone(),
                revision: open.revision,
                decision: Decision::Accept,
                reason: "good".to_owned(),
                by: "steward".to_owned(),
                until: None,
                unless: None,
            };
            let (ledger, _) = Ledger::read("ledger.jsonl", &text);
            add(&mut text, &ledger.chained(&reviewed.run_id, now, &[Fact::Decision(decision)]));
        }
    }
    text
}

/// A reading for a run, in blocks of some size.
fn folded(text: &str, run: &str, block: usize) -> Read {
    let mut reading = Reading::new("ledger.jsonl", Some(run));
    text.as_bytes().chunks(block).for_each(|block| reading.feed(block));
    reading.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_ledger_that_is_folded_as_it_is_read_says_the_same(
        days in prop::collection::vec((1_u32..9, 0_u8..20), 1..8),
        block in 1_usize..3_000,
    ) {
        let text = ledger_of(&days);
        let (whole, problems) = Ledger::read("ledger.jsonl", &text);
        prop_assert!(problems.is_empty());
        for day in 1..11 {
            let run = noon(day);
            let Read { ledger, problems, is_out_of_order, .. } = folded(&text, &run, block);
            prop_assert!(problems.is_empty());
            if is_out_of_order {
                continue;
            }
            prop_assert_eq!(ledger.before(&run), whole.before(&run), "{:?} before {}", days, run);
            prop_assert_eq!(ledger.newest_run(), whole.newest_run());
            prop_assert_eq!(ledger.runs(), whole.runs());
            prop_assert_eq!(ledger.holds_run(&run), whole.holds_run(&run));
            let facts = [Fact::FirstSeen(FirstSeenFact { models: BTreeSet::from(["x".to_owned()]) })];
            let now = at("2026-11-20T12:00:00Z");
            prop_assert_eq!(ledger.lines_for(&run, now, &facts), whole.lines_for(&run, now, &facts));
        }
        let mut sorted = days.iter().map(|(day, _)| *day).collect::<Vec<_>>();
        sorted.sort_unstable();
        if sorted == days.iter().map(|(day, _)| *day).collect::<Vec<_>>() {
            let read = folded(&text, &noon(30), block);
            prop_assert!(!read.is_out_of_order && read.ledger.events().is_empty(), "all of it is folded");
        }
    }
}

/// A workspace whose ledger is worth a checkpoint.
struct Long {
    /// The workspace.
    folder: PathBuf,
    /// Its store.
    store: Store,
    /// Its cache.
    cache: Cache,
}

impl Long {
    /// A long ledger of ten runs.
    fn new(name: &str) -> Self {
        let folder = reports::workspace(name);
        let (store, cache) = (reports::store(&folder), Cache::at(&folder, Path::new(".cache")));
        let mut text = String::new();
        for day in 1..11 {
            let (ledger, _) = Ledger::read("ledger.jsonl", &text);
            let reviewed = report(day, vec![pool("scout")]);
            let mut facts = pool_review::history::run_facts(
                &reviewed,
                &ledger.present(),
                &Settlement::default(),
                "sha256:s",
                &BTreeSet::new(),
            );
            let models = |i: u32| (0..400).map(|k| format!("acme/model-{day}-{i}-{k}")).collect();
            facts.extend((0..12).map(|i| Fact::FirstSeen(FirstSeenFact { models: models(i) })));
            add(&mut text, &ledger.lines_for(&reviewed.run_id, reviewed.now, &facts));
        }
        assert!(text.len() > 1 << 20, "{}", text.len());
        store.replace(&store.in_reports("ledger.jsonl"), text.as_bytes()).unwrap();
        Self { folder, store, cache }
    }

    /// The ledger for the run of a day.
    fn open(&self, day: u32) -> Opened {
        outputs::ledger::open(&self.store, Some(&self.cache), &noon(day)).unwrap()
    }

    /// The ledger for the run of a day, kept.
    fn kept(&self, day: u32) -> Opened {
        let opened = self.open(day);
        assert_eq!(outputs::ledger::keep(&self.store, &self.cache, &opened), None);
        opened
    }

    /// The ledger's file.
    fn path(&self) -> PathBuf {
        self.folder.join("reports/ledger.jsonl")
    }

    /// The checkpoint's file.
    fn checkpoint(&self) -> PathBuf {
        let mut found = std::fs::read_dir(self.folder.join(".cache")).unwrap().map(|entry| entry.unwrap().path());
        found.find(|path| path.extension().is_some_and(|ending| ending == "checkpoint")).unwrap()
    }

    /// Changes the checkpoint, so that its checksum fits again.
    fn forge(&self, change: impl FnOnce(&mut Value)) {
        let bytes = std::fs::read(self.checkpoint()).unwrap();
        let mut value: Value = serde_json::from_slice(&bytes[17..]).unwrap();
        change(&mut value);
        let body = serde_json::to_string(&value).unwrap();
        std::fs::write(self.checkpoint(), format!("{}\n{body}", fnv1a_hex(body.as_bytes()))).unwrap();
    }
}

#[test]
fn a_checkpoint_spares_what_lies_before_and_changes_nothing() {
    let long = Long::new("checkpoint-spares");
    let first = long.kept(11);
    assert!(first.is_verified());
    let second = long.open(11);
    assert!(!second.is_verified(), "the same run is judged again behind the same checkpoint");
    assert_eq!(second.ledger.before(&noon(11)), first.ledger.before(&noon(11)));
    assert_eq!(second.ledger.runs(), first.ledger.runs());
    let fact = [Fact::FirstSeen(FirstSeenFact { models: BTreeSet::from(["new".to_owned()]) })];
    let lines = second.ledger.lines_for(&noon(11), at("2026-11-11T12:00:00Z"), &fact);
    long.store.append_lines(&long.path(), &lines).unwrap();
    let grown = long.open(12);
    assert!(!grown.is_verified(), "the file only grew");
    assert_eq!(grown.ledger.before(&noon(12)).first_seen("new"), Some(at("2026-11-11T12:00:00Z")));
    assert!(long.open(5).is_verified(), "a run that lies before it needs all of the ledger");
    std::fs::remove_dir_all(long.folder.join(".cache")).unwrap();
    let without = long.open(12);
    assert!(without.is_verified());
    assert_eq!(without.ledger.before(&noon(12)), grown.ledger.before(&noon(12)), "losing it costs time only");
}

#[test]
fn an_edit_of_the_old_part_is_seen_through_its_checkpoint() {
    let long = Long::new("checkpoint-edit");
    long.kept(11);
    let text = std::fs::read_to_string(long.path()).unwrap();
    let modified = std::fs::metadata(long.path()).unwrap().modified().unwrap();
    let edited = text.replacen("acme/model-5-3-7\"", "acme/model-5-3-8\"", 1);
    assert_eq!(edited.len(), text.len());
    std::fs::write(long.path(), &edited).unwrap();
    std::fs::File::options().append(true).open(long.path()).unwrap().set_modified(modified).unwrap();
    let opened = long.kept(12);
    assert!(opened.is_verified() && opened.problems[0].reason.contains("was edited"), "{:?}", opened.problems);
    assert!(long.open(12).problems.len() == opened.problems.len(), "a broken chain is said by every run");
    std::fs::write(long.path(), &text[..text.len() / 2]).unwrap();
    assert!(long.open(12).is_verified(), "a file that was cut is read anew");
}

#[test]
fn a_checkpoint_that_was_edited_is_dropped_and_one_that_lies_is_found_out() {
    let long = Long::new("checkpoint-forged");
    let honest = long.kept(11).ledger.before(&noon(11));
    let whole = std::fs::read(long.checkpoint()).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(long.checkpoint(), flipped).unwrap();
    assert!(long.open(11).is_verified(), "its checksum does not fit");
    std::fs::write(long.checkpoint(), &whole[..whole.len() / 2]).unwrap();
    assert!(long.open(11).is_verified(), "it was cut");
    std::fs::write(long.checkpoint(), &whole).unwrap();
    long.forge(|value| value["shape"] = "pool-review.checkpoint/1 0.0.1".into());
    assert!(long.open(11).is_verified(), "another version folds otherwise");
    std::fs::write(long.checkpoint(), &whole).unwrap();
    long.forge(|value| {
        value["uses"] = 28.into();
        value["base"]["past"]["previous_run"] = "20261101T120000Z".into();
    });
    let opened = long.open(11);
    assert!(opened.is_verified() && opened.warnings[0].contains("said something else"), "{:?}", opened.warnings);
    assert_eq!(opened.ledger.before(&noon(11)), honest);
}

#[test]
fn every_line_is_verified_again_after_a_fortnight() {
    let long = Long::new("checkpoint-fortnight");
    let verified = (0..30).filter(|_| long.kept(11).is_verified()).count();
    assert_eq!(verified, 2, "the first, and one of the next 29");
}

/// The settlement of some proposals on what lies in a workspace, how many files were read, and what was delivered.
fn settled(long: &Long, day: u32, fresh: Vec<Proposal>) -> (Settlement, usize) {
    let reviewed = report_at(&format!("2026-11-{day:02}T12:00:00Z"), vec![pool("scout")]);
    let mut opened = long.open(day);
    let (past, files) = (opened.ledger.before(&reviewed.run_id), Files::read(&long.store, &long.cache));
    let reads = Cell::new(0);
    let stored = |fingerprint: &str| {
        reads.set(reads.get() + 1);
        outputs::proposals::stored(&long.store, fingerprint)
    };
    let untouched = |fingerprint: &str| files.untouched(&long.store, fingerprint);
    let on_disk = ProposalFiles { stored: &stored, untouched: &untouched, damage: &|_| None };
    let digest = |fact: &ProposalFact| Some(fact.subtree_digest.clone());
    let asks = Asks {
        run: &reviewed.run_id,
        now: reviewed.now,
        files: &on_disk,
        fate: &|_| Fate::Missed,
        digest: &digest,
        dues: &Dues::new(),
    };
    let settlement = settle_proposals(fresh, &past, &asks);
    let reviewed = pool_review::verdict::Report { proposals: settlement.open.clone(), ..reviewed };
    let models = BTreeSet::new();
    let delivery = delivery(&reviewed, &settlement, &models);
    outputs::deliver_on(delivery, &mut opened, &files, &long.store).unwrap();
    assert!(outputs::remember(delivery, &opened, &long.store, &long.cache).is_empty());
    (settlement, reads.get())
}

#[test]
fn proposal_files_that_are_as_they_were_are_neither_read_nor_written() {
    let folder = reports::workspace("untouched-files");
    let (store, cache) = (reports::store(&folder), Cache::at(&folder, Path::new(".cache")));
    let world = Long { folder: folder.clone(), store, cache };
    let made = || -> Vec<Proposal> {
        let one = |i| proposal("scout", &format!("acme/{i}@default#seat"), at("2026-11-01T12:00:00Z"), (1, 1, 1));
        (0..600).map(one).collect()
    };
    let (first, _) = settled(&world, 1, made());
    let files = |ending: &str| {
        first
            .open
            .iter()
            .map(|one| folder.join(format!("reports/proposals/{}.{ending}", one.fingerprint)))
            .collect::<Vec<_>>()
    };
    let (json, patches) = (files("json"), files("patch"));
    let stamp = |path: &PathBuf| pool_review::store::look_at(path).unwrap();
    let before: Vec<_> = json.iter().chain(&patches).map(stamp).collect();
    let (second, reads) = settled(&world, 2, made());
    assert_eq!((reads, second.open.len()), (0, 600));
    assert_eq!(json.iter().chain(&patches).map(stamp).collect::<Vec<_>>(), before);
    std::fs::write(&patches[7], "nonsense").unwrap();
    let text = std::fs::read_to_string(&json[9]).unwrap();
    std::fs::write(&json[9], text.replace("retire", "reture")).unwrap();
    let (third, reads) = settled(&world, 3, made());
    assert_eq!((reads, third.open.len()), (1, 600), "the edited one is read");
    assert_ne!(std::fs::read_to_string(&patches[7]).unwrap(), "nonsense");
    let mended: Value = serde_json::from_slice(&std::fs::read(&json[9]).unwrap()).unwrap();
    assert!(mended["title"].as_str().unwrap().contains("retire"), "{}", mended["title"]);
    std::fs::remove_dir_all(folder.join(".cache")).unwrap();
    let (fourth, reads) = settled(&world, 4, made());
    assert_eq!((reads, &fourth.open), (600, &third.open), "losing the list costs time only");
}
