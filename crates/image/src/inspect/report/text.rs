//! For people.

use std::fmt::Write;

use anstyle::Style;

use super::{Machine, summary};
use crate::inspect::{Image, Judged, ReadFrom};
use catalog::Catalog;
use diagnostic::layout::{Layout, wrapped};
use diagnostic::visible;
use judge::Verdict;

/// The report, with ANSI colours in it.
pub fn text(catalog: &'static Catalog, image: &Image, machines: &[Machine], layout: Layout) -> String {
    let mut text = String::new();
    let bold = Style::new().bold();
    let _ = writeln!(text, "{bold}{}{bold:#}", visible::line(&image.name));
    let wherefrom = match (image.read_from, &image.engine) {
        (ReadFrom::Engine, Some(engine)) if engine.socket().is_none() => format!(
            "from the Docker Engine at \
             {engine}"
        ),
        (ReadFrom::Engine, _) => "from the Docker Engine of this machine".to_owned(),
        (ReadFrom::Registry, _) => "read from its registry, not pulled".to_owned(),
    };
    wrapped(&mut text, &wherefrom, "  ", "  ", layout);
    text.push('\n');
    rows(catalog, &mut text, image, layout);
    layers(&mut text, image, layout);
    for machine in machines {
        let _ = writeln!(text, "\n{bold}On {}{bold:#}", visible::line(&machine.name));
        machine.judged.iter().for_each(|judged| answer(&mut text, judged, layout));
    }
    if !machines.is_empty() {
        text.push('\n');
        verdict(&mut text, machines, layout);
    }
    text
}

fn rows(catalog: &'static Catalog, text: &mut String, image: &Image, layout: Layout) {
    let or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".into());
    let mut platform =
        format!("{} {}", image.os.as_deref().unwrap_or("unknown system,"), or_unknown(&image.architecture));
    if image.architectures.len() > 1 {
        let _ = write!(platform, " (the tag has images for {})", image.architectures.join(", "));
    }
    let size = image.bytes.map_or_else(
        || "not known".to_owned(),
        |bytes| {
            let how =
                if image.read_from == ReadFrom::Engine { "unpacked" } else { "compressed, as it is pulled" };
            let layers = match image.layers.iter().filter(|one| one.bytes != Some(0)).count() {
                1 => "1 layer".to_owned(),
                count => format!("{count} layers"),
            };
            format!("{} in {layers}, {how}", size(bytes))
        },
    );
    let mut rows: Vec<(&str, String)> = vec![
        ("platform", platform),
        ("size", size),
        ("digest", or_unknown(&image.digest)),
        ("id", or_unknown(&image.id)),
        ("created", or_unknown(&image.created)),
        ("starts", image.entrypoint.iter().chain(&image.command).cloned().collect::<Vec<_>>().join(" ")),
        ("user", if image.user.is_empty() { "root".to_owned() } else { image.user.clone() }),
        ("directory", image.workdir.clone()),
    ];
    rows.extend(
        image.contents(catalog).into_iter().map(|(what, version, by)| (what, format!("{version} ({by})"))),
    );
    for name in ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"] {
        rows.extend(image.variable(name).map(|value| (name, value.to_owned())));
    }
    if layout.verbose {
        let more = image.environment.iter().map(|(name, value)| (name.as_str(), value.clone()));
        rows.extend(more.chain(image.labels.iter().map(|(name, value)| (name.as_str(), value.clone()))));
    }
    rows.retain(|(_, value)| !value.is_empty());
    let longest = rows.iter().map(|(name, _)| name.len()).filter(|length| *length < 30).max().unwrap_or(0);
    for (name, value) in rows {
        let indent = " ".repeat(longest + 4);
        wrapped(text, &value, &format!("  {:longest$}  ", visible::line(name)), &indent, layout);
    }
}

fn layers(text: &mut String, image: &Image, layout: Layout) {
    let largest = image.largest(if layout.verbose { usize::MAX } else { 3 });
    if largest.is_empty() || (largest.len() == 1 && !layout.verbose) {
        return;
    }
    text.push_str("\nLargest layers\n");
    for layer in largest {
        let by = if layer.by.is_empty() { "(source unknown)".into() } else { visible::line(&layer.by) };
        let cut: String = by.chars().take(layout.width.saturating_sub(16).max(20)).collect();
        let shown =
            if cut.len() < by.len() && !layout.verbose { format!("{cut}…") } else { by.into_owned() };
        let shown = if layout.unicode { shown } else { shown.replace('…', "...") };
        let _ = writeln!(text, "  {:>10}  {shown}", size(layer.bytes.unwrap_or(0)));
    }
}

fn answer(text: &mut String, judged: &Judged, layout: Layout) {
    let mark = judged.verdict.mark();
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let start = format!("  {style}{sign}{style:#} ");
    let question = judged.rule;
    match &judged.verdict {
        Verdict::Pass => wrapped(text, question.summary, &start, "    ", layout),
        Verdict::NotApplicable(why) => {
            if layout.verbose {
                wrapped(text, &format!("{}: {why}", question.id), &start, "    ", layout);
            }
        }
        Verdict::Unknown(why) => {
            wrapped(text, &format!("unknown: {}: {why}", question.summary), &start, "    ", layout);
        }
        Verdict::Found(found) => diagnostic::render::text::finding(text, question.id, found, layout),
    }
}

fn verdict(text: &mut String, machines: &[Machine], layout: Layout) {
    let summary = summary(machines);
    let words = match (summary.error, summary.warning, summary.unknown) {
        (1.., ..) => "the image does not run there without changes",
        (0, _, 1..) => "no problem found, but not everything could be checked",
        (0, 1.., 0) => "the image runs there, with warnings",
        _ if summary.pass == 0 => "the image could not be checked against these machines",
        _ => "no problem found",
    };
    wrapped(text, words, "", "  ", layout);
}

/// `1.20 GB`, `29.5 MB`.
fn size(bytes: u64) -> String {
    diagnostic::units::size(bytes, 3)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn formats_sizes_in_decimal_units() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.50 kB"),
            (29_500_000, "29.5 MB"),
            (5_300_000_000, "5.30 GB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }
}
