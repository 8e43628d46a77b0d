//! The image that cluster.yaml has built: by `envdoc build` itself, on the first node's engine.

use diagnostic::Fix;
use diagnostic::terminal;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};

use super::Work;
use crate::built::{BUILT_FROM, digest, source};
use crate::plan::Node;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use docker::transport::Endpoint;

const STEP: Step = Step::Image;
/// Builds it, and tells what the build says.
pub(super) async fn build(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let (leader, engine) = work.leader()?;
    let Some((path, tag)) = source(work.plan) else { return Ok(()) };
    let one = |problem: Problem| vec![problem];
    let words = words(&path, tag, &digest(&path).map_err(one)?, &engine.endpoint);
    work.progress.doing(STEP, &leader.name, &format!("building {tag} from {}", path.display()));
    let ended = run(&words, leader).await;
    let problem = match ended {
        Ok(0) => {
            work.done(STEP, &leader.name, format!("built {tag} from {}", path.display()), Outcome::Changed);
            return Ok(());
        }
        Ok(1) => Problem::of(
            STEP,
            &leader.name,
            format!(
                "the build of image {tag} from {}, or its verification, failed; see the build output above",
                path.display()
            ),
        ),
        Ok(status) => Problem::of(
            STEP,
            &leader.name,
            format!("the build of {tag} exited with status {status}; see the build output above"),
        ),
        Err(why) => Problem::of(STEP, &leader.name, format!("cannot start the build of {tag}: {why}")),
    };
    work.done(STEP, &leader.name, "no image", Outcome::Failed);
    Err(vec![problem.fix(Fix::run("Run the build by hand:", format!("envdoc {}", words.join(" "))))])
}

/// Whether `build` names a request file, not a Dockerfile.
pub fn is_request(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// The words of the build.
fn words(path: &Path, tag: &str, digest: &str, endpoint: &Endpoint) -> Vec<String> {
    let request = is_request(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let words = [
        "build",
        &folder.display().to_string(),
        if request { "--request" } else { "--file" },
        &path.display().to_string(),
        "--tag",
        tag,
        "--label",
        &format!("{BUILT_FROM}={digest}"),
        "--host",
        endpoint.as_str(),
        "--progress",
        "plain",
    ];
    words.map(str::to_owned).into()
}

/// Runs this program with these words; both of its streams are progress here.
async fn run(words: &[String], leader: &Node) -> Result<i32, std::io::Error> {
    let mut command = docker::process::own()?;
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    if let Some(folder) = &leader.tls {
        command.env("DOCKER_TLS_VERIFY", "1").env("DOCKER_CERT_PATH", folder);
    }
    let mut child = command.spawn()?;
    if let Some(out) = child.stdout.take() {
        let mut lines = BufReader::new(out).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            terminal::note(&line);
        }
    }
    let status = child.wait().await?;
    Ok(status.code().unwrap_or(255))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_from_a_request_or_a_dockerfile() {
        let of = |path: &str| words(Path::new(path), "two:envdoc", "00", &"ssh://gpu1".into()).join(" ");
        assert!(
            of("a/images/request.yaml")
                .starts_with("build a/images --request a/images/request.yaml --tag two:envdoc --label")
        );
        assert!(of("Dockerfile").starts_with("build . --file Dockerfile --tag two:envdoc"));
        assert!(of("Dockerfile").ends_with("--host ssh://gpu1 --progress plain"));
    }
}
