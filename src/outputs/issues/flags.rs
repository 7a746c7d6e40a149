//! Add and retire flags: which proposals ask for an issue, under which id, title and labels, and in which order.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::history::ProposalFact;
use crate::outputs::text::{self, Place};
use crate::outputs::view::shortened;
use crate::verdict::{BarTerm, Baseline, Proposal, Verdict};
use crate::vocabulary::sha256_hex;

/// Longest title.
const MOST_TITLE: usize = 200;

/// Longest name of a label.
const MOST_LABEL: usize = 50;

/// The label that every issue carries and by which they are listed.
pub(super) const LABEL: &str = "pool-review";

/// Statuses of a proposal that somebody may still act on.
const LIVE: [&str; 2] = ["proposed", "accepted"];

/// What an issue asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// A model into a pool.
    Add,
    /// A model out of a pool.
    Retire,
}

impl Action {
    /// The word in ids, titles and labels.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Retire => "retire",
        }
    }
}

/// One flag of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flag<'a> {
    /// `add/<pool>/<model>` or `retire/<pool>/<model>`, in the characters of a marker.
    pub(super) id: String,
    /// What it asks for.
    pub(super) action: Action,
    /// The model.
    pub(super) model: String,
    /// The other half of a replacement: what it asks for, and its model.
    pub(super) other: Option<(Action, String)>,
    /// The proposal it speaks for.
    pub(super) proposal: &'a Proposal,
}

impl Flag<'_> {
    /// The title, at most 200 characters.
    pub(super) fn title(&self) -> String {
        let show = |text: &str| text::name(text, Place::Title);
        let (pool, check) = (show(&self.proposal.pool), &self.proposal.check);
        shortened(&format!("{pool}: {} {} ({check})", self.action.as_str(), show(&self.model)), MOST_TITLE)
    }

    /// The labels: ours, the action, the pool.
    pub(super) fn labels(&self) -> Vec<String> {
        vec![LABEL.to_owned(), format!("model:{}", self.action.as_str()), pool_label(&self.proposal.pool)]
    }
}

/// `pool:<id>`, in at most 50 characters: a longer id is cut and ends in eight digits of its digest.
pub(super) fn pool_label(pool: &str) -> String {
    let label = format!("pool:{}", text::name(pool, Place::Title));
    let is_cut = label.contains('…') || label.chars().count() > MOST_LABEL;
    if !is_cut {
        return label;
    }
    let kept: String = label.trim_end_matches('…').chars().take(MOST_LABEL - 9).collect();
    format!("{kept}-{}", &sha256_hex(pool.as_bytes())[..8])
}

/// The flags of proposals that this run made and that clear their bar. Order: what must go before what may come, the surer
/// claim first, then pool and fingerprint. One id has one flag: the one that the issue shows already, else the first.
pub(super) fn flags<'a>(proposals: &'a [Proposal], shows: &dyn Fn(&str) -> Option<String>) -> Vec<Flag<'a>> {
    let is_made = |proposal: &&Proposal| {
        proposal.baseline_state != Baseline::Absent.as_str()
            && LIVE.contains(&proposal.status.as_str())
            && clears_bar(proposal)
    };
    let mut open: Vec<&Proposal> = proposals.iter().filter(is_made).collect();
    open.sort_by_key(|proposal| {
        (rank(proposal), Reverse(probability(proposal)), &proposal.pool, &proposal.fingerprint)
    });
    let all: Vec<Flag<'a>> = open.into_iter().flat_map(flags_of).collect();
    let kept: BTreeSet<&str> = all
        .iter()
        .filter(|flag| shows(&flag.id).as_ref() == Some(&flag.proposal.fingerprint))
        .map(|flag| flag.id.as_str())
        .collect();
    let is_chosen = |flag: &Flag<'_>| {
        !kept.contains(flag.id.as_str()) || shows(&flag.id).as_ref() == Some(&flag.proposal.fingerprint)
    };
    let mut seen = BTreeSet::new();
    let chosen: Vec<bool> = all.iter().map(|flag| is_chosen(flag) && seen.insert(flag.id.clone())).collect();
    all.into_iter().zip(chosen).filter_map(|(flag, is_chosen)| is_chosen.then_some(flag)).collect()
}

