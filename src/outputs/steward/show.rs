//! `proposals show`: everything about one proposal.

use serde_json::json;

use super::card::{Card, FileState};
use super::claim;
use super::decide::stands;
use super::list::{carried, row};
use super::patch::ConfigState;
use crate::outputs::text::{self, Place};
use crate::verdict::{Effect, Proposal};

/// The name of the shape.
const SCHEMA: &str = "pool-review.proposals-show/1";

/// One proposal for people.
pub fn show(card: &Card<'_>, config: ConfigState) -> String {
    let (fact, life) = (card.fact, card.life);
    let name = |text: &str| text::name(text, Place::Terminal);
    let mut lines = vec![
        format!("{}  {}", card.label(), text::quote(&card.title(), Place::Terminal)),
        format!("fingerprint  {}", name(&fact.fingerprint)),
        format!("status       {} since {}, revision {}", life.status.as_str(), name(&life.since), fact.revision),
    ];
    if life.status.is_open() {
        lines.push(format!("carried      {}", carried(card)));
        lines.push(format!("lapses       {}", name(&fact.expires)));
    }
    lines.push(format!("pool         {}   check {}   code {}", name(&fact.pool), name(&fact.check), name(&fact.code)));
    if let Some(decided) = &life.decision {
        let until = decided.fact.until.as_deref().map_or(String::new(), |until| format!(" until {}", name(until)));
        let unless = decided.fact.unless.map_or(String::new(), |unless| format!(" unless {}", unless.as_str()));
        let stands = if stands(life).is_some() || life.status.is_landed() { "" } else { " (stands no more)" };
        let (word, by) = (decided.fact.decision.as_str(), name(&decided.fact.by));
        let reason = text::quote(&decided.fact.reason, Place::Terminal);
        lines.push(format!(
            "decision     {word} of revision {} by {by}{until}{unless}{stands}: {reason}",
            decided.fact.revision
        ));
    }
    if let Some(landing) = &life.landing {
        lines.push(format!("landing      revision {}, detected by run {}", landing.revision, name(&landing.run)));
    }
    lines.push(format!("verification {}", claim::verification(card)));
    lines.extend(claim::rollback(card).map(|rollback| format!("rollback     {rollback}")));
    lines.push(format!("config       {}: {}", name(&fact.path), words(config)));
    lines.push(match (card.file, &card.proposal) {
        (_, Some(proposal)) => details(proposal),
        (FileState::Missing, None) => "file         there is none".to_owned(),
        (_, None) => {
            format!("file         {}; what the ledger knows counts", text::own(&card.why_edited(), Place::Terminal))
        }
    });
    lines.join("\n") + "\n"
}

/// How the definition stands, in words.
fn words(config: ConfigState) -> &'static str {
    match config {
        ConfigState::AsReviewed => "as it was reviewed",
        ConfigState::AsPredicted => "as the change leaves it",
        ConfigState::Moved => "different from what was reviewed and from what the change leaves",
        ConfigState::Unreadable => "not there, or cannot be read",
    }
}

/// What its file adds.
fn details(proposal: &Proposal) -> String {
    let name = |text: &str| text::name(text, Place::Terminal);
    let effect = |effect: &Effect| {
        format!(
            "{} {} by {} {} (90 % interval {} to {})",
            effect.metric, effect.direction, effect.point, effect.unit, effect.lo90, effect.hi90
        )
    };
    let claim = proposal.expected.iter().find(|effect| effect.primary).map(effect).unwrap_or_default();
    let human = text::quote(proposal.change.human(), Place::Terminal);
    let mut lines =
        vec![format!("change       {human}"), format!("expected     {}", text::own(&claim, Place::Terminal))];
    lines.extend(proposal.conditions.iter().map(|condition| {
        let message = text::quote(&condition.message, Place::Terminal);
        format!("condition    {} {}: {message}", name(&condition.r#type), name(&condition.status))
    }));
    let replaced = proposal.supersedes.iter();
    lines.extend(replaced.map(|old| format!("supersedes   {}", text::name(old, Place::Terminal))));
    lines.join("\n")
}

/// The same as JSON, with the whole file.
pub fn show_json(card: &Card<'_>, config: ConfigState) -> String {
    let value = json!({ "schema": SCHEMA, "standing": row(card, config), "proposal": card.proposal });
    format!("{value:#}\n")
}
