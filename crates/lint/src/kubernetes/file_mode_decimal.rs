//! A mode of files that is written as octal digits and read as a decimal number.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Manifest, Pod, list};
use crate::rule::{Found, Judge, Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "file-mode-decimal",
    severity: Severity::Error,
    summary: "modes of mounted files are octal numbers, or decimal ones of the same value",
    explain: include_str!("file_mode_decimal.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes:\n        - name: ssh\n          \
             secret:\n            \
             secretName: k\n            defaultMode: 600\n"
        ),
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes: [{name: s, configMap: {name: s, items: \
             [{key: \
             run.sh, path: run.sh, mode: 755}]}}]\n"
        ),
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes:\n        - name: s\n          \
             projected:\n            \
             defaultMode: 400\n            sources: [{secret: {name: k}}]\n"
        ),
    ],
    silent: &[
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes: [{name: s, secret: {secretName: k, \
             defaultMode: \
             0600}}]\n"
        ),
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes: [{name: s, secret: {secretName: k, \
             defaultMode: \
             384}}, {name: t, configMap: {name: c, defaultMode: 493}}]\n"
        ),
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes: [{name: s, secret: {secretName: k, \
             defaultMode: \
             0o400}}]\n"
        ),
    ],
};

/// The largest mode: 0777.
const MOST: i64 = 511;

/// Decimal numbers whose digits people write as a mode in octal, and which are another one in decimal.
const DIGITS: &[i64] = &[400, 440, 444, 500];

fn judge(file: &Manifest) -> Vec<Found> {
    file.pods().iter().flat_map(of_pod).collect()
}

fn of_pod(pod: &Pod) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, _, volume) in pod.volumes() {
        let at = at.to_string();
        for kind in ["secret", "configMap", "projected", "downwardAPI"] {
            let Some(source) = below(volume, &[kind]) else { continue };
            let path = ["volumes", &at, kind];
            found.extend(wrong(pod, source, "defaultMode", &path));
            for (index, item) in list(source, "items").into_iter().enumerate() {
                let index = index.to_string();
                found.extend(wrong(pod, item, "mode", &[&path[..], &["items", &index]].concat()));
            }
        }
    }
    found
}

fn wrong(pod: &Pod, value: &Value, key: &str, path: &[&str]) -> Option<Found> {
    let number = below(value, &[key])?.as_i64().filter(|number| *number > 0)?;
    // `0o600` is a number, too: only what is written in decimal has these digits.
    let octal = format!("{number:o}");
    let digits = number.to_string();
    let is_octal = digits.bytes().all(|digit| digit < b'8');
    let line = pod.line(&[path, &[key]].concat());
    let fix = match is_octal && digits.len() == 3 {
        true => format!("Write `0{digits}`, or {} in JSON", i64::from_str_radix(&digits, 8).unwrap_or(MOST)),
        false => "Write the mode with a leading 0: `0644`".to_owned(),
    };
    if number > MOST {
        let message = format!(
            "{key} {number} is decimal, octal {octal}; the API server takes at most 0777 and refuses the pod"
        );
        return Some(Found::error(line, message, fix));
    }
    let message = format!("{key} {number} is decimal: the files get the mode 0{octal}, not 0{digits}");
    DIGITS.contains(&number).then(|| Found::warning(line, message, fix))
}
