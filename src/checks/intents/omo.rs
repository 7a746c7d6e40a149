//! Edits of oh-my-openagent's lists: a `model`, then `fallback_models`, in a grammar of their own (reference `pools` §3).

use serde_json::{Value, json};

use crate::verdict::Edit;
use crate::vocabulary::{OMO_VARIANTS, RouteDef, RouteTarget, TargetRef};

/// One list as it stands in the file.
struct List<'a> {
    /// Pointer of the category or agent.
    pointer: &'a str,
    /// Its first model.
    primary: &'a RouteTarget,
    /// All targets.
    targets: &'a [RouteTarget],
    /// The fallbacks as written.
    fallbacks: &'a Value,
}

/// The list of a route whose first model is in use.
fn list(route: &RouteDef) -> Option<List<'_>> {
    let primary = route.targets.first().filter(|first| first.pointer == format!("{}/model", route.pointer))?;
    let fallbacks = primary.raw.get("fallback_models")?;
    Some(List { pointer: &route.pointer, primary, targets: &route.targets, fallbacks })
}

/// A reference with its effort in the text itself; `None` when the grammar has no word for the effort.
fn reference(base: &str, effort: Option<&str>) -> Option<String> {
    let has_own = base.ends_with(')') || base.rsplit(' ').next().is_some_and(|word| OMO_VARIANTS.contains(&word));
    match effort.filter(|_| !has_own) {
        None => Some(base.to_owned()),
        Some(effort) => OMO_VARIANTS.contains(&effort).then(|| format!("{base}({effort})")),
    }
}

/// A target of opencode's grammar in this one.
fn translated(target: &TargetRef) -> Option<String> {
    reference(&format!("{}/{}", target.provider, target.model), target.variant.as_deref())
}

/// What a target says, as one text; `None` when it says more than a text can.
fn text(target: &RouteTarget) -> Option<String> {
    let raw = &target.raw;
    if let Some(text) = raw.as_str() {
        return Some(text.to_owned());
    }
    let known = ["model", "variant", "reasoningEffort", "fallback_models"];
    let says_more = raw.as_object()?.keys().any(|key| !known.contains(&key.as_str()));
    let effort = ["variant", "reasoningEffort"].iter().find_map(|key| raw.get(*key)?.as_str());
    if says_more { None } else { reference(raw.get("model")?.as_str()?, effort) }
}

impl List<'_> {
    /// Another text as the first model; its effort stands in the text.
    fn lead(&self, text: String) -> Vec<Edit> {
        let mut edits = vec![Edit::Replace { pointer: self.primary.pointer.clone(), value: Value::String(text) }];
        if self.primary.raw.get("variant").is_some() {
            edits.push(Edit::Remove { pointer: format!("{}/variant", self.pointer) });
        }
        edits
    }

    /// Pointer of the fallbacks.
    fn rest(&self) -> String {
        format!("{}/fallback_models", self.pointer)
    }

    /// Takes a fallback out; the last one with its key.
    fn without(&self, target: &RouteTarget) -> Edit {
        let is_last = self.fallbacks.as_array().is_none_or(|all| all.len() == 1);
        Edit::Remove { pointer: if is_last { self.rest() } else { target.pointer.clone() } }
    }
}

/// Takes a target out; behind a first model that goes the next moves up.
pub(super) fn removal(route: &RouteDef, target: &RouteTarget) -> Option<Vec<Edit>> {
    let list = list(route)?;
    if target.pointer != list.primary.pointer {
        return Some(vec![list.without(target)]);
    }
    let next = list.targets.get(1)?;
    let mut edits = list.lead(text(next)?);
    edits.push(list.without(next));
    Some(edits)
}

/// Another target in the place of one.
pub(super) fn replacement(route: &RouteDef, target: &RouteTarget, successor: &TargetRef) -> Option<Vec<Edit>> {
    let (list, new) = (list(route)?, translated(successor)?);
    if target.pointer == list.primary.pointer {
        return Some(list.lead(new));
    }
    let Some(written) = target.raw.as_object() else {
        return Some(vec![Edit::Replace { pointer: target.pointer.clone(), value: json!(new) }]);
    };
    let mut edits = vec![Edit::Replace { pointer: format!("{}/model", target.pointer), value: json!(new) }];
    let efforts = ["variant", "reasoningEffort"].into_iter().filter(|key| written.contains_key(*key));
    edits.extend(efforts.map(|key| Edit::Remove { pointer: format!("{}/{key}", target.pointer) }));
    Some(edits)
}

/// A fallback to the front; the others keep their order.
pub(super) fn to_front(route: &RouteDef, target: &RouteTarget) -> Option<Vec<Edit>> {
    let list = list(route)?;
    let (new, old) = (text(target)?, Value::String(text(list.primary)?));
    let index = target.pointer.strip_prefix(&list.rest())?.trim_start_matches('/').parse::<usize>().ok();
    let mut edits = list.lead(new);
    edits.push(match (list.fallbacks.as_array(), index) {
        (Some(all), Some(index)) if index > 0 && index < all.len() => {
            let others = all.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, value)| value.clone());
            Edit::Replace { pointer: list.rest(), value: std::iter::once(old).chain(others).collect() }
        }
        _ => Edit::Replace { pointer: target.pointer.clone(), value: old },
    });
    Some(edits)
}

