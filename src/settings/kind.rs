//! What a setting may hold. One description serves the error message and the reference page.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use globset::{GlobBuilder, GlobMatcher};

use super::yaml::{Node, Value, quoted};

/// What a setting may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A finite number of at least this.
    AtLeast(f64),
    /// A finite number above 0.
    Above0,
    /// A share, both ends included.
    Share,
    /// A whole number of at least this, below 2^32.
    Whole(u32),
    /// `true` or `false`.
    Flag,
    /// Text that is not blank.
    Text,
    /// A path: text that is not blank and holds no NUL.
    Path,
    /// A name, or a glob.
    Glob,
    /// An instant of RFC 3339.
    Instant,
    /// A name of the IANA time zone database.
    Zone,
    /// Five cron fields; what they mean is the schedule room's business.
    Cron,
    /// `owner/name`.
    Repository,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of ids.
    Ids,
    /// `http://` or `https://`, a host, no user.
    Url,
    /// The name of an environment variable.
    EnvName,
    /// A list of `Name: value`.
    Headers,
    /// A list of paths.
    Paths,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "a number of at least {least}"),
            Self::Above0 => f.write_str("a number above 0"),
            Self::Share => f.write_str("a share from 0 to 1"),
            Self::Whole(least) => write!(f, "a whole number of at least {least}"),
            Self::Flag => f.write_str("true or false"),
            Self::Text => f.write_str("text"),
            Self::Path => f.write_str("a path"),
            Self::Glob => f.write_str("a name or glob"),
            Self::Instant => f.write_str("an instant such as 2026-11-29T12:00:00Z"),
            Self::Zone => f.write_str("an IANA time zone"),
            Self::Cron => f.write_str("five cron fields"),
            Self::Repository => f.write_str("owner/name"),
            Self::Word(words) => write!(f, "one of {}", words.join(", ")),
            Self::Ids => f.write_str("a list of ids"),
            Self::Url => f.write_str("an address with http:// or https://"),
            Self::EnvName => f.write_str("the name of an environment variable"),
            Self::Headers => f.write_str("a list of \"Name: value\""),
            Self::Paths => f.write_str("a list of paths"),
        }
    }
}

impl Kind {
    /// Whether a value may stand there; else the rest of the sentence that begins with the key.
    pub(super) fn accept(&self, value: &Value) -> Result<(), String> {
        if matches!(value, Value::Nothing) {
            return Err(format!("has no value: write {self}, or leave the line out"));
        }
        let hint = match (self, value) {
            _ if self.holds(value) => return Ok(()),
            (Self::Glob, Value::Text(text)) => glob(text).err().map(|why| format!(" ({why})")),
            (Self::Word(words), Value::Text(text)) => did_you_mean(text, words.iter().copied()),
            (Self::Zone, Value::Text(text)) => {
                did_you_mean(text, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()))
            }
            _ => None,
        };
        if matches!(self, Self::EnvName | Self::Url | Self::Headers) {
            return Err(format!("must be {self} (what is written is not shown: it may hold a key)"));
        }
        Err(format!("must be {self}, not {value}{}", hint.unwrap_or_default()))
    }

    /// Whether the value is of this kind.
    fn holds(self, value: &Value) -> bool {
        match value {
            Value::Number(number) => self.holds_number(*number),
            Value::Text(text) => self.holds_text(text),
            Value::Flag(_) => self == Self::Flag,
            Value::List(items) => match self {
                Self::Ids => items.iter().all(is_id),
                Self::Headers => items.iter().all(|item| matches!(&item.value, Value::Text(text) if is_header(text))),
                Self::Paths => items.iter().all(is_path),
                _ => false,
            },
            Value::Nothing | Value::Group(_) => false,
        }
    }

    /// Whether the number is of this kind.
    fn holds_number(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::AtLeast(least) => number >= least,
                Self::Above0 => number > 0.0,
                Self::Share => (0.0..=1.0).contains(&number),
                Self::Whole(least) => {
                    number >= f64::from(least)
                        && number <= f64::from(u32::MAX)
                        && number.trunc().total_cmp(&number).is_eq()
                }
                _ => false,
            }
    }

    /// Whether the text is of this kind.
    fn holds_text(self, text: &str) -> bool {
        match self {
            Self::Text => !text.trim().is_empty(),
            Self::Path => !text.trim().is_empty() && !text.contains('\0'),
            Self::Glob => glob(text).is_ok(),
            Self::Instant => instant(text).is_some(),
            Self::Zone => zone(text).is_some(),
            Self::Cron => text.split_whitespace().count() == 5,
            Self::Repository => is_repository(text),
            Self::Url => is_url(text),
            Self::EnvName => is_env_name(text),
            Self::Word(words) => words.contains(&text),
            _ => false,
        }
    }
}

/// Whether a list item is a path.
pub(super) fn is_path(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if Kind::Path.holds_text(text))
}

/// An instant of RFC 3339, in UTC.
pub(super) fn instant(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.to_utc())
}

/// A zone by its IANA name.
pub(super) fn zone(text: &str) -> Option<Tz> {
    Tz::from_str(text).ok()
}

