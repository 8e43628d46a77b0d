//! From a request to a plan: every name and value looked at, everything left open chosen.
//!
//! Nothing is read here, so what a machine alone knows (its GPUs with `all`) has to be said in the request.

mod faults;
mod network;
mod nodes;
mod storage;
pub mod value;

use std::collections::BTreeMap;

use super::plan::{ClusterPlan, Image, Node, Secret, SecretFrom, Ssh};
use super::request::{ClusterRequest, Launcher, Limits, NetworkKind};
use diagnostic::error::{Error, Kind};
use faults::Faults;
use value::At;

/// Port of an SSH server in the containers.
const SSH_PORT: u16 = 2222;
/// Port of torchrun's and DeepSpeed's rendezvous, both of which take it by default.
const RENDEZVOUS_PORT: u16 = 29500;
/// What a container may open: NCCL and data loaders hold many files.
const NOFILE: u64 = 1_048_576;
const GIB: u64 = 1 << 30;

/// Settles a request.
///
/// # Errors
/// Everything that is wrong with the request, as far as one fault does not hide another.
pub fn validate(request: &ClusterRequest) -> Result<ClusterPlan, Error> {
    let at = At(request.origin.clone().unwrap_or_else(|| "cluster.yaml".into()));
    let mut faults = Faults::default();
    match plan(request, &at, &mut faults).filter(|_| faults.is_empty()) {
        Some(plan) => Ok(plan),
        None => Err(faults.into_error(&at.0)),
    }
}

/// The plan; `None` where a fault was noted.
fn plan(request: &ClusterRequest, at: &At, faults: &mut Faults) -> Option<ClusterPlan> {
    let launcher = request.launcher.unwrap_or_default();
    let mut warnings = Vec::new();
    let name = faults.note(name(request, at));
    // What follows can be judged without the name.
    let known_name = name.as_deref().unwrap_or("cluster");
    let image = faults.note(image(request, known_name, at));
    let mut nodes = nodes::validate(request, at, faults);
    let known_nodes = nodes.as_deref().unwrap_or_default();
    let network = network::validate(&request.network, known_name, known_nodes, &at.key("network"));
    let network = faults.note(network);
    let kind = request.network.kind.unwrap_or_default();
    let ssh = faults.note(ssh(request, launcher, kind, &at.key("ssh")));
    let mounts = faults.note(storage::validate(&request.storage, known_name, at));
    let limits = &request.limits;
    let memlock = faults.note(memlock(limits, request.network.infiniband, &at.key("limits")));
    let shm = faults.note(shm(limits, known_nodes, &at.key("limits, shm")));
    let nofile = faults.note(nofile(limits, &at.key("limits, nofile")));
    faults.note(variables(&request.environment, &at.key("environment"), &mut warnings));
    let secrets = faults.note(secrets(request, at));
    faults.note(command(request, at));
    let (mut nodes, network) = (nodes.take()?, network?);
    faults.note(environment(request, &network, launcher, &mut nodes, &mut warnings, at));
    if network.encrypted {
        warnings.push(
            "the overlay is encrypted: IPsec costs bandwidth and one CPU core per stream; \
            remove `encrypted` if the network between the nodes is private"
                .into(),
        );
    }
    let name = name?;
    Some(ClusterPlan {
        image: image?,
        registry: request.registry.clone(),
        mounts: mounts?,
        shm: shm?,
        memlock: memlock?,
        nofile: nofile?,
        secrets: secrets?,
        command: request.command.clone(),
        settings_volume: format!("{name}-settings"),
        rendezvous_port: RENDEZVOUS_PORT,
        origin: request.origin.clone(),
        name,
        nodes,
        network,
        ssh: ssh?,
        launcher,
        warnings,
    })
}

fn command(request: &ClusterRequest, at: &At) -> Result<(), Error> {
    for (index, word) in request.command.iter().enumerate() {
        at.key(&format!("command, word {}", index + 1)).fits(&value::WORD, word)?;
    }
    Ok(())
}

