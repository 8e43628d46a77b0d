//! Why a dump could not be read.

/// Why a pickle or a flight recorder dump could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DumpError {
    #[error("truncated")]
    Truncated,
    #[error("empty")]
    Empty,
    #[error("larger than {0} MiB")]
    TooLarge(u64),
    /// Unpickling it would run code.
    #[error("byte {at}: it would import or call something")]
    Code { at: usize },
    #[error("byte {at}: opcode 0x{code:02x} is invalid or not plain data")]
    Opcode { at: usize, code: u8 },
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
