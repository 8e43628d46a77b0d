//! A Service whose name makes Kubernetes set a variable that the program reads as something else.

use crate::programs;
use crate::read::compose::below;
use crate::read::manifest::{Container, Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
                   a\n      \
                   image: vllm/vllm-openai:v0.9.1\n      args: [--model, a/b]\n";

pub(crate) const RULE: Rule = Rule {
    id: "service-variable-collides",
    severity: Severity::Error,
    summary: "no variable of a Service has the name of one that the program reads",
    explain: include_str!("service_variable_collides.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "llm.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec:\n  selector: {app: a}\n  ports: \
             [{port: 80}]\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - \
             name: a\n      image: vllm/vllm-openai:v0.9.1\n      args: [--model, a/b]\n",
        ),
        named(
            "lab.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: lab}\nspec:\n  containers:\n    - \
             name: a\n      image: quay.io/jupyter/pytorch-notebook:cuda12-latest\n---\napiVersion: v1\n\
             kind: Service\nmetadata: {name: jupyter, namespace: lab}\nspec:\n  ports: [{port: 8888}]\n",
        ),
        named(
            "train.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: master}\nspec:\n  ports: [{port: 29500}]\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [python, train.py]\n      env:\n        - {name: MASTER_ADDR, value: \
             master}\n        - {name: RANK, value: \"1\"}\n        - {name: WORLD_SIZE, value: \"2\"}\n",
        ),
        named_with(
            "pod.yaml",
            POD,
            &[(
                "service.yaml",
                "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec:\n  ports: [{port: 80}]\n",
            )],
        ),
    ],
    silent: &[
        named(
            "llm.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec:\n  ports: [{port: 80}]\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  enableServiceLinks: false\n  \
             containers:\n    - name: a\n      image: vllm/vllm-openai:v0.9.1\n      args: [--model, a/b]\n",
        ),
        named(
            "llm.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec: {clusterIP: None, ports: [{port: \
             80}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: vllm-server}\nspec: {ports: [{port: \
             80}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: vllm, namespace: \
             other}\nspec: {ports: [{port: 80}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n\
             spec:\n  containers:\n    - name: a\n      image: vllm/vllm-openai:v0.9.1\n",
        ),
        named(
            "llm.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec: {ports: [{port: 80}]}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: vllm/vllm-openai:v0.9.1\n      env: [{name: VLLM_PORT, value: \"5000\"}]\n    - name: \
             proxy\n      image: nginx\n",
        ),
        named(
            "train.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: master}\nspec: {ports: [{port: 29500}]}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [torchrun, --nnodes=2, --master-addr=master, train.py]\n",
        ),
    ],
};

/// A program that reads a port from a variable, as a number.
struct Reader {
    /// The name of the Service that sets it.
    service: &'static str,
    variable: &'static str,
    program: &'static str,
    /// Whether a container runs it, and takes the port from the variable.
    reads: fn(&Container) -> bool,
    /// False where the program or its configuration may set the port.
    certain: bool,
}

const READERS: &[Reader] = &[
    Reader { service: "vllm", variable: "VLLM_PORT", program: "vLLM", reads: is_vllm, certain: true },
    Reader {
        service: "jupyter",
        variable: "JUPYTER_PORT",
        program: "Jupyter",
        reads: is_jupyter,
        certain: false,
    },
    Reader { service: "mlflow", variable: "MLFLOW_PORT", program: "MLflow", reads: is_mlflow, certain: true },
    Reader {
        service: "master",
        variable: "MASTER_PORT",
        program: "torch.distributed",
        reads: is_rank,
        certain: false,
    },
];

fn image(container: &Container) -> String {
    let image = scalar(container.value, &["image"]).unwrap_or_default();
    // The registry and the organisation say nothing of the program.
    image.split(['@', ':']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
}

fn runs(container: &Container, program: &str) -> bool {
    container.words().iter().any(|word| word.rsplit('/').next() == Some(program))
}

fn has_port(container: &Container) -> bool {
    let words = container.words();
    words.iter().any(|word| word == "-p" || word.contains("port") && word.starts_with('-'))
}

fn is_vllm(container: &Container) -> bool {
    let module = container.words().iter().any(|word| word.starts_with("vllm.entrypoints"));
    image(container) == "vllm-openai" || runs(container, "vllm") || module
}

fn is_jupyter(container: &Container) -> bool {
    let image = image(container);
    let own = image.ends_with("-notebook") && list(container.value, "command").is_empty();
    let program = ["jupyter", "jupyter-lab", "jupyter-notebook", "start-notebook.sh", "start-notebook.py"];
    !has_port(container) && (own || program.iter().any(|program| runs(container, program)))
}

fn is_mlflow(container: &Container) -> bool {
    runs(container, "mlflow") && runs(container, "server") && !has_port(container)
}

/// A rank without a launcher, which reads the address of the first one from its environment.
fn is_rank(container: &Container) -> bool {
    let known: Vec<String> =
        list(container.value, "env").into_iter().filter_map(|one| scalar(one, &["name"])).collect();
    ["MASTER_ADDR", "RANK", "WORLD_SIZE"].iter().all(|name| known.iter().any(|one| one == name))
        && !container
            .words()
            .iter()
            .any(|word| programs::is_launcher(word.rsplit('/').next().unwrap_or(word)))
}

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(|container| {
        READERS.iter().filter_map(|one| fault(file, container, one)).collect::<Vec<_>>()
    })
}

fn fault(file: &Manifest, container: &Container, reader: &Reader) -> Option<Found> {
    let pod = container.pod;
    let variables = list(container.value, "env");
    let set = variables.iter().any(|one| scalar(one, &["name"]).as_deref() == Some(reader.variable));
    let links = scalar(pod.spec, &["enableServiceLinks"]).as_deref() != Some("false");
    // A ConfigMap or Secret may set it.
    if set || !links || below(container.value, &["envFrom"]).is_some() || !(reader.reads)(container) {
        return None;
    }
    let own = file.documents.iter().position(|one| is_named(one, reader, pod.document));
    let service = own.map(|at| &file.documents[at]);
    let other = file.others.iter().find(|one| is_named(one, reader, pod.document));
    let service = service.or(other)?;
    let port = list(service.at(&["spec"])?, "ports").first().and_then(|port| scalar(port, &["port"]))?;
    let message = format!(
        "container {}: Kubernetes sets {}=tcp://ADDRESS:{port} because of Service {}; {} reads a number from \
         it and fails",
        container.name, reader.variable, service.name, reader.program
    );
    let fix = "Set `enableServiceLinks: false` in the pod, or rename the Service";
    // Only Services that exist when the container starts.
    let first = service.first < pod.document.first && own.is_some();
    let line = match own {
        Some(_) => service.line_of(&["metadata", "name"]),
        None => container.line(&["name"]),
    };
    Some(Found::error(line, message, fix).unless_certain(first && reader.certain))
}

fn is_named(one: &Document, reader: &Reader, of: &Document) -> bool {
    let space = |one: &Document| scalar(&one.value, &["metadata", "namespace"]);
    let spec = |key: &str| scalar(&one.value, &["spec", key]).unwrap_or_default();
    // Neither kind has an address of its own.
    let has_address = spec("clusterIP") != "None" && spec("type") != "ExternalName";
    one.kind == "Service"
        && one.api == "v1"
        && one.name.to_ascii_lowercase() == reader.service
        && has_address
        && space(one) == space(of)
}
