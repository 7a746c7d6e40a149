//! The one room that speaks to a tracker: GitHub's REST API, or one that speaks like it. One call is one request; only reads are
//! repeated, within bounds. What a server says comes back in one line, and the token is in none of them.

mod reply;
mod wire;

use std::time::Duration;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use octocrab::Octocrab;
use octocrab::service::middleware::retry::RetryConfig;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::outputs::issues::{Answer, Draft, Edit, Listed, Listing, NewState, Tracker, Trouble};
use reply::{Reply, next_path, path_of, short};
use wire::{WireComment, WireIssue, WireLabel, WireNumber, WireUser};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a read is asked again.
const REPEATS: u32 = 2;

/// Longest wait before a read is asked again.
const MOST_WAIT: Duration = Duration::from_mins(1);

/// Most pages of a list.
const MOST_PAGES: usize = 1_000;

/// Items of a page: the most that the server gives.
const PER_PAGE: usize = 100;

/// What a client needs to know.
pub struct Access<'a> {
    /// Base address of the REST API.
    pub api: &'a str,
    /// `owner/name`.
    pub repository: &'a str,
    /// The login that it files under, where it cannot be asked for.
    pub login: Option<&'a str>,
    /// Longest wait for one answer.
    pub timeout: Duration,
}

/// A client for one repository.
pub struct GitHub<'a> {
    /// What it knows.
    access: Access<'a>,
    /// Runs one call at a time on this thread.
    runtime: tokio::runtime::Runtime,
    /// The client.
    client: Octocrab,
    /// The wall clock.
    clock: &'a dyn Fn() -> DateTime<Utc>,
    /// Waits.
    sleep: &'a dyn Fn(Duration),
}

