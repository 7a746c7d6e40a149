//! One pool: verdict, ring and shares, the checks with their numbers, and three pictures with their tables.

use std::fmt::Write as _;

use super::charts;
use super::html::{esc, fold, own, quote, scroll, sentence, table};
use super::{Context, badge, strip};
use crate::outputs::text::Place;
use crate::outputs::view::{NOTHING, counted, head, limit, limit_words, measured, minute, moved, observations};
use crate::verdict::{
    Baseline, Chart, ChartPoint, ChartSpeed, ChartWindow, CheckReport, Finding, Number, PoolReport, Subject, Unit,
    Verdict,
};

/// Most members in the line of shares.
const MOST_MEMBERS: usize = 12;

/// The article of a pool.
pub(super) fn article(context: Context<'_>, number: usize, pool: &PoolReport) -> String {
    let mut parts = vec![
        format!("<div class=\"title\"><h3><code>{}</code></h3>{}</div>", esc(pool.id.as_str()), badge(pool.verdict)),
        strip::strip(context.runs, pool),
        about(pool),
        checks(pool),
    ];
    parts.extend(words(context, pool));
    parts.extend(numbers(context, pool));
    if context.detail.all_pictures || pool.verdict != Verdict::Aligned {
        parts.extend(pictures(context, number, pool));
    }
    format!("<article id=\"pool-{number}\">\n{}\n</article>", parts.join("\n"))
}

/// Tier, owner, since, ring and shares.
fn about(pool: &PoolReport) -> String {
    let mut facts = Vec::new();
    if pool.subject == Subject::Single {
        facts.push("a model named directly".to_owned());
    }
    facts.extend(pool.tier.map(|tier| format!("tier {tier}")));
    facts.extend(pool.owner.as_ref().map(|owner| format!("owner {}", esc(owner))));
    facts.push(format!(
        "{} since run {}",
        if pool.state == Baseline::Unchanged { "unchanged" } else { "this verdict" },
        esc(&pool.since)
    ));
    let member = |(i, (target, share)): (usize, &(String, f64))| {
        let lead = if i == 0 && pool.lead.as_ref() == Some(target) { " (lead)" } else { "" };
        format!("<code>{}</code> {:.1} %{lead}", esc(target), share * 100.0)
    };
    let mut members: Vec<String> = pool.members.iter().enumerate().take(MOST_MEMBERS).map(member).collect();
    if pool.members.len() > MOST_MEMBERS {
        members.push(format!("and {} more", pool.members.len() - MOST_MEMBERS));
    }
    let ring = if members.is_empty() { "no members".to_owned() } else { members.join(", ") };
    let count = counted(pool.members.len(), "member", "members");
    format!("<p class=\"soft\">{}</p>\n<p>{count} with configured share: {ring}</p>", facts.join(" · "))
}

/// The checks.
fn checks(pool: &PoolReport) -> String {
    let row = |check: &CheckReport| {
        let finding = head(check);
        let text = |words: Option<String>| words.map_or(NOTHING.to_owned(), |words| own(&words));
        let what = finding.map_or_else(
            || sentence(&check.summary),
            |finding| {
                let code = format!("<code>{}</code> ", finding.code);
                code + &moved(finding, Place::Html)
            },
        );
        vec![
            check.check.to_string(),
            badge(check.verdict),
            format!("<span class=\"what\">{}</span>", if what.is_empty() { NOTHING } else { &what }),
            text(finding.and_then(measured)),
            finding.and_then(limit).map_or(NOTHING.to_owned(), |words| own(&words).replace(' ', "&nbsp;")),
            text(finding.and_then(observations).map(|n| n.to_string())),
            esc(&check.since),
        ]
    };
    let heads = ["Check", "Verdict", "What", "Measured", "Limit", "n", "Since run"];
    let name = format!("Checks of {}", esc(pool.id.as_str()));
    scroll(&name, &table(None, &heads, &[3, 4, 5], pool.checks.iter().map(row)))
}

