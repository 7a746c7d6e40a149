//! Anchored rules: known decorations at known places of an id are taken off, and known families are put in one word order.
//! Whatever is not known stays, so that an unknown decoration leaves an id unmatched instead of wrong.

use super::words::{fold, is_number, is_size};

/// An id without its decorations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stripped {
    /// Folded words, without date.
    pub(super) key: String,
    /// Trailing date as eight digits.
    pub(super) date: Option<String>,
    /// A price or speed variant of an offer.
    pub(super) is_variant: bool,
    /// A name that moves from model to model.
    pub(super) is_moving: bool,
}

impl Stripped {
    /// Key and date together.
    pub(super) fn full_key(&self) -> String {
        self.date.as_ref().map_or_else(|| self.key.clone(), |date| format!("{}-{date}", self.key))
    }
}

/// Bedrock region prefixes.
const REGIONS: [&str; 9] = ["us-gov.", "us.", "eu.", "jp.", "au.", "apac.", "ca.", "in.", "global."];

/// Vendor prefixes with a dot, and the word that the name itself lacks (`deepseek.v3.2` is `deepseek-v3.2`).
const DOT_VENDORS: [(&str, &str); 18] = [
    ("anthropic.", ""),
    ("openai.", ""),
    ("zai.", ""),
    ("moonshotai.", ""),
    ("moonshot.", ""),
    ("nvidia.", ""),
    ("xai.", ""),
    ("amazon.", ""),
    ("meta.", ""),
    ("mistral.", ""),
    ("qwen.", ""),
    ("minimax.", ""),
    ("google.", ""),
    ("cohere.", ""),
    ("ai21.", ""),
    ("aws.", ""),
    ("writer.", ""),
    ("deepseek.", "deepseek-"),
];

/// Vendor words in front of a family that already says whose it is.
const DASH_VENDORS: [(&str, &str); 14] = [
    ("databricks-", ""),
    ("fw-", ""),
    ("anthropic-", "claude"),
    ("openai-", "gpt"),
    ("google-", "gemini"),
    ("zai-", "glm"),
    ("zai-org-", "glm"),
    ("z-ai-", "glm"),
    ("moonshotai-", "kimi"),
    ("xai-", "grok"),
    ("nvidia-", "nemotron"),
    ("nvidia-", "llama"),
    ("meta-", "llama"),
    ("deepseek-ai-", "deepseek"),
];

/// Suffixes that only change price, speed or packaging of an offer, before folding.
const VARIANT_SUFFIXES: [&str; 8] = ["[1m]", ":free", ":batch", ":extended", ":fast", "-free", "-highspeed", "-fp8"];

/// Takes the decorations off an offer's id: path, region, vendor, price variant, host packaging, date.
pub(super) fn strip_offer(provider: &str, id: &str) -> Stripped {
    let lower = id.trim().to_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    let mut stripped = Stripped { is_moving: lower.starts_with('~'), ..Stripped::default() };
    let text = strip_bedrock(last);
    let text = strip_at(&text, &mut stripped);
    let text = strip_variant(&text, &mut stripped);
    let text = text.strip_suffix("-maas").unwrap_or(&text);
    let is_fireworks = provider.starts_with("fireworks") || lower.contains("accounts/fireworks/");
    let text = if is_fireworks { dot_for_p(text) } else { text.to_owned() };
    let text = if lower.contains("/routers/") { strip_router(&text, &mut stripped) } else { text };
    let key = space_family(&strip_vendor_words(&fold(&text)));
    let key = strip_claude_mode(key, &mut stripped);
    let (key, date) = split_date(&key);
    stripped.is_moving |= key == "latest" || key.ends_with("-latest");
    stripped.key = in_order(key);
    stripped.date = date;
    stripped
}

/// Takes off region, vendor with a dot and the revision (`-v1:0`, `-1:0`) of a Bedrock id.
fn strip_bedrock(text: &str) -> String {
    let local = REGIONS.iter().find_map(|region| text.strip_prefix(region)).unwrap_or(text);
    let Some((name, family)) =
        DOT_VENDORS.iter().find_map(|(vendor, family)| Some((local.strip_prefix(vendor)?, *family)))
    else {
        return text.to_owned();
    };
    let family = if name.starts_with(family) { "" } else { family };
    format!("{family}{}", strip_revision(name))
}

