//! `explain` and `doctor` as text for people and as JSON. Names from outside are shown as data.

use serde_json::{Value, json};

use super::json;
use super::text::{self, Place as Shown};
use super::verbs::document;
use crate::verdict::{DoctorView, LayerView, MemberView, PoolView, RotationView};
use crate::vocabulary::{Place, SourceNote, SourceState};

/// A name on a terminal.
fn show(name: &str) -> String {
    text::name(name, Shown::Terminal)
}

/// A longer text on a terminal.
fn quote(words: &str) -> String {
    text::quote(words, Shown::Terminal)
}

/// A place on a terminal.
fn at(place: &Place) -> String {
    show(&place.to_string())
}

/// What a code means, as the page of its check says it.
#[derive(Debug)]
pub struct CodeView<'a> {
    /// The code.
    code: &'a str,
    /// The check that says it.
    check: &'a str,
    /// Verdict, meaning, what to do.
    cells: Vec<&'a str>,
}

/// What a code means: the line of the check's page that has it; `None` when no page does.
pub fn code<'a>(code: &'a str, pages: &[(&'a str, &'a str)]) -> Option<CodeView<'a>> {
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let start = format!("| `{code}` |");
    let line = |page: &'a str| page.lines().find(|line| line.starts_with(&start));
    let (check, line) = pages.iter().find_map(|(check, page)| Some((*check, line(page)?))).filter(|_| is_code)?;
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    Some(CodeView { code, check, cells: cells.get(1..).unwrap_or_default().to_vec() })
}

impl CodeView<'_> {
    /// For people.
    pub fn human(&self) -> String {
        let Self { code, check, cells } = self;
        format!("{code} (check {check})\n  {}\nMore: pool-review explain {check}\n", cells.join("\n  "))
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let cell = |at: usize| self.cells.get(at);
        document(
            "explain",
            json!({
                "kind": "code", "id": self.code, "check": self.check, "verdict": cell(0), "meaning": cell(1),
                "what_to_do": cell(2),
            }),
        )
    }
}

/// A pool as resolved.
pub fn pool(view: &PoolView) -> String {
    let mut lines = vec![format!("pool {} ({}) at {}", show(&view.id), view.format, at(&view.place))];
    let tier = if view.tier.1 { format!("{} (assumed)", view.tier.0) } else { view.tier.0.to_owned() };
    let owner = view.owner.as_ref().map_or_else(String::new, |owner| format!(", owner {}", show(owner)));
    lines.push(format!("tier {tier}{owner}, selection {}", view.selection));
    lines.extend(view.no_ring.iter().map(|why| format!("no ring: {}", quote(why))));
    if !view.members.is_empty() {
        lines.push(String::new());
        lines.push("members".to_owned());
        lines.extend(view.members.iter().flat_map(|member| self::member(member, view.lead.as_ref())));
    }
    lines.extend(section(
        "dropped by the router",
        view.dropped.iter().map(|(target, reason, place)| format!("{}: {reason} ({})", show(target), at(place))),
    ));
    lines.extend(section(
        "kept out or held against by policy",
        view.violations.iter().map(|broken| {
            let (target, way, place) = (show(&broken.target), show(&broken.way_in), at(&broken.place));
            format!("{target}: {}: {}; {}; {way} at {place}", broken.rule, quote(&broken.detail), show(&broken.setting))
        }),
    ));
    lines.extend(section(
        "other definitions",
        view.shadows.iter().map(|(place, what)| format!("{}: {}", at(place), quote(what))),
    ));
    lines.extend(view.rotation.iter().flat_map(rotation));
    let consumers = view.consumers.iter().map(|(name, place)| match place {
        Some(place) => format!("{} ({})", show(name), at(place)),
        None => show(name),
    });
    let consumers: Vec<String> = consumers.collect();
    let nobody = consumers.is_empty().then(|| "nothing that was read names it".to_owned());
    lines.extend(section("consumers", consumers.into_iter().chain(nobody)));
    let offered: Vec<String> = view.offers_variants.iter().map(|variant| show(variant)).collect();
    let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
    lines.push(format!("\nvariants a consumer may ask for: {offered}"));
    lines.extend(view.digests.iter().map(|(subtree, policy)| format!("definition {subtree}\npolicy     {policy}")));
    lines.join("\n") + "\n"
}

/// A heading with its lines, if there are any.
fn section(heading: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    [format!("\n{heading}")].into_iter().chain(lines).collect()
}

