//! A file that is copied under the name of a directory.

use crate::base::Base;
use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "copied-file-as-directory",
    severity: Severity::Error,
    summary: "files are copied into directories that exist or end with a slash",
    explain: include_str!("copied_file_as_directory.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12-slim\nCOPY requirements.txt /srv/api\nRUN pip install --no-cache-dir -r \
             /srv/api/requirements.txt\n",
        ),
        dockerfile("FROM ubuntu:24.04\nCOPY start.sh /opt/tool\nCOPY lib /opt/tool/lib\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY [\"serve.py\", \"/srv/serve\"]\nWORKDIR /srv/serve\n"),
        dockerfile(
            "FROM python:3.12-slim\nCOPY train.py /srv/app/code\nCOPY [\"cfg/\", \"/srv/app/code/cfg/\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nCOPY requirements.txt /srv/api/\nRUN pip install --no-cache-dir -r \
             /srv/api/requirements.txt\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN mkdir -p /opt/tool\nCOPY start.sh /opt/tool\nCOPY lib /opt/tool/lib\n",
        ),
        dockerfile("FROM ubuntu:24.04\nWORKDIR /opt/tool\nCOPY start.sh /opt/tool\nCOPY lib /opt/tool/lib\n"),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY start.sh /usr/local/bin/start\nRUN chmod +x /usr/local/bin/start\n",
        ),
    ],
};

/// Ends of the names of files.
const FILES: &[&str] = &[
    ".txt", ".py", ".sh", ".json", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".lock", ".conf", ".pt", ".gguf",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(of_stage).collect()
}

fn of_stage(stage: &Stage) -> Option<Found> {
    let From::Image(image) = &stage.from else { return None };
    // It is known that the directories named here are not in them.
    let plain = Base::of(&image.text).is_some() || image.text.starts_with("rockylinux:");
    if !image.known || !plain {
        return None;
    }
    stage.instructions.iter().enumerate().filter(|(_, one)| one.keyword == "COPY").find_map(|(at, one)| {
        let [source, target] = one.words()[..] else { return None };
        let is_file = FILES.iter().any(|end| source.ends_with(end)) && !source.contains(['*', '?', '$', '[']);
        let base = target.rsplit('/').next()?;
        // Two levels deep at least: the images have `/srv` and `/opt`.
        let new = target.starts_with('/') && target.matches('/').count() > 1;
        if !is_file || !new || base.is_empty() || base.contains(['.', '$']) {
            return None;
        }
        let below = format!("{target}/");
        let makes = |text: &str| text.contains(target);
        if stage.instructions[..at].iter().any(|one| makes(&one.text.text)) {
            return None;
        }
        let later = stage.instructions[at + 1..].iter().find(|one| makes(&one.text.text))?;
        let text = later.text.text.as_str();
        let fails = match later.keyword.as_str() {
            "WORKDIR" => text.trim().trim_end_matches('/') == target || text.trim().starts_with(&below),
            "COPY" | "ADD" => later.words().last().is_some_and(|to| to.starts_with(&below)),
            "RUN" => text.contains(&below) && !text.contains("mkdir") && !text.contains("rm "),
            _ => false,
        };
        let message = format!(
            "{target} does not exist and has no slash at its end: COPY makes it a file with the contents of \
             {source}, and line {} uses it as a directory",
            later.line
        );
        fails.then(|| Found::error(one.line, message, format!("Write `COPY {source} {below}`")))
    })
}
