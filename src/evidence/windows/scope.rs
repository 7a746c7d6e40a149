//! Which models a window binds.

/// Whether one of the spellings of a model matches one of the globs; `*` stands for any text, case does not count.
/// A window without globs binds every model.
pub(super) fn binds(scope: &[String], models: &[&str]) -> bool {
    binds_all(scope) || scope.iter().any(|glob| models.iter().any(|model| matches(glob, model)))
}

/// Whether a window binds every model.
pub(super) fn binds_all(scope: &[String]) -> bool {
    scope.is_empty() || scope.iter().any(|glob| glob == "*")
}

/// Whether a text matches a glob with `*`; greedy with one step back, so no pattern is slow.
fn matches(glob: &str, text: &str) -> bool {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let (mut g, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if glob.get(g) == Some(&'*') {
            star = Some((g, t));
            g += 1;
        } else if glob.get(g) == Some(&text[t]) {
            g += 1;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            g = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_case_does_not_count() {
        assert!(matches("claude-opus-*", "Claude-Opus-5-5"));
        assert!(matches("*opus*", "anthropic/claude-opus-5.5"));
        assert!(matches("a*b*c", "a-xb-b-c"));
        assert!(!matches("a*b*c", "a-xb-b-c-d"));
        assert!(!matches("claude-opus", "claude-opus-5-5"));
        assert!(matches("*", ""));
        assert!(!matches("", "x"));
    }

    #[test]
    fn a_window_without_globs_binds_every_model() {
        assert!(binds(&[], &["x"]));
        assert!(binds_all(&["gpt-*".to_owned(), "*".to_owned()]));
        assert!(!binds(&["gpt-*".to_owned()], &["glm-5.3"]));
        assert!(!binds(&["gpt-*".to_owned()], &[]));
    }
}
