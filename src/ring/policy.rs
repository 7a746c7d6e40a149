//! Policy rules, applied to resolved members: on canonical models in one case, whatever spelling or way brought them in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use super::{CatalogueEntry, RingMember};
use crate::settings::{Family, NeverRule, PlanMeaning, Settings};
use crate::vocabulary::{HomeId, ModelId, PoolId, Tier};

/// A rule that names models, compiled.
#[derive(Debug)]
struct Named {
    /// Its number among all rules that name models.
    index: usize,
    /// Models it names.
    model: GlobMatcher,
    /// Pools it holds for.
    pools: GlobMatcher,
    /// The tier it holds for; `None` is every tier.
    tier: Option<Tier>,
    /// Why.
    reason: String,
    /// Settings key of the rule.
    key: String,
}

/// Every rule of the settings that names models, compiled once.
#[derive(Debug, Clone, Default)]
pub(super) struct PolicyBook {
    /// `policy.never`.
    never: Vec<Arc<Named>>,
    /// `policy.never_lead`.
    never_lead: Vec<Arc<Named>>,
    /// `policy.not_in_tier`.
    not_in_tier: Vec<Arc<Named>>,
}

impl PolicyBook {
    /// The rules of some settings.
    pub(super) fn new(settings: &Settings) -> Self {
        let policy = &settings.policy;
        let plain = |rule| (rule, None);
        let in_tier = policy.not_in_tier.iter().map(|rule| (&rule.never, Some(rule.tier)));
        let (never, never_lead) = (policy.never.len(), policy.never_lead.len());
        Self {
            never: compile(policy.never.iter().map(plain), "never", 0),
            never_lead: compile(policy.never_lead.iter().map(plain), "never_lead", never),
            not_in_tier: compile(in_tier, "not_in_tier", never + never_lead),
        }
    }

    /// The numbers of the rules that name a member's model: the same in every pool, so it is worked out once per model.
    pub(super) fn naming(&self, member: &RingMember) -> Vec<usize> {
        let rules: Vec<&Named> =
            self.never.iter().chain(&self.never_lead).chain(&self.not_in_tier).map(Arc::as_ref).collect();
        if rules.is_empty() {
            return Vec::new();
        }
        let names = spelt(member);
        rules.into_iter().filter(|rule| names.iter().any(|name| rule.model.is_match(name))).map(|r| r.index).collect()
    }
}

/// Compiles rules; settings have validated their patterns.
fn compile<'a>(
    rules: impl Iterator<Item = (&'a NeverRule, Option<Tier>)>,
    name: &str,
    first: usize,
) -> Vec<Arc<Named>> {
    let named = |(i, (rule, tier)): (usize, (&NeverRule, Option<Tier>))| {
        Some(Arc::new(Named {
            index: first + i,
            model: glob(&dashed(&rule.model))?,
            pools: glob(&rule.pools)?,
            tier,
            reason: rule.reason.clone().unwrap_or_default(),
            key: format!("policy.{name}[{i}]"),
        }))
    };
    rules.enumerate().filter_map(named).collect()
}

/// The rules that hold for one pool.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent rules, each named")]
pub struct PoolPolicy {
    /// Models never used here.
    never: Vec<Arc<Named>>,
    /// Models that may not lead here.
    never_lead: Vec<Arc<Named>>,
    /// Models not used in pools of this tier.
    not_in_tier: Vec<Arc<Named>>,
    /// Homes that may be used; empty means any.
    only_homes: Vec<HomeId>,
    /// Whether members must sit on plan homes.
    plan_homes_only: bool,
    /// Whether weights must be published.
    open_only: bool,
    /// Whether members must call tools.
    needs_tools: bool,
    /// Smallest context window accepted.
    min_context: Option<u64>,
    /// Whether the pool may have one member only.
    is_unpooled: bool,
    /// The pool whose vendors no member may share.
    vendors: Option<VendorRule>,
    /// Settings key of the pool's own rule.
    pool_key: String,
}

/// A checker pool against the pool it checks.
#[derive(Debug, Clone)]
pub(super) struct VendorRule {
    /// The pool that is checked.
    pub(super) other: PoolId,
    /// The vendors of its members; `None` stands for one that is not known.
    pub(super) taken: BTreeSet<Option<String>>,
    /// Canonical model → vendor.
    pub(super) of: Arc<BTreeMap<ModelId, String>>,
}

