//! Quiet issue filing, cell by cell of its table: what is done to a tracker in memory over several runs, and what is said of it.
//! No socket is opened here.
#![expect(clippy::disallowed_methods, reason = "tests write into scratch folders of their own")]

mod reports;
mod tracker;

use std::collections::BTreeSet;
use std::path::PathBuf;

use pool_review::history::{Decision, DecisionFact, Fact};
use pool_review::outputs::issues::{Draft, Entry, Filing, Marker, Plan, TrackerPlace, Trouble};
use pool_review::outputs::{self, Delivered};
use pool_review::store::Store;
use pool_review::verdict::{Finding, PoolReport, Proposal, Report, Verdict, content_digest, fingerprint};
use reports::{
    aligned, at, blocked, files, place, pool, proposal, report, retirement, run, run_filing, store, with_finding,
    workspace,
};
use tracker::{BOT, Fake, at_once, limited};

/// A fleet with its tracker, reviewed day by day.
struct Fleet {
    /// Its workspace.
    root: PathBuf,
    /// Its store.
    store: Store,
    /// Its tracker.
    tracker: Fake,
    /// Most new issues per run.
    limit: usize,
}

/// The member that has to go.
const OLD: &str = "acme/old@default#seat";

/// A pool that is misaligned because a member retires.
fn misaligned() -> PoolReport {
    with_finding(pool("scout"), retirement("scout", OLD))
}

/// The proposal that goes with it, with another number each time the number is another.
fn retire(day: u32, effect: i64) -> Proposal {
    of_kind(day, "retirement_due", "retire_member", OLD, "", effect)
}

/// A proposal of scout with everything that makes its identity.
fn of_kind(day: u32, code: &str, kind: &str, subject: &str, counterpart: &str, effect: i64) -> Proposal {
    let now = at(&format!("2026-11-{day:02}T12:00:00Z"));
    let mut made = proposal("scout", subject, now, (effect, effect, effect));
    (made.code, made.kind, made.counterpart) = (code.to_owned(), kind.to_owned(), counterpart.to_owned());
    made.fingerprint = fingerprint(&made.check, code, kind, "scout", "member", subject, counterpart);
    made.bar.terms[0].value = effect;
    made.content_digest = content_digest(&made.to_json()).to_string();
    made
}

impl Fleet {
    /// A fleet that was never reviewed.
    fn new(name: &str) -> Self {
        let root = workspace(name);
        let store = store(&root);
        Self { root, store, tracker: Fake::default(), limit: 3 }
    }

    /// A review of a day that files.
    fn files(&self, day: u32, pool: PoolReport, fresh: Vec<Proposal>) -> Delivered {
        self.reviews(report(day, vec![pool]), fresh, limited(self.limit), Some(at_once(&self.tracker)))
    }

    /// A review that says where and how.
    fn reviews(
        &self,
        report: Report,
        fresh: Vec<Proposal>,
        place: TrackerPlace,
        filing: Option<Filing<'_>>,
    ) -> Delivered {
        let delivered = run_filing(report, fresh, &self.store, place, filing).1;
        self.has_a_valid_plan();
        delivered
    }

    /// The plan file and the events of filing are valid against their schemas.
    fn has_a_valid_plan(&self) {
        let plan = std::fs::read_to_string(self.root.join("reports/issues/plan.json")).expect("a plan");
        fits("plan.v1.json", &plan);
        let ledger = std::fs::read_to_string(self.root.join("reports/ledger.jsonl")).expect("a ledger");
        for line in ledger.lines().filter(|line| line.contains("\"kind\":\"issue\"")) {
            fits("ledger.v1.json", line);
        }
    }

    /// What a review of a misaligned pool wrote.
    fn misaligned(&self, day: u32) -> Vec<String> {
        let delivered = self.files(day, misaligned(), vec![retire(day, 1)]);
        assert_eq!(delivered.filed.expect("it files").failure, None);
        self.tracker.taken()
    }

    /// What a review of an aligned pool wrote.
    fn aligned(&self, day: u32) -> Vec<String> {
        let delivered = self.files(day, pool("scout"), Vec::new());
        assert_eq!(delivered.filed.expect("it files").failure, None);
        self.tracker.taken()
    }

