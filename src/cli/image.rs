//! The options of an image, which `render` and `build` share, and the way from them to a plan.

use std::path::{Path, PathBuf};

use super::locking::Kept;
use super::wishes::{Asked, Wishes};
use ::image::plan::{self, Plan};
use ::image::request::{Compile, Copy, ImageRequest, PythonFrom};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use host::file;
use resolve;
use resolve::answer::{Answer, Resolution, Warning};
use resolve::lock::{Lock, LockError};
use resolve::parse::{self, Understood};
use resolve::request::{Request, Want};
use resolve::world::World;

/// What the image must be.
#[derive(Debug, Clone, clap::Args)]
pub struct ImageArgs {
    /// A request file (images/NAME/request.yaml, see docs/request.md); options win over it.
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a comment would replace that of the command")]
    pub wishes: Wishes,

    /// The lock of the image, made with `envdoc render lock`: its stack is asked for beside the request, and its Python packages are
    /// installed by their hashes. Without this option envdoc.lock beside --request, where there is one.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Nothing may be otherwise than the lock says.
    #[arg(long)]
    pub locked: bool,

    /// Name of the image, for its title and tag.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// An image of your own to build on. `build` looks what is in it; for `render` tell it with --os, and --base-python where it
    /// brings a Python.
    #[arg(long, value_name = "IMAGE", conflicts_with = "base")]
    pub base_image: Option<String>,

    /// The Python that comes first on PATH in --base-image: 3.12.
    #[arg(long, value_name = "V")]
    pub base_python: Option<String>,

    /// --base-image has nvcc and the headers of CUDA; false: it has not.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub base_nvcc: Option<bool>,

    /// An image with nvcc, of the same system as --base-image, in which what the build alone compiles is compiled.
    #[arg(long, value_name = "IMAGE")]
    pub base_devel: Option<String>,

    /// Who brings the Python where the base image does not; without it the system where it has it, else uv.
    #[arg(long, value_enum, value_name = "WHO")]
    pub python_from: Option<PythonFrom>,

    /// Operators of DeepSpeed that are compiled while the image is built, so that it needs no nvcc: fused_adam,cpu_adam.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub deepspeed_ops: Vec<String>,

    /// Digest by which the base image is pinned: sha256:….
    #[arg(long, value_name = "DIGEST")]
    pub base_digest: Option<String>,

    /// Pin the base image by the digest that its registry has for it now: asks the registry, over the network.
    #[arg(long, conflicts_with = "base_digest")]
    pub pin: bool,

    /// Packages of the system for the finished image.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub apt: Vec<String>,

    /// A known mirror for packages during the build: tuna, ustc, aliyun.
    #[arg(long, value_name = "NAME")]
    pub mirror: Option<String>,

    /// Index of Python packages during the build.
    #[arg(long, value_name = "URL")]
    pub pip_index: Option<String>,

    /// Further indexes of Python packages during the build.
    #[arg(long, value_name = "URL")]
    pub extra_index: Vec<String>,

    /// Mirror of the system's archive during the build: the address before /ubuntu or /debian.
    #[arg(long, value_name = "URL")]
    pub apt_mirror: Option<String>,

    /// Mirror of python-build-standalone's releases, from which uv takes a Python that the system does not have.
    #[arg(long, value_name = "URL")]
    pub python_mirror: Option<String>,

    /// Take mirrors that are not named from this machine's own pip, uv and apt; an address with a login goes into the build as a secret.
    #[arg(long)]
    pub mirrors_from_host: bool,

    /// Directory in the build context that holds every wheel: no index is asked.
    #[arg(long, value_name = "DIR")]
    pub wheels: Option<String>,

    /// Proxy for the build alone.
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// PEM bundle that the build trusts; it is in no layer of the image.
    #[arg(long, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,

    /// Keep no caches in the builder; without --ca-cert and uv the classic builder does too.
    #[arg(long)]
    pub no_cache_mounts: bool,

