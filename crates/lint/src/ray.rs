//! The starts of Ray's processes, and the ports that they name.

use catalog::Catalog;

use crate::read::assigned::Assigned;
use crate::read::dockerfile::command::Command;
use crate::read::script::Script;

/// Ray's port, where none is given.
pub(crate) const DEFAULT_PORT: &str = "6379";

/// One `ray start`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RayStart {
    /// The head, with its port as written.
    Head { port: String, line: usize },
    /// Another node, with the host and port that it joins.
    Worker { host: String, port: String, line: usize },
}

/// The starts of a script, also those that it hands to ssh, srun and shells.
pub(crate) fn starts(script: &Script) -> Vec<RayStart> {
    let mut found = Vec::new();
    for command in &script.commands {
        found.extend(start(command, command.line));
        let inner = command
            .words
            .iter()
            .filter(|word| word.text.contains("ray start") && command.program() != "echo");
        for word in inner {
            let inner = Script::read(script.catalog, &word.text).commands;
            found.extend(inner.iter().filter_map(|one| start(one, word.line.max(command.line))));
        }
    }
    found
}

/// The starts in the words of a service's command.
pub(crate) fn starts_of_words(catalog: &'static Catalog, words: &[String]) -> Vec<RayStart> {
    let joined = match words.iter().any(|word| word.contains("ray start")) {
        true => words.iter().find(|word| word.contains("ray start")).cloned().unwrap_or_default(),
        false => words.join(" "),
    };
    starts(&Script::read(catalog, &joined))
}

/// Reads a command: `ray start …`, also behind `srun`, `ssh host` and the like.
fn start(command: &Command, line: usize) -> Option<RayStart> {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let at =
        texts.windows(2).position(|pair| pair[1] == "start" && pair[0].rsplit('/').next() == Some("ray"))?;
    let printed = matches!(command.program(), "echo" | "printf" | "pgrep" | "pkill");
    let words = &texts[at + 2..];
    let value = |name: &str| {
        words.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(name)? {
            "" => words.get(index + 1).map(|value| (*value).to_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        })
    };
    if printed {
        return None;
    }
    if words.contains(&"--head") {
        let port = value("--port").unwrap_or_else(|| DEFAULT_PORT.to_owned());
        return Some(RayStart::Head { port, line });
    }
    let address = value("--address").filter(|address| !address.contains("://"))?;
    let (host, port) = address.rsplit_once(':')?;
    Some(RayStart::Worker { host: host.to_owned(), port: port.to_owned(), line })
}

/// A text with the variables in it that the script sets once.
pub(crate) fn resolved(text: &str, sets: &[Assigned]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let (braced, inner) = match behind.strip_prefix('{') {
            Some(inner) => (true, inner),
            None => (false, behind),
        };
        let end = inner
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(inner.len());
        let (name, after) = inner.split_at(end);
        let after = if braced { after.split_once('}').map_or(after, |(_, after)| after) } else { after };
        let mut all = sets.iter().filter(|one| one.name == name);
        match (all.next().and_then(|one| one.value.as_deref()), all.next()) {
            (Some(value), None) if !value.contains('$') => out.push_str(value),
            _ => {
                out.push('$');
                out.push_str(name);
            }
        }
        rest = after;
    }
    out + rest
}

/// Whether two ports certainly differ.
pub(crate) fn differ(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    matches!((number(one), number(other)), (Some(one), Some(other)) if one != other)
}
