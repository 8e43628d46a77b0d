//! Models that a server loads from a directory.

use crate::read::compose::Service;
use crate::servers::is_image;

/// Images of servers that contain no models.
const IMAGES: &[&str] = &[
    "vllm/vllm-openai",
    "lmsysorg/sglang",
    "ghcr.io/huggingface/text-generation-inference",
    "ghcr.io/huggingface/text-embeddings-inference",
    TRITON,
];

/// A server whose models are in directories only.
const TRITON: &str = "nvcr.io/nvidia/tritonserver";

/// Its options with such a directory; each may stand several times.
const OF_TRITON: &[&str] = &["--model-repository", "--model-store"];

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

/// The options and paths of models in directories of the container, where an image of a server loads them.
pub(crate) fn local_models(
    image: &str,
    words: &[String],
    environment: &[(String, String)],
) -> Vec<(String, String)> {
    if !IMAGES.iter().any(|known| is_image(image, known)) {
        return Vec::new();
    }
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    if words.iter().any(|word| LOADERS.contains(&base(word).as_str())) {
        return Vec::new();
    }
    let triton = is_image(image, TRITON);
    let names = if triton { OF_TRITON } else { OPTIONS };
    let is_serve = |option: &str| option == "serve" && !triton;
    let mut of_words = words.iter().enumerate().filter_map(|(at, word)| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None => (*word, *words.get(at + 1)?),
        };
        (names.contains(&option) || is_serve(option))
            .then(|| (option.to_owned(), value.trim_matches(['"', '\''])))
    });
    let of_variable = || {
        let (name, value) = environment.iter().find(|(name, _)| name == "MODEL_ID")?;
        Some((name.clone(), value.as_str()))
    };
    let given: Vec<(String, &str)> = match triton {
        true => of_words.collect(),
        false => of_words.next().or_else(of_variable).into_iter().collect(),
    };
    let of_image = |path: &str| OF_IMAGES.iter().any(|start| path.starts_with(&format!("{start}/")));
    let is_path =
        |path: &str| path.starts_with('/') && path.len() > 1 && !path.contains(['$', '{', '`', '*', '<']);
    let local = given.into_iter().filter(|(_, path)| is_path(path) && !of_image(path));
    local.map(|(option, path)| (option, path.trim_end_matches('/').to_owned())).collect()
}

/// The directories of the host, from that of the compose file, which a Triton of a service reads.
pub(crate) fn repositories(service: &Service) -> Vec<String> {
    let image = service.text("image").unwrap_or_default();
    if !is_image(&image, TRITON) {
        return Vec::new();
    }
    let models = local_models(&image, &service.words(), &[]);
    models.iter().filter_map(|(_, path)| service.mount_of(path)?.on_host(path)).collect()
}

/// What is wrong with a model that nothing mounts. `of`: the kind (`service`, `container`) and its name;
/// `model`: what [`local_models`] found; `targets`: what is mounted.
pub(crate) fn not_mounted(of: (&str, &str), model: (&str, &str), image: &str, targets: &[&str]) -> String {
    let ((kind, name), (option, path)) = (of, model);
    let what = match targets.is_empty() {
        true => format!("the {kind} mounts nothing"),
        false => format!("the {kind} mounts only {}", targets.join(", ")),
    };
    let effect = match is_image(image, TRITON) {
        true => format!("tritonserver ends (`failed to stat file {path}`)"),
        false => "the server takes it for a repository of the Hugging Face Hub and ends".to_owned(),
    };
    format!("{kind} {name}: {option} {path} is not in the image {image}, and {what}; {effect}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::quotes::split;

    #[test]
    fn models_in_directories() {
        let of = |image: &str, command: &str| {
            local_models(image, &split(command, false), &[]).pop().map(|(_, path)| path)
        };
        let vllm = "vllm/vllm-openai:v0.9.1";
        assert_eq!(of(vllm, "--model /models/llama --port 80").as_deref(), Some("/models/llama"));
        assert_eq!(of(vllm, "vllm serve /m/").as_deref(), Some("/m"));
        assert_eq!(of(vllm, "--model=a/b"), None);
        assert_eq!(of(vllm, "bash -c \"hf download a --local-dir /m && vllm serve /m\""), None);
        assert_eq!(of("example.net/vllm-openai:1", "--model /models/llama"), None);
        assert_eq!(of(vllm, "--model $MODEL"), None);
        let triton = "nvcr.io/nvidia/tritonserver:24.10-py3";
        assert_eq!(of(triton, "tritonserver --model-store /repo").as_deref(), Some("/repo"));
        assert_eq!(of(triton, "tritonserver --model-repository=s3://a/b --model /m"), None);
    }
}
