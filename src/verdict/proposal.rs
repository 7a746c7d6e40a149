//! The proposal file in its frozen `v1` shape (schema: `instructions/schemas/proposal.v1.json`), and its identity.
//! Every number is an integer, so that no language's float printing can change a digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{TestPlan, Verdict};
use crate::vocabulary::{Digest, canonical_json, sha256_hex};

/// Version of the program and of the method; a change of the latter restarts looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewer {
    /// Program version.
    pub version: String,
    /// `pool-review.methods/1`.
    pub methods: String,
}

/// One question about a proposal, answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// `EvidenceSufficient`, `BarCleared`, …
    pub r#type: String,
    /// `true`, `false` or `unknown`.
    pub status: String,
    /// A CamelCase reason.
    pub reason: String,
    /// A sentence with the numbers, at most 400 characters.
    pub message: String,
    /// When the status last flipped.
    pub last_transition: String,
    /// The revision it speaks of.
    pub observed_revision: u64,
}

/// A git-appliable patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// `git-unified-diff`.
    pub format: String,
    /// Path relative to the workspace.
    pub path: String,
    /// Blob id of the file it applies to.
    pub blob: String,
    /// Blob id of the file after it.
    pub result_blob: String,
    /// The diff.
    pub text: String,
}

/// What a proposal asks for: a change of config, or a test that changes none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Change {
    /// A change of config.
    Config(ConfigChange),
    /// A test plan.
    Test(TestPlan),
}

impl Change {
    /// The change of config, if it is one.
    pub fn config(&self) -> Option<&ConfigChange> {
        match self {
            Self::Config(change) => Some(change),
            Self::Test(_) => None,
        }
    }

    /// One sentence for a person.
    pub fn human(&self) -> &str {
        match self {
            Self::Config(change) => &change.human,
            Self::Test(plan) => &plan.human,
        }
    }
}

/// A config change: operations and patch say the same thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// `json-patch+test`.
    pub format: String,
    /// Path of the file.
    pub target: String,
    /// RFC 6902 operations; every value relied on is tested before the first edit.
    pub ops: Vec<Value>,
    /// The same as a diff.
    pub patch: Patch,
    /// One sentence for a person.
    pub human: String,
}

/// An expected, measurable effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// `structural_fact`, `window_price`, `share_of_pool`, …
    pub metric: String,
    /// `count`, `ppm`, `usd_micros` or `seconds`.
    pub unit: String,
    /// Exactly one effect is primary.
    pub primary: bool,
    /// `decrease` or `increase`.
    pub direction: String,
    /// Expected size.
    pub point: i64,
    /// Lower 90 % bound.
    pub lo90: i64,
    /// Upper 90 % bound.
    pub hi90: i64,
    /// Days until it can be measured.
    pub horizon_days: u64,
    /// Rows the measurement needs.
    pub min_rows: u64,
    /// Digest of the class mix it was computed on.
    pub mix_digest: Option<String>,
    /// Chance that the effect has the claimed sign, in millionths.
    pub claimed_probability_ppm: u64,
}

/// One source the proposal rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRef {
    /// Source id of the schema.
    pub source: String,
    /// `own`, `market`, `quota`, `structure` or `shared`.
    pub kind: String,
    /// Digest of what was read.
    pub digest: String,
    /// As-of time.
    pub as_of: String,
    /// Which span.
    pub window: String,
    /// Rows used.
    pub rows: u64,
    /// Weighted rows in thousandths.
    pub weighted_milli: u64,
    /// Rows per task class.
    pub classes: BTreeMap<String, u64>,
    /// Rows left out, by reason.
    pub excluded: BTreeMap<String, u64>,
}

/// The config the proposal was computed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRef {
    /// Path relative to the workspace.
    pub path: String,
    /// Commit; null outside git or when not asked.
    pub commit: Option<String>,
    /// Blob id of the file.
    pub blob: String,
    /// Pointer of the subtree.
    pub pointer: String,
    /// Its digest now.
    pub subtree_digest: String,
    /// Its digest after the change; null for a test.
    pub subtree_digest_after: Option<String>,
    /// Pointers whose change makes the proposal stale.
    pub stale_if_changed: Vec<String>,
}

/// The policy the result was checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRef {
    /// Its digest.
    pub digest: String,
    /// Constant true.
    pub checked_on_result: bool,
    /// Empty by schema.
    pub violations: Vec<String>,
}

/// One threshold that was passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarTerm {
    /// Name with its unit.
    pub name: String,
    /// Measured.
    pub value: i64,
    /// Needed.
    pub needed: i64,
    /// `>=`, `<=` or `==`.
    pub op: String,
    /// Constant true: a proposal with a failed term cannot be written.
    pub pass: bool,
}

/// The bar a proposal cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// `structural/1`, `market/1`, `window/1`, …
    pub id: String,
    /// Every threshold.
    pub terms: Vec<BarTerm>,
}

/// How a landed change is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// `structural`, `did`, …
    pub design: String,
    /// A rule from the closed list.
    pub rule: String,
    /// The metric looked at.
    pub metric: String,
    /// The pool looked at.
    pub pool: String,
    /// `landed_at` or `test_started_at`.
    pub since: String,
    /// Control pools.
    pub controls: Vec<String>,
    /// Rows wanted.
    pub min_rows: u64,
    /// Deadline in days.
    pub deadline_days: u64,
}

