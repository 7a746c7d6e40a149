//! Small helpers of the readers: interned names, ids of fixed size, and places in lists by key.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// As long as a list has no more, it is looked through.
const FEW: usize = 12;

/// An id of fixed size: 128 bits of XXH3 over a text and its kind (decision 0110).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "[u8; 16]", into = "[u8; 16]")]
pub(super) struct Id(u64, u64);

impl Id {
    /// The id of a text of some kind.
    pub(super) fn of(kind: u8, text: &[u8]) -> Self {
        let hash = xxh3_128_with_seed(text, kind.into()).to_be_bytes();
        Self::from(hash)
    }

    /// The id of parts that are told apart.
    pub(super) fn of_parts(parts: &[&[u8]]) -> Self {
        let lengths = parts.iter().map(|part| part.len() as u64);
        let mut text: Vec<u8> = lengths.flat_map(u64::to_le_bytes).collect();
        text.extend(parts.iter().copied().flatten());
        Self::of(0, &text)
    }

    /// This id inside something with a number.
    pub(super) fn inside(self, number: u64) -> Self {
        Self::of_parts(&[&<[u8; 16]>::from(self), &number.to_le_bytes()])
    }
}

impl From<[u8; 16]> for Id {
    fn from(bytes: [u8; 16]) -> Self {
        let [high, low] = [0, 8].map(|at| bytes[at..].first_chunk().copied().map_or(0, u64::from_be_bytes));
        Self(high, low)
    }
}

impl From<Id> for [u8; 16] {
    fn from(id: Id) -> Self {
        (u128::from(id.0) << 64 | u128::from(id.1)).to_be_bytes()
    }
}

/// Where the things of a growing list stand, by key. While there are few the list is looked through, then a map is kept.
#[derive(Debug, Clone)]
pub(super) struct Places<K>(BTreeMap<K, usize>);

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K> PartialEq for Places<K> {
    /// It holds nothing of its own.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<K: Ord> Places<K> {
    /// The place of a key in a list of this length, whose keys are told by `key_at` and do not repeat.
    pub(super) fn of<Q: Ord + ?Sized>(&mut self, key: &Q, length: usize, key_at: impl Fn(usize) -> K) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        if length <= FEW {
            return (0..length).rev().find(|at| key_at(*at).borrow() == key);
        }
        for at in self.0.len()..length {
            self.0.insert(key_at(at), at);
        }
        self.0.get(key).copied()
    }
}

/// Names that occur often, each kept once. Number 0 is no name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub(super) struct Names {
    /// The names.
    list: Vec<String>,
    /// Where they stand.
    places: Places<String>,
    /// The number asked for last: most records repeat it.
    last: u32,
}

impl Default for Names {
    fn default() -> Self {
        Self::from(vec![String::new()])
    }
}

impl From<Vec<String>> for Names {
    fn from(mut list: Vec<String>) -> Self {
        if list.is_empty() {
            list.push(String::new());
        }
        Self { list, places: Places::default(), last: 0 }
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
        let place = self.place(name).unwrap_or_else(|| {
            self.list.push(name.to_owned());
            self.list.len() - 1
        });
        self.last = number(place);
        self.last
    }

    /// Where a name stands.
    fn place(&mut self, name: &str) -> Option<usize> {
        if self.list.len() <= FEW {
            return self.list.iter().position(|known| known == name);
        }
        self.places.of(name, self.list.len(), |at| self.list[at].clone())
    }

    /// Frees what only looking for names needs; the list stays.
    pub(super) fn settle(&mut self) {
        self.places = Places::default();
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
