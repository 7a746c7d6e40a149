//! The retirement list: end dates as the providers' own pages state them, the second opinion on the price map's. An empty
//! date means that the day is not known, never that it is today.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::body::Body;
use super::loose::{List, Loose, Object, day};
use super::read_one;
use crate::vocabulary::{ListedEnd, ProviderId, SourceId, SourceNote};

/// One record as sent.
#[derive(Deserialize)]
struct Row {
    /// Provider as people write it.
    #[serde(default)]
    provider: Loose<String>,
    /// Model id as that provider writes it.
    #[serde(default)]
    model_id: Loose<String>,
    /// `YYYY-MM-DD`, or empty.
    #[serde(default)]
    shutdown_date: Loose<String>,
    /// Ids or text.
    #[serde(default)]
    replacement_models: Loose<List<String>>,
    /// The page that says so.
    #[serde(default)]
    url: Loose<String>,
}

/// Reads the list: rows sorted by provider and model, and the note.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<ListedEnd>, SourceNote) {
    read_one((path, display), now, SourceId::RetirementList, rows)
}

/// The rows of a body.
pub(super) fn rows(body: &Body, note: &mut SourceNote) -> Result<Vec<ListedEnd>, String> {
    let Some(List(records)) = body.parse::<Loose<List<Object<Row>>>>()?.lenient() else {
        return Err(format!("{}:1: is no retirement list: not a list", body.display));
    };
    note.rows = records.len() as u64;
    let mut rows = Vec::new();
    for (at, record) in records.into_iter().enumerate() {
        match row(record) {
            Ok(row) => rows.push(row),
            Err(reason) => body.reject(note, "", false, format!("row {}: {reason}", at + 1)),
        }
    }
    rows.sort_by(|a, b| (&a.provider, &a.model, a.ends).cmp(&(&b.provider, &b.model, b.ends)));
    Ok(rows)
}

/// One record as a row.
fn row(record: Loose<Object<Row>>) -> Result<ListedEnd, String> {
    let Loose::Value(Object(record)) = record else { return Err("is not an object".to_owned()) };
    let text = |value: Loose<String>, key: &str| -> Result<String, String> {
        value.get(key)?.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("{key} is missing"))
    };
    let ends = match record.shutdown_date.get("shutdown_date")?.filter(|text| !text.trim().is_empty()) {
        Some(text) => Some(day(&text).ok_or_else(|| format!("shutdown_date {text:?} is no day"))?),
        None => None,
    };
    let named = record.replacement_models.lenient().map(|list| list.0).unwrap_or_default();
    Ok(ListedEnd {
        provider: provider(&text(record.provider, "provider")?),
        model: text(record.model_id, "model_id")?,
        ends,
        successors: named.into_iter().filter_map(Loose::lenient).filter(|text| !text.trim().is_empty()).collect(),
        stated_by: record.url.lenient().filter(|text| !text.trim().is_empty()),
    })
}

/// A provider in the catalogue's spelling.
fn provider(name: &str) -> ProviderId {
    ProviderId::new(match name {
        "Google Vertex" => "google-vertex".to_owned(),
        "xAI" => "xai".to_owned(),
        other => other.to_lowercase().replace(' ', "-"),
    })
}
