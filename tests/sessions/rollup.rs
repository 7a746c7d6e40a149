//! From calls and attempts to the rollup table: pools, prices, outcomes, days that clients deleted, files in and out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::{files_below, shared};
use crate::support::{opencode_store, read_tree};
use chrono::{DateTime, Duration, Utc};
use pool_review::evidence::calls::{Holder, Pools};
use pool_review::identity::Identity;
use pool_review::rollup::{
    COLUMNS, Column, Priced, RollupRow, merge, of_calls, read_csv, read_file, read_parquet, with_kept, with_sitter,
    write_csv, write_parquet,
};
use pool_review::sources::sessions::{StoreSpec, read};
use pool_review::sources::{babysitter, scorecards};
use pool_review::vocabulary::{CallRow, Effort, Prices, ProviderId, ScorecardRow, StoreKind};
use serde_json::Value;

/// Every case folder whose answer has this part.
fn cases_with(part: &str) -> Vec<(PathBuf, Value)> {
    let Some(shared) = shared() else { return Vec::new() };
    let found: Vec<_> = files_below(&shared.join("cases/sessions"), &|name| name == "expected.json")
        .into_iter()
        .map(|path| {
            (path.parent().unwrap().to_owned(), serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap())
        })
        .filter(|(_, answer)| answer.get(part).is_some())
        .collect();
    assert!(!found.is_empty(), "the handed cases hold an answer with {part}");
    found
}

/// An instant after every case.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// The calls of a folder's logs.
fn calls(folder: &Path) -> Vec<CallRow> {
    read_tree(folder).into_iter().flat_map(|scan| scan.rows).collect()
}

/// The rollup of calls without pools.
fn plain(calls: &[CallRow], prices: &dyn Fn(&CallRow) -> Option<Prices>) -> Vec<RollupRow> {
    of_calls(calls.iter().map(|row| Priced { row, pool: None, prices: prices(row) }), now())
}

#[test]
fn scorecards_and_babysitter_give_the_handed_rows() {
    for (folder, answer) in cases_with("rollup") {
        let at: DateTime<Utc> = answer["now"].as_str().unwrap().parse().unwrap();
        for cards in ["scorecards.csv", "scorecards.jsonl"] {
            let (cards, _) = scorecards::read(&folder.join("in").join(cards), cards, at);
            let (events, note) = babysitter::read(&folder.join("in/babysitter.jsonl"), "babysitter.jsonl", at);
            let found = with_sitter(&cards, &events, at - Duration::hours(24));
            let wanted = answer["rollup"].as_array().unwrap();
            assert_eq!(found.len(), wanted.len());
            for wanted in wanted {
                agree(&found, wanted);
            }
            let rejects: Vec<String> = note.rejects.iter().map(|r| format!("{} {}", r.place, r.reason)).collect();
            assert!(answer["rejected"].as_array().unwrap().iter().any(|wanted| rejects == [wanted.as_str().unwrap()]));
        }
    }
}

/// Finds the row with the texts of an answer and compares its figures.
fn agree(found: &[RollupRow], wanted: &Value) {
    let mut matching = found.iter().filter(|row| {
        let mut row = (**row).clone();
        COLUMNS.iter().all(|(name, column)| match column {
            Column::Text(field) => wanted.get(*name).is_none_or(|text| text == field(&mut row).as_str()),
            _ => true,
        }) && wanted["day"] == row.key.day.to_string()
    });
    let mut row = matching.next().unwrap_or_else(|| panic!("no row {wanted}")).clone();
    for (name, column) in COLUMNS {
        let Some(wanted) = wanted.get(name).and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()))
        else {
            continue;
        };
        let figure = match column {
            Column::Text(_) => continue,
            Column::Count(field) => *field(&mut row) as f64,
            Column::Seconds(field) => *field(&mut row) as f64 / 1000.0,
            Column::Amount(field) => *field(&mut row),
            Column::Usd(field) => field(&mut row).to_f64(),
            Column::UsdSquared(field) => field(&mut row).to_f64(),
        };
        assert!((figure - wanted).abs() < 1e-6, "{name}: {figure}, wanted {wanted}");
    }
}

