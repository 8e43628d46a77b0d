//! Keys and values in the container toolkit's config.toml that it does not read as they are meant.

use std::collections::HashMap;

use toml::{Table, Value};

use crate::read::machine::Machine;
use crate::rule::{Change, Found, Judge, Kind, Rule, Severity, named};
use catalog::toolkit_keys::Kind::{Text, Texts, Truth};
use catalog::toolkit_keys::ToolkitKey;

pub(crate) const RULE: Rule = Rule {
    id: "toolkit-key-invalid",
    severity: Severity::Error,
    summary: "the container toolkit reads every key of its config.toml",
    explain: include_str!("toolkit_key_invalid.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("nvidia-container-runtime/config.toml", "[nvidia-container-runtime]\nruntimes = \"runc\"\n"),
        named("nvidia-container-runtime/config.toml", "[nvidia-container-cli]\nno-cgroup = true\n"),
        named(
            "nvidia-container-runtime/config.toml",
            "mode = \"cdi\"\n\n[nvidia-container-runtime]\nlog-level = \"info\"\n",
        ),
        named(
            "nvidia-container-runtime/config.toml",
            "[nvidia-container-runtime]\nlog-level = \"verbose\"\n",
        ),
        named(
            "nvidia-container-runtime/config.toml",
            "supported-driver-capabilities = \"compute,utilities\"\n",
        ),
        named(
            "nvidia-container-runtime/config.toml",
            "[features]\ndisable-cuda-compat-lib-hook = \"true\"\n",
        ),
    ],
    silent: &[named(
        "nvidia-container-runtime/config.toml",
        "disable-require = false\nsupported-driver-capabilities = \"compat32,compute,utility\"\n\n\
            [nvidia-container-cli]\n\
         environment = []\nload-kmods = true\nldconfig = \"@/sbin/ldconfig.real\"\n\n\
         [nvidia-container-runtime]\nlog-level = \
         \"info\"\nmode = \"auto\"\nruntimes = [\"runc\", \"crun\"]\n\n\
         [nvidia-container-runtime.modes.cdi]\ndefault-kind = \
         \"nvidia.com/gpu\"\nspec-dirs = [\"/etc/cdi\"]\n\n[nvidia-container-runtime.modes.legacy]\n\
         cuda-compat-mode = \"ldconfig\"\n\n[nvidia-ctk]\npath = \"nvidia-ctk\"\n\n\
         [features]\nallow-ldconfig-from-container = false\n",
    )],
};

fn judge(machine: &Machine) -> Vec<Found> {
    let read = machine.text.parse::<Table>();
    let (Kind::ToolkitConfig, Ok(table)) = (machine.kind, read) else { return Vec::new() };
    let mut found = Vec::new();
    section((machine, &lines(&machine.text)), "", &table, &mut found);
    found
}

/// The lines of keys, by their section and name.
type Lines<'t> = HashMap<(&'t str, &'t str), usize>;

fn lines(text: &str) -> Lines<'_> {
    let mut lines = Lines::new();
    let mut section = "";
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = header.trim();
        }
        let key = line.split('=').next().unwrap_or_default().trim().trim_matches('"');
        lines.entry((section, key)).or_insert(number);
    }
    lines
}

fn section(file: (&Machine, &Lines<'_>), name: &str, table: &Table, found: &mut Vec<Found>) {
    for (key, value) in table {
        if let Value::Table(inner) = value {
            let path = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            section(file, &path, inner, found);
            continue;
        }
        found.extend(of_key(file, name, key, value));
    }
}

fn of_key((machine, lines): (&Machine, &Lines<'_>), name: &str, key: &str, value: &Value) -> Option<Found> {
    let line = lines.get(&(name, key)).copied().unwrap_or(1);
    let place = if name.is_empty() { "the top of the file".to_owned() } else { format!("[{name}]") };
    let keys = machine.catalog.toolkit_keys();
    let Some(known) = keys.key(name, key) else {
        let message = format!("the container toolkit ignores {key} in {place}");
        let is_near = |row: &&ToolkitKey| row.section == name && diagnostic::suggest::is_typo(key, &row.key);
        if let Some(near) = keys.all().iter().find(is_near) {
            let alone = !machine.text.contains(&near.key);
            let change = alone.then(|| Change::word(line, key, &near.key));
            let found = Found::warning(line, message, format!("Write `{}`", near.key));
            return Some(found.change_if(change));
        }
        let is_home = |row: &&ToolkitKey| row.key == key && row.section != name && !name.contains("modes");
        let home = keys.all().iter().find(is_home).filter(|row| !row.section.is_empty())?;
        return Some(Found::warning(line, message, format!("Move it to [{}]", home.section)));
    };
    of_value(known, value, line, &place)
}

/// A key that is known, with its value.
fn of_value(known: &ToolkitKey, value: &Value, line: usize, place: &str) -> Option<Found> {
    let (key, kind) = (&known.key, known.kind);
    let fits = match kind {
        Text => value.is_str(),
        Truth => value.is_bool(),
        Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_str)),
    };
    let expected = match kind {
        Text => "a string",
        Truth => "true or false",
        Texts => "a list of strings",
    };
    if !fits {
        let message = format!(
            "{key} in {place} must be {expected}; the container toolkit refuses the \
            file"
        );
        let truth = value.as_str().filter(|text| kind == Truth && matches!(*text, "true" | "false"));
        let change = truth.map(|text| Change::word(line, &format!("\"{text}\""), text));
        return Some(Found::error(line, message, format!("Write {expected}")).change_if(change));
    }
    words(known, value).map(|(message, fix)| Found::warning(line, message, fix))
}

/// The first word that the key does not allow.
fn words(known: &ToolkitKey, value: &Value) -> Option<(String, String)> {
    let text = value.as_str().filter(|_| !known.words.is_empty())?;
    let text = if known.any_case { text.to_ascii_lowercase() } else { text.to_owned() };
    // The toolkit skips an empty word between commas.
    let words: Vec<&str> = match known.list {
        true => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        false => vec![&text],
    };
    let wrong = words.into_iter().find(|word| !known.words.iter().any(|allowed| allowed == word))?;
    Some((format!("{}: {wrong:?} is not one of {}", known.key, known.words.join(", ")), String::new()))
}
