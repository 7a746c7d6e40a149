//! The issue plan: which add and retire flags would be filed, in a fixed order, under a limit. A pure function of open
//! proposals; nothing here knows a server. Swaps, weights and consumers file no issue.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::Serialize;

use super::text::{self, Place};
use crate::verdict::{Baseline, Proposal};

/// Longest title.
const MOST_TITLE: usize = 200;

/// The plan of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the shape.
    pub schema: &'static str,
    /// Run id.
    pub run: String,
    /// `owner/name` of the tracker.
    pub repository: String,
    /// Most new issues per run.
    pub new_per_run: usize,
    /// What would be done, most serious first.
    pub entries: Vec<Entry>,
}

/// One issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `create`, or `wait` when the limit is used up.
    pub step: &'static str,
    /// Why it waits.
    pub reason: Option<&'static str>,
    /// `add/<pool>/<model>` or `retire/<pool>/<model>`, in the characters of a marker.
    pub id: String,
    /// `add` or `retire`.
    pub action: &'static str,
    /// The pool.
    pub pool: String,
    /// The model.
    pub model: String,
    /// The proposal it speaks for.
    pub fingerprint: String,
    /// Title, at most 200 characters.
    pub title: String,
}

impl Entry {
    /// The entry in a line: `create retire/specialist/acme/old-f`.
    pub fn line(&self) -> String {
        let reason = self.reason.map_or(String::new(), |reason| format!(" ({reason})"));
        format!("{} {}{reason}", self.step, self.id)
    }
}

/// The plan for the proposals that are open and were made by this run. Order: what must go before what may come, the surer
/// claim first, then pool and fingerprint. One id has one issue.
pub fn plan(run: &str, repository: &str, new_per_run: usize, proposals: &[Proposal]) -> Plan {
    let mut open: Vec<&Proposal> =
        proposals.iter().filter(|proposal| proposal.baseline_state != Baseline::Absent.as_str()).collect();
    open.sort_by_key(|proposal| {
        (rank(proposal), Reverse(probability(proposal)), &proposal.pool, &proposal.fingerprint)
    });
    let mut seen = BTreeSet::new();
    let wanted = open.into_iter().flat_map(entries).filter(|entry| seen.insert(entry.id.clone()));
    let limited = wanted.enumerate().map(|(i, entry)| if i < new_per_run { entry } else { waiting(entry) });
    Plan {
        schema: "pool-review.issue-plan/1",
        run: run.to_owned(),
        repository: repository.to_owned(),
        new_per_run,
        entries: limited.collect(),
    }
}

/// The plan as a file, with a line end.
pub fn plan_json(plan: &Plan) -> String {
    let mut text = serde_json::to_string_pretty(plan).expect("a plan holds text and whole numbers only");
    text.push('\n');
    text
}

/// What must go comes before what may come.
fn rank(proposal: &Proposal) -> u8 {
    match proposal.kind.as_str() {
        "replace_member" => 0,
        "retire_member" => 1,
        "add_member" => 2,
        _ => 3,
    }
}

/// How sure the primary effect is, in millionths.
fn probability(proposal: &Proposal) -> u64 {
    proposal.expected.iter().find(|effect| effect.primary).map_or(0, |effect| effect.claimed_probability_ppm)
}

/// The issues a proposal asks for: none, one, or both sides of a replacement.
fn entries(proposal: &Proposal) -> Vec<Entry> {
    let (subject, counterpart) = (&proposal.subject, &proposal.counterpart);
    match proposal.kind.as_str() {
        "retire_member" => vec![entry(proposal, "retire", subject)],
        "replace_member" if counterpart.is_empty() => vec![entry(proposal, "retire", subject)],
        "replace_member" => vec![entry(proposal, "retire", subject), entry(proposal, "add", counterpart)],
        "add_member" | "add_trial" => vec![entry(proposal, "add", subject)],
        _ => Vec::new(),
    }
}

/// One issue of a proposal.
fn entry(proposal: &Proposal, action: &'static str, key: &str) -> Entry {
    let model = model_of(key);
    let show = |text: &str| text::name(text, Place::Title);
    let title = format!("{}: {action} {} ({})", show(&proposal.pool), show(model), proposal.check);
    Entry {
        step: "create",
        reason: None,
        id: format!("{action}/{}/{}", text::marker(&proposal.pool), text::marker(model)),
        action,
        pool: proposal.pool.clone(),
        model: model.to_owned(),
        fingerprint: proposal.fingerprint.clone(),
        title: super::view::shortened(&title, MOST_TITLE),
    }
}

/// The same entry behind the limit.
fn waiting(entry: Entry) -> Entry {
    Entry { step: "wait", reason: Some("filing limit"), ..entry }
}

/// The model of a member key `model@effort#home`; other text as it is.
fn model_of(key: &str) -> &str {
    key.rsplit_once('#').and_then(|(rest, _)| rest.rsplit_once('@')).map_or(key, |(model, _)| model)
}
