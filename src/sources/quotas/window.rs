//! One window of a snapshot: fields by name, use from used, limit, remaining or percent. Raw and unclamped.

use chrono::{DateTime, DurationRound as _, SubsecRound as _, TimeDelta, Utc};
use serde_json::{Map, Value};

use super::document::Entry;
use crate::vocabulary::{Place, QuotaWindow, WindowRemark, WindowStatus};

/// Longest window that is believed, in seconds: a leap year.
const LONGEST_SECONDS: i64 = 366 * 86_400;
/// Kinds that mean something to the maths; others read as `unknown`.
const KINDS: [&str; 5] = ["first_use", "fixed", "calendar", "sliding", "balance"];

/// Typed access to the fields of an object; `null` and missing are the same. Errors are fragments that name the field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The fields of an object.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    /// A field that is there.
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// A text.
    pub(super) fn text(self, key: &str) -> Result<Option<&'a str>, String> {
        self.get(key).map(|value| value.as_str().ok_or_else(|| format!("{key} is not a text"))).transpose()
    }

    /// A finite number.
    fn number(self, key: &str) -> Result<Option<f64>, String> {
        let number = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        self.get(key).map(|value| number(value).ok_or_else(|| format!("{key} is not a finite number"))).transpose()
    }

    /// A number that is not negative.
    fn amount(self, key: &str) -> Result<Option<f64>, String> {
        match self.number(key)? {
            Some(amount) if amount < 0.0 => Err(format!("{key} is negative")),
            amount => Ok(amount),
        }
    }

    /// A truth value.
    fn flag(self, key: &str) -> Result<Option<bool>, String> {
        self.get(key).map(|value| value.as_bool().ok_or_else(|| format!("{key} is not true or false"))).transpose()
    }

    /// An RFC 3339 instant.
    pub(super) fn instant(self, key: &str) -> Result<Option<DateTime<Utc>>, String> {
        let parse = |text: &str| DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
        self.text(key)?.map(|text| parse(text).map_err(|_| format!("{key} is not an RFC 3339 instant"))).transpose()
    }

    /// A list of texts.
    fn texts(self, key: &str) -> Result<Vec<String>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(|| format!("{key} is not a list"))?;
        let texts = list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| format!("{key} holds something that is not a text"))
    }
}

/// Reads the window at an index of its home. A broken one comes back as invalid, with what could be read of its scope.
pub(super) fn parse(value: &Value, index: usize, place: Place) -> Entry {
    let fallback_id = format!("windows[{index}]");
    let Some(fields) = Fields::of(value) else { return broken(&fallback_id, &[], "not an object", place) };
    let id = fields.text("window_id").ok().flatten().filter(|id| !id.is_empty());
    let scope = fields.texts("scope").unwrap_or_default();
    match id.ok_or_else(|| "window_id is missing".to_owned()).and_then(|id| read(fields, id, place.clone())) {
        Ok(entry) => entry,
        Err(reason) => broken(id.unwrap_or(&fallback_id), &scope, &reason, place),
    }
}

/// A window of which nothing is known but that it is there.
pub(super) fn broken(id: &str, scope: &[String], reason: &str, place: Place) -> Entry {
    let window = QuotaWindow {
        window_id: id.to_owned(),
        kind: "unknown".to_owned(),
        scope: all_if_empty(scope.to_vec()),
        used: None,
        is_unlimited: false,
        status: WindowStatus::Unknown,
        window_seconds: None,
        resets_at: None,
        started: None,
        observed_at: None,
        invalid: Some(reason.to_owned()),
        remarks: Vec::new(),
        recent_burn: None,
        place,
    };
    Entry { window, resolution: 0.01 }
}

/// A scope that binds every model when the window names none.
fn all_if_empty(scope: Vec<String>) -> Vec<String> {
    if scope.is_empty() { vec!["*".to_owned()] } else { scope }
}

