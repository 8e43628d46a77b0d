//! What a failure means: signatures, and numbers of Xids, SXids and CUDA's errors.

use std::fmt::Write;

use super::command_to_confirm;
use crate::message;
use crate::scan::Hit;
use catalog::cuda_errors::CudaError;
use catalog::signatures::Signature;
use catalog::sxids::Sxid;
use catalog::xids::{Cause, Xid};
use catalog::{Catalog, Sources};
use diagnostic::layout::hanging;

/// A signature, of which no line is known.
pub fn signature(one: &Signature, width: usize) -> String {
    let mut text = format!("# {}\n\n{}", one.id, hanging(&message::general(one.message), 0, width));
    rest(&mut text, one, width);
    text.push_str(match one.is_derived() {
        true => "\nNo single line matches: envdoc diagnose derives it from several lines, or from a dump.\n",
        false => "\nExample lines:\n",
    });
    one.matches.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    text
}

/// What lines match: the first in full, and roots of the same line too; of the others the sentence.
pub fn hits(catalog: &Catalog, hits: &[Hit], width: usize) -> String {
    let mut text = String::new();
    let Some(first) = hits.first() else { return text };
    let (full, others): (Vec<&Hit>, Vec<&Hit>) =
        hits.iter().partition(|hit| hit.signature.role == first.signature.role);
    for (index, hit) in full.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let _ = write!(text, "# {}\n\n{}", hit.signature.id, hanging(&hit.message(), 0, width));
        numbers(catalog, &mut text, hit, width);
        rest(&mut text, hit.signature, width);
    }
    if !others.is_empty() {
        text.push_str("\nThe line also matches:\n");
    }
    for hit in others {
        text.push_str(&hanging(&format!("- {}: {}", hit.signature.id, hit.message()), 2, width));
    }
    text
}

/// The row of the number that a line of the kernel's log has.
fn numbers(catalog: &Catalog, text: &mut String, hit: &Hit, width: usize) {
    let number = |name: &str| hit.captured(name).and_then(|number| number.parse::<u32>().ok());
    if let Some(row) = number("xid").and_then(|number| catalog.xids().xid(number)) {
        text.push_str(&hanging(
            &format!("Xid {}, {}: {} {}", row.number, row.name, row.meaning, row.action),
            0,
            width,
        ));
    }
    if let Some(row) = number("sxid").and_then(|number| catalog.sxids().sxid(number)) {
        let message = format!("SXid {}, {}: {} {}", row.number, row.name, row.meaning, row.action);
        text.push_str(&hanging(&message, 0, width));
    }
}

/// Meaning, causes and source.
fn rest(text: &mut String, one: &Signature, width: usize) {
    let _ = write!(text, "{}\n{}", hanging(one.meaning, 0, width), hanging(&classification(one), 2, width));
    text.push_str(if one.causes.len() == 1 {
        "\nCause:\n"
    } else {
        "\nPossible causes and how to confirm each:\n"
    });
    for (number, cause) in one.causes.iter().enumerate() {
        text.push_str(&hanging(&format!("{}. {}", number + 1, cause.cause), 3, width));
        if let Some(command) = command_to_confirm(cause) {
            text.push_str(&hanging(&format!("   check: {command}"), 9, width));
        }
        if let Some(look_at) = cause.look_at {
            text.push_str(&hanging(&format!("   look at: {look_at}"), 9, width));
        }
        text.push_str(&hanging(&format!("   fix:   {}", cause.fix), 9, width));
        cause.commands.iter().for_each(|command| text.push_str(&format!("            {command}\n")));
    }
    if !one.leads_to.is_empty() {
        let _ = write!(text, "\n{}", hanging(&format!("Leads to: {}", one.leads_to.join(", ")), 2, width));
    }
    let source = format!("Source: {} (verified in {})", one.source, one.verified.describe());
    let _ = write!(text, "\n{}", hanging(&source, 2, width));
}

/// Whose failure it is, and what it is in the timeline of a failure.
pub fn classification(one: &Signature) -> String {
    let component = one.component.title();
    let versions = match (&one.since, &one.until) {
        (Some(since), Some(until)) => format!(" · logged by {component} {since} to {until}"),
        (Some(since), None) => format!(" · logged by {component} {since} and later"),
        (None, Some(until)) => format!(" · logged by {component} up to {until}"),
        (None, None) => String::new(),
    };
    format!("{component} · {} · {}{versions}", one.role.describe(), one.severity.id())
}

/// An Xid.
pub fn of_xid(row: &Xid, width: usize) -> String {
    let severity = match row.cause {
        Some(Cause::Program) => "usually caused by the program",
        None => row.severity.id(),
    };
    let nvidia = row.nvidia.as_ref().map_or(String::new(), |action| format!(" · NVIDIA's action: {action}"));
    let classification = format!("GPU error reported by the driver · {severity}{nvidia}");
    number(
        &format!("Xid {}: {}", row.number, row.name),
        &[&row.meaning, &row.action],
        &classification,
        "xid-errors",
        &row.source,
        width,
    )
}

/// An SXid.
pub fn of_sxid(row: &Sxid, width: usize) -> String {
    let severity = row.severity.id();
    let classification =
        format!("NVSwitch error reported by the driver · {severity} · {}", row.class.description());
    let message = [
        row.meaning.as_str(),
        row.action.as_str(),
        "The kernel log line states whether it was fatal; that takes precedence.",
    ];
    number(
        &format!("SXid {}: {}", row.number, row.name),
        &message,
        &classification,
        "nvswitch-errors",
        &row.source,
        width,
    )
}

fn number(
    title: &str,
    message: &[&str],
    classification: &str,
    check: &str,
    source: &Sources,
    width: usize,
) -> String {
    let mut text = format!("# {title}\n\n");
    message.iter().for_each(|sentence| text.push_str(&hanging(sentence, 0, width)));
    let _ = write!(text, "\n{}\nCheck: envdoc check --only {check}\n", hanging(classification, 2, width));
    let _ = write!(text, "\n{}", hanging(&format!("Source: {source}"), 2, width));
    text
}

/// An error of CUDA, and the signatures of its text.
pub fn of_cuda(catalog: &Catalog, row: &CudaError, found: &[Hit], width: usize) -> String {
    let mut text = format!("# CUDA error {}: {}\n\nCUDA message: {}\n", row.number, row.name, row.text);
    let _ = write!(text, "\n{}\n", hanging(&format!("Source: {}", row.source), 2, width));
    match found.is_empty() {
        true => text.push_str("No signature matches this error.\n"),
        false => text.push_str(&hits(catalog, found, width)),
    }
    text
}
