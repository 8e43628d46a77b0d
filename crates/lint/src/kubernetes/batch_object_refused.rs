//! Jobs and CronJobs that the API server refuses.

use crate::read::manifest::{Document, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "batch-object-refused",
    severity: Severity::Error,
    summary: "schedules of CronJobs can be read, and Jobs have no selector of their own",
    explain: include_str!("batch_object_refused.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "cron.yaml",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"0 2 * *\"\n  \
             jobTemplate:\n    spec:\n      template: {spec: {restartPolicy: Never, containers: [{name: a, \
             image: b}]}}\n",
        ),
        named(
            "cron.yaml",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"30 24 * * *\"\n  \
             jobTemplate:\n    spec:\n      template: {spec: {restartPolicy: Never, containers: [{name: a, \
             image: b}]}}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {app: \
             a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: {restartPolicy: Never, \
             containers: \
             [{name: a, image: b}]}\n",
        ),
    ],
    silent: &[
        named(
            "cron.yaml",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"*/15 2-4 1,15 * \
             MON-FRI\"\n  jobTemplate:\n    spec:\n      template: {spec: {restartPolicy: Never, containers: \
             [{name: a, image: b}]}}\n",
        ),
        named(
            "cron.yaml",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"@daily\"\n  \
             jobTemplate:\n    spec:\n      template: {spec: {restartPolicy: Never, containers: [{name: a, \
             image: b}]}}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  manualSelector: true\n  \
             selector: \
             {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: \
             {restartPolicy: Never, containers: [{name: a, image: b}]}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_document = |one: &Document| match (one.api.as_str(), one.kind.as_str()) {
        ("batch/v1", "CronJob") => schedule(one),
        ("batch/v1", "Job") => selector(one),
        _ => None,
    };
    file.documents.iter().filter_map(of_document).collect()
}

fn selector(document: &Document) -> Option<Found> {
    document.at(&["spec", "selector"])?;
    let manual = scalar(&document.value, &["spec", "manualSelector"]).as_deref() == Some("true");
    let message =
        "a Job has no selector of its own without `manualSelector: true`; the API server refuses it";
    (!manual).then(|| Found::error(document.line_of(&["spec", "selector"]), message, "Remove `selector`"))
}

/// The names and ranges of the fields of a schedule.
const FIELDS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 6),
];

fn schedule(document: &Document) -> Option<Found> {
    let text = scalar(&document.value, &["spec", "schedule"])?;
    if text.starts_with('@') || text.contains(['$', '{', '<', '=']) {
        return None;
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let line = document.line_of(&["spec", "schedule"]);
    if fields.len() != FIELDS.len() {
        let message = format!(
            "schedule {text:?} has {} fields; the API server requires 5: minute, hour, day, month, day \
             of the \
             week",
            fields.len()
        );
        return Some(Found::error(line, message, "Write 5 fields, such as `0 2 * * *`"));
    }
    let (field, (name, least, most)) =
        fields.iter().zip(FIELDS).find(|(field, (_, least, most))| !fits(field, *least, *most))?;
    let message = format!(
        "schedule {text:?}: {field} is not a valid {name} ({least} to {most}); the API server \
         refuses it"
    );
    Some(Found::error(line, message, format!("Write a {name} from {least} to {most}")))
}

/// Whether the numbers of a field are in its range; names of days and months are not looked at.
fn fits(field: &str, least: u32, most: u32) -> bool {
    field.split(',').all(|part| {
        let (range, _) = part.split_once('/').unwrap_or((part, ""));
        let mut ends = range.split('-').filter_map(|end| end.parse::<u32>().ok());
        ends.all(|end| least <= end && end <= most)
    })
}
