use super::validate;
use crate::plan::{ClusterPlan, Gpus, Source};
use crate::request::ClusterRequest;
use diagnostic::error::Error;

const TWO: &str =
    "image: train:1\nnodes:\n- {address: 10.0.18.1, gpus: 8}\n- {address: 10.0.18.2, gpus: [0, 1]}\n";

fn plan(text: &str) -> Result<ClusterPlan, Error> {
    let mut request = ClusterRequest::parse("cluster.yaml", text)?;
    request.origin = Some("compose/two-node/cluster.yaml".into());
    validate(&request)
}

/// What is said about a request that is wrong, hints included.
fn refused(text: &str) -> String {
    let error = plan(text).expect_err(text);
    assert!(!error.hints.is_empty(), "no hint: {}", error.message);
    format!("{} | {}", error.message, error.hints.join(" | "))
}

#[test]
fn fills_in_defaults() {
    let plan = plan(TWO).unwrap();
    assert_eq!(plan.name, "two-node");
    assert_eq!(plan.network.name, "two-node-net");
    assert_eq!(plan.settings_volume, "two-node-settings");
    assert_eq!((plan.nodes[0].name.as_str(), plan.nodes[0].engine.as_str()), ("node1", "ssh://10.0.18.1"));
    assert_eq!((plan.nodes[0].slots, plan.nodes[1].slots, plan.world_size()), (8, 2, 10));
    assert_eq!(plan.nodes[1].gpus, Gpus::These(vec!["0".into(), "1".into()]));
    assert_eq!(plan.shm, 33 << 30);
    assert_eq!(plan.ssh.as_ref().map(|ssh| (ssh.port, ssh.user.as_str())), Some((2222, "root")));
    assert_eq!(plan.nodes[0].environment.get("PDSH_RCMD_TYPE").map(String::as_str), Some("ssh"));
}

#[test]
fn torchrun_has_no_ssh_unless_requested() {
    assert_eq!(plan(&format!("launcher: torchrun\n{TWO}")).unwrap().ssh, None);
    assert!(plan(&format!("launcher: torchrun\nssh: {{}}\n{TWO}")).unwrap().ssh.is_some());
}

#[test]
fn the_nodes_own_environment_wins() {
    let text = "image: a\nenvironment: {NCCL_DEBUG: WARN}\nnodes:\n- {address: a1, gpus: 0}\n- {address: \
        a2, gpus: 0, environment: {NCCL_DEBUG: INFO}}\n";
    let plan = plan(text).unwrap();
    assert_eq!(plan.nodes[0].environment["NCCL_DEBUG"], "WARN");
    assert_eq!(plan.nodes[1].environment["NCCL_DEBUG"], "INFO");
    assert_eq!(plan.nodes[1].environment["NVIDIA_VISIBLE_DEVICES"], "void");
    assert_eq!(plan.nodes[1].slots, 1);
}

#[test]
fn nfs_storage_becomes_a_volume() {
    let plan = plan(&format!(
        "{TWO}storage:\n- {{nfs: \"[fd00::1]:/export/data\", to: /data/, options: vers=4.2}}\n"
    ))
    .unwrap();
    assert_eq!(plan.mounts[0].to, "/data");
    let Source::Nfs { volume, server, path, .. } = &plan.mounts[0].from else { panic!() };
    assert_eq!(
        (volume.as_str(), server.as_str(), path.as_str()),
        ("two-node-data", "fd00::1", "/export/data")
    );
}

