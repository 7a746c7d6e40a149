//! What a change must keep to before it may be said: which files may be changed at all, and that its result still has rings
//! that break no rule which today's keep. Only the rings that a change reaches are built again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::gather::Gathered;
use super::pools::Planned;
use crate::change::Applied;
use crate::ring::{ResolvedRing, RingError, RingInput, Rule};
use crate::sources::pools::{litellm, omo, openchamber, opencode};
use crate::verdict::{Intent, ProposalKind};
use crate::vocabulary::{ConfigFile, FleetConfig, PoolFormat, PoolId, RouteDef, TargetKind};

/// A ring, or why there is none.
type Ring = Result<ResolvedRing, RingError>;

/// Everything that results are held against, worked out once for all changes of a run.
pub(super) struct Rules<'a> {
    /// Everything read.
    gathered: &'a Gathered,
    /// What rings are built from.
    input: &'a RingInput<'a>,
    /// Pool → its ring as it stands.
    rings: BTreeMap<&'a PoolId, &'a Ring>,
    /// Pool → the pools that nest it.
    parents: BTreeMap<&'a PoolId, BTreeSet<&'a PoolId>>,
    /// Pool → its definitions in every layer, lowest first.
    definitions: BTreeMap<&'a PoolId, Vec<&'a RouteDef>>,
    /// Path → the format of the pools it defines.
    formats: BTreeMap<&'a str, PoolFormat>,
}

impl<'a> Rules<'a> {
    /// The rules of a run.
    pub(super) fn new(gathered: &'a Gathered, planned: &'a [Planned], input: &'a RingInput<'a>) -> Self {
        let config = &gathered.config;
        let mut parents: BTreeMap<&PoolId, BTreeSet<&PoolId>> = BTreeMap::new();
        let mut definitions: BTreeMap<&PoolId, Vec<&RouteDef>> = BTreeMap::new();
        let mut formats = BTreeMap::new();
        for route in &config.routes {
            definitions.entry(&route.id).or_default().push(route);
            formats.entry(route.path.as_str()).or_insert(route.format);
            for target in &route.targets {
                if let TargetKind::Pool { id, .. } = &target.kind {
                    parents.entry(id).or_default().insert(&route.id);
                }
            }
        }
        let pools = planned.iter().filter(|planned| !planned.is_single);
        Self {
            gathered,
            input,
            rings: pools.map(|planned| (&planned.route.id, &planned.ring)).collect(),
            parents,
            definitions,
            formats,
        }
    }

