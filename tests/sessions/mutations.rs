//! Lines changed at random: what can happen to a line of a log, and a few records to begin with.

use serde_json::Value;

/// Random numbers that are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    /// A dice with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below a bound; 0 when the bound is.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound.max(1)
    }

    /// One of some things.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A line after none to three changes; one of them puts the line behind it once more. No change makes a second line of it.
    pub(crate) fn mutate(&mut self, line: &[u8]) -> Vec<u8> {
        self.mutate_beside(line, line)
    }

    /// The same, with another line to put behind it.
    pub(crate) fn mutate_beside(&mut self, line: &[u8], other: &[u8]) -> Vec<u8> {
        let mut changed = line.to_vec();
        for _ in 0..self.below(4) {
            self.change(&mut changed, other);
        }
        changed.retain(|byte| *byte != b'\n');
        changed
    }

    /// One change.
    fn change(&mut self, text: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(text.len());
        match self.below(14) {
            0 if !text.is_empty() => text[at] ^= 1 << self.below(8),
            1 => text.truncate(at),
            2 => {
                let run = vec![0; 1 + self.below(40)];
                self.insert_anywhere(text, &run);
            }
            3 => drop(text.splice(0..0, *b"\xef\xbb\xbf")),
            4 => text.push(b'\r'),
            5 => self.repeat_a_key(text),
            6 => self.spell_a_letter(text),
            7 => self.put_blanks(text),
            8 => self.nest(text),
            9 => self.put_a_number(text),
            10 => self.insert_anywhere(text, b"\xff\xfe"),
            11 => {
                text.extend_from_slice(&b" \t"[..self.below(3)]);
                text.extend_from_slice(other);
            }
            12 => drop(text.drain(at..(at + self.below(20)).min(text.len()))),
            _ if !text.is_empty() => text[at] = *self.one(b"\"\\{}[],:0e-.nt\t"),
            _ => {}
        }
    }

    /// Puts something at the beginning, at the end or between.
    fn insert_anywhere(&mut self, text: &mut Vec<u8>, piece: &[u8]) {
        let at = match self.below(3) {
            0 => 0,
            1 => text.len(),
            _ => self.below(text.len()),
        };
        text.splice(at..at, piece.iter().copied());
    }

    /// Writes a key of an object a second time, with another value.
    fn repeat_a_key(&mut self, text: &mut Vec<u8>) {
        let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(text) else { return };
        let keys: Vec<&String> = object.keys().collect();
        if keys.is_empty() {
            return;
        }
        let key = *self.one(&keys);
        let value = *self.one(&["null", "7", "\"other\"", "{}", "[1]", "-1"]);
        let end = text.iter().rposition(|byte| *byte == b'}').unwrap();
        text.splice(end..end, format!(",{}:{value}", Value::from(key.as_str())).into_bytes());
    }

    /// Spells a letter by its number.
    fn spell_a_letter(&mut self, text: &mut Vec<u8>) {
        let letters: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_alphabetic()).collect();
        if !letters.is_empty() {
            let at = *self.one(&letters);
            let escape = format!("\\u{:04X}", text[at]);
            text.splice(at..=at, escape.into_bytes());
        }
    }

    /// Puts blanks around a colon or comma.
    fn put_blanks(&mut self, text: &mut Vec<u8>) {
        let places: Vec<usize> = (0..text.len()).filter(|at| matches!(text[*at], b':' | b',')).collect();
        if !places.is_empty() {
            let at = *self.one(&places);
            let behind = at + 1;
            text.splice(behind..behind, *b" \t ");
            text.splice(at..at, *b"\t ");
        }
    }

    /// Puts a deeply nested value into an object: as deep as parsers go, and deeper.
    fn nest(&mut self, text: &mut Vec<u8>) {
        let depth = *self.one(&[3, 100, 200, 5000]);
        if text.first() == Some(&b'{') && text.get(1) == Some(&b'"') {
            let nested = format!("\"deep\":{}{},", "[".repeat(depth), "]".repeat(depth));
            text.splice(1..1, nested.into_bytes());
        }
    }

    /// Replaces a run of digits.
    fn put_a_number(&mut self, text: &mut Vec<u8>) {
        let starts: Vec<usize> =
            (1..text.len()).filter(|at| text[*at].is_ascii_digit() && !text[at - 1].is_ascii_digit()).collect();
        if starts.is_empty() {
            return;
        }
        let start = *self.one(&starts);
        let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = *self.one(&[
            "99999999999999999999",
            "18446744073709551615",
            "1e308",
            "1e400",
            "-5",
            "0",
            "0.5",
            "007",
            "3000000000",
            "1e3",
        ]);
        text.splice(start..start + length, number.bytes());
    }
}