#[test]
fn responses_go_to_the_pools_that_the_case_names() {
    for (folder, answer) in cases_with("attribution") {
        let input = folder.join("in");
        let identity = Identity::new(None, &[]).0;
        let ring: BTreeMap<String, Vec<String>> =
            serde_json::from_slice(&std::fs::read(input.join("ring.json")).unwrap()).unwrap();
        let holders =
            ring.iter().flat_map(|(pool, targets)| targets.iter().map(move |target| (pool.clone(), target.clone())));
        let holders: Vec<Holder> = holders
            .map(|(pool, target)| {
                let (offer, effort) = target.split_once('#').unwrap_or((&target, "default"));
                let (provider, model) = offer.split_once('/').unwrap();
                let model = identity.offer(&ProviderId::new(provider), model).model().unwrap().clone();
                Holder { pool, provider: provider.to_owned(), model, effort: Effort::new(effort) }
            })
            .collect();
        let (cards, _) = scorecards::read(&input.join("scorecards.csv"), "scorecards.csv", now());
        let pool = |card: &ScorecardRow| Some((card.session_id.clone()?, Some(card.pool.as_ref()?.to_string())));
        let sessions: BTreeMap<String, Option<String>> = cards.iter().filter_map(pool).collect();
        let joined: BTreeSet<String> = sessions.keys().cloned().collect();
        let stores: Value = serde_json::from_slice(&std::fs::read(input.join("stores.json")).unwrap()).unwrap();
        let mut rows = Vec::new();
        for store in stores.as_array().unwrap() {
            let kind = StoreKind::ALL.into_iter().find(|kind| store["source"] == kind.as_str()).unwrap();
            let path = match kind {
                StoreKind::Opencode => opencode_store(&input, "attribution").unwrap(),
                _ => input.join(store["path"].as_str().unwrap()),
            };
            let homes = store["homes"].as_object().into_iter().flatten();
            let spec = StoreSpec {
                home: store["home"].as_str().map(str::to_owned),
                homes: homes.map(|(provider, home)| (provider.clone(), home.as_str().unwrap().to_owned())).collect(),
                ..StoreSpec::new(kind, path)
            };
            rows.extend(read(&spec, &joined, None, &|_, _| {}).rows);
        }
        let pools = Pools::new(&identity, holders, &sessions);
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for row in &rows {
            *found.entry(pools.of(&row.key).1.as_str().to_owned()).or_default() += row.sums.responses;
        }
        let wanted: BTreeMap<String, u64> = serde_json::from_value(answer["counts"].clone()).unwrap();
        assert_eq!(found, wanted);
        let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
        for response in answer["attribution"].as_array().unwrap() {
            let text = |name: &str| response[name].as_str().unwrap().to_owned();
            *wanted.entry((text("pool"), text("home"))).or_default() += 1;
        }
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.sums.responses > 0) {
            let pool = pools.of(&row.key).0.unwrap_or_default();
            *found.entry((pool, row.key.home.clone())).or_default() += row.sums.responses;
        }
        assert_eq!(found, wanted, "responses per pool and home");
    }
}

#[test]
fn a_cost_is_known_only_where_every_kind_of_token_has_a_rate() {
    for (folder, answer) in cases_with("total") {
        let file = folder.join("in/prices.json");
        let list: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let price = |row: &CallRow| {
            let price = list.get(&row.key.model).or_else(|| list["models"].get(&row.key.model))?;
            let rate = |names: &[&str]| names.iter().find_map(|name| price.get(name)?.as_f64());
            Some(Prices {
                input: decimal(rate(&["input"])),
                output: decimal(rate(&["output"])),
                cache_read: decimal(rate(&["cache_read"])),
                cache_write: decimal(rate(&["cache_write", "cache_write_5m"])),
            })
        };
        let rows = plain(&calls(&folder.join("in")), &price);
        let cost: f64 = rows.iter().map(|row| row.sums.cost.to_f64()).sum();
        let priced: u64 = rows.iter().map(|row| row.sums.n_cost).sum();
        let responses: u64 = rows.iter().map(|row| row.usage.responses).sum();
        let wanted: f64 = answer["total"]["cost_usd"].as_str().unwrap().parse().unwrap();
        assert!((cost - wanted).abs() < 1e-9, "{}: {cost}, wanted {wanted}", folder.display());
        assert_eq!(Some(priced as f64 / responses as f64), answer["total"]["priced_share"].as_f64());
    }
}

