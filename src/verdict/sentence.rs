//! Sentences that keep our own words apart from outside names, so that an output can escape the names for its place.

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Our own words, safe in every output.
    Own(String),
    /// A name or text from outside: data, never markup.
    Name(String),
}

/// A sentence or fragment made of our words and outside names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentence(Vec<Piece>);

impl Sentence {
    /// An empty sentence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Our own words.
    #[must_use]
    pub fn own(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Own(text.into()));
        self
    }

    /// A name from outside.
    #[must_use]
    pub fn name(mut self, text: &(impl ToString + ?Sized)) -> Self {
        self.0.push(Piece::Name(text.to_string()));
        self
    }

    /// What another sentence says.
    #[must_use]
    pub fn then(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Names, separated by commas.
    #[must_use]
    pub fn names<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        for (i, name) in names.into_iter().enumerate() {
            if i > 0 {
                self.0.push(Piece::Own(", ".to_owned()));
            }
            self.0.push(Piece::Name(name.to_string()));
        }
        self
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Whether nothing has been said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with names as they are: for JSON, where the exact original belongs.
    pub fn plain(&self) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Own(text) | Piece::Name(text) => text.as_str(),
            })
            .collect()
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        Self::new().own(text)
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Self::new().own(text)
    }
}
