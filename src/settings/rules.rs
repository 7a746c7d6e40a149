//! Rules between settings: what each key alone allows and together cannot be.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use globset::GlobMatcher;

use super::kind::did_you_mean;
use super::reader::Reader;
use super::written::Written;
use super::yaml::{Fault, quoted};
use super::{HomeId, NeverRule, PoolRule, Settings};

/// Pairs of numbers of which the first must not be above the second.
const ORDERED: &[(&str, &str)] = &[
    ("bars.watch", "bars.propose"),
    ("bars.propose", "bars.once"),
    ("bars.withdraw", "bars.keep"),
    ("bars.keep", "bars.propose"),
    ("prior.kappa_min", "prior.kappa_max"),
    ("windows.gap", "windows.gap_high"),
    ("sizing.speed_lower", "sizing.speed_ratio"),
];

/// Checks the pairs of numbers that have an order.
pub(super) fn check_order(root: &Reader) -> Result<(), Fault> {
    for (low, high) in ORDERED {
        let (least, most) = (root.number(low), root.number(high));
        if least > most {
            let line = root.first_line(&[low, high]);
            return Err(Fault::new(line, format!("\"{low}\" ({least}) must not be above \"{high}\" ({most})")));
        }
    }
    let (young, old) = (root.number("rows.mature_hours"), root.number("rows.max_age_days") * 24.0);
    if young >= old {
        let line = root.first_line(&["rows.mature_hours", "rows.max_age_days"]);
        let message = format!("\"rows.mature_hours\" ({young}) must be below \"rows.max_age_days\" ({old} hours)");
        return Err(Fault::new(line, message));
    }
    Ok(())
}

/// Checks everything that takes more than one setting to see.
pub(super) fn check(settings: &Settings, written: &Written) -> Result<(), Fault> {
    check_pool_rules(settings)?;
    check_never("never", &settings.policy.never)?;
    check_never("never_lead", &settings.policy.never_lead)?;
    check_tier_rules(settings)?;
    check_vendor_rules(settings, written)?;
    check_only_homes(settings, written)?;
    check_connections(settings, written)?;
    check_outputs(settings, written)
}

/// A pattern stands once, and no earlier rule takes every pool a later one could match.
fn check_pool_rules(settings: &Settings) -> Result<(), Fault> {
    for (index, rule) in settings.pools.iter().enumerate() {
        for (earlier, earlier_glob) in settings.pools[..index].iter().zip(&settings.pool_globs) {
            if earlier.pattern == rule.pattern || takes_all(&earlier.pattern, earlier_glob, &rule.pattern) {
                return Err(Fault::new(rule.line, idle_rule(index, rule, earlier)));
            }
        }
    }
    Ok(())
}

/// Whether a pattern matches every pool that a later one could match: it is `*`, or it matches the one name.
fn takes_all(earlier: &str, glob: &GlobMatcher, later: &str) -> bool {
    earlier == "*" || !later.contains(['*', '?', '[', '{', '\\']) && glob.is_match(later)
}

/// The complaint about a rule that an earlier one leaves nothing to.
fn idle_rule(index: usize, rule: &PoolRule, earlier: &PoolRule) -> String {
    let (pattern, first) = (quoted(&rule.pattern), earlier.line);
    if earlier.pattern == rule.pattern {
        return format!("\"pools[{index}].pattern\" lists {pattern} a second time (first on line {first})");
    }
    let earlier = quoted(&earlier.pattern);
    format!("\"pools[{index}]\" can never apply: {earlier} on line {first} matches {pattern} before it")
}

/// A model stands once for the same pools.
fn check_never(name: &str, rules: &[NeverRule]) -> Result<(), Fault> {
    let mut seen = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        if let Some(first) = seen.insert((&rule.model, &rule.pools), rule.line) {
            let model = quoted(&rule.model);
            let message = format!(
                "\"policy.{name}[{index}]\" lists {model} for the same pools a second time (first on line {first})"
            );
            return Err(Fault::new(rule.line, message));
        }
    }
    Ok(())
}

/// A model stands once for the same tier and pools.
fn check_tier_rules(settings: &Settings) -> Result<(), Fault> {
    let mut seen = BTreeMap::new();
    for (index, rule) in settings.policy.not_in_tier.iter().enumerate() {
        let never = &rule.never;
        if let Some(first) = seen.insert((rule.tier, &never.model, &never.pools), never.line) {
            let message = format!(
                "\"policy.not_in_tier[{index}]\" lists {} for the same tier and pools a second time (first on line {first})",
                quoted(&never.model)
            );
            return Err(Fault::new(never.line, message));
        }
    }
    Ok(())
}

/// A pool cannot differ from its own vendors.
fn check_vendor_rules(settings: &Settings, written: &Written) -> Result<(), Fault> {
    for (index, rule) in settings.pools.iter().enumerate() {
        if let Some(other) = rule.different_vendor_from.as_ref().filter(|other| other.as_str() == rule.pattern) {
            let key = format!("pools[{index}].different_vendor_from");
            let message = format!("\"{key}\" names the pool itself: {}", quoted(other.as_str()));
            return Err(Fault::new(written.line(&[&key]), message));
        }
    }
    Ok(())
}

