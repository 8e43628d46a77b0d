//! The shell has a proxy, the engine has none.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-proxy-missing",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine has a proxy where the shell has one",
    explain: include_str!("docker_proxy_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let has = docker.proxies.clone();
    docker.answering()?;
    let environment = &facts.environment;
    let set: Vec<&str> = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]
        .into_iter()
        .filter(|name| environment.variable(name).known().is_some())
        .collect();
    let Some(name) = set.first() else {
        environment.variables.decided()?;
        return Err(Verdict::NotApplicable("this shell has no proxy".into()));
    };
    if !has.require("no engine")?.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "this shell uses a proxy ({name}) but the engine does not; image pulls fail if the network requires \
         the proxy"
    );
    let fix = Fix::restarts_service(
        "Set \"proxies\": {\"http-proxy\": …, \"https-proxy\": …, \"no-proxy\": …} in \
         /etc/docker/daemon.json (Docker 23 and newer) and restart the engine:",
        &["sudo systemctl restart docker"],
    );
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn the_engine_needs_the_shells_proxy() {
        let of = |environment: &str, info: &str| {
            verdict_line(&CHECK, &host(&engine(info, &[("environment", environment)])))
        };
        assert!(of("HTTPS_PROXY=http://user:secret@p:3128", "{}").contains("(HTTPS_PROXY)"));
        assert!(!of("HTTPS_PROXY=http://user:secret@p:3128", "{}").contains("secret"));
        assert_eq!(of("https_proxy=http://p:3128", r#"{"HttpsProxy":"http://p:3128"}"#), "pass");
        assert!(of("HOME=/root", "{}").starts_with("not-applicable"));
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
