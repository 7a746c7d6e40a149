//! What JSONC allows between values: white space, comments, commas. Cut into what belongs to a member and what belongs to
//! the place, so that no part ever ends inside a line comment that another part would fall into.

use std::ops::Range;

/// A stretch of text between two members, or between a member and a bracket.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    /// Up to and including the first line end; all of it when there is none.
    pub(super) open: String,
    /// Whole lines after that: blank ones and comments.
    pub(super) lines: String,
    /// What precedes the next member or bracket on its line.
    pub(super) indent: String,
}

/// What stands on the line of a member, around it.
#[derive(Debug, Clone, Default)]
pub(super) struct Piece {
    /// Comments before it.
    pub(super) lead: String,
    /// Between it and its comma.
    pub(super) pre: String,
    /// Whether it has a comma.
    pub(super) has_comma: bool,
    /// Comments after it.
    pub(super) trail: String,
}

/// What a bit of trivia is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// White space inside a line.
    Space,
    /// A line end.
    LineEnd,
    /// A `//` comment without its line end.
    LineComment,
    /// A `/* */` comment.
    BlockComment,
    /// The comma.
    Comma,
}

impl Gap {
    /// White space inside a line.
    pub(super) fn space(space: &str) -> Self {
        Self { open: space.to_owned(), lines: String::new(), indent: String::new() }
    }

    /// A line end and an indent.
    pub(super) fn line(line_end: &str, indent: &str) -> Self {
        Self { open: line_end.to_owned(), lines: String::new(), indent: indent.to_owned() }
    }

    /// A gap out of a whole stretch of text.
    pub(super) fn all(text: &str) -> Self {
        match line_ends(text) {
            Some((first, last)) => Self {
                open: text[..first.end].to_owned(),
                lines: text[first.end..last.end].to_owned(),
                indent: text[last.end..].to_owned(),
            },
            None => Self::space(text),
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        format!("{}{}{}", self.open, self.lines, self.indent)
    }

    /// Whether it ends a line.
    pub(super) fn has_line_end(&self) -> bool {
        self.open.ends_with(['\n', '\r'])
    }

    /// Whether it holds white space only.
    pub(super) fn is_blank(&self) -> bool {
        [&self.open, &self.lines, &self.indent].iter().all(|part| part.trim().is_empty())
    }
}

impl Piece {
    /// What stands before and after the member, with or without a comma, which goes right behind a member that had none.
    pub(super) fn around(&self, has_comma: bool, line_ends_after: bool) -> (&str, String) {
        let Self { pre, trail, .. } = self;
        let after = match (has_comma, self.has_comma) {
            (true, true) => format!("{pre},{trail}"),
            (true, false) => format!(",{pre}{trail}"),
            (false, true) if line_ends_after && trail.is_empty() => pre.trim_end().to_owned(),
            (false, _) => format!("{pre}{trail}"),
        };
        (&self.lead, after)
    }
}

/// The bits of a stretch of trivia, in order.
fn bits(text: &str) -> Vec<(Kind, Range<usize>)> {
    let mut bits = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            '\r' if rest.starts_with("\r\n") => (Kind::LineEnd, 2),
            '\n' | '\r' => (Kind::LineEnd, 1),
            ',' => (Kind::Comma, 1),
            '/' if rest.starts_with("//") => (Kind::LineComment, rest.find(['\n', '\r']).unwrap_or(rest.len())),
            '/' => (Kind::BlockComment, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            _ => (Kind::Space, first.len_utf8()),
        };
        bits.push((kind, at..at + length));
        at += length;
    }
    bits
}

/// The first and the last line end outside comments.
fn line_ends(text: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut ends = bits(text).into_iter().filter(|(kind, _)| *kind == Kind::LineEnd).map(|(_, range)| range);
    let first = ends.next()?;
    let last = ends.next_back().unwrap_or_else(|| first.clone());
    Some((first, last))
}

/// Whether what follows on the same line would be inside a comment.
pub(super) fn ends_in_line_comment(trivia: &str) -> bool {
    bits(trivia).into_iter().rfind(|(kind, _)| *kind != Kind::Space).is_some_and(|(kind, _)| kind == Kind::LineComment)
}

/// Whole lines with comments between a member and a comma on a later line; empty when there are none.
pub(super) fn own_lines(pre: &str) -> String {
    match line_ends(pre) {
        Some((first, last)) if !pre[first.end..last.end].trim().is_empty() => pre[first.end..last.end].to_owned(),
        _ => String::new(),
    }
}

/// Splits off what stands on the line of the member that follows.
fn split_lead(mut gap: Gap) -> (Gap, String) {
    let line = if gap.has_line_end() { &mut gap.indent } else { &mut gap.open };
    let lead = line.split_off(line.len() - line.trim_start().len());
    (gap, lead)
}

/// The text between a bracket and the first member: the gap, and what leads the member.
pub(super) fn split_before(text: &str) -> (Gap, String) {
    split_lead(Gap::all(text))
}

/// The text after a member: what surrounds it (with the given lead), the gap, and what leads the next member.
pub(super) fn split_after(lead: String, text: &str, is_last: bool) -> (Piece, Gap, String) {
    let comma = bits(text).into_iter().find(|(kind, _)| *kind == Kind::Comma).map(|(_, range)| range);
    let (pre, rest) = comma.as_ref().map_or(("", text), |comma| (&text[..comma.start], &text[comma.end..]));
    let first_end = line_ends(rest).map(|(first, _)| first.start);
    let same_line = match first_end {
        Some(end) => &rest[..end],
        None if is_last => rest,
        None => "",
    };
    let trail = same_line.trim_end();
    let piece = Piece { lead, pre: pre.to_owned(), has_comma: comma.is_some(), trail: trail.to_owned() };
    let gap = Gap::all(&rest[trail.len()..]);
    let (gap, next) = if is_last { (gap, String::new()) } else { split_lead(gap) };
    (piece, gap, next)
}
