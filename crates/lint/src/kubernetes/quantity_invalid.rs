//! Amounts of memory and processors that Kubernetes cannot read, or that mean something else.

use crate::read::compose::below;
use crate::read::manifest::{Container, Document, Manifest, Pod, list, scalar};
use crate::rule::{Change, Found, Judge, Rule, Severity};

use crate::schema::is_placeholder;

pub(crate) const RULE: Rule = Rule {
    id: "quantity-invalid",
    severity: Severity::Error,
    summary: "amounts of memory and processors have a suffix that Kubernetes knows",
    explain: include_str!("quantity_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {memory: 16GB}"),
        pod!("limits: {memory: 32 Gi}"),
        pod!("limits: {memory: 400m}"),
        pod!("limits: {memory: 64}"),
        pod!("limits: {cpu: 2}\n        requests: {cpu: 4}"),
        crate::rule::named(
            "claim.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec:\n  accessModes: \
             [ReadWriteOnce]\n  resources: {requests: {storage: 10GB}}\n",
        ),
    ],
    silent: &[
        pod!("limits: {cpu: 500m, memory: 1.5Gi}\n        requests: {cpu: \"0.25\", memory: 1e9}"),
        pod!("limits: {memory: 17179869184, ephemeral-storage: 10G}"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| {
        let containers = pod.containers();
        let mut found: Vec<Found> = containers.iter().flat_map(resources).collect();
        found.extend(pod.volumes().iter().filter_map(|(index, name, volume)| {
            let size = scalar(volume, &["emptyDir", "sizeLimit"])?;
            let line = pod.line(&["volumes", &index.to_string(), "emptyDir", "sizeLimit"]);
            fault(&format!("sizeLimit of volume {name}"), &size, true, line)
        }));
        found
    };
    let claims = file.documents.iter().flat_map(claims);
    file.pods().iter().flat_map(of_pod).chain(claims).collect()
}

/// The sizes of a PersistentVolumeClaim and of the templates for claims in a StatefulSet.
fn claims(document: &Document) -> Vec<Found> {
    let size = ["resources", "requests", "storage"];
    let own = (document.kind == "PersistentVolumeClaim").then(|| vec!["spec".to_owned()]);
    let templates =
        document.at(&["spec"]).map(|spec| list(spec, "volumeClaimTemplates").len()).unwrap_or_default();
    let templates = (0..templates).map(|at| {
        vec!["spec".to_owned(), "volumeClaimTemplates".to_owned(), at.to_string(), "spec".to_owned()]
    });
    let mut found = Vec::new();
    for path in own.into_iter().chain(templates) {
        let spec = match &path[..] {
            [spec] => document.at(&[spec]),
            [_, key, at, _] => document
                .at(&["spec"])
                .and_then(|spec| list(spec, key).get(at.parse::<usize>().ok()?).copied())
                .and_then(|template| below(template, &["spec"])),
            _ => None,
        };
        let Some(value) = spec.and_then(|spec| scalar(spec, &size)) else { continue };
        let line = document.line(&[path.as_slice(), &size.map(str::to_owned)].concat());
        found.extend(fault("storage of the claim", &value, true, line));
    }
    found
}

fn resources(container: &Container) -> Vec<Found> {
    let mut found = Vec::new();
    let natives = ["cpu", "memory", "ephemeral-storage"];
    let (limits, requests) = (container.resources("limits"), container.resources("requests"));
    for (kind, resources) in [("limits", &limits), ("requests", &requests)] {
        for (name, value) in resources.iter().filter(|(name, _)| natives.contains(&name.as_str())) {
            let line = container.line(&["resources", kind, name]);
            found.extend(fault(
                &format!("{name} of container {}", container.name),
                value,
                name != "cpu",
                line,
            ));
        }
    }
    for (name, request) in requests.iter().filter(|(name, _)| natives.contains(&name.as_str())) {
        let Some((_, limit)) = limits.iter().find(|(known, _)| known == name) else { continue };
        if let (Some(least), Some(most)) = (amount(request), amount(limit))
            && least > most
        {
            let message = format!(
                "{name} of container {}: the request {request} is greater than the limit {limit}",
                container.name
            );
            let line = container.line(&["resources", "requests", name]);
            found.push(Found::error(line, message, "Reduce the request"));
        }
    }
    found
}

fn fault(what: &str, value: &str, bytes: bool, line: usize) -> Option<Found> {
    if is_placeholder(value) {
        return None;
    }
    let Some(amount) = amount(value) else {
        let message = format!("{what}: {value:?} is not a valid quantity; the API server refuses it");
        let unit = value.trim_end_matches(['b', 'B', 'i']).replace(' ', "");
        let fix = match unit.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
            true => format!("Write `{}i`, or a suffix such as Mi, Gi, M or G", unit.to_uppercase()),
            false => "Write a number with a suffix such as m, Mi, Gi".to_owned(),
        };
        // Kubernetes writes bytes without a letter: 16GB is 16G, 16GiB is 16Gi.
        let short = value.strip_suffix('B').filter(|short| bytes && amount_of_bytes(short));
        let change = short.map(|short| Change::word(line, value, short));
        let fix = short.map_or(fix, |short| format!("Write `{short}`"));
        return Some(Found::error(line, message, fix).change_if(change));
    };
    if !bytes || amount == 0.0 {
        return None;
    }
    if value.ends_with('m') {
        let message = format!(
            "{what}: the suffix m in {value} is for thousandths: less than one byte \
            each"
        );
        return Some(Found::warning(line, message, "Write Mi for mebibytes"));
    }
    let message = format!("{what}: {value} is a number of bytes");
    (amount < 1_048_576.0).then(|| Found::warning(line, message, "Add a suffix: Mi, Gi"))
}

/// Whether a quantity has a suffix that counts bytes.
fn amount_of_bytes(value: &str) -> bool {
    let suffix = value.trim_start_matches(|letter: char| letter.is_ascii_digit());
    amount(value).is_some() && !suffix.is_empty() && !["n", "u", "m"].contains(&suffix)
}

/// Suffixes with their factors.
const SUFFIXES: &[(&str, f64)] = &[
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("", 1.0),
];

/// What a quantity amounts to; `None` where it is none.
pub(super) fn amount(value: &str) -> Option<f64> {
    SUFFIXES.iter().find_map(|(suffix, factor)| {
        let number = value.strip_suffix(suffix)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        plain.then(|| number.parse::<f64>().ok())?.map(|number| number * factor)
    })
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts() {
        assert_eq!((amount("1Ki"), amount("2"), amount("500m")), (Some(1024.0), Some(2.0), Some(0.5)));
        assert_eq!(
            (amount("1e3"), amount("1GB"), amount("1 Gi"), amount("Gi")),
            (Some(1000.0), None, None, None)
        );
    }
}
