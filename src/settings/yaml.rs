//! YAML text to a tree in which every key and value keeps its line. The only user of the YAML parser here.
//! Repeated keys survive into the tree, so that they can be reported by their dotted name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{MessageFormatter, Spanned, UserMessageFormatter};

/// What is wrong, as a fragment, and on which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Line in the whole file, counted from 1.
    pub(crate) line: usize,
    /// A lower-case fragment of one line.
    pub(crate) message: String,
}

impl Fault {
    /// A fault at a line.
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// A value and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Line in the whole file, counted from 1.
    pub(crate) line: usize,
    /// The value.
    pub(crate) value: Value,
}

/// A YAML value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Nothing after the colon.
    Nothing,
    /// `true` or `false`.
    Flag(bool),
    /// A number; not finite for `.nan` and `.inf`.
    Number(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with their lines, in file order, repeated ones included.
    Group(Vec<(String, usize, Node)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(_) => f.write_str("a list"),
            Self::Group(_) => f.write_str("a group of keys"),
        }
    }
}

/// Outside text for a message: in quotes, on one line, control and format characters escaped, at most 60 characters.
pub(crate) fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(60).collect();
    let rest = if cut.len() < text.len() { "…" } else { "" };
    format!("{:?}", format!("{cut}{rest}"))
}

/// The tree of some YAML whose first line is line `offset + 1` of the file.
pub(crate) fn parse(yaml: &str, offset: usize) -> Result<Node, Fault> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(yaml, options) {
        Ok(raw) => Ok(node(raw, offset)),
        Err(error) => Err(fault(&error, offset)),
    }
}

/// A parser error as a fault. An alias is nearly always a glob that wants quotes.
fn fault(error: &serde_saphyr::Error, offset: usize) -> Fault {
    let line = error.location().map_or(offset + 1, |place| offset + to_line(place.line()));
    let hint = match error.without_snippet() {
        serde_saphyr::Error::UnknownAnchor { .. } => " (a glob that begins with \"*\" must stand in quotes)",
        _ => "",
    };
    let message: String = UserMessageFormatter.format_message(error).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = message.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
    Fault::new(line, format!("not valid YAML: {}{hint}", shown.trim_end_matches('.')))
}

/// A line of the parser as one of ours; unknown lines (0) become the first.
fn to_line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).max(1)
}

/// A parsed value with lines of the whole file.
fn node(raw: Spanned<Raw>, offset: usize) -> Node {
    let line = offset + to_line(raw.referenced.line());
    let value = match raw.value {
        Raw::Scalar(value) => value,
        Raw::List(items) => Value::List(items.into_iter().map(|item| node(item, offset)).collect()),
        Raw::Group(entries) => Value::Group(
            entries
                .into_iter()
                .map(|(key, value)| (key.value, offset + to_line(key.referenced.line()), node(value, offset)))
                .collect(),
        ),
    };
    Node { line, value }
}

/// What the parser hands over, with its own spans.
enum Raw {
    /// A value without parts.
    Scalar(Value),
    /// A list.
    List(Vec<Spanned<Raw>>),
    /// Keys and values, repeated ones included.
    Group(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

/// Takes whatever stands there.
struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Nothing))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Number(to_float(i128::from(number)))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Number(to_float(i128::from(number)))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut group: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = group.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Group(entries))
    }
}

/// A whole number as a float; settings hold none that a float cannot carry exactly.
#[expect(clippy::cast_precision_loss, reason = "a setting above 2^53 is refused by its kind or is far outside any use")]
fn to_float(number: i128) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of a group.
    fn entries(node: &Node) -> &[(String, usize, Node)] {
        match &node.value {
            Value::Group(entries) => entries,
            other => panic!("expected a group, got {other}"),
        }
    }

    #[test]
    fn lines_are_those_of_keys_items_and_aliases() {
        let tree = parse("a:\n\n  b: 1\nc:\n  - x\n  - d: 2\n    e: 3\n", 1).unwrap();
        let top = entries(&tree);
        assert_eq!((top[0].1, top[1].1), (2, 5));
        assert_eq!(entries(&top[0].2)[0].1, 4);
        let Value::List(items) = &top[1].2.value else { panic!("c is a list") };
        assert_eq!((items[0].line, items[1].line), (6, 7));
        assert_eq!(entries(&items[1])[1].1, 8);
    }

    #[test]
    fn crlf_does_not_shift_lines() {
        let tree = parse("# one\r\na: 1\r\n\r\nb: 2\r\n", 1).unwrap();
        assert_eq!(entries(&tree).iter().map(|e| e.1).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn repeated_and_merge_keys_survive() {
        let tree = parse("a: 1\na: 2\n<<: {b: 3}\n", 0).unwrap();
        assert_eq!(entries(&tree).iter().map(|e| e.0.as_str()).collect::<Vec<_>>(), ["a", "a", "<<"]);
    }

    #[test]
    fn an_unquoted_star_is_explained() {
        let fault = parse("a: 1\npattern: *-plan\n", 1).unwrap_err();
        assert_eq!(fault.line, 3);
        assert!(fault.message.contains("must stand in quotes"), "{}", fault.message);
        assert!(!fault.message.contains('\n'));
    }

    #[test]
    fn empty_text_is_nothing() {
        assert_eq!(parse("", 1).unwrap().value, Value::Nothing);
        assert_eq!(parse("# only a comment\n", 1).unwrap().value, Value::Nothing);
    }

    #[test]
    fn not_finite_numbers_reach_the_checks() {
        let tree = parse("a: .nan\nb: -.inf\nc: 1e999\n", 0).unwrap();
        for (_, _, node) in entries(&tree) {
            assert!(matches!(node.value, Value::Number(number) if !number.is_finite()), "{}", node.value);
        }
    }
}
