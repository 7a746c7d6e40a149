//! The instruction file from outside: what is written, what is defaulted, and what is refused with file and line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use pool_review::settings::{Billing, Family, Key, PlanMeaning, Settings, reference};
use pool_review::vocabulary::{PoolId, ProviderId, Tier};
use proptest::prelude::*;

/// The shipped instruction file of the demo fleet.
const DEMO: &str = include_str!("../instructions/pool-composition-review.md");
/// Front matters that are refused, each with its message.
const FAULTS: &str = include_str!("settings/faults.txt");
/// The reference page.
const PAGE: &str = include_str!("../instructions/settings.md");

/// Settings of some front matter.
fn parse(front_matter: &str) -> anyhow::Result<Settings> {
    Settings::parse(&format!("---\n{front_matter}\n---\nOur policy.\n"), "review.md")
}

/// The error of some front matter.
fn error(front_matter: &str) -> String {
    match parse(front_matter) {
        Ok(_) => panic!("accepted:\n{front_matter}"),
        Err(error) => format!("{error:#}"),
    }
}

/// Two homes and a rule, on lines 2 to 8 of the file.
const FLEET: &str = "\
homes:
  seat: { providers: [anthropic], billing: flat }
  key:
    providers: [openai, google]
    billing: metered
pools:
  - pattern: scout
";

#[test]
fn an_empty_front_matter_stands_at_the_binding_defaults() {
    let settings = parse("").unwrap();
    assert_eq!(settings.schedule, "0 */12 * * *");
    assert_eq!(settings.timezone, chrono_tz::UTC);
    assert_eq!(settings.frozen_now, None);
    assert_eq!(settings.config.opencode, Path::new(".opencode/opencode.jsonc"));
    assert_eq!(settings.config.openchamber, None);
    assert_eq!((settings.data.market, settings.data.quotas), (None, None));
    assert_eq!(settings.reports, Path::new("reports"));
    assert_eq!(settings.log, Path::new("reports/pool-composition-log.md"));
    assert!(settings.homes.is_empty() && settings.pools.is_empty() && settings.lines.is_empty());
    assert!(settings.policy.never.is_empty() && settings.policy.only_homes.is_empty());
    assert_eq!((settings.policy.family, settings.policy.plan_meaning), (Family::All, PlanMeaning::PlanHome));
    assert_eq!((settings.issues.repository, settings.issues.new_per_run), (None, 3));
    assert_eq!(settings.body, "Our policy.\n");
}

/// Asserts that numbers are exactly the ones named.
macro_rules! numbers {
    ($group:expr; $($name:ident $right:literal),* $(,)?) => {
        $(assert!((f64::from($group.$name) - $right).abs() < 1e-12, "{} is {}", stringify!($group.$name), $group.$name);)*
    };
}

#[test]
fn the_thresholds_default_to_methods_25() {
    let settings = parse("").unwrap();
    let t = &settings.thresholds;
    numbers!(t.rows; half_life_days 14.0, max_age_days 60.0, cluster_correlation 0.5, epoch_factor 0.25, mature_hours 24.0);
    numbers!(t.mix; min_class_share 0.05);
    numbers!(t.prior; tau 0.15, slope_per_10_points 0.25, kappa_min 2.0, kappa_max 30.0, external_rows 30.0);
    numbers!(t.speed; sd0 0.6, rows0 4.0, max_censored 0.20);
    numbers!(t.bars; rows 8.0, tasks 5.0, days 2.0);
    numbers!(t.bars; propose 0.95, once 0.99, watch 0.80, keep 0.90, withdraw 0.70, reverse 0.975);
    numbers!(t.bars; new_rows 5.0, reverse_days 7.0, reverse_rows 20.0, guard_points 3.0, guard 0.90, cost_points 5.0,
        cost_guard 0.80);
    numbers!(t.bars; threshold_loss 0.05, threshold_stake 0.03, regret_share 0.03, false_discovery 0.05);
    numbers!(t.traffic; open_per_pool 1.0, new_per_run 3.0);
    numbers!(t.windows; gap 0.30, gap_high 0.60, pressure 0.9, lead_hours 1.0, cash_usd 1.0);
    assert!(!t.windows.flag_literal_picture);
    numbers!(t.weights; max_denominator 20.0, tolerance 0.05);
    numbers!(t.latest; belongs 0.80, quality 2.0, price 0.70, speed 1.5, age_days 3.0, retire_days 30.0, trial_share 0.20);
    numbers!(t.sizing; speed_ratio 3.0, speed_lower 2.0, save_share 0.30, save_usd_day 1.0, share_difference 0.15,
        share_tasks 30.0, idle_days 14.0);
    // Not in section 25: eight measurements (DESIGN §14); bill above five medians with q five points above (methods §13).
    numbers!(t.sizing; speed_rows 8.0, dear_ratio 5.0, strong_points 5.0);
    numbers!(t.structure; expiring_days 7.0);
    numbers!(t; horizon_days 14.0, expiry_days 7.0, test_expiry_days 14.0);
    numbers!(settings.max_age_hours; market 48.0, catalogues 48.0, retirements 48.0, speeds 48.0, sessions 24.0);
    numbers!(settings; tokens_per_task 4_400_000.0);
}

