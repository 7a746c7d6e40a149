//! What must stay fast: the demo's review against reading its bytes once, the readers of market bodies, and the building of
//! rings as a fleet grows. Prints times and ratios; ratios carry over to other machines. It fails nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot read the demo has failed, and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use pool_review::history::{MarketMemory, Past};
use pool_review::outputs;
use pool_review::review::gather::{Gathered, canonical, gather};
use pool_review::review::{Clock, review};
use pool_review::ring::{Catalogue, ResolvedRing, RingInput};
use pool_review::settings::Settings;
use pool_review::sources::market::{litellm, models_dev};
use pool_review::sources::pools::opencode;
use pool_review::vocabulary::{ConfigFile, TargetRef};

/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 15;

/// Pools of the smaller generated fleet; the larger one has four times as many.
const POOLS: usize = 50;

/// The median time of some work.
fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

/// One line of the answer.
fn line(what: &str, time: Duration, note: &str) {
    println!("{what:<44} {:>9.3} ms  {note}", time.as_secs_f64() * 1e3);
}

/// How often one time fits into another.
fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64()
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The demo as one run reads it.
fn gathered(root: &Path, settings: &Settings, now: DateTime<Utc>) -> Gathered {
    gather(root, settings, canonical(root, settings, now).unwrap(), &MarketMemory::default(), now)
}

/// The demo from settings to what is printed.
fn demo(root: &Path, settings: &Settings, clock: Clock) {
    let read = median(|| {
        let bytes =
            files_below(&root.join("data")).iter().map(|file| std::fs::read(file).unwrap().len()).sum::<usize>();
        black_box(bytes);
    });
    let sources = gathered(root, settings, clock.now);
    let past = Past::default();
    let reviewed = review(&sources, settings, &past, clock, &pool_review::history::ProposalFiles::NONE);
    let gathering = median(|| drop(black_box(gathered(root, settings, clock.now))));
    let judging = median(|| {
        drop(black_box(review(&sources, settings, &past, clock, &pool_review::history::ProposalFiles::NONE)));
    });
    let showing = median(|| {
        black_box(outputs::terminal::render(&reviewed.report, outputs::terminal::Look::PLAIN));
        black_box(outputs::json::run_json(&reviewed.report));
    });
    line("demo: reading its bytes once", read, "the floor");
    line("demo: gather", gathering, &format!("{:.1} x the floor", ratio(gathering, read)));
    line("demo: judge and propose", judging, &format!("{:.1} x the floor", ratio(judging, read)));
    line("demo: terminal and run file", showing, &format!("{:.1} x the floor", ratio(showing, read)));
    let whole = gathering + judging + showing;
    line(
        "demo: the whole review",
        whole,
        &format!("{:.1} x the floor, {} pools", ratio(whole, read), reviewed.report.pools.len()),
    );
}

/// The readers of market bodies.
fn market(root: &Path, settings: &Settings, now: DateTime<Utc>) {
    let rate = |path: &Path, time: Duration| {
        #[expect(clippy::cast_precision_loss, reason = "sizes of files")]
        let megabytes = std::fs::metadata(path).unwrap().len() as f64 / 1e6;
        format!("{:.0} MB/s", megabytes / time.as_secs_f64())
    };
    let catalogue = root.join(settings.data.catalogues.as_ref().unwrap());
    let time = median(|| drop(black_box(models_dev::read(&catalogue, "catalogue", now))));
    line("market: models.dev body", time, &rate(&catalogue, time));
    let ends = root.join(settings.data.retirements.as_ref().unwrap());
    let time = median(|| drop(black_box(litellm::read(&ends, "ends", now))));
    line("market: LiteLLM map", time, &rate(&ends, time));
}

/// A config of some pools with four members each, every tenth nesting the pool before it.
fn config_of(pools: usize) -> ConfigFile {
    let members =
        ["openai/gpt-6-luna#low", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-4-5", "openai/gpt-6-sol"];
    let mut text = String::from("{ \"experimental\": { \"model_routes\": {\n");
    for pool in 0..pools {
        let mut targets: Vec<String> = members.iter().map(|member| format!("\"{member}\"")).collect();
        if pool % 10 == 9 {
            targets.push(format!("\"opencode-route/p{}\"", pool - 1));
        }
        writeln!(text, "  \"p{pool}\": {{ \"targets\": [{}] }}, // pool {pool}", targets.join(", ")).unwrap();
    }
    text.push_str("} } }\n");
    ConfigFile { path: "opencode.jsonc".to_owned(), text }
}

/// Reads a generated config and builds the ring of each of its pools.
fn rings_of(file: &ConfigFile, sources: &Gathered, settings: &Settings, clock: Clock) -> usize {
    let config = opencode::parse(file).unwrap();
    let catalogue = Catalogue::of_offers(&sources.offers);
    let model_of = |target: &TargetRef| sources.identity.offer(&target.provider, &target.model).model().cloned();
    let now_ms = clock.now.timestamp_millis();
    let input = RingInput::new(&config, Some(&catalogue), settings, &model_of, now_ms);
    config.routes.iter().filter(|route| ResolvedRing::build(&input, route).is_ok()).count()
}

/// Rings as the fleet grows fourfold: four times the time is linear.
fn rings(sources: &Gathered, settings: &Settings, clock: Clock) {
    let time = |pools: usize| {
        let file = config_of(pools);
        assert_eq!(rings_of(&file, sources, settings, clock), pools, "every generated pool has a ring");
        median(|| {
            black_box(rings_of(&file, sources, settings, clock));
        })
    };
    let (few, many) = (time(POOLS), time(4 * POOLS));
    line(&format!("rings: {POOLS} pools, read and expanded"), few, "");
    line(
        &format!("rings: {} pools, read and expanded", 4 * POOLS),
        many,
        &format!("{:.1} x, linear is 4", ratio(many, few)),
    );
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let settings = Settings::load(root, Path::new("instructions/pool-composition-review.md")).unwrap();
    let now = settings.frozen_now.unwrap();
    let clock = Clock { now, is_frozen: true, next_due: None };
    demo(root, &settings, clock);
    market(root, &settings, now);
    rings(&gathered(root, &settings, now), &settings, clock);
}
