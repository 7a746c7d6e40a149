//! The JSON files of older releases: messages, and beside them their sessions and tool parts. Ids come from the path: those
//! inside may be stale. What a database says of the same id wins.

use serde_json::Value;

use super::message::{Message, tool_interval};
use super::{Found, Progress, Session, StoreScan, StoreSpec, object};
use crate::sources::sessions::fault;
use crate::sources::sessions::walk::{self, FoundFile};
use crate::vocabulary::Place;

/// Largest file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Reads `storage/`.
pub(super) fn read(spec: &StoreSpec, found: &mut Found, scan: &mut StoreScan, progress: Progress<'_>) {
    for (file, data) in json_files(spec, "storage/session", scan) {
        session(&file, &data, found);
    }
    let files = listed(spec, "storage/message", scan);
    let total: u64 = files.iter().map(|file| file.stat.size).sum();
    let mut done = 0;
    for file in files.iter() {
        done += file.stat.size;
        progress(done, total);
        if let Some(data) = json(spec, &file, scan) {
            let (session, id) = ids(&file);
            if let Some(message) = Message::of_v1(id, session, &data, &mut found.names) {
                found.add(message);
            }
        }
    }
    tools(spec, found, scan);
}

/// The name of the folder of a file, and its own without the ending.
fn ids(file: &FoundFile) -> (&str, &str) {
    let mut parts = file.name.rsplit('/');
    let name = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_default(), name.strip_suffix(".json").unwrap_or(name))
}

/// The files of a folder.
fn listed(spec: &StoreSpec, below: &str, scan: &mut StoreScan) -> walk::Found {
    let (files, faults) = walk::files(&spec.path, &[below], |name| walk::ends(name, ".json"));
    for (name, reason) in faults {
        scan.fault(&format!("{}/{name}", spec.display), &reason);
    }
    files
}

/// The files of a folder with the objects they hold.
fn json_files(spec: &StoreSpec, below: &str, scan: &mut StoreScan) -> Vec<(FoundFile, Value)> {
    let files = listed(spec, below, scan);
    files.iter().filter_map(|file| json(spec, &file, scan).map(|data| (file, data))).collect()
}

/// The object of a file; a file without one is named.
fn json(spec: &StoreSpec, file: &FoundFile, scan: &mut StoreScan) -> Option<Value> {
    scan.input.files += 1;
    scan.input.bytes += file.stat.size;
    let data = if file.stat.size > MOST_BYTES {
        Err(format!("is larger than {} MiB", MOST_BYTES >> 20))
    } else {
        std::fs::read(&file.path).map_err(|error| fault(&error)).and_then(|bytes| object(&bytes))
    };
    data.map_err(|reason| {
        let shown = format!("{}/{}", spec.display, file.name);
        scan.input.malformed_lines += 1;
        scan.fault(&shown, &reason);
        scan.add_damaged(|| Place::new(&shown, 1));
    })
    .ok()
}

/// A session, unless a database knows it.
fn session(file: &FoundFile, data: &Value, found: &mut Found) {
    let names = &mut found.names;
    let id = names.number(ids(file).1);
    let session = Session {
        is_side: data["parentID"].as_str().is_some_and(|parent| !parent.is_empty()),
        folder: names.optional(data["directory"].as_str()),
        agent: names.optional(data["agent"].as_str()),
        ..Session::on(&data["model"], names)
    };
    found.sessions.entry(id).or_insert(session);
}

/// Tool intervals of the messages that may be timed by them.
fn tools(spec: &StoreSpec, found: &mut Found, scan: &mut StoreScan) {
    if !spec.path.join("storage/part").is_dir() {
        return;
    }
    let is_name = |id: &str| !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\']);
    for message in &found.messages {
        let is_asked = message.is_timed_by_tools() && is_name(&message.text_id);
        if !is_asked || found.tools.contains_key(&message.id) {
            continue;
        }
        let parts = json_files(spec, &format!("storage/part/{}", message.text_id), scan);
        let intervals: Vec<_> = parts.iter().filter_map(|(_, part)| tool_interval(part)).collect();
        found.tools.insert(message.id, intervals);
    }
}
