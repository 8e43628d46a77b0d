//! The tool `lint`.

use checks::CHECKS;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use facts::Expected;
use lint::collect::{Collected, Sources};
use lint::report::json;
use lint::report::json::LintReport;
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::{self, NamedPath};
use super::{LAYOUT, Program, machine};
use crate::cli::lint_files::{self, Rules};
use crate::cli::values;

/// What to lint.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Files, or directories of which the known files are read.
    #[serde(default)]
    paths: Vec<NamedPath>,
    /// Compose files to merge, in this order.
    #[serde(default)]
    compose: Vec<NamedPath>,
    /// Type of the files, where their names and contents do not show it.
    #[schemars(extend("enum" = values::kind_ids()))]
    r#type: Option<String>,
    /// Build context of the Dockerfiles [default: found].
    context: Option<NamedPath>,
    /// Whether Compose files are stacks for `docker stack deploy` [default: detected].
    #[serde(default)]
    stack: bool,
    /// Number of ranks, for DeepSpeed batch sizes.
    #[schemars(range(min = 1))]
    world_size: Option<u64>,
    /// Snapshot file of a recorded machine to check the files against, made with `envdoc snapshot`.
    from: Option<NamedPath>,
    /// Only these rules or groups.
    #[serde(default)]
    only: Vec<String>,
    /// Skip these rules or groups.
    #[serde(default)]
    ignore: Vec<String>,
}

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "lint",
        title: "Lint Dockerfiles and settings",
        text: "Find mistakes in Dockerfiles, Compose files, Kubernetes manifests, Slurm, shell and \
               Python training scripts, DeepSpeed configurations, hostfiles, requirements and daemon \
               settings. Reads the named files and the files that they refer to, offline, and changes \
               nothing; findings carry certain fixes as `edits`. An error means that the file will \
               fail.",
        lists: &["/findings", "/skipped", "/checked", "/files"],
        network: false,
    };
    Tool::new::<Arguments, LintReport>(description, move |arguments| run(&program, arguments))
}

fn run(program: &Program, arguments: Arguments) -> Result<Answer, Error> {
    if arguments.paths.is_empty() && arguments.compose.is_empty() {
        return Err(Error::new(Kind::Usage, "paths or compose must name a file"));
    }
    if arguments.world_size == Some(0) {
        return Err(Error::new(Kind::Usage, "world_size must be at least 1"));
    }
    let kind = arguments.r#type.as_deref().map(values::file_type).transpose();
    let Rules { chosen, settings, ignored } =
        lint_files::rules(&arguments.only, &arguments.ignore, program.settings(true)?)?;
    let sources = Sources {
        catalog: program.catalog,
        paths: path::all(arguments.paths),
        compose: path::all(arguments.compose),
        kind: kind.map_err(|error| Error::new(Kind::Usage, format!("type: {error}")))?,
        stack: arguments.stack,
        context: arguments.context.map(|context| context.as_ref().to_owned()),
    };
    let Collected { mut files, unreadable, skipped } = sources.files()?;
    let facts = match &arguments.from {
        Some(file) => {
            Some(machine::facts(program, machine::recorded(file.as_ref(), true)?, Expected::default()))
        }
        None => None,
    };
    lint_files::compare(&mut files, &settings, facts, arguments.world_size);
    let findings = lint::lint_all(&chosen, CHECKS, &files);
    let linted = lint_files::linted(&chosen, &files, findings, &unreadable, skipped);
    let text = lint_files::text(&linted, &ignored, LAYOUT);
    let document = json::report(&linted.findings, &linted.names, &linted.coverage, ignored);
    Answer::new(&document, terminal::plain(&text))
}
