//! The report for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use diagnostic::units::{short_size, time};

use super::{BuildReport, Ending, FailureEntry, ImageEntry, Note, Phase, StepEntry, step_title};
use crate::verify::{Status, Verification};
use diagnostic::layout::Layout;
use diagnostic::terminal::{colour, foreign};
use docker::build::StepKind;

/// How many of the layers and of the slowest steps are named.
const NAMED: usize = 5;
/// Layers below this many bytes are not named unless everything is.
const SMALL: u64 = 100_000;

/// The whole report, with ANSI colours in it.
pub fn report(report: &BuildReport, layout: Layout) -> String {
    let mut text = String::new();
    if let Some(failure) = &report.failure {
        failed(&mut text, failure, report.ending(), layout);
    }
    if let Some(found) = &report.image {
        image(&mut text, report, found, layout);
    }
    if let Some(found) = &report.verification {
        verification(&mut text, found, layout);
    }
    steps(&mut text, report, layout);
    if !report.notes.is_empty() && !text.is_empty() {
        text.push('\n');
    }
    for note in &report.notes {
        let label = match note {
            Note::Warning(_) => "",
            Note::Info(_) => "note: ",
        };
        let _ = writeln!(text, "{}", textwrap::fill(&format!("{label}{note}"), layout.width));
    }
    text
}

fn failed(text: &mut String, failure: &FailureEntry, ending: Ending, layout: Layout) {
    let red = colour(AnsiColor::Red).bold();
    let sign = if layout.unicode { "✗" } else { "x" };
    let what = match (failure.phase, &failure.step) {
        (_, Some(step)) => format!("failed at {}", step_title(step)),
        (Phase::Verification, None) if ending == Ending::NotVerified => {
            "could not verify the image; it was not tagged".into()
        }
        (Phase::Verification, None) => "the image failed verification; it was not tagged".into(),
        (Phase::Push, None) => "the image is built and tagged, but not pushed".into(),
        (Phase::Tag, None) => "the image is built, but could not be tagged".into(),
        _ => "not built".into(),
    };
    let _ = writeln!(text, "{red}{sign} {what}{red:#}");
    if !failure.last_lines.is_empty() {
        let bar = if layout.unicode { "│" } else { "|" };
        for line in &failure.last_lines {
            let _ = writeln!(text, "  {bar} {}", foreign(line));
        }
    }
    for line in failure.message.lines() {
        let _ = writeln!(text, "  {}", foreign(line));
    }
    let means = diagnose::report::text::brief(&failure.diagnosis, layout);
    if !means.is_empty() {
        let _ = write!(text, "\n{means}");
    }
    text.push('\n');
}

fn image(text: &mut String, report: &BuildReport, image: &ImageEntry, layout: Layout) {
    let bold = Style::new().bold();
    let name = image.tags.first().map_or("untagged image", String::as_str);
    let _ = writeln!(text, "{bold}{name}{bold:#}");
    let mut row = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<9} {value}");
    };
    row("id", &image.id);
    for tag in image.tags.iter().skip(1) {
        row("also", tag);
    }
    for pushed in &report.pushed {
        row("pushed", &format!("{} {}", pushed.name, pushed.digest));
    }
    if let Some(stack) = &report.stack {
        let stack = resolve::report::text::headline(stack);
        row("stack", &if layout.unicode { stack } else { stack.replace('·', "|") });
    }
    let architecture = image.architecture.as_deref().unwrap_or("unknown architecture");
    row("size", &format!("{}, {architecture}", short_size(image.bytes)));
    let named: Vec<_> = image.layers.iter().filter(|layer| layer.bytes >= SMALL || layout.verbose).collect();
    let most = if layout.verbose { named.len() } else { NAMED };
    for layer in named.iter().take(most) {
        let by = if layer.by.is_empty() { "(an imported image)".into() } else { step_title(&layer.by) };
        row("", &cut(&format!("{:>8}  {by}", short_size(layer.bytes)), layout.width.saturating_sub(12)));
    }
    if named.len() > most {
        let rest: u64 = named[most..].iter().map(|layer| layer.bytes).sum();
        row("", &format!("{:>8}  in {} more layers", short_size(rest), named.len() - most));
    }
}

fn verification(text: &mut String, verification: &Verification, layout: Layout) {
    let (sign, style) = match (verification.status, layout.unicode) {
        (Status::Passed, true) => ("✓", colour(AnsiColor::Green)),
        (Status::Passed, false) => ("+", colour(AnsiColor::Green)),
        (Status::Failed, true) => ("✗", colour(AnsiColor::Red).bold()),
        (Status::Failed, false) => ("x", colour(AnsiColor::Red).bold()),
        (Status::Unknown, _) => ("?", colour(AnsiColor::Magenta).bold()),
        (Status::Skipped, _) => ("-", Style::new().dimmed()),
    };
    let _ = writeln!(text, "\n{style}{sign} {}{style:#}", verification.message);
    for item in &verification.items {
        if item.status == Status::Passed && !layout.verbose {
            continue;
        }
        let word = match item.status {
            Status::Passed => "holds",
            Status::Failed => "FAILS",
            Status::Unknown => "unknown",
            Status::Skipped => "skipped",
        };
        let _ = writeln!(text, "  {word:<8} {}: {}", item.what, item.message);
    }
}

fn steps(text: &mut String, report: &BuildReport, layout: Layout) {
    let own: Vec<&StepEntry> = report.steps.iter().filter(|step| !step.kind.is_added()).collect();
    if own.is_empty() {
        return;
    }
    // What the image is built on is no step of its own, and neither is writing it down.
    let is_step = |step: &&&StepEntry| step.kind == StepKind::Instruction;
    let cached = own.iter().filter(is_step).filter(|step| step.cached).count();
    let builder = report.builder.as_deref().unwrap_or("the builder");
    let took = report.build_seconds.map_or(String::new(), |seconds| format!(" in {}", time(seconds)));
    let context = report
        .context_bytes
        .map_or(String::new(), |bytes| format!(", context of {} sent", short_size(bytes)));
    let (engine, count) = (&report.engine, own.iter().filter(is_step).count());
    let steps = if count == 1 { "step" } else { "steps" };
    let _ =
        writeln!(text, "\n{count} {steps}{took}, {cached} from the cache{context} ({builder} of {engine})");
    let mut slow: Vec<_> = own.iter().filter(|step| layout.verbose || step.seconds >= 0.05).collect();
    slow.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    if layout.verbose {
        slow = own.iter().collect();
    }
    let most = if layout.verbose { slow.len() } else { NAMED };
    for step in slow.iter().take(most) {
        let took = if step.cached { "cached".to_owned() } else { time(step.seconds) };
        let _ = writeln!(
            text,
            "  {}",
            cut(&format!("{took:>9}  {}", step_title(&step.name)), layout.width.saturating_sub(2))
        );
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}
