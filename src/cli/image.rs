//! The image options of `render` and `build`, as a request.

use std::path::PathBuf;

use super::headings::{CACHE, IMAGE, MIRRORS, STACK};
use super::project_args::ProjectArgs;
use super::stack_args::{StackArgs, today};
use ::build::lock_file::{LockRequest, next_to};
use ::build::{NoStack, PlanRequest, SettingsMirror, SettingsMirrors, UntrustedMirror};
use ::config::{Guarded, Settings};
use ::image::request::{Copy, ImageRequest, Mirrors, PythonFrom};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::terminal;

/// The requirements of an image.
#[derive(Debug, Clone, clap::Args)]
pub struct ImageArgs {
    /// Request file; options override it.
    ///
    /// docs/request.md describes it.
    #[arg(long, value_name = "FILE", help_heading = STACK)]
    pub request: Option<PathBuf>,

    // A doc comment would replace that of the command.
    #[command(flatten)]
    pub project: ProjectArgs,

    /// Name of the image, for its title and tag.
    #[arg(long, value_name = "NAME", help_heading = STACK, hide_short_help = true)]
    pub name: Option<String>,

    // A doc comment would replace that of the command.
    #[command(flatten)]
    pub stack: StackArgs,

    /// Lock file, made with `envdoc render lock`.
    ///
    /// Default: envdoc.lock next to --request, if it exists. Its stack is requested in addition to the
    /// options, and its Python packages are installed by hash.
    #[arg(long, value_name = "FILE", help_heading = STACK, hide_short_help = true)]
    pub lock: Option<PathBuf>,

    /// Fail if the result differs from the lock file.
    #[arg(long, help_heading = STACK, hide_short_help = true)]
    pub locked: bool,

    /// Your own image to build on.
    ///
    /// `build` reads its contents from the image; for `render`, describe it with --os and, if it contains a
    /// Python, --base-python.
    #[arg(long, value_name = "IMAGE", conflicts_with = "base", help_heading = IMAGE)]
    #[arg(hide_short_help = true)]
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

    /// Source of Python if the base image has none [default: the system's Python if it is compatible, else
    /// uv].
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = IMAGE, hide_short_help = true)]
    pub python_from: Option<PythonFrom>,

    /// Digest that pins the base image: sha256:….
    #[arg(long, value_name = "DIGEST", help_heading = IMAGE, hide_short_help = true)]
    pub base_digest: Option<String>,

    /// Pin the base image to its current digest (asks the registry).
    #[arg(long, conflicts_with = "base_digest", help_heading = IMAGE, hide_short_help = true)]
    pub pin: bool,

    /// System packages of the final image.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = IMAGE, hide_short_help = true)]
    pub apt: Vec<String>,

    /// Environment variable (not for secrets: it is stored in the image).
    #[arg(long, value_name = "NAME=VALUE", help_heading = IMAGE, hide_short_help = true)]
    pub env: Vec<String>,

    /// Copy from the build context: src:/work/src.
    ///
    /// The last step of the Dockerfile.
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

    /// Use the mirrors configured for pip, uv and apt on this machine, unless an option names one.
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

impl ImageArgs {
    /// Everything that they ask for.
    pub fn request(&self, settings: &Settings) -> Result<PlanRequest, Error> {
        let mirror = |set: &Guarded<String>| SettingsMirror {
            url: set.shown().value.clone(),
            untrusted: set.trusted().err().map(|untrusted| UntrustedMirror {
                why: untrusted.to_string(),
                command: untrusted.command(),
            }),
        };
        Ok(PlanRequest {
            file: self.request.clone(),
            options: self.options()?,
            project: self.project.request(),
            mirrors: SettingsMirrors {
                pip_index: settings.pip_index.as_ref().map(mirror),
                apt: settings.apt_mirror.as_ref().map(mirror),
            },
            machines: self.stack.machines(),
            lock: LockRequest {
                path: self.lock.clone().or_else(|| self.request.as_deref().map(next_to)),
                required: self.lock.is_some(),
                exact: self.locked,
                versions_suffice: false,
                ignored: false,
            },
            pin: self.pin,
            today: today(),
        })
    }

    /// The options as a request file would have them.
    fn options(&self) -> Result<ImageRequest, Error> {
        let copies = pairs("--copy", &self.copy, ':', "FROM:TO")?.into_iter();
        Ok(ImageRequest {
            name: self.name.clone(),
            python_from: self.python_from,
            deepspeed_ops: self.deepspeed_ops.clone(),
            base_image: self.base_image.clone(),
            base_python: self.base_python.clone(),
            base_nvcc: self.base_nvcc,
            base_devel: self.base_devel.clone(),
            base_digest: self.base_digest.clone(),
            apt: self.apt.clone(),
            mirrors: self.mirrors(),
            wheels: self.wheels.clone(),
            proxy: self.proxy.clone(),
            ca_certificates: self.ca_cert.as_ref().map(|path| path.display().to_string()),
            cache: self.no_cache_mounts.then_some(false),
            user: self.user.clone(),
            workdir: self.workdir.clone(),
            env: pairs("--env", &self.env, '=', "NAME=VALUE")?.into_iter().collect(),
            labels: pairs("--label", &self.label, '=', "NAME=VALUE")?.into_iter().collect(),
            copy: copies.map(|(from, to)| Copy { from, to }).collect(),
            ..self.stack.image_request()
        })
    }

    fn mirrors(&self) -> Mirrors {
        Mirrors {
            preset: self.mirror.clone(),
            pip_index: self.pip_index.clone(),
            extra_index: self.extra_index.clone(),
            apt: self.apt_mirror.clone(),
            python: self.python_mirror.clone(),
            from_host: self.mirrors_from_host,
        }
    }
}

/// Reports that no stack meets the request; the exit code.
pub(super) fn no_stack(none: &NoStack) -> Result<u8, Error> {
    terminal::note(resolve::report::text::report(&none.report(), Layout::of_screen(false)).trim_end());
    Ok(1)
}

/// The two parts of each value of an option.
pub(super) fn pairs(
    option: &str,
    texts: &[String],
    sign: char,
    form: &str,
) -> Result<Vec<(String, String)>, Error> {
    let pair = |text: &String| match text.split_once(sign) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::new(Kind::Usage, format!("{option} {text}: expected {form}"))),
    };
    texts.iter().map(pair).collect()
}
