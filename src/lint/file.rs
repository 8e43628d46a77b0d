//! What kind of file a name or a text is.

use super::read::dockerfile::Context;
use super::rule::Kind;

/// A file to be judged.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name, as findings show it.
    pub name: String,
    /// What stands in it.
    pub text: String,
    /// What kind of file it is.
    pub kind: Kind,
    /// Of a compose file: whether it is meant for `docker stack deploy`.
    pub stack: Stack,
    /// Of a Dockerfile: what is known of its build context.
    pub context: Context,
    /// Of a compose file: those that docker compose merges over it, in order.
    pub over: Vec<Over>,
    /// The folder of that context, as findings show it; empty for the one that envdoc was started in.
    pub folder: String,
}

/// A compose file over another one.
#[derive(Debug, Clone)]
pub struct Over {
    /// Its name, as findings show it.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// Whether a compose file is a stack file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// Nothing but its content can tell.
    Unsaid,
    /// Its name or the user says so.
    Yes,
}

impl File {
    /// A file of a kind; whether it is a stack file is told from its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>, kind: Kind) -> File {
        let name = name.into();
        let stack = if base(&name).contains("stack") { Stack::Yes } else { Stack::Unsaid };
        File {
            name,
            text: text.into(),
            kind,
            stack,
            context: Context::new(),
            over: Vec::new(),
            folder: String::new(),
        }
    }

    /// A file of the build context, as findings show it.
    pub fn beside(&self, path: &str) -> String {
        match self.folder.as_str() {
            "" | "." => path.to_owned(),
            folder => format!("{}/{path}", folder.trim_end_matches('/')),
        }
    }
}

fn base(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// The kind that a name says: `Dockerfile`, `cuda.Dockerfile`, `Dockerfile.gpu`, `compose.yaml`, `docker-compose.gpu.yml`, `stack.yml`.
pub fn kind_of_name(name: &str) -> Option<Kind> {
    let base = base(name);
    // Templates are no Dockerfile before somebody fills them in, and what is written about one is none.
    let other = [
        ".j2",
        ".jinja",
        ".jinja2",
        ".tmpl",
        ".template",
        ".tpl",
        ".in",
        ".mustache",
        ".hbs",
        ".md",
        ".rst",
        ".txt",
        ".html",
        ".dockerignore",
        ".sh",
        ".py",
        ".json",
        ".lock",
        ".orig",
        ".bak",
        ".patch",
    ];
    if other.iter().any(|end| base.ends_with(end)) {
        return None;
    }
    let yaml = base.ends_with(".yml") || base.ends_with(".yaml");
    if yaml {
        let stem = base.rsplit_once('.').map_or("", |(stem, _)| stem);
        let mut parts = stem.split(['.', '-', '_']);
        let named =
            parts.clone().any(|part| part == "compose") || parts.next().is_some_and(|part| part == "stack");
        let named = named || stem.ends_with("-stack") || stem.ends_with(".stack");
        return named.then_some(Kind::Compose);
    }
    for word in ["dockerfile", "containerfile"] {
        let before =
            base.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '-', '_']));
        let after = base.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', '-', '_']));
        if before || after {
            return Some(Kind::Dockerfile);
        }
    }
    None
}

/// The compose files that docker compose takes from a folder when none is named, the first that is there.
pub const COMPOSE_NAMES: &[&str] =
    &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
/// The files that it merges over that one, the first that is there (compose-spec/compose-go:cli/options.go).
pub const OVERRIDE_NAMES: &[&str] = &[
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
];

/// The kind that a text shows.
pub fn kind_of_text(text: &str) -> Option<Kind> {
    let line = |start: &str| {
        text.lines().any(|line| {
            line.len() > start.len()
                && line.is_char_boundary(start.len())
                && line[..start.len()].eq_ignore_ascii_case(start)
        })
    };
    if text.lines().any(|line| line.trim_end() == "services:") {
        return Some(Kind::Compose);
    }
    line("FROM ").then_some(Kind::Dockerfile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in [
            "Dockerfile",
            "a/b/dockerfile",
            "x.Dockerfile",
            "Dockerfile.gpu",
            "Containerfile",
            "Dockerfile-cuda",
            "base_Dockerfile",
        ] {
            assert_eq!(kind_of_name(name), Some(Kind::Dockerfile), "{name}");
        }
        for name in [
            "compose.yaml",
            "docker-compose.yml",
            "docker-compose.gpu.yml",
            "compose.override.yaml",
            "stack.yml",
            "stack-gpu.yaml",
            "multi-node.docker-compose.yml",
            "docker-stack.yml",
        ] {
            assert_eq!(kind_of_name(name), Some(Kind::Compose), "{name}");
        }
        for name in [
            "Dockerfile.j2",
            "Dockerfile.dockerignore",
            "dockerfiles",
            "values.yaml",
            "mydockerfile",
            "composer.yml",
            "full-stack-notes.md",
        ] {
            assert_eq!(kind_of_name(name), None, "{name}");
        }
    }

    #[test]
    fn texts() {
        assert_eq!(kind_of_text("# x\nfrom a\n"), Some(Kind::Dockerfile));
        assert_eq!(kind_of_text("services:\n  a:\n    image: b\n"), Some(Kind::Compose));
        assert_eq!(kind_of_text("torch==2.6.0\n"), None);
    }
}
