//! From checked keys to typed settings. Every value here is already of the kind its key demands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::vocabulary::{Digest, HomeId, PoolId, ProviderId, StoreKind, Tier};

use super::kind::{instant, zone};
use super::reader::Reader;
use super::written::Written;
use super::yaml::Fault;
use super::{
    Addresses, Auth, Billing, ConfigPaths, Connection, DataPaths, Family, Fetch, Home, Issues, Market, MaxAges,
    NeverRule, PlanMeaning, Policy, PoolRule, SessionStore, Settings, TaskClassRule, Thresholds, TierRule,
    TierSettings, glob, rules,
};

/// The settings a file writes, with defaults for the rest, checked against each other.
pub(super) fn settings(text: &str, path: &str, body: &str, written: Written) -> Result<Settings, Fault> {
    let root = Reader::root(&written);
    rules::check_order(&root)?;
    let homes = homes(&root)?;
    let pools = root.items("pools").iter().map(pool_rule).collect::<Result<Vec<_>, _>>()?;
    let policy = policy(&root.group("policy"), &pools)?;
    let reports = PathBuf::from(root.text("reports"));
    let settings = Settings {
        path: path.to_owned(),
        digest: Digest::of(text.as_bytes()),
        body: body.to_owned(),
        schedule: root.text("schedule").to_owned(),
        timezone: zone(root.text("timezone")).expect("the kind lets only zones pass"),
        frozen_now: root.optional_text("frozen_now").and_then(instant),
        config: config(&root.group("config")),
        data: data(&root.group("data"))?,
        cache: PathBuf::from(root.text("cache")),
        log: root.optional_text("log").map_or_else(|| reports.join("pool-composition-log.md"), PathBuf::from),
        reports,
        pool_globs: pools.iter().map(|rule| glob(&rule.pattern).expect("the kind lets only globs pass")).collect(),
        homes,
        pools,
        policy,
        tiers: Tier::ALL
            .into_iter()
            .map(|tier| Ok((tier, tier_settings(&root.tier(tier))?)))
            .collect::<Result<_, _>>()?,
        tokens_per_task: root.number("tokens_per_task"),
        thresholds: Thresholds::read(&root),
        max_age_hours: MaxAges::read(&root),
        market: Market::read(&root),
        fetch: Fetch::read(&root),
        addresses: addresses(&root.group("fetch")),
        connections: root
            .named("connections")
            .into_iter()
            .map(|(id, group)| Ok((ProviderId::new(id), connection(&group)?)))
            .collect::<Result<_, _>>()?,
        issues: issues(&root.group("issues")),
        lines: BTreeMap::new(),
    };
    rules::check(&settings, &written)?;
    Ok(Settings { lines: written.lines, ..settings })
}

/// Where the config is.
fn config(group: &Reader) -> ConfigPaths {
    let path = |name| group.optional_text(name).map(PathBuf::from);
    let paths = |name| group.optional_ids(name).unwrap_or_default().into_iter().map(PathBuf::from).collect();
    ConfigPaths {
        opencode: group.text("opencode").into(),
        layers: paths("layers"),
        content: path("content"),
        overrides: path("overrides"),
        openchamber: path("openchamber"),
        omo: paths("omo"),
        litellm: path("litellm"),
        ccr: path("ccr"),
        scheduler: path("scheduler"),
    }
}

/// Where the data is.
fn data(group: &Reader) -> Result<DataPaths, Fault> {
    let path = |name| group.optional_text(name).map(PathBuf::from);
    Ok(DataPaths {
        market: path("market"),
        catalogues: path("catalogues"),
        retirements: path("retirements"),
        aliases: path("aliases"),
        market_history: path("market_history"),
        openrouter: path("openrouter"),
        prices: path("prices"),
        retirement_list: path("retirement_list"),
        provider_catalogue: path("provider_catalogue"),
        speeds: path("speeds"),
        sessions: path("sessions"),
        quotas: path("quotas"),
        babysitter: path("babysitter"),
        rollup: path("rollup"),
        session_stores: group.items("session_stores").iter().map(session_store).collect::<Result<_, _>>()?,
        task_classes: group.items("task_classes").iter().map(task_class).collect::<Result<_, _>>()?,
    })
}

/// One session store.
fn session_store(group: &Reader) -> Result<SessionStore, Fault> {
    let kind = group.required_text("kind")?;
    let text = |name| group.optional_text(name).map(str::to_owned);
    Ok(SessionStore {
        kind: StoreKind::ALL.into_iter().find(|known| known.as_str() == kind).expect("the kind lets only stores pass"),
        path: group.required_text("path")?.into(),
        provider: text("provider"),
        gateway: text("gateway"),
        home: text("home"),
    })
}

/// One rule for task classes. It must look at something.
fn task_class(group: &Reader) -> Result<TaskClassRule, Fault> {
    let text = |name| group.optional_text(name).map(str::to_owned);
    let rule =
        TaskClassRule { folder: text("folder"), agent: text("agent"), class: group.required_text("class")?.to_owned() };
    if rule.folder.is_none() && rule.agent.is_none() {
        return Err(Fault::new(group.line(), format!("\"{}\" names neither a folder nor an agent", group.shown)));
    }
    Ok(rule)
}

