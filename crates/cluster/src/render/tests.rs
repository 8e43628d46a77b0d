use super::*;
use crate::container;
use crate::request::ClusterRequest;
use crate::validate::validate;
use crate::{keys, secrets};
use lint;

fn plan(text: &str) -> ClusterPlan {
    let nodes = "name: two-node\nimage: train:1\nnodes: [{address: 10.0.0.1, gpus: 8}, {address: \
        10.0.0.2, gpus: [0, 1]}]\n";
    validate(&ClusterRequest::parse("x", &format!("{nodes}{text}")).unwrap()).unwrap()
}

fn all(plan: &ClusterPlan) -> Vec<File> {
    let keys = keys::make(plan).unwrap();
    let secret = secrets::Value { name: "token".into(), bytes: b"hunter2".to_vec() };
    files(plan, Some(&keys), &[secret]).unwrap()
}

fn text<'f>(files: &'f [File], path: &str) -> &'f str {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let file = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} in {paths:?}"));
    std::str::from_utf8(&file.bytes).unwrap()
}

/// Plans that use every key, in combinations that exclude each other.
const PLANS: &[&str] = &[
    "",
    "network: {kind: host, infiniband: true, interface: ib0}\nssh: {port: 2200, user: trainer}",
    "launcher: torchrun\nnetwork: {kind: existing, name: fast}",
    "launcher: none\ncommand: [bash, -c, 'echo \"$HOME\" # {x}']\nnetwork: {subnet: 10.20.0.0/24, mtu: \
        1400, encrypted: true}",
    "storage: [{from: /srv/code, to: /workspace, read_only: true}, {nfs: 'fs:/x', to: /data, options: \
        'vers=4.2'}]\nenvironment: {A: 'a: b # c', B: \"it's {x: y}\", C: '=mlx5_0:1,mlx5_1:1'}",
];

#[test]
fn compose_files_match_the_container() {
    for text in PLANS {
        let plan = plan(text);
        for node in &plan.nodes {
            let compose = compose(&plan, node).unwrap();
            let read: serde_yaml::Value =
                serde_yaml::from_str(&compose).unwrap_or_else(|error| panic!("{error}\n{compose}"));
            let service = &read["services"][node.name.as_str()];
            let container = container::of(&plan, node);
            for (name, value) in &container.environment {
                assert_eq!(service["environment"][name.as_str()].as_str(), Some(value.as_str()), "{compose}");
            }
            for (name, value) in &container.labels {
                assert_eq!(service["labels"][name.as_str()].as_str(), Some(value.as_str()), "{compose}");
            }
            assert_eq!(
                service["volumes"].as_sequence().map(Vec::len),
                Some(container.volumes.len()),
                "{compose}"
            );
            let words: Vec<String> = service["command"]
                .as_sequence()
                .map(|list| list.iter().map(|word| word.as_str().unwrap().replace("$$", "$")).collect())
                .unwrap_or_default();
            assert_eq!(words, container.command, "{compose}");
        }
    }
}

#[test]
fn rendered_compose_files_pass_lint() {
    for text in PLANS {
        let plan = plan(text);
        for node in &plan.nodes {
            let compose = compose(&plan, node).unwrap();
            let findings = lint::lint(
                lint::RULES,
                checks::CHECKS,
                &lint::File::new(catalog::testing::catalog(), "compose.yaml", &compose, lint::Kind::Compose),
            );
            assert!(findings.is_empty(), "{findings:?}\n{compose}");
        }
    }
}

#[test]
fn secrets_are_in_their_files_alone() {
    let plan = plan("");
    let files = all(&plan);
    for file in &files {
        let has = String::from_utf8_lossy(&file.bytes);
        let private = has.contains("PRIVATE KEY") || has.contains("hunter2");
        assert_eq!(private, file.secret(), "{}", file.path);
    }
    let own = "node1/settings/ssh/host_ed25519";
    assert_ne!(
        text(&files, own),
        text(&files, "node2/settings/ssh/host_ed25519"),
        "each node has its own host key"
    );
    assert!(text(&files, ".gitignore").contains("*/settings/ssh/id_ed25519\n"));
}

