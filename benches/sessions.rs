//! What reading session stores costs: a tree of Claude Code logs and one of Codex rollouts, made here and the same every time, read
//! cold, unchanged and with 1 % appended, beside a plain reading of the same bytes. Prints processor time per GB (two threads add)
//! and the peak of memory; it fails nothing. The public readers and a 1 GB tree: `benches/sessions_peers.sh`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench that cannot set its scene has failed, and prints"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use pool_review::sources::sessions::{StoreSpec, read};
use pool_review::vocabulary::StoreKind;

/// Files of each tree.
const FILES: u64 = 300;
/// Turns of each file.
const TURNS: u64 = 40;
/// Rounds of each measurement; the best counts, the others wait for other work of the machine.
const ROUNDS: usize = 5;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    /// A number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Text as it stands in tool results: lines, quotes and paths, escaped.
    fn text(&mut self, length: u64) -> String {
        let mut text = String::new();
        while (text.len() as u64) < length {
            let word = self.below(10_000);
            match self.below(12) {
                0 => text.push_str("\\n    "),
                1 => write!(text, "\\\"key_{word}\\\": ").unwrap(),
                2 => write!(text, "src/part_{word}/mod.rs ").unwrap(),
                _ => write!(text, "word{word} ").unwrap(),
            }
        }
        text
    }
}

/// The time of a turn.
fn time(turn: u64, second: u64) -> String {
    format!("2026-11-20T{:02}:{:02}:{second:02}.000Z", 8 + turn / 60, turn % 60)
}

/// One turn of a Claude Code session: a tool result and the three records of a response.
fn claude_turn(dice: &mut Dice, file: u64, turn: u64, out: &mut String) {
    let head = |kind: &str, n: u64, second: u64| {
        format!(
            "{{\"parentUuid\":\"u-{file}-{turn}-{n}\",\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/someone/project\",\"sessionId\":\"s-{file}\",\"version\":\"2.1.267\",\"type\":\"{kind}\",\"uuid\":\"u-{file}-{turn}-{}\",\"timestamp\":\"{}\"",
            n + 1,
            time(turn, second)
        )
    };
    let length = if dice.below(30) == 0 { 120_000 } else { 500 + dice.below(4_000) };
    let result = dice.text(length);
    writeln!(
        out,
        "{},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{turn}\",\"content\":\"{result}\"}}]}},\"toolUseResult\":{{\"stdout\":\"{result}\"}}}}",
        head("user", 0, 1)
    )
    .unwrap();
    for n in 1..4 {
        let said = dice.text(300);
        writeln!(
            out,
            "{},\"requestId\":\"req_{file}_{turn}\",\"effort\":\"high\",\"message\":{{\"id\":\"msg_{file}_{turn}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-4-8\",\"content\":[{{\"type\":\"text\",\"text\":\"{said}\"}}],\"stop_reason\":\"end_turn\",\"usage\":{{\"input_tokens\":{n},\"cache_creation_input_tokens\":900,\"cache_read_input_tokens\":40000,\"cache_creation\":{{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":900}},\"output_tokens\":{}}}}}}}",
            head("assistant", n, n * 7),
            n * 100
        )
        .unwrap();
    }
}

/// One turn of a Codex rollout: a tool result, what the model says, the counters.
fn codex_turn(dice: &mut Dice, file: u64, turn: u64, out: &mut String) {
    if turn == 0 {
        writeln!(out, "{{\"timestamp\":\"{0}\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"thread-{file}\",\"timestamp\":\"{0}\",\"cwd\":\"/home/someone/project\",\"model_provider\":\"openai\",\"instructions\":\"{1}\"}}}}", time(0, 0), dice.text(20_000)).unwrap();
        writeln!(out, "{{\"timestamp\":\"{}\",\"type\":\"turn_context\",\"payload\":{{\"model\":\"gpt-5.5\",\"effort\":\"high\"}}}}", time(0, 0)).unwrap();
    }
    let result = dice.text(500);
    let length = 500 + dice.below(4_000);
    writeln!(out, "{{\"timestamp\":\"{}\",\"type\":\"response_item\",\"payload\":{{\"type\":\"function_call_output\",\"call_id\":\"c{turn}\",\"output\":\"{}\"}}}}", time(turn, 1), dice.text(length)).unwrap();
    writeln!(out, "{{\"timestamp\":\"{}\",\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":\"{result}\"}}]}}}}", time(turn, 9)).unwrap();
    let total = (turn + 1) * 1_000;
    writeln!(out, "{{\"timestamp\":\"{}\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{total},\"cached_input_tokens\":{},\"output_tokens\":{},\"reasoning_output_tokens\":{},\"total_tokens\":{}}}}},\"rate_limits\":{{\"primary\":{{\"used_percent\":12.5,\"window_minutes\":300,\"resets_at\":1795168800}}}}}}}}", time(turn, 11), total / 2, total / 4, total / 8, total + total / 4).unwrap();
}

