//! Policy rules, applied to resolved members: on canonical models in one case, whatever spelling or way brought them in.

use globset::{GlobBuilder, GlobMatcher};

use super::{CatalogueEntry, resolved::RingMember};
use crate::settings::{Family, PlanMeaning, Settings};
use crate::vocabulary::{HomeId, PoolId};

/// The rules that hold for one pool, compiled.
#[derive(Debug, Clone)]
pub struct PoolPolicy {
    /// Models never used here, with the reason and the settings key of the rule.
    never: Vec<(GlobMatcher, String, String)>,
    /// Models that may not lead here.
    never_lead: Vec<(GlobMatcher, String, String)>,
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
}

/// Which rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `policy.never`.
    Never,
    /// `policy.never_lead`.
    NeverLead,
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
}

impl Rule {
    /// The rule as a fragment.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Never => "never use this model",
            Self::NeverLead => "this model never leads",
            Self::OnlyHomes => "only the named homes",
            Self::PlanHome => "members of a plan pool sit on plan homes",
            Self::OpenFamily => "open weights only",
            Self::NeedsTools => "members call tools",
            Self::MinContext => "smallest context window",
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

impl PoolPolicy {
    /// The rules for one pool.
    pub fn for_pool(settings: &Settings, pool: &PoolId) -> Self {
        let rule = settings.pool_rule(pool);
        let meaning = rule.and_then(|rule| rule.plan_meaning).unwrap_or(settings.policy.plan_meaning);
        let family = rule.and_then(|rule| rule.family).unwrap_or(settings.policy.family);
        let compile = |rules: &[crate::settings::NeverRule], key: &str| {
            rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| matches(&rule.pools, pool.as_str()))
                .filter_map(|(i, rule)| {
                    let matcher = glob(&rule.model)?;
                    Some((matcher, rule.reason.clone().unwrap_or_default(), format!("policy.{key}[{i}]")))
                })
                .collect()
        };
        Self {
            never: compile(&settings.policy.never, "never"),
            never_lead: compile(&settings.policy.never_lead, "never_lead"),
            only_homes: settings.policy.only_homes.clone(),
            plan_homes_only: meaning == PlanMeaning::PlanHome && pool.as_str().ends_with("-plan"),
            open_only: family == Family::Open,
            needs_tools: rule.is_some_and(|rule| rule.needs_tools),
            min_context: rule.and_then(|rule| rule.min_context),
        }
    }

    /// The rules a model outside the pool would break if it joined under a target: what is true of members is asked of
    /// candidates before they are named.
    pub fn broken_by_candidate(&self, candidate: &RingMember, entry: Option<&CatalogueEntry>) -> Vec<(Rule, String)> {
        self.broken_by(candidate, entry).into_iter().map(|(rule, _, detail)| (rule, detail)).collect()
    }

    /// The rules a member breaks. Of a capability only a known shortfall counts; of openness an unknown one does too,
    /// because a pool of open weights that holds an unknown model is no pool of open weights.
    pub(super) fn broken_by(&self, member: &RingMember, entry: Option<&CatalogueEntry>) -> Vec<(Rule, String, String)> {
        let mut broken = Vec::new();
        if let Some((_, reason, key)) = named_in(&self.never, member) {
            broken.push((Rule::Never, key.clone(), with_reason("the policy names this model", reason)));
        }
        if !self.only_homes.is_empty() && !self.only_homes.contains(&member.key.home) {
            broken.push((Rule::OnlyHomes, "policy.only_homes".to_owned(), "its home is not among them".to_owned()));
        }
        if self.plan_homes_only && !member.on_plan_home {
            let detail = "its home is not a plan home (billing is not flat)".to_owned();
            broken.push((Rule::PlanHome, "policy.plan_meaning".to_owned(), detail));
        }
        if self.open_only && entry.and_then(|entry| entry.open_weights) != Some(true) {
            broken.push((
                Rule::OpenFamily,
                "policy.family".to_owned(),
                "its weights are not known to be open".to_owned(),
            ));
        }
        if self.needs_tools && entry.and_then(|entry| entry.tools) == Some(false) {
            broken.push((Rule::NeedsTools, "pools".to_owned(), "it does not call tools".to_owned()));
        }
        if let (Some(least), Some(context)) = (self.min_context, entry.and_then(|entry| entry.context))
            && context < least
        {
            broken.push((
                Rule::MinContext,
                "pools".to_owned(),
                format!("its context is {context} tokens, {least} needed"),
            ));
        }
        broken
    }

    /// The rule that keeps a member from leading, if one does.
    pub(super) fn forbids_lead(&self, member: &RingMember) -> Option<(String, String)> {
        named_in(&self.never_lead, member)
            .map(|(_, reason, key)| (key.clone(), with_reason("the policy names this model", reason)))
    }
}

/// The first of some rules whose pattern matches a member: by its canonical model or by the id as written.
fn named_in<'a>(
    rules: &'a [(GlobMatcher, String, String)],
    member: &RingMember,
) -> Option<&'a (GlobMatcher, String, String)> {
    let written = member.target.model.to_lowercase();
    let tail = written.rsplit('/').next().unwrap_or_default().to_owned();
    let names = [member.key.model.as_str().to_lowercase(), written, tail];
    rules
        .iter()
        .find(|(matcher, ..)| names.iter().any(|name| spellings(name).iter().any(|name| matcher.is_match(name))))
}

/// A name and the same with dots as dashes: hosts spell versions either way.
fn spellings(name: &str) -> [String; 2] {
    [name.to_owned(), name.replace('.', "-")]
}

/// A sentence fragment with the reason in brackets, if there is one.
fn with_reason(text: &str, reason: &str) -> String {
    if reason.is_empty() { text.to_owned() } else { format!("{text} ({reason})") }
}

/// Compiles a pattern for lower-case names; settings have validated it.
fn glob(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(&pattern.to_lowercase()).build().ok().map(|glob| glob.compile_matcher())
}

/// Whether a text matches a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    GlobBuilder::new(pattern).build().is_ok_and(|glob| glob.compile_matcher().is_match(text))
}
