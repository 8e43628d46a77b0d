//! What kind of file a name or a text is.

use super::kind::Kind;

/// The kinds of objects of Argo Workflows whose `{{…}}` Argo itself fills in.
pub(crate) const ARGO_WORKFLOWS: &[&str] =
    &["Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow"];

/// The last part of a path, in lower case.
pub(crate) fn base_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a path is a directory or lies below it.
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    !directory.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The kind that a name says: `Dockerfile`, `cuda.Dockerfile`, `Dockerfile.gpu`, `compose.yaml`,
/// `docker-compose.gpu.yml`, `stack.yml`.
pub fn kind_of_name(name: &str) -> Option<Kind> {
    let base = base_name(name);
    // Templates are no file of their kind before somebody fills them in, and what is written about one is
    // none.
    let lock = base.starts_with("requirements") && base.ends_with(".lock");
    if OTHERS.iter().any(|end| base.ends_with(end)) && !lock {
        return None;
    }
    if let Some(kind) = setting(&name.to_ascii_lowercase(), &base) {
        return Some(kind);
    }
    if base.ends_with(".json") || base.ends_with(".txt") {
        return None;
    }
    let yaml = base.ends_with(".yml") || base.ends_with(".yaml");
    if yaml {
        let stem = base.rsplit_once('.').map_or("", |(stem, _)| stem);
        let mut parts = stem.split(['.', '-', '_']);
        let named =
            parts.clone().any(|part| part == "compose") || parts.next().is_some_and(|part| part == "stack");
        let named = named || stem.ends_with("-stack") || stem.ends_with(".stack");
        return named.then_some(Kind::Compose);
    }
    for word in ["dockerfile", "containerfile"] {
        let before =
            base.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '-', '_']));
        let after = base.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', '-', '_']));
        if before || after {
            return Some(Kind::Dockerfile);
        }
    }
    None
}

/// How the names of files end that are none of these.
const OTHERS: &[&str] = &[
    ".j2",
    ".jinja",
    ".jinja2",
    ".tmpl",
    ".template",
    ".tpl",
    ".in",
    ".mustache",
    ".hbs",
    ".md",
    ".rst",
    ".html",
    ".dockerignore",
    ".lock",
    ".orig",
    ".bak",
    ".patch",
];

/// `requirements-dev.txt`, `dev-requirements.txt`, `requirements/dev.txt`.
fn is_list_of_packages(name: &str, base: &str) -> bool {
    let stem = base.trim_end_matches(".txt");
    let folder = name.rsplit('/').nth(1);
    base.starts_with("requirements") || stem.ends_with("requirements") || folder == Some("requirements")
}

/// The names that make itself looks for, and `rules.mk`. Any other ending tells of another program: automake,
/// nmake, a `makefile.py`.
fn is_makefile(base: &str) -> bool {
    matches!(base, "makefile" | "gnumakefile") || base.ends_with(".mk")
}

