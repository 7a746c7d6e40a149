//! Text of fixed length for a proposal's fields: outside names made visible, and cut where they do not fit.

use std::fmt::Write as _;

use crate::vocabulary::sha256_hex;

/// The longest member key the schema takes, in characters.
const KEY_CHARS: usize = 300;
/// Shown at the end of text that was cut.
const CUT: char = '…';

/// Plain text in which control, bidi, zero-width and other invisible characters, line separators and the two brackets
/// themselves stand as a visible code point, `⟨202E⟩`.
pub(super) fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_invisible(c) || matches!(c, '⟨' | '⟩') {
            write!(out, "⟨{:04X}⟩", u32::from(c)).expect("writing to a String cannot fail");
        } else {
            out.push(c);
        }
        out
    })
}

/// Control and format characters (Unicode general categories Cc, Cf, Zl and Zp), and fillers that show nothing.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// At most so many characters; what was cut ends in `…`.
pub(super) fn cut(text: &str, most_chars: usize) -> String {
    if text.chars().count() <= most_chars {
        return text.to_owned();
    }
    text.chars().take(most_chars - 1).chain([CUT]).collect()
}

/// A member key that fits. A longer one is cut and ends in the start of its digest, so that two long keys stay two.
pub(super) fn cut_key(key: &str) -> String {
    if key.chars().count() <= KEY_CHARS {
        return key.to_owned();
    }
    let tail = format!("{CUT}sha256:{}", &sha256_hex(key.as_bytes())[..16]);
    key.chars().take(KEY_CHARS - tail.chars().count()).chain(tail.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::{cut, cut_key, visible};

    #[test]
    fn what_cannot_be_seen_is_spelled_out_and_cannot_be_forged() {
        assert_eq!(visible("a\u{202e}b\n\u{1b}[31m"), "a⟨202E⟩b⟨000A⟩⟨001B⟩[31m");
        assert_eq!(visible("⟨202E⟩"), "⟨27E8⟩202E⟨27E9⟩");
        assert_eq!(visible("modèle/路由 @name"), "modèle/路由 @name");
    }

    #[test]
    fn long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("路由路由", 4), "路由路由");
        assert_eq!(cut("路由路由路", 4), "路由路…");
    }

    #[test]
    fn long_keys_that_begin_alike_stay_different() {
        let (one, two) = ("k".repeat(300) + "1", "k".repeat(300) + "2");
        assert_eq!(cut_key(&one).chars().count(), 300);
        assert_ne!(cut_key(&one), cut_key(&two));
        assert_eq!(cut_key(&one[..300]), one[..300]);
    }
}