/// Where `fetch` gets its bodies.
fn addresses(group: &Reader) -> Addresses {
    let urls = group.group("urls");
    Addresses {
        market_key: group.text("market_key").to_owned(),
        market: urls.text("market").to_owned(),
        catalogues: urls.text("catalogues").to_owned(),
        retirements: urls.text("retirements").to_owned(),
        openrouter: urls.text("openrouter").to_owned(),
        prices: urls.text("prices").to_owned(),
        retirement_list: urls.optional_text("retirement_list").map(str::to_owned),
    }
}

/// One connection.
fn connection(group: &Reader) -> Result<Connection, Fault> {
    let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    Ok(Connection {
        base_url: group.required_text("base_url")?.trim_end_matches('/').to_owned(),
        key: group.optional_text("key").map(str::to_owned),
        auth: match group.text("auth") {
            "x-api-key" => Auth::Header("x-api-key"),
            "x-goog-api-key" => Auth::Header("x-goog-api-key"),
            "api-key" => Auth::Header("api-key"),
            _ => Auth::Bearer,
        },
        headers: group.optional_ids("headers").unwrap_or_default().into_iter().filter_map(header).collect(),
    })
}

/// The homes. One provider belongs to one home; a flat home has no cash price.
fn homes(root: &Reader) -> Result<BTreeMap<HomeId, Home>, Fault> {
    let mut homes = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (id, group) in root.named("homes") {
        let providers = group.optional_ids("providers").ok_or_else(|| group.missing("providers"))?;
        for (index, provider) in providers.iter().enumerate() {
            if let Some(owner) = owners.insert(provider, id) {
                let key = format!("providers[{index}]");
                let message = format!("\"homes.{id}.{key}\": provider {provider:?} already belongs to home {owner:?}");
                return Err(Fault::new(group.line_of(&key), message));
            }
        }
        let home = home(&group, &providers)?;
        homes.insert(HomeId::new(id), home);
    }
    Ok(homes)
}

/// One home.
fn home(group: &Reader, providers: &[&str]) -> Result<Home, Fault> {
    let billing = match group.required_text("billing")? {
        "flat" => Billing::Flat,
        "metered" => Billing::Metered,
        _ => Billing::Balance,
    };
    let cash = group.optional_number("cash_usd_per_lead_hour");
    if billing == Billing::Flat && cash.is_some() {
        let message = format!("\"{}.cash_usd_per_lead_hour\" stands on a flat home, which costs no cash", group.shown);
        return Err(Fault::new(group.line_of("cash_usd_per_lead_hour"), message));
    }
    if providers.is_empty() {
        return Err(Fault::new(group.line_of("providers"), format!("\"{}.providers\" is empty", group.shown)));
    }
    Ok(Home {
        providers: providers.iter().map(|provider| ProviderId::new(*provider)).collect(),
        billing,
        cash_usd_per_lead_hour: cash,
    })
}

/// One rule for pools.
fn pool_rule(group: &Reader) -> Result<PoolRule, Fault> {
    Ok(PoolRule {
        pattern: group.required_text("pattern")?.to_owned(),
        line: group.line(),
        tier: group.optional_text("tier").map(tier),
        owner: group.optional_text("owner").map(str::to_owned),
        task_class: group.optional_text("task_class").map(str::to_owned),
        min_output_tps: group.optional_number("min_output_tps"),
        max_first_answer_s: group.optional_number("max_first_answer_s"),
        min_index: group.optional_number("min_index"),
        max_bill_usd_per_mtok: group.optional_number("max_bill_usd_per_mtok"),
        needs_tools: group.flag("needs_tools"),
        min_context: group.optional_whole("min_context").map(u64::from),
        plan_meaning: group.optional_text("plan_meaning").map(plan_meaning),
        family: group.optional_text("family").map(family),
        unpooled: group.flag("unpooled"),
        different_vendor_from: group.optional_text("different_vendor_from").map(PoolId::new),
    })
}

/// The policy; its digest covers the rules for pools as well.
fn policy(group: &Reader, pools: &[PoolRule]) -> Result<Policy, Fault> {
    let mut policy = Policy {
        never: never_rules(group, "never")?,
        never_lead: never_rules(group, "never_lead")?,
        not_in_tier: tier_rules(group)?,
        only_homes: group.optional_ids("only_homes").unwrap_or_default().into_iter().map(HomeId::new).collect(),
        family: family(group.text("family")),
        plan_meaning: plan_meaning(group.text("plan_meaning")),
        digest: Digest::of(b""),
    };
    policy.digest = policy_digest(&policy, pools);
    Ok(policy)
}

/// A list of never-rules.
fn never_rules(policy: &Reader, name: &str) -> Result<Vec<NeverRule>, Fault> {
    let rule = |group: &Reader| {
        Ok(NeverRule {
            model: group.required_text("model")?.to_owned(),
            pools: group.text("pools").to_owned(),
            reason: group.optional_text("reason").map(str::to_owned),
            line: group.line(),
        })
    };
    policy.items(name).iter().map(rule).collect()
}

