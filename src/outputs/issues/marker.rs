//! The first line of every body and comment, by which an issue is found again, and the digest by which it is known whether a
//! person edited the text.

use crate::outputs::text;
use crate::vocabulary::sha256_hex;

/// How a marker begins.
const START: &str = "<!-- pool-review v1 ";

/// How it ends.
const END: &str = " -->";

/// What the marker of a body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Which issue it is.
    pub id: String,
    /// The proposal that its text shows.
    pub fingerprint: String,
    /// Digest of the visible text.
    pub body: String,
}

impl Marker {
    /// As the first line of a body: only `[a-z0-9._/-]` and percent signs, and no `--` inside.
    pub fn line(&self) -> String {
        let show = |text: &str| encoded(text);
        format!("{START}id={} fp={} body={}{END}", show(&self.id), show(&self.fingerprint), show(&self.body))
    }

    /// The marker of a body; `None` when its first line is none.
    pub fn read(text: &str) -> Option<Self> {
        let mut fields = inside(text)?.split_ascii_whitespace();
        let mut field = |name: &str| fields.next()?.strip_prefix(name).map(str::to_owned);
        let (id, fingerprint, body) = (field("id=")?, field("fp=")?, field("body=")?);
        let is_known = ["add/", "retire/"].iter().any(|action| id.starts_with(action));
        (is_known && fields.next().is_none()).then_some(Self { id, fingerprint, body })
    }
}

/// The first line of a comment.
pub(super) fn comment_line(key: &str) -> String {
    format!("{START}comment={}{END}", encoded(key))
}

/// The key in the first line of a comment.
pub fn comment_key(text: &str) -> Option<&str> {
    inside(text)?.strip_prefix("comment=")
}

/// What a body shows: everything behind its first line.
pub(super) fn visible(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Eight digits over the visible text with all white space folded, so that line ends and wrapping do not count.
pub(super) fn digest(visible: &str) -> String {
    let folded = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    sha256_hex(folded.as_bytes())[..8].to_owned()
}

/// What stands between start and end of the first line.
fn inside(text: &str) -> Option<&str> {
    text.lines().next()?.trim_end().strip_prefix(START)?.strip_suffix(END)
}

/// Text that is encoded already stays as it is; all other bytes outside the marker's characters are percent-encoded.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._/-%".contains(&byte);
    if text.bytes().all(is_plain) && !text.contains("--") { text.to_owned() } else { text::marker(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_back_whatever_the_line_ends_and_holds_no_two_hyphens() {
        let id = format!("retire/{}/{}", text::marker("pool--x"), text::marker("Acme/old -->"));
        let marker = Marker { id, fingerprint: "pcr1-0a".to_owned(), body: digest("a\n\nb") };
        let line = marker.line();
        assert!(!line["<!-- ".len()..line.len() - " -->".len()].contains("--"), "{line}");
        assert_eq!(Marker::read(&format!("{line}\r\nVisible")), Some(marker));
    }

    #[test]
    fn what_is_no_marker_is_none() {
        for text in [
            "",
            "<!-- pool-review v1 id=swap/a/b fp=x body=y -->",
            "<!-- pool-review v1 id=add/a/b fp=x -->",
            "<!-- pool-review v1 id=add/a/b fp=x body=y more=z -->",
            "text\n<!-- pool-review v1 id=add/a/b fp=x body=y -->",
            "<!-- pool-review v2 id=add/a/b fp=x body=y -->",
        ] {
            assert_eq!(Marker::read(text), None, "{text}");
        }
    }

    #[test]
    fn white_space_does_not_enter_the_digest_and_words_do() {
        assert_eq!(digest("a  b\r\n\r\nc\n"), digest("a b\n\nc"));
        assert_ne!(digest("a b"), digest("ab"));
    }
}
