//! What there is to say about the reading and counting of a store.

use std::collections::BTreeMap;

use super::{StoreInput, StoreScan};

impl StoreScan {
    /// What to say about the reading and counting of a store, one sentence each.
    pub fn remarks(&self, name: &str) -> Vec<String> {
        let responses: u64 = self.rows.iter().map(|row| row.sums.responses).sum();
        let incomplete: u64 = self.rows.iter().map(|row| row.sums.output_incomplete).sum();
        let StoreInput { files, lines, malformed_lines, open_tails, .. } = self.input;
        let mut remarks = vec![format!("{name}: {responses} responses in {files} files and {lines} lines")];
        let damaged: Vec<String> = self.damaged.iter().map(ToString::to_string).collect();
        let kinds = |kinds: &BTreeMap<String, u64>| {
            kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
        };
        let notes = &self.notes;
        let facts = [
            (malformed_lines, format!("damaged lines, the first: {}", damaged.join(", "))),
            (open_tails - self.cut_tails, "last lines still being written: read next time".to_owned()),
            (self.fault_count, format!("files or folders not read: {}", self.faults.join("; "))),
            (incomplete, format!("of {responses} responses have no final count; the output sum is a lower bound")),
            (self.unknown_kinds.values().sum(), format!("records of unknown kinds: {}", kinds(&self.unknown_kinds))),
            (notes.undated, "responses without a time, put on the day of their file".to_owned()),
            (notes.split_unknown, "tokens written to cache for an unknown time: not priced".to_owned()),
            (notes.codex_orphan_replay_tokens, "tokens of copied work whose own file is gone: not counted".to_owned()),
            (notes.copies_dropped, "copies of calls under another id: not counted".to_owned()),
            (notes.repeated, "rows of calls that stand in other rows too: each call counts once".to_owned()),
            (notes.capped, "responses state more tokens than a call can use: counted as 4294967295".to_owned()),
            (notes.cache_hits, "answers from a cache: left out".to_owned()),
            (notes.not_generation, "calls that generate nothing: left out".to_owned()),
            (notes.not_billed, "responses with tokens and no bill: cost unknown".to_owned()),
            (
                notes.silent,
                "messages without tokens and without an error, as those still under way: not counted".to_owned(),
            ),
        ];
        remarks.extend(
            facts.into_iter().filter(|(count, _)| *count > 0).map(|(count, fact)| format!("{name}: {count} {fact}")),
        );
        remarks.extend(self.asides.iter().map(|aside| format!("{name}: {aside}")));
        remarks.extend(self.gaps.iter().cloned());
        remarks
    }
}
