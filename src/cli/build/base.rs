//! The contents of a user's own base image, read by running a container of it.

use catalog::Catalog;
use std::time::Duration;

use crate::cli::image::{self, ImageArgs};
use crate::cli::running::runtime;
use ::image::inspect::inside::{Inside, SCRIPT};
use diagnostic::error::{Error, Kind};
use docker::client::Client;
use docker::engine::Engine;
use docker::run::{self, NotRan, Run};
use resolve::parse;

/// The longest that a container may take to say what is in it; its first start may have to unpack something.
const LOOKING: Duration = Duration::from_secs(60);

/// The options with what is in the base image, where it is one of the user's own, and what is to know of it. The image must be on the
/// engine.
pub(super) fn told(
    catalog: &'static Catalog,
    args: &ImageArgs,
    client: &Client,
) -> Result<(ImageArgs, Vec<String>), Error> {
    let mut args = args.clone();
    let file = args.request.as_deref().map(image::read).transpose()?;
    let of_file = file.unwrap_or_default();
    let Some(name) = args.base_image.clone().or(of_file.base_image.filter(|_| args.stack.base.is_none()))
    else {
        return Ok((args, Vec::new()));
    };
    let inside = look(&name, client)?;
    let system = inside.catalog_system(catalog).ok_or_else(|| {
        let is = inside.system.as_deref().unwrap_or("unknown");
        Error::new(Kind::Usage, format!("the operating system of {name} ({is}) is not supported"))
            .hint("`envdoc catalog show systems` lists the supported ones")
    })?;
    if let Some(asked) = args.stack.os.as_deref().or(of_file.os.as_deref())
        && parse::system(catalog, asked).is_some_and(|asked| asked.id != system)
    {
        return Err(Error::new(Kind::Usage, format!("{name} is {system}, but --os is {asked}"))
            .hint("omit --os: it is read from the image"));
    }
    args.stack.os = Some(system.to_owned());
    let mut says = vec![system.to_owned()];
    if let Some((series, path)) = &inside.python {
        says.push(format!("Python {series} ({path})"));
    }
    if let Some((release, _)) = &inside.nvcc {
        says.push(format!("nvcc {release}"));
    }
    if args.base_python.is_none() && of_file.base_python.is_none() {
        args.base_python = inside.own_python().map(str::to_owned);
    }
    args.base_nvcc = Some(inside.nvcc.is_some());
    Ok((args, vec![format!("in {name}: {}", says.join(", "))]))
}

fn look(name: &str, client: &Client) -> Result<Inside, Error> {
    let runtime = runtime()?;
    let container = format!("envdoc-look-{}", std::process::id());
    let wanted = Run {
        image: name.to_owned(),
        command: ["/bin/sh", "-c", SCRIPT].map(str::to_owned).to_vec(),
        deadline: LOOKING,
        ..Run::default()
    };
    let ran = runtime.block_on(async {
        let engine = Engine::connect(&client.endpoint).await?;
        tokio::select! {
            ran = run::run(&engine, &container, &wanted) => Ok(ran),
            _ = tokio::signal::ctrl_c() => {
                let left = run::remove(&engine, &container).await;
                let done = "interrupted before the build started";
                let says = left.map_or_else(String::from, |()| done.into());
                Err(Error::new(Kind::Interrupted, says))
            }
        }
    })?;
    let ran = match ran {
        Ok(ran) => ran,
        Err(NotRan::Container(why)) => {
            return Err(Error::new(
                Kind::Engine,
                format!("cannot run a container of {name} to read its contents: {why}"),
            )
            .hint(format!("if the engine does not have it: docker pull {name}")));
        }
        Err(NotRan::Engine(why)) => return Err(Error::new(Kind::Engine, why)),
    };
    Inside::parse(&ran.stdout).ok_or_else(|| {
        Error::new(Kind::Engine, format!("cannot read the contents of {name}: {}", ran.stderr.trim()))
            .hint("a base image must have a POSIX shell at /bin/sh")
    })
}
