//! A URL with `&` and without quotes.

use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "url-cut-at-ampersand",
    severity: Severity::Error,
    summary: "URLs with `&` are in quotes",
    explain: include_str!("url_cut_at_ampersand.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "wget https://host.example/model.tar?token=abc&version=2\n"),
        named("run.sh", "curl -o m.tgz https://x.example/get?id=1&confirm=t && tar xf m.tgz\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "wget 'https://host.example/model.tar?token=abc&version=2'\ncurl \
             \"https://x.example/get?id=1&confirm=t\"\n",
        ),
        named("run.sh", "curl https://x.example/get?id=1 & wait\ncurl https://x.example/a?b=1 && echo ok\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let documents = script.documents.iter().flat_map(|one| one.lines.iter().map(|(number, _)| *number));
    let in_documents: std::collections::BTreeSet<usize> = documents.collect();
    let mask = masked(&script.text);
    let lines = crate::read::dockerfile::text::Text::lines(&script.text, 1);
    let mut found = Vec::new();
    for (at, _) in mask.match_indices("://") {
        let word = mask[at..]
            .split(|letter: char| letter.is_whitespace() || letter == ';')
            .next()
            .unwrap_or_default();
        let Some((before, rest)) = word.split_once('&') else { continue };
        let name = rest.find('=').map_or("", |end| &rest[..end]);
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let line = lines.line_at(at);
        if before.contains('?') && plain && !in_documents.contains(&line) {
            let message = format!(
                "`&` ends the command: the program runs in the background with the address up to it, and the \
                 shell sets {name}"
            );
            found.push(Found::error(line, message, "Put the address in quotes"));
        }
    }
    found
}
