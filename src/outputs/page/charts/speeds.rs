//! Speed: one bar per member with its interval, what the market says, and the pool's floor as a line.

use plotters::style::text_anchor::HPos;

use super::{BAR, INK, LEVEL, LIMIT, LINE, SOFT, dashes, fill, label, line, picture, pixel, round_up, write};
use crate::verdict::Chart;

/// Height of a row.
const ROW: i32 = 34;
/// Left edge of the bars.
const LEFT: i32 = 250;
/// Right edge.
const RIGHT: i32 = 660;
/// Upper edge.
const TOP: i32 = 26;
/// Longest label.
const MOST_LABEL: usize = 33;

/// The picture, if anything is known of any member.
pub(in super::super) fn speeds(id: &str, chart: &Chart, title: &str, alternative: &str) -> Option<String> {
    let values = chart
        .speeds
        .iter()
        .flat_map(|speed| [speed.measured, speed.market, speed.interval.map(|(_, high)| high)].into_iter().flatten());
    let largest = values.chain(chart.speed_floor).filter(|value| value.is_finite()).max_by(f64::total_cmp)?;
    if !chart.speeds.iter().any(|speed| speed.measured.is_some() || speed.market.is_some()) {
        return None;
    }
    let most = round_up(largest.max(1.0));
    let x = |value: f64| pixel(f64::from(LEFT) + value.clamp(0.0, most) / most * f64::from(RIGHT - LEFT));
    let rows = i32::try_from(chart.speeds.len()).unwrap_or(0);
    let bottom = TOP + rows * ROW;
    let height = u32::try_from(bottom + 40).unwrap_or(40);
    Some(picture(id, height, title, alternative, |canvas| {
        for step in 0..=4 {
            let value = most / 4.0 * f64::from(step);
            line(canvas, (x(value), TOP), (x(value), bottom), LINE, 1);
            write(canvas, (x(value), bottom + 12), &format!("{value:.0}"), SOFT, HPos::Center);
        }
        write(canvas, (i32::midpoint(LEFT, RIGHT), bottom + 30), "output tokens per second", INK, HPos::Center);
        for (row, speed) in (0..).zip(&chart.speeds) {
            let y = TOP + row * ROW + ROW / 2;
            write(canvas, (LEFT - 10, y), &label(&speed.member, MOST_LABEL), INK, HPos::Right);
            if let Some(market) = speed.market.filter(|market| market.is_finite()) {
                fill(canvas, (LEFT, y + 4), (x(market), y + 10), LEVEL);
            }
            match speed.measured.filter(|measured| measured.is_finite()) {
                Some(measured) => {
                    fill(canvas, (LEFT, y - 10), (x(measured), y + 3), BAR);
                    if let Some((low, high)) = speed.interval {
                        line(canvas, (x(low), y - 4), (x(high), y - 4), INK, 2);
                        line(canvas, (x(low), y - 8), (x(low), y), INK, 2);
                        line(canvas, (x(high), y - 8), (x(high), y), INK, 2);
                    }
                    let end = x(speed.interval.map_or(measured, |(_, high)| high.max(measured)));
                    write(canvas, (end + 8, y - 4), &format!("{measured:.1} (n {})", speed.n), INK, HPos::Left);
                }
                None => write(canvas, (LEFT + 8, y - 4), "not measured", SOFT, HPos::Left),
            }
        }
        if let Some(floor) = chart.speed_floor.filter(|floor| floor.is_finite()) {
            dashes(canvas, x(floor), TOP - 4, bottom, LIMIT);
            write(canvas, (x(floor), TOP - 14), &format!("floor {floor:.0}"), LIMIT, HPos::Center);
        }
    }))
}
