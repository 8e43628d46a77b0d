//! What the entrypoints of well-known images start.

use crate::servers::is_image;

/// Images, and the program that their entrypoint starts.
const IMAGES: &[(&str, &str)] = &[
    ("vllm/vllm-openai", "vllm"),
    ("ghcr.io/huggingface/text-generation-inference", "text-generation-launcher"),
    ("ghcr.io/huggingface/text-embeddings-inference", "text-embeddings-router"),
    ("ollama/ollama", "ollama"),
];

/// What is wrong with words behind the entrypoint of an image.
pub(crate) fn repeated(image: &str, words: &[String]) -> Option<String> {
    let (_, starts) = IMAGES.iter().find(|(name, _)| is_image(image, name))?;
    let first = words.first()?;
    let base = first.rsplit('/').next().unwrap_or_default();
    let program = first == base || first.starts_with('/');
    let is_python = base == "python" || base == "python3";
    let wrong = base == *starts || matches!(base, "bash" | "sh") || is_python && words.len() > 1;
    let shown: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
    (program && wrong).then(|| {
        format!(
            "the entrypoint of {image} already starts {starts}; it gets `{}` as arguments and fails",
            shown.join(" ")
        )
    })
}
