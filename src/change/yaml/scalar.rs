//! Single values of YAML: what a plain one means, and how one is written so that every reader takes it for the same.

use serde_json::{Number, Value};

use crate::change::tree::Form;

/// Words that some reader (YAML 1.1 or 1.2) takes for something else than text.
const WORDS: [&str; 12] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

/// What a plain value means (YAML 1.2, core schema). A number that JSON cannot hold stays text.
pub(super) fn meaning(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The number that a plain value is.
fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, radix| text.strip_prefix(prefix).and_then(|rest| u64::from_str_radix(rest, radix).ok());
    if let Some(whole) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(whole.into());
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(unsigned) {
        let signed = text.strip_prefix('+').unwrap_or(text);
        return signed.parse::<u64>().map(Number::from).or_else(|_| signed.parse::<i64>().map(Number::from)).ok();
    }
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_exponent = exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    let is_number = (is_digits(whole) && (part.is_empty() || is_digits(part))) || (whole.is_empty() && is_digits(part));
    (is_number && is_exponent).then(|| text.parse().ok().and_then(Number::from_f64)).flatten()
}

/// A single value in the quotes of the one it replaces; without quotes only where no reader could take it for something else.
pub(super) fn written(value: &Value, form: Form) -> String {
    let Value::String(text) = value else { return value.to_string() };
    match form {
        Form::Single if text.chars().all(|c| !c.is_control()) => format!("'{}'", text.replace('\'', "''")),
        Form::Double | Form::Single => quoted(text),
        _ if is_plain(text) => text.clone(),
        _ => quoted(text),
    }
}

/// In double quotes, where the escapes of JSON are escapes of YAML too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether text may stand without quotes, in a block as in a flow.
pub(super) fn is_plain(text: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+@-".contains(&byte);
    let starts = text.bytes().next();
    let is_named = starts.is_some_and(|byte| byte.is_ascii_alphabetic())
        || (starts.is_some_and(|byte| byte.is_ascii_digit()) && text.contains('/'));
    is_named && text.bytes().all(is_safe) && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A value on one line, in flow style.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members: Vec<String> = members.iter().map(|(key, value)| property(key, value)).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        _ => written(value, Form::Plain),
    }
}

/// A key and its value on one line.
pub(super) fn property(key: &str, value: &Value) -> String {
    format!("{}: {}", written(&Value::from(key), Form::Plain), inline(value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_plain, meaning, written};
    use crate::change::tree::Form;

    #[test]
    fn plain_values_mean_what_the_core_schema_says() {
        let cases = [
            ("3", json!(3)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000.0)),
            (".5", json!(0.5)),
            ("~", Value::Null),
            ("", Value::Null),
            ("True", json!(true)),
            ("yes", json!("yes")),
            ("1.2.3", json!("1.2.3")),
            ("e5", json!("e5")),
            (".inf", json!(".inf")),
            ("-", json!("-")),
            ("1e999", json!("1e999")),
            ("a/b", json!("a/b")),
        ];
        for (text, value) in cases {
            assert_eq!(meaning(text), value, "{text:?}");
        }
    }

    #[test]
    fn text_that_could_be_anything_else_is_put_in_quotes() {
        for text in ["", "yes", "NO", "1", "1.5", "1:30", "2026-11-29", "a: b", "*x", "- a", "#", "a b", "null", "é"] {
            assert!(!is_plain(text), "{text:?}");
        }
        for text in ["openai/gpt-6-luna", "scout", "3x/model", "a.b_c@1+2"] {
            assert!(is_plain(text), "{text:?}");
        }
        assert_eq!(written(&json!("it's"), Form::Single), "'it''s'");
        assert_eq!(written(&json!("a\nb"), Form::Single), "\"a\\nb\"");
        assert_eq!(written(&json!(3), Form::Double), "3");
    }
}