/// Reads every field; the first that cannot be what it says it is ends the reading.
fn read(fields: Fields<'_>, id: &str, place: Place) -> Result<Entry, String> {
    let resolution = fields.amount("resolution_pt")?.unwrap_or(1.0) / 100.0;
    let mut remarks = Vec::new();
    let is_unlimited = fields.flag("unlimited")?.unwrap_or(false);
    let used = used_fraction(fields, resolution, &mut remarks)?;
    if is_overage_in_use(fields)? {
        remarks.push(WindowRemark::OverageInUse);
    }
    let window = QuotaWindow {
        window_id: id.to_owned(),
        kind: fields.text("kind")?.filter(|kind| KINDS.contains(kind)).unwrap_or("unknown").to_owned(),
        scope: all_if_empty(fields.texts("scope")?),
        used,
        is_unlimited,
        status: status(fields.text("status")?),
        window_seconds: window_seconds(fields)?,
        resets_at: fields.instant("resets_at")?.map(to_minute),
        started: fields.flag("started")?,
        observed_at: fields.instant("observed_at")?.map(|at| at.trunc_subsecs(0)),
        invalid: None,
        remarks,
        recent_burn: None,
        place,
    };
    Ok(Entry { window, resolution })
}

/// The vendor's word; one we do not know reads as not stated.
fn status(word: Option<&str>) -> WindowStatus {
    match word {
        Some("ok") => WindowStatus::Ok,
        Some("warning") => WindowStatus::Warning,
        Some("rejected") => WindowStatus::Rejected,
        Some("inactive") => WindowStatus::Inactive,
        _ => WindowStatus::Unknown,
    }
}

/// Length in whole seconds, at most a year.
fn window_seconds(fields: Fields<'_>) -> Result<Option<i64>, String> {
    let Some(value) = fields.get("window_seconds") else { return Ok(None) };
    let seconds = value.as_i64().ok_or("window_seconds is not a whole number")?;
    if (1..=LONGEST_SECONDS).contains(&seconds) {
        Ok(Some(seconds))
    } else {
        Err("window_seconds is not plausible".to_owned())
    }
}

/// An instant rounded to the minute: vendors' resets jitter by fractions of a second.
fn to_minute(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_round(TimeDelta::minutes(1)).unwrap_or(at)
}

/// Whether cash is being paid beyond the limit. Overage that is allowed but not in use counts for nothing.
fn is_overage_in_use(fields: Fields<'_>) -> Result<bool, String> {
    let Some(value) = fields.get("overage") else { return Ok(false) };
    let overage = Fields::of(value).ok_or("overage is not an object")?;
    Ok(overage.flag("in_use")?.unwrap_or(false))
}

/// Used fraction: the highest of used/limit, used percent and 1 - remaining/limit; a difference of more than the
/// reporting step is remarked. `None` when the window says so, or when nothing tells.
fn used_fraction(fields: Fields<'_>, resolution: f64, remarks: &mut Vec<WindowRemark>) -> Result<Option<f64>, String> {
    let (used, percent) = (fields.amount("used")?, fields.amount("used_percent")?);
    let (limit, remaining) = (fields.number("limit")?, fields.number("remaining")?);
    let is_known = fields.flag("usage_known")?.unwrap_or(true);
    if !is_known {
        return Ok(None);
    }
    if limit.is_some_and(|limit| limit <= 0.0) && fields.flag("unlimited")? != Some(true) {
        return Err("limit is not above 0".to_owned());
    }
    let limit = limit.filter(|limit| *limit > 0.0);
    let of_limit = |part: Option<f64>| part.zip(limit).map(|(part, limit)| part / limit);
    let stated = [of_limit(used), percent.map(|percent| percent / 100.0), of_limit(remaining).map(|left| 1.0 - left)];
    let stated: Vec<f64> = stated.into_iter().flatten().collect();
    if stated.iter().any(|fraction| !fraction.is_finite()) {
        return Err("used, limit and remaining do not make a fraction".to_owned());
    }
    let highest = stated.iter().copied().max_by(f64::total_cmp);
    let lowest = stated.iter().copied().min_by(f64::total_cmp);
    if highest.zip(lowest).is_some_and(|(high, low)| high - low > resolution + 1e-9) {
        remarks.push(WindowRemark::UsedDisagrees);
    }
    if highest.is_some_and(|fraction| fraction < 0.0) {
        remarks.push(WindowRemark::Boosted);
    }
    Ok(highest.map(|fraction| fraction.max(0.0)))
}
