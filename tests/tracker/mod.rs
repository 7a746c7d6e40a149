//! A tracker in memory, behind the contract of issue filing: what it holds, what was written, and failures on demand.

#![expect(clippy::unwrap_used, reason = "one thread; a fake that is borrowed twice has a fault of its own")]

use std::cell::RefCell;

use pool_review::outputs::issues::{
    Answer, Draft, Edit, Filing, Listed, Listing, NewState, Tracker, TrackerPlace, Trouble,
};

/// The login that files.
pub(crate) const BOT: &str = "pool-bot";

/// An issue with everything that a server keeps of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// As it is listed.
    pub(crate) listed: Listed,
    /// Its title.
    pub(crate) title: String,
    /// Its labels.
    pub(crate) labels: Vec<String>,
    /// Its comments.
    pub(crate) comments: Vec<String>,
}

/// The tracker.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    /// Its issues.
    pub(crate) issues: RefCell<Vec<Kept>>,
    /// Its labels.
    pub(crate) labels: RefCell<Vec<String>>,
    /// Every write, in a word and a number.
    pub(crate) writes: RefCell<Vec<String>>,
    /// Fails before the write of this number, counted from 1, or after it.
    pub(crate) fails: RefCell<Option<(usize, bool, Trouble)>>,
}

impl Fake {
    /// What was written since this was asked last.
    pub(crate) fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.writes.borrow_mut())
    }

    /// One issue.
    pub(crate) fn kept(&self, number: u64) -> Kept {
        self.issues.borrow().iter().find(|issue| issue.listed.number == number).unwrap().clone()
    }

    /// Changes an issue by another hand.
    pub(crate) fn by_hand(&self, number: u64, change: impl FnOnce(&mut Kept)) {
        change(self.issues.borrow_mut().iter_mut().find(|issue| issue.listed.number == number).unwrap());
    }

    /// Closes an issue by another hand.
    pub(crate) fn closed_by(&self, number: u64, login: &str, reason: &str) {
        self.by_hand(number, |issue| {
            issue.listed.is_open = false;
            reason.clone_into(&mut issue.listed.state_reason);
            issue.listed.closed_by = Some(login.to_owned());
        });
    }

    /// Notes a write and does it, unless it is the one that fails.
    fn write<T>(&self, word: String, act: impl FnOnce() -> T) -> Answer<T> {
        self.writes.borrow_mut().push(word);
        let count = self.writes.borrow().len();
        let fails = self.fails.borrow().clone().filter(|(at, ..)| *at == count);
        match fails {
            Some((_, false, trouble)) => Err(trouble),
            Some((_, true, trouble)) => {
                act();
                Err(trouble)
            }
            None => Ok(act()),
        }
    }
}

impl Tracker for Fake {
    fn login(&self) -> Answer<String> {
        Ok(BOT.to_owned())
    }

    fn list(&self, listing: Listing<'_>) -> Answer<Vec<Listed>> {
        let passes = |issue: &&Kept| match listing {
            Listing::Label(label) => issue.labels.iter().any(|known| known == label),
            Listing::Creator(login) => issue.listed.author == login,
        };
        let listed = self.issues.borrow().iter().filter(passes).map(|issue| issue.listed.clone()).collect::<Vec<_>>();
        // A list does not say who closed an issue.
        Ok(listed.into_iter().map(|issue| Listed { closed_by: None, ..issue }).collect())
    }

    fn issue(&self, number: u64) -> Answer<Listed> {
        let issues = self.issues.borrow();
        let found = issues.iter().find(|issue| issue.listed.number == number);
        found.map(|issue| issue.listed.clone()).ok_or_else(|| Trouble::Gone("404".to_owned()))
    }

    fn comments(&self, number: u64, _: &str) -> Answer<Vec<String>> {
        Ok(self.kept(number).comments)
    }

    fn has_label(&self, name: &str) -> Answer<bool> {
        Ok(self.labels.borrow().iter().any(|label| label == name))
    }

    fn make_label(&self, name: &str, _: &str, _: &str) -> Answer<()> {
        self.write(format!("label {name}"), || self.labels.borrow_mut().push(name.to_owned()))
    }

    fn create(&self, draft: &Draft) -> Answer<Listed> {
        let number = self.issues.borrow().len() as u64 + 1;
        self.write(format!("create #{number}"), || {
            let body = draft.body.clone();
            let listed = Listed { number, author: BOT.to_owned(), body, is_open: true, ..Listed::default() };
            let kept = Kept {
                listed: listed.clone(),
                title: draft.title.clone(),
                labels: draft.labels.clone(),
                comments: Vec::new(),
            };
            self.issues.borrow_mut().push(kept);
            listed
        })
    }

    fn edit(&self, number: u64, edit: &Edit) -> Answer<()> {
        let word = edit.state.map_or("text", NewState::as_str);
        self.write(format!("{word} #{number}"), || {
            self.by_hand(number, |issue| {
                issue.title = edit.title.clone().unwrap_or_else(|| issue.title.clone());
                issue.listed.body = edit.body.clone().unwrap_or_else(|| issue.listed.body.clone());
                if let Some(state) = edit.state {
                    issue.listed.is_open = state == NewState::Open;
                    state.as_str().clone_into(&mut issue.listed.state_reason);
                    issue.listed.closed_by = (state != NewState::Open).then(|| BOT.to_owned());
                }
            });
        })
    }

    fn comment(&self, number: u64, text: &str) -> Answer<()> {
        self.write(format!("comment #{number}"), || {
            self.by_hand(number, |issue| issue.comments.push(text.to_owned()));
        })
    }
}

/// The tracker's place, with a limit.
pub(crate) fn limited(new_per_run: usize) -> TrackerPlace {
    TrackerPlace { web: "https://github.com".to_owned(), repository: "fleet/models".to_owned(), new_per_run }
}

/// Files at a tracker without waiting.
pub(crate) fn at_once(tracker: &dyn Tracker) -> Filing<'_> {
    Filing { tracker: Ok(tracker), sleep: &|_| {} }
}