#[test]
fn every_rendered_file_names_its_generator() {
    for file in all(&plan("")) {
        let head: String = String::from_utf8_lossy(&file.bytes).lines().take(2).collect();
        let foreign = [
            "ssh/id_",
            "ssh/host_",
            "ssh/known_hosts",
            "ssh/authorized_keys",
            "secrets/",
            ".json",
            "/entrypoint",
            "/health",
            "/enter",
        ];
        if !foreign.iter().any(|part| file.path.contains(part)) {
            assert!(head.contains(image::render::RENDERED_BY), "{}", file.path);
        }
    }
}

#[test]
fn hostfile_and_batch_sizes_match_the_nodes() {
    let files = all(&plan(""));
    assert!(text(&files, "node2/settings/hostfile").ends_with("\nnode1 slots=8\nnode2 slots=2\n"));
    let config: serde_json::Value =
        serde_json::from_str(text(&files, "node1/settings/ds_config.json")).unwrap();
    let number = |key: &str| config[key].as_u64().unwrap();
    assert_eq!(
        number("train_batch_size"),
        number("train_micro_batch_size_per_gpu") * number("gradient_accumulation_steps") * 10
    );
}

#[test]
fn launchers_name_the_first_node() {
    let files = all(&plan(""));
    assert!(
        text(&files, "node1/launch-deepspeed.sh").contains("--master_addr node1 --master_port 29500 \"$@\"")
    );
    assert!(
        text(&files, "node2/launch-torchrun.sh")
            .contains("--nnodes=2 --node_rank=1 --nproc_per_node=2 --master_addr=node1")
    );
}

#[test]
fn sshd_listen_address_is_set_only_on_the_host_network() {
    let host = all(&plan("network: {kind: host}\nssh: {user: trainer}"));
    let config = text(&host, "node2/settings/ssh/sshd_config");
    assert!(
        config.contains("\nListenAddress 10.0.0.2\n") && config.contains("\nPermitRootLogin no\n"),
        "{config}"
    );
    assert!(text(&host, "node1/settings/ssh/config").contains("\nHost node1 node2 10.0.0.1 10.0.0.2\n"));
    assert!(!text(&all(&plan("")), "node2/settings/ssh/sshd_config").contains("ListenAddress"));
}

#[test]
fn stack_file_passes_lint() {
    for text in PLANS {
        let plan = plan(text);
        let stack = stack::stack(&plan).unwrap();
        let read: serde_yaml::Value =
            serde_yaml::from_str(&stack).unwrap_or_else(|error| panic!("{error}\n{stack}"));
        assert_eq!(read["services"].as_mapping().map(|services| services.len()), Some(2), "{stack}");
        let findings = lint::lint(
            lint::RULES,
            checks::CHECKS,
            &lint::File::new(catalog::testing::catalog(), "stack.yaml", &stack, lint::Kind::Compose),
        );
        assert!(
            findings.is_empty(),
            "{:?}\n{stack}",
            findings.iter().map(|one| &one.found).collect::<Vec<_>>()
        );
    }
}

#[test]
fn equal_nodes_can_move_to_kubernetes_and_slurm() {
    let nodes = "name: two-node\nimage: registry.example/team/train:1\nnodes: [{address: 10.0.0.1, gpus: \
        8}, {address: 10.0.0.2, gpus: 8}]\n";
    for text in PLANS.iter().filter(|text| !text.contains("launcher: none")) {
        let plan = validate(&ClusterRequest::parse("x", &format!("{nodes}{text}")).unwrap()).unwrap();
        let yaml = elsewhere::kubernetes(&plan).unwrap();
        let read: Vec<serde_yaml::Value> = serde_yaml::Deserializer::from_str(&yaml)
            .map(|document| {
                serde::Deserialize::deserialize(document).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
            })
            .collect();
        assert_eq!(read.len(), 2, "{yaml}");
        assert_eq!(
            read[1]["spec"]["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"].as_u64(),
            Some(8),
            "{yaml}"
        );
        assert_eq!(read[1]["spec"]["trainer"]["numNodes"].as_u64(), Some(2), "{yaml}");
        let slurm = elsewhere::slurm(&plan).unwrap();
        assert!(
            slurm.contains("#SBATCH --gpus-per-node=8\n")
                && slurm.contains("--container-image='registry.example#team/train:1'"),
            "{slurm}"
        );
    }
    assert!(!elsewhere::alike(&plan("")), "8 GPUs and 2");
}
