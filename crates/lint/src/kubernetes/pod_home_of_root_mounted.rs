//! A mount below /root for a container whose user may not enter it.

use crate::compose::home_of_root_mounted::HOMES;
use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! of_user {
    ($pod:literal, $container:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
                $pod,
                "  containers:\n    - name: a\n      image: b\n",
                $container,
                "      volumeMounts: [{name: c, mountPath: /root/.cache/huggingface}]\n  volumes: [{name: c, \
                 emptyDir: {}}]\n"
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "pod-home-of-root-mounted",
    severity: Severity::Warning,
    summary: "containers that do not run as root mount nothing below /root",
    explain: include_str!("pod_home_of_root_mounted.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        of_user!("", "      securityContext: {runAsUser: 1000, runAsNonRoot: true}\n"),
        of_user!("  securityContext:\n    runAsUser: 65534\n    fsGroup: 65534\n", ""),
    ],
    silent: &[
        of_user!("", ""),
        of_user!("  securityContext: {runAsUser: 1000}\n", "      securityContext: {runAsUser: 0}\n"),
        of_user!("  securityContext: {runAsUser: 1000}\n", "      env: [{name: HF_HOME, value: /data/hf}]\n"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let of = |value| scalar(value, &["securityContext", "runAsUser"]);
    let user: u64 = of(container.value).or_else(|| of(container.pod.spec))?.parse().ok()?;
    let mounts = list(container.value, "volumeMounts").into_iter().enumerate();
    let paths = mounts.filter_map(|(at, mount)| Some((at, scalar(mount, &["mountPath"])?)));
    let (at, path) = paths.into_iter().find(|(_, path)| path.starts_with("/root/"))?;
    let environment = container.environment();
    let elsewhere =
        environment.iter().any(|(name, value)| HOMES.contains(&name.as_str()) && !value.starts_with("/root"));
    if user == 0 || elsewhere || below(container.value, &["envFrom"]).is_some() {
        return None;
    }
    let message = format!(
        "container {} runs as user {user}, which cannot enter /root (mode 0700); the mount at {path} is \
         out of its reach (`Permission denied`)",
        container.name
    );
    let fix = "Mount it at a path outside of /root, and set HF_HOME or HOME to it";
    Some(Found::warning(container.line(&["volumeMounts", &at.to_string()]), message, fix))
}