#[test]
fn the_tiers_default_to_methods_6_and_15() {
    let settings = parse("").unwrap();
    let third = 1.0 / 3.0;
    for (tier, [stake, minute, floor, intelligence, coding, agentic, cache, ratio]) in [
        (Tier::Scout, [2.0, 0.05, 0.60, 0.2, 0.3, 0.5, 0.75, 100.0]),
        (Tier::Workhorse, [10.0, 0.02, 0.65, 0.2, 0.3, 0.5, 0.75, 100.0]),
        (Tier::Specialist, [25.0, 0.01, 0.75, third, third, third, 0.75, 100.0]),
        (Tier::Summit, [50.0, 0.01, 0.80, 0.6, 0.0, 0.4, 0.0, 10.0]),
    ] {
        let read = &settings.tiers[&tier];
        let mix = ["intelligence", "coding", "agentic"].map(|index| read.index_mix[index]);
        let found = [
            read.stake_usd,
            read.minute_usd,
            read.floor,
            mix[0],
            mix[1],
            mix[2],
            read.cache_share,
            read.input_per_output,
        ];
        let right = [stake, minute, floor, intelligence, coding, agentic, cache, ratio];
        assert!(found.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-12), "{tier}: {found:?}");
    }
}

#[test]
fn a_partly_given_tier_keeps_the_other_defaults() {
    let settings = parse("tiers: {summit: {floor: 0.9, index_mix: {coding: 1}}}").unwrap();
    let summit = &settings.tiers[&Tier::Summit];
    assert!((summit.floor - 0.9).abs() < 1e-12 && (summit.stake_usd - 50.0).abs() < 1e-12);
    assert!((summit.index_mix["coding"] - 1.0).abs() < 1e-12 && (summit.index_mix["intelligence"] - 0.6).abs() < 1e-12);
    assert!((settings.tiers[&Tier::Scout].floor - 0.6).abs() < 1e-12, "other tiers keep theirs");
}

#[test]
fn the_log_follows_the_reports_folder_unless_it_is_set() {
    assert_eq!(parse("reports: out").unwrap().log, Path::new("out/pool-composition-log.md"));
    assert_eq!(parse("log: ../hidden/log.md").unwrap().log, Path::new("../hidden/log.md"));
    assert_eq!(parse("log: /var/log/pools.md").unwrap().log, Path::new("/var/log/pools.md"));
}

#[test]
fn written_keys_have_their_lines() {
    let settings =
        parse(&format!("{FLEET}    tier: scout\npolicy:\n  never:\n    - {{model: gpt-*, reason: no}}\n")).unwrap();
    for (key, line) in [
        ("homes", 2),
        ("homes.seat", 3),
        ("homes.seat.billing", 3),
        ("homes.key", 4),
        ("homes.key.providers", 5),
        ("homes.key.providers[1]", 5),
        ("homes.key.billing", 6),
        ("pools", 7),
        ("pools[0]", 8),
        ("pools[0].pattern", 8),
        ("pools[0].tier", 9),
        ("policy.never", 11),
        ("policy.never[0].model", 12),
    ] {
        assert_eq!(settings.lines.get(key), Some(&line), "{key}");
    }
    assert!(!settings.lines.contains_key("pools[0].owner"), "what is not written has no line");
    assert_eq!((settings.pools[0].line, settings.policy.never[0].line), (8, 12));
    assert_eq!(settings.policy.never[0].pools, "*");
    assert_eq!(settings.policy.never[0].reason.as_deref(), Some("no"), "no is a word, not a flag");
}

#[test]
fn every_fault_is_one_line_with_its_place_and_key() {
    let mut count = 0;
    for case in FAULTS.split("----\n").skip(1) {
        let (front_matter, message) = case.split_once("\n=> ").expect("a case has a message");
        assert_eq!(error(front_matter), format!("review.md:{}", message.trim_end()), "{front_matter}");
        count += 1;
    }
    assert!(count >= 60, "{count} cases were found");
}