/// Why, and what to do.
fn words(context: Context<'_>, pool: &PoolReport) -> Option<String> {
    let line = |finding: &Finding| {
        let mut line = format!(
            "<li>{} <code>{}</code>: {}",
            finding.check,
            finding.code,
            sentence(&finding.why).trim_end_matches('.')
        );
        if let Some(limit) = &finding.limit {
            let words = limit_words(context.report, limit.setting, |name| format!("<code>{}</code>", esc(name)));
            write!(line, ". {words}.").expect("a String takes all");
        }
        if !finding.todo.is_empty() {
            write!(line, " <strong>To do:</strong> {}.", sentence(&finding.todo).trim_end_matches('.'))
                .expect("a String takes all");
        }
        if let Some(held) = &finding.held {
            write!(line, " Held: {}.", quote(held)).expect("a String takes all");
        }
        line + "</li>"
    };
    let mut lines: Vec<String> =
        pool.checks.iter().filter(|check| check.verdict != Verdict::Aligned).filter_map(head).map(line).collect();
    let waiting = pool.checks.iter().filter(|check| !check.reasons.is_empty());
    lines.extend(waiting.map(|check| {
        let reasons: Vec<String> = check.reasons.iter().map(|reason| quote(reason)).collect();
        format!("<li>{} waits for or lacks: {}</li>", check.check, reasons.join(", "))
    }));
    (!lines.is_empty()).then(|| format!("<ul>\n{}\n</ul>", lines.join("\n")))
}

/// The numbers behind the verdict, folded.
fn numbers(context: Context<'_>, pool: &PoolReport) -> Option<String> {
    let most = context.detail.numbers;
    let all: Vec<(&CheckReport, &Number)> =
        pool.checks.iter().flat_map(|check| check.numbers.iter().map(move |number| (check, number))).collect();
    let more = all.len().saturating_sub(most);
    let rows = all.iter().take(most).map(|(check, number)| {
        let interval =
            number.interval.map(|(low, high)| format!("{} to {}", number.unit.show(low), number.unit.show(high)));
        vec![
            own(&number.what),
            if number.of.is_empty() { NOTHING.to_owned() } else { format!("<code>{}</code>", esc(&number.of)) },
            value(number.value, number.unit),
            interval.unwrap_or(NOTHING.to_owned()),
            number.n.map_or(NOTHING.to_owned(), |n| n.to_string()),
            check.check.to_string(),
        ]
    });
    let table = table(None, &["Number", "Of", "Value", "90 % interval", "n", "Check"], &[2, 3, 4], rows);
    let rest = if more > 0 { format!("<p class=\"soft\">{more} more in the run file.</p>") } else { String::new() };
    let name = format!("Numbers of {}", esc(pool.id.as_str()));
    let summary = format!("Numbers behind the verdict ({})", all.len());
    (most > 0 && !all.is_empty()).then(|| fold(&summary, &(scroll(&name, &table) + &rest)))
}

/// A value in its unit; unknown is said.
fn value(value: Option<f64>, unit: Unit) -> String {
    value.filter(|value| value.is_finite()).map_or("unknown".to_owned(), |value| unit.show(value))
}

/// The three pictures, each with its caption and the table of its numbers.
fn pictures(context: Context<'_>, number: usize, pool: &PoolReport) -> Vec<String> {
    let (chart, now) = (&pool.chart, context.report.now);
    let id = esc(pool.id.as_str());
    let at = format!("run {}, {}", esc(&context.report.run_id), minute(now));
    let figure = |what: &str, title: &str, caption: &str, svg: Option<String>, table: String| {
        let name = format!("{what} of {id}");
        let svg = svg.map_or(String::new(), |svg| {
            format!("<div class=\"plot\">{}</div>\n", scroll(&format!("Picture: {name}"), &svg))
        });
        let table = fold(&format!("{title}: the numbers"), &scroll(&format!("Numbers: {name}"), &table));
        format!(
            "<h4>{title}</h4>\n<figure data-chart=\"{what}\">{svg}<figcaption>{caption} ({at})</figcaption></figure>\n{table}"
        )
    };
    let mut pictures = Vec::new();
    if !chart.points.is_empty() {
        let (caption, alternative) = point_words(chart);
        let svg =
            charts::scatter(&format!("p{number}q"), &chart.points, &format!("Price and quality of {id}"), &alternative);
        pictures.push(figure("scatter", "Price and quality", &caption, svg, point_table(chart)));
    }
    if !chart.speeds.is_empty() {
        let (caption, alternative) = speed_words(chart);
        let svg = charts::speeds(&format!("p{number}s"), chart, &format!("Speed of the members of {id}"), &alternative);
        pictures.push(figure("speeds", "Speed", &caption, svg, speed_table(chart)));
    }
    if !chart.windows.is_empty() {
        let (caption, alternative) = window_words(chart);
        let svg = charts::timeline(
            &format!("p{number}w"),
            &chart.windows,
            now,
            &format!("Quota windows of {id}"),
            &alternative,
        );
        pictures.push(figure("timeline", "Quota windows", &caption, svg, window_table(chart)));
    }
    pictures
}

