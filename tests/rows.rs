//! Our own evidence files from bytes to rows, rollups and rates: the handed cases, every kind of bad input, and properties.
#![expect(clippy::disallowed_methods, reason = "the tests write the files they read")]
#![expect(clippy::unwrap_used, reason = "a helper of a test that cannot go on may panic")]
#![expect(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::path::{Path, PathBuf};

use chrono::{DateTime, Duration, Utc};
use pool_review::evidence::rates::wilson;
use pool_review::rollup::{self, RollupRow, merge, read_csv, write_csv};
use pool_review::sources::{scorecards, speeds};
use pool_review::vocabulary::{
    Digest, Effort, HomeId, Outcome, Place, PoolId, ProviderId, ScorecardRow, SourceNote, SourceState, SpeedRow, Usd,
    UsdSquared,
};
use proptest::prelude::{Strategy, any, prop, proptest};
use serde_json::Value;

/// The review instant of every test.
const NOW: &str = "2026-11-29T12:00:00Z";
/// A speeds header and one good row.
const SPEEDS: &str =
    "measured_at,provider,model,n,output_tps\n2026-11-29T11:00:00Z,anthropic,claude-sonnet-5,12,61.5\n";
/// A scorecards header and one good row.
const CARDS: &str = "task_id,finished_at,pool,provider,model,outcome\n\
    t1,2026-11-27T10:00:00Z,workhorse,anthropic,claude-sonnet-5,success\n";

/// The review instant.
fn now() -> DateTime<Utc> {
    NOW.parse().unwrap()
}

/// Writes a file of this test's own and gives its path.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Reads bytes as `name`.
fn read_speeds(name: &str, bytes: impl AsRef<[u8]>) -> (Vec<SpeedRow>, SourceNote) {
    speeds::read(&file(name, bytes), name, now())
}

/// Reads bytes as `name`.
fn read_cards(name: &str, bytes: impl AsRef<[u8]>) -> (Vec<ScorecardRow>, SourceNote) {
    scorecards::read(&file(name, bytes), name, now())
}

/// The rejects of a note as `file:line reason`.
fn rejects(note: &SourceNote) -> Vec<String> {
    note.rejects.iter().map(|reject| format!("{} {}", reject.place, reject.reason)).collect()
}

/// The reason of a failed note; panics when it is not failed.
fn failure(note: &SourceNote) -> &str {
    match &note.state {
        SourceState::Failed(reason) => reason,
        state => panic!("expected a failed note, got {state:?}"),
    }
}

/// The handed folder, or a word on stderr.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("POOL_REVIEW_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: ../shared not present");
    None
}

/// The entries of a folder in name order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// A JSON file.
fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_golden_wilson_interval_is_reproduced() {
    let Some(shared) = shared() else { return };
    let mut seen = 0;
    for path in entries(&shared.join("golden")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        for case in json(&path)["cases"].as_array().into_iter().flatten().filter(|case| case["fn"] == "wilson") {
            seen += 1;
            let input = |key: &str| case["input"][key].as_f64().unwrap();
            let found = wilson(input("successes"), input("n"));
            for (key, found) in [("lo", found.map(|f| f.0)), ("hi", found.map(|f| f.1))] {
                match (case["output"][key].as_f64(), found) {
                    (Some(expected), Some(found)) => assert!((expected - found).abs() <= 1e-6, "{case}: {key} {found}"),
                    (expected, found) => assert_eq!(expected, found, "{case}: {key}"),
                }
            }
        }
    }
    assert!(seen > 0, "the handed golden files hold cases of wilson");
}

#[test]
fn every_handed_scorecard_file_gives_the_expected_rollup_and_rejects() {
    let Some(shared) = shared() else { return };
    let mut seen = 0;
    for case in entries(&shared.join("cases/sessions")).into_iter().filter(|path| path.is_dir()) {
        for name in ["scorecards.csv", "scorecards.jsonl"] {
            let path = case.join("in").join(name);
            if path.is_file() {
                seen += 1;
                handed_case_agrees(&json(&case.join("expected.json")), &path, name);
            }
        }
    }
    assert!(seen > 0, "the handed cases hold scorecard files");
}

/// Asserts one handed scorecard file against what its case expects.
fn handed_case_agrees(expected: &Value, path: &Path, name: &str) {
    let at: DateTime<Utc> = expected["now"].as_str().unwrap_or(NOW).parse().unwrap();
    let (rows, note) = scorecards::read(path, name, at);
    assert_eq!(note.state, SourceState::Fresh, "{}", path.display());
    let found = rollup::daily(&rows, at - Duration::hours(24));
    let is_ours = |row: &&Value| row["source"] == "scorecards";
    let wanted: Vec<&Value> = expected["rollup"].as_array().into_iter().flatten().filter(is_ours).collect();
    if wanted.is_empty() {
        return;
    }
    assert_eq!(found.len(), wanted.len(), "rollup rows of {}", path.display());
    for (found, wanted) in found.iter().zip(wanted) {
        rollup_row_agrees(found, wanted);
    }
    let wanted = expected["rejected"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let wanted: Vec<_> = wanted.filter(|text| text.starts_with(name)).collect();
    let found = rejects(&note);
    assert!(wanted.is_empty() || wanted.len() == found.len(), "{found:?} instead of {wanted:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found:?} does not say {wanted:?}");
    }
    assert_eq!(note.rows, note.used + note.rejected);
}

