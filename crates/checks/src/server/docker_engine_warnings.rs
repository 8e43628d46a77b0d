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
    let info = facts.docker.answering()?;
    let all = texts(info.get("Warnings"));
    let known = facts.catalog.docker_warnings();
    let picked: Vec<String> = all.iter().filter(|w| known.matters(w)).map(|w| first_line(w)).collect();
    let Some(first) = picked.first() else { return Ok(Verdict::Pass) };
    let more = if picked.len() > 1 { format!(" (and {} more)", picked.len() - 1) } else { String::new() };
    let verdict = match all.iter().find_map(|warning| open_address(warning)) {
        Some(address) => Verdict::error(
            format!(
                "the Docker API is open on {address} without client certificates: whoever reaches that port \
                is root on this machine{more}"
            ),
            closing(facts, address),
        ),
        None => Verdict::warning(
            format!("the Docker engine warns: {first}{more}"),
            Fix::safe("Show all warnings:", &["docker info"]),
        ),
    };
    Ok(picked.iter().fold(verdict, |verdict, line| verdict.evidence(line.clone())))
}

/// `0.0.0.0:2375`, where the engine warns of an API that other machines reach.
fn open_address(warning: &str) -> Option<&str> {
    let (_, url) = warning.split_once("API is accessible on ")?;
    let address = url.split_whitespace().next()?;
    let address = address.trim_start_matches("http://").trim_start_matches("https://");
    let local = ["127.", "localhost:", "[::1]"].iter().any(|host| address.starts_with(host));
    (!local).then_some(address)
}

/// Takes the address away where it is set, as far as that can be read.
fn closing(facts: &Facts, address: &str) -> Fix {
    let docker = &facts.docker;
    let url = format!("tcp://{address}");
    let argv = [docker.command_line.known(), docker.unit.known().map(|unit| &unit.argv)];
    let is_flag = argv
        .into_iter()
        .flatten()
        .any(|argv| flags(facts.catalog, argv).contains(&("host".into(), url.clone())));
    let title = |location: &str| format!("Remove {url} from {location}:");
    match docker.daemon_json.known() {
        _ if is_flag => Fix::restarts_service(
            title("the options of dockerd"),
            &["sudo systemctl edit --full docker.service", "sudo systemctl restart docker.service"],
        ),
        Some(file) if file.value.as_ref().is_ok_and(|value| texts(value.get("hosts")).contains(&url)) => {
            Fix::restarts_service(
                title(&format!("`hosts` in {}", file.path)),
                &[&format!("sudoedit {}", shell::word(&file.path)), "sudo systemctl restart docker.service"],
            )
        }
        _ => Fix::manual(format!(
            "Remove {url} from the options of dockerd or `hosts` in daemon.json, and restart it"
        )),
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
        let local = "API is accessible on http://127.0.0.1:2375 without encryption.";
        assert_eq!(of(local), format!("warning: the Docker engine warns: {local}"));
        assert_eq!(of("WARNING: No blkio throttle.read_bps_device support"), "pass");
        assert_eq!(verdict_line(&CHECK, &host(&engine(r#"{"Warnings":null}"#, &[]))), "pass");
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
