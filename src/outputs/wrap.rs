//! Lines that fit a terminal: nothing is cut, what does not fit stands on further lines, indented.

/// Columns where nothing is known of the terminal.
pub const WIDTH: usize = 160;

/// Columns that words must have left beside their indent, if none of them is longer; else they are indented by [`LITTLE`] only.
const ENOUGH: usize = 40;

/// Indent where the usual one would leave too few columns.
const LITTLE: usize = 4;

/// What parts the parts of a line; a line is broken there first, then between words.
const GAP: &str = "  ";

/// Some words behind a start of so many columns, in lines of at most `width` columns as far as single words allow; the lines
/// after the first are indented by the start's width. The start itself is not in them.
pub fn behind(start: usize, words: &str, width: usize) -> Vec<String> {
    let longest = words.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let indent = if width < start + longest.max(ENOUGH) { LITTLE } else { start };
    let mut lines = vec![String::new()];
    let room = |count: usize| width.saturating_sub(if count == 1 { start } else { indent });
    for part in words.split(GAP).filter(|part| !part.is_empty()) {
        let whole = part.chars().count();
        let fits = |line: &str, count: usize, gap: usize| line.chars().count() + gap + whole <= room(count);
        let last = lines.len();
        let line = lines.last_mut().expect("there is a line from the beginning");
        if line.is_empty() && fits(line, last, 0) {
            line.push_str(part);
        } else if !line.is_empty() && fits(line, last, GAP.len()) {
            line.push_str(GAP);
            line.push_str(part);
        } else {
            if !line.is_empty() && whole <= room(2) {
                lines.push(String::new());
            }
            spread(&mut lines, part, &room);
        }
    }
    let pad = " ".repeat(indent);
    lines.into_iter().enumerate().map(|(i, line)| if i == 0 { line } else { pad.clone() + &line }).collect()
}

/// Puts the words of a part where they fit, from the last line on.
fn spread(lines: &mut Vec<String>, part: &str, room: &impl Fn(usize) -> usize) {
    let mut gap = GAP;
    for word in part.split(' ').filter(|word| !word.is_empty()) {
        let count = lines.len();
        let line = lines.last_mut().expect("there is a line from the beginning");
        let needed = line.chars().count() + gap.len() + word.chars().count();
        let width = word.chars().count();
        if line.is_empty() && count == 1 && width > room(1) && width <= room(2) {
            lines.push(word.to_owned());
        } else if line.is_empty() {
            line.push_str(word);
        } else if needed <= room(count) {
            line.push_str(gap);
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        gap = " ";
    }
}

/// A line of its own, as lines; it keeps its indent, further ones are indented a little more.
pub fn line(words: &str, width: usize) -> Vec<String> {
    let indent = words.len() - words.trim_start_matches(' ').len();
    let mut lines = behind(indent + GAP.len(), words, width);
    lines[0].insert_str(0, &words[..indent]);
    lines
}

#[cfg(test)]
mod tests {
    use super::{behind, line};

    #[test]
    fn a_line_is_broken_between_its_parts_first_and_loses_nothing() {
        let words = "code  acme/one → acme/two  price 2.00 x  (limit <= 1.10 x)  (n 131)  [pcr1-00000000]";
        let lines = behind(10, words, 60);
        assert_eq!(lines[0], "code  acme/one → acme/two  price 2.00 x");
        assert!(lines[1].starts_with("          (limit"), "{lines:?}");
        assert!(lines.iter().enumerate().all(|(i, line)| line.chars().count() <= if i == 0 { 50 } else { 60 }));
        let words_of = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words_of(&lines.join(" ")), words_of(words));
    }

    #[test]
    fn a_line_keeps_its_indent() {
        assert_eq!(line("  create one and two", 16), ["  create one", "    and two"]);
    }

    #[test]
    fn a_narrow_terminal_and_a_long_word_lose_nothing_either() {
        let words = "a-word-that-is-longer-than-any-line-could-be and more";
        for width in 0..60 {
            let text = behind(30, words, width).join(" ") + &line(words, width).join(" ");
            assert_eq!(text.matches("longer").count() + text.matches("more").count(), 4, "{width}");
        }
    }
}