/// Asserts one rollup row; columns that scorecards do not fill (retries, stalls, kills, tokens) are other sources' business.
fn rollup_row_agrees(found: &RollupRow, wanted: &Value) {
    let texts = [
        ("pool", &found.key.pool),
        ("provider", &found.key.provider),
        ("model", &found.key.model),
        ("effort", &found.key.effort),
        ("home", &found.key.home),
        ("task_class", &found.key.task_class),
        ("day", &found.key.day.to_string()),
    ];
    for (key, text) in texts {
        assert_eq!(wanted[key].as_str(), Some(text.as_str()), "{key}");
    }
    let sums = &found.sums;
    let counts = [
        ("attempts", sums.attempts),
        ("successes", sums.successes),
        ("failures", sums.failures),
        ("infra", sums.infra),
        ("unknown", sums.unknown),
        ("immature", sums.immature),
        ("tasks", sums.tasks),
        ("n_duration", sums.n_duration),
        ("n_cost", sums.n_cost),
    ];
    for (key, count) in counts.into_iter().filter(|(key, _)| !wanted[*key].is_null()) {
        assert_eq!(wanted[key].as_u64(), Some(count), "{key} of {}", found.key.day);
    }
    let amounts = [
        ("sum_ln_duration", sums.sum_ln_duration),
        ("sum_ln_duration_sq", sums.sum_ln_duration_sq),
        ("cost_usd", sums.cost.to_f64()),
    ];
    for (key, amount) in amounts.into_iter().filter(|(key, _)| !wanted[*key].is_null()) {
        let wanted = wanted[key].as_f64().or_else(|| wanted[key].as_str()?.parse().ok()).unwrap();
        assert!((wanted - amount).abs() <= 1e-6, "{key}: {amount} instead of {wanted}");
    }
}

#[test]
fn handed_csv_and_jsonl_of_one_case_say_the_same() {
    let Some(shared) = shared() else { return };
    for case in entries(&shared.join("cases/sessions")) {
        let (csv, jsonl) = (case.join("in/scorecards.csv"), case.join("in/scorecards.jsonl"));
        if csv.is_file() && jsonl.is_file() {
            let at = json(&case.join("expected.json"))["now"].as_str().unwrap_or(NOW).parse().unwrap();
            let rollup = |path: &Path| rollup::daily(&scorecards::read(path, "cards", at).0, at - Duration::hours(24));
            assert_eq!(rollup(&csv), rollup(&jsonl), "{}", case.display());
        }
    }
}

#[test]
fn a_speed_row_is_read_whole_whatever_the_column_order() {
    let (rows, note) = read_speeds(
        "order.csv",
        "output_tps_hi,model,n,home,ttft_s,measured_at,colour,provider,output_tps,output_tps_lo,effort,task_s,pool,task_class\r\n\
         70,claude-sonnet-5,12,claude-max,0,2026-11-29T13:00:00+02:00,red,anthropic,61.5,50,High,240,workhorse,bugfix\r\n",
    );
    let row = &rows[0];
    assert_eq!(row.measured_at.to_rfc3339(), "2026-11-29T11:00:00+00:00");
    assert_eq!((row.provider.as_str(), row.model.as_str(), row.n), ("anthropic", "claude-sonnet-5", 12));
    assert_eq!((row.output_tps, row.output_tps_90), (Some(61.5), Some((50.0, 70.0))));
    assert_eq!((row.first_answer_s, row.task_s), (Some(0.0), Some(240.0)), "zero seconds are a value");
    assert_eq!(row.effort.as_ref().map(Effort::as_str), Some("high"));
    assert_eq!(row.home.as_ref().map(HomeId::as_str), Some("claude-max"));
    assert_eq!(row.pool.as_ref().map(PoolId::as_str), Some("workhorse"));
    assert_eq!(row.task_class.as_deref(), Some("bugfix"));
    assert_eq!(row.place.to_string(), "order.csv:2");
    assert_eq!((note.rows, note.used, note.rejected), (1, 1, 0));
    assert_eq!(note.as_of, Some(row.measured_at));
    assert_eq!(note.remarks, ["unknown column \"colour\" is filled in 1 row"]);
}

