//! What a value of a request may contain in the place where it ends up: an instruction of a Dockerfile, a
//! mount option, a shell command, a workflow. Requests come with pull requests, and pipelines render them.

use diagnostic::error::{Error, Kind};

use crate::request::ImageRequest;
use diagnostic::visible::is_hidden;
use docker::reference::Reference;
use resolve::parse::is_requirement;

mod command;

/// Where a value ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// Text in quotes on one line.
    Line,
    /// A path that is a word of an instruction, or a value of a mount option.
    Path,
    /// A path in the image, from its root on.
    AbsolutePath,
    /// An image.
    ImageName,
    /// A registry, with the path that its images have there.
    Registry,
    /// A URL that becomes a word of a shell command.
    Url,
    /// A package with its version: never an option of pip.
    Package,
    /// The name of an image without its tag and digest.
    Repository,
    /// The key of a label.
    LabelKey,
    /// A shell command, one of several that an instruction joins with `&&`.
    Command,
}

impl ValueKind {
    fn takes(self, text: &str) -> bool {
        let only = |others: &str| {
            text.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
        };
        match self {
            ValueKind::Line => !text.chars().any(is_hidden),
            ValueKind::Path => only("._/@+~*-") && !text.starts_with('-'),
            ValueKind::AbsolutePath => only("._/@+-") && text.starts_with('/'),
            ValueKind::ImageName => {
                only("._/:@-")
                    && text.starts_with(|first: char| first.is_ascii_alphanumeric())
                    && !text.split('/').any(|part| matches!(part, "" | "." | ".."))
            }
            ValueKind::Registry => !text.contains('@') && Reference::parse(&format!("{text}/image")).is_ok(),
            ValueKind::Url => only("._~:/?#[]@!&*+,=%-") && !text.starts_with('-'),
            ValueKind::Package => is_requirement(text),
            ValueKind::Repository => {
                only("._/-") && Reference::parse(text).is_ok_and(|name| name.tag == "latest")
            }
            ValueKind::LabelKey => only("._/-"),
            ValueKind::Command => command::is_single(text.trim()),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            ValueKind::Line => "one line without control characters and marks of writing direction",
            ValueKind::Path => "a path of letters, digits and ._/@+~*- that does not begin with -",
            ValueKind::AbsolutePath => "an absolute path of letters, digits and ._/@+-",
            ValueKind::ImageName => "a name of letters, digits and ._/:@- that begins with a letter or digit",
            ValueKind::Registry => "a registry such as ghcr.io/me: a host, a port, a path, no login",
            ValueKind::Url => "a URL without spaces, quotes and other characters of the shell",
            ValueKind::Package => "one package such as numpy<2 or NAME @ URL (PEP 508)",
            ValueKind::Repository => "a name of lower-case letters, digits and ._/-, without a tag",
            ValueKind::LabelKey => "a key of letters, digits and ._/-",
            ValueKind::Command => {
                "one command on one line, without a comment, a here-document or a backslash at its end; \
                    copy a script with `copy` and run it for more"
            }
        }
    }

    fn check<'t>(self, key: &str, texts: impl IntoIterator<Item = &'t String>) -> Result<(), Error> {
        match texts.into_iter().find(|text| !self.takes(text)) {
            None => Ok(()),
            Some(text) => {
                Err(Error::new(Kind::Usage, format!("`{key}`: {text:?} is not {}", self.expected())))
            }
        }
    }
}

/// Refuses a request with a value that would become something else in the files made of it. `apt` and
/// `user` are checked where they are used; `entrypoint` and `command` are written as JSON.
pub(crate) fn request(request: &ImageRequest) -> Result<(), Error> {
    let mirrors = &request.mirrors;
    ValueKind::ImageName.check("name", &request.name)?;
    ValueKind::Line.check("description", &request.description)?;
    // Both stand in comments of the Dockerfile.
    ValueKind::Line.check("request", request.origin.iter().chain(&request.requested))?;
    ValueKind::Package.check("packages", &request.packages)?;
    ValueKind::ImageName.check("base_image", &request.base_image)?;
    ValueKind::ImageName.check("base_devel", &request.base_devel)?;
    ValueKind::ImageName.check("base_digest", &request.base_digest)?;
    ValueKind::Url.check("mirrors", mirrors.pip_index.iter().chain(&mirrors.extra_index))?;
    ValueKind::Url.check("mirrors", mirrors.apt.iter().chain(&mirrors.python))?;
    ValueKind::Path.check("wheels", &request.wheels)?;
    ValueKind::Url.check("proxy", &request.proxy)?;
    ValueKind::AbsolutePath.check("workdir", &request.workdir)?;
    ValueKind::Path.check("copy", request.copy.iter().flat_map(|copy| [&copy.from, &copy.to]))?;
    ValueKind::Line.check("env", request.env.values())?;
    ValueKind::Command.check("run", &request.run)?;
    ValueKind::LabelKey.check("labels", request.labels.keys())?;
    ValueKind::Line.check("labels", request.labels.values())
}

