//! The answer for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

pub use super::parts::headline;
use super::parts::{WARNING, heading};
use super::{Report, conflict};
use crate::lookup::Together;
use crate::outcome::{Outcome, Predicate, Rejected, Resolution, Stack, Warning};
use crate::{held_back, outcome};
use diagnostic::layout::{Layout, wrapped};
use diagnostic::terminal::colour;
use diagnostic::words;

const FOUND: AnsiColor = AnsiColor::Green;

/// Limit of rejected alternatives without --verbose.
const REJECTED: usize = 3;

/// The whole report, with ANSI colours in it.
pub fn report(report: &Report, layout: Layout) -> String {
    let mut text = report.project.map_or_else(String::new, |files| files.text(layout));
    match report.outcome {
        Outcome::Resolved(resolution) => found(&mut text, resolution, layout),
        Outcome::Conflict(conflict) => {
            let change = report.project.and_then(|files| files.change.as_ref());
            conflict::write(&mut text, conflict, change, layout);
        }
    }
    warnings(&mut text, report, layout);
    if let Outcome::Resolved(resolution) = report.outcome {
        install(&mut text, &resolution.stack);
    }
    if layout.unicode { text } else { text.replace('·', "|").replace('×', "x").replace('…', "...") }
}

/// Whether a part is compatible with a request, in a sentence.
pub fn together(together: &Together) -> String {
    let words = match &together.outcome {
        Outcome::Resolved(found) => {
            let why = together.why.as_ref().map_or(String::new(), |why| format!(". {}", why.summary));
            format!("yes, as {}{why}", headline(&found.stack))
        }
        Outcome::Conflict(conflict) if conflict.undecided => format!("unknown: {}", conflict.message),
        Outcome::Conflict(conflict) => format!("no: {}", conflict.message),
    };
    format!("Together with {}: {words}", together.requirements.join(", "))
}

fn found(text: &mut String, resolution: &Resolution, layout: Layout) {
    let stack = &resolution.stack;
    for warning in resolution.warnings.iter().filter(|warning| warning.id == held_back::ID) {
        self::warning(text, warning, layout);
    }
    let style = colour(FOUND);
    let sign = if layout.unicode { "✓" } else { "+" };
    let headline = headline(stack);
    wrapped(text, &headline, &format!("{style}{sign}{style:#} "), "  ", layout);
    text.push('\n');
    let rows = rows(stack);
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in rows {
        row(text, &name, &value, widest, layout);
    }
    if !resolution.decisions.is_empty() {
        heading(text, "Why");
        let widest = resolution.decisions.iter().map(|decision| decision.part.len()).max().unwrap_or(0);
        for decision in &resolution.decisions {
            row(text, &decision.part, &decision.message, widest, layout);
            if layout.verbose {
                for source in &decision.sources {
                    row(text, "", &format!("source: {source}"), widest, layout);
                }
            }
        }
    }
    rejected(text, resolution, layout);
}

/// The stack as rows of a table.
pub fn rows(stack: &Stack) -> Vec<(String, String)> {
    let joined = |parts: &[(&str, &Option<String>)]| {
        let parts: Vec<String> =
            parts.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?))).collect();
        parts.join(" · ")
    };
    let mut rows = vec![("torch".to_owned(), format!("{}+{}", stack.torch, stack.torch_build))];
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push((name.to_owned(), value));
        }
    };
    add(
        "paired with",
        joined(&[
            ("torchvision", &stack.torchvision),
            ("torchaudio", &stack.torchaudio),
            ("triton", &stack.triton),
        ]),
    );
    add("CUDA", if stack.is_cpu() { "none (CPU build)".to_owned() } else { stack.cuda.clone() });
    add("bundled", joined(&[("cuDNN", &stack.cudnn), ("NCCL", &stack.nccl)]));
    add("Python", format!("{}, {}", stack.python, python_from(stack)));
    add("DeepSpeed", stack.deepspeed.clone().unwrap_or_default());
    for (name, version) in &stack.packages {
        add(name, version.clone());
    }
    add("base image", stack.base_image.as_ref().map_or_else(|| "none".into(), ToString::to_string));
    add("system", joined_plain(&[stack.system.clone().unwrap_or_default(), stack.architecture.clone()]));
    add("driver", stack.driver_text());
    add("GPUs", gpus(stack));
    rows
}