#[test]
fn empty_cells_are_unknown_and_never_zero() {
    let (rows, _) = read_speeds(
        "empty-cells.csv",
        "measured_at,provider,model,n,output_tps,ttft_s,task_s,home,effort\n\
         2026-11-29T11:00:00Z,a,b,1,,0.5,,,\n2026-11-29T11:00:00Z,a,b,1,,0.5,, ,unrecorded\n",
    );
    for row in &rows {
        assert_eq!((row.output_tps, row.task_s), (None, None));
        assert_eq!((&row.home, &row.effort, &row.pool), (&None, &None, &None));
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn every_bad_speed_row_is_rejected_with_its_line_and_the_others_are_used() {
    let good = "2026-11-29T11:00:00Z,a,b,8,50,,,,";
    let bad = [
        ("2026-11-29T11:00:00Z,a,b,8,fast,,,,", "output_tps \"fast\" is not a number"),
        ("2026-11-29T11:00:00Z,a,b,8,NaN,,,,", "output_tps \"NaN\" is not a finite number"),
        ("2026-11-29T11:00:00Z,a,b,8,1e999,,,,", "output_tps \"1e999\" is not a finite number"),
        ("2026-11-29T11:00:00Z,a,b,8,-inf,,,,", "output_tps \"-inf\" is not a finite number"),
        ("2026-11-29T11:00:00Z,a,b,8,-3,,,,", "output_tps \"-3\" is below 0"),
        ("2026-11-29T11:00:00Z,a,b,8,0,,,,", "output_tps is 0"),
        ("2026-11-29T11:00:00Z,a,b,8,,-1,,,", "ttft_s \"-1\" is below 0"),
        ("2026-11-29T11:00:00Z,a,b,8,,,0,,", "task_s is 0"),
        ("2026-11-29T11:00:00Z,a,b,0,50,,,,", "n \"0\" is below 1"),
        ("2026-11-29T11:00:00Z,a,b,2.5,50,,,,", "n \"2.5\" is not a whole number of at least 1"),
        ("2026-11-29T11:00:00Z,a,b,,50,,,,", "n is empty"),
        ("2026-11-29T11:00:00Z,a,b,8,,,,,", "has none of output_tps, ttft_s, task_s"),
        ("2026-11-29T11:00:00Z,a,b,8,50,,,60,40", "output_tps_lo 60 is above output_tps_hi 40"),
        ("2026-11-29T11:00:00Z,a,b,8,50,,,60,", "has one of output_tps_lo and output_tps_hi without the other"),
        ("2026-11-29T11:00:00Z,a,b,8,50,,,60,70", "output_tps 50 lies outside its interval 60 to 70"),
        ("2026-11-29T11:00:00Z,a,b,8,,1,,60,70", "has an interval without output_tps"),
        ("yesterday,a,b,8,50,,,,", "measured_at is not a time: \"yesterday\""),
        ("2026-11-29T11:00:00,a,b,8,50,,,,", "measured_at is not a time: \"2026-11-29T11:00:00\""),
        ("2026-11-29T12:00:01Z,a,b,8,50,,,,", "measured_at \"2026-11-29T12:00:01Z\" lies in the future"),
        ("2026-11-29T11:00:00Z,,b,8,50,,,,", "provider is empty"),
        ("2026-11-29T11:00:00Z,a,b,8,50,,,", "has 8 cells, the header has 9"),
        ("2026-11-29T11:00:00Z,a,\"b\"x,8,50,,,,", "has text behind a closing quote"),
    ];
    for (line, reason) in bad {
        let text = format!(
            "measured_at,provider,model,n,output_tps,ttft_s,task_s,output_tps_lo,output_tps_hi\n{good}\n{line}\n{good}\n"
        );
        let (rows, note) = read_speeds("bad-speed.csv", text);
        assert_eq!(rejects(&note), [format!("bad-speed.csv:3 {reason}")]);
        assert_eq!((rows.len(), note.rows, note.used, note.rejected), (2, 3, 2, 1), "{line}");
        assert_eq!(note.state, SourceState::Fresh);
    }
}

#[test]
fn a_missing_column_fails_the_file_and_is_named_with_its_line() {
    let (rows, note) = read_speeds("no-n.csv", SPEEDS.replace(",n,", ",requests,"));
    assert!(rows.is_empty());
    assert_eq!(failure(&note), "no-n.csv:1: no column \"n\"");
    let (_, note) = read_speeds("no-speed.csv", SPEEDS.replace("output_tps", "words_per_minute"));
    assert_eq!(failure(&note), "no-speed.csv:1: no column of \"output_tps\", \"ttft_s\", \"task_s\"");
    let (_, note) = read_cards("no-pool.csv", CARDS.replace(",pool,", ",group,"));
    assert_eq!(failure(&note), "no-pool.csv:1: no column \"pool\"");
    let (_, note) = read_speeds("twice.csv", SPEEDS.replace(",n,", ",model,"));
    assert_eq!(failure(&note), "twice.csv:1: column \"model\" stands twice");
}

#[test]
fn a_file_that_is_no_table_fails_and_never_hangs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (_, missing) = speeds::read(&folder.join("nowhere.csv"), "nowhere.csv", now());
    assert_eq!(failure(&missing), "nowhere.csv does not exist");
    let (_, directory) = speeds::read(folder, "folder", now());
    assert_eq!(failure(&directory), "folder is not a regular file");
    for (name, bytes, reason) in [
        ("void.csv", &b""[..], "void.csv is empty"),
        ("blank.csv", b"\n \r\n\n", "blank.csv is empty"),
        ("utf16.csv", b"\xff\xfem\0o\0d\0e\0l\0\n\0", "utf16.csv:1: the header is not UTF-8"),
        ("quote.csv", b"\"measured_at,provider\n", "quote.csv:1: the header opens a quote that is never closed"),
        ("void.jsonl", b"", "void.jsonl holds no usable row (0 rejected)"),
    ] {
        assert_eq!(failure(&read_speeds(name, bytes).1), reason);
    }
    let header = SPEEDS.lines().next().unwrap();
    assert_eq!(failure(&read_speeds("bare.csv", header).1), "bare.csv holds no usable row (0 rejected)");
    let (_, note) = read_speeds("all-bad.csv", SPEEDS.replace("61.5", "fast"));
    assert_eq!(failure(&note), "all-bad.csv holds no usable row (1 rejected)");
    assert_eq!(rejects(&note), ["all-bad.csv:2 output_tps \"fast\" is not a number"], "the reject is still quoted");
}

#[cfg(unix)]
#[test]
fn a_pipe_and_an_oversized_file_are_refused_without_being_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let pipe = folder.join("pipe.csv");
    if !pipe.exists() && !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success())
    {
        eprintln!("skipped: mkfifo is not installed");
        return;
    }
    assert_eq!(failure(&speeds::read(&pipe, "pipe.csv", now()).1), "pipe.csv is not a regular file");
    let huge = file("huge.csv", SPEEDS);
    std::fs::File::options().write(true).open(&huge).unwrap().set_len((512 << 20) + 1).unwrap();
    assert_eq!(failure(&speeds::read(&huge, "huge.csv", now()).1), "huge.csv is larger than 512 MiB");
    std::fs::remove_file(huge).unwrap();
}

