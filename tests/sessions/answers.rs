//! What of the handed answers is compared: every part of every answer has its test or is words alone, and what no other test
//! looks at is compared here.

use std::collections::{BTreeMap, BTreeSet};

use crate::cases::cases;
use crate::support::{read_case, read_tree};
use pool_review::sources::sessions::StoreScan;
use serde_json::{Value, json};

/// Parts whose every number is compared, field by field, with `every_case_gives_its_rows_speeds_days_and_events`.
const FIGURES: [&str; 8] = ["rows", "speed", "decode", "ttft", "days", "events", "input", "notes"];
/// Parts that a test of their own compares, with its name.
const OWN: [(&str, &str); 21] = [
    ("attribution", "responses_go_to_the_pools_that_the_case_names"),
    ("copies_dropped", "opencode_counts_files_and_database_once_and_forks_once"),
    ("cost", "a_cost_is_known_only_where_every_kind_of_token_has_a_rate"),
    ("counts", "responses_go_to_the_pools_that_the_case_names"),
    ("from_export", "spend_logs_of_either_format_give_the_same_row"),
    ("from_table", "the_rollup_of_the_database_is_that_of_the_export"),
    ("infra", "opencode_counts_files_and_database_once_and_forks_once"),
    ("malformed", "damaged_lines_are_named_and_unknown_kinds_counted"),
    ("must", "every_grouping_adds_up_to_the_same_totals_in_any_zone"),
    ("now", "scorecards_and_babysitter_give_the_handed_rows"),
    ("per_thread", "every_thread_has_its_counters"),
    ("rejected", "every_record_that_is_rejected_is_named"),
    ("report", "an_incomplete_output_is_said_in_the_words_of_the_answer"),
    ("rollup", "scorecards_and_babysitter_give_the_handed_rows"),
    ("route_attempt", "the_router_log_times_calls_and_withholds_what_cannot_be_a_rate"),
    ("run1", "a_day_that_the_client_deleted_is_kept"),
    ("run2", "a_day_that_the_client_deleted_is_kept"),
    ("run2_without_cache", "a_day_that_the_client_deleted_is_kept"),
    ("total", "a_cost_is_known_only_where_every_kind_of_token_has_a_rate"),
    ("unknown_kinds", "damaged_lines_are_named_and_unknown_kinds_counted"),
    ("windows", "rate_limit_windows_are_told_by_length_and_keep_their_age"),
];
/// Parts that explain, or that say again in words what the figures say.
const WORDS: [&str; 23] = [
    "case",
    "title",
    "refs",
    "wrong",
    "sessions",
    "display_only",
    "run_with",
    "why",
    "ids",
    "rule",
    "note",
    "left_out",
    "not_billed",
    "not_timed",
    "no_decode",
    "times",
    "rollup_sql",
    "success_rate",
    "same_from",
    "resets",
    "meaning",
    "owner",
    "id",
];
/// Fields of rows that name them; every other field is a number and compared.
const NAMES: [&str; 5] = ["source", "model", "effort", "mode", "day"];

#[test]
fn every_part_of_every_answer_is_compared_or_is_words() {
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut fields: BTreeSet<String> = BTreeSet::new();
    for (name, _, answer) in cases() {
        for (part, value) in answer.as_object().unwrap() {
            let is_known = FIGURES.contains(&part.as_str())
                || OWN.iter().any(|(own, _)| own == part)
                || WORDS.contains(&part.as_str());
            assert!(is_known, "{name}: nobody compares {part}");
            met.insert(part.clone());
            if !FIGURES.contains(&part.as_str()) {
                continue;
            }
            let rows = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for (field, value) in rows.iter().filter_map(Value::as_object).flat_map(serde_json::Map::clone) {
                let is_name = NAMES.contains(&field.as_str()) && value.is_string();
                assert!(
                    is_name || value.is_number() || part == "notes",
                    "{name}: {part}.{field} is no number: {value}"
                );
                fields.insert(format!("{part}.{field}"));
            }
        }
    }
    if met.is_empty() {
        return;
    }
    for part in FIGURES.iter().chain(OWN.iter().map(|(part, _)| part)) {
        assert!(met.contains(*part), "no answer has {part} any more");
    }
    let wanted = [
        "rows.responses",
        "rows.output_incomplete",
        "rows.sidechain_responses",
        "rows.input_tokens",
        "rows.cache_read_tokens",
        "rows.cache_write_tokens",
        "rows.cache_write_1h_tokens",
        "rows.output_tokens",
        "rows.reasoning_tokens",
        "speed.n",
        "speed.output_tokens",
        "speed.busy_ms",
        "speed.effective_tps",
        "speed.median_tps",
        "decode.n",
        "decode.decode_ms",
        "decode.decode_tps",
        "ttft.n",
        "ttft.median_ms",
        "days.responses",
        "days.output_tokens",
        "events.tasks",
        "events.api_errors",
        "events.quota_hits",
        "events.retries",
        "input.files",
        "input.lines",
        "input.blank_lines",
        "input.malformed_lines",
        "input.open_tails",
    ];
    for field in wanted {
        assert!(fields.contains(field), "{field} is compared in no case");
    }
}