/// The first model out, and its successor behind the others.
pub(super) fn successor_behind(route: &RouteDef, target: &RouteTarget, successor: &TargetRef) -> Option<Vec<Edit>> {
    let list = list(route)?;
    let (next, new) = (list.targets.get(1)?, Value::String(translated(successor)?));
    if target.pointer != list.primary.pointer {
        return None;
    }
    let mut edits = list.lead(text(next)?);
    if list.fallbacks.is_array() {
        edits.push(Edit::Remove { pointer: next.pointer.clone() });
        edits.push(Edit::Append { array: list.rest(), value: new });
    } else {
        edits.push(Edit::Replace { pointer: list.rest(), value: new });
    }
    Some(edits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::change::apply;
    use crate::checks::intents;
    use crate::sources::pools::omo;
    use crate::verdict::Intent;
    use crate::vocabulary::{ConfigFile, RouteDef};

    /// A file with one category.
    fn file(category: &str) -> ConfigFile {
        ConfigFile {
            path: "omo.jsonc".to_owned(),
            text: format!("{{\n  \"categories\": {{ \"c\": {category} }}\n}}\n"),
        }
    }

    /// The list of that category.
    fn route(category: &str) -> RouteDef {
        omo::parse(&file(category)).unwrap().routes.remove(0)
    }

    /// The category after a change, and how the reader has it then.
    fn after(category: &str, intent: Option<Intent>) -> (Value, Vec<String>) {
        let applied = apply(&file(category), &intent.unwrap().edits).unwrap();
        let config = omo::parse(&ConfigFile { path: "omo.jsonc".to_owned(), text: applied.text }).unwrap();
        let shown = |route: &RouteDef| route.targets.iter().map(super::super::shown).collect();
        (applied.document_after["categories"]["c"].clone(), config.routes.first().map(shown).unwrap_or_default())
    }

    /// A list with a variant beside its model, a text, an object and a bare name.
    const LIST: &str = r#"{ "model": "a/one", "variant": "high", "fallback_models": ["b/two low", { "model": "c/three", "reasoningEffort": "max" }] }"#;

    #[test]
    fn a_first_model_that_goes_makes_room_for_the_next() {
        let (category, order) = after(LIST, intents::retire(&route(LIST), "/categories/c/model"));
        assert_eq!(
            category,
            json!({"model": "b/two low", "fallback_models": [{"model": "c/three", "reasoningEffort": "max"}]})
        );
        assert_eq!(order, ["b/two#low", "c/three#max"]);
    }

    #[test]
    fn a_fallback_that_goes_takes_its_place_with_it() {
        let (category, _) = after(LIST, intents::retire(&route(LIST), "/categories/c/fallback_models/1"));
        assert_eq!(category["fallback_models"], json!(["b/two low"]));
        let bare = r#"{ "model": "a/one", "fallback_models": "b/two" }"#;
        let (category, _) = after(bare, intents::retire(&route(bare), "/categories/c/fallback_models"));
        assert_eq!(category, json!({"model": "a/one"}));
    }

    #[test]
    fn a_successor_is_written_in_the_grammar_of_the_file() {
        let list = route(LIST);
        let (category, _) = after(LIST, intents::replace(&list, "/categories/c/model", "x/new#xhigh", "x/new"));
        assert_eq!((&category["model"], category.get("variant")), (&json!("x/new(xhigh)"), None));
        let (category, order) =
            after(LIST, intents::replace(&list, "/categories/c/fallback_models/1", "x/new", "x/new"));
        assert_eq!(category["fallback_models"][1], json!({"model": "x/new"}));
        assert_eq!(order, ["a/one#high", "b/two#low", "x/new"]);
        assert!(
            intents::replace(&list, "/categories/c/model", "x/new#odd", "x/new").is_none(),
            "no word for that effort"
        );
        let (_, order) = after(LIST, intents::replace_behind(&list, "/categories/c/model", "x/new#low"));
        assert_eq!(order, ["b/two#low", "c/three#max", "x/new#low"]);
    }

    #[test]
    fn a_fallback_that_leads_leaves_the_others_in_order() {
        let list = route(LIST);
        for (index, order) in
            [(0, ["b/two#low", "a/one#high", "c/three#max"]), (1, ["c/three#max", "a/one#high", "b/two#low"])]
        {
            let target = &list.targets[index + 1];
            let edits = super::to_front(&list, target).unwrap();
            let applied = apply(&file(LIST), &edits).unwrap();
            let text = applied.text.clone();
            let config = omo::parse(&ConfigFile { path: "omo.jsonc".to_owned(), text }).unwrap();
            let shown: Vec<String> = config.routes[0].targets.iter().map(super::super::shown).collect();
            assert_eq!(shown, order, "{}", applied.text);
        }
    }

    #[test]
    fn an_entry_that_says_more_than_a_text_can_is_left_to_its_owner() {
        let list = r#"{ "model": "a/one", "fallback_models": [{ "model": "b/two", "temperature": 0.2 }] }"#;
        assert!(intents::retire(&route(list), "/categories/c/model").is_none());
    }
}
