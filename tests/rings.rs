//! Rings against handed expansions: what each pool really contains, what the router drops and why.
//! The handed folders are enumerated, so that more cases of the same shape run without a change here.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use pool_review::ring::{Catalogue, CatalogueEntry, ResolvedRing, RingError, RingInput, Rotation, ShareNode, assign};
use pool_review::settings::Settings;
use pool_review::sources::pools::{openchamber, opencode};
use pool_review::vocabulary::{ConfigFile, ConsumerTarget, FleetConfig, ModelId, ProviderId};
use serde_json::{Value, json};

/// Settings without homes and without policy: the expansion alone is under test.
const NO_POLICY: &str = "---\npolicy:\n  plan_meaning: none\n---\nNo policy.\n";

/// A handed file as the sources see it.
fn config_file(path: &Path) -> ConfigFile {
    ConfigFile { path: "opencode.jsonc".to_owned(), text: std::fs::read_to_string(path).unwrap() }
}

/// A handed JSON file.
fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The stand-in for a loaded catalogue, in the order of the file: order decides what a pattern brings in first.
fn catalogue(path: &Path) -> Catalogue {
    let text = std::fs::read_to_string(path).unwrap();
    let value = json(path);
    let mut catalogue = Catalogue::default();
    for (provider, models) in value.as_object().unwrap().iter().filter(|(key, _)| !key.starts_with('_')) {
        let start = text.find(&format!("\"{provider}\":")).unwrap();
        let mut models: Vec<_> = models.as_object().unwrap().iter().collect();
        models.sort_by_key(|(id, _)| text[start..].find(&format!("\"{id}\":")));
        for (id, model) in models {
            let variants =
                model["variants"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
            let entry = CatalogueEntry {
                variants,
                enabled: model["enabled"].as_bool().unwrap(),
                tools: None,
                open_weights: None,
                context: None,
            };
            catalogue.add(&ProviderId::new(provider), id, entry);
        }
    }
    catalogue
}

/// The review instant a handed note states, in epoch milliseconds.
fn now_ms(note: &str) -> i64 {
    let digits: String = note[note.find("(ms ").unwrap() + 4..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The rings of every route of a config.
fn rings(
    config: &FleetConfig,
    catalogue: &Catalogue,
    now_ms: i64,
) -> BTreeMap<String, Result<ResolvedRing, RingError>> {
    let settings = Settings::parse(NO_POLICY, "settings.md").unwrap();
    let model_of = |target: &pool_review::vocabulary::TargetRef| Some(ModelId::new(target.model.clone()));
    let input = RingInput::new(config, Some(catalogue), &settings, &model_of, now_ms);
    config.routes.iter().map(|route| (route.id.to_string(), ResolvedRing::build(&input, route))).collect()
}

/// `[target, reason]` pairs of a ring or of the attempt to build one.
fn drops(ring: &Result<ResolvedRing, RingError>) -> Vec<(String, String)> {
    let dropped = ring.as_ref().map_or_else(RingError::dropped, ResolvedRing::dropped);
    dropped.iter().map(|dropped| (dropped.target.clone(), dropped.reason.as_str().to_owned())).collect()
}

#[test]
fn pools_expand_to_exactly_the_handed_members_in_order() {
    let Some(shared) = common::shared() else { return };
    let mut checked = 0;
    for expected in common::files_below(&shared.join("examples"), &|name| name == "expected-expansion.json") {
        let folder = expected.parent().unwrap();
        let config = ["opencode.jsonc", ".opencode/opencode.jsonc"].map(|name| folder.join(name));
        let config = opencode::parse(&config_file(config.iter().find(|path| path.is_file()).unwrap())).unwrap();
        let expected = json(&expected);
        let now = now_ms(expected["_note"].as_str().unwrap());
        let rings = rings(&config, &catalogue(&folder.join("catalog.json")), now);
        let pools = expected["pools"].as_object().unwrap();
        assert_eq!(rings.keys().collect::<Vec<_>>(), pools.keys().collect::<Vec<_>>(), "{}", folder.display());
        for (pool, wanted) in pools {
            compare(pool, &rings[pool], wanted);
            checked += 1;
        }
    }
    assert!(checked > 0, "the handed folder holds no expansion to compare with");
}

/// One ring against one handed expansion.
fn compare(pool: &str, ring: &Result<ResolvedRing, RingError>, wanted: &Value) {
    assert_eq!(ring.is_ok(), wanted["registered"].as_bool().unwrap(), "{pool}: registered");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let wanted_drops: Vec<_> =
        wanted["dropped"].as_array().unwrap().iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
    assert_eq!(drops(ring), wanted_drops, "{pool}: dropped");
    let Ok(ring) = ring else { return };
    let offered: Vec<_> = wanted["offersVariants"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(ring.offers_variants(), offered, "{pool}: variants offered");
    let members = wanted.get("members").or_else(|| wanted.get("leaves")).unwrap().as_array().unwrap();
    let targets: Vec<_> = ring.members().iter().map(|member| member.target.to_string()).collect();
    assert_eq!(targets, members.iter().map(|member| text(&member["target"])).collect::<Vec<_>>(), "{pool}: members");
    compare_nodes(pool, ring, wanted);
    for (member, wanted) in ring.members().iter().zip(members) {
        assert_eq!(member.default_variant.as_deref(), wanted["defaultVariant"].as_str(), "{pool}: default variant");
        let map: BTreeMap<String, String> = serde_json::from_value(wanted["variantMap"].clone()).unwrap_or_default();
        assert_eq!(member.variant_map, map, "{pool}: variant map of {}", member.target);
        let budget = member.budget.as_ref().map(|budget| &budget.raw);
        assert_eq!(budget, wanted.get("budget"), "{pool}: budget of {}", member.target);
        assert_eq!(member.target.variant.is_some(), wanted["pinned"].as_bool().unwrap(), "{pool}: pinned");
        if let Some(weight) = wanted["weight"].as_f64() {
            assert!((member.weight - weight).abs() < 1e-9, "{pool}: weight of {}", member.target);
            assert_eq!(member.listed_in.as_str(), wanted["in"].as_str().unwrap(), "{pool}: listed in");
        }
    }
    let total: f64 = ring.members().iter().map(|member| member.share).sum();
    assert!((total - 1.0).abs() < 1e-9, "{pool}: configured shares add up to 1, not {total}");
}

/// The groups of a ring against handed ones: route, selection, and children by leaf or by group with their weights.
fn compare_nodes(pool: &str, ring: &ResolvedRing, wanted: &Value) {
    let Some(wanted) = wanted["nodes"].as_array() else { return };
    let mut groups = Vec::new();
    group(ring.tree(), &mut groups);
    let shown: Vec<Value> = groups.into_iter().map(Option::unwrap).collect();
    assert_eq!(shown.len(), wanted.len(), "{pool}: groups");
    for (shown, wanted) in shown.iter().zip(wanted) {
        assert_eq!(shown, &with_floats(wanted), "{pool}");
    }
}

/// Adds a group and those below it, in the order in which the router numbers them; gives its number.
fn group(node: &ShareNode, groups: &mut Vec<Option<Value>>) -> Value {
    let ShareNode::Group { route, selection, children } = node else {
        let ShareNode::Leaf(leaf) = node else { unreachable!() };
        return json!({ "leaf": leaf });
    };
    let number = groups.len();
    groups.push(None);
    let children: Vec<Value> = children
        .iter()
        .map(|(child, weight)| {
            let mut child = group(child, groups);
            child["weight"] = json!(weight);
            child
        })
        .collect();
    groups[number] = Some(json!({ "route": route.as_str(), "selection": selection.as_str(), "children": children }));
    json!({ "node": number })
}

/// The same value with weights as the ring holds them.
fn with_floats(node: &Value) -> Value {
    let mut node = node.clone();
    for child in node["children"].as_array_mut().unwrap() {
        child["weight"] = json!(child["weight"].as_f64().unwrap());
    }
    node
}

#[test]
fn a_bad_part_drops_the_whole_route_as_the_router_does() {
    let Some(shared) = common::shared() else { return };
    for expected in common::files_below(&shared.join("examples"), &|name| name == "bad-routes.expected.json") {
        let config = opencode::parse(&config_file(&expected.with_file_name("bad-routes.jsonc"))).unwrap();
        let routes: BTreeMap<_, _> = config.routes.iter().map(|route| (route.id.as_str(), route)).collect();
        for (id, wanted) in json(&expected).as_object().unwrap().iter().filter(|(id, _)| !id.starts_with('_')) {
            // `null` is not settled by the router's own code, so nothing is asserted of it.
            if let Some(kept) = wanted["opencodeKeepsRoute"].as_bool() {
                assert_eq!(routes[id.as_str()].invalid.is_none(), kept, "{id}: {:?}", routes[id.as_str()].invalid);
            }
            if let Some(saved) = wanted["openchamberAccepts"].as_bool() {
                let refused = &routes[id.as_str()].unsaveable;
                assert_eq!(refused.is_none(), saved, "{id}: OpenChamber: {refused:?}");
            }
        }
    }
}

#[test]
fn categories_are_the_shipped_ones_then_the_files_own() {
    let Some(shared) = common::shared() else { return };
    for expected in common::files_below(&shared.join("examples"), &|name| name == "routing.expected-effective.json") {
        let file = config_file(&expected.with_file_name("routing.json"));
        let config = openchamber::parse(&file).unwrap();
        let expected = json(&expected);
        let shown = |target: &ConsumerTarget| match target {
            ConsumerTarget::Pool(id) => format!("opencode-route/{id}"),
            ConsumerTarget::Model(target) => target.to_string(),
            other => format!("{other:?}"),
        };
        let categories: Vec<_> =
            config.consumers.iter().filter(|consumer| consumer.id.starts_with("category/")).collect();
        let wanted = expected["categories"].as_array().unwrap();
        assert_eq!(categories.len(), wanted.len());
        for (category, wanted) in categories.iter().zip(wanted) {
            assert_eq!(category.id, format!("category/{}", wanted["id"].as_str().unwrap()));
            assert_eq!(shown(&category.target), wanted["runs"].as_str().unwrap(), "{}", category.id);
            assert_eq!(category.variant.as_deref(), wanted["variant"].as_str(), "{}", category.id);
            assert_eq!(category.is_enabled, wanted["enabled"].as_bool().unwrap(), "{}", category.id);
        }
        let fallback = config.consumers.iter().find(|consumer| consumer.id == "fallback/openchamber").unwrap();
        assert_eq!(shown(&fallback.target), expected["fallback"]["runs"].as_str().unwrap());
    }
}

#[test]
fn configured_shares_multiply_down_the_tree() {
    use pool_review::ring::{configured_shares, lead_of};
    use pool_review::vocabulary::Selection;

    /// A handed tree over leaves that are numbered as they come.
    fn tree(value: &Value, keys: &mut Vec<String>) -> ShareNode {
        if let Some(key) = value["key"].as_str() {
            keys.push(key.to_owned());
            return ShareNode::Leaf(keys.len() - 1);
        }
        let value = value.get("tree").unwrap_or(value);
        let selection = match value["selection"].as_str().unwrap() {
            "ordered" => Selection::Ordered,
            "weighted" => Selection::Weighted,
            _ => Selection::RoundRobin,
        };
        let children = value["children"].as_array().unwrap();
        let children = children.iter().map(|child| (tree(child, keys), child["weight"].as_f64().unwrap())).collect();
        ShareNode::Group { route: "".into(), selection, children }
    }

    let Some(shared) = common::shared() else { return };
    let mut checked = 0;
    for golden in common::files_below(&shared.join("golden"), &|name| {
        Path::new(name).extension().is_some_and(|extension| extension == "json")
    }) {
        for case in json(&golden)["cases"].as_array().unwrap().iter().filter(|case| case["fn"] == "configured_share") {
            let mut keys = Vec::new();
            let nested = tree(&case["input"]["tree"], &mut keys);
            let computed = configured_shares(&nested, keys.len());
            for (key, share) in keys.iter().zip(&computed) {
                let wanted = case["output"]["shares"][key].as_f64().unwrap();
                assert!((share - wanted).abs() <= 1e-6, "{}: {key} {share} {wanted}", case["id"]);
            }
            assert_eq!(keys[lead_of(&computed).unwrap()], case["output"]["lead"].as_str().unwrap(), "{}", case["id"]);
            checked += 1;
        }
    }
    assert!(checked > 0, "no golden case of `configured_share` was found");
}

#[test]
fn rotations_are_those_of_the_golden_cases() {
    let Some(shared) = common::shared() else { return };
    let mut checked = 0;
    for golden in common::files_below(&shared.join("golden"), &|name| {
        Path::new(name).extension().is_some_and(|extension| extension == "json")
    }) {
        for case in json(&golden)["cases"].as_array().unwrap().iter().filter(|case| case["fn"] == "ring") {
            let (input, output, id) = (&case["input"], &case["output"], &case["id"]);
            let members: Vec<(String, f64)> = serde_json::from_value(input["members"].clone()).unwrap();
            let down: Vec<String> = serde_json::from_value(input["down"].clone()).unwrap();
            let down: Vec<usize> =
                down.iter().map(|name| members.iter().position(|(known, _)| known == name).unwrap()).collect();
            let jobs = usize::try_from(input["jobs"].as_u64().unwrap()).unwrap();
            let rotation = Rotation::of(&members.iter().map(|(_, weight)| *weight).collect::<Vec<_>>()).unwrap();
            let names = |slots: &[usize]| json!(slots.iter().map(|slot| members[*slot].0.clone()).collect::<Vec<_>>());
            assert_eq!(names(&rotation.block), output["block"], "{id}");
            assert_eq!(names(&rotation.smooth), output["smooth"], "{id}");
            assert_eq!(names(&assign(&rotation.block, jobs, &down)), output["assigned_block"], "{id}");
            assert_eq!(names(&assign(&rotation.smooth, jobs, &down)), output["assigned_smooth"], "{id}");
            for (name, ring) in [("count_error_block", &rotation.block), ("count_error_smooth", &rotation.smooth)] {
                let error = rotation.count_error(ring, jobs);
                assert!((error - output[name].as_f64().unwrap()).abs() <= 1e-6, "{id}: {name} {error}");
            }
            let given = rotation.shares_with_down(&rotation.block, &down);
            for ((name, _), share) in members.iter().zip(&given) {
                let wanted = output["share_down"][name].as_f64().unwrap();
                assert!((share - wanted).abs() <= 1e-6, "{id}: {name} {share} {wanted}");
            }
            checked += 1;
        }
    }
    assert!(checked > 0, "no golden case of `ring` was found");
}

#[test]
fn a_block_ring_starves_the_tail_of_short_runs_and_a_smooth_one_less() {
    let rotation = Rotation::of(&[2.0, 1.0]).unwrap();
    assert_eq!(rotation.starved(&rotation.block, 2), [1], "two-job runs of AAB never reach B");
    assert!(rotation.starved(&rotation.smooth, 2).is_empty());
    for weights in [[5.0, 1.0, 1.0], [3.0, 2.0, 1.0], [6.0, 6.0, 1.0]] {
        let rotation = Rotation::of(&weights).unwrap();
        for jobs in 1..=rotation.block.len() {
            let (block, smooth) =
                (rotation.count_error(&rotation.block, jobs), rotation.count_error(&rotation.smooth, jobs));
            assert!(smooth <= block + 1e-12, "{weights:?} after {jobs}: {smooth} {block}");
        }
    }
    assert_eq!(Rotation::of(&[0.5, 1.0]), None, "only whole weights have slots");
    assert_eq!(Rotation::of(&[1e9, 1.0]), None, "and not a billion of them");
    assert!(assign(&rotation.block, 3, &[0, 1]).is_empty(), "an all-down ring assigns nothing");
}