    /// A steward decides.
    fn decides(&self, day: u32, decision: Decision) {
        let (ledger, _) = outputs::read_ledger(&self.store).expect("a readable ledger");
        let fact = DecisionFact {
            fingerprint: retire(day, 1).fingerprint,
            revision: 1,
            decision,
            reason: "not now".to_owned(),
            by: "steward".to_owned(),
            until: None,
            unless: None,
        };
        let run = format!("202611{day:02}T130000Z");
        let lines = ledger.chained(&run, at(&format!("2026-11-{day:02}T13:00:00Z")), &[Fact::Decision(fact)]);
        self.store.append_lines(&self.store.in_reports("ledger.jsonl"), &lines).expect("a decision");
    }
}

/// Fails when a text is not valid against a schema.
fn fits(schema: &str, text: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas");
    let schema: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join(schema)).expect("a schema")).expect("JSON");
    let value = serde_json::from_str(text).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> =
        validator.iter_errors(&value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:?} in {text}");
}

/// The plan of some proposals in lines, without labels.
fn planned(name: &str, limit: usize, proposals: &[Proposal]) -> Vec<String> {
    let fleet = Fleet::new(name);
    let place = TrackerPlace { new_per_run: limit, ..place() };
    fleet.reviews(report(29, vec![misaligned()]), proposals.to_vec(), place, None);
    let plan = std::fs::read_to_string(fleet.root.join("reports/issues/plan.json")).expect("a plan");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    let entries = plan["entries"].as_array().expect("entries").iter().filter(|entry| entry["step"] != "label");
    let line = |entry: &serde_json::Value| {
        format!("{} {}", entry["step"].as_str().unwrap_or(""), entry["id"].as_str().unwrap_or(""))
    };
    entries.map(line).collect()
}

#[test]
fn what_must_go_is_filed_first_and_the_limit_lets_the_rest_wait() {
    let all = [
        of_kind(29, "c", "add_trial", "acme/new@high#seat", "", 1),
        of_kind(29, "c", "reweight", "acme/mid@default#seat", "", 1),
        of_kind(29, "c", "retire_member", "acme/dead@default#seat", "", 1),
        of_kind(29, "c", "replace_member", "acme/old@default#seat", "acme/next@default#seat", 1),
        of_kind(29, "c", "swap_lead", "acme/mid@default#seat", "acme/low@default#seat", 1),
    ];
    let expected = [
        "create retire/scout/acme/old",
        "create add/scout/acme/next",
        "create retire/scout/acme/dead",
        "wait add/scout/acme/new",
    ];
    assert_eq!(planned("issues-order", 3, &all), expected);
    let mut backwards = all.to_vec();
    backwards.reverse();
    assert_eq!(planned("issues-order-backwards", 3, &backwards), expected, "whatever order they come in");
    assert_eq!(planned("issues-none-allowed", 0, &all[2..3]), ["wait retire/scout/acme/dead"]);
}

#[test]
fn a_bar_that_is_not_quantified_and_no_fact_of_the_config_files_nothing() {
    let mut thin = retire(29, 1);
    thin.bar.id = "market/1".to_owned();
    "fact_holds".clone_into(&mut thin.bar.terms[0].name);
    assert_eq!(planned("issues-thin", 3, &[thin.clone()]), Vec::<String>::new());
    thin.bar.id = "structural/1".to_owned();
    assert_eq!(planned("issues-structural", 3, &[thin.clone()]), ["create retire/scout/acme/old"]);
    thin.bar.terms[0].needed = 2;
    assert_eq!(planned("issues-missed", 3, &[thin]), Vec::<String>::new(), "a term that its own numbers do not pass");
}

