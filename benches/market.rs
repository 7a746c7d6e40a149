//! What the market side must keep: reading every handed body, and a review of a large fleet against every offer of every
//! provider. Needs the handed folder (`POOL_REVIEW_SHARED`, else `../shared`). Prints times and the peak of memory; it fails nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench that cannot set its scene has failed, and prints"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use pool_review::history::{MarketMemory, Past};
use pool_review::outputs;
use pool_review::review::gather::{canonical, gather};
use pool_review::review::{Clock, review};
use pool_review::settings::Settings;
use pool_review::sources::market::artificial_analysis::{self, read_history};
use pool_review::sources::market::{genai_prices, litellm, models_dev, openrouter, retirement_list};

/// Pools of the large fleet.
const POOLS: usize = 1000;

/// Members of each.
const MEMBERS: usize = 20;

/// Rounds of each measurement; the best counts, the others wait for other work of the machine.
const ROUNDS: usize = 5;

/// The best time of some work.
fn best(mut work: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    std::iter::repeat_n((), ROUNDS).map(time).min().unwrap()
}

/// Peak memory of this process in MB, where the system says it.
fn peak_mb() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kb.map_or_else(|| "unknown".to_owned(), |kb| format!("{} MB", kb / 1024))
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Reads every body of the handed market by its own reader, one after the other; gives rows.
fn read_all(data: &Path, pages: &Path, now: DateTime<Utc>) -> usize {
    let mut rows = artificial_analysis::read(pages, "aa", now).0.len();
    rows += read_history(&data.join("aa/legacy"), "legacy").iter().map(|old| old.rows.len()).sum::<usize>();
    for file in files_below(data) {
        let folder = file.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        rows += match folder.as_str() {
            "models.dev" => models_dev::read(&file, "b", now).0.len(),
            "litellm" => litellm::read(&file, "b", now).0.len(),
            "openrouter" => openrouter::read(&file, "b", now).0.len(),
            "genai-prices" => genai_prices::read(&file, "b", now).0.len(),
            "retirements" => retirement_list::read(&file, "b", now).0.len(),
            _ => 0,
        };
    }
    rows
}

/// A fleet of many pools over every offer that calls tools, and the settings that give every provider a home.
fn fleet(root: &Path, data: &Path, now: DateTime<Utc>) {
    let (offers, _) = models_dev::read(&root.join("api.json"), "api.json", now);
    let usable: Vec<String> = offers
        .iter()
        .filter(|offer| offer.tools && offer.writes_text && !offer.provider.as_str().contains(['.', ' ']))
        .filter(|offer| !offer.id.contains([' ', '#', '"']))
        .map(|offer| format!("{}/{}", offer.provider, offer.id))
        .collect();
    let mut config = String::from("{ \"experimental\": { \"model_routes\": {\n");
    for pool in 0..POOLS {
        let targets: Vec<String> =
            (0..MEMBERS).map(|at| format!("\"{}\"", usable[(pool * 37 + at * 211) % usable.len()])).collect();
        writeln!(config, "  \"p{pool:04}\": {{ \"targets\": [{}] }},", targets.join(", ")).unwrap();
    }
    config.push_str("} }, \"agent\": {\n");
    for pool in 0..POOLS {
        writeln!(config, "  \"a{pool:04}\": {{ \"model\": \"opencode-route/p{pool:04}\" }},").unwrap();
    }
    config.push_str("} }\n");
    std::fs::write(root.join("opencode.jsonc"), config).unwrap();
    let providers: std::collections::BTreeSet<&str> = offers.iter().map(|offer| offer.provider.as_str()).collect();
    let mut settings =
        String::from("---\nconfig: { opencode: opencode.jsonc }\ndata:\n  market: aa\n  catalogues: api.json\n");
    settings.push_str("  retirements: map.json\n  prices: prices.json\n  retirement_list: list.json\n  aliases: aliases.csv\nhomes:\n");
    for provider in &providers {
        writeln!(settings, "  \"h-{provider}\": {{ providers: [\"{provider}\"], billing: metered }}").unwrap();
    }
    settings.push_str("---\nWords.\n");
    std::fs::write(root.join("review.md"), settings).unwrap();
    for (name, from) in [
        ("map.json", "litellm/model_prices_1.110.2.json"),
        ("prices.json", "genai-prices/genai-prices-0.2.3.json"),
        ("list.json", "retirements/retirements.json"),
    ] {
        std::fs::copy(data.join(from), root.join(name)).unwrap();
    }
    let aliases = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/aliases.csv");
    std::fs::copy(aliases, root.join("aliases.csv")).unwrap();
    for name in ["api.json", "map.json", "prices.json", "list.json", "aa"] {
        std::fs::write(root.join(format!("{name}.meta.json")), "{\"fetched_at\": \"2026-11-29T11:00:00Z\"}").unwrap();
    }
    println!("fleet: {POOLS} pools x {MEMBERS} members, {} offers of {} providers", offers.len(), providers.len());
}

fn main() {
    let shared = std::env::var_os("POOL_REVIEW_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let data = shared.join("data/market");
    if !data.is_dir() {
        println!("skipped: ../shared not present");
        return;
    }
    let now: DateTime<Utc> = "2026-11-29T12:00:00Z".parse().unwrap();
    let root = std::env::temp_dir().join(format!("pool-review-bench-{}", std::process::id()));
    std::fs::create_dir_all(root.join("aa")).unwrap();
    for page in files_below(&data.join("aa")) {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("composed") {
            std::fs::copy(&page, root.join("aa").join(name)).unwrap();
        }
    }
    std::fs::copy(data.join("models.dev/api-2026-09-30.json"), root.join("api.json")).unwrap();
    let mut rows = 0;
    let time = best(|| rows = read_all(&data, &root.join("aa"), now));
    println!(
        "reading all market bodies: {:.0} ms, {rows} rows, peak {} (limit 400 ms, 250 MB)",
        time.as_secs_f64() * 1e3,
        peak_mb()
    );
    fleet(&root, &data, now);
    let settings = Settings::load(&root, Path::new("review.md")).unwrap();
    let clock = Clock { now, is_frozen: false, next_due: None };
    let mut gathered = None;
    let gathering = best(|| {
        let config = canonical(&root, &settings, now).unwrap();
        gathered = Some(gather(&root, &settings, config, &MarketMemory::default(), now));
    });
    let gathered = gathered.unwrap();
    let mut reviewed = None;
    let judging = best(|| {
        reviewed =
            Some(review(&gathered, &settings, &Past::default(), clock, &pool_review::history::ProposalFiles::NONE));
    });
    let reviewed = reviewed.unwrap();
    let showing = best(|| drop(outputs::terminal::render(&reviewed.report, outputs::terminal::Look::PLAIN)));
    let whole = gathering + judging + showing;
    println!(
        "gather {:.0} ms, judge {:.0} ms, terminal {:.0} ms",
        gathering.as_secs_f64() * 1e3,
        judging.as_secs_f64() * 1e3,
        showing.as_secs_f64() * 1e3
    );
    println!(
        "review of {} pools, {} proposals: {:.2} s, peak {} (limit 2 s)",
        reviewed.report.pools.len(),
        reviewed.report.proposals.len(),
        whole.as_secs_f64(),
        peak_mb()
    );
    let _gone = std::fs::remove_dir_all(&root);
}
