//! Why a rank cannot use libnccl, libcuda or its GPU.
//!
//! [`Error`] stays in the rank's process: nothing is decided from it on the other side, so it becomes text
//! in the rank's answer ([`Reported`]), and new causes leave the worker's protocol as it is. [`RankError`] is
//! the caller's side.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::elf::ElfError;
use super::{Answer, words};
use crate::smoke::local::SpawnError;
use crate::worker::Failure;

/// A fault inside a rank's process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A library cannot be loaded; the loader's text.
    #[error("{0}")]
    Load(String),
    /// The driver's library is not installed here.
    #[error(
        "libcuda.so.1 (the driver's library) not found: the container was given no GPU, or the machine has \
         no NVIDIA driver"
    )]
    NoDriverLibrary,
    /// The driver's library is there and cannot be loaded; the loader's text.
    #[error("libcuda.so.1 cannot be loaded: {0}")]
    DriverLibrary(String),
    /// A library lacks a function.
    #[error("the library has no symbol {0}")]
    NoSymbol(String),
    /// The driver's library lacks a function that cudarc calls.
    #[error("libcuda.so.1 has no symbol {0}: the NVIDIA driver is too old for this test")]
    DriverSymbol(String),
    /// A call of NCCL failed.
    #[error("{call}: {}", result(*code, last))]
    Call {
        /// The function: `ncclCommInitRank`.
        call: &'static str,
        /// `ncclResult_t`.
        code: i32,
        /// `ncclGetLastError`, unless it is empty.
        last: Option<String>,
    },
    /// A communicator reports an error after the call that caused it.
    #[error("{}", result(*code, last))]
    Communicator {
        /// `ncclResult_t`.
        code: i32,
        /// `ncclGetLastError`, unless it is empty.
        last: Option<String>,
    },
    /// A call of NCCL did not complete.
    #[error("{0} timed out and was aborted")]
    CallTimedOut(&'static str),
    /// The GPU did not complete the all-reduce.
    #[error("the all-reduce hangs: aborted after {:.1} s", .0.as_secs_f64())]
    Hangs(Duration),
    /// `cuInit` failed with this `CUresult`.
    #[error("cuInit failed: {}", words::cuda(*.0))]
    Init(i32),
    /// Another early call of libcuda failed with this `CUresult`.
    #[error("libcuda failed: {}", words::cuda(*.0))]
    Libcuda(i32),
    /// A call of the driver failed with this `CUresult`.
    #[error("{}", words::cuda(*.0))]
    Cuda(i32),
    /// The process sees fewer GPUs.
    #[error("no GPU {device}: this process sees {count}")]
    NoDevice {
        /// The number asked for, from 0.
        device: usize,
        count: usize,
    },
    /// A task came before the one that opens the library.
    #[error("libnccl is not loaded")]
    NotLoaded,
    /// A task came before the one that opens the GPU.
    #[error("no GPU is open")]
    NoGpu,
    /// A task came before the one that joins.
    #[error("the rank has no communicator")]
    NotJoined,
    /// Not 128 bytes in hex.
    #[error("not an NCCL unique id")]
    UniqueId,
    /// A rank or a number of ranks that NCCL cannot count.
    #[error("{0} is too large for a rank number")]
    RankNumber(usize),
    /// No file for NCCL's log.
    #[error("cannot create a file for NCCL's log: {0}")]
    LogFile(#[source] std::io::Error),
}

/// What a result code means, with what NCCL itself reports last.
fn result(code: i32, last: &Option<String>) -> String {
    let meaning = words::nccl(code);
    last.as_ref().map_or(meaning.clone(), |last| format!("{meaning} ({last})"))
}

/// An error of a rank's process, as its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct Reported(pub String);

impl From<Error> for Reported {
    fn from(error: Error) -> Reported {
        Reported(error.to_string())
    }
}

/// Why a rank did not do its task, as its caller sees it.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// The rank answered with an error.
    #[error(transparent)]
    Reported(#[from] Reported),
    /// Its process ended.
    #[error("the rank's process exited: libnccl or libcuda crashed, or it was killed")]
    Exited,
    /// The worker or its engine failed.
    #[error(transparent)]
    Node(#[from] crate::Error),
    /// No process could be started on this machine.
    #[error(transparent)]
    Local(#[from] SpawnError),
    /// There are fewer nodes.
    #[error("no such node")]
    NoNode,
    /// An answer to another task.
    #[error("unexpected answer: {0:?}")]
    Unexpected(Box<Answer>),
}

impl From<Failure> for RankError {
    fn from(failure: Failure) -> RankError {
        RankError::Node(failure.into())
    }
}

/// Why Python does not tell its folders.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PythonError {
    /// None is installed.
    #[error("no Python on PATH")]
    NotFound,
    /// It ended with an error.
    #[error("{program} failed ({status}): {last_line}")]
    Failed {
        /// `python3`.
        program: &'static str,
        /// `exit status: 1`.
        status: std::process::ExitStatus,
        /// The last line of its standard error.
        last_line: String,
    },
    /// It could not be started.
    #[error("{program}: {reason}")]
    Spawn {
        /// `python3`.
        program: &'static str,
        /// The system's text.
        reason: String,
    },
    /// It did not end.
    #[error("{program} did not answer within {} s", limit.as_secs())]
    TimedOut {
        /// `python3`.
        program: &'static str,
        limit: Duration,
    },
}

/// Why a library of torch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] std::io::Error),
    /// It is not a library, or broken.
    #[error(transparent)]
    Elf(#[from] ElfError),
}
