//! The image options of `render` and `build`, and the plan that follows from them.

use catalog::Catalog;
use std::path::{Path, PathBuf};

use super::headings::{CACHE, IMAGE, MIRRORS, REQUEST};
use super::locking::Kept;
use super::stack_args::{Asked, StackArgs};
use ::image::plan::{self, Plan};
use ::image::request::{Compile, Copy, ImageRequest, PythonFrom};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use host::file;
use resolve;
use resolve::answer::{Answer, Resolution, Warning};
use resolve::lock::{Lock, LockError};
use resolve::parameter::{Naming, Source};
use resolve::parse::{self, Understood};
use resolve::request::{Request, Want};
use resolve::world::World;

/// The requirements of an image.
#[derive(Debug, Clone, clap::Args)]
pub struct ImageArgs {
    /// Request file (see docs/request.md); options override it.
    #[arg(long, value_name = "FILE", help_heading = REQUEST)]
    pub request: Option<PathBuf>,

    /// Name of the image, for its title and tag.
    #[arg(long, value_name = "NAME", help_heading = REQUEST, hide_short_help = true)]
    pub name: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a comment would replace that of the command")]
    pub stack: StackArgs,

    /// Lock file, made with `envdoc render lock`.
    ///
    /// Default: envdoc.lock next to --request, if it exists. Its stack is requested in addition to the options, and its Python packages are installed by hash.
    #[arg(long, value_name = "FILE", help_heading = REQUEST)]
    pub lock: Option<PathBuf>,

    /// Fail if the result differs from the lock file.
    #[arg(long, help_heading = REQUEST, hide_short_help = true)]
    pub locked: bool,

    /// Your own image to build on.
    ///
    /// `build` reads its contents from the image; for `render`, describe it with --os and, if it contains a
    /// Python, --base-python.
    #[arg(long, value_name = "IMAGE", conflicts_with = "base", help_heading = IMAGE)]
    pub base_image: Option<String>,

    /// The Python version that is first on PATH in --base-image: 3.12.
    #[arg(long, value_name = "VERSION", help_heading = IMAGE, hide_short_help = true)]
    pub base_python: Option<String>,

    /// Whether --base-image contains nvcc and the CUDA headers.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        help_heading = IMAGE,
        hide_short_help = true
    )]
    pub base_nvcc: Option<bool>,

    /// Image with nvcc and the same operating system as --base-image, used to compile extensions.
    #[arg(long, value_name = "IMAGE", help_heading = IMAGE, hide_short_help = true)]
    pub base_devel: Option<String>,

    /// Source of Python if the base image has none [default: the system's Python if it fits, else uv].
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = IMAGE, hide_short_help = true)]
    pub python_from: Option<PythonFrom>,

    /// Digest that pins the base image: sha256:….
    #[arg(long, value_name = "DIGEST", help_heading = IMAGE, hide_short_help = true)]
    pub base_digest: Option<String>,

    /// Pin the base image to its current digest (asks the registry).
    #[arg(long, conflicts_with = "base_digest", help_heading = IMAGE, hide_short_help = true)]
    pub pin: bool,

    /// System packages of the final image.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = IMAGE)]
    pub apt: Vec<String>,

    /// Environment variable (not for secrets: it is stored in the image).
    #[arg(long, value_name = "NAME=VALUE", help_heading = IMAGE)]
    pub env: Vec<String>,

    /// Copy from the build context, as the last step: src:/workspace/src.
    #[arg(long, value_name = "FROM:TO", help_heading = IMAGE)]
    pub copy: Vec<String>,

    /// User that the container runs as.
    #[arg(long, value_name = "NAME", help_heading = IMAGE, hide_short_help = true)]
    pub user: Option<String>,

    /// Working directory.
    #[arg(long, value_name = "DIR", help_heading = IMAGE, hide_short_help = true)]
    pub workdir: Option<String>,

    /// Image label.
    #[arg(long, value_name = "NAME=VALUE", help_heading = IMAGE, hide_short_help = true)]
    pub label: Vec<String>,

    /// DeepSpeed operators to compile during the build (fused_adam,cpu_adam).
    ///
    /// The final image then needs no nvcc.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = IMAGE,
        hide_short_help = true
    )]
    pub deepspeed_ops: Vec<String>,

    /// Known mirror for packages during the build: tuna, ustc, aliyun.
    #[arg(long, value_name = "NAME", help_heading = MIRRORS, hide_short_help = true)]
    pub mirror: Option<String>,

    /// Python package index during the build.
    #[arg(long, value_name = "URL", help_heading = MIRRORS, hide_short_help = true)]
    pub pip_index: Option<String>,

    /// Additional Python package indexes during the build.
    #[arg(long, value_name = "URL", help_heading = MIRRORS, hide_short_help = true)]
    pub extra_index: Vec<String>,

    /// apt mirror during the build: the URL before /ubuntu or /debian.
    #[arg(long, value_name = "URL", help_heading = MIRRORS, hide_short_help = true)]
    pub apt_mirror: Option<String>,

    /// Mirror of the python-build-standalone releases, for Python versions that uv installs.
    #[arg(long, value_name = "URL", help_heading = MIRRORS, hide_short_help = true)]
    pub python_mirror: Option<String>,

    /// Use the mirrors configured for pip, uv and apt on this machine where none is named.
    ///
    /// A URL with a login is passed to the build as a secret.
    #[arg(long, help_heading = MIRRORS, hide_short_help = true)]
    pub mirrors_from_host: bool,

    /// Directory in the build context that contains every wheel; no index is used.
    #[arg(long, value_name = "DIR", help_heading = MIRRORS, hide_short_help = true)]
    pub wheels: Option<String>,

    /// Proxy, used only during the build.
    #[arg(long, value_name = "URL", help_heading = MIRRORS, hide_short_help = true)]
    pub proxy: Option<String>,

    /// CA certificates (PEM) that the build trusts; they are not stored in the image.
    #[arg(long, value_name = "FILE", help_heading = MIRRORS, hide_short_help = true)]
    pub ca_cert: Option<PathBuf>,

    /// Do not use cache mounts; without them, --ca-cert and uv, the classic builder works too.
    #[arg(long, help_heading = CACHE, hide_short_help = true)]
    pub no_cache_mounts: bool,
}

