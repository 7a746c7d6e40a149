//! The shipped demo against the page that describes it: every verdict, finding and number that `data/README.md` states is
//! what the run says, and the run says no other finding. The tables are read from the page, so that the two cannot part.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

#[path = "scene/binary.rs"]
mod binary;
mod demo_page;
#[path = "demo_page/run.rs"]
mod run_file;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use demo_page::{code, numbers, prints_as, table};
use run_file::{findings, list, text};
use scene::Scene;
use serde_json::Value;

/// The run of the demo.
static RUN: LazyLock<Value> = LazyLock::new(|| {
    let scene = Scene::demo("acceptance");
    let ran = scene.run(&["review", "--format", "json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "background is blocked, so the run exits with 3");
    serde_json::from_str(&ran.stdout).unwrap()
});

/// A pool or category of a run.
fn pool<'a>(run: &'a Value, id: &str) -> &'a Value {
    list(run, "pools").iter().find(|pool| text(pool, "id") == id).unwrap_or_else(|| panic!("no pool {id}"))
}

/// A check of a pool.
fn check<'a>(run: &'a Value, id: &str, check: &str) -> &'a Value {
    list(pool(run, id), "checks").iter().find(|report| text(report, "check") == check).unwrap()
}

/// Check by its short name on the page.
const SHORT: [(&str, &str); 4] =
    [("latest", "latest-model"), ("best", "best-per-pool"), ("sizing", "right-sizing"), ("structure", "structure")];

/// Verdicts of every pool and check.
#[test]
fn every_verdict_is_the_one_on_the_page() {
    let rows = table(&["pool", "latest", "best", "sizing", "structure", "pool"]);
    for row in &rows {
        let id = row[0].as_str();
        for ((_, name), wanted) in SHORT.iter().zip(&row[1..5]) {
            assert_eq!(text(check(&RUN, id, name), "verdict"), wanted, "{id}, {name}");
        }
        assert_eq!(text(pool(&RUN, id), "verdict"), row[5], "{id}");
    }
    let judged = list(&RUN, "pools").iter().filter(|pool| text(pool, "subject") == "pool");
    let on_page: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(judged.map(|pool| text(pool, "id")).collect::<BTreeSet<_>>(), on_page, "every pool is on the page");
    let seen: BTreeSet<&str> = findings(&RUN).iter().filter_map(|(_, _, f)| f["verdict"].as_str()).collect();
    assert!(seen.is_superset(&BTreeSet::from(["misaligned", "watch", "unresolved"])));
}

/// Every word of the page's list of verdicts appears where the page says.
#[test]
fn each_of_the_six_verdicts_appears_where_the_page_says() {
    let rows = table(&["verdict", "where", "made by"]);
    assert_eq!(rows.len(), 6, "six verdict words");
    for row in rows {
        for place in row[1].split(", ") {
            let (id, short) = place.split_once(' ').unwrap();
            let name = SHORT.iter().find(|(name, _)| *name == short).unwrap().1;
            assert_eq!(text(check(&RUN, id, name), "verdict"), row[0], "{place}");
        }
    }
}

