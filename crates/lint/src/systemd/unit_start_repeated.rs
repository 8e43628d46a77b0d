//! Two main programs in one service.

use crate::read::unit::Unit;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "unit-start-repeated",
    severity: Severity::Error,
    summary: "a service has one ExecStart=, unless it is oneshot",
    explain: include_str!("unit_start_repeated.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "docker.service.d/override.conf",
            "[Service]\nExecStart=/usr/bin/dockerd --data-root /data/docker\n",
        ),
        named(
            "gpu.service",
            "[Service]\nExecStart=/usr/bin/nvidia-smi -pm 1\nExecStart=/usr/bin/nvidia-smi -pl 300\n",
        ),
        named("gpu.service", "[Service]\nType=simple\nExecStart=/usr/bin/a ; /usr/bin/b\n"),
        named("myapp.service.d/10-args.conf", "[Service]\nExecStart=/usr/bin/myapp --verbose\n"),
    ],
    silent: &[
        named(
            "docker.service.d/override.conf",
            "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd --data-root /data/docker\n",
        ),
        named(
            "gpu.service",
            "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/nvidia-smi -pm \
             1\nExecStart=/usr/bin/nvidia-smi -pl 300\n",
        ),
        named("a.service", "[Service]\nExecStartPre=/bin/a\nExecStartPre=/bin/b\nExecStart=/bin/c\n"),
        named("setup.service.d/more.conf", "[Service]\nType=oneshot\nExecStart=/usr/bin/nvidia-smi -pm 1\n"),
        named("docker.service.d/proxy.conf", "[Service]\nEnvironment=HTTPS_PROXY=http://proxy:3128\n"),
    ],
};

/// Services of packages whose unit has an `ExecStart=` and is not oneshot.
const RUNNING: &[&str] = &[
    "containerd.service",
    "docker.service",
    "kubelet.service",
    "munge.service",
    "ollama.service",
    "slurmctld.service",
    "slurmd.service",
    "ssh.service",
    "sshd.service",
];

fn judge(unit: &Unit) -> Vec<Found> {
    if unit.value("Type") == Some("oneshot") {
        return Vec::new();
    }
    let (mut lines, mut reset) = (Vec::new(), false);
    for setting in unit.of_key("ExecStart") {
        if setting.value.text.trim().is_empty() {
            lines.clear();
            reset = true;
        }
        lines.extend(setting.commands().iter().map(|command| command.line));
    }
    match (&unit.drop_in_of, &lines[..]) {
        (Some(service), [line, ..]) if !reset => {
            let message = format!(
                "this ExecStart= is added to the one of {service}; systemd refuses a service with two, \
                 unless it is Type=oneshot"
            );
            let fix = "Write an empty `ExecStart=` in the line before it";
            vec![match RUNNING.contains(&service.as_str()) {
                true => Found::error(*line, message, fix),
                // Its unit may be oneshot.
                false => Found::note(*line, message, fix),
            }]
        }
        (drop_in, [_, line, ..]) => {
            let message = "the service has more than one ExecStart= command and is not Type=oneshot; systemd \
                           refuses it";
            let fix = "Set `Type=oneshot` if both commands end by themselves, or use ExecStartPre= for the \
                       first";
            vec![Found::error(*line, message, fix).unless_certain(drop_in.is_none())]
        }
        _ => Vec::new(),
    }
}
