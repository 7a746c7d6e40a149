//! `proposals list`: one line per proposal.

use serde_json::{Value, json};

use super::card::{Card, FileState};
use super::decide::stands;
use super::patch::ConfigState;
use crate::history::{Landing, Life, ruling};
use crate::outputs::text::{self, Place};
use crate::outputs::view::counted;

/// The name of the shape.
const SCHEMA: &str = "pool-review.proposals-list/1";

/// How many proposals the flags left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    /// Those of pools that were not asked for.
    pub of_other_pools: usize,
    /// Those of the pools that were asked for, in another status.
    pub of_other_statuses: usize,
    /// Whether a status was asked for; else those that ended, or are in force, are left out.
    pub is_asked_by_status: bool,
}

impl Hidden {
    /// In words behind the count of what is shown.
    fn words(&self) -> String {
        let statuses = if self.is_asked_by_status { "of other statuses" } else { "more with --all" };
        let said = [(self.of_other_statuses, statuses), (self.of_other_pools, "of other pools")];
        let said = said.into_iter().filter(|(count, _)| *count > 0);
        said.fold(String::new(), |words, (count, word)| format!("{words}, {count} {word}"))
    }
}

/// The proposals with how their definitions stand, for people.
pub fn list(rows: &[(Card<'_>, ConfigState)], hidden: &Hidden) -> String {
    let wide = |of: &dyn Fn(&Card<'_>) -> usize| rows.iter().map(|(card, _)| of(card)).max().unwrap_or(0);
    let (labels, words) = (wide(&|card| card.label().len()), wide(&|card| card.life.status.as_str().len()));
    let line = |(card, config): &(Card<'_>, ConfigState)| {
        let short = text::name(card.fact.fingerprint.get(..13).unwrap_or(&card.fact.fingerprint), Place::Terminal);
        let title = text::quote(&card.title(), Place::Terminal);
        let status = card.life.status.as_str();
        let remarks = remarks(card, *config);
        format!("{:labels$}  {short}  {status:words$}  {title}{remarks}\n", card.label())
    };
    let lines: String = rows.iter().map(line).collect();
    format!("{lines}{}{}\n", counted(rows.len(), "proposal", "proposals"), hidden.words())
}

/// What is worth a word behind the title.
fn remarks(card: &Card<'_>, config: ConfigState) -> String {
    let mut remarks = Vec::new();
    if card.life.status.is_open() {
        remarks.push(carried(card));
        remarks.push(format!("lapses {}", day(&card.fact.expires)));
    }
    if let Some(due) = &card.life.due {
        remarks.push(format!("ROLLBACK DUE since {}", text::name(&due.since, Place::Terminal)));
    }
    if let Some(decided) = stands(card.life) {
        remarks.push(format!("by {}", text::name(&decided.fact.by, Place::Terminal)));
    }
    if let Some(until) = stands(card.life).and_then(|decided| decided.fact.until.as_deref()) {
        remarks.push(format!("until {}", day(until)));
    }
    if card.life.status.is_open() || card.life.status.is_suppressed() {
        remarks.extend(match config {
            ConfigState::AsReviewed => None,
            ConfigState::AsPredicted => Some("already in the config".to_owned()),
            ConfigState::Moved => Some("stale: the definition has changed".to_owned()),
            ConfigState::Unreadable => Some("its config file cannot be read".to_owned()),
        });
        match card.file {
            FileState::Intact => {}
            FileState::Missing => remarks.push("its file is gone".to_owned()),
            FileState::Edited => remarks.push(format!("its file {}", text::own(&card.why_edited(), Place::Terminal))),
        }
    }
    if remarks.is_empty() { String::new() } else { format!(" · {}", remarks.join(" · ")) }
}

/// The day of an instant.
fn day(instant: &str) -> String {
    text::name(instant.get(..10).unwrap_or(instant), Place::Terminal)
}

/// `carried 4 runs, since 20261120T120000Z`, or `new`.
pub(super) fn carried(card: &Card<'_>) -> String {
    let since = text::name(&card.life.opened, Place::Terminal);
    match usize::try_from(card.carried()).unwrap_or(usize::MAX) {
        0 => format!("new in {since}"),
        runs => format!("carried {}, since {since}", counted(runs, "run", "runs")),
    }
}

/// The same as JSON.
pub fn list_json(rows: &[(Card<'_>, ConfigState)], hidden: &Hidden) -> String {
    let rows: Vec<Value> = rows.iter().map(|(card, config)| row(card, *config)).collect();
    format!(
        "{:#}\n",
        json!({ "schema": SCHEMA, "proposals": rows, "hidden": hidden.of_other_pools + hidden.of_other_statuses })
    )
}

/// One proposal.
pub(super) fn row(card: &Card<'_>, config: ConfigState) -> Value {
    let (fact, life) = (card.fact, card.life);
    json!({
        "number": life.number,
        "fingerprint": fact.fingerprint,
        "axis": fact.axis,
        "revision": fact.revision,
        "status": life.status,
        "since": life.since,
        "opened": life.opened,
        "carried_runs": card.carried(),
        "pool": fact.pool,
        "check": fact.check,
        "code": fact.code,
        "kind": fact.change,
        "subject": fact.subject,
        "counterpart": fact.counterpart,
        "title": card.title(),
        "first_seen": fact.first_seen,
        "expires": fact.expires,
        "file": card.file.as_str(),
        "config": config.as_str(),
        "decision": decision(life),
        "landing": life.landing.as_ref().map(landing),
        "rollback_due": life.due.as_ref().map(|due| json!({
            "since": due.since, "rule": due.reading.rule(), "words": due.reading.sentence().plain(),
        })),
        "verification": life.verification.as_ref().map(|measured| json!({
            "measured_at": measured.at,
            "rule": measured.fact.rule,
            "status": measured.fact.status,
            "claimed_point": measured.fact.claimed_point,
            "realised_point": measured.fact.realised_point,
            "realised_se": measured.fact.realised_se,
            "unit": measured.fact.unit,
        })),
    })
}

/// The last decision, whether or not it still stands.
fn decision(life: &Life) -> Option<Value> {
    let decided = life.decision.as_ref()?;
    let said = ruling(decided);
    Some(json!({
        "decision": said.decision, "at": decided.at, "revision": decided.fact.revision, "by": said.by, "reason": said.reason,
        "until": said.until, "unless": said.unless, "stands": stands(life).is_some(),
    }))
}

/// A landing.
fn landing(landing: &Landing) -> Value {
    json!({
        "detected_at": landing.detected_at, "run": landing.run, "revision": landing.revision,
        "subtree_digest_after": landing.subtree_digest_after,
    })
}
