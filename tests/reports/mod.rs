//! Reports, proposals and scratch workspaces that the tests of outputs and ledger build by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use pool_review::history::{
    Asks, Dues, Fate, Ledger, ProposalFact, ProposalFiles, Settlement, compare, settle_proposals,
};
use pool_review::outputs::issues::{Desk, Filing, Places, TrackerPlace};
use pool_review::outputs::{self, Delivered, Delivery};
use pool_review::store::Store;
use pool_review::verdict::{
    Baseline, Calibration, Chart, CheckReport, Counts, Finding, Intent, Limit, LimitOp, Measured, Number, PoolReport,
    Proposal, ProposalKind, Report, Seat, Sentence, Subject, Unit, Verdict, axis, content_digest, fingerprint,
};
use pool_review::vocabulary::{CheckId, Digest, Place, PoolId, SourceId, SourceNote, SourceState, Tier};
use serde_json::{Value, json};

/// Every check, in registry order.
const CHECKS: [CheckId; 4] = [CheckId::LatestModel, CheckId::BestPerPool, CheckId::RightSizing, CheckId::Structure];

/// An instant.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).expect("a literal of the tests").to_utc()
}

/// An aligned check with one number.
pub(crate) fn aligned(check: CheckId) -> CheckReport {
    CheckReport {
        check,
        verdict: Verdict::Aligned,
        state: Baseline::New,
        since: String::new(),
        summary: Sentence::new()
            .own("nothing better by 2.0 points; lead ")
            .name("acme/mid")
            .own(" 1.00 x of 1.10 x, n 44"),
        reasons: Vec::new(),
        findings: Vec::new(),
        numbers: vec![Number {
            what: "standing of the lead".to_owned(),
            of: "acme/mid".to_owned(),
            value: Some(61.24),
            unit: Unit::Points,
            interval: None,
            n: Some(44),
            basis: None,
            remark: String::new(),
        }],
    }
}

/// A pool of four aligned checks.
pub(crate) fn pool(id: &str) -> PoolReport {
    PoolReport {
        id: PoolId::new(id),
        subject: Subject::Pool,
        tier: Some(Tier::Workhorse),
        owner: None,
        verdict: Verdict::Aligned,
        state: Baseline::New,
        since: String::new(),
        members: vec![("acme/mid".to_owned(), 0.75), ("zeta/low#high".to_owned(), 0.25)],
        lead: Some("acme/mid".to_owned()),
        checks: CHECKS.map(aligned).to_vec(),
        chart: Chart::default(),
    }
}

/// A misaligned finding with every part; `name` stands for the member.
pub(crate) fn retirement(pool: &str, name: &str) -> Finding {
    Finding {
        measured: Some(Measured { what: "days to the end", value: 12.0, unit: Unit::Days, n: None }),
        limit: Some(Limit { op: LimitOp::AtLeast, value: 30.0, setting: "latest.retire_days" }),
        why: Sentence::new().name(name).own(" ends on 2026-12-11"),
        todo: Sentence::new().own("take it out of the pool"),
        place: Some(Place::new(".opencode/opencode.jsonc", 42)),
        sources: vec![SourceId::Retirements],
        intent: Some(Intent {
            kind: ProposalKind::RetireMember,
            seat: Seat::Member,
            path: ".opencode/opencode.jsonc".to_owned(),
            pointer: format!("/experimental/model_routes/{pool}"),
            edits: Vec::new(),
            human: "Take the target out.".to_owned(),
            moved_share: Some(0.25),
            expires: None,
        }),
        ..Finding::new(CheckId::LatestModel, PoolId::new(pool), "retirement_due", name, Some(Verdict::Misaligned))
    }
}

/// Puts a finding into its check and lets the verdicts follow.
pub(crate) fn with_finding(mut pool: PoolReport, finding: Finding) -> PoolReport {
    let check = pool.checks.iter_mut().find(|check| check.check == finding.check).expect("every check is there");
    check.verdict = check.verdict.max(finding.verdict.unwrap_or(Verdict::Aligned));
    check.findings.push(finding);
    pool.verdict = Verdict::worst(pool.checks.iter().map(|check| check.verdict)).expect("four checks");
    pool
}

/// A pool whose check could not be judged.
pub(crate) fn blocked(id: &str, check: CheckId) -> PoolReport {
    let mut pool = pool(id);
    for one in pool.checks.iter_mut().filter(|one| one.check == check) {
        one.verdict = Verdict::Blocked;
        one.summary = Sentence::new().own("the market is 90.0 h old, at most 48.0 h");
        one.reasons = vec!["stale:market".to_owned()];
        one.numbers.clear();
    }
    pool.verdict = Verdict::Blocked;
    pool
}

