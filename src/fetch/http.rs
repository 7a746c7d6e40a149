//! One request and its answer: bounded in time and size, repeated with patience, redirected by hand so that a key never
//! reaches another host. What an error says is one line and holds neither key nor query.

use std::time::Duration;

use chrono::{DateTime, Utc};
use ureq::Agent;
use ureq::http::{HeaderMap, Response};

use super::Surroundings;
use super::keep::Sidecar;
use super::plan::Job;
use super::proxy::proxy_for;
use crate::settings::{Auth, Fetch};

/// Most redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// A body as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// The bytes, decompressed.
    pub(super) body: Vec<u8>,
    /// The server's tag.
    pub(super) etag: Option<String>,
    /// The server's time of change.
    pub(super) last_modified: Option<String>,
}

/// Why there is no body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The server says that ours is current.
    NotModified,
    /// It may be better in a while; the server may say when.
    Passing(String, Option<Duration>),
    /// Asking again does not help.
    Lasting(String),
}

impl Trouble {
    /// The reason in one line.
    pub(super) fn reason(self) -> String {
        match self {
            Self::NotModified => "not modified".to_owned(),
            Self::Passing(reason, _) | Self::Lasting(reason) => reason,
        }
    }
}

/// Asks for the bodies of one job.
pub(super) struct Client<'a> {
    /// Limits.
    limits: &'a Fetch,
    /// The job.
    job: &'a Job,
    /// The header that carries the key.
    secret: Option<(&'static str, String)>,
    /// The world outside.
    around: &'a Surroundings<'a>,
}

