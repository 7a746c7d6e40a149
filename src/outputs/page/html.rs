//! Small pieces of HTML. Outside text comes in through [`esc`], [`quote`] and [`sentence`] only.

use crate::outputs::text::{self, Place};
use crate::verdict::Sentence;

/// A name from outside.
pub(super) fn esc(name: &str) -> String {
    text::name(name, Place::Html)
}

/// A longer text from outside.
pub(super) fn quote(words: &str) -> String {
    text::quote(words, Place::Html)
}

/// Our own words.
pub(super) fn own(words: &str) -> String {
    text::own(words, Place::Html)
}

/// A sentence, its names as code.
pub(super) fn sentence(sentence: &Sentence) -> String {
    text::sentence(sentence, Place::Html)
}

/// A table; the columns at `numbers` are right-aligned. The first cell of a row heads it.
pub(super) fn table(
    caption: Option<&str>,
    heads: &[&str],
    numbers: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let class = |column: usize| if numbers.contains(&column) { " class=\"n\"" } else { "" };
    let head = |(i, head): (usize, &&str)| format!("<th scope=\"col\"{}>{head}</th>", class(i));
    let heads = heads.iter().enumerate().map(head).collect::<Vec<_>>().concat();
    let row = |cells: Vec<String>| {
        let cell = |(i, cell): (usize, String)| match i {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td{}>{cell}</td>", class(i)),
        };
        let cells: String = cells.into_iter().enumerate().map(cell).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: Vec<String> = rows.into_iter().map(row).collect();
    let caption = caption.map_or(String::new(), |words| format!("<caption>{words}</caption>"));
    format!("<table>{caption}<thead><tr>{heads}</tr></thead><tbody>\n{}\n</tbody></table>", rows.join("\n"))
}

/// Something that may be wider than the window: a region that the keyboard reaches and scrolls.
pub(super) fn scroll(name: &str, inner: &str) -> String {
    format!("<div class=\"scroll\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\">{inner}</div>")
}

/// A part that is folded away.
pub(super) fn fold(summary: &str, inner: &str) -> String {
    format!("<details><summary>{summary}</summary>\n{inner}\n</details>")
}
