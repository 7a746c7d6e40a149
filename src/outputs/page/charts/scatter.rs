//! Price and quality: every member and candidate on a logarithmic price axis, the front as a line.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{CANDIDATE, CHARACTER, FRONT, INK, LEAD, LINE, MEMBER, SOFT, WIDTH, label, line, picture, pixel, write};
use crate::verdict::{ChartPoint, PointRole};

/// Height of the picture.
const HEIGHT: u32 = 340;
/// Left edge of the plane.
const LEFT: i32 = 48;
/// Right edge.
const RIGHT: i32 = 700;
/// Upper edge.
const TOP: i32 = 26;
/// Lower edge.
const BOTTOM: i32 = 296;
/// Prices below this are drawn as this.
const LEAST: f64 = 0.01;
/// Longest label.
const MOST_LABEL: usize = 24;

/// The plane: bounds of both axes.
struct Plane {
    /// Logarithm of the smallest price.
    low: f64,
    /// Logarithm of the largest price.
    high: f64,
    /// Smallest quality.
    bottom: f64,
    /// Largest quality.
    top: f64,
}

/// A point with both numbers.
struct Placed<'a> {
    /// The point.
    point: &'a ChartPoint,
    /// Where it is drawn.
    at: (i32, i32),
}

/// A rectangle that text takes: left, top, right, bottom.
type Taken = (i32, i32, i32, i32);

/// The picture, if at least one point has both numbers.
pub(in super::super) fn scatter(id: &str, points: &[ChartPoint], title: &str, alternative: &str) -> Option<String> {
    let known: Vec<(&ChartPoint, f64, f64)> =
        points.iter().filter_map(|point| Some((point, finite(point.bill)?.max(LEAST), finite(point.q)?))).collect();
    let plane = Plane::around(&known)?;
    let placed: Vec<Placed<'_>> =
        known.iter().map(|(point, bill, q)| Placed { point, at: plane.place(*bill, *q) }).collect();
    Some(picture(id, HEIGHT, title, alternative, |canvas| {
        plane.axes(canvas);
        front(canvas, &placed);
        for one in &placed {
            mark(canvas, one.point.role, one.at);
        }
        labels(canvas, &placed);
    }))
}

/// A number that can be drawn.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

impl Plane {
    /// Bounds with some room around the points.
    fn around(points: &[(&ChartPoint, f64, f64)]) -> Option<Self> {
        let bills = || points.iter().map(|(_, bill, _)| bill.log10());
        let qualities = || points.iter().map(|(_, _, q)| *q);
        let (low, high) = (bills().min_by(f64::total_cmp)?, bills().max_by(f64::total_cmp)?);
        let (bottom, top) = (qualities().min_by(f64::total_cmp)?, qualities().max_by(f64::total_cmp)?);
        let room = ((high - low) * 0.12).max(0.15);
        let bottom = ((bottom - 6.0) / 10.0).floor() * 10.0;
        let top = (((top + 6.0) / 10.0).ceil() * 10.0).min(106.0);
        Some(Self { low: low - room, high: high + room, bottom, top })
    }

    /// Where a price and a quality are drawn.
    fn place(&self, bill: f64, q: f64) -> (i32, i32) {
        let along = (bill.log10() - self.low) / (self.high - self.low);
        let up = (q - self.bottom) / (self.top - self.bottom);
        (
            pixel(f64::from(LEFT) + along * f64::from(RIGHT - LEFT)),
            pixel(f64::from(BOTTOM) - up * f64::from(BOTTOM - TOP)),
        )
    }

    /// Grid, ticks and names of the axes.
    fn axes(&self, canvas: &super::Canvas<'_>) {
        let mut q = self.bottom;
        while q <= self.top.min(100.0) + 1e-9 {
            let (_, y) = self.place(1.0, q);
            line(canvas, (LEFT, y), (RIGHT, y), LINE, 1);
            write(canvas, (LEFT - 8, y), &format!("{q:.0}"), SOFT, HPos::Right);
            q += if self.top - self.bottom > 60.0 { 20.0 } else { 10.0 };
        }
        for price in self.ticks() {
            let (x, _) = self.place(price, self.bottom);
            line(canvas, (x, TOP), (x, BOTTOM), LINE, 1);
            write(canvas, (x, BOTTOM + 12), &price.to_string(), SOFT, HPos::Center);
        }
        write(canvas, (LEFT, 12), "standing, 0 to 100", INK, HPos::Left);
        let across = i32::try_from(WIDTH / 2).unwrap_or(RIGHT / 2);
        write(canvas, (across, BOTTOM + 32), "USD per million task input tokens (log scale)", INK, HPos::Center);
    }

