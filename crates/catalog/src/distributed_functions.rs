//! Functions of programs for several ranks: `catalog/distributed_functions.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A function that rules of lint look for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistributedFunction {
    /// With its module: `torch.distributed.barrier`.
    pub function: String,
    /// What matters about it.
    pub kind: Kind,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// What matters about a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All ranks of a group take part.
    Collective,
    /// It takes the argument `timeout`, a `datetime.timedelta`.
    Timeout,
}

file::table!(DistributedFunction, "distributed_functions.yaml");

impl Table<DistributedFunction> {
    /// Whether a function, named with its module, is of this kind.
    pub fn is(&self, function: &str, kind: Kind) -> bool {
        self.all().iter().any(|row| row.kind == kind && row.function == function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_their_whole_name() {
        let table = crate::testing::catalog().distributed_functions();
        assert!(table.is("torch.distributed.barrier", Kind::Collective));
        assert!(table.is("deepspeed.init_distributed", Kind::Timeout));
        assert!(!table.is("torch.distributed.barrier", Kind::Timeout));
        assert!(!table.is("mpi4py.barrier", Kind::Collective) && !table.is("barrier", Kind::Collective));
    }
}