#[test]
fn byte_order_marks_line_ends_blank_lines_and_quotes_keep_lines_right() {
    let text = "\u{feff}measured_at,provider,model,n,output_tps,\"no\r\nte\"\r\n\r\n\
        2026-11-29T11:00:00Z,\"an,th\"\"ropic\",m,1,5,\"two\r\nlines\"\r\n\
        2026-11-29T11:00:00Z,a,m,1,bad,\r\n2026-11-29T11:00:00Z,a,m,1,6,";
    let (rows, note) = read_speeds("quoted.csv", text);
    assert_eq!(rows[0].provider.as_str(), "an,th\"ropic");
    let places: Vec<_> = rows.iter().map(|row| row.place.to_string()).collect();
    assert_eq!(places, ["quoted.csv:4", "quoted.csv:7"], "header 1-2, blank 3, record 4-5, bad 6, last 7 without end");
    assert_eq!(rejects(&note), ["quoted.csv:6 output_tps \"bad\" is not a number"]);
    assert_eq!(note.remarks, ["unknown column \"no\\nte\" is filled in 1 row"]);
}

#[test]
fn a_quote_that_is_never_closed_costs_its_line_and_not_the_rest() {
    let row = "2026-11-29T11:00:00Z,a,m,1,5,fine\n";
    let text = format!(
        "measured_at,provider,model,n,output_tps,note\n{row}2026-11-29T11:00:00Z,a,m,1,5,\"torn\n{row}{row}\
         2026-11-29T11:00:00Z,a,m,1,5,\"closed\" late\n{row}"
    );
    let (rows, note) = read_speeds("torn.csv", text);
    assert_eq!(rows.len(), 4, "lines 2, 4, 5 and 7");
    assert_eq!(
        rejects(&note),
        ["torn.csv:3 has text behind a closing quote", "torn.csv:6 has text behind a closing quote"]
    );
    let (rows, note) =
        read_speeds("open.csv", format!("{SPEEDS}2026-11-29T11:00:00Z,\"a,m,1,5\n2026-11-29T11:00:00Z,a,m,1,5\n"));
    assert_eq!((rows.len(), note.rejected), (2, 1), "{:?}", rejects(&note));
    assert_eq!(rejects(&note), ["open.csv:3 opens a quote that is never closed"]);
}

