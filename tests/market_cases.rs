//! Every case of the handed market cases, one test each. The list of cases is read from the file: a case without a test here
//! fails the suite.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

#[path = "scene/binary.rs"]
mod binary;
mod common;
mod market_flow;
mod market_support;
mod scene;

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use common::shared;
use market_support::{
    Handed, Scene, aliases, at, codes, file, findings, handed, identity, model, now, offer, prices, row, target, why,
};
use pool_review::evidence::book::{Book, ListPrice, Statements};
use pool_review::evidence::fit::{Candidate, FitCode, FitParams, MarketValues, latest_model};
use pool_review::evidence::front::{Point, front};
use pool_review::evidence::offers::merge;
use pool_review::evidence::standing::{Rated, TaskShape, standings};
use pool_review::history::{MarketEvent, MarketMemory};
use pool_review::settings::Settings;
use pool_review::sources::market::{artificial_analysis, genai_prices, models_dev, openrouter, provider_list};
use pool_review::vocabulary::{
    CatalogueOffer, Effort, MarketModel, ModelId, PriceRow, Prices, ProviderId, RetirementRow, SourceId, prices_at,
};

/// Declares the tests of cases, and the list of them.
macro_rules! cases {
    ($($name:ident is $id:literal;)*) => {
        /// The cases that have a test.
        const TESTED: &[&str] = &[$($id),*];
        $(
            #[test]
            fn $name() {
                if let Some(handed) = handed() {
                    case::$name(handed);
                }
            }
        )*
    };
}

cases! {
    one_stale_catalogue_disputes_the_price is "MK-I01";
    a_status_alone_never_retires is "MK-I03";
    a_second_hand_catalogue_cannot_add_an_offer is "MK-I05";
    minus_one_is_no_price is "MK-I06";
    a_missing_price_is_not_free is "MK-I07";
    an_unknown_price_never_wins_cheapest is "MK-I08";
    the_gateways_own_price_beats_a_copy is "MK-I09";
    gone_upstream_without_a_date_is_not_retired is "MK-I10";
    decorated_ids_never_fall_back_to_an_old_model is "MK-I13";
    versions_are_compared_component_by_component is "MK-I15";
    an_undated_alias_never_gets_the_oldest_row is "MK-I16";
    an_effort_takes_its_own_row is "MK-I17";
    two_index_versions_are_never_ranked_together is "MK-I18";
    the_retired_path_is_never_called is "MK-I21";
    a_copilot_id_is_another_offer_and_its_seat_decides_what_a_call_costs is "MK-I23";
    every_shape_of_a_models_list_is_read is "MK-I24";
    rows_are_new_by_id_not_by_slug is "MK-E01";
    a_re_based_index_is_one_line_and_no_flood is "MK-E02";
    a_re_pointed_slug_is_a_new_model is "MK-E03";
    a_price_fault_of_one_source_proposes_nothing is "MK-E04";
    a_body_that_lost_rows_is_not_accepted is "MK-E05";
    one_day_in_both_shapes_has_the_same_values_and_states is "MK-E06";
    the_difference_of_two_catalogues_is_told_from_retirement is "MK-E07";
    an_expiration_date_warns_its_own_offer is "MK-E08";
    every_offer_has_its_own_end_date is "MK-E09";
    new_and_unscored_is_named_and_never_proposed is "MK-E10";
    a_known_future_price_is_announced_and_no_surprise is "MK-E11";
    models_without_a_coding_index_are_neither_last_nor_dropped is "MK-E12";
}

#[test]
fn every_case_of_the_file_has_a_test() {
    let Some(shared) = shared() else { return };
    let text = std::fs::read_to_string(shared.join("cases/market.md")).unwrap();
    let written: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### ")?.split(' ').next())
        .filter(|id| id.starts_with("MK-"))
        .collect();
    let tested: BTreeSet<&str> = TESTED.iter().copied().collect();
    assert!(written.len() >= 28, "the file holds {} cases", written.len());
    assert_eq!(written.difference(&tested).collect::<Vec<_>>(), Vec::<&&str>::new(), "cases without a test");
}

/// The shape of a task that is charged plainly.
const PLAIN: TaskShape = TaskShape { cache_share: 0.0, input_per_output: 10.0 };

/// A small catalogue as models.dev sends it: provider, id.
fn catalogue(offers: &[(&str, &str)]) -> String {
    let mut providers: BTreeMap<&str, serde_json::Map<String, serde_json::Value>> = BTreeMap::new();
    for (provider, id) in offers {
        let model = serde_json::json!({ "tool_call": true, "cost": { "input": 1, "output": 2 } });
        providers.entry(provider).or_default().insert((*id).to_owned(), model);
    }
    let all: serde_json::Map<String, serde_json::Value> =
        providers.into_iter().map(|(id, models)| (id.to_owned(), serde_json::json!({ "models": models }))).collect();
    serde_json::Value::Object(all).to_string()
}

/// The rows of an `OpenRouter` body given as JSON.
fn openrouter_rows(scene: &Scene, json: &serde_json::Value) -> Vec<CatalogueOffer> {
    scene.put("or.json", json.to_string());
    openrouter::read(&scene.root.join("or.json"), "or.json", now()).0
}

/// The bodies of every case.
mod case {
    use super::*;

    pub(super) fn one_stale_catalogue_disputes_the_price(_: &Handed) {
        let canonical = Some("deepseek/deepseek-v4-pro-0813");
        let offers = [offer("deepseek", "deepseek-v4-pro", canonical, prices("1.74", "3.48"))];
        let dated = [PriceRow {
            provider: ProviderId::new("deepseek"),
            model: "deepseek-v4-pro".to_owned(),
            prices: prices("0.435", "0.87"),
            bands: Vec::new(),
            is_deprecated: false,
        }];
        let identity = identity(&offers);
        let stated = Statements {
            offers: &offers,
            prices: &dated,
            at: Some(at("2026-05-27T00:00:00Z")),
            ..Statements::default()
        };
        let book = Book::build(&identity, &stated);
        let known = book.models().first().unwrap().clone();
        let Some(ListPrice::Disputed(opinions)) = book.price(&known) else { panic!("{:?}", book.price(&known)) };
        let sources: Vec<SourceId> = opinions.iter().map(|(source, _)| *source).collect();
        assert_eq!(sources, [SourceId::Prices, SourceId::Catalogues]);
        let reason = book.bill(&known, PLAIN).unwrap_err();
        assert!(reason.contains("prices 0.435/0.87") && reason.contains("catalogues 1.74/3.48"), "{reason}");
    }

    pub(super) fn a_status_alone_never_retires(handed: &Handed) {
        let list = serde_json::json!({ "object": "list", "data": [
            { "id": "devstral-2512", "object": "model", "created": 1_765_238_400_u64, "owned_by": "mistralai" }] });
        let body = std::fs::read(file(&handed.data, "api-2026-09-30")).unwrap();
        let scene = Scene::new("i03")
            .pool("work", &["mistral/devstral-2512"])
            .body("catalogues", "api.json", body, "2026-11-29T11:00:00Z")
            .body("provider_catalogue", "lists/mistral.json", list.to_string(), "2026-11-29T11:00:00Z");
        let reviewed = scene.review(now());
        let said = why(&reviewed, "work", "status_disputed");
        assert!(
            said.contains("models.dev says deprecated, the provider still lists it; no retirement date known"),
            "{said}"
        );
        assert!(reviewed.report.proposals.is_empty());
        assert!(!codes(&reviewed, "work").iter().any(|code| code.starts_with("retire")));
    }

