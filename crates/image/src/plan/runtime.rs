//! User, environment, files and command of the container.

use super::super::request::ImageRequest;
use super::PlanContext;
use super::step::{Instruction, Step};

const WORKDIR: &str = "/workspace";

/// The environment that the base does not set.
pub(super) fn environment(context: &PlanContext) -> Vec<Step> {
    let mut steps = Vec::new();
    if !context.stack.is_cpu() && !context.base.sets_nvidia_variables() {
        let variables =
            [("NVIDIA_VISIBLE_DEVICES", "all"), ("NVIDIA_DRIVER_CAPABILITIES", "compute,utility")];
        steps.push(Step::new(Instruction::Env(owned(variables))).with_comment(
            "The NVIDIA container toolkit reads these variables; the nvidia/cuda images set them, this base \
             image does not.",
        ));
    }
    steps
}

fn owned<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// What is the user's own, after everything that is installed.
pub(super) fn steps(context: &PlanContext) -> Vec<Step> {
    let request = context.request;
    let mut steps = Vec::new();
    if !request.run.is_empty() {
        let commands = request.run.iter().map(|command| vec![command.trim().to_owned()]).collect();
        steps.push(Step::new(Instruction::Run { mounts: context.secret_mounts(), commands }));
    }
    let user = user(request);
    if let Some(user) = user {
        let uid = uid(request);
        let made = format!("useradd --create-home --shell /bin/bash --user-group --uid {uid} {user}");
        let workdir = workdir(request);
        let owned = format!("install --directory --owner {user} --group {user} {workdir}");
        steps.push(Step::new(Instruction::Run {
            mounts: Vec::new(),
            commands: vec![vec![made], vec![owned]],
        }));
    }
    steps.push(Step::new(Instruction::Workdir(workdir(request))));
    let mut variables = owned([("PYTHONUNBUFFERED", "1")]);
    variables.retain(|(name, _)| !request.env.contains_key(name));
    variables.extend(request.env.clone());
    let suspected = |name: &str| ["TOKEN", "PASS", "SECRET", "KEY"].iter().any(|word| name.contains(word));
    let step = match variables.iter().any(|(name, _)| suspected(name)) {
        true => Step::new(Instruction::Env(Vec::new()))
            .ignoring("DL3064", "the rule checks names only; envdoc refuses variables named like secrets."),
        false => Step::new(Instruction::Env(Vec::new())),
    };
    steps.push(Step { instruction: Instruction::Env(variables), ..step });
    for copy in &request.copy {
        let owner = user.map(|user| format!("{user}:{user}"));
        let sources = vec![copy.from.clone()];
        steps.push(Step::new(Instruction::Copy { from: None, owner, sources, to: copy.to.clone() }));
    }
    steps
}

pub(super) fn start(context: &PlanContext) -> Vec<Step> {
    let request = context.request;
    let mut steps: Vec<Step> =
        request.ports.iter().map(|port| Step::new(Instruction::Expose(*port))).collect();
    if let Some(user) = user(request) {
        steps.push(Step::new(Instruction::User(uid(request).to_string())).with_comment(format!(
            "Numeric UID of {user}: Kubernetes' runAsNonRoot cannot verify a user \
             name."
        )));
    }
    if !request.entrypoint.is_empty() {
        steps.push(Step::new(Instruction::Entrypoint(request.entrypoint.clone())));
    }
    if !request.command.is_empty() {
        steps.push(Step::new(Instruction::Command(request.command.clone())));
    }
    steps
}

/// The user that is made; `None` for root.
fn user(request: &ImageRequest) -> Option<&str> {
    request.user.as_deref().filter(|user| *user != "root")
}

/// The user's number; one that no base image uses unless the request says otherwise (1000 is `ubuntu` in
/// Ubuntu 24.04's).
fn uid(request: &ImageRequest) -> u32 {
    request.uid.unwrap_or(10001)
}

fn workdir(request: &ImageRequest) -> String {
    request.workdir.clone().unwrap_or_else(|| WORKDIR.into())
}

/// The proxy, as Docker's predefined build arguments.
pub(super) fn build_args(request: &ImageRequest) -> Vec<(String, String)> {
    let Some(proxy) = &request.proxy else { return Vec::new() };
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    names.map(|name| (name.to_owned(), proxy.clone())).to_vec()
}
