//! Which proxy an address is asked through, from the usual variables of the environment.

/// The proxy for an address, if the environment names one: `HTTPS_PROXY` or `https_proxy` for https, `http_proxy` for http (a
/// capital one can be set by a request header under CGI), `ALL_PROXY` for both; `NO_PROXY` names hosts, or domains, without.
pub fn proxy_for(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = host_of(rest);
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
    let excluded = first(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if excluded.split(',').any(|entry| covers(entry.trim(), &host)) {
        return None;
    }
    let names: &[&str] = if scheme == "https" {
        &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    } else {
        &["http_proxy", "ALL_PROXY", "all_proxy"]
    };
    first(names)
}

/// The host of an address behind its scheme, in lower case, without port.
pub(super) fn host_of(rest: &str) -> String {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = if authority.starts_with('[') {
        authority.split(']').next().unwrap_or_default().trim_start_matches('[')
    } else {
        authority.rsplit_once(':').map_or(authority, |(host, _)| host)
    };
    host.to_lowercase()
}

/// Whether an entry of `NO_PROXY` covers a host: `*`, the host, or a domain above it.
fn covers(entry: &str, host: &str) -> bool {
    let entry = entry.trim_start_matches("*.").trim_start_matches('.').to_lowercase();
    let entry = entry.split(':').next().unwrap_or_default();
    !entry.is_empty() && (entry == "*" || host == entry || host.ends_with(&format!(".{entry}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy for an address under these variables.
    fn proxy(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        proxy_for(url, &find)
    }

    #[test]
    fn the_scheme_chooses_the_variable_and_no_proxy_excepts_hosts_and_domains() {
        let both = [("HTTPS_PROXY", "http://p:1"), ("http_proxy", "http://q:2")];
        assert_eq!(proxy("https://models.dev/api.json", &both).as_deref(), Some("http://p:1"));
        assert_eq!(proxy("http://models.dev/api.json", &both).as_deref(), Some("http://q:2"));
        assert_eq!(proxy("http://a.example/", &[("HTTP_PROXY", "http://evil:1")]), None);
        let except = [("ALL_PROXY", "http://p:1"), ("NO_PROXY", "localhost, .models.dev,10.0.0.1")];
        assert_eq!(proxy("https://api.models.dev:443/x", &except), None);
        assert_eq!(proxy("https://notmodels.dev/x", &except).as_deref(), Some("http://p:1"));
        assert_eq!(proxy("http://10.0.0.1:8080/", &except), None);
        assert_eq!(proxy("https://a.example/", &[]), None);
    }
}
