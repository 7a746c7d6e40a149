//! Ten thousand open proposals and a ledger of a million events: what the bookkeeping of a review takes. It reads and verifies
//! the ledger, folds it, settles the proposals that the run makes again, and writes what changed. Asserts 2 s and 500 MB with a
//! checkpoint, and prints what the first run without one takes.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on has failed, and prints")]
#![expect(clippy::disallowed_methods, reason = "it writes into a scratch folder of its own")]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/reports/mod.rs"]
mod reports;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::history::{Asks, Dues, Fate, ProposalFact, ProposalFiles, compare, settle_proposals};
use pool_review::outputs::{self, proposal_files::Files};
use pool_review::store::{Cache, Store};
use pool_review::verdict::Proposal;
use pool_review::vocabulary::{Digest, canonical_json};
use reports::{at, delivery, pool, proposal, report_at};
use serde_json::{Value, json};

/// Open proposals.
const OPEN: usize = 10_000;
/// Events of the ledger.
const EVENTS: usize = 1_000_000;
/// Events of one of the many runs.
const EVENTS_OF_RUN: usize = 125;
/// Closed proposals that the events speak of.
const CLOSED: usize = 20_000;
/// Most processor time of the bookkeeping.
const MOST: Duration = Duration::from_secs(2);
/// Most memory, in bytes.
const MOST_MEMORY: u64 = 500_000_000;

/// The instant of a run: two a day from the first of December 2015.
fn instant(run: usize) -> DateTime<Utc> {
    at("2015-12-01T00:00:00Z") + TimeDelta::hours(12) * i32::try_from(run).unwrap()
}

/// The proposals that every run makes; none lapses before the last run.
fn made() -> Vec<Proposal> {
    let one = |i: usize| Proposal {
        expires: "2099-01-01T00:00:00Z".to_owned(),
        ..proposal(&format!("pool-{:04}", i / 10), &format!("acme/old-{i}@default#seat"), instant(0), (1, 1, 1))
    };
    (0..OPEN).map(one).collect()
}

/// What one bookkeeping took.
struct Took {
    /// Reading and verifying.
    open: Duration,
    /// Folding and settling.
    settle: Duration,
    /// Writing what changed.
    write: Duration,
    /// Keeping checkpoint and list of files.
    keep: Duration,
    /// Whether every line was verified.
    is_verified: bool,
}

/// The bookkeeping of one run.
fn book(run: usize, folder: &Path, fresh: Vec<Proposal>) -> Took {
    let store = Store::open(folder, Path::new("reports"), Path::new("reports/pool-composition-log.md")).unwrap();
    let cache = Cache::at(folder, Path::new(".cache"));
    let now = instant(run);
    let mut report = report_at(&now.format("%Y-%m-%dT%H:%M:%SZ").to_string(), vec![pool("scout")]);
    let start = Instant::now();
    let opened = outputs::ledger::open(&store, Some(&cache), &report.run_id).unwrap();
    let open = start.elapsed();
    let start = Instant::now();
    let past = opened.ledger.before(&report.run_id);
    compare(&mut report, &past);
    let files = Files::read(&store, &cache);
    let stored = |fingerprint: &str| outputs::proposals::stored(&store, fingerprint);
    let untouched = |fingerprint: &str| files.untouched(&store, fingerprint);
    let on_disk = ProposalFiles { stored: &stored, untouched: &untouched, damage: &|_| None };
    let digest = |fact: &ProposalFact| Some(fact.subtree_digest.clone());
    let asks = Asks {
        run: &report.run_id,
        now,
        files: &on_disk,
        fate: &|_| Fate::Missed,
        digest: &digest,
        dues: &Dues::new(),
    };
    let settlement = settle_proposals(fresh, &past, &asks);
    let settle = start.elapsed();
    let models = BTreeSet::new();
    let delivery = delivery(&report, &settlement, &models);
    let start = Instant::now();
    let all = settlement.open.iter().chain(&settlement.suppressed).chain(&settlement.landed);
    outputs::proposals::write(&store, all.filter(|proposal| !files.hold(&store, proposal))).unwrap();
    outputs::append_events(delivery, &opened.ledger, &store).unwrap();
    outputs::proposals::remove_others(&store, &settlement.keep, &opened.ledger.proposals()).unwrap();
    let write = start.elapsed();
    let start = Instant::now();
    let said = outputs::remember(delivery, &opened, &store, &cache);
    assert!(said.is_empty() && opened.problems.is_empty(), "{said:?} {:?}", opened.problems);
    assert_eq!(settlement.open.len(), OPEN);
    assert!(settlement.warnings.is_empty(), "{:?}", &settlement.warnings[..1]);
    Took { open, settle, write, keep: start.elapsed(), is_verified: opened.is_verified() }
}