#[test]
fn the_first_run_files_and_a_second_one_reads_only() {
    let fleet = Fleet::new("issues-twice");
    let first = fleet.misaligned(1);
    assert_eq!(first, ["label pool-review", "label model:retire", "label pool:scout", "create #1"]);
    let kept = fleet.tracker.kept(1);
    assert_eq!(kept.title, "scout: retire acme/old (latest-model)");
    assert_eq!(kept.labels, ["pool-review", "model:retire", "pool:scout"]);
    let before = std::fs::read_to_string(fleet.root.join("reports/ledger.jsonl")).expect("a ledger");
    assert_eq!(fleet.misaligned(1), Vec::<String>::new(), "the same run again");
    assert_eq!(std::fs::read_to_string(fleet.root.join("reports/ledger.jsonl")).expect("a ledger"), before);
    assert_eq!(fleet.misaligned(2), Vec::<String>::new(), "the next run");
    let log = std::fs::read_to_string(fleet.root.join("reports/pool-composition-log.md")).expect("a log");
    assert!(log.contains("- created [#1](https://github.com/fleet/models/issues/1) `retire/scout/acme/old`"), "{log}");
    assert!(log.contains("- open and unchanged: [#1](https://github.com/fleet/models/issues/1)"), "{log}");
}

#[test]
fn the_outbox_says_what_is_about_to_be_written_before_it_is() {
    let fleet = Fleet::new("issues-outbox");
    fleet.misaligned(1);
    let (ledger, problems) = outputs::read_ledger(&fleet.store).expect("a readable ledger");
    assert!(problems.is_empty(), "{problems:?}");
    let steps: Vec<String> = ledger
        .events()
        .iter()
        .filter_map(|event| match &event.fact {
            Some(Fact::Issue(fact)) => Some(format!("{} {:?} {:?}", fact.step.as_str(), fact.state, fact.number)),
            _ => None,
        })
        .collect();
    assert_eq!(&steps[6..], ["create Intent None", "create Done Some(1)"]);
    assert_eq!(steps.len(), 8, "three labels and an issue: {steps:?}");
}

#[test]
fn other_numbers_change_the_text_and_another_reason_is_said_once() {
    let fleet = Fleet::new("issues-changes");
    fleet.misaligned(1);
    fleet.files(2, misaligned(), vec![retire(2, 7)]);
    assert_eq!(fleet.tracker.taken(), ["text #1"], "another number, the same reason");
    assert!(fleet.tracker.kept(1).listed.body.contains("| facts 7 |"), "{}", fleet.tracker.kept(1).listed.body);
    let other = |day| of_kind(day, "successor", "replace_member", OLD, "acme/next@default#seat", 1);
    fleet.files(3, misaligned(), vec![other(3)]);
    let words = fleet.tracker.taken();
    assert_eq!(
        &words[..2],
        ["comment #1", "text #1"],
        "the retirement is the same issue; the addition is new: {words:?}"
    );
    assert_eq!(words.last().map(String::as_str), Some("create #2"));
    let kept = fleet.tracker.kept(1);
    assert!(
        kept.comments[0].starts_with("<!-- pool-review v1 comment=changed-1 -->\nThe reason or the candidate changed.")
    );
    assert_eq!(Marker::read(&kept.listed.body).expect("a marker").fingerprint, other(3).fingerprint);
    fleet.files(4, misaligned(), vec![other(4)]);
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new());
}

#[test]
fn two_good_runs_close_and_one_that_could_not_judge_counts_for_nothing() {
    let fleet = Fleet::new("issues-good");
    fleet.misaligned(1);
    assert_eq!(fleet.aligned(2), Vec::<String>::new());
    let log = std::fs::read_to_string(fleet.root.join("reports/pool-composition-log.md")).expect("a log");
    assert!(log.contains("`retire/scout/acme/old`: good 1/2: the review did not propose it"), "{log}");
    fleet.files(3, blocked("scout", pool_review::vocabulary::CheckId::LatestModel), Vec::new());
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new(), "blocked");
    assert_eq!(fleet.aligned(4), ["comment #1", "completed #1"]);
    assert_eq!(fleet.aligned(5), Vec::<String>::new());
    assert!(fleet.tracker.kept(1).comments[0].contains("Closed as completed after 2 reviews in a row"));
}

#[test]
fn a_closed_one_is_opened_again_after_two_runs_that_ask_for_it() {
    let fleet = Fleet::new("issues-reopen");
    fleet.misaligned(1);
    fleet.aligned(2);
    fleet.aligned(3);
    assert_eq!(fleet.misaligned(4), Vec::<String>::new(), "1/2 since it was closed");
    assert_eq!(fleet.misaligned(5), ["comment #1", "open #1"]);
    assert_eq!(fleet.misaligned(6), Vec::<String>::new());
    fleet.tracker.closed_by(1, "maintainer", "completed");
    assert_eq!(fleet.misaligned(7), Vec::<String>::new(), "a person closed it; 1/2");
    assert_eq!(fleet.misaligned(8), ["comment #1", "open #1"]);
}

