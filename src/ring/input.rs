//! What the constructor of a ring reads: definitions, the catalogue, what the operator settled, and how names resolve.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::expand::{Leaf, Scope, expand};
use super::policy::{PolicyBook, VendorRule};
use super::{Catalogue, PoolPolicy, RingMember};
use crate::settings::Settings;
use crate::vocabulary::{FleetConfig, HomeId, ModelId, PoolId, ProviderId, RouteDef, TargetRef};

/// What is known of a model wherever it stands.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Its canonical name.
    name: Option<ModelId>,
    /// The numbers of the rules that name it, once asked for.
    naming: Option<Rc<[usize]>>,
}

/// Provider → model as written → what is known of it, as far as it was asked for.
type Names = BTreeMap<ProviderId, BTreeMap<String, Known>>;

/// Everything the constructor needs; read once, so that what was validated is what is judged.
pub struct RingInput<'a> {
    /// Definitions of every layer.
    pub(super) config: &'a FleetConfig,
    /// The definition of every pool that counts.
    routes: BTreeMap<&'a PoolId, &'a RouteDef>,
    /// What the router's catalogue offers; `None` when it may not be used.
    catalogue: Option<&'a Catalogue>,
    /// Homes, rules for pools and policy.
    pub(super) settings: &'a Settings,
    /// The rules that name models, compiled.
    book: PolicyBook,
    /// Provider → its home and whether that is a plan home.
    pub(super) homes: BTreeMap<&'a ProviderId, (&'a HomeId, bool)>,
    /// The canonical model of a target, or `None` when its name could not be matched.
    model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
    /// What `model_of` said so far.
    names: RefCell<Names>,
    /// Canonical model → vendor.
    vendors: Arc<BTreeMap<ModelId, String>>,
    /// The review instant, epoch milliseconds.
    now_ms: i64,
}

impl<'a> RingInput<'a> {
    /// The input of a run: definitions, what exists, what the operator settled, how names resolve, and the review instant in epoch
    /// milliseconds.
    pub fn new(
        config: &'a FleetConfig,
        catalogue: Option<&'a Catalogue>,
        settings: &'a Settings,
        model_of: &'a dyn Fn(&TargetRef) -> Option<ModelId>,
        now_ms: i64,
    ) -> Self {
        let homes = settings
            .homes
            .iter()
            .flat_map(|(id, home)| home.providers.iter().map(move |provider| (provider, (id, home.is_plan()))));
        Self {
            config,
            routes: config.effective(),
            catalogue,
            settings,
            book: PolicyBook::new(settings),
            homes: homes.collect(),
            model_of,
            names: RefCell::default(),
            vendors: Arc::default(),
            now_ms,
        }
    }

    /// The same input that knows the vendors of canonical models.
    #[must_use]
    pub fn with_vendors(self, vendors: Arc<BTreeMap<ModelId, String>>) -> Self {
        Self { vendors, ..self }
    }

    /// The rules for one pool.
    pub fn policy(&self, pool: &PoolId) -> PoolPolicy {
        let other = self.settings.pool_rule(pool).and_then(|rule| rule.different_vendor_from.as_ref());
        let rule = other.filter(|other| *other != pool).and_then(|other| self.vendor_rule(other));
        PoolPolicy::for_pool(self.settings, &self.book, pool, rule)
    }

    /// The vendors of everything a pool may call; `None` when there is no such pool.
    fn vendor_rule(&self, other: &PoolId) -> Option<VendorRule> {
        let route = self.routes.get(other)?;
        let leaves = expand(self.scope(), route).leaves;
        let vendor = |leaf: &Leaf<'_>| self.vendors.get(&self.name(leaf)?).cloned();
        let taken = leaves.iter().map(vendor).collect();
        Some(VendorRule { other: other.clone(), taken, of: self.vendors.clone() })
    }

    /// What expanding needs to know.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { routes: &self.routes, config: self.config, catalogue: self.catalogue, now_ms: self.now_ms }
    }

    /// The canonical model of a leaf.
    pub(super) fn name(&self, leaf: &Leaf<'_>) -> Option<ModelId> {
        let known = |names: &Names| names.get(leaf.provider)?.get(leaf.model).map(|known| known.name.clone());
        if let Some(known) = known(&self.names.borrow()) {
            return known;
        }
        let name = (self.model_of)(&TargetRef { variant: None, ..leaf.reference() });
        let mut names = self.names.borrow_mut();
        names
            .entry(leaf.provider.clone())
            .or_default()
            .insert(leaf.model.to_owned(), Known { name: name.clone(), naming: None });
        name
    }

    /// The numbers of the rules that name the model of a leaf.
    pub(super) fn naming(&self, leaf: &Leaf<'_>, member: &RingMember) -> Rc<[usize]> {
        let known = |names: &Names| names.get(leaf.provider)?.get(leaf.model)?.naming.clone();
        if let Some(naming) = known(&self.names.borrow()) {
            return naming;
        }
        let naming: Rc<[usize]> = self.book.naming(member).into();
        let mut names = self.names.borrow_mut();
        let known = names.entry(leaf.provider.clone()).or_default().entry(leaf.model.to_owned()).or_default();
        known.naming = Some(naming.clone());
        naming
    }
}
