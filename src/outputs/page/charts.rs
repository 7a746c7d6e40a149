//! The pictures: SVG drawn into text by plotters, with colours that the page's style sheet maps to light and dark. Every
//! coordinate is a whole pixel, so that the same numbers give the same bytes.

mod scatter;
mod speeds;
mod timeline;

pub(super) use scatter::scatter;
pub(super) use speeds::speeds;
pub(super) use timeline::{timeline, used_words};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::outputs::text::{self, Place};

/// Text and axes.
const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
/// Remarks and ticks.
const SOFT: RGBColor = RGBColor(0x59, 0x62, 0x6E);
/// Grid.
const LINE: RGBColor = RGBColor(0xD3, 0xD8, 0xDE);
/// The lead.
const LEAD: RGBColor = RGBColor(0x0B, 0x5C, 0xAD);
/// Other members.
const MEMBER: RGBColor = RGBColor(0x6B, 0x3F, 0xA0);
/// Models outside the pool.
const CANDIDATE: RGBColor = RGBColor(0x8A, 0x5A, 0x00);
/// The front.
const FRONT: RGBColor = RGBColor(0x2E, 0x7D, 0x32);
/// Measured bars.
const BAR: RGBColor = RGBColor(0x3F, 0x7F, 0xBF);
/// What may be used, or what the market says.
const LEVEL: RGBColor = RGBColor(0x9D, 0xB8, 0xD6);
/// Limits and now.
const LIMIT: RGBColor = RGBColor(0xB3, 0x26, 0x1E);

/// Width of every picture.
const WIDTH: u32 = 720;

/// Size of text.
const TEXT: u32 = 14;

/// Width of a character of that size, as far as placing labels needs it.
const CHARACTER: i32 = 7;

/// A canvas of pixels.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws on an empty canvas and gives the picture back as part of the page: named by its title and text, without a fixed size.
fn picture(id: &str, height: u32, title: &str, alternative: &str, draw: impl FnOnce(&Canvas<'_>)) -> String {
    let mut svg = String::new();
    {
        let canvas = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&canvas);
        canvas.present().expect("drawing into a String cannot fail");
    }
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let body: String = body.lines().map(str::trim).collect();
    let body = DROPPED.iter().fold(body, |body, part| body.replace(part, ""));
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{alternative}</desc>{body}\n"
    )
}

/// What says nothing: values that stand at their default, and the font, which the style sheet sets.
const DROPPED: [&str; 5] = [
    " opacity=\"1\"",
    " font-family=\"sans-serif\"",
    " font-size=\"11.29032258064516\"",
    " stroke-width=\"1\"",
    " stroke=\"none\"",
];

/// A name in a picture, cut to so many characters. The backend escapes it for SVG.
fn label(name: &str, most: usize) -> String {
    let visible = text::name(name, Place::Terminal);
    if visible.chars().count() <= most {
        return visible;
    }
    visible.chars().take(most - 1).chain(['…']).collect()
}

/// Puts text at a point.
fn write(canvas: &Canvas<'_>, at: (i32, i32), words: &str, colour: RGBColor, anchor: HPos) {
    let style = TextStyle::from(("sans-serif", TEXT).into_font()).color(&colour).pos(Pos::new(anchor, VPos::Center));
    canvas.draw(&Text::new(words.to_owned(), at, style)).expect("drawing into a String cannot fail");
}

/// Draws a line.
fn line(canvas: &Canvas<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) {
    let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width };
    canvas.draw(&PathElement::new(vec![from, to], style)).expect("drawing into a String cannot fail");
}

/// Draws a vertical line of dashes.
fn dashes(canvas: &Canvas<'_>, x: i32, top: i32, bottom: i32, colour: RGBColor) {
    let mut y = top;
    while y < bottom {
        line(canvas, (x, y), (x, (y + 5).min(bottom)), colour, 2);
        y += 9;
    }
}

/// Fills a rectangle.
fn fill(canvas: &Canvas<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
    canvas.draw(&Rectangle::new([from, to], colour.filled())).expect("drawing into a String cannot fail");
}

/// The next round number: 1, 2 or 5 times a power of ten, at least as large.
fn round_up(value: f64) -> f64 {
    let scale = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.iter().map(|step| step * scale).find(|round| *round >= value * (1.0 - 1e-9)).unwrap_or(10.0 * scale)
}

/// A value as a whole pixel.
#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture that is 720 wide; a cast saturates")]
fn pixel(value: f64) -> i32 {
    value.round() as i32
}
