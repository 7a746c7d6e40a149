//! Forgiving JSON: a value of the wrong kind spoils its own row and not the file. Everything is skipped in place, so
//! that no body is ever held twice.

use std::fmt;
use std::marker::PhantomData;

use chrono::NaiveDate;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::vocabulary::Prices;

/// A value that is there, not there (`null`, no key), or of the wrong kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Loose<T> {
    /// As expected.
    Value(T),
    /// `null` or no key.
    #[default]
    Missing,
    /// Of another kind.
    Wrong,
}

impl<T> Loose<T> {
    /// The value if it is there; an error that names the key when its kind is wrong.
    pub(super) fn get(self, key: &str) -> Result<Option<T>, String> {
        match self {
            Self::Value(value) => Ok(Some(value)),
            Self::Missing => Ok(None),
            Self::Wrong => Err(format!("{key} is of the wrong kind")),
        }
    }

    /// The value, whatever else was wrong; for keys that may be ignored.
    pub(super) fn lenient(self) -> Option<T> {
        self.get("").ok().flatten()
    }
}

/// What a [`Loose`] may hold.
pub(super) trait Kind: Sized {
    /// From a string.
    fn text(_: &str) -> Option<Self> {
        None
    }
    /// From a number.
    fn number(_: f64) -> Option<Self> {
        None
    }
    /// From a truth value.
    fn truth(_: bool) -> Option<Self> {
        None
    }
    /// From an object.
    fn object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
    /// From a list.
    fn list<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl Kind for String {
    fn text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Kind for f64 {
    fn number(number: f64) -> Option<Self> {
        number.is_finite().then_some(number)
    }
}

impl Kind for Decimal {
    /// The decimal that the number was written as: the shortest text of a float is that text. What no decimal can hold is wrong.
    fn number(number: f64) -> Option<Self> {
        let decimal = number.to_string().parse::<Self>().ok()?;
        (decimal.is_zero() == (number.abs() <= 0.0)).then_some(decimal)
    }
}

/// A price written as a decimal string, in some bodies as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount(pub(super) Decimal);

impl Kind for Amount {
    fn text(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse::<Decimal>().or_else(|_| Decimal::from_scientific(text)).ok().map(Self)
    }

    fn number(number: f64) -> Option<Self> {
        Decimal::number(number).map(Self)
    }
}

impl Kind for bool {
    fn truth(truth: bool) -> Option<Self> {
        Some(truth)
    }
}

/// An object of one shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object<T>(pub(super) T);

impl<T: DeserializeOwned> Kind for Object<T> {
    fn object<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Some(Self(value)))
    }
}

/// A list of values of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List<T>(pub(super) Vec<Loose<T>>);

impl<T: Kind> Kind for List<T> {
    fn list<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Some(Self(items)))
    }
}

/// The entries of an object in file order, a repeated key as often as it stands there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entries<T>(pub(super) Vec<(String, Loose<T>)>);

impl<T: Kind> Kind for Entries<T> {
    fn object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Some(Self(entries)))
    }
}

impl<T> Entries<T> {
    /// The entries by key. A key that stands twice comes back in the second list: which of the two holds is not ours to say.
    pub(super) fn by_key(self) -> (Vec<(String, Loose<T>)>, Vec<String>) {
        let mut entries = self.0;
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let mut repeated: Vec<String> =
            entries.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0.clone()).collect();
        repeated.dedup();
        entries.retain(|(key, _)| repeated.binary_search(key).is_err());
        (entries, repeated)
    }
}

impl<'de, T: Kind> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

/// Takes whatever comes.
struct LooseVisitor<T>(PhantomData<T>);

/// A converted value, or `Wrong`.
fn or_wrong<T>(value: Option<T>) -> Loose<T> {
    value.map_or(Loose::Wrong, Loose::Value)
}

impl<'de, T: Kind> Visitor<'de> for LooseVisitor<T> {
    type Value = Loose<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Loose::Missing)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(or_wrong(T::truth(truth)))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and prices are far below 2^53")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(or_wrong(T::number(number as f64)))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and prices are far below 2^53")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(or_wrong(T::number(number as f64)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(or_wrong(T::number(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(or_wrong(T::text(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::object(map).map(or_wrong)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::list(seq).map(or_wrong)
    }
}

/// A number that must not be below zero; an error that names the key otherwise.
pub(super) fn not_negative<T: PartialOrd + Default>(value: Loose<T>, key: &str) -> Result<Option<T>, String> {
    match value.get(key)? {
        Some(number) if number < T::default() => Err(format!("{key} is below 0")),
        number => Ok(number),
    }
}

/// A day as `YYYY-MM-DD`; `None` for anything else.
pub(super) fn day(text: &str) -> Option<NaiveDate> {
    (text.len() == 10).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

/// Settles what a zero means. Input and output both 0: free if `zero_is_free`, else unknown, and the cache prices with them.
/// A lone 0 beside another price was rounded down or left out, so it is unknown: caching is never "free" by accident.
pub(super) fn settle_zeros(prices: Prices, zero_is_free: bool) -> Prices {
    let is_zero = |price: Option<Decimal>| price.is_some_and(|usd| usd.is_zero());
    if is_zero(prices.input) && is_zero(prices.output) {
        return if zero_is_free { prices } else { Prices::default() };
    }
    let above_zero = |price: Option<Decimal>| price.filter(|usd| *usd > Decimal::ZERO);
    Prices {
        input: above_zero(prices.input),
        output: above_zero(prices.output),
        cache_read: above_zero(prices.cache_read),
        cache_write: above_zero(prices.cache_write),
    }
}
