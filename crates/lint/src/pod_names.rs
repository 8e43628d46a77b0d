//! The DNS names of the pods that a document creates.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Document, list, scalar};

/// Why a name that looks like one of these pods does not resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    pub message: String,
    pub fix: String,
    /// False where something outside of the files may add the name.
    pub certain: bool,
}

/// A host name that is asked for: `trainer-0.ddp.ml.svc.cluster.local`.
struct Host<'h> {
    whole: &'h str,
    pod: &'h str,
    subdomain: Option<&'h str>,
    /// Whether a Service of the files has a name.
    is_service: &'h dyn Fn(&str) -> bool,
}

/// Why a host name does not resolve, where it is one of the pods of a document.
pub(crate) fn unresolved(
    document: &Document,
    host: &str,
    is_service: &dyn Fn(&str) -> bool,
) -> Option<Unresolved> {
    let mut labels = host.split('.');
    let (pod, subdomain) = (labels.next()?, labels.next());
    // A Service of that name leads to the pod itself.
    if document.name.is_empty() || is_service(pod) {
        return None;
    }
    let host = Host { whole: host, pod, subdomain, is_service };
    match document.kind.as_str() {
        "JobSet" => of_job_set(document, &host),
        "Job" if document.api == "batch/v1" => of_job(document, &host),
        "StatefulSet" => of_stateful_set(document, &host),
        "Deployment" | "ReplicaSet" | "DaemonSet" => of_random_names(document, &host),
        _ => None,
    }
}

/// The number behind `NAME-`.
fn ordinal(pod: &str, name: &str) -> Option<u64> {
    pod.strip_prefix(name)?.strip_prefix('-')?.parse().ok()
}

fn number(value: &Value, path: &[&str]) -> Option<u64> {
    scalar(value, path)?.parse().ok()
}

fn certain(message: String, fix: String) -> Option<Unresolved> {
    Some(Unresolved { message, fix, certain: true })
}

fn likely(message: String, fix: impl Into<String>) -> Option<Unresolved> {
    Some(Unresolved { message, fix: fix.into(), certain: false })
}

/// Pods of a JobSet are `JOBSET-REPLICATEDJOB-JOB-POD`, in its subdomain.
fn of_job_set(document: &Document, host: &Host) -> Option<Unresolved> {
    let spec = document.at(&["spec"])?;
    let jobs = list(spec, "replicatedJobs").into_iter();
    let (job, name, rest) = jobs
        .filter_map(|job| {
            let name = scalar(job, &["name"])?;
            let rest = host.pod.strip_prefix(&format!("{}-{name}-", document.name))?;
            Some((job, name, rest.to_owned()))
        })
        .find(|(_, _, rest)| rest.split('-').all(|part| part.parse::<u64>().is_ok()))?;
    let subdomain = scalar(spec, &["network", "subdomain"]).unwrap_or_else(|| document.name.clone());
    let indices: Vec<u64> = rest.split('-').filter_map(|part| part.parse().ok()).collect();
    let whole = document.name.clone();
    let [at, pod] = indices[..] else {
        let first = indices.first().copied().unwrap_or_default();
        let message = format!(
            "{} names no pod of JobSet {whole}: they are {whole}-{name}-JOB-POD.{subdomain}, with the \
             index of \
             the job and that of the pod",
            host.whole
        );
        return certain(message, format!("Write `{whole}-{name}-{first}-0.{subdomain}`"));
    };
    if scalar(spec, &["network", "enableDNSHostnames"]).as_deref() == Some("false") {
        let message =
            format!("{} does not resolve: JobSet {whole} has `enableDNSHostnames: false`", host.whole);
        return likely(message, "Remove `enableDNSHostnames: false`");
    }
    let right = format!("{whole}-{name}-{at}-{pod}.{subdomain}");
    match host.subdomain {
        None => {
            let message = format!(
                "{} does not resolve without the subdomain of JobSet {whole}, {subdomain}",
                host.whole
            );
            return likely(message, format!("Write `{right}`"));
        }
        Some(other) if other != subdomain && !(host.is_service)(other) => {
            let message = format!(
                "{} does not resolve: the subdomain of JobSet {whole} is {subdomain}, not {other}",
                host.whole
            );
            return likely(message, format!("Write `{right}`"));
        }
        Some(_) => {}
    }
    let replicas = number(job, &["replicas"]).unwrap_or(1);
    let template = below(job, &["template", "spec"])?;
    let pods = number(template, &["completions"]).or_else(|| number(template, &["parallelism"])).unwrap_or(1);
    let outside = at >= replicas || pod >= pods;
    let message = format!(
        "{} names no pod: replicated job {name} of JobSet {whole} has {replicas} jobs of {pods} pods, \
         counted \
         from 0",
        host.whole
    );
    outside.then(|| likely(message, "Count jobs and pods from 0"))?
}

