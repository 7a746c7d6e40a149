//! What the outside world says about models: quality, speed and price (Artificial Analysis), offers (models.dev, `OpenRouter`,
//! the providers' own lists), end dates and successors (`LiteLLM`, the retirement list), dated prices (genai-prices). Bodies
//! are read whole, capped, and turned into rows; a broken row is counted.

pub mod artificial_analysis;
mod body;
pub mod genai_prices;
pub mod litellm;
mod loose;
pub mod models_dev;
pub mod openrouter;
pub mod provider_list;
pub mod retirement_list;

#[cfg(test)]
mod tests;

use std::path::Path;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use crate::vocabulary::{Digest, SourceId, SourceNote, SourceState};
use body::{Body, fetched_at, sidecar_of};

/// Prices are stated per million tokens.
const MILLION: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

/// Reads a source that is one body: its rows and note. As-of is the sidecar's `fetched_at`. Bytes that are no such body give a
/// `Failed` note and no row.
fn read_one<T>(
    (path, display): (&Path, &str),
    now: DateTime<Utc>,
    source: SourceId,
    rows: impl Fn(&Body, &mut SourceNote) -> Result<Vec<T>, String>,
) -> (Vec<T>, SourceNote) {
    match Body::read(path, display) {
        Ok(body) => {
            let (rows, mut note) = read_body(&body, source, rows);
            note.as_of = fetched_at(&sidecar_of(path), now);
            (rows, note)
        }
        Err(reason) => (Vec::new(), SourceNote::failed(source, reason)),
    }
}

/// Turns one body into rows and a note without as-of. No row at all is a failure.
fn read_body<T>(
    body: &Body,
    source: SourceId,
    rows: impl Fn(&Body, &mut SourceNote) -> Result<Vec<T>, String>,
) -> (Vec<T>, SourceNote) {
    let mut note = SourceNote::new(source, SourceState::Fresh);
    note.digest = Some(Digest::of(&body.bytes));
    let found = rows(body, &mut note).and_then(|rows| {
        if rows.is_empty() { Err(format!("{}:1: holds no usable row", body.display)) } else { Ok(rows) }
    });
    match found {
        Ok(rows) => {
            note.used = rows.len() as u64;
            (rows, note)
        }
        Err(reason) => {
            note.state = SourceState::Failed(reason);
            (Vec::new(), note)
        }
    }
}

/// The most rows of a body, or of the snapshot in a folder, since `fetch` took fewer of them on purpose; `None` when it never did.
pub fn settled_measure(path: &Path) -> Option<u64> {
    let body = if path.is_dir() { path.join(artificial_analysis::WHOLE) } else { path.to_path_buf() };
    body::settled_measure(&sidecar_of(&body))
}

/// What a body is supposed to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// A whole Artificial Analysis snapshot.
    Market,
    /// models.dev.
    Catalogues,
    /// The `LiteLLM` map.
    Retirements,
    /// `OpenRouter`'s list.
    OpenRouter,
    /// genai-prices.
    Prices,
    /// The retirement list.
    RetirementList,
    /// A provider's own list.
    ProviderList,
}

/// How many usable rows bytes hold when they are read as a body of this kind; the reason when they are none. Nothing is kept.
pub fn count_rows(kind: BodyKind, bytes: Vec<u8>) -> Result<u64, String> {
    let body = Body::new("body", bytes);
    let one = |note: SourceNote| match note.state {
        SourceState::Failed(reason) => Err(reason),
        _ => Ok(note.used),
    };
    match kind {
        BodyKind::Market => one(artificial_analysis::read_bodies(&[body], "body").2),
        BodyKind::Catalogues => one(models_dev::read_body(&body).1),
        BodyKind::Retirements => one(litellm::read_body(&body).1),
        BodyKind::OpenRouter => one(read_body(&body, SourceId::OpenRouter, openrouter::rows).1),
        BodyKind::Prices => one(read_body(&body, SourceId::Prices, genai_prices::rows).1),
        BodyKind::RetirementList => one(read_body(&body, SourceId::RetirementList, retirement_list::rows).1),
        BodyKind::ProviderList => provider_list::page(&body).map(|page| page.rows),
    }
}
