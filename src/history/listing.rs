//! What providers list since the last accepted catalogue: ids that came, and ids that went, with an end date or without one.
//! An id that went without a date is not listed any more; that is no end.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use crate::verdict::Sentence;

/// Most names of one kind in a sentence.
const SHOWN: usize = 5;

/// Provider → the ids under which it offers text.
pub type Listing = BTreeMap<String, BTreeSet<String>>;

/// What changed in the list of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingChange {
    /// The provider.
    pub provider: String,
    /// Ids that came, sorted.
    pub added: Vec<String>,
    /// Ids that went and that some source gave an end date, sorted.
    pub ended: Vec<(String, NaiveDate)>,
    /// Ids that went and that no source gave one, sorted.
    pub undated: Vec<String>,
}

/// The changes from one catalogue to the next, of the providers that both hold.
pub fn changes(
    before: &Listing,
    now: &Listing,
    end_of: impl Fn(&str, &str) -> Option<NaiveDate>,
) -> Vec<ListingChange> {
    let one = |(provider, ids): (&String, &BTreeSet<String>)| {
        let known = before.get(provider)?;
        let mut change = ListingChange {
            provider: provider.clone(),
            added: ids.difference(known).cloned().collect(),
            ended: Vec::new(),
            undated: Vec::new(),
        };
        for id in known.difference(ids) {
            match end_of(provider, id) {
                Some(day) => change.ended.push((id.clone(), day)),
                None => change.undated.push(id.clone()),
            }
        }
        let is_same = change.added.is_empty() && change.ended.is_empty() && change.undated.is_empty();
        (!is_same).then_some(change)
    };
    now.iter().filter_map(one).collect()
}

impl ListingChange {
    /// The change as one line.
    pub fn sentence(&self) -> Sentence {
        let gone = self.ended.len() + self.undated.len();
        let counts = format!(" since the last accepted one: {} more, {gone} fewer", self.added.len());
        let mut said = Sentence::new().own("catalogue of ").name(&self.provider).own(counts);
        if !self.added.is_empty() {
            said = shortened(said.own("; more: "), &self.added);
        }
        if !self.ended.is_empty() {
            let dated: Vec<String> = self.ended.iter().map(|(id, day)| format!("{id} ({day})")).collect();
            said = shortened(said.own("; fewer, with an end date: "), &dated);
        }
        if !self.undated.is_empty() {
            said = shortened(said.own("; not listed any more, no retirement date, confirm: "), &self.undated);
        }
        said
    }
}

/// The first few names, and how many more.
pub(super) fn shortened(sentence: Sentence, names: &[String]) -> Sentence {
    let shown = names.len().min(SHOWN);
    let sentence = sentence.names(&names[..shown]);
    if names.len() > shown { sentence.own(format!(" and {} more", names.len() - shown)) } else { sentence }
}
