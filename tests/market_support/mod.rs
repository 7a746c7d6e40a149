//! What the tests of the market side share: the handed bodies, read once, and a small fleet that is reviewed end to end.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot set its scene has failed")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use pool_review::evidence::book::{Book, Statements};
use pool_review::history::{MarketMemory, Past};
use pool_review::identity::Identity;
use pool_review::review::gather::{canonical, gather};
use pool_review::review::{Clock, Reviewed, review};
use pool_review::settings::Settings;
use pool_review::sources::market::artificial_analysis::{self, Snapshot, read_history};
use pool_review::sources::market::{genai_prices, litellm, models_dev, retirement_list};
use pool_review::verdict::Finding;
use pool_review::vocabulary::{
    CatalogueOffer, ListedEnd, MarketModel, ModelId, PriceRow, Prices, ProviderId, RetirementRow, TargetRef,
};

use crate::common::{files_below, shared};

/// An instant.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// The review instant of the handed material.
pub(crate) fn now() -> DateTime<Utc> {
    at("2026-11-29T12:00:00Z")
}

/// Prices of input and output.
pub(crate) fn prices(input: &str, output: &str) -> Prices {
    Prices { input: Some(input.parse().unwrap()), output: Some(output.parse().unwrap()), ..Prices::default() }
}

/// A model.
pub(crate) fn model(name: &str) -> ModelId {
    ModelId::new(name)
}

/// A target.
pub(crate) fn target(text: &str) -> TargetRef {
    TargetRef::parse(text).unwrap()
}

/// An offer with a price.
pub(crate) fn offer(provider: &str, id: &str, canonical: Option<&str>, prices: Prices) -> CatalogueOffer {
    CatalogueOffer {
        canonical: canonical.map(str::to_owned),
        tools: true,
        prices,
        ..CatalogueOffer::new(ProviderId::new(provider), id)
    }
}

/// A market row with an intelligence index.
pub(crate) fn row(id: &str, slug: &str, name: &str, index: f64) -> MarketModel {
    MarketModel {
        id: id.to_owned(),
        slug: slug.to_owned(),
        name: name.to_owned(),
        effort: artificial_analysis::effort_of_name(name),
        released: None,
        indices: BTreeMap::from([("intelligence".to_owned(), index)]),
        prices: Prices::default(),
        output_tps: None,
        first_answer_s: None,
    }
}

/// The reviewed alias file of this crate.
pub(crate) fn aliases() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/aliases.csv")).unwrap()
}

/// Names from the alias file and some offers.
pub(crate) fn identity(offers: &[CatalogueOffer]) -> Identity {
    Identity::new(Some((&aliases(), "data/aliases.csv")), offers).0
}

/// The handed bodies.
pub(crate) struct Handed {
    /// `data/market`.
    pub(crate) data: PathBuf,
    /// models.dev of 2026-09-30.
    pub(crate) offers: Vec<CatalogueOffer>,
    /// The `LiteLLM` map.
    pub(crate) map: Vec<RetirementRow>,
    /// The retirement list.
    pub(crate) listed: Vec<ListedEnd>,
    /// genai-prices.
    pub(crate) dated: Vec<PriceRow>,
    /// The whole v2 body of 2026-10-03.
    pub(crate) market: Vec<MarketModel>,
    /// Names.
    pub(crate) identity: Identity,
}

/// The one file below a folder of the handed market whose name holds some text.
pub(crate) fn file(data: &Path, text: &str) -> PathBuf {
    files_below(data, &|name| name.contains(text)).into_iter().next().unwrap()
}

/// The handed bodies, read once; `None` when they are not there.
pub(crate) fn handed() -> Option<&'static Handed> {
    static HANDED: OnceLock<Option<Handed>> = OnceLock::new();
    HANDED.get_or_init(|| shared().map(|shared| read(shared.join("data/market")))).as_ref()
}

/// Reads the handed bodies.
fn read(data: PathBuf) -> Handed {
    let (offers, _) = models_dev::read(&file(&data, "api-2026-09-30"), "api.json", now());
    let (map, _) = litellm::read(&file(&data, "model_prices"), "map.json", now());
    let (listed, _) = retirement_list::read(&file(&data, "retirements.json"), "list.json", now());
    let (dated, _) = genai_prices::read(&file(&data, "genai-prices-"), "prices.json", now());
    let scene = Scene::new("composed");
    scene.put_pages(&data, "aa", |page| page);
    let (market, version, note) = artificial_analysis::read(&scene.root.join("aa"), "aa", now());
    assert_eq!(version.as_deref(), Some("4.3"), "{note:?}");
    let identity = identity(&offers);
    Handed { data, offers, map, listed, dated, market, identity }
}

impl Handed {
    /// Everything joined at an instant.
    pub(crate) fn book(&self, at: DateTime<Utc>) -> Book {
        let stated = Statements {
            market: &self.market,
            offers: &self.offers,
            retirements: &self.map,
            prices: &self.dated,
            listed_ends: &self.listed,
            at: Some(at),
            ..Statements::default()
        };
        Book::build(&self.identity, &stated)
    }

    /// The old body of a day.
    pub(crate) fn legacy(&self, day: &str) -> Snapshot {
        read_history(&self.data.join(format!("aa/legacy/{day}.json")), "legacy").remove(0)
    }

    /// A memory that has taken the old bodies of some days, and what happened at the last of them.
    pub(crate) fn replay(&self, days: &[&str]) -> (MarketMemory, Vec<pool_review::history::MarketEvent>) {
        let (mut memory, mut events) = (MarketMemory::default(), Vec::new());
        for day in days {
            let snapshot = self.legacy(day);
            memory.accept("market", snapshot.note.used, 0.9).unwrap();
            events = memory.take(&snapshot.rows, snapshot.version.as_deref(), snapshot.note.as_of);
        }
        (memory, events)
    }
}

