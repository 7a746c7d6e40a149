//! The index of a store as bytes. It is a cache: anything that does not fit is taken for no index.

use super::file::Records;
use super::scan::Indexed;

/// The first bytes of an index. The last one rises whenever a reader keeps something else.
const MAGIC: [u8; 8] = *b"prindex\x02";
/// Length of the check sum behind it.
const CHECK: usize = 8;

/// An index as bytes.
pub(super) fn encode<R: Records>(files: &[Indexed<R>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[0; CHECK]);
    let mut bytes = postcard::to_extend(files, bytes).expect("memory can be written");
    let sum = check_sum(&bytes[MAGIC.len() + CHECK..]);
    bytes[MAGIC.len()..MAGIC.len() + CHECK].copy_from_slice(&sum);
    bytes
}

/// The index of some bytes, if they are one.
pub(super) fn decode<R: Records>(bytes: &[u8]) -> Option<Vec<Indexed<R>>> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (sum, body) = rest.split_at_checked(CHECK)?;
    if check_sum(body) != sum {
        return None;
    }
    postcard::from_bytes(body).ok()
}

/// A check sum against torn writes and flipped bits, eight bytes at a time: every step is a bijection of what went before,
/// so that one changed word always changes the sum. It guards against accidents, not against people.
fn check_sum(bytes: &[u8]) -> [u8; CHECK] {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    mix(sum, u64::from_le_bytes(last)).to_le_bytes()
}
