//! `envdoc.lock`: read, compared with what is planned now, and written with uv.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use diagnostic::render::json;
use diagnostic::shell;
use host::file;
use host::{Reading, process};
use image::lock;
use image::plan::Plan;
use image::render;
use resolve::install::torch_of_image;
use resolve::lock::{Lock, LockedPackage};
use resolve::pip::PipRequirement;

const UV_TIMEOUT: Duration = Duration::from_secs(600);

/// Name of the lock next to a request file.
pub const NAME: &str = "envdoc.lock";

/// `envdoc.lock` in the directory of a request file.
pub fn next_to(request: &Path) -> PathBuf {
    request.with_file_name(NAME)
}

/// How a lock takes part in a plan.
#[derive(Debug, Clone, Default)]
pub struct LockRequest {
    /// `None`: no lock takes part.
    pub path: Option<PathBuf>,
    /// Whether the file must exist: it was named.
    pub required: bool,
    /// Whether any difference from it is an error.
    pub exact: bool,
    /// Whether a lock of versions alone is exact: `envdoc resolve --lock` writes no packages.
    pub versions_suffice: bool,
    /// Whether it is not read, because it is about to be made.
    pub ignored: bool,
}

/// A lock, and the name of its file.
#[derive(Debug, Clone)]
pub(crate) struct LockFile {
    pub(crate) name: String,
    pub(crate) lock: Lock,
}

/// The text of a new lock.
#[derive(Debug)]
pub struct NewLock {
    /// JSON, as the file is written.
    pub text: String,
    /// Why it has no hashes, where it has none.
    pub without_hashes: Option<NoHashes>,
}

/// NVIDIA's torch is part of its image: the lock pins only top-level versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "NVIDIA's torch is on no index, so uv cannot resolve against it: only top-level versions are pinned, \
     without hashes"
)]
pub struct NoHashes;

impl LockRequest {
    /// # Errors
    /// `--locked` without a lock to compare with.
    pub fn check(&self) -> Result<(), Error> {
        match self.exact && self.path.is_none() && !self.ignored {
            true => Err(Error::new(Kind::Usage, "--locked requires --lock or --request")),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self) -> Result<Option<LockFile>, Error> {
        self.check()?;
        let Some(path) = self.path.as_ref().filter(|_| !self.ignored) else { return Ok(None) };
        let name = path.display().to_string();
        let Some(text) = file::read(path)? else {
            return match self.exact || self.required {
                true => Err(file::missing(path).hint(format!("create it: {}", again(&name)))),
                false => Ok(None),
            };
        };
        let lock = Lock::parse(&text).map_err(|error| Error::new(Kind::File, format!("{name}: {error}")))?;
        Ok(Some(LockFile { name, lock }))
    }

    /// An error where a plan differs from a lock that must be met exactly.
    pub(crate) fn accept(&self, kept: &LockFile, plan: &Plan) -> Result<(), Error> {
        let versions_suffice = self.versions_suffice || torch_of_image(&plan.stack);
        let partial = kept.lock.packages.is_none() && !versions_suffice;
        let drift = plan.lock_drift.iter().map(String::as_str);
        let top_level = "it pins top-level versions alone, not the whole Python set";
        let all: Vec<&str> = drift.chain(partial.then_some(top_level)).collect();
        if !self.exact || all.is_empty() {
            return Ok(());
        }
        let command = match self.versions_suffice {
            true => {
                format!("`envdoc resolve --lock {} --force` with the same options", shell::word(&kept.name))
            }
            false => again(&kept.name),
        };
        Err(Error::new(Kind::File, format!("{}: {}", kept.name, all.join("; ")))
            .hint(format!("regenerate it and review the change: {command}")))
    }
}

/// The command that makes a lock.
pub fn again(name: &str) -> String {
    format!("`envdoc render lock --output {}` with the same request and options", shell::word(name))
}

/// The lock of a plan, with the whole Python set as uv resolves it.
///
/// # Errors
/// uv is not on this machine, or finds no set.
pub fn text(plan: &Plan) -> Result<NewLock, Error> {
    let mut lock = Lock::new(&plan.resolved, &[]);
    lock.requirements.clone_from(&plan.requested);
    let without_hashes = torch_of_image(&plan.stack).then_some(NoHashes);
    if without_hashes.is_none() {
        // Those of the project's own lock, where it has one.
        lock.packages = Some(match &plan.locked {
            Some(packages) => packages.concat(),
            None => compile(plan)?,
        });
    }
    Ok(NewLock { text: json::text(&lock)?, without_hashes })
}

/// Whether a text is a lock that envdoc wrote.
pub fn is_lock(text: &str) -> bool {
    Lock::parse(text).is_ok()
}

fn compile(plan: &Plan) -> Result<Vec<LockedPackage>, Error> {
    // It is compiled with the torch that is installed, and can be in no list.
    let compiled = |one: &PipRequirement| matches!(one, PipRequirement::Pin(pin) if pin.name == "flash-attn");
    let requirements = render::selected(plan, |one| !compiled(one))?;
    let platform = format!("{}-manylinux_{}", plan.stack.architecture, plan.glibc.replace('.', "_"));
    let mut argv =
        vec!["uv", "pip", "compile", "-", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"];
    argv.extend(["--python-version", &plan.stack.python, "--python-platform", &platform]);
    if let Some(index) = &plan.index {
        argv.extend(["--default-index", index]);
    }
    // In a directory without settings: uv would take indexes from the files of the checkout that envdoc runs
    // in, and it runs the builds of packages that it finds there.
    match process::run_in(Path::new("/"), &argv, &requirements, Instant::now() + UV_TIMEOUT) {
        Reading::Ran { status: Some(0), stdout, .. } => with_hashes(lock::parse(&stdout)),
        Reading::Absent | Reading::Text(_) => Err(Error::new(
            Kind::Usage,
            "`render lock` requires uv, which is not installed: it finds the packages and their hashes",
        )
        .hint("install uv (`pipx install uv`, or uv's installer), then run the command again")),
        Reading::Ran { stderr, .. } => {
            Err(Error::new(Kind::Network, format!("uv pip compile failed: {}", stderr.trim())))
        }
        Reading::Failed(why) => Err(Error::new(Kind::Network, format!("uv pip compile: {why}"))),
    }
}

/// A version without hashes could be replaced on the index. What comes from an address (`name @ git+…`) has
/// none.
fn with_hashes(packages: Vec<LockedPackage>) -> Result<Vec<LockedPackage>, Error> {
    let bare = packages.iter().find(|one| one.hashes.is_empty() && one.requirement.contains("=="));
    match bare {
        Some(bare) => {
            let message = format!("uv pip compile returned no hash for {}", bare.requirement);
            Err(Error::new(Kind::Network, message))
        }
        None => Ok(packages),
    }
}
