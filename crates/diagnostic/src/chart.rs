//! A chart of one measured series over two logarithmic axes, as SVG without a script: in a page it has the
//! page's colours, alone it brings its own; both follow the reader's choice of light or dark. The value of a
//! point is shown when the pointer or the keyboard's focus is on it.

use std::fmt::Write;

use crate::markup::escape;

/// How a chart looks, for a page as well as for an SVG of its own.
pub(crate) const STYLE: &str = include_str!("chart.css");

/// What is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// What it shows: `Bus bandwidth by size`.
    pub title: String,
    /// The same with its most important values, for those who cannot see it.
    pub alternative: String,
    /// Title of the horizontal axis, with the unit: `data size`.
    pub x_title: &'static str,
    /// Title of the vertical axis.
    pub y_title: &'static str,
    /// From left to right.
    pub points: Vec<Point>,
    /// A value that the points are compared with, as a line across.
    pub reference: Option<Reference>,
    /// The lines of the grid with their labels, from the lowest: those of [`decades`].
    pub y_ticks: Vec<(f64, String)>,
}

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Above 0.
    pub x: f64,
    /// Above 0.
    pub y: f64,
    /// Where it is on the horizontal axis: `64 MiB`.
    pub x_label: String,
    /// Everything that is known of it: `64 MiB: 1.10 GB/s in 70.0 ms`.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Above 0.
    pub y: f64,
    pub label: String,
}

/// The size of a drawing in pixels at which its text has the size of the page's, and the room for labels.
struct Frame {
    class: &'static str,
    width: f64,
    height: f64,
    /// At most so many labels on the horizontal axis.
    labels: usize,
}

const WIDE: Frame = Frame { class: "wide", width: 760.0, height: 400.0, labels: 9 };
const NARROW: Frame = Frame { class: "narrow", width: 380.0, height: 320.0, labels: 4 };
const LEFT: f64 = 78.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;
/// Average width of a character of the chart's font (upper bound), and cap height, in pixels.
const LETTER: f64 = 6.6;
const LETTER_HEIGHT: f64 = 10.0;
/// Minimum distance between a label and the curve.
const NEAR: f64 = 4.0;

impl Chart {
    /// For a page: twice, for wide and for narrow screens; the stylesheet shows one of them.
    pub fn in_page(&self) -> String {
        let with_table = format!("{} The table below lists every value.", self.alternative);
        let drawn = |frame| self.drawn(frame, "", &with_table);
        format!("<figure>\n{}{}</figure>\n", drawn(&WIDE), drawn(&NARROW))
    }

    /// As a file of its own.
    pub fn document(&self) -> String {
        let head =
            format!("<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        self.drawn(&WIDE, &head, &self.alternative)
    }

    fn drawn(&self, frame: &Frame, head: &str, alternative: &str) -> String {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {}\" viewBox=\"0 0 {} {}\" \
             role=\"group\" \
             aria-label=\"{}\">\n<title>{}</title>\n{head}",
            frame.class,
            frame.width,
            frame.height,
            escape(alternative),
            escape(&self.title)
        );
        let Some(scale) = Scale::of(self, frame) else {
            return text + "<text x=\"20\" y=\"30\">No measurements</text>\n</svg>\n";
        };
        text.push_str("<g aria-hidden=\"true\">\n");
        self.axes(&mut text, &scale);
        self.reference(&mut text, &scale);
        let line: Vec<String> = self.points.iter().map(|point| scale.pair(point)).collect();
        let _ = writeln!(text, "<polyline class=\"series\" points=\"{}\"/>\n</g>", line.join(" "));
        for index in 0..self.points.len() {
            self.point(&mut text, &scale, index);
        }
        text + "</svg>\n"
    }

    fn axes(&self, text: &mut String, scale: &Scale) {
        let (right, bottom) = (scale.right(), scale.bottom());
        for (value, label) in &self.y_ticks {
            let at = scale.y(*value);
            let _ = writeln!(
                text,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                escape(label)
            );
        }
        let every = self.points.len().div_ceil(scale.frame.labels).max(1);
        for point in self.points.iter().rev().step_by(every) {
            let at = scale.x(point.x);
            let _ = writeln!(
                text,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 5.0,
                at.min(right - 16.0),
                bottom + 19.0,
                escape(&point.x_label)
            );
        }
        let _ = writeln!(
            text,
            "<path class=\"axis\" d=\"M{LEFT},{TOP} V{bottom:.1} H{right:.1}\"/>\n\
             <text class=\"middle title\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"title\" x=\"8\" y=\"{:.1}\">{}</text>",
            f64::midpoint(LEFT, right),
            scale.frame.height - 12.0,
            escape(self.x_title),
            TOP - 26.0,
            escape(self.y_title)
        );
    }

    fn reference(&self, text: &mut String, scale: &Scale) {
        let Some(reference) = &self.reference else { return };
        let (at, right) = (scale.y(reference.y), scale.right());
        let (x, y) = self.beside_the_curve(scale, at, &reference.label);
        let _ = writeln!(
            text,
            "<line class=\"reference\" x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"end reference\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(&reference.label)
        );
    }

