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
