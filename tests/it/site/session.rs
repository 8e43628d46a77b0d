//! docs/site/session.svg: a terminal in which envdoc runs. The output is real; the speed of typing is not.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use diagnostic::layout::Layout;
use regex::Regex;

use crate::generated::{resolve_report, same};
use crate::hostile::{envdoc, on_terminal};

use super::root;

/// Narrow enough for a phone.
const COLUMNS: u16 = 68;
/// Sizes in units of the drawing: a character, a line, the edge.
const CHARACTER: f64 = 8.4;
const LINE: usize = 20;
const EDGE: usize = 16;
/// Seconds: before the first command, for a typed character, before the output, between its lines, after it.
const PAUSES: [f64; 5] = [0.6, 0.035, 0.4, 0.03, 1.6];

/// Colours of the screen, in light and dark.
const COLOURS: &[(&str, &str, &str)] = &[
    ("screen", "#f6f8fa", "#0d1117"),
    ("plain", "#1f2328", "#e6edf3"),
    ("dim", "#57606a", "#9da7b3"),
    ("red", "#b42318", "#ff7b72"),
    ("green", "#116329", "#56d364"),
    ("yellow", "#7a5200", "#e3b341"),
    ("blue", "#0550ae", "#79c0ff"),
    ("magenta", "#8a1c8a", "#d2a8ff"),
    ("cyan", "#0b6570", "#56d4dd"),
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    dim: bool,
    colour: Option<&'static str>,
}

impl Style {
    fn apply(&mut self, code: &str) {
        match code {
            "" | "0" => *self = Style::default(),
            "1" => self.bold = true,
            "2" => self.dim = true,
            "22" => (self.bold, self.dim) = (false, false),
            "31" | "91" => self.colour = Some("red"),
            "32" | "92" => self.colour = Some("green"),
            "33" | "93" => self.colour = Some("yellow"),
            "34" | "94" => self.colour = Some("blue"),
            "35" | "95" => self.colour = Some("magenta"),
            "36" | "96" => self.colour = Some("cyan"),
            "39" => self.colour = None,
            _ => panic!("the session does not draw the style {code}"),
        }
    }

