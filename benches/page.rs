//! A year of a twelve-pool fleet, 730 runs: how large its months get, how long `status` and the page take. Asserts the bounds
//! that hold on any machine and prints the figures.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on has failed, and prints")]
#![expect(clippy::disallowed_methods, reason = "it writes into a scratch folder of its own")]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/reports/mod.rs"]
mod reports;

#[path = "../tests/year/mod.rs"]
mod year;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser as _;
use pool_review::cli::Cli;
use pool_review::outputs;
use pool_review::outputs::page;
use pool_review::run::{Host, Surroundings, Wake, run};

/// Runs of a year.
const RUNS: usize = 730;

/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 9;

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

fn main() {
    let folder = reports::workspace("bench-year");
    let store = reports::store(&folder);
    let start = Instant::now();
    let last = year::deliver(RUNS, &store);
    println!("{RUNS} runs of 12 pools delivered in {:.1} s", start.elapsed().as_secs_f64());
    year::assert_index(&store, RUNS);
    let months = year::months(&store);
    println!("{} months, the largest {} bytes ({})", months.len(), months[0].0, months[0].1);
    assert!(months.iter().all(|(size, _)| *size < 200_000), "{months:?}");
    let (ledger, problems) = outputs::read_ledger(&store).unwrap();
    assert!(problems.is_empty());
    assert_eq!(ledger.runs().len(), RUNS);
    let runs = ledger.runs();
    let time = median(|| {
        black_box(page::render(&last, &runs));
    });
    println!("page: {:.2} ms, {} bytes", time.as_secs_f64() * 1e3, page::render(&last, &runs).len());
    assert!(time < Duration::from_millis(300), "{time:?}");
    let time = median(|| drop(black_box(outputs::read_ledger(&store).unwrap())));
    println!("ledger: {:.2} ms to read and check", time.as_secs_f64() * 1e3);
    cadence(&folder);
    let time = median(|| status(&folder));
    println!("status: {:.2} ms", time.as_secs_f64() * 1e3);
    assert!(time < Duration::from_millis(100), "{time:?}");
}

/// Start and end of every run.
fn cadence(folder: &std::path::Path) {
    std::fs::create_dir_all(folder.join("instructions")).unwrap();
    std::fs::write(
        folder.join("instructions/pool-composition-review.md"),
        "---\nschedule: \"0 */12 * * *\"\n---\n\nA fleet.\n",
    )
    .unwrap();
    let lines = (0..RUNS).flat_map(|number| {
        let at = year::instant(number);
        let run = at.format("%Y%m%dT%H%M%SZ").to_string();
        let start = pool_review::history::Cadence::start(&run, at);
        [start.line(), pool_review::history::Cadence::end(&run, at, 0, 700, None).line()]
    });
    let text: Vec<String> = lines.collect();
    std::fs::write(folder.join("reports/cadence.jsonl"), text.join("\n") + "\n").unwrap();
}

/// One `status`.
fn status(folder: &std::path::Path) {
    let workspace = folder.display().to_string();
    let cli = Cli::try_parse_from(["pool-review", "--workspace", &workspace, "status"]).unwrap();
    let host = Host {
        home: None,
        program: PathBuf::new(),
        job_summary: None,
        pause: &|_| Wake::Stop,
        say: &|_| {},
        steps: None,
    };
    let clock = || year::instant(RUNS - 1);
    let around = Surroundings {
        clock: &clock,
        colour: false,
        columns: pool_review::outputs::wrap::WIDTH,
        progress: &|_, _, _| {},
        variable: &|_| None,
        sleep: &|_| {},
        doing: &|_| {},
        host,
    };
    let answer = run(&cli, &around).ok().unwrap();
    assert!(answer.text.contains("healthy"), "{}", answer.text);
}
