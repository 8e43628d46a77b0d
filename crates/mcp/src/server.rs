//! What a client is offered.

use crate::resources::Topic;
use crate::tool::Tool;

/// What a server offers.
pub struct Server {
    /// The name of the program.
    pub name: &'static str,
    pub version: &'static str,
    /// What a model should know of it before it calls a tool.
    pub instructions: String,
    pub tools: Vec<Tool>,
    pub topics: Vec<Topic>,
}
