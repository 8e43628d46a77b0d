//! What COPY and ADD do not find in the build context.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "copy-source-invalid",
    severity: Severity::Error,
    summary: "COPY and ADD name files of the build context, and a directory for several of them",
    explain: include_str!("copy_source_invalid.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nCOPY a.txt b.txt /data\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY ../shared /shared\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY requirements.txt\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY ~/.ssh/config /root/.ssh/config\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY /home/me/data /data\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY https://example.com/x.tar /x.tar\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nCOPY a.txt b.txt /data/\nCOPY a b ./\nCOPY a b .\nCOPY a/../b /b\n"),
        dockerfile("FROM ubuntu:24.04 AS x\nFROM ubuntu:24.04\nCOPY --from=x /home/me/data ../y /data/\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY <<EOF /x\ntext\nEOF\nADD https://example.com/x.tar /x.tar\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY [\"a b\", \"/data/\"]\nCOPY $A $B\nCOPY *.txt /data/\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let copies = file.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "COPY" | "ADD"));
    copies.filter(|one| one.heredocs.is_empty()).filter_map(fault).collect()
}

fn fault(one: &Instruction) -> Option<Found> {
    let mut words = one.words();
    let keyword = &one.keyword;
    // An instruction of JSON that cannot be read has other words, and a word with a space in quotes is one.
    if one.json.is_none() && one.text.text.contains(['[', '"', '\'']) {
        return None;
    }
    if words.len() < 2 {
        let message = format!("{keyword} has no destination; it needs a source and a destination");
        return (!one.text.text.contains('$'))
            .then(|| Found::error(one.line, message, format!("Write `{keyword} SOURCE .`")));
    }
    let target = words.pop().unwrap_or_default();
    let directory =
        target.ends_with(['/', '\\']) || target == "." || target.ends_with("/.") || target == "..";
    if words.len() > 1 && !directory && !target.contains('$') {
        let message = format!(
            "{keyword} of several sources needs a directory; the destination {target} does not end with /"
        );
        return Some(Found::error(one.line, message, format!("Write `{target}/`")));
    }
    if one.flag("from").is_some() {
        return None;
    }
    words.iter().find_map(|source| outside(one, source))
}

fn outside(one: &Instruction, source: &str) -> Option<Found> {
    let keyword = &one.keyword;
    let bare = source.trim_matches(['"', '\'']);
    if escapes(bare) {
        let in_context = bare.trim_start_matches("../").trim_start_matches("./");
        let message = format!(
            "{source} is outside of the build context; BuildKit drops the `../` and looks for {in_context} \
             in it"
        );
        let fix = "Build with the parent directory as context and `-f`, or pass it as `--build-context`";
        return Some(Found::warning(one.line, message, fix));
    }
    let of_host =
        ["~/", "/home/", "/Users/", "$HOME/", "${HOME}/", "C:\\"].iter().any(|start| bare.starts_with(start));
    if of_host {
        let message =
            format!("{source} is looked for in the build context, not in the file system of the host");
        return Some(Found::warning(one.line, message, "Use a path relative to the build context"));
    }
    let address = bare.starts_with("https://") || bare.starts_with("http://");
    (address && keyword == "COPY")
        .then(|| Found::error(one.line, "COPY takes no URL; the build fails", "Use ADD, with `--checksum`"))
}

/// Whether a path leaves the directory that it starts from.
fn escapes(path: &str) -> bool {
    let mut depth = 0i64;
    path.split('/').any(|part| {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        depth < 0
    })
}