#[test]
fn a_refusal_holds_for_its_reason_and_another_reason_opens_once() {
    let fleet = Fleet::new("issues-refusal");
    fleet.misaligned(1);
    fleet.tracker.closed_by(1, "maintainer", "not_planned");
    for day in 2..5 {
        assert_eq!(fleet.misaligned(day), Vec::<String>::new(), "day {day}");
    }
    let log = std::fs::read_to_string(fleet.root.join("reports/pool-composition-log.md")).expect("a log");
    assert!(log.contains("`retire/scout/acme/old`: refused: closed as not planned"), "{log}");
    let other = |day| of_kind(day, "unknown_member", "retire_member", OLD, "", 1);
    fleet.files(5, misaligned(), vec![other(5)]);
    assert_eq!(fleet.tracker.taken(), ["comment #1", "open #1"]);
    assert!(fleet.tracker.kept(1).comments[0].contains("Until now this issue stood for"));
    fleet.tracker.closed_by(1, "maintainer", "not_planned");
    fleet.files(6, misaligned(), vec![other(6), retire(6, 1)]);
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new(), "both reasons are refused");
}

#[test]
fn the_ledger_alone_remembers_a_refusal() {
    let fleet = Fleet::new("issues-refusal-remembered");
    fleet.misaligned(1);
    fleet.tracker.closed_by(1, "maintainer", "not_planned");
    fleet.misaligned(2);
    fleet.reviews(report(3, vec![misaligned()]), vec![retire(3, 1)], limited(3), None);
    let plan = std::fs::read_to_string(fleet.root.join("reports/issues/plan.json")).expect("a plan");
    assert!(plan.contains("refused: closed as not planned"), "{plan}");
}

#[test]
fn a_text_that_was_edited_by_hand_is_left_alone_from_then_on() {
    let fleet = Fleet::new("issues-edited");
    fleet.misaligned(1);
    fleet.tracker.by_hand(1, |issue| issue.listed.body.push_str("\nWe look at it on Monday."));
    fleet.files(2, misaligned(), vec![retire(2, 7)]);
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new());
    fleet.tracker.by_hand(1, |issue| "no marker at all".clone_into(&mut issue.listed.body));
    fleet.files(3, misaligned(), vec![retire(3, 9)]);
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new(), "the ledger knows the number");
    fleet.tracker.by_hand(1, |issue| issue.labels.clear());
    fleet.files(4, misaligned(), vec![retire(4, 9)]);
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new(), "nor does a label that was taken off lose it");
}

#[test]
fn white_space_and_line_ends_are_no_edit() {
    let fleet = Fleet::new("issues-line-ends");
    fleet.misaligned(1);
    fleet.tracker.by_hand(1, |issue| issue.listed.body = issue.listed.body.replace('\n', "\r\n") + "\r\n");
    fleet.files(2, misaligned(), vec![retire(2, 7)]);
    assert_eq!(fleet.tracker.taken(), ["text #1"]);
}

#[test]
fn of_several_open_ones_with_one_id_the_lowest_number_stays() {
    let fleet = Fleet::new("issues-duplicates");
    fleet.misaligned(1);
    let copy = fleet.tracker.kept(1);
    fleet.tracker.issues.borrow_mut().push({
        let mut copy = copy.clone();
        copy.listed.number = 2;
        copy
    });
    fleet.tracker.issues.borrow_mut().push({
        let mut foreign = copy;
        foreign.listed.number = 3;
        "somebody".clone_into(&mut foreign.listed.author);
        foreign
    });
    assert_eq!(fleet.misaligned(2), ["duplicate #2"], "and one that somebody else opened is not ours");
    assert_eq!(fleet.misaligned(3), Vec::<String>::new());
}

