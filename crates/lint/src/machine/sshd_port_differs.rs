//! A launcher that connects to another port than sshd listens on.

use std::rc::Rc;

use crate::file::Over;
use crate::read::dockerfile::command::Command;
use crate::read::machine::Machine;
use crate::read::script::Script;
use crate::recognize::kind_of_name;
use crate::rule::{Found, Judge, Kind, Location, OtherFile, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-port-differs",
    severity: Severity::Warning,
    summary: "launchers connect to the port that sshd listens on",
    explain: include_str!("sshd_port_differs.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[("run.sh", "mpirun -np 16 -H a:8,b:8 --mca plm_rsh_args \"-p 22222\" python t.py\n")],
        ),
        named_with("sshd_config", "Port 2222\n", &[("run.sh", "deepspeed --ssh_port 2022 t.py\n")]),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[
                ("run.sh", "#!/bin/bash\nmpirun -H a:8,b:8 \\\n  -x MASTER_PORT=29500 python t.py\n"),
                ("Dockerfile", "FROM ubuntu:24.04\nEXPOSE 2222\nCOPY sshd_config /etc/ssh/\n"),
            ],
        ),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[("run.sh", "#!/bin/bash\ndeepspeed --hostfile hosts t.py\n")],
        ),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[("run.sh", "#!/bin/bash\ndeepspeed --hostfile=hosts --master_addr=a t.py\n")],
        ),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[
                ("entrypoint.sh", "#!/bin/bash\nexec mpirun -np 16 --hostfile /mpi/hostfile python t.py\n"),
                ("ssh_config", "Host node-a node-b\n    User root\n    Port 22\n"),
            ],
        ),
    ],
    silent: &[
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[("run.sh", "mpirun -np 16 --mca plm_rsh_args \"-p 2222\" python t.py\n")],
        ),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[
                ("run.sh", "mpirun -np 16 --mca plm_rsh_args \"-p 22222\" python t.py\n"),
                ("compose.yaml", "services:\n  a:\n    image: b\n    ports: [\"22222:2222\"]\n"),
            ],
        ),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[
                ("run.sh", "#!/bin/bash\nmpirun -H a:8,b:8 python t.py\n"),
                ("ssh_config", "Host gpu-*\n    Port 2222\n"),
            ],
        ),
        named_with("sshd_config", "Port 2222\n", &[("run.sh", "#!/bin/bash\nmpirun -H a:8 python t.py\n")]),
        named_with(
            "sshd_config",
            "Port 2222\n",
            &[("run.sh", "#!/bin/bash\ndeepspeed --hostfile=hosts --ssh_port=2222 t.py\n")],
        ),
        named_with("sshd_config", "Port 2222\n", &[("run.sh", "/usr/sbin/sshd -p 22222\nssh -p 22 git@x\n")]),
        named_with(
            "sshd_config",
            "Port 22\nPort 2222\n",
            &[("run.sh", "mpirun --mca plm_rsh_args \"-p 2222\" x\n")],
        ),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let ports = ports(&machine.text);
    let Some((line, first)) = ports.first() else { return Vec::new() };
    let found = machine.others.iter().find_map(|other| {
        let (at, wanted) = other.text.lines().enumerate().find_map(|(index, text)| {
            let wanted = of_launcher(text).filter(|wanted| ports.iter().all(|(_, port)| port != wanted))?;
            Some((index + 1, wanted))
        })?;
        // Published under another port, or given to sshd on its command line.
        let elsewhere = machine.others.iter().any(|one| {
            one.text.contains(&format!("{wanted}:"))
                || one.text.contains(
                    "sshd \
             -p",
                )
                || one.text.contains("Port=")
        });
        let message = format!(
            "sshd listens on port {first}, but line {at} of {} connects to port {wanted}; `Connection \
             refused` \
             unless that port is forwarded",
            other.name
        );
        (!elsewhere).then(|| {
            Found::warning(
                *line,
                message,
                format!(
                    "Set `Port {wanted}`, or use -p \
         {first}"
                ),
            )
        })
    });
    let found = found.or_else(|| without_port(machine, &ports));
    found.into_iter().collect()
}

