//! One real container, started through the engine, in which envdoc itself looks whether the GPU has arrived.
//!
//! The image is one that is here already (nothing is pulled). envdoc's own program is copied into the
//! container, records a snapshot there, and the container is removed again, whatever happens.

use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::query_parameters::{ListImagesOptionsBuilder, UploadToContainerOptionsBuilder};

use facts::docker::Endpoint;
use facts::live::{Answer, Failure, NotTried};

use super::run::{self, Ran};
use super::transport::Transport;
use super::{container, engine};
use crate::error::messages::is_image_name;
use crate::error::{Cause, Error};

/// What is asked of the engine.
#[derive(Debug, Clone)]
pub struct Request {
    /// The engine that starts it.
    pub endpoint: Endpoint,
    /// The image; the smallest one that envdoc runs in when none is named.
    pub image: Option<String>,
    /// Whether to ask for all GPUs, as `docker run --gpus all` does.
    pub gpus: bool,
    /// The longest any one step may take.
    pub step: Duration,
}

/// How many images are tried when none is named: the smallest may hold no C library at all.
const IMAGES_LIMIT: usize = 4;
/// Where envdoc lies inside the container.
const PROGRAM: &str = "envdoc-live-check";
/// The most that is taken of a snapshot, in bytes.
const OUTPUT_LIMIT_BYTES: usize = 64 << 20;
/// Label of the containers that this makes; `docker ps -a --filter label=envdoc.live` finds one that was left
/// behind.
const LABEL: &str = "envdoc.live";

/// Starts the container and looks.
pub fn look(request: &Request) -> Result<Answer, NotTried> {
    let answer = crate::block_on(async {
        let transport = Transport::open(&request.endpoint, None, Instant::now() + request.step).await;
        let transport = transport.map_err(|blocked| NotTried::Reason(blocked.message))?;
        let docker = engine::open(transport.local(), request.step)
            .await
            .map_err(|error| NotTried::Reason(error.to_string()))?;
        let images = match &request.image {
            Some(image) => vec![image.clone()],
            None => smallest_images(&docker, request.step).await?,
        };
        let mut last = None;
        for image in images {
            let answer = attempt(&docker, transport.local(), &image, request).await?;
            let again = matches!(&answer.outcome, Err(failure) if !failure.of_container);
            last = Some(answer);
            if !again {
                break;
            }
        }
        last.ok_or_else(|| {
            NotTried::Reason("the engine has no image; pull one and specify it with --image".into())
        })
    });
    answer.map_err(|error| NotTried::Reason(error.to_string()))?
}

async fn smallest_images(docker: &Docker, step: Duration) -> Result<Vec<String>, NotTried> {
    let options = ListImagesOptionsBuilder::default().all(false).build();
    let images = tokio::time::timeout(step, docker.list_images(Some(options))).await;
    let images = images.map_err(|_| NotTried::Reason("the engine did not list its images in time".into()))?;
    let mut images = images.map_err(|error| NotTried::Reason(Error::from(error).to_string()))?;
    images.retain(|image| image.repo_tags.iter().any(|tag| is_image_name(tag)));
    images.sort_by_key(|image| image.size);
    Ok(images.into_iter().filter_map(|image| image.repo_tags.into_iter().next()).take(IMAGES_LIMIT).collect())
}

/// One container of one image: made, filled, started, listened to, removed.
async fn attempt(
    docker: &Docker,
    local: &Endpoint,
    image: &str,
    request: &Request,
) -> Result<Answer, NotTried> {
    let name = format!("envdoc-live-{}", std::process::id());
    let outcome = tokio::select! {
        outcome = snapshot(docker, local, image, &name, request) => outcome,
        _ = tokio::signal::ctrl_c() => Err(NotTried::Interrupted),
    };
    let removed = container::delete(docker, &name, true, request.step).await;
    let outcome = match (outcome?, removed) {
        (Ok(_), Err(error)) => {
            let left = Error::LeftBehind { name, source: Box::new(error) };
            Err(failure("removing the container", true, &left))
        }
        (outcome, _) => outcome,
    };
    Ok(Answer { image: image.to_owned(), outcome })
}

/// Creates the container, starts envdoc in it and returns what it printed.
async fn snapshot(
    docker: &Docker,
    local: &Endpoint,
    image: &str,
    name: &str,
    request: &Request,
) -> Result<Result<String, Failure>, NotTried> {
    let failed = |step, of_container| move |error: Error| failure(step, of_container, &error);
    let body = container::request::snapshot(image, PROGRAM, request.gpus, LABEL);
    let created = container::create(docker, name, body, request.step).await;
    if created.as_ref().is_err_and(|error| *error.cause() == Cause::NoSuchImage) {
        let why = format!("image {image} not found; envdoc does not pull images: docker pull {image}");
        return Err(NotTried::Reason(why));
    }
    let looking = async {
        created.map_err(failed("creating the container", true))?;
        within("copying envdoc into it", request, upload(docker, name)).await?;
        container::start_within(docker, name, request.step).await.map_err(|error| {
            // The program's loader (its C library) is not in the image.
            let cannot_run = error.lacks(PROGRAM);
            failed("starting the container", !cannot_run)(error)
        })?;
        within("waiting for what envdoc says inside", request, listen(docker, local, name)).await
    };
    Ok(looking.await)
}

async fn within<T>(
    step: &'static str,
    request: &Request,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(request.step, work).await {
        Ok(result) => result.map_err(|error| failure(step, false, &error)),
        Err(_) => Err(failure(step, false, &Error::answer_timeout(request.step))),
    }
}

fn failure(step: &'static str, of_container: bool, error: &Error) -> Failure {
    let no_gpu_runtime = *error.cause() == Cause::NoGpuRuntime;
    Failure { step, message: error.to_string(), of_container, no_gpu_runtime }
}

/// Copies this very program to the container's root.
async fn upload(docker: &Docker, name: &str) -> Result<(), Error> {
    #[expect(clippy::disallowed_methods, reason = "envdoc's own program is what goes into the container")]
    let program = std::fs::read("/proc/self/exe")
        .map_err(|error| Error::other(format!("envdoc cannot read its own program: {error}")))?;
    let mut header = tar::Header::new_gnu();
    header.set_size(program.len() as u64);
    header.set_mode(0o755);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, PROGRAM, program.as_slice()).map_err(Error::other)?;
    let bytes = archive.into_inner().map_err(Error::other)?;
    let options = UploadToContainerOptionsBuilder::default().path("/").build();
    docker
        .upload_to_container(name, Some(options), bollard::body_full(bytes.into()))
        .await
        .map_err(Error::from)
}

/// Waits for the container's end and takes its standard output: a whole snapshot.
async fn listen(docker: &Docker, local: &Endpoint, name: &str) -> Result<String, Error> {
    let Ran { status, stdout, stderr } = run::ended(docker, local, name, OUTPUT_LIMIT_BYTES).await?;
    match status {
        0 => Ok(stdout),
        _ => Err(Error::other(format!(
            "envdoc exited with status {status} in the container: {}",
            stderr.trim()
        ))),
    }
}