/// The rules that keep models out of tiers.
fn tier_rules(policy: &Reader) -> Result<Vec<TierRule>, Fault> {
    let tiers = policy.items("not_in_tier");
    let tiers = tiers.iter().map(|group| group.required_text("tier").map(tier)).collect::<Result<Vec<_>, _>>()?;
    let never = never_rules(policy, "not_in_tier")?;
    Ok(tiers.into_iter().zip(never).map(|(tier, never)| TierRule { tier, never }).collect())
}

/// Digest of what the policy means: layout, comments, lines and the order of `only_homes` do not enter it.
fn policy_digest(policy: &Policy, pools: &[PoolRule]) -> Digest {
    let never = |rules: &[NeverRule]| -> Json {
        rules.iter().map(|rule| json!({ "model": rule.model, "pools": rule.pools, "reason": rule.reason })).collect()
    };
    let not_in_tier: Json = policy
        .not_in_tier
        .iter()
        .map(|rule| {
            let never = &rule.never;
            json!({ "tier": rule.tier, "model": never.model, "pools": never.pools, "reason": never.reason })
        })
        .collect();
    let only_homes: BTreeSet<&str> = policy.only_homes.iter().map(HomeId::as_str).collect();
    let mut digested = json!({
        "never": never(&policy.never),
        "never_lead": never(&policy.never_lead),
        "only_homes": only_homes,
        "family": family_word(policy.family),
        "plan_meaning": plan_word(policy.plan_meaning),
        "pools": pools.iter().map(rule_json).collect::<Json>(),
    });
    // What stands at its default does not enter, so that a new kind of rule changes no digest of a policy that has none.
    if !policy.not_in_tier.is_empty() {
        digested["not_in_tier"] = not_in_tier;
    }
    Digest::of_json(&digested)
}

/// A rule for pools as JSON, without its line.
fn rule_json(rule: &PoolRule) -> Json {
    let mut digested = json!({
        "pattern": rule.pattern,
        "tier": rule.tier,
        "owner": rule.owner,
        "task_class": rule.task_class,
        "min_output_tps": rule.min_output_tps,
        "max_first_answer_s": rule.max_first_answer_s,
        "min_index": rule.min_index,
        "max_bill_usd_per_mtok": rule.max_bill_usd_per_mtok,
        "needs_tools": rule.needs_tools,
        "min_context": rule.min_context,
        "plan_meaning": rule.plan_meaning.map(plan_word),
        "family": rule.family.map(family_word),
    });
    if rule.unpooled {
        digested["unpooled"] = json!(true);
    }
    if let Some(other) = &rule.different_vendor_from {
        digested["different_vendor_from"] = json!(other);
    }
    digested
}

/// The numbers of a tier. Some index must weigh something.
fn tier_settings(group: &Reader) -> Result<TierSettings, Fault> {
    let mix = group.group("index_mix");
    let index_mix: BTreeMap<String, f64> =
        ["intelligence", "coding", "agentic"].into_iter().map(|name| (name.to_owned(), mix.number(name))).collect();
    if index_mix.values().all(|weight| *weight <= 0.0) {
        return Err(Fault::new(mix.line(), format!("\"{}\" has no weight above 0", mix.shown)));
    }
    Ok(TierSettings {
        stake_usd: group.number("stake_usd"),
        minute_usd: group.number("minute_usd"),
        floor: group.number("floor"),
        index_mix,
        cache_share: group.number("cache_share"),
        input_per_output: group.number("input_per_output"),
    })
}

/// The issue plan.
fn issues(group: &Reader) -> Issues {
    Issues {
        repository: group.optional_text("repository").map(str::to_owned),
        new_per_run: usize::try_from(group.whole("new_per_run")).unwrap_or(usize::MAX),
        api: group.text("api").to_owned(),
        token: group.text("token").to_owned(),
        login: group.optional_text("login").map(str::to_owned),
        timeout_s: group.number("timeout_s"),
        files_url: group.optional_text("files_url").map(str::to_owned),
    }
}

/// The tier of a word.
fn tier(word: &str) -> Tier {
    Tier::ALL.into_iter().find(|tier| tier.as_str() == word).expect("the kind lets only tiers pass")
}

/// The family of a word.
fn family(word: &str) -> Family {
    if word == "open" { Family::Open } else { Family::All }
}

/// The word of a family.
fn family_word(family: Family) -> &'static str {
    match family {
        Family::Open => "open",
        Family::All => "all",
    }
}

/// The plan meaning of a word.
fn plan_meaning(word: &str) -> PlanMeaning {
    match word {
        "plan_home" => PlanMeaning::PlanHome,
        "planning_twin" => PlanMeaning::PlanningTwin,
        _ => PlanMeaning::None,
    }
}

/// The word of a plan meaning.
fn plan_word(meaning: PlanMeaning) -> &'static str {
    match meaning {
        PlanMeaning::PlanHome => "plan_home",
        PlanMeaning::PlanningTwin => "planning_twin",
        PlanMeaning::None => "none",
    }
}
