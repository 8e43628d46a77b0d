//! What an init container writes to no volume.

use crate::read::manifest::{Container, Manifest, Pod};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "init-output-lost",
    severity: Severity::Warning,
    summary: "init containers write to volumes",
    explain: include_str!("init_output_lost.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  initContainers:\n    - name: \
             get\n      image: curlimages/curl:8.9.1\n      command: [curl, -fsSL, -o, /models/m.tgz, \
             \"https://x.example/m.tgz\"]\n  containers: [{name: a, image: b, args: [--model, /models]}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: models, emptyDir: \
             {}}]\n  initContainers:\n    - name: get\n      image: python:3.12\n      command: [sh, -c, \
             \"pip install huggingface_hub && hf download a/b --local-dir /model\"]\n      volumeMounts: \
             [{name: models, mountPath: /models}]\n  containers: [{name: a, image: b, args: \
             [--model=/model/x], volumeMounts: [{name: models, mountPath: /model}]}]\n",
        ),
    ],
    silent: &[
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: models, emptyDir: \
             {}}]\n  initContainers:\n    - name: get\n      image: curlimages/curl:8.9.1\n      command: \
             [curl, -o, /models/m.tgz, \"https://x.example/m.tgz\"]\n      volumeMounts: [{name: models, \
             mountPath: /models}]\n  containers: [{name: a, image: b, args: [--model, /models], \
             volumeMounts: [{name: models, mountPath: /models}]}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  initContainers:\n    - name: \
             wait\n      image: curlimages/curl:8.9.1\n      command: [curl, -fsS, -o, /dev/null, \
             \"http://x/ready\"]\n    - name: tmp\n      image: curlimages/curl:8.9.1\n      command: \
             [curl, -o, /tmp/x, \"http://x/ready\"]\n  containers: [{name: a, image: b}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.pods().iter().flat_map(of_pod).collect()
}

fn of_pod(pod: &Pod) -> Vec<Found> {
    let containers = pod.containers();
    let (init, main): (Vec<&Container>, Vec<&Container>) = containers.iter().partition(|one| one.init);
    init.into_iter().filter_map(|one| fault(one, &main)).collect()
}

/// Options of programs that download, with the place to write to.
const OPTIONS: &[&str] = &["-o", "-O", "--output", "--output-document", "--local-dir", "-P", "--dest"];
const PROGRAMS: &[&str] = &["curl", "wget", "huggingface-cli", "hf", "aws", "gsutil", "rclone", "azcopy"];

fn fault(container: &Container, main: &[&Container]) -> Option<Found> {
    let words = container.words();
    let words: Vec<&str> = words.iter().map(|word| word.trim_matches(['"', '\'', ';', ')'])).collect();
    words.iter().find(|word| PROGRAMS.contains(&word.rsplit('/').next().unwrap_or_default()))?;
    let target = words.iter().enumerate().find_map(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value),
            None => (*word, *words.get(at + 1)?),
        };
        OPTIONS.contains(&name).then_some(value)
    })?;
    let own = |path: &str| {
        path.starts_with('/') && !["/dev/", "/tmp", "/proc"].iter().any(|start| path.starts_with(start))
    };
    if !own(target) || target.contains('$') {
        return None;
    }
    let mounts = container.mounts();
    let mounted = mounts.iter().any(|(_, path)| {
        target
            .strip_prefix(path.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    // Another container reads from there, as it seems.
    let folder = target.trim_start_matches('/').split('/').next().map(|first| format!("/{first}"))?;
    let used = main.iter().any(|one| {
        one.words().iter().any(|word| word.contains(&folder))
            || one.mounts().iter().any(|(_, path)| path.starts_with(&folder))
            || one.environment().iter().any(|(_, value)| value.starts_with(&folder))
    });
    let message = format!(
        "init container {} writes to {target}, which is no volume of it; the other containers do not see it",
        container.name
    );
    let fix = format!("Mount the volume of the other containers at {folder} in {} too", container.name);
    (!mounted && used).then(|| Found::warning(container.line(&["command"]), message, fix))
}
