//! What a server answers, in one line: its status, its first line unless that is a page, and how long it asks to wait.

use std::error::Error;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

/// Most characters that are kept of what a server says.
const MOST_SAID: usize = 200;

/// How long to wait when a server says to stop and not for how long.
const A_MINUTE: Duration = Duration::from_mins(1);

/// One answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    /// Status.
    pub(super) status: u16,
    /// Status in words: `502 Bad Gateway`.
    pub(super) status_line: String,
    /// The header that leads to the next page.
    pub(super) link: Option<String>,
    /// Seconds to wait, or an instant.
    retry_after: Option<String>,
    /// Requests that are left.
    remaining: Option<String>,
    /// When there are more again, in seconds since 1970.
    reset: Option<String>,
    /// The text.
    pub(super) body: String,
}

impl Reply {
    /// An answer without its text; `header` reads one.
    pub(super) fn head(status: u16, status_line: &str, header: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            status,
            status_line: status_line.to_owned(),
            link: header("link"),
            retry_after: header("retry-after"),
            remaining: header("x-ratelimit-remaining"),
            reset: header("x-ratelimit-reset"),
            body: String::new(),
        }
    }

    /// The same with its text.
    pub(super) fn with_body(self, body: String) -> Self {
        Self { body, ..self }
    }

    /// Whether it is a success.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Status and what the server says, in one line.
    pub(super) fn said(&self) -> String {
        let stated = serde_json::from_str::<Value>(&self.body).ok();
        let message = stated.as_ref().and_then(|value| value["message"].as_str()).unwrap_or_default();
        let first = message.lines().next().unwrap_or_default().trim();
        if first.is_empty() || first.starts_with('<') {
            return format!("GitHub answered {}", self.status_line);
        }
        let kept: String = first.chars().take(MOST_SAID).collect();
        format!("GitHub answered {}: {kept}", self.status_line)
    }

    /// The same, with how long the server asks to wait.
    pub(super) fn said_with_wait(&self, now: DateTime<Utc>) -> String {
        let wait = if self.is_limit() { self.asked_wait(now) } else { None };
        let wait = wait.map(|wait| format!("; it may be asked again in {} s", wait.as_secs()));
        self.said() + &wait.unwrap_or_default()
    }

    /// How long to wait before the same is asked again; `None` when that would not help. A server in trouble gets `else_wait`.
    pub(super) fn pause(&self, now: DateTime<Utc>, else_wait: Duration) -> Option<Duration> {
        if self.is_limit() {
            return Some(self.asked_wait(now).unwrap_or(A_MINUTE));
        }
        (self.status >= 500).then(|| self.asked_wait(now).unwrap_or(else_wait))
    }

    /// Whether it is a limit of how much may be asked.
    fn is_limit(&self) -> bool {
        let is_spent = self.remaining.as_deref() == Some("0");
        let is_said = self.said().to_lowercase().contains("rate limit");
        self.status == 429 || (self.status == 403 && (self.retry_after.is_some() || is_spent || is_said))
    }

    /// How long the server asks to wait.
    fn asked_wait(&self, now: DateTime<Utc>) -> Option<Duration> {
        if let Some(text) = &self.retry_after {
            let text = text.trim();
            let instant = || DateTime::parse_from_rfc2822(text).ok().map(|at| (at.to_utc() - now).to_std());
            let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
            return seconds.or_else(|| instant().map(Result::unwrap_or_default));
        }
        let is_spent = self.remaining.as_deref() == Some("0");
        let reset = self.reset.as_ref().filter(|_| is_spent)?.trim().parse::<i64>().ok()?;
        Some(Duration::from_secs(u64::try_from(reset - now.timestamp()).unwrap_or(0)))
    }
}