fn joined_plain(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

fn gpus(stack: &Stack) -> String {
    match &stack.gpu_archs {
        None => "unknown".into(),
        Some(list) => {
            list.iter().map(|one| format!("sm_{}", one.replace('.', ""))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Where the Python comes from, in words.
pub fn python_from(stack: &Stack) -> String {
    match stack.python_from {
        outcome::PythonFrom::Image => "in the image".into(),
        outcome::PythonFrom::Machine => "of the machine".into(),
        outcome::PythonFrom::Deadsnakes => "from the deadsnakes archive".into(),
        outcome::PythonFrom::Uv => "from uv (uv python install)".into(),
        from @ (outcome::PythonFrom::Apt | outcome::PythonFrom::Dnf) => format!("from {from}"),
    }
}

fn row(text: &mut String, name: &str, value: &str, widest: usize, layout: Layout) {
    let dim = Style::new().dimmed();
    let indent = " ".repeat(widest + 4);
    wrapped(text, value, &format!("  {dim}{name:widest$}{dim:#}  "), &indent, layout);
}

/// Why a candidate was rejected.
#[derive(PartialEq)]
enum Why<'r> {
    /// What is said of the candidate itself.
    Predicate(&'r Predicate),
    /// Sentences with subjects of their own.
    Sentences(String),
}

impl<'r> Why<'r> {
    fn of(rejected: &'r Rejected, every: bool) -> Why<'r> {
        if let Some(predicate) = &rejected.predicate {
            return Why::Predicate(predicate);
        }
        let reasons: Vec<&str> = rejected.reasons.iter().map(|reason| reason.message.as_str()).collect();
        let shown = if every { reasons.len() } else { reasons.len().min(1) };
        Why::Sentences(reasons[..shown].join("; "))
    }

    /// `torch 2.14.1 and torch 2.14.0 have no wheel for Python 3.8`.
    fn of_candidates(&self, candidates: &[&str]) -> String {
        let names = words::and(candidates);
        match self {
            Why::Predicate(predicate) if candidates.len() > 1 => format!("{names} {}", predicate.several),
            Why::Predicate(predicate) => format!("{names} {}", predicate.one),
            Why::Sentences(sentences) => format!("{names}: {sentences}"),
        }
    }
}

fn rejected(text: &mut String, resolution: &Resolution, layout: Layout) {
    if resolution.rejected.is_empty() {
        return;
    }
    heading(text, "Rejected");
    let shown = if layout.verbose { usize::MAX } else { REJECTED };
    let mut groups: Vec<(Vec<&str>, Why)> = Vec::new();
    for rejected in &resolution.rejected {
        let why = Why::of(rejected, layout.verbose);
        // Neighbours that are refused for the same reason share a line.
        match groups.last_mut() {
            Some((candidates, same)) if *same == why => candidates.push(&rejected.candidate),
            _ => groups.push((vec![&rejected.candidate], why)),
        }
    }
    for (candidates, why) in groups.iter().take(shown) {
        wrapped(text, &why.of_candidates(candidates), "  ", "    ", layout);
    }
    let more: usize = groups.iter().skip(shown).map(|(candidates, _)| candidates.len()).sum();
    if more > 0 {
        let dim = Style::new().dimmed();
        let _ = writeln!(text, "  {dim}and {more} more: --verbose{dim:#}");
    }
}

fn warnings(text: &mut String, report: &Report, layout: Layout) {
    // What a requirement costs another is before the stack.
    let mut warnings = report.all_warnings().filter(|warning| warning.id != held_back::ID).peekable();
    if warnings.peek().is_some() || !report.notes.is_empty() {
        text.push('\n');
    }
    for warning in warnings {
        self::warning(text, warning, layout);
    }
    for note in report.notes {
        wrapped(text, note, "- ", "  ", layout);
    }
}

fn warning(text: &mut String, warning: &Warning, layout: Layout) {
    let style = colour(WARNING).bold();
    let start = format!("{style}! {}{style:#}: ", warning.id);
    wrapped(text, &warning.message, &start, "  ", layout);
}

fn install(text: &mut String, stack: &Stack) {
    // Some images already contain all of it.
    if stack.install.is_empty() {
        return;
    }
    heading(text, "Install");
    // Commands are never wrapped: they are to be copied.
    for command in &stack.install {
        let _ = writeln!(text, "  {command}");
    }
}
