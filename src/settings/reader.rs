//! Typed access to the written settings, with the defaults of the reference for the rest.

use crate::vocabulary::Tier;

use super::reference;
use super::written::{Written, join};
use super::yaml::{Fault, Node, Value, quoted};

/// Access to the settings of one group. Keys it is asked for must be in the reference.
pub(super) struct Reader<'a> {
    /// What the file says.
    written: &'a Written,
    /// The group's name in the reference.
    pattern: String,
    /// The group's name in the file.
    pub(super) shown: String,
    /// The tier whose numbers it holds, for the defaults.
    tier: Option<Tier>,
}

impl<'a> Reader<'a> {
    /// Access to the top of the file.
    pub(super) fn root(written: &'a Written) -> Self {
        Self { written, pattern: String::new(), shown: String::new(), tier: None }
    }

    /// Access to a group of this one.
    pub(super) fn group(&self, name: &str) -> Self {
        self.below(name, name)
    }

    /// Access to the numbers of a tier.
    pub(super) fn tier(&self, tier: Tier) -> Self {
        Self { tier: Some(tier), ..self.group("tiers").below("<tier>", tier.as_str()) }
    }

    /// Access to the items of a list of groups, in file order.
    pub(super) fn items(&self, name: &str) -> Vec<Self> {
        let shown = join(&self.shown, name);
        let parts = self.written.parts.get(&shown).map_or(&[][..], Vec::as_slice);
        parts.iter().map(|index| self.below(&format!("{name}[]"), &format!("{name}{index}"))).collect()
    }

    /// The names in a group with free names, and access to each, in file order.
    pub(super) fn named(&self, name: &str) -> Vec<(&'a str, Self)> {
        let group = self.group(name);
        let parts = self.written.parts.get(&group.shown).map_or(&[][..], Vec::as_slice);
        parts.iter().map(|part| (part.as_str(), group.below("<id>", part))).collect()
    }

    /// Access to a group below.
    fn below(&self, pattern: &str, shown: &str) -> Self {
        Self {
            written: self.written,
            pattern: join(&self.pattern, pattern),
            shown: join(&self.shown, shown),
            tier: self.tier,
        }
    }

    /// The line of the group itself.
    pub(super) fn line(&self) -> usize {
        self.written.line(&[&self.shown])
    }

    /// The line of a key, else of its group.
    pub(super) fn line_of(&self, name: &str) -> usize {
        self.written.line(&[&join(&self.shown, name), &self.shown])
    }

    /// The line of the first of these keys that is written.
    pub(super) fn first_line(&self, keys: &[&str]) -> usize {
        self.written.line(keys)
    }

    /// The value written under a key.
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.written.values.get(&join(&self.shown, name))
    }

    /// The default of a key: of this tier, where there are four.
    fn default(&self, name: &str) -> &'static str {
        let row = reference::key(&join(&self.pattern, name)).expect("only keys of the reference are asked for");
        match self.tier {
            Some(tier) => row.default.split(" · ").nth(tier as usize).unwrap_or(row.default),
            None => row.default,
        }
    }

    /// The number under a key, or its default.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.optional_number(name).unwrap_or_else(|| parse_number(self.default(name)))
    }

    /// The number under a key, if it is written.
    pub(super) fn optional_number(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The whole number under a key, or its default.
    pub(super) fn whole(&self, name: &str) -> u32 {
        whole(self.number(name))
    }

    /// The whole number under a key, if it is written.
    pub(super) fn optional_whole(&self, name: &str) -> Option<u32> {
        self.optional_number(name).map(whole)
    }

    /// The flag under a key, or its default.
    pub(super) fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => *flag,
            _ => self.default(name) == "true",
        }
    }

    /// The text under a key, or its default.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.optional_text(name).unwrap_or_else(|| self.default(name))
    }

    /// The text under a key, if it is written.
    pub(super) fn optional_text(&self, name: &str) -> Option<&'a str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The text under a key that must be written.
    pub(super) fn required_text(&self, name: &str) -> Result<&'a str, Fault> {
        self.optional_text(name).ok_or_else(|| self.missing(name))
    }

    /// The ids under a key, if it is written.
    pub(super) fn optional_ids(&self, name: &str) -> Option<Vec<&'a str>> {
        match self.value(name) {
            Some(Value::List(items)) => Some(items.iter().filter_map(text_of).collect()),
            _ => None,
        }
    }

    /// The complaint that a key is not written.
    pub(super) fn missing(&self, name: &str) -> Fault {
        Fault::new(self.line(), format!("{} is missing", quoted(&join(&self.shown, name))))
    }
}

/// The text of a list item.
fn text_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A default as a number: decimal, or a fraction such as `1/3`.
fn parse_number(text: &str) -> f64 {
    let number = |part: &str| part.parse::<f64>().expect("defaults of the reference are numbers");
    match text.split_once('/') {
        Some((above, below)) => number(above) / number(below),
        None => number(text),
    }
}

/// A number of kind [`super::Kind::Whole`] as an integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the kind lets only 0 to 2^32 - 1 pass")]
fn whole(number: f64) -> u32 {
    number as u32
}

/// A type that a section holds.
pub(super) trait Setting {
    /// The value under a key, or its default.
    fn read(group: &Reader, name: &str) -> Self;
}

impl Setting for f64 {
    fn read(group: &Reader, name: &str) -> Self {
        group.number(name)
    }
}

impl Setting for u32 {
    fn read(group: &Reader, name: &str) -> Self {
        group.whole(name)
    }
}

impl Setting for bool {
    fn read(group: &Reader, name: &str) -> Self {
        group.flag(name)
    }
}
