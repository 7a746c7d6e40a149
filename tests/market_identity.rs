//! Identity on the handed name pairs: precision, recall, and no hard negative matched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use pool_review::identity::Identity;
use pool_review::sources::market::artificial_analysis::effort_of_name;
use pool_review::sources::market::{litellm, models_dev};
use pool_review::vocabulary::{MarketModel, ModelId, Prices, ProviderId, RetirementRow};
use serde_json::Value;

/// The review instant of the handed material.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().expect("a fixed instant")
}

/// The handed folder; `None` (said on stderr) when it is not there.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("POOL_REVIEW_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    if !shared.is_dir() {
        eprintln!("skipped: ../shared not present");
        return None;
    }
    Some(shared)
}

/// The handed bodies by what names a row.
struct Handed {
    /// Slug (`slug` today, `slug@date` of a legacy snapshot) → row.
    market: BTreeMap<String, MarketModel>,
    /// Key → row.
    retirements: BTreeMap<String, RetirementRow>,
    /// What is under test.
    identity: Identity,
}

/// A market row of which only id, slug and name are known.
fn named(id: &str, slug: &str, name: &str) -> MarketModel {
    MarketModel {
        id: id.to_owned(),
        slug: slug.to_owned(),
        name: name.to_owned(),
        effort: effort_of_name(name),
        released: None,
        indices: BTreeMap::new(),
        prices: Prices::default(),
        output_tps: None,
        first_answer_s: None,
    }
}

/// Adds id, slug and name of every row of one body of either market shape, under `slug` and `slug@date`.
fn add_rows(path: &Path, market: &mut BTreeMap<String, MarketModel>) {
    let body: Value = serde_json::from_slice(&std::fs::read(path).expect("a body")).expect("JSON");
    let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
    for row in body["data"].as_array().into_iter().flatten() {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let slug = if stem.starts_with("composed") { text("slug") } else { format!("{}@{stem}", text("slug")) };
        market.insert(slug, named(&text("id"), &text("slug"), &text("name")));
    }
}

/// Every `*.json` under a folder.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(json_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Reads the handed market folder and the alias file of this crate.
fn handed(shared: &Path) -> Handed {
    let data = shared.join("data/market");
    let mut market = BTreeMap::new();
    for path in json_files(&data.join("aa")) {
        add_rows(&path, &mut market);
    }
    let newest = |folder: &str| json_files(&data.join(folder)).pop().expect("a body");
    let (offers, note) = models_dev::read(&newest("models.dev"), "api.json", now());
    assert!(note.used > 8000, "the catalogue was not read: {note:?}");
    let (rows, _) = litellm::read(&newest("litellm"), "map.json", now());
    let retirements = rows.into_iter().map(|row| (row.key.clone(), row)).collect();
    let aliases = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/aliases.csv")).expect("aliases");
    let (identity, rejects) = Identity::new(Some((&aliases, "data/aliases.csv")), &offers);
    assert_eq!(rejects, [], "every alias line must be sound");
    Handed { market, retirements, identity }
}

impl Handed {
    /// What one side of a pair means; `None` when it is unresolved.
    fn model(&self, source: &str, id: &str) -> Option<ModelId> {
        let identity = &self.identity;
        let found = match source.split_once('@') {
            Some(("artificialanalysis", date)) => identity.market(self.market.get(&format!("{id}@{date}"))?),
            _ => match source.split('@').next()? {
                "artificialanalysis" => identity.market(self.market.get(id)?),
                "artificialanalysis-name" => identity.market(&named("", "", id)),
                "openrouter" => identity.offer(&ProviderId::new("openrouter"), id),
                "copilot" => identity.offer(&ProviderId::new("github-copilot"), id),
                "agent-config" => identity.offer(&ProviderId::new("unknown"), id),
                "litellm" => identity.retirement(&self.retirement(id)),
                _ => {
                    let (provider, model) = id.split_once('/')?;
                    identity.offer(&ProviderId::new(provider.to_lowercase()), model)
                }
            },
        };
        found.model().cloned()
    }

    /// The row of a key; a bare one where the map holds nothing of use about it.
    fn retirement(&self, key: &str) -> RetirementRow {
        let bare = || {
            let (provider, model) = key.split_once('/').unwrap_or(("unknown", key));
            RetirementRow {
                key: key.to_owned(),
                provider: ProviderId::new(provider),
                model: model.to_owned(),
                ends: None,
                stated_by: None,
                successor: None,
                prices: Prices::default(),
                bands: Vec::new(),
            }
        };
        self.retirements.get(key).cloned().unwrap_or_else(bare)
    }
}