/// Only homes that exist may be allowed.
fn check_only_homes(settings: &Settings, written: &Written) -> Result<(), Fault> {
    for (index, home) in settings.policy.only_homes.iter().enumerate() {
        if !settings.homes.contains_key(home) {
            let key = format!("policy.only_homes[{index}]");
            let near = did_you_mean(home.as_str(), settings.homes.keys().map(HomeId::as_str)).unwrap_or_default();
            let message =
                format!("\"{key}\" names a home that \"homes\" does not have: {}{near}", quoted(home.as_str()));
            return Err(Fault::new(written.line(&[&key]), message));
        }
    }
    Ok(())
}

/// A connection needs a place for its list, which a file of one provider is not; its headers hold no key of their own.
fn check_connections(settings: &Settings, written: &Written) -> Result<(), Fault> {
    let Some((id, _)) = settings.connections.first_key_value() else { return Ok(()) };
    if settings.data.provider_catalogue.is_none() {
        let message = "\"connections\" are written, but \"data.provider_catalogue\" does not say where their lists go";
        return Err(Fault::new(written.line(&["connections", &format!("connections.{id}")]), message.to_owned()));
    }
    for (id, connection) in &settings.connections {
        let secret = |name: &str| {
            matches!(
                name.to_lowercase().as_str(),
                "authorization" | "x-api-key" | "x-goog-api-key" | "api-key" | "cookie"
            )
        };
        if let Some((name, _)) = connection.headers.iter().find(|(name, _)| secret(name)) {
            let key = format!("connections.{id}.headers");
            let message = format!(
                "\"{key}\" holds {}: name the variable of the key in \"connections.{id}.key\" instead",
                quoted(name)
            );
            return Err(Fault::new(written.line(&[&key]), message));
        }
    }
    Ok(())
}

/// What a run writes must not be what it reads.
fn check_outputs(settings: &Settings, written: &Written) -> Result<(), Fault> {
    let reports = plain(&settings.reports);
    let log = plain(&settings.log);
    let cache = plain(&settings.cache);
    if cache == reports || cache == log {
        return Err(Fault::new(written.line(&["cache"]), "\"cache\" must be a folder of its own"));
    }
    if log == reports {
        return Err(Fault::new(written.line(&["log", "reports"]), "\"log\" and \"reports\" are the same path"));
    }
    for (key, path) in inputs(settings) {
        let path = plain(path);
        for (output, target) in [("log", &log), ("reports", &reports), ("cache", &cache)] {
            if path == *target {
                let line = written.line(&[output, key]);
                let what = if key.is_empty() { "this file".to_owned() } else { format!("what {key:?} reads") };
                return Err(Fault::new(line, format!("\"{output}\" would write over {what}")));
            }
        }
    }
    Ok(())
}

/// Every path that is read, with its key; the instruction file has none.
fn inputs(settings: &Settings) -> Vec<(&'static str, &Path)> {
    let (config, data) = (&settings.config, &settings.data);
    let mut paths = vec![("", Path::new(&settings.path)), ("config.opencode", &config.opencode)];
    paths.extend(config.layers.iter().map(|path| ("config.layers", path.as_path())));
    paths.extend(config.omo.iter().map(|path| ("config.omo", path.as_path())));
    let optional = [
        ("config.content", &config.content),
        ("config.overrides", &config.overrides),
        ("config.openchamber", &config.openchamber),
        ("config.litellm", &config.litellm),
        ("config.ccr", &config.ccr),
        ("config.scheduler", &config.scheduler),
        ("data.market", &data.market),
        ("data.catalogues", &data.catalogues),
        ("data.retirements", &data.retirements),
        ("data.aliases", &data.aliases),
        ("data.market_history", &data.market_history),
        ("data.openrouter", &data.openrouter),
        ("data.prices", &data.prices),
        ("data.retirement_list", &data.retirement_list),
        ("data.provider_catalogue", &data.provider_catalogue),
        ("data.speeds", &data.speeds),
        ("data.sessions", &data.sessions),
        ("data.quotas", &data.quotas),
        ("data.babysitter", &data.babysitter),
        ("data.rollup", &data.rollup),
        ("data.spend_logs", &data.spend_logs),
    ];
    paths.extend(optional.into_iter().filter_map(|(key, path)| Some((key, path.as_deref()?))));
    paths.extend(data.session_stores.iter().map(|store| ("data.session_stores", store.path.as_path())));
    paths
}

/// A path without `.` and with `..` taken back, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_where_they_lead() {
        assert_eq!(plain(Path::new("./a/../b/./c")), Path::new("b/c"));
        assert_eq!(plain(Path::new("../a")), Path::new("../a"));
        assert_eq!(plain(Path::new("/a/../b")), Path::new("/b"));
    }
}
