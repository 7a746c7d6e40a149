//! The run file's types in their frozen `v1` shape. A field is only ever added; meaning and unit of one never change.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::outputs::calibration::CalibrationV1;
use crate::verdict::{Baseline, ChartPoint, ChartSpeed, Counts, Verdict};

/// The whole run.
#[derive(Serialize)]
pub(super) struct RunV1<'a> {
    /// Name of the shape.
    pub(super) schema: &'static str,
    /// Run id.
    pub(super) run_id: &'a str,
    /// Review instant.
    pub(super) now: String,
    /// Whether the clock was frozen by the settings.
    pub(super) is_frozen: bool,
    /// Path of the instruction file.
    pub(super) settings_path: &'a str,
    /// Digest of the policy.
    pub(super) policy_digest: &'a str,
    /// Market index version, if one was read.
    pub(super) index_version: Option<&'a str>,
    /// The run before.
    pub(super) previous_run: Option<&'a str>,
    /// Next due instant.
    pub(super) next_due: Option<String>,
    /// Pools and categories by verdict; every word is there.
    pub(super) tally: BTreeMap<&'static str, usize>,
    /// Outcomes by baseline state.
    pub(super) counts: Counts,
    /// How each source was read.
    pub(super) sources: Vec<SourceV1<'a>>,
    /// Pools, then categories.
    pub(super) pools: Vec<PoolV1<'a>>,
    /// Proposals open after this run.
    pub(super) proposals: Vec<ProposalV1<'a>>,
    /// What stewards decided, what landed and what ended, by number.
    pub(super) standings: Vec<StandingV1<'a>>,
    /// Ids that matched nothing.
    pub(super) unmatched: Vec<UnmatchedV1<'a>>,
    /// Remarks on the whole run.
    pub(super) remarks: Vec<String>,
    /// The reviewer, measured.
    pub(super) calibration: CalibrationV1<'a>,
}

/// One source.
#[derive(Serialize)]
pub(super) struct SourceV1<'a> {
    /// Its id.
    pub(super) source: &'static str,
    /// `fresh`, `stale`, `not_configured` or `failed`.
    pub(super) state: &'static str,
    /// Why it failed.
    pub(super) reason: Option<&'a str>,
    /// As-of time.
    pub(super) as_of: Option<String>,
    /// Age in hours.
    pub(super) age_hours: Option<f64>,
    /// The age from which on it is stale.
    pub(super) max_age_hours: Option<f64>,
    /// Rows seen.
    pub(super) rows: u64,
    /// Rows used.
    pub(super) used: u64,
    /// Rows not used because they are broken.
    pub(super) rejected: u64,
    /// The first few of them.
    pub(super) rejects: Vec<RejectV1<'a>>,
    /// Further facts.
    pub(super) remarks: &'a [String],
    /// Digest of the bytes read.
    pub(super) digest: Option<&'a str>,
}

/// A row that was not used.
#[derive(Serialize)]
pub(super) struct RejectV1<'a> {
    /// Where it stands.
    pub(super) place: PlaceV1<'a>,
    /// What is wrong.
    pub(super) reason: &'a str,
}

/// A line of a file.
#[derive(Serialize)]
pub(super) struct PlaceV1<'a> {
    /// Path relative to the workspace.
    pub(super) path: &'a str,
    /// Line, from 1.
    pub(super) line: usize,
}

/// One pool or category.
#[derive(Serialize)]
pub(super) struct PoolV1<'a> {
    /// Its id.
    pub(super) id: &'a str,
    /// `pool`, `single` or `category`.
    pub(super) subject: &'static str,
    /// The pool a category runs on.
    pub(super) runs_on: Option<&'a str>,
    /// Tier.
    pub(super) tier: Option<&'static str>,
    /// Owner.
    pub(super) owner: Option<&'a str>,
    /// Its verdict.
    pub(super) verdict: Verdict,
    /// Against the run before.
    pub(super) state: Baseline,
    /// Since which run.
    pub(super) since: &'a str,
    /// The lead's target.
    pub(super) lead: Option<&'a str>,
    /// Members with configured share, lead first.
    pub(super) members: Vec<MemberV1<'a>>,
    /// Its checks.
    pub(super) checks: Vec<CheckV1<'a>>,
    /// The numbers behind its pictures.
    pub(super) chart: ChartV1<'a>,
}

