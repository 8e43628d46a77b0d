//! Downloads from the Hugging Face Hub and GitHub that save something else than the file.

use crate::read::dockerfile::command::Command;
use crate::rule::Found;

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