/// One member: what it is and gets, then how it came in and what the policy says.
fn member(member: &MemberView, lead: Option<&String>) -> Vec<String> {
    let mark = if lead == Some(&member.target) { "* " } else { "  " };
    let share = format!("{:>5.1} %", member.share * 100.0);
    let until =
        member.until.map_or_else(String::new, |until| format!(", until {}", until.format("%Y-%m-%d %H:%M UTC")));
    let budget = member.budget.as_ref().map_or_else(String::new, |budget| format!(", budget {}", quote(budget)));
    let mut lines = vec![
        format!("{mark}{share}  {}  weight {}{until}{budget}", show(&member.target), member.weight),
        format!("           {} on home {}", show(&member.model), show(&member.home)),
        format!("           {} at {}; {}", show(&member.way_in), at(&member.place), quote(&member.policy)),
    ];
    lines.extend(member.holds.iter().map(|(what, place)| format!("           today: {} ({})", quote(what), at(place))));
    lines
}

/// The two rings, the error of each after a few jobs, and where the work of a member that is down goes.
fn rotation(view: &RotationView) -> Vec<String> {
    let letter = |i: usize| ('A'..='Z').nth(i).unwrap_or('?');
    let mut lines = vec!["\nrotation".to_owned()];
    lines.extend(view.members.iter().enumerate().map(|(i, name)| format!("  {} = {}", letter(i), show(name))));
    lines.push(format!("  block  {}\n  smooth {}", view.block, view.smooth));
    for (jobs, block, smooth, starved) in &view.errors {
        let starved: Vec<String> = starved.iter().map(|name| show(name)).collect();
        let nothing =
            if starved.is_empty() { String::new() } else { format!("; block gives nothing to {}", starved.join(", ")) };
        lines.push(format!("  after {jobs}: largest count error block {block:.2}, smooth {smooth:.2}{nothing}"));
    }
    for (down, shares) in &view.skipped {
        let shares: Vec<String> =
            shares.iter().map(|(name, share)| format!("{} {:.1} %", show(name), share * 100.0)).collect();
        lines.push(format!("  with {} down: {}", show(down), shares.join(", ")));
    }
    lines
}

/// A pool as JSON.
pub fn pool_json(view: &PoolView) -> String {
    let members: Vec<Value> = view
        .members
        .iter()
        .map(|member| {
            json!({
                "target": member.target, "model": member.model, "home": member.home, "share": member.share,
                "weight": member.weight, "way_in": member.way_in, "place": member.place.to_string(),
                "until": member.until, "budget": member.budget, "policy": member.policy,
                "holds": member.holds.iter().map(|(what, place)| json!({"what": what, "place": place.to_string()})).collect::<Vec<_>>(),
            })
        })
        .collect();
    let fields = json!({
        "id": view.id, "format": view.format, "place": view.place.to_string(), "tier": view.tier.0, "owner": view.owner,
        "selection": view.selection, "lead": view.lead, "no_ring": view.no_ring, "members": members,
        "dropped": view.dropped.iter().map(|(target, reason, place)| {
            json!({"target": target, "reason": reason, "place": place.to_string()})
        }).collect::<Vec<_>>(),
        "violations": view.violations.iter().map(|broken| json!({
            "target": broken.target, "rule": broken.rule, "detail": broken.detail, "setting": broken.setting,
            "way_in": broken.way_in, "place": broken.place.to_string(),
        })).collect::<Vec<_>>(),
        "other_definitions": view.shadows.iter().map(|(place, what)| {
            json!({"place": place.to_string(), "what": what})
        }).collect::<Vec<_>>(),
        "consumers": view.consumers.iter().map(|(name, place)| {
            json!({"name": name, "place": place.as_ref().map(ToString::to_string)})
        }).collect::<Vec<_>>(),
        "offers_variants": view.offers_variants, "rotation": view.rotation.as_ref().map(rotation_json),
        "subtree_digest": view.digests.as_ref().map(|digests| &digests.0),
        "policy_digest": view.digests.as_ref().map(|digests| &digests.1),
    });
    document("pool", fields)
}

