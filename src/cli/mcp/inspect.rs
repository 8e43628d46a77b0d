//! The tool `inspect`.

use std::time::Duration;

use ::build::inspect::{ImageSource, InspectError, InspectRequest, inspect};
use ::image::inspect::image::Image;
use ::image::inspect::report::{self, Machine, Report};
use ::image::inspect::{Reference, judge};
use checks::CHECKS;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use facts::{Expected, Facts};
use host::redact::{hide_named_credentials, holds_credential};
use mcp::{Answer, Description, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::NamedPath;
use super::{LAYOUT, Program, machine};
use crate::cli::inspect::name;

/// The image, and who is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Image: `name:tag`, `registry/name:tag` or `name@sha256:…`.
    image: String,
    /// Uses the network: ask the registry where the Docker engine does not have the image. Only its manifest
    /// and configuration are read.
    #[serde(default)]
    registry: bool,
    /// Uses the network: ask only the registry.
    #[serde(default)]
    remote: bool,
    /// Docker engine: `unix:///path`; `ssh://user@host` and `tcp://address:port` use the network [default:
    /// the engine on this machine].
    host: Option<String>,
    /// Snapshot files of recorded machines that should run the image, made with `envdoc snapshot`.
    #[serde(default)]
    from: Vec<NamedPath>,
    /// This machine should run the image.
    #[serde(default)]
    here: bool,
    /// Architecture to read of a multi-platform image: `x86_64` or `aarch64` [default: that of the machines,
    /// else x86_64].
    arch: Option<String>,
    /// Timeout for the engine and the registry, in seconds [default: 30].
    timeout: Option<f64>,
    /// Replace names of people, machines and networks by placeholders, and credentials by `***`.
    #[serde(default = "machine::redacted_by_default")]
    redact: bool,
}

const TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn tool(program: Program) -> Tool {
    let description = Description {
        name: "inspect",
        title: "Inspect a container image",
        text: "Show what an image contains (torch, CUDA, layers, variables, labels), and whether it \
               runs on a machine: architecture, driver, CUDA, GPUs. Nothing is pulled or started. Asks \
               the Docker engine of this machine; a registry only with `registry` or `remote`.",
        lists: &["/machines", "/image/layers", "/image/labels", "/image/environment", "/contents"],
        network: true,
    };
    Tool::new::<Arguments, Report<'static>>(description, move |arguments| run(&program, &arguments))
}

fn run(program: &Program, arguments: &Arguments) -> Result<Answer, Error> {
    let reference =
        Reference::parse(&arguments.image).map_err(|why| Error::new(Kind::Usage, format!("image: {why}")))?;
    let machines = machines(program, arguments)?;
    let of_machine = || machines.first().and_then(|(_, facts)| facts.system.architecture.known().cloned());
    let request = InspectRequest {
        catalog: program.catalog,
        reference,
        architecture: arguments.arch.clone().or_else(of_machine).unwrap_or_else(|| "x86_64".into()),
        host: arguments.host.clone(),
        source: match (arguments.remote, arguments.registry) {
            (true, _) => ImageSource::Registry,
            (false, true) => ImageSource::EngineThenRegistry,
            (false, false) => ImageSource::Engine,
        },
        plain_http: false,
        certificates: None,
        timeout: machine::timeout(arguments.timeout)?.unwrap_or(TIMEOUT),
    };
    let image = match inspect(&request, &terminal::note) {
        Ok(image) if arguments.redact => without_credentials(image),
        Ok(image) => image,
        Err(InspectError::NotFound(error)) => {
            let why = error.to_string();
            let text = terminal::plain(&report::not_found_text(&why, LAYOUT));
            return Answer::new(&report::not_found_json(&why), text);
        }
        Err(InspectError::Other(error)) => return Err(error),
    };
    let judged: Vec<Machine> = machines
        .iter()
        .map(|(name, facts)| Machine { name: name.clone(), judged: judge(&image, facts, CHECKS) })
        .collect();
    let text = report::text(program.catalog, &image, &judged, LAYOUT);
    Answer::new(&report::json(program.catalog, &image, &judged), terminal::plain(&text))
}

fn machines(program: &Program, arguments: &Arguments) -> Result<Vec<(String, Facts)>, Error> {
    let mut machines = Vec::new();
    for file in &arguments.from {
        let snapshot = machine::recorded(file.as_ref(), arguments.redact)?;
        machines.push((name(file.as_ref()), machine::facts(program, snapshot, Expected::default())));
    }
    if arguments.here {
        let snapshot = machine::here(program, None, arguments.redact)?;
        machines.push(("this machine".to_owned(), machine::facts(program, snapshot, Expected::default())));
    }
    Ok(machines)
}

/// The image without what its variables, labels and instructions show of credentials.
fn without_credentials(mut image: Image) -> Image {
    for (name, value) in image.environment.iter_mut().chain(&mut image.labels) {
        if holds_credential(&format!("{name}={value}")) {
            *value = "***".to_owned();
        }
    }
    for layer in &mut image.layers {
        layer.by = hide_named_credentials(&layer.by);
    }
    for text in image.entrypoint.iter_mut().chain(&mut image.command) {
        *text = hide_named_credentials(text);
    }
    image
}
