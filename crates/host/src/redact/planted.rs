//! The cases of tests/redaction/planted-*.yaml, written from knowledge of formats by somebody who had not
//! read the rules. docs/measurements/redaction.md has the numbers.

use super::tests::redacted;
use super::*;
use crate::snapshot::Kept;

#[derive(serde::Deserialize)]
struct Planted {
    place: String,
    /// `«…»`: must be gone. `¦`: dropped.
    text: String,
    /// Why no rule can find it: it is counted, and does not fail the test.
    #[serde(default)]
    limit: Option<String>,
}

impl Planted {
    fn plain(&self) -> String {
        self.text.replace(['«', '»', '¦'], "")
    }

    fn hidden(&self) -> Vec<String> {
        let text = self.text.replace('¦', "");
        text.split('«')
            .skip(1)
            .filter_map(|part| part.split_once('»'))
            .map(|(value, _)| value.into())
            .collect()
    }

    /// The question whose answer such a text is, where envdoc asks one.
    fn question(&self) -> &'static str {
        match self.place.split([':', ' ']).next().unwrap_or_default() {
            "environment" => "environment",
            "/etc/environment" => "read /etc/environment",
            "/etc/docker/daemon.json" => "read /etc/docker/daemon.json",
            "~/.docker/config.json" => "read /root/.docker/config.json",
            "systemd" => "read /etc/systemd/system/x.service",
            "pip.conf" => "read /etc/pip.conf",
            "uv.toml" => "read /etc/uv/uv.toml",
            "/etc/hosts" => "read /etc/hosts",
            "/etc/resolv.conf" => "read /etc/resolv.conf",
            "kernel" => "run journalctl -k",
            _ => "read /proc/7/cmdline",
        }
    }
}

/// Every line as the Markdown report of `diagnose` shows it.
fn listed(text: &str) -> String {
    text.lines().enumerate().map(|(at, line)| format!("logs/rank0.log:{}: {line}\n", at + 1)).collect()
}

fn snapshot(ask: &str, text: &str) -> String {
    let readings = redacted(&[
        ("read /proc/sys/kernel/hostname", "gpu-prod-07.dc2.corp-ml.io\n"),
        ("read /proc/8/cmdline", "x"),
        (ask, text),
    ]);
    match &readings[ask] {
        Kept::Text(text) => text.clone(),
        _ => String::new(),
    }
}

#[derive(Default)]
struct Count {
    planted: usize,
    left: Vec<String>,
    limits: usize,
}

/// What is left of a value: all of it, or its first or last 8 characters.
fn survives(shown: &str, value: &str) -> bool {
    let chars: Vec<char> = value.chars().collect();
    let part = |part: &[char]| part.iter().collect::<String>();
    let ends = [part(&chars[..chars.len().min(8)]), part(&chars[chars.len().saturating_sub(8)..])];
    ends.iter().any(|end| shown.contains(end.as_str()))
}

fn count(cases: &[Planted], redact: impl Fn(&Planted) -> String) -> Count {
    let mut count = Count::default();
    for case in cases {
        let shown = redact(case);
        for value in case.hidden() {
            count.planted += 1;
            match survives(&shown, &value) {
                true if case.limit.is_some() => count.limits += 1,
                true => count.left.push(format!("{}: {value}\n      {shown}", case.place)),
                false => {}
            }
        }
    }
    count
}

#[test]
fn planted_secrets_are_removed() {
    let read = |text| serde_yaml::from_str::<Vec<Planted>>(text).unwrap();
    let corpus = [
        ("environment", read(include_str!("../../../../tests/redaction/planted-environment.yaml"))),
        ("files", read(include_str!("../../../../tests/redaction/planted-files.yaml"))),
        ("logs", read(include_str!("../../../../tests/redaction/planted-logs.yaml"))),
        ("names", read(include_str!("../../../../tests/redaction/planted-names.yaml"))),
        ("second", read(include_str!("../../../../tests/redaction/planted-second.yaml"))),
        ("third", read(include_str!("../../../../tests/redaction/planted-third.yaml"))),
        ("audit", read(include_str!("../../../../tests/redaction/planted-audit.yaml"))),
    ];
    let mut report = String::new();
    let mut left = 0;
    for (name, cases) in &corpus {
        let ways = [
            ("log", count(cases, |case| log(&case.plain(), &[]))),
            ("markdown", count(cases, |case| log(&listed(&case.plain()), &[]))),
            ("snapshot", count(cases, |case| snapshot(case.question(), &case.plain()))),
        ];
        for (way, count) in ways {
            left += count.left.len();
            let (planted, limits) = (count.planted, count.limits);
            report += &format!("{name} as {way}: {} of {planted} left, {limits} limits\n", count.left.len());
            count.left.iter().for_each(|line| report += &format!("   {line}\n"));
        }
    }
    assert_eq!(left, 0, "{report}");
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Harmless {
    Stays(String),
    Changes { text: String, becomes: String },
}

#[test]
fn planted_harmless_lines_are_kept() {
    let text = include_str!("../../../../tests/redaction/planted-harmless.yaml");
    let lines: Vec<Harmless> = serde_yaml::from_str(text).unwrap();
    let changed: Vec<String> = lines
        .iter()
        .map(|line| match line {
            Harmless::Stays(text) => (text, text),
            Harmless::Changes { text, becomes } => (text, becomes),
        })
        .map(|(line, expected)| (line, listed(expected), log(&listed(line), &[])))
        .filter(|(_, expected, shown)| expected != shown)
        .map(|(line, _, shown)| format!("{line}\n   {shown}"))
        .collect();
    assert!(changed.is_empty(), "{} of {} changed\n{}", changed.len(), lines.len(), changed.join("\n"));
}