/// A compiled pattern: `*` any run of characters, `?` one, `[ab]` one of these, `{x,y}` either. Case counts.
/// The error is a fragment without the pattern.
pub fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.trim().is_empty() || pattern.trim() != pattern {
        return Err("is empty or has blanks around it".to_owned());
    }
    match GlobBuilder::new(pattern).backslash_escape(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(error.kind().to_string()),
    }
}

/// Whether a text is an address that may be fetched: a scheme, a host, and no user or password in it.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    is_plain && host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
}

/// Whether a text can be the name of an environment variable. A key itself hardly ever can: it holds dashes or begins with a digit.
fn is_env_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') && text.chars().all(is_word)
}

/// Whether a text is a header line.
fn is_header(text: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.split_once(':').is_some_and(|(name, value)| {
        !name.is_empty()
            && name.chars().all(is_token)
            && !value.trim().is_empty()
            && !value.chars().any(char::is_control)
    })
}

/// Whether the item of a list can be an id.
fn is_id(item: &Node) -> bool {
    matches!(&item.value, Value::Text(text) if is_id_text(text))
}

/// Whether a text can be an id of a home or provider: it keeps clear of the marks that part ids (`/`, `#`, blanks).
pub(super) fn is_id_text(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '/' | '#'))
}

/// Whether a text can be the name of a repository on GitHub.
fn is_repository(text: &str) -> bool {
    let is_name = |part: &str| {
        !matches!(part, "" | "." | "..") && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

/// ` (did you mean "x"?)` for the nearest of some names, ties to the first; `None` when none is near.
pub(super) fn did_you_mean<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(text, names).map(|name| format!(" (did you mean {}?)", quoted(name)))
}

/// The nearest name by edits (a swap of neighbours is one), at most a third of the longer of the two and at least one.
pub(super) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text: String = text.chars().take(80).collect();
    names
        .map(|name| (strsim::osa_distance(&text, name), name))
        .filter(|(distance, name)| *distance <= (name.chars().count().max(text.chars().count()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Names by how near they are to what was written, then by the alphabet.
pub fn nearest_first<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let text: String = text.chars().take(80).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_cached_key(|name| (strsim::osa_distance(&text, name), *name));
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_bounds() {
        assert!(Kind::Share.accept(&Value::Number(1.0)).is_ok());
        assert_eq!(Kind::Share.accept(&Value::Number(1.01)).unwrap_err(), "must be a share from 0 to 1, not 1.01");
        assert!(Kind::Share.accept(&Value::Number(f64::NAN)).is_err());
        assert!(Kind::AtLeast(0.0).accept(&Value::Number(0.0)).is_ok());
        assert!(Kind::AtLeast(0.0).accept(&Value::Number(-0.1)).is_err());
        assert!(Kind::Above0.accept(&Value::Number(0.0)).is_err());
        assert!(Kind::Above0.accept(&Value::Number(f64::INFINITY)).is_err());
        assert!(Kind::Whole(1).accept(&Value::Number(2.5)).is_err());
        assert!(Kind::Whole(1).accept(&Value::Number(4_294_967_296.0)).is_err(), "2^32 does not fit");
    }

    #[test]
    fn a_number_in_quotes_is_text() {
        let error = Kind::AtLeast(0.0).accept(&Value::Text("2".to_owned())).unwrap_err();
        assert_eq!(error, "must be a number of at least 0, not \"2\"");
    }

    #[test]
    fn words_and_zones_are_corrected() {
        let word = Kind::Word(&["flat", "metered"]).accept(&Value::Text("metred".to_owned())).unwrap_err();
        assert_eq!(word, "must be one of flat, metered, not \"metred\" (did you mean \"metered\"?)");
        let zone = Kind::Zone.accept(&Value::Text("Europe/Berlim".to_owned())).unwrap_err();
        assert!(zone.ends_with("(did you mean \"Europe/Berlin\"?)"), "{zone}");
    }

    #[test]
    fn globs_are_compiled_or_explained() {
        assert!(glob("*-plan").unwrap().is_match("scout-plan"));
        assert!(glob("openchamber:*").unwrap().is_match("openchamber:a/b"), "a star crosses slashes");
        assert!(!glob("Scout").unwrap().is_match("scout"), "case counts");
        assert!(Kind::Glob.accept(&Value::Text("[a".to_owned())).unwrap_err().contains("unclosed"));
        assert!(glob("").is_err() && glob(" a").is_err());
    }

    #[test]
    fn repositories_have_two_parts() {
        assert!(is_repository("acme/fleet.config"));
        for bad in ["acme", "acme/", "/fleet", "a/b/c", "https://x/y", "acme/..", "a b/c"] {
            assert!(!is_repository(bad), "{bad}");
        }
    }

    #[test]
    fn a_far_name_is_not_suggested() {
        assert_eq!(nearest("qualty", ["quality", "price"].into_iter()), Some("quality"));
        assert_eq!(nearest("gpa", ["gap"].into_iter()), Some("gap"), "a swap is one edit");
        assert_eq!(nearest("speed", ["price", "quality"].into_iter()), None);
    }
}
