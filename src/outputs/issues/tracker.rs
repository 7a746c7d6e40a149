//! What issue filing asks of a server, in plain values: the room that speaks to one stands behind this contract.

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The server said no: nothing happened.
    Refused(String),
    /// No clear answer came: it may have happened.
    Unclear(String),
    /// There is nothing at that address.
    Gone(String),
}

impl Trouble {
    /// The reason, in one line.
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused(reason) | Self::Unclear(reason) | Self::Gone(reason) => reason,
        }
    }
}

/// What a call gives back.
pub type Answer<T> = Result<T, Trouble>;

/// An issue as a server lists it; pull requests are left out by whoever lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub number: u64,
    /// Who opened it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// Whether it is open.
    pub is_open: bool,
    /// `completed`, `not_planned`, `duplicate`; empty when none is stated.
    pub state_reason: String,
    /// Who closed it, where the answer says so: a list does not.
    pub closed_by: Option<String>,
}

/// An issue to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Title.
    pub title: String,
    /// Text with its marker.
    pub body: String,
    /// Labels, all of which the tracker has.
    pub labels: Vec<String>,
}

/// What is changed of an issue; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// Another title.
    pub title: Option<String>,
    /// Another text.
    pub body: Option<String>,
    /// Open, or closed with a reason.
    pub state: Option<NewState>,
}

/// A state to bring an issue into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewState {
    /// Open again.
    Open,
    /// Closed: done.
    Completed,
    /// Closed: will not be done.
    NotPlanned,
    /// Closed: another issue says the same.
    Duplicate,
}

impl NewState {
    /// The word of a closing; `open` otherwise.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::NotPlanned => "not_planned",
            Self::Duplicate => "duplicate",
        }
    }
}

/// Which issues are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing<'a> {
    /// Those with a label.
    Label(&'a str),
    /// Those that a login opened: also such as lost their label.
    Creator(&'a str),
}

/// A tracker. One call is one write; only reads may be repeated by whoever stands behind it.
pub trait Tracker {
    /// The login that issues are filed under.
    fn login(&self) -> Answer<String>;
    /// Issues in any state, all pages; a page that fails is an error of the whole.
    fn list(&self, listing: Listing<'_>) -> Answer<Vec<Listed>>;
    /// One issue.
    fn issue(&self, number: u64) -> Answer<Listed>;
    /// The texts of the comments that a login wrote under an issue.
    fn comments(&self, number: u64, login: &str) -> Answer<Vec<String>>;
    /// Whether there is a label of this name.
    fn has_label(&self, name: &str) -> Answer<bool>;
    /// Makes a label: name, colour in six hex digits, description.
    fn make_label(&self, name: &str, colour: &str, description: &str) -> Answer<()>;
    /// Opens an issue.
    fn create(&self, draft: &Draft) -> Answer<Listed>;
    /// Changes an issue.
    fn edit(&self, number: u64, edit: &Edit) -> Answer<()>;
    /// Adds a comment.
    fn comment(&self, number: u64, text: &str) -> Answer<()>;
}