/// Which rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `policy.never`.
    Never,
    /// `policy.never_lead`.
    NeverLead,
    /// `policy.not_in_tier`.
    NotInTier,
    /// `policy.only_homes`.
    OnlyHomes,
    /// `plan_meaning: plan_home`.
    PlanHome,
    /// `family: open`.
    OpenFamily,
    /// `needs_tools`.
    NeedsTools,
    /// `min_context`.
    MinContext,
    /// `unpooled`.
    Unpooled,
    /// `different_vendor_from`.
    DifferentVendor,
}

impl Rule {
    /// The rule as a fragment.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Never => "never use this model",
            Self::NeverLead => "this model never leads",
            Self::NotInTier => "not in a pool of this tier",
            Self::OnlyHomes => "only the named homes",
            Self::PlanHome => "members of a plan pool sit on plan homes",
            Self::OpenFamily => "open weights only",
            Self::NeedsTools => "members call tools",
            Self::MinContext => "smallest context window",
            Self::Unpooled => "one member only",
            Self::DifferentVendor => "another vendor than the pool it checks",
        }
    }
}

/// A member that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Settings key of the rule, for its line.
    pub setting: String,
    /// What exactly is wrong, as a fragment.
    pub detail: String,
    /// The member.
    pub member: RingMember,
}

/// What the policy says of one member.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// Rules it breaks: rule, settings key, detail.
    pub(super) broken: Vec<(Rule, String, String)>,
    /// Rules that cannot be judged for want of a fact.
    pub(super) open: Vec<Rule>,
}

impl PoolPolicy {
    /// The rules for one pool.
    pub(super) fn for_pool(settings: &Settings, book: &PolicyBook, pool: &PoolId, vendors: Option<VendorRule>) -> Self {
        let rule = settings.pool_rule(pool);
        let meaning = rule.and_then(|rule| rule.plan_meaning).unwrap_or(settings.policy.plan_meaning);
        let family = rule.and_then(|rule| rule.family).unwrap_or(settings.policy.family);
        let tier = settings.tier_of(pool).0;
        let of = |rules: &[Arc<Named>]| -> Vec<Arc<Named>> {
            let holds =
                |rule: &&Arc<Named>| rule.tier.is_none_or(|named| named == tier) && rule.pools.is_match(pool.as_str());
            rules.iter().filter(holds).cloned().collect()
        };
        let index = rule.and_then(|rule| settings.pools.iter().position(|known| known.line == rule.line));
        Self {
            never: of(&book.never),
            never_lead: of(&book.never_lead),
            not_in_tier: of(&book.not_in_tier),
            only_homes: settings.policy.only_homes.clone(),
            plan_homes_only: meaning == PlanMeaning::PlanHome && pool.as_str().ends_with("-plan"),
            open_only: family == Family::Open,
            needs_tools: rule.is_some_and(|rule| rule.needs_tools),
            min_context: rule.and_then(|rule| rule.min_context),
            is_unpooled: rule.is_some_and(|rule| rule.unpooled),
            vendors,
            pool_key: index.map_or_else(|| "pools".to_owned(), |index| format!("pools[{index}]")),
        }
    }

    /// The rules a model outside the pool would break if it joined under a target: what is true of members is asked of
    /// candidates before they are named. A rule that cannot be judged keeps a candidate out as well.
    pub fn broken_by_candidate(&self, candidate: &RingMember, entry: Option<&CatalogueEntry>) -> Vec<(Rule, String)> {
        let judged = self.judge(candidate, entry, None);
        let open = judged.open.into_iter().map(|rule| (rule, "a fact that the rule needs is not known".to_owned()));
        judged.broken.into_iter().map(|(rule, _, detail)| (rule, detail)).chain(open).collect()
    }

    /// Whether the pool may have one member only, and the settings key that says so.
    pub(super) fn unpooled(&self) -> Option<String> {
        self.is_unpooled.then(|| format!("{}.unpooled", self.pool_key))
    }

    /// What the rules say of a member. A fact that is not known breaks no rule and fulfils none.
    pub(super) fn judge(
        &self,
        member: &RingMember,
        entry: Option<&CatalogueEntry>,
        naming: Option<&[usize]>,
    ) -> Judged {
        let mut judged = Judged::default();
        self.judge_names(member, naming, &mut judged);
        if !self.only_homes.is_empty() && !self.only_homes.contains(&member.key.home) {
            let detail = "its home is not among them".to_owned();
            judged.broken.push((Rule::OnlyHomes, "policy.only_homes".to_owned(), detail));
        }
        if self.plan_homes_only && !member.has_home() {
            judged.open.push(Rule::PlanHome);
        } else if self.plan_homes_only && !member.on_plan_home {
            let detail = "its home is not a plan home (billing is not flat)".to_owned();
            judged.broken.push((Rule::PlanHome, "policy.plan_meaning".to_owned(), detail));
        }
        self.judge_capabilities(entry, &mut judged);
        self.judge_vendor(member, &mut judged);
        judged
    }

