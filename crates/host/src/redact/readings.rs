//! Secrets and names at every place of a snapshot: in questions and in answers of every kind.
//! docs/measurements/redaction.md has the numbers.

use super::tests::{Secret, redacted};
use crate::snapshot::Kept;

#[derive(serde::Deserialize)]
struct Place {
    id: String,
    ask: String,
    text: String,
    #[serde(default)]
    keeps: Vec<String>,
    /// Values that nothing gives away must be gone, too.
    #[serde(default)]
    closed: bool,
    /// A tool wrote it from its own database: a plain word there is no name.
    #[serde(default)]
    technical: bool,
}

#[derive(serde::Deserialize)]
struct Name {
    id: String,
    value: String,
    /// What must be gone, where it is not the whole value.
    #[serde(default)]
    hide: Vec<String>,
}

const MACHINE: &[(&str, &str)] = &[
    ("read /proc/sys/kernel/hostname", "gpunode\n"),
    ("environment", "HOME=/root\nUSER=mkeller\n"),
    ("read /etc/group", "root:x:0:\ndocker:x:998:bweber\nahuang:x:1001:\n"),
];

fn places() -> Vec<Place> {
    serde_yaml::from_str(include_str!("../../../../tests/redaction/readings.yaml")).unwrap()
}

/// What is left, what was lost, and how many were planted.
#[derive(Default)]
struct Count {
    planted: usize,
    left: Vec<String>,
    lost: Vec<String>,
}

impl Count {
    /// Plants `value` at a place, and looks for each of `hidden` in the whole snapshot.
    fn plant(&mut self, id: &str, place: &Place, key: &str, value: &str, hidden: &[&str]) {
        let json = place.text.starts_with('{') || place.text.starts_with('"');
        let quoted = if json { value.replace('\\', "\\\\").replace('\n', "\\n") } else { value.to_owned() };
        let ask = place.ask.replace("{S}", value);
        let text = place.text.replace("{K}", key).replace("{S}", &quoted);
        let mut machine = MACHINE.to_vec();
        machine.retain(|(known, _)| *known != ask);
        machine.push((&ask, &text));
        if ask == "environment" {
            machine.push(("environment", ""));
        }
        let with_user = format!("USER=mkeller\n{text}");
        if let Some(last) = machine.last_mut().filter(|(known, _)| *known == "environment") {
            last.1 = &with_user;
        }
        let readings = redacted(&machine);
        let shown: String = readings.iter().map(|(ask, kept)| format!("{ask} {}\n", flat(kept))).collect();
        self.planted += 1;
        if hidden.iter().any(|part| shown.contains(part)) {
            self.left.push(format!("{id} in {}: {shown}", place.id));
        }
        // A key that is cut off hides what follows; a space ends the name of a program.
        let cut_off = value.contains('\n') || value.contains(' ') && place.ask.contains("{S}");
        if let Some(lost) = place.keeps.iter().find(|kept| !cut_off && !shown.contains(*kept)) {
            self.lost.push(format!("{id} in {}: {lost:?} is gone: {shown}", place.id));
        }
    }

    fn assert_none(self) {
        let found =
            format!("{} planted, {} left, {} places damaged", self.planted, self.left.len(), self.lost.len());
        assert!(
            self.left.is_empty() && self.lost.is_empty(),
            "{found}\n{}\n{}\n{found}",
            self.left.join("\n"),
            self.lost.join("\n")
        );
    }
}

fn flat(kept: &Kept) -> String {
    match kept {
        Kept::Text(text) => text.clone(),
        Kept::Ran { stdout, stderr, .. } => format!("{stdout}\n{stderr}"),
        other => format!("{other:?}"),
    }
}

/// Every kind of secret at every place of a snapshot.
#[test]
fn no_secret_survives_in_a_question_or_an_answer() {
    let text = include_str!("../../../../tests/redaction/secrets.yaml");
    let secrets: Vec<Secret> = serde_yaml::from_str(text).unwrap();
    let mut count = Count::default();
    for place in &places() {
        for (at, secret) in secrets.iter().enumerate() {
            let in_question = place.ask.contains("{S}");
            // A key of several lines is in no name; what only its name gives away needs a name, except
            // where nothing stays that is not known.
            let fits = match (secret.lines, secret.keys.is_empty()) {
                (true, _) => !in_question && !place.text.contains("{K}") && !place.closed,
                (false, true) => true,
                (false, false) => !in_question && place.closed,
            };
            if !fits {
                continue;
            }
            let value = secret.parts.concat();
            let hidden = secret.parts[secret.hide..].concat();
            let ends = [&hidden[..hidden.len().min(8)], &hidden[hidden.len().saturating_sub(8)..]];
            let key = secret.keys.get(at % secret.keys.len().max(1)).map_or("NOTE", String::as_str);
            count.plant(&secret.id, place, key, &value, &ends);
        }
    }
    assert!(count.planted > 4500, "{}", count.planted);
    count.assert_none();
}

/// Names of people, machines and networks at the same places.
#[test]
fn no_name_survives_in_a_question_or_an_answer() {
    let text = include_str!("../../../../tests/redaction/names.yaml");
    let names: Vec<Name> = serde_yaml::from_str(text).unwrap();
    let mut count = Count::default();
    for place in places().iter().filter(|place| !place.technical) {
        for name in &names {
            let hidden: Vec<&str> = name.hide.iter().map(String::as_str).collect();
            let whole = [name.value.as_str()];
            let hidden = if hidden.is_empty() { &whole[..] } else { &hidden[..] };
            count.plant(&name.id, place, "NOTE", &name.value, hidden);
        }
    }
    count.assert_none();
}