/// A Bedrock name without revision: `-v1:0`, `-v1` and `-1:0`, unless the version itself would go with it (`claude-v2:1`).
fn strip_revision(name: &str) -> &str {
    let Some((rest, revision)) = name.rsplit_once('-') else { return name };
    let number = revision.strip_prefix('v').unwrap_or(revision);
    let is_pair = number.split_once(':').is_some_and(|(major, minor)| is_number(major) && is_number(minor));
    let keeps_version = rest != "claude" || number.starts_with("1:");
    if keeps_version && (is_pair || revision == "v1") { rest } else { name }
}

/// Cuts `@date`, `@default`, `@region`; `@latest` moves.
fn strip_at(text: &str, stripped: &mut Stripped) -> String {
    match text.split_once('@') {
        Some((name, tag)) if !name.is_empty() => {
            stripped.is_moving |= tag == "latest";
            name.to_owned()
        }
        _ => text.to_owned(),
    }
}

/// Takes off what only changes price, speed or packaging.
fn strip_variant(text: &str, stripped: &mut Stripped) -> String {
    let mut text = text;
    while let Some(rest) = VARIANT_SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)) {
        stripped.is_variant = true;
        text = rest;
    }
    text.to_owned()
}

/// A Fireworks router: the model behind a price or region; a router without a version in its name stays unmatched.
fn strip_router(text: &str, stripped: &mut Stripped) -> String {
    stripped.is_variant = true;
    let mut text = text.strip_prefix("spot-").unwrap_or(text);
    while let Some(rest) = ["-spot", "-fast", "-ultrafast", "-us"].iter().find_map(|suffix| text.strip_suffix(suffix)) {
        text = rest;
    }
    text.to_owned()
}

/// Fireworks writes `p` for the dot between digits: `deepseek-v4p1-flash`.
fn dot_for_p(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    text.char_indices()
        .map(|(at, c)| if c == 'p' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)) { '.' } else { c })
        .collect()
}

/// Takes off vendor words in front of a family; `GitLab`'s `duo-chat-` stands in for the word claude before a Claude family.
fn strip_vendor_words(key: &str) -> String {
    if let Some(rest) = key.strip_prefix("duo-chat-") {
        let is_claude = CLAUDE_FAMILIES.iter().any(|family| rest.starts_with(family));
        return if is_claude { format!("claude-{rest}") } else { rest.to_owned() };
    }
    let named = |(vendor, family): &(&str, &str)| key.strip_prefix(vendor).filter(|rest| rest.starts_with(family));
    DASH_VENDORS.iter().find_map(named).unwrap_or(key).to_owned()
}

/// Families that some hosts glue to their version (`glm5.2`, `llama3-3-70b`), and Qwen, which is written in one.
fn space_family(key: &str) -> String {
    let (first, rest) = key.split_once('-').unwrap_or((key, ""));
    let join = |first: &str| if rest.is_empty() { first.to_owned() } else { format!("{first}-{rest}") };
    if first == "qwen" && rest.split('-').next().is_some_and(|word| is_number(word) && word.len() == 1) {
        return format!("qwen{rest}");
    }
    let glued = ["glm", "llama", "gemma"].iter().find_map(|family| Some((*family, first.strip_prefix(family)?)));
    match glued {
        Some((family, version)) if is_number(version) => join(&format!("{family}-{version}")),
        _ => key.to_owned(),
    }
}

/// Claude's families.
const CLAUDE_FAMILIES: [&str; 5] = ["opus", "sonnet", "haiku", "fable", "instant"];

/// Claude's fast mode and thinking switch are modes of one model; other vendors sell `-fast` and `-thinking` models.
fn strip_claude_mode(key: String, stripped: &mut Stripped) -> String {
    if !key.starts_with("claude-") {
        return key;
    }
    if let Some(rest) = key.strip_suffix("-fast") {
        stripped.is_variant = true;
        return rest.to_owned();
    }
    key.strip_suffix("-thinking").map(str::to_owned).unwrap_or(key)
}

/// A folded key and its trailing date, written `-20250929` or `-2025-09-29`. Four-digit codes (0813, 2507) are versions.
fn split_date(key: &str) -> (String, Option<String>) {
    let words: Vec<&str> = key.split('-').collect();
    let of = |count: usize| (words.len() > count).then(|| words[words.len() - count..].concat());
    let lengths_fit = |lengths: [usize; 3]| words.iter().rev().zip(lengths.iter().rev()).all(|(w, l)| w.len() == *l);
    let found = of(1)
        .filter(|date| is_date(date))
        .map(|date| (1, date))
        .or_else(|| of(3).filter(|date| is_date(date) && lengths_fit([4, 2, 2])).map(|date| (3, date)));
    match found {
        Some((count, date)) => (words[..words.len() - count].join("-"), Some(date)),
        None => (key.to_owned(), None),
    }
}

