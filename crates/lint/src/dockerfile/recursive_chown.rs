//! A change of owner that writes a layer a second time.

use crate::read::dockerfile::copied::PATH_LIMIT_BYTES;
use crate::read::dockerfile::expand::expand;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "recursive-chown",
    severity: Severity::Warning,
    summary: "COPY sets file owner and mode; no later layer changes them recursively",
    explain: include_str!("recursive_chown.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:22.04\nWORKDIR /app\nCOPY . .\nRUN useradd u && chown -R u:u /app\n"),
        dockerfile(
            "FROM ubuntu:22.04\nCOPY src/ /app/src/\nCOPY ops/ /app/ops/\nRUN useradd u && chown -R u /app\n",
        ),
        dockerfile("FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN chmod -R a+w /opt/conda\n"),
        dockerfile("FROM ubuntu:22.04\nCOPY . /app\nRUN [\"chown\", \"-R\", \"1000:1000\", \"/app\"]\n"),
        dockerfile("FROM ubuntu:22.04\nCOPY [\".\", \"/app\"]\nRUN [\"chown\",\"-R\",\"1000\",\"/app\"]\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nCOPY [\"run.sh\",\"/app/run.sh\"]\nRUN [\"chmod\",\"-R\",\"755\",\"/app\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nCOPY --chown=1000:1000 . /app\nRUN mkdir /data && chown -R 1000:1000 /data\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nCOPY run.sh /usr/bin/run.sh\n\
             RUN chmod +x /usr/bin/run.sh && chown u /usr/bin/run.sh\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS build\nCOPY . /app\nRUN chown -R u /app\nFROM ubuntu:22.04\n\
             COPY --from=build /app /app\n",
        ),
    ],
};

const LARGE: &[&str] =
    &["/", "/opt", "/opt/conda", "/opt/venv", "/usr/local", "/usr/local/lib", "/usr", "/venv"];

/// The most lines that a finding names.
const LINES_LIMIT: usize = 5;

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.shipped().into_iter().rev().flat_map(stage).collect()
}

fn stage(stage: &Stage) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut workdir, mut filled) = ("/".to_owned(), Vec::<(String, usize)>::new());
    for (index, instruction) in stage.instructions.iter().enumerate() {
        let text = expand(instruction.text.text.trim(), &stage.end.variables).text;
        match instruction.keyword.as_str() {
            "WORKDIR" => {
                let path = absolute(&workdir, text.trim_matches('"'));
                if path.len() <= PATH_LIMIT_BYTES {
                    workdir = path;
                }
            }
            "COPY" | "ADD" => {
                let words = match &instruction.json {
                    Some(words) => words.iter().map(String::as_str).collect(),
                    None => text.split_whitespace().collect::<Vec<_>>(),
                };
                let target = words.last().copied().unwrap_or_default();
                // One file that is copied is stored again without harm.
                let single = words.len() == 2
                    && words[0]
                        .rsplit('/')
                        .next()
                        .is_some_and(|name| name.contains('.') && name.len() > 2 && !name.contains('*'));
                if !single {
                    filled.push((absolute(&workdir, target), instruction.line));
                }
            }
            "RUN" => found.extend(changes(stage, index, &workdir, &filled)),
            _ => {}
        }
    }
    found
}

fn changes(stage: &Stage, index: usize, workdir: &str, filled: &[(String, usize)]) -> Option<Found> {
    stage.commands_of(index).iter().find_map(|run| {
        let command = &run.command;
        let program = command.program();
        let recursive = command.words.iter().any(|word| {
            word.text == "--recursive"
                || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('R'))
        });
        if !matches!(program, "chown" | "chmod" | "chgrp") || !recursive {
            return None;
        }
        let operands = command.words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
        operands.skip(1).filter(|word| word.known).find_map(|word| {
            let path = absolute(workdir, &word.text);
            let below = format!("{}/", path.trim_end_matches('/'));
            let copied = filled.iter().filter(|(target, _)| target == &path || target.starts_with(&below));
            let lines: Vec<String> = copied.map(|(_, line)| line.to_string()).collect();
            let why = match lines.as_slice() {
                [one] => format!("the files copied in line {one}"),
                [named @ .., last] if lines.len() <= LINES_LIMIT => {
                    format!("the files copied in lines {} and {last}", named.join(", "))
                }
                [_, ..] => {
                    let (named, more) = lines.split_at(LINES_LIMIT);
                    format!("the files copied in lines {} and {} more", named.join(", "), more.len())
                }
                [] if LARGE.contains(&path.as_str()) || path.contains("site-packages") => {
                    "a large directory tree".to_owned()
                }
                [] => return None,
            };
            let message = format!("`{program} -R {}` stores {why} a second time in this layer", word.text);
            Some(Found::warning(
                command.line,
                message,
                "Use `COPY --chown=… --chmod=…`, or change it in the RUN that creates the files",
            ))
        })
    })
}

/// A path from a working directory.
fn absolute(workdir: &str, path: &str) -> String {
    let path = path.trim_end_matches('/').trim_end_matches("/.");
    let path = path.strip_prefix("./").unwrap_or(path);
    match path {
        "" | "." => workdir.to_owned(),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("{}/{path}", workdir.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;

    #[test]
    fn more_lines_than_are_named() {
        let message = |copies: usize| {
            let copies: String = (0..copies).map(|at| format!("COPY d{at}/ /app/d{at}/\n")).collect();
            let text = format!("FROM ubuntu:22.04\n{copies}RUN chown -R 1000 /app\n");
            let file = Dockerfile::read(catalog::testing::catalog(), &text, &Context::new());
            judge(&file).pop().map(|found| found.message).unwrap_or_default()
        };
        assert!(message(2).contains("in lines 2 and 3 a second"), "{}", message(2));
        assert!(message(5).contains("in lines 2, 3, 4, 5 and 6 a second"), "{}", message(5));
        assert!(message(8).contains("in lines 2, 3, 4, 5, 6 and 3 more a second"), "{}", message(8));
    }
}
