//! Fixes that problems have in common.

use diagnostic::Fix;

/// Continues an interrupted `up`.
pub(crate) fn resume() -> Fix {
    Fix::run("Resume:", "envdoc cluster up")
}

/// Removes the containers and the network, and makes them again.
pub(crate) fn recreate(title: impl Into<String>) -> Fix {
    Fix::restarts_service(title, &["envdoc cluster down && envdoc cluster up"])
}

/// Restarts the container whose entry an engine lacks.
pub(crate) fn reattach() -> Fix {
    let title = "Reattach the container, which announces it to every engine:";
    Fix::restarts_service(title, &["envdoc cluster up"])
}

/// Restarts the container of a node; the title names its machine.
pub(crate) fn restart_container(title: impl Into<String>, node: &str) -> Fix {
    Fix::restarts_service(title, &[&format!("docker restart {node}")])
}

/// Restarts an engine; the title names its machine.
pub(crate) fn restart_engine(title: impl Into<String>) -> Fix {
    Fix::restarts_service(title, &["systemctl restart docker"])
}

/// Lets an engine raise limits, by settings of its unit: `LimitMEMLOCK=infinity`.
pub(crate) fn raise_limits(settings: &str, nodes: &str) -> Fix {
    Fix::restarts_service(
        format!(
            "Set {settings} in the unit of the engine on {nodes} (an engine in a container also needs \
                CAP_SYS_RESOURCE), then restart it:"
        ),
        &["systemctl edit docker", "systemctl restart docker"],
    )
}

/// Shows what the SSH server of a node's container printed.
pub(crate) fn read_sshd_log(node: &str) -> Fix {
    Fix::run("Read the log of its sshd:", format!("envdoc cluster logs {node}"))
}

/// Makes room on the disk of an engine.
pub(crate) fn free_disk() -> Fix {
    let title = "Show what uses the space, then remove unused images:";
    Fix::safe(title, &["docker system df", "docker system prune -a"])
}

/// Shows the rules for packets in a direction: `INPUT`.
pub(crate) fn show_rules(title: impl Into<String>, chain: &str) -> Fix {
    Fix::safe(title, &[&format!("iptables -L {chain} -n -v"), "nft list ruleset"])
}

/// Opens ports between nodes; `machines` are those that may block them.
pub(crate) fn open_ports(ports: &str, machines: &str) -> Fix {
    Fix::safe(
        format!("Open {ports}, also in the provider's security group; show the rules, on {machines}:"),
        &["iptables -L -n -v", "nft list ruleset"],
    )
}

/// For a name that a machine cannot resolve.
pub(crate) fn name_resolution(machine: &str) -> Fix {
    let title = format!("Write the IP address in cluster.yaml, or fix name resolution on {machine}:");
    Fix::run(title, "getent hosts NAME")
}

/// Shows the addresses of a machine.
pub(crate) fn addresses() -> Fix {
    Fix::run("List the addresses of that node:", "ip -brief address")
}
