//! What stores say beside calls, one object per store: mishaps, work of subagents, long cache writes, and rate-limit windows.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};

use crate::review::sessions::Stores;
use crate::sources::sessions::{LimitWindow, StoreScan};
use crate::vocabulary::CallSums;

/// Every store with what happened in it.
pub(super) fn events(stores: &Stores) -> Value {
    stores.scans.iter().map(|(name, scan)| event(name, scan)).collect()
}

/// One store.
fn event(name: &str, scan: &StoreScan) -> Value {
    let events = &scan.events;
    let sum = |count: fn(&CallSums) -> u64| scan.rows.iter().map(|row| count(&row.sums)).fold(0, u64::saturating_add);
    let mut failures: BTreeMap<&str, u64> = BTreeMap::new();
    for (class, count) in scan.rows.iter().flat_map(|row| &row.sums.failures) {
        *failures.entry(class).or_default() += count;
    }
    json!({
        "store": name,
        "source": scan.rows.first().map(|row| row.key.source.as_str()),
        "tasks": events.tasks,
        "api_errors": events.api_errors,
        "quota_hits": events.quota_hits,
        "retries": events.retries,
        "interrupts": events.interrupts,
        "infra": sum(|sums| sums.infra),
        "failures": failures,
        "sidechain_responses": sum(|sums| sums.sidechain_responses),
        "cache_write_1h_tokens": sum(|sums| sums.cache_write_1h_tokens),
        "cache_write_unknown_tokens": sum(|sums| sums.cache_write_unknown_tokens),
        "rate_limits": windows(scan),
    })
}

/// Every rate-limit window as it was seen last, whatever file says so.
fn windows(scan: &StoreScan) -> Vec<Value> {
    let mut newest: BTreeMap<(Option<&str>, &str), &LimitWindow> = BTreeMap::new();
    for window in scan.windows.values().flatten() {
        let known = newest.entry((window.limit_id.as_deref(), &window.window)).or_insert(window);
        if window.captured_at > known.captured_at {
            *known = window;
        }
    }
    let time = |ms: i64| DateTime::from_timestamp_millis(ms).map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    let of_window = |((limit, name), window): ((Option<&str>, &str), &LimitWindow)| {
        json!({
            "window": name,
            "limit": limit,
            "captured_at": time(window.captured_at),
            "used_percent": window.used_percent,
            "resets_at": window.resets_at.and_then(|seconds| time(seconds.saturating_mul(1000))),
        })
    };
    newest.into_iter().map(of_window).collect()
}
