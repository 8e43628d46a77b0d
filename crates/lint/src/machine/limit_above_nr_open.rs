//! A limit of open files above the one of the kernel.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "limit-above-nr-open",
    severity: Severity::Error,
    summary: "nofile in limits.conf is at most fs.nr_open",
    explain: include_str!("limit_above_nr_open.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named_with(
            "etc/security/limits.d/gpu.conf",
            "@gpu soft nofile 65536\n@gpu hard nofile 2000000\n",
            &[("etc/sysctl.d/gpu.conf", "vm.swappiness = 1\nfs.nr_open = 1048576\n")],
        ),
        named_with(
            "etc/security/limits.conf",
            "* - nofile unlimited\n",
            &[("etc/sysctl.conf", "fs/nr_open=1048576 # the default\n")],
        ),
    ],
    silent: &[
        named("etc/security/limits.conf", "* hard nofile 2000000\n"),
        named_with(
            "etc/security/limits.conf",
            "* hard nofile 1048576\n* hard memlock unlimited\n",
            &[("etc/sysctl.d/gpu.conf", "fs.nr_open = 1048576\n")],
        ),
        named_with(
            "etc/security/limits.conf",
            "* hard nofile 2000000\n",
            &[
                (
                    "etc/sysctl.d/a.conf",
                    "fs.nr_open = \
                1048576\n",
                ),
                ("etc/sysctl.d/b.conf", "fs.nr_open=4194304\n"),
            ],
        ),
        named_with(
            "etc/security/limits.conf",
            "* hard nofile 2000000\n",
            &[("etc/sysctl.d/a.conf", "# fs.nr_open = 1048576\nfs.file-max = 1048576\n")],
        ),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Limits {
        return Vec::new();
    }
    // Of the same machine: `node1/etc/…`.
    let root = |name: &str| name.find("etc/").map_or(String::new(), |at| name[..at].to_owned());
    let own = root(&machine.name);
    let others = machine.others.iter().filter(|one| root(&one.name) == own);
    // Which file counts last depends on what else the machine has.
    let set = others.flat_map(|one| one.text.lines().filter_map(nr_open));
    let Some(most) = set.max() else { return Vec::new() };
    let lines = machine.text.lines().enumerate();
    lines.filter_map(|(index, line)| fault(index + 1, line, most)).collect()
}

/// The value of `fs.nr_open=N`.
fn nr_open(line: &str) -> Option<u64> {
    let (key, value) = line.split('#').next()?.split_once('=')?;
    let key = key.trim().trim_start_matches('-').replace('/', ".");
    (key == "fs.nr_open").then(|| value.trim().parse().ok())?
}

fn fault(number: usize, line: &str, most: u64) -> Option<Found> {
    let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let [_, kind, item, value] = words[..] else { return None };
    // A soft limit is cut at the hard one.
    let hard = ["hard", "-"].iter().any(|one| one.eq_ignore_ascii_case(kind));
    let endless = matches!(value.to_ascii_lowercase().as_str(), "unlimited" | "infinity" | "-1");
    let above = endless || value.parse::<u64>().is_ok_and(|value| value > most);
    let message = format!(
        "nofile {value} is above fs.nr_open={most}; the kernel refuses it, and pam_limits lets nobody log in \
         whom this line is for"
    );
    let fix = format!("Write at most {most}, or raise fs.nr_open");
    (hard && item.eq_ignore_ascii_case("nofile") && above)
        .then(|| Found::error(number, message, fix).about("nofile"))
}
