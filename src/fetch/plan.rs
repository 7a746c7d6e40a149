//! Which bodies are fetched, from where, into which file: one job per source that the settings give a place and an address.

use std::path::{Path, PathBuf};

use crate::settings::{Auth, Connection, Settings};
use crate::sources::market::BodyKind;
use crate::sources::market::artificial_analysis::WHOLE;
use crate::vocabulary::ProviderId;

/// How a body is spread over answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// One answer.
    One,
    /// `?page=N` with a `pagination` object.
    Numbered,
    /// `after_id` (Anthropic) or `pageToken` (Google), where the answer says that more follow.
    Following,
}

impl Pages {
    /// Whether several answers make one body.
    pub fn is_paged(self) -> bool {
        self != Self::One
    }
}

/// What a job brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// A body, asked for over HTTP.
    Body(BodyKind),
    /// Spend logs, summed up in their database.
    SpendLogs,
}

/// One body to fetch.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The source.
    pub source: String,
    /// What is brought.
    pub kind: JobKind,
    /// Where it comes from; empty of a database, whose address is its key.
    pub url: String,
    /// Where it goes, relative to the workspace.
    pub target: PathBuf,
    /// Variable of the key, and how it is sent.
    pub key: Option<(String, Auth)>,
    /// Whether nothing is asked without a key.
    pub needs_key: bool,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// How it is spread.
    pub pages: Pages,
}

impl Job {
    /// The target as the settings write it.
    pub fn shown(&self) -> String {
        self.target.to_string_lossy().replace('\\', "/")
    }

    /// A body that is one answer and needs no key.
    fn plain(source: &str, kind: BodyKind, url: &str, target: &Path) -> Self {
        Self {
            source: source.to_owned(),
            kind: JobKind::Body(kind),
            url: url.to_owned(),
            target: target.to_path_buf(),
            key: None,
            needs_key: false,
            headers: Vec::new(),
            pages: Pages::One,
        }
    }
}

/// The jobs of the settings, in print order; only those of `only` where that names any.
pub fn plan(settings: &Settings, only: &[String]) -> Vec<Job> {
    let (data, from) = (&settings.data, &settings.addresses);
    let plain = |source: &str, kind, url: Option<&String>, target: Option<&PathBuf>| {
        Some(Job::plain(source, kind, url?, target?))
    };
    let market = data.market.as_ref().map(|path| Job {
        key: Some((from.market_key.clone(), Auth::Header("x-api-key"))),
        needs_key: true,
        pages: Pages::Numbered,
        ..Job::plain("market", BodyKind::Market, &from.market, &in_folder(path))
    });
    let jobs = [
        market,
        plain("catalogues", BodyKind::Catalogues, Some(&from.catalogues), data.catalogues.as_ref()),
        plain("retirements", BodyKind::Retirements, Some(&from.retirements), data.retirements.as_ref()),
        plain("openrouter", BodyKind::OpenRouter, Some(&from.openrouter), data.openrouter.as_ref()),
        plain("prices", BodyKind::Prices, Some(&from.prices), data.prices.as_ref()),
        plain(
            "retirement_list",
            BodyKind::RetirementList,
            from.retirement_list.as_ref(),
            data.retirement_list.as_ref(),
        ),
    ];
    let lists = settings
        .connections
        .iter()
        .filter_map(|(provider, connection)| Some(list(provider, connection, data.provider_catalogue.as_ref()?)));
    let spend_logs = data.spend_logs.as_ref().map(|path| Job {
        source: "spend_logs".to_owned(),
        kind: JobKind::SpendLogs,
        url: String::new(),
        target: path.clone(),
        key: Some((from.spend_logs.variable.clone(), Auth::Bearer)),
        needs_key: true,
        headers: Vec::new(),
        pages: Pages::One,
    });
    let is_wanted = |job: &Job| {
        only.is_empty() || only.iter().any(|name| *name == job.source || job.source.starts_with(&format!("{name}:")))
    };
    jobs.into_iter().flatten().chain(lists).chain(spend_logs).filter(is_wanted).collect()
}

/// The one file of a snapshot: the path itself if it is a JSON file, else the whole snapshot in that folder.
fn in_folder(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "json") { path.to_path_buf() } else { path.join(WHOLE) }
}

/// A provider's own list.
fn list(provider: &ProviderId, connection: &Connection, folder: &Path) -> Job {
    let url = format!("{}/models", connection.base_url);
    Job {
        key: connection.key.clone().map(|name| (name, connection.auth)),
        needs_key: connection.key.is_some(),
        headers: connection.headers.clone(),
        pages: Pages::Following,
        ..Job::plain(
            &format!("provider_catalogue:{provider}"),
            BodyKind::ProviderList,
            &url,
            &folder.join(format!("{provider}.json")),
        )
    }
}