/// The model ids of a text, in order.
fn models(cell: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let words = cell.split(|c: char| !is_part(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.contains('-') && word.contains(|c: char| c.is_ascii_digit())).collect()
}

/// The number behind a word of a sentence.
fn after(sentence: &str, word: &str) -> f64 {
    let rest = sentence.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {sentence:?}")).1;
    numbers(rest)[0].0
}

/// The model of a member key or a member key's target.
fn model_of(key: &str) -> &str {
    key.split(['@', '#']).next().unwrap()
}

/// The finding of a check in a pool with this code about this model.
fn about<'a>(id: &str, name: &str, code: &str, model: &str) -> &'a Value {
    let all = list(check(&RUN, id, name), "findings");
    let mut found = all.iter().filter(|f| text(f, "code") == code && model_of(text(f, "subject")) == model);
    let finding = found.next().unwrap_or_else(|| panic!("{id}: no {code} {model}"));
    assert!(found.next().is_none(), "{id}: {code} {model} is found twice");
    finding
}

/// Who is missing, too young, excluded or at its end, with index, bill and the member it displaces.
#[test]
fn every_newcomer_and_every_end_is_found_with_its_numbers() {
    let mut on_page = BTreeSet::new();
    for row in table(&["pool", "lead: I, bill", "must be found", "numbers"]) {
        let Some(code) = code(&row[2]) else { continue };
        let (named, rest) = row[2].split_once(", ").unwrap_or((&row[2], ""));
        for (i, model) in models(named.split('(').next().unwrap()).into_iter().enumerate() {
            let finding = about(&row[0], "latest-model", code, model);
            on_page.insert((row[0].clone(), code.to_owned(), text(finding, "subject").to_owned()));
            for (word, counterpart) in [("displaces ", "displaced"), ("successor ", "successor")] {
                if let Some(named) = rest.split_once(word) {
                    let key = models(named.1)[0];
                    assert_eq!(model_of(text(finding, "counterpart")), key, "{}: {counterpart} of {model}", row[0]);
                }
            }
            standing(&row[0], model, finding, &row[3], i);
        }
    }
    let verdicts = findings(&RUN)
        .into_iter()
        .filter(|(id, name, f)| *name == "latest-model" && !id.starts_with("category/") && !f["verdict"].is_null());
    for (id, _, f) in verdicts {
        let key = (id.to_owned(), text(f, "code").to_owned(), text(f, "subject").to_owned());
        assert!(on_page.contains(&key) || id == "background", "{key:?} is not on the page");
    }
}

/// Index and bill of one model as the page prints them: `I a and b, both bill c`, `I a, bill c`.
fn standing(id: &str, model: &str, finding: &Value, cell: &str, nth: usize) {
    let own = cell.split([';', '=']).next().unwrap().split(" against ").next().unwrap();
    let why = text(finding, "why");
    if let Some((_, rest)) = own.split_once("I ") {
        let indices = numbers(rest.split(", ").next().unwrap());
        let (printed, _) = indices[nth.min(indices.len() - 1)];
        assert!((after(why, "index ") - printed).abs() <= 0.051, "{id}: index of {model}: {why} against {cell}");
    }
    if let Some((_, rest)) = cell.split_once("bill ") {
        let (printed, _) = numbers(rest)[0];
        assert!((after(why, "bill ") - printed).abs() <= 0.000_51, "{id}: bill of {model}: {why} against {cell}");
    }
}

/// The lead's index and bill, as the page prints them.
#[test]
fn the_leads_stand_as_printed() {
    for row in table(&["pool", "lead: I, bill", "must be found", "numbers"]).iter().filter(|row| !row[1].is_empty()) {
        let Some((_, printed)) = row[1].split_once(": ") else { continue };
        let printed = numbers(printed);
        let lead = text(pool(&RUN, &row[0]), "lead");
        for (what, printed) in [("index", printed[0]), ("bill", printed[1])] {
            let value = number(&row[0], "latest-model", what, lead)["value"].as_f64().unwrap();
            assert!(prints_as(value, printed), "{}: {what} of {lead} is {value}, printed {printed:?}", row[0]);
        }
    }
}

/// A number of a check about a target.
fn number<'a>(id: &str, name: &str, what: &str, of: &str) -> &'a Value {
    let numbers = list(check(&RUN, id, name), "numbers");
    let found = numbers.iter().find(|number| text(number, "what") == what && text(number, "of") == of);
    found.unwrap_or_else(|| panic!("{id}, {name}: no {what:?} of {of:?}"))
}

/// Models without an index are named everywhere; a bill that nobody states is unknown and not zero.
#[test]
fn what_is_not_known_is_named_and_never_zero() {
    for (id, notes) in list(&RUN, "pools").iter().filter(|pool| text(pool, "subject") == "pool").map(|pool| {
        let id = text(pool, "id");
        (id, list(check(&RUN, id, "latest-model"), "findings"))
    }) {
        let unrated = notes.iter().find(|f| text(f, "code") == "unrated").unwrap_or_else(|| panic!("{id}: no unrated"));
        for model in ["kimi-k3.1-pro", "qwen4-max"] {
            assert!(text(unrated, "why").contains(model), "{id} names {model}: {unrated}");
        }
        let proposed = list(&RUN, "proposals").iter().filter(|proposal| text(proposal, "pool") == id);
        for proposal in proposed {
            assert!(!["kimi-k3.1-pro", "qwen4-max"].contains(&model_of(text(proposal, "subject"))), "{proposal}");
        }
    }
    let bill = number("workhorse-plan", "latest-model", "bill", "kimi-code-plan-global/kimi-for-coding");
    assert!(bill["value"].is_null() && !text(bill, "remark").is_empty(), "{bill}");
    let imputed = number("specialist", "latest-model", "index", "anthropic/claude-opus-5-5#high");
    assert!(text(imputed, "remark").contains("imputed"), "{imputed}");
}

/// What the owner excluded is named and never proposed.
#[test]
fn an_excluded_model_is_never_proposed() {
    about("summit", "latest-model", "policy_excluded", "gpt-6.2-astra");
    let proposals = list(&RUN, "proposals");
    assert!(proposals.iter().all(|proposal| !proposal.to_string().contains("gpt-6.2-astra")));
}

/// Success and interval of every member that the page prints: `31/32 = 96.9 % [87.1, 99.3]`, `2/3`.
#[test]
fn success_of_every_member_stands_as_printed() {
    for row in table(&["pool", "lead", "others", "windows, Π over 12 h", "so"]) {
        let rates: Vec<&Value> = list(check(&RUN, &row[0], "best-per-pool"), "numbers")
            .iter()
            .filter(|number| text(number, "what") == "raw success" && !number["value"].is_null())
            .collect();
        for member in [&row[1]].into_iter().chain(row[2].split(" · ").map(str::to_owned).collect::<Vec<_>>().iter()) {
            let Some((hits, n)) = fraction(member) else { continue };
            let is_printed = |rate: &&&Value| is_rate(rate, hits, n, member);
            let is_told = rates.iter().any(|rate| is_printed(&rate));
            assert!(is_told || row[0] == "specialist", "{}: {member} is none of {rates:#?}", row[0]);
        }
    }
    let together = number("specialist", "best-per-pool", "raw success", "anthropic/claude-opus-5-5#high");
    assert_eq!(together["n"], 27, "one model on two homes is one member to the rates: 26/27");
}

/// `hits/n` of a text.
fn fraction(text: &str) -> Option<(f64, u64)> {
    let word = text.split_whitespace().find(|word| {
        word.split_once('/').is_some_and(|(a, b)| [a, b].iter().all(|part| part.parse::<u64>().is_ok()))
    })?;
    let (hits, n) = word.split_once('/')?;
    Some((hits.parse().unwrap(), n.parse().unwrap()))
}

/// Whether a number is that rate with that printed interval.
#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
fn is_rate(rate: &Value, hits: f64, n: u64, printed: &str) -> bool {
    let is_same = rate["n"] == n && (rate["value"].as_f64().unwrap() - hits / n as f64).abs() < 1e-9;
    let Some((_, interval)) = printed.split_once('[') else { return is_same };
    let bounds = numbers(interval);
    let of = |i: usize| prints_as(rate["interval"][i].as_f64().unwrap() * 100.0, bounds[i]);
    is_same && of(0) && of(1)
}

/// What the lead comparison of each pool comes to.
#[test]
fn every_lead_that_should_change_is_found() {
    let wanted = [
        ("workhorse", "lead_loses_on_sessions", "unresolved", "claude-sonnet-5-5", 0.599),
        ("workhorse", "lead_loses_on_sessions", "unresolved", "claude-sonnet-4-5", 0.286),
        ("workhorse", "lead_loses_on_sessions", "unresolved", "kimi-k3", 0.283),
        ("specialist", "lead_window_scarce", "misaligned", "claude-opus-5-5", 1.00),
        ("specialist", "lead_loses_on_sessions", "unresolved", "gpt-6.1-sol", 0.496),
        ("scout-plan", "lead_loses_on_sessions", "unresolved", "deepseek-v4.1-flash", 0.170),
        ("scout-plan", "lead_loses_on_sessions", "watch", "gpt-6-luna", 0.898),
        ("workhorse-plan", "lead_loses_on_sessions", "watch", "kimi-k2.8-preview", 0.425),
        ("specialist-plan", "lead_loses_on_sessions", "unresolved", "glm-5.3", 0.057),
    ];
    let best = findings(&RUN).into_iter().filter(|(_, name, f)| *name == "best-per-pool" && !f["verdict"].is_null());
    let found: Vec<_> = best
        .map(|(id, _, f)| {
            let value = (f["measured"]["value"].as_f64().unwrap() * 1000.0).round() / 1000.0;
            (id, text(f, "code"), text(f, "verdict"), model_of(text(f, "counterpart")), value)
        })
        .collect();
    let order =
        |a: &(&str, &str, &str, &str, f64), b: &(&str, &str, &str, &str, f64)| format!("{a:?}").cmp(&format!("{b:?}"));
    let sorted = |mut all: Vec<_>| {
        all.sort_by(order);
        all
    };
    assert_eq!(sorted(found), sorted(wanted.to_vec()));
    let scarce = about("specialist", "best-per-pool", "lead_window_scarce", "claude-opus-5-5");
    assert_eq!(text(scarce, "severity"), "high");
    for part in ["depletion", "12.0", "copilot-org"] {
        assert!(text(scarce, "why").contains(part), "{scarce}");
    }
    let reasons = list(check(&RUN, "background", "best-per-pool"), "reasons");
    assert!(reasons.iter().any(|reason| reason.to_string().contains("stale:quotas:minimax-m3")), "{reasons:?}");
}

/// Remaining, hours to reset and price of every window that a verdict rests on.
#[test]
fn every_window_stands_as_printed() {
    let mut windows: BTreeMap<String, BTreeMap<&str, f64>> = BTreeMap::new();
    for (_, check) in list(&RUN, "pools").iter().flat_map(|p| list(p, "checks").iter().map(move |c| (p, c))) {
        for number in list(check, "numbers").iter().filter(|number| !number["value"].is_null()) {
            let (window, what) = (text(number, "remark").split(',').next().unwrap(), text(number, "what"));
            if window.contains('/') {
                windows.entry(window.to_owned()).or_default().insert(what, number["value"].as_f64().unwrap());
            }
        }
    }
    let mut homes = BTreeSet::new();
    for row in
        table(&["home / window", "used", "resets", "τ h", "burn pt/h", "ρ", "hours left", "slack h", "class", "Π"])
    {
        let Some(window) = windows.get(&row[0].replace(" / ", "/")) else { continue };
        homes.insert(row[0].split(' ').next().unwrap().to_owned());
        let (used, price) = (numbers(&row[1])[0], numbers(&row[9])[0]);
        assert!(prints_as(100.0 * (1.0 - window["window remaining"]), used), "{row:?} {window:?}");
        assert!(prints_as(window["hours to reset"], numbers(&row[3])[0]), "{row:?} {window:?}");
        assert!(prints_as(window["window price"], price), "{row:?} {window:?}");
    }
    let wanted = ["claude-max", "copilot-org", "kimi-code", "opencode-go", "zai-coding"];
    assert_eq!(homes, wanted.map(str::to_owned).into(), "every home that was read in time");
}

/// Too slow, too weak, too far apart, and nothing else.
#[test]
fn every_member_of_the_wrong_size_is_found() {
    let mut on_page = BTreeSet::new();
    for row in table(&["pool", "must be found", "numbers"]) {
        if let Some(code) = code(&row[1]) {
            let model = models(&row[1])[0];
            let finding = about(&row[0], "right-sizing", code, model);
            on_page.insert((row[0].clone(), code.to_owned(), text(finding, "subject").to_owned()));
            let value = finding["measured"]["value"].as_f64().unwrap();
            let measured = if text(&finding["measured"], "unit") == "share" { 100.0 * value } else { value };
            let printed = numbers(&row[2]);
            assert!(
                printed.iter().any(|&printed| prints_as(measured, printed)),
                "{}: {measured} in {}",
                row[0],
                row[2]
            );
            let verdict = if row[1].ends_with("watch") { "watch" } else { "misaligned" };
            assert_eq!(text(finding, "verdict"), verdict, "{}", row[0]);
        }
        let ratio = row[2].split_once(" ÷ ").map(|(_, rest)| numbers(rest.split_once('=').unwrap().1)[0]);
        if let Some(ratio) = ratio {
            let value = number(&row[0], "right-sizing", "fastest over slowest", "")["value"].as_f64().unwrap();
            assert!(prints_as(value, ratio), "{}: {value} against {ratio:?}", row[0]);
        }
    }
    let found = findings(&RUN).into_iter().filter(|(_, name, f)| *name == "right-sizing" && !f["verdict"].is_null());
    let found = found.map(|(id, _, f)| (id.to_owned(), text(f, "code").to_owned(), text(f, "subject").to_owned()));
    assert_eq!(found.collect::<BTreeSet<_>>(), on_page);
}

/// Everything wrong with the config is found, once and nowhere else.
#[test]
fn every_structural_fault_is_found_once() {
    let mut on_page: Vec<(String, String)> = Vec::new();
    for row in table(&["where", "must be found", "why"]) {
        let Some(code) = code(&row[1]) else { continue };
        let id = if list(&RUN, "pools").iter().any(|pool| text(pool, "id") == row[0]) {
            row[0].clone()
        } else {
            format!("category/{}", row[0])
        };
        let found = list(check(&RUN, &id, "structure"), "findings");
        let finding = found.iter().find(|f| text(f, "code") == code).unwrap_or_else(|| panic!("{id}: no {code}"));
        let verdict = match row[1].rsplit_once(", ").map_or("", |(_, last)| last) {
            "watch" => "watch".into(),
            "note" => Value::Null,
            _ => "misaligned".into(),
        };
        assert_eq!(finding["verdict"], verdict, "{id}: {code}");
        assert!(finding["place"]["line"].as_u64().unwrap() >= 1, "{id}: {code} names its line");
        on_page.push((id, code.to_owned()));
    }
    let found = findings(&RUN).into_iter().filter(|(_, name, _)| *name == "structure");
    let mut found: Vec<_> = found.map(|(id, _, f)| (id.to_owned(), text(f, "code").to_owned())).collect();
    found.sort();
    on_page.sort();
    assert_eq!(found, on_page);
}

/// A category says what its pool says, or what is wrong with itself.
#[test]
fn every_category_has_a_verdict_by_its_pool() {
    let categories = list(&RUN, "pools").iter().filter(|pool| text(pool, "subject") == "category");
    let mut ids = BTreeSet::new();
    for category in categories {
        let id = text(category, "id");
        ids.insert(id.trim_start_matches("category/"));
        let Some(runs_on) = category["runs_on"].as_str() else {
            assert_eq!((id, text(category, "verdict")), ("category/security-audit", "misaligned"));
            continue;
        };
        for (_, name) in &SHORT[..3] {
            assert_eq!(check(&RUN, id, name)["verdict"], check(&RUN, runs_on, name)["verdict"], "{id}, {name}");
        }
    }
    let wanted = [
        "trivial",
        "research",
        "implement",
        "review",
        "hard",
        "architecture",
        "feature-plan",
        "migration-plan",
        "quick-plan",
        "security-audit",
    ];
    assert_eq!(ids, BTreeSet::from(wanted), "the five shipped categories and the file's own");
}

/// Every open proposal answers one finding, and a finding whose change is ready has one.
#[test]
fn every_proposal_answers_one_finding() {
    let proposals = list(&RUN, "proposals");
    let wanted = [
        ("scout", "expired_member", "retire_member"),
        ("scout", "missing", "add_trial"),
        ("scout-plan", "dead_weight", "fix_key"),
        ("scout-plan", "missing", "add_trial"),
        ("workhorse", "retirement_due", "retire_member"),
        ("workhorse", "missing", "add_trial"),
        ("workhorse", "lead_loses_on_sessions", "controlled_test"),
        ("specialist", "lead_loses_on_sessions", "controlled_test"),
        ("scout-plan", "speed_spread", "retire_member"),
        ("workhorse-plan", "missing", "add_trial"),
        ("specialist", "lead_window_scarce", "reorder"),
        ("specialist-plan", "policy_violation", "retire_member"),
        ("summit-plan", "dead_weight", "fix_key"),
        ("background", "no_consumer", "retire_pool"),
    ];
    for (id, code, kind) in wanted {
        let is_it = |p: &&Value| text(p, "pool") == id && text(p, "code") == code && text(p, "kind") == kind;
        assert_eq!(proposals.iter().filter(is_it).count(), 1, "{id}: one {kind} for {code}");
    }
    let fingerprints: BTreeSet<&str> = proposals.iter().map(|proposal| text(proposal, "fingerprint")).collect();
    assert_eq!(fingerprints.len(), proposals.len(), "no proposal stands twice");
    let answered: Vec<&str> = findings(&RUN).iter().filter_map(|(_, _, f)| f["fingerprint"].as_str()).collect();
    assert_eq!(answered.iter().copied().collect::<BTreeSet<_>>(), fingerprints);
    assert_eq!(answered.len(), fingerprints.len(), "a proposal answers one finding");
}
