//! `envdoc matrix`.

use super::output::Output;
use super::run;
use catalog::Catalog;
use clap::ValueEnum;

use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use resolve::matrix::{self, Filter};
use resolve::parse::{self, StackOptions};
use resolve::request::{Gpu, RequirementKind};
use resolve::universe::Universe;

/// Show the CUDA builds, Python versions and GPUs of torch releases.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only releases and builds with wheels for this Python version, for example 3.12.
    #[arg(long, value_name = "VERSION")]
    python: Option<String>,

    /// Only builds that run on these GPUs: h100,'RTX 4090',sm_86,8.6.
    #[arg(long, value_name = "GPU,…")]
    gpu: Vec<String>,

    /// Table format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc matrix
  envdoc matrix --python 3.12 --gpu h100
  envdoc matrix --format html > matrix.html";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// Markdown for an issue or a wiki.
    Markdown,
    /// One self-contained HTML page.
    Html,
}

impl Args {
    /// Prints the table.
    pub(super) fn run(self, catalog: &'static Catalog) -> Result<u8, Error> {
        let universe = &Universe::new(catalog);
        let typed =
            StackOptions { python: self.python.clone(), gpu: self.gpu.clone(), ..StackOptions::default() };
        let requirements = parse::requirements(universe, &typed)?.requirements;
        let python = requirements.iter().find_map(|requirement| match &requirement.kind {
            RequirementKind::Python(versions) => Some(versions),
            _ => None,
        });
        let pythons = python.map(|versions| {
            universe.pythons.iter().filter(|python| python.within(&versions.specifiers)).collect::<Vec<_>>()
        });
        if let (Some(text), Some([])) = (&self.python, pythons.as_deref()) {
            let known: Vec<&str> = universe.pythons.iter().map(|python| python.text.as_str()).collect();
            let message = format!("--python {text}: the catalog has no such Python");
            return Err(Error::new(Kind::Usage, message).hint(format!("write one of {}", known.join(", "))));
        }
        let gpus = gpus(requirements.iter().map(|requirement| &requirement.kind))?;
        let python = self.python.as_deref().map(str::trim);
        let filter = Filter { python, pythons: pythons.as_deref(), gpus: &gpus };
        let matrix = matrix::Matrix::new(catalog, filter);
        let text = match self.format {
            Format::Text => matrix::text::report(&matrix, terminal::width()),
            Format::Markdown => matrix::markdown::report(&matrix),
            Format::Html => matrix::html::report(&matrix, &run::now()),
        };
        terminal::print(&text).map(|()| 0)
    }
}

/// The GPUs of `--gpu`. The table has the builds for x86_64.
fn gpus<'r>(kinds: impl Iterator<Item = &'r RequirementKind>) -> Result<Vec<Gpu>, Error> {
    let mut gpus = Vec::new();
    for kind in kinds {
        let RequirementKind::Gpu(gpu) = kind else { continue };
        if let Some(processor) = gpu.processor.as_deref().filter(|processor| *processor != "x86_64") {
            let name = &gpu.name;
            let message =
                format!("--gpu {name}: its processor is {processor}; the table lists only x86_64 builds");
            let hint = format!("to see its newest torch: envdoc explain {name}");
            return Err(Error::new(Kind::Usage, message).hint(hint));
        }
        gpus.push(gpu.clone());
    }
    Ok(gpus)
}
