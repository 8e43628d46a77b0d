//! The tasks of the smoke test that workers can do.

use super::{nccl, rank, rank_task};
use crate::flow;
use crate::worker::custom::{CustomTask, Program, handle};

impl CustomTask for rank_task::Task {
    const PROGRAM: &'static str = "rank";
    type Answer = rank_task::Answer;
}

impl CustomTask for nccl::Task {
    const PROGRAM: &'static str = "nccl";
    type Answer = nccl::Answer;
}

/// The programs to give to [`crate::worker::serve::serve`].
pub const PROGRAMS: &[Program] = &[
    Program {
        name: flow::Task::PROGRAM,
        run: |payload, deadline| handle(payload, deadline, flow::answer),
        finish: || {},
    },
    Program {
        name: rank_task::Task::PROGRAM,
        run: |payload, deadline| handle(payload, deadline, rank::answer),
        finish: || {},
    },
    Program {
        name: nccl::Task::PROGRAM,
        run: |payload, deadline| handle(payload, deadline, nccl::rank::answer),
        finish: nccl::rank::end_surely,
    },
];