    /// Where a label of a line across ends, so that the curve does not cross it: above or below the line, as
    /// far right as there is room, else above the drawing.
    fn beside_the_curve(&self, scale: &Scale, at: f64, label: &str) -> (f64, f64) {
        let width = label.chars().count() as f64 * LETTER;
        let points: Vec<(f64, f64)> =
            self.points.iter().map(|point| (scale.x(point.x), scale.y(point.y))).collect();
        let is_free = |(x, y): (f64, f64)| {
            let (left, top) = (x - width - NEAR, y - LETTER_HEIGHT - NEAR);
            let fits = top >= 0.0 && left >= LEFT && y + NEAR <= scale.bottom();
            fits && !crosses(&points, (left, x + NEAR), (top, y + NEAR))
        };
        let steps = std::iter::successors(Some(scale.right()), |x| Some(x - LETTER));
        let ends = steps.take_while(|x| *x - width >= LEFT);
        let mut places = ends.flat_map(|x| [(x, at - 7.0), (x, at + LETTER_HEIGHT + 5.0)]);
        places.find(|place| is_free(*place)).unwrap_or((scale.right(), TOP - 8.0))
    }

    /// A point answers in the whole column around it.
    fn point(&self, text: &mut String, scale: &Scale, index: usize) {
        let point = &self.points[index];
        let (x, y) = (scale.x(point.x), scale.y(point.y));
        let halfway = |other: Option<&Point>| other.map(|other| f64::midpoint(scale.x(other.x), x));
        let left = halfway(index.checked_sub(1).and_then(|before| self.points.get(before))).unwrap_or(LEFT);
        let right = halfway(self.points.get(index + 1)).unwrap_or(scale.right());
        let label = escape(&point.label);
        let _ = writeln!(
            text,
            "<g class=\"point\" tabindex=\"0\" role=\"img\" aria-label=\"{label}\">\
             <rect x=\"{left:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <path class=\"guide\" d=\"M{LEFT},{y:.1} H{x:.1} V{:.1}\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>\
             <text class=\"end value\" x=\"{:.1}\" y=\"{:.1}\" aria-hidden=\"true\">{label}</text></g>",
            right - left,
            scale.bottom() - TOP,
            scale.bottom(),
            scale.right(),
            TOP - 26.0
        );
    }
}

/// Whether a line through these points, from left to right, enters a rectangle.
fn crosses(points: &[(f64, f64)], (left, right): (f64, f64), (top, bottom): (f64, f64)) -> bool {
    points.windows(2).any(|pair| {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let (from, to) = (left.max(x0), right.min(x1));
        let height = |x: f64| y0 + (y1 - y0) * (x - x0) / (x1 - x0).max(f64::EPSILON);
        from <= to && height(from).min(height(to)) <= bottom && height(from).max(height(to)) >= top
    })
}

/// Where a value is in the drawing.
struct Scale<'f> {
    frame: &'f Frame,
    /// Logarithms to base 2 of the first and the last point.
    x: (f64, f64),
    /// Decades of the lowest and the highest line of the grid.
    y: (f64, f64),
}

impl Scale<'_> {
    fn of<'f>(chart: &Chart, frame: &'f Frame) -> Option<Scale<'f>> {
        let (first, last) = (chart.points.first()?, chart.points.last()?);
        let (lowest, highest) = (chart.y_ticks.first()?, chart.y_ticks.last()?);
        Some(Scale { frame, x: (first.x.log2(), last.x.log2()), y: (lowest.0.log10(), highest.0.log10()) })
    }

    fn right(&self) -> f64 {
        self.frame.width - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.frame.height - BOTTOM
    }

    fn x(&self, value: f64) -> f64 {
        let (first, last) = self.x;
        LEFT + (value.log2() - first) / (last - first).max(1.0) * (self.right() - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.y;
        TOP + (high - value.log10()) / (high - low) * (self.bottom() - TOP)
    }

    fn pair(&self, point: &Point) -> String {
        format!("{:.1},{:.1}", self.x(point.x), self.y(point.y))
    }
}

