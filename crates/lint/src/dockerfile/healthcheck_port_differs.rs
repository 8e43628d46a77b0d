//! A HEALTHCHECK or EXPOSE of another port than the server's.

use std::collections::BTreeMap;

use crate::read::dockerfile::start::{entrypoint, started};
use crate::read::dockerfile::{Dockerfile, From};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::servers::{Environment, Image, local_ports, server};

pub(crate) const RULE: Rule = Rule {
    id: "healthcheck-port-differs",
    severity: Severity::Warning,
    summary: "HEALTHCHECK and EXPOSE name the port of the server",
    explain: include_str!("healthcheck_port_differs.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM example/base:1\nHEALTHCHECK CMD curl -f http://localhost:8080/health || exit 1\nCMD \
             [\"uvicorn\", \
             \"app:app\", \"--host\", \"0.0.0.0\", \"--port\", \"8000\"]\n",
        ),
        dockerfile(
            "FROM example/base:1\nEXPOSE 5000\nCMD [\"gunicorn\", \"-b\", \"0.0.0.0:8000\", \"app:app\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM example/base:1\nHEALTHCHECK CMD curl http://localhost:8080\nHEALTHCHECK CMD curl \
             http://localhost:8000\nCMD uvicorn app:app --host 0.0.0.0 --port 8000\n",
        ),
        dockerfile(
            "FROM example/base:1\nEXPOSE 8000 9090\nHEALTHCHECK CMD curl -f http://localhost:8000/ || \
             exit 1\nCMD \
             uvicorn app:app --host 0.0.0.0\n",
        ),
        dockerfile(
            "FROM example/base:1\nEXPOSE $PORT\nHEALTHCHECK CMD curl http://localhost:8080\nCMD uvicorn \
             app:app \
             --port $PORT\n",
        ),
        dockerfile(
            "FROM example/base:1\nEXPOSE 80\nHEALTHCHECK CMD curl http://localhost:80\nCMD nginx & \
             uvicorn app:app\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let variables = &last.end.variables;
    let value = |name: &str| variables.get(name).and_then(|value| value.text.clone());
    let environment: Environment =
        variables.names().map(|name| (name.to_owned(), value(name))).collect::<BTreeMap<_, _>>();
    // Whether the base has an entrypoint of its own is not known of other images.
    let enters = entrypoint(file).is_none();
    let image = match &last.from {
        From::Image(image) if image.known => Some(Image { name: image.text.as_str(), enters }),
        _ => None,
    };
    let commands = started(file);
    let Some(server) =
        server(last.end.catalog, image, &commands, &environment).filter(|server| server.ports.is_some())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let stages = file.shipped();
    let instructions = stages.iter().flat_map(|stage| &stage.instructions);
    // Only the last one counts.
    if let Some(one) = instructions.clone().rfind(|one| one.keyword == "HEALTHCHECK") {
        let ports = local_ports(&one.text.text);
        let wrong = ports.iter().find(|port| server.listens_on(**port) == Some(false));
        if let Some(port) = wrong.filter(|_| ports.iter().all(|one| server.listens_on(*one) == Some(false))) {
            let message = format!(
                "{}, but HEALTHCHECK asks port {port}; the container never gets healthy",
                server.sentence()
            );
            found.push(Found::warning(one.line, message, fix(&server)));
        }
    }
    let exposed: Vec<_> = instructions.filter(|one| one.keyword == "EXPOSE").collect();
    let ports: Option<Vec<u16>> = exposed
        .iter()
        .flat_map(|one| one.text.text.split_whitespace())
        .map(|word| word.split('/').next()?.parse().ok())
        .collect();
    let missed = ports.filter(|ports| ports.iter().all(|port| server.listens_on(*port) == Some(false)));
    if let (Some(port), Some(one)) = (missed.as_ref().and_then(|ports| ports.first()), exposed.first()) {
        let message = format!("{}, but EXPOSE names port {port}", server.sentence());
        found.push(Found::note(one.line, message, fix(&server)));
    }
    found
}

fn fix(server: &crate::servers::Server) -> String {
    server.port().map(|port| format!("Use port {}", port.number)).unwrap_or_default()
}