#[test]
fn without_a_ledger_the_issue_is_found_and_not_filed_again() {
    let fleet = Fleet::new("issues-lost-ledger");
    fleet.misaligned(1);
    let other = Fleet { tracker: fleet.tracker, ..Fleet::new("issues-lost-ledger-again") };
    assert_eq!(other.misaligned(2), ["text #1"], "its proposal is a new one, and says so");
    assert_eq!(other.misaligned(3), Vec::<String>::new());
}

#[test]
fn a_deleted_issue_is_a_refusal() {
    let fleet = Fleet::new("issues-deleted");
    fleet.misaligned(1);
    fleet.tracker.issues.borrow_mut().clear();
    assert_eq!(fleet.misaligned(2), Vec::<String>::new());
}

#[test]
fn a_rejected_proposal_keeps_no_issue() {
    let fleet = Fleet::new("issues-rejected");
    fleet.misaligned(1);
    fleet.decides(1, Decision::Reject);
    assert_eq!(fleet.misaligned(2), ["comment #1", "not_planned #1"]);
    assert!(fleet.tracker.kept(1).comments[0].contains("the proposal was rejected by its steward"));
    assert_eq!(fleet.misaligned(3), Vec::<String>::new());
    fleet.decides(3, Decision::Accept);
    assert_eq!(fleet.misaligned(4), ["comment #1", "open #1"], "an issue exists while its proposal does");
}

#[test]
fn a_write_that_fails_ends_it_and_everything_else_is_delivered() {
    for after in [false, true] {
        let fleet = Fleet::new(&format!("issues-fails-{after}"));
        *fleet.tracker.fails.borrow_mut() =
            Some((4, after, Trouble::Unclear("GitHub answered 502 Bad Gateway".to_owned())));
        let delivered = fleet.files(1, misaligned(), vec![retire(1, 1)]);
        let filed = delivered.filed.expect("it files");
        assert_eq!(filed.failure.as_deref(), Some("creating issue: GitHub answered 502 Bad Gateway"));
        assert!(
            delivered.section.contains("- **issues not updated:** `creating issue: GitHub answered 502 Bad Gateway`")
        );
        assert!(fleet.root.join("reports/index.html").is_file(), "the page is there");
        assert_eq!(fleet.tracker.taken().len(), 4);
        *fleet.tracker.fails.borrow_mut() = None;
        let again = fleet.misaligned(2);
        assert_eq!(again, if after { Vec::new() } else { vec!["create #1"] }, "it looks before it writes");
        assert_eq!(fleet.tracker.issues.borrow().len(), 1);
    }
}

#[test]
fn a_comment_of_which_nobody_knows_whether_it_arrived_is_looked_for() {
    for after in [false, true] {
        let fleet = Fleet::new(&format!("issues-comment-{after}"));
        fleet.misaligned(1);
        fleet.aligned(2);
        *fleet.tracker.fails.borrow_mut() = Some((1, after, Trouble::Unclear("no answer".to_owned())));
        fleet.files(3, pool("scout"), Vec::new());
        fleet.tracker.taken();
        *fleet.tracker.fails.borrow_mut() = None;
        let again = fleet.aligned(4);
        assert_eq!(again.last().map(String::as_str), Some("completed #1"));
        assert_eq!(fleet.tracker.kept(1).comments.len(), 1, "{again:?}");
    }
}

#[test]
fn an_issue_whose_label_was_dropped_and_whose_answer_was_lost_is_found_by_its_author() {
    let fleet = Fleet::new("issues-dropped-label");
    *fleet.tracker.fails.borrow_mut() = Some((4, true, Trouble::Unclear("no answer".to_owned())));
    fleet.files(1, misaligned(), vec![retire(1, 1)]);
    fleet.tracker.taken();
    fleet.tracker.by_hand(1, |issue| issue.labels.clear());
    *fleet.tracker.fails.borrow_mut() = None;
    assert_eq!(fleet.misaligned(2), Vec::<String>::new());
    assert_eq!(fleet.tracker.issues.borrow().len(), 1);
}

#[test]
fn between_two_writes_lies_a_second() {
    let fleet = Fleet::new("issues-pace");
    let waits = std::cell::RefCell::new(Vec::new());
    let sleep = |time: std::time::Duration| waits.borrow_mut().push(time.as_secs());
    let filing = Filing { tracker: Ok(&fleet.tracker), sleep: &sleep };
    fleet.reviews(report(1, vec![misaligned()]), vec![retire(1, 1)], limited(3), Some(filing));
    assert_eq!((fleet.tracker.taken().len(), waits.into_inner()), (4, vec![1, 1, 1]));
}

