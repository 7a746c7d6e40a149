//! The fields of a Codex record as slices of its line.

use serde_json::Value;

use crate::sources::sessions::claude_code::{Failure, NO_TIME};
use crate::sources::sessions::skim::{Fields, Odd, blank, says, text};

/// A task that started at most this long before its line was written is live, milliseconds.
const LIVE_MS: f64 = 5_000.0;
/// A larger `started_at` counts milliseconds, not seconds.
const MILLISECONDS_FROM: f64 = 1e11;

/// One record: its kind, its time, and what its payload says.
pub(super) struct Record<'a> {
    /// `type`, as written.
    pub(super) kind: &'a [u8],
    /// `timestamp`, as written.
    pub(super) timestamp: &'a [u8],
    /// `payload`, if its kind has one that means something.
    pub(super) payload: Payload<'a>,
    /// `error`: what `codex exec --json` prints of a turn that failed.
    pub(super) error: &'a [u8],
}

impl<'a> Record<'a> {
    /// The fields of a record. The payload is read where it stands if its kind is known by then, else behind the record.
    pub(super) fn of(object: &'a [u8]) -> Result<Self, Odd> {
        let (mut kind, mut timestamp, mut late, mut error): (&[u8], &[u8], &[u8], &[u8]) = (b"", b"", b"", b"");
        let mut payload = Payload::default();
        let mut fields = Fields::of(object)?;
        while let Some(key) = fields.next_key()? {
            if key == b"payload"
                && has_fields(kind)
                && let Some(mut inner) = fields.enter()
            {
                payload = Payload::of(&mut inner)?;
                fields.leave(&inner);
                late = b"";
                continue;
            }
            let value = fields.skip()?;
            match key {
                b"type" => kind = value,
                b"timestamp" => timestamp = value,
                b"error" => error = value,
                b"payload" => (payload, late) = (Payload::default(), value),
                _ => {}
            }
        }
        if blank(object, fields.end()) != object.len() {
            return Err(Odd);
        }
        if has_fields(kind) && late.first() == Some(&b'{') {
            payload = Payload::of(&mut Fields::of(late)?)?;
        } else if !has_fields(kind) {
            payload = Payload::default();
        }
        Ok(Self { kind, timestamp, payload, error })
    }
}

/// Whether records of this kind have a payload that means something.
fn has_fields(kind: &[u8]) -> bool {
    matches!(kind, b"\"session_meta\"" | b"\"turn_context\"" | b"\"response_item\"" | b"\"event_msg\"")
        || kind.contains(&b'\\')
}

/// The fields of a payload that mean something.
#[derive(Debug, Default)]
pub(super) struct Payload<'a> {
    /// The whole payload.
    pub(super) whole: &'a [u8],
    /// `type`.
    pub(super) kind: Option<std::borrow::Cow<'a, str>>,
    /// `id`.
    pub(super) id: &'a [u8],
    /// `timestamp`.
    pub(super) timestamp: &'a [u8],
    /// `forked_from_id`.
    pub(super) forked_from: &'a [u8],
    /// `source`.
    pub(super) source: &'a [u8],
    /// `model_provider`.
    pub(super) provider: &'a [u8],
    /// `cwd`.
    pub(super) folder: &'a [u8],
    /// `model`.
    pub(super) model: &'a [u8],
    /// `effort`.
    pub(super) effort: &'a [u8],
    /// `role`.
    pub(super) role: &'a [u8],
    /// `call_id`.
    pub(super) call: &'a [u8],
    /// `info`.
    pub(super) info: &'a [u8],
    /// `rate_limits`.
    pub(super) limits: &'a [u8],
    /// `started_at`.
    pub(super) started: &'a [u8],
    /// `time_to_first_token_ms`.
    pub(super) first_token: &'a [u8],
    /// `message`.
    pub(super) message: &'a [u8],
    /// `codex_error_info`.
    pub(super) error: &'a [u8],
}

impl<'a> Payload<'a> {
    /// The fields of a payload, read to its end.
    pub(super) fn of(fields: &mut Fields<'a>) -> Result<Self, Odd> {
        let mut payload = Self::default();
        while let Some((key, value)) = fields.next()? {
            match key {
                b"type" => payload.kind = text(value),
                b"id" => payload.id = value,
                b"timestamp" => payload.timestamp = value,
                b"forked_from_id" => payload.forked_from = value,
                b"source" => payload.source = value,
                b"model_provider" => payload.provider = value,
                b"cwd" => payload.folder = value,
                b"model" => payload.model = value,
                b"effort" => payload.effort = value,
                b"role" => payload.role = value,
                b"call_id" => payload.call = value,
                b"info" => payload.info = value,
                b"rate_limits" => payload.limits = value,
                b"started_at" => payload.started = value,
                b"time_to_first_token_ms" => payload.first_token = value,
                b"message" => payload.message = value,
                b"codex_error_info" => payload.error = value,
                _ => {}
            }
        }
        payload.whole = fields.passed();
        Ok(payload)
    }

    /// Whether a task began when its line was written.
    pub(super) fn is_live(&self, at: i64) -> bool {
        let Ok(started) = serde_json::from_slice::<f64>(self.started) else { return true };
        if at == NO_TIME {
            return true;
        }
        let started = if started > MILLISECONDS_FROM { started } else { started * 1000.0 };
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few centuries fit an f64 exactly")]
        let at = at as f64;
        (at - started).abs() <= LIVE_MS
    }

    /// The payload with sorted keys: equal payloads are equal bytes.
    pub(super) fn plain(&self) -> Vec<u8> {
        serde_json::from_slice::<Value>(self.whole)
            .map_or_else(|_| self.whole.to_vec(), |value| value.to_string().into_bytes())
    }

    /// Why a call failed.
    pub(super) fn failure(&self) -> Failure {
        failure(self.message, self.error)
    }
}

/// Why a call failed, by its message and its kind as written.
pub(super) fn failure(message: &[u8], kind: &[u8]) -> Failure {
    let words = text(message).unwrap_or_else(|| String::from_utf8_lossy(message));
    let info = String::from_utf8_lossy(kind);
    let mentions = |parts: &[&str]| parts.iter().any(|part| info.contains(part) || words.contains(part));
    if says(kind, "usage_limit_exceeded") || words.contains("usage limit") {
        Failure::Quota
    } else if mentions(&["overload", "server_error", "internal_server", "high demand"]) {
        Failure::Overloaded
    } else if mentions(&["unauthorized", "auth"]) {
        Failure::Auth
    } else if mentions(&["stream disconnected", "connection", "http_connection", "network"]) {
        Failure::Network
    } else {
        Failure::Other
    }
}
