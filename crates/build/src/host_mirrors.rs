//! The configuration of pip, uv and apt on this machine, for `--mirrors-from-host`.

use std::path::{Path, PathBuf};

use host::{file, variables};
use image::host_mirrors::Found;
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
    let mut says = Vec::new();
    let mirrors = &mut request.mirrors;
    let named = mirrors.preset.is_some();
    if let Some(told) = found.index.filter(|_| mirrors.pip_index.is_none() && !named) {
        says.push(format!(
            "index of Python packages: {}, from {}{}",
            told.shown(),
            told.place,
            kept(told.has_login())
        ));
        match told.has_login() {
            true => request.hidden.index = Some(told.address.into()),
            false => mirrors.pip_index = Some(told.address),
        }
    }
    if mirrors.extra_index.is_empty() && !found.extra.is_empty() {
        let login = found.extra.iter().any(|told| told.has_login());
        let shown: Vec<String> = found.extra.iter().map(|told| told.shown()).collect();
        let place = found.extra.first().map_or("", |told| told.place.as_str());
        says.push(format!("further indexes: {}, from {place}{}", shown.join(", "), kept(login)));
        let all: Vec<String> = found.extra.iter().map(|told| told.address.clone()).collect();
        match login {
            true => request.hidden.extra = Some(all.join(" ").into()),
            false => mirrors.extra_index = all,
        }
    }
    if let Some(told) = found.python.filter(|_| mirrors.python.is_none()) {
        match told.has_login() {
            true => says
                .push(format!("not taken, because it has a login: the mirror of Pythons in {}", told.place)),
            false => {
                says.push(format!("mirror of Pythons: {}, from {}", told.address, told.place));
                mirrors.python = Some(told.address);
            }
        }
    }
    if mirrors.apt.is_none() && !named {
        for (family, told) in found.apt {
            match told.has_login() {
                true => says.push(format!(
                    "not taken, because it has a login: the mirror of {family} in {}",
                    told.place
                )),
                false => {
                    says.push(format!("mirror for {family} images: {}, from {}", told.address, told.place));
                    request.host_apt.insert(family, told.address);
                }
            }
        }
    }
    if says.is_empty() {
        says.push("pip, uv and apt of this machine name no mirror".into());
    }
    says.into_iter().map(|one| format!("--mirrors-from-host: {one}")).collect()
}

fn kept(login: bool) -> &'static str {
    if login { " (it has a login: the build is given it as a secret)" } else { "" }
}

fn find() -> Found {
    let mut found = Found::default();
    for name in VARIABLES {
        if let Some(value) = variables::text(name) {
            found.variable(name, &value);
        }
    }
    for path in pip_files() {
        with_text(&path, |place, text| found.pip(place, text));
    }
    for path in uv_files() {
        with_text(&path, |place, text| found.uv(place, text));
    }
    for path in apt_files() {
        with_text(&path, |place, text| found.apt(place, text));
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