/// One member.
#[derive(Serialize)]
pub(super) struct MemberV1<'a> {
    /// As the router spells it.
    pub(super) target: &'a str,
    /// Configured share; null when it is not a finite number.
    pub(super) share: Option<f64>,
}

/// One check of one pool.
#[derive(Serialize)]
pub(super) struct CheckV1<'a> {
    /// Its id.
    pub(super) check: &'static str,
    /// Its verdict.
    pub(super) verdict: Verdict,
    /// Against the run before.
    pub(super) state: Baseline,
    /// Since which run.
    pub(super) since: &'a str,
    /// The verdict in a sentence.
    pub(super) summary: String,
    /// What it waits for or lacks.
    pub(super) reasons: &'a [String],
    /// Facts.
    pub(super) findings: Vec<FindingV1<'a>>,
    /// Numbers.
    pub(super) numbers: Vec<NumberV1<'a>>,
}

/// One finding.
#[derive(Serialize)]
pub(super) struct FindingV1<'a> {
    /// What kind of fact.
    pub(super) code: &'static str,
    /// Whom it is about.
    pub(super) subject: &'a str,
    /// The other side, or empty.
    pub(super) counterpart: &'a str,
    /// What it means; null is a note.
    pub(super) verdict: Option<Verdict>,
    /// How serious.
    pub(super) severity: Option<&'static str>,
    /// The number.
    pub(super) measured: Option<MeasuredV1>,
    /// What its observations are, where they are no task attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) basis: Option<&'static str>,
    /// The bound.
    pub(super) limit: Option<LimitV1>,
    /// Why.
    pub(super) why: String,
    /// What to do, or empty.
    pub(super) todo: String,
    /// Where the thing stands.
    pub(super) place: Option<PlaceV1<'a>>,
    /// The sources it rests on.
    pub(super) sources: Vec<&'static str>,
    /// The change it asks for.
    pub(super) intent: Option<IntentV1<'a>>,
    /// Why no proposal follows.
    pub(super) held: Option<&'a str>,
    /// The open proposal that argues it.
    pub(super) fingerprint: Option<&'a str>,
}

/// A measured value.
#[derive(Serialize)]
pub(super) struct MeasuredV1 {
    /// What it is.
    pub(super) what: &'static str,
    /// The value; null when it is not a finite number.
    pub(super) value: Option<f64>,
    /// Its unit.
    pub(super) unit: &'static str,
    /// Observations.
    pub(super) n: Option<u64>,
}

/// A bound.
#[derive(Serialize)]
pub(super) struct LimitV1 {
    /// Which side is fine.
    pub(super) op: &'static str,
    /// The bound; null when it is not a finite number.
    pub(super) value: Option<f64>,
    /// The settings key.
    pub(super) setting: &'static str,
    /// Where it is set; null is the default.
    pub(super) set_at: Option<String>,
}

/// A change asked for.
#[derive(Serialize)]
pub(super) struct IntentV1<'a> {
    /// What it does.
    pub(super) kind: &'static str,
    /// What is argued about.
    pub(super) seat: &'static str,
    /// The file.
    pub(super) path: &'a str,
    /// The subtree.
    pub(super) pointer: &'a str,
    /// What a person would do.
    pub(super) human: &'a str,
    /// Share of the pool's tasks that moves.
    pub(super) moved_share: Option<f64>,
    /// The edits.
    pub(super) edits: Vec<Value>,
}

/// One number behind a verdict.
#[derive(Serialize)]
pub(super) struct NumberV1<'a> {
    /// What it is.
    pub(super) what: &'a str,
    /// Whom it is about.
    pub(super) of: &'a str,
    /// The value; null is unknown, and `remark` says why.
    pub(super) value: Option<f64>,
    /// Its unit.
    pub(super) unit: &'static str,
    /// 90 % interval.
    pub(super) interval: Option<(f64, f64)>,
    /// Observations.
    pub(super) n: Option<u64>,
    /// What those are, where they are no task attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) basis: Option<&'static str>,
    /// Why it is unknown, or what it rests on.
    pub(super) remark: &'a str,
}

