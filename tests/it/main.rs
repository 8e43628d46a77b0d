//! The program as its users run it, and what is generated from it.

mod against_pypi;
mod architecture;
mod catalog;
mod cli;
mod command_line;
mod completions;
mod compose;
mod deny;
mod diagnose_memory;
mod fuzz;
mod generated;
mod hostile;
mod images;
mod judge;
mod language;
mod layers;
mod limits;
mod lint;
mod nccl;
mod packaging;
mod refresh;
mod registry;
mod sizes;
mod training;
mod traps;
mod worker;