/// Whether a proposal clears a bar that can be counted: misaligned, every threshold passed by its own numbers, and more
/// than a bare fact unless the fact is one of the config or of a catalogue.
fn clears_bar(proposal: &Proposal) -> bool {
    let terms = &proposal.bar.terms;
    let is_quantified = terms.iter().any(|term| term.name != "fact_holds");
    proposal.verdict == Verdict::Misaligned
        && !terms.is_empty()
        && terms.iter().all(passes)
        && (is_quantified || proposal.bar.id == "structural/1")
}

/// Whether a threshold is passed by the numbers it states.
fn passes(term: &BarTerm) -> bool {
    term.pass
        && match term.op.as_str() {
            ">=" => term.value >= term.needed,
            "<=" => term.value <= term.needed,
            _ => term.value == term.needed,
        }
}

/// What must go comes before what may come.
fn rank(proposal: &Proposal) -> u8 {
    match proposal.kind.as_str() {
        "replace_member" => 0,
        "retire_member" => 1,
        _ => 2,
    }
}

/// How sure the primary effect is, in millionths.
fn probability(proposal: &Proposal) -> u64 {
    proposal.expected.iter().find(|effect| effect.primary).map_or(0, |effect| effect.claimed_probability_ppm)
}

/// The flags of one proposal: none, one, or both sides of a replacement.
fn flags_of(proposal: &Proposal) -> Vec<Flag<'_>> {
    let sides = sides(&proposal.kind, &proposal.subject, &proposal.counterpart);
    let flag = |(i, (action, model)): (usize, &(Action, String))| Flag {
        id: id(*action, &proposal.pool, model),
        action: *action,
        model: model.clone(),
        other: (sides.len() == 2).then(|| sides[1 - i].clone()),
        proposal,
    };
    sides.iter().enumerate().map(flag).collect()
}

/// The ids under which a proposal of the ledger has or had issues.
pub(super) fn ids_of(fact: &ProposalFact) -> Vec<String> {
    let sides = sides(&fact.change, &fact.subject, &fact.counterpart);
    sides.iter().map(|(action, model)| id(*action, &fact.pool, model)).collect()
}

/// What a kind of change asks of which model. Swaps, weights and consumers file no issue.
fn sides(kind: &str, subject: &str, counterpart: &str) -> Vec<(Action, String)> {
    let model = |key: &str| model_of(key).to_owned();
    match kind {
        "retire_member" => vec![(Action::Retire, model(subject))],
        "replace_member" if counterpart.is_empty() => vec![(Action::Retire, model(subject))],
        "replace_member" => vec![(Action::Retire, model(subject)), (Action::Add, model(counterpart))],
        "add_member" | "add_trial" => vec![(Action::Add, model(subject))],
        _ => Vec::new(),
    }
}

/// An id.
fn id(action: Action, pool: &str, model: &str) -> String {
    format!("{}/{}/{}", action.as_str(), text::marker(pool), text::marker(model))
}

/// The model of a member key `model@effort#home`; other text as it is.
fn model_of(key: &str) -> &str {
    key.rsplit_once('#').and_then(|(rest, _)| rest.rsplit_once('@')).map_or(key, |(model, _)| model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_at_most_fifty_characters_and_long_pools_keep_apart() {
        assert_eq!(pool_label("scout"), "pool:scout");
        let (a, b) = (pool_label(&"x".repeat(60)), pool_label(&"x".repeat(61)));
        assert_eq!((a.chars().count(), b.chars().count()), (50, 50));
        assert_ne!(a, b);
        let (a, b) = (pool_label(&format!("{}a", "y".repeat(100))), pool_label(&format!("{}b", "y".repeat(100))));
        assert_ne!(a, b);
        assert!(a.chars().count() <= 50 && !a.contains('…'), "{a}");
    }
}