/// The cluster's name; the directory's of its file where it is left out.
fn name(request: &ClusterRequest, at: &At) -> Result<String, Error> {
    if let Some(name) = &request.name {
        return at.key("name").fits(&value::CLUSTER, name).map(str::to_owned);
    }
    let directory = request.origin.as_deref().and_then(|origin| {
        let above = std::path::Path::new(origin).parent()?;
        Some(above.file_name()?.to_string_lossy().into_owned())
    });
    match directory {
        Some(name) => {
            at.key("name (not set, taken from the directory)").fits(&value::CLUSTER, &name).map(str::to_owned)
        }
        None => Err(at.wrong("the cluster has no name", "write `name: my-cluster`")),
    }
}

fn image(request: &ClusterRequest, name: &str, at: &At) -> Result<Image, Error> {
    if let Some(registry) = &request.registry {
        at.key("registry").fits(&value::REGISTRY, registry)?;
        if let Some(image) = &request.image
            && !image.starts_with(&format!("{registry}/"))
        {
            return Err(at.key("image").wrong(
                format!("{image} is not in the registry {registry}"),
                format!("write `image: {registry}/{image}`, or leave `registry` out"),
            ));
        }
    }
    let tag = match &request.registry {
        Some(registry) => format!("{registry}/{name}:envdoc"),
        None => format!("{name}:envdoc"),
    };
    match (&request.image, &request.build) {
        (Some(image), None) => Ok(Image::Named(at.key("image").fits(&value::IMAGE, image)?.to_owned())),
        (None, Some(request)) => {
            at.key("build").fits(&value::FILE, request)?;
            Ok(Image::Built { request: request.clone(), tag })
        }
        (Some(_), Some(_)) => Err(at.wrong(
            "both `image` and `build` are given",
            "keep one: `image` names an existing image, `build` the file that `up` builds one from",
        )),
        (None, None) => {
            Err(at.wrong("no image", "write `image: NAME:TAG`, or `build: images/multi-node/request.yaml`"))
        }
    }
}

/// The SSH server: where the launcher needs it, or where it is asked for.
fn ssh(
    request: &ClusterRequest,
    launcher: Launcher,
    kind: NetworkKind,
    at: &At,
) -> Result<Option<Ssh>, Error> {
    let asked = match (&request.ssh, launcher) {
        (Some(ssh), _) => ssh.clone(),
        (None, Launcher::Deepspeed) => Default::default(),
        (None, _) => return Ok(None),
    };
    let port = asked.port.unwrap_or(SSH_PORT);
    let at_port = at.key("port");
    if port == 0 || port == RENDEZVOUS_PORT {
        return Err(at_port.wrong(
            format!("port {port} cannot be used for the SSH server"),
            format!(
                "0 is not a port, {RENDEZVOUS_PORT} is the rendezvous port; {SSH_PORT} is free on \
                most machines"
            ),
        ));
    }
    if kind == NetworkKind::Host && port == 22 {
        return Err(at_port.wrong(
            "port 22 on the host network belongs to the machines' own sshd",
            format!("choose a different port, for example {SSH_PORT}"),
        ));
    }
    let user = asked.user.unwrap_or_else(|| "root".into());
    at.key("user").fits(&value::USER, &user)?;
    Ok(Some(Ssh { port, user }))
}

fn memlock(limits: &Limits, infiniband: bool, at: &At) -> Result<Option<u64>, Error> {
    let at = at.key("memlock");
    let limit = match limits.memlock.as_deref() {
        None | Some("unlimited" | "-1") => return Ok(None),
        Some(text) => value::bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| {
            at.wrong(format!("{text:?} is not a size"), "write `unlimited`, or a size like 8g")
        })?,
    };
    if infiniband {
        return Err(at.wrong(
            "`memlock` limits pinned memory, but InfiniBand needs it unlimited",
            "remove `memlock`; RDMA pins every buffer it uses",
        ));
    }
    Ok(Some(limit))
}

fn nofile(limits: &Limits, at: &At) -> Result<u64, Error> {
    match limits.nofile {
        None => Ok(NOFILE),
        Some(files) if (1024..=1 << 30).contains(&files) => Ok(files),
        Some(files) => Err(at.wrong(format!("{files} open files"), "at least 1024 [default: 1048576]")),
    }
}