    pub(super) fn a_second_hand_catalogue_cannot_add_an_offer(_: &Handed) {
        let scene = Scene::new("i05");
        let own = openrouter_rows(
            &scene,
            &serde_json::json!({ "data": [
            { "id": "z-ai/glm-5.3", "pricing": { "prompt": "0.0000000699", "completion": "0.0000014" } }] }),
        );
        let copies = ["deepseek/deepseek-r1:free", "google/gemini-2.0-flash-exp:free", "z-ai/glm-5.3"];
        let stale = copies.map(|id| offer("openrouter", id, None, Prices::default()));
        let (offers, remarks) = merge(stale.to_vec(), own, &[]);
        let ids: Vec<&str> = offers.iter().map(|offer| offer.id.as_str()).collect();
        assert_eq!(ids, ["z-ai/glm-5.3"]);
        assert_eq!(remarks, ["openrouter lists 1 ids itself: 0 more, 2 fewer"]);
        let glm = serde_json::json!({ "data": [{ "id": "z-ai/glm-5.3", "pricing": { "prompt": "0.1", "completion": "0.2" } }] });
        let member = "openrouter/deepseek/deepseek-r1:free";
        let scene = Scene::new("i05-pool")
            .pool("work", &["openrouter/z-ai/glm-5.3", member])
            .body("catalogues", "api.json", catalogue(&copies.map(|id| ("openrouter", id))), "2026-11-29T11:00:00Z")
            .body("openrouter", "or.json", glm.to_string(), "2026-11-29T11:00:00Z");
        let reviewed = scene.review(now());
        let found = findings(&reviewed, "work", "unknown_member");
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].verdict,
            Some(pool_review::verdict::Verdict::Watch),
            "one snapshot is not enough to retire"
        );
        assert!(reviewed.report.proposals.is_empty());
    }

    pub(super) fn minus_one_is_no_price(handed: &Handed) {
        for (body, routers) in [("raw-2026-05-13", 3), ("reduced-2026-07-28", 5)] {
            let (rows, note) = openrouter::read(&file(&handed.data, body), "or", now());
            assert!(note.is_usable(), "{note:?}");
            let found: Vec<&CatalogueOffer> = rows.iter().filter(|row| row.price_note == Some("router")).collect();
            assert_eq!(found.len(), routers, "{body}");
            assert!(found.iter().all(|row| row.prices.is_unknown() && row.bands.is_empty()));
            let all =
                rows.iter().flat_map(|row| std::iter::once(row.prices).chain(row.bands.iter().map(|band| band.prices)));
            let numbers = all.flat_map(|p| [p.input, p.output, p.cache_read, p.cache_write]).flatten();
            assert!(numbers.into_iter().all(|usd| !usd.is_sign_negative()), "{body}: no negative number anywhere");
        }
        let body = serde_json::json!({ "data": [
            { "id": "openrouter/auto", "pricing": { "prompt": "-1", "completion": "-1" } },
            { "id": "z-ai/glm-5.3", "pricing": { "prompt": "0.0000001", "completion": "0.0000002" } }] });
        let scene = Scene::new("i06")
            .pool("work", &["openrouter/openrouter/auto"])
            .body("catalogues", "api.json", catalogue(&[("openrouter", "z-ai/glm-5.3")]), "2026-11-29T11:00:00Z")
            .body("market", "aa.json", one_page(&[row("u", "glm-5-3", "GLM-5.3", 43.6)]), "2026-11-29T11:00:00Z")
            .body("openrouter", "or.json", body.to_string(), "2026-11-29T11:00:00Z");
        let said = why(&scene.review(now()), "work", "cost_not_assessable");
        assert!(said.contains("cost not assessable: router"), "{said}");
    }

    pub(super) fn a_missing_price_is_not_free(handed: &Handed) {
        let scene = Scene::new("i07");
        let rows = openrouter_rows(
            &scene,
            &serde_json::json!({ "data": [
            { "id": "a/no-price" }, { "id": "a/null-price", "pricing": null },
            { "id": "google/lyria-3-pro-preview", "pricing": { "prompt": "0", "completion": "0" }, "architecture": { "output_modalities": ["audio"] } },
            { "id": "openrouter/owl-alpha", "pricing": { "prompt": "0", "completion": "0" } },
            { "id": "deepseek/deepseek-v4-flash:free", "pricing": { "prompt": "0", "completion": "0" } }] }),
        );
        let of = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
        for id in ["a/no-price", "a/null-price", "google/lyria-3-pro-preview", "openrouter/owl-alpha"] {
            assert!(of(id).prices.is_unknown(), "{id}");
        }
        assert_eq!(of("openrouter/owl-alpha").price_note, Some("0 without :free"));
        assert!(!of("google/lyria-3-pro-preview").writes_text, "billed per song, and no choice for a pool of text");
        assert!(of("deepseek/deepseek-v4-flash:free").prices.is_free());
        let (rows, _) = openrouter::read(&file(&handed.data, "raw-2026-05-13"), "or", now());
        assert!(rows.iter().filter(|row| row.prices.is_free()).all(|row| row.id.ends_with(":free")));
    }

    pub(super) fn an_unknown_price_never_wins_cheapest(_: &Handed) {
        let values = |id: &str, q: f64, bill: Option<f64>| MarketValues {
            id: id.to_owned(),
            bill,
            q: Some(q),
            speed: None,
            imputed: 0,
        };
        // Bills: input + output / 10.
        let offers = [values("p/a", 44.8, Some(1.84)), values("p/b", 46.0, None), values("p/c", 43.6, Some(4.5))];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let ordered = order.map(|at| offers[at].clone());
            let points: Vec<Point> = ordered
                .iter()
                .filter_map(|v| Some(Point { id: v.id.clone(), bill: v.bill?, q: v.q?, imputed: 0 }))
                .collect();
            let cheapest: Vec<&str> = front(&points).iter().map(|point| point.id.as_str()).collect();
            assert_eq!(cheapest, ["p/a"], "c is dearer and weaker, b is not ranked");
            let candidate = |values: MarketValues| Candidate {
                values,
                age_days: 9.0,
                has_home: true,
                is_allowed: true,
                is_capable: true,
            };
            let lead = [values("lead", 40.0, Some(3.0))];
            let fit = latest_model(&lead, &ordered.map(candidate), 1e6, 10.0, &FitParams::default());
            let code = |id: &str| fit.candidates.iter().find(|candidate| candidate.id == id).unwrap().code;
            assert_eq!((code("p/a"), code("p/b")), (FitCode::Missing, FitCode::Unrated));
        }
        let book = Book::build(&identity(&[]), &Statements::default());
        assert_eq!(book.bill(&model("p-b"), PLAIN).unwrap_err(), "no list price in any source");
    }

    pub(super) fn the_gateways_own_price_beats_a_copy(_: &Handed) {
        let scene = Scene::new("i09");
        let own = openrouter_rows(
            &scene,
            &serde_json::json!({ "data": [
            { "id": "z-ai/glm-5.3", "pricing": { "prompt": "0.0000000699", "completion": "0.0000014" } }] }),
        );
        let vendor = offer("zai", "glm-5.3", Some("zhipuai/glm-5.3"), prices("1.4", "4.4"));
        let (offers, _) = merge(vec![vendor], own, &[]);
        let copy = [RetirementRow {
            key: "openrouter/z-ai/glm-5.3".to_owned(),
            provider: ProviderId::new("openrouter"),
            model: "z-ai/glm-5.3".to_owned(),
            ends: None,
            stated_by: None,
            successor: None,
            prices: prices("1.4", "4.4"),
            bands: Vec::new(),
        }];
        let identity = identity(&offers);
        let book = Book::build(
            &identity,
            &Statements { offers: &offers, retirements: &copy, at: Some(now()), ..Statements::default() },
        );
        let glm = model("glm-5.3");
        let offer = book.offer_of(&glm, &target("openrouter/z-ai/glm-5.3")).unwrap();
        assert_eq!(offer.prices, prices("0.0699", "1.4"), "as decimals, nothing rounded");
        assert_eq!(book.deviations(), ["openrouter/z-ai/glm-5.3: 0.0699/1.4 here, 1.4/4.4 in a copy"]);
        assert_eq!(
            book.price(&glm),
            Some(&ListPrice::Agreed(prices("1.4", "4.4"), vec![SourceId::Catalogues])),
            "the vendor's own offer is another"
        );
    }

    pub(super) fn gone_upstream_without_a_date_is_not_retired(handed: &Handed) {
        assert!(!handed.map.iter().any(|row| row.provider.as_str() == "openrouter"), "today's map has no such row");
        let own = serde_json::json!({ "data": [{ "id": "z-ai/glm-5.3", "pricing": { "prompt": "0.1", "completion": "0.2" } }] });
        let map = serde_json::json!({ "openrouter/anthropic/claude-2": { "litellm_provider": "openrouter", "input_cost_per_token": 1.1e-05, "output_cost_per_token": 2.2e-05 } });
        let scene = Scene::new("i10")
            .pool("work", &["openrouter/z-ai/glm-5.3", "openrouter/anthropic/claude-2"])
            .body("catalogues", "api.json", catalogue(&[("openrouter", "anthropic/claude-2")]), "2026-11-29T11:00:00Z")
            .body("openrouter", "or.json", own.to_string(), "2026-11-29T11:00:00Z")
            .body("retirements", "map.json", map.to_string(), "2026-11-29T11:00:00Z");
        let reviewed = scene.review(now());
        assert_eq!(findings(&reviewed, "work", "unknown_member").len(), 1);
        assert!(!codes(&reviewed, "work").iter().any(|code| code.starts_with("retire")), "no date, no retirement");
    }

    pub(super) fn decorated_ids_never_fall_back_to_an_old_model(_: &Handed) {
        let offers = [
            offer("anthropic", "claude-opus-4", None, prices("15", "75")),
            offer("anthropic", "claude-opus-4-8", None, prices("5", "25")),
        ];
        let identity = identity(&offers);
        for id in
            ["claude-opus-4-8[1m]", "claude-opus-4-8-20260528", "aws.claude-opus-4-8", "us.anthropic.claude-opus-4-8"]
        {
            let found = identity.offer(&ProviderId::new("unknown"), id).model().cloned();
            assert_eq!(found, Some(model("claude-opus-4-8")), "{id}");
        }
    }

    pub(super) fn versions_are_compared_component_by_component(_: &Handed) {
        let same = |query: &str, key: &str| {
            let identity = identity(&[]);
            let of = |id: &str| identity.offer(&ProviderId::new("unknown"), id).model().cloned();
            of(query).is_some() && of(query) == of(key)
        };
        assert!(same("claude-opus-4-7", "claude-opus-4.7") && same("claude-opus-4-7", "claude-opus-4-7-20260416"));
        assert!(!same("claude-opus-4-7", "claude-opus-4") && !same("claude-opus-4-7", "claude-opus-4-70"));
        assert!(same("grok-4.3", "grok-4-3"));
        for other in ["grok-4", "grok-4.20", "grok-4.30"] {
            assert!(!same("grok-4.3", other), "{other}");
        }
    }

    pub(super) fn an_undated_alias_never_gets_the_oldest_row(handed: &Handed) {
        let latest = handed.identity.offer(&ProviderId::new("mistral"), "mistral-large-latest").model().cloned();
        let old = handed.market.iter().find(|row| row.slug == "mistral-large").unwrap();
        assert!(old.name.contains("Feb"), "{}", old.name);
        let of_old = handed.identity.market(old).model().cloned();
        assert!(latest.is_none() || latest != of_old, "{latest:?}");
        let book = handed.book(now());
        let index =
            latest.and_then(|model| Some(book.row(&model, &Effort::default_effort())?.row.indices["intelligence"]));
        assert!(index.is_none_or(|index| (index - 9.3).abs() < 1e-9), "{index:?}: 9.3 or not assessable, never 5.8");
    }

    pub(super) fn an_effort_takes_its_own_row(handed: &Handed) {
        let luna = model("gpt-5.6-luna");
        let index =
            |book: &Book, effort: &str| Some(book.row(&luna, &Effort::new(effort))?.row.indices["intelligence"]);
        let two = [
            row("a", "gpt-5-6-luna", "GPT-5.6 Luna (Max)", 37.3),
            row("b", "gpt-5-6-luna-low", "GPT-5.6 Luna (Low)", 21.0),
        ];
        let offers = [offer("openai", "gpt-5.6-luna", None, Prices::default())];
        let book =
            Book::build(&identity(&offers), &Statements { market: &two, offers: &offers, ..Statements::default() });
        assert_eq!((index(&book, "low"), index(&book, "medium")), (Some(21.0), None));
        assert_eq!(book.efforts_of(&luna), "21.0 (low), 37.3 (max)", "the nearest rows are shown");
        let unset = book.row(&luna, &Effort::default_effort()).unwrap();
        assert!(unset.is_imputed, "without a stated default the highest stands in, and says so");
        let stated = [CatalogueOffer { default_effort: Some("low".to_owned()), ..offers[0].clone() }];
        let book =
            Book::build(&identity(&stated), &Statements { market: &two, offers: &stated, ..Statements::default() });
        let unset = book.row(&luna, &Effort::default_effort()).unwrap();
        assert!(!unset.is_imputed && (unset.row.indices["intelligence"] - 21.0).abs() < 1e-9);
        let whole = handed.book(now());
        assert_eq!(
            (index(&whole, "low"), index(&whole, "medium"), index(&whole, "max")),
            (Some(21.0), Some(25.0), Some(37.3))
        );
    }

    pub(super) fn two_index_versions_are_never_ranked_together(_: &Handed) {
        let mut memory = MarketMemory::default();
        let old = [row("opus-5", "claude-opus-5", "Claude Opus 5", 63.1), row("kimi", "kimi-k3", "Kimi K3", 59.7)];
        assert_eq!(memory.take(&old, Some("4.1"), None), []);
        let new = [
            row("opus-5", "claude-opus-5", "Claude Opus 5", 50.8),
            row("opus-5-5", "claude-opus-5-5", "Claude Opus 5.5", 57.6),
            old[1].clone(),
        ];
        let events = memory.take(&new, Some("4.3"), None);
        assert!(
            matches!(&events[0], MarketEvent::Rebased { from: Some(from), to: Some(to), .. } if from == "4.1" && to == "4.3")
        );
        assert_eq!(memory.rows.len(), 3, "the rows of 4.1 are gone: no 63.1 is left to rank with");
        let rated = |row: &MarketModel| Rated { id: row.id.clone(), indices: row.indices.clone() };
        let q = standings(&[rated(&new[0]), rated(&new[1])], &BTreeMap::from([("intelligence".to_owned(), 1.0)]));
        assert!(q.by_id["opus-5-5"].q > q.by_id["opus-5"].q);
        // A body without a version is another base than 4.3, whatever its numbers.
        assert!(matches!(memory.take(&old, None, None)[0], MarketEvent::Rebased { to: None, .. }));
    }

    pub(super) fn the_retired_path_is_never_called(_: &Handed) {
        let front = "data: { market: aa, catalogues: c.json, retirements: r.json, openrouter: o.json, prices: p.json }";
        let settings = Settings::parse(&format!("---\n{front}\n---\nWords.\n"), "review.md").unwrap();
        let jobs = pool_review::fetch::plan(&settings, &[]);
        assert_eq!(jobs.len(), 5);
        assert!(jobs.iter().all(|job| !job.url.contains("/data/llms/models")));
        // A market body that is gone leaves the last accepted one with its age, and nobody is blocked by it yet.
        let rows = vec![row("u", "gpt-6-sol", "GPT-6 Sol (Max)", 47.0)];
        let memory = MarketMemory {
            as_of: Some(at("2026-11-29T00:00:00Z")),
            version: Some("4.3".to_owned()),
            rows,
            ..MarketMemory::default()
        };
        let scene = Scene::new("i21").pool("work", &["openai/gpt-6-sol"]).setting("market", "gone.json");
        let reviewed = scene.review_with(&memory, now());
        let note = reviewed.report.sources.iter().find(|note| note.source == SourceId::Market).unwrap();
        assert!(note.is_usable() && note.age_hours(now()) == Some(12.0), "{note:?}");
        assert!(note.remarks.iter().any(|remark| remark.contains("the last accepted one is used")), "{note:?}");
        assert_eq!(reviewed.market.rows, memory.rows);
    }

    pub(super) fn a_copilot_id_is_another_offer_and_its_seat_decides_what_a_call_costs(handed: &Handed) {
        let dotted = handed.identity.offer(&ProviderId::new("github-copilot"), "claude-opus-4.6");
        let dashed = handed.identity.offer(&ProviderId::new("anthropic"), "claude-opus-4-6");
        assert!(dotted.model().is_some() && dotted.model() == dashed.model());
        let book = handed.book(now());
        let opus = dashed.model().unwrap();
        // Multipliers ended for monthly plans on 2026-06-01, and no source of ours states them: the bill is that of tokens.
        let bill = book.bill(opus, PLAIN).unwrap().usd_per_mtok;
        assert!((bill - 7.5).abs() < 1e-9, "5 + 25 / 10, not times 3 or 27: {bill}");
        let own =
            handed.map.iter().filter(|row| row.key.starts_with("github_copilot/") && !row.prices.is_unknown()).count();
        assert!(own > 0, "token prices of Copilot are read as rows of their own provider");
        assert!(
            handed
                .map
                .iter()
                .filter(|row| row.key.starts_with("github_copilot/"))
                .all(|row| row.provider.as_str() == "github-copilot")
        );
        let reviewed = |term: &str| {
            let catalogue = std::fs::read(file(&handed.data, "api-2026-05-21")).unwrap();
            let scene = Scene::new(&format!("i23-{}", term.len()))
                .pool("work", &["github-copilot/claude-opus-4.6", "github-copilot/gpt-5.4"])
                .terms(term)
                .body("catalogues", "api.json", catalogue, "2026-06-02T11:00:00Z");
            scene.review(at("2026-06-02T12:00:00Z"))
        };
        let unstated = reviewed("");
        let found = findings(&unstated, "work", "cost_not_assessable");
        let said = found.iter().map(|found| found.why.plain()).find(|said| said.contains("opus")).unwrap();
        for words in ["monthly one pays tokens", "annual one counts 27 premium requests", "3 before 2026-06-01"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(found.iter().all(|found| found.verdict.is_none() && found.intent.is_none()));
        let annual = reviewed(", term: annual");
        assert_eq!(findings(&annual, "work", "cost_not_assessable").len(), 0);
        assert!(
            findings(&annual, "work", "seat_requests").iter().any(|found| found.why.plain().contains("27 premium"))
        );
        let monthly = codes(&reviewed(", term: monthly"), "work").join(" ");
        assert!(!monthly.contains("seat_requests") && !monthly.contains("cost_not_assessable"), "{monthly}");
    }

    pub(super) fn every_shape_of_a_models_list_is_read(_: &Handed) {
        let scene = Scene::new("i24");
        let bodies = [
            ("bare", r#"[{"id": "zai-org/GLM-5.3", "created": 0}]"#, Some("zai-org/GLM-5.3")),
            ("no-object", r#"{"data": [{"id": "glm-5.3"}]}"#, Some("glm-5.3")),
            (
                "llama",
                r#"{"models": [{"name": "x"}], "object": "list", "data": [{"id": "x", "object": "model", "created": 1764374400, "owned_by": "llamacpp"}]}"#,
                Some("x"),
            ),
            (
                "google",
                r#"{"models": [{"name": "models/gemini-3.8-flash", "inputTokenLimit": 1048576}]}"#,
                Some("gemini-3.8-flash"),
            ),
            (
                "anthropic",
                r#"{"data": [{"type": "model", "id": "claude-opus-5-5", "created_at": "2026-09-22T00:00:00Z"}], "has_more": false}"#,
                Some("claude-opus-5-5"),
            ),
            ("google-page", r#"{"models": [{"name": "models/gemini-3.8-flash"}], "nextPageToken": "abc"}"#, None),
            (
                "anthropic-page",
                r#"{"data": [{"id": "claude-opus-5-5"}], "has_more": true, "last_id": "claude-opus-5-5"}"#,
                None,
            ),
            ("empty", r#"{"object": "list", "data": []}"#, None),
            ("html", "<html>login</html>", None),
        ];
        for (name, body, _) in bodies {
            scene.put(&format!("lists/{name}.json"), body);
        }
        let (lists, note) = provider_list::read(&scene.root.join("lists"), "lists", now());
        let found: BTreeMap<&str, Vec<&str>> =
            lists.iter().map(|list| (list.provider.as_str(), list.ids.iter().map(String::as_str).collect())).collect();
        for (name, _, id) in bodies {
            assert_eq!(found.get(name).cloned(), id.map(|id| vec![id]), "{name}");
        }
        let refused = note.remarks.iter().filter(|remark| remark.starts_with("list not accepted")).count();
        assert_eq!(refused, 4, "a page of several, an empty list and HTML are no lists: {:?}", note.remarks);
    }

    pub(super) fn rows_are_new_by_id_not_by_slug(handed: &Handed) {
        let (_, events) = handed.replay(&["2025-12-28", "2026-08-22"]);
        let new = events.iter().find_map(|event| match event {
            MarketEvent::New(names) => Some(names.len()),
            _ => None,
        });
        assert_eq!(new, Some(234), "by slug it would be 237");
        let gone = events.iter().find_map(|event| match event {
            MarketEvent::NotListed(slugs) => Some(slugs.clone()),
            _ => None,
        });
        let gone: BTreeSet<String> = gone.unwrap().into_iter().collect();
        assert_eq!(gone, ["cogito-v2-1-reasoning", "midm-250-pro-rsnsft"].map(str::to_owned).into());
        let (memory, events) = handed.replay(&["2026-08-13", "2026-08-22"]);
        let new = events.iter().any(|event| matches!(event, MarketEvent::New(names) if names.len() == 7));
        let replaced =
            events.iter().any(|event| matches!(event, MarketEvent::Replaced { slug } if slug == "g9v3-39a5b"));
        assert!(new && replaced, "{events:?}");
        assert_eq!(memory.missing.len(), 1, "gone is not listed, and it is counted, not retired");
        assert!(memory.missing.values().all(|missing| missing.times == 1));
    }

    pub(super) fn a_re_based_index_is_one_line_and_no_flood(handed: &Handed) {
        let (_, events) = handed.replay(&["2026-06-15", "2026-06-16"]);
        let Some(MarketEvent::Rebased { from, to, mean }) = events.first() else { panic!("{events:?}") };
        assert_eq!((from.as_deref(), to.as_deref()), (Some("4.0"), Some("4.1")));
        assert!((mean + 6.83).abs() < 0.005, "{mean}");
        assert_eq!(events.iter().filter(|event| matches!(event, MarketEvent::Rebased { .. })).count(), 1);
        assert!(events.len() <= 2, "one line, not one per row: {events:?}");
        let line = events[0].sentence().plain();
        assert!(line.starts_with("AA index re-based 4.0 -> 4.1, baseline reset"), "{line}");
        // The second guard: with both versions withheld the movement itself shows it.
        let (before, after) = (handed.legacy("2026-06-15"), handed.legacy("2026-06-16"));
        let mut memory = MarketMemory::default();
        memory.take(&before.rows, None, None);
        assert!(matches!(memory.take(&after.rows, None, None)[0], MarketEvent::Rebased { from: None, to: None, .. }));
        // The coding index did not move with it.
        let coding: BTreeMap<&str, f64> =
            before.rows.iter().filter_map(|row| Some((row.id.as_str(), *row.indices.get("coding")?))).collect();
        let moved = after
            .rows
            .iter()
            .filter_map(|row| Some((row.indices.get("coding")? - coding.get(row.id.as_str())?).abs()))
            .filter(|by| *by > 1e-9);
        assert_eq!(moved.count(), 0);
    }

    pub(super) fn a_re_pointed_slug_is_a_new_model(handed: &Handed) {
        for (days, slug, name, old_slug, old_id) in [
            (
                ["2026-07-31", "2026-08-01"],
                "deepseek-v4-flash",
                "DeepSeek V4 Flash 0731",
                "deepseek-v4-flash-0420",
                "d8ddb241",
            ),
            (
                ["2026-08-12", "2026-08-13"],
                "deepseek-v4-pro",
                "DeepSeek V4 Pro 0813",
                "deepseek-v4-pro-0424",
                "bf220674",
            ),
        ] {
            let (memory, events) = handed.replay(&days);
            let found = events.iter().find_map(|event| match event {
                MarketEvent::Repointed { slug: s, name, old_slug } if s == slug => {
                    Some((name.clone(), old_slug.clone()))
                }
                _ => None,
            });
            let (holder, old) = found.unwrap();
            assert!(holder.starts_with(name), "{holder}");
            assert_eq!(old, old_slug);
            let line = events
                .iter()
                .find(|event| matches!(event, MarketEvent::Repointed { slug: s, .. } if s == slug))
                .unwrap()
                .sentence()
                .plain();
            assert!(line.contains("now holds the AA slug") && line.contains(slug), "{line}");
            // The old row keeps its own series: its score did not jump to the new one's.
            let before = handed.legacy(days[0]);
            let index = |rows: &[MarketModel]| rows.iter().find(|row| row.id.starts_with(old_id)).unwrap().indices["intelligence"];
            assert!((index(&before.rows) - index(&memory.rows)).abs() < 1e-9);
            // And the two rows are two models.
            let of = |row: &MarketModel| handed.identity.market(row).model().cloned();
            let old = memory.rows.iter().find(|row| row.id.starts_with(old_id)).unwrap();
            let new = memory.rows.iter().find(|row| row.slug == slug).unwrap();
            assert!(of(old).is_some() && of(old) != of(new), "{:?} {:?}", of(old), of(new));
        }
    }

    pub(super) fn a_price_fault_of_one_source_proposes_nothing(handed: &Handed) {
        let (offers, _) = models_dev::read(&file(&handed.data, "api-2026-05-21"), "api.json", now());
        let identity = identity(&offers);
        let price = |day: &str, instant: &str| {
            let rows = handed.legacy(day).rows;
            let stated = Statements { market: &rows, offers: &offers, at: Some(at(instant)), ..Statements::default() };
            Book::build(&identity, &stated).price(&model("claude-opus-4-7")).cloned()
        };
        let found = price("2026-05-04", "2026-05-04T12:00:00Z");
        let Some(ListPrice::Disputed(opinions)) = found else { panic!("{found:?}") };
        assert!(
            opinions.iter().any(|(source, p)| *source == SourceId::Market && p.input == Some("6.25".parse().unwrap()))
        );
        for day in ["2026-05-02", "2026-06-12"] {
            let agreed = price(day, "2026-06-12T12:00:00Z");
            assert!(
                matches!(&agreed, Some(ListPrice::Agreed(p, _)) if p.input == Some("5".parse().unwrap())),
                "{day}: {agreed:?}"
            );
        }
        // A single source that jumps is not believed until a second run agrees.
        let book = |input: &str, earlier: &BTreeMap<String, pool_review::vocabulary::RememberedPrice>| {
            let offers = [offer("anthropic", "claude-opus-4-7", None, prices(input, "25"))];
            let stated =
                Statements { offers: &offers, earlier_prices: Some(earlier), at: Some(now()), ..Statements::default() };
            Book::build(&super::identity(&offers), &stated)
        };
        let opus = model("claude-opus-4-7");
        let first = book("5", &BTreeMap::new());
        let second = book("6.25", first.remembered_prices());
        assert_eq!(second.price(&opus), first.price(&opus), "the price of the run before is used");
        assert_eq!(second.price_facts(&opus).unwrap().jump, Some((SourceId::Catalogues, prices("6.25", "25"))));
        let third = book("6.25", second.remembered_prices());
        assert_eq!(third.price(&opus), Some(&ListPrice::Agreed(prices("6.25", "25"), vec![SourceId::Catalogues])));
        assert_eq!(
            book("5", second.remembered_prices()).price(&opus),
            first.price(&opus),
            "a glitch that goes leaves no trace"
        );
    }

    pub(super) fn a_body_that_lost_rows_is_not_accepted(handed: &Handed) {
        let mut memory = MarketMemory::default();
        let accept = |memory: &mut MarketMemory, day: &str| memory.accept("market", handed.legacy(day).note.used, 0.9);
        assert_eq!(accept(&mut memory, "2026-05-02"), Ok(()));
        assert_eq!(accept(&mut memory, "2026-05-03"), Err("363 of 505 rows, below 90 %".to_owned()));
        assert_eq!(accept(&mut memory, "2026-05-04"), Ok(()));
        // End to end: a first run takes its memory from the old bodies, and says which it did not take.
        let scene = Scene::new("e05");
        for day in ["2026-05-02", "2026-05-03"] {
            let body = std::fs::read(handed.data.join(format!("aa/legacy/{day}.json"))).unwrap();
            scene.put(&format!("old/{day}.json"), body);
        }
        let scene =
            scene.pool("work", &["openai/gpt-5.5"]).setting("market_history", "old").setting("market", "none.json");
        let reviewed = scene.review(at("2026-05-03T12:00:00Z"));
        let note = reviewed.report.sources.iter().find(|note| note.source == SourceId::Market).unwrap();
        assert!(
            note.remarks.iter().any(|remark| remark == "old body 2026-05-03 not taken: 363 of 505 rows, below 90 %"),
            "{note:?}"
        );
        assert_eq!(
            (note.used, note.age_hours(at("2026-05-03T12:00:00Z"))),
            (505, Some(36.0)),
            "verdicts stand on 05-02, with its age"
        );
        assert!(reviewed.market.missing.is_empty(), "no row is gone");
        // A page that is missing, and a page of another version, are no snapshot.
        let scene = Scene::new("e05-pages");
        scene.put_pages(&handed.data, "missing", |page| page);
        let one = market_support::file(&scene.root.join("missing"), "page3");
        scene.drop_file(&one);
        scene.put_pages(&handed.data, "mixed", |page| {
            if page.contains("\"page\":2,") || page.contains("\"page\": 2,") {
                page.replacen("4.3", "4.2", 1)
            } else {
                page
            }
        });
        for (folder, reason) in [("missing", "3 of 4 pages"), ("mixed", "another intelligence_index_version")] {
            let (rows, _, note) = artificial_analysis::read(&scene.root.join(folder), folder, now());
            assert!(rows.is_empty() && format!("{:?}", note.state).contains(reason), "{folder}: {:?}", note.state);
        }
    }

    pub(super) fn one_day_in_both_shapes_has_the_same_values_and_states(handed: &Handed) {
        let scene = Scene::new("e06");
        let body = std::fs::read_to_string(file(&handed.data, "v2-free_2026-06-27")).unwrap();
        let (rows, _, note) = artificial_analysis::read(&file(&handed.data, "v2-free_2026-06-27"), "page", now());
        assert!(rows.is_empty() && !note.is_usable(), "page 1 of 3 alone is no snapshot");
        let mut page: serde_json::Value = serde_json::from_str(&body).unwrap();
        page["pagination"]["total_pages"] = serde_json::json!(1);
        scene.put("one.json", page.to_string());
        let (v2, _, note) = artificial_analysis::read(&scene.root.join("one.json"), "one", now());
        assert_eq!(v2.len(), 200, "{note:?}");
        let legacy = handed.legacy("2026-06-27");
        assert_eq!((legacy.rows.len(), legacy.version.as_deref()), (533, Some("4.1")));
        let old: BTreeMap<&str, &MarketModel> = legacy.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let both: Vec<(&MarketModel, &MarketModel)> =
            v2.iter().filter_map(|row| Some((row, *old.get(row.id.as_str())?))).collect();
        assert_eq!(both.len(), 197);
        assert!(both.iter().all(|(new, old)| new.slug == old.slug));
        let free: BTreeSet<&str> =
            both.iter().filter(|(new, _)| new.prices.is_free()).map(|(new, _)| new.slug.as_str()).collect();
        let expected = [
            "command-a-plus",
            "devstral-2",
            "lfm2-1-2b",
            "lfm2-5-1-2b-instruct",
            "lfm2-5-vl-1-6b",
            "north-mini-code",
            "phi-4-multimodal",
            "sarvam-m-reasoning",
        ];
        assert_eq!(free, expected.into_iter().collect());
        assert_eq!(both.iter().filter(|(new, _)| new.prices.input.is_none()).count(), 53);
        let unknown = |p: &Prices| p.input.is_none() && p.output.is_none();
        assert!(
            both.iter().all(|(new, old)| !(unknown(&new.prices) || new.prices.is_free()) || unknown(&old.prices)),
            "a legacy 0 is unknown"
        );
        let rounded: Vec<&str> = v2
            .iter()
            .filter(|row| row.slug.starts_with("mimo-v2-5") && row.prices.cache_read.is_none())
            .map(|row| row.slug.as_str())
            .collect();
        assert!(
            rounded.contains(&"mimo-v2-5-0424") && rounded.contains(&"mimo-v2-5-pro"),
            "a lone cache price of 0 is unknown: {rounded:?}"
        );
    }

    pub(super) fn the_difference_of_two_catalogues_is_told_from_retirement(handed: &Handed) {
        let (old, _) = models_dev::read(&file(&handed.data, "api-2026-05-21"), "old", now());
        let keys = |offers: &[CatalogueOffer]| -> BTreeSet<(String, String)> {
            offers.iter().map(|offer| (offer.provider.to_string(), offer.id.clone())).collect()
        };
        let (before, after) = (keys(&old), keys(&handed.offers));
        assert_eq!((after.difference(&before).count(), before.difference(&after).count()), (4_915, 1_381));
        let providers =
            |keys: &BTreeSet<(String, String)>| -> BTreeSet<String> { keys.iter().map(|(p, _)| p.clone()).collect() };
        let (p, q) = (providers(&before), providers(&after));
        assert_eq!((q.difference(&p).count(), p.difference(&q).count()), (96, 3));
        let of = |provider: &str| {
            let is = |key: &&(String, String)| key.0 == provider;
            (after.difference(&before).filter(is).count(), before.difference(&after).filter(is).count())
        };
        for (provider, counts) in [
            ("anthropic", (7, 14)),
            ("openai", (12, 11)),
            ("google", (21, 3)),
            ("xai", (4, 0)),
            ("deepseek", (2, 2)),
            ("zai", (5, 0)),
            ("moonshotai", (3, 6)),
            ("minimax", (1, 0)),
            ("mistral", (7, 1)),
            ("github-copilot", (26, 19)),
        ] {
            assert_eq!(of(provider), counts, "{provider}");
        }
        // Removed ids with a date have one by list or map; the others stay without: "not listed", never "retired".
        let book = handed.book(now());
        let dated = |provider: &str| {
            let removed = before.difference(&after).filter(|key| key.0 == provider);
            removed.filter(|(provider, id)| book.end_of(&target(&format!("{provider}/{id}"))).is_some()).count()
        };
        assert_eq!((dated("anthropic"), dated("openai"), dated("google"), dated("mistral")), (10, 11, 3, 0));
        // Ids of images, speech and songs are no offers of a pool of text.
        let text = handed.offers.iter().filter(|offer| offer.writes_text).count();
        assert!(text < handed.offers.len());
        assert!(handed.offers.iter().filter(|offer| offer.id.contains("-image") && !offer.writes_text).count() > 10);
        // A member that vanished: with a date it retires, without one it is watched.
        let body = std::fs::read(file(&handed.data, "api-2026-09-30")).unwrap();
        let list = std::fs::read(file(&handed.data, "retirements.json")).unwrap();
        let gone = before
            .difference(&after)
            .find(|(p, id)| p == "anthropic" && book.end_of(&target(&format!("{p}/{id}"))).is_none())
            .unwrap();
        let scene = Scene::new("e07")
            .pool("undated", &["anthropic/claude-opus-5-5", &format!("anthropic/{}", gone.1)])
            .body("catalogues", "api.json", body, "2026-11-29T11:00:00Z")
            .body("retirement_list", "list.json", list, "2026-11-29T11:00:00Z");
        let reviewed = scene.review(now());
        assert_eq!(findings(&reviewed, "undated", "unknown_member").len(), 1, "{:?}", codes(&reviewed, "undated"));
        assert!(reviewed.report.proposals.is_empty());
        the_difference_is_told_for_the_providers_of_the_pools(handed);
    }

    /// The run after a catalogue of May has given way to that of September.
    fn the_difference_is_told_for_the_providers_of_the_pools(handed: &Handed) {
        let body = |name: &str| std::fs::read(file(&handed.data, name)).unwrap();
        let scene = Scene::new("e07-runs")
            .pool("work", &["anthropic/claude-opus-4-7", "deepseek/deepseek-v4-pro"])
            .body("catalogues", "api.json", body("api-2026-05-21"), "2026-05-21T11:00:00Z")
            .body("retirement_list", "list.json", body("retirements.json"), "2026-05-21T11:00:00Z");
        let first = scene.review(at("2026-05-21T12:00:00Z"));
        let scene = scene.body("catalogues", "api.json", body("api-2026-09-30"), "2026-09-30T11:00:00Z").body(
            "retirement_list",
            "list.json",
            body("retirements.json"),
            "2026-09-30T11:00:00Z",
        );
        let second = scene.review_with(&first.market, at("2026-09-30T12:00:00Z"));
        let remarks: Vec<String> = second.report.remarks.iter().map(pool_review::verdict::Sentence::plain).collect();
        let told: Vec<&String> = remarks.iter().filter(|remark| remark.starts_with("catalogue of")).collect();
        assert_eq!(told.len(), 2, "the pools' providers and no other of the 225: {told:?}");
        let anthropic = told.iter().find(|remark| remark.contains("anthropic")).unwrap();
        assert!(anthropic.contains("7 more, 14 fewer") && anthropic.contains("with an end date"), "{anthropic}");
        for undated in ["claude-3-5-haiku-latest", "claude-opus-4-0", "claude-opus-4-1", "claude-sonnet-4-0"] {
            let confirm = anthropic.split("no retirement date, confirm").nth(1).unwrap();
            assert!(confirm.contains(undated), "{undated}: {anthropic}");
        }
    }

    pub(super) fn an_expiration_date_warns_its_own_offer(handed: &Handed) {
        let today = at("2026-05-13T12:00:00Z");
        let own = std::fs::read(file(&handed.data, "raw-2026-05-13")).unwrap();
        let catalogue = std::fs::read(file(&handed.data, "api-2026-05-21")).unwrap();
        let (rows, _) = openrouter::read(&file(&handed.data, "raw-2026-05-13"), "or", today);
        assert_eq!(rows.iter().filter(|row| row.ends.is_some()).count(), 11);
        let scene = Scene::new("e08")
            .pool("grok", &["openrouter/x-ai/grok-4"])
            .pool("gemini", &["openrouter/google/gemini-2.0-flash-001"])
            .pool("calm", &["openrouter/anthropic/claude-opus-4.7"])
            .pool("direct", &["google/gemini-2.0-flash"])
            .body("catalogues", "api.json", catalogue, "2026-05-13T11:00:00Z")
            .body("openrouter", "or.json", own, "2026-05-13T11:00:00Z");
        let reviewed = scene.review(today);
        for (pool, days) in [("grok", 2.0), ("gemini", 19.0)] {
            let found = findings(&reviewed, pool, "retirement_due");
            let measured = found[0].measured.as_ref().unwrap().value;
            assert!((measured - days).abs() < 1e-9, "{pool}: {measured}");
            assert!(found[0].why.plain().contains("openrouter"), "{}", found[0].why.plain());
        }
        for pool in ["calm", "direct"] {
            assert!(
                findings(&reviewed, pool, "retirement_due").is_empty(),
                "{pool}: the date of one offer says nothing of another"
            );
        }
        // One day later the same end is the same finding, and what it asks for has the same fingerprint: one issue, not two.
        let tomorrow = scene.review(at("2026-05-14T10:00:00Z"));
        let fingerprints = |reviewed: &pool_review::review::Reviewed| -> Vec<String> {
            reviewed.report.proposals.iter().map(|proposal| proposal.fingerprint.clone()).collect()
        };
        assert_eq!(findings(&tomorrow, "grok", "retirement_due").len(), 1);
        assert_eq!(fingerprints(&tomorrow), fingerprints(&reviewed));
    }

    pub(super) fn every_offer_has_its_own_end_date(handed: &Handed) {
        let book = handed.book(now());
        let end = |text: &str| book.end_of(&target(text)).unwrap_or_else(|| panic!("{text} has no date")).clone();
        let day = |text: &str| -> NaiveDate { text.parse().unwrap() };
        for (offer, date, days, successor) in [
            ("anthropic/claude-sonnet-4-5", "2026-11-30", 1, Some("claude-sonnet-5-5")),
            ("azure/claude-sonnet-4-5", "2026-11-30", 1, Some("azure_ai/claude-sonnet-5-5")),
            (
                "amazon-bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "2027-04-08",
                130,
                Some("us.anthropic.claude-sonnet-5-5"),
            ),
            ("google/gemini-2.5-pro", "2026-12-01", 2, Some("gemini/gemini-3.8-flash")),
            ("google-vertex/gemini-2.5-pro", "2026-10-20", -40, Some("gemini-3.8-flash")),
            ("openai/gpt-5", "2026-12-11", 12, Some("gpt-5.6-sol")),
            ("azure/gpt-5", "2027-02-09", 72, Some("azure/gpt-5.1")),
            ("openai/o3", "2026-12-11", 12, Some("gpt-5.6-sol")),
            ("openai/gpt-4.1", "2027-01-14", 46, Some("gpt-6-luna")),
            ("azure/DeepSeek-V4-Flash-0731", "2026-12-03", 4, None),
            ("google-vertex/claude-sonnet-5", "2026-12-24", 25, None),
        ] {
            let found = end(offer);
            assert_eq!((found.date, (found.date - now().date_naive()).num_days()), (day(date), days), "{offer}");
            assert_eq!(found.successor.as_deref(), successor, "{offer}");
        }
        for (offer, second) in
            [("anthropic/claude-sonnet-4-5", "2026-11-30"), ("openai/gpt-5", "2026-12-11"), ("openai/o3", "2026-12-11")]
        {
            let found = end(offer);
            assert_eq!(found.second, Some((SourceId::RetirementList, day(second))), "{offer}: the list confirms");
            assert!(found.is_firm(), "{offer}: two lists, or a page, stand behind it");
        }
        let weak = end("google-vertex/claude-sonnet-5");
        assert!(weak.stated_by.is_none() && !weak.is_firm(), "one list without a source only warns");
        let disputed = end("azure/gpt-4o");
        assert_eq!(
            (disputed.date, disputed.second),
            (day("2026-12-09"), Some((SourceId::Retirements, day("2027-04-14")))),
            "the earlier one warns, both are shown"
        );
        assert!(disputed.is_disputed() && !disputed.is_firm());
        // The successor that retires first is no way out; free text is no model.
        let early = end("azure/deepseek-v4-flash");
        let heir = end("azure/DeepSeek-V4-Flash-0731");
        assert!(early.successor.as_deref() == Some("azure_ai/DeepSeek-V4-Flash-0731") && heir.date < early.date);
        assert!(
            handed.map.iter().filter(|row| row.successor.as_deref() == Some("Nemotron Super VL")).all(|row| handed
                .identity
                .successor(row)
                .unwrap()
                .model()
                .is_none())
        );
        assert!(
            handed.listed.iter().filter(|row| row.provider.as_str() == "cohere").any(|row| row.ends.is_none()),
            "an empty date is not known, not now"
        );
        // The demo of the issue: urgent, with date, source and successor, and a change that is ready.
        let map = std::fs::read(file(&handed.data, "model_prices")).unwrap();
        let list = std::fs::read(file(&handed.data, "retirements.json")).unwrap();
        let catalogue = std::fs::read(file(&handed.data, "api-2026-09-30")).unwrap();
        let scene = Scene::new("e09")
            .pool("lead", &["anthropic/claude-sonnet-4-5"])
            .pool("still", &["google-vertex/gemini-2.5-pro"])
            .body("catalogues", "api.json", catalogue, "2026-11-29T11:00:00Z")
            .body("retirements", "map.json", map, "2026-11-29T11:00:00Z")
            .body("retirement_list", "list.json", list, "2026-11-29T11:00:00Z")
            .body(
                "provider_catalogue",
                "lists/google-vertex.json",
                r#"{"data": [{"id": "gemini-2.5-pro"}]}"#,
                "2026-11-29T11:00:00Z",
            );
        let reviewed = scene.review(now());
        let said = why(&reviewed, "lead", "retirement_due");
        assert!(
            said.contains("2026-11-30")
                && said.contains("platform.claude.com")
                && said.contains("retirement_list says the same day")
                && said.contains("claude-sonnet-5-5"),
            "{said}"
        );
        assert_eq!(
            findings(&reviewed, "lead", "retirement_due")[0].verdict,
            Some(pool_review::verdict::Verdict::Misaligned)
        );
        assert!(reviewed.report.proposals.iter().any(|proposal| proposal.pool.as_str() == "lead"), "a change is ready");
        let said = why(&reviewed, "still", "retired");
        assert!(said.contains("past its date but still listed"), "{said}");
        assert_eq!(findings(&reviewed, "still", "retired")[0].verdict, Some(pool_review::verdict::Verdict::Watch));
    }

    pub(super) fn new_and_unscored_is_named_and_never_proposed(handed: &Handed) {
        let listed = [
            "openai/gpt-6.1-sol",
            "openai/gpt-6.2-sol",
            "anthropic/claude-fable-5.2",
            "anthropic/claude-haiku-5.5",
            "moonshotai/kimi-k3.1-pro",
            "qwen/qwen4-max",
            "google/gemini-4-carbon",
            "openai/gpt-6.1-terra",
            "google/gemini-4-argon",
        ];
        let own: Vec<serde_json::Value> = listed
            .iter()
            .map(|id| serde_json::json!({ "id": id, "pricing": { "prompt": "0.000002", "completion": "0.00001" }, "supported_parameters": ["tools"] }))
            .collect();
        let scene = Scene::new("e10");
        scene.put_pages(&handed.data, "aa", |page| page);
        scene.put("aa.meta.json", r#"{"fetched_at": "2026-11-29T11:00:00Z"}"#);
        let catalogue = std::fs::read(file(&handed.data, "api-2026-09-30")).unwrap();
        let scene = scene
            .pool("work", &["openrouter/openai/gpt-6.1-sol"])
            .setting("market", "aa")
            .body("catalogues", "api.json", catalogue, "2026-11-29T11:00:00Z")
            .body(
                "retirements",
                "map.json",
                std::fs::read(file(&handed.data, "model_prices")).unwrap(),
                "2026-11-29T11:00:00Z",
            )
            .body("openrouter", "or.json", serde_json::json!({ "data": own }).to_string(), "2026-11-29T11:00:00Z");
        let reviewed = scene.review(now());
        let said = why(&reviewed, "work", "unrated");
        for name in [
            "gpt-6.2-sol",
            "claude-fable-5.2",
            "claude-haiku-5-5",
            "kimi-k3.1-pro",
            "qwen4-max",
            "gemini-4-carbon",
            "gpt-6.1-terra",
        ] {
            let spelled = [name.to_owned(), name.replace('.', "-")];
            assert!(spelled.iter().any(|name| said.contains(name)), "{name} is not named: {said}");
        }
        assert!(!said.contains("gemini-4-argon"), "listed and scored: {said}");
        let argon = handed.market.iter().find(|row| row.slug == "gemini-4-argon").unwrap();
        assert!((argon.indices["intelligence"] - 52.6).abs() < 1e-9 && !argon.indices.contains_key("coding"));
        assert!(
            reviewed.report.proposals.iter().all(|proposal| !format!("{proposal:?}").contains("gpt-6.2-sol")),
            "nothing is proposed"
        );
        let book = handed.book(now());
        assert!(
            book.row(&model("gpt-6.2-sol"), &Effort::default_effort()).is_none(),
            "no score is inherited from GPT-6.1"
        );
        assert!(reviewed.models.contains("gpt-6.2-sol"), "its first sight is kept");
    }

    pub(super) fn a_known_future_price_is_announced_and_no_surprise(handed: &Handed) {
        let book = handed.book(now());
        for (name, before, after, day) in [
            ("gemini-4-argon", prices("2", "10"), prices("4", "20"), "2026-12-01"),
            ("gemini-3.8-flash", prices("0.75", "3.75"), prices("1.5", "7.5"), "2027-01-01"),
        ] {
            let Some(ListPrice::Agreed(used, _)) = book.price(&model(name)) else {
                panic!("{name}: {:?}", book.price(&model(name)))
            };
            assert_eq!(
                (used.input, used.output),
                (before.input, before.output),
                "{name}: not the last entry of the list"
            );
            let change = book.price_facts(&model(name)).unwrap().change.unwrap();
            assert_eq!(
                (change.day, change.after.input, change.after.output),
                (day.parse().unwrap(), after.input, after.output),
                "{name}"
            );
        }
        // On the day itself: no dispute with sources that follow late, and no jump.
        let earlier = book.remembered_prices().clone();
        let stated = Statements {
            offers: &handed.offers,
            retirements: &handed.map,
            prices: &handed.dated,
            earlier_prices: Some(&earlier),
            at: Some(at("2026-12-01T12:00:00Z")),
            ..Statements::default()
        };
        let next = Book::build(&handed.identity, &stated);
        let argon = model("gemini-4-argon");
        assert!(
            matches!(next.price(&argon), Some(ListPrice::Agreed(p, _)) if p.input == Some("4".parse().unwrap())),
            "{:?}",
            next.price(&argon)
        );
        assert_eq!(next.price_facts(&argon).and_then(|facts| facts.jump), None);
        // Hours: DeepSeek at 02:00 and 12:00 UTC, and the weekend that the list cannot say.
        let row = handed
            .dated
            .iter()
            .find(|row| row.provider.as_str() == "deepseek" && row.model == "deepseek-v4-pro")
            .unwrap();
        let price = |instant: &str| prices_at(row.prices, &row.bands, at(instant));
        let (peak, low) = (prices("1.32", "3.96"), prices("0.66", "1.98"));
        for (instant, expected) in
            [("2026-11-30T02:00:00Z", peak), ("2026-11-30T12:00:00Z", low), ("2026-11-29T02:00:00Z", peak)]
        {
            let found = price(instant);
            assert_eq!((found.input, found.output), (expected.input, expected.output), "{instant}");
        }
        let facts = Book::build(
            &handed.identity,
            &Statements {
                offers: &handed.offers,
                prices: std::slice::from_ref(row),
                at: Some(now()),
                ..Statements::default()
            },
        );
        let known: Vec<&ModelId> =
            facts.models().iter().filter(|m| facts.price_facts(m).is_some_and(|f| !f.other_hours.is_empty())).collect();
        assert!(
            known.is_empty()
                || known
                    .iter()
                    .all(|m| matches!(facts.price(m), Some(ListPrice::Agreed(p, _)) if p.input == peak.input)),
            "the upper bound is used"
        );
        // The review shows the bill before and after.
        let body = std::fs::read(file(&handed.data, "genai-prices-")).unwrap();
        let scene = Scene::new("e11");
        scene.put_pages(&handed.data, "aa", |page| page);
        scene.put("aa.meta.json", r#"{"fetched_at": "2026-11-29T11:00:00Z"}"#);
        let scene = scene
            .pool("work", &["google/gemini-4-argon"])
            .setting("market", "aa")
            .body(
                "catalogues",
                "api.json",
                catalogue(&[("google", "gemini-4-argon")])
                    .replace("\"input\":1,\"output\":2", "\"input\":2,\"output\":10"),
                "2026-11-29T11:00:00Z",
            )
            .body("prices", "prices.json", body, "2026-11-29T11:00:00Z");
        let said = why(&scene.review(now()), "work", "price_change_due");
        assert!(said.contains("2026-12-01: 2/10 -> 4/20 (genai-prices)") && said.contains("; bill "), "{said}");
        let (rows, note) = genai_prices::read(&file(&handed.data, "genai-prices-"), "prices", now());
        assert_eq!((rows.len(), note.rows), (2_330, 2_330));
    }

    pub(super) fn models_without_a_coding_index_are_neither_last_nor_dropped(handed: &Handed) {
        let without = handed.market.iter().filter(|row| !row.indices.contains_key("coding")).count();
        assert_eq!((without, handed.market.len()), (431, 689));
        let best = |index: &str| -> Vec<&str> {
            let mut rows: Vec<&MarketModel> =
                handed.market.iter().filter(|row| row.indices.contains_key(index)).collect();
            rows.sort_by(|a, b| b.indices[index].total_cmp(&a.indices[index]).then(a.slug.cmp(&b.slug)));
            rows.iter().take(3).map(|row| row.slug.as_str()).collect()
        };
        assert_eq!(best("coding"), ["claude-fable-5-1", "claude-fable-5-1-xhigh", "claude-fable-5-1-high"]);
        assert_eq!(best("intelligence"), ["claude-opus-5-5", "claude-opus-5-5-xhigh", "claude-sonnet-5-5"]);
        let set: Vec<Rated> =
            handed.market.iter().map(|row| Rated { id: row.slug.clone(), indices: row.indices.clone() }).collect();
        let mix =
            BTreeMap::from([("coding", 0.5), ("intelligence", 0.5)].map(|(name, weight)| (name.to_owned(), weight)));
        let standings = standings(&set, &mix);
        let opus = &standings.by_id["claude-opus-5-5"];
        assert_eq!(opus.imputed, ["coding"], "it says which index it was not ranked by");
        let better = standings.by_id.values().filter(|other| other.q > opus.q).count();
        assert!(better < 20, "the best model by intelligence is not last: {better} before it");
    }

    /// One page that is a whole snapshot.
    fn one_page(rows: &[MarketModel]) -> String {
        let data: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                serde_json::json!({ "id": row.id, "name": row.name, "slug": row.slug,
                "evaluations": { "artificial_analysis_intelligence_index": row.indices["intelligence"] } })
            })
            .collect();
        serde_json::json!({ "intelligence_index_version": 4.3, "pagination": { "page": 1, "total_pages": 1 }, "data": data }).to_string()
    }
}

#[test]
fn no_row_is_retired_and_nothing_is_counted_on_the_day_a_list_was_capped() {
    let rows = |from: usize| -> Vec<MarketModel> {
        (from..from + 500)
            .map(|at| row(&format!("id-{at:04}"), &format!("m-{at:04}"), &format!("M {at}"), 40.0))
            .collect()
    };
    let mut memory = MarketMemory::default();
    memory.take(&rows(0), Some("4.3"), None);
    let events = memory.take(&rows(3), Some("4.3"), None);
    assert!(events.contains(&MarketEvent::Capped(500)), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, MarketEvent::NotListed(_))));
    assert!(memory.missing.is_empty());
    assert!(aliases().starts_with("source,id"), "the alias file is there");
}
