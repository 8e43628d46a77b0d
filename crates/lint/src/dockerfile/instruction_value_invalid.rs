//! Values of EXPOSE and HEALTHCHECK that Docker does not take, and instructions that a later one replaces.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "instruction-value-invalid",
    severity: Severity::Error,
    summary: "EXPOSE names ports, times of HEALTHCHECK have units, a stage has one CMD",
    explain: include_str!("instruction_value_invalid.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nHEALTHCHECK --interval=30 CMD python -c 'import app'\n"),
        dockerfile("FROM python:3.12\nEXPOSE 8000:8000\n"),
        dockerfile("FROM python:3.12\nCMD [\"python\", \"a.py\"]\nCMD [\"python\", \"b.py\"]\n"),
        dockerfile("FROM python:3.12\nEXPOSE http\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12 AS a\nCMD [\"python\", \"a.py\"]\nFROM a\nEXPOSE 8000/udp 9000-9010 ${PORT} \
             80/tcp\n\
             HEALTHCHECK --interval=1m30s --timeout=500ms --retries=3 --start-period=0s CMD python -c \
             'import app'\n\
             CMD [\"python\", \"b.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12\nHEALTHCHECK --interval=${T} --start-period=0 CMD true\nHEALTHCHECK NONE\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for keyword in ["CMD", "ENTRYPOINT"] {
            let mut all = stage.instructions.iter().filter(|one| one.keyword == keyword);
            if let (Some(first), Some(next)) = (all.next(), all.next()) {
                let message = format!(
                    "line {} has another {keyword} in this stage, so that this one has no effect",
                    next.line
                );
                found.push(Found::warning(first.line, message, "Remove one of them"));
            }
        }
        found.extend(stage.instructions.iter().filter_map(|one| match one.keyword.as_str() {
            "EXPOSE" => port(one),
            "HEALTHCHECK" => time(one),
            _ => None,
        }));
    }
    found
}

fn port(one: &Instruction) -> Option<Found> {
    // Behind `#` stands what was meant as a comment.
    let mut words = one.text.text.split_whitespace().take_while(|word| !word.starts_with('#'));
    let word = words.find(|word| {
        let (ports, protocol) =
            word.split_once('/').map_or((*word, ""), |(ports, protocol)| (ports, protocol));
        let number = |text: &str| !text.is_empty() && text.parse::<u16>().is_ok();
        let plain = match ports.split_once('-') {
            Some((first, last)) => number(first) && number(last),
            None => number(ports),
        };
        let known = ["", "tcp", "udp", "sctp"].contains(&protocol.to_ascii_lowercase().as_str());
        let other = word.contains(['$', '"', '\'', '#', '`', '[']);
        let sound = other || plain && known;
        !sound
    })?;
    if let Some((host, inner)) = word.split_once(':') {
        let numbers = [host, inner]
            .iter()
            .all(|part| part.split('/').next().is_some_and(|part| part.parse::<u16>().is_ok()));
        let message = format!("EXPOSE publishes nothing: the part before the colon of {word} has no effect");
        return numbers.then(|| {
            Found::warning(
                one.line,
                message,
                format!("Write `EXPOSE {inner}`, and publish with `docker run -p {word}`"),
            )
        });
    }
    let message = format!("{word} is no port; the build fails");
    Some(Found::error(one.line, message, "Write a number, with /udp where it is UDP"))
}

fn time(one: &Instruction) -> Option<Found> {
    let options = ["interval", "timeout", "start-period", "start-interval"];
    let (name, value) = options.iter().find_map(|name| {
        let value = one.flag(name)?;
        let bare = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (bare && !value.is_empty() && value.parse::<f64>() != Ok(0.0)).then_some((name, value))
    })?;
    let message = format!("--{name}={value} has no unit; `missing unit in duration`, and the build fails");
    Some(Found::error(one.line, message, format!("Write `--{name}={value}s`")))
}