#[test]
fn a_row_that_is_not_utf8_or_too_long_is_rejected_alone() {
    let mut bytes = SPEEDS.as_bytes().to_vec();
    bytes.extend_from_slice(b"2026-11-29T11:00:00Z,caf\xe9,m,1,5\n");
    bytes.extend_from_slice(b"2026-11-29T11:00:00Z,");
    bytes.extend(std::iter::repeat_n(b'x', 3 << 20));
    bytes.extend_from_slice(b",m,1,5\n2026-11-29T11:00:00Z,a,m,1,7\n");
    let (rows, note) = read_speeds("odd.csv", &bytes);
    assert_eq!(note.digest, Some(Digest::of(&bytes)), "what is skipped is hashed too");
    assert_eq!(rejects(&note), ["odd.csv:3 \"provider\" is not UTF-8", "odd.csv:4 is longer than 1 MiB"]);
    assert_eq!(rows.iter().map(|row| row.place.line).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn the_digest_is_over_every_byte() {
    let digest = |name: &str, text: &str| read_speeds(name, text).1.digest.map(|digest| digest.as_str().to_owned());
    let whole = Digest::of(SPEEDS.as_bytes());
    assert_eq!(digest("digest.csv", SPEEDS).as_deref(), Some(whole.as_str()));
    assert_ne!(digest("digest.csv", &format!("{SPEEDS}\n")).as_deref(), Some(whole.as_str()), "a blank line is a byte");
}

#[test]
fn jsonl_has_the_same_fields_and_rules() {
    let text = "{\"measured_at\":\"2026-11-29T11:00:00Z\",\"provider\":\"a\",\"model\":\"m\",\"n\":8,\"output_tps\":50,\"ttft_s\":null}\n\
        \n{\"measured_at\":\"2026-11-29T11:00:00Z\",\"provider\":\"a\",\"model\":\"m\",\"n\":\"8.0\",\"output_tps\":\"50.5\",\"tags\":[1]}\r\n\
        {\"measured_at\":\"2026-11-29T11:00:00Z\",\"provider\":\"a\",\"n\":8,\"output_tps\":50}\n\
        {\"measured_at\":\"2026-11-29T11:00:00Z\",\"provider\":[\"a\"],\"model\":\"m\",\"n\":8,\"output_tps\":50}\n\
        {\"measured_at\": NaN}\n[1]\n{\"measured_at\"";
    let (rows, note) = read_speeds("speeds.jsonl", text);
    assert_eq!(
        rows.iter().map(|row| (row.place.line, row.n, row.output_tps)).collect::<Vec<_>>(),
        [(1, 8, Some(50.0)), (3, 8, Some(50.5))]
    );
    assert_eq!(
        rejects(&note),
        [
            "speeds.jsonl:4 model is empty",
            "speeds.jsonl:5 provider is not a single value",
            "speeds.jsonl:6 is not a JSON object",
            "speeds.jsonl:7 is not a JSON object",
            "speeds.jsonl:8 is not a JSON object",
        ]
    );
    assert_eq!(note.remarks, ["unknown column \"tags\" is filled in 1 row"]);
}

/// The outcome of a scorecard row with these three cells, and its remarks.
fn outcome(outcome: &str, basis: &str, kind: &str) -> (Outcome, Vec<String>) {
    let text = format!(
        "task_id,finished_at,pool,provider,model,outcome,basis,failure_kind\n\
         t1,2026-11-27T10:00:00Z,p,a,m,{outcome},{basis},{kind}\n"
    );
    let (rows, note) = read_cards(&format!("outcome-{outcome}-{basis}-{kind}.csv"), text);
    (rows[0].outcome, note.remarks)
}

#[test]
fn outcomes_follow_the_settled_rules() {
    for kind in ["rate_limited", "overloaded", "network", "auth", "credits", "window"] {
        let (found, remarks) = outcome("failure", "check", kind);
        assert_eq!(found, Outcome::Infra, "{kind} says nothing about quality");
        assert_eq!(remarks, ["1 row of outcome failure with an infrastructure kind: infra"]);
    }
    for (stated, basis, kind, expected, remark) in [
        ("success", "check", "", Outcome::Success, ""),
        ("success", "merge", "rate_limited", Outcome::Success, ""),
        ("success", "", "", Outcome::Success, "1 row scored without a basis"),
        ("failure", "human", "", Outcome::Failure, ""),
        ("failure", "check", "timeout", Outcome::Failure, ""),
        ("failure", "check", "other", Outcome::Failure, ""),
        ("failure", "check", "context", Outcome::Unknown, "1 row ended by a full context: attempts only"),
        ("success", "judge", "", Outcome::Unknown, "1 row scored by a judge: attempts only"),
        ("failure", "judge", "", Outcome::Unknown, "1 row scored by a judge: attempts only"),
        ("infra", "", "", Outcome::Infra, ""),
        ("infra", "judge", "network", Outcome::Infra, ""),
        ("unknown", "check", "", Outcome::Unknown, ""),
    ] {
        let (found, remarks) = outcome(stated, basis, kind);
        assert_eq!(found, expected, "{stated} {basis} {kind}");
        assert_eq!(remarks.join("; "), remark, "{stated} {basis} {kind}");
    }
}

#[test]
fn a_cost_of_zero_is_believed_only_where_nothing_was_used() {
    for (cells, expected) in [
        ("0.42,100,", Some(0.42)),
        ("0.42,,", Some(0.42)),
        ("0,100,20", None),
        ("0,0,20", None),
        ("0,,", None),
        ("0,0,0", Some(0.0)),
        (",100,20", None),
    ] {
        let text = format!(
            "task_id,finished_at,pool,provider,model,outcome,cost_usd,input_tokens,output_tokens\n\
             t1,2026-11-27T10:00:00Z,p,a,m,success,{cells}\n"
        );
        assert_eq!(read_cards("cost.csv", text).0[0].cost_usd, expected, "cost, input, output: {cells}");
    }
}

#[test]
fn every_bad_scorecard_row_is_rejected_with_its_line() {
    let header =
        "task_id,attempt,finished_at,pool,provider,model,outcome,basis,failure_kind,score,duration_s,output_tokens";
    for (line, reason) in [
        (",1,2026-11-27T10:00:00Z,p,a,m,success,,,,,", "task_id is empty"),
        ("t2,0,2026-11-27T10:00:00Z,p,a,m,success,,,,,", "attempt \"0\" is below 1"),
        ("t2,1,2026-11-30T10:00:00Z,p,a,m,success,,,,,", "finished_at \"2026-11-30T10:00:00Z\" lies in the future"),
        ("t2,1,2026-11-27T10:00:00Z,p,a,m,,,,,,", "outcome is empty"),
        ("t2,1,2026-11-27T10:00:00Z,p,a,m,great,,,,,", "outcome \"great\" is none of success, failure, infra, unknown"),
        (
            "t2,1,2026-11-27T10:00:00Z,p,a,m,success,vibes,,,,",
            "basis \"vibes\" is none of check, merge, human, judge, unknown",
        ),
        ("t2,1,2026-11-27T10:00:00Z,p,a,m,success,judge,,101,,", "score is above 100"),
        ("t2,1,2026-11-27T10:00:00Z,p,a,m,success,,,,-5,", "duration_s \"-5\" is below 0"),
        (
            "t2,1,2026-11-27T10:00:00Z,p,a,m,success,,,,,1.5",
            "output_tokens \"1.5\" is not a whole number of at least 0",
        ),
    ] {
        let (rows, note) =
            read_cards("bad-card.csv", format!("{header}\n{line}\nt1,1,2026-11-27T10:00:00Z,p,a,m,success,,,,,\n"));
        assert_eq!(rejects(&note), [format!("bad-card.csv:2 {reason}")]);
        assert_eq!(rows.len(), 1, "the good row is used");
    }
}

#[test]
fn a_repeated_attempt_is_used_once_and_a_contradicted_one_not_at_all() {
    let row = |task: &str, outcome: &str| format!("{task},2026-11-27T10:00:00Z,p,a,m,{outcome}\n");
    let header = CARDS.split_inclusive('\n').next().unwrap().to_owned();
    let (rows, note) = read_cards(
        "repeat.csv",
        header.clone() + &row("t1", "success") + &row("t2", "success") + &row("t1", "success"),
    );
    assert_eq!(rows.len(), 2);
    assert_eq!(rejects(&note), ["repeat.csv:4 repeats task_id \"t1\" attempt 1 of repeat.csv:2"]);
    let (rows, note) =
        read_cards("contradict.csv", header + &row("t1", "success") + &row("t2", "success") + &row("t1", "failure"));
    assert_eq!(rows.iter().map(|row| row.task_id.as_str()).collect::<Vec<_>>(), ["t2"]);
    assert_eq!(
        rejects(&note),
        [
            "contradict.csv:2 contradicts task_id \"t1\" attempt 1 of contradict.csv:4; neither is used",
            "contradict.csv:4 contradicts task_id \"t1\" attempt 1 of contradict.csv:2; neither is used",
        ]
    );
}

#[test]
fn an_attempt_exactly_as_old_as_the_waiting_time_is_mature() {
    let (rows, _) = read_cards("edge.csv", CARDS);
    let edge = rows[0].finished_at;
    let immature = |until| rollup::daily(&rows, until)[0].sums.immature;
    assert_eq!((immature(edge), immature(edge - Duration::seconds(1))), (0, 1), "only younger rows wait");
}

#[test]
fn the_order_of_scorecard_rows_changes_no_rollup_even_where_they_contradict() {
    let lines = ["t1,success", "t2,failure", "t1,failure", "t3,success", "t3,success", "t4,great"].map(|line| {
        let (task, outcome) = line.split_once(',').unwrap();
        format!("{task},2026-11-27T10:00:00Z,p,a,m,{outcome}\n")
    });
    let header = CARDS.split_inclusive('\n').next().unwrap();
    let read = |name: &str, lines: &[String]| {
        let (rows, note) = read_cards(name, header.to_owned() + &lines.concat());
        (rollup::daily(&rows, now()), note.rows, note.used, note.rejected)
    };
    let mut reversed = lines.to_vec();
    reversed.reverse();
    let (forward, backward) = (read("forward.csv", &lines), read("backward.csv", &reversed));
    assert_eq!(forward, backward);
    assert_eq!((forward.1, forward.2, forward.3), (6, 2, 4), "t2 and one t3 are left");
}

/// The columns a data page lists in its table of columns.
fn listed_columns(page: &str) -> Vec<String> {
    let path = format!("{}/instructions/data/{page}.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let table = text.split("| column |").nth(1).unwrap().split("```").next().unwrap();
    let first_cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names =
        first_cells.flat_map(|cell| cell.split(", ")).filter_map(|name| name.strip_prefix('`')?.strip_suffix('`'));
    names.map(str::to_owned).collect()
}

#[test]
fn every_column_that_a_data_page_lists_is_known() {
    for page in ["speeds", "scorecards"] {
        let columns = listed_columns(page);
        assert!(columns.len() > 10, "{page}: {columns:?}");
        let cell = |column: &String| match column.as_str() {
            "measured_at" | "finished_at" => "2026-11-27T10:00:00Z",
            "outcome" => "success",
            "basis" => "check",
            "failure_kind" => "other",
            _ => "1",
        };
        let row: serde_json::Map<String, Value> = columns.iter().map(|c| (c.clone(), cell(c).into())).collect();
        let (name, text) = (format!("listed-{page}.jsonl"), Value::from(row).to_string());
        let note = if page == "speeds" { read_speeds(&name, text).1 } else { read_cards(&name, text).1 };
        assert_eq!((note.used, note.remarks), (1, Vec::new()), "{page}: {:?}", note.rejects);
    }
}

#[test]
fn outside_names_in_messages_are_cut_and_made_visible() {
    let (_, note) = read_cards("evil.csv", CARDS.replace("success", &format!("\u{1b}[31m{}", "x".repeat(500))));
    let reason = &rejects(&note)[0];
    assert!(reason.contains("\\u{1b}[31mxxx") && reason.chars().count() < 200, "{reason}");
}

/// A scorecard of a task that ended some hours before the review.
fn card(task: &str, hours_ago: i64, outcome: Outcome, duration_s: Option<f64>, cost_usd: Option<f64>) -> ScorecardRow {
    ScorecardRow {
        task_id: task.to_owned(),
        attempt: 1,
        finished_at: now() - Duration::hours(hours_ago),
        pool: Some(PoolId::new("p")),
        provider: ProviderId::new("home"),
        model: "m".to_owned(),
        effort: None,
        home: None,
        task_class: "c".to_owned(),
        outcome,
        duration_s,
        is_cut_off: false,
        tokens: [Some(1), None, None, Some(2)],
        session_id: None,
        cost_usd,
        epoch: String::new(),
        judged: None,
        place: Place::new("cards.csv", 2),
    }
}

/// Any scorecard; those of the review's own day are immature.
fn any_card() -> impl Strategy<Value = ScorecardRow> {
    let outcome = prop::sample::select(vec![Outcome::Success, Outcome::Failure, Outcome::Infra, Outcome::Unknown]);
    let key = (0..2_u8, 0..3_u8, 0..2_u8, 0..6_u8, 0..4_i64);
    let amounts = (prop::option::of(0.0..5000.0), prop::option::of(0.0..3.0));
    (key, outcome, amounts).prop_map(|((pool, model, class, task, day), outcome, amounts)| ScorecardRow {
        pool: Some(PoolId::new(format!("pool-{pool}"))),
        model: format!("m{model}"),
        task_class: format!("class-{class}"),
        ..card(&format!("t{task}"), 6 + 24 * day, outcome, amounts.0, amounts.1)
    })
}

/// The rollup of some scorecards at the review.
fn daily(rows: &[ScorecardRow]) -> Vec<RollupRow> {
    rollup::daily(rows, now() - Duration::hours(24))
}

/// What a rollup counts, without the distinct counts that do not add.
fn additive(row: &RollupRow) -> [u64; 8] {
    let sums = &row.sums;
    [
        sums.attempts,
        sums.successes,
        sums.failures,
        sums.infra,
        sums.unknown,
        sums.immature,
        sums.n_duration,
        sums.n_cost,
    ]
}

proptest! {
    #[test]
    fn a_rollup_does_not_depend_on_the_order_of_rows(
        (rows, shuffled) in prop::collection::vec(any_card(), 0..60).prop_flat_map(|rows| {
            let shuffled = proptest::strategy::Just(rows.clone()).prop_shuffle();
            (proptest::strategy::Just(rows), shuffled)
        })
    ) {
        assert_eq!(daily(&rows), daily(&shuffled), "bit for bit");
    }

    #[test]
    fn rollups_of_two_halves_add_up_to_the_rollup_of_the_whole(rows in prop::collection::vec(any_card(), 0..60), at in 0..60_usize) {
        let (left, right) = rows.split_at(at.min(rows.len()));
        let halves = [daily(left), daily(right)].concat();
        let whole = daily(&rows);
        assert!(whole.is_sorted_by_key(|row| row.key.clone()));
        for row in &whole {
            let parts: Vec<_> = halves.iter().filter(|other| other.key == row.key).collect();
            let counts = parts.iter().map(|part| additive(part)).fold([0; 8], |mut sum, part| {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                sum
            });
            assert_eq!(counts, additive(row));
            let near = |of: fn(&RollupRow) -> f64| (parts.iter().map(|part| of(part)).sum::<f64>() - of(row)).abs() < 1e-6;
            assert!(near(|row| row.sums.sum_ln_duration));
            let (mut cost, mut squares) = (Usd::default(), UsdSquared::default());
            for part in &parts {
                cost.add(part.sums.cost);
                squares.add(part.usage.cost_squares);
            }
            assert_eq!((cost, squares), (row.sums.cost, row.usage.cost_squares), "dollars add exactly");
            assert_eq!(parts.iter().map(|part| part.first_at).min(), Some(row.first_at));
            assert_eq!(parts.iter().map(|part| part.last_at).max(), Some(row.last_at));
        }
        assert_eq!(whole.iter().map(|row| row.sums.attempts).sum::<u64>(), rows.len() as u64, "no row is lost");
        // Floats that were written and read again add in any order to the same bytes.
        let written = |rows: &[RollupRow]| write_csv(&merge(rows.to_vec()), now());
        let (read, broken) = read_csv(written(&daily(left)).as_bytes()).unwrap();
        let mut parts = [read, daily(right), daily(left)].concat();
        let forwards = written(&parts);
        parts.reverse();
        assert_eq!((written(&parts), broken), (forwards, Vec::new()));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_nothing_is_lost_in_silence(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let header = SPEEDS.split_inclusive('\n').next().unwrap();
        let (rows, note) = read_speeds("fuzz.csv", [header.as_bytes(), &bytes].concat());
        assert_eq!(note.rows, rows.len() as u64 + note.rejected);
        let (rows, note) = read_cards("fuzz.jsonl", &bytes);
        assert_eq!(note.rows, rows.len() as u64 + note.rejected);
    }

    #[test]
    fn any_cell_text_survives_quoting(text in "[^\\s\\u{0}][ -~\\n\\r\"]{0,20}[^\\s\\u{0}]") {
        let quoted = text.replace('"', "\"\"");
        let (rows, _) = read_speeds("cell.csv", SPEEDS.replace("claude-sonnet-5", &format!("\"{quoted}\"")));
        // A line end inside a cell reads as one line feed, however it was written.
        assert_eq!(rows[0].model, text.trim_ascii().replace("\r\n", "\n"));
    }
}

#[test]
fn a_rollup_is_worked_by_hand() {
    let rows = [
        card("t1", 30, Outcome::Success, Some(100.0), Some(0.5)),
        card("t1", 29, Outcome::Failure, Some(50.0), None),
        card("t2", 28, Outcome::Failure, Some(0.0), Some(0.0)),
        card("t3", 27, Outcome::Infra, Some(9.0), Some(0.25)),
        card("t4", 26, Outcome::Unknown, Some(9.0), None),
        card("t5", 23, Outcome::Success, Some(9.0), Some(9.0)),
    ];
    let table = daily(&rows);
    let sums = &table[0].sums;
    assert_eq!((table.len(), additive(&table[0])), (1, [6, 1, 2, 1, 1, 1, 2, 3]));
    assert_eq!((sums.tasks, sums.scored_tasks, sums.scored_days), (5, 2, 1), "t1 to t5; t1, t2; one day");
    assert_eq!((table[0].first_at, table[0].last_at), (rows[0].finished_at, rows[5].finished_at));
    // ln 100 + ln 50 = 4.605170 + 3.912023 = 8.517193; squares 21.207592 + 15.303924 = 36.511516. A duration of 0 has no logarithm.
    assert!((sums.sum_ln_duration - 8.517_193).abs() < 1e-6 && (sums.sum_ln_duration_sq - 36.511_516).abs() < 1e-5);
    assert!((sums.cost.to_f64() - 0.75).abs() < 1e-12, "0.5 + 0 + 0.25; the immature 9 waits");
    assert_eq!((table[0].usage.input_tokens, table[0].usage.output_tokens), (6, 12), "of every attempt");
    assert!(daily(&[]).is_empty());
}
