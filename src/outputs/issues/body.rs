//! What an issue says. It is made of the stored proposal alone, so that it changes exactly when the proposal's content does:
//! no number of the present run, no date of today.

use std::fmt::Write as _;

use super::flags::Flag;
use super::marker::{self, Marker};
use crate::outputs::log::month_of_run;
use crate::outputs::text::{self, Place};
use crate::outputs::view::NOTHING;
use crate::verdict::{BarTerm, EvidenceRef, Proposal};

/// Longest body or comment that the server takes, in characters.
pub(super) const MOST_BODY: usize = 65_536;

/// What closing means.
const CLOSING: &str = "- **Completed**: the change was made, or is no longer needed. If the review goes on asking for it, it opens this \
issue again after two reviews in a row.\n- **Not planned**: no, thank you. The review stays silent about this for as long as its reason \
is the same; another reason opens this issue again, once.\n- The review itself closes this issue after two reviews in a row that no longer \
ask for it. A text that somebody edited is left alone from then on.";

/// Where files can be looked at, and whom to credit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The address that paths of the workspace are shown below.
    pub files_url: String,
    /// The reports folder, relative to the workspace.
    pub reports: String,
    /// The log, relative to the workspace.
    pub log: String,
    /// The credit line of market numbers, if a market was read.
    pub credit: Option<String>,
}

impl Places {
    /// A link to a file of the workspace; the label alone when its path is not a plain one inside.
    fn link(&self, label: &str, path: &str, anchor: &str) -> String {
        let label = text::name(label, Place::Markdown);
        let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
        if !is_plain || path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return label;
        }
        let path = path.trim_start_matches("./");
        format!("[{label}]({}/{path}{anchor})", self.files_url.trim_end_matches('/'))
    }

    /// A file of the reports folder.
    fn report(&self, label: &str, file: &str) -> String {
        self.link(label, &format!("{}/{file}", self.reports.trim_end_matches('/')), "")
    }
}

/// A body with its marker. `made` is the run that gave the proposal its content; `owner` answers for the pool.
pub(super) fn body(flag: &Flag<'_>, made: &str, owner: Option<&str>, places: &Places) -> String {
    let visible = visible(flag, made, owner, places);
    let marker =
        Marker { id: flag.id.clone(), fingerprint: flag.proposal.fingerprint.clone(), body: marker::digest(&visible) };
    format!("{}\n{visible}", marker.line())
}

/// The visible text, cut to what the server takes.
fn visible(flag: &Flag<'_>, made: &str, owner: Option<&str>, places: &Places) -> String {
    let proposal = flag.proposal;
    let mut parts = vec![sentence(flag), table(flag)];
    parts.extend(owner.map(|owner| format!("Owner of the pool: {}.", text::name(owner, Place::Markdown))));
    parts.extend(flag.other.as_ref().map(|(action, model)| {
        let model = text::name(model, Place::Markdown);
        format!("The other half of this replacement has an issue of its own: {} {model}.", action.as_str())
    }));
    parts.push(links(proposal, made, places));
    let inputs = fold("Inputs and digests", &inputs(proposal));
    let end = [fold("What closing this issue means", CLOSING)].into_iter().chain(credit(proposal, places));
    let end: Vec<String> = end.collect();
    let length = |parts: &[String]| parts.iter().map(|part| part.chars().count() + 2).sum::<usize>();
    // Room for the marker, whose three fields are bounded by the keys that they are made of.
    let room = MOST_BODY - 4_096;
    if length(&parts) + inputs.chars().count() + length(&end) <= room {
        parts.push(inputs);
    } else {
        parts.push(format!("The inputs do not fit here; they stand in {}.", file_link(proposal, places)));
    }
    parts.extend(end);
    cut(&parts.join("\n\n"), room, &file_link(proposal, places))
}

/// A text of at most so many characters, with a word about where the rest is.
pub(super) fn cut(text: &str, most: usize, rest: &str) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let note = format!("\n\nCut here; the rest stands in {rest}.");
    let kept: String = text.chars().take(most.saturating_sub(note.chars().count())).collect();
    let whole_lines = kept.rfind('\n').map_or(kept.as_str(), |end| &kept[..end]);
    format!("{whole_lines}{note}")
}

/// One sentence: what is asked for.
pub(super) fn sentence(flag: &Flag<'_>) -> String {
    let (pool, model) = (text::name(&flag.proposal.pool, Place::Markdown), text::name(&flag.model, Place::Markdown));
    let code = text::name(&flag.proposal.code, Place::Markdown);
    let (kept, check) = (text::quote(flag.proposal.change.human(), Place::Markdown), &flag.proposal.check);
    let verb = match flag.action {
        super::flags::Action::Add => format!("{model} should join the pool {pool}"),
        super::flags::Action::Retire => format!("{model} should leave the pool {pool}"),
    };
    format!("{verb} ({check}, {code}): {kept}")
}

/// One row per threshold of the bar: what was measured against what.
fn table(flag: &Flag<'_>) -> String {
    let proposal = flag.proposal;
    let show = |text: &str| if text.is_empty() { NOTHING.to_owned() } else { text::name(text, Place::Markdown) };
    let (now, proposed) = match flag.action {
        super::flags::Action::Add if flag.other.is_none() => (show(&proposal.counterpart), show(&proposal.subject)),
        _ => (show(&proposal.subject), show(&proposal.counterpart)),
    };
    let n = own_rows(&proposal.evidence).map_or(NOTHING.to_owned(), |rows| rows.to_string());
    let since = proposal.first_seen.get(..16).map_or(NOTHING.to_owned(), |at| format!("{}Z", at.replace('T', " ")));
    let since = text::own(&since, Place::Markdown);
    let mut lines =
        vec!["| Now | Proposed | Measured | Limit | n | Since |".to_owned(), "|:--|:--|--:|--:|--:|:--|".to_owned()];
    lines.extend(proposal.bar.terms.iter().map(|term| {
        let (measured, limit) = cells(term);
        format!("| {now} | {proposed} | {measured} | {limit} | {n} | {since} |")
    }));
    lines.join("\n")
}