/// Makes a store; gives its files.
fn make(root: &Path, kind: StoreKind) -> Vec<PathBuf> {
    let mut dice = Dice(20_261_129);
    let write = |file: u64| {
        let folder = match kind {
            StoreKind::Codex => root.join("sessions/2026/11/20"),
            _ => root.join(format!("projects/p{}", file % 20)),
        };
        std::fs::create_dir_all(&folder).unwrap();
        let mut text = String::new();
        for turn in 0..TURNS {
            match kind {
                StoreKind::Codex => codex_turn(&mut dice, file, turn, &mut text),
                _ => claude_turn(&mut dice, file, turn, &mut text),
            }
        }
        let path = folder.join(format!("rollout-{file}.jsonl"));
        std::fs::write(&path, text).unwrap();
        path
    };
    (0..FILES).map(write).collect()
}

/// Processor time of this process so far, seconds, where the system says it.
fn used() -> f64 {
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = text.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<f64> = rest.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(11).zip(fields.get(12)).map_or(0.0, |(user, system)| (user + system) / TICKS)
}

/// The least processor time of some work. A tick is ten milliseconds, so that each round does it several times.
fn least(times: u32, mut work: impl FnMut()) -> f64 {
    let round = |()| {
        let before = used();
        (0..times).for_each(|_| work());
        (used() - before) / f64::from(times)
    };
    std::iter::repeat_n((), ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// Peak memory of this process in MiB, where the system says it.
fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
}

/// Reads bytes and does nothing with them.
fn read_bytes(files: &[PathBuf], block: &mut [u8]) -> u64 {
    let mut bytes = 0;
    for path in files {
        let mut file = File::open(path).unwrap();
        while let Ok(read @ 1..) = file.read(block) {
            bytes += read as u64;
        }
    }
    bytes
}

/// Measures one store.
fn measure(root: &Path, kind: StoreKind) {
    let store = root.join(kind.as_str());
    let files = make(&store, kind);
    let mut block = vec![0; 1 << 17];
    let gigabytes = read_bytes(&files, &mut block) as f64 / 1e9;
    let spec = StoreSpec::new(kind, store);
    let scan = |index: Option<&[u8]>| read(&spec, &BTreeSet::new(), index, &|_, _| {});
    let base = least(5, || assert!(read_bytes(&files, &mut block) > 0));
    let cold = least(2, || drop(scan(None)));
    let first = scan(None);
    let index = first.index.unwrap();
    let unchanged = least(10, || drop(scan(Some(&index))));
    for path in files.iter().step_by(100) {
        let text = std::fs::read(path).unwrap();
        File::options().append(true).open(path).unwrap().write_all(&text).unwrap();
    }
    let appended = least(10, || drop(scan(Some(&index))));
    let responses: u64 = first.rows.iter().map(|row| row.sums.responses).sum();
    println!("{kind}: {gigabytes:.3} GB in {FILES} files, {responses} responses, index {} KiB", index.len() / 1024);
    for (name, seconds) in [("bytes alone", base), ("cold", cold), ("unchanged", unchanged), ("1 % appended", appended)]
    {
        println!("  {name:14} {:6.3} CPU s/GB {:6.2} x bytes alone", seconds / gigabytes, seconds / base);
    }
}

fn main() {
    let root = std::env::temp_dir().join(format!("pool-review-sessions-{}", std::process::id()));
    for kind in [StoreKind::ClaudeCode, StoreKind::Codex] {
        measure(&root, kind);
    }
    println!("peak {}", peak_mib());
    let _gone = std::fs::remove_dir_all(&root);
}
