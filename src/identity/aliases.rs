//! The reviewed alias file, `source,id,model,effort,note`: what only a person can know about a name. A line with an empty
//! model says that this text must never be matched by rule, because it means different models in different places or moves.

use std::collections::BTreeMap;

use crate::vocabulary::{Effort, ModelId, Place, Reject};

/// Whose id a line speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AliasSource {
    /// `artificialanalysis`: a row's UUID, or its whole display name. Never a slug, slugs are re-pointed.
    Market,
    /// `models.dev`: `provider/id` as router and catalogue spell it.
    Offer,
    /// `canonical`: `lab/model`, the catalogue's link.
    Canonical,
    /// `litellm`: a key of the retirement source.
    Retirement,
    /// `any`: a name, whoever writes it, after the anchored rules.
    Text,
}

impl AliasSource {
    /// The source a word of the file means.
    fn parse(word: &str) -> Option<Self> {
        match word {
            "artificialanalysis" => Some(Self::Market),
            "models.dev" => Some(Self::Offer),
            "canonical" => Some(Self::Canonical),
            "litellm" => Some(Self::Retirement),
            "any" => Some(Self::Text),
            _ => None,
        }
    }
}

/// What a reviewed line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alias {
    /// The model; `None`: never match.
    pub(super) model: Option<ModelId>,
    /// The effort the id stands for.
    pub(super) effort: Option<Effort>,
}

/// All reviewed lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Aliases {
    /// Source and lower-case id → what it means. For [`AliasSource::Text`] the id is a folded key.
    lines: BTreeMap<(AliasSource, String), Alias>,
}

/// The columns, in order.
const COLUMNS: [&str; 5] = ["source", "id", "model", "effort", "note"];

impl Aliases {
    /// Reads the file. A line with an unknown source, without id or note, or that says again and differently what another says, is
    /// rejected with its place; of two that contradict each other neither is used.
    pub(super) fn parse(text: &str, path: &str) -> (Self, Vec<Reject>) {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let reject = |line: usize, reason: String| Reject { place: Place::new(path, line), reason };
        match reader.headers() {
            Ok(headers) if headers.iter().map(str::trim).eq(COLUMNS) => {}
            _ => {
                return (Self::default(), vec![reject(1, format!("columns are not {}", COLUMNS.join(",")))]);
            }
        }
        let mut aliases = Self::default();
        let mut rejects = Vec::new();
        let mut contradicted = Vec::new();
        for record in reader.into_records() {
            match record {
                Ok(record) => {
                    let line = record.position().map_or(1, |at| usize::try_from(at.line()).unwrap_or(usize::MAX));
                    match parse_line(&record) {
                        Ok((key, alias)) if aliases.lines.get(&key).is_some_and(|other| *other != alias) => {
                            rejects.push(reject(line, format!("{} contradicts another line; neither is used", key.1)));
                            contradicted.push(key);
                        }
                        Ok((key, alias)) => drop(aliases.lines.insert(key, alias)),
                        Err(reason) => rejects.push(reject(line, reason)),
                    }
                }
                Err(error) => {
                    let at = error.position().map_or(1, |at| usize::try_from(at.line()).unwrap_or(usize::MAX));
                    rejects.push(reject(at, "is not CSV".to_owned()));
                }
            }
        }
        for key in contradicted {
            aliases.lines.remove(&key);
        }
        (aliases, rejects)
    }

    /// The line for an id of a source.
    pub(super) fn get(&self, source: AliasSource, id: &str) -> Option<&Alias> {
        self.lines.get(&(source, id.to_lowercase()))
    }

    /// The line for a folded key, whoever writes it.
    pub(super) fn text(&self, key: &str) -> Option<&Alias> {
        self.lines.get(&(AliasSource::Text, key.to_owned()))
    }

    /// Every model the lines name.
    pub(super) fn models(&self) -> impl Iterator<Item = &str> {
        self.lines.values().filter_map(|alias| alias.model.as_ref().map(ModelId::as_str))
    }
}

/// One line as key and meaning.
fn parse_line(record: &csv::StringRecord) -> Result<((AliasSource, String), Alias), String> {
    if record.len() != COLUMNS.len() {
        return Err(format!("has {} of {} columns", record.len(), COLUMNS.len()));
    }
    let cell = |at: usize| record.get(at).unwrap_or_default().trim();
    let (word, id, model, effort, note) = (cell(0), cell(1), cell(2), cell(3), cell(4));
    let source = AliasSource::parse(word).ok_or_else(|| format!("source {word:?} is not known"))?;
    if id.is_empty() {
        return Err("has no id".to_owned());
    }
    if note.is_empty() {
        return Err("has no note: a reviewed line says why".to_owned());
    }
    let id = if source == AliasSource::Text { super::rules::strip_offer("", id).full_key() } else { id.to_lowercase() };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_lowercase());
    Ok(((source, id), Alias { model: some(model).map(ModelId::new), effort: some(effort).map(Effort::new) }))
}