/// Pods of an Indexed Job are `JOB-INDEX`, in the subdomain of their template.
fn of_job(document: &Document, host: &Host) -> Option<Unresolved> {
    let index = ordinal(host.pod, &document.name)?;
    let (spec, whole) = (document.at(&["spec"])?, host.whole);
    let pod = below(spec, &["template", "spec"])?;
    if ["hostname", "hostAliases"].iter().any(|key| below(pod, &[key]).is_some()) {
        return None;
    }
    let name = document.name.as_str();
    if scalar(spec, &["completionMode"]).as_deref() != Some("Indexed") {
        let message = format!(
            "{whole} names no pod of Job {name}: its pods have random names, because completionMode is not \
             Indexed"
        );
        return likely(message, "Set `completionMode: Indexed` and `completions`");
    }
    match (scalar(pod, &["subdomain"]), host.subdomain) {
        (None, Some(service)) => {
            let message = format!("{whole} does not resolve: the pods of Job {name} have no subdomain");
            return likely(message, format!("Set `subdomain: {service}` in the pod template"));
        }
        (None, None) => {
            let message = format!("{whole} does not resolve: the pods of Job {name} have no subdomain");
            return likely(message, "Add a headless Service, set it as `subdomain`, and write `POD.SERVICE`");
        }
        (Some(subdomain), None) => {
            let message = format!("{whole} does not resolve without the subdomain {subdomain} of the pods");
            return likely(message, format!("Write `{whole}.{subdomain}`"));
        }
        (Some(subdomain), Some(other)) if subdomain != other && !(host.is_service)(&subdomain) => {
            return None;
        }
        (Some(subdomain), Some(other)) if subdomain != other => {
            let message =
                format!("{whole} does not resolve: the subdomain of Job {name} is {subdomain}, not {other}");
            return likely(message, format!("Write `{}.{subdomain}`", host.pod));
        }
        _ => {}
    }
    let pods = number(spec, &["completions"]).filter(|count| index >= *count)?;
    let message = format!("{whole} names no pod: Job {name} has {pods} pods, counted from 0");
    likely(message, "Count pods from 0")
}

/// Pods of a StatefulSet are `SET-ORDINAL`, in the subdomain of its Service.
fn of_stateful_set(document: &Document, host: &Host) -> Option<Unresolved> {
    let index = ordinal(host.pod, &document.name)?;
    let (spec, whole, name) = (document.at(&["spec"])?, host.whole, document.name.as_str());
    if below(spec, &["template", "spec", "hostAliases"]).is_some() {
        return None;
    }
    let service = scalar(spec, &["serviceName"])?;
    match host.subdomain {
        None => {
            let message =
                format!("{whole} does not resolve without the Service {service} of StatefulSet {name}");
            return likely(message, format!("Write `{whole}.{service}`"));
        }
        // The parts behind the service name say that it is one of the cluster.
        Some(other) if other != service && (host.whole.contains(".svc") || (host.is_service)(&service)) => {
            let message = format!(
                "{whole} does not resolve: the serviceName of StatefulSet {name} is {service}, not {other}"
            );
            return likely(message, format!("Write `{}.{service}`", host.pod));
        }
        Some(_) => {}
    }
    let first = number(spec, &["ordinals", "start"]).unwrap_or(0);
    let end = number(spec, &["replicas"]).map(|count| first.saturating_add(count))?;
    let message = format!(
        "{whole} names no pod: the pods of StatefulSet {name} are {name}-{first} to {name}-{}",
        end.saturating_sub(1)
    );
    (index < first || index >= end).then(|| likely(message, "Name a pod that exists"))?
}

/// Pods of other controllers have random names.
fn of_random_names(document: &Document, host: &Host) -> Option<Unresolved> {
    ordinal(host.pod, &document.name)?;
    host.subdomain.filter(|name| (host.is_service)(name))?;
    let message = format!(
        "{} names no pod of {}: its pods have random names and no DNS record of their own",
        host.whole,
        document.title()
    );
    likely(message, "Use a StatefulSet with a headless Service")
}
