//! Limits of text-generation-inference that leave nothing to generate.

use crate::read::compose::{Compose, Service, words};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "tgi-limits-contradict",
    severity: Severity::Error,
    summary: "text-generation-inference may generate more tokens than it reads",
    explain: include_str!("tgi_limits_contradict.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:2.0.4\n    gpus: \
             all\n    \
             shm_size: 1g\n    command: [--model-id=Qwen/Qwen2.5-7B, --max-input-tokens=8192, \
             --max-total-tokens=8192]\n",
        ),
        named(
            "run.sh",
            "docker run --gpus all --shm-size 1g -e MAX_INPUT_LENGTH=4096 -e MAX_TOTAL_TOKENS=4096 \
             ghcr.io/huggingface/text-generation-inference:2.0.4 --model-id m\n",
        ),
        named(
            "run.sh",
            "TAG=3.0.1\nCTX=4096\nargs=(\n  --model-id m\n  --max-input-tokens \"$CTX\"\n)\n\
             args+=(--max-total-tokens 4096)\ndocker run --gpus all --shm-size 1g \
             ghcr.io/huggingface/text-generation-inference:$TAG \"${args[@]}\"\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "CTX=${CTX:-4096}\nargs=(--max-input-tokens \"$CTX\" --max-total-tokens 4096)\ndocker run --gpus \
             all --shm-size 1g ghcr.io/huggingface/text-generation-inference:3.0.1 \"${args[@]}\"\n",
        ),
        compose(
            "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:2.0.4\n    gpus: \
             all\n    \
             shm_size: 1g\n    command: --model-id Qwen/Qwen2.5-7B --max-input-tokens 4096 \
             --max-total-tokens 8192\n",
        ),
        compose(
            "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:2.0.4\n    gpus: \
             all\n    \
             shm_size: 1g\n    command: --model-id Qwen/Qwen2.5-7B --max-input-tokens ${N} \
             --max-total-tokens 8192\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(contradict).collect()
}

fn contradict(service: &Service) -> Option<Found> {
    let image = service.text("image").unwrap_or_default();
    let command = words(service.at(&["command"]));
    let is_tgi = image.contains("text-generation-inference")
        || command.iter().any(|word| word == "text-generation-launcher");
    let environment = service.environment();
    let value = |options: &[&str], variables: &[&str]| {
        let of_words = command.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((name, value)) => options.contains(&name).then(|| value.to_owned()),
            None => {
                options.contains(&word.as_str()).then(|| command.get(at + 1).cloned().unwrap_or_default())
            }
        });
        let of_variables = || variables.iter().find_map(|name| environment.get(*name)?.clone());
        of_words.or_else(of_variables)?.parse::<u64>().ok()
    };
    let input =
        value(&["--max-input-tokens", "--max-input-length"], &["MAX_INPUT_TOKENS", "MAX_INPUT_LENGTH"]);
    let total = value(&["--max-total-tokens"], &["MAX_TOTAL_TOKENS"]);
    let (input, total) = (input.filter(|_| is_tgi)?, total?);
    let message = format!(
        "the longest input is {input} tokens, and input and output together are {total}; \
         text-generation-inference refuses to start, because max-input-tokens must be smaller"
    );
    let fix = "Reduce max-input-tokens, or raise max-total-tokens";
    (input >= total).then(|| Found::error(service.line_of("command"), message, fix))
}
