//! Limits that session stores log, as readings of quota windows: told by length, each with its own age, beside snapshots.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::shared;
use crate::mutations::Dice;
use crate::support::{copy, fresh};
use chrono::{DateTime, Utc};
use pool_review::evidence::windows::{WindowClass, WindowView};
use pool_review::sources::quotas::{self, Limits};
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{
    HomeId, KeptReadings, QuotaHome, QuotaWindow, REVIEW_HOURS, SourceNote, SourceState, StoreKind,
};
use serde_json::{Value, json};

/// The review instant of these tests.
const NOW: &str = "2026-11-20T14:00:00Z";

/// An instant.
fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// Reads a store of a home.
fn scan(kind: StoreKind, path: PathBuf) -> StoreScan {
    let spec = StoreSpec { home: Some("seat".to_owned()), ..StoreSpec::new(kind, path) };
    read(&spec, &BTreeSet::new(), None, &|_, _| {})
}

/// One line of a rollout: a `rate_limits` object at an instant.
fn line(at: &str, limits: &Value) -> String {
    json!({"timestamp": at, "type": "event_msg", "payload": {"type": "token_count", "info": null, "rate_limits": limits}})
        .to_string()
        + "\n"
}

/// The first line of a rollout.
fn meta(id: &str, more: &Value) -> String {
    let mut payload = json!({"id": id, "timestamp": "2026-11-20T08:00:00.000Z", "model_provider": "openai"});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"timestamp": "2026-11-20T08:00:00.000Z", "type": "session_meta", "payload": payload}).to_string() + "\n"
}

/// A `rate_limits` object with a slot of five hours and one of a week, either of which may be missing.
fn limits(five: Option<f64>, week: Option<f64>) -> Value {
    let slot = |used: Option<f64>, minutes: u64, resets_at: i64| {
        used.map_or(
            Value::Null,
            |used| json!({"used_percent": used, "window_minutes": minutes, "resets_at": resets_at}),
        )
    };
    json!({
        "limit_id": "codex", "plan_type": "pro",
        "primary": slot(five, 300, at("2026-11-20T16:00:00Z").timestamp()),
        "secondary": slot(week, 10_080, at("2026-11-25T10:00:00Z").timestamp()),
    })
}

/// The scan of a store with these rollouts.
fn rollouts(name: &str, files: &[String]) -> StoreScan {
    let store = fresh(&format!("limits-{name}"));
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    for (number, text) in files.iter().enumerate() {
        std::fs::write(store.join(format!("sessions/rollout-{number}.jsonl")), text).unwrap();
    }
    scan(StoreKind::Codex, store)
}

/// The readings of a scan by home.
fn logged(scan: &StoreScan) -> Limits {
    let mut all = Limits::new();
    for reading in &scan.limits {
        all.entry(reading.home.clone().unwrap()).or_default().push(reading.clone());
    }
    all
}

/// The windows of the home beside snapshots.
fn windows(scan: &StoreScan, snapshots: Option<&Path>, now: &str) -> (Vec<QuotaWindow>, SourceNote) {
    let snapshots = snapshots.map(|path| (path, "data/quotas"));
    let (homes, note) = quotas::read_all(snapshots, &logged(scan), &KeptReadings::new(), at(now));
    let is_seat = |home: &QuotaHome| home.home == HomeId::new("seat");
    (homes.into_iter().find(is_seat).map(|home| home.windows).unwrap_or_default(), note)
}

/// Name, used percent, when seen and reset of windows, as text.
fn told(windows: &[QuotaWindow]) -> Vec<String> {
    let tell = |window: &QuotaWindow| {
        let time = |at: Option<DateTime<Utc>>| at.map_or("?".to_owned(), |at| at.format("%d %H:%M").to_string());
        let used = window.used.map_or("?".to_owned(), |used| format!("{:.1} %", used * 100.0));
        format!("{} {used} seen {} resets {}", window.window_id, time(window.observed_at), time(window.resets_at))
    };
    windows.iter().map(tell).collect()
}

/// What a window is worth at an instant.
fn class(window: &QuotaWindow, now: &str) -> WindowClass {
    WindowView::read(&HomeId::new("seat"), window, None, REVIEW_HOURS, at(now)).class
}

