//! What a provider itself lists (`/v1/models` and its many shapes). Such a list decides what is offered, so it counts only
//! when it is whole: an empty list, a page of HTML or a first page of several proves nothing.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::artificial_analysis::page_files;
use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{List, Loose, Object};
use crate::vocabulary::{Digest, ProviderId, ProviderList, SourceId, SourceNote, SourceState};

/// A body as sent, in any of its shapes but the bare list.
#[derive(Deserialize)]
struct Envelope {
    /// `OpenAI`, `Anthropic`, Mistral, llama.cpp, gateways.
    #[serde(default)]
    data: Loose<List<Object<Row>>>,
    /// Google, xAI; llama.cpp beside `data`.
    #[serde(default)]
    models: Loose<List<Object<Row>>>,
    /// `Anthropic`: more pages follow.
    #[serde(default)]
    has_more: Loose<bool>,
    /// Google: more pages follow.
    #[serde(default, rename = "nextPageToken")]
    next_page_token: Loose<String>,
}

/// One entry as sent.
#[derive(Deserialize)]
struct Row {
    /// The id.
    #[serde(default)]
    id: Loose<String>,
    /// Google: `models/<id>`.
    #[serde(default)]
    name: Loose<String>,
    /// Other names of the same entry (xAI, Mistral).
    #[serde(default)]
    aliases: Loose<List<String>>,
}

/// The ids of one page, and whether more pages follow. The error is `path:line: reason`.
pub(super) struct ListPage {
    /// Ids and aliases.
    pub(super) ids: BTreeSet<String>,
    /// The entries, without their aliases.
    pub(super) rows: u64,
    /// Whether it says that more follow.
    pub(super) has_more: bool,
}

/// Reads one file `<provider>.json`, or every such file of a folder: one list per provider, and one note over all of them. A
/// provider whose list is not whole is left out, by name.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<ProviderList>, SourceNote) {
    let mut note = SourceNote::new(SourceId::ProviderCatalogue, SourceState::Fresh);
    let files = match page_files(path, display) {
        Ok(files) => files,
        Err(reason) => return (Vec::new(), SourceNote::failed(SourceId::ProviderCatalogue, reason)),
    };
    let (mut lists, mut bytes, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (file, shown) in files {
        let provider = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        match Body::read(&file, &shown).and_then(|body| whole(&body).map(|page| (body, page))) {
            Ok((body, page)) => {
                note.rows += page.rows;
                bytes.extend_from_slice(&body.bytes);
                times.push(fetched_at(&sidecar_of(&file), now));
                lists.push(ProviderList { provider: ProviderId::new(provider), ids: page.ids });
            }
            Err(reason) => note.remarks.push(format!("list not accepted: {reason}")),
        }
    }
    note.used = note.rows;
    note.digest = (!bytes.is_empty()).then(|| Digest::of(&bytes));
    note.as_of = times.into_iter().collect::<Option<Vec<_>>>().and_then(|times| times.into_iter().min());
    if lists.is_empty() {
        note.state = SourceState::Failed(format!("{display}:1: holds no whole list of a provider"));
    }
    (lists, note)
}

/// A body that is a whole list.
fn whole(body: &Body) -> Result<ListPage, String> {
    let page = page(body)?;
    if page.has_more {
        return Err(format!("{}:1: is one page of several", body.display));
    }
    Ok(page)
}

/// One page in any shape. An empty one is an error: it proves nothing.
pub(super) fn page(body: &Body) -> Result<ListPage, String> {
    let (rows, has_more) = match body.parse::<Loose<Object<Envelope>>>()? {
        Loose::Value(Object(envelope)) => {
            let has_more = envelope.has_more.lenient().unwrap_or(false)
                || envelope.next_page_token.lenient().is_some_and(|token| !token.is_empty());
            (envelope.data.lenient().or(envelope.models.lenient()), has_more)
        }
        _ => (body.parse::<Loose<List<Object<Row>>>>()?.lenient(), false),
    };
    let Some(List(rows)) = rows else { return Err(format!("{}:1: is no list of models", body.display)) };
    let mut ids = BTreeSet::new();
    let mut used = 0;
    for Object(row) in rows.into_iter().filter_map(Loose::lenient) {
        let name = || row.name.clone().lenient().map(|name| name.trim_start_matches("models/").to_owned());
        let Some(id) = row.id.clone().lenient().or_else(name).filter(|id| !id.is_empty()) else { continue };
        ids.insert(id);
        used += 1;
        ids.extend(row.aliases.lenient().map(|list| list.0).unwrap_or_default().into_iter().filter_map(Loose::lenient));
    }
    if ids.is_empty() {
        return Err(format!("{}:1: lists no model", body.display));
    }
    Ok(ListPage { ids, rows: used, has_more })
}
