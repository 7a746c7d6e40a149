//! opencode's `experimental.model_routes` and everything else of its config that bears on a pool (reference `pools` §1).

mod consumers;
mod providers;
mod route;
mod tuning;

use super::jsonc::Document;
use crate::vocabulary::{ConfigFile, FleetConfig};

pub(crate) use consumers::target_of_text;

/// The provider id under which pools are models.
pub const ROUTE_PROVIDER: &str = "opencode-route";

/// Whether a text holds a part that the router replaces before parsing and the review never resolves.
pub(crate) fn needs_resolving(text: &str) -> bool {
    text.contains("{env:") || text.contains("{file:")
}

/// Reads one opencode file. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    if !root.is_object() {
        return Err(format!("{}: the config is not an object", root.place()));
    }
    let mut config = FleetConfig { files: vec![file.clone()], ..FleetConfig::default() };
    if let Some(routes) = root.get("experimental").and_then(|experimental| experimental.get("model_routes")) {
        if !routes.is_object() {
            return Err(format!("{}: `experimental.model_routes` is not an object", routes.place()));
        }
        config.routes = routes.entries().into_iter().map(|(id, route)| route::read_route(&id, &route)).collect();
    }
    config.consumers = consumers::consumers(&root, &file.path);
    config.blacklist = providers::blacklist(&root);
    config.own_models = providers::own_models(&root);
    config.provider_rules = providers::rules(&root);
    config.notes = tuning::notes(&root);
    config.problems = providers::ignored_lists(&root);
    config.routes_off = providers::routes_off(&root);
    config.settle_routes_off();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{ConsumerTarget, PoolId};

    /// A file with some text.
    fn file(text: &str) -> ConfigFile {
        ConfigFile { path: "opencode.jsonc".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn places_count_lines_from_one_and_pointers_are_escaped() {
        let text = "{\n \"experimental\": {\"model_routes\": {\n  \"a\": {\"targets\": [\n    \"p/m\"\n  ], \"weights\": {\"p/m\": 2}}}}}";
        let config = parse(&file(text)).unwrap();
        let route = &config.routes[0];
        assert_eq!(route.place.line, 3, "the key of the route stands on the third line");
        assert_eq!(route.targets[0].place.line, 4);
        assert_eq!(route.targets[0].pointer, "/experimental/model_routes/a/targets/0");
        assert!((route.weights["p/m"].weight - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_syntax_error_names_file_and_line() {
        let error = parse(&file("{\n  \"a\": 1,\n  oops\n}")).unwrap_err();
        assert!(error.starts_with("opencode.jsonc:3: "), "{error}");
    }

    #[test]
    fn brackets_deeper_than_any_config_are_refused_and_do_not_overflow_the_stack() {
        let error = parse(&file(&"[".repeat(200_000))).unwrap_err();
        assert_eq!(error, "opencode.jsonc:1: brackets nest deeper than 128");
    }

    #[test]
    fn a_doubled_key_counts_where_it_stands_last() {
        let config = parse(&file(r#"{"model": "a/b", "model": "opencode-route/x"}"#)).unwrap();
        assert_eq!(config.consumers.len(), 1);
        assert_eq!(config.consumers[0].target, ConsumerTarget::Pool(PoolId::new("x")));
    }

    #[test]
    fn a_near_miss_key_is_named_with_the_key_it_may_have_meant() {
        let config =
            parse(&file(r#"{"experimental": {"model_routes": {"a": {"targets": ["p/m"], "wieghts": {}}}}}"#)).unwrap();
        assert_eq!(config.routes[0].unknown_keys[0].near.as_deref(), Some("weights"));
    }
}
