//! A line of a requirements file that pip refuses, or reads otherwise than it is meant.

use pep440_rs::VersionSpecifiers;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};
use project::requirements::OPTIONS;
use project::requirements::lines::{Line, bare, lines, option};

pub(crate) const RULE: Rule = Rule {
    id: "requirements-line-invalid",
    severity: Severity::Error,
    summary: "every line of a requirements file is a requirement or an option that pip takes",
    explain: include_str!("requirements_line_invalid.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named("requirements.txt", "numpy=1.26.4\n"),
        named("requirements.txt", "numpy>=1.24<2\n"),
        named("requirements.txt", "numpy 1.26.4\n"),
        named("requirements.txt", "requests==2.32.3 --extra-index-url https://example.com/simple\n"),
        named("requirements.txt", "torch>=2.4+cu121\n"),
        named("requirements.txt", "lmdeploy>=0.6.2 --no-deps\n"),
        named("requirements.txt", "tomli==2.0.1; python_version < 3.11\n"),
        named("requirements.txt", "a==1.0 --hash=sha256:00\nb==1.0\n"),
    ],
    silent: &[
        named(
            "requirements.txt",
            "--extra-index-url https://example.com/simple\nnumpy>=1.24,<2\nrequests[socks]~=2.32 ; \
             python_version > '3.8'\n",
        ),
        named(
            "requirements.txt",
            "a==1.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\nb==1.0 --hash=sha256:02\n",
        ),
        named(
            "requirements.txt",
            "-e .\n./local\npkg @ https://example.com/p.whl\ngit+https://example.com/x.git@v1#egg=x\n\
             x-1.0-py3-none-any.whl\n",
        ),
        named(
            "requirements.txt",
            "numpy (>=1.24)\nx===1.0-custom\nconfigured==1.0 --config-settings a=b\n$PACKAGE\ntorch==2.4.*\n",
        ),
    ],
};

/// What pip reads behind a requirement; other options there have no effect.
const BEHIND: &[&str] =
    &["--hash", "--config-settings", "--config-setting", "--global-option", "--install-option", "-C"];

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Requirements {
        return Vec::new();
    }
    let all = lines(&list.text);
    let mut found: Vec<Found> =
        all.iter().filter(|line| option(&line.text).is_none()).filter_map(fault).collect();
    found.extend(unhashed(&all));
    found
}

fn fault(line: &Line) -> Option<Found> {
    if line.text.contains(['$', '{']) {
        return None;
    }
    behind(line).or_else(|| versions(line)).or_else(|| marker(line))
}

/// A marker whose value has no quotes: `; python_version < 3.10`.
fn marker(line: &Line) -> Option<Found> {
    let (_, marker) = bare(&line.text).split_once(';')?;
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let value = OPERATORS.iter().find_map(|operator| {
        let (left, right) = marker.split_once(operator)?;
        let left = left.split_whitespace().next_back()?.trim_start_matches('(');
        let right = right.split_whitespace().next()?.trim_end_matches(')');
        let bare = right.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        (is_name(left) && bare && !MARKERS.contains(&right)).then(|| right.to_owned())
    })?;
    let message = format!("the marker compares with {value} without quotes; pip refuses the line");
    let change = Change::word(line.line, &value, &format!("'{value}'"));
    Some(Found::error(line.line, message, format!("Write '{value}' in quotes")).change(change))
}

/// Operators of markers, longest first.
const OPERATORS: &[&str] = &["==", ">=", "<=", "!=", "~=", "<", ">"];

/// What stands without quotes in markers (PEP 508).
const MARKERS: &[&str] = &[
    "python_version",
    "python_full_version",
    "os_name",
    "sys_platform",
    "platform_release",
    "platform_system",
    "platform_version",
    "platform_machine",
    "platform_python_implementation",
    "implementation_name",
    "implementation_version",
    "extra",
];

