//! The kinds of files that are linted.

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Dockerfile, Containerfile.
    Dockerfile,
    /// Compose file, stack file.
    Compose,
    /// `NAME=value` a line: `.env`, `env_file` of compose, `--env-file` of docker, `/etc/environment`, the
    /// running environment.
    Environment,
    /// `.deepspeed_env`, which DeepSpeed's launcher reads.
    DeepspeedEnvironment,
    /// `nccl.conf`, which NCCL reads.
    NcclConf,
    /// A shell script.
    Shell,
    /// What a login shell reads: `/etc/profile`, `.bashrc`.
    Profile,
    /// accelerate's configuration: what `accelerate config` writes.
    AccelerateConfig,
    /// DeepSpeed's configuration: `ds_config.json`.
    DeepspeedConfig,
    /// A hostfile: `host slots=8`.
    Hostfile,
    /// A requirements file of pip.
    Requirements,
    /// `pyproject.toml`: the dependencies of its project, extras and groups.
    Pyproject,
    /// conda's `environment.yml`: what it installs with pip.
    Conda,
    /// Docker's `daemon.json`.
    DaemonJson,
    /// The container toolkit's `config.toml`.
    ToolkitConfig,
    /// A manifest for `kubectl apply`.
    Kubernetes,
    /// A template from which Helm renders a manifest.
    HelmTemplate,
    /// `sshd_config`.
    Sshd,
    /// A service of systemd, `NAME.service`, or a drop-in of one.
    SystemdUnit,
    /// A workflow of GitHub Actions.
    GithubWorkflow,
    /// A makefile.
    Makefile,
    /// A table of cron: `crontab`, files of `cron.d`.
    Crontab,
    /// Limits of pam_limits: `limits.conf`, files of `limits.d`.
    Limits,
    /// A script in Python.
    Python,
}

impl Kind {
    /// Every kind, in the order in which reports list them.
    pub const ALL: &[Kind] = &[
        Kind::Dockerfile,
        Kind::Compose,
        Kind::Environment,
        Kind::DeepspeedEnvironment,
        Kind::NcclConf,
        Kind::Shell,
        Kind::Profile,
        Kind::AccelerateConfig,
        Kind::DeepspeedConfig,
        Kind::Hostfile,
        Kind::Requirements,
        Kind::Pyproject,
        Kind::Conda,
        Kind::DaemonJson,
        Kind::ToolkitConfig,
        Kind::Kubernetes,
        Kind::HelmTemplate,
        Kind::Sshd,
        Kind::SystemdUnit,
        Kind::GithubWorkflow,
        Kind::Makefile,
        Kind::Crontab,
        Kind::Limits,
        Kind::Python,
    ];

    /// The value of `--as`.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Dockerfile => "dockerfile",
            Kind::Compose => "compose",
            Kind::Environment => "environment",
            Kind::DeepspeedEnvironment => "deepspeed-env",
            Kind::NcclConf => "nccl-conf",
            Kind::Shell => "shell",
            Kind::Profile => "profile",
            Kind::AccelerateConfig => "accelerate-config",
            Kind::DeepspeedConfig => "deepspeed-config",
            Kind::Hostfile => "hostfile",
            Kind::Requirements => "requirements",
            Kind::Pyproject => "pyproject",
            Kind::Conda => "conda",
            Kind::DaemonJson => "daemon-json",
            Kind::ToolkitConfig => "toolkit-config",
            Kind::Kubernetes => "kubernetes",
            Kind::HelmTemplate => "helm-template",
            Kind::Sshd => "sshd",
            Kind::SystemdUnit => "systemd-unit",
            Kind::GithubWorkflow => "github-workflow",
            Kind::Makefile => "makefile",
            Kind::Crontab => "crontab",
            Kind::Limits => "limits",
            Kind::Python => "python",
        }
    }

    /// Whether it lists packages for pip.
    pub fn lists_packages(self) -> bool {
        matches!(self, Kind::Requirements | Kind::Pyproject | Kind::Conda)
    }
}
