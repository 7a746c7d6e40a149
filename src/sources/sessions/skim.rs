//! Looks at JSON without building it: the fields of an object as slices, everything between them skipped. It accepts
//! every line that a strict parser accepts, or says that it cannot tell; what it cannot tell is parsed strictly.

use std::borrow::Cow;

use memchr::memchr;

/// The skimmer cannot follow the text: a strict parser must decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Odd;

/// A field: its key without quotes and its value, as written.
pub(super) type Field<'a> = (&'a [u8], &'a [u8]);

/// Fields of an object, in order: key without quotes, value as written. Ends behind the closing brace.
pub(super) struct Fields<'a> {
    /// The text.
    text: &'a [u8],
    /// Where to go on.
    at: usize,
    /// Whether the closing brace has been passed.
    is_done: bool,
    /// Whether no field has been read yet.
    is_first: bool,
}

impl<'a> Fields<'a> {
    /// The fields of the object that begins the text.
    pub(super) fn of(text: &'a [u8]) -> Result<Self, Odd> {
        if text.first() != Some(&b'{') {
            return Err(Odd);
        }
        Ok(Self { text, at: 1, is_done: false, is_first: true })
    }

    /// The next field, `None` behind the last one.
    pub(super) fn next(&mut self) -> Result<Option<Field<'a>>, Odd> {
        let Some(key) = self.next_key()? else { return Ok(None) };
        Ok(Some((key, self.skip()?)))
    }

    /// The key of the next field, `None` behind the last one. Its value must be skipped or entered.
    pub(super) fn next_key(&mut self) -> Result<Option<&'a [u8]>, Odd> {
        if self.is_done {
            return Ok(None);
        }
        self.at = blank(self.text, self.at);
        match (self.text.get(self.at), self.is_first) {
            (Some(b'}'), _) => {
                self.at += 1;
                self.is_done = true;
                return Ok(None);
            }
            (Some(b','), false) => self.at = blank(self.text, self.at + 1),
            (Some(b'"'), true) => {}
            _ => return Err(Odd),
        }
        self.is_first = false;
        let key = self.key()?;
        self.at = blank(self.text, self.at);
        Ok(Some(key))
    }

    /// The value at the present place, as written.
    pub(super) fn skip(&mut self) -> Result<&'a [u8], Odd> {
        let start = self.at;
        self.at = value_end(self.text, start)?;
        Ok(&self.text[start..self.at])
    }

    /// The fields of the object at the present place; `None` when another value stands there. [`Self::leave`] goes on
    /// behind it.
    pub(super) fn enter(&self) -> Option<Self> {
        Self::of(&self.text[self.at..]).ok()
    }

    /// Goes on behind an object that has been read to its end.
    pub(super) fn leave(&mut self, entered: &Self) {
        self.at += entered.at;
    }

    /// The key at the present place and its colon, as written. A key that spells a letter by its number is odd.
    fn key(&mut self) -> Result<&'a [u8], Odd> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(Odd);
        }
        let start = self.at + 1;
        let end = string_end(self.text, self.at)? - 1;
        let key = &self.text[start..end];
        if memchr::memchr(b'\\', key).is_some() && spells_by_number(key) {
            return Err(Odd);
        }
        self.at = blank(self.text, end + 1);
        if self.text.get(self.at) != Some(&b':') {
            return Err(Odd);
        }
        self.at += 1;
        Ok(key)
    }

    /// The text that has been passed: the object itself, once every field has been read.
    pub(super) fn passed(&self) -> &'a [u8] {
        &self.text[..self.at]
    }

    /// Where the object ends, once every field has been read.
    pub(super) fn end(&self) -> usize {
        self.at
    }
}

/// The items of an array that begins the text, in order.
pub(super) struct Items<'a> {
    /// The text.
    text: &'a [u8],
    /// Where to go on.
    at: usize,
}

impl<'a> Items<'a> {
    /// The items of an array; none of any other value.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let at = if text.first() == Some(&b'[') { 1 } else { text.len() };
        Self { text, at }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut start = blank(self.text, self.at);
        if self.text.get(start) == Some(&b',') {
            start = blank(self.text, start + 1);
        }
        let end = value_end(self.text, start).ok()?;
        self.at = end;
        Some(&self.text[start..end])
    }
}

