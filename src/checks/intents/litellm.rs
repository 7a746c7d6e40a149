//! Edits of `LiteLLM` groups, whose members are entries of one list in the file. Only entries that stand alone for their member
//! are touched, and none is written anew: its key is the owner's to set.

use serde_json::json;

use crate::verdict::Edit;
use crate::vocabulary::{RouteDef, RouteTarget, TargetKind, TargetRef};

/// Whether one entry of the list is the whole member: a fallback is another group, and several deployments share a weight.
fn is_one_entry(target: &RouteTarget) -> bool {
    !target.is_fallback && target.raw.get("deployments").is_none()
}

/// The one target with a key, if a single entry stands for it.
fn of_key<'a>(route: &'a RouteDef, key: &str) -> Option<&'a RouteTarget> {
    let mut found = route.targets.iter().filter(|target| super::weight_key(target) == key);
    let target = found.next().filter(|target| is_one_entry(target))?;
    found.next().is_none().then_some(target)
}

/// The smallest subtree that some edits stand in: a pool has none of its own, and a change of one entry should not wait for the
/// others.
pub(super) fn subtree(edits: &[Edit]) -> String {
    let container = |edit: &Edit| match edit {
        Edit::Insert { object: pointer, .. } | Edit::Append { array: pointer, .. } => pointer.clone(),
        Edit::Remove { pointer }
        | Edit::ToFront { pointer }
        | Edit::Move { pointer, .. }
        | Edit::Replace { pointer, .. }
        | Edit::Expect { pointer } => {
            pointer.rsplit_once('/').map_or(String::new(), |(container, _)| container.to_owned())
        }
    };
    let shared = |a: String, b: String| {
        let parts = a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).map(|(part, _)| part);
        parts.collect::<Vec<_>>().join("/")
    };
    edits.iter().map(container).reduce(shared).unwrap_or_default()
}

/// The weight of a member; one without counts as one.
pub(super) fn weight(route: &RouteDef, key: &str) -> f64 {
    of_key(route, key).and_then(|target| target.weight).unwrap_or(1.0)
}

/// Takes an entry out.
pub(super) fn removal(target: &RouteTarget) -> Option<Vec<Edit>> {
    is_one_entry(target).then(|| vec![Edit::Remove { pointer: target.pointer.clone() }])
}

/// Another model of the same provider in an entry, which its key then opens too.
pub(super) fn replacement(target: &RouteTarget, successor: &TargetRef) -> Option<Vec<Edit>> {
    let TargetKind::Model(old) = &target.kind else { return None };
    let fits = is_one_entry(target) && old.provider == successor.provider && successor.variant.is_none();
    fits.then(|| {
        let pointer = format!("{}/litellm_params/model", target.pointer);
        vec![Edit::Replace { pointer, value: json!(successor.to_string()) }]
    })
}

/// The edits that set weights by key; none at all when one of them cannot be set in one place.
#[expect(clippy::cast_possible_truncation, reason = "proposed weights are small whole numbers")]
pub(super) fn weights(route: &RouteDef, wanted: &[&(String, f64)]) -> Vec<Edit> {
    let edit = |(key, weight): &&(String, f64)| {
        let target = of_key(route, key)?;
        let (object, value) = (format!("{}/litellm_params", target.pointer), json!(*weight as i64));
        let is_written = target.raw.get("weight").is_some_and(|weight| !weight.is_null());
        Some(if is_written {
            Edit::Replace { pointer: format!("{object}/weight"), value }
        } else {
            Edit::Insert { object, key: "weight".to_owned(), value }
        })
    };
    wanted.iter().map(edit).collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::subtree;
    use crate::checks::intents;
    use crate::sources::pools::litellm;
    use crate::verdict::Edit;
    use crate::vocabulary::{ConfigFile, RouteDef};

    /// The group `g` of a list.
    fn group(list: &str) -> RouteDef {
        let text = format!("model_list:\n{list}router_settings: {{ fallbacks: [{{ g: [h] }}] }}\n");
        let config = litellm::parse(&ConfigFile { path: "c.yaml".to_owned(), text }).unwrap();
        config.routes.into_iter().find(|route| route.id.as_str() == "litellm:g").unwrap()
    }

    #[test]
    fn a_successor_of_another_provider_needs_a_key_and_is_left_to_the_owner() {
        let route = group(
            "- { model_name: g, litellm_params: { model: a/b } }\n- { model_name: h, litellm_params: { model: x/y } }\n",
        );
        assert!(intents::replace(&route, "/model_list/0", "c/new", "c/new").is_none());
        let same = intents::replace(&route, "/model_list/0", "a/new", "a/new").unwrap();
        assert_eq!(same.pointer, "/model_list/0/litellm_params");
        assert!(intents::replace_behind(&route, "/model_list/0", "a/new").is_none());
    }

    #[test]
    fn deployments_of_one_model_and_fallback_groups_are_not_taken_out_in_one_place() {
        let route = group(
            "- { model_name: g, litellm_params: { model: a/b, weight: 2 } }\n- { model_name: g, litellm_params: { model: a/b } }\n- { model_name: g, litellm_params: { model: c/d, weight: 4 } }\n- { model_name: h, litellm_params: { model: x/y } }\n",
        );
        assert!(intents::retire(&route, "/model_list/0").is_none(), "two entries are one member");
        assert!(intents::retire(&route, "/router_settings/fallbacks/0").is_none());
        assert!(intents::to_one(&route, "/model_list/0").is_none());
        let one = intents::retire(&route, "/model_list/2").unwrap();
        assert_eq!(
            (one.pointer.as_str(), one.edits),
            ("/model_list", vec![Edit::Remove { pointer: "/model_list/2".to_owned() }])
        );
        let lowered = intents::to_one(&route, "/model_list/2").unwrap();
        assert_eq!(lowered.pointer, "/model_list/2/litellm_params");
    }

    #[test]
    fn the_subtree_is_what_all_edits_share() {
        let replace = |pointer: &str| Edit::Replace { pointer: pointer.to_owned(), value: 1.into() };
        assert_eq!(subtree(&[replace("/m/1/p/w"), replace("/m/2/p/w")]), "/m");
        assert_eq!(subtree(&[replace("/m/1/p/w"), replace("/m/1/p/x")]), "/m/1/p");
    }
}