#[test]
fn a_run_that_reaches_nobody_says_so() {
    let fleet = Fleet::new("issues-no-token");
    let reason = "the variable FLEET_TOKEN (issues.token) is not set";
    let filing = Filing { tracker: Err(reason), sleep: &|_| {} };
    let delivered = fleet.reviews(report(1, vec![misaligned()]), vec![retire(1, 1)], limited(3), Some(filing));
    assert_eq!(delivered.filed.expect("it files").failure.as_deref(), Some(reason));
    let plan = std::fs::read_to_string(fleet.root.join("reports/issues/plan.json")).expect("a plan");
    assert!(plan.contains("\"source\": \"ledger\""), "{plan}");
}

/// Names that mean something to Markdown, to a tracker or to a terminal.
const HOSTILE: [&str; 8] = [
    "acme/@everyone",
    "acme/#12 GH-1 fleet/models#3",
    "acme/--><script>alert(1)</script>",
    "acme/`x` | y\n## z",
    "acme/\u{202e}evil\u{1b}[31m",
    "https://github.com/fleet/models/issues/1",
    "acme/----",
    "",
];

/// The issue of one proposal.
fn draft_of(name: &str, made: Proposal) -> (Draft, Entry) {
    let fleet = Fleet::new(name);
    let filed = fleet.files(29, misaligned(), vec![made]).filed.expect("it files");
    let Plan { entries, .. } = filed.plan;
    let kept = fleet.tracker.kept(1);
    let entry = entries.into_iter().find(|entry| entry.number == Some(1)).expect("an issue");
    (Draft { title: kept.title, body: kept.listed.body, labels: kept.labels }, entry)
}

#[test]
fn hostile_names_stay_names_in_marker_title_labels_and_text() {
    for (i, hostile) in HOSTILE.into_iter().enumerate() {
        let mut made = of_kind(29, "c", "retire_member", hostile, "", 1);
        made.evidence[0].source = hostile.to_owned();
        made.content_digest = content_digest(&made.to_json()).to_string();
        let (draft, entry) = draft_of(&format!("issues-hostile-{i}"), made);
        let marker = Marker::read(&draft.body).expect("a marker");
        assert_eq!(marker.id, entry.id);
        let first = draft.body.lines().next().expect("a line");
        let inside = &first["<!-- ".len()..first.len() - " -->".len()];
        assert!(!inside.contains("--") && inside.is_ascii() && !inside.contains(['<', '>', '@', '`']), "{first}");
        assert!(draft.title.chars().count() <= 200 && !draft.title.contains(['\n', '\u{1b}', '\u{202e}']), "{draft:?}");
        assert!(draft.labels.iter().all(|label| label.chars().count() <= 50), "{draft:?}");
        outside_of_code_is_ours(&draft.body);
    }
}

/// Fails when a name, a mention or a reference stands outside of a code span.
fn outside_of_code_is_ours(body: &str) {
    let visible = body.split_once('\n').expect("a marker and a text").1;
    let outside: String = visible.split('`').step_by(2).collect();
    assert!(!outside.contains('@') && !outside.contains("<script") && !outside.contains('\u{202e}'), "{outside}");
    let is_reference = |word: &str| word.starts_with('#') && word[1..].starts_with(|c: char| c.is_ascii_digit());
    assert!(!outside.split_whitespace().any(is_reference), "{outside}");
    assert!(!outside.contains("github.com/fleet/models/issues/"), "no link that leaves a back-reference: {outside}");
}

