//! What `review` needs to plan issues, and with `--file-issues` to file them: settings, the token by its variable's name, and a
//! client behind the contract of the outputs.

use std::time::Duration;

use anyhow::{Result, anyhow};

use super::Surroundings;
use crate::fetch;
use crate::github::{Access, GitHub};
use crate::history::{Ledger, Past};
use crate::outputs::issues::{Desk, Filing, Places, Tracker, TrackerPlace};
use crate::review::Reviewed;
use crate::settings::Settings;

/// An error when issues are to be filed and nothing says where.
pub(super) fn check(settings: &Settings, is_wanted: bool) -> Result<()> {
    if is_wanted && settings.issues.repository.is_none() {
        return Err(anyhow!("{}: --file-issues needs issues.repository (owner/name)", settings.path));
    }
    Ok(())
}

/// That the environment names a proxy for the tracker, which its client does not use; the proxy's address, which may hold a password, is
/// not repeated.
pub(super) fn unused_proxy(settings: &Settings, around: &Surroundings<'_>) -> Option<String> {
    let issues = &settings.issues;
    let repository = issues.repository.as_ref()?;
    fetch::proxy_for(&issues.api, around.variable)?;
    Some(format!(
        "issues of {repository} are sent to {} directly: the proxy that the environment names (HTTPS_PROXY) is not used for them; where only \
         the proxy leads out, run with --file-issues from a machine that reaches it, or name its host in NO_PROXY to say that this is meant",
        issues.api
    ))
}

/// A desk for one review; `None` without a tracker.
pub(super) fn desk<'a>(
    settings: &Settings,
    reviewed: &'a Reviewed,
    past: &'a Past,
    ledger: &Ledger,
) -> Option<Desk<'a>> {
    let issues = &settings.issues;
    let place =
        TrackerPlace { web: issues.web(), repository: issues.repository.clone()?, new_per_run: issues.new_per_run };
    let places = Places {
        files_url: issues.files_url.clone().unwrap_or_else(|| format!("{}/blob/HEAD", place.key())),
        reports: settings.reports.display().to_string(),
        log: settings.log.display().to_string(),
        credit: None,
    };
    Some(Desk::new(&reviewed.report, &reviewed.settlement, past, ledger, place, places))
}

/// A client, or why there is none: a review without it still says everything else.
pub(super) fn client<'a>(settings: &'a Settings, around: &'a Surroundings<'_>) -> Result<GitHub<'a>, String> {
    let issues = &settings.issues;
    let token = (around.variable)(&issues.token).filter(|token| !token.trim().is_empty());
    let token = token.ok_or_else(|| format!("the variable {} (issues.token) is not set", issues.token))?;
    if !token.trim().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "the variable {} (issues.token) holds a space, a line break or a letter that no token has",
            issues.token
        ));
    }
    let access = Access {
        api: &issues.api,
        repository: issues.repository.as_deref().unwrap_or_default(),
        login: issues.login.as_deref(),
        timeout: Duration::from_secs_f64(issues.timeout_s.min(3_600.0)),
    };
    GitHub::new(access, token.trim(), around.clock, around.sleep).map_err(|error| format!("{error:#}"))
}

/// Who carries the plan out.
pub(super) fn filing<'a>(client: &'a Result<GitHub<'a>, String>, around: &'a Surroundings<'_>) -> Filing<'a> {
    let tracker = client.as_ref().map(|client| client as &dyn Tracker).map_err(String::as_str);
    Filing { tracker, sleep: around.sleep }
}