/// Files that hold settings: `.env`, `train.sh`, `.bashrc`, `nccl.conf`.
fn setting(name: &str, base: &str) -> Option<Kind> {
    let yaml = base.ends_with(".yml") || base.ends_with(".yaml");
    if yaml && name.contains(".github/workflows/") {
        return Some(Kind::GithubWorkflow);
    }
    if base == ".deepspeed_env" {
        return Some(Kind::DeepspeedEnvironment);
    }
    if matches!(base, "nccl.conf" | ".nccl.conf") {
        return Some(Kind::NcclConf);
    }
    let shells =
        [".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", "bash.bashrc"];
    if shells.contains(&base) || name.ends_with("etc/profile") || name.contains("profile.d/") {
        return Some(Kind::Profile);
    }
    if base == ".env"
        || base.starts_with(".env.")
        || base.ends_with(".env")
        || name.ends_with("etc/environment")
    {
        return Some(Kind::Environment);
    }
    if base.ends_with(".service") || (name.contains(".service.d/") && base.ends_with(".conf")) {
        return Some(Kind::SystemdUnit);
    }
    if is_makefile(base) {
        return Some(Kind::Makefile);
    }
    if base == "daemon.json" {
        return Some(Kind::DaemonJson);
    }
    if name.ends_with("nvidia-container-runtime/config.toml") {
        return Some(Kind::ToolkitConfig);
    }
    if matches!(base, "sshd_config") || base.ends_with(".sshd_config") {
        return Some(Kind::Sshd);
    }
    if base == "crontab" || base.ends_with(".cron") || base.ends_with(".crontab") || name.contains("cron.d/")
    {
        return Some(Kind::Crontab);
    }
    if name.contains("security/limits") && base.ends_with(".conf") || base == "limits.conf" {
        return Some(Kind::Limits);
    }
    if base == "hostfile"
        || base.ends_with("_hostfile")
        || base.starts_with("hostfile.")
        || base == "hostfile.txt"
    {
        return Some(Kind::Hostfile);
    }
    if base.starts_with("requirements") && base.ends_with(".lock") {
        return Some(Kind::Requirements);
    }
    if base.ends_with(".txt") && is_list_of_packages(name, base) {
        return Some(Kind::Requirements);
    }
    if base == "pyproject.toml" {
        return Some(Kind::Pyproject);
    }
    if yaml && (base.starts_with("environment") || base.starts_with("conda")) {
        return Some(Kind::Conda);
    }
    if base.ends_with(".py") {
        return Some(Kind::Python);
    }
    let scripts = [".sh", ".bash", ".slurm", ".sbatch"];
    scripts.iter().any(|end| base.ends_with(end)).then_some(Kind::Shell)
}

/// The compose files that docker compose takes from a folder when none is named, the first that is there.
pub const COMPOSE_NAMES: &[&str] =
    &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
/// The files that it merges over that one, the first that is there (compose-spec/compose-go:cli/options.go).
pub const OVERRIDE_NAMES: &[&str] = &[
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
];

/// Keys of which a configuration of DeepSpeed has one at least.
const DEEPSPEED: &[&str] = &["train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization"];

/// Sections of the container toolkit's configuration.
const TOOLKIT: &[&str] = &["[nvidia-container-cli]", "[nvidia-container-runtime]"];

/// Whether a file may be a manifest, a Slurm job, the toolkit's configuration or one of limits, so that its
/// text is worth reading.
pub fn may_be_recognized(name: &str) -> bool {
    let base = base_name(name);
    let ends = [".job", ".yaml", ".yml", ".conf"];
    base == "config.toml" || ends.iter().any(|end| base.ends_with(end))
}

/// Whether a JSON file may be a configuration of DeepSpeed by its name alone, so that its text is worth
/// reading.
pub fn may_be_deepspeed(name: &str) -> bool {
    let base = base_name(name);
    const WORDS: &[&str] = &[
        "ds",
        "deepspeed",
        "zero",
        "stage",
        "config",
        "onebit",
        "1bit",
        "elastic",
        "offload",
        "bf16",
        "fp16",
    ];
    base.ends_with(".json") && WORDS.iter().any(|word| base.contains(word))
}

/// Whether the name of a JSON file says that it is a configuration of DeepSpeed, whatever is in it.
pub fn name_says_deepspeed(name: &str) -> bool {
    let base = base_name(name);
    base.ends_with(".json") && ["ds_config", "ds-config", "deepspeed"].iter().any(|word| base.contains(word))
}

/// Whether a JSON file is the settings of another trainer, which also calls a size `train_batch_size`: it has
/// many keys, and none is a section that DeepSpeed alone has.
fn is_of_another_program(text: &str) -> bool {
    const SECTIONS: &[&str] = &[
        "train_micro_batch_size_per_gpu",
        "zero_optimization",
        "zero_allow_untested_optimizer",
        "steps_per_print",
        "wall_clock_breakdown",
        "gradient_clipping",
        "fp16",
        "bf16",
        "scheduler",
    ];
    const KEYS_MAX: usize = 30;
    let bare: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let has = |key: &str| bare.contains(&format!("\"{key}\":"));
    bare.matches("\":").count() > KEYS_MAX && !SECTIONS.iter().any(|key| has(key))
}

