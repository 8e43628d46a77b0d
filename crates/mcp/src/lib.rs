//! A server of the Model Context Protocol on two pipes.
//!
//! In: tools and resources, as the program makes them, and the two ends of a connection. Out: JSON-RPC, one
//! message a line. It knows nothing of machines, images or logs: a [`Tool`] is a function from arguments to a
//! document, [`Topic`]s are pages of Markdown.
//!
//! Everything is bounded: the length of a line, the requests at once, the tools that run at once, and the
//! answer (`max_bytes`), of which the rest can be asked for with a cursor. rmcp has the messages and the loop
//! of a server; the transport is ours, since rmcp's reads lines of any length.

mod arguments;
mod bounded;
mod handler;
mod line;
mod pages;
mod resources;
mod serve;
mod server;
mod tool;
mod transport;

pub use bounded::Cut;
pub use line::LINE_LIMIT_BYTES;
pub use resources::{Entry, Page, Topic};
pub use serve::serve;
pub use server::Server;
pub use tool::{Answer, Description, MAX_BYTES, MAX_BYTES_DEFAULT, MIN_BYTES, Tool};

#[cfg(test)]
mod tests;