/// A folder that is removed when the test ends.
pub(crate) struct Scene {
    /// The folder.
    pub(crate) root: PathBuf,
    /// Pool → targets.
    pools: BTreeMap<String, Vec<String>>,
    /// Setting of `data` → path.
    data: BTreeMap<String, String>,
    /// Further words of every home.
    terms: String,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.root);
    }
}

impl Scene {
    /// An empty folder under a name.
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("pool-review-market-{}-{name}", std::process::id()));
        let _gone = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        Self { root, pools: BTreeMap::new(), data: BTreeMap::new(), terms: String::new() }
    }

    /// Writes a file.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Takes a file away.
    pub(crate) fn drop_file(&self, path: &Path) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    /// Writes the pages of the whole v2 body into a folder, each changed by some hand.
    pub(crate) fn put_pages(&self, data: &Path, folder: &str, change: impl Fn(String) -> String) {
        for page in files_below(data, &|name| name.starts_with("composed-v2-free")) {
            let name = page.file_name().unwrap().to_string_lossy().into_owned();
            self.put(&format!("{folder}/{name}"), change(std::fs::read_to_string(&page).unwrap()));
        }
    }

    /// A pool.
    pub(crate) fn pool(mut self, id: &str, targets: &[&str]) -> Self {
        self.pools.insert(id.to_owned(), targets.iter().map(|target| (*target).to_owned()).collect());
        self
    }

    /// A body under a setting of `data`, fetched at an instant.
    pub(crate) fn body(mut self, setting: &str, path: &str, bytes: impl AsRef<[u8]>, fetched: &str) -> Self {
        self.put(path, bytes);
        self.put(&format!("{path}.meta.json"), format!("{{\"fetched_at\": \"{fetched}\"}}"));
        self.data.entry(setting.to_owned()).or_insert_with(|| path.to_owned());
        self
    }

    /// Further words of every home: `, term: annual`.
    pub(crate) fn terms(mut self, terms: &str) -> Self {
        terms.clone_into(&mut self.terms);
        self
    }

    /// A path under a setting of `data` whose files were put before.
    pub(crate) fn setting(mut self, setting: &str, path: &str) -> Self {
        self.data.insert(setting.to_owned(), path.to_owned());
        self
    }

    /// The settings: every provider of a pool is a home of its own, paid per token.
    fn settings(&self) -> Settings {
        let mut text = String::from("config: { opencode: opencode.jsonc }\ndata:\n  aliases: aliases.csv\n");
        for (setting, path) in &self.data {
            writeln!(text, "  {setting}: {path}").unwrap();
        }
        text.push_str("homes:\n");
        let providers: std::collections::BTreeSet<&str> =
            self.pools.values().flatten().filter_map(|target| target.split('/').next()).collect();
        for provider in providers {
            writeln!(text, "  {provider}-key: {{ providers: [{provider}], billing: metered{} }}", self.terms).unwrap();
        }
        Settings::parse(&format!("---\n{text}\n---\nWords.\n"), "review.md").unwrap()
    }

    /// Reviews the fleet, with what an earlier run remembers.
    pub(crate) fn review_with(&self, memory: &MarketMemory, now: DateTime<Utc>) -> Reviewed {
        let routes: serde_json::Map<String, serde_json::Value> =
            self.pools.iter().map(|(id, targets)| (id.clone(), serde_json::json!({ "targets": targets }))).collect();
        let agents: serde_json::Map<String, serde_json::Value> = self
            .pools
            .keys()
            .map(|id| (id.clone(), serde_json::json!({ "model": format!("opencode-route/{id}") })))
            .collect();
        let config = serde_json::json!({ "experimental": { "model_routes": routes }, "agent": agents });
        self.put("opencode.jsonc", config.to_string());
        self.put("aliases.csv", aliases());
        let settings = self.settings();
        let clock = Clock { now, is_frozen: false, next_due: None };
        let config = canonical(&self.root, &settings, now).unwrap();
        let gathered = gather(&self.root, &settings, config, memory, now);
        review(&gathered, &settings, &Past::default(), clock, &pool_review::history::ProposalFiles::NONE)
    }

    /// Reviews the fleet for the first time.
    pub(crate) fn review(&self, now: DateTime<Utc>) -> Reviewed {
        self.review_with(&MarketMemory::default(), now)
    }
}

/// The findings of a code in a pool.
pub(crate) fn findings<'a>(reviewed: &'a Reviewed, pool: &str, code: &str) -> Vec<&'a Finding> {
    let pool = reviewed.report.pools.iter().find(|report| report.id.as_str() == pool).unwrap();
    pool.checks.iter().flat_map(|check| &check.findings).filter(|finding| finding.code == code).collect()
}

/// The sentence of the one finding of a code in a pool.
pub(crate) fn why(reviewed: &Reviewed, pool: &str, code: &str) -> String {
    let found = findings(reviewed, pool, code);
    assert_eq!(found.len(), 1, "{code} in {pool}: {:?}", codes(reviewed, pool));
    found[0].why.plain()
}

/// The codes of a pool.
pub(crate) fn codes(reviewed: &Reviewed, pool: &str) -> Vec<&'static str> {
    let pool = reviewed.report.pools.iter().find(|report| report.id.as_str() == pool).unwrap();
    pool.checks.iter().flat_map(|check| check.findings.iter().map(|finding| finding.code)).collect()
}
