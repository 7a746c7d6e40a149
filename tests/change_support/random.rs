//! Random JSONC documents in random layouts. Every member and every comment carries a label of its own, so that a test can
//! say afterwards what became of it.

use std::fmt::Write as _;

/// A small generator of numbers (splitmix64): the same seed gives the same document everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    /// A generator from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    /// True once in `sides` throws.
    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }

    /// One of some choices.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// How the members of a container stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// All on one line.
    Inline,
    /// Each on lines of its own.
    Lines,
    /// Anything the grammar allows.
    Wild,
}

/// A container of the document.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    /// Its pointer.
    pub(crate) pointer: String,
    /// Whether it is an array.
    pub(crate) is_array: bool,
    /// How its members stand.
    pub(crate) style: Style,
    /// Tokens of its members.
    pub(crate) members: Vec<String>,
}

/// A comment of the document.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    /// Its label.
    pub(crate) label: String,
    /// The member whose line it stands on, or the container on a line of whose it stands.
    pub(crate) owner: String,
    /// Whether it belongs to that member and goes where the member goes.
    pub(crate) goes_along: bool,
}

/// A document.
pub(crate) struct Document {
    /// Its text.
    pub(crate) text: String,
    /// Containers, outer ones first.
    pub(crate) containers: Vec<Container>,
    /// Comments.
    pub(crate) comments: Vec<Comment>,
}

/// Writes a document.
struct Writer<'a> {
    /// Chance.
    dice: &'a mut Dice,
    /// What came about so far.
    document: Document,
    /// Line end of the file.
    line_end: &'static str,
    /// One step of indent.
    unit: &'static str,
    /// Labels given so far.
    labels: usize,
}

/// A random document: an object whose members are arrays and objects of strings, up to four deep.
pub(crate) fn document(dice: &mut Dice) -> Document {
    let line_end = if dice.one_in(5) { "\r\n" } else { "\n" };
    let unit = *dice.pick(&["  ", "\t", "    "]);
    let document = Document { text: String::new(), containers: Vec::new(), comments: Vec::new() };
    let mut writer = Writer { dice, document, line_end, unit, labels: 0 };
    writer.container("", false, Style::Lines, 0);
    if !writer.dice.one_in(6) {
        writer.document.text.push_str(line_end);
    }
    writer.document
}

impl Writer<'_> {
    /// The next label with a prefix.
    fn label(&mut self, prefix: &str) -> String {
        self.labels += 1;
        format!("{prefix}{}x", self.labels)
    }

    /// Writes text.
    fn put(&mut self, text: &str) {
        self.document.text.push_str(text);
    }

    /// Ends the line and indents the next.
    fn turn(&mut self, depth: usize) {
        self.put(self.line_end);
        for _ in 0..depth {
            self.put(self.unit);
        }
    }

    /// Writes a comment and notes whose it is.
    fn comment(&mut self, is_line: bool, owner: &str, goes_along: bool) {
        let label = self.label("c");
        let text = if is_line { format!("// {label}, \"[\" /* no") } else { format!("/* {label} ], // */") };
        self.put(&text);
        self.document.comments.push(Comment { label, owner: owner.to_owned(), goes_along });
    }

    /// Blank lines and comments on lines of their own, then the indent.
    fn own_lines(&mut self, container: &str, depth: usize) {
        self.turn(depth);
        while self.dice.one_in(6) {
            let is_line = self.dice.one_in(2);
            if !self.dice.one_in(4) {
                self.comment(is_line, container, false);
            }
            self.turn(depth);
        }
    }

    /// Writes a container.
    fn container(&mut self, pointer: &str, is_array: bool, style: Style, depth: usize) {
        let at = self.document.containers.len();
        let entry = Container { pointer: pointer.to_owned(), is_array, style, members: Vec::new() };
        self.document.containers.push(entry);
        let count = if depth == 0 { 3 + self.dice.below(3) } else { self.dice.below(5) };
        let has_trailing_comma = count > 0 && self.dice.one_in(2);
        let pad = style == Style::Inline && self.dice.one_in(2);
        self.put(if is_array { "[" } else { "{" });
        for index in 0..count {
            let token = if is_array { index.to_string() } else { self.label("k") };
            let member = format!("{pointer}/{token}");
            self.document.containers[at].members.push(token.clone());
            self.before_member(pointer, &member, style, depth, index > 0, pad);
            if !is_array {
                write!(self.document.text, "\"{token}\": ").unwrap();
            }
            self.value(&member, style, depth);
            let has_comma = index + 1 < count || has_trailing_comma;
            self.after_member(&member, style, depth, has_comma, index + 1 == count);
        }
        match style {
            Style::Lines => self.own_lines(pointer, depth),
            Style::Wild if self.dice.one_in(2) => self.turn(depth),
            _ if pad => self.put(" "),
            _ => {}
        }
        self.put(if is_array { "]" } else { "}" });
    }

    /// What stands between the last comma or bracket and a member.
    fn before_member(&mut self, container: &str, member: &str, style: Style, depth: usize, is_later: bool, pad: bool) {
        match style {
            Style::Lines => self.own_lines(container, depth + 1),
            Style::Wild if self.dice.one_in(2) => self.turn(self.labels % 4),
            _ if is_later || pad => self.put(" "),
            _ => {}
        }
        if style != Style::Lines && self.dice.one_in(8) {
            self.comment(false, member, true);
            self.put(" ");
        }
    }

    /// A string or a container.
    fn value(&mut self, pointer: &str, style: Style, depth: usize) {
        if depth < 3 && (depth == 0 || self.dice.one_in(4)) {
            let is_array = self.dice.one_in(2);
            let inner = match style {
                Style::Inline => Style::Inline,
                _ => *self.dice.pick(&[Style::Inline, Style::Lines, Style::Lines, Style::Wild]),
            };
            self.container(pointer, is_array, inner, depth + 1);
        } else {
            let label = self.label("v");
            let text = *self.dice.pick(&["", ",", "//", "/*", "]", "\\\"", "é路"]);
            write!(self.document.text, "\"{label}{text}\"").unwrap();
        }
    }

    /// The comma and what else stands on the line of a member.
    fn after_member(&mut self, member: &str, style: Style, depth: usize, has_comma: bool, is_last: bool) {
        if self.dice.one_in(10) {
            self.put(" ");
            self.comment(false, member, true);
        }
        if style == Style::Wild && self.dice.one_in(6) {
            self.put(" ");
            self.comment(true, member, true);
            self.turn(depth);
        }
        if has_comma {
            self.put(",");
        }
        if style == Style::Lines && self.dice.one_in(3) {
            let is_line = self.dice.one_in(2);
            self.put(" ");
            self.comment(is_line, member, true);
        } else if style == Style::Inline && is_last && self.dice.one_in(8) {
            self.put(" ");
            self.comment(false, member, true);
        }
    }
}
