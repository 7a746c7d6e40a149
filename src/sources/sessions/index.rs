//! The index of a store as bytes. It is a cache: anything that does not fit is taken for no index.

use sha2::{Digest as _, Sha256};

use super::file::Records;
use super::scan::Indexed;

/// The first bytes of an index. The last one rises whenever a reader keeps something else.
const MAGIC: [u8; 8] = *b"prindex\x01";
/// Length of the digest behind it.
const DIGEST: usize = 32;

/// An index as bytes.
pub(super) fn encode<R: Records>(files: &[Indexed<R>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[0; DIGEST]);
    let mut bytes = postcard::to_extend(files, bytes).expect("memory can be written");
    let digest = Sha256::digest(&bytes[MAGIC.len() + DIGEST..]);
    bytes[MAGIC.len()..MAGIC.len() + DIGEST].copy_from_slice(&digest);
    bytes
}

/// The index of some bytes, if they are one.
pub(super) fn decode<R: Records>(bytes: &[u8]) -> Option<Vec<Indexed<R>>> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (digest, body) = rest.split_at_checked(DIGEST)?;
    if Sha256::digest(body).as_slice() != digest {
        return None;
    }
    postcard::from_bytes(body).ok()
}
