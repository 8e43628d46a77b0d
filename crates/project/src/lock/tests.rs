use super::*;

fn selected(format: LockFormat, text: &str, choice: Target<'_>) -> Vec<String> {
    let lock = read_lock(format, format.file_name(), text).unwrap();
    let selected = lock.selected(choice).unwrap();
    let shown = |one: &&Locked| format!("{}:{} {}", one.line, one.name, one.version.as_ref().unwrap());
    selected.iter().map(shown).collect()
}

const ON_X86_64: Target<'static> =
    Target { python: 12, architecture: "x86_64", extras: &[], groups: &[], declared: &[] };

const UV: &str = r#"version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "own"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "six", version = "1.16.0", marker = "python_full_version < '3.12'" },
    { name = "six", version = "1.17.0", marker = "python_full_version >= '3.12'" },
    { name = "torch", version = "2.6.0", marker = "python_version < '3.12' and extra != 'extra-3-own-cuda'" },
    { name = "torch", version = "2.6.0+cu124", marker = "extra == 'extra-3-own-cuda'" },
]

[package.optional-dependencies]
cuda = [
    { name = "extra-only", extra = ["fast"] },
]

[package.dev-dependencies]
dev = [
    { name = "tool" },
]

[[package]]
name = "six"
version = "1.16.0"
source = { registry = "https://h.example/simple" }

[[package]]
name = "six"
version = "1.17.0"
source = { registry = "https://h.example/simple" }
sdist = { url = "https://h.example/six.tar.gz", hash = "sha256:aa", size = 1 }
wheels = [
    { url = "https://h.example/six.whl", hash = "sha256:bb", size = 1 },
]

[[package]]
name = "torch"
version = "2.6.0"
source = { registry = "https://h.example/simple" }

[[package]]
name = "torch"
version = "2.6.0+cu124"
source = { registry = "https://download.pytorch.org/whl/cu124" }

[[package]]
name = "Extra_Only"
version = "1"
source = { registry = "https://h.example/simple" }

[package.optional-dependencies]
fast = [
    { name = "faster" },
]

[[package]]
name = "faster"
version = "3"
source = { registry = "https://h.example/simple" }
dependencies = [
    { name = "own" },
    { name = "repository" },
]

[[package]]
name = "repository"
version = "1"
source = { git = "https://h.example/r?rev=v1#abc" }

[[package]]
name = "tool"
version = "4"
source = { registry = "https://h.example/simple" }
"#;

#[test]
fn uv_lock_is_walked_from_the_project() {
    assert_eq!(selected(LockFormat::Uv, UV, ON_X86_64), ["32:six 1.17.0"]);
    let old = Target { python: 11, architecture: "aarch64", ..ON_X86_64 };
    assert_eq!(selected(LockFormat::Uv, UV, old), ["27:six 1.16.0", "41:torch 2.6.0"]);
    let all = Target { extras: &["cuda".to_owned()], groups: &["dev".to_owned()], ..ON_X86_64 };
    assert_eq!(
        selected(LockFormat::Uv, UV, all),
        ["32:six 1.17.0", "46:torch 2.6.0+cu124", "51:extra-only 1", "61:faster 3", "75:tool 4"]
    );
    let lock = read_lock(LockFormat::Uv, "uv.lock", UV).unwrap();
    assert_eq!(lock.packages[2].hashes, ["sha256:aa", "sha256:bb"]);
    assert_eq!(lock.python.unwrap().origin.line, 3);
}

#[test]
fn pylock_packages_have_markers() {
    let text = "lock-version = \"1.0\"\nrequires-python = \">=3.12\"\n[[packages]]\nname = \"a\"\n\
        version = \"1\"\nmarker = \"platform_machine == 'aarch64'\"\n[[packages]]\nname = \"b\"\n\
        version = \"2\"\nwheels = [{ url = \"https://h.example/b.whl\", hashes = { sha256 = \"cc\" } }]\n";
    assert_eq!(selected(LockFormat::Pylock, text, ON_X86_64), ["8:b 2"]);
    let lock = read_lock(LockFormat::Pylock, "pylock.toml", text).unwrap();
    assert_eq!(lock.packages[1].hashes, ["sha256:cc"]);
}