#[test]
fn broken_yaml_is_one_line_with_its_place() {
    for (front_matter, line, part) in [
        ("a: [1, 2", 2, "not valid YAML"),
        ("latest:\n  quality: 2\n speed: 1", 4, "not valid YAML"),
        ("pools:\n  - pattern: *-plan", 3, "must stand in quotes"),
        ("a: !weird 1", 2, "not valid YAML"),
        ("a: \"\u{1b}[31m\"", 2, "not valid YAML"),
    ] {
        let error = error(front_matter);
        assert!(error.starts_with(&format!("review.md:{line}: ")) && error.contains(part), "{error}");
        assert!(error.chars().all(|c| !c.is_control()), "{error:?}");
    }
}

#[test]
fn a_hostile_key_is_shown_escaped() {
    let error = error("\"a\\e[31m\\n\u{202e}b\": 1");
    assert_eq!(error, r#"review.md:2: unknown key "a\u{1b}[31m\n\u{202e}b""#);
}

#[test]
fn crlf_and_byte_order_mark_change_nothing_but_the_digest() {
    let text = format!("---\n{FLEET}---\nOur policy.\n");
    let plain = Settings::parse(&text, "review.md").unwrap();
    let windows = Settings::parse(&format!("\u{feff}{}", text.replace('\n', "\r\n")), "review.md").unwrap();
    assert_eq!(windows.lines, plain.lines);
    assert_eq!(windows.pools, plain.pools);
    assert_eq!(windows.policy.digest, plain.policy.digest);
    assert_ne!(windows.digest, plain.digest, "the digest is that of the bytes");
}

#[test]
fn the_policy_digest_is_that_of_the_meaning() {
    let digest = |text: &str| parse(&format!("{FLEET}{text}")).unwrap().policy.digest;
    let base = digest("policy: {family: open, only_homes: [seat, key]}");
    assert_eq!(digest("\n# a comment\npolicy:\n  only_homes: [key, seat]\n  family: open\nexpiry_days: 9"), base);
    assert_eq!(
        digest("policy: {family: open, only_homes: [seat, key], plan_meaning: plan_home}"),
        base,
        "a default, written"
    );
    for other in [
        "policy: {only_homes: [seat, key]}",
        "policy: {family: open, only_homes: [seat]}",
        "policy: {family: open, only_homes: [seat, key], never: [{model: x}]}",
        "policy: {family: open, only_homes: [seat, key], never_lead: [{model: x}]}",
        "    owner: somebody\npolicy: {family: open, only_homes: [seat, key]}",
        "  - pattern: other\npolicy: {family: open, only_homes: [seat, key]}",
    ] {
        assert_ne!(digest(other), base, "{other}");
    }
}

#[test]
fn the_first_matching_rule_applies_and_idle_rules_are_named() {
    let settings =
        parse("pools:\n  - pattern: scout-plan\n  - pattern: '*-plan'\n  - pattern: 'summit-p*'\n  - pattern: ghost")
            .unwrap();
    let rule = |pool: &str| settings.pool_rule(&PoolId::from(pool)).map(|rule| rule.pattern.as_str());
    assert_eq!(rule("scout-plan"), Some("scout-plan"));
    assert_eq!(rule("summit-plan"), Some("*-plan"));
    assert_eq!(rule("summit-pool"), Some("summit-p*"));
    assert_eq!(rule("scout"), None);
    let pools = ["scout-plan", "summit-plan", "scout"].map(PoolId::from);
    let idle: Vec<usize> = settings.unmatched_rules(pools.iter()).iter().map(|rule| rule.line).collect();
    assert_eq!(idle, [5, 6], "summit-p* comes after *-plan, ghost matches nothing");
}

#[test]
fn an_odd_pool_name_is_matched_as_it_stands() {
    let settings = parse("pools: [{pattern: '[ab]'}]").unwrap();
    assert!(settings.pool_rule(&PoolId::from("[ab]")).is_some(), "its own name");
    assert!(settings.pool_rule(&PoolId::from("a")).is_some(), "and what it matches as a glob");
}

#[test]
fn a_list_without_end_is_refused_and_not_compared() {
    let rules = "  - pattern: a\n".repeat(1001);
    assert_eq!(error(&format!("pools:\n{rules}")), "review.md:2: \"pools\" has more than 1000 items");
    let ids = "x,".repeat(100_000);
    assert_eq!(
        error(&format!("policy: {{only_homes: [{ids}]}}")),
        "review.md:2: \"policy.only_homes\" has more than 1000 items"
    );
}

#[test]
fn files_that_cannot_be_read_are_named_and_never_wait() {
    let folder = Folder::new("settings-load");
    folder.write("big.md", &vec![b'x'; 1024 * 1024 + 1]);
    folder.write("latin.md", b"---\n# ok\n# caf\xe9\n---\nx\n");
    folder.write("good.md", b"---\nexpiry_days: 9\n---\nOur policy.\n");
    let load = |name: &str| Settings::load(&folder.0, Path::new(name));
    let error = |name: &str| format!("{:#}", load(name).expect_err(name));
    assert_eq!(error("absent.md"), "absent.md: no such file");
    assert_eq!(error("."), ".: is a folder, not a file");
    assert_eq!(error("big.md"), "big.md: is larger than 1 MiB");
    assert_eq!(error("latin.md"), "latin.md:3: is not UTF-8 text");
    let pipe = folder.0.join("pipe.md");
    if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        assert_eq!(error("pipe.md"), "pipe.md: is not a regular file");
    }
    assert!((load("good.md").unwrap().thresholds.expiry_days - 9.0).abs() < 1e-12);
    let absolute = Settings::load(&folder.0, &folder.0.join("good.md")).unwrap();
    assert_eq!(absolute.path, "good.md", "no absolute path of the machine is kept");
}

