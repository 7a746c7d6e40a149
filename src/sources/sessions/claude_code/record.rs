//! One record of a Claude Code file as slices of its line: nothing is copied that is not needed.

use crate::sources::sessions::file::each_field;
use crate::sources::sessions::skim::{Fields, Items, Odd, blank, says, text, whole};
use crate::vocabulary::ServiceTier;

/// The fields of a record that mean something.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    /// `type`.
    pub(super) kind: &'a [u8],
    /// `timestamp`.
    pub(super) timestamp: &'a [u8],
    /// `uuid`.
    pub(super) uuid: &'a [u8],
    /// `isSidechain`.
    pub(super) is_side: bool,
    /// `isMeta`.
    pub(super) is_meta: bool,
    /// `isApiErrorMessage`.
    pub(super) is_error: bool,
    /// `subtype`.
    pub(super) subtype: &'a [u8],
    /// `error`.
    pub(super) error: &'a [u8],
    /// `effort`.
    pub(super) effort: &'a [u8],
    /// `requestId`.
    pub(super) request: &'a [u8],
    /// `sessionId`.
    pub(super) session: &'a [u8],
    /// `agentId`.
    pub(super) agent: &'a [u8],
    /// `cwd`.
    pub(super) folder: &'a [u8],
    /// `message`, if it is an object.
    pub(super) message: Message<'a>,
}

/// The fields of a message that mean something.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    /// `id`.
    pub(super) id: &'a [u8],
    /// `model`.
    pub(super) model: &'a [u8],
    /// `role`.
    pub(super) role: &'a [u8],
    /// `stop_reason`.
    pub(super) stop: &'a [u8],
    /// `effort`.
    pub(super) effort: &'a [u8],
    /// `usage`, if it is an object.
    pub(super) usage: Option<&'a [u8]>,
    /// `content`.
    pub(super) content: &'a [u8],
}

/// The counts of one record.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Uncached input.
    pub(super) input: u32,
    /// Read from cache.
    pub(super) cache_read: u32,
    /// Written to cache.
    pub(super) cache_write: u32,
    /// Of that for one hour, where the split fits.
    pub(super) write_1h: Option<u32>,
    /// Output.
    pub(super) output: u32,
    /// Whether in fast mode.
    pub(super) is_fast: bool,
    /// Under which contract.
    pub(super) tier: ServiceTier,
}

impl<'a> Record<'a> {
    /// The fields of a record. The message is read where it stands, so that its text is passed once.
    pub(super) fn of(object: &'a [u8]) -> Result<Self, Odd> {
        let mut record = Self::default();
        let mut fields = Fields::of(object)?;
        while let Some(key) = fields.next_key()? {
            if key == b"message"
                && let Some(mut message) = fields.enter()
            {
                record.message = Message::of(&mut message)?;
                fields.leave(&message);
                continue;
            }
            let value = fields.skip()?;
            match key {
                b"type" => record.kind = value,
                b"timestamp" => record.timestamp = value,
                b"uuid" => record.uuid = value,
                b"isSidechain" => record.is_side = value == b"true",
                b"isMeta" => record.is_meta = value == b"true",
                b"isApiErrorMessage" => record.is_error = value == b"true",
                b"subtype" => record.subtype = value,
                b"error" => record.error = value,
                b"effort" => record.effort = value,
                b"requestId" => record.request = value,
                b"sessionId" => record.session = value,
                b"agentId" => record.agent = value,
                b"cwd" => record.folder = value,
                b"message" => record.message = Message::default(),
                _ => {}
            }
        }
        if blank(object, fields.end()) == object.len() { Ok(record) } else { Err(Odd) }
    }
}

impl<'a> Message<'a> {
    /// The fields of a message, read to its end.
    pub(super) fn of(fields: &mut Fields<'a>) -> Result<Self, Odd> {
        let mut message = Self::default();
        while let Some((key, value)) = fields.next()? {
            match key {
                b"id" => message.id = value,
                b"model" => message.model = value,
                b"role" => message.role = value,
                b"stop_reason" => message.stop = value,
                b"effort" => message.effort = value,
                b"usage" => message.usage = (value.first() == Some(&b'{')).then_some(value),
                b"content" => message.content = value,
                _ => {}
            }
        }
        Ok(message)
    }
}

impl Usage {
    /// The counts of a usage object.
    pub(super) fn of(value: &[u8]) -> Result<Self, Odd> {
        let mut usage = Self::default();
        let (mut split, mut iterations): (&[u8], &[u8]) = (b"", b"");
        each_field(value, |key, value| match key {
            b"input_tokens" => usage.input = count(value),
            b"cache_read_input_tokens" => usage.cache_read = count(value),
            b"cache_creation_input_tokens" => usage.cache_write = count(value),
            b"output_tokens" => usage.output = count(value),
            b"speed" => usage.is_fast = says(value, "fast"),
            b"service_tier" => usage.tier = tier(value),
            b"cache_creation" => split = value,
            b"iterations" => iterations = value,
            _ => {}
        })?;
        usage.write_1h = write_1h(split, usage.cache_write);
        if usage.write_1h.is_none() && !iterations.is_empty() {
            usage.write_1h = of_iterations(iterations, usage.cache_write);
        }
        Ok(usage)
    }
}

/// A service tier. One that is not stated, and the one everybody has by default, are standard.
fn tier(value: &[u8]) -> ServiceTier {
    match text(value).as_deref().unwrap_or_default() {
        "" | "standard" | "default" => ServiceTier::Standard,
        "batch" => ServiceTier::Batch,
        "priority" => ServiceTier::Priority,
        _ => ServiceTier::Other,
    }
}

/// A token count.
fn count(value: &[u8]) -> u32 {
    u32::try_from(whole(value)).unwrap_or(u32::MAX)
}

/// Tokens written for one hour, where the split adds up to the write.
fn write_1h(split: &[u8], write: u32) -> Option<u32> {
    let (mut short, mut long) = (0_u32, 0_u32);
    let mut fields = Fields::of(split).ok()?;
    while let Some((key, value)) = fields.next().ok()? {
        match key {
            b"ephemeral_5m_input_tokens" => short = count(value),
            b"ephemeral_1h_input_tokens" => long = count(value),
            _ => {}
        }
    }
    (short.checked_add(long) == Some(write)).then_some(long)
}

/// The same from the last call of several inside one response whose write and split fit.
fn of_iterations(iterations: &[u8], write: u32) -> Option<u32> {
    let calls: Vec<&[u8]> = Items::of(iterations).collect();
    calls.iter().rev().find_map(|call| {
        let (mut own, mut split): (u32, &[u8]) = (0, b"");
        each_field(call, |key, value| match key {
            b"cache_creation_input_tokens" => own = count(value),
            b"cache_creation" => split = value,
            _ => {}
        })
        .ok()?;
        if own == write { write_1h(split, write) } else { None }
    })
}

/// An effort, written as text or as an object with a level.
pub(crate) fn effort(value: &[u8]) -> Option<String> {
    if value.first() == Some(&b'{') {
        let mut level = None;
        each_field(value, |key, value| {
            if key == b"level" {
                level = text(value).map(std::borrow::Cow::into_owned);
            }
        })
        .ok()?;
        return level;
    }
    text(value).map(std::borrow::Cow::into_owned)
}