/// The scans of the cases whose answer has a part, with that part.
fn with(part: &str) -> Vec<(Vec<StoreScan>, Value)> {
    let found: Vec<_> = cases().into_iter().filter(|(_, _, answer)| answer.get(part).is_some()).collect();
    found
        .into_iter()
        .map(|(name, folder, answer)| (read_case(&folder.join("in"), &name), answer[part].clone()))
        .collect()
}

#[test]
fn damaged_lines_are_named_and_unknown_kinds_counted() {
    for (scans, wanted) in with("unknown_kinds") {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for (kind, count) in scans.iter().flat_map(|scan| &scan.unknown_kinds) {
            // A record without a type has no name; the answer calls it so.
            *kinds.entry(if kind == "?" { "(none)".to_owned() } else { kind.clone() }).or_default() += count;
        }
        assert_eq!(json!(kinds), wanted);
    }
    for (scans, wanted) in with("malformed") {
        let words = wanted[0].as_str().unwrap();
        let numbers: Vec<usize> =
            words.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        let damaged: Vec<usize> = scans.iter().flat_map(|scan| &scan.damaged).map(|place| place.line).collect();
        let kept = damaged.len();
        assert!(kept >= 5 && numbers.len() > kept, "{damaged:?} of {words}");
        // The first number is that in the file's name.
        assert_eq!(damaged, numbers[1..=kept], "the first damaged lines, by number");
    }
}

#[test]
fn every_thread_has_its_counters() {
    for (name, folder, answer) in cases().into_iter().filter(|(_, _, answer)| answer.get("per_thread").is_some()) {
        for wanted in answer["per_thread"].as_array().unwrap() {
            let thread = wanted["thread"].as_str().unwrap();
            let tree = crate::support::fresh(&format!("{name}-{thread}"));
            crate::support::copy(&folder.join("in"), &tree);
            for other in crate::common::files_below(&tree, &|file| !file.contains(&format!("-{thread}."))) {
                std::fs::remove_file(other).unwrap();
            }
            let mut sums = pool_review::vocabulary::CallSums::default();
            read_tree(&tree).iter().flat_map(|scan| &scan.rows).for_each(|row| sums.add(&row.sums));
            let found = json!({
                "thread": thread, "input_incl_cache": sums.input_tokens + sums.cache_read_tokens, "cached": sums.cache_read_tokens,
                "output": sums.output_tokens, "reasoning": sums.reasoning_tokens, "responses": sums.responses,
            });
            assert_eq!(&found, wanted, "{name}");
        }
    }
}

#[test]
fn an_incomplete_output_is_said_in_the_words_of_the_answer() {
    for (scans, wanted) in with("report") {
        let remarks: Vec<String> = scans.iter().flat_map(|scan| scan.remarks("store")).collect();
        let words = wanted.as_str().unwrap().replace("1 of 3 responses has", "1 of 3 responses have");
        assert!(remarks.contains(&format!("store: {words}")), "{remarks:?}");
    }
}

#[test]
fn every_record_that_is_rejected_is_named() {
    for (_, folder, answer) in cases().into_iter().filter(|(_, _, answer)| answer.get("rejected").is_some()) {
        let at = answer["now"].as_str().unwrap().parse().unwrap();
        let input = folder.join("in");
        let cards = pool_review::sources::scorecards::read(&input.join("scorecards.csv"), "scorecards.csv", at).1;
        let events = pool_review::sources::babysitter::read(&input.join("babysitter.jsonl"), "babysitter.jsonl", at).1;
        let rejects = cards.rejects.iter().chain(&events.rejects);
        let found: Vec<String> = rejects.map(|reject| format!("{} {}", reject.place, reject.reason)).collect();
        let wanted = answer["rejected"].as_array().unwrap();
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(found.starts_with(wanted.as_str().unwrap()), "{found}, wanted {wanted}");
        }
    }
}
