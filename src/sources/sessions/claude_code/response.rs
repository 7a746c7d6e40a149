//! A response as far as some records tell: counts by maximum, times, and claims as bits. The same form stands for one file and,
//! joined, for the whole store.

use serde::{Deserialize, Serialize};

use super::NO_TIME;
use super::record::{Record, Usage};
use crate::sources::sessions::names::Id;
use crate::sources::sessions::skim::text;
use crate::vocabulary::ServiceTier;

/// Claims about a response, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims(u16);

impl Claims {
    /// Some record is final.
    pub(crate) const FINAL: u16 = 1;
    /// Every record is of a side chain.
    pub(crate) const SIDE: u16 = 2;
    /// It ran in fast mode.
    pub(crate) const FAST: u16 = 4;
    /// It came straight from the vendor: it has a request id and no id of a gateway.
    pub(crate) const DIRECT: u16 = 8;
    /// How long its writes to cache live is known.
    pub(crate) const SPLIT: u16 = 16;
    /// No record of it states an id: it can be in no other file.
    pub(crate) const NAMELESS: u16 = 32;
    /// It was served as a batch. With [`Self::PRIORITY`]: in a way that is neither.
    const BATCH: u16 = 64;
    /// It was served before others.
    const PRIORITY: u16 = 128;
    /// Some count is larger than what is kept of it.
    pub(crate) const CAPPED: u16 = 256;

    /// Whether a claim holds.
    pub(crate) fn has(self, claim: u16) -> bool {
        self.0 & claim != 0
    }

    /// Under which contract it was served.
    pub(crate) fn tier(self) -> ServiceTier {
        match (self.has(Self::BATCH), self.has(Self::PRIORITY)) {
            (false, false) => ServiceTier::Standard,
            (true, false) => ServiceTier::Batch,
            (false, true) => ServiceTier::Priority,
            (true, true) => ServiceTier::Other,
        }
    }

    /// Says under which contract it was served.
    fn serve(&mut self, tier: ServiceTier) {
        self.set(Self::BATCH, matches!(tier, ServiceTier::Batch | ServiceTier::Other));
        self.set(Self::PRIORITY, matches!(tier, ServiceTier::Priority | ServiceTier::Other));
    }

    /// Says whether a claim holds.
    fn set(&mut self, claim: u16, holds: bool) {
        self.0 = if holds { self.0 | claim } else { self.0 & !claim };
    }
}

/// What some records say of one response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Response {
    /// Which response.
    pub(crate) id: Id,
    /// When the model began, epoch milliseconds.
    pub(crate) start: i64,
    /// When the last record was written.
    pub(crate) end: i64,
    /// Uncached input.
    pub(crate) input: u32,
    /// Input read from cache.
    pub(crate) cache_read: u32,
    /// Input written to cache.
    pub(crate) cache_write: u32,
    /// Of that, written for one hour, where [`Claims::SPLIT`] holds.
    write_1h: u32,
    /// Output.
    pub(crate) output: u32,
    /// Records seen.
    pub(crate) records: u32,
    /// What holds of it.
    pub(crate) claims: Claims,
}

impl Response {
    /// A response of which no record has been taken yet.
    pub(super) fn new(id: Id, is_nameless: bool) -> Self {
        let claims = Claims(Claims::SIDE | if is_nameless { Claims::NAMELESS } else { 0 });
        let (start, end) = (NO_TIME, NO_TIME);
        let (input, cache_read, cache_write, write_1h, output, records) = (0, 0, 0, 0, 0, 0);
        Self { id, start, end, input, cache_read, cache_write, write_1h, output, records, claims }
    }

    /// Tokens written to cache for one hour; `None` when that is not known.
    pub(crate) fn write_1h(&self) -> Option<u32> {
        self.claims.has(Claims::SPLIT).then_some(self.write_1h)
    }

    /// Takes what one record says: the larger of each count; of the split the one that fits the largest write.
    pub(super) fn take(&mut self, record: &Record<'_>, usage: &Usage, at: i64) {
        let message = &record.message;
        let is_direct = text(record.request).is_some() && !message.id.starts_with(b"\"chatcmpl-");
        let mut claims = Claims(0);
        claims.set(Claims::FINAL, !matches!(message.stop, b"" | b"null"));
        claims.set(Claims::SIDE, record.is_side);
        claims.set(Claims::FAST, usage.is_fast);
        claims.set(Claims::DIRECT, is_direct);
        claims.set(Claims::SPLIT, usage.write_1h.is_some());
        let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output];
        claims.set(Claims::CAPPED, counts.contains(&u32::MAX));
        claims.serve(usage.tier);
        let Usage { input, cache_read, cache_write, output, .. } = *usage;
        let write_1h = usage.write_1h.unwrap_or(0);
        let (start, end) = (NO_TIME, at);
        self.join(&Self {
            id: self.id,
            start,
            end,
            input,
            cache_read,
            cache_write,
            write_1h,
            output,
            records: 1,
            claims,
        });
    }

    /// Joins what others say of the same response; `self` is the one that goes before, and its start stays.
    pub(crate) fn join(&mut self, other: &Self) {
        self.join_writes(other);
        self.input = self.input.max(other.input);
        self.cache_read = self.cache_read.max(other.cache_read);
        self.output = self.output.max(other.output);
        self.records = self.records.saturating_add(other.records);
        self.end = self.end.max(other.end);
        for claim in [Claims::FINAL, Claims::FAST, Claims::DIRECT, Claims::CAPPED, Claims::BATCH, Claims::PRIORITY] {
            self.claims.set(claim, self.claims.has(claim) || other.claims.has(claim));
        }
        self.claims.set(Claims::SIDE, self.claims.has(Claims::SIDE) && other.claims.has(Claims::SIDE));
    }

    /// Joins the writes of others: the split goes with the largest write, and a known one before none.
    fn join_writes(&mut self, other: &Self) {
        let is_equal = other.cache_write == self.cache_write && !self.claims.has(Claims::SPLIT);
        if other.cache_write > self.cache_write || is_equal {
            (self.cache_write, self.write_1h) = (other.cache_write, other.write_1h);
            self.claims.set(Claims::SPLIT, other.claims.has(Claims::SPLIT));
        }
    }
}
