//! A token or password in a layer.

use std::collections::BTreeSet;

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::stage::{pairs, settings, unquoted};
use crate::read::dockerfile::text::Text;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::tokens::{login, looks_random, secret_name, shaped};

pub(crate) const RULE: Rule = Rule {
    id: "token-in-image",
    severity: Severity::Error,
    summary: "the file contains no token",
    explain: include_str!("token_in_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:22.04\nENV HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh\n"),
        dockerfile(
            "FROM ubuntu:22.04\nRUN git clone \
             https://ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/x/y\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN git clone https://ci:k8Tq2vLx9wZb@git.example.com/x/y\n"),
        dockerfile("FROM ubuntu:22.04\nARG HF_TOKEN\nENV HF_TOKEN=${HF_TOKEN}\nRUN ./download\n"),
        dockerfile("FROM ubuntu:22.04\nENV WANDB_API_KEY=\"0123456789abcdef0123456789abcdef01234567\"\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04 AS build\nARG HF_TOKEN\nENV HF_TOKEN=$HF_TOKEN\nFROM ubuntu:22.04\n\
             ENV OPENAI_API_KEY=\"\" DB_TOKEN=$OTHER DB_PASSWORD=changeme TOKENIZERS_PARALLELISM=false\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nENV API_KEY=<your-key> X_TOKEN=your_token_here\n\
             RUN echo hf_transfer sk-learn\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nENV A=postgres://postgres:postgres@db B=http://user:password@proxy\n\
             RUN --mount=type=secret,id=t git clone https://ci:$(cat /run/secrets/t)@git.example.com/x/y\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = handed_on(file);
    for instruction in &file.instructions {
        let bodies = instruction.heredocs.iter().map(|one| &one.text).chain([&instruction.text]);
        let whole: Vec<Found> = bodies.filter_map(|text| token(text).or_else(|| password(text))).collect();
        if !whole.is_empty() {
            found.extend(whole);
            continue;
        }
        let values = match instruction.keyword.as_str() {
            "ENV" => settings(&instruction.text.text),
            "ARG" => pairs(&instruction.text.text),
            _ => continue,
        };
        for (name, value) in values {
            let value = unquoted(&value.unwrap_or_default());
            if secret_name(&name) && looks_random(&value) {
                let message = format!(
                    "{name} is stored in the image; everyone who can pull the image can read \
                     it"
                );
                found.push(
                    Found::warning(
                        instruction.line,
                        message,
                        "Set it at run time, or use `RUN --mount=type=secret` for the build",
                    )
                    .about(name),
                );
            }
        }
    }
    found
}

/// Secrets that an ENV takes over from an ARG: who builds gives them, and they stay in the image.
fn handed_on(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in file.shipped() {
        let mut arguments: BTreeSet<String> = BTreeSet::new();
        for one in &stage.instructions {
            if one.keyword == "ARG" {
                let names = pairs(&one.text.text).into_iter().map(|(name, _)| name);
                arguments.extend(names.filter(|name| secret_name(name)));
            }
            let values = if one.keyword == "ENV" { settings(&one.text.text) } else { Vec::new() };
            for (name, value) in values {
                let value = unquoted(&value.unwrap_or_default());
                let Some(named) = value.strip_prefix('$') else { continue };
                let bare = named.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                let Some(argument) = arguments.get(bare.unwrap_or(named)) else { continue };
                let message = format!(
                    "{name} takes the value of ARG {argument} into the image; everyone who can pull the \
                     image can read it"
                );
                let fix = "Use `RUN --mount=type=secret` for the build, and set it at run time";
                found.push(Found::warning(one.line, message, fix).about(name));
            }
        }
    }
    found
}

fn token(text: &Text) -> Option<Found> {
    let (offset, start) = shaped(&text.text)?;
    let message = format!("the file contains a token ({start}…), which also ends up in the image history");
    let fix = "Revoke the token, and use `RUN --mount=type=secret` or an environment variable at run time";
    Some(Found::error(text.line_at(offset), message, fix))
}

fn password(text: &Text) -> Option<Found> {
    let (offset, host) = login(&text.text)?;
    let message = format!(
        "the file contains a URL with a password for {host}, which also ends up in the image history"
    );
    let fix = "Change the password, and use `RUN --mount=type=secret` or a .netrc mounted as a secret";
    Some(Found::error(text.line_at(offset), message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::kind::Kind;
    use host::redact::TOKEN_SHAPES;

    #[test]
    fn every_whole_token_is_reported_and_a_shorter_one_is_not() {
        for (start, length) in TOKEN_SHAPES.iter().flat_map(|shape| shape.whole) {
            let findings = |length: usize| {
                let body: String = "A1B2C3D4E5F6G7H8".chars().cycle().take(length).collect();
                let text = format!("FROM ubuntu:22.04\nRUN login {start}{body}\n");
                let file = File::new(catalog::testing::catalog(), "Dockerfile", text, Kind::Dockerfile);
                crate::lint(&[&RULE], &[], &file).len()
            };
            assert_eq!((findings(*length), findings(length - 1)), (1, 0), "{start}");
        }
    }
}