/// A rotation as JSON.
fn rotation_json(rotation: &RotationView) -> Value {
    let errors = rotation.errors.iter().map(|(jobs, block, smooth, starved)| {
        json!({ "jobs": jobs, "block_error": block, "smooth_error": smooth, "block_gives_nothing_to": starved })
    });
    let skipped = rotation.skipped.iter().map(|(down, shares)| {
        let shares = shares.iter().map(|(target, share)| json!({ "target": target, "share": share }));
        json!({ "down": down, "shares": shares.collect::<Vec<_>>() })
    });
    json!({
        "members": rotation.members, "block": rotation.block, "smooth": rotation.smooth,
        "errors": errors.collect::<Vec<_>>(), "skipped": skipped.collect::<Vec<_>>(),
    })
}

/// What was found.
pub fn doctor(view: &DoctorView) -> String {
    let mut lines = vec![format!("as of {}", view.now.format("%Y-%m-%d %H:%M UTC"))];
    lines.push("\nconfig files, lowest layer first; a higher definition replaces a lower one whole".to_owned());
    for (i, layer) in view.layers.iter().enumerate() {
        lines.extend(self::layer(i + 1, layer));
    }
    lines.extend(section("sources", view.sources.iter().flat_map(|note| source(note, view))));
    let unmatched = view.unmatched.iter().map(|(source, name, near)| {
        let near = near.as_ref().map_or_else(String::new, |near| format!(" (near {})", show(near)));
        format!("{source}: {}{near}", show(name))
    });
    let unmatched: Vec<String> = unmatched.collect();
    let none = unmatched.is_empty().then(|| "none".to_owned());
    lines.extend(section("names not matched", unmatched.into_iter().chain(none)));
    lines.join("\n") + "\n"
}

/// One config file.
fn layer(number: usize, layer: &LayerView) -> Vec<String> {
    let names = |names: &[String]| names.iter().map(|name| show(name)).collect::<Vec<_>>().join(", ");
    let mut lines = vec![format!("  {number}. {} ({})", show(&layer.path), layer.kind)];
    if let Some(reason) = &layer.unused {
        lines.push(format!("     gave nothing, {}", quote(reason)));
        return lines;
    }
    for (what, list) in
        [("pools in force", &layer.pools), ("pools not in force", &layer.replaced), ("consumers", &layer.consumers)]
    {
        if !list.is_empty() {
            lines.push(format!("     {what}: {}", names(list)));
        }
    }
    if !layer.facts.is_empty() {
        lines.push(format!("     {}", layer.facts.join(", ")));
    }
    if lines.len() == 1 {
        lines.push("     gave nothing that bears on a pool".to_owned());
    }
    lines
}

/// One source: how it was read and how old it is, then its remarks and rejects.
fn source(note: &SourceNote, view: &DoctorView) -> Vec<String> {
    let age = note.age_hours(view.now).map_or_else(|| "age unknown".to_owned(), |age| format!("{age:.1} h old"));
    let limit = note.max_age_hours.map_or_else(String::new, |limit| format!(" of {limit} h"));
    let state = match &note.state {
        SourceState::NotConfigured => return vec![format!("{}: not configured", note.source)],
        SourceState::Failed(reason) => return vec![format!("{}: failed: {}", note.source, quote(reason))],
        SourceState::Fresh => "fresh",
        SourceState::Stale => "stale",
    };
    let rows = format!("{} of {} rows used, {} rejected", note.used, note.rows, note.rejected);
    let mut lines = vec![format!("{}: {state}, {age}{limit}, {rows}", note.source)];
    if note.state == SourceState::Stale && note.as_of.is_none() {
        lines.push("  mend: place a sidecar <file>.meta.json with `fetched_at` beside the body".to_owned());
    }
    lines.extend(note.rejects.iter().map(|reject| format!("  {}: {}", at(&reject.place), quote(&reject.reason))));
    lines.extend(note.remarks.iter().map(|remark| format!("  {}", quote(remark))));
    lines
}

/// What was found, as JSON.
pub fn doctor_json(view: &DoctorView) -> String {
    let layers: Vec<Value> = view
        .layers
        .iter()
        .map(|layer| {
            json!({
                "path": layer.path, "kind": layer.kind, "unused": layer.unused, "pools": layer.pools,
                "replaced": layer.replaced, "consumers": layer.consumers, "facts": layer.facts,
            })
        })
        .collect();
    let sources: Vec<Value> = view.sources.iter().map(|note| json::source_json(note, view.now)).collect();
    let unmatched: Vec<Value> = view
        .unmatched
        .iter()
        .map(|(source, name, near)| json!({ "source": source, "name": name, "suggestion": near }))
        .collect();
    document("doctor", json!({ "now": view.now, "layers": layers, "sources": sources, "unmatched": unmatched }))
}
