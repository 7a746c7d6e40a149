//! The sources a proposal rests on, in the words of its schema.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::propose::instant;
use crate::verdict::{EvidenceRef, Finding};
use crate::vocabulary::{Digest, SourceId, SourceNote};

/// One entry for the file that is to change, then one for each further source that was read and has an as-of time: a
/// source of unknown age is left out, since no instant could be stated for it.
pub(super) fn evidence(finding: &Finding, notes: &[SourceNote], file: &Digest, now: DateTime<Utc>) -> Vec<EvidenceRef> {
    let mut cited: Vec<&SourceNote> = notes.iter().filter(|note| finding.sources.contains(&note.source)).collect();
    cited.sort_by_key(|note| note.source);
    let mut refs = vec![entry(SourceId::Pools, file, now, 1, 0)];
    for note in cited {
        let as_of = match note.source {
            SourceId::Pools | SourceId::Categories => Some(note.as_of.unwrap_or(now)),
            _ => note.as_of,
        };
        if let (Some(digest), Some(as_of)) = (&note.digest, as_of) {
            let known = refs.iter().any(|known| known.digest == digest.as_str());
            if !known {
                refs.push(with_rows(entry(note.source, digest, as_of, note.used, note.rejected), finding));
            }
        }
    }
    refs
}

/// The rows behind a claim in the place of all rows of their source.
fn with_rows(entry: EvidenceRef, finding: &Finding) -> EvidenceRef {
    let Some(claim) = finding.claim.as_ref().filter(|_| entry.source == "sessions") else { return entry };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "weighted rows are few and positive")]
    let weighted_milli = (claim.rows.weighted.max(0.0) * 1e3).round() as u64;
    EvidenceRef {
        rows: claim.rows.rows,
        weighted_milli,
        classes: claim.rows.classes.clone(),
        excluded: claim.rows.excluded.clone(),
        window: claim.rows.window.clone(),
        ..entry
    }
}

/// One entry.
fn entry(source: SourceId, digest: &Digest, as_of: DateTime<Utc>, rows: u64, rejected: u64) -> EvidenceRef {
    let (source, kind, window) = in_schema(source);
    let excluded = if rejected > 0 { BTreeMap::from([("rejected".to_owned(), rejected)]) } else { BTreeMap::new() };
    EvidenceRef {
        source: source.to_owned(),
        kind: kind.to_owned(),
        digest: digest.as_str().to_owned(),
        as_of: instant(as_of),
        window: window.to_owned(),
        rows,
        weighted_milli: rows.saturating_mul(1_000),
        classes: BTreeMap::new(),
        excluded,
    }
}

/// A source's name, kind and span in the schema.
fn in_schema(source: SourceId) -> (&'static str, &'static str, &'static str) {
    match source {
        SourceId::Pools | SourceId::Categories => ("pools", "structure", "file"),
        SourceId::Market => ("market", "market", "snapshot"),
        SourceId::Retirements | SourceId::RetirementList => ("market", "market", "snapshot of end dates"),
        SourceId::OpenRouter | SourceId::Prices => ("market", "market", "snapshot of prices"),
        SourceId::ProviderCatalogue => ("catalogues", "market", "snapshot of a provider's own list"),
        SourceId::Catalogues => ("catalogues", "market", "snapshot"),
        SourceId::Sessions => ("sessions", "own", "rows used"),
        SourceId::SessionStores => ("sessions", "own", "calls used"),
        SourceId::Speeds => ("speeds", "own", "measurements used"),
        SourceId::Quotas => ("quotas", "quota", "point reading"),
    }
}
