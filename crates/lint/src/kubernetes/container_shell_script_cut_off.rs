//! A shell of a container that gets only the first word of its arguments as its script.

use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::shell_words::cut_off;

macro_rules! pod_of {
    ($keys:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                 image: b\n",
                $keys
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "container-shell-script-cut-off",
    severity: Severity::Error,
    summary: "the script of `bash -c` is one item of command or args",
    explain: include_str!("container_shell_script_cut_off.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod_of!(
            "      command: [\"/bin/bash\", \"-c\"]\n      args: [\"python\", \"train.py\", \"--epochs\", \
             \"3\"]\n"
        ),
        pod_of!("      command: [sh, -c, torchrun, --standalone, train.py]\n"),
        pod_of!(
            "      command:\n        - bash\n        - -c\n      args:\n        - torchrun\n        - \
             --nproc_per_node=8\n        - train.py\n"
        ),
    ],
    silent: &[
        pod_of!("      command: [\"/bin/bash\", \"-c\"]\n      args: [\"python train.py --epochs 3\"]\n"),
        pod_of!("      command: [bash, -c, 'exec \"$0\" \"$@\"', python, train.py]\n"),
        pod_of!("      command: [bash, /run.sh]\n      args: [-c, config.yaml, \"7\"]\n"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let of = |key| list(container.value, key).into_iter().filter_map(text);
    let words: Vec<String> = of("command").chain(of("args")).collect();
    let cut = cut_off(&words)?;
    let key = if list(container.value, "args").is_empty() { "command" } else { "args" };
    let message = format!("container {}: {}", container.name, cut.message());
    Some(Found::error(container.line(&[key]), message, cut.fix()))
}
