//! From the first line of a client to the last answer.

use std::io::{Read, Write};

use diagnostic::error::{Error, Kind};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use crate::handler::Handler;
use crate::server::Server;
use crate::transport::Lines;

/// Answers a client until its input ends or `stop` comes. Needs a tokio runtime.
///
/// # Errors
/// The threads for the pipes could not be started.
pub async fn serve(
    server: Server,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let lines = Lines::new(input, output)
        .map_err(|error| Error::new(Kind::File, format!("cannot start a thread: {error}")))?;
    let mut stop = std::pin::pin!(stop);
    let running = tokio::select! {
        started = Handler::new(server).serve(lines) => match started {
            Ok(running) => running,
            // Nothing was asked.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => {
                let message = format!("MCP handshake failed: {error}");
                return Err(Error::new(Kind::Usage, message));
            }
        },
        () = &mut stop => return Ok(()),
    };
    let token = running.cancellation_token();
    let mut ended = std::pin::pin!(running.waiting());
    tokio::select! {
        _ = &mut ended => {}
        () = stop => {
            token.cancel();
            let _ = ended.await;
        }
    }
    Ok(())
}