    /// The user that the container runs as.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Working directory of the container.
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<String>,

    /// A variable of the container; nothing secret, it stands in the image.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// A label of the image.
    #[arg(long, value_name = "NAME=VALUE")]
    pub label: Vec<String>,

    /// Copy from the build context, after everything else: src:/workspace/src.
    #[arg(long, value_name = "FROM:TO")]
    pub copy: Vec<String>,
}

/// What became of a request.
#[derive(Debug)]
pub enum Settled {
    /// A plan, and what is to know beside it.
    Plan(Box<Plan>, Vec<String>),
    /// No stack: the report of why, for people.
    None(String),
}

impl ImageArgs {
    /// Resolves, and settles everything.
    pub fn settle(&self) -> Result<Settled, Error> {
        self.settle_on(None, false)
    }

    /// The same on a day (`2026-11-21`), today where it is `None`, which decides what is past its end of life; with `anew` no lock is
    /// looked at.
    pub fn settle_on(&self, day: Option<&str>, anew: bool) -> Result<Settled, Error> {
        let world = World::get();
        let mut request = self.request.as_deref().map(read).transpose()?.unwrap_or_default();
        let of_file = request.typed();
        self.over(&mut request)?;
        let taken = match request.mirrors.from_host {
            true => super::host_mirrors::take(&mut request),
            false => Vec::new(),
        };
        let Asked { request: mut asked, mut warnings, mut notes } = self.asked(world, &request, &of_file)?;
        notes.extend(taken);
        if let Some(day) = day {
            day.clone_into(&mut asked.today);
        }
        request.says = asked.wishes.iter().map(|wish| wish.says.clone()).collect();
        request.targets = asked
            .wishes
            .iter()
            .filter_map(|wish| match &wish.want {
                Want::Gpu(gpu) => Some(gpu.capability),
                _ => None,
            })
            .collect();
        let kept = if anew { None } else { self.kept()? };
        if let Some(kept) = &kept {
            let error = |error: LockError| Error::new(Kind::File, format!("{}: {error}", kept.name));
            asked.wishes.extend(kept.lock.wishes(&kept.name).map_err(error)?);
        }
        let answer = resolve::resolve(world, &asked);
        let resolution = match answer {
            Answer::Found(resolution) => resolution,
            Answer::None(_) => return Ok(Settled::None(no_stack(&asked, &answer, &warnings, &notes))),
        };
        if let Some(none) = on_other_architectures(world, &request, &asked, &resolution)? {
            return Ok(Settled::None(none));
        }
        if let Some(kept) = &kept {
            notes.extend(self.held(kept, &mut request, &resolution)?);
        }
        if let Some(base) =
            request.base_image.as_ref().or(resolution.stack.base_image.as_ref()).filter(|_| self.pin)
        {
            request.base_digest = Some(super::registry::digest(base, self.ca_cert.as_deref())?);
        }
        let mut plan = plan::plan(&request, &resolution)?;
        plan.warnings.append(&mut warnings);
        Ok(Settled::Plan(Box::new(plan), notes))
    }

    /// Takes the Python packages of a lock, where they are those of the request; what is otherwise is said.
    fn held(
        &self,
        kept: &Kept,
        request: &mut ImageRequest,
        resolution: &Resolution,
    ) -> Result<Vec<String>, Error> {
        let differences = kept.lock.differences(&resolution.stack);
        let plan = plan::plan(request, resolution)?;
        let drift = kept.drift(&plan, differences, self.locked)?;
        if drift.is_empty() {
            request.locked.clone_from(&kept.lock.packages);
            return Ok(Vec::new());
        }
        let told = drift.iter().map(|one| format!("{}: {one}", kept.name));
        Ok(told
            .chain([format!("{} is not followed; make it anew with `envdoc render lock --force`", kept.name)])
            .collect())
    }

