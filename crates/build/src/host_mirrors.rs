//! The configuration of pip, uv and apt on this machine, for `--mirrors-from-host`.

use std::path::{Path, PathBuf};

use host::{file, variables};
use image::host_mirrors::{ConfiguredUrl, HostMirrors};
use image::request::ImageRequest;

/// pip's variables, then uv's, from the one that wins down.
const VARIABLES: [&str; 7] = [
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_PYTHON_INSTALL_MIRROR",
];

/// Fills in the mirrors that the request leaves out; returns which, and from where, without any login.
pub(crate) fn fill_in(request: &mut ImageRequest) -> Vec<String> {
    let found = find();
    let mut taken: Vec<String> = Vec::new();
    let named = request.mirrors.preset.is_some();
    if let Some(index) = found.index.filter(|_| request.mirrors.pip_index.is_none() && !named) {
        taken.push(take_index(request, index));
    }
    if request.mirrors.extra_index.is_empty() && !found.extra.is_empty() {
        taken.push(take_extra_indexes(request, &found.extra));
    }
    if let Some(mirror) = found.python.filter(|_| request.mirrors.python.is_none()) {
        taken.push(if mirror.has_login() {
            format!("Python mirror in {} ignored: its URL contains a login", mirror.source)
        } else {
            let line = format!("Python mirror: {}, from {}", mirror.address, mirror.source);
            request.mirrors.python = Some(mirror.address);
            line
        });
    }
    if request.mirrors.apt.is_none() && !named {
        for (family, mirror) in found.apt {
            taken.push(if mirror.has_login() {
                format!("mirror for {family} in {} ignored: its URL contains a login", mirror.source)
            } else {
                let line = format!("mirror for {family} images: {}, from {}", mirror.address, mirror.source);
                request.host_apt.insert(family, mirror.address);
                line
            });
        }
    }
    if taken.is_empty() {
        taken.push("pip, uv and apt have no mirror configured on this machine".into());
    }
    taken.into_iter().map(|one| format!("--mirrors-from-host: {one}")).collect()
}

fn take_index(request: &mut ImageRequest, index: ConfiguredUrl) -> String {
    let line =
        format!("package index: {}, from {}{}", index.redacted(), index.source, secret(index.has_login()));
    match index.has_login() {
        true => request.secret_indexes.index = Some(index.address.into()),
        false => request.mirrors.pip_index = Some(index.address),
    }
    line
}

fn take_extra_indexes(request: &mut ImageRequest, extra: &[ConfiguredUrl]) -> String {
    let login = extra.iter().any(ConfiguredUrl::has_login);
    let urls: Vec<String> = extra.iter().map(ConfiguredUrl::redacted).collect();
    let source = extra.first().map_or("", |first| first.source.as_str());
    let all: Vec<String> = extra.iter().map(|one| one.address.clone()).collect();
    match login {
        true => request.secret_indexes.extra = Some(all.join(" ").into()),
        false => request.mirrors.extra_index = all,
    }
    format!("additional package indexes: {}, from {source}{}", urls.join(", "), secret(login))
}

fn secret(login: bool) -> &'static str {
    if login { " (with a login, passed to the build as a secret)" } else { "" }
}

fn find() -> HostMirrors {
    let mut found = HostMirrors::default();
    for name in VARIABLES {
        if let Some(value) = variables::text(name) {
            found.variable(name, &value);
        }
    }
    for path in pip_files() {
        with_text(&path, |source, text| found.pip(source, text));
    }
    for path in uv_files() {
        with_text(&path, |source, text| found.uv(source, text));
    }
    for path in apt_files() {
        with_text(&path, |source, text| found.apt(source, text));
    }
    found
}

fn with_text(path: &Path, mut then: impl FnMut(&str, &str)) {
    // A file that cannot be read is one that pip, uv and apt cannot read either.
    if let Ok(Some(text)) = file::read(path) {
        then(&path.display().to_string(), &text);
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    variables::path(name).filter(|value| !value.as_os_str().is_empty())
}

/// `~/.config`, and the directories for everybody; `/etc` comes before these.
fn directories() -> (Option<PathBuf>, Vec<PathBuf>) {
    let user = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    let system = variables::text("XDG_CONFIG_DIRS").filter(|text| !text.is_empty());
    let system = system.unwrap_or_else(|| "/etc/xdg".into());
    (user, system.split(':').map(PathBuf::from).collect())
}

/// From the one that wins down.
fn pip_files() -> Vec<PathBuf> {
    let named = variable("PIP_CONFIG_FILE");
    if named.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let (user, system) = directories();
    let mut files: Vec<PathBuf> = Vec::new();
    match named.filter(|path| file::is_file(path)) {
        Some(file) => files.push(file),
        None => {
            files.extend(user.map(|dir| dir.join("pip/pip.conf")));
            files.extend(variable("HOME").map(|home| home.join(".pip/pip.conf")));
        }
    }
    files.push("/etc/pip.conf".into());
    files.extend(system.iter().rev().map(|dir| dir.join("pip/pip.conf")));
    files
}

/// From the one that wins down.
fn uv_files() -> Vec<PathBuf> {
    if let Some(file) = variable("UV_CONFIG_FILE") {
        return vec![file];
    }
    let (user, system) = directories();
    let user = user.map(|dir| dir.join("uv/uv.toml"));
    user.into_iter()
        .chain(system.iter().map(|dir| dir.join("uv/uv.toml")))
        .chain(["/etc/uv/uv.toml".into()])
        .collect()
}

fn apt_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let is = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "list" || ending == "sources");
    let mut listed: Vec<PathBuf> =
        file::entries(Path::new("/etc/apt/sources.list.d")).into_iter().filter(is).collect();
    files.append(&mut listed);
    files
}
