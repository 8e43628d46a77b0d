//! Instructions that do not exist.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::copied::PATH_LIMIT_BYTES;
use crate::read::dockerfile::instructions::{INSTRUCTIONS, Instruction};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "dockerfile-invalid",
    severity: Severity::Error,
    summary: "the file is a valid Dockerfile: known instructions, after a FROM",
    explain: include_str!("dockerfile_invalid.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:22.04\nRUN apt-get update\n    apt-get install -y git\n"),
        dockerfile("RUN true\nFROM ubuntu:22.04\n"),
        dockerfile("FROM ubuntu:22.04\nRUN <<END\n  apt-get update\n  END\nRUN true\n"),
        dockerfile("FROM ubuntu:22.04\n{% if gpu %}\nRUN true\n{% endif %}\n"),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y \\\n    libopenmpi-dev \\ # for \
             mpi4py\n    git && \\\n    rm -rf /var/lib/apt/lists/*\n",
        ),
    ],
    silent: &[
        dockerfile("FROM ubuntu:22.04\nRUN <<-END\n\tapt-get update\n\tEND\nRUN echo $((1<<2))\n"),
        dockerfile(
            "ARG V=22.04\nFROM ubuntu:${V}\nMAINTAINER me\nONBUILD RUN true\nRUN <<EOF\nanything goes\nEOF\n",
        ),
        dockerfile("# syntax=example/other:1\nFROM ubuntu:22.04\nINCLUDE+ x\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let syntax = file.comments.iter().find_map(|(_, text)| text.trim().strip_prefix("syntax"));
    let other = syntax
        .and_then(|text| text.trim().strip_prefix('='))
        .is_some_and(|name| !name.contains("docker/dockerfile") && !name.contains("dockerfile-upstream"));
    if other {
        return Vec::new();
    }
    if !file.instructions.iter().any(|one| one.keyword == "FROM") {
        return vec![Found::note(1, "no FROM instruction; the file is a fragment or not a Dockerfile", "")];
    }
    let open = |one: &&Instruction| one.heredocs.iter().any(|heredoc| !heredoc.closed);
    if let Some(one) = file.instructions.iter().find(open) {
        let names: Vec<&str> =
            one.heredocs.iter().filter(|heredoc| !heredoc.closed).map(|one| one.name.as_str()).collect();
        let name = names.join(", ");
        let message = format!(
            "the here-document <<{name} has no end: {name} in line {} has spaces around it; the build fails \
             with `unterminated heredoc`",
            one.last
        );
        let fix = format!("Write {name} alone at the start of its line (`<<-{name}` allows tabs before it)");
        return vec![Found::error(one.line, message, fix)];
    }
    let known = |keyword: &str| INSTRUCTIONS.contains(&keyword);
    let template = file.instructions.iter().find(|one| {
        !known(&one.keyword)
            && (one.keyword.starts_with("{%")
                || one.keyword.starts_with("{{")
                || one.keyword.starts_with('@'))
    });
    if let Some(one) = template {
        return vec![Found::note(
            one.line,
            "file is a template and was only partly checked",
            "Lint the rendered file",
        )];
    }
    if let Some(at) = file.instructions.iter().position(|one| !known(&one.keyword)) {
        let one = &file.instructions[at];
        if let Some((line, rest)) = at.checked_sub(1).and_then(|before| ended(&file.instructions[before])) {
            let message = format!(
                "`{rest}` follows the backslash, which only continues a line as its last character; line {} \
                 becomes an instruction of its own ({}), and the build fails",
                one.line,
                one.keyword.chars().take(40).collect::<String>()
            );
            return vec![Found::error(line, message, "Move the comment to a line of its own")];
        }
        let message = format!(
            "unknown instruction {}; the build \
             fails",
            one.keyword.chars().take(40).collect::<String>()
        );
        return vec![Found::error(
            one.line,
            message,
            "If it continues the previous line, end that line with `&& \\`",
        )];
    }
    let first = file.instructions.iter().find(|one| one.keyword != "ARG");
    match first {
        Some(one) if one.keyword != "FROM" => {
            vec![Found::error(
                one.line,
                format!("{} appears before the first FROM; the build fails", one.keyword),
                "Move it below FROM; only ARG may precede FROM",
            )]
        }
        _ => file.stages.iter().filter_map(|stage| Some(too_long(stage.too_long_path?))).collect(),
    }
}

/// The last line of an instruction where a comment behind the backslash keeps it from going on, and what
/// follows the backslash: `# for mpi4py`.
fn ended(one: &Instruction) -> Option<(usize, &str)> {
    let (at, _) = one.text.text.rmatch_indices('\\').next()?;
    let rest = one.text.text[at + 1..].trim();
    let comment = rest.starts_with('#') && one.text.text[at + 1..].starts_with([' ', '\t', '#']);
    let last = one.text.line_at(at);
    (comment && last == one.last && !rest.contains('\n')).then_some((last, rest))
}

fn too_long(line: usize) -> Found {
    let message = format!(
        "the working directory has more than {PATH_LIMIT_BYTES} bytes, the most that Linux opens; it was \
         not followed from here on"
    );
    Found::error(line, message, "Use an absolute path: `WORKDIR /work`")
}
