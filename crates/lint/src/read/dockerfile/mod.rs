//! A Dockerfile: its instructions, its stages, and what holds at each command.

pub mod apt;
pub mod copied;
pub mod expand;
pub mod install;
pub mod instructions;
mod listed;
pub mod python;
pub mod shell;
pub mod stage;
pub mod state;
pub mod text;

pub use instructions::{Heredoc, Instruction};
pub use stage::{Context, Dockerfile, From, Run, Stage};