/// One request.
enum Request<'a> {
    /// Reads.
    Get,
    /// Makes something.
    Post(&'a Value),
    /// Changes something.
    Patch(&'a Value),
}

impl<'a> GitHub<'a> {
    /// A client. Nothing is sent yet. Errors: an address that is none, a token that no header can hold; neither is quoted.
    pub fn new(
        access: Access<'a>,
        token: &str,
        clock: &'a dyn Fn() -> DateTime<Utc>,
        sleep: &'a dyn Fn(Duration),
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("building the GitHub client")?;
        let client = {
            let _guard = runtime.enter();
            Octocrab::builder()
                .base_uri(access.api.trim_end_matches('/'))
                .ok()
                .and_then(|builder| {
                    builder
                        .personal_token(token.trim().to_owned())
                        .add_retry_config(RetryConfig::None)
                        .set_connect_timeout(Some(CONNECT.min(access.timeout)))
                        .set_read_timeout(Some(access.timeout * 2))
                        .set_write_timeout(Some(access.timeout * 2))
                        .build()
                        .ok()
                })
                .context("building the GitHub client: its address or its token is not usable")?
        };
        Ok(Self { access, runtime, client, clock, sleep })
    }

    /// A path below the repository.
    fn path(&self, rest: &str) -> String {
        format!("/repos/{}/{rest}", self.access.repository)
    }

    /// Sends one request, once. The bound on the whole exchange is the one that counts; those of the connection lie beyond it.
    fn send(&self, path: &str, request: &Request<'_>) -> Result<Reply, String> {
        let exchange = async {
            let answered = match request {
                Request::Get => self.client._get(path).await,
                Request::Post(body) => self.client._post(path, Some(*body)).await,
                Request::Patch(body) => self.client._patch(path, Some(*body)).await,
            };
            let response = answered.map_err(|error| short(&error))?;
            let head = Reply::head(response.status().as_u16(), &response.status().to_string(), |name| {
                Some(response.headers().get(name)?.to_str().ok()?.to_owned())
            });
            let body = self.client.body_to_string(response).await;
            let body = body.map_err(|_| format!("GitHub answered {}, and the answer broke off", head.status_line))?;
            Ok(head.with_body(body))
        };
        let limited = async { tokio::time::timeout(self.access.timeout, exchange).await };
        let seconds = self.access.timeout.as_secs_f64();
        self.runtime.block_on(limited).unwrap_or_else(|_| Err(format!("GitHub did not answer within {seconds} s")))
    }

    /// Reads, with patience: what may pass is asked again after a wait, as long as the server says if that is within bounds.
    fn read(&self, path: &str) -> Result<Reply, Trouble> {
        let mut wait = Duration::from_secs(1);
        for left in (0..=REPEATS).rev() {
            let (reason, pause) = match self.send(path, &Request::Get) {
                Ok(reply) if reply.is_success() => return Ok(reply),
                Ok(reply) if matches!(reply.status, 404 | 410) => return Err(Trouble::Gone(reply.said())),
                Ok(reply) => match reply.pause((self.clock)(), wait) {
                    Some(pause) => (reply.said(), pause),
                    None => return Err(Trouble::Refused(reply.said())),
                },
                Err(reason) => (reason, wait),
            };
            if left == 0 || pause > MOST_WAIT {
                let hint = format!("; it may be asked again in {} s", pause.as_secs());
                let hint = if pause > MOST_WAIT { hint } else { String::new() };
                return Err(Trouble::Unclear(format!("{reason}{hint}")));
            }
            (self.sleep)(pause);
            wait *= 2;
        }
        unreachable!("the last attempt returns")
    }

    /// Reads one thing.
    fn get<T: DeserializeOwned>(&self, path: &str) -> Answer<T> {
        let reply = self.read(path)?;
        serde_json::from_str(&reply.body).map_err(|_| {
            Trouble::Unclear(format!("GitHub answered {}, and the answer cannot be read", reply.status_line))
        })
    }

    /// Reads all pages of a list.
    fn pages<T: DeserializeOwned>(&self, path: &str) -> Answer<Vec<T>> {
        let (mut all, mut next) = (Vec::new(), path.to_owned());
        for page in 1..=MOST_PAGES {
            let reply = self.read(&next)?;
            let items: Vec<T> = serde_json::from_str(&reply.body)
                .map_err(|_| Trouble::Unclear(format!("page {page} of the list cannot be read")))?;
            all.extend(items);
            match reply.link.as_deref().and_then(|link| next_path(link, &path_of(self.access.api))) {
                Some(path) if path != next => next = path,
                Some(_) => return Err(Trouble::Unclear(format!("page {page} of the list leads to itself"))),
                None => return Ok(all),
            }
        }
        Err(Trouble::Unclear(format!("the list has more than {MOST_PAGES} pages")))
    }

    /// Writes, once. A server in trouble, a lost connection and an answer that broke off leave it open whether it happened.
    fn write(&self, path: &str, request: &Request<'_>) -> Answer<Reply> {
        let reply = self.send(path, request).map_err(Trouble::Unclear)?;
        match reply.status {
            200..=299 => Ok(reply),
            404 | 410 => Err(Trouble::Gone(reply.said())),
            300..=499 => Err(Trouble::Refused(reply.said_with_wait((self.clock)()))),
            _ => Err(Trouble::Unclear(reply.said())),
        }
    }
}

impl Tracker for GitHub<'_> {
    fn login(&self) -> Answer<String> {
        if let Some(login) = self.access.login {
            return Ok(login.to_owned());
        }
        match self.get::<WireUser>("/user") {
            Ok(user) => Ok(user.login),
            Err(Trouble::Refused(reason)) => {
                Err(Trouble::Refused(format!("{reason} (asked for the token's login; issues.login may state it)")))
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn list(&self, listing: Listing<'_>) -> Answer<Vec<Listed>> {
        let filter = match listing {
            Listing::Label(label) => format!("labels={}", encoded(label)),
            Listing::Creator(login) => format!("creator={}", encoded(login)),
        };
        let path = self.path(&format!("issues?state=all&{filter}&per_page={PER_PAGE}"));
        let issues: Vec<WireIssue> = self.pages(&path)?;
        Ok(issues.into_iter().filter(|issue| !issue.is_pull_request()).map(WireIssue::listed).collect())
    }

    fn issue(&self, number: u64) -> Answer<Listed> {
        let issue: WireIssue = self.get(&self.path(&format!("issues/{number}")))?;
        if issue.number == number && !issue.is_pull_request() {
            Ok(issue.listed())
        } else {
            Err(Trouble::Gone(format!("#{number} is no issue of this repository any more")))
        }
    }

    fn comments(&self, number: u64, login: &str) -> Answer<Vec<String>> {
        let path = self.path(&format!("issues/{number}/comments?per_page={PER_PAGE}"));
        let comments: Vec<WireComment> = self.pages(&path)?;
        Ok(comments.into_iter().filter_map(|comment| comment.by(login)).collect())
    }

    fn has_label(&self, name: &str) -> Answer<bool> {
        match self.get::<WireLabel>(&self.path(&format!("labels/{}", encoded(name)))) {
            Ok(label) => Ok(label.name.to_lowercase() == name.to_lowercase()),
            Err(Trouble::Gone(_)) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    fn make_label(&self, name: &str, colour: &str, description: &str) -> Answer<()> {
        let body = json!({ "name": name, "color": colour, "description": description });
        self.write(&self.path("labels"), &Request::Post(&body)).map(drop)
    }

    fn create(&self, draft: &Draft) -> Answer<Listed> {
        let body = json!({ "title": draft.title, "body": draft.body, "labels": draft.labels });
        let reply = self.write(&self.path("issues"), &Request::Post(&body))?;
        let is_new = reply.status == 201;
        let made = serde_json::from_str::<WireNumber>(&reply.body).ok().filter(|_| is_new);
        let made = made.ok_or_else(|| {
            Trouble::Unclear(format!("GitHub answered {}, and the answer cannot be read", reply.status_line))
        })?;
        Ok(Listed { number: made.number, is_open: true, ..Listed::default() })
    }

    fn edit(&self, number: u64, edit: &Edit) -> Answer<()> {
        let mut body = serde_json::Map::new();
        body.extend(edit.title.as_ref().map(|title| ("title".to_owned(), json!(title))));
        body.extend(edit.body.as_ref().map(|text| ("body".to_owned(), json!(text))));
        if let Some(state) = edit.state {
            let (word, reason) = match state {
                NewState::Open => ("open", "reopened"),
                closed => ("closed", closed.as_str()),
            };
            body.insert("state".to_owned(), json!(word));
            body.insert("state_reason".to_owned(), json!(reason));
        }
        self.write(&self.path(&format!("issues/{number}")), &Request::Patch(&Value::Object(body))).map(drop)
    }

    fn comment(&self, number: u64, text: &str) -> Answer<()> {
        let path = self.path(&format!("issues/{number}/comments"));
        self.write(&path, &Request::Post(&json!({ "body": text }))).map(drop)
    }
}

/// Text in a path or query: everything but letters, digits and `-._~` percent-encoded.
fn encoded(text: &str) -> String {
    let piece = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(piece).collect()
}