/// A folder with one snapshot of the home.
fn snapshot(name: &str, generated_at: &str, windows: &[Value]) -> PathBuf {
    let folder = fresh(&format!("limits-snapshot-{name}"));
    let document = json!({"schema": "quota-snapshot/1", "generated_at": generated_at,
        "homes": [{"home_id": "seat", "windows": windows}]});
    std::fs::write(folder.join("a.json"), document.to_string()).unwrap();
    folder
}

/// A window of a snapshot.
fn reported(id: &str, seconds: u64, used: f64, seen: &str) -> Value {
    json!({"window_id": id, "kind": "fixed", "scope": ["*"], "used_percent": used, "window_seconds": seconds, "status": "ok",
        "observed_at": seen, "resets_at": if seconds < 100_000 { "2026-11-20T16:00:00Z" } else { "2026-11-25T10:00:00Z" }})
}

#[test]
fn every_handed_rollout_gives_its_windows_with_their_own_age() {
    let Some(shared) = shared() else { return };
    let case = shared.join("cases/sessions/se-30-rate-limit-slots");
    let answer: Value = serde_json::from_slice(&std::fs::read(case.join("expected.json")).unwrap()).unwrap();
    for wanted in answer["windows"].as_array().unwrap() {
        let file = wanted["file"].as_str().unwrap();
        let store = fresh(&format!("limits-se-30-{file}"));
        copy(&case.join("in/codex"), &store);
        for other in crate::common::files_below(&store, &|name| !name.ends_with(&format!("-{file}.jsonl"))) {
            std::fs::remove_file(other).unwrap();
        }
        let (found, note) = windows(&scan(StoreKind::Codex, store), None, NOW);
        if wanted["window"] == "unknown" {
            assert_eq!((told(&found), note.state), (Vec::new(), SourceState::NotConfigured), "{file}: null all along");
            continue;
        }
        let found = found.iter().find(|window| window.window_id == wanted["window"]).unwrap();
        assert!((found.used.unwrap() * 100.0 - wanted["used_percent"].as_f64().unwrap()).abs() < 1e-9, "{wanted}");
        assert_eq!(found.observed_at.unwrap(), at(wanted["captured_at"].as_str().unwrap()), "{file}: its own age");
        assert_eq!(found.resets_at.unwrap().timestamp(), wanted["resets_at"].as_i64().unwrap(), "{file}");
        assert_eq!(note.state, SourceState::Fresh);
    }
}

#[test]
fn null_leaves_the_last_reading_and_an_object_that_names_one_window_takes_the_other_away() {
    let known = line("2026-11-20T13:00:00.000Z", &limits(Some(12.0), Some(40.0)));
    let null = line("2026-11-20T13:50:00.000Z", &Value::Null);
    let (found, _) = windows(&rollouts("null", &[meta("a", &json!({})) + &known + &null]), None, NOW);
    let both = ["5h 12.0 % seen 20 13:00 resets 20 16:00", "weekly 40.0 % seen 20 13:00 resets 25 10:00"];
    assert_eq!(told(&found), both, "a reading of 13:00 does not become one of 13:50");
    let empty = line("2026-11-20T13:50:00.000Z", &limits(None, None));
    let (found, _) = windows(&rollouts("empty", &[meta("a", &json!({})) + &known + &empty]), None, NOW);
    assert_eq!(told(&found), both, "an object without a window says nothing");
    let week = line("2026-11-20T13:55:00.000Z", &limits(None, Some(41.0)));
    for files in [
        vec![meta("a", &json!({})) + &known + &week],
        vec![meta("a", &json!({})) + &known, meta("b", &json!({})) + &week],
    ] {
        let (found, _) = windows(&rollouts("gone", &files), None, NOW);
        assert_eq!(
            told(&found),
            ["weekly 41.0 % seen 20 13:55 resets 25 10:00"],
            "a window not named is gone, not carried"
        );
    }
}

#[test]
fn logs_alone_are_never_stale_a_window_nobody_used_has_no_reading() {
    let text = meta("a", &json!({})) + &line("2026-11-20T13:00:00.000Z", &limits(Some(12.0), Some(40.0)));
    let scan = rollouts("idle", &[text]);
    for hour in 0..60 {
        let now = (at("2026-11-20T13:00:00Z") + chrono::Duration::hours(hour)).to_rfc3339();
        let (found, note) = windows(&scan, None, &now);
        // Five hours still count by their load for a day.
        let is_void = |window: &&QuotaWindow| {
            class(window, &now) == WindowClass::Stale && (window.window_id != "5h" || hour > 24)
        };
        let void: Vec<_> = found.iter().filter(is_void).collect();
        assert!(void.is_empty(), "{now}: nobody worked, no meter broke: {void:?}");
        let wanted = if found.is_empty() { SourceState::NotConfigured } else { SourceState::Fresh };
        assert_eq!(note.state, wanted, "{now}");
    }
}

