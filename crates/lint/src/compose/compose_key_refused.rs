//! Keys and types that docker compose refuses.

use catalog::object_keys::Reader;

use super::healthcheck_invalid::DURATIONS;
use crate::location::Location;
use crate::read::compose::{Compose, IsStack};
use crate::rule::{Change, Found, Judge, Rule, Severity, compose};
use crate::schema::{Fault, Problem, Schema};

pub(crate) const RULE: Rule = Rule {
    id: "compose-key-refused",
    severity: Severity::Error,
    summary: "every key of a compose file exists, at its level, with a value of its type",
    explain: include_str!("compose_key_refused.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
                \x20         \
             devices:\n            - driver: nvidia\n              device_ids: [0, 1]\n              \
             capabilities: [gpu]\n",
        ),
        compose("services:\n  a:\n    image: b\n    shmsize: 8gb\n"),
        compose("services:\n  a:\n    image: b\n    deploy:\n      shm_size: 8gb\n"),
        compose("services:\n  a:\n    image: b\n    environment:\n      - A: 1\n"),
        compose(
            "services:\n  a:\n    image: b\n    depends_on: {c: {condition: healthy}}\n  c:\n    image: \
                b\n",
        ),
        compose("services:\n  a:\n    image: b\n    ulimits: {memlock: {soft: -1}}\n"),
    ],
    silent: &[
        compose(
            "x-a: &a\n  image: b\nservices:\n  a:\n    <<: *a\n    x-b: c\n    ports: [8000, \"80:80\", \
             {target: 80}]\n    shm_size: ${SHM:-8gb}\n    environment: {A: 1, B: true, C: }\n    ulimits: \
             {memlock: -1}\n",
        ),
        compose(
            "x-a: &a {A: b}\nx-c: &c {<<: *a, C: d}\nservices:\n  a:\n    image: b\n    environment: \
             {<<: *c, E: 1}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes || file.broken.is_some() || !file.root.is_mapping() {
        return Vec::new();
    }
    let schema = Schema::new(file.catalog.object_keys(), Reader::Compose);
    let faults = schema.faults("file", &file.root).into_iter();
    // The first level has a rule of its own, and so have device requests.
    let own = faults.filter(|fault| fault.path.len() > 1);
    let own = own.filter(|fault| !is_number_for_duration(fault));
    let mut all = Merged::default();
    for fault in own {
        let item = Merged::item(&fault);
        if let Some(found) = finding(file, fault) {
            all.add(item, found);
        }
    }
    all.close();
    all.found.dedup();
    all.found
}

/// Findings, with one for the items of a list that have the same fault.
#[derive(Default)]
struct Merged {
    found: Vec<Found>,
    /// The list of the last one, and what is wrong with its item; and how many more items have it.
    last: Option<(Vec<String>, String)>,
    more: usize,
}

impl Merged {
    /// The list of an item, and what is wrong with it.
    fn item(fault: &Fault) -> Option<(Vec<String>, String)> {
        let (index, list) = fault.path.split_last()?;
        index.parse::<usize>().is_ok().then(|| (list.to_vec(), format!("{:?}", fault.problem)))
    }

    fn add(&mut self, item: Option<(Vec<String>, String)>, found: Found) {
        match self.found.last_mut() {
            Some(first) if item.is_some() && item == self.last => {
                first.changes.extend(found.changes);
                self.more += 1;
            }
            _ => {
                self.close();
                self.found.push(found);
                self.last = item;
            }
        }
    }

    /// Says of the last one how many more items are like it.
    fn close(&mut self) {
        let (more, items) = (self.more, if self.more == 1 { "item" } else { "items" });
        if let Some(first) = self.found.last_mut().filter(|_| more > 0) {
            first.message.push_str(&format!("; {more} more {items} of the list, too"));
        }
        self.more = 0;
    }
}

/// `interval: 5` of a health check: healthcheck-invalid names the value to write, which needs a unit.
fn is_number_for_duration(fault: &Fault) -> bool {
    let parts: Vec<&str> = fault.path.iter().map(String::as_str).collect();
    matches!(fault.problem, Problem::Type { .. })
        && matches!(&parts[..], ["services", _, "healthcheck", key] if DURATIONS.contains(key))
}

fn finding(file: &Compose, fault: Fault) -> Option<Found> {
    let keys: Vec<&str> =
        fault.path.iter().map(String::as_str).filter(|key| key.parse::<usize>().is_err()).collect();
    let (line, path): (Location, String) = (file.line(&keys), fault.path.join("."));
    let key = fault.path.last().map_or("", String::as_str);
    Some(match fault.problem {
        Problem::Unknown { near: Some(ref near), .. } => {
            let message = format!("docker compose refuses the file: unknown key {path}");
            let change = fault.rename(&file.root, near, line.line);
            Found::error(line, message, format!("Write `{near}`")).change_if(change)
        }
        Problem::Unknown { home: Some(home), .. } => {
            let message =
                format!("docker compose refuses the file: unknown key {path}; it belongs to `{home}`");
            Found::error(line, message, format!("Move `{key}` to `{home}`; check its indentation"))
        }
        Problem::Unknown { .. } => {
            let message = format!("docker compose refuses the file: unknown key {path}");
            Found::error(line, message, "Delete it, or check its name and indentation")
        }
        Problem::Type { expected, actual } => {
            let message =
                format!("docker compose refuses the file: {path} must be {expected}, but is {actual}");
            let change = (expected == "a string").then(|| quoted(line.line, key));
            let written = format!("Write {expected}");
            let fix = change.as_ref().map_or(written, |_| "Put the value in quotes".to_owned());
            Found::error(line, message, fix).change_if(change)
        }
        Problem::Word { value, allowed } => {
            let message =
                format!("docker compose refuses the file: {path} is {value:?}, not one of {allowed}");
            Found::error(line, message, format!("Write one of: {allowed}"))
        }
        Problem::Missing { key } if key == "capabilities" => return None,
        Problem::Missing { key } => {
            let message =
                format!("docker compose refuses the file: {path} has no `{key}`, which is required");
            Found::error(line, message, format!("Add `{key}`"))
        }
    })
}

/// Quotes around the value of a key, or around an item of the list below it.
fn quoted(line: usize, key: &str) -> Change {
    match key.parse() {
        Ok(index) => Change::QuoteItem { line, index },
        Err(_) => Change::quote(line, key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    #[test]
    fn items_of_a_list_are_one_finding() {
        let text = "services:\n  a:\n    image: b\n    command: [1, c, 2, 3]\n    dns: [4]\n";
        let file = File::new(catalog::testing::catalog(), "compose.yaml", text, Kind::Compose);
        let found = lint(&[&RULE], &[], &file);
        let messages: Vec<&str> = found.iter().map(|one| one.found.message.as_str()).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages[0].ends_with("; 2 more items of the list, too"), "{messages:?}");
    }
}
