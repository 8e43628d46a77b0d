//! The servers whose options and defaults are known.
//!
//! Ports and addresses read in: vllm-project/vllm vllm/entrypoints/openai/cli_args.py (port 8000, host unset:
//! every interface); huggingface/text-generation-inference launcher/src/main.rs (0.0.0.0, 3000) and
//! Dockerfile (PORT=80); huggingface/text-embeddings-inference Dockerfile-cuda (PORT=80); sgl-project/sglang
//! python/sglang/srt/server_args.py (127.0.0.1, 30000); encode/uvicorn docs/settings.md (127.0.0.1, 8000);
//! benoitc/gunicorn gunicorn/config.py (--bind, gunicorn.conf.py); ggml-org/llama.cpp .devops/cuda.Dockerfile
//! (8080; LLAMA_ARG_HOST=0.0.0.0 in its image); ollama/ollama Dockerfile (OLLAMA_HOST=0.0.0.0:11434);
//! triton-inference-server/server docs (8000, 8001, 8002).

/// A server.
#[derive(Debug)]
pub(super) struct Known {
    pub name: &'static str,
    /// Programs that start it, each with the commands that do; none: it has no commands.
    pub programs: &'static [(&'static str, &'static [&'static str])],
    /// Modules that `python -m` starts.
    pub modules: &'static [&'static str],
    /// Repositories of images whose entrypoint is the server.
    pub images: &'static [&'static str],
    pub ports: &'static [Listens],
    /// Options with an address alone.
    pub hosts: &'static [&'static str],
    /// Options with address and port.
    pub binds: &'static [&'static str],
    pub host_variables: &'static [&'static str],
    /// Options that name a file with more options, or a socket instead of a port.
    pub files: &'static [&'static str],
    /// Variables that add options.
    pub hiding: &'static [&'static str],
    /// Whether it listens on 127.0.0.1 by default.
    pub loopback: bool,
    pub loads_model: bool,
}

/// A port on which it listens.
#[derive(Debug)]
pub(super) struct Listens {
    pub options: &'static [&'static str],
    pub variables: &'static [&'static str],
    pub default: Option<u16>,
    /// The default in its own image, where that is another one.
    pub in_image: Option<u16>,
}

const fn listens(
    options: &'static [&'static str],
    variables: &'static [&'static str],
    default: u16,
) -> Listens {
    Listens { options, variables, default: Some(default), in_image: None }
}

const NONE: Known = Known {
    name: "",
    programs: &[],
    modules: &[],
    images: &[],
    ports: &[],
    hosts: &["--host"],
    binds: &[],
    host_variables: &[],
    files: &["--config", "--uds"],
    hiding: &[],
    loopback: false,
    loads_model: false,
};

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "vLLM",
        programs: &[("vllm", &["serve"])],
        modules: &["vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"],
        images: &["vllm/vllm-openai"],
        ports: &[listens(&["--port"], &[], 8000)],
        files: &["--config", "--uds", "--headless", "--grpc"],
        loads_model: true,
        ..NONE
    },
    Known {
        name: "text-generation-inference",
        programs: &[("text-generation-launcher", &[])],
        images: &["ghcr.io/huggingface/text-generation-inference"],
        ports: &[
            Listens {
                options: &["--port", "-p"],
                variables: &["PORT"],
                default: Some(3000),
                in_image: Some(80),
            },
            listens(&["--prometheus-port"], &["PROMETHEUS_PORT"], 9000),
        ],
        hosts: &["--hostname"],
        loads_model: true,
        ..NONE
    },
    Known {
        name: "text-embeddings-inference",
        programs: &[("text-embeddings-router", &[])],
        images: &["ghcr.io/huggingface/text-embeddings-inference"],
        ports: &[
            Listens {
                options: &["--port", "-p"],
                variables: &["PORT"],
                default: Some(3000),
                in_image: Some(80),
            },
            listens(&["--prometheus-port"], &["PROMETHEUS_PORT"], 9000),
        ],
        hosts: &["--hostname"],
        ..NONE
    },
    Known {
        name: "SGLang",
        programs: &[("sglang", &["serve"])],
        modules: &["sglang.launch_server"],
        ports: &[listens(&["--port"], &[], 30000)],
        loopback: true,
        loads_model: true,
        ..NONE
    },
    Known {
        name: "Triton",
        programs: &[("tritonserver", &[])],
        ports: &[
            listens(&["--http-port"], &[], 8000),
            listens(&["--grpc-port"], &[], 8001),
            listens(&["--metrics-port"], &[], 8002),
        ],
        hosts: &["--http-address"],
        ..NONE
    },
    Known {
        name: "uvicorn",
        programs: &[("uvicorn", &[])],
        modules: &["uvicorn"],
        ports: &[listens(&["--port"], &["UVICORN_PORT"], 8000)],
        host_variables: &["UVICORN_HOST"],
        files: &["--uds", "--fd"],
        loopback: true,
        ..NONE
    },
    Known {
        name: "gunicorn",
        programs: &[("gunicorn", &[])],
        modules: &["gunicorn"],
        // gunicorn.conf.py in its directory may set what the command does not.
        ports: &[Listens { options: &[], variables: &[], default: None, in_image: None }],
        hosts: &[],
        binds: &["--bind", "-b"],
        hiding: &["GUNICORN_CMD_ARGS"],
        ..NONE
    },
    Known {
        name: "llama-server",
        programs: &[("llama-server", &[])],
        ports: &[listens(&["--port"], &["LLAMA_ARG_PORT"], 8080)],
        host_variables: &["LLAMA_ARG_HOST"],
        ..NONE
    },
    Known {
        name: "ollama",
        programs: &[("ollama", &["serve"])],
        images: &["ollama/ollama"],
        ports: &[listens(&[], &["OLLAMA_HOST"], 11434)],
        hosts: &[],
        host_variables: &["OLLAMA_HOST"],
        ..NONE
    },
];