impl<'a> Client<'a> {
    /// A client for a job. A key that cannot stand in a header is an error that does not quote it.
    pub(super) fn new(
        limits: &'a Fetch,
        job: &'a Job,
        key: Option<(Auth, String)>,
        around: &'a Surroundings<'a>,
    ) -> Result<Self, String> {
        let secret = match key {
            None => None,
            Some((auth, key)) => {
                let key = key.trim();
                if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err("the key holds characters that no key has".to_owned());
                }
                Some(match auth {
                    Auth::Bearer => ("authorization", format!("Bearer {key}")),
                    Auth::Header(name) => (name, key.to_owned()),
                })
            }
        };
        Ok(Self { limits, job, secret, around })
    }

    /// The body at an address, with patience: what may pass is asked again after a wait, each twice as long, or as long as
    /// the server says.
    pub(super) fn get(&self, url: &str, validators: Option<&Sidecar>) -> Result<Answer, Trouble> {
        let mut wait = Duration::from_secs(1);
        let mut left = self.limits.retries;
        loop {
            let trouble = match self.follow(url, validators) {
                Err(Trouble::Passing(reason, after)) if left > 0 => (reason, after),
                other => return other,
            };
            let pause = trouble.1.unwrap_or(wait);
            if pause.as_secs_f64() > self.limits.max_wait_s {
                let reason = format!("{}; it may be asked again in {} s", trouble.0, pause.as_secs());
                return Err(Trouble::Lasting(reason));
            }
            (self.around.progress)(&format!("{}: {}, asking again", self.job.source, trouble.0));
            (self.around.sleep)(pause);
            left -= 1;
            wait *= 2;
        }
    }

    /// One attempt, redirects followed. Key and own headers go to the first origin only.
    fn follow(&self, url: &str, validators: Option<&Sidecar>) -> Result<Answer, Trouble> {
        let home = origin(url);
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let is_home = origin(&url) == home;
            let response = self.send(&url, is_home, validators)?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return self.answer(response);
            }
            let target = text(response.headers(), "location");
            let target = target.ok_or_else(|| Trouble::Lasting(format!("{} redirects nowhere", shown(&url))))?;
            let next = joined(&url, &target)
                .ok_or_else(|| Trouble::Lasting(format!("{} redirects to no address", shown(&url))))?;
            if url.starts_with("https://") && !next.starts_with("https://") {
                return Err(Trouble::Lasting(format!("{} redirects from https to http", shown(&url))));
            }
            url = next;
        }
        Err(Trouble::Lasting(format!("{} redirects more than {MAX_REDIRECTS} times", shown(&url))))
    }

    /// Sends one request.
    fn send(&self, url: &str, is_home: bool, validators: Option<&Sidecar>) -> Result<Response<ureq::Body>, Trouble> {
        let mut request = self.agent(url)?.get(url).header("accept", "application/json, text/plain;q=0.5");
        if is_home {
            for (name, value) in &self.job.headers {
                request = request.header(name, value);
            }
            if let Some((name, value)) = &self.secret {
                request = request.header(*name, value);
            }
        }
        if let Some(tag) = validators.and_then(|known| known.etag.as_ref()) {
            request = request.header("if-none-match", tag);
        } else if let Some(day) = validators.and_then(|known| known.last_modified.as_ref()) {
            request = request.header("if-modified-since", day);
        }
        request.call().map_err(|error| {
            let reason = format!("{}: {}", shown(url), kind(&error));
            if is_untrusted(&error) { Trouble::Lasting(reason) } else { Trouble::Passing(reason, None) }
        })
    }

    /// An agent for an address: no redirects of its own, time limits, the proxy of the environment.
    fn agent(&self, url: &str) -> Result<Agent, Trouble> {
        let limit = Duration::from_secs_f64(self.limits.timeout_s.min(86_400.0));
        let proxy = match proxy_for(url, self.around.variable) {
            Some(text) => Some(
                ureq::Proxy::new(&text)
                    .map_err(|_| Trouble::Lasting("the proxy of the environment is no address".to_owned()))?,
            ),
            None => None,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(limit))
            .timeout_connect(Some(limit.min(Duration::from_secs(15))))
            .user_agent(concat!("pool-review/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy)
            .build();
        Ok(config.into())
    }

    /// Reads an answer that is no redirect.
    fn answer(&self, mut response: Response<ureq::Body>) -> Result<Answer, Trouble> {
        let status = response.status().as_u16();
        if status == 304 {
            return Err(Trouble::NotModified);
        }
        if status != 200 {
            return Err(self.refusal(status, response.headers()));
        }
        let kind_of_body = text(response.headers(), "content-type").unwrap_or_default().to_lowercase();
        let is_data = ["", "application/json", "text/json", "text/plain", "application/octet-stream"]
            .contains(&kind_of_body.split(';').next().unwrap_or_default().trim())
            || kind_of_body.contains("+json");
        if !is_data {
            return Err(Trouble::Lasting(format!("the answer is {kind_of_body:?}, not JSON")));
        }
        let (etag, last_modified) = (text(response.headers(), "etag"), text(response.headers(), "last-modified"));
        let most = u64::from(self.limits.max_mib) * 1024 * 1024;
        let body = response.body_mut().with_config().limit(most).read_to_vec();
        let body = body.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => {
                Trouble::Lasting(format!("the answer is larger than {} MiB", self.limits.max_mib))
            }
            other => Trouble::Passing(format!("the answer broke off: {}", kind(&other)), None),
        })?;
        Ok(Answer { body, etag, last_modified })
    }

    /// What a status means, in words that say what to do.
    fn refusal(&self, status: u16, headers: &HeaderMap) -> Trouble {
        let key = self.job.key.as_ref().map_or("none is configured", |(name, _)| name.as_str());
        let after = text(headers, "retry-after").and_then(|text| retry_after(&text, (self.around.clock)()));
        match status {
            401 => Trouble::Lasting(format!("401: the key is missing or not accepted (variable: {key})")),
            403 => {
                Trouble::Lasting(format!("403: the key may not read this, its tier may be too low (variable: {key})"))
            }
            404 => Trouble::Lasting("404: there is nothing at this address".to_owned()),
            410 => Trouble::Lasting(
                "410: this path is gone for good; Artificial Analysis answers at /language/models/free".to_owned(),
            ),
            429 => Trouble::Passing("429: asked too often, the quota is used up".to_owned(), after),
            500..=599 => Trouble::Passing(format!("{status}: the server is in trouble"), after),
            _ => Trouble::Lasting(format!("{status}: no body")),
        }
    }
}

/// A header as text.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// How long a server asks to wait: seconds, or an instant.
fn retry_after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = DateTime::parse_from_rfc2822(text.trim()).ok()?.to_utc();
    Some((at - now).to_std().unwrap_or_default())
}

/// Scheme, host and port of an address, in lower case.
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}", authority.strip_suffix(default).unwrap_or(&authority))
}

/// Where a redirect leads: a whole address, one without scheme, or a path.
fn joined(url: &str, target: &str) -> Option<String> {
    if target.starts_with("http://") || target.starts_with("https://") {
        return Some(target.to_owned());
    }
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    if let Some(other) = target.strip_prefix("//") {
        return Some(format!("{scheme}://{other}"));
    }
    target.starts_with('/').then(|| format!("{scheme}://{authority}{target}"))
}

/// An address for people: without query.
pub(super) fn shown(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Whether the other side could not show who it is: asking again does not help.
fn is_untrusted(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => true,
        // The handshake runs inside reading and writing, so its errors come wrapped in those.
        ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// What went wrong on the way, in a few words of our own.
fn kind(error: &ureq::Error) -> String {
    match error {
        _ if is_untrusted(error) => "no trusted connection".to_owned(),
        ureq::Error::Timeout(_) => "took too long".to_owned(),
        ureq::Error::HostNotFound => "the host is not known".to_owned(),
        ureq::Error::ConnectionFailed => "no connection".to_owned(),
        ureq::Error::Io(error) => error.kind().to_string(),
        _ => "the answer is no sound HTTP".to_owned(),
    }
}