/// How many lines there are.
fn count(lines: &[String]) -> u32 {
    u32::try_from(lines.len()).expect("a few hundred lines")
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are what the test is for")]
fn handed_pairs_are_told_apart_with_high_precision_and_recall() {
    let Some(shared) = shared() else { return };
    let handed = handed(&shared);
    let mut reader = csv::Reader::from_path(shared.join("cases/identity.csv")).expect("the pairs");
    let (mut hits, mut false_hits, mut misses, mut rejected) = (0_u32, Vec::new(), Vec::new(), 0_u32);
    for record in reader.records() {
        let record = record.expect("a pair");
        let (a, b) = (handed.model(&record[0], &record[1]), handed.model(&record[2], &record[3]));
        let is_same = a.is_some() && a == b;
        let line = format!("{} {a:?} | {} {b:?} | {}", &record[1], &record[3], &record[5]);
        match (is_same, &record[4] == "yes") {
            (true, true) => hits += 1,
            (true, false) => false_hits.push(line),
            (false, true) => misses.push(line),
            (false, false) => rejected += 1,
        }
    }
    let precision = f64::from(hits) / f64::from(hits + count(&false_hits)).max(1.0);
    let recall = f64::from(hits) / f64::from(hits + count(&misses)).max(1.0);
    eprintln!("identity: precision {precision:.4}, recall {recall:.4}; {hits} matched, {rejected} kept apart");
    eprintln!("missed:\n{}", misses.join("\n"));
    assert_eq!(false_hits, Vec::<String>::new(), "no pair that differs may match");
    assert!(precision >= 0.995, "precision {precision}");
    assert!(recall >= 0.95, "recall {recall}");
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are what the test is for")]
fn the_handed_name_table_agrees_across_sources_and_no_two_models_fall_together() {
    let Some(shared) = shared() else { return };
    let handed = handed(&shared);
    let table = std::fs::read(shared.join("data/market/names/names-64.json")).expect("the table");
    let table: Vec<Value> = serde_json::from_slice(&table).expect("JSON");
    let (mut agree, mut stray) = (0_u32, Vec::new());
    let mut labels: BTreeMap<ModelId, Vec<String>> = BTreeMap::new();
    for row in &table {
        let names = names_of(row);
        let mut counts: BTreeMap<ModelId, u32> = BTreeMap::new();
        let found: Vec<Option<ModelId>> = names.iter().map(|(source, id)| handed.model(source, id)).collect();
        for model in found.iter().flatten() {
            *counts.entry(model.clone()).or_insert(0) += 1;
        }
        let Some((main, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { continue };
        for (name, model) in names.iter().zip(&found) {
            if model.as_ref() == Some(&main) {
                agree += 1;
            } else {
                stray.push(format!("{name:?} is {model:?}, not {main}"));
            }
        }
        labels.entry(main).or_default().push(row["label"].to_string());
    }
    eprintln!("names: {agree} agree, {} stray\n{}", stray.len(), stray.join("\n"));
    let clashes: Vec<_> = labels.iter().filter(|(_, labels)| labels.len() > 1).collect();
    assert!(clashes.is_empty(), "two models under one name: {clashes:?}");
    assert!(f64::from(agree) >= 0.98 * f64::from(agree + count(&stray)), "{stray:?}");
}

/// Every name one row of the table gives, with its source; names the handed bodies do not hold are left out by the caller.
fn names_of(row: &Value) -> Vec<(&'static str, String)> {
    let many = |source: &'static str, key: &str| -> Vec<(&'static str, String)> {
        let list = row[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        list.chain(row[key].as_str()).map(|id| (source, id.to_owned())).collect()
    };
    let keys = [
        ("artificialanalysis", "aa_rows"),
        ("openrouter", "or_nov"),
        ("openrouter", "or_sep"),
        ("copilot", "copilot"),
        ("litellm", "ll_all"),
        ("models.dev-canonical", "md_canon"),
    ];
    keys.into_iter().flat_map(|(source, key)| many(source, key)).collect()
}

#[test]
fn an_end_date_belongs_to_one_offer_and_its_successor_is_a_real_model() {
    let Some(shared) = shared() else { return };
    let handed = handed(&shared);
    // Handed case MK-E09: direct on 2026-11-30, the same model on Bedrock in April, Google AI and Vertex on different days.
    let expected = [
        ("claude-sonnet-4-5", "anthropic", "2026-11-30", "claude-sonnet-4-5", "claude-sonnet-5-5"),
        ("azure_ai/claude-sonnet-4-5", "azure", "2026-11-30", "claude-sonnet-4-5", "claude-sonnet-5-5"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "amazon-bedrock",
            "2027-04-08",
            "claude-sonnet-4-5",
            "claude-sonnet-5-5",
        ),
        ("gemini/gemini-2.5-pro", "google", "2026-12-01", "gemini-2.5-pro", "gemini-3.8-flash"),
        ("gemini-2.5-pro", "google-vertex", "2026-10-20", "gemini-2.5-pro", "gemini-3.8-flash"),
        ("gpt-5", "openai", "2026-12-11", "gpt-5", "gpt-5.6-sol"),
    ];
    for (key, provider, ends, model, successor) in expected {
        let row = &handed.retirements[key];
        assert_eq!((row.provider.as_str(), row.ends.expect("a date").to_string().as_str()), (provider, ends), "{key}");
        let names = |found: &pool_review::identity::Resolution| found.model().map(ToString::to_string);
        assert_eq!(names(&handed.identity.retirement(row)).as_deref(), Some(model), "{key}");
        let next = handed.identity.successor(row).expect("a successor");
        assert_eq!(names(&next).as_deref(), Some(successor), "{key}");
    }
    assert!(handed.retirements["claude-sonnet-4-5"].stated_by.is_some(), "the date has a source");
    assert!(handed.retirements["vertex_ai/claude-sonnet-5"].stated_by.is_none(), "this one has none: weak");
}
