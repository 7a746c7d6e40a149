//! The one function that shows outside text, and everything that is built on it. Names, reasons and titles are data:
//! nothing here lets them become markup, a mention, a table cell, a line break or an escape sequence.

use std::fmt::Write as _;

use crate::verdict::{Piece, Sentence};

/// Where text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The log and the bodies of issues: outside text sits in a code span.
    Markdown,
    /// The page and its pictures.
    Html,
    /// Titles of issues.
    Title,
    /// A terminal.
    Terminal,
}

/// Most characters of a name.
const NAME_LIMIT: usize = 80;

/// Most characters of a reason, a remark or a title.
const TEXT_LIMIT: usize = 240;

/// Format characters that are not control characters: bidi controls, zero-width and invisible ones, fillers, variation
/// selectors, tags and private use (Unicode 16: general categories Cf and Co, and default-ignorable code points).
const FORMAT: [(u32, u32); 29] = [
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xE000, 0xF8FF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
    (0xF0000, 0x10_FFFF),
];

/// A name from outside, at most 80 characters.
pub fn name(text: &str, place: Place) -> String {
    show(text, place, NAME_LIMIT)
}

/// A longer text from outside, at most 240 characters.
pub fn quote(text: &str, place: Place) -> String {
    show(text, place, TEXT_LIMIT)
}

/// A sentence: our words as they are, names shown as names.
pub fn sentence(sentence: &Sentence, place: Place) -> String {
    let pieces = sentence.pieces().iter().map(|piece| match piece {
        Piece::Own(text) => own(text, place),
        Piece::Name(text) => name(text, place),
    });
    pieces.collect()
}

/// The same up to so many characters, cut between words or names and never inside brackets, with an ellipsis.
pub fn sentence_within(sentence: &Sentence, place: Place, most: usize) -> String {
    let mut left = most;
    let mut out = String::new();
    for piece in sentence.pieces() {
        let (shown, width) = match piece {
            Piece::Own(text) => (own(text, place), text.chars().count()),
            Piece::Name(text) => (name(text, place), text.chars().count().min(NAME_LIMIT)),
        };
        if width > left {
            if let Piece::Own(text) = piece {
                let kept: String = text.chars().take(left).collect();
                let words = kept.rsplit_once(' ').map_or("", |(words, _)| words);
                let aside = words.rfind('(').filter(|open| words.rfind(')').is_none_or(|close| close < *open));
                let words = aside.map_or(words, |open| &words[..open]);
                out.push_str(&own(words.trim_end_matches([' ', ',', ';', ':', '(', '[']), place));
            }
            return out.trim_end().to_owned() + "…";
        }
        out.push_str(&shown);
        left -= width;
    }
    out
}

/// Our own words. They hold no outside text, yet nothing in them may break a table or start markup.
pub fn own(text: &str, place: Place) -> String {
    match place {
        Place::Markdown => own_markdown(text),
        Place::Html => html(&plain_own(text)),
        Place::Title | Place::Terminal => plain_own(text),
    }
}

/// Text for markers and anchors: bytes outside `[a-z0-9._/-]`, and a hyphen after a hyphen, are percent-encoded.
pub fn marker(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._/".contains(&byte);
        if is_plain || (byte == b'-' && !out.ends_with('-')) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02x}").expect("writing to a String cannot fail");
        }
    }
    out
}

/// The escaping itself.
fn show(text: &str, place: Place, limit: usize) -> String {
    let visible = visible(text, limit);
    match place {
        Place::Markdown => format!("`{visible}`"),
        Place::Html => html(&visible),
        Place::Title | Place::Terminal => visible,
    }
}

/// The text with every character that cannot be seen or could act shown as its code point, cut at a limit.
fn visible(text: &str, limit: usize) -> String {
    if text.is_empty() {
        return "⟨empty⟩".to_owned();
    }
    let last = text.chars().count() - 1;
    let mut pieces: Vec<String> = Vec::new();
    let mut width = 0;
    for (i, c) in text.chars().enumerate() {
        let is_edge = i == 0 || i == last;
        let piece = if acts(c) || (c == ' ' && is_edge) { code_point(c) } else { c.to_string() };
        width += piece.chars().count();
        pieces.push(piece);
        if width > limit {
            return cut(pieces, width, limit);
        }
    }
    pieces.concat()
}

/// Drops pieces from the end until an ellipsis fits.
fn cut(mut pieces: Vec<String>, mut width: usize, limit: usize) -> String {
    while width >= limit {
        let Some(piece) = pieces.pop() else { break };
        width -= piece.chars().count();
    }
    pieces.push("…".to_owned());
    pieces.concat()
}

/// `⟨202E⟩`.
fn code_point(c: char) -> String {
    format!("⟨{:04X}⟩", u32::from(c))
}

/// Whether a character is invisible, moves others, or means something to Markdown, a table or a terminal.
fn acts(c: char) -> bool {
    matches!(c, '`' | '|' | '\\' | '⟨' | '⟩') || is_hidden(c)
}

/// Whether a character is a control or format character, or a space other than the plain one.
fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control() || (c.is_whitespace() && c != ' ') || FORMAT.iter().any(|(low, high)| (*low..=*high).contains(&code))
}

/// Our words without hidden characters.
fn plain_own(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { code_point(c) } else { c.to_string() }).collect()
}

/// Our words in Markdown: characters that would start markup get a backslash; mentions and addresses are broken visibly.
fn own_markdown(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: Option<usize>| i.and_then(|i| chars.get(i)).copied().unwrap_or(' ');
    let mut out = String::with_capacity(text.len());
    for (i, c) in chars.iter().copied().enumerate() {
        let (before, after) = (at(i.checked_sub(1)), at(Some(i + 1)));
        match c {
            '@' if !after.is_whitespace() => out.push_str(&code_point(c)),
            c if is_hidden(c) => out.push_str(&code_point(c)),
            c if starts_markup(before, c, after) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a character of our own words would be read as markup where it stands.
fn starts_markup(before: char, c: char, after: char) -> bool {
    match c {
        '`' | '|' | '\\' | '*' | '[' | ']' | '~' => true,
        '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
        '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
        '&' => after.is_ascii_alphabetic() || after == '#',
        _ => false,
    }
}

/// Text with the five characters that HTML reads replaced.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
