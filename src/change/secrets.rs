//! What must not leave a config file: a patch repeats the lines around a change, and an operation the value it tests.

use serde_json::Value;

use super::ChangeError;

/// Ends of key names, in lower case without `_` and `-`, whose text is a secret unless it only says where the secret is.
const KEYS: [&str; 9] =
    ["apikey", "token", "secret", "password", "passwd", "authorization", "credential", "credentials", "privatekey"];
/// How a text begins that only says where a secret is.
const REFERENCES: [&str; 5] = ["os.environ/", "{env:", "{file:", "$", "env:"];
/// How keys of well-known services begin.
const SHAPES: [&str; 9] = ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA"];
/// The shortest rest behind such a beginning that is taken for a key.
const SHORTEST: usize = 12;

/// An error when a patch or its operations would show what looks like a secret.
pub(super) fn ensure_none(patch: &str, ops: &[Value]) -> Result<(), ChangeError> {
    let body = patch.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
    let shown = body.filter(|line| line.starts_with([' ', '+', '-']));
    if shown.into_iter().any(holds_secret) || ops.iter().any(|op| is_secret("", &op["value"], &op["path"])) {
        return Err(ChangeError::Secret);
    }
    Ok(())
}

/// Whether a line of a config holds a secret: behind a key that names one, or of a well-known shape.
fn holds_secret(line: &str) -> bool {
    let parts: Vec<&str> = line.split([',', '{', '}', '[', ']']).collect();
    let by_key = parts.iter().filter_map(|part| part.split_once([':', '='])).any(|(key, value)| {
        let value = value.split(" #").next().unwrap_or_default();
        names_secret(key) && is_literal(value.trim().trim_matches(['"', '\'']))
    });
    // A reference such as `{env:NAME}` is cut apart by its braces: what remains of it is no text.
    by_key || line.split(|c: char| c.is_whitespace() || "\"',".contains(c)).any(has_known_shape)
}

/// Whether a value, or anything in it, is a secret.
fn is_secret(key: &str, value: &Value, path: &Value) -> bool {
    match value {
        Value::String(text) => {
            let last = path.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or(key);
            has_known_shape(text) || (names_secret(if key.is_empty() { last } else { key }) && is_literal(text))
        }
        Value::Array(elements) => elements.iter().any(|element| is_secret(key, element, path)),
        Value::Object(members) => members.iter().any(|(key, value)| is_secret(key, value, &Value::Null)),
        _ => false,
    }
}

/// Whether a key names a secret: one word, perhaps in quotes, behind a dash or in a comment.
fn names_secret(key: &str) -> bool {
    let key = key.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if key.contains(char::is_whitespace) {
        return false;
    }
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    KEYS.iter().any(|end| key.ends_with(end))
}

/// Whether text behind such a key is the secret itself, and not where it is, a number or nothing.
fn is_literal(text: &str) -> bool {
    let is_reference = REFERENCES.iter().any(|start| text.starts_with(start));
    let is_other = text.is_empty() || text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null" | "~");
    !is_reference && !is_other
}

/// Whether a word looks like the key of a well-known service.
fn has_known_shape(word: &str) -> bool {
    let rest = SHAPES.iter().find_map(|start| word.strip_prefix(start));
    rest.is_some_and(|rest| {
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        rest.len() >= SHORTEST && rest.bytes().all(is_key) && rest.bytes().any(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ensure_none, holds_secret};

    #[test]
    fn secrets_are_seen_in_lines_and_references_are_not() {
        for line in [
            " api_key: hunter2",
            "+  litellm_params: { model: a/b, api_key: abcdef, weight: 1 }",
            "-    \"apiKey\": \"abc\",",
            " master_key: sk-1234567890abcdef",
            " // \"apiKey\": \"old\"",
            " - token: abc",
            " \"Authorization\": \"Bearer abc\"",
        ] {
            assert!(holds_secret(line), "{line}");
        }
        for line in [
            " api_key: os.environ/OPENAI_API_KEY",
            " \"apiKey\": \"{env:OPENAI_API_KEY}\",",
            " \"max_tokens\": 4096, // tokens: many",
            " maxTokens: 5",
            " api_key: ''",
            " api_key: ${KEY}",
            " // the secret of good pools: order",
            " \"a/b\", // pay per token: not a plan home",
            " \"sk-model/small\",",
        ] {
            assert!(!holds_secret(line), "{line}");
        }
    }

    #[test]
    fn secrets_are_seen_in_operations() {
        let entry = json!({"op": "test", "path": "/m/0", "value": {"p": {"api_key": "abc"}}});
        assert!(ensure_none("", &[entry]).is_err());
        let direct = json!({"op": "replace", "path": "/m/api_key", "value": "abc"});
        assert!(ensure_none("", &[direct]).is_err());
        let reference = json!({"op": "test", "path": "/m/0", "value": {"api_key": "os.environ/K", "order": 1}});
        assert!(ensure_none("", &[reference]).is_ok());
    }
}
