//! A restart policy that the pod's controller does not allow.

use crate::read::manifest::{Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "restart-policy-refused",
    severity: Severity::Error,
    summary: "the restart policy is one that the controller of the pod allows",
    explain: include_str!("restart_policy_refused.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Always\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
             containers: [{name: a, image: b}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: \
                {matchLabels: {a: \
             b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      restartPolicy: Never\n\
             \x20     \
             containers: [{name: a, image: b}]\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  podFailurePolicy:\n    rules: \
             [{action: \
             Ignore, onPodConditions: [{type: DisruptionTarget}]}]\n  template:\n    spec:\n      \
             restartPolicy: \
             OnFailure\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "cron.yaml",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"0 3 * * *\"\n  \
             jobTemplate:\n    spec:\n      podFailurePolicy: {rules: [{action: FailJob, onExitCodes: \
             {operator: In, \
             values: [2]}}]}\n      template:\n        spec:\n          restartPolicy: OnFailure\n          \
             containers: [{name: a, image: b}]\n",
        ),
    ],
    silent: &[
        job!(
            "  podFailurePolicy:\n    rules: [{action: Ignore, onPodConditions: [{type: \
             DisruptionTarget}]}]\n",
            "      containers: [{name: a, image: b}]\n"
        ),
        named(
            "job.yaml",
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec:\n  \
             minAvailable: 1\n  schedulerName: volcano\n  tasks:\n    - name: t\n      replicas: 1\n      \
             template: {spec: {containers: [{name: a, image: b}]}}\n",
        ),
        job!("", "      containers: [{name: a, image: b}]\n"),
        named(
            "jobs.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n\
             \x20 replicatedJobs:\n    - name: b\n      template:\n        spec:\n          template:\n\
             \x20           spec:\n              containers: [{name: a, image: b}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: \
                {matchLabels: {a: \
             b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: a, \
             image: \
             b}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.pods().iter().filter_map(refused).collect()
}

/// Whether the Job around a pod has rules for its failures.
fn has_failure_policy(pod: &Pod) -> bool {
    let path: Vec<&str> = pod.path.iter().map(String::as_str).collect();
    let Some(job) = path.strip_suffix(&["template", "spec"]) else { return false };
    pod.document.at(&[job, &["podFailurePolicy"]].concat()).is_some()
}

fn refused(pod: &Pod) -> Option<Found> {
    let kind = pod.document.kind.as_str();
    let policy = scalar(pod.spec, &["restartPolicy"]);
    // Other groups have kinds of the same names: Volcano has a Job.
    let (group, _) = pod.document.api.split_once('/')?;
    let (allowed, default): (&[&str], &str) = match (group, kind) {
        ("batch", "Job" | "CronJob") => (&["OnFailure", "Never"], "Always"),
        // Its webhook sets OnFailure.
        ("jobset.x-k8s.io", "JobSet") => (&["OnFailure", "Never"], "OnFailure"),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => (&["Always"], "Always"),
        _ => return None,
    };
    let known = ["Always", "OnFailure", "Never"];
    let set = policy.as_deref().unwrap_or(default);
    if set == "OnFailure" && has_failure_policy(pod) {
        let message = format!(
            "{kind} allows only restartPolicy Never with podFailurePolicy, not OnFailure; the API server \
             refuses it"
        );
        let fix = "Write `restartPolicy: Never`, or remove podFailurePolicy";
        return Some(Found::error(pod.line(&["restartPolicy"]), message, fix));
    }
    // Another word is a fault of its own.
    if allowed.contains(&set) || !known.contains(&set) {
        return None;
    }
    let message = match policy {
        Some(policy) => {
            format!("{kind} does not allow restartPolicy {policy}, only {}", allowed.join(" or "))
        }
        None => format!(
            "{kind} requires a restartPolicy: {}; the default Always is refused",
            allowed.join(" or ")
        ),
    };
    let fix = match allowed {
        ["Always"] => "Remove it, or use a Job".to_owned(),
        _ => "Write `restartPolicy: Never`".to_owned(),
    };
    Some(Found::error(pod.line(&["restartPolicy"]), message, fix))
}
