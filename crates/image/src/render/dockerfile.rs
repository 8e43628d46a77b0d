//! The Dockerfile.

use serde::Serialize;

use super::{fill, header, wrapped};
use crate::plan::{Instruction, Plan, Stage, Step};
use diagnostic::error::Error;

const TEMPLATE: &str = include_str!("../../../../templates/Dockerfile.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    comments: Vec<String>,
    stages: Vec<StageValues>,
}

#[derive(Debug, Serialize)]
struct StageValues {
    name: String,
    image: String,
    comments: Vec<String>,
    steps: Vec<StepValues>,
}

#[derive(Debug, Serialize)]
struct StepValues {
    comments: Vec<String>,
    ignores: Vec<String>,
    text: String,
}

/// Renders a plan with the template `Dockerfile.hbs`.
pub fn dockerfile(plan: &Plan) -> Result<String, Error> {
    let mut comments = Vec::new();
    if !plan.requested.is_empty() {
        comments.extend(wrapped(&format!("Request: {}.", plan.requested.join(", "))));
    }
    if let Some(drivers) = plan.stack.drivers() {
        comments.push(format!("Requires NVIDIA driver {drivers} on the host."));
    }
    for warning in &plan.warnings {
        comments.extend(wrapped(&format!("Warning: {}", warning.message)));
    }
    for secret in plan.secrets.iter().filter(|secret| secret.text.is_some()) {
        let message =
            "an index URL with credentials, from the pip or uv configuration; not stored in a layer";
        comments.extend(wrapped(&format!(
            "Requires the secret {0} ({message}): docker build --secret id={0},src=FILE.",
            secret.id
        )));
    }
    if let Some(why) = &plan.buildkit {
        comments
            .push(format!("Requires BuildKit ({why}); with Docker older than 23.0 set DOCKER_BUILDKIT=1."));
    }
    let values = Values { header: header(plan), comments, stages: plan.stages.iter().map(stage).collect() };
    fill("Dockerfile.hbs", TEMPLATE, &values)
}

fn stage(stage: &Stage) -> StageValues {
    StageValues {
        name: stage.name.clone(),
        image: stage.image.clone(),
        comments: stage.comments.iter().flat_map(|why| wrapped(why)).collect(),
        steps: stage.steps.iter().map(step).collect(),
    }
}

fn step(step: &Step) -> StepValues {
    StepValues {
        comments: step.comments.iter().flat_map(|why| wrapped(why)).collect(),
        ignores: if step.ignores.is_empty() { Vec::new() } else { vec![step.ignores.join(",")] },
        text: text(&step.instruction),
    }
}

/// An instruction as it is written.
fn text(instruction: &Instruction) -> String {
    match instruction {
        Instruction::Shell(words) => format!("SHELL {}", exec(words)),
        Instruction::Arg(name, None) => format!("ARG {name}"),
        Instruction::Arg(name, Some(value)) => format!("ARG {name}={}", quoted(value)),
        Instruction::Run { mounts, commands } => run(mounts, commands),
        Instruction::Env(pairs) => format!("ENV {}", assignments(pairs, quoted)),
        Instruction::Label(pairs) => format!("LABEL {}", assignments(pairs, literal)),
        Instruction::Copy { from, owner, sources, to } => {
            let mut words = vec!["COPY".to_owned()];
            words.extend(from.iter().map(|stage| format!("--from={stage}")));
            words.extend(owner.iter().map(|owner| format!("--chown={owner}")));
            words.extend(sources.iter().cloned());
            words.push(to.clone());
            words.join(" ")
        }
        Instruction::Workdir(path) => format!("WORKDIR {path}"),
        Instruction::User(user) => format!("USER {user}"),
        Instruction::Expose(port) => format!("EXPOSE {port}"),
        Instruction::Entrypoint(words) => format!("ENTRYPOINT {}", exec(words)),
        Instruction::Command(words) => format!("CMD {}", exec(words)),
    }
}

/// Mounts and commands, each on a line of its own.
fn run(mounts: &[String], commands: &[Vec<String>]) -> String {
    let commands: Vec<String> = commands.iter().map(|lines| lines.join(" \\\n        ")).collect();
    let body = commands.join(" \\\n    && ");
    if mounts.is_empty() {
        return format!("RUN {body}");
    }
    let mounts: Vec<String> = mounts.iter().map(|mount| format!("--mount={mount}")).collect();
    format!("RUN {} \\\n    {body}", mounts.join(" \\\n    "))
}

fn assignments(pairs: &[(String, String)], write: fn(&str) -> String) -> String {
    let written: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", write(value))).collect();
    written.join(" \\\n    ")
}

/// A value in which Docker expands no variable: `$` is in quotes.
fn literal(value: &str) -> String {
    match value.contains('$') && !value.contains('\'') {
        true => format!("'{value}'"),
        false => quoted(value),
    }
}

/// A value; in single quotes where it holds something that the shell of a Dockerfile would change.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+=:/,@$;".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else if value.contains('\'') {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$"))
    } else {
        format!("'{value}'")
    }
}

/// The exec form: a JSON array.
fn exec(words: &[String]) -> String {
    let words: Vec<String> =
        words.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    format!("[{}]", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_expands_variables_of_env_and_none_of_labels() {
        let pairs = |value: &str| vec![("a".to_owned(), value.to_owned())];
        assert_eq!(text(&Instruction::Env(pairs("/x:$PATH"))), "ENV a=/x:$PATH");
        assert_eq!(text(&Instruction::Label(pairs("$PATH"))), "LABEL a='$PATH'");
        assert_eq!(text(&Instruction::Label(pairs("it's $PATH"))), r#"LABEL a="it's \$PATH""#);
        assert_eq!(text(&Instruction::Label(pairs("x.y"))), "LABEL a=x.y");
    }
}
