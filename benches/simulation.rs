//! How often the bars swap a lead that should stay, and how soon they find one that should go (methods §26): 60 days, a look
//! every 12 hours, half-life 14 days, success only, both members keep their traffic, through the same prior, posterior, pair
//! decision, looks and reverse rule that a review uses. Seeded. `cargo bench --bench simulation` prints every bar with pass
//! or fail and ends in an error when the set-up of §26 misses one; a number of runs makes it quick:
//! `cargo bench --bench simulation -- 100`.
#![expect(clippy::print_stdout, reason = "a bench prints its numbers")]

use std::process::ExitCode;

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::evidence::statistics::Beta;
use pool_review::evidence::statistics::cost::{TaskCost, Worth};
use pool_review::evidence::statistics::looks::{LookRules, LookStep, ReverseFacts, look, reverse_rule};
use pool_review::evidence::statistics::pair::{
    PairBars, PairDecision, PairSide, PairVerdict, PreviousLook, pair_decision,
};
use pool_review::evidence::statistics::prior::{IndexView, PriorRules, Tally, posterior, prior, prior_base};
use pool_review::evidence::statistics::weight::{RowWeights, row_weight};
use pool_review::vocabulary::LookMemory;

/// Looks of a run: 60 days.
const LOOKS: usize = 120;
/// Days between two looks.
const STEP: f64 = 0.5;
/// Runs of each cell, unless an argument says otherwise.
const RUNS: u64 = 4000;
/// Success of the pool's further members, where a set-up has some.
const USUAL: f64 = 0.80;
/// Largest share of runs with a false swap.
const FALSE_SWAPS: f64 = 0.05;
/// Smallest share of runs in which a much better alternative is found.
const FOUND: f64 = 0.95;
/// Latest median day on which it is found.
const MEDIAN_DAY: f64 = 8.0;
/// Share of runs with a swap back that is not reached.
const SWAPPED_BACK: f64 = 0.01;

/// A small generator (`SplitMix64`): the same numbers on every machine.
struct Random(u64);

impl Random {
    /// A number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let value = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        value
    }
}

/// Where belief starts.
#[derive(Clone, Copy)]
enum Start {
    /// Half a row each way: the bars alone.
    Rows,
    /// Nobody else has rows: the default rate, at an index like the pool's.
    Market,
    /// The other members' success: that of the pair's other side and of so many further ones; whether indices are known.
    Others(usize, bool),
}

/// A fleet as it is simulated.
struct Setup {
    /// In words.
    said: &'static str,
    /// Where belief starts.
    start: Start,
    /// Looks until a row may be scored.
    mature: usize,
}

/// The set-up of methods §26 first: it must pass. The others say what each part costs.
const SETUPS: [Setup; 5] = [
    Setup {
        said: "methods §26: market prior of 8 rows, rows are scored as they end", start: Start::Market, mature: 0
    },
    Setup { said: "the same, rows are scored after 24 h", start: Start::Market, mature: 2 },
    Setup {
        said: "a pool of four without market indices, rows are scored after 24 h",
        start: Start::Others(2, false),
        mature: 2,
    },
    Setup {
        said: "a pool of these two with equal indices, rows are scored after 24 h: each leans on the other",
        start: Start::Others(0, true),
        mature: 2,
    },
    Setup { said: "no prior, rows are scored after 24 h", start: Start::Rows, mature: 2 },
];

/// What a scenario must show.
#[derive(Clone, Copy, PartialEq)]
enum Must {
    /// Few swaps.
    Stay,
    /// A swap, soon.
    Find,
    /// Nothing; for the record.
    Tell,
}

/// Name, true rates of lead and alternative, tasks a look of each member, what must show.
const SCENARIOS: [(&str, [f64; 2], usize, Must); 5] = [
    ("equal 0.80 / 0.80, 6 a day", [0.80, 0.80], 3, Must::Stay),
    ("equal 0.80 / 0.80, 20 a day", [0.80, 0.80], 10, Must::Stay),
    ("better 0.70 -> 0.90, 6 a day", [0.70, 0.90], 3, Must::Find),
    ("better 0.75 -> 0.85, 6 a day", [0.75, 0.85], 3, Must::Tell),
    ("lead better 0.85 / 0.80, 6 a day", [0.85, 0.80], 3, Must::Tell),
];

/// The rows of one member, half day by half day.
struct Member {
    /// True success.
    rate: f64,
    /// Weighted successes and rows of each half day, as they stood at its end.
    batches: Vec<Tally>,
    /// Tasks of a half day.
    tasks: usize,
}