#[test]
fn age_and_reset_count_as_in_a_snapshot() {
    let text = meta("a", &json!({})) + &line("2026-11-20T13:00:00.000Z", &limits(Some(12.0), Some(40.0)));
    let scan = rollouts("age", &[text]);
    let at_instant = |now: &str| {
        let (found, note) = windows(&scan, None, now);
        (found.iter().map(|window| (window.window_id.clone(), class(window, now))).collect::<Vec<_>>(), note.state)
    };
    let both = |five, week| vec![("5h".to_owned(), five), ("weekly".to_owned(), week)];
    assert_eq!(at_instant("2026-11-20T13:04:00Z"), (both(WindowClass::Fresh, WindowClass::Fresh), SourceState::Fresh));
    assert_eq!(at_instant("2026-11-20T13:25:00Z"), (both(WindowClass::Aging, WindowClass::Fresh), SourceState::Fresh));
    assert_eq!(
        at_instant("2026-11-20T17:00:00Z"),
        (both(WindowClass::Stale, WindowClass::Aging), SourceState::Fresh),
        "five hours are void after half an hour, a week is an interval"
    );
    assert_eq!(at_instant("2026-11-22T13:00:00Z"), (Vec::new(), SourceState::NotConfigured), "logs alone never block");
    assert_eq!(at_instant("2026-11-20T12:00:00Z"), (Vec::new(), SourceState::NotConfigured), "not yet seen");
    let folder = snapshot("old", "2026-11-22T12:55:00Z", &[reported("spark", 3_600, 1.0, "2026-11-22T12:55:00Z")]);
    let (found, note) = windows(&scan, Some(&folder), "2026-11-22T13:00:00Z");
    let stale = found.iter().filter(|window| class(window, "2026-11-22T13:00:00Z") == WindowClass::Stale).count();
    assert_eq!(
        (stale, note.state),
        (2, SourceState::Fresh),
        "beside snapshots they are stale by name: {:?}",
        told(&found)
    );
    let rolled = meta("a", &json!({})) + &line("2026-11-25T09:00:00.000Z", &limits(None, Some(97.0)));
    let (found, _) = windows(&rollouts("rolled", &[rolled]), None, "2026-11-25T11:00:00Z");
    assert_eq!(class(&found[0], "2026-11-25T11:00:00Z"), WindowClass::Rolled, "what was used before the reset is void");
}

#[test]
fn the_newer_of_snapshot_and_log_counts_and_of_two_as_old_the_snapshot() {
    let text = meta("a", &json!({})) + &line("2026-11-20T13:50:00.000Z", &limits(Some(12.0), Some(40.0)));
    let scan = rollouts("newer", &[text]);
    let beside = |name: &str, generated: &str, reported: &[Value]| {
        let (found, note) = windows(&scan, Some(&snapshot(name, generated, reported)), NOW);
        (told(&found), note)
    };
    let older = [
        reported("session", 18_000, 3.0, "2026-11-20T13:30:00Z"),
        reported("week", 604_800, 30.0, "2026-11-20T13:30:00Z"),
    ];
    let (found, _) = beside("older", "2026-11-20T13:30:00Z", &older);
    let log = ["session 12.0 % seen 20 13:50 resets 20 16:00", "week 40.0 % seen 20 13:50 resets 25 10:00"];
    assert_eq!(found, log, "one bucket under the snapshot's name, the log is newer");
    for (name, seen) in [("newer", "2026-11-20T13:58:00Z"), ("same", "2026-11-20T13:50:00Z")] {
        let newer = [reported("session", 18_000, 3.0, seen), reported("week", 604_800, 50.0, seen)];
        let (found, _) = beside(name, seen, &newer);
        let minute = &seen[14..16];
        let wanted = [
            format!("session 3.0 % seen 20 13:{minute} resets 20 16:00"),
            format!("week 50.0 % seen 20 13:{minute} resets 25 10:00"),
        ];
        assert_eq!(found, wanted, "{name}: the snapshot");
    }
    let only_week = [reported("week", 604_800, 50.0, "2026-11-20T13:58:00Z")];
    let (found, _) = beside("vanished", "2026-11-20T13:58:00Z", &only_week);
    assert_eq!(found, ["week 50.0 % seen 20 13:58 resets 25 10:00"], "a later snapshot names no five hours: gone");
    let unknown = json!({"window_id": "week", "kind": "fixed", "scope": ["*"], "usage_known": false, "window_seconds": 604_800,
        "observed_at": "2026-11-20T13:40:00Z", "resets_at": "2026-11-25T10:00:00Z"});
    let (found, _) =
        beside("unknown", "2026-11-20T13:40:00Z", &[unknown, reported("spark", 604_800, 9.0, "2026-11-20T13:40:00Z")]);
    assert!(
        found.contains(&"weekly 40.0 % seen 20 13:50 resets 25 10:00".to_owned()),
        "two candidates are no sign of one bucket: {found:?}"
    );
}

