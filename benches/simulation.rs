//! How often the bars swap a lead that should stay, and how soon they find one that should go (methods §26): two members,
//! 60 days, a look every 12 hours, through the same posterior, pair decision, looks and reverse rule that a review uses.
//! Each scenario runs three times: on the rows alone (half a row each way), from the market prior, and with the full prior of
//! methods §3, which starts each of the two at the other's success and so errs towards keeping the lead. Seeded.
//! `cargo bench --bench simulation`; a number of runs makes it quick: `cargo bench --bench simulation -- 100`.
#![expect(clippy::print_stdout, reason = "a bench prints its numbers")]

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::evidence::statistics::Beta;
use pool_review::evidence::statistics::cost::{TaskCost, Worth};
use pool_review::evidence::statistics::looks::{LookRules, ReverseFacts, look, reverse_rule};
use pool_review::evidence::statistics::pair::{PairBars, PairSide, PairVerdict, PreviousLook, pair_decision};
use pool_review::evidence::statistics::prior::{IndexView, PriorRules, Tally, posterior, prior, prior_base};
use pool_review::vocabulary::LookMemory;

/// Days of a run.
const DAYS: f64 = 60.0;
/// Days between two looks.
const STEP: f64 = 0.5;
/// Days until a row may be scored.
const MATURE: f64 = 1.0;
/// Days after which a row counts half.
const HALF_LIFE: f64 = 14.0;
/// Runs of each scenario, unless an argument says otherwise.
const RUNS: u64 = 1000;

/// A small generator (SplitMix64): the same numbers on every machine.
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

/// The rows of one member: end in days, success.
#[derive(Default)]
struct Rows(Vec<(f64, bool)>);

impl Rows {
    /// Rows that may be scored now.
    fn scored(&self, now: f64) -> impl Iterator<Item = &(f64, bool)> {
        self.0.iter().filter(move |(at, _)| now - at >= MATURE)
    }

    /// Weighted successes and rows.
    fn tally(&self, now: f64) -> Tally {
        self.scored(now).fold(Tally::default(), |sum, (at, success)| {
            let weight = (-(now - at) / HALF_LIFE).exp2();
            Tally { s: sum.s + if *success { weight } else { 0.0 }, n: sum.n + weight }
        })
    }

    /// Weight now of what came in since a look.
    fn since(&self, now: f64, last: f64) -> f64 {
        self.scored(now).filter(|(at, _)| *at > last - MATURE).map(|(at, _)| (-(now - at) / HALF_LIFE).exp2()).sum()
    }
}

/// Where belief starts.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    /// Half a row each way: the bars alone.
    Rows,
    /// The default rate at equal market indices: a pool whose other members have no rows yet.
    Market,
    /// The other member's success, and equal market indices.
    Others,
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

/// One side of the pair. Cost and time are known and equal: success alone decides.
fn side(own: Tally, other: Tally, rows: u64, days: f64, start: Start) -> PairSide {
    let rules = PriorRules::default();
    let others = if start == Start::Others { other } else { Tally::default() };
    let (base, _) = prior_base(others, others, &rules);
    let view = IndexView { index: Some(60.0), reference: Some(60.0), is_imputed: false };
    let rate = match start {
        Start::Rows => Beta::new(own.s + 0.5, own.n - own.s + 0.5),
        Start::Market | Start::Others => posterior(prior(base, &view, &rules), None, own, &rules).rate,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "days of a run")]
    let days = days.floor().max(0.0) as u64;
    PairSide {
        rate,
        n: own.n,
        tasks: rows,
        days,
        cost: Some(TaskCost { usd: 0.0, se_usd: 0.0 }),
        log_minutes: Some((0.0, 0.0)),
    }
}

