//! Several services on the same GPUs.

use crate::read::compose::{Compose, Gpus, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};
use crate::servers::of_service;

pub(crate) const RULE: Rule = Rule {
    id: "gpu-shared",
    severity: Severity::Error,
    summary: "no two services use the same GPU by accident",
    explain: include_str!("gpu_shared.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: x\n    gpus: all\n  b:\n    image: y\n    gpus: all\n"),
        compose(
            "services:\n  chat:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, a/b, \
             --gpu-memory-utilization, \"0.55\"]\n    gpus: [{device_ids: [\"0\"]}]\n  vision:\n    image: \
             vllm/vllm-openai:v0.8.5\n    command: --model a/c --gpu-memory-utilization=0.6 --port 8001\n    \
             gpus: [{device_ids: [\"0\"]}]\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, a/b]\n    \
             deploy:\n      \
             replicas: 2\n      resources: {reservations: {devices: [{driver: nvidia, count: 1, \
             capabilities: [gpu]}]}}\n",
        ),
        compose(
            "services:\n  a:\n    image: x\n    runtime: nvidia\n    environment: \
             [\"NVIDIA_VISIBLE_DEVICES=0,1\"]\n  b:\n    image: y\n    deploy: \
             {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: [\"1\"]}]}}}\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: x\n    deploy: \
             {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: [\"0\"]}]}}}\n  b:\n    \
             image: y\n    deploy: {resources: {reservations: {devices: [{capabilities: [gpu], device_ids: \
             [\"1\"]}]}}}\n",
        ),
        compose(
            "services:\n  a:\n    image: x\n    gpus: all\n    profiles: [a]\n  b:\n    image: y\n    gpus: \
             all\n    profiles: [b]\n",
        ),
        compose("services:\n  a:\n    image: x\n    gpus: all\n  b:\n    image: y\n"),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, a/b, \
             --tensor-parallel-size=2]\n    gpus: [{device_ids: [\"0\", \"1\"]}]\n  b:\n    image: \
             vllm/vllm-openai:v0.8.5\n    command: [--model, a/c]\n    gpus: [{device_ids: [\"2\"]}]\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let users: Vec<User> = file
        .services
        .iter()
        .filter_map(|service| {
            let gpus = service.gpus()?;
            Some(User { claim: claim(file, service, &gpus), service, gpus })
        })
        .collect();
    let mut found: Vec<Found> = users.iter().filter_map(alone).collect();
    found.extend(users.iter().enumerate().filter_map(|(index, user)| {
        let others = || users[..index].iter().filter(|other| together(user.service, other.service));
        if let Some(over) = others().find_map(|other| too_much(user, other)) {
            return Some(over);
        }
        let other = others().find(|other| same(&user.gpus, &other.gpus))?;
        let message = format!(
            "services {} and {} use the same GPUs; a device request does not reserve them",
            other.service.name, user.service.name
        );
        Some(Found::note(
            user.service.line.clone(),
            message,
            "Set different `device_ids`, unless sharing is intended",
        ))
    }));
    found
}

/// A service that uses GPUs.
struct User<'s> {
    service: &'s Service,
    gpus: Gpus,
    claim: Option<Claim>,
}

/// What a server of vLLM claims of the GPUs that it uses.
struct Claim {
    /// Their indices or names.
    devices: Vec<String>,
    /// In percent of the memory of each.
    percent: u32,
}

/// The share of vLLM where no option sets it, in percent.
const DEFAULT_PERCENT: u32 = 90;

fn claim(file: &Compose, service: &Service, gpus: &Gpus) -> Option<Claim> {
    of_service(file, service).filter(|server| server.name == "vLLM")?;
    let words = service.words();
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let value = |name: &str| {
        words.iter().enumerate().rev().find_map(|(at, word)| {
            let word = word.replace('_', "-");
            match word.strip_prefix(name)? {
                "" => words.get(at + 1).map(|next| (*next).to_owned()),
                rest => rest.strip_prefix('=').map(str::to_owned),
            }
        })
    };
    let count = |names: &[&str]| {
        let given = names.iter().find_map(|name| value(name));
        given.map_or(Some(1), |text| text.parse::<usize>().ok())
    };
    let hidden = ["--data-parallel", "-dp", "--config", "--kv-cache-memory"];
    if words.iter().any(|word| hidden.iter().any(|name| word.starts_with(name))) {
        return None;
    }
    let wanted = count(&["--tensor-parallel-size", "-tp"])? * count(&["--pipeline-parallel-size", "-pp"])?;
    let percent = match value("--gpu-memory-utilization") {
        Some(share) => percent(&share)?,
        None => DEFAULT_PERCENT,
    };
    let visible = match gpus {
        Gpus::All => None,
        // Docker gives the first ones to each container that asks for a number of them.
        Gpus::Count(count) => Some((0..*count).map(|index| index.to_string()).collect::<Vec<_>>()),
        Gpus::Ids(ids) => Some(ids.clone()),
        Gpus::Some => return None,
    };
    let device = |index: usize| match &visible {
        Some(all) => all.get(index).cloned(),
        None => Some(index.to_string()),
    };
    let chosen = match service.environment().get("CUDA_VISIBLE_DEVICES") {
        Some(Some(list)) => list.split(',').map(|one| one.trim().parse().ok()).collect::<Option<Vec<_>>>()?,
        Some(None) => return None,
        None => (0..wanted).collect(),
    };
    let devices = chosen.into_iter().take(wanted).map(device).collect::<Option<Vec<_>>>()?;
    (!devices.iter().any(|one| one.contains('$'))).then_some(Claim { devices, percent })
}

/// `0.85` in percent.
fn percent(share: &str) -> Option<u32> {
    let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be 0 to 100")]
    Some((share * 100.0).round() as u32)
}

/// Two servers that claim more than all of a GPU.
fn too_much(user: &User, other: &User) -> Option<Found> {
    let (mine, theirs) = (user.claim.as_ref()?, other.claim.as_ref()?);
    let device = mine.devices.iter().find(|device| theirs.devices.contains(device))?;
    let (one, two) = (&user.service.name, &other.service.name);
    let message = format!(
        "services {two} and {one} claim {} % and {} % of the memory of GPU {device} \
         (--gpu-memory-utilization); vLLM stops at its start when less than its share is free",
        theirs.percent, mine.percent
    );
    (mine.percent + theirs.percent > 100).then(|| {
        let fix = "Set shares that add up to less than 1, or different `device_ids`";
        Found::error(user.service.line_of("command"), message, fix)
    })
}

/// Replicas of one server on the same GPU.
fn alone(user: &User) -> Option<Found> {
    let claim = user.claim.as_ref()?;
    let count = |path: &[&str]| user.service.at(path).and_then(serde_yaml::Value::as_u64);
    let replicas = count(&["deploy", "replicas"]).or_else(|| count(&["scale"])).filter(|count| *count > 1)?;
    let device = claim.devices.first()?;
    let message = format!(
        "{replicas} replicas of service {} claim {} % of the memory of GPU {device} each \
         (--gpu-memory-utilization); vLLM stops at its start when less than its share is free",
        user.service.name, claim.percent
    );
    let fix = "Write one service for each GPU, with its `device_ids`";
    (u64::from(claim.percent).saturating_mul(replicas) > 100 && !user.service.only_swarm())
        .then(|| Found::error(user.service.line.clone(), message, fix))
}

/// Whether two services can run at the same time: not behind different profiles.
fn together(one: &Service, other: &Service) -> bool {
    let (mine, theirs) = (one.list(&["profiles"]), other.list(&["profiles"]));
    mine.is_empty() && theirs.is_empty() || mine.iter().any(|profile| theirs.contains(profile))
}

fn same(one: &Gpus, other: &Gpus) -> bool {
    match (one, other) {
        (Gpus::Ids(mine), Gpus::Ids(theirs)) => mine.iter().any(|id| theirs.contains(id)),
        (Gpus::All, Gpus::All | Gpus::Ids(_) | Gpus::Count(_))
        | (Gpus::Ids(_) | Gpus::Count(_), Gpus::All) => true,
        (Gpus::Count(mine), Gpus::Count(theirs)) => *mine > 0 && *theirs > 0,
        (Gpus::Ids(ids), Gpus::Count(count)) | (Gpus::Count(count), Gpus::Ids(ids)) => {
            ids.iter().any(|id| id.parse::<u64>().is_ok_and(|index| index < *count))
        }
        _ => false,
    }
}