impl Member {
    /// One more half day of tasks, at random times; each task is a row of its own.
    fn work(&mut self, random: &mut Random) {
        let mut batch = Tally::default();
        for _ in 0..self.tasks {
            let (age, success) = (STEP * random.next(), random.next() < self.rate);
            let weight = row_weight(age, 1, false, &RowWeights::default()).unwrap_or_default();
            batch.n += weight;
            batch.s += if success { weight } else { 0.0 };
        }
        self.batches.push(batch);
    }

    /// Weighted successes and rows now of the half days from `first` on that may be scored.
    fn tally(&self, first: usize, mature: usize) -> Tally {
        let decay = (-STEP / RowWeights::default().half_life_days).exp2();
        let scored = self.batches.iter().take(self.batches.len().saturating_sub(mature)).skip(first);
        let sum = scored.fold(Tally::default(), |sum, b| Tally { s: sum.s * decay + b.s, n: sum.n * decay + b.n });
        let waited = decay.powf(count(mature));
        Tally { s: sum.s * waited, n: sum.n * waited }
    }

    /// Rows that may be scored.
    fn scored(&self, mature: usize) -> u64 {
        (self.batches.len().saturating_sub(mature) * self.tasks) as u64
    }
}

/// A count as a number.
fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

/// What one run came to.
#[derive(Default)]
struct Outcome {
    /// Day of the first swap.
    swapped: Option<f64>,
    /// Whether it was proposed to swap back.
    swapped_back: bool,
    /// Whether the pair stood aligned at the end.
    aligned: bool,
}

/// One run as it goes.
struct Run<'a> {
    /// The fleet.
    setup: &'a Setup,
    /// The pair, then the pool's further members.
    members: Vec<Member>,
    /// Which of the pair leads.
    lead: usize,
    /// Looks taken when it was swapped.
    landed: Option<usize>,
    /// The last counted look, and the looks taken then.
    memory: Option<(LookMemory, usize)>,
    /// What it came to so far.
    outcome: Outcome,
}

impl Run<'_> {
    /// What is believed of one of the pair. Cost and time are known and equal: success alone decides.
    fn side(&self, member: usize, looks: usize) -> PairSide {
        let (rules, mature) = (PriorRules::default(), self.setup.mature);
        let own = self.members[member].tally(0, mature);
        let (others, index) = match self.setup.start {
            Start::Others(_, is_known) => {
                let others = (0..self.members.len()).filter(|i| *i != member).map(|i| self.members[i].tally(0, mature));
                let sum = others.fold(Tally::default(), |sum, t| Tally { s: sum.s + t.s, n: sum.n + t.n });
                (sum, is_known.then_some(60.0))
            }
            Start::Rows | Start::Market => (Tally::default(), Some(60.0)),
        };
        let (base, _) = prior_base(others, others, &rules);
        let view = IndexView { index, reference: index, is_imputed: false };
        let rate = match self.setup.start {
            Start::Rows => Beta::new(own.s + 0.5, own.n - own.s + 0.5),
            Start::Market | Start::Others(..) => posterior(prior(base, &view, &rules), None, own, &rules).rate,
        };
        PairSide {
            rate,
            n: own.n,
            tasks: self.members[member].scored(mature),
            days: (looks.saturating_sub(mature) / 2) as u64,
            cost: Some(TaskCost { usd: 0.0, se_usd: 0.0 }),
            log_minutes: Some((0.0, 0.0)),
        }
    }

    /// Weighted rows of the pair that could first be scored after some look.
    fn new_rows(&self, at: usize) -> f64 {
        let first = at.saturating_sub(self.setup.mature);
        self.members[..2].iter().map(|member| member.tally(first, self.setup.mature).n).sum()
    }

    /// One look after so many; whether the run goes on.
    fn look(&mut self, looks: usize) -> bool {
        let bars = PairBars::default();
        let (lead, other) = (self.side(self.lead, looks), self.side(1 - self.lead, looks));
        let new_rows = self.memory.map_or(0.0, |(_, at)| self.new_rows(at));
        let previous = self.memory.map(|(memory, _)| PreviousLook { p_saving: memory.p, new_rows });
        let worth = Worth { stake_usd: 10.0, minute_usd: 0.0 };
        let decision = pair_decision(&lead, &other, worth, &bars, previous);
        self.outcome.aligned = decision.verdict == PairVerdict::Aligned;
        if !lead.reaches(&bars) || !other.reaches(&bars) {
            return true;
        }
        let before = self.memory.map(|(memory, _)| memory);
        let p = decision.money.p_saving;
        let step = look(before.as_ref(), p, new_rows, self.landed.is_some(), &LookRules::default());
        let (at, p) = match self.memory {
            Some((memory, at)) if !step.is_counted => (at, memory.p),
            _ => (looks, p),
        };
        let instant: DateTime<Utc> = DateTime::UNIX_EPOCH + TimeDelta::zero();
        let memory = LookMemory { at: instant, p, streak: step.streak, low: step.low, is_open: step.is_open };
        self.memory = Some((memory, at));
        self.act(&decision, &step, looks)
    }

    /// A swap lands at once, so that the time until it is found is all that is measured.
    fn act(&mut self, decision: &PairDecision, step: &LookStep, looks: usize) -> bool {
        let Some(landed) = self.landed else {
            if decision.verdict == PairVerdict::Misaligned {
                self.outcome.swapped = Some(STEP * count(looks));
                (self.lead, self.landed, self.memory) = (1 - self.lead, Some(looks), None);
            }
            return true;
        };
        let first = landed.saturating_sub(self.setup.mature);
        let facts = ReverseFacts {
            days: STEP * count(looks - landed),
            rows: self.members[self.lead].tally(first, self.setup.mature).n,
            p: decision.money.p_saving,
            looks: step.streak,
        };
        let is_guarded = decision.p_noninferior.is_some_and(|p| p >= PairBars::default().guard);
        self.outcome.swapped_back = is_guarded && reverse_rule(&facts, &LookRules::default()).is_empty();
        !self.outcome.swapped_back
    }
}

