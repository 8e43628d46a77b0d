//! A redirection or a builtin that sudo does not cover.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sudo-misses-redirection",
    severity: Severity::Error,
    summary: "what needs root runs as root",
    explain: include_str!("sudo_misses_redirection.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "#!/bin/bash\nsudo echo '{\"default-runtime\": \"nvidia\"}' > /etc/docker/daemon.json\n",
        ),
        named("run.sh", "sudo ulimit -l unlimited\n"),
        named("run.sh", "sudo cat rules >> /etc/udev/rules.d/99-gpu.rules\n"),
    ],
    silent: &[
        named("run.sh", "echo x | sudo tee /etc/docker/daemon.json > /dev/null\n"),
        named("run.sh", "if [ $EUID -ne 0 ]; then exit 1; fi\nsudo echo x > /etc/y\n"),
        named("run.sh", "sudo sh -c 'echo x > /etc/y'\nsudo nvidia-smi -q > /tmp/log\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    // Who is root may write with or without sudo.
    let is_root = ["EUID", "id -u", "USER root", "whoami"].iter().any(|word| script.text.contains(word));
    if is_root {
        return Vec::new();
    }
    script.commands.iter().filter(|one| one.sudo).filter_map(fault).collect()
}

fn fault(command: &Command) -> Option<Found> {
    const BUILTINS: &[&str] = &["cd", "ulimit", "export", "source", "alias", "umask"];
    const OF_ROOT: &[&str] = &["/etc/", "/usr/", "/opt/", "/sys/", "/proc/", "/root/", "/lib/", "/boot/"];
    let program = command.program();
    if BUILTINS.contains(&program) {
        let message =
            format!("{program} is a builtin of the shell, which sudo does not find; nothing changes");
        let fix = format!("Write `sudo sh -c '{program} … && COMMAND'`");
        return Some(Found::error(command.line, message, fix));
    }
    let file = command.writes.iter().find(|word| OF_ROOT.iter().any(|start| word.text.starts_with(start)))?;
    let message = format!(
        "the shell opens {} before sudo runs, as the user of the script: `Permission denied`",
        file.text
    );
    let fix = format!("Write `… | sudo tee {} > /dev/null`", file.text);
    Some(Found::error(command.line, message, fix))
}
