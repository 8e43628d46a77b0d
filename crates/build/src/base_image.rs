//! The contents of a user's own base image, read by running a container of it.

use catalog::Catalog;
use std::time::Duration;

use diagnostic::error::{Error, Kind};
use docker::client::Client;
use docker::engine::Engine;
use docker::run::{self, NotRan};
use docker::spec::Run;
use image::inspect::probe::{Probe, SCRIPT};
use image::merge::Merged;
use resolve::parse;

/// The longest that the container may run; its first start may have to unpack something.
const CONTAINER_TIMEOUT: Duration = Duration::from_secs(60);

/// Fills in what the request leaves out about its own base image, which must be on the engine; returns what
/// was found. Does nothing for other base images.
pub(crate) fn describe(
    catalog: &'static Catalog,
    merged: &mut Merged,
    client: &Client,
) -> Result<Vec<String>, Error> {
    let Some(name) = merged.request.base_image.clone() else { return Ok(Vec::new()) };
    let probe = inspect(&name, client)?;
    let system = probe.catalog_system(catalog).ok_or_else(|| {
        let is = probe.system.as_deref().unwrap_or("unknown");
        Error::new(Kind::Usage, format!("the operating system of {name} ({is}) is not supported"))
            .hint("`envdoc catalog show systems` lists the supported ones")
    })?;
    if let Some(requested) = merged.request.os.as_deref()
        && parse::system(catalog, requested).is_some_and(|requested| requested.id != system)
    {
        return Err(Error::new(Kind::Usage, format!("{name} is {system}, but --os is {requested}"))
            .hint("omit --os: it is read from the image"));
    }
    merged.set_system(system);
    let mut contents = vec![system.to_owned()];
    if let Some((series, path)) = &probe.python {
        contents.push(format!("Python {series} ({path})"));
    }
    if let Some((release, _)) = &probe.nvcc {
        contents.push(format!("nvcc {release}"));
    }
    if merged.request.base_python.is_none() {
        merged.request.base_python = probe.own_python().map(str::to_owned);
    }
    merged.request.base_nvcc = Some(probe.nvcc.is_some());
    Ok(vec![format!("in {name}: {}", contents.join(", "))])
}

fn inspect(name: &str, client: &Client) -> Result<Probe, Error> {
    let container = format!("envdoc-look-{}", std::process::id());
    let spec = Run {
        image: name.to_owned(),
        command: ["/bin/sh", "-c", SCRIPT].map(str::to_owned).to_vec(),
        only_reads: true,
        deadline: CONTAINER_TIMEOUT,
        ..Run::default()
    };
    let runtime = docker::runtime()?;
    let ran = runtime.block_on(async {
        let engine = Engine::connect(&client.endpoint).await?;
        tokio::select! {
            ran = run::run(&engine, &container, &spec) => Ok(ran),
            () = docker::interrupted() => {
                let left = run::remove(&engine, &container).await;
                let message = match left {
                    Ok(()) => "interrupted before the build started".to_owned(),
                    Err(left) => left.to_string(),
                };
                Err(Error::new(Kind::Interrupted, message))
            }
        }
    })?;
    let ran = ran.map_err(|why| match why {
        NotRan::Container(why) => {
            Error::new(Kind::Engine, format!("cannot run a container of {name} to read its contents: {why}"))
                .hint(format!("if the engine does not have it: docker pull {name}"))
        }
        NotRan::Engine(why) => why.into(),
    })?;
    Probe::parse(&ran.stdout).ok_or_else(|| {
        Error::new(Kind::Engine, format!("cannot read the contents of {name}: {}", ran.stderr.trim()))
            .hint("a base image must have a POSIX shell at /bin/sh")
    })
}