/// Puts the proposals' files where the first run would write them, without its care for every single one.
fn lay_out(folder: &Path, proposals: &[Proposal]) {
    let files = folder.join("reports/proposals");
    std::fs::create_dir_all(&files).unwrap();
    for proposal in proposals {
        let path = |ending: &str| files.join(format!("{}.{ending}", proposal.fingerprint));
        std::fs::write(path("json"), outputs::proposals::file_text(proposal).unwrap()).unwrap();
        std::fs::write(path("patch"), &proposal.change.config().unwrap().patch.text).unwrap();
    }
}

/// Fills the ledger behind its first run, whose proposals stay open.
fn fill(path: &Path) -> usize {
    let mut out = std::io::BufWriter::new(std::fs::File::options().append(true).open(path).unwrap());
    let text = std::fs::read_to_string(path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let (mut prev, mut seq) = (last["hash"].as_str().unwrap().to_owned(), last["seq"].as_u64().unwrap());
    let line =
        |kind: &str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|e| e["kind"] == kind);
    let (run_data, proposal_data) = (line("run").unwrap()["data"].clone(), line("proposal").unwrap()["data"].clone());
    let closed: Vec<String> = (0..CLOSED).map(|i| format!("pcr1-{:032x}", i + 1)).collect();
    let mut run = 0;
    let mut written = usize::try_from(seq).unwrap();
    while written < EVENTS {
        run += 1;
        let (now, id) =
            (instant(run).format("%Y-%m-%dT%H:%M:%SZ").to_string(), instant(run).format("%Y%m%dT%H%M%SZ").to_string());
        for k in 0..EVENTS_OF_RUN.min(EVENTS - written) {
            let (kind, data) = if k == 0 {
                ("run", run_data.clone())
            } else {
                let number = (run * EVENTS_OF_RUN + k) % CLOSED;
                let mut data = proposal_data.clone();
                data["fingerprint"] = closed[number].as_str().into();
                data["number"] = (OPEN + 1 + number).into();
                // Made and withdrawn by turns; the last turn closes every one of them.
                let is_made = (run / 160) % 2 == 0 && written < EVENTS - 2 * CLOSED;
                data["state"] = if is_made { "new" } else { "withdrawn" }.into();
                data["status"] = if is_made { "proposed" } else { "withdrawn" }.into();
                ("proposal", data)
            };
            seq += 1;
            let mut event = json!({"at": now, "data": data, "kind": kind, "prev": prev, "run": id, "seq": seq});
            prev = Digest::of_json(&event).to_string();
            event["hash"] = prev.as_str().into();
            writeln!(out, "{}", canonical_json(&event)).unwrap();
        }
        written += EVENTS_OF_RUN;
    }
    out.flush().unwrap();
    run
}

/// The largest memory this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() * 1024
}

/// The time that a processor has worked for this process: what else runs on the machine does not enter.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// One bookkeeping in a process of its own, so that its memory is its own.
fn measure(run: usize, folder: &Path) {
    let fresh = made();
    let (before, start) = (peak(), worked());
    let took = book(run, folder, fresh);
    let worked = worked().saturating_sub(start);
    let all = took.open + took.settle + took.write + took.keep;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{} {:.0} ms of processor, {:.0} ms in all (read {:.0}, settle {:.0}, write {:.0}, keep {:.0}), peak {} MB, {} MB of them the run's own proposals",
        if took.is_verified { "every line verified:" } else { "with a checkpoint:  " },
        ms(worked),
        ms(all),
        ms(took.open),
        ms(took.settle),
        ms(took.write),
        ms(took.keep),
        peak() / 1_000_000,
        before / 1_000_000,
    );
    if !took.is_verified {
        assert!(worked < MOST, "{worked:?}");
        assert!(peak() < MOST_MEMORY, "{} bytes", peak());
    }
}

/// Runs this program again to measure a run.
fn again(run: usize, folder: &Path) {
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program).arg(run.to_string()).arg(folder).status().unwrap();
    assert!(ran.success());
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if let [run, folder] = args.as_slice() {
        return measure(run.parse().unwrap(), &PathBuf::from(folder));
    }
    let folder = reports::workspace("bench-ledger");
    let start = Instant::now();
    lay_out(&folder, &made());
    book(0, &folder, made());
    let path = folder.join("reports/ledger.jsonl");
    let last = fill(&path);
    let size = path.metadata().unwrap().len() / 1_000_000;
    println!(
        "{EVENTS} events of {last} runs, {size} MB, {OPEN} open proposals, made in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    again(last + 1, &folder);
    again(last + 2, &folder);
    again(last + 3, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
}