/// One run: true rates of lead and alternative, tasks a day each.
fn run(rates: [f64; 2], per_day: u64, start: Start, random: &mut Random) -> Outcome {
    let (bars, rules) = (PairBars::default(), LookRules::default());
    let worth = Worth { stake_usd: 10.0, minute_usd: 0.0 };
    let mut rows = [Rows::default(), Rows::default()];
    let (mut lead, mut landed) = (0_usize, None::<f64>);
    let mut memory: Option<(LookMemory, f64)> = None;
    let mut outcome = Outcome::default();
    let mut now = 0.0;
    while now < DAYS {
        for (member, rate) in rates.iter().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "few"
            )]
            let tasks = (per_day as f64 * STEP).round() as u64;
            for _ in 0..tasks {
                let at = now + STEP * random.next();
                rows[member].0.push((at, random.next() < *rate));
            }
        }
        now += STEP;
        let tallies = [rows[0].tally(now), rows[1].tally(now)];
        let count = |member: usize| rows[member].scored(now).count() as u64;
        let other = 1 - lead;
        let of_lead = side(tallies[lead], tallies[other], count(lead), now - MATURE, start);
        let of_other = side(tallies[other], tallies[lead], count(other), now - MATURE, start);
        let new_rows = memory.map_or(0.0, |(_, at)| rows[0].since(now, at) + rows[1].since(now, at));
        let previous = memory.map(|(memory, _)| PreviousLook { p_saving: memory.p, new_rows });
        let decision = pair_decision(&of_lead, &of_other, worth, &bars, previous);
        outcome.aligned = decision.verdict == PairVerdict::Aligned;
        if !of_lead.reaches(&bars) || !of_other.reaches(&bars) {
            continue;
        }
        let p = decision.money.p_saving;
        let before = memory.map(|(memory, _)| memory);
        let step = look(before.as_ref(), p, new_rows, landed.is_some(), &rules);
        let (at, kept) =
            if step.is_counted { (now, p) } else { memory.map_or((now, p), |(memory, at)| (at, memory.p)) };
        let instant: DateTime<Utc> = DateTime::UNIX_EPOCH + TimeDelta::zero();
        memory =
            Some((LookMemory { at: instant, p: kept, streak: step.streak, low: step.low, is_open: step.is_open }, at));
        let Some(day) = landed else {
            if decision.verdict == PairVerdict::Misaligned {
                outcome.swapped = Some(now);
                (lead, landed, memory) = (other, Some(now), None);
            }
            continue;
        };
        let facts = ReverseFacts { days: now - day, rows: rows[lead].since(now, day), p, looks: step.streak };
        if decision.p_noninferior.is_some_and(|p| p >= bars.guard) && reverse_rule(&facts, &rules).is_empty() {
            outcome.swapped_back = true;
            break;
        }
    }
    outcome
}

/// The median of some days.
fn median(mut days: Vec<f64>) -> f64 {
    days.sort_by(f64::total_cmp);
    days.get(days.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn main() {
    let runs = std::env::args().filter_map(|arg| arg.parse().ok()).next_back().unwrap_or(RUNS);
    let scenarios = [
        ("equal 0.80 / 0.80, 6 a day", [0.80, 0.80], 6),
        ("equal 0.80 / 0.80, 20 a day", [0.80, 0.80], 20),
        ("better 0.70 -> 0.90, 6 a day", [0.70, 0.90], 6),
        ("better 0.75 -> 0.85, 6 a day", [0.75, 0.85], 6),
        ("lead better 0.85 / 0.80, 6 a day", [0.85, 0.80], 6),
    ];
    println!("{runs} runs each, {DAYS} days, a look every {:.0} h", STEP * 24.0);
    for (start, said) in [(Start::Rows, "rows alone"), (Start::Market, "market prior"), (Start::Others, "full prior")] {
        for (seed, (name, rates, per_day)) in (1_u64..).zip(scenarios) {
            let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
            let outcomes: Vec<Outcome> = (0..runs).map(|_| run(rates, per_day, start, &mut random)).collect();
            let share =
                |holds: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| holds(o)).count() as f64 / runs as f64;
            println!(
                "{said}, {name}: swapped {:.3}, median day {:.1}, swapped back {:.4}, aligned at the end {:.3}",
                share(&|o| o.swapped.is_some()),
                median(outcomes.iter().filter_map(|o| o.swapped).collect()),
                share(&|o| o.swapped_back),
                share(&|o| o.aligned),
            );
        }
    }
}