/// Whether a text is a configuration that `accelerate config` writes.
fn is_accelerate(text: &str) -> bool {
    let has = |key: &str| {
        text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
    };
    let others =
        ["num_processes", "num_machines", "mixed_precision", "machine_rank", "main_training_function"];
    has("distributed_type") && (has("compute_environment") || others.iter().any(|key| has(key)))
        || has("compute_environment") && others.iter().filter(|key| has(key)).count() > 1
}

/// Whether a text is a workflow of GitHub Actions: jobs that run on something.
fn is_workflow(text: &str) -> bool {
    let top = |key: &str| text.lines().any(|line| line.trim_end() == key);
    let on = text.lines().any(|line| line.starts_with("on:"));
    on && top("jobs:") && text.contains("runs-on:")
}

/// The kind of a text in YAML, by its keys.
fn kind_of_keys(text: &str) -> Option<Kind> {
    if is_accelerate(text) {
        return Some(Kind::AccelerateConfig);
    }
    if is_workflow(text) {
        return Some(Kind::GithubWorkflow);
    }
    text.lines().any(|line| line.trim_end() == "services:").then_some(Kind::Compose)
}

/// The kind that a text shows.
pub fn kind_of_text(text: &str) -> Option<Kind> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let known = DEEPSPEED.iter().any(|key| {
            text.lines().any(|line| line.split('"').nth(1) == Some(key))
                || text.contains(&format!("\"{key}\":"))
        });
        return (known && !is_of_another_program(text)).then_some(Kind::DeepspeedConfig);
    }
    let line = |start: &str| {
        text.lines().any(|line| {
            line.len() >= start.len()
                && line.is_char_boundary(start.len())
                && line[..start.len()].eq_ignore_ascii_case(start)
        })
    };
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("#!") && first.contains("python") {
        return Some(Kind::Python);
    }
    let interpreter = first.strip_prefix("#!").and_then(|rest| {
        let rest = rest.trim_start();
        let mut words = rest.strip_prefix("/usr/bin/env").unwrap_or(rest).split_whitespace();
        words.find(|word| !word.starts_with('-'))?.rsplit('/').next()
    });
    if interpreter.is_some_and(|shell| ["sh", "bash", "dash", "zsh"].contains(&shell)) || line("#SBATCH ") {
        return Some(Kind::Shell);
    }
    if TOOLKIT.iter().any(|section| line(section)) {
        return Some(Kind::ToolkitConfig);
    }
    let limits = || is_limits(text).then_some(Kind::Limits);
    kind_of_keys(text).or_else(|| line("FROM ").then_some(Kind::Dockerfile)).or_else(limits)
}

