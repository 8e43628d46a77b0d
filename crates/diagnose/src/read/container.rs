//! The log of a container, from its engine, with the engine's timestamps.

use futures_util::{Stream, StreamExt, stream};

use super::Read;
use super::blocks::{Blocks, LIMITS};
use catalog::Catalog;
use docker::container;
use docker::engine::Engine;

/// A line that is longer is handed on in parts, in bytes.
const LINE_LIMIT_BYTES: usize = 1 << 20;

/// Why a container's log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The engine has no container of that name.
    #[error("no container {container} on {endpoint}")]
    NotFound {
        /// The name as given.
        container: String,
        endpoint: String,
    },
    /// The engine did not answer the request.
    #[error(transparent)]
    Engine(#[from] docker::Error),
    /// The engine failed while it sent the log.
    #[error("reading its log stopped: {0}")]
    Interrupted(docker::Error),
}

impl From<ContainerError> for diagnostic::error::Error {
    fn from(error: ContainerError) -> diagnostic::error::Error {
        use diagnostic::error::{Error, Kind};
        Error::new(Kind::Engine, error.to_string()).hint("`docker ps -a` lists all containers")
    }
}

/// Reads what a container printed, both of its outputs; `node` is put before each line, as compose does.
/// Nothing is kept beyond what [`Read`] says, whatever the container printed.
pub async fn read(
    catalog: &'static Catalog,
    engine: &Engine,
    container: &str,
    node: Option<&str>,
) -> Result<Read, ContainerError> {
    let name = match node {
        Some(node) if node != container => format!("container {container} of {node}"),
        _ => format!("container {container}"),
    };
    let mut blocks = Blocks::new(catalog, &name, LIMITS);
    let lines = lines(engine, container, node, false).await?;
    let mut lines = std::pin::pin!(lines);
    while let Some(line) = lines.next().await {
        match line {
            Ok(line) => blocks.feed(&line),
            Err(why) => blocks.remark(why.to_string()),
        }
    }
    ended(engine, container).await.into_iter().for_each(|remark| blocks.remark(remark));
    Ok(blocks.end())
}

/// The lines that a container printed, and with `follow` those that it prints until it ends; where the engine
/// stops telling them, why.
pub async fn lines<'engine>(
    engine: &'engine Engine,
    container: &str,
    node: Option<&str>,
    follow: bool,
) -> Result<impl Stream<Item = Result<Vec<u8>, ContainerError>> + use<'engine>, ContainerError> {
    if container::inspect(engine, container).await?.is_none() {
        return Err(ContainerError::NotFound {
            container: container.to_owned(),
            endpoint: engine.endpoint.to_string(),
        });
    }
    let joined =
        Joined { prefix: node.map(|node| format!("{node}  | ")).unwrap_or_default(), ..Joined::default() };
    let printed = container::timed_logs(engine, container, follow);
    Ok(stream::unfold(Some((printed, joined)), |going_on| async move {
        let (mut printed, mut joined) = going_on?;
        loop {
            match printed.next().await {
                Some(Ok(chunk)) => {
                    if let Some(line) = joined.add(chunk.error, &chunk.bytes) {
                        return Some((Ok(line), Some((printed, joined))));
                    }
                }
                Some(Err(why)) => {
                    let error = ContainerError::Interrupted(why);
                    return Some((Err(error), Some((stream::empty().boxed(), joined))));
                }
                None => return Some((Ok(joined.rest().concat()), None)),
            }
        }
    }))
}

/// What the engine says of how a container ended.
pub async fn ended(engine: &Engine, container: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    let Ok(Some(state)) = container::inspect(engine, container).await else { return remarks };
    if state.out_of_memory {
        remarks.push("killed by the OOM killer, according to the engine".into());
    }
    if let Some(code) = state.exit.filter(|code| *code != 0 && !state.running) {
        remarks.push(format!("exited with code {code}"));
    }
    if !state.error.is_empty() {
        remarks.push(format!("engine error: {}", state.error));
    }
    remarks
}

/// Puts together what one output printed without an end of line in between, as the engine hands out long
/// lines in parts.
#[derive(Debug, Default)]
struct Joined {
    prefix: String,
    /// Of each output: the line that has not ended.
    open: [Vec<u8>; 2],
}

impl Joined {
    /// Adds an entry of the engine's: a time, a space, what was printed. The lines that have ended.
    fn add(&mut self, error: bool, entry: &[u8]) -> Option<Vec<u8>> {
        let open = &mut self.open[usize::from(error)];
        if open.is_empty() {
            open.extend_from_slice(self.prefix.as_bytes());
            open.extend_from_slice(entry);
        } else {
            let after_time = memchr::memchr(b' ', entry).filter(|at| is_time(&entry[..*at]));
            open.extend_from_slice(&entry[after_time.map_or(0, |at| at + 1)..]);
        }
        (open.ends_with(b"\n") || open.len() > LINE_LIMIT_BYTES).then(|| std::mem::take(open))
    }

    /// What has not ended.
    fn rest(self) -> [Vec<u8>; 2] {
        self.open.map(|mut line| {
            if !line.is_empty() {
                line.push(b'\n');
            }
            line
        })
    }
}

/// `2026-03-01T10:00:00.123456789Z`.
fn is_time(word: &[u8]) -> bool {
    word.len() >= 20 && word[4] == b'-' && word[10] == b'T' && word.ends_with(b"Z")
}

#[cfg(test)]
mod tests {
    use super::Joined;

    #[test]
    fn joins_partial_lines_per_stream() {
        let mut joined = Joined { prefix: "node1  | ".into(), ..Joined::default() };
        assert_eq!(joined.add(false, b"2026-03-01T10:00:00.1Z half a "), None);
        let error = joined.add(true, b"2026-03-01T10:00:00.2Z RuntimeError: no\n");
        assert_eq!(error.unwrap(), b"node1  | 2026-03-01T10:00:00.2Z RuntimeError: no\n");
        let line = joined.add(false, b"2026-03-01T10:00:00.3Z line\n");
        assert_eq!(line.unwrap(), b"node1  | 2026-03-01T10:00:00.1Z half a line\n");
        assert_eq!(joined.add(true, b"2026-03-01T10:00:01Z last"), None);
        assert_eq!(joined.rest()[1], b"node1  | 2026-03-01T10:00:01Z last\n");
    }
}
