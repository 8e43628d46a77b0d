//! A download of an image that saves a page, or a redirect, in place of the file.

use crate::downloads::{fault, is_page};
use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "page-downloaded-in-image",
    severity: Severity::Error,
    summary: "images get files of the Hugging Face Hub and GitHub, not pages",
    explain: include_str!("page_downloaded_in_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nRUN wget -q https://huggingface.co/a/b/blob/main/model.safetensors\n"),
        dockerfile("FROM ubuntu:24.04\nADD https://github.com/a/b/blob/main/weights.pt /w/\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN set -e; curl -o m.tgz https://github.com/a/b/releases/download/v1/m.tgz \
             && tar \
             xf m.tgz\n",
        ),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nRUN curl -fsSL -o m https://huggingface.co/a/b/resolve/main/m.gguf\n"),
        dockerfile("FROM ubuntu:24.04\nADD https://huggingface.co/a/b/resolve/main/m.gguf /w/\n"),
        dockerfile("FROM ubuntu:24.04\nADD https://github.com/a/b/blob/main/w.pt?raw=true /w/\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let runs = file.stages.iter().flat_map(|stage| &stage.runs);
    let mut found: Vec<Found> = runs.filter_map(|run| fault(&run.command)).collect();
    for one in file.instructions.iter().filter(|one| one.keyword == "ADD") {
        let words = one.text.text.split([' ', '"', ',', '\t', '\n']);
        for url in words.filter(|word| word.starts_with("http")) {
            found.extend(is_page(url).map(|to| {
                let message =
                    "the URL with /blob/ is a page that shows the file: ADD saves HTML under its name";
                Found::error(one.line, message, format!("Write `/{to}/` in place of `/blob/`"))
            }));
        }
    }
    found
}
