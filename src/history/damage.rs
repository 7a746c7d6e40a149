//! Which lines of a damaged ledger may have spoken of a proposal, so that a message blames the line and not the proposal.

use std::collections::BTreeMap;

/// How a fingerprint begins.
const PREFIX: &str = "pcr1-";

/// Hex digits of a fingerprint.
const DIGITS: usize = 32;

/// Lines that are not used, counted from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// Fingerprint → the last line that names it.
    named: BTreeMap<String, usize>,
    /// The first line that names none, or behind which an event is gone.
    unnamed: Option<usize>,
}

impl Damage {
    /// Takes a line in that is not used, and why. A copy of a line that is used takes nothing away.
    pub(super) fn add(&mut self, line: usize, text: &str, reason: &str) {
        if reason.starts_with("is a copy") {
            return;
        }
        let mut names_any = false;
        for (at, _) in text.match_indices(PREFIX) {
            let Some(hex) = text.get(at + PREFIX.len()..at + PREFIX.len() + DIGITS) else { continue };
            if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                self.named.insert(format!("{PREFIX}{hex}"), line);
                names_any = true;
            }
        }
        if !names_any {
            self.unnamed.get_or_insert(line);
        }
    }

    /// Takes a gap in: the line behind what is gone.
    pub(super) fn add_gap(&mut self, line: usize) {
        self.unnamed.get_or_insert(line);
    }

    /// The line that names a proposal, else one that may have.
    pub(super) fn line(&self, fingerprint: &str) -> Option<usize> {
        self.named.get(fingerprint).copied().or(self.unnamed)
    }
}
