//! A download that saves a page, or the answer that names another place, in place of the file.

use crate::read::dockerfile::command::Command;
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

/// What is wrong with a download.
pub(crate) fn fault(command: &Command) -> Option<Found> {
    let program = command.program();
    if !matches!(program, "wget" | "curl" | "aria2c") {
        return None;
    }
    let word = command.words.iter().skip(1).find(|word| word.text.starts_with("http"))?;
    let line = word.line.max(command.line);
    let (host, parts, place) = taken_apart(&word.text)?;
    if let Some(to) = is_page(&word.text) {
        let message =
            format!("the URL with /blob/ is a page that shows the file: {program} saves HTML under its name");
        return Some(Found::error(line, message, format!("Write `/{to}/` in place of `/blob/`")));
    }
    let hub = host != "github.com";
    let moved = moves(hub, &parts, place);
    let unknown = command.words.iter().any(|word| word.text.starts_with('$') || word.text.starts_with("\"$"));
    if program != "curl" || !moved || unknown || follows(command) {
        return None;
    }
    let message = format!(
        "curl does not follow the redirect of {host} without -L: it saves an empty file, or the redirect's \
         text"
    );
    Some(Found::error(line, message, "Write `curl -fL`"))
}

/// The host of a URL of the Hub or GitHub, the parts of its path, and the place of the one that says what the
/// server shows.
fn taken_apart(url: &str) -> Option<(&str, Vec<&str>, usize)> {
    let url = url.trim_start_matches("https://").trim_start_matches("http://");
    let (host, path) = url.split_once('/')?;
    let host = host.trim_start_matches("www.");
    let hub = matches!(host, "huggingface.co" | "hf.co");
    let parts: Vec<&str> = path.split('/').collect();
    let place = 2 + usize::from(hub && matches!(parts.first(), Some(&"datasets" | &"spaces")));
    (hub || host == "github.com").then_some((host, parts, place))
}

/// What to write in place of `blob`, where a URL is that of a page which shows a file.
pub(crate) fn is_page(url: &str) -> Option<&'static str> {
    let (host, parts, place) = taken_apart(url)?;
    let raw = url.contains("raw=") || url.contains("download=");
    (parts.get(place) == Some(&"blob") && !raw).then_some(if host == "github.com" {
        "raw"
    } else {
        "resolve"
    })
}

/// Whether the server answers with another place.
fn moves(hub: bool, parts: &[&str], place: usize) -> bool {
    const WEIGHTS: &[&str] = &[
        ".safetensors",
        ".bin",
        ".pt",
        ".pth",
        ".gguf",
        ".onnx",
        ".tar",
        ".tar.gz",
        ".zip",
        ".ckpt",
        ".parquet",
    ];
    let last = parts.last().copied().unwrap_or_default().split('?').next().unwrap_or_default();
    match parts.get(place) {
        Some(&"resolve") => hub && WEIGHTS.iter().any(|end| last.ends_with(end)),
        Some(&"releases") => !hub && parts[place..].contains(&"download"),
        Some(&("archive" | "raw")) => !hub,
        _ => false,
    }
}

/// Whether curl follows, or only looks.
fn follows(command: &Command) -> bool {
    command.words.iter().skip(1).any(|word| {
        let text = word.text.as_str();
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        // Letters behind one with a value are the value.
        let end =
            letters.find(|letter: char| "oHAXdeuTxmwCrb".contains(letter)).map_or(letters.len(), |at| at + 1);
        letters[..end].contains(['L', 'I', 'w', 'K'])
            || ["--location", "--head", "--write-out", "--config"].iter().any(|one| text.starts_with(one))
    })
}
