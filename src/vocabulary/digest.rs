//! Named hashes: SHA-256 over bytes and over canonical JSON (RFC 8785), and git's blob id.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// A SHA-256 digest, shown as `sha256:` and 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", sha256_hex(bytes)))
    }

    /// The digest of bytes that were given to a hasher piece by piece.
    pub fn of_stream(hasher: Sha256) -> Self {
        Self(format!("sha256:{}", hex(&hasher.finalize())))
    }

    /// The digest of a value's canonical JSON.
    pub fn of_json(value: &Value) -> Self {
        Self::of(canonical_json(value).as_bytes())
    }

    /// `sha256:` and 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight hex digits, for tables.
    pub fn short(&self) -> &str {
        let hex = self.0.trim_start_matches("sha256:");
        &hex[..hex.len().min(8)]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a over some bytes, 64 bits, as 16 lower-case hex digits: quick, and enough to notice that a cache was damaged.
pub fn fnv1a_hex(bytes: &[u8]) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// SHA-256 of some bytes as 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hex.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Canonical JSON (RFC 8785): keys sorted, no spaces, shortest number form.
pub fn canonical_json(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).expect("a parsed JSON value holds finite numbers only")
}

/// Digest of the value at a JSON pointer (methods §18.1); comments and layout do not enter it. `None` when nothing is there.
pub fn subtree_digest(document: &Value, pointer: &str) -> Option<Digest> {
    document.pointer(pointer).map(Digest::of_json)
}

/// Git's object id of a file with this text: SHA-1 over `blob <length>\0` and the text.
pub fn git_blob(text: &str) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", text.len()));
    hasher.update(text);
    hex(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    #[test]
    fn fnv_is_that_of_its_authors() {
        assert_eq!(super::fnv1a_hex(b""), "cbf29ce484222325");
        assert_eq!(super::fnv1a_hex(b"a"), "af63dc4c8601ec8c");
        assert_eq!(super::fnv1a_hex(b"foobar"), "85944171f73967e8");
    }
}
