//! The babysitter log (`instructions/data/babysitter.md`): one line is one thing seen in a running session.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::table::{self, Cells, Columns, TableFile, effort};
use crate::vocabulary::{PoolId, ProviderId, SitterEvent, SitterRow, SourceId, SourceNote};

/// The columns of a babysitter log.
const COLUMNS: Columns = Columns {
    known: &["at", "session_id", "task_id", "pool", "provider", "model", "effort", "event", "waited_s", "note"],
    required: &["at", "session_id", "provider", "model", "event"],
    one_of: &[],
};

/// Reads a babysitter log, rows in file order; `display` is what the file is called in places.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<SitterRow>, SourceNote) {
    let file = TableFile { path, display, source: SourceId::Sessions, columns: &COLUMNS };
    let (rows, mut note) = table::read(&file, |cells| row(cells, now));
    if note.digest.is_some() {
        table::settle(&mut note, display, rows.iter().map(|row| row.at));
    }
    (rows, note)
}

/// One row, or what is wrong with it.
fn row(cells: &Cells, now: DateTime<Utc>) -> Result<SitterRow, String> {
    let session_id = cells.text("session_id").ok_or("no session_id")?.to_owned();
    let words = SitterEvent::WORDS.map(|(word, _)| word);
    let word = cells.word("event", &words)?.ok_or("event is empty")?;
    let event = SitterEvent::WORDS.iter().find(|(known, _)| *known == word).expect("the word is one of them").1;
    Ok(SitterRow {
        at: cells.past_time("at", now)?,
        session_id,
        task_id: cells.text("task_id").map(str::to_owned),
        pool: cells.text("pool").map(PoolId::new),
        provider: ProviderId::new(cells.needed("provider")?),
        model: cells.needed("model")?.to_owned(),
        effort: effort(cells.text("effort")),
        event,
        waited_s: cells.number("waited_s")?,
        place: cells.place.clone(),
    })
}