/// Shared memory, the same on every node: what is said, or 1 GiB and 4 GiB more for each GPU of the node that
/// has most.
fn shm(limits: &Limits, nodes: &[Node], at: &At) -> Result<u64, Error> {
    match limits.shm.as_deref() {
        None => {
            let most = nodes.iter().map(Node::gpu_count).max().unwrap_or(0);
            Ok(GIB + 4 * GIB * u64::from(most))
        }
        Some(text) => match value::bytes(text) {
            Some(bytes) if bytes >= 64 << 20 => Ok(bytes),
            Some(_) => Err(at.wrong(
                format!("{text} is less than Docker's default of 64m"),
                "NCCL and data loaders need several GiB; write for example 16g",
            )),
            None => Err(at.wrong(format!("{text:?} is not a size"), "write 16g")),
        },
    }
}

fn secrets(request: &ClusterRequest, at: &At) -> Result<Vec<Secret>, Error> {
    let mut secrets: Vec<Secret> = Vec::new();
    for (index, asked) in request.secrets.iter().enumerate() {
        let at = at.key(&format!("secret {}", index + 1));
        at.key("name").fits(&value::SECRET, &asked.name)?;
        if secrets.iter().any(|other| other.name == asked.name) {
            return Err(
                at.wrong(format!("there are two secrets {:?}", asked.name), "give each a unique name")
            );
        }
        let from = match (&asked.file, &asked.variable) {
            (Some(file), None) => SecretFrom::File(at.key("file").fits(&value::FILE, file)?.to_owned()),
            (None, Some(variable)) => {
                SecretFrom::Variable(at.key("variable").fits(&value::VARIABLE, variable)?.to_owned())
            }
            _ => {
                return Err(at.wrong(
                    format!("secret {:?} needs one of `file` and `variable`", asked.name),
                    "`file: token.txt` reads it \
                        from a local file, `variable: HF_TOKEN` from envdoc's environment",
                ));
            }
        };
        secrets.push(Secret { name: asked.name.clone(), from });
    }
    Ok(secrets)
}

/// The environment of every node: the cluster's (checked before), the node's own, and what follows from the
/// plan where nobody
/// says otherwise.
fn environment(
    request: &ClusterRequest,
    network: &super::plan::Network,
    launcher: Launcher,
    nodes: &mut [Node],
    warnings: &mut Vec<String>,
    at: &At,
) -> Result<(), Error> {
    for (node, asked) in nodes.iter_mut().zip(&request.nodes) {
        variables(&asked.environment, &at.key(&node.name).key("environment"), warnings)?;
        let mut own = BTreeMap::new();
        if launcher == Launcher::Deepspeed {
            own.insert("PDSH_RCMD_TYPE".to_owned(), "ssh".to_owned());
        }
        if let Some(interface) = &network.interface {
            own.insert("NCCL_SOCKET_IFNAME".into(), format!("={interface}"));
            own.insert("GLOO_SOCKET_IFNAME".into(), interface.clone());
        }
        if node.gpus == super::plan::Gpus::None {
            // Where nvidia is the engine's default runtime, an image's own NVIDIA_VISIBLE_DEVICES=all would
            // bring every GPU.
            own.insert("NVIDIA_VISIBLE_DEVICES".into(), "void".into());
        }
        own.extend(request.environment.clone());
        own.extend(asked.environment.clone());
        node.environment = own;
    }
    Ok(())
}

fn variables(asked: &BTreeMap<String, String>, at: &At, warnings: &mut Vec<String>) -> Result<(), Error> {
    for (name, text) in asked {
        at.fits(&value::VARIABLE, name)?;
        at.key(name).fits(&value::VALUE, text)?;
        if name.starts_with("ENVDOC_") {
            return Err(at
                .key(name)
                .wrong("variables named ENVDOC_… are reserved", "choose a different name"));
        }
        let secret =
            ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "PRIVATE_KEY"].iter().any(|word| name.ends_with(word));
        if secret && !text.is_empty() {
            warnings.push(format!(
                "{name} is visible in the container's environment to every user of the \
                Docker engine; put secrets in `secrets`"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

/// An error of a request that names the same thing twice.
fn twice(at: &At, what: &str, value: &str, one: &str, other: &str, hint: &str) -> Error {
    Error::new(Kind::Usage, format!("{}: {one} and {other} have the same {what}, {value}", at.0)).hint(hint)
}