/// Caption and alternative text of the scatter.
fn point_words(chart: &Chart) -> (String, String) {
    let placed = |point: &&ChartPoint| point.bill.is_some() && point.q.is_some();
    let count = chart.points.iter().filter(placed).count();
    let unknown = chart.points.len() - count;
    let on_front: Vec<String> =
        chart.points.iter().filter(|point| point.on_front).map(|point| esc(&point.id)).collect();
    let more = match chart.more_candidates {
        0 => String::new(),
        more => format!(" {more} more candidates are left out."),
    };
    let caption = format!(
        "Circle: lead. Square: member. Triangle: model outside the pool that a home offers and policy lets in. Line: the front, nothing is \
         both cheaper and better. {} cannot be placed, because a number is unknown.{more}",
        counted(unknown, "model", "models")
    );
    let front = if on_front.is_empty() { "nobody".to_owned() } else { on_front.join(", ") };
    (caption, format!("{} by price and standing. On the front: {front}.", counted(count, "model", "models")))
}

/// The numbers of the scatter.
fn point_table(chart: &Chart) -> String {
    let rows = chart.points.iter().map(|point| {
        vec![
            format!("<code>{}</code>", esc(&point.id)),
            point.role.as_str().to_owned(),
            value(point.bill, Unit::UsdPerMtok),
            value(point.q, Unit::Points),
            value(point.index, Unit::Points),
            if point.on_front { "yes" } else { "no" }.to_owned(),
            if point.remark.is_empty() { NOTHING.to_owned() } else { quote(&point.remark) },
        ]
    });
    table(None, &["Model", "Role", "Bill", "Standing", "Index", "On front", "Remark"], &[2, 3, 4], rows)
}

/// Caption and alternative text of the speeds.
fn speed_words(chart: &Chart) -> (String, String) {
    let floor = chart.speed_floor.map_or("The pool sets no floor.".to_owned(), |floor| {
        format!("The dashed line is the pool's floor, {}.", Unit::TokensPerSecond.show(floor))
    });
    let measured = chart.speeds.iter().filter(|speed| speed.measured.is_some()).count();
    let caption =
        format!("Thick bar: measured by this fleet, with its 90 % interval. Thin bar: what the market says. {floor}");
    (caption, format!("{} measured of {}. {floor}", measured, counted(chart.speeds.len(), "member", "members")))
}

/// The numbers of the speeds.
fn speed_table(chart: &Chart) -> String {
    let rows = chart.speeds.iter().map(|speed: &ChartSpeed| {
        let interval = speed.interval.map(|(low, high)| format!("{low:.1} to {high:.1}"));
        vec![
            format!("<code>{}</code>", esc(&speed.member)),
            value(speed.measured, Unit::TokensPerSecond),
            interval.unwrap_or(NOTHING.to_owned()),
            if speed.measured.is_some() { speed.n.to_string() } else { NOTHING.to_owned() },
            value(speed.market, Unit::TokensPerSecond),
        ]
    });
    table(None, &["Member", "Measured", "90 % interval", "n", "Market"], &[1, 2, 3, 4], rows)
}

/// Caption and alternative text of the windows.
fn window_words(chart: &Chart) -> (String, String) {
    let caption = "Each bar runs from the start of a window to its reset; the filled part is what is used, the lighter part what may be used. \
                   The time axis is compressed (square root), so that hours and weeks are both seen.";
    let one = |window: &ChartWindow| {
        let resets = window.resets_at.map_or("no reset stated".to_owned(), |at| format!("resets {}", minute(at)));
        format!("{}: {}, {resets}", esc(&window.id), charts::used_words(window))
    };
    let all: Vec<String> = chart.windows.iter().map(one).collect();
    (caption.to_owned(), all.join("; "))
}

/// The numbers of the windows.
fn window_table(chart: &Chart) -> String {
    let rows = chart.windows.iter().map(|window| {
        let members: Vec<String> =
            window.members.iter().map(|member| format!("<code>{}</code>", esc(member))).collect();
        let remarks: Vec<String> = window.remarks.iter().map(|remark| own(remark)).collect();
        let price = window.price.map(|(low, high)| {
            if (high - low).abs() < 0.0005 { format!("{low:.3}") } else { format!("{low:.3} to {high:.3}") }
        });
        vec![
            format!("<code>{}</code>", esc(&window.id)),
            own(&window.class),
            charts::used_words(window),
            value(window.length_h, Unit::Hours),
            window.resets_at.map_or("unknown".to_owned(), minute),
            price.unwrap_or("unknown".to_owned()),
            value(window.age_h, Unit::Hours),
            members.join(", "),
            if remarks.is_empty() { NOTHING.to_owned() } else { remarks.join("; ") },
        ]
    });
    let heads = ["Window", "Reading", "Used", "Length", "Resets", "Price", "Age", "Binds", "Remarks"];
    table(None, &heads, &[2, 3, 5, 6], rows)
}