/// Whether a text is a day as eight digits.
fn is_date(text: &str) -> bool {
    text.len() == 8
        && is_number(text)
        && text.starts_with("20")
        && ("01"..="12").contains(&&text[4..6])
        && ("01"..="31").contains(&&text[6..8])
}

/// One word order for families that are written in several: `claude-4-5-sonnet` → `claude-sonnet-4-5`,
/// `llama-3-3-instruct-70b` → `llama-3-3-70b-instruct`.
fn in_order(key: String) -> String {
    let words: Vec<&str> = key.split('-').collect();
    match words.first() {
        Some(&"claude") => claude_in_order(&words).unwrap_or(key),
        Some(family) if *family == "llama" || family.starts_with("qwen") => size_before_instruct(&words).unwrap_or(key),
        _ => key,
    }
}

/// `claude <numbers> <family> …` as `claude <family> <numbers> …`.
fn claude_in_order(words: &[&str]) -> Option<String> {
    let at = 1 + words[1..].iter().take_while(|word| is_number(word)).count();
    let family = words.get(at).filter(|word| at > 1 && CLAUDE_FAMILIES.contains(*word))?;
    let mut ordered = vec![words[0], *family];
    ordered.extend(&words[1..at]);
    ordered.extend(&words[at + 1..]);
    Some(ordered.join("-"))
}

/// `… instruct <size>` at the end as `… <size> instruct`.
fn size_before_instruct(words: &[&str]) -> Option<String> {
    let sizes = words.iter().rev().take_while(|word| is_size(word)).count();
    let at = words.len().checked_sub(sizes + 1).filter(|at| sizes > 0 && words[*at] == "instruct")?;
    let mut ordered = words[..at].to_vec();
    ordered.extend(&words[at + 1..]);
    ordered.push("instruct");
    Some(ordered.join("-"))
}

/// The key of a market display name: what stands outside the parentheses, and what inside them names a version. Efforts, fallbacks
/// and "Based on …" are left out. `None` when a parenthesis holds a date: that row is one dated snapshot.
pub(super) fn strip_market_name(name: &str) -> Option<Stripped> {
    let mut outside = String::new();
    let mut inside: Vec<String> = Vec::new();
    for (at, part) in name.split('(').enumerate() {
        let (group, rest) = if at == 0 { ("", part) } else { part.split_once(')').unwrap_or((part, "")) };
        outside.push_str(rest);
        outside.push(' ');
        inside.extend(group.split(',').map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty()));
    }
    for part in inside.iter().filter(|part| !is_aside(part)) {
        if names_month(part) {
            return None;
        }
        outside.push_str(part);
        outside.push(' ');
    }
    let stripped = strip_offer("", &fold(&outside));
    (!stripped.key.is_empty()).then_some(stripped)
}

/// Whether a part of a parenthesis says nothing about which model it is.
fn is_aside(part: &str) -> bool {
    const EFFORTS: [&str; 10] = [
        "max",
        "xhigh",
        "high",
        "medium",
        "low",
        "minimal",
        "non-reasoning",
        "reasoning",
        "adaptive",
        "adaptive reasoning",
    ];
    let effort = part.strip_suffix(" effort").unwrap_or(part);
    EFFORTS.contains(&effort) || part.ends_with("fallback") || part.starts_with("based on ")
}

/// Whether a part of a parenthesis is a date like "Feb '24", "May' 25" or "March 2025".
fn names_month(part: &str) -> bool {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let has_year = part.bytes().any(|byte| byte.is_ascii_digit());
    has_year && part.split(|c: char| !c.is_alphabetic()).any(|word| word.get(..3).is_some_and(|m| MONTHS.contains(&m)))
}

/// A slug's own key if it holds the same words as a name's key, each as often, in another order: then it only spells the
/// same row differently.
pub(super) fn slug_twin(slug: &str, name_key: &str) -> Option<String> {
    let key = fold(slug);
    let sorted = |key: &str| {
        let mut words: Vec<String> = key.split('-').map(str::to_owned).collect();
        words.sort();
        words
    };
    (key != name_key && sorted(&key) == sorted(name_key)).then_some(key)
}