/// A source that was read.
fn note(source: SourceId) -> SourceNote {
    let mut note = SourceNote::new(source, SourceState::Fresh);
    note.as_of = Some(at("2026-11-29T06:00:00Z"));
    note.max_age_hours = Some(48.0);
    (note.rows, note.used) = (96, 95);
    note.reject(Place::new("data/speeds.csv", 41), "tokens \"abc\" is not a number");
    note.digest = Some(Digest::of(source.as_str().as_bytes()));
    note
}

/// A report of some pools at noon of a day of November 2026, not yet compared.
pub(crate) fn report(day: u32, pools: Vec<PoolReport>) -> Report {
    report_at(&format!("2026-11-{day:02}T12:00:00Z"), pools)
}

/// A report of some pools at an instant, not yet compared.
pub(crate) fn report_at(now: &str, pools: Vec<PoolReport>) -> Report {
    let now = at(now);
    Report {
        run_id: now.format("%Y%m%dT%H%M%SZ").to_string(),
        now,
        is_frozen: false,
        settings_path: "instructions/pool-composition-review.md".to_owned(),
        setting_lines: BTreeMap::from([("latest.retire_days".to_owned(), 33)]),
        previous_run: None,
        sources: vec![note(SourceId::Market), note(SourceId::Speeds)],
        pools,
        proposals: Vec::new(),
        standings: BTreeMap::new(),
        unmatched: vec![("speeds".to_owned(), "acme/unheard-of".to_owned(), Some("acme/heard-of".to_owned()))],
        index_version: None,
        remarks: Vec::new(),
        policy_digest: Digest::of(b"policy").to_string(),
        next_due: Some(now + chrono::TimeDelta::hours(12)),
        counts: Counts::default(),
        calibration: Calibration::default(),
    }
}

/// A proposal of a pool with a primary effect and its interval, expiring after seven days.
pub(crate) fn proposal(pool: &str, subject: &str, now: DateTime<Utc>, effect: (i64, i64, i64)) -> Proposal {
    let (check, code, kind) = ("latest-model", "retirement_due", "retire_member");
    let instant = |at: DateTime<Utc>| at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut value = json!({
        "schema": "pool-review.proposal/1", "revision": 1, "content_digest": "", "baseline_state": "new",
        "fingerprint": fingerprint(check, code, kind, pool, "member", subject, ""),
        "axis": axis(pool, "member", subject, ""), "status": "proposed",
        "reviewer": {"version": "0.1.0", "methods": "pool-review.methods/1"},
        "conditions": [{"type": "BarCleared", "status": "true", "reason": "DateNear", "observed_revision": 1,
            "message": format!("the effect is {}", effect.0), "last_transition": instant(now)}],
        "pool": pool, "check": check, "code": code, "kind": kind, "seat": "member", "subject": subject,
        "counterpart": "", "verdict": "misaligned", "title": format!("{pool}: retire {subject}"),
        "change": change(), "expected": [expected(effect)],
        "evidence": [{"source": "litellm", "kind": "market", "digest": Digest::of(b"map"), "as_of": instant(now),
            "window": "now", "rows": 1, "weighted_milli": 1000, "classes": {}, "excluded": {}}],
        "config": {"path": ".opencode/opencode.jsonc", "commit": null, "blob": "1".repeat(40), "pointer": "/a",
            "subtree_digest": Digest::of(b"subtree"), "subtree_digest_after": Digest::of(b"after"),
            "stale_if_changed": ["/a"]},
        "policy": {"digest": Digest::of(b"policy"), "checked_on_result": true, "violations": []},
        "bar": {"id": "structural/1",
            "terms": [{"name": "facts", "value": 1, "needed": 1, "op": ">=", "pass": true}]},
        "first_seen": instant(now), "expires": instant(now + chrono::TimeDelta::days(7)), "supersedes": [],
        "verification": {"design": "structural", "rule": "structural_1", "metric": "structural_fact", "pool": pool,
            "since": "landed_at", "controls": [], "min_rows": 0, "deadline_days": 7},
        "rollback": {"ops": [{"op": "add", "path": "/a", "value": 1}], "patch": patch(), "trigger": {"rule": "none"}},
    });
    value["content_digest"] = content_digest(&value).as_str().into();
    serde_json::from_value(value).expect("the shape of a proposal")
}

/// A change of the config.
fn change() -> Value {
    json!({
        "format": "json-patch+test", "target": ".opencode/opencode.jsonc", "patch": patch(),
        "ops": [{"op": "test", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}],
        "human": "Take the target out.",
    })
}