/// An option behind a requirement.
fn behind(line: &Line) -> Option<Found> {
    let name = |word: &'_ str| word.split('=').next().unwrap_or_default().to_owned();
    let mut words = line.text.split_whitespace().skip(1);
    let is_option = |word: &&str| word.starts_with("--") || matches!(*word, "-i" | "-f" | "-r" | "-c");
    let word =
        words.find(|word| is_option(word) && *word != "--" && !BEHIND.contains(&name(word).as_str()))?;
    let name = name(word);
    // pip takes the beginning of an option for it.
    let known = |name: &str| OPTIONS.iter().any(|one| one.starts_with(name));
    if name.starts_with("--") && !known(&name) {
        let message =
            format!("a requirements file cannot have {name}; pip refuses it (`no such option: {name}`)");
        return Some(Found::error(line.line, message, format!("Remove it, and give {name} to pip install")));
    }
    let message = format!("pip ignores {name} after a requirement; it works only on a separate line");
    Some(Found::warning(line.line, message, format!("Move {name} to a line of its own")))
}

/// The versions of a requirement, where they cannot be read.
fn versions(line: &Line) -> Option<Found> {
    let requirement = bare(&line.text).split(';').next().unwrap_or_default().trim();
    let other = |c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c);
    let (name, rest) = requirement.split_at(requirement.find(other).unwrap_or(requirement.len()));
    let rest = match rest.trim_start().strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim_start(),
        None => rest.trim_start(),
    };
    let file = name.is_empty()
        || name.starts_with('.')
        || requirement.contains(['/', '\\', '@'])
        || name.ends_with(".whl")
        || name.ends_with(".gz");
    let rest = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    if file || rest.is_empty() || rest.starts_with("===") {
        return None;
    }
    let Err(why) = rest.parse::<VersionSpecifiers>() else { return None };
    let known = match () {
        () if rest.starts_with('=') && !rest.starts_with("==") => format!("write `{name}={rest}`"),
        () if !rest.starts_with(['=', '<', '>', '!', '~']) => "an operator such as `==` is \
            missing"
            .to_owned(),
        () if two_in_one(rest) => "a comma is missing between two conditions".to_owned(),
        () if rest.contains('+') => "a build tag such as +cu121 is only allowed with ==".to_owned(),
        () => {
            let why = why.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
            let message = format!("`{requirement}` is not a valid requirement: {why}");
            return Some(Found::warning(line.line, message, "Use a version that PEP 440 allows"));
        }
    };
    let message = format!("`{requirement}` is not a valid requirement ({known}); pip refuses the file");
    let change = repaired(rest).map(|new| Change::word(line.line, rest, &new));
    Some(Found::error(line.line, message, "Write it like `name==1.0` or `name>=1.0,<2`").change_if(change))
}

/// The conditions with `==` for `=` at the beginning and a comma before each other operator, if they can be
/// read then.
fn repaired(rest: &str) -> Option<String> {
    let single = rest.starts_with('=') && !rest.starts_with("==");
    let mut out = if single { "=".to_owned() } else { String::new() };
    for letter in rest.chars() {
        let operator = |letter: char| "=<>!~".contains(letter);
        let last = out.chars().next_back();
        if operator(letter) && last.is_some_and(|last| !operator(last) && last != ',' && last != ' ') {
            out.push(',');
        }
        out.push(letter);
    }
    Some(out).filter(|out| out.parse::<VersionSpecifiers>().is_ok())
}

/// `>=1.0<2`: an operator behind a version without a comma.
fn two_in_one(rest: &str) -> bool {
    rest.split(',').any(|part| {
        let version = part.trim_start().trim_start_matches(['=', '<', '>', '!', '~']);
        version.contains(['<', '>', '=', '!', '~'])
    })
}

/// A requirement without a hash where others have one.
fn unhashed(all: &[Line]) -> Option<Found> {
    let requirements =
        || all.iter().filter(|line| option(&line.text).is_none() && !line.text.contains("://"));
    let hashed = requirements().any(|line| line.text.contains("--hash="));
    let without = requirements().find(|line| !line.text.contains("--hash=")).filter(|_| hashed)?;
    let message = format!(
        "{} has no hash, and other lines have one; pip then requires a hash for every line",
        bare(&without.text)
    );
    Some(Found::error(
        without.line,
        message,
        "Generate the file with `pip-compile --generate-hashes` or `uv pip compile --generate-hashes`",
    ))
}