/// What went wrong on the way, in words of our own: a chain of errors may hold addresses and pages.
pub(super) fn short(error: &octocrab::Error) -> String {
    let mut chain: Vec<String> = Vec::new();
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        chain.push(error.to_string().to_lowercase());
        next = error.source();
    }
    let has = |word: &str| chain.iter().any(|text| text.contains(word));
    let words = if has("refused") {
        "connection refused"
    } else if has("timed out") || has("timeout") || has("elapsed") {
        "no answer in time"
    } else if has("dns") || has("lookup") || has("resolve") {
        "the host is not known"
    } else if has("certificate") || has("tls") {
        "no trusted connection"
    } else {
        "the connection was lost"
    };
    format!("GitHub cannot be reached: {words}")
}

/// The path and query of the next page, relative to the API's own path. Host and scheme of the link are not used, so that a
/// token never follows one.
pub(super) fn next_path(link: &str, base: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.split(';').skip(1).any(is_next))?;
    let url = next.split_once('<')?.1.split_once('>')?.0;
    let path = path_of(url);
    let path = path.strip_prefix(base.trim_end_matches('/')).unwrap_or(&path);
    path.starts_with('/').then(|| path.to_owned())
}

/// Whether an attribute of a link says that it is the next page.
fn is_next(attribute: &str) -> bool {
    attribute.trim().replace('"', "").eq_ignore_ascii_case("rel=next")
}

/// Path and query of an address; empty when it has none.
pub(super) fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    if url.contains("://") { rest.find('/').map_or(String::new(), |at| rest[at..].to_owned()) } else { url.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with these headers.
    fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
        let header =
            |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Reply { body: body.to_owned(), ..Reply::head(status, &status.to_string(), header) }
    }

    /// 2026-11-29T12:00:00Z.
    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_953_600, 0).unwrap()
    }

    #[test]
    fn a_page_is_not_quoted_and_a_message_is_one_line() {
        assert_eq!(reply(502, &[], "<html>unicorn</html>").said(), "GitHub answered 502");
        assert_eq!(reply(502, &[], r#"{"message":"<html>x</html>"}"#).said(), "GitHub answered 502");
        assert_eq!(reply(422, &[], "{\"message\":\"no\\nmore\"}").said(), "GitHub answered 422: no");
    }

    #[test]
    fn a_limit_is_waited_for_as_long_as_the_server_says() {
        let second = Duration::from_secs(1);
        let pause = |reply: Reply| reply.pause(now(), second);
        assert_eq!(pause(reply(429, &[("retry-after", "7")], "")), Some(Duration::from_secs(7)));
        let reset = (now().timestamp() + 30).to_string();
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset.as_str())];
        assert_eq!(pause(reply(403, &spent, "")), Some(Duration::from_secs(30)));
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        assert_eq!(pause(reply(403, &[], secondary)), Some(A_MINUTE));
        assert_eq!(
            pause(reply(403, &[], r#"{"message":"Resource not accessible"}"#)),
            None,
            "no patience opens a door"
        );
        assert_eq!(pause(reply(401, &[], "")), None);
        assert_eq!(pause(reply(503, &[], "")), Some(second));
        let date = [("retry-after", "Sun, 29 Nov 2026 12:00:20 GMT")];
        assert_eq!(pause(reply(503, &date, "")), Some(Duration::from_secs(20)));
    }

    #[test]
    fn the_next_page_is_a_path_of_the_same_server() {
        let link =
            r#"<https://x.example/api/v3/repos/o/r/issues?page=2&a=b>; rel="next", <https://x.example/l>; rel="last""#;
        assert_eq!(next_path(link, "/api/v3").as_deref(), Some("/repos/o/r/issues?page=2&a=b"));
        assert_eq!(next_path(link, "").as_deref(), Some("/api/v3/repos/o/r/issues?page=2&a=b"));
        assert_eq!(next_path(r#"<https://x.example/l>; rel="last""#, ""), None);
        assert_eq!(
            (path_of("https://api.github.com"), path_of("http://h:1/api/v3")),
            (String::new(), "/api/v3".to_owned())
        );
    }
}