#[test]
fn plans_and_limits_are_kept_apart() {
    let plus = line(
        "2026-11-20T12:00:00.000Z",
        &json!({"plan_type": "plus", "primary": {"used_percent": 95.0, "window_minutes": 10_080, "resets_at": 1_795_600_800}}),
    );
    let pro = line("2026-11-20T13:00:00.000Z", &limits(Some(12.0), Some(40.0)));
    let (found, note) =
        windows(&rollouts("plans", &[meta("a", &json!({})) + &plus, meta("b", &json!({})) + &pro]), None, NOW);
    assert_eq!(
        found.iter().map(|window| (window.used, window.remarks.clone())).collect::<Vec<_>>(),
        [(Some(0.12), vec![]), (Some(0.4), vec![])],
        "95 % of another plan is no past of it"
    );
    assert!(
        note.remarks.iter().any(|remark| remark.contains("1 rate-limit records of another plan than pro")),
        "{:?}",
        note.remarks
    );
    let turn = json!({"timestamp": "2026-11-20T13:10:00.000Z", "type": "turn_context", "payload": {"model": "gpt-5.3-codex-spark"}}).to_string() + "\n";
    let spark = line(
        "2026-11-20T13:20:00.000Z",
        &json!({"limit_id": "codex_spark", "plan_type": "pro", "primary": {"used_percent": 80.0, "window_minutes": 300, "resets_at": 1_795_190_400}}),
    );
    let (found, _) = windows(&rollouts("spark", &[meta("a", &json!({})) + &pro + &turn + &spark]), None, NOW);
    let scopes: Vec<_> = found.iter().map(|window| (window.window_id.as_str(), window.scope.join(" "))).collect();
    assert_eq!(
        scopes,
        [("5h", "*".to_owned()), ("codex_spark/5h", "gpt-5.3-codex-spark".to_owned()), ("weekly", "*".to_owned())],
        "a limit of its own binds its model and takes nothing from the shared one"
    );
}

#[test]
fn the_copied_history_of_a_fork_is_no_reading_of_its_own_time() {
    let fork = meta("b", &json!({"forked_from_id": "a"})) + &meta("a", &json!({}));
    let started = |line: &str, started: &str| {
        json!({"timestamp": line, "type": "event_msg", "payload": {"type": "task_started", "started_at": at(started).timestamp()}}).to_string() + "\n"
    };
    let copied = started("2026-11-20T13:59:00.000Z", "2026-11-20T09:00:00Z")
        + &line("2026-11-20T13:59:00.000Z", &limits(Some(99.0), Some(99.0)));
    let (found, _) = windows(&rollouts("fork-copy", &[fork.clone() + &copied]), None, NOW);
    assert_eq!(told(&found), Vec::<String>::new(), "the line is new, the value is not");
    let own = started("2026-11-20T13:59:30.000Z", "2026-11-20T13:59:30Z")
        + &line("2026-11-20T13:59:40.000Z", &limits(Some(20.0), Some(45.0)));
    let (found, _) = windows(&rollouts("fork-own", &[fork + &copied + &own]), None, NOW);
    assert_eq!(found.iter().map(|window| window.used).collect::<Vec<_>>(), [Some(0.2), Some(0.45)]);
}