/// A launcher that connects to port 22 of several nodes, where sshd does not listen.
fn without_port(machine: &Machine, ports: &[(usize, u64)]) -> Option<Found> {
    let (line, first) = ports.first().filter(|_| ports.iter().all(|(_, port)| *port != 22))?;
    // An ssh_config, an option or a published port may lead to it.
    let leads = |other: &Over| {
        let lines = other.text.lines().filter(|line| !line.trim_start().starts_with("EXPOSE"));
        let known = lines.flat_map(numbers).any(|number| ports.iter().any(|(_, port)| *port == number));
        let given =
            ["plm_rsh_args", "plm_ssh_args", "PDSH_SSH_ARGS", "ssh_port", "ssh-port", "#SBATCH", "#PBS"];
        known || given.iter().any(|word| other.text.contains(word))
    };
    if machine.others.iter().any(leads) {
        return None;
    }
    let (other, launch) = machine.others.iter().find_map(|other| {
        let script = Script::read(machine.catalog, &other.text);
        let is_script = other.text.starts_with("#!") || kind_of_name(&other.name) == Some(Kind::Shell);
        let launch = script.commands.into_iter().filter(|_| is_script).find(connects)?;
        Some((other, launch))
    })?;
    let explicit = machine.others.iter().find_map(|other| {
        let at = client_port(other, 22)?;
        Some((other, at))
    });
    if let Some((client, at)) = explicit {
        let message = format!(
            "`Port 22` leads {} (line {} of {}) to port 22 of the nodes, but sshd listens on port {first} \
             only \
             (line {line} of {}); `Connection refused`",
            launch.program(),
            launch.line,
            other.name,
            machine.name
        );
        let file = Rc::new(OtherFile { path: client.name.clone(), by: None });
        let place = Location::new(Some(file), at);
        return Some(Found::warning(place, message, format!("Write `Port {first}`")));
    }
    let message = format!(
        "sshd listens on port {first} only, but {} (line {} of {}) connects to port 22; no file sets \
         another port",
        launch.program(),
        launch.line,
        other.name
    );
    let fix = format!("Set `Port {first}` in an ssh_config for the nodes, or give the launcher the port");
    Some(Found::warning(*line, message, fix))
}

/// The line of an `ssh_config` that sets this port for hosts: `Port 22` below `Host node-*`.
fn client_port(other: &Over, port: u64) -> Option<usize> {
    let words = |line: &str| -> Vec<String> {
        let words = line.split(|letter: char| letter.is_whitespace() || letter == '=');
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let lines: Vec<Vec<String>> = other.text.lines().map(words).collect();
    let is_client = lines.iter().any(|line| line.first().is_some_and(|word| word == "host"));
    let sets = |line: &Vec<String>| line.len() == 2 && line[0] == "port" && line[1] == port.to_string();
    lines.iter().position(|line| is_client && sets(line)).map(|index| index + 1)
}

fn numbers(line: &str) -> Vec<u64> {
    let parts = line.split(|letter: char| !letter.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Whether a command logs in to several nodes.
fn connects(command: &Command) -> bool {
    let value = |names: &[&str]| command.value(names).map(|word| word.text);
    match command.program() {
        "mpirun" | "mpiexec" => {
            let hosts = value(&["-H", "-host", "--host"]).is_some_and(|hosts| hosts.contains(','));
            hosts || value(&["-hostfile", "--hostfile", "-machinefile", "--machinefile"]).is_some()
        }
        "deepspeed" => value(&["-H", "--hostfile"]).is_some(),
        "pdsh" => value(&["-w"]).is_some_and(|hosts| hosts.contains([',', '['])),
        _ => false,
    }
}

/// The ports of sshd: `Port` may be there several times, and an address may have one.
fn ports(text: &str) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line
            .split(|letter: char| letter.is_whitespace() || letter == '=')
            .filter(|word| !word.is_empty());
        let keyword = words.next().unwrap_or_default().to_ascii_lowercase();
        let value = words.next().unwrap_or_default();
        let port = match keyword.as_str() {
            "port" => value,
            "listenaddress" => value.rsplit_once(':').map_or("", |(_, port)| port),
            "match" => break,
            _ => continue,
        };
        found.extend(port.parse().ok().map(|port| (index + 1, port)));
    }
    found
}

/// The port to which a launcher connects on every node: `plm_rsh_args "-p 2222"`, `--ssh_port 2222`. What
/// ssh alone connects to may be another machine.
fn of_launcher(line: &str) -> Option<u64> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let behind = |mark: &str| line.split_once(mark).map(|(_, rest)| rest);
    let arguments =
        behind("plm_rsh_args").or_else(|| behind("PDSH_SSH_ARGS")).or_else(|| behind("plm_ssh_args"));
    let port = match arguments {
        Some(arguments) => arguments.split_once("-p")?.1,
        None => behind("--ssh_port").or_else(|| behind("--ssh-port"))?,
    };
    let digits: String =
        port.trim_start_matches([' ', '=', '"', '\'']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
