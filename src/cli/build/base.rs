//! A base image of one's own: what is in it is asked of the image itself.

use std::time::Duration;

use crate::cli::image::{self, ImageArgs};
use crate::cli::running::runtime;
use ::image::inspect::inside::{Inside, SCRIPT};
use diagnostic::error::{Error, Kind};
use docker::client::Client;
use docker::docker::Engine;
use docker::run::{self, NotRan, Run};
use resolve::parse;

/// The longest that a container may take to say what is in it; its first start may have to unpack something.
const LOOKING: Duration = Duration::from_secs(60);

/// The options with what is in the base image, where it is one of the user's own, and what is to know of it. The image must be on the
/// engine.
pub(super) fn told(args: &ImageArgs, client: &Client) -> Result<(ImageArgs, Vec<String>), Error> {
    let mut args = args.clone();
    let file = args.request.as_deref().map(image::read).transpose()?;
    let of_file = file.unwrap_or_default();
    let Some(name) = args.base_image.clone().or(of_file.base_image.filter(|_| args.wishes.base.is_none()))
    else {
        return Ok((args, Vec::new()));
    };
    let inside = look(&name, client)?;
    let system = inside.catalog_system().ok_or_else(|| {
        let is = inside.system.as_deref().unwrap_or("nothing that says what it is");
        Error::new(Kind::Usage, format!("the system of {name} ({is}) is not in envdoc's catalog"))
            .hint("envdoc catalog show systems lists those that are")
    })?;
    if let Some(asked) = args.wishes.os.as_deref().or(of_file.os.as_deref())
        && parse::system(asked).is_some_and(|asked| asked.id != system)
    {
        return Err(Error::new(Kind::Usage, format!("{name} is {system}, and {asked} was asked for"))
            .hint("leave --os out: it is read from the image"));
    }
    args.wishes.os = Some(system.to_owned());
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
                Err(Error::new(Kind::Interrupted, left.map_or_else(String::from, |()| "interrupted before anything was built".into())))
            }
        }
    })?;
    let ran = match ran {
        Ok(ran) => ran,
        Err(NotRan::Container(why)) => {
            return Err(Error::new(Kind::Engine, format!("{name} could not be looked into: {why}"))
                .hint(format!("docker pull {name}, where the engine does not have it")));
        }
        Err(NotRan::Engine(why)) => return Err(Error::new(Kind::Engine, why)),
    };
    Inside::parse(&ran.stdout).ok_or_else(|| {
        Error::new(Kind::Engine, format!("{name} could not be looked into: {}", ran.stderr.trim()))
            .hint("a base image needs a POSIX shell at /bin/sh")
    })
}