/// The same for an image of a pipeline, the directory of its Dockerfile, and the registry: `${{ … }}` and
/// `$(…)` would run in it.
pub(crate) fn pipeline(name: &String, context: &String, registry: Option<&str>) -> Result<(), Error> {
    ValueKind::Repository.check("name", [name])?;
    ValueKind::Path.check("context", [context])?;
    ValueKind::Registry.check("--registry", registry.map(str::to_owned).iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(yaml: &str) -> String {
        let read: ImageRequest = serde_yaml::from_str(yaml).unwrap();
        request(&read).unwrap_err().message
    }

    #[test]
    fn rejects_values_that_inject_dockerfile_instructions() {
        for (key, yaml) in [
            ("workdir", r#"workdir: "/w\nRUN evil""#),
            ("workdir", r#"workdir: "/w;evil""#),
            ("workdir", r#"workdir: "/$(evil)""#),
            ("labels", r#"labels: {a: "b\nRUN evil"}"#),
            ("labels", r#"labels: {"a b": c}"#),
            ("name", r#"name: "x\nRUN evil""#),
            ("name", r#"name: "x${{ secrets.X }}""#),
            ("description", r#"description: "x\nRUN evil""#),
            ("base_image", r#"base_image: "ubuntu:22.04\nRUN evil""#),
            ("base_image", r#"base_image: "--platform=x ubuntu""#),
            ("wheels", r#"wheels: "d,target=/x""#),
            ("copy", r#"copy: [{from: "--from=evil/image", to: /x}]"#),
            ("copy", r#"copy: [{from: "a b", to: /x}]"#),
            ("packages", r#"packages: ["--index-url=http://evil.example/simple"]"#),
            ("packages", r#"packages: [" -rfile"]"#),
            ("packages", r#"packages: ["evil --index-url=http://evil.example"]"#),
            ("packages", r#"packages: ["evil\\"]"#),
            ("packages", "packages: [\"evil\u{2028}x\"]"),
            ("mirrors", r#"mirrors: {pip_index: "https://a.example/$(evil)"}"#),
            ("mirrors", r#"mirrors: {apt: "https://a.example/ --evil"}"#),
            ("proxy", r#"proxy: "http://p.example\nRUN evil""#),
            ("packages", r#"packages: ["evil @ https://e.example/x --hash=sha256:00 --index-url=http://e"]"#),
            ("env", r#"env: {A: "x\rRUN evil"}"#),
            ("env", "env: {A: \"x\u{202e}y\"}"),
            ("labels", "labels: {a: \"x\u{2028}y\"}"),
            ("run", "run: [\"echo one\\npip install x\"]"),
            ("run", r#"run: ['echo two \']"#),
            ("run", r#"run: ["cat <<EOF"]"#),
            ("run", r#"run: ["pip install x # why", "pip install y"]"#),
            ("name", r#"name: "a/../../b""#),
        ] {
            assert!(refused(yaml).starts_with(&format!("`{key}`: ")), "{yaml}: {}", refused(yaml));
        }
    }

    #[test]
    fn accepts_common_values() {
        let yaml = r#"
            name: team/rl-train.v2
            description: "Training, with DeepSpeed's operators: $HOME stays text"
            workdir: /workspace/app-1
            env: {NOTE: "a value, with: signs"}
            run: ["make -C /src && echo '# done' >> /etc/motd", "test $((1 << 2)) -eq 4", "cat <<< text"]
            labels: {org.opencontainers.image.source: "https://example.org/a?b=c#d"}
            base_image: registry.example:5000/team/base:1.2@sha256:00ff
            wheels: wheels/linux
            copy: [{from: src/*.py, to: /workspace/}]
            packages: ["transformers[torch]>=4.40,<5", "numpy==1.26.4; python_version < '3.13'"]
            mirrors: {pip_index: "https://index.example:8443/simple/?a=b&c=%20"}
            proxy: http://proxy.example:3128
        "#;
        let read: ImageRequest = serde_yaml::from_str(yaml).unwrap();
        assert!(request(&read).is_ok(), "{:?}", request(&read));
    }

    #[test]
    fn rejects_values_that_inject_pipeline_commands() {
        let pipeline = |name: &str, context: &str, registry| {
            pipeline(&name.to_owned(), &context.to_owned(), registry).is_ok()
        };
        assert!(pipeline("rl", "images/rl", Some("ghcr.io/me")));
        assert!(!pipeline("x${{ secrets.X }}", "images/rl", None));
        assert!(!pipeline("x:", "images/rl", None) && !pipeline("a@b", "images/rl", None));
        assert!(!pipeline("rl", "d${{ secrets.X }}", None));
        assert!(!pipeline("rl", "images/rl", Some("r.example/$(evil)")));
        assert!(!pipeline("rl", "images/rl", Some("r.example/a\"evil")));
        for registry in ["bob:password@r.example/x", "bob@r.example", "r.example:99999/p", "r.example/..//p"]
        {
            assert!(!pipeline("rl", "images/rl", Some(registry)), "{registry}");
        }
        assert!(
            pipeline("rl", "images/rl", Some("localhost:5000")) && pipeline("rl", "images/rl", Some("me"))
        );
    }
}