/// Rows of our own behind the smaller side; `None` when the claim rests on none.
fn own_rows(evidence: &[EvidenceRef]) -> Option<u64> {
    evidence.iter().filter(|source| source.kind == "own").map(|source| source.rows).min()
}

/// A threshold as two cells: name and value, operator and bound, in the unit that the name ends in.
fn cells(term: &BarTerm) -> (String, String) {
    let units: [(&str, f64, usize, &str); 7] = [
        ("_usd_micros_per_mtok", 1e6, 3, " USD/M"),
        ("_usd_micros", 1e6, 2, " USD"),
        ("_tokens_per_second_milli", 1e3, 1, " tok/s"),
        ("_points_milli", 1e3, 1, " points"),
        ("_seconds_milli", 1e3, 1, " s"),
        ("_ppm", 1e4, 1, " %"),
        ("_milli", 1e3, 3, ""),
    ];
    let unit = units.into_iter().find(|(suffix, ..)| term.name.ends_with(suffix)).unwrap_or(("", 1.0, 0, ""));
    let (suffix, scale, decimals, sign) = unit;
    #[expect(clippy::cast_precision_loss, reason = "terms are far below 2^53")]
    let show = |value: i64| format!("{:.decimals$}{sign}", value as f64 / scale);
    let name = term.name.strip_suffix(suffix).unwrap_or(&term.name).replace('_', " ");
    let name = text::own(&name, Place::Markdown);
    (format!("{name} {}", show(term.value)), format!("{} {}", text::own(&term.op, Place::Markdown), show(term.needed)))
}

/// Where to read on: the section of the run that made it, in the running log or its month, and the proposal.
fn links(proposal: &Proposal, made: &str, places: &Places) -> String {
    let anchor = format!("#run-{made}");
    let month = month_of_run(made).unwrap_or_default();
    let folder = places.log.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let running = places.link(made, &places.log, &anchor);
    let archived = places.link(&month, &format!("{folder}log/{month}.md"), &anchor);
    let patch = proposal.change.config().map(|_| {
        format!(" and its patch {}", places.report("patch", &format!("proposals/{}.patch", proposal.fingerprint)))
    });
    format!(
        "Ready to land: proposal {}{}. Log: run {running}, once its month is over {archived}.",
        file_link(proposal, places),
        patch.unwrap_or_default()
    )
}

/// The proposal's file.
fn file_link(proposal: &Proposal, places: &Places) -> String {
    places.report(&proposal.fingerprint, &format!("proposals/{}.json", proposal.fingerprint))
}

/// What the proposal rests on.
fn inputs(proposal: &Proposal) -> String {
    let show = |text: &str| text::name(text, Place::Markdown);
    let mut out = String::from("| Source | Kind | As of | Rows | Digest |\n|:--|:--|:--|--:|:--|\n");
    for source in &proposal.evidence {
        let (digest, as_of) = (show(short(&source.digest)), show(&source.as_of));
        let line =
            format!("| {} | {} | {as_of} | {} | {digest} |", show(&source.source), show(&source.kind), source.rows);
        writeln!(out, "{line}").expect("writing to a String cannot fail");
    }
    let config = &proposal.config;
    write!(
        out,
        "\nConfig {} at {}, blob {}, definition {}. Policy {}. Bar {}. Revision {} of {}.",
        show(&config.path),
        show(&config.pointer),
        show(config.blob.get(..8).unwrap_or(&config.blob)),
        show(short(&config.subtree_digest)),
        show(short(&proposal.policy.digest)),
        show(&proposal.bar.id),
        proposal.revision,
        show(&proposal.fingerprint),
    )
    .expect("writing to a String cannot fail");
    out
}

/// Eight digits of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.trim_start_matches("sha256:");
    hex.get(..8).unwrap_or(hex)
}

/// The credit, where numbers of the market are shown.
fn credit(proposal: &Proposal, places: &Places) -> Option<String> {
    let has_market = proposal.evidence.iter().any(|source| source.source == "market");
    places.credit.clone().filter(|_| has_market)
}

/// A part that is folded away: GitHub needs the blank lines.
fn fold(summary: &str, body: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_at_a_line_and_says_where_the_rest_is() {
        let text = "line of text\n".repeat(10_000);
        let cut = cut(&text, MOST_BODY, "`x`");
        assert!(
            cut.chars().count() <= MOST_BODY && cut.ends_with("Cut here; the rest stands in `x`."),
            "{}",
            cut.len()
        );
        assert!(cut.contains("line of text\n\nCut here"));
    }

    #[test]
    fn a_threshold_is_shown_in_its_own_unit() {
        let term = |name: &str, value: i64, needed: i64| BarTerm {
            name: name.to_owned(),
            value,
            needed,
            op: ">=".to_owned(),
            pass: true,
        };
        // 999915 ppm are 99.9915 %, one decimal; 2 000 thousandths of a ratio are 2.
        assert_eq!(
            cells(&term("window_price_gap_ppm", 999_915, 300_000)),
            ("window price gap 100.0 %".into(), ">= 30.0 %".into())
        );
        assert_eq!(cells(&term("price_ratio_milli", 2_000, 1_100)), ("price ratio 2.000".into(), ">= 1.100".into()));
        assert_eq!(cells(&term("fact_holds", 1, 1)), ("fact holds 1".into(), ">= 1".into()));
    }
}
