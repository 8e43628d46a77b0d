//! A script installs a release that was never published.

use crate::dockerfile::package_release_missing::missing;
use crate::read::dockerfile::install::{Install, install};
use crate::read::dockerfile::python::{Interpreter, Pythons};
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::torch::{self, Known};

pub(crate) const RULE: Rule = Rule {
    id: "installed-release-missing",
    severity: Severity::Error,
    summary: "every pinned release that a script installs exists",
    explain: include_str!("installed_release_missing.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("setup.sh", "pip install transformers==4.99 accelerate\n"),
        named("setup.sh", "python3 -m pip install \"torch==2.6.1\"\n"),
        named("setup.sh", "uv pip install --system numpy==2.0.7\n"),
    ],
    silent: &[
        named("setup.sh", "pip install transformers==4.46.0 torch==2.6.0 numpy==$NUMPY\n"),
        named("setup.sh", "pip install -r requirements.txt\npip download transformers==4.99\n"),
        named("setup.sh", "pip install torch==2.7.0.dev20250310 --pre\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let pythons = Pythons::all(Interpreter::default());
    let installs = script.commands.iter().filter_map(|command| install(script.catalog, command, &pythons));
    let found = installs.flat_map(|install| {
        let torch = never(script, &install);
        missing(script.catalog, &install).into_iter().chain(torch)
    });
    found.collect()
}

/// torch releases that do not exist.
fn never(script: &Script, install: &Install) -> Option<Found> {
    let one = install.requirement("torch")?;
    let Known::Never(near) = torch::known(script.catalog, one) else { return None };
    let message = format!("torch {} does not exist; pip finds no matching distribution", one.pin_text);
    let certain = install.certain && install.index.is_none();
    Some(Found::error(one, message, format!("Use {}", near.join(" or "))).unless_certain(certain))
}
