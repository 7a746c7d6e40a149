//! Answers of the REST API, as much of them as is needed: a field that a server leaves out makes nothing fail that exists.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::outputs::issues::Listed;

/// A user.
#[derive(Debug, Deserialize)]
pub(super) struct WireUser {
    /// The login.
    pub(super) login: String,
}

/// An issue that was made.
#[derive(Debug, Deserialize)]
pub(super) struct WireNumber {
    /// Its number.
    pub(super) number: u64,
}

/// A label.
#[derive(Debug, Deserialize)]
pub(super) struct WireLabel {
    /// The name.
    pub(super) name: String,
}

/// An issue, or a pull request, which lists hold as well.
#[derive(Debug, Deserialize)]
pub(super) struct WireIssue {
    /// Its number.
    pub(super) number: u64,
    /// Its text.
    body: Option<String>,
    /// `open` or `closed`.
    state: String,
    /// Why it was closed.
    state_reason: Option<String>,
    /// Who opened it.
    user: Option<WireUser>,
    /// Who closed it; lists leave it out.
    closed_by: Option<WireUser>,
    /// There on pull requests only.
    pull_request: Option<IgnoredAny>,
}

impl WireIssue {
    /// Whether it is a pull request.
    pub(super) fn is_pull_request(&self) -> bool {
        self.pull_request.is_some()
    }

    /// As the planner reads it.
    pub(super) fn listed(self) -> Listed {
        Listed {
            number: self.number,
            author: self.user.map_or_else(String::new, |user| user.login),
            body: self.body.unwrap_or_default(),
            is_open: self.state.eq_ignore_ascii_case("open"),
            state_reason: self.state_reason.unwrap_or_default(),
            closed_by: self.closed_by.map(|user| user.login),
        }
    }
}

/// A comment.
#[derive(Debug, Deserialize)]
pub(super) struct WireComment {
    /// Its text.
    body: Option<String>,
    /// Who wrote it.
    user: Option<WireUser>,
}

impl WireComment {
    /// The text, if this login wrote it.
    pub(super) fn by(self, login: &str) -> Option<String> {
        self.user.filter(|user| user.login.eq_ignore_ascii_case(login)).and(self.body)
    }
}