    /// The wishes of the file and of the options, in the words of each.
    fn asked(&self, world: &World, request: &ImageRequest, of_file: &parse::Typed) -> Result<Asked, Error> {
        let typed = self.wishes.typed();
        let mut of_file = parse::Typed { with: request.typed().with, ..of_file.clone() };
        let given = |text: &Option<String>| text.is_some();
        for (option, of_file) in [
            (given(&typed.cuda), &mut of_file.cuda),
            (given(&typed.python), &mut of_file.python),
            (given(&typed.torch), &mut of_file.torch),
            (given(&typed.deepspeed), &mut of_file.deepspeed),
            (given(&typed.driver), &mut of_file.driver),
            (given(&typed.os), &mut of_file.os),
            (given(&typed.arch), &mut of_file.arch),
            (given(&typed.base) || request.base_image.is_some(), &mut of_file.base),
        ] {
            if option {
                *of_file = None;
            }
        }
        if !typed.gpu.is_empty() {
            of_file.gpu.clear();
        }
        // The packages of both stand in the request.
        let of_options = parse::Typed { with: Vec::new(), ..typed };
        let mut understood = Understood::default();
        let name = request.origin.clone().unwrap_or_default();
        let file = parse::wishes(world, &of_file).map_err(|mistake| {
            let says = key(&mistake.says);
            let says = if name.is_empty() { says } else { format!("{name}: {says}") };
            Error { kind: Kind::Usage, message: says, hints: mistake.hints }
        })?;
        understood.warnings.extend(file.warnings);
        understood.wishes.extend(file.wishes.into_iter().map(|mut wish| {
            wish.says = key(&wish.says);
            wish
        }));
        let options = parse::wishes(world, &of_options)?;
        understood.warnings.extend(options.warnings);
        understood.wishes.extend(options.wishes);
        let mut wishes = self.wishes.clone();
        if wishes.from.is_empty() {
            wishes.from = request.from.iter().map(PathBuf::from).collect();
        }
        let mut asked = wishes.with_machines(understood)?;
        asked.request.wishes.extend(request.own_base());
        Ok(asked)
    }

    /// Puts the options over what the file says.
    fn over(&self, request: &mut ImageRequest) -> Result<(), Error> {
        let put = |option: &Option<String>, field: &mut Option<String>| {
            if option.is_some() {
                field.clone_from(option);
            }
        };
        put(&self.name, &mut request.name);
        put(&self.base_image, &mut request.base_image);
        put(&self.base_python, &mut request.base_python);
        put(&self.base_digest, &mut request.base_digest);
        put(&self.base_devel, &mut request.base_devel);
        request.python_from = self.python_from.or(request.python_from);
        if !self.deepspeed_ops.is_empty() {
            request.deepspeed_ops.clone_from(&self.deepspeed_ops);
        }
        put(&self.mirror, &mut request.mirrors.preset);
        put(&self.pip_index, &mut request.mirrors.pip_index);
        put(&self.apt_mirror, &mut request.mirrors.apt);
        put(&self.python_mirror, &mut request.mirrors.python);
        put(&self.wheels, &mut request.wheels);
        put(&self.proxy, &mut request.proxy);
        put(&self.user, &mut request.user);
        put(&self.workdir, &mut request.workdir);
        put(&self.wishes.base, &mut request.base);
        if self.wishes.base.is_some() {
            request.base_image = None;
        }
        if let Some(bundle) = &self.ca_cert {
            request.ca_certificates = Some(bundle.display().to_string());
        }
        request.base_nvcc = self.base_nvcc.or(request.base_nvcc);
        request.apt.extend(self.apt.iter().cloned());
        request.mirrors.extra_index.extend(self.extra_index.iter().cloned());
        request.mirrors.from_host |= self.mirrors_from_host;
        if self.no_cache_mounts {
            request.cache = Some(false);
        }
        if self.wishes.compile {
            request.compile = request.compile.or(Some(Compile::Run));
        }
        if let Some(architecture) = &self.wishes.arch {
            request.architectures = vec![architecture.clone()];
        }
        for text in &self.wishes.with {
            for package in parse::requirements(text) {
                let name = parse::package_name(package);
                request.packages.retain(|other| parse::package_name(other) != name);
                request.packages.push(package.to_owned());
            }
        }
        for text in &self.env {
            let (name, value) = pair("--env", text, '=', "NAME=VALUE")?;
            request.env.insert(name, value);
        }
        for text in &self.label {
            let (name, value) = pair("--label", text, '=', "NAME=VALUE")?;
            request.labels.insert(name, value);
        }
        for text in &self.copy {
            let (from, to) = pair("--copy", text, ':', "FROM:TO")?;
            request.copy.push(Copy { from, to });
        }
        Ok(())
    }
}