    /// Whether a file may be changed. One outside the workspace cannot be patched from it, and claude-code-router's old file,
    /// which its newer versions no longer read, is not patched at all.
    pub(super) fn may_change(&self, path: &str) -> Result<(), String> {
        if self.formats.get(path) == Some(&PoolFormat::Ccr) {
            return Err(format!("files of {} are changed by hand", PoolFormat::Ccr.as_str()));
        }
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err("outside_workspace".to_owned());
        }
        Ok(())
    }

    /// Rebuilds what the change would leave behind: the file must parse, the pool must still have a ring, and no pool may
    /// break a rule that it keeps today.
    pub(super) fn check_result(&self, pool: &PoolId, intent: &Intent, applied: &Applied) -> Result<(), String> {
        let Some(format) = self.formats.get(intent.path.as_str()) else {
            let file = ConfigFile { path: intent.path.clone(), text: applied.text.clone() };
            return openchamber::parse(&file).map(|_| ());
        };
        let changed = self.changed(&intent.path, *format, applied)?;
        let input = self.input.amended(changed.iter().map(|(id, route)| (id, route.as_ref())));
        let mut after: BTreeMap<&PoolId, Ring> = BTreeMap::new();
        let reached = self.reached_by(std::iter::once(pool).chain(changed.keys()));
        for reached in reached {
            let Some(route) = input.route(reached) else { continue };
            let ring = ResolvedRing::build(&input, route);
            let before = self.rings.get(reached).copied().map(broken_rules).unwrap_or_default();
            if let Some((_, rule)) = broken_rules(&ring).difference(&before).next() {
                return Err(format!("its result would break \"{}\" in {reached}", rule.as_str()));
            }
            after.insert(reached, ring);
        }
        match after.get(pool) {
            _ if intent.kind == ProposalKind::RetirePool => Ok(()),
            Some(Ok(_)) => Ok(()),
            _ => Err("its result would leave the pool without a member".to_owned()),
        }
    }

    /// The definitions that count after a change, of the pools whose definition it touches; `None` where nothing is left of one.
    fn changed(
        &self,
        path: &str,
        format: PoolFormat,
        applied: &Applied,
    ) -> Result<BTreeMap<PoolId, Option<RouteDef>>, String> {
        let ids = |config: &FleetConfig| config.routes.iter().map(|route| route.id.clone()).collect::<Vec<_>>();
        let (before, mut after) = self.before_and_after(path, format, applied)?;
        after.routes_off.clone_from(&self.gathered.config.routes_off);
        after.settle_routes_off();
        let touched: BTreeSet<PoolId> = ids(&before).into_iter().chain(ids(&after)).collect();
        let counting = |id: PoolId| {
            let own = after.routes.iter().find(|route| route.id == id);
            let known = self.definitions.get(&id).into_iter().flatten().copied();
            let others = known.filter(|route| route.path != path);
            // The changed file's definition stands where it stood among the layers.
            let at = self.definitions.get(&id).and_then(|all| all.iter().position(|route| route.path == path));
            let mut layers: Vec<&RouteDef> = others.collect();
            if let Some(own) = own {
                layers.insert(at.unwrap_or(layers.len()).min(layers.len()), own);
            }
            let config = FleetConfig { routes: layers.into_iter().cloned().collect(), ..FleetConfig::default() };
            let route = config.effective().into_values().next().cloned();
            (id, route)
        };
        Ok(touched.into_iter().map(counting).collect())
    }

    /// The definitions of a file before and after a change: of opencode's those that the change reaches, else all of them.
    fn before_and_after(
        &self,
        path: &str,
        format: PoolFormat,
        applied: &Applied,
    ) -> Result<(FleetConfig, FleetConfig), String> {
        let parse = |text: String| {
            let file = ConfigFile { path: path.to_owned(), text };
            match format {
                PoolFormat::OpenCode => opencode::parse(&file),
                PoolFormat::Omo => omo::parse(&file),
                PoolFormat::LiteLlm => litellm::parse(&file),
                PoolFormat::Ccr => Err(format!("files of {} are changed by hand", format.as_str())),
            }
        };
        if format == PoolFormat::OpenCode {
            let read = |document: &Value| parse(document.to_string());
            return Ok((read(&applied.document_before)?, read(&applied.document_after)?));
        }
        let file = self.gathered.config.files.iter().find(|file| file.path == path).ok_or("its file was not read")?;
        Ok((parse(file.text.clone())?, parse(applied.text.clone())?))
    }

    /// Some pools and every pool that nests one of them, at any depth.
    fn reached_by<'b>(&'b self, pools: impl Iterator<Item = &'b PoolId>) -> BTreeSet<&'b PoolId> {
        let mut open: Vec<&PoolId> = pools.collect();
        let mut reached: BTreeSet<&PoolId> = open.iter().copied().collect();
        while let Some(next) = open.pop() {
            for parent in self.parents.get(next).into_iter().flatten() {
                if reached.insert(parent) {
                    open.push(parent);
                }
            }
        }
        reached
    }
}

/// Target and rule of everything that breaks a rule in a ring.
fn broken_rules(ring: &Ring) -> BTreeSet<(String, Rule)> {
    let violations = ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations);
    violations.iter().map(|violation| (violation.member.target.to_string(), violation.rule.clone())).collect()
}
