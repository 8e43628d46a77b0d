//! Keys and values in the container toolkit's config.toml that it does not read as they are meant.

use std::collections::HashMap;

use toml::{Table, Value};

use crate::read::machine::Machine;
use crate::rule::{Change, Found, Judge, Kind, Rule, Severity, named};

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

/// Types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Text,
    Texts,
    Truth,
}
use Kinds::{Text, Texts, Truth};

/// Keys by section: NVIDIA/nvidia-container-toolkit:api/config/v1@d34b3046.
const KEYS: &[(&str, &str, Kinds)] = &[
    ("", "accept-nvidia-visible-devices-as-volume-mounts", Truth),
    ("", "accept-nvidia-visible-devices-envvar-when-unprivileged", Truth),
    ("", "disable-require", Truth),
    ("", "supported-driver-capabilities", Text),
    ("", "swarm-resource", Text),
    ("features", "allow-cuda-compat-libs-from-container", Truth),
    ("features", "allow-ldconfig-from-container", Truth),
    ("features", "allow-unknown-oci-spec-fields", Truth),
    ("features", "disable-cuda-compat-lib-hook", Truth),
    ("features", "disable-imex-channel-creation", Truth),
    ("features", "ignore-imex-channel-requests", Truth),
    ("features", "no-additional-gids-for-device-nodes", Truth),
    ("nvidia-container-cli", "debug", Text),
    ("nvidia-container-cli", "environment", Texts),
    ("nvidia-container-cli", "ldcache", Text),
    ("nvidia-container-cli", "ldconfig", Text),
    ("nvidia-container-cli", "load-kmods", Truth),
    ("nvidia-container-cli", "no-cgroups", Truth),
    ("nvidia-container-cli", "no-pivot", Truth),
    ("nvidia-container-cli", "path", Text),
    ("nvidia-container-cli", "root", Text),
    ("nvidia-container-cli", "user", Text),
    ("nvidia-container-runtime", "debug", Text),
    ("nvidia-container-runtime", "log-level", Text),
    ("nvidia-container-runtime", "mode", Text),
    ("nvidia-container-runtime", "runtimes", Texts),
    ("nvidia-container-runtime.modes.cdi", "annotation-prefixes", Texts),
    ("nvidia-container-runtime.modes.cdi", "default-kind", Text),
    ("nvidia-container-runtime.modes.cdi", "spec-dirs", Texts),
    ("nvidia-container-runtime.modes.csv", "compat-container-root", Text),
    ("nvidia-container-runtime.modes.csv", "mount-spec-path", Text),
    ("nvidia-container-runtime.modes.jit-cdi", "nvcdi-disable-hooks", Texts),
    ("nvidia-container-runtime.modes.jit-cdi", "nvcdi-feature-flags", Texts),
    ("nvidia-container-runtime.modes.legacy", "cuda-compat-mode", Text),
    ("nvidia-container-runtime-hook", "path", Text),
    ("nvidia-container-runtime-hook", "skip-mode-detection", Truth),
    ("nvidia-ctk", "path", Text),
];

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
    let Some((_, _, kind)) = KEYS.iter().find(|(section, known, _)| *section == name && *known == key) else {
        let home = KEYS
            .iter()
            .find(|(section, known, _)| *known == key && *section != name && !name.contains("modes"));
        let near = KEYS
            .iter()
            .find(|(section, known, _)| *section == name && diagnostic::suggest::is_typo(key, known));
        let message = format!("the container toolkit ignores {key} in {place}");
        return match (near, home) {
            (Some((_, near, _)), _) => {
                let alone = !machine.text.contains(near);
                let change = alone.then(|| Change::word(line, key, near));
                Some(Found::warning(line, message, format!("Write `{near}`")).change_if(change))
            }
            (None, Some((section, _, _))) if !section.is_empty() => {
                Some(Found::warning(line, message, format!("Move it to [{section}]")))
            }
            _ => None,
        };
    };
    of_value(key, value, *kind, line, &place)
}

/// A key that is known, with its value.
fn of_value(key: &str, value: &Value, kind: Kinds, line: usize, place: &str) -> Option<Found> {
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
        return Some(Found::error(line, message, "").change_if(change));
    }
    words(key, value).map(|(message, fix)| Found::warning(line, message, fix))
}

/// Levels of logrus, in any case, and capabilities of the driver, in lower case:
/// internal/config/image/capabilities.go.
const LEVELS: &[&str] = &["panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"];
const CAPABILITIES: &[&str] =
    &["all", "compat32", "compute", "display", "graphics", "ngx", "utility", "video"];

fn words(key: &str, value: &Value) -> Option<(String, String)> {
    let text = value.as_str()?;
    let level = text.to_ascii_lowercase();
    let (words, allowed): (Vec<&str>, &[&str]) = match key {
        "log-level" => (vec![level.as_str()], LEVELS),
        "supported-driver-capabilities" => (text.split(',').map(str::trim).collect(), CAPABILITIES),
        _ => return None,
    };
    // The toolkit skips an empty word between commas.
    let wrong = words.into_iter().find(|word| !word.is_empty() && !allowed.contains(word))?;
    Some((format!("{key}: {wrong:?} is not one of {}", allowed.join(", ")), String::new()))
}
