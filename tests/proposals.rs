//! Proposals: the handed identities, the frozen schema over every kind, what a schema cannot say, and honest answers.

#![expect(clippy::unwrap_used, reason = "a test and its helpers fail by panicking")]

#[path = "change_support/asks.rs"]
mod asks;
#[path = "change_support/handed.rs"]
mod handed;
#[path = "change_support/scratch.rs"]
mod scratch;

use std::collections::{BTreeMap, BTreeSet};

use asks::{ask, asks};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use handed::{files_under, shared};
use jsonschema::Validator;
use pool_review::change::{Answer, ChangeError, ProposeContext, Question, apply, apply_ops, identity, propose};
use pool_review::verdict::{
    BarTerm, Edit, Finding, Limit, LimitOp, Measured, Proposal, ProposalKind, Unit, Verdict, content_digest,
};
use pool_review::vocabulary::{CheckId, ConfigFile, Digest, PoolId, SourceId, SourceNote, SourceState, git_blob};
use scratch::Scratch;
use serde_json::{Value, json};

/// The frozen schema as the crate ships it.
const SCHEMA: &str = include_str!("../instructions/schemas/proposal.v1.json");

/// A small config with both comment styles.
const CONFIG: &str = r#"{
  "model": "opencode-route/main", // default
  "experimental": {
    "model_routes": {
      // the bulk of the work
      "main": {
        "selection": "weighted",
        "weights": { "a/one": 3, "b/two#low": 2 }, // the second matches nothing
        "targets": [
          "a/one",
          "b/two#low", // cheap
          { "model": "c/three", "until": 1794700800000 }, /* promo */
        ],
        "budgets": { "b/two": { "requestsPerDay": 100 } },
      },
      "idle": { "targets": ["opencode-route/main"] },
    },
  },
}
"#;

/// The demo's review instant.
fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 29, 12, 0, 0).unwrap()
}

/// A context without ledger knowledge.
fn context(notes: &[SourceNote]) -> ProposeContext<'_> {
    ProposeContext {
        now: now(),
        first_seen: now() - TimeDelta::hours(12),
        revision: 1,
        expires: now() + TimeDelta::days(7),
        reviewer_version: "0.1.0",
        policy_digest: "sha256:dfbb478c51337528892c62b631f8575c7982fe9346a7e21400375e56656e1818",
        commit: None,
        notes,
        terms: &[],
        answers: BTreeMap::new(),
        controls: &[],
    }
}

/// The small config as a file.
fn config() -> ConfigFile {
    ConfigFile { path: ".opencode/opencode.jsonc".to_owned(), text: CONFIG.to_owned() }
}

/// The proposal of a finding on a file.
fn proposal(file: &ConfigFile, finding: &Finding, context: &ProposeContext<'_>) -> Result<Proposal, ChangeError> {
    let applied = apply(file, &finding.intent.as_ref().unwrap().edits)?;
    propose(finding, &applied, context)
}

/// The validator of the frozen schema.
fn validator() -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

/// Fails with every complaint of the schema.
fn assert_valid(validator: &Validator, value: &Value) {
    let complaints: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(complaints.is_empty(), "{complaints:#?}\n{value:#}");
}

/// What the schema cannot say.
fn assert_invariants(proposal: &Proposal) {
    let Proposal { change, config, rollback, .. } = proposal;
    let change = change.config().unwrap();
    let back = rollback.patch.as_ref().unwrap();
    assert_eq!(change.patch.blob, config.blob, "the patch applies to the file reviewed");
    assert_eq!((&change.patch.path, &change.target), (&config.path, &config.path));
    assert_eq!((&back.path, &back.blob, &back.result_blob), (&config.path, &change.patch.result_blob, &config.blob));
    assert_ne!(Some(&config.subtree_digest), config.subtree_digest_after.as_ref());
    assert_eq!(proposal.conditions.len(), 9);
    assert_eq!(proposal.expected.iter().filter(|effect| effect.primary).count(), 1);
    assert_eq!(proposal.content_digest, content_digest(&proposal.to_json()).to_string());
    let first_edit = change.ops.iter().position(|op| op["op"] != "test").unwrap();
    assert!(first_edit > 0 && change.ops[first_edit..].iter().all(|op| op["op"] != "test"));
}

