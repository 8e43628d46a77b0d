//! A whole command in a single item of a list.

/// Programs that people start, so that the rest of the word is certainly their arguments.
pub(crate) const PROGRAMS: &[&str] = &[
    "python",
    "python3",
    "torchrun",
    "deepspeed",
    "accelerate",
    "bash",
    "sh",
    "mpirun",
    "vllm",
    "uvicorn",
    "gunicorn",
    "jupyter",
    "node",
    "npm",
    "nvidia-smi",
    "sleep",
    "tail",
    "ray",
    "pip",
    "uv",
    "streamlit",
    "celery",
];

/// The program of a word that holds a whole command.
pub(crate) fn program_of(word: &str) -> Option<&str> {
    let (first, rest) = word.trim().split_once(char::is_whitespace)?;
    let base = first.rsplit('/').next().unwrap_or(first);
    (PROGRAMS.contains(&base) && !rest.trim().is_empty()).then_some(base)
}

/// The words as items of a list.
pub(crate) fn listed(word: &str) -> String {
    let words: Vec<String> = word.split_whitespace().map(|one| format!("\"{one}\"")).collect();
    words.join(", ")
}