#[test]
fn readings_of_many_sessions_are_the_past_that_gives_a_burn_or_voids_a_reading() {
    let text = |id: &str, hour: u32, week: f64, reset: i64| {
        let mut limits = limits(None, Some(week));
        limits["secondary"]["resets_at"] = json!(reset);
        meta(id, &json!({})) + &line(&format!("2026-11-20T{hour:02}:00:00.000Z"), &limits)
    };
    let reset = at("2026-11-25T10:00:00Z").timestamp();
    let steady: Vec<String> = (8..14).map(|hour| text(&format!("s{hour}"), hour, f64::from(hour), reset)).collect();
    let (found, _) = windows(&rollouts("burn", &steady), None, NOW);
    let burn = found[0].recent_burn.unwrap();
    assert!((burn - 0.01).abs() < 1e-9, "a point an hour: {burn}");
    let mut alternating = steady;
    alternating[4] = text("other", 12, 60.0, reset + 40_000);
    let (found, note) = windows(&rollouts("anchors", &alternating), None, NOW);
    assert_eq!(found[0].invalid.as_deref(), Some("alternating anchors"));
    assert!(note.rejected == 1 && note.rejects[0].place.path.ends_with("rollout-5.jsonl"), "{:?}", note.rejects);
}

#[test]
fn what_cannot_be_a_window_is_rejected_or_unknown_and_never_free() {
    let object = |slot: Value| json!({"limit_id": "codex", "primary": slot, "secondary": null});
    let one = |name: &str, slot: Value| {
        let text = meta("a", &json!({})) + &line("2026-11-20T13:59:00.000Z", &object(slot));
        let scan = rollouts(name, &[text]);
        let keeps = snapshot(name, "2026-11-20T13:59:00Z", &[]);
        let (found, _) = windows(&scan, Some(&keeps), NOW);
        found.first().map(|window| (window.window_id.clone(), class(window, NOW)))
    };
    let week = |more: Value| {
        let mut slot = json!({"used_percent": 5.0, "window_minutes": 10_080, "resets_at": 1_795_600_800});
        slot.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        slot
    };
    let weekly = |class| Some(("weekly".to_owned(), class));
    assert_eq!(one("sound", week(json!({}))), weekly(WindowClass::Fresh));
    assert_eq!(
        one("ms", week(json!({"resets_at": 1_795_600_800_000_i64}))),
        weekly(WindowClass::Fresh),
        "milliseconds by size"
    );
    assert_eq!(one("float", week(json!({"resets_at": 1_795_600_800.0}))), weekly(WindowClass::Fresh));
    assert_eq!(one("negative", week(json!({"used_percent": -1.0}))), weekly(WindowClass::Invalid));
    assert_eq!(one("far", week(json!({"resets_at": 1_999_999_999}))), weekly(WindowClass::Invalid));
    assert_eq!(one("endless", week(json!({"resets_at": i64::MAX}))), weekly(WindowClass::Unknown), "no such instant");
    assert_eq!(one("no-use", week(json!({"used_percent": null}))), weekly(WindowClass::Unknown));
    assert_eq!(one("huge", week(json!({"window_minutes": 1e300}))).unwrap().1, WindowClass::Invalid);
    assert_eq!(
        one("length", week(json!({"window_minutes": null}))),
        Some(("unknown".to_owned(), WindowClass::Unknown))
    );
    assert_eq!(
        one("month", week(json!({"window_minutes": 43_200}))),
        Some(("43200 min".to_owned(), WindowClass::Fresh))
    );
    assert_eq!(one("text", json!("5 %")), None);
    let mut reached = object(week(json!({})));
    reached["rate_limit_reached_type"] = json!("rate_limit_reached");
    let text = meta("a", &json!({})) + &line("2026-11-20T13:59:00.000Z", &reached);
    let (found, _) = windows(&rollouts("reached", &[text]), None, NOW);
    let view = WindowView::read(&HomeId::new("seat"), &found[0], None, REVIEW_HOURS, at(NOW));
    assert!(view.flags.iter().any(|flag| flag == "rejected beats the percentage"), "{:?}", view.flags);
}

