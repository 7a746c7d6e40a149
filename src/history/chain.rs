//! One line of the ledger after another: whether it is unedited and whether it continues the chain.

use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::Fact;
use super::ledger::Event;
use crate::vocabulary::{Digest, canonical_json};

/// What the first event's `prev` is the digest of.
const GENESIS: &[u8] = b"pool-review.ledger/1\n";

/// What stands between an event's data and its hash in canonical form.
const BEFORE_HASH: &str = ",\"hash\":\"sha256:";

/// Hex digits of a hash.
const HEX: usize = 64;

/// Where a chain stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    /// The last event's number.
    pub(super) seq: u64,
    /// The hash that the next event names.
    pub(super) head: String,
    /// Number and start of the hash of every event since the chain was begun here, so that a copy is told from a gap.
    marks: Vec<(u64, u64)>,
}

impl Default for Chain {
    /// An empty chain.
    fn default() -> Self {
        Self::at(0, Digest::of(GENESIS).to_string())
    }
}

impl Chain {
    /// A chain whose last event is known.
    pub(super) fn at(seq: u64, head: String) -> Self {
        Self { seq, head, marks: Vec::new() }
    }

    /// Checks one line and goes on to it; what comes back with its event is the gap before it, if there is one. The error says why
    /// the line is not used.
    pub(super) fn take(&mut self, line: &str) -> Result<(Event, Option<String>), String> {
        let (event, prev) = match at_once(line) {
            Some(read) => read,
            None => step_by_step(line)?,
        };
        let gap = self.gap_before(&event, &prev)?;
        self.seq = event.seq;
        self.head.clone_from(&event.hash);
        self.marks.push((event.seq, mark(&event.hash)));
        Ok((event, gap))
    }

    /// The gap between the last event and the next; `None` when the one continues the other. An event that is there already, or
    /// that belongs before the last one, is an error.
    fn gap_before(&self, event: &Event, prev: &str) -> Result<Option<String>, String> {
        let (last, seq) = (self.seq, event.seq);
        if prev == self.head && seq == last + 1 {
            return Ok(None);
        }
        if seq > last + 1 {
            let (first, last) = (last + 1, seq - 1);
            let which =
                if first == last { format!("event {first} is") } else { format!("events {first} to {last} are") };
            return Ok(Some(format!(
                "continues behind a gap: {which} missing, edited or out of order; what is not there is not used"
            )));
        }
        if seq == last + 1 {
            return Ok(Some(format!(
                "continues another event {last} than the one before it: that one was put in another's place"
            )));
        }
        let known = self.marks.binary_search_by_key(&seq, |(known, _)| *known).map(|index| self.marks[index].1);
        if known == Ok(mark(&event.hash)) {
            return Err(format!("is a copy of event {seq}"));
        }
        Err(format!("is out of order: event {seq} stands behind event {last}"))
    }
}

/// The start of a hash.
fn mark(hash: &str) -> u64 {
    let hex = hash.strip_prefix("sha256:").and_then(|hex| hex.get(..16));
    hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or_default()
}

/// What stands behind an event's hash.
#[derive(Deserialize)]
struct Rest<'a> {
    /// What the event says.
    kind: String,
    /// The hash before it.
    #[serde(borrow)]
    prev: &'a str,
    /// The run.
    run: String,
    /// Its number.
    seq: u64,
}

/// An event and the hash it hangs on, of a line that is as it was written: the bytes without the hash have that hash. `None`
/// when the line is anything else, or hard to tell.
fn at_once(line: &str) -> Option<(Event, String)> {
    let at = line.rfind(BEFORE_HASH)?;
    let hash = line.get(at + BEFORE_HASH.len() - "sha256:".len()..at + BEFORE_HASH.len() + HEX)?;
    let rest = line[at + BEFORE_HASH.len() + HEX..].strip_prefix('"')?;
    if Digest::of(format!("{}{rest}", &line[..at]).as_bytes()).as_str() != hash {
        return None;
    }
    let (instant, data) = line[..at].strip_prefix("{\"at\":\"")?.split_once("\",\"data\":")?;
    let tail = format!("{{{}", rest.strip_prefix(',')?);
    let tail: Rest<'_> = serde_json::from_str(&tail).ok()?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
    if !is_plain(instant) || !is_plain(&tail.kind) {
        return None;
    }
    // The data must be a value by itself, or what was cut was no event.
    let fact = serde_json::from_str::<Fact>(&format!("{{\"kind\":\"{}\",\"data\":{data}}}", tail.kind));
    let fact = match fact {
        Ok(fact) => Some(fact),
        Err(_) if serde_json::from_str::<Value>(data).is_ok() => None,
        Err(_) => return None,
    };
    let event = Event { seq: tail.seq, at: instant.to_owned(), run: tail.run, fact, hash: hash.to_owned() };
    Some((event, tail.prev.to_owned()))
}

/// The same of any line, with what is wrong with it.
fn step_by_step(line: &str) -> Result<(Event, String), String> {
    let mut value: Value = serde_json::from_str(line).map_err(|error| format!("is not JSON: {error}"))?;
    if canonical_json(&value) != line {
        return Err("was edited: it is not in canonical form".to_owned());
    }
    let hash = value.as_object_mut().and_then(|object| object.remove("hash"));
    let hash = hash.and_then(|hash| hash.as_str().map(str::to_owned)).ok_or("has no hash")?;
    if Digest::of_json(&value).as_str() != hash {
        return Err("was edited: its hash does not fit its content".to_owned());
    }
    let prev = value["prev"].as_str().unwrap_or_default().to_owned();
    let event = event_of(&value, hash).ok_or("is not a ledger event: seq, at or run is missing")?;
    Ok((event, prev))
}

/// The event of a checked value.
fn event_of(value: &Value, hash: String) -> Option<Event> {
    let fact = json!({ "kind": value["kind"], "data": value["data"] });
    Some(Event {
        seq: value["seq"].as_u64()?,
        at: value["at"].as_str()?.to_owned(),
        run: value["run"].as_str()?.to_owned(),
        fact: serde_json::from_value(fact).ok(),
        hash,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at_once, step_by_step};
    use crate::vocabulary::{Digest, canonical_json};

    /// A line that hashes right.
    fn line(mut event: serde_json::Value) -> String {
        event["hash"] = Digest::of_json(&event).as_str().into();
        canonical_json(&event)
    }

    #[test]
    fn a_line_is_read_at_once_as_it_is_step_by_step() {
        let hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for data in [json!({"models": ["a", "b"]}), json!({"models": [format!("x\",\"hash\":\"{hash}")]}), json!(null)]
        {
            for kind in ["first_seen", "of_a_later_version"] {
                let event = json!({"at": "2026-11-29T12:00:00Z", "data": data, "kind": kind, "prev": "p", "run": "r", "seq": 3});
                let line = line(event);
                assert_eq!(at_once(&line), step_by_step(&line).ok(), "{line}");
                assert!(at_once(&line).is_some());
            }
        }
        let edited = line(json!({"at": "a", "data": 1, "kind": "k", "prev": "p", "run": "r", "seq": 3}))
            .replace("\"seq\":3", "\"seq\":4");
        assert_eq!(at_once(&edited), None);
    }
}