    /// Round prices inside the bounds.
    fn ticks(&self) -> Vec<f64> {
        let decades = -2..=4;
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)));
        let inside = all.filter(|price| (self.low..=self.high).contains(&price.log10()));
        // 5 times 0.01 is not 0.05 in binary: what is printed is the shortest text of the rounded number.
        inside.map(|price| (price * 100.0).round() / 100.0).collect()
    }
}

/// The front, cheapest first.
fn front(canvas: &super::Canvas<'_>, placed: &[Placed<'_>]) {
    let mut on_front: Vec<(i32, i32)> = placed.iter().filter(|one| one.point.on_front).map(|one| one.at).collect();
    on_front.sort_unstable();
    for pair in on_front.windows(2) {
        line(canvas, pair[0], pair[1], FRONT, 2);
    }
}

/// One point: the shape tells the role as well as the colour.
fn mark(canvas: &super::Canvas<'_>, role: PointRole, at: (i32, i32)) {
    let drawn = match role {
        PointRole::Lead => canvas.draw(&Circle::new(at, 7, LEAD.filled())),
        PointRole::Member => {
            canvas.draw(&Rectangle::new([(at.0 - 5, at.1 - 5), (at.0 + 5, at.1 + 5)], MEMBER.filled()))
        }
        PointRole::Candidate => canvas.draw(&TriangleMarker::new(at, 6, CANDIDATE.filled())),
    };
    drawn.expect("drawing into a String cannot fail");
}

/// A label beside every point, where it covers the least of what is there already.
fn labels(canvas: &super::Canvas<'_>, placed: &[Placed<'_>]) {
    let mut taken: Vec<Taken> =
        placed.iter().map(|one| (one.at.0 - 7, one.at.1 - 7, one.at.0 + 7, one.at.1 + 7)).collect();
    for one in placed {
        let words = label(short(&one.point.id), MOST_LABEL);
        let width = i32::try_from(words.chars().count()).unwrap_or(0) * CHARACTER;
        let offsets =
            [(10, 0), (-10, 0), (10, -14), (-10, -14), (10, 14), (-10, 14), (10, -28), (-10, -28), (10, 28), (-10, 28)];
        let best = offsets
            .iter()
            .map(|(dx, dy)| {
                let (x, y) = (one.at.0 + dx, one.at.1 + dy);
                let (left, right) = if *dx > 0 { (x, x + width) } else { (x - width, x) };
                ((x, y, *dx > 0), (left, y - 7, right, y + 7))
            })
            .min_by_key(|(_, area)| cost(*area, &taken));
        let Some(((x, y, is_right), area)) = best else { continue };
        write(canvas, (x, y), &words, INK, if is_right { HPos::Left } else { HPos::Right });
        taken.push(area);
    }
}

/// What a place for text costs: pixels covered, and much more outside the plane.
fn cost(area: Taken, taken: &[Taken]) -> i32 {
    let overlap = |other: &Taken| {
        let wide = (area.2.min(other.2) - area.0.max(other.0)).max(0);
        let high = (area.3.min(other.3) - area.1.max(other.1)).max(0);
        wide * high
    };
    let outside =
        (LEFT - area.0).max(0) + (area.2 - RIGHT - 16).max(0) + (TOP - 8 - area.1).max(0) + (area.3 - BOTTOM).max(0);
    taken.iter().map(overlap).sum::<i32>() + outside * 100
}

/// The part of an id that tells models apart: without provider, home and default effort.
fn short(id: &str) -> &str {
    let model = id.rsplit_once('#').map_or(id, |(model, _)| model);
    let model = model.strip_suffix("@default").unwrap_or(model);
    model.rsplit('/').next().unwrap_or(model)
}