/// One run of 60 days.
fn run(setup: &Setup, rates: [f64; 2], tasks: usize, random: &mut Random) -> Outcome {
    let further = if let Start::Others(further, _) = setup.start { further } else { 0 };
    let rates = rates.into_iter().chain(std::iter::repeat_n(USUAL, further));
    let members = rates.map(|rate| Member { rate, batches: Vec::new(), tasks }).collect();
    let mut run = Run { setup, members, lead: 0, landed: None, memory: None, outcome: Outcome::default() };
    for looks in 1..=LOOKS {
        for member in &mut run.members {
            member.work(random);
        }
        if !run.look(looks) {
            break;
        }
    }
    run.outcome
}

/// The median of some days; infinite when there are none.
fn median(mut days: Vec<f64>) -> f64 {
    days.sort_by(f64::total_cmp);
    days.get(days.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// All runs of one cell, printed against their bars. Whether they pass.
#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn cell(setup: &Setup, (seed, runs): (u64, u64), (name, rates, tasks, must): (&str, [f64; 2], usize, Must)) -> bool {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let outcomes: Vec<Outcome> = (0..runs).map(|_| run(setup, rates, tasks, &mut random)).collect();
    let share = |holds: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| holds(o)).count() as f64 / runs as f64;
    let (swapped, back) = (share(&|o| o.swapped.is_some()), share(&|o| o.swapped_back));
    let day = median(outcomes.iter().filter_map(|o| o.swapped).collect());
    let mut bars = vec![(format!("swapped back < {SWAPPED_BACK}"), back < SWAPPED_BACK)];
    match must {
        Must::Stay => bars.push((format!("false swaps <= {FALSE_SWAPS}"), swapped <= FALSE_SWAPS)),
        Must::Find => bars.extend([
            (format!("found >= {FOUND}"), swapped >= FOUND),
            (format!("median day <= {MEDIAN_DAY}"), day <= MEDIAN_DAY),
        ]),
        Must::Tell => {}
    }
    let said: Vec<String> =
        bars.iter().map(|(bar, passes)| format!("{bar} {}", if *passes { "pass" } else { "FAIL" })).collect();
    println!(
        "  {name:<33} swapped {swapped:.4}, median day {day:>4.1}, swapped back {back:.4}, aligned at the end {:.3} | {}",
        share(&|o| o.aligned),
        said.join(", ")
    );
    bars.iter().all(|(_, passes)| *passes)
}

fn main() -> ExitCode {
    let runs = std::env::args().filter_map(|arg| arg.parse().ok()).next_back().unwrap_or(RUNS);
    println!("{runs} runs a cell, {:.0} days, a look every {:.0} h", STEP * count(LOOKS), STEP * 24.0);
    let mut holds = Vec::new();
    for setup in &SETUPS {
        println!("{}", setup.said);
        let cells = (1..).zip(SCENARIOS).map(|(seed, scenario)| cell(setup, (seed, runs), scenario));
        holds.push(cells.collect::<Vec<bool>>().into_iter().all(|passes| passes));
    }
    let passed: Vec<&str> =
        SETUPS.iter().zip(&holds).filter(|(_, holds)| **holds).map(|(setup, _)| setup.said).collect();
    println!("every bar passes with: {}", passed.join("; "));
    if holds[0] { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
