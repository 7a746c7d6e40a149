//! Bodies that come in several answers: all of them are asked for, held against each other and made one body. A page that
//! repeats, contradicts or never ends is an error, and then nothing is kept.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::http::{Answer, Client, Trouble};
use super::keep::Sidecar;
use super::plan::{Job, Pages};
use crate::settings::Fetch;
use crate::vocabulary::Digest;

/// The whole body of a job.
pub(super) fn get(
    client: &Client<'_>,
    job: &Job,
    limits: &Fetch,
    validators: Option<&Sidecar>,
) -> Result<Answer, Trouble> {
    match job.pages {
        Pages::One => client.get(&job.url, validators),
        Pages::Numbered => numbered(client, job, limits),
        Pages::Following => following(client, job, limits),
    }
}

/// The error of a page.
fn broken(reason: impl Into<String>) -> Trouble {
    Trouble::Lasting(reason.into())
}

/// One page as an object or a list.
fn parsed(answer: &Answer) -> Result<Value, Trouble> {
    serde_json::from_slice(&answer.body)
        .map_err(|error| broken(format!("not accepted: the answer is no JSON: {error}")))
}

/// An address with a further query.
fn with_query(url: &str, query: &str) -> String {
    format!("{url}{}{query}", if url.contains('?') { '&' } else { '?' })
}

/// Text that may stand in a query.
fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to a String cannot fail");
        }
    }
    out
}

/// Numbered pages (`?page=N`), made one page. All must state one index version and count upwards.
fn numbered(client: &Client<'_>, job: &Job, limits: &Fetch) -> Result<Answer, Trouble> {
    let mut rows: Vec<Value> = Vec::new();
    let mut frame: Option<Map<String, Value>> = None;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for number in 1..=limits.max_pages {
        let answer = client.get(&with_query(&job.url, &format!("page={number}")), None)?;
        let Value::Object(mut page) = parsed(&answer)? else { return Err(broken("not accepted: a page is no object")) };
        let Some(Value::Array(data)) = page.remove("data") else {
            return Err(broken("not accepted: a page has no data"));
        };
        let pagination = page.remove("pagination").unwrap_or_default();
        let is_repeated =
            !data.is_empty() && !seen.insert(Digest::of(Value::Array(data.clone()).to_string().as_bytes()).to_string());
        if is_repeated || pagination["page"].as_u64().is_some_and(|stated| stated != u64::from(number)) {
            return Err(broken(format!("not accepted: page {number} repeats an earlier one")));
        }
        rows.extend(data);
        let first = frame.get_or_insert_with(|| page.clone());
        if first.get("intelligence_index_version") != page.get("intelligence_index_version") {
            return Err(broken(format!("not accepted: page {number} states another intelligence_index_version")));
        }
        let is_last = pagination["total_pages"].as_u64().is_none_or(|total| u64::from(number) >= total);
        if is_last && pagination["has_more"] != Value::Bool(true) {
            let mut whole = frame.unwrap_or_default();
            let size = rows.len();
            let one = json!({ "page": 1, "page_size": size, "total_pages": 1, "has_more": false });
            whole.insert("pagination".to_owned(), one);
            whole.insert("data".to_owned(), Value::Array(rows));
            return Ok(Answer { body: Value::Object(whole).to_string().into_bytes(), ..Answer::default() });
        }
    }
    Err(broken(format!("not accepted: more than {} pages", limits.max_pages)))
}

/// A list that says where it goes on (`has_more` with `last_id`, `nextPageToken`), made one list.
fn following(client: &Client<'_>, job: &Job, limits: &Fetch) -> Result<Answer, Trouble> {
    let mut entries: Vec<Value> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut query: Option<String> = None;
    for number in 1..=limits.max_pages {
        let url = query.as_ref().map_or_else(|| job.url.clone(), |query| with_query(&job.url, query));
        let answer = client.get(&url, None)?;
        if !seen.insert(Digest::of(&answer.body).to_string()) {
            return Err(broken(format!("not accepted: page {number} repeats an earlier one")));
        }
        let mut page = parsed(&answer)?;
        query = next(&page);
        let found = if page.is_array() {
            page.take()
        } else {
            ["data", "models"].map(|key| page[key].take()).into_iter().find(Value::is_array).unwrap_or_default()
        };
        let Value::Array(found) = found else { return Err(broken("not accepted: the answer is no list of models")) };
        entries.extend(found);
        if query.is_none() {
            let body = json!({ "object": "list", "data": entries }).to_string().into_bytes();
            return Ok(Answer { body, ..Answer::default() });
        }
    }
    Err(broken(format!("not accepted: more than {} pages", limits.max_pages)))
}

/// The query of the next page, if there is one.
fn next(page: &Value) -> Option<String> {
    if let Some(token) = page.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty()) {
        return Some(format!("pageToken={}", encoded(token)));
    }
    let has_more = page.get("has_more").and_then(Value::as_bool).unwrap_or(false);
    let last = page.get("last_id").and_then(Value::as_str).or_else(|| {
        let rows = page.get("data").and_then(Value::as_array)?;
        rows.last()?.get("id")?.as_str()
    });
    last.filter(|_| has_more).map(|last| format!("after_id={}", encoded(last)))
}