    /// The rules that name models.
    fn judge_names(&self, member: &RingMember, naming: Option<&[usize]>, judged: &mut Judged) {
        for (rule, named) in [(Rule::Never, &self.never), (Rule::NotInTier, &self.not_in_tier)] {
            if let Some(found) = named_in(named, member, naming) {
                let detail = with_reason("the policy names this model", &found.reason);
                judged.broken.push((rule, found.key.clone(), detail));
            }
        }
    }

    /// The rules on what a model is and can do, by the catalogue.
    fn judge_capabilities(&self, entry: Option<&CatalogueEntry>, judged: &mut Judged) {
        if self.open_only {
            match entry.and_then(|entry| entry.open_weights) {
                Some(true) => {}
                Some(false) => {
                    let detail = "its weights are not published".to_owned();
                    judged.broken.push((Rule::OpenFamily, "policy.family".to_owned(), detail));
                }
                None => judged.open.push(Rule::OpenFamily),
            }
        }
        if self.needs_tools {
            match entry.and_then(|entry| entry.tools) {
                Some(true) => {}
                Some(false) => {
                    let key = format!("{}.needs_tools", self.pool_key);
                    judged.broken.push((Rule::NeedsTools, key, "it does not call tools".to_owned()));
                }
                None => judged.open.push(Rule::NeedsTools),
            }
        }
        if let Some(least) = self.min_context {
            match entry.and_then(|entry| entry.context) {
                Some(context) if context < least => {
                    let detail = format!("its context is {context} tokens, {least} needed");
                    judged.broken.push((Rule::MinContext, format!("{}.min_context", self.pool_key), detail));
                }
                Some(_) => {}
                None => judged.open.push(Rule::MinContext),
            }
        }
    }

    /// The rule that a checker shares no vendor with what it checks.
    fn judge_vendor(&self, member: &RingMember, judged: &mut Judged) {
        let Some(rule) = &self.vendors else { return };
        match rule.of.get(&member.key.model) {
            Some(vendor) if rule.taken.contains(&Some(vendor.clone())) => {
                let detail = format!("its vendor {vendor} also has a member in {}", rule.other);
                let key = format!("{}.different_vendor_from", self.pool_key);
                judged.broken.push((Rule::DifferentVendor, key, detail));
            }
            Some(_) if !rule.taken.contains(&None) => {}
            _ => judged.open.push(Rule::DifferentVendor),
        }
    }

    /// The rule that keeps a member from leading, if one does.
    pub(super) fn forbids_lead(&self, member: &RingMember, naming: Option<&[usize]>) -> Option<(String, String)> {
        named_in(&self.never_lead, member, naming)
            .map(|rule| (rule.key.clone(), with_reason("the policy names this model", &rule.reason)))
    }
}

/// The first of some rules that names a member; `naming` are the numbers of those that do, where they were worked out before.
fn named_in<'a>(rules: &'a [Arc<Named>], member: &RingMember, naming: Option<&[usize]>) -> Option<&'a Named> {
    if rules.is_empty() {
        return None;
    }
    let mut rules = rules.iter().map(Arc::as_ref);
    if let Some(naming) = naming {
        return rules.find(|rule| naming.contains(&rule.index));
    }
    let names = spelt(member);
    rules.find(|rule| names.iter().any(|name| rule.model.is_match(name)))
}

/// The names a rule may know a member by: its canonical model, the id as written, its last part, and the family of each.
fn spelt(member: &RingMember) -> Vec<String> {
    let written = dashed(&member.target.model);
    let tail = written.rsplit('/').next().unwrap_or_default().to_owned();
    let names = vec![dashed(member.key.model.as_str()), written, tail];
    let families: Vec<String> = names.iter().map(|name| family(name)).collect();
    names.into_iter().chain(families).collect()
}

/// A name or pattern in lower case with dots as dashes: hosts spell versions either way, and so do people who write rules.
fn dashed(name: &str) -> String {
    name.to_lowercase().replace('.', "-")
}

/// The family of a name: its words that are no version.
fn family(name: &str) -> String {
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    name.split('-').filter(|word| !is_version(word)).collect::<Vec<_>>().join("-")
}

/// A sentence fragment with the reason in brackets, if there is one.
fn with_reason(text: &str, reason: &str) -> String {
    if reason.is_empty() { text.to_owned() } else { format!("{text} ({reason})") }
}

/// Compiles a pattern; settings have validated it.
fn glob(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).build().ok().map(|glob| glob.compile_matcher())
}
