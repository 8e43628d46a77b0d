//! `envdoc cluster logs`.

use docker::fan_out;
use futures_util::StreamExt;

use super::exec::chosen;
use super::inspecting::connected_to;
use super::work::{layout, until_interrupted};
use super::{Reaching, Source};
use crate::cli::settings::SettingsFiles;
use ::cluster::jobs::Lines;
use ::cluster::reach;
use ::cluster::report::jobs::Prefixed;
use ::cluster::report::unreached;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::container;

/// Show the output of the containers, with the node's name before each line.
///
/// Exit code: 0; 1 if a node is unreachable or its log cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    reaching: Reaching,

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
    pub(super) fn run(self, settings: &SettingsFiles) -> Result<u8, Error> {
        let plan = self.source.plan(settings)?;
        let places = chosen(&plan, &self.node)?;
        let prefixed = Prefixed::new(plan.nodes.iter().map(|node| node.name.as_str()), places.len() > 1);
        let shown = until_interrupted(async {
            let nodes = places.iter().map(|index| &plan.nodes[*index]);
            let reached = connected_to(nodes, self.reaching.limits(), true).await;
            let all_reached = reached.iter().all(|(_, engine)| engine.is_ok());
            if !all_reached {
                terminal::note(unreached::nodes(&reach::access(&reached), layout()).trim_end());
            }
            let open = reached.iter().filter_map(|(node, engine)| Some((node, engine.as_ref().ok()?)));
            let all = fan_out(open.map(|(node, engine)| async {
                let result = self.of(engine, &node.name, &prefixed).await;
                (&node.name, result)
            }));
            let unread: Vec<String> = all
                .await
                .into_iter()
                .filter_map(|(node, result)| {
                    Some(format!("{node}: its log cannot be read: {}", result.err()?))
                })
                .collect();
            if !unread.is_empty() {
                terminal::note(&unread.join("\n"));
            }
            all_reached && unread.is_empty()
        })?;
        match shown {
            Some(complete) => Ok(u8::from(!complete)),
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
