//! The engine warns of something that matters.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::docker::{flags, texts};

pub(super) const CHECK: Check = Check {
    id: "docker-engine-warnings",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "the engine reports no warning that matters for GPU work",
    explain: include_str!("docker_engine_warnings.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let listeners = listeners(facts);
    let configured = listeners.iter().find(|one| one.is_open());
    let info = match (facts.docker.answering(), configured) {
        (Ok(info), _) => info,
        // Whoever may not ask the engine still sees what it was started with.
        (Err(_), Some(open)) => return Ok(api_open(facts, &open.address, &listeners, "")),
        (Err(other), None) => return Err(other.into()),
    };
    let all = texts(info.get("Warnings"));
    let known = facts.catalog.docker_warnings();
    let picked: Vec<String> = all.iter().filter(|w| known.matters(w)).map(|w| first_line(w)).collect();
    let warned = all.iter().find_map(|warning| open_address(warning));
    let open = warned.or(configured.map(|one| one.address.as_str()));
    let more = if picked.len() > 1 { format!(" (and {} more)", picked.len() - 1) } else { String::new() };
    let verdict = match (open, picked.first()) {
        (Some(address), _) => api_open(facts, address, &listeners, &more),
        (None, Some(first)) => Verdict::warning(
            format!("the Docker engine warns: {first}{more}"),
            Fix::safe("Show all warnings:", &["docker info"]),
        ),
        (None, None) => return Ok(Verdict::Pass),
    };
    Ok(picked.iter().fold(verdict, |verdict, line| verdict.evidence(line.clone())))
}

fn api_open(facts: &Facts, address: &str, listeners: &[Listener], more: &str) -> Verdict {
    Verdict::error(
        format!(
            "the Docker API is open on {address} without client certificates: whoever reaches that port \
                is root on this machine{more}"
        ),
        closing(facts, address, listeners),
    )
}

/// `0.0.0.0:2375`, where the engine warns of an API that other machines reach.
fn open_address(warning: &str) -> Option<&str> {
    let (_, url) = warning.split_once("API is accessible on ")?;
    let address = url.split_whitespace().next()?;
    let address = address.trim_start_matches("http://").trim_start_matches("https://");
    (!is_local(address)).then_some(address)
}

fn is_local(address: &str) -> bool {
    ["127.", "localhost:", "[::1]"].iter().any(|host| address.starts_with(host))
}

/// A TCP address of the running daemon's API.
struct Listener {
    /// As it is configured: `-H 0.0.0.0`.
    spelled: String,
    /// Host and port: `0.0.0.0:2375`.
    address: String,
    /// Whether daemon.json lists it, else the options of dockerd.
    in_file: bool,
    /// Whether clients need a certificate.
    verified: bool,
}

impl Listener {
    fn is_open(&self) -> bool {
        !self.verified && !is_local(&self.address)
    }
}

/// Where the daemon that runs listens besides its sockets.
fn listeners(facts: &Facts) -> Vec<Listener> {
    let docker = &facts.docker;
    let Some(argv) = docker.command_line.known() else { return Vec::new() };
    let options = flags(facts.catalog, argv);
    let file = docker.daemon_json.known().and_then(|file| file.value.as_ref().ok());
    let verified = options.iter().any(|(name, value)| name == "tlsverify" && value != "false")
        || file.and_then(|file| file.get("tlsverify")).is_some_and(|value| value == true);
    let flagged = options.into_iter().filter(|(name, _)| name == "host").map(|(_, value)| (value, false));
    let listed = file.map(|file| texts(file.get("hosts"))).unwrap_or_default();
    let all = flagged.chain(listed.into_iter().map(|value| (value, true)));
    all.filter_map(|(spelled, in_file)| {
        let address = tcp_address(&spelled)?;
        Some(Listener { spelled, address, in_file, verified })
    })
    .collect()
}

/// Host and port of a TCP address as dockerd reads it: without a scheme it is TCP, without a host localhost,
/// without a port 2375 (moby/moby:opts/hosts.go). `None` for a socket.
fn tcp_address(spelled: &str) -> Option<String> {
    let rest = match spelled.trim().split_once("://") {
        Some(("tcp", rest)) => rest,
        Some(_) => return None,
        None => spelled.trim(),
    };
    let rest = rest.split('/').next().unwrap_or_default();
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (rest, ""),
    };
    let host = if host.is_empty() { "localhost" } else { host };
    Some(format!("{host}:{}", if port.is_empty() { "2375" } else { port }))
}

/// Takes the address away where it is set, as far as that can be read.
fn closing(facts: &Facts, address: &str, listeners: &[Listener]) -> Fix {
    let docker = &facts.docker;
    match listeners.iter().find(|one| one.address == address) {
        Some(Listener { spelled, in_file: false, .. }) => Fix::restarts_service(
            format!("Remove {spelled} from the options of dockerd:"),
            &["sudo systemctl edit --full docker.service", "sudo systemctl restart docker.service"],
        ),
        Some(Listener { spelled, in_file: true, .. }) => {
            let path = docker.daemon_json.known().map_or("/etc/docker/daemon.json", |file| &file.path);
            Fix::restarts_service(
                format!("Remove {spelled} from `hosts` in {path}:"),
                &[&format!("sudoedit {}", shell::word(path)), "sudo systemctl restart docker.service"],
            )
        }
        None => Fix::restarts_service(
            format!("Find where {address} is set, remove it, and restart dockerd:"),
            &[
                "ps -o args= -C dockerd; sudo grep -n hosts /etc/docker/daemon.json",
                "sudo systemctl restart docker.service",
            ],
        ),
    }
}

fn first_line(warning: &str) -> String {
    let line = warning.lines().next().unwrap_or_default();
    line.trim_start_matches("WARNING: ").trim_start_matches("[DEPRECATION NOTICE]: ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn reports_only_relevant_engine_warnings() {
        let of = |warning: &str| {
            let info = serde_json::json!({ "Warnings": [warning] }).to_string();
            verdict_line(&CHECK, &host(&engine(&info, &[])))
        };
        let open =
            "[DEPRECATION NOTICE]: API is accessible on http://0.0.0.0:2375 without encryption.\n  Access to";
        let error = |address: &str| {
            format!(
                "error: the Docker API is open on {address} without client certificates: whoever reaches \
                that port is root on this machine"
            )
        };
        assert_eq!(of(open), error("0.0.0.0:2375"));
        let unverified = "API is accessible on https://10.0.0.7:2376 without TLS client verification.";
        assert_eq!(of(unverified), error("10.0.0.7:2376"));
        for (spelled, address) in [
            ("tcp://0.0.0.0", Some("0.0.0.0:2375")),
            ("0.0.0.0:2375", Some("0.0.0.0:2375")),
            ("tcp://:2376", Some("localhost:2376")),
            ("tcp://", Some("localhost:2375")),
            ("tcp://[::]:4243/", Some("[::]:4243")),
            ("[::]", Some("[::]:2375")),
            ("fd://", None),
            ("unix:///run/docker.sock", None),
        ] {
            assert_eq!(tcp_address(spelled).as_deref(), address, "{spelled}");
        }
        let local = "API is accessible on http://127.0.0.1:2375 without encryption.";
        assert_eq!(of(local), format!("warning: the Docker engine warns: {local}"));
        assert_eq!(of("WARNING: No blkio throttle.read_bps_device support"), "pass");
        assert_eq!(verdict_line(&CHECK, &host(&engine(r#"{"Warnings":null}"#, &[]))), "pass");
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