/// What makes a rollback due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// A rule from the closed list.
    pub rule: String,
    /// Success floor of `below_floor_1`, millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_ppm: Option<u64>,
    /// Chance of being below it that makes it due, millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability_ppm: Option<u64>,
    /// Weighted rows since the landing that takes, thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_weighted_rows_milli: Option<u64>,
}

/// The way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollback {
    /// Operations back.
    pub ops: Vec<Value>,
    /// Patch back.
    pub patch: Option<Patch>,
    /// What makes it due.
    pub trigger: Trigger,
}

/// Why a proposal sleeps, and what wakes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressed {
    /// Until when, if there is a date.
    pub until: Option<String>,
    /// The steward's reason, at most 400 characters.
    pub reason: String,
    /// Who, at most 80 characters.
    pub by: String,
    /// `never`, `effect_grows_beyond_hi90` or `config_changes`.
    pub unless: String,
}

/// A landing as a run detected it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingRef {
    /// The commit, where it is known.
    pub commit: Option<String>,
    /// The instant of the run that saw it.
    pub landed_at: String,
    /// The digest that was predicted and is there.
    pub subtree_digest_after: String,
}

/// What the measurement of a landed change found, in the claim's unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The instant of the run that measured.
    pub measured_at: String,
    /// The unit.
    pub unit: String,
    /// What was measured.
    pub point: i64,
    /// Lower 90 % bound.
    pub lo90: i64,
    /// Upper 90 % bound.
    pub hi90: i64,
    /// Rows behind it.
    pub rows: u64,
    /// Distance from the claim in standard deviations of both, thousandths; null where neither has one.
    pub z_milli: Option<i64>,
    /// Whether that is within 90 %.
    pub inside90: bool,
}

/// One change that is ready to land, with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// `pool-review.proposal/1`.
    pub schema: String,
    /// What is argued.
    pub fingerprint: String,
    /// Between whom, in no order.
    pub axis: String,
    /// Counts contents.
    pub revision: u64,
    /// What it says.
    pub content_digest: String,
    /// `new`, `unchanged`, `updated` or `absent`.
    pub baseline_state: String,
    /// Lifecycle state.
    pub status: String,
    /// Program and method.
    pub reviewer: Reviewer,
    /// Questions answered.
    pub conditions: Vec<Condition>,
    /// The pool, or `category/<id>`.
    pub pool: String,
    /// The check.
    pub check: String,
    /// The code of the finding.
    pub code: String,
    /// What the change does.
    pub kind: String,
    /// What is argued about.
    pub seat: String,
    /// Whom it is about.
    pub subject: String,
    /// The other side, or empty.
    pub counterpart: String,
    /// `misaligned`, or the finding's verdict for a controlled test.
    pub verdict: Verdict,
    /// At most 120 characters.
    pub title: String,
    /// The change.
    pub change: Change,
    /// Effects; exactly one is primary.
    pub expected: Vec<Effect>,
    /// Sources.
    pub evidence: Vec<EvidenceRef>,
    /// Config it was computed on.
    pub config: ConfigRef,
    /// Policy it was checked against.
    pub policy: PolicyRef,
    /// The bar it cleared.
    pub bar: Bar,
    /// First run that made it.
    pub first_seen: String,
    /// When it lapses.
    pub expires: String,
    /// Fingerprints it replaces.
    pub supersedes: Vec<String>,
    /// How it will be verified.
    pub verification: Verification,
    /// The way back.
    pub rollback: Rollback,
    /// After a rejection or deferral: what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<Suppressed>,
    /// Filled when a run detects the landing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing: Option<LandingRef>,
    /// Filled by the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

impl Proposal {
    /// The file as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("plain structs with text keys always have a JSON form")
    }

    /// The file as text: sorted keys, two spaces of indent, a line end at the end.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.to_json()).expect("a JSON value always has a text form");
        text.push('\n');
        text
    }
}

/// Fields that do not enter the content digest (methods §18.1).
const VOLATILE: [&str; 12] = [
    "content_digest",
    "revision",
    "baseline_state",
    "status",
    "conditions",
    "first_seen",
    "last_seen",
    "expires",
    "suppressed",
    "landing",
    "outcome",
    "reviewer",
];

/// `pcr1-` and 32 hex digits over what is argued: no number, date, digest or prose enters (methods §18.1).
pub fn fingerprint(
    check: &str,
    code: &str,
    kind: &str,
    pool: &str,
    seat: &str,
    subject: &str,
    counterpart: &str,
) -> String {
    let canonical = canonical_json(&json!({
        "check": check, "code": code, "kind": kind, "pool": pool,
        "seat": seat, "subject": subject, "counterpart": counterpart,
    }));
    format!("pcr1-{}", &sha256_hex(format!("pcr-fp/1\n{canonical}").as_bytes())[..32])
}

/// `pcra1-` and 24 hex digits over pool, seat and the two sides in sorted order: A to B and B to A share it.
pub fn axis(pool: &str, seat: &str, subject: &str, counterpart: &str) -> String {
    let (low, high) = if subject <= counterpart { (subject, counterpart) } else { (counterpart, subject) };
    let canonical = canonical_json(&json!([pool, seat, [low, high]]));
    format!("pcra1-{}", &sha256_hex(format!("pcr-axis/1\n{canonical}").as_bytes())[..24])
}

/// Digest of a proposal without its volatile fields (methods §18.1).
pub fn content_digest(proposal: &Value) -> Digest {
    let mut kept = proposal.clone();
    if let Some(object) = kept.as_object_mut() {
        object.retain(|key, _| !VOLATILE.contains(&key.as_str()));
    }
    Digest::of_json(&kept)
}
