//! Names as words: folding to one spelling, and back.

/// Folds a name to words of letters and digits joined by single dashes, in lower case: "GLM 5.3 Flash" → `glm-5-3-flash`.
/// A trailing plus is a word of its own ("Command A+").
pub(super) fn fold(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            key.push(c);
        } else if c == '+' {
            key.push_str("-plus");
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    key.truncate(key.trim_end_matches('-').len());
    key
}

/// Whether a word is all digits.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is a size: `70b`, `480b`, `270m`, and the active part `a35b`.
pub(super) fn is_size(word: &str) -> bool {
    let word = word.strip_prefix('a').unwrap_or(word);
    word.strip_suffix(['b', 'm']).is_some_and(is_number)
}

/// Whether a folded key reads like the name of a released version: at least two words, and a digit.
pub(super) fn is_versioned_name(key: &str) -> bool {
    key.contains('-') && key.bytes().any(|byte| byte.is_ascii_digit())
}

/// A folded key in the spelling of its vendors: versions with a dot (`gpt-6-2-sol` → `gpt-6.2-sol`), Claude with dashes.
pub(super) fn spell(key: &str) -> String {
    if key.starts_with("claude-") {
        return key.to_owned();
    }
    let words: Vec<&str> = key.split('-').collect();
    let mut name = words.first().copied().unwrap_or_default().to_owned();
    let mut has_dot = false;
    for pair in words.windows(2) {
        let is_minor = !has_dot && is_major(pair[0]) && is_number(pair[1]) && pair[1].len() <= 2;
        has_dot = is_minor && !pair[1].starts_with('0');
        name.push(if has_dot { '.' } else { '-' });
        name.push_str(pair[1]);
    }
    name
}

/// Whether a word ends in a major version of one or two digits: `6`, `k3`, `qwen3`, and not `0813` or `70b`.
fn is_major(word: &str) -> bool {
    let digits = word.len() - word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (1..=2).contains(&digits) && !word.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_meets_dots_spaces_case_and_double_dashes() {
        assert_eq!(fold("GLM 5.3 Flash"), "glm-5-3-flash");
        assert_eq!(fold("anthropic--claude-4.8-opus"), "anthropic-claude-4-8-opus");
        assert_eq!(fold("Hermes 3 - Llama-3.1 70B"), "hermes-3-llama-3-1-70b");
        assert_eq!(fold("Command A+"), "command-a-plus");
    }

    #[test]
    fn spelling_puts_the_dot_back_between_major_and_minor_only() {
        let pairs = [
            ("gpt-6-2-sol", "gpt-6.2-sol"),
            ("kimi-k3-1-pro", "kimi-k3.1-pro"),
            ("qwen3-8-max-0902", "qwen3.8-max-0902"),
            ("grok-4-20-0309", "grok-4.20-0309"),
            ("claude-haiku-5-5", "claude-haiku-5-5"),
            ("llama-3-3-70b-instruct", "llama-3.3-70b-instruct"),
            ("gemini-2-5-pro-05-06", "gemini-2.5-pro-05-06"),
            ("deepseek-v4-pro-0813", "deepseek-v4-pro-0813"),
        ];
        for (key, name) in pairs {
            assert_eq!(spell(key), name);
            assert_eq!(fold(name), key, "spelling must fold back");
        }
    }
}
