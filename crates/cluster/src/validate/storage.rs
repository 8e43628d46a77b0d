//! What the containers see of files.

use super::value::{self, At};
use crate::plan::{Mount, SETTINGS, Source};
use crate::request::Storage;
use diagnostic::error::Error;

/// Where nothing may be mounted: what the system, the engine and envdoc put there.
const TAKEN: &[&str] = &["/proc", "/sys", "/dev", "/run/envdoc", "/run/secrets", SETTINGS];
/// Directories that a mount would hide whole, and with them the programs of the image.
const NEEDED: &[&str] = &[
    "/",
    "/bin",
    "/etc",
    "/lib",
    "/lib64",
    "/opt",
    "/run",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/var",
];

pub(super) fn validate(asked: &[Storage], cluster: &str, at: &At) -> Result<Vec<Mount>, Error> {
    let mut mounts: Vec<Mount> = Vec::new();
    for (index, one) in asked.iter().enumerate() {
        let at = at.key(&format!("storage {}", index + 1));
        let to = target(&one.to, &at.key("to"))?;
        if mounts.iter().any(|other| other.to == to) {
            return Err(at.wrong(
                format!("{to} is already used by another storage entry"),
                "give each storage entry a unique `to`",
            ));
        }
        let from = match (&one.from, &one.nfs) {
            (Some(path), None) => {
                if one.options.is_some() {
                    return Err(at.key("options").wrong(
                        "`options` is set for a path",
                        "`options` applies only to `nfs`; for a read-only path write `read_only: true`",
                    ));
                }
                path_of_machine(path, &at.key("from"))?
            }
            (None, Some(share)) => nfs(share, one.options.as_deref(), cluster, &to, &at)?,
            _ => {
                return Err(at.wrong(
                    format!("{to} needs one of `from` and `nfs`"),
                    "`from: /srv/code` is a path on the machines, `nfs: SERVER:/export` a share that each \
                        of them mounts",
                ));
            }
        };
        mounts.push(Mount { from, to, read_only: one.read_only, same_content: one.check.is_some() });
    }
    Ok(mounts)
}

fn path_of_machine(path: &str, at: &At) -> Result<Source, Error> {
    if !path.starts_with('/') {
        return Err(at.wrong(
            format!("{path:?} is not absolute"),
            "write an absolute path; it is a path on every machine, not relative to this file",
        ));
    }
    Ok(Source::Path(tidy(at.fits(&value::PATH, path)?)))
}

/// Without a slash at the end.
fn tidy(path: &str) -> String {
    let short = path.trim_end_matches('/');
    if short.is_empty() { "/".into() } else { short.to_owned() }
}

fn target(path: &str, at: &At) -> Result<String, Error> {
    if path.is_empty() {
        return Err(at.wrong("`to` is missing", "write the mount path in the containers: `to: /workspace`"));
    }
    let path = tidy(at.fits(&value::PATH, path)?);
    let taken = TAKEN.iter().find(|taken| path == **taken || path.starts_with(&format!("{taken}/")));
    if let Some(taken) = taken.or_else(|| NEEDED.iter().find(|needed| path == **needed)) {
        return Err(at.wrong(
            format!("{path} would hide the contents of {taken}"),
            "choose an unused path such as /workspace or /data",
        ));
    }
    Ok(path)
}

fn nfs(share: &str, options: Option<&str>, cluster: &str, to: &str, at: &At) -> Result<Source, Error> {
    // An IPv6 address is in brackets, so the colon before the path is the last one that a slash follows.
    let parts = share.find(":/").map(|index| (&share[..index], &share[index + 1..]));
    let at_nfs = at.key("nfs");
    let Some((server, path)) = parts else {
        return Err(at_nfs.wrong(format!("{share:?} is not an NFS share"), "write SERVER:/EXPORTED/PATH"));
    };
    let bare = server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(server);
    at_nfs.fits(&value::ADDRESS, bare)?;
    at_nfs.fits(&value::PATH, path)?;
    let options = options.unwrap_or("rw");
    at.key("options").fits(&value::OPTIONS, options)?;
    let words: String = to.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(Source::Nfs {
        volume: format!("{cluster}{}", words.to_ascii_lowercase()),
        server: bare.to_owned(),
        path: path.to_owned(),
        options: options.to_owned(),
    })
}
