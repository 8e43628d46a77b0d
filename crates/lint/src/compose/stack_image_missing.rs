//! A service of a stack without an image.

use crate::read::compose::{Compose, IsStack};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

pub(crate) const RULE: Rule = Rule {
    id: "stack-image-missing",
    severity: Severity::Error,
    summary: "services of a stack name an image",
    explain: include_str!("stack_image_missing.md"),
    judge: Judge::Compose(judge),
    fires: &[stack("services:\n  a:\n    build: .\n    command: python train.py\n")],
    silent: &[
        stack("services:\n  a:\n    build: .\n    image: registry.example.com/a:1\n"),
        compose("services:\n  a:\n    build: .\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::No || file.template {
        return Vec::new();
    }
    let lacking = file
        .services
        .iter()
        .filter(|one| !one.extends_elsewhere && one.at(&["build"]).is_some() && one.at(&["image"]).is_none());
    let message = |name: &str| {
        format!(
            "service {name} has no image; docker stack deploy builds none and is refused: `image reference \
                 must be provided`"
        )
    };
    let fix = "Build the image, push it to a registry, and name it with `image`";
    let found = lacking.map(|one| {
        Found::error(one.line_of("build"), message(&one.name), fix).unless_certain(file.stack == IsStack::Yes)
    });
    found.collect()
}
