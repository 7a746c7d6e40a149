//! The three states of a number: known, known to be zero, unknown. Unknown is never 0 and never fine.

use chrono::{DateTime, Utc};

use super::SourceId;

/// Where a value comes from: its source, its as-of time and how many observations stand behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The source that states it.
    pub source: SourceId,
    /// When the source says it was true; `None` when the source does not say.
    pub as_of: Option<DateTime<Utc>>,
    /// Observations behind the value (1 for a market statement).
    pub n: u64,
}

/// A value that is known, with its provenance, or unknown, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub enum Known<T> {
    /// The value and where it comes from. Zero is a value.
    Value(T, Provenance),
    /// Not known, and why, as a fragment for a sentence ("no price in any source").
    Unknown(String),
}

impl<T> Known<T> {
    /// The value, if it is known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value, _) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// The value, if it is known, by copy.
    pub fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        self.value().copied()
    }

    /// Where the value comes from, if it is known.
    pub fn provenance(&self) -> Option<&Provenance> {
        match self {
            Self::Value(_, provenance) => Some(provenance),
            Self::Unknown(_) => None,
        }
    }

    /// Why the value is unknown, if it is.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(..) => None,
            Self::Unknown(reason) => Some(reason),
        }
    }

    /// The same knowledge of another quantity.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Self::Value(value, provenance) => Known::Value(f(value), provenance),
            Self::Unknown(reason) => Known::Unknown(reason),
        }
    }
}
