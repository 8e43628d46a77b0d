//! Resources of a job for which its queue of Kueue has no quota.

use std::collections::BTreeSet;

use crate::read::compose::text;
use crate::read::manifest::{Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "queue-resources-uncovered",
    severity: Severity::Warning,
    summary: "a ClusterQueue of Kueue covers every resource that its jobs request",
    explain: include_str!("queue_resources_uncovered.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "queue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: c}\nspec:\n  \
             resourceGroups:\n    - coveredResources: [cpu, nvidia.com/gpu]\n      flavors: []\n---\n\
             apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: l, namespace: r}\nspec: \
             {clusterQueue: c}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: r, \
             labels: {kueue.x-k8s.io/queue-name: l}}\nspec:\n  suspend: true\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers:\n        - {name: a, image: b, resources: {requests: \
             {cpu: 16, memory: 128Gi}, limits: {nvidia.com/gpu: 4}}}\n",
        ),
        named_with(
            "queue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: c}\nspec:\n  \
             resourceGroups:\n    - coveredResources: [cpu, memory]\n      flavors: []\n",
            &[
                (
                    "local.yaml",
                    "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: l}\nspec: \
                     {clusterQueue: c}\n",
                ),
                (
                    "pod.yaml",
                    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {kueue.x-k8s.io/queue-name: l}}\n\
                     spec: {containers: [{name: a, image: b, resources: {limits: {nvidia.com/gpu: 1}}}]}\n",
                ),
            ],
        ),
    ],
    silent: &[
        named(
            "queue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: c}\nspec:\n  \
             resourceGroups:\n    - coveredResources: [cpu, memory]\n      flavors: []\n    - \
             coveredResources: [nvidia.com/gpu]\n      flavors: []\n---\n\
             apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: l}\nspec: {clusterQueue: \
             c}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, labels: \
             {kueue.x-k8s.io/queue-name: l}}\nspec:\n  template:\n    spec:\n      restartPolicy: \
             Never\n      \
             containers: [{name: a, image: b, resources: {requests: {cpu: 1, memory: 1Gi}, limits: \
             {nvidia.com/gpu: 4}}}]\n",
        ),
        named(
            "queue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: c}\nspec:\n  \
             resourceGroups: [{coveredResources: [cpu], flavors: []}]\n---\napiVersion: batch/v1\nkind: Job\n\
             metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: other}}\nspec: {template: {spec: \
             {restartPolicy: Never, containers: [{name: a, image: b, resources: {limits: {nvidia.com/gpu: \
             4}}}]}}}\n",
        ),
    ],
};

/// The label with the name of a LocalQueue.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";

fn judge(file: &Manifest) -> Vec<Found> {
    let all: Vec<&Document> = file.documents.iter().chain(&file.others).collect();
    // A folder of examples has many queues, and jobs that are not meant for the same one.
    if all.iter().filter(|one| one.is("ClusterQueue")).count() > 1 {
        return Vec::new();
    }
    let queues = file.documents.iter().filter(|one| one.is("ClusterQueue"));
    // Next to jobs of its own file, a queue is not meant for those of others.
    let labeled = |one: &&&Document| scalar(&one.value, &["metadata", "labels", QUEUE]).is_some();
    let own: Vec<&Document> = file.documents.iter().collect();
    let judged = if own.iter().any(|one| labeled(&one)) { &own } else { &all };
    queues.flat_map(|queue| of_queue(queue, judged)).collect()
}

fn of_queue(queue: &Document, all: &[&Document]) -> Vec<Found> {
    let groups = queue.at(&["spec"]).map_or_else(Vec::new, |spec| list(spec, "resourceGroups"));
    let covered: BTreeSet<String> =
        groups.iter().flat_map(|group| list(group, "coveredResources")).filter_map(text).collect();
    if covered.is_empty() {
        return Vec::new();
    }
    let locals: Vec<&&Document> = all
        .iter()
        .filter(|one| one.is("LocalQueue"))
        .filter(|one| scalar(&one.value, &["spec", "clusterQueue"]).as_deref() == Some(&queue.name))
        .collect();
    let mut named = BTreeSet::new();
    let mut found = Vec::new();
    for job in all {
        let Some(name) = scalar(&job.value, &["metadata", "labels", QUEUE]) else { continue };
        let space = |one: &Document| scalar(&one.value, &["metadata", "namespace"]);
        let own = locals.iter().any(|local| {
            let same = space(local).is_none() || space(job).is_none() || space(local) == space(job);
            local.name == name && same
        });
        if !own {
            continue;
        }
        // Kueue's configuration may leave out or rename other resources.
        let usual = ["cpu", "memory", "nvidia.com/gpu", "amd.com/gpu"];
        for resource in requested(job).into_iter().filter(|one| usual.contains(&one.as_str())) {
            if covered.contains(&resource) || !named.insert((job.name.clone(), resource.clone())) {
                continue;
            }
            let message = format!(
                "{} (queue {name}) requests {resource}, which the ClusterQueue {} does not cover; Kueue \
                 never \
                 admits it (`resource {resource} unavailable in ClusterQueue`)",
                job.title(),
                queue.name
            );
            let line = queue.line_of(&["spec", "resourceGroups", "0", "coveredResources"]);
            let fix = format!("Add {resource} to coveredResources, with a quota in each flavor");
            found.push(Found::warning(line, message, fix));
        }
    }
    found
}

/// The resources that the pods of a document request; a limit alone is a request, too.
fn requested(document: &Document) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for pod in document.pods() {
        for container in pod.containers() {
            for (name, amount) in
                container.resources("requests").into_iter().chain(container.resources("limits"))
            {
                if amount != "0" {
                    found.insert(name);
                }
            }
        }
    }
    found
}
