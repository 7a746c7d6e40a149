//! Quota windows on a time axis with now in its middle. The axis is compressed (square root of the hours), so that a window
//! of five hours and one of a month are both seen; how full a bar is tells how much of the window is used.

use chrono::{DateTime, Utc};
use plotters::style::text_anchor::HPos;

use super::{BAR, INK, LEVEL, LIMIT, LINE, SOFT, fill, label, line, picture, pixel, write};
use crate::verdict::ChartWindow;

/// Height of a row.
const ROW: i32 = 34;
/// Left edge of the axis.
const LEFT: i32 = 200;
/// Right edge.
const RIGHT: i32 = 590;
/// Upper edge.
const TOP: i32 = 26;
/// Height of a bar.
const BAR_HEIGHT: f64 = 22.0;
/// Longest label.
const MOST_LABEL: usize = 26;
/// Hours shown on either side of now, at least.
const LEAST_HOURS: f64 = 12.0;

/// Ticks: hours from now and their names.
const TICKS: [(f64, &str); 6] =
    [(1.0, "1 h"), (5.0, "5 h"), (24.0, "1 d"), (72.0, "3 d"), (168.0, "7 d"), (720.0, "30 d")];

/// The picture, if the pool has windows.
pub(in super::super) fn timeline(
    id: &str,
    windows: &[ChartWindow],
    now: DateTime<Utc>,
    title: &str,
    alternative: &str,
) -> Option<String> {
    let cycles: Vec<Option<(f64, f64)>> = windows.iter().map(|window| cycle(window, now)).collect();
    let reach = cycles.iter().flatten().flat_map(|(start, end)| [start.abs(), end.abs()]).fold(LEAST_HOURS, f64::max);
    let middle = f64::from(LEFT + RIGHT) / 2.0;
    let scale = f64::from(RIGHT - LEFT) / 2.0 / reach.sqrt();
    let x = |hours: f64| pixel(middle + hours.signum() * hours.abs().sqrt() * scale);
    let rows = i32::try_from(windows.len()).unwrap_or(0);
    if rows == 0 {
        return None;
    }
    let bottom = TOP + rows * ROW;
    let height = u32::try_from(bottom + 26).unwrap_or(26);
    Some(picture(id, height, title, alternative, |canvas| {
        axis(canvas, reach, bottom, &x);
        for (row, (window, cycle)) in (0..).zip(windows.iter().zip(&cycles)) {
            let y = TOP + row * ROW + ROW / 2;
            write(canvas, (LEFT - 10, y), &label(&window.id, MOST_LABEL), INK, HPos::Right);
            match cycle {
                Some((start, end)) => bar(canvas, window, (x(*start), x(*end)), y),
                None => write(canvas, (x(0.0) + 8, y), "no reset stated", SOFT, HPos::Left),
            }
            write(canvas, (RIGHT + 12, y), &used_words(window), INK, HPos::Left);
        }
        line(canvas, (x(0.0), TOP - 4), (x(0.0), bottom), LIMIT, 2);
        write(canvas, (x(0.0), TOP - 14), "now", LIMIT, HPos::Center);
    }))
}

/// Start and end of a window's cycle in hours from now.
fn cycle(window: &ChartWindow, now: DateTime<Utc>) -> Option<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let end = (window.resets_at? - now).num_seconds() as f64 / 3600.0;
    let length = window.length_h.filter(|length| length.is_finite())?;
    Some((end - length, end))
}

/// Grid and ticks.
fn axis(canvas: &super::Canvas<'_>, reach: f64, bottom: i32, x: &dyn Fn(f64) -> i32) {
    let mut last = x(0.0);
    for (hours, name) in TICKS.iter().filter(|(hours, _)| *hours <= reach * 1.01) {
        for (side, sign) in [(-1.0, "-"), (1.0, "+")] {
            line(canvas, (x(side * hours), TOP), (x(side * hours), bottom), LINE, 1);
            if x(*hours) - last >= 38 {
                write(canvas, (x(side * hours), bottom + 12), &format!("{sign}{name}"), SOFT, HPos::Center);
            }
        }
        if x(*hours) - last >= 38 {
            last = x(*hours);
        }
    }
}

/// One window: its outline from start to reset, filled from below as far as it is used.
fn bar(canvas: &super::Canvas<'_>, window: &ChartWindow, (left, right): (i32, i32), y: i32) {
    let floor = y + pixel(BAR_HEIGHT / 2.0);
    let level = |used: f64| floor - pixel(BAR_HEIGHT * used.clamp(0.0, 1.0));
    if let Some((low, high)) = window.used {
        fill(canvas, (left, level(high)), (right, floor), LEVEL);
        fill(canvas, (left, level(low)), (right, floor), BAR);
    }
    let top = level(1.0);
    for (from, to) in [
        ((left, top), (right, top)),
        ((right, top), (right, floor)),
        ((right, floor), (left, floor)),
        ((left, floor), (left, top)),
    ] {
        line(canvas, from, to, SOFT, 1);
    }
}

/// How much is used, in words.
pub(in super::super) fn used_words(window: &ChartWindow) -> String {
    match window.used {
        None => "use unknown".to_owned(),
        Some((low, high)) if (high - low).abs() < 0.005 => format!("{:.0} % used", low * 100.0),
        Some((low, high)) => format!("{:.0}–{:.0} % used", low * 100.0, high * 100.0),
    }
}
