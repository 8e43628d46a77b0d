//! A hostfile that DeepSpeed refuses.

use std::collections::BTreeMap;

use crate::read::hostfile::Hostfile;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use crate::schema::is_placeholder;
use facts::Facts;

pub(crate) const RULE: Rule = Rule {
    id: "hostfile-invalid",
    severity: Severity::Error,
    summary: "every line of the hostfile is `host slots=N`, without duplicate hosts",
    explain: include_str!("hostfile_invalid.md"),
    judge: Judge::Hostfile(judge),
    fires: &[
        named("hostfile", "node1 slots=8\nnode1 slots=8\n"),
        named("hostfile", "node1 slots=8\nnode2: eight gpus\n"),
        named("hostfile", "10.0.0.255 slots=8\n10.0.0.256 slots=8\n"),
        named_with(
            "hostfile",
            "node1:8\nnode2:8\n",
            &[("run.sh", "deepspeed --hostfile ./hostfile train.py\n")],
        ),
        named("hostfile", "localhost slots=8\nnode2 slots=8\n"),
        named_with(
            "conf/hostfile",
            "# both nodes have 8 GPUs\natlas01:8\natlas02:8\n",
            &[(
                "launch.sh",
                "HERE=$(cd \"$(dirname \"$0\")\" && pwd)\ndeepspeed --hostfile \"$HERE/conf/hostfile\" \
                 \\\n    \
                 --master_addr atlas01 train.py\n",
            )],
        ),
    ],
    silent: &[
        named("hostfile", "# nodes\n\nnode1 slots=8\nnode2 slots=4 # smaller\n"),
        named("hostfile", "localhost slots=2\n"),
        named("hostfile", "node1\nnode2\n"),
        named("hostfile", "node_ip slots=8\nnode_ip slots=8\n"),
        named_with(
            "hostfile",
            "node1:8\nnode2:8 binding=user:0-7\n",
            &[("run.sh", "mpiexec.hydra -f hostfile -n 16 ./a\n")],
        ),
        // Its script reads another file of that name.
        named_with(
            "conf/hostfile",
            "node1:8\nnode2:8\n",
            &[("run.sh", "deepspeed --hostfile other/hostfile train.py\n")],
        ),
    ],
};

/// The host that a line most likely means: its first word, or what stands before a colon or an equals sign.
fn name_in(line: &str) -> &str {
    let name = line.trim().split([' ', '\t', ':', '=', ',']).next().unwrap_or_default();
    let host = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.chars().all(host) { name } else { "node1" }
}

/// Whether a host is for somebody to fill in: `node_ip`, `<host>`, `YOUR_HOST`.
fn stands_for_one(host: &str) -> bool {
    let last = host.rsplit_once('_').map_or("", |(_, last)| last);
    is_placeholder(host) || matches!(last, "ip" | "host" | "hostname" | "name" | "address" | "addr")
}

fn judge((file, _): (&Hostfile, Option<&Facts>)) -> Vec<Found> {
    if file.lines.is_empty() {
        return vec![Found::error(
            1,
            "the hostfile lists no hosts; DeepSpeed refuses it",
            "Write `node1 slots=8`",
        )];
    }
    // A file that only MPI reads may have any form of MPI's.
    if file.readers.mpi && !file.readers.deepspeed && file.lines.iter().all(|line| line.mpi) {
        return Vec::new();
    }
    // A file without any slots is mpirun's or pdsh's.
    let any = file.readers.deepspeed
        || file.lines.iter().any(|line| line.host.is_some() || line.text.contains("slots"));
    if !any && !file.readers.mpi {
        return Vec::new();
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in &file.lines {
        let Some((host, _)) = &line.host else {
            let message = format!("{:?} is not `host slots=N`; the launcher refuses the file", line.text);
            found.push(
                Found::error(line.line, message, format!("Write `{} slots=8`", name_in(&line.text)))
                    .unless_certain(any && (!line.mpi || file.readers.deepspeed)),
            );
            continue;
        };
        let parts: Vec<Option<u32>> = host.split('.').map(|part| part.parse().ok()).collect();
        if parts.len() == 4
            && parts.iter().all(Option::is_some)
            && parts.iter().flatten().any(|part| *part > 255)
        {
            let message = format!("{host} is no address: each part is at most 255; no node has it");
            found.push(Found::error(line.line, message, "Write the address of the node").about(host));
        }
        if let Some(first) = seen.insert(host, line.line).filter(|_| !stands_for_one(host)) {
            let message = format!(
                "duplicate host {host}, first listed in line {first}; DeepSpeed refuses the \
                 file"
            );
            found.push(Found::error(line.line, message, "Keep one line per host").about(host));
        }
    }
    let local = file.lines.iter().find(|line| {
        line.host.as_ref().is_some_and(|(host, _)| matches!(host.as_str(), "localhost" | "127.0.0.1"))
    });
    if let Some(line) = local.filter(|_| file.lines.len() > 1) {
        let message = "localhost is listed with other hosts; on every node it means that node";
        found.push(Found::warning(
            line.line,
            message,
            "Use the name or address by which the other nodes reach \
             it",
        ));
    }
    found
}
