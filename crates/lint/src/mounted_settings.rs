//! The settings files that a service mounts, and the addresses of other services in them.

use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::read::compose::{Compose, Service};

/// The address of a service in a settings file of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mentioned {
    /// The file, from the directory of the compose file.
    pub path: String,
    pub location: Location,
    pub host: String,
    pub port: String,
}

/// Ends of the names of settings files.
const ENDS: &[&str] = &[".yaml", ".yml", ".toml", ".json", ".conf", ".ini", ".cfg", "Caddyfile"];

/// The settings files that a service mounts one by one, from the directory of the compose file.
pub(crate) fn files(service: &Service) -> Vec<String> {
    let mounts = service.mounts();
    let known = mounts.iter().filter(|mount| ENDS.iter().any(|end| mount.target.ends_with(end)));
    known.filter_map(|mount| mount.on_host(&mount.target)).collect()
}

/// The addresses of other services of the file, each with its port.
pub(crate) fn mentions(file: &Compose, service: &Service) -> Vec<Mentioned> {
    let names: Vec<&str> =
        file.services.iter().map(|one| one.name.as_str()).filter(|name| *name != service.name).collect();
    let mut found = Vec::new();
    for path in files(service) {
        let Some(text) = file.files.get(&path).and_then(Option::as_deref) else { continue };
        let other = Rc::new(OtherFile { path: path.clone(), by: None });
        for (index, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if code.starts_with(['#', ';']) || code.starts_with("//") {
                continue;
            }
            let code = code.split(" #").next().unwrap_or_default();
            for name in &names {
                let Some(port) = port_of(code, name) else { continue };
                let location = Location::new(Some(Rc::clone(&other)), index + 1);
                found.push(Mentioned { path: path.clone(), location, host: (*name).to_owned(), port });
            }
        }
    }
    found
}

/// The port behind a name that is a host: `http://NAME:80`, `"NAME:80"`, `server NAME:80;`.
fn port_of(line: &str, name: &str) -> Option<String> {
    line.match_indices(name).find_map(|(at, _)| {
        let before = &line[..at];
        let starts = before.is_empty() || before.ends_with(['/', '"', '\'', ' ', '[', ',', '@']);
        let rest = line[at + name.len()..].strip_prefix(':')?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let ends = !rest[end..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '.');
        let port = rest[..end].parse::<u16>().is_ok_and(|port| port > 0);
        (starts && ends && port).then(|| rest[..end].to_owned())
    })
}
