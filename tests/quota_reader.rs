//! The reader of `quota-snapshot/1`: what a window's fields mean, what history voids, what is rejected and with which
//! line, and that no order of files, rows or keys changes what is read.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::sources::quotas;
use pool_review::vocabulary::{
    KeptReadings, QuotaHome, QuotaWindow, SourceNote, SourceState, WindowAge, WindowRemark, WindowStatus,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The review instant of these tests.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// Writes files into a fresh folder of this test.
#[expect(clippy::disallowed_methods, reason = "tests write their own inputs")]
fn folder(test: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("quota_reader-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// Reads some documents as one folder.
fn read(test: &str, documents: &[Value]) -> (Vec<QuotaHome>, SourceNote) {
    let files: Vec<(String, Vec<u8>)> = documents
        .iter()
        .enumerate()
        .map(|(index, document)| (format!("{index:02}.json"), serde_json::to_vec_pretty(document).unwrap()))
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    quotas::read(&folder(test, &files), "data/quotas", now())
}

/// A document with one home `h`.
fn document(generated_at: &str, windows: Vec<Value>) -> Value {
    json!({
        "schema": "quota-snapshot/1", "generated_at": generated_at,
        "homes": [{ "home_id": "h", "billing": "flat", "windows": Value::Array(windows) }],
    })
}

/// A sound weekly window read two minutes ago, with some fields replaced; `null` takes one out.
fn weekly(replaced: Value) -> Value {
    let mut window = json!({
        "window_id": "weekly", "kind": "fixed", "scope": ["*"], "unit": "percent", "used_percent": 40, "usage_known": true,
        "status": "ok", "window_seconds": 604_800, "resets_at": "2026-12-02T12:00:00Z",
        "observed_at": "2026-11-29T11:58:00Z", "resolution_pt": 1.0,
    });
    let Value::Object(replaced) = replaced else { panic!("an object") };
    window.as_object_mut().unwrap().extend(replaced);
    window
}

/// The one window that comes out of one document.
fn one(test: &str, replaced: Value) -> QuotaWindow {
    let (homes, _) = read(test, &[document("2026-11-29T12:00:00Z", vec![weekly(replaced)])]);
    homes[0].windows[0].clone()
}

/// Line of the n-th window in a pretty document of one home, by its `window_id` key: the brace stands one line above.
fn line_of_window(document: &Value, id: &str) -> usize {
    let text = serde_json::to_string_pretty(document).unwrap();
    let at = text.find(&format!("\"window_id\": \"{id}\"")).unwrap();
    let start = text[..at].rfind('{').unwrap();
    text[..start].matches('\n').count() + 1
}

#[test]
fn one_use_reads_alike_from_used_percent_and_remaining() {
    // 3 of 12 is a quarter, however it is stated; over the limit and below zero stay as they are.
    let cases = [
        ("u1", json!({ "used_percent": null, "used": 3, "limit": 12 }), 0.25),
        ("u2", json!({ "used_percent": 25 }), 0.25),
        ("u3", json!({ "used_percent": null, "remaining": 9, "limit": 12 }), 0.25),
        ("u4", json!({ "used_percent": null, "used": 3000, "limit": 12_000, "remaining": 9000 }), 0.25),
        ("u5", json!({ "used_percent": 353 }), 3.53),
        ("u6", json!({ "used_percent": null, "remaining": -759, "limit": 300 }), 3.53),
        ("u7", json!({ "used_percent": 0 }), 0.0),
    ];
    for (test, fields, wanted) in cases {
        let window = one(test, fields);
        assert!((window.used.unwrap() - wanted).abs() < 1e-12, "{test}: {:?}", window.used);
        assert!(window.remarks.is_empty() && window.invalid.is_none(), "{test}");
    }
}

#[test]
fn fields_that_disagree_give_the_higher_use_and_say_so() {
    let window = one("disagree", json!({ "used_percent": 20, "used": 3.06, "limit": 12 }));
    assert!((window.used.unwrap() - 0.255).abs() < 1e-12, "25.5 % is more than 20 %");
    assert_eq!(window.remarks, [WindowRemark::UsedDisagrees]);
    let rounded = one("rounded", json!({ "used_percent": 25, "used": 3.06, "limit": 12 }));
    assert!((rounded.used.unwrap() - 0.255).abs() < 1e-12);
    assert!(rounded.remarks.is_empty(), "half a point is inside the reporting step");
}

#[test]
fn more_left_than_the_limit_is_untouched_and_says_so() {
    let window = one("boost", json!({ "used_percent": null, "remaining": 145, "limit": 100 }));
    assert_eq!((window.used, window.remarks), (Some(0.0), vec![WindowRemark::Boosted]));
}

#[test]
fn what_is_not_stated_is_unknown_and_never_zero() {
    assert_eq!(one("none", json!({ "used_percent": null })).used, None);
    assert_eq!(
        one("used-only", json!({ "used_percent": null, "used": 3 })).used,
        None,
        "without a limit 3 says nothing"
    );
    assert_eq!(one("not-known", json!({ "usage_known": false })).used, None);
    let empty = one("limit-0", json!({ "used_percent": 0, "limit": 0 }));
    assert_eq!((empty.used, empty.invalid.as_deref()), (None, Some("limit is not above 0")));
    assert_eq!(one("no-observed", json!({ "observed_at": null })).observed_at, None);
}

#[test]
fn resets_are_rounded_to_the_minute_and_words_nobody_knows_mean_unknown() {
    let window = one("jitter", json!({ "resets_at": "2026-12-02T11:59:59.731Z", "kind": "lunar", "status": "sleepy" }));
    assert_eq!(window.resets_at, Some("2026-12-02T12:00:00Z".parse().unwrap()));
    assert_eq!((window.kind.as_str(), window.status), ("unknown", WindowStatus::Unknown));
    let zoned = one("zoned", json!({ "resets_at": "2026-12-02T14:00:00+02:00" }));
    assert_eq!(zoned.resets_at, Some("2026-12-02T12:00:00Z".parse().unwrap()), "an offset is an offset");
}

#[test]
fn overage_counts_only_while_it_is_in_use() {
    let idle = one("idle", json!({ "overage": { "allowed": true, "in_use": false, "spent": 20.0 } }));
    assert!(idle.remarks.is_empty());
    let paying = one("paying", json!({ "overage": { "allowed": true, "in_use": true, "spent": 42.36 } }));
    assert_eq!((paying.remarks, paying.used), (vec![WindowRemark::OverageInUse], Some(0.4)));
}

#[test]
fn per_minute_buckets_are_counted_and_left_out() {
    let bucket = json!({ "window_id": "rpm", "kind": "bucket", "used_percent": 99 });
    let (homes, note) = read("bucket", &[document("2026-11-29T12:00:00Z", vec![bucket, weekly(json!({}))])]);
    assert_eq!(homes[0].windows.len(), 1);
    assert_eq!((note.rows, note.used, note.rejected), (2, 1, 0));
    assert_eq!(note.remarks, ["1 per-minute limits left out: throughput, not allowance"]);
}

#[test]
fn a_broken_window_costs_that_window_alone_and_is_quoted_with_its_line() {
    let broken = weekly(json!({ "window_id": "scoped", "used_percent": "forty", "scope": ["claude-opus-*"] }));
    let document = document("2026-11-29T12:00:00Z", vec![weekly(json!({})), broken]);
    let (homes, note) = read("broken", std::slice::from_ref(&document));
    let place = format!("data/quotas/00.json:{}", line_of_window(&document, "scoped"));
    assert_eq!((note.rows, note.used, note.rejected), (2, 1, 1));
    assert_eq!(note.rejects[0].place.to_string(), place);
    assert_eq!(note.rejects[0].reason, "scoped: used_percent is not a finite number");
    let windows = &homes[0].windows;
    assert_eq!(windows[1].used, Some(0.4), "the other one is used");
    assert!(windows[0].invalid.is_some(), "the broken one stays, so that nobody takes its models for unlimited");
    assert_eq!(windows[0].scope, ["claude-opus-*"]);
    assert_eq!(note.state, SourceState::Fresh);
}

#[test]
fn every_field_that_cannot_be_what_it_says_is_named() {
    let cases = [
        (json!({ "window_id": "" }), "window_id is missing"),
        (json!({ "used": -3, "limit": 12 }), "used is negative"),
        (json!({ "used_percent": -1 }), "used_percent is negative"),
        (json!({ "limit": [] }), "limit is not a finite number"),
        (json!({ "usage_known": "yes" }), "usage_known is not true or false"),
        (json!({ "window_seconds": 5.5 }), "window_seconds is not a whole number"),
        (json!({ "window_seconds": 0 }), "window_seconds is not plausible"),
        (json!({ "window_seconds": i64::MAX }), "window_seconds is not plausible"),
        (json!({ "resets_at": "tomorrow" }), "resets_at is not an RFC 3339 instant"),
        (json!({ "observed_at": 1_764_417_600 }), "observed_at is not a text"),
        (json!({ "scope": "*" }), "scope is not a list"),
        (json!({ "scope": [7] }), "scope holds something that is not a text"),
        (json!({ "overage": 3 }), "overage is not an object"),
        (
            json!({ "used_percent": null, "used": 1e300, "limit": 1e-300 }),
            "used, limit and remaining do not make a fraction",
        ),
    ];
    for (index, (fields, reason)) in cases.into_iter().enumerate() {
        assert_eq!(one(&format!("field-{index}"), fields).invalid.as_deref(), Some(reason));
    }
}

#[test]
fn broken_files_are_rejected_with_their_line_and_the_others_are_read() {
    let good = serde_json::to_vec(&document("2026-11-29T12:00:00Z", vec![weekly(json!({}))])).unwrap();
    let deep = "[".repeat(100_000);
    let path = folder(
        "files",
        &[
            ("a.json", b"{\"schema\": \"quota-snapshot/1\",\n\"generated_at\": }"),
            ("b.json", b"{\"schema\": \"quota-snapshot/2\"}"),
            ("c.json", b"{\"schema\": \"quota-snapshot/1\", \"homes\": []}"),
            ("d.json", b"{\n\"schema\": \"\xff\"}"),
            (
                "e.json",
                b"{\"schema\": \"quota-snapshot/1\", \"generated_at\": \"2026-11-29T12:00:00Z\",\n\"homes\": 1e999}",
            ),
            ("f.json", deep.as_bytes()),
            ("g.json", b""),
            ("h.json", &good),
            ("h.json.meta.json", b"{}"),
            ("notes.txt", b"not a snapshot"),
        ],
    );
    let (homes, note) = quotas::read(&path, "q/", now());
    assert_eq!((homes.len(), note.state, note.rejected), (1, SourceState::Fresh, 7));
    let places: Vec<String> = note.rejects.iter().map(|reject| reject.place.to_string()).collect();
    assert_eq!(places, ["q/a.json:2", "q/b.json:1", "q/c.json:1", "q/d.json:2", "q/e.json:2"]);
    assert_eq!(note.rejects[1].reason, "schema is not \"quota-snapshot/1\"");
    assert_eq!(note.rejects[2].reason, "generated_at is missing");
}

#[test]
fn a_missing_empty_or_unreadable_place_fails_and_says_why() {
    let failed = |path: &std::path::Path| match quotas::read(path, "q", now()).1.state {
        SourceState::Failed(reason) => reason,
        state => panic!("{state:?}"),
    };
    assert_eq!(failed(&folder("empty", &[("readme.md", b"x")])), "q: no snapshot in the folder");
    assert!(failed(&folder("gone", &[]).join("nowhere")).starts_with("q: "));
    assert_eq!(failed(&folder("all-broken", &[("a.json", b"{")])), "no readable snapshot");
    assert_eq!(failed(std::path::Path::new("/dev/null")), "q: neither a file nor a folder");
}

#[test]
fn a_file_over_16_mib_is_refused_and_a_device_is_never_opened() {
    let large = vec![b' '; (16 << 20) + 1];
    let good = serde_json::to_vec(&document("2026-11-29T12:00:00Z", vec![weekly(json!({}))])).unwrap();
    let path = folder("large", &[("a.json", &large), ("b.json", &good)]);
    std::os::unix::fs::symlink("/dev/zero", path.join("c.json")).unwrap();
    let (homes, note) = quotas::read(&path, "q", now());
    assert_eq!((homes.len(), note.rejected), (1, 1));
    assert_eq!(note.rejects[0].reason, "larger than 16 MiB");
}

#[test]
fn a_snapshot_of_last_month_is_stale_as_a_whole() {
    let old = weekly(json!({ "observed_at": "2026-10-29T11:58:00Z", "resets_at": "2026-11-02T12:00:00Z" }));
    let (homes, note) = read("last-month", &[document("2026-10-29T12:00:00Z", vec![old])]);
    assert_eq!(note.state, SourceState::Stale);
    assert_eq!(homes[0].windows[0].age(now()), WindowAge::Stale);
    assert_eq!(note.as_of, Some("2026-10-29T11:58:00Z".parse().unwrap()));
    let (_, empty) = read("last-month-empty", &[document("2026-10-29T12:00:00Z", Vec::new())]);
    assert_eq!(empty.state, SourceState::Stale, "and so is one without windows");
}

#[test]
fn one_usable_window_keeps_the_note_fresh() {
    let session =
        weekly(json!({ "window_id": "session", "window_seconds": 18_000, "observed_at": "2026-11-27T12:00:00Z" }));
    let (_, note) = read("one-fresh", &[document("2026-11-29T12:00:00Z", vec![weekly(json!({})), session])]);
    assert_eq!(note.state, SourceState::Fresh);
}

#[test]
fn documents_from_after_the_review_are_ignored() {
    let later = document("2026-11-29T18:00:00Z", vec![weekly(json!({ "used_percent": 90 }))]);
    let (homes, note) = read("ahead", &[document("2026-11-29T12:00:00Z", vec![weekly(json!({}))]), later.clone()]);
    assert_eq!(homes[0].windows[0].used, Some(0.4));
    assert_eq!(note.remarks, ["1 from after the review instant, ignored"]);
    let (homes, note) = read("all-ahead", &[later]);
    assert!(homes.is_empty());
    assert_eq!(note.state, SourceState::Failed("every snapshot is from after the review instant".to_owned()));
}

#[test]
fn a_window_that_the_newest_document_does_not_name_is_gone() {
    let session = weekly(json!({ "window_id": "session", "window_seconds": 18_000 }));
    let older =
        document("2026-11-29T06:00:00Z", vec![session, weekly(json!({ "observed_at": "2026-11-29T05:58:00Z" }))]);
    let (homes, _) = read("gone-window", &[older.clone(), document("2026-11-29T12:00:00Z", vec![weekly(json!({}))])]);
    assert_eq!(homes[0].windows.iter().map(|window| window.window_id.as_str()).collect::<Vec<_>>(), ["weekly"]);
    let (homes, _) = read("gone-all", &[older, document("2026-11-29T12:00:00Z", Vec::new())]);
    assert!(homes[0].windows.is_empty(), "a home that lost its windows keeps none of the old ones");
}

#[test]
fn two_documents_of_one_instant_are_one_run() {
    let session = weekly(json!({ "window_id": "session" }));
    let at = "2026-11-29T12:00:00Z";
    let (homes, _) = read("one-run", &[document(at, vec![session]), document(at, vec![weekly(json!({}))])]);
    assert_eq!(homes[0].windows.len(), 2);
}

#[test]
fn of_a_window_named_twice_the_later_reading_counts() {
    let earlier = weekly(json!({ "used_percent": 70, "observed_at": "2026-11-29T11:00:00Z" }));
    for (test, windows) in
        [("twice-1", vec![earlier.clone(), weekly(json!({}))]), ("twice-2", vec![weekly(json!({})), earlier])]
    {
        let (homes, note) = read(test, &[document("2026-11-29T12:00:00Z", windows)]);
        assert_eq!((homes[0].windows[0].used, homes[0].windows.len(), note.rejected), (Some(0.4), 1, 1));
    }
}

/// What the newest of some readings of one window is worth: (hours ago, used percent, reset).
fn history(test: &str, readings: &[(i64, u32, &str)]) -> QuotaWindow {
    let documents: Vec<Value> = readings
        .iter()
        .map(|(hours_ago, used, reset)| {
            let at = (now() - TimeDelta::hours(*hours_ago)).to_rfc3339();
            document(&at, vec![weekly(json!({ "used_percent": used, "resets_at": reset, "observed_at": at }))])
        })
        .collect();
    read(test, &documents).0[0].windows[0].clone()
}

#[test]
fn the_burn_is_the_slope_of_a_cycle_once_three_readings_stand_apart() {
    let reset = "2026-12-02T12:00:00Z";
    let burn = |test: &str, readings: &[(i64, u32, &str)]| history(test, readings).recent_burn;
    assert_eq!(burn("slope-2", &[(12, 40, reset), (0, 46, reset)]), None, "one slope says no more than the average");
    // Slopes of 12/12 and 6/12 points an hour, the newest counting 0.4: 0.4·0.5 + 0.6·1.0 = 0.8.
    let slope = burn("slope-3", &[(24, 28, reset), (12, 40, reset), (0, 46, reset)]).unwrap();
    assert!((slope - 0.008).abs() < 1e-12, "{slope}");
    assert_eq!(burn("slope-drop", &[(24, 40, reset), (12, 2, reset), (0, 3, reset)]), None, "a drop begins anew");
    let other = "2026-11-29T01:00:00Z";
    assert_eq!(burn("slope-reset", &[(24, 28, other), (12, 40, reset), (0, 46, reset)]), None, "of another cycle");
    let close = (now() - TimeDelta::minutes(5)).to_rfc3339();
    let documents = [(24, 28), (12, 40)].map(|(hours, used)| {
        let at = (now() - TimeDelta::hours(hours)).to_rfc3339();
        document(&at, vec![weekly(json!({ "used_percent": used, "resets_at": reset, "observed_at": at }))])
    });
    let near = document(&close, vec![weekly(json!({ "used_percent": 40, "resets_at": reset, "observed_at": close }))]);
    let newest = document(
        "2026-11-29T12:00:00Z",
        vec![weekly(json!({ "used_percent": 46, "resets_at": reset, "observed_at": "2026-11-29T12:00:00Z" }))],
    );
    let (homes, _) = read("slope-close", &[documents.to_vec(), vec![near, newest]].concat());
    let slope = homes[0].windows[0].recent_burn.unwrap();
    assert!(slope < 0.01, "five minutes apart is no slope of its own: {slope}");
}

#[test]
fn readings_that_a_collector_overwrote_are_kept_for_the_burn() {
    let reset = "2026-12-02T12:00:00Z";
    let (mut kept, mut burns) = (KeptReadings::new(), Vec::new());
    for (hours_ago, used) in [(24, 28), (12, 40), (0, 46)] {
        let at = now() - TimeDelta::hours(hours_ago);
        let seen = at.to_rfc3339();
        let text =
            document(&seen, vec![weekly(json!({ "used_percent": used, "resets_at": reset, "observed_at": seen }))]);
        let place = folder("overwritten", &[("one.json", text.to_string().as_bytes())]);
        let (homes, _) = quotas::read_with(&place, "q", &kept, at);
        burns.push(homes[0].windows[0].recent_burn);
        kept = quotas::keep(&kept, &homes, at);
        assert_eq!(quotas::keep(&kept, &homes, at), kept, "the same reading again adds nothing");
    }
    assert_eq!((burns[0], burns[1]), (None, None));
    assert!((burns[2].unwrap() - 0.008).abs() < 1e-12);
    let windows = kept.values().next().unwrap();
    assert_eq!(windows.values().next().unwrap().len(), 3);
    let later = now() + TimeDelta::days(56);
    assert!(quotas::keep(&kept, &[], later).is_empty(), "after eight weeks nothing is kept");
}

#[test]
fn two_anchors_in_turn_void_the_reading() {
    let (a, b) = ("2026-12-02T12:00:00Z", "2026-12-01T15:00:00Z");
    let invalid = |window: QuotaWindow| window.invalid;
    assert_eq!(invalid(history("aba", &[(12, 40, a), (6, 3, b), (0, 41, a)])).as_deref(), Some("alternating anchors"));
    assert_eq!(
        invalid(history("abaa", &[(18, 40, a), (12, 3, b), (6, 41, a), (0, 41, a)])).as_deref(),
        Some("alternating anchors")
    );
    assert_eq!(
        invalid(history("aa", &[(6, 40, a), (0, 41, "2026-12-02T12:01:30Z")])),
        None,
        "within two minutes is the same"
    );
}

#[test]
fn a_reset_that_slides_while_use_rises_voids_the_reading() {
    let sliding = history("slides", &[(6, 10, "2026-12-06T06:00:00Z"), (0, 22, "2026-12-06T12:00:00Z")]);
    assert_eq!(sliding.invalid.as_deref(), Some("reset slides while used rises"));
    let next = history("next", &[(6, 10, "2026-11-29T09:00:00Z"), (0, 22, "2026-12-06T09:00:00Z")]);
    assert_eq!(next.invalid, None, "the old reset had passed: an ordinary new cycle");
    let idle = history("idle-slide", &[(6, 0, "2026-12-06T06:00:00Z"), (0, 0, "2026-12-06T12:00:00Z")]);
    assert_eq!(idle.invalid, None, "an untouched window may slide with the clock");
}

#[test]
fn a_drop_in_use_is_a_new_cycle_and_a_small_one_is_noise() {
    let (a, b) = ("2026-12-02T12:00:00Z", "2026-12-06T10:00:00Z");
    assert_eq!(history("early", &[(6, 64, a), (0, 2, b)]).remarks, [WindowRemark::NewCycle]);
    assert_eq!(history("same", &[(6, 64, a), (0, 2, a)]).remarks, [WindowRemark::NewCycleSuspected]);
    let since = history("since", &[(12, 64, a), (6, 2, a), (0, 3, a)]);
    assert_eq!(since.remarks, [WindowRemark::NewCycleSuspected], "still so one reading later");
    assert!(history("noise", &[(6, 41, a), (0, 40, a)]).remarks.is_empty(), "one point is the reporting step");
    let ordinary = history("ordinary", &[(6, 64, "2026-11-29T09:00:00Z"), (0, 2, "2026-12-06T09:00:00Z")]);
    assert!(ordinary.remarks.is_empty(), "the reset was due");
}

#[test]
fn an_old_value_beside_a_new_reset_and_a_reset_too_far_are_void() {
    let old = one("old-value", json!({ "resets_at": "2026-12-06T04:00:00Z", "observed_at": "2026-11-28T22:00:00Z" }));
    assert_eq!(old.invalid.as_deref(), Some("value older than the cycle of its reset"));
    let far = one("far", json!({ "resets_at": "2026-12-07T12:00:00Z" }));
    assert_eq!(far.invalid.as_deref(), Some("reset further away than the window is long"));
    let ahead = one("seen-ahead", json!({ "observed_at": "2026-11-29T13:00:00Z" }));
    assert_eq!(ahead.invalid.as_deref(), Some("observed after the review instant"));
}

/// Turns every object's keys and every list around.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().rev().map(|(key, value)| format!("{}:{}", json!(key), reversed(value))).collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().rev().map(reversed).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[test]
fn neither_files_nor_rows_nor_keys_need_an_order() {
    let windows = vec![weekly(json!({})), weekly(json!({ "window_id": "session", "used_percent": 10 }))];
    let newer = document("2026-11-29T12:00:00Z", windows);
    let older = document(
        "2026-11-29T06:00:00Z",
        vec![weekly(json!({ "used_percent": 80, "observed_at": "2026-11-29T05:58:00Z" }))],
    );
    let without_places = |homes: Vec<QuotaHome>| {
        let mut homes = homes;
        homes.iter_mut().flat_map(|home| &mut home.windows).for_each(|window| window.place.line = 0);
        homes.iter_mut().flat_map(|home| &mut home.windows).for_each(|window| window.place.path.clear());
        homes
    };
    let (there, _) = read("order-1", &[older.clone(), newer.clone()]);
    let turned = [("a.json", reversed(&newer)), ("b.json", reversed(&older))];
    let turned: Vec<(&str, &[u8])> = turned.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let (back, _) = quotas::read(&folder("order-2", &turned), "q", now());
    assert_eq!(there[0].windows[1].remarks, [WindowRemark::NewCycleSuspected], "history was read");
    assert_eq!(without_places(there), without_places(back));
}

#[test]
fn one_file_reads_like_a_folder_of_one_and_keeps_its_digest() {
    let bytes = serde_json::to_vec(&document("2026-11-29T12:00:00Z", vec![weekly(json!({}))])).unwrap();
    let path = folder("single", &[("only.json", &bytes)]);
    let (from_folder, folder_note) = quotas::read(&path, "q", now());
    let (from_file, file_note) = quotas::read(&path.join("only.json"), "q/only.json", now());
    assert_eq!(from_folder, from_file);
    assert_eq!(folder_note, file_note);
    assert_eq!(file_note.digest, Some(pool_review::vocabulary::Digest::of(&bytes)));
    assert_eq!((file_note.rows, file_note.used, file_note.rejected), (1, 1, 0));
    assert_eq!(file_note.as_of, Some("2026-11-29T11:58:00Z".parse().unwrap()));
    assert_eq!((file_note.max_age_hours, file_note.state), (None, SourceState::Fresh));
}

/// Any JSON value, so that every field may hold anything.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("2026-11-29T11:58:00Z")),
        Just(json!("9999-12-31T23:59:59Z")),
        Just(json!("0000-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| proptest::collection::vec(inner, 0..3).prop_map(Value::from))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_stands_in_the_fields_nothing_panics_and_use_stays_finite(
        fields in proptest::collection::btree_map(
            prop::sample::select(vec![
                "window_id", "kind", "scope", "used", "limit", "remaining", "used_percent", "usage_known", "unlimited",
                "status", "window_seconds", "resets_at", "started", "observed_at", "resolution_pt", "overage",
            ]),
            any_json(), 0..6,
        ),
        kind in prop::sample::select(vec!["fixed", "calendar", "first_use", "sliding"]),
    ) {
        let mut replaced: serde_json::Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        replaced.entry("kind").or_insert_with(|| json!(kind));
        let document = document("2026-11-29T12:00:00Z", vec![weekly(Value::Object(replaced)), weekly(json!({ "window_id": "z" }))]);
        let (homes, note) = read("anything", &[document]);
        for window in homes.iter().flat_map(|home| &home.windows) {
            prop_assert!(window.used.is_none_or(|used| used.is_finite() && used >= 0.0));
            prop_assert!(window.length_hours().is_none_or(|length| length.is_finite() && length > 0.0));
        }
        prop_assert!(homes[0].windows.iter().any(|window| window.window_id == "z"), "the sound window is read");
        prop_assert!(note.rejects.len() <= SourceNote::KEPT_REJECTS);
    }
}