#[test]
fn a_day_that_the_client_deleted_is_kept() {
    for (folder, answer) in cases_with("run1") {
        let rollup = |run: &str| plain(&calls(&folder.join(run)), &|_| None);
        let days = |rows: &[RollupRow]| {
            let mut days: BTreeMap<String, u64> = BTreeMap::new();
            for row in rows {
                *days.entry(row.key.day.to_string()).or_default() += row.usage.output_tokens;
            }
            days
        };
        let wanted = |run: &str| serde_json::from_value::<BTreeMap<String, u64>>(answer[run]["days"].clone()).unwrap();
        let first = with_kept(rollup("run1"), Vec::new());
        assert_eq!(days(&first), wanted("run1"));
        let text = write_csv(&first, now());
        let kept = read_csv(text.as_bytes()).unwrap().0;
        let second = with_kept(rollup("run2"), kept);
        assert_eq!(days(&second), wanted("run2"), "one file gone, its day kept");
        assert_eq!(days(&with_kept(rollup("run2"), Vec::new())), wanted("run2_without_cache"));
        assert_eq!(with_kept(rollup("run2"), second.clone()), second, "a second time changes nothing");
    }
}

#[test]
fn csv_and_parquet_give_back_what_was_written() {
    let Some(shared) = shared() else { return };
    let mut rows = plain(&calls(&shared.join("cases/sessions/se-31-speed/in")), &|_| None);
    let case = shared.join("cases/sessions/se-40-scorecards-and-babysitter/in");
    let (cards, _) = scorecards::read(&case.join("scorecards.csv"), "cards", now());
    let (events, _) = babysitter::read(&case.join("babysitter.jsonl"), "sitter", now());
    rows.extend(with_sitter(&cards, &events, now()));
    assert!(rows.len() > 5);
    let csv = write_csv(&rows, now());
    assert_eq!(read_csv(csv.as_bytes()).unwrap(), (rows.clone(), Vec::new()));
    let parquet = write_parquet(&rows, now());
    assert_eq!(read_parquet(&parquet).unwrap(), (rows.clone(), Vec::new()));
    assert_eq!(
        read_file(&parquet).unwrap().0,
        read_file(csv.as_bytes()).unwrap().0,
        "either format by its first bytes"
    );
    assert!(read_file(&parquet[..parquet.len() / 2]).is_err(), "half a file is no file");
}

#[test]
fn rows_of_other_engines_are_read_by_name_and_broken_ones_are_counted() {
    let text = "source,model,provider,day,attempts,extra,busy_s\n\
                warehouse,m,p,2026-11-20,4.0,x,1.5\n\
                warehouse,m,p,yesterday,4,x,1\n\
                warehouse,m,p,2026-11-20,-1,x,1\n\
                warehouse,m,p,2026-11-20,1,x,NaN\n";
    let (rows, broken) = read_csv(text.as_bytes()).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].sums.attempts, rows[0].usage.busy_ms, rows[0].key.effort.as_str()), (4, 1500, "unrecorded"));
    assert_eq!(broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5]);
    assert!(read_csv(b"a,b\n1,2\n").unwrap_err().contains("has no column day"));
}

#[test]
fn rollups_add() {
    let Some(shared) = shared() else { return };
    for case in ["se-23-day-boundary", "se-31-speed", "se-44-codex-counters"] {
        let calls = calls(&shared.join("cases/sessions").join(case).join("in"));
        let whole = plain(&calls, &|_| None);
        for cut in 0..=calls.len() {
            let (left, right) = calls.split_at(cut);
            let added = merge([plain(left, &|_| None), plain(right, &|_| None)].concat());
            assert_eq!(added, whole, "{case} cut at {cut}");
        }
    }
}

/// A rate as the decimal it was written as.
fn decimal(rate: Option<f64>) -> Option<rust_decimal::Decimal> {
    rate.map(|rate| rate.to_string().parse().unwrap())
}