#[test]
fn the_text_holds_the_numbers_the_links_and_what_closing_means() {
    let (draft, _) = draft_of("issues-text", retire(29, 1));
    let expected = "`acme/old` should leave the pool `scout` (latest-model, `retirement_due`): `Take the target out.`\n\n\
                    | Now | Proposed | Measured | Limit | n | Since |\n|:--|:--|--:|--:|--:|:--|\n\
                    | `acme/old@default#seat` | – | facts 1 | >= 1 | – | 2026-11-29 12:00Z |\n\n";
    assert!(draft.body.contains(expected), "{}", draft.body);
    let proposal =
        format!("https://github.com/fleet/models/blob/HEAD/reports/proposals/{}.json", retire(29, 1).fingerprint);
    for part in [
        proposal.as_str(),
        "https://github.com/fleet/models/blob/HEAD/reports/pool-composition-log.md#run-20261129T120000Z",
        "https://github.com/fleet/models/blob/HEAD/reports/log/2026-11.md#run-20261129T120000Z",
        "<summary>Inputs and digests</summary>\n\n|",
        "<summary>What closing this issue means</summary>\n\n-",
    ] {
        assert!(draft.body.contains(part), "{part}: {}", draft.body);
    }
    assert!(!draft.body.contains("Artificial Analysis"), "no number of the market, no credit");
}

#[test]
fn numbers_of_the_market_come_with_their_credit() {
    let fleet = Fleet::new("issues-credit");
    let mut made = retire(29, 1);
    made.evidence[0].source = "market".to_owned();
    made.content_digest = content_digest(&made.to_json()).to_string();
    let mut report = report(29, vec![misaligned()]);
    report.index_version = Some("4.1".to_owned());
    fleet.reviews(report, vec![made], limited(3), Some(at_once(&fleet.tracker)));
    let body = fleet.tracker.kept(1).listed.body;
    assert!(
        body.ends_with("Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v4.1)"),
        "{body}"
    );
}

#[test]
fn a_text_beyond_the_limit_gives_up_its_inputs_and_says_where_they_are() {
    let mut made = retire(29, 1);
    let one = made.evidence[0].clone();
    made.evidence = std::iter::repeat_n(one, 2_000).collect();
    made.content_digest = content_digest(&made.to_json()).to_string();
    let (draft, _) = draft_of("issues-long", made);
    assert!(draft.body.chars().count() <= 65_536, "{}", draft.body.chars().count());
    assert!(draft.body.contains("The inputs do not fit here; they stand in [`pcr1-"), "{}", draft.body);
}

#[test]
fn the_two_halves_of_a_replacement_name_each_other() {
    let fleet = Fleet::new("issues-halves");
    let both = of_kind(29, "successor", "replace_member", OLD, "acme/next@default#seat", 1);
    fleet.files(29, misaligned(), vec![both]);
    let (first, second) = (fleet.tracker.kept(1).listed.body, fleet.tracker.kept(2).listed.body);
    assert!(first.contains("has an issue of its own: add `acme/next`."), "{first}");
    assert!(second.contains("has an issue of its own: retire `acme/old`."), "{second}");
    assert!(second.contains("`acme/next` should join the pool `scout`"), "{second}");
}

#[test]
fn an_older_run_touches_no_issue() {
    let fleet = Fleet::new("issues-older");
    fleet.misaligned(5);
    let plan = files(&fleet.root.join("reports/issues"));
    let delivered = fleet.files(4, pool("scout"), Vec::new());
    assert!(delivered.filed.is_none());
    assert_eq!(fleet.tracker.taken(), Vec::<String>::new());
    run(report(3, vec![pool("scout")]), Vec::new(), &fleet.store);
    assert_eq!(files(&fleet.root.join("reports/issues")), plan, "nor the plan");
}

#[test]
fn what_a_finding_of_another_member_says_does_not_hold_an_issue() {
    let fleet = Fleet::new("issues-other-finding");
    fleet.misaligned(1);
    let other = || {
        let name = "acme/other@default#seat";
        let finding: Finding = retirement("scout", name);
        with_finding(pool("scout"), finding)
    };
    let fresh = |day| vec![of_kind(day, "retirement_due", "retire_member", "acme/other@default#seat", "", 1)];
    fleet.files(2, other(), fresh(2));
    fleet.files(3, other(), fresh(3));
    let closed: BTreeSet<bool> = [1, 2].map(|number| fleet.tracker.kept(number).listed.is_open).into();
    assert_eq!(closed.len(), 2, "the first is closed, the second is open");
    assert_eq!(aligned(pool_review::vocabulary::CheckId::LatestModel).verdict, Verdict::Aligned);
    assert_eq!(fleet.tracker.kept(1).listed.closed_by.as_deref(), Some(BOT));
}