/// A folder of its own below the system's temporary one, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    /// A new, empty folder.
    #[expect(clippy::disallowed_methods, reason = "the test writes its own inputs")]
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pool-review-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Self(path)
    }

    /// Writes a file.
    #[expect(clippy::disallowed_methods, reason = "the test writes its own inputs")]
    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).expect("the temporary folder can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_shipped_instruction_file_describes_the_demo_fleet() {
    let settings = Settings::parse(DEMO, "instructions/pool-composition-review.md").unwrap();
    assert_eq!(settings.timezone, chrono_tz::Europe::Berlin);
    assert_eq!(settings.frozen_now.unwrap().to_rfc3339(), "2026-11-29T12:00:00+00:00");
    let homes: Vec<(&str, &str, Billing)> =
        settings.homes.iter().map(|(id, home)| (id.as_str(), home.providers[0].as_str(), home.billing)).collect();
    assert_eq!(
        homes,
        [
            ("claude-max", "anthropic", Billing::Flat),
            ("copilot-org", "github-copilot", Billing::Flat),
            ("google-api", "google", Billing::Metered),
            ("kimi-code", "kimi-code-plan-global", Billing::Flat),
            ("minimax-coding", "minimax-coding-plan", Billing::Flat),
            ("openai-api", "openai", Billing::Metered),
            ("opencode-go", "opencode-go", Billing::Flat),
            ("openrouter", "openrouter", Billing::Balance),
            ("zai-coding", "zai-coding-plan", Billing::Flat),
        ]
    );
    assert_eq!(settings.home_of(&ProviderId::from("openai")).unwrap().0.as_str(), "openai-api");
    let pools = [
        ("scout", Tier::Scout),
        ("workhorse", Tier::Workhorse),
        ("specialist", Tier::Specialist),
        ("summit", Tier::Summit),
        ("scout-plan", Tier::Scout),
        ("workhorse-plan", Tier::Workhorse),
        ("specialist-plan", Tier::Specialist),
        ("summit-plan", Tier::Summit),
        ("background", Tier::Scout),
    ];
    for (pool, tier) in pools {
        let rule = settings.pool_rule(&PoolId::from(pool)).unwrap_or_else(|| panic!("{pool} has no rule"));
        assert_eq!(rule.tier, Some(tier), "{pool}");
        assert!(rule.owner.is_some(), "{pool} has nobody who answers for it");
    }
    assert!(settings.unmatched_rules(pools.map(|(pool, _)| PoolId::from(pool)).iter()).is_empty());
    assert_eq!(settings.policy.never[0].model, "gpt-6.2-astra");
    assert!(settings.body.contains("never edits config"));
}

/// The rows of the reference page: key → type, default and meaning as printed.
fn page_rows() -> BTreeMap<&'static str, (&'static str, &'static str, &'static str)> {
    let mut rows = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [key, kind, default, meaning] = cells[..] else { panic!("not four cells: {line}") };
        let old = rows.insert(key.trim_matches('`'), (kind, default, meaning));
        assert!(old.is_none(), "{key} stands twice");
    }
    rows
}

/// What the page must say of a key.
fn page_row(key: &Key) -> (String, String, String) {
    (key.kind.to_string(), format!("`{}`", key.default), key.meaning.to_owned())
}

