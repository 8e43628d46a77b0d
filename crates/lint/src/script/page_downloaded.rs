//! A download that saves a page, or the answer that names another place, in place of the file.

use crate::downloads::fault;
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "page-downloaded",
    severity: Severity::Error,
    summary: "downloads from the Hugging Face Hub and GitHub get the file itself",
    explain: include_str!("page_downloaded.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("get.sh", "wget https://huggingface.co/meta-llama/Llama-2-7b/blob/main/model.safetensors\n"),
        named("get.sh", "curl -LO https://github.com/org/repo/blob/main/weights.pt\n"),
        named(
            "get.sh",
            "curl -O https://huggingface.co/openai-community/gpt2/resolve/main/model.safetensors\n",
        ),
        named(
            "get.sh",
            "curl -sS -o m.tgz https://github.com/foo/bar/releases/download/v1/m.tgz && tar xf m.tgz\n",
        ),
        named("get.sh", "ssh node1 'wget -q https://huggingface.co/datasets/a/b/blob/main/x.parquet'\n"),
    ],
    silent: &[
        named("get.sh", "wget https://huggingface.co/a/b/resolve/main/model.safetensors\n"),
        named("get.sh", "curl -fsSL -O https://huggingface.co/a/b/resolve/main/model.safetensors\n"),
        named("get.sh", "curl -o c https://huggingface.co/a/b/resolve/main/config.json\n"),
        named(
            "get.sh",
            "curl -LO https://github.com/a/b/blob/main/w.pt?raw=true\necho \
             https://github.com/a/b/blob/main/w\n",
        ),
        named(
            "get.sh",
            "curl --location -O https://github.com/a/b/archive/main.tar.gz\ncurl $OPTS \
             https://github.com/a/b/archive/m.tgz\n",
        ),
        named(
            "get.sh",
            "curl -sI https://github.com/a/b/releases/download/v1/m.tgz\ncurl -O \
             https://raw.githubusercontent.com/a/b/main/c\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    all_commands(script).iter().filter_map(fault).collect()
}
