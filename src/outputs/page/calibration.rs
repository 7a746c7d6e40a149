//! How the reviewer's own claims came true: a strip of measurements against their claims, above the table of its numbers.

use std::fmt::Write as _;

use super::html::{own, scroll, table};
use crate::outputs::calibration::{HEADS, bounds_line, cells, line};
use crate::outputs::text::Place;
use crate::outputs::view::counted;
use crate::verdict::{Calibration, MeasuredChange, Report};

/// Standard deviations that the strip shows on each side.
const REACH: f64 = 4.0;
/// Half of what a 90 % interval leaves out lies on either side of it.
const INSIDE: f64 = 1.645;
/// Width of the strip.
const WIDTH: f64 = 320.0;

/// The part of the page.
pub(super) fn section(report: &Report) -> String {
    let numbers = &report.calibration;
    let mut parts = vec!["<h2 id=\"calibration\">Calibration</h2>".to_owned()];
    parts.push(format!("<p>Our own claims: {}.</p>", own(&line(numbers))));
    parts.extend(bounds_line(numbers).map(|bounds| format!("<p>Aligned verdicts: {}.</p>", own(&bounds))));
    parts.extend(strip(numbers));
    let all: Vec<&MeasuredChange> = numbers.changes.iter().chain(&numbers.verifying).collect();
    if !all.is_empty() {
        let rows = all.into_iter().map(|change| cells(change, Place::Html));
        parts.push(scroll("Landed changes, measured", &table(None, &HEADS, &[3, 4, 5], rows)));
    }
    parts.join("\n")
}

/// Each measured change as a mark: its distance from the claim in standard deviations, the band holds 90 % of them.
fn strip(numbers: &Calibration) -> Option<String> {
    let z: Vec<f64> = numbers.changes.iter().filter_map(|change| change.z).collect();
    let inside = z.iter().filter(|z| z.abs() <= INSIDE).count();
    let at = |z: f64| (z.clamp(-REACH, REACH) + REACH) / (2.0 * REACH) * WIDTH;
    let words = format!(
        "{} against their claims: {inside} of {} inside the 90 % band, left is less than claimed",
        counted(z.len(), "measured change", "measured changes"),
        z.len()
    );
    let mut marks = String::new();
    for z in &z {
        write!(marks, "<circle cx=\"{:.1}\" cy=\"14\" r=\"4\" fill=\"currentColor\" fill-opacity=\"0.6\"/>", at(*z))
            .expect("a String takes all");
    }
    (!z.is_empty()).then(|| {
        format!(
            "<svg viewBox=\"0 0 {WIDTH:.0} 28\" width=\"{WIDTH:.0}\" height=\"28\" role=\"img\" aria-label=\"{words}\">\
             <rect x=\"{:.1}\" y=\"2\" width=\"{:.1}\" height=\"24\" fill=\"currentColor\" fill-opacity=\"0.12\"/>\
             <line x1=\"{:.1}\" y1=\"0\" x2=\"{:.1}\" y2=\"28\" stroke=\"currentColor\"/>{marks}</svg>\n<p class=\"soft\">{words}.</p>",
            at(-INSIDE),
            at(INSIDE) - at(-INSIDE),
            at(0.0),
            at(0.0)
        )
    })
}
