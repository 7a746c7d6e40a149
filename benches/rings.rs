//! 2,000 pools with 40 members each, nested three levels deep, over a catalogue of 10,000 models: the time to resolve all of them and the
//! most memory the program held. Ends with an error above 300 ms or 200 MB.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot build its input has failed, and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pool_review::identity::Identity;
use pool_review::ring::{Catalogue, ResolvedRing, RingInput};
use pool_review::settings::Settings;
use pool_review::sources::pools::opencode;
use pool_review::vocabulary::{CatalogueOffer, ConfigFile, ProviderId, TargetRef};

/// Pools.
const POOLS: usize = 2_000;
/// Members of each ring.
const MEMBERS: usize = 40;
/// Models of the catalogue.
const MODELS: usize = 10_000;
/// Providers they are spread over.
const PROVIDERS: usize = 20;
/// Rounds; the median counts.
const ROUNDS: usize = 9;
/// The most time that resolving may take.
const MOST_TIME: Duration = Duration::from_millis(300);
/// The most memory, in megabytes.
const MOST_MEGABYTES: u64 = 200;

/// The id of a model.
fn id(model: usize) -> String {
    format!("p{}/vendor-{}/model-{model}.5", model % PROVIDERS, model % 7)
}

/// The catalogue's offers: four efforts each.
fn offers() -> Vec<CatalogueOffer> {
    let offer = |model: usize| {
        let id = id(model);
        let (provider, id) = id.split_once('/').unwrap();
        CatalogueOffer {
            efforts: ["low", "medium", "high", "max"].map(str::to_owned).to_vec(),
            tools: true,
            open_weights: model.is_multiple_of(2),
            context: Some(200_000),
            ..CatalogueOffer::new(ProviderId::new(provider), id.to_owned())
        }
    };
    (0..MODELS).map(offer).collect()
}

/// The config in threes: a pool that lists 40 models; one that puts five of them first and nests it; and one that puts five others
/// first and nests that one. So every ring holds 40 members, and what stands twice is dropped.
fn config() -> ConfigFile {
    let mut text = String::from("{ \"model\": \"opencode-route/p0\", \"experimental\": { \"model_routes\": {\n");
    for pool in 0..POOLS {
        let (base, level) = (pool / 3 * 37, pool % 3);
        let models: Vec<String> = (0..MEMBERS).map(|i| id((base + i * 11) % MODELS)).collect();
        let own = if level == 0 { &models[..] } else { &models[level * 10..level * 10 + 5] };
        let mut targets: Vec<String> = own.iter().map(|model| format!("\"{model}\"")).collect();
        if level > 0 {
            targets.push(format!("\"opencode-route/p{}\"", pool - 1));
        }
        let weights: Vec<String> = (1..5).map(|weight| format!("\"{}\": {weight}", own[weight])).collect();
        writeln!(
            text,
            "  \"p{pool}\": {{ \"selection\": \"weighted\", \"weights\": {{{}}}, \"targets\": [{}] }}, // pool {pool}",
            weights.join(", "),
            targets.join(", ")
        )
        .unwrap();
    }
    text.push_str("} } }\n");
    ConfigFile { path: "opencode.jsonc".to_owned(), text }
}

/// Settings with homes for every provider and rules of several kinds.
fn settings() -> Settings {
    let homes: Vec<String> = (0..PROVIDERS).map(|i| format!("h{i}: {{providers: [p{i}], billing: flat}}")).collect();
    let front = format!(
        "homes: {{{}}}\npolicy: {{never: [{{model: never-seen-*}}, {{model: other-*, pools: 'p1*'}}], never_lead: [{{model: model-7-5}}]}}\npools: [{{pattern: 'p*', needs_tools: true, min_context: 100000}}]",
        homes.join(", ")
    );
    Settings::parse(&format!("---\n{front}\n---\nOur policy.\n"), "settings.md").unwrap()
}

/// The most memory the program has held, in megabytes, where the system says.
fn peak_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()? / 1024)
}

fn main() -> ExitCode {
    let (offers, file, settings) = (offers(), config(), settings());
    let (identity, _) = Identity::new(None, &offers);
    let catalogue = Catalogue::of_offers(&offers);
    let start = Instant::now();
    let config = opencode::parse(&file).unwrap();
    let parsing = start.elapsed();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let model_of = |target: &TargetRef| identity.offer(&target.provider, &target.model).model().cloned();
            let input = RingInput::new(&config, Some(&catalogue), &settings, &model_of, 0);
            let routes = config.effective();
            let rings: Vec<ResolvedRing> =
                routes.values().map(|route| ResolvedRing::build(&input, route).unwrap()).collect();
            let time = start.elapsed();
            let members: usize = black_box(&rings).iter().map(|ring| ring.members().len()).sum();
            println!("{} rings, {members} members, {:.1} ms", rings.len(), time.as_secs_f64() * 1e3);
            time
        })
        .collect();
    times.sort();
    let (median, peak) = (times[ROUNDS / 2], peak_megabytes());
    println!("parse {:.1} ms, {} kB of config", parsing.as_secs_f64() * 1e3, file.text.len() / 1024);
    println!("resolve {:.1} ms of {} ms", median.as_secs_f64() * 1e3, MOST_TIME.as_millis());
    println!("peak memory {} MB of {MOST_MEGABYTES} MB", peak.map_or_else(|| "?".to_owned(), |peak| peak.to_string()));
    if median > MOST_TIME || peak.is_some_and(|peak| peak > MOST_MEGABYTES) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
