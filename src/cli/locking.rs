//! The lock of an image: kept, held against what is resolved now, and made with uv.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::image::ImageArgs;
use ::image::lock;
use ::image::plan::Plan;
use ::image::render;
use diagnostic::error::{Error, Kind};
use diagnostic::render::json;
use host::file;
use host::{Reading, process};
use resolve::install::torch_of_image;
use resolve::lock::{Lock, LockedPackage};

/// How long uv may take to resolve.
const DEADLINE: Duration = Duration::from_secs(600);

/// How the lock is called next to a request file.
const NAME: &str = "envdoc.lock";

/// A lock, and how its file is called.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The file.
    pub name: String,
    /// What is in it.
    pub lock: Lock,
}

impl ImageArgs {
    /// Where the lock is: `--lock`, or next to the request file.
    pub fn lock_path(&self) -> Option<PathBuf> {
        let beside = || self.request.as_ref().map(|request| request.with_file_name(NAME));
        self.lock.clone().or_else(beside)
    }

    /// The lock that is there.
    pub fn kept(&self) -> Result<Option<Kept>, Error> {
        let Some(path) = self.lock_path() else {
            return match self.locked {
                true => {
                    Err(Error::new(Kind::Usage, "--locked: which lock? There is no --lock and no --request"))
                }
                false => Ok(None),
            };
        };
        let name = path.display().to_string();
        let Some(text) = file::read(&path)? else {
            return match self.locked || self.lock.is_some() {
                true => Err(Error::new(Kind::File, format!("there is no lock {name}"))
                    .hint("make it with `envdoc render lock` and the same options")),
                false => Ok(None),
            };
        };
        let lock = Lock::parse(&text).map_err(|error| Error::new(Kind::File, format!("{name}: {error}")))?;
        Ok(Some(Kept { name, lock }))
    }
}

impl Kept {
    /// What is otherwise now than the lock says; an error where nothing may be (`--locked`).
    pub fn drift(&self, plan: &Plan, differences: Vec<String>, strict: bool) -> Result<Vec<String>, Error> {
        let mut drift = differences;
        drift.extend(lock::missing(&self.lock, &plan.requirements));
        if strict && self.lock.packages.is_none() {
            drift.push("it pins top-level versions alone, not the whole Python set".into());
        }
        match strict && !drift.is_empty() {
            true => Err(Error::new(Kind::File, format!("{}: {}", self.name, drift.join("; ")))
                .hint("make it again with `envdoc render lock --force`, and review the change")),
            false => Ok(drift),
        }
    }
}

/// The text of a lock of a plan: with the whole Python set where uv is on this machine, and a note of what it is without.
pub fn text(plan: &Plan, says: &[String]) -> Result<(String, Option<String>), Error> {
    let mut lock = Lock::of(&plan.resolved, &[]);
    lock.wishes = says.to_vec();
    let note = match compile(plan)? {
        Some(packages) => {
            lock.packages = Some(packages);
            None
        }
        None if torch_of_image(&plan.stack) => Some(
            "NVIDIA's torch is on no index, so uv cannot resolve against it: only top-level versions are pinned, \
             without hashes"
                .to_owned(),
        ),
        None => {
            Some("uv is not on this machine: only top-level versions are pinned, without hashes".to_owned())
        }
    };
    Ok((json::text(&lock)?, note))
}

/// The whole Python set, as uv resolves it; `None` where there is no uv.
fn compile(plan: &Plan) -> Result<Option<Vec<LockedPackage>>, Error> {
    if torch_of_image(&plan.stack) {
        return Ok(None);
    }
    let requirements: String = render::requirements(plan)?
        .lines()
        // It is compiled with the torch that is there: it can stand in no list.
        .filter(|line| !(line.starts_with("flash-attn==")))
        .map(|line| format!("{line}\n"))
        .collect();
    let platform = format!("{}-manylinux_{}", plan.stack.architecture, plan.glibc.replace('.', "_"));
    let mut argv =
        vec!["uv", "pip", "compile", "-", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"];
    argv.extend(["--python-version", &plan.stack.python, "--python-platform", &platform]);
    if let Some(index) = &plan.index {
        argv.extend(["--default-index", index]);
    }
    match process::run_with_input(&argv, &requirements, Instant::now() + DEADLINE) {
        Reading::Ran { status: Some(0), stdout, .. } => Ok(Some(lock::parse(&stdout))),
        Reading::Absent => Ok(None),
        Reading::Ran { stderr, .. } => {
            Err(Error::new(Kind::Network, format!("uv pip compile failed: {}", stderr.trim())))
        }
        Reading::Failed(why) => Err(Error::new(Kind::Network, format!("uv pip compile: {why}"))),
        Reading::Text(_) => Ok(None),
    }
}