/// The powers of ten that enclose those of these values that are finite and above 0; at least two.
pub fn decades(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values = values.filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    if high <= 0.0 {
        return Vec::new();
    }
    let low = low.log10().floor();
    let high = high.log10().ceil().max(low + 1.0);
    std::iter::successors(Some(low), |decade| Some(decade + 1.0))
        .take_while(|decade| *decade <= high)
        .map(|decade| 10_f64.powf(decade))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let point =
            |x: f64, y: f64| Point { x, y, x_label: format!("{x} B"), label: format!("{x} B: {y} <GB/s>") };
        Chart {
            title: "Bandwidth & size".into(),
            alternative: "Bandwidth by size, \"2 points\"".into(),
            x_title: "data size",
            y_title: "bandwidth",
            points: vec![point(8.0, 1e5), point(1024.0, 2e9)],
            reference: Some(Reference { y: 2.2e9, label: "the path".into() }),
            y_ticks: decades([1e5, 2e9].into_iter()).iter().map(|one| (*one, one.to_string())).collect(),
        }
    }

    #[test]
    fn a_point_says_its_value_on_focus_and_is_in_the_drawing() {
        let page = chart().in_page();
        let document = roxmltree::Document::parse(&page).unwrap();
        let drawings: Vec<_> = document.descendants().filter(|one| one.has_tag_name(SVG)).collect();
        assert_eq!(drawings.len(), 2, "one for wide and one for narrow screens");
        for drawing in drawings {
            let size: Vec<f64> =
                drawing.attribute("viewBox").unwrap().split(' ').map(|one| one.parse().unwrap()).collect();
            let points: Vec<_> =
                drawing.children().filter(|one| one.attribute("class") == Some("point")).collect();
            assert_eq!(points.len(), 2);
            assert_eq!(points[1].attribute("aria-label"), Some("1024 B: 2000000000 <GB/s>"));
            for circle in drawing.descendants().filter(|one| one.tag_name().name() == "circle") {
                let at = |name| circle.attribute(name).unwrap().parse::<f64>().unwrap();
                assert!((0.0..size[2]).contains(&at("cx")) && (0.0..size[3]).contains(&at("cy")));
            }
        }
    }

    #[test]
    fn the_curve_does_not_cross_the_label_of_the_line_across() {
        let label = "bandwidth of the path: 1.24 GB/s";
        let curves: [&[f64]; 5] = [
            &[1e6, 1e7, 1e8, 1.0e9, 1.2e9, 1.3e9, 1.3e9, 1.4e9],
            &[1e6, 1e8, 2e9, 2.2e9, 2.0e9, 1.3e9, 1.2e9, 1.1e9],
            &[1e6, 1e9, 2e6, 9e8, 1e6, 1e9, 1e6, 2e9],
            &[1.2e9; 8],
            &[1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6],
        ];
        for values in curves {
            let point = |(index, y): (usize, &f64)| Point {
                x: 8.0 * 4_f64.powi(i32::try_from(index).unwrap()),
                y: *y,
                x_label: String::new(),
                label: String::new(),
            };
            let ticks = decades(values.iter().copied().chain([1.24e9]));
            let chart = Chart {
                points: values.iter().enumerate().map(point).collect(),
                reference: Some(Reference { y: 1.24e9, label: label.into() }),
                y_ticks: ticks.into_iter().map(|one| (one, String::new())).collect(),
                ..chart()
            };
            let page = chart.in_page();
            let document = roxmltree::Document::parse(&page).unwrap();
            for drawing in document.descendants().filter(|one| one.has_tag_name(SVG)) {
                let of_class = |class: &str| {
                    drawing.descendants().find(|one| one.attribute("class") == Some(class)).unwrap()
                };
                let number = |text: &str| text.parse::<f64>().unwrap();
                let line = of_class("series").attribute("points").unwrap().split(' ');
                let pairs = line.map(|pair| pair.split_once(',').unwrap());
                let points: Vec<_> = pairs.map(|(x, y)| (number(x), number(y))).collect();
                let shown = of_class("end reference");
                let (x, y) = (number(shown.attribute("x").unwrap()), number(shown.attribute("y").unwrap()));
                let width = label.len() as f64 * 6.0;
                assert!(x - width >= 0.0 && y > 10.0, "{values:?}: ({x}, {y})");
                // Looked at point by point along the curve.
                for pair in points.windows(2) {
                    for step in 0..=200 {
                        let part = f64::from(step) / 200.0;
                        let on = |from: f64, to: f64| from + (to - from) * part;
                        let (at_x, at_y) = (on(pair[0].0, pair[1].0), on(pair[0].1, pair[1].1));
                        let hit = (x - width..x).contains(&at_x) && (y - 10.0..y).contains(&at_y);
                        assert!(!hit, "{values:?}: the label at ({x}, {y}) is on ({at_x}, {at_y})");
                    }
                }
            }
        }
    }

    const SVG: (&str, &str) = ("http://www.w3.org/2000/svg", "svg");

    #[test]
    fn the_grid_encloses_the_values() {
        assert_eq!(decades([2e6, 3e8].into_iter()), [1e6, 1e7, 1e8, 1e9]);
        assert_eq!(decades([1e6].into_iter()), [1e6, 1e7]);
        assert!(decades(std::iter::empty()).is_empty());
        assert_eq!(decades([0.0, 2e6, f64::INFINITY, f64::NAN].into_iter()), [1e6, 1e7]);
    }

    #[test]
    fn alone_it_brings_its_colours_and_without_points_it_says_so() {
        let text = chart().document();
        assert!(roxmltree::Document::parse(&text).is_ok(), "{text}");
        assert!(text.contains("prefers-color-scheme: dark") && text.contains("class=\"paper\""), "{text}");
        let empty = Chart { points: Vec::new(), ..chart() };
        assert!(empty.document().contains("No measurements"));
        let one = Chart { points: chart().points[..1].to_vec(), reference: None, ..chart() };
        assert!(!one.document().contains("NaN"));
    }
}
