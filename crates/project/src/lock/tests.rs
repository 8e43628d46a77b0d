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
        [
            "32:six 1.17.0",
            "46:torch 2.6.0+cu124",
            "51:extra-only 1",
            "61:faster 3",
            "70:repository 1",
            "75:tool 4"
        ]
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
    assert_eq!(error(LockFormat::Poetry, "a = 1\n"), "uv.lock: not a lock file: it has no format version");
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

/// A lock of uv: the dependencies of the project, and other packages.
fn of_uv(head: &str, dependencies: &str, packages: &[&str]) -> String {
    let own = "[[package]]\nname = \"own\"\nversion = \"0.1.0\"\nsource = { virtual = \".\" }\n";
    format!("version = 1\n{head}\n{own}dependencies = [\n{dependencies}\n]\n{}", packages.concat())
}

fn of_registry(name: &str, version: &str, rest: &str) -> String {
    let source = "source = { registry = \"https://h.example/simple\" }";
    format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}\n{rest}\n")
}

fn pins(text: &str, target: Target<'_>) -> Vec<String> {
    let lock = read_lock(LockFormat::Uv, "uv.lock", text).unwrap();
    let pin = |one: &&Locked| format!("{}=={}", one.name, one.version.as_ref().unwrap());
    lock.selected(target).unwrap().iter().map(pin).collect()
}

/// uv marks what conflicting extras bring with the extra that a requirement enables, or with the project.
#[test]
fn extras_that_requirements_enable_count_in_markers() {
    let member = of_registry(
        "member",
        "1",
        "[package.optional-dependencies]\nnew = [\n  { name = \"six\", version = \"1.17.0\", \
         marker = \"extra == 'extra-6-member-new'\" },\n]\n",
    );
    let (old, new) = (of_registry("six", "1.16.0", ""), of_registry("six", "1.17.0", ""));
    let edges = "{ name = \"member\", extra = [\"new\"], marker = \"extra == 'extra-6-member-new'\" },\n\
        { name = \"idna\", marker = \"extra == 'project-3-own'\" },";
    let text = of_uv("", edges, &[&member, &old, &new, &of_registry("idna", "3", "")]);
    assert_eq!(pins(&text, ON_X86_64), ["member==1", "six==1.17.0", "idna==3"]);
}

#[test]
fn of_two_sources_the_one_is_taken_that_is_required() {
    let edges = "{ name = \"six\", version = \"1.17.0\", source = { url = \"https://h.example/six.whl\" }, \
        marker = \"platform_machine == 'x86_64'\" },\n{ name = \"six\", version = \"1.17.0\", source = \
        { registry = \"https://h.example/simple\" }, marker = \"platform_machine != 'x86_64'\" },";
    let of_url = "[[package]]\nname = \"six\"\nversion = \"1.17.0\"\n\
        source = { url = \"https://h.example/six.whl\" }\n";
    let text = of_uv("", edges, &[of_url, &of_registry("six", "1.17.0", "")]);
    let lock = read_lock(LockFormat::Uv, "uv.lock", &text).unwrap();
    let sources = |architecture| {
        let selected = lock.selected(Target { architecture, ..ON_X86_64 }).unwrap();
        selected.iter().map(|one| one.source.clone()).collect::<Vec<_>>()
    };
    assert_eq!(sources("x86_64"), [LockedSource::Elsewhere(Reason::Address)]);
    assert_eq!(sources("aarch64"), [LockedSource::Index(Some("https://h.example/simple".into()))]);
}

#[test]
fn environments_and_the_python_of_poetry_limit_the_lock() {
    let head = "supported-markers = [\"python_full_version < '3.12' and platform_machine == 'x86_64'\"]";
    let lock = read_lock(LockFormat::Uv, "uv.lock", &of_uv(head, "", &[])).unwrap();
    let supports = |python, architecture| lock.supports(python, architecture).unwrap();
    assert!(supports(11, "x86_64") && !supports(12, "x86_64") && !supports(11, "aarch64"));
    let text = "[metadata]\nlock-version = \"2.1\"\npython-versions = \"^3.10,<3.12\"\n";
    let lock = read_lock(LockFormat::Poetry, "poetry.lock", text).unwrap();
    let python = lock.python.unwrap();
    assert_eq!(
        (python.origin.line, python.value.specifiers.to_string().as_str()),
        (3, ">=3.10, <3.12, <4.0")
    );
}

/// An index is written into files of the image.
#[test]
fn an_index_with_a_line_end_is_not_used() {
    let six = "[[package]]\nname = \"six\"\nversion = \"1\"\nsource = { registry = \
        \"https://h.example/x\\n--index-url https://evil.example/simple #/cu124\" }\n";
    let lock = read_lock(LockFormat::Uv, "uv.lock", &of_uv("", "{ name = \"six\" },", &[six])).unwrap();
    assert_eq!(lock.packages[1].source, LockedSource::Elsewhere(Reason::ControlCharacters));
}

#[test]
fn a_file_of_many_packages_of_one_name_is_read_in_time() {
    let edges = "{ name = \"a\" },\n".repeat(4);
    let rest = format!("dependencies = [\n{edges}]\n");
    let packages: String = (0..2_000).map(|number| of_registry("a", &number.to_string(), &rest)).collect();
    let start = std::time::Instant::now();
    assert_eq!(pins(&of_uv("", &edges, &[&packages]), ON_X86_64).len(), 2_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// `*` of one package and the range of another one together leave one of the two versions.
#[test]
fn of_several_versions_in_an_old_poetry_lock_all_requirements_decide() {
    let text = OLD_POETRY.replace(
        "[[package]]\nname = \"c\"",
        "[[package]]\nname = \"b\"\nversion = \"1\"\n[[package]]\nname = \"c\"",
    );
    let any = Edge { name: "b".to_owned(), ..Edge::default() };
    let declared = [Edge { name: "a".to_owned(), ..Edge::default() }, any.clone()];
    let target = Target { declared: &declared, ..ON_X86_64 };
    assert_eq!(selected(LockFormat::Poetry, &text, target), ["2:a 1", "14:b 2"]);
    let declared = [any];
    let lock = read_lock(LockFormat::Poetry, "poetry.lock", &text).unwrap();
    let error = lock.selected(Target { declared: &declared, ..ON_X86_64 }).unwrap_err();
    assert!(error.to_string().contains("several versions of b"), "{error}");
}