/// The small config and every handed one that reads as JSONC or YAML.
fn configs() -> Vec<ConfigFile> {
    let mut files = vec![config()];
    let Some(folder) = shared() else { return files };
    for extension in ["jsonc", "json", "yaml"] {
        for path in files_under(&folder.join("examples"), extension) {
            let relative = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            files.push(ConfigFile { path: relative, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
    files
}

/// A config as another reader than the code under test has it; `None` when it is none.
fn read(file: &ConfigFile) -> Option<Value> {
    if std::path::Path::new(&file.path).extension().is_some_and(|ending| ending == "yaml") {
        return serde_saphyr::from_str(&file.text).ok();
    }
    jsonc_parser::parse_to_serde_value(&file.text, &jsonc_parser::ParseOptions::default()).ok()
}

/// Fails when a patch takes a line away that the operations do not speak of, other than to move its comma: every such line holds a
/// key or a value of what they take out, replace or move, or comes back.
fn assert_minimal(document: &Value, ops: &[Value], patch: &str) {
    let mut words: Vec<String> = Vec::new();
    for op in ops.iter().filter(|op| op["op"] != "test") {
        let place = if op["op"] == "move" { &op["from"] } else { &op["path"] }.as_str().unwrap();
        // What is added to a container on one line changes the line of the container's key.
        let own = if op["op"] == "add" { 2 } else { 1 };
        words.extend(place.rsplit('/').take(own).map(|token| token.replace("~1", "/")));
        leaves(document.pointer(place).unwrap_or(&Value::Null), &mut words);
    }
    let lines = |sign: char| patch.lines().filter_map(move |line| line.strip_prefix(sign));
    let bare = |line: &str| line.replace(',', "").trim().to_owned();
    let back: Vec<String> = lines('+').map(bare).collect();
    for line in lines('-').filter(|line| !line.starts_with("--")) {
        let is_own = words.iter().any(|word| !word.is_empty() && line.contains(word.as_str()));
        // A comment inside of a pool that is taken out goes with it.
        let is_inner = ops.iter().any(|op| op["op"] == "remove") && line.trim_start().starts_with(['/', '#']);
        let is_frame = is_inner || line.chars().all(|c| "[]{}, ".contains(c));
        assert!(is_own || is_frame || back.contains(&bare(line)), "{line:?} goes without need:\n{patch}\n{ops:#?}");
    }
}

/// The keys and single values of a value, as text.
fn leaves(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| leaves(element, into)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            into.push(key.clone());
            leaves(value, into);
        }),
        Value::String(text) => into.push(text.clone()),
        other => into.push(other.to_string()),
    }
}

#[test]
fn every_kind_on_every_config_is_valid_says_one_thing_everywhere_and_git_takes_it() {
    let (validator, context, scratch) = (validator(), context(&[]), Scratch::new("proposals"));
    let (mut kinds, mut files) = (BTreeSet::new(), BTreeSet::new());
    for file in configs() {
        let Some(document) = read(&file) else { continue };
        for finding in asks(&file.path, &document) {
            let made = match proposal(&file, &finding, &context) {
                Ok(made) => made,
                Err(ChangeError::Unfit(_)) if finding.pool.as_str().contains([' ', '!']) => continue,
                Err(error) => panic!("{} {} {}: {error}", file.path, finding.pool, finding.code),
            };
            assert_valid(&validator, &made.to_json());
            assert_invariants(&made);
            let change = made.change.config().unwrap();
            let after = ConfigFile { text: scratch.apply(&file, &change.patch.text), ..file.clone() };
            assert_eq!(git_blob(&after.text), change.patch.result_blob);
            assert_minimal(&document, &change.ops, &change.patch.text);
            assert_eq!(read(&after), apply_ops(&document, &change.ops).ok(), "{}", change.patch.text);
            kinds.insert(made.kind.clone());
            files.insert(file.path.rsplit('/').next().unwrap().to_owned());
        }
    }
    if shared().is_some() {
        for name in ["opencode.jsonc", "bad-routes.jsonc", "routing.json", "oh-my-openagent.jsonc", "config.yaml"] {
            assert!(files.contains(name), "{name} is changed: {files:?}");
        }
    }
    let expected =
        ["add_member", "add_trial", "fix_key", "reorder", "replace_member", "repoint_consumer", "retire_member"];
    let rest = ["retire_pool", "reweight", "set_until", "swap_lead"];
    let mut expected: BTreeSet<String> = expected.iter().chain(&rest).map(|kind| (*kind).to_owned()).collect();
    if shared().is_none() {
        expected.remove("repoint_consumer"); // the small config has no categories
    }
    assert_eq!(kinds, expected);
}

#[test]
fn the_shipped_schema_is_the_handed_one_and_takes_the_handed_example() {
    let Some(folder) = shared() else { return };
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    assert_eq!(SCHEMA, read("reference/proposal.schema.json"));
    let example: Value = serde_json::from_str(&read("examples/proposal.example.json")).unwrap();
    assert_valid(&validator(), &example);
    assert_eq!(content_digest(&example).to_string(), example["content_digest"].as_str().unwrap());
}

/// A finding that retires the second target of the small config, with its dead weight and its budget.
fn retirement() -> Finding {
    let pool = "/experimental/model_routes/main";
    let edits = ["targets/1", "weights/b~1two#low", "budgets/b~1two"]
        .map(|member| Edit::Remove { pointer: format!("{pool}/{member}") });
    let path = ".opencode/opencode.jsonc";
    ask("main", "retirement_due", ProposalKind::RetireMember, path, pool, edits.into())
}

/// The status and reason of a condition.
fn answer(proposal: &Proposal, question: Question) -> (String, String) {
    let found = proposal.conditions.iter().find(|condition| condition.r#type == question.as_str()).unwrap();
    (found.status.clone(), found.reason.clone())
}

/// Status and reason as text.
fn said(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn a_fact_of_the_config_claims_what_it_can_and_leaves_the_rest_unknown() {
    let finding = Finding {
        measured: Some(Measured { what: "days left", value: 12.4, unit: Unit::Days, n: None }),
        limit: Some(Limit { op: LimitOp::AtLeast, value: 30.0, setting: "latest.retire_days" }),
        ..retirement()
    };
    let made = proposal(&config(), &finding, &context(&[])).unwrap();
    assert_eq!(made.bar.id, "structural/1");
    let days_left = BarTerm {
        name: "days_left_days_milli".to_owned(),
        value: 12_400,
        needed: 30_000,
        op: "<=".to_owned(),
        pass: true,
    };
    assert_eq!(made.bar.terms, [days_left]);
    let effect = &made.expected[0];
    assert_eq!((effect.metric.as_str(), effect.direction.as_str(), effect.point), ("structural_fact", "decrease", 1));
    assert_eq!((effect.lo90, effect.hi90, effect.claimed_probability_ppm), (1, 1, 1_000_000));
    assert_eq!(answer(&made, Question::BarCleared), said("true", "LimitCrossed"));
    assert_eq!(answer(&made, Question::EvidenceSufficient), said("true", "FactRead"));
    for question in
        [Question::StakeRobust, Question::FalseDiscoveryClear, Question::CooldownClear, Question::NoConflict]
    {
        assert_eq!(answer(&made, question), said("unknown", "NotApplicable"));
    }
    assert_eq!(made.rollback.trigger.rule, "none");
    assert_eq!(made.verification.rule, "structural_1");
    assert_eq!(made.config.stale_if_changed, ["/experimental/model_routes/main"]);
    assert_eq!(made.title, "main: retire model-a@default#home (retirement_due)");
    assert_eq!((made.first_seen.as_str(), made.expires.as_str()), ("2026-11-29T00:00:00Z", "2026-12-06T12:00:00Z"));
}

#[test]
fn a_window_finding_claims_the_gap_and_watches_for_a_dry_window() {
    let pool = "/experimental/model_routes/main";
    let edits = vec![Edit::ToFront { pointer: format!("{pool}/targets/1") }];
    let mut finding = ask("main", "lead_window_scarce", ProposalKind::Reorder, ".opencode/opencode.jsonc", pool, edits);
    finding.measured = Some(Measured { what: "Π gap", value: 0.412_345_6, unit: Unit::WindowPrice, n: Some(2) });
    finding.limit = Some(Limit { op: LimitOp::AtMost, value: 0.3, setting: "windows.gap" });
    finding.intent.as_mut().unwrap().moved_share = Some(0.75);
    let made = proposal(&config(), &finding, &context(&[])).unwrap();
    assert_valid(&validator(), &made.to_json());
    let effects: Vec<_> =
        made.expected.iter().map(|e| (e.metric.as_str(), e.unit.as_str(), e.primary, e.point)).collect();
    assert_eq!(effects, [("window_price", "ppm", true, 412_346), ("share_of_pool", "ppm", false, 750_000)]);
    assert_eq!(made.verification.metric, "window_price");
    assert_eq!(made.rollback.trigger.rule, "window_dry_1");
    assert_eq!(made.bar.id, "window/1");
    assert_eq!((made.bar.terms[0].name.as_str(), made.bar.terms[0].op.as_str()), ("gap_ppm", ">="));
    assert_eq!(answer(&made, Question::CooldownClear), said("unknown", "NotAssessed"));
}

#[test]
fn a_trial_claims_the_share_it_gets() {
    let pool = "/experimental/model_routes/main";
    let edits = vec![Edit::Append { array: format!("{pool}/targets"), value: json!("d/four") }];
    let mut finding = ask("main", "missing", ProposalKind::AddTrial, ".opencode/opencode.jsonc", pool, edits);
    finding.intent.as_mut().unwrap().moved_share = Some(0.2);
    let made = proposal(&config(), &finding, &context(&[])).unwrap();
    assert_valid(&validator(), &made.to_json());
    assert_eq!(made.expected.len(), 1);
    let effect = &made.expected[0];
    assert_eq!(
        (effect.metric.as_str(), effect.direction.as_str(), effect.point),
        ("share_of_pool", "increase", 200_000)
    );
    assert_eq!((made.bar.id.as_str(), made.bar.terms[0].name.as_str()), ("market/1", "fact_holds"));
}

/// A fresh note with an as-of time.
fn note(source: SourceId, as_of: Option<DateTime<Utc>>, text: &str) -> SourceNote {
    SourceNote {
        as_of,
        used: 7,
        rejected: 2,
        digest: Some(Digest::of(text.as_bytes())),
        ..SourceNote::new(source, SourceState::Fresh)
    }
}

#[test]
fn a_source_of_unknown_age_is_never_given_the_review_instant() {
    let notes = [
        note(SourceId::Retirements, Some(now() - TimeDelta::hours(3)), "map"),
        note(SourceId::Catalogues, None, "catalogue"),
        note(SourceId::Quotas, Some(now()), "not cited"),
        note(SourceId::Pools, None, CONFIG),
    ];
    let finding =
        Finding { sources: vec![SourceId::Catalogues, SourceId::Retirements, SourceId::Pools], ..retirement() };
    let made = proposal(&config(), &finding, &context(&notes)).unwrap();
    let evidence: Vec<_> = made.evidence.iter().map(|e| (e.source.as_str(), e.as_of.as_str(), e.rows)).collect();
    assert_eq!(evidence, [("pools", "2026-11-29T12:00:00Z", 1), ("market", "2026-11-29T09:00:00Z", 7)]);
    assert_eq!(made.evidence[1].excluded, BTreeMap::from([("rejected".to_owned(), 2)]));
    assert_eq!(answer(&made, Question::SourcesFresh), said("true", "AllWithinLimits"));
    let stale = SourceNote { state: SourceState::Stale, ..notes[0].clone() };
    let made = proposal(&config(), &finding, &context(&[stale, notes[1].clone(), notes[3].clone()])).unwrap();
    assert_eq!(answer(&made, Question::SourcesFresh), said("false", "SourceNotUsable"));
    let made = proposal(&config(), &finding, &context(&notes[..1])).unwrap();
    assert_eq!(answer(&made, Question::SourcesFresh), said("unknown", "SourceNotNoted"));
}

#[test]
fn the_callers_answers_stand_and_a_failed_bar_writes_nothing() {
    let mut context = context(&[]);
    let cooled = Answer { status: Some(false), reason: "LandedRecently".to_owned(), message: "2 days ago".to_owned() };
    context.answers.insert(Question::CooldownClear, cooled.clone());
    let made = proposal(&config(), &retirement(), &context).unwrap();
    assert_eq!(answer(&made, Question::CooldownClear), said("false", "LandedRecently"));
    context.answers.insert(Question::PolicyClean, cooled);
    assert!(matches!(proposal(&config(), &retirement(), &context), Err(ChangeError::Unfit(_))));
}

#[test]
fn only_misaligned_findings_with_a_change_of_their_own_file_and_subtree_are_proposed() {
    let refuses = |finding: &Finding| proposal(&config(), finding, &context(&[])).unwrap_err().to_string();
    let with = |change: fn(&mut Finding)| {
        let mut finding = retirement();
        change(&mut finding);
        finding
    };
    for verdict in [None, Some(Verdict::Watch), Some(Verdict::Blocked), Some(Verdict::Aligned)] {
        assert_eq!(refuses(&Finding { verdict, ..retirement() }), "only a misaligned finding changes config");
    }
    let test = with(|finding| finding.intent.as_mut().unwrap().kind = ProposalKind::ControlledTest);
    assert_eq!(refuses(&test), "a controlled test is a plan and no change of config");
    let elsewhere = with(|finding| finding.intent.as_mut().unwrap().path = "other.jsonc".to_owned());
    assert_eq!(refuses(&elsewhere), "the change was worked out for another file");
    let idle = with(|finding| finding.intent.as_mut().unwrap().pointer = "/experimental/model_routes/idle".to_owned());
    assert_eq!(refuses(&idle), "the change leaves its subtree as it is");
    let nowhere = with(|finding| finding.intent.as_mut().unwrap().pointer = "/nothing".to_owned());
    assert_eq!(refuses(&nowhere), "pointer \"/nothing\" is no subtree of the file");
    assert_eq!(
        refuses(&Finding { pool: PoolId::new("bad id!"), ..retirement() }),
        "the pool's id is not one the proposal's schema takes"
    );
}

#[test]
fn identity_ignores_numbers_dates_and_prose_and_knows_check_code_kind_pool_and_keys() {
    let base = identity(&retirement()).unwrap();
    let mut same = retirement();
    same.measured = Some(Measured { what: "days left", value: 3.0, unit: Unit::Days, n: None });
    same.intent.as_mut().unwrap().human = "Another sentence.".to_owned();
    same.intent.as_mut().unwrap().edits.pop();
    assert_eq!(identity(&same), Some(base.clone()));
    let others = [
        Finding { check: CheckId::Structure, ..retirement() },
        Finding { code: "retired", ..retirement() },
        Finding { pool: PoolId::new("other"), ..retirement() },
        Finding { subject: "model-b@default#home".to_owned(), ..retirement() },
        Finding { counterpart: "model-c@default#home".to_owned(), ..retirement() },
    ];
    let fingerprints: BTreeSet<String> =
        others.iter().map(|finding| identity(finding).unwrap().fingerprint).chain([base.fingerprint]).collect();
    assert_eq!(fingerprints.len(), others.len() + 1);
}

#[test]
fn hostile_and_endless_names_still_make_a_valid_proposal() {
    let mut finding = Finding { subject: format!("\u{202e}evil\n<b>{}", "x".repeat(500)), ..retirement() };
    finding.counterpart = "路由".repeat(400);
    finding.intent.as_mut().unwrap().human = format!("Take out \u{1b}[31m{}", "y".repeat(600));
    let made = proposal(&config(), &finding, &context(&[])).unwrap();
    assert_valid(&validator(), &made.to_json());
    assert!(made.title.starts_with("main: retire ⟨202E⟩evil⟨000A⟩<b>xxx") && made.title.ends_with('…'));
    let human = &made.change.config().unwrap().human;
    assert!(human.starts_with("Take out ⟨001B⟩[31myyy") && human.ends_with('…'));
    assert_eq!((made.subject.chars().count(), made.counterpart.chars().count()), (300, 300));
    let nobody = Finding { subject: String::new(), ..retirement() };
    assert_eq!(proposal(&config(), &nobody, &context(&[])).unwrap().subject, "main", "about the pool itself");
}

#[test]
fn the_text_is_the_same_bytes_every_time_with_sorted_keys_and_no_last_seen() {
    let text = || proposal(&config(), &retirement(), &context(&[])).unwrap().to_text();
    assert_eq!(text(), text());
    assert!(text().ends_with("}\n") && !text().contains("last_seen"));
    let keys: Vec<String> = text()
        .lines()
        .filter_map(|line| line.strip_prefix("  \"").and_then(|rest| rest.split('"').next()).map(str::to_owned))
        .collect();
    assert!(keys.len() > 20 && keys.is_sorted(), "{keys:?}");
}
