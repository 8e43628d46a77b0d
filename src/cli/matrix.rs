//! `envdoc matrix`.

use catalog::Catalog;
use clap::ValueEnum;

use diagnostic::error::Error;
use diagnostic::terminal;
use resolve::matrix;
use resolve::parse::{self, Typed};
use resolve::request::Want;
use resolve::world::World;

/// Show which CUDA builds each torch release has, and for which Python versions and GPUs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only releases and builds with wheels for this Python version, for example 3.12.
    #[arg(long, value_name = "VERSION")]
    python: Option<String>,

    /// Table format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  envdoc matrix
  envdoc matrix --python 3.12
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
    pub fn run(self, catalog: &'static Catalog) -> Result<u8, Error> {
        let world = &World::new(catalog);
        let typed = Typed { python: self.python.clone(), ..Typed::default() };
        let wishes = parse::wishes(world, &typed)?.wishes;
        let wanted = wishes.iter().find_map(|wish| match &wish.want {
            Want::Python(versions) => Some(versions),
            _ => None,
        });
        let pythons = wanted.map(|wanted| {
            world.pythons.iter().filter(|python| python.within(&wanted.specifiers)).collect::<Vec<_>>()
        });
        let matrix = matrix::Matrix::of(catalog, self.python.as_deref().map(str::trim), pythons.as_deref());
        let text = match self.format {
            Format::Text => matrix::text::report(&matrix, terminal::width()),
            Format::Markdown => matrix::markdown::report(&matrix),
            Format::Html => matrix::html::report(&matrix),
        };
        terminal::print(&text).map(|()| 0)
    }
}