/// Where a proposal stands that is not simply open.
#[derive(Serialize)]
pub(super) struct StandingV1<'a> {
    /// R1, R2 …
    pub(super) number: u64,
    /// What is argued.
    pub(super) fingerprint: &'a str,
    /// The pool.
    pub(super) pool: &'a str,
    /// What it does.
    pub(super) kind: &'a str,
    /// Whom it is about.
    pub(super) subject: &'a str,
    /// The other side, or empty.
    pub(super) counterpart: &'a str,
    /// The status.
    pub(super) status: &'a str,
    /// Where that began: a run, or the instant id of a decision.
    pub(super) since: &'a str,
    /// Whether it began after the run before.
    pub(super) is_moved: bool,
    /// The decision that stands.
    pub(super) ruling: Option<RulingV1>,
    /// What took its place.
    pub(super) superseded_by: Option<&'a str>,
    /// Who said that it landed or was taken back, while the config does not show it.
    pub(super) unseen: Option<&'a str>,
    /// That the way back is due.
    pub(super) rollback_due: Option<RollbackDueV1<'a>>,
}

/// A way back that is due.
#[derive(Serialize)]
pub(super) struct RollbackDueV1<'a> {
    /// The run since which it is.
    pub(super) since: &'a str,
    /// The trigger's rule.
    pub(super) rule: &'static str,
    /// The numbers in words.
    pub(super) words: String,
}

/// A steward's decision.
#[derive(Serialize)]
pub(super) struct RulingV1 {
    /// `accept`, `reject` or `defer`.
    pub(super) decision: String,
    /// Who.
    pub(super) by: String,
    /// Why.
    pub(super) reason: String,
    /// Until when.
    pub(super) until: Option<String>,
    /// What lifts it.
    pub(super) unless: Option<String>,
}

/// One open proposal; its file has the rest.
#[derive(Serialize)]
pub(super) struct ProposalV1<'a> {
    /// R1, R2 …
    pub(super) number: u64,
    /// Runs that carried it after the one that opened it.
    pub(super) carried_runs: u64,
    /// The run that opened it.
    pub(super) carried_since: String,
    /// What is argued.
    pub(super) fingerprint: &'a str,
    /// Its file in the reports folder.
    pub(super) file: String,
    /// Counts contents.
    pub(super) revision: u64,
    /// What it says.
    pub(super) content_digest: &'a str,
    /// Against the run before.
    pub(super) baseline_state: &'a str,
    /// Lifecycle state.
    pub(super) status: &'a str,
    /// The pool.
    pub(super) pool: &'a str,
    /// The check.
    pub(super) check: &'a str,
    /// The code.
    pub(super) code: &'a str,
    /// What it does.
    pub(super) kind: &'a str,
    /// Whom it is about.
    pub(super) subject: &'a str,
    /// The other side, or empty.
    pub(super) counterpart: &'a str,
    /// Its title.
    pub(super) title: &'a str,
    /// First run that made it.
    pub(super) first_seen: &'a str,
    /// Last run that made it; null when this run did not.
    pub(super) last_seen: Option<String>,
    /// When it lapses.
    pub(super) expires: &'a str,
}

/// An id that matched nothing.
#[derive(Serialize)]
pub(super) struct UnmatchedV1<'a> {
    /// The source.
    pub(super) source: &'a str,
    /// The id.
    pub(super) id: &'a str,
    /// The nearest known one, never used.
    pub(super) suggestion: Option<&'a str>,
}

/// The numbers behind the pictures of a pool.
#[derive(Serialize)]
pub(super) struct ChartV1<'a> {
    /// Members and candidates on price and quality.
    pub(super) points: &'a [ChartPoint],
    /// Candidates that are not listed.
    pub(super) more_candidates: usize,
    /// Members by speed.
    pub(super) speeds: &'a [ChartSpeed],
    /// The slowest output accepted.
    pub(super) speed_floor: Option<f64>,
    /// The dearest bill accepted.
    pub(super) bill_ceiling: Option<f64>,
    /// Windows that bind members.
    pub(super) windows: Vec<WindowV1<'a>>,
}

/// One window.
#[derive(Serialize)]
pub(super) struct WindowV1<'a> {
    /// `home/window`.
    pub(super) id: &'a str,
    /// Members it binds.
    pub(super) members: &'a [String],
    /// What the reading is worth.
    pub(super) class: &'a str,
    /// Hours of a cycle.
    pub(super) length_h: Option<f64>,
    /// When it resets.
    pub(super) resets_at: Option<String>,
    /// Smallest and largest used fraction.
    pub(super) used: Option<(f64, f64)>,
    /// Smallest and largest scarcity price.
    pub(super) price: Option<(f64, f64)>,
    /// Hours since the reading.
    pub(super) age_h: Option<f64>,
    /// Remarks.
    pub(super) remarks: &'a [String],
}