#[test]
fn validation_errors_name_the_field_and_the_problem() {
    let node = |rest: &str| format!("image: a\nnodes:\n- {{address: a1, gpus: 1{rest}}}\n");
    let nodes = |one: &str, other: &str| format!("image: a\nnodes:\n- {{{one}}}\n- {{{other}}}\n");
    for (text, expected) in [
        (String::new(), "no nodes"),
        ("image: a\nnodes: [{gpus: 1}]".into(), "node1: no address"),
        ("nodes: [{address: a1, gpus: 1}]".into(), "no image"),
        (format!("build: x\n{TWO}"), "both `image` and `build`"),
        (format!("name: \"a;reboot\"\n{TWO}"), "\"a;reboot\" is not a cluster name"),
        (node(", name: -oProxyCommand=id"), "node 1, name: \"-oProxyCommand=id\" is not a node name"),
        (node(", engine: ssh://-oProxyCommand=id"), "node1, engine"),
        (node(", tls: certs"), "certificates for ssh://a1"),
        (node(", labels: {envdoc.cluster: x}"), "labels: \"envdoc.cluster\""),
        (node(", slots: 2"), "2 slots on 1 GPUs"),
        (node(", slots: 0"), "0 slots"),
        ("image: a\nnodes: [{address: a1}]".into(), "slots: `gpus: all` requires"),
        ("image: a\nnodes: [{address: a1, gpus: some}]".into(), "\"some\" is not `all`"),
        ("image: a\nnodes: [{address: a1, gpus: [0, 0]}]".into(), "0 is listed twice"),
        ("image: a\nnodes: [{address: a1, gpus: [\"0;id\"]}]".into(), "is not a GPU"),
        (nodes("address: a1, gpus: 1, name: xx", "address: a2, gpus: 1, name: xx"), "same name, xx"),
        (nodes("address: \"fd00::1\", gpus: 1", "address: \"fd00:0::1\", gpus: 1"), "same address"),
        (
            nodes(
                "address: a1, gpus: 1, engine: unix:///a.sock",
                "address: a2, gpus: 1, engine: unix:///a.sock",
            ),
            "same engine",
        ),
        (nodes("address: 127.0.0.1, gpus: 1", "address: a2, gpus: 1"), "is a loopback address"),
        (format!("network: {{kind: host}}\n{}", node("")), "is a name"),
        (format!("network: {{kind: host, mtu: 1400}}\n{TWO}"), "network, mtu"),
        (format!("network: {{kind: host}}\nssh: {{port: 22}}\n{TWO}"), "port 22"),
        (format!("network: {{kind: existing}}\n{TWO}"), "requires a name"),
        (format!("network: {{name: host}}\n{TWO}"), "is not a network name"),
        (format!("network: {{interface: \"ib0 -x\"}}\n{TWO}"), "interface name"),
        (format!("network: {{subnet: 10.20.0.1/24}}\n{TWO}"), "10.20.0.0/24"),
        (format!("network: {{subnet: 10.0.0.0/8}}\n{TWO}"), "contains 10.0.18.1"),
        (format!("network: {{subnet: 10.20.0.0/30}}\n{TWO}"), "too small"),
        (format!("network: {{infiniband: true}}\nlimits: {{memlock: 1g}}\n{TWO}"), "InfiniBand"),
        (format!("limits: {{shm: lots}}\n{TWO}"), "not a size"),
        (format!("limits: {{shm: 1m}}\n{TWO}"), "less than"),
        (format!("limits: {{nofile: 10}}\n{TWO}"), "10 open files"),
        (format!("ssh: {{user: \"a b\"}}\n{TWO}"), "user name"),
        (format!("ssh: {{port: 29500}}\n{TWO}"), "rendezvous"),
        (format!("environment: {{A: \"$HOME\"}}\n{TWO}"), "environment, A"),
        (format!("environment: {{\"A B\": x}}\n{TWO}"), "variable name"),
        (format!("secrets: [{{name: ../x, file: y}}]\n{TWO}"), "secret name"),
        (format!("secrets: [{{name: x}}]\n{TWO}"), "one of `file` and `variable`"),
        (format!("storage: [{{from: ./code, to: /code}}]\n{TWO}"), "not absolute"),
        (format!("storage: [{{from: /code, to: /etc/envdoc/ssh}}]\n{TWO}"), "would hide"),
        (format!("storage: [{{from: /code, to: /usr}}]\n{TWO}"), "would hide"),
        (format!("storage: [{{to: /code}}]\n{TWO}"), "one of `from` and `nfs`"),
        (format!("storage: [{{nfs: /x, to: /code}}]\n{TWO}"), "not an NFS share"),
        (
            format!("storage: [{{nfs: \"a:/x\", options: \"rw,addr=1.2.3.4\", to: /code}}]\n{TWO}"),
            "NFS mount options",
        ),
        (format!("command: [\"a\\nb\"]\n{TWO}"), "command argument"),
    ] {
        let whole = refused(&text);
        assert!(whole.contains(expected), "{text}\n  wanted {expected:?}\n  said   {whole}");
    }
}

#[test]
fn all_errors_of_a_file_are_listed() {
    let text = "name: A\nimage: a\nregistry: \"x y\"\nnodes:\n- {gpus: 1}\n- {address: a2, gpus: 1, slots: \
        4}\nnetwork: {mtu: 5}\nlimits: {shm: lots, nofile: 1}\nsecrets: [{name: x}]\nenvironment: {\"A B\": \
        x}\n";
    let error = plan(text).unwrap_err();
    let mut lines = error.message.lines();
    assert_eq!(lines.next(), Some("compose/two-node/cluster.yaml has 9 errors:"), "{}", error.message);
    for (line, part) in lines.zip([
        "name: \"A\"",
        "registry: \"x y\"",
        "node1: no address",
        "slots: 4 slots on 1 GPUs",
        "network, mtu",
        "shm: \"lots\"",
        "nofile: 1 open files",
        "environment: \"A B\"",
        "secret \"x\" needs one of",
    ]) {
        assert!(line.contains(part), "{part}: {line}");
    }
    let hint = "write the address by which the other machines reach it";
    assert!(error.message.contains(hint), "{}", error.message);
}

#[test]
fn warns_about_secrets_in_environment() {
    let plan = plan(&format!("environment: {{HF_TOKEN: abc}}\n{TWO}")).unwrap();
    assert!(plan.warnings[0].contains("HF_TOKEN") && !plan.warnings[0].contains("abc"));
}