#[test]
fn the_routers_snapshots_give_windows_of_plans_and_no_limits_per_minute() {
    let store = fresh("limits-route");
    let database = rusqlite::Connection::open(store.join("opencode.db")).unwrap();
    database.execute_batch("CREATE TABLE route_attempt(id INTEGER PRIMARY KEY, time_started INTEGER, time_ended INTEGER, route_id TEXT, provider_id TEXT, model_id TEXT, outcome TEXT, quota TEXT)").unwrap();
    let ended = at("2026-11-20T13:58:00Z").timestamp_millis();
    let put = |minutes_ago: i64, outcome: &str, quota: &Value| {
        database
            .execute(
                "INSERT INTO route_attempt(time_started, time_ended, route_id, provider_id, model_id, outcome, quota) VALUES(?1, ?1, 'p', 'anthropic', 'fable', ?2, ?3)",
                rusqlite::params![ended - minutes_ago * 60_000, outcome, quota.to_string()],
            )
            .unwrap();
    };
    put(
        0,
        "success",
        &json!({"at": ended, "limit": {"requests": "50"}, "remaining": {"requests": "0"}, "reset": {"requests": "1s", "tokens": "6m0s"}}),
    );
    let (found, note) = windows(&scan(StoreKind::Opencode, store.clone()), None, NOW);
    assert_eq!((told(&found), note.state), (Vec::new(), SourceState::NotConfigured), "throughput is no allowance");
    put(
        20,
        "failure",
        &json!({"retryAfterMs": 1000, "headers": {
        "anthropic-ratelimit-unified-5h-utilization": "0.42", "anthropic-ratelimit-unified-5h-reset": "1795190400",
        "anthropic-ratelimit-unified-7d-utilization": "0.9", "anthropic-ratelimit-unified-7d-reset": "1795600800",
        "anthropic-ratelimit-unified-7d_oi-utilization": "1.0", "anthropic-ratelimit-unified-7d_oi-reset": "1795600800",
        "anthropic-ratelimit-unified-7d_oi-status": "rejected", "retry-after": "1"}}),
    );
    put(1, "success", &json!({"at": ended, "reset": {"unified-5h": "2h", "unified-7d": "1795600800"}}));
    let (found, _) = windows(&scan(StoreKind::Opencode, store), None, NOW);
    assert_eq!(
        told(&found),
        [
            "5h 42.0 % seen 20 13:38 resets 20 16:00",
            "weekly 90.0 % seen 20 13:38 resets 25 10:00",
            "weekly oi 100.0 % seen 20 13:38 resets 25 10:00",
        ],
        "a later reset without a use takes no known use away"
    );
    assert_eq!(found[2].scope, ["fable"], "the part of a plan binds the model that met it");
}

#[test]
fn a_record_is_believed_whatever_way_its_store_is_read_on() {
    let store = fresh("limits-index");
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    let file = store.join("sessions/rollout-a.jsonl");
    let first = meta("a", &json!({})) + &line("2026-11-20T13:00:00.000Z", &limits(Some(12.0), Some(40.0)));
    std::fs::write(&file, &first).unwrap();
    let spec = StoreSpec::new(StoreKind::Codex, store);
    let index = read(&spec, &BTreeSet::new(), None, &|_, _| {}).index.unwrap();
    let again = read(&spec, &BTreeSet::new(), Some(&index), &|_, _| {});
    assert_eq!((again.ways, again.limits.len()), ([0, 0, 1], 1), "from the index alone");
    std::fs::write(&file, first + &line("2026-11-20T13:30:00.000Z", &limits(Some(15.0), Some(41.0)))).unwrap();
    let grown = read(&spec, &BTreeSet::new(), Some(&index), &|_, _| {});
    let fresh = read(&spec, &BTreeSet::new(), None, &|_, _| {});
    assert_eq!((grown.ways, &grown.limits), ([0, 1, 0], &fresh.limits));
    assert_eq!(grown.limits[0].place.line, 3);
}

/// A window as a plain reading of a record gives it: limit, name, used percent, length and reset.
type Plain = (Option<String>, String, Option<f64>, Option<i64>, Option<i64>);