/// The first place at or behind `at` that is no JSON blank.
pub(super) fn blank(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Where the value that begins at `at` ends.
fn value_end(text: &[u8], at: usize) -> Result<usize, Odd> {
    match text.get(at).ok_or(Odd)? {
        b'"' => string_end(text, at),
        b'{' | b'[' => nested_end(text, at),
        _ => {
            let rest = &text[at..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
                .unwrap_or(rest.len());
            if is_scalar(&rest[..length]) { Ok(at + length) } else { Err(Odd) }
        }
    }
}

/// Where the string that begins at `at` ends: behind the first quote with an even number of backslashes before it.
fn string_end(text: &[u8], at: usize) -> Result<usize, Odd> {
    let start = at + 1;
    let mut at = start;
    loop {
        at = quote(text, at).ok_or(Odd)?;
        let escapes = text[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if escapes % 2 == 0 {
            return Ok(at);
        }
    }
}

/// The first quote at or behind `at`. Most strings are short: their first bytes are looked at here, eight at a time, before the
/// search for long ones is called.
fn quote(text: &[u8], mut at: usize) -> Option<usize> {
    const SHORT: usize = 4;
    const ONES: u64 = u64::MAX / 255;
    for _ in 0..SHORT {
        let Some(word) = text.get(at..)?.first_chunk::<8>() else { break };
        let word = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'"'));
        // The lowest byte that is zero now is the first quote; only bytes above it may be taken for one wrongly.
        let zero = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zero != 0 {
            return Some(at + zero.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Some(at + memchr(b'"', &text[at..])?)
}

/// Where the object or array that begins at `at` ends: strings are skipped, braces are counted.
fn nested_end(text: &[u8], at: usize) -> Result<usize, Odd> {
    let mut depth = 0_usize;
    let mut at = at;
    loop {
        match text.get(at).ok_or(Odd)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Whether the text is a JSON number or literal.
fn is_scalar(text: &[u8]) -> bool {
    match text {
        b"true" | b"false" | b"null" | [b'0'..=b'9'] => true,
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => true,
        _ => serde_json::from_slice::<f64>(text).is_ok(),
    }
}

/// Whether a key holds `\u0020` to `\u007f`: it may be a known key in disguise. A strict parser writes those out.
fn spells_by_number(key: &[u8]) -> bool {
    let mut rest = key;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = &rest[at..];
        if escape.starts_with(b"\\u00") && escape.get(4).is_some_and(|digit| (b'2'..=b'7').contains(digit)) {
            return true;
        }
        rest = &rest[(at + 2).min(rest.len())..];
    }
    false
}

/// The text of a JSON string; `None` of any other value and of an empty one. Broken UTF-8 is replaced.
pub(super) fn text(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.is_empty() {
        return None;
    }
    if memchr::memchr(b'\\', inner).is_none() {
        return Some(String::from_utf8_lossy(inner));
    }
    let whole = String::from_utf8_lossy(value);
    serde_json::from_str::<String>(&whole).ok().map(Cow::Owned)
}

/// Whether a value is this text, also where letters of it are spelled by their numbers.
pub(super) fn says(value: &[u8], word: &str) -> bool {
    let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner
        .is_some_and(|inner| inner == word.as_bytes() || inner.contains(&b'\\') && text(value).as_deref() == Some(word))
}

/// A whole number of at least 0; 0 for any other value. A number beyond 64 bits is the largest one.
pub(super) fn whole(value: &[u8]) -> u64 {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// Whether a line holds a control byte: then only a strict parser can say whether it stands in a string. The smallest byte
/// tells; the compiler finds that one sixteen at a time.
pub(super) fn has_control(line: &[u8]) -> bool {
    line.iter().fold(0xFF, |least: u8, byte| least.min(*byte)) < 0x20
}

/// Epoch milliseconds of an RFC 3339 time.
pub(super) fn millis(value: &[u8]) -> Option<i64> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    quick_millis(inner).or_else(|| {
        let time = chrono::DateTime::parse_from_rfc3339(&text(value)?).ok()?;
        Some((time.timestamp_micros() + 500).div_euclid(1000))
    })
}

/// The usual form, `2026-11-20T10:00:00.000Z`, without a detour.
fn quick_millis(text: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2, b'.', f1, f2, f3, b'Z'] =
        text
    else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0_u32, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(**digit - b'0')))
    };
    let year = i32::try_from(number(&[y1, y2, y3, y4])?).ok()?;
    let date = chrono::NaiveDate::from_ymd_opt(year, number(&[m1, m2])?, number(&[d1, d2])?)?;
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[i1, i2])?, number(&[s1, s2])?);
    let time = date.and_hms_milli_opt(hour, minute, second, number(&[f1, f2, f3])?)?;
    Some(time.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a text as pairs of text.
    fn fields(text: &str) -> Option<Vec<(String, String)>> {
        let mut fields = Fields::of(text.as_bytes()).ok()?;
        let mut found = Vec::new();
        while let Some((key, value)) = fields.next().ok()? {
            found.push((String::from_utf8_lossy(key).into(), String::from_utf8_lossy(value).into()));
        }
        Some(found)
    }

    #[test]
    fn fields_are_slices_and_blanks_do_not_matter() {
        let found = fields(r#"{ "a" :1, "b":"x\"}" ,"c":{"d":[1,{"e":"]"}]}, "f":null}"#).expect("sound");
        let wanted = [("a", "1"), ("b", r#""x\"}""#), ("c", r#"{"d":[1,{"e":"]"}]}"#), ("f", "null")];
        assert_eq!(found, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(fields("{}"), Some(Vec::new()), "an empty object has none");
    }

    /// Where a string ends, byte by byte.
    fn plain_end(text: &[u8]) -> Option<usize> {
        let mut at = 1;
        while *text.get(at)? != b'"' {
            at += if text[at] == b'\\' { 2 } else { 1 };
        }
        Some(at + 1)
    }

    proptest::proptest! {
        #[test]
        fn the_end_of_a_string_is_that_of_a_plain_look_at_every_byte(inner in "[a!\\x01\u{22}\\\\]{0,90}") {
            let text = format!("\"{inner}");
            let found = string_end(text.as_bytes(), 0).ok();
            proptest::prop_assert_eq!(found, plain_end(text.as_bytes()), "{}", text);
        }
    }

    #[test]
    fn what_cannot_be_told_is_odd() {
        for text in
            ["{", "{\"a\"", "{\"a\":}", "{\"a\":1", "{\"a\":tru}", "{,}", "{\"a\":1,}", "{\"\\u0061\":1}", "[1]"]
        {
            assert_eq!(fields(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_every_spelling_are_milliseconds() {
        let wanted = Some(1_795_168_800_250);
        for time in ["2026-11-20T10:00:00.250Z", "2026-11-20T11:00:00.250+01:00", "2026-11-20T10:00:00.2499999Z"] {
            assert_eq!(millis(format!("\"{time}\"").as_bytes()), wanted, "{time}");
        }
        assert_eq!(millis(b"\"yesterday\""), None);
        assert_eq!(millis(b"17"), None);
    }
}