/// What became of a request.
#[derive(Debug)]
pub enum Settled {
    /// A plan, and its notes.
    Plan(Box<Plan>, Vec<String>),
    /// No stack: the report of why, for people.
    None(String),
}

impl ImageArgs {
    /// Resolves, and settles everything.
    pub fn settle(&self, catalog: &'static Catalog) -> Result<Settled, Error> {
        self.settle_on(catalog, None, false)
    }

    /// The same on a day (`2026-11-21`), today where it is `None`, which decides what is past its end of life; with `anew` no lock is
    /// looked at.
    pub fn settle_on(
        &self,
        catalog: &'static Catalog,
        day: Option<&str>,
        anew: bool,
    ) -> Result<Settled, Error> {
        let world = &World::new(catalog);
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
        request.says = asked.wishes.iter().map(|wish| wish.source.to_string()).collect();
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
            notes.extend(self.held(catalog, kept, &mut request, &resolution)?);
        }
        if let Some(base) =
            request.base_image.as_ref().or(resolution.stack.base_image.as_ref()).filter(|_| self.pin)
        {
            request.base_digest = Some(super::registry::digest(base, self.ca_cert.as_deref())?);
        }
        let mut plan = plan::plan(catalog, &request, &resolution)?;
        plan.warnings.append(&mut warnings);
        Ok(Settled::Plan(Box::new(plan), notes))
    }

    /// Takes the Python packages of a lock, where they are those of the request; what is otherwise is said.
    fn held(
        &self,
        catalog: &'static Catalog,
        kept: &Kept,
        request: &mut ImageRequest,
        resolution: &Resolution,
    ) -> Result<Vec<String>, Error> {
        let differences = kept.lock.differences(&resolution.stack);
        let plan = plan::plan(catalog, request, resolution)?;
        let drift = kept.drift(&plan, differences, self.locked)?;
        if drift.is_empty() {
            request.locked.clone_from(&kept.lock.packages);
            return Ok(Vec::new());
        }
        let told = drift.iter().map(|one| format!("{}: {one}", kept.name));
        Ok(told
            .chain([format!("{} is ignored; recreate it with `envdoc render lock --force`", kept.name)])
            .collect())
    }

    /// The wishes of the file and of the options, in the words of each.
    fn asked(&self, world: &World, request: &ImageRequest, of_file: &parse::Typed) -> Result<Asked, Error> {
        let typed = self.stack.typed();
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
            let message = mistake.message(Naming::Keys);
            let message = if name.is_empty() { message } else { format!("{name}: {message}") };
            Error { kind: Kind::Usage, message, hints: mistake.hints }
        })?;
        understood.warnings.extend(file.warnings);
        understood.wishes.extend(file.wishes.into_iter().map(|mut wish| {
            if let Source::Given { naming, .. } = &mut wish.source {
                *naming = Naming::Keys;
            }
            wish
        }));
        let options = parse::wishes(world, &of_options)?;
        understood.warnings.extend(options.warnings);
        understood.wishes.extend(options.wishes);
        let mut stack = self.stack.clone();
        if stack.from.is_empty() {
            stack.from = request.from.iter().map(PathBuf::from).collect();
        }
        let mut asked = stack.with_machines(world.catalog, understood)?;
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
        put(&self.stack.base, &mut request.base);
        if self.stack.base.is_some() {
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
        if self.stack.compile {
            request.compile = request.compile.or(Some(Compile::Run));
        }
        if let Some(architecture) = &self.stack.arch {
            request.architectures = vec![architecture.clone()];
        }
        for text in &self.stack.with {
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
        return Err(Error::new(Kind::File, format!("{name}: no such file")));
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

fn pair(option: &str, text: &str, sign: char, form: &str) -> Result<(String, String), Error> {
    match text.split_once(sign) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::new(Kind::Usage, format!("{option} {text}: expected {form}"))),
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