    fn classes(self) -> String {
        let names = [self.bold.then_some("bold"), self.dim.then_some("dim"), self.colour];
        names.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// What a terminal shows of a program's output: its lines, in parts of one style.
fn lines(output: &str) -> Vec<Vec<(Style, String)>> {
    static CONTROL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\x1b\[([0-9;]*)m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)").unwrap());
    let mut style = Style::default();
    let mut found = Vec::new();
    for line in output.replace("\r\n", "\n").trim_end().split('\n') {
        let (mut parts, mut at, mut column) = (Vec::new(), 0, 0);
        let mut add = |style: Style, text: &str, parts: &mut Vec<(Style, String)>| {
            assert!(!text.contains(char::is_control), "{text:?}");
            for letter in text.chars() {
                // A terminal continues in the next line.
                if column == usize::from(COLUMNS) {
                    found.push(std::mem::take(parts));
                    column = 0;
                }
                column += 1;
                match parts.last_mut() {
                    Some((last, text)) if *last == style => text.push(letter),
                    _ => parts.push((style, letter.to_string())),
                }
            }
        };
        for control in CONTROL.captures_iter(line) {
            let whole = control.get(0).unwrap();
            add(style, &line[at..whole.start()], &mut parts);
            at = whole.end();
            if let Some(codes) = control.get(1) {
                codes.as_str().split(';').for_each(|code| style.apply(code));
            }
        }
        add(style, &line[at..], &mut parts);
        found.push(parts);
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The drawing so far.
struct Drawing {
    lines: String,
    count: usize,
    /// When the next line appears, in seconds.
    time: f64,
}

impl Drawing {
    fn baseline(&self) -> usize {
        EDGE + self.count * LINE + 14
    }

    /// A line that appears at once.
    fn line(&mut self, parts: &[(Style, String)]) {
        let text: String = parts.iter().map(|(_, text)| text.as_str()).collect();
        let shown = text.trim_end().chars().count();
        if shown > 0 {
            let _ = write!(
                self.lines,
                "<text x=\"{EDGE}\" y=\"{}\" textLength=\"{:.1}\" style=\"animation-delay:{:.2}s\">",
                self.baseline(),
                shown as f64 * CHARACTER,
                self.time
            );
            let mut left = shown;
            for (style, text) in parts {
                let text: String = text.chars().take(left).collect();
                left -= text.chars().count();
                let _ = match style.classes() {
                    _ if text.is_empty() => Ok(()),
                    classes if classes.is_empty() => write!(self.lines, "{}", escaped(&text)),
                    classes => write!(self.lines, "<tspan class=\"{classes}\">{}</tspan>", escaped(&text)),
                };
            }
            self.lines.push_str("</text>\n");
        }
        self.count += 1;
    }

    /// A line that is typed: it is there, and what covers it shrinks.
    fn typed(&mut self, prompt: &str, text: &str) {
        let prompted = Style { dim: true, ..Style::default() };
        let typed = Style { bold: true, ..Style::default() };
        let (x, letters) = (EDGE as f64 + prompt.len() as f64 * CHARACTER, text.chars().count());
        let (y, start) = (self.baseline() - 14, self.time);
        self.line(&[(prompted, prompt.to_owned()), (typed, text.to_owned())]);
        let seconds = letters as f64 * PAUSES[1];
        let _ = writeln!(
            self.lines,
            "<rect class=\"cover\" x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{LINE}\" \
             style=\"animation:session-type {seconds:.2}s steps({letters}) {start:.2}s forwards\"/>",
            (letters + 1) as f64 * CHARACTER
        );
        self.time += seconds;
    }

    fn run(&mut self, command: &[&str], output: &str) {
        for (index, text) in command.iter().enumerate() {
            self.typed(if index == 0 { "$ " } else { "> " }, text);
        }
        self.time += PAUSES[2];
        for line in lines(output) {
            self.line(&line);
            self.time += PAUSES[3];
        }
        self.count += 1;
        self.time += PAUSES[4];
    }
}

/// The rules of one colour scheme.
fn scheme(dark: bool) -> String {
    COLOURS.iter().fold(String::new(), |mut text, (name, light, at_night)| {
        let _ = write!(text, "--session-{name}:{};", if dark { at_night } else { light });
        text
    })
}

fn drawing(drawn: &Drawing) -> String {
    // A line is empty after the last command.
    let (width, height) =
        ((f64::from(COLUMNS) * CHARACTER).ceil() as usize + 2 * EDGE, 2 * EDGE + (drawn.count - 1) * LINE);
    let (light, dark) = (scheme(false), scheme(true));
    let colours = COLOURS[1..].iter().fold(String::new(), |mut text, (name, ..)| {
        let _ = write!(text, ".session-screen .{name}{{fill:var(--session-{name})}}");
        text
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"session-screen\" viewBox=\"0 0 {width} {height}\" \
         role=\"group\" aria-label=\"Terminal session\">\n\
         <!-- Generated by tests/it/site/session.rs from runs of envdoc. -->\n\
         <style>\n\
         .session-screen{{{light}font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans \
         Mono\",monospace}}\n\
         @media (prefers-color-scheme:dark){{.session-screen{{{dark}}}}}\n\
         html.light .session-screen,html.rust .session-screen{{{light}}}\n\
         html.coal .session-screen,html.navy .session-screen,html.ayu .session-screen{{{dark}}}\n\
         .session-screen text{{fill:var(--session-plain);white-space:pre}}\n\
         .session-screen .screen,.session-screen .cover{{fill:var(--session-screen)}}\n\
         .session-screen .cover{{display:none;pointer-events:none;transform-box:fill-box;\
         transform-origin:100% 50%}}\n\
         .session-screen .bold{{font-weight:bold}}{colours}\n\
         @media screen and (prefers-reduced-motion:no-preference){{\
         .session-screen text{{animation:session-show 1ms both}}.session-screen .cover{{display:inline}}}}\n\
         @keyframes session-show{{from{{visibility:hidden}}to{{visibility:visible}}}}\n\
         @keyframes session-type{{to{{transform:scaleX(0)}}}}\n\
         </style>\n\
         <rect class=\"screen\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n\
         {}</svg>\n",
        drawn.lines
    )
}

/// What a command prints on a terminal, in the directory `tests`.
fn recorded(command: &[&str]) -> String {
    let words: Vec<&str> = command
        .iter()
        .flat_map(|line| line.trim_end_matches('\\').split_whitespace())
        .skip_while(|word| *word == "envdoc")
        .collect();
    let directory: PathBuf = root().join("tests");
    let mut program = envdoc(&words, &directory);
    program.env("LC_ALL", "C.UTF-8").env("ENVDOC_NO_CONFIG", "1");
    String::from_utf8(on_terminal(program, Some(COLUMNS))).unwrap()
}

#[test]
fn recorded_session_is_current() {
    let mut drawn = Drawing { lines: String::new(), count: 0, time: PAUSES[0] };
    let check: &[&str] =
        &["envdoc check --from servers/broken-driver-library-mismatch.json \\", "--only driver,toolkit"];
    drawn.run(check, &recorded(check));
    // As in the README: of a fixed day, and without the reasons.
    let layout = Layout { width: usize::from(COLUMNS), unicode: true, verbose: false, root: true };
    let resolved = resolve_report(layout);
    let end = resolved.find("Why").unwrap();
    let end = resolved[..end].rfind('\n').unwrap();
    let stack = format!("{}\n\x1b[2m…\x1b[0m", resolved[..end].trim_end());
    drawn.run(&["envdoc resolve --cuda 12.1 --python 3.12"], &stack);
    let lint: &[&str] = &["envdoc lint lint/seeds/pytorch-devel.Dockerfile"];
    drawn.run(lint, &recorded(lint));
    same("docs/site/session.svg", &drawing(&drawn));
}

#[test]
fn styles_and_long_lines_are_drawn_as_a_terminal_shows_them() {
    let found = lines("\x1b[1m\x1b[31m✗\x1b[0m a\x1b]8;;https://e.org\x1b\\b\x1b]8;;\x1b\\\r\n\r\n");
    let red = Style { bold: true, dim: false, colour: Some("red") };
    assert_eq!(found, [vec![(red, "✗".to_owned()), (Style::default(), " ab".to_owned())]]);
    let long = "x".repeat(usize::from(COLUMNS) + 1);
    let lengths: Vec<usize> = lines(&long).iter().map(|line| line[0].1.len()).collect();
    assert_eq!(lengths, [usize::from(COLUMNS), 1]);
}

/// WCAG 2 asks for 4.5 to 1 between text and what is behind it.
#[test]
fn colours_of_the_session_are_readable() {
    let luminance = |colour: &str| -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (_, light, dark) = COLOURS[0];
    for (name, day, night) in &COLOURS[1..] {
        for (text, screen) in [(*day, light), (*night, dark)] {
            let (one, other) = (luminance(text), luminance(screen));
            let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
            assert!(contrast >= 4.5, "{name} {text} on {screen}: {contrast:.1}");
        }
    }
}