/// The windows of a record by a plain reading.
fn plain(record: &Value, seen: i64) -> Vec<Plain> {
    let payload = &record["payload"];
    if record["type"] != "event_msg" || payload["type"] != "token_count" {
        return Vec::new();
    }
    let limits = &payload["rate_limits"];
    let whole = |value: &Value| value.as_i64().or_else(|| value.as_f64().map(|number| number.round() as i64));
    let slots = ["primary", "secondary"].map(|slot| &limits[slot]).into_iter().filter_map(|slot| {
        let used = slot["used_percent"].as_f64();
        let minutes = slot["window_minutes"].as_f64().filter(|minutes| *minutes > 0.0);
        let (name, seconds) = match minutes {
            None if used.is_none() => return None,
            None => ("unknown".to_owned(), None),
            Some(minutes) if (294.0..=306.0).contains(&minutes) => ("5h".to_owned(), Some(18_000)),
            Some(minutes) if (9_878.4..=10_281.6).contains(&minutes) => ("weekly".to_owned(), Some(604_800)),
            Some(minutes) => (format!("{minutes} min"), Some((minutes * 60.0).round() as i64)),
        };
        let stated = whole(&slot["resets_at"]).map(|at| if at >= 1_000_000_000_000 { at.div_euclid(1000) } else { at });
        let counted = || whole(&slot["resets_in_seconds"]).map(|seconds| seen.div_euclid(1000).saturating_add(seconds));
        let limit = limits["limit_id"].as_str().filter(|id| !id.is_empty() && *id != "codex");
        Some((limit.map(str::to_owned), name, used, seconds, stated.or_else(counted)))
    });
    slots.collect()
}

#[test]
fn ten_thousand_changed_records_give_the_windows_that_a_plain_reading_gives() {
    let mut dice = Dice::new(30);
    let (mut accepted, mut windows) = (0, 0);
    let record = |number: usize| {
        let secondary = match number % 3 {
            0 => json!({"used_percent": 55.0, "window_minutes": 10_079, "resets_in_seconds": 259_200}),
            1 => json!({"used_percent": 41, "window_minutes": 10_080, "resets_at": 1_795_600_800}),
            _ => Value::Null,
        };
        let limits = json!({"limit_id": format!("l{number}"), "plan_type": "pro", "credits": null, "secondary": secondary,
            "primary": {"used_percent": 12.5, "window_minutes": 299, "resets_at": 1_795_183_200}});
        line("2026-11-20T13:00:00.000Z", &limits).trim_end().to_owned()
    };
    let seen = at("2026-11-20T13:00:00Z").timestamp_millis();
    let store = fresh("limits-mutated");
    std::fs::create_dir_all(store.join("sessions")).unwrap();
    let lines: Vec<Vec<u8>> =
        (0..10_000).map(|number| dice.mutate_beside(record(number).as_bytes(), b"{\"type\":\"other\"}")).collect();
    for (number, lines) in lines.chunks(25).enumerate() {
        let text = lines.iter().flat_map(|line| [line.as_slice(), b"\n"]).flatten().copied().collect::<Vec<u8>>();
        std::fs::write(store.join(format!("sessions/rollout-{number:03}.jsonl")), text).unwrap();
    }
    let scan = scan(StoreKind::Codex, store);
    for (number, lines) in lines.chunks(25).enumerate() {
        let found = scan.windows.get(&format!("sessions/rollout-{number:03}.jsonl")).map_or(&[][..], Vec::as_slice);
        for (place, line) in lines.iter().enumerate() {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            let dated = record["timestamp"].as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
            let own = format!("l{}", number * 25 + place);
            let is_own = record["payload"]["rate_limits"]["limit_id"] == own.as_str();
            let is_named = |line: &&Vec<u8>| String::from_utf8_lossy(line).contains(&format!("\"{own}\""));
            let is_alone = lines.iter().filter(is_named).count() == 1;
            if !is_own || !is_alone || dated.is_none_or(|at| at.timestamp_millis() != seen) {
                continue;
            }
            accepted += 1;
            let told = |window: &pool_review::sources::sessions::LimitWindow| {
                (window.limit_id.clone(), window.window.clone(), window.used_percent, window.seconds, window.resets_at)
            };
            let mut found: Vec<Plain> =
                found.iter().filter(|window| window.limit_id.as_ref() == Some(&own)).map(told).collect();
            let mut wanted = plain(&record, seen);
            // Two slots of one length are one window: the later slot.
            if wanted.len() == 2 && wanted[0].1 == wanted[1].1 {
                wanted.remove(0);
            }
            found.sort_by(|a, b| a.1.cmp(&b.1));
            wanted.sort_by(|a, b| a.1.cmp(&b.1));
            assert_eq!(found, wanted, "{}", String::from_utf8_lossy(line));
            windows += wanted.len();
        }
    }
    assert!(accepted > 3_000 && windows > accepted, "{accepted} records with {windows} windows");
}