const POETRY: &str = r#"[[package]]
name = "main-only"
version = "1"
optional = false
groups = ["main"]
markers = "platform_machine == \"x86_64\""
files = [
    {file = "a.whl", hash = "sha256:aa"},
]

[package.dependencies]
rest = {version = "*", optional = true, markers = "extra == \"x\""}

[package.extras]
x = ["rest (>=1)"]

[[package]]
name = "dev-only"
version = "2"
optional = false
groups = ["dev"]

[[package]]
name = "both"
version = "3"
optional = false
groups = ["main", "dev"]
markers = {main = "python_version < \"3.12\""}

[[package]]
name = "of-extra"
version = "4"
optional = true
groups = ["main"]
markers = "extra == \"cuda\""

[metadata]
lock-version = "2.1"
"#;

#[test]
fn poetry_lock_has_groups() {
    assert_eq!(selected(LockFormat::Poetry, POETRY, ON_X86_64), ["2:main-only 1"]);
    let old = Target { python: 11, architecture: "aarch64", extras: &["cuda".to_owned()], ..ON_X86_64 };
    assert_eq!(selected(LockFormat::Poetry, POETRY, old), ["24:both 3", "31:of-extra 4"]);
    let dev = Target { groups: &["dev".to_owned()], ..ON_X86_64 };
    assert_eq!(selected(LockFormat::Poetry, POETRY, dev), ["2:main-only 1", "18:dev-only 2", "24:both 3"]);
}

const OLD_POETRY: &str = r#"[[package]]
name = "a"
version = "1"
optional = false
[package.dependencies]
b = [
    {version = "<2", markers = "python_version < '3.12'"},
    {version = ">=2", markers = "python_version >= '3.12'"},
]
c = {version = "*", optional = true}
[package.extras]
more = ["c"]
[[package]]
name = "b"
version = "2"
[[package]]
name = "c"
version = "3"
[[package]]
name = "tool"
version = "4"
[metadata]
lock-version = "2.0"
"#;

/// Before 2.1 the file has no groups.
#[test]
fn older_poetry_lock_is_walked_from_the_declared() {
    let declared = [Edge { name: "a".to_owned(), ..Edge::default() }];
    let choice = Target { declared: &declared, ..ON_X86_64 };
    assert_eq!(selected(LockFormat::Poetry, OLD_POETRY, choice), ["2:a 1", "14:b 2"]);
    assert!(selected(LockFormat::Poetry, OLD_POETRY, ON_X86_64).is_empty());
}

#[test]
fn faults_name_the_line() {
    let error = |format, text: &str| match read_lock(format, "uv.lock", text) {
        Err(error) => error.to_string(),
        Ok(lock) => lock.selected(ON_X86_64).unwrap_err().to_string(),
    };
    let broken = error(LockFormat::Uv, "version = 1\n[[package]\n");
    assert!(broken.starts_with("uv.lock:2: not valid TOML: "), "{broken}");
    assert_eq!(
        error(LockFormat::Uv, "version = 2\n"),
        "uv.lock: format \"2\" is not supported; envdoc reads 1"
    );
    assert_eq!(
        error(LockFormat::Poetry, "a = 1\n"),
        "uv.lock: not a lock file: it names no version of its format"
    );
    let broken = "lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nversion = \"x\"\n";
    assert_eq!(error(LockFormat::Pylock, broken), "uv.lock:3: \"x\" of a is not a version");
    let marker = broken.replace("\"x\"", "\"1\"\nmarker = \"'gpu' in extras\"");
    let found = error(LockFormat::Pylock, &marker);
    assert!(found.starts_with("uv.lock:3: cannot evaluate the marker \"'gpu' in extras\": "), "{found}");
}

#[test]
fn damaged_files_are_errors_or_locks() {
    for (format, whole) in [(LockFormat::Uv, UV), (LockFormat::Poetry, POETRY)] {
        for at in (0..whole.len()).step_by(7) {
            for put in ["", "\"", "]", "9", "\u{1b}", "é"] {
                let damaged = format!("{}{put}{}", &whole[..at], &whole[at + 1..]);
                if let Ok(lock) = read_lock(format, "x.lock", &damaged) {
                    assert!(lock.packages.iter().all(|one| one.line <= damaged.lines().count()));
                    let _ = lock.selected(ON_X86_64);
                }
            }
        }
    }
}
