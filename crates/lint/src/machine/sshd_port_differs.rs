//! A launcher that connects to another port than sshd listens on.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named_with};

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
    found.into_iter().collect()
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