/// Reads a request file; paths in it are seen from where it lies.
pub fn read(path: &Path) -> Result<ImageRequest, Error> {
    let name = path.display().to_string();
    let Some(text) = file::read(path)? else {
        return Err(Error::new(Kind::File, format!("there is no file {name}")));
    };
    let mut request = ImageRequest::parse(&name, &text)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    for file in request.from.iter_mut().chain(&mut request.ca_certificates) {
        *file = dir.join(&*file).display().to_string();
    }
    if request.name.is_none() {
        // images/rl/request.yaml is rl, recipes/rl.yaml too.
        let stem = path.file_stem().filter(|stem| *stem != "request").or(dir.file_name());
        request.name = stem.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.is_empty());
    }
    request.origin = Some(name);
    Ok(request)
}

/// The words of an option as the key of a request file.
fn key(says: &str) -> String {
    let Some(option) = says.strip_prefix("--") else { return says.to_owned() };
    for (name, key) in
        [("with", "packages"), ("gpu", "gpus"), ("preset", "presets"), ("arch", "architectures")]
    {
        if let Some(rest) = option.strip_prefix(name).filter(|rest| rest.starts_with([' ', ':'])) {
            return format!("{key}{rest}");
        }
    }
    option.to_owned()
}

fn pair(option: &str, text: &str, sign: char, form: &str) -> Result<(String, String), Error> {
    match text.split_once(sign) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::new(Kind::Usage, format!("{option} {text}: {form} is expected"))),
    }
}

/// The same stack on the other processors; the report of why not, where it does not hold there.
fn on_other_architectures(
    world: &World,
    image: &ImageRequest,
    asked: &Request,
    resolution: &Resolution,
) -> Result<Option<String>, Error> {
    for architecture in image.architectures.iter().skip(1) {
        let typed = parse::Typed { arch: Some(architecture.clone()), ..parse::Typed::default() };
        let lock = Lock::of(&resolution.stack, &[]);
        let mut wishes = lock
            .wishes("the stack of the first processor")
            .map_err(|error| Error::new(Kind::Usage, error.to_string()))?;
        wishes.retain(|wish| !matches!(wish.want, Want::Architecture(_)));
        wishes.extend(parse::wishes(world, &typed)?.wishes);
        wishes
            .extend(asked.wishes.iter().filter(|wish| !matches!(wish.want, Want::Architecture(_))).cloned());
        let other = Request { wishes, ..asked.clone() };
        let answer = resolve::resolve(world, &other);
        if matches!(answer, Answer::None(_)) {
            return Ok(Some(no_stack(&other, &answer, &[], &[])));
        }
    }
    Ok(None)
}

/// Why there is no stack, as `envdoc resolve` says it.
fn no_stack(request: &Request, answer: &Answer, warnings: &[Warning], notes: &[String]) -> String {
    let report = resolve::report::Report { wishes: &request.wishes, answer, warnings, notes };
    let layout = Layout::of_screen(false);
    resolve::report::text::report(&report, layout)
}
