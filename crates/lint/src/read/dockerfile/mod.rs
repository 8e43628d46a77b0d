//! A Dockerfile: its instructions, its stages, and what holds at each command.

pub(crate) mod apt;
pub(crate) mod archives;
pub(crate) mod command;
mod context;
pub(crate) mod copied;
pub(crate) mod expand;
pub(crate) mod install;
pub(crate) mod instructions;
mod listed;
pub(crate) mod modes;
pub(crate) mod python;
pub(crate) mod references;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod stage;
pub(crate) mod start;
pub(crate) mod state;
pub(crate) mod text;
mod wrappers;

pub(crate) use stage::{Dockerfile, From, Run, Stage};
