//! Definitions of pools that are no opencode routes, made into the one shape that every pool has.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::vocabulary::{Place, PoolFormat, PoolId, RouteDef, RouteTarget, Selection, TargetKind};

/// Where a definition comes from.
pub(super) struct Shell<'a> {
    /// The kind of file.
    pub(super) format: PoolFormat,
    /// Its path.
    pub(super) path: &'a str,
    /// The JSON pointer of the definition.
    pub(super) pointer: &'a str,
}

impl Shell<'_> {
    /// An ordered list as a pool.
    pub(super) fn ordered(&self, id: PoolId, place: Place, targets: Vec<RouteTarget>) -> RouteDef {
        self.pool(id, place, Selection::Ordered, targets)
    }

    /// A pool. Its raw form holds what was read of it and nothing else, so that no secret of the file enters a digest or a report.
    pub(super) fn pool(&self, id: PoolId, place: Place, selection: Selection, targets: Vec<RouteTarget>) -> RouteDef {
        let raw = json!({
            "selection": selection.as_str(),
            "targets": targets.iter().map(|target| target.raw.clone()).collect::<Vec<Value>>(),
        });
        RouteDef {
            id,
            format: self.format,
            path: self.path.to_owned(),
            pointer: self.pointer.to_owned(),
            place,
            selection,
            selection_written: false,
            is_fixed: false,
            targets,
            weights: BTreeMap::new(),
            budgets: BTreeMap::new(),
            unknown_keys: Vec::new(),
            raw,
            invalid: None,
            is_untellable: false,
            unsaveable: None,
        }
    }
}

/// A target without anything beside what it names.
pub(super) fn target(kind: TargetKind, pointer: &str, place: Place, raw: Value) -> RouteTarget {
    RouteTarget {
        kind,
        default_variant: None,
        until_ms: None,
        weight: None,
        order: None,
        is_fallback: false,
        pointer: pointer.to_owned(),
        place,
        raw,
    }
}
