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
    /// The place of its argument `group`, from 0.
    pub group_at: Option<usize>,
    /// The place of `async_op`; `None` for a function that returns nothing in any case.
    pub async_op_at: Option<usize>,
    /// The place of the tensor that the rank gives.
    pub tensor_at: Option<usize>,
    /// The name of that argument: `input_tensor`.
    pub tensor: Option<String>,
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
    /// Two ranks take part.
    PointToPoint,
    /// It takes the argument `timeout`, a `datetime.timedelta`.
    Timeout,
}

file::table!(DistributedFunction, "distributed_functions.yaml");

impl Table<DistributedFunction> {
    /// The function with this name and module, if it is of this kind.
    pub fn of_kind(&self, function: &str, kind: Kind) -> Option<&DistributedFunction> {
        self.all().iter().find(|row| row.kind == kind && row.function == function)
    }

    /// The function with this name and module that takes tensors from one rank to others.
    pub fn communicating(&self, function: &str) -> Option<&DistributedFunction> {
        self.all().iter().find(|row| row.kind != Kind::Timeout && row.function == function)
    }

    /// Whether a function, named with its module, is of this kind.
    pub fn is(&self, function: &str, kind: Kind) -> bool {
        self.of_kind(function, kind).is_some()
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
        assert!(!table.is("torch.distributed.send", Kind::Collective));
        assert!(!table.is("mpi4py.barrier", Kind::Collective) && !table.is("barrier", Kind::Collective));
    }

    #[test]
    fn every_collective_has_a_group_and_async_op_is_behind_it() {
        for row in crate::testing::catalog().distributed_functions().all() {
            assert_eq!(row.group_at.is_some(), row.kind == Kind::Collective, "{}", row.function);
            assert!(row.async_op_at.is_none_or(|at| Some(at) > row.group_at), "{}", row.function);
            assert_eq!(row.tensor_at.is_some(), row.tensor.is_some(), "{}", row.function);
        }
    }
}
