//! Small helpers of the readers: interned names and ids of fixed size.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An id of fixed size: the first 16 bytes of the SHA-256 of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Id([u8; 16]);

impl Id {
    /// The id of a text of some kind.
    pub(super) fn of(kind: u8, text: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update([kind]);
        hasher.update(text);
        Self::short(hasher)
    }

    /// The id of parts that are told apart.
    pub(super) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::short(hasher)
    }

    /// The first half of a digest.
    fn short(hasher: Sha256) -> Self {
        let digest = hasher.finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

/// Names that occur often, each kept once. Number 0 is no name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub(super) struct Names {
    /// The names.
    list: Vec<String>,
    /// Name → number; empty until a name is looked for.
    numbers: BTreeMap<String, u32>,
    /// The number asked for last: most records repeat it.
    last: u32,
}

impl Default for Names {
    fn default() -> Self {
        Self::from(vec![String::new()])
    }
}

impl From<Vec<String>> for Names {
    fn from(list: Vec<String>) -> Self {
        Self { list, numbers: BTreeMap::new(), last: 0 }
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl From<Names> for Vec<String> {
    fn from(names: Names) -> Self {
        names.list
    }
}

impl Names {
    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if self.list[self.last as usize] == name {
            return self.last;
        }
        if self.numbers.is_empty() {
            self.numbers = self.list.iter().enumerate().map(|(at, name)| (name.clone(), number(at))).collect();
        }
        let next = number(self.list.len());
        self.last = *self.numbers.entry(name.to_owned()).or_insert(next);
        if self.last == next {
            self.list.push(name.to_owned());
        }
        self.last
    }

    /// Frees what only looking for names needs; the list stays.
    pub(super) fn settle(&mut self) {
        self.numbers = BTreeMap::new();
        self.list.shrink_to_fit();
    }

    /// Every name, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str)
    }

    /// The number of a name that may be missing.
    pub(super) fn optional(&mut self, name: Option<&str>) -> u32 {
        name.map_or(0, |name| self.number(name))
    }

    /// The name of a number; `None` for number 0.
    pub(super) fn get(&self, number: u32) -> Option<&str> {
        self.list.get(number as usize).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// A place in a list as a number.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
