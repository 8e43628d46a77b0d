//! Models that a server loads from a directory.

use crate::servers::is_image;

/// Images of servers that contain no models.
const IMAGES: &[&str] = &[
    "vllm/vllm-openai",
    "lmsysorg/sglang",
    "ghcr.io/huggingface/text-generation-inference",
    "ghcr.io/huggingface/text-embeddings-inference",
];

/// Options with the model or a part of it.
const OPTIONS: &[&str] = &["--model", "--model-path", "--model-id", "--tokenizer", "--tokenizer-path"];

/// Directories that these images have themselves.
const OF_IMAGES: &[&str] = &["/vllm-workspace", "/workspace", "/sgl-workspace", "/usr", "/opt", "/app"];

/// Programs that may bring the model before the server starts.
const LOADERS: &[&str] = &[
    "hf",
    "huggingface-cli",
    "aws",
    "gsutil",
    "gcloud",
    "azcopy",
    "wget",
    "curl",
    "git",
    "rclone",
    "cp",
    "mc",
    "s5cmd",
    "tar",
    "ln",
    "mount",
    "modelscope",
    "rsync",
    "scp",
    "unzip",
    "mv",
];

/// The option and path of a model in a directory of the container, where an image of a server loads it.
pub(crate) fn local_model(
    image: &str,
    words: &[String],
    environment: &[(String, String)],
) -> Option<(String, String)> {
    if !IMAGES.iter().any(|known| is_image(image, known)) {
        return None;
    }
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    if words.iter().any(|word| LOADERS.contains(&base(word).as_str())) {
        return None;
    }
    let of_words = words.iter().enumerate().find_map(|(at, word)| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None if *word == "serve" => ("serve", *words.get(at + 1)?),
            None => (*word, *words.get(at + 1)?),
        };
        (OPTIONS.contains(&option) || option == "serve")
            .then(|| (option.to_owned(), value.trim_matches(['"', '\''])))
    });
    let of_variable = || {
        let (name, value) = environment.iter().find(|(name, _)| name == "MODEL_ID")?;
        Some((name.clone(), value.as_str()))
    };
    let (option, path) = of_words.or_else(of_variable)?;
    let of_image = OF_IMAGES.iter().any(|start| path.starts_with(&format!("{start}/")));
    let is_path = path.starts_with('/') && path.len() > 1 && !path.contains(['$', '{', '`', '*', '<']);
    (is_path && !of_image).then(|| (option, path.trim_end_matches('/').to_owned()))
}

/// What is wrong with a model that nothing mounts. `of`: the kind (`service`, `container`) and its name;
/// `model`: what [`local_model`] found; `targets`: what is mounted.
pub(crate) fn not_mounted(of: (&str, &str), model: (&str, &str), image: &str, targets: &[&str]) -> String {
    let ((kind, name), (option, path)) = (of, model);
    let what = match targets.is_empty() {
        true => format!("the {kind} mounts nothing"),
        false => format!("the {kind} mounts only {}", targets.join(", ")),
    };
    format!(
        "{kind} {name}: {option} {path} is not in the image {image}, and {what}; the server takes it for a \
         repository of the Hugging Face Hub and ends"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::quotes::split;

    #[test]
    fn models_in_directories() {
        let of = |image: &str, command: &str| {
            local_model(image, &split(command, false), &[]).map(|(_, path)| path)
        };
        let vllm = "vllm/vllm-openai:v0.9.1";
        assert_eq!(of(vllm, "--model /models/llama --port 80").as_deref(), Some("/models/llama"));
        assert_eq!(of(vllm, "vllm serve /m/").as_deref(), Some("/m"));
        assert_eq!(of(vllm, "--model=a/b"), None);
        assert_eq!(of(vllm, "bash -c \"hf download a --local-dir /m && vllm serve /m\""), None);
        assert_eq!(of("example.net/vllm-openai:1", "--model /models/llama"), None);
        assert_eq!(of(vllm, "--model $MODEL"), None);
    }
}