/// Whether a text has nothing but limits of pam_limits: domain, type, item and value in each line.
fn is_limits(text: &str) -> bool {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let is_limit = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 4 && matches!(&*words[1].to_ascii_lowercase(), "soft" | "hard" | "-")
    };
    lines.peek().is_some() && lines.all(is_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_any_letters() {
        assert_eq!(kind_of_text("* Hard MEMLOCK unlimited\n"), Some(Kind::Limits));
        assert_eq!(kind_of_text("* every memlock unlimited\n"), None);
    }

    #[test]
    fn names() {
        for name in [
            "Dockerfile",
            "a/b/dockerfile",
            "x.Dockerfile",
            "Dockerfile.gpu",
            "Containerfile",
            "Dockerfile-cuda",
            "base_Dockerfile",
        ] {
            assert_eq!(kind_of_name(name), Some(Kind::Dockerfile), "{name}");
        }
        for name in [
            "compose.yaml",
            "docker-compose.yml",
            "docker-compose.gpu.yml",
            "compose.override.yaml",
            "stack.yml",
            "stack-gpu.yaml",
            "multi-node.docker-compose.yml",
            "docker-stack.yml",
        ] {
            assert_eq!(kind_of_name(name), Some(Kind::Compose), "{name}");
        }
        for (name, kind) in [
            (".env", Kind::Environment),
            ("conf/train.env", Kind::Environment),
            (".env.gpu", Kind::Environment),
            ("/etc/environment", Kind::Environment),
            ("home/.deepspeed_env", Kind::DeepspeedEnvironment),
            ("/etc/nccl.conf", Kind::NcclConf),
            ("run/train.sh", Kind::Shell),
            ("job.sbatch", Kind::Shell),
            ("/etc/profile", Kind::Profile),
            ("/etc/profile.d/nccl.sh", Kind::Profile),
            ("/root/.bashrc", Kind::Profile),
            ("src/train.py", Kind::Python),
            ("backports/makefile.py", Kind::Python),
            ("hostfile", Kind::Hostfile),
            ("requirements-dev.txt", Kind::Requirements),
            ("dev_requirements.txt", Kind::Requirements),
            ("requirements/cuda.txt", Kind::Requirements),
            ("pyproject.toml", Kind::Pyproject),
            ("environment.yml", Kind::Conda),
            ("/etc/docker/daemon.json", Kind::DaemonJson),
            ("/etc/ssh/sshd_config", Kind::Sshd),
            ("etc/systemd/system/vllm@.service", Kind::SystemdUnit),
            ("docker.service.d/override.conf", Kind::SystemdUnit),
            ("repo/.github/workflows/environment.yml", Kind::GithubWorkflow),
            ("Makefile", Kind::Makefile),
            ("make/docker.mk", Kind::Makefile),
            ("src/GNUmakefile", Kind::Makefile),
            ("etc/cron.d/gpu", Kind::Crontab),
            ("gpu-report.cron", Kind::Crontab),
            ("etc/security/limits.d/90-gpu.conf", Kind::Limits),
            ("limits.conf", Kind::Limits),
        ] {
            assert_eq!(kind_of_name(name), Some(kind), "{name}");
        }
        for name in [
            ".env.j2",
            "environment",
            "profile",
            "Dockerfile.j2",
            "Dockerfile.dockerignore",
            "dockerfiles",
            "values.yaml",
            "mydockerfile",
            "Makefile.am",
            "Makefile.in",
            "urllib3/contrib/makefile.pyc",
            "makefile.gpu",
            "vllm.service.j2",
            "override.conf",
            "composer.yml",
            "full-stack-notes.md",
        ] {
            assert_eq!(kind_of_name(name), None, "{name}");
        }
    }

    #[test]
    fn texts() {
        assert_eq!(kind_of_text("# x\nfrom a\n"), Some(Kind::Dockerfile));
        assert_eq!(kind_of_text("services:\n  a:\n    image: b\n"), Some(Kind::Compose));
        let accelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n";
        assert_eq!(kind_of_text(accelerate), Some(Kind::AccelerateConfig));
        assert_eq!(kind_of_text("distributed_type: FSDP\n"), None);
        assert_eq!(kind_of_text("torch==2.6.0\n"), None);
        let workflow = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n";
        assert_eq!(kind_of_text(workflow), Some(Kind::GithubWorkflow));
        assert_eq!(kind_of_text("{\n  \"train_batch_size\": 8\n}\n"), Some(Kind::DeepspeedConfig));
        assert_eq!(kind_of_text("{\"a\": 1}"), None);
        let many: String = (0..40).map(|at| format!(", \"k{at}\": 1")).collect();
        assert_eq!(kind_of_text(&format!("{{\"train_batch_size\": 8{many}}}")), None);
        let sections = format!("{{\"train_batch_size\": 8, \"fp16\": {{}}{many}}}");
        assert_eq!(kind_of_text(&sections), Some(Kind::DeepspeedConfig));
        assert_eq!(kind_of_text("#!/bin/bash\na\n"), Some(Kind::Shell));
        assert!(
            may_be_deepspeed("x/ds_config.json")
                && may_be_deepspeed("zero3.json")
                && !may_be_deepspeed("package.json")
        );
    }
}
