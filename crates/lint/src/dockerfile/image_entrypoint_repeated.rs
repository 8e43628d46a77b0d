//! A CMD that starts the server which the entrypoint of the base image already starts.

use crate::image_entrypoints::repeated;
use crate::read::dockerfile::{Dockerfile, From, start};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "image-entrypoint-repeated",
    severity: Severity::Error,
    summary: "CMD has only arguments where the entrypoint of the base image is a server",
    explain: include_str!("image_entrypoint_repeated.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM vllm/vllm-openai:v0.8.5\nCMD [\"python3\", \"-m\", \"vllm.entrypoints.openai.api_server\", \
             \"--model\", \"a/b\"]\n",
        ),
        dockerfile("FROM vllm/vllm-openai:v0.8.5 AS base\nFROM base\nCMD vllm serve a/b --port 8000\n"),
        dockerfile("FROM ollama/ollama:0.5.7\nCMD [\"/bin/sh\", \"-c\", \"ollama serve\"]\n"),
    ],
    silent: &[
        dockerfile("FROM vllm/vllm-openai:v0.8.5\nCMD [\"--model\", \"a/b\"]\n"),
        dockerfile(
            "FROM vllm/vllm-openai:v0.8.5\nENTRYPOINT [\"/start.sh\"]\nCMD [\"vllm\", \"serve\", \"a/b\"]\n",
        ),
        dockerfile(
            "FROM vllm/vllm-openai:v0.8.5 AS base\nENTRYPOINT []\nFROM base\nCMD [\"vllm\", \"serve\"]\n",
        ),
        dockerfile("FROM ollama/ollama:0.5.7\nCMD [\"serve\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let base = file.shipped().into_iter().find_map(|stage| match &stage.from {
        From::Image(image) => Some(image),
        _ => None,
    });
    let (Some(base), None, Some(command)) = (base, start::entrypoint(file), start::command(file)) else {
        return Vec::new();
    };
    // The shell form is `/bin/sh -c`, which becomes an argument too.
    let words = match &command.json {
        Some(words) => words.clone(),
        None => ["/bin/sh", "-c", command.text.text.as_str()].map(str::to_owned).to_vec(),
    };
    let wrong = repeated(&base.text, &words).filter(|_| base.known);
    let fix = "Leave only the arguments in CMD, or set an ENTRYPOINT";
    wrong.map(|message| Found::error(command.line, message, fix)).into_iter().collect()
}
