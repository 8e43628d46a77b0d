//! `envdoc cluster logs`.

use docker::fan_out;
use futures_util::StreamExt;

use super::Source;
use super::exec::{chosen, engines};
use super::work::until_interrupted;
use ::cluster::jobs::Lines;
use ::cluster::reach;
use ::cluster::report::jobs::{Prefixed, table};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::container;

/// Show the output of the containers, with the node's name before each line.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    /// Name of a node, several separated by commas, or `all`.
    #[arg(value_name = "NODE", default_value = "all")]
    node: String,

    /// Keep printing new lines until Ctrl-C.
    #[arg(long)]
    follow: bool,

    /// Show only the last LINES lines of each container.
    #[arg(long, value_name = "LINES")]
    tail: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster logs --tail 50
  envdoc cluster logs node2 --follow";

impl Args {
    pub(super) fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let places = chosen(&plan, &self.node)?;
        let prefixed = Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), places.len() > 1);
        let shown = until_interrupted(async {
            let reached = reach::connect(&plan).await;
            let (engines, mut gone) = engines(&reached, &places);
            let all = fan_out(engines.iter().map(|(node, engine)| async {
                let result = self.of(engine, node, &prefixed).await;
                (node.clone(), result)
            }));
            for (node, result) in all.await {
                if let Err(why) = result {
                    gone.push(cluster::jobs::Ended {
                        node,
                        status: Err(cluster::jobs::Error::Engine(why)),
                        seconds: 0.0,
                        stopped: false,
                    });
                }
            }
            gone
        })?;
        match shown {
            Some(gone) if gone.is_empty() => Ok(0),
            Some(gone) => {
                terminal::note(table(&gone).trim_end());
                Ok(1)
            }
            None if self.follow => Ok(0),
            None => Err(Error::new(Kind::Interrupted, "interrupted")),
        }
    }

    async fn of(
        &self,
        engine: &docker::engine::Engine,
        node: &str,
        prefixed: &Prefixed,
    ) -> Result<(), docker::Error> {
        let mut printed = container::logs(engine, node, self.tail, self.follow);
        let mut lines = [Lines::default(), Lines::default()];
        while let Some(chunk) = printed.next().await {
            let chunk = chunk?;
            for text in lines[usize::from(chunk.error)].add(&chunk.bytes) {
                prefixed.line(node, chunk.error, &text);
            }
        }
        for (stream, lines) in lines.iter_mut().enumerate() {
            if let Some(text) = lines.rest() {
                prefixed.line(node, stream == 1, &text);
            }
        }
        Ok(())
    }
}