/// A patch that is none, good enough to be stored.
fn patch() -> Value {
    json!({
        "format": "git-unified-diff", "path": ".opencode/opencode.jsonc", "blob": "1".repeat(40),
        "result_blob": "2".repeat(40), "text": "--- a/x\n+++ b/x\n",
    })
}

/// The primary effect.
fn expected((point, lo90, hi90): (i64, i64, i64)) -> Value {
    json!({
        "metric": "structural_fact", "unit": "count", "primary": true, "direction": "decrease", "point": point,
        "lo90": lo90, "hi90": hi90, "horizon_days": 1, "min_rows": 0, "mix_digest": null,
        "claimed_probability_ppm": 990_000,
    })
}

/// An empty workspace of its own.
pub(crate) fn workspace(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("an old workspace of this test");
    }
    std::fs::create_dir_all(&path).expect("a folder in the target folder");
    path
}

/// The store of a workspace with the usual paths.
pub(crate) fn store(workspace: &Path) -> Store {
    Store::open(workspace, Path::new("reports"), Path::new("reports/pool-composition-log.md"))
        .expect("a free workspace")
}

/// Every file of a folder with its bytes.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            found.extend(files(&entry).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            found.insert(name, std::fs::read(&entry).expect("a file"));
        }
    }
    found
}

/// Compares a report with the ledger of a store and settles its fresh proposals.
pub(crate) fn settled(mut report: Report, fresh: Vec<Proposal>, store: &Store) -> (Report, Settlement) {
    let ledger: Ledger = outputs::read_ledger(store).expect("a readable ledger").0;
    let past = ledger.before(&report.run_id);
    compare(&mut report, &past);
    let fate = |known: &ProposalFact| {
        let mut checks = report.pools.iter().filter(|one| one.id.as_str() == known.pool).flat_map(|one| &one.checks);
        let is_blocked = checks.any(|one| one.check.as_str() == known.check && one.verdict == Verdict::Blocked);
        if is_blocked { Fate::Blocked } else { Fate::Missed }
    };
    let digest = |known: &ProposalFact| Some(known.subtree_digest.clone());
    let stored = |fingerprint: &str| -> Option<Value> { outputs::proposals::stored(store, fingerprint) };
    let files = ProposalFiles { stored: &stored, untouched: &|_| None, damage: &|_| None };
    let asks =
        Asks { run: &report.run_id, now: report.now, files: &files, fate: &fate, digest: &digest, dues: &Dues::new() };
    let settlement = settle_proposals(fresh, &past, &asks);
    report.proposals.clone_from(&settlement.open);
    report.standings.clone_from(&settlement.standings);
    (report, settlement)
}

/// A delivery with the usual rest.
pub(crate) fn delivery<'a>(
    report: &'a Report,
    settlement: &'a Settlement,
    models: &'a BTreeSet<String>,
) -> Delivery<'a> {
    Delivery {
        report,
        settlement,
        settings_digest: "sha256:settings",
        models,
        reports: "reports",
        issues: None,
        since: outputs::log::Since::default(),
    }
}

/// The tracker of these tests.
pub(crate) fn place() -> TrackerPlace {
    TrackerPlace { web: "https://github.com".to_owned(), repository: "fleet/models".to_owned(), new_per_run: 3 }
}

/// Where files of these tests can be looked at.
pub(crate) fn places() -> Places {
    Places {
        files_url: "https://github.com/fleet/models/blob/HEAD".to_owned(),
        reports: "reports".to_owned(),
        log: "reports/pool-composition-log.md".to_owned(),
        credit: None,
    }
}

/// Compares, settles and delivers a report; the warnings come back.
pub(crate) fn run(report: Report, fresh: Vec<Proposal>, store: &Store) -> (Report, Vec<String>) {
    let (report, delivered) = run_filing(report, fresh, store, place(), None);
    (report, delivered.warnings)
}

/// The same at a tracker.
pub(crate) fn run_filing(
    report: Report,
    fresh: Vec<Proposal>,
    store: &Store,
    place: TrackerPlace,
    filing: Option<Filing<'_>>,
) -> (Report, Delivered) {
    let (report, settlement) = settled(report, fresh, store);
    let models = BTreeSet::from(["acme/mid".to_owned()]);
    let (ledger, _) = outputs::read_ledger(store).expect("a readable ledger");
    let past = ledger.before(&report.run_id);
    let desk = Desk::new(&report, &settlement, &past, &ledger, place, places()).filing(filing);
    let delivery = Delivery { issues: Some(&desk), ..delivery(&report, &settlement, &models) };
    let delivered = outputs::deliver(delivery, store).expect("a delivery");
    (report, delivered)
}
