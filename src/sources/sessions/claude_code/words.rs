//! What the words of a record tell: who wrote them, and why a call failed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sources::sessions::skim::{Fields, Items, says, text};

/// Words of a limit message, in small letters: those that say it by themselves, and those that do with `limit` behind them.
const LIMIT_WORDS: [&str; 2] = ["usage limit reached", "limit reached ∙ resets"];
/// See [`LIMIT_WORDS`].
const LIMIT_STARTS: [&str; 2] = ["you've hit your ", "you've reached your "];
/// How a prompt begins that nobody typed.
const ECHOES: [&str; 3] = ["<command-", "<local-command-", "Caveat: The messages below"];

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// A limit message was shown.
    Quota,
    /// Too many calls at once; no word of a limit.
    RateLimited,
    /// The vendor was overloaded or broken.
    Overloaded,
    /// Key, login or credits.
    Auth,
    /// The network.
    Network,
    /// Anything else.
    Other,
}

impl Failure {
    /// The class in tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Quota | Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Other => "other",
        }
    }
}

/// Whose words a user record holds.
pub(super) enum Words {
    /// Those of a person.
    Typed,
    /// Those of a tool.
    OfTool,
    /// Those of the client, or none.
    Other,
}

/// Whose words the content of a user record is.
pub(super) fn words(content: &[u8]) -> Words {
    let whose = |words: &[u8]| {
        let words = text(words).unwrap_or_default();
        let is_echo = ECHOES.iter().any(|echo| words.trim_start().starts_with(echo));
        if is_echo { Words::Other } else { Words::Typed }
    };
    match content.first() {
        Some(b'"') => whose(content),
        Some(b'[') => {
            let mut first = None;
            for block in Items::of(content) {
                match block_words(block) {
                    Block::Result => return Words::OfTool,
                    Block::Words(words) => first = first.or(Some(words)),
                    Block::Other => {}
                }
            }
            first.map_or(Words::Other, whose)
        }
        _ => Words::Other,
    }
}

/// What a block of content is.
enum Block<'a> {
    /// The result of a tool.
    Result,
    /// Words.
    Words(&'a [u8]),
    /// Anything else.
    Other,
}

/// What a block of content is. A tool result is known before its body is passed.
fn block_words(block: &[u8]) -> Block<'_> {
    let (mut kind, mut words): (&[u8], &[u8]) = (b"", b"");
    let Ok(mut fields) = Fields::of(block) else { return Block::Other };
    while let Ok(Some((key, value))) = fields.next() {
        match key {
            b"type" if says(value, "tool_result") => return Block::Result,
            b"type" => kind = value,
            b"text" => words = value,
            _ => {}
        }
    }
    if says(kind, "text") && words.first() == Some(&b'"') { Block::Words(words) } else { Block::Other }
}

/// Why the client made an error record.
pub(super) fn failure(error: &[u8], content: &[u8]) -> Failure {
    let words = if memchr::memchr(b'\\', content).is_some() {
        serde_json::from_slice::<Value>(content).map(|value| value.to_string()).unwrap_or_default()
    } else {
        String::from_utf8_lossy(content).into_owned()
    };
    let words = words.replace('\u{2019}', "'").to_lowercase();
    let error = text(error).unwrap_or_default().to_lowercase();
    let is_start = |start: &&str| words.split_once(*start).is_some_and(|(_, rest)| rest.contains("limit"));
    if error == "rate_limit"
        || LIMIT_WORDS.iter().any(|limit| words.contains(limit))
        || LIMIT_STARTS.iter().any(is_start)
    {
        return Failure::Quota;
    }
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part) || words.contains(part));
    if says(&["overloaded", "api error: 5", "server_error"]) {
        Failure::Overloaded
    } else if says(&["auth", "billing", "credit", "api error: 401", "api error: 403", "invalid api key"]) {
        Failure::Auth
    } else if says(&["connection error", "network", "econn", "fetch failed"]) {
        Failure::Network
    } else {
        Failure::Other
    }
}