#[test]
fn the_page_and_the_code_name_the_same_settings() {
    let page = page_rows();
    for key in reference() {
        let (kind, default, meaning) = page_row(key);
        let right = format!("| `{}` | {kind} | {default} | {meaning} |", key.key);
        let found = page.get(key.key).unwrap_or_else(|| panic!("the page lacks: {right}"));
        assert_eq!(*found, (kind.as_str(), default.as_str(), meaning.as_str()), "the page must say: {right}");
    }
    for key in page.keys() {
        assert!(reference().iter().any(|row| row.key == *key), "the page names {key}, which is no setting");
    }
    assert_eq!(page.len(), reference().len());
}

#[test]
fn the_sample_of_the_page_is_every_default() {
    let sample = PAGE.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a YAML sample");
    let written = parse(sample).unwrap();
    let empty = parse("").unwrap();
    assert_eq!(written.thresholds, empty.thresholds);
    assert_eq!(written.max_age_hours, empty.max_age_hours);
    assert_eq!(written.schedule, empty.schedule);
    assert_eq!((written.config, written.log), (empty.config, empty.log));
    for (tier, numbers) in &empty.tiers {
        let sample = &written.tiers[tier];
        assert!((sample.stake_usd - numbers.stake_usd).abs() < 1e-12 && (sample.floor - numbers.floor).abs() < 1e-12);
        assert!(
            sample.index_mix.iter().all(|(index, weight)| (weight - numbers.index_mix[index]).abs() < 1e-3),
            "{tier}"
        );
    }
    for key in reference().iter().filter(|row| !row.key.contains(['<', '[']) && row.default != "none") {
        assert!(written.lines.contains_key(key.key), "the sample leaves out {}", key.key);
    }
}

proptest! {
    #[test]
    fn any_text_is_settings_or_one_line(text in "(---\n)?(\\PC|\n|[a-z]+: |  - |[\\[\\]{}#&*!|>'\"%@`,]){0,80}(\n---\nx)?") {
        if let Err(error) = Settings::parse(&text, "review.md") {
            let error = format!("{error:#}");
            prop_assert!(error.starts_with("review.md:"), "{error}");
            prop_assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn any_value_of_any_setting_is_taken_or_named(index in 0..reference().len(), value in "(-?[0-9.e]{1,6}|[a-z*/]{1,6}|\\[.{0,4}\\]|true|\\.nan|\\PC{0,8})") {
        let key = reference()[index].key;
        if let Err(error) = parse(&front_matter_with(key, &value)) {
            let error = format!("{error:#}");
            prop_assert!(error.starts_with("review.md:") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_key_with_one_edit_is_named_with_its_line(index in 0..reference().len(), at in 0..40_usize, edit in 0..3_usize, letter in "[a-z]") {
        let key = reference()[index].key;
        let (group, name) = key.rsplit_once('.').unwrap_or(("", key));
        let edited = edit_once(name, at, edit, &letter);
        let is_known = reference().iter().any(|row| {
            let rest = if group.is_empty() { Some(row.key) } else { row.key.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')) };
            rest.is_some_and(|rest| rest.split(['.', '[']).next() == Some(edited.as_str()))
        });
        prop_assume!(!edited.is_empty() && !is_known);
        let edited_key = if group.is_empty() { edited } else { format!("{group}.{edited}") };
        let text = front_matter_with(&edited_key, "1");
        let error = error(&text);
        let shown = edited_key.replace("<id>", "seat").replace("<tier>", "scout").replace("[]", "[0]");
        let line = text.lines().count() + 1;
        prop_assert!(error.starts_with(&format!("review.md:{line}: unknown key \"{shown}\" (did you mean ")), "{error}");
    }
}

/// A name with one letter dropped, put in or replaced.
fn edit_once(name: &str, at: usize, edit: usize, letter: &str) -> String {
    let at = at % name.len();
    match edit {
        0 => format!("{}{}", &name[..at], &name[at + 1..]),
        1 => format!("{}{letter}{}", &name[..at], &name[at..]),
        _ => format!("{}{letter}{}", &name[..at], &name[at + 1..]),
    }
}

/// Front matter whose last line holds a dotted key of the reference with some value.
fn front_matter_with(key: &str, value: &str) -> String {
    let key = key.replace("<id>", "seat").replace("<tier>", "scout");
    let parts: Vec<&str> = key.split('.').collect();
    let mut text = String::new();
    let mut indent = 0;
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let pad = " ".repeat(indent);
        match part.strip_suffix("[]") {
            Some(list) => write!(text, "{pad}{list}:\n{pad}  - # an item\n"),
            None if is_last => write!(text, "{pad}{part}: {value}"),
            None => writeln!(text, "{pad}{part}:"),
        }
        .expect("writing to a String cannot fail");
        indent += if part.ends_with("[]") { 4 } else { 2 };
    }
    text
}
