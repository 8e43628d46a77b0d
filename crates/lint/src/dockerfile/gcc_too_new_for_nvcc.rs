//! nvcc is given a gcc that it refuses.

use crate::compiles;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, From, Run, Stage, apt};
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile};
use catalog::Catalog;
use catalog::images::Flavour;
use catalog::version::Version;

pub(crate) const RULE: Rule = Rule {
    id: "gcc-too-new-for-nvcc",
    severity: Severity::Error,
    summary: "nvcc supports the installed gcc version",
    explain: include_str!("gcc_too_new_for_nvcc.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0 CC=gcc-13 CXX=g++-13\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_FUSED_ADAM=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD cuda.list /etc/apt/sources.list.d/\nRUN apt-get update && apt-get \
             install -y build-essential cuda-toolkit-12-1\n\
             RUN nvcc -o a a.cu\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\n\
             RUN update-alternatives --install /usr/bin/gcc gcc /usr/bin/gcc-13 90\nRUN nvcc -o a a.cu\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0 CC=gcc-13 CXX=g++-13\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_FUSED_ADAM=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD cuda.list /etc/apt/sources.list.d/\nRUN apt-get update && apt-get \
             install -y build-essential gcc-12 \
             cuda-toolkit-12-1\nRUN nvcc -ccbin gcc-12 -o a a.cu && nvcc --version\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD cuda.list /etc/apt/sources.list.d/\nRUN apt-get update && apt-get \
             install -y build-essential cuda-toolkit-12-8\n\
             RUN nvcc -o a a.cu\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\n\
             ENV NVCC_APPEND_FLAGS=-allow-unsupported-compiler CC=gcc-13\nRUN nvcc -o a a.cu\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y gcc-13\n\
             RUN nvcc -o a a.cu\n",
        ),
    ],
};

/// What is known of the compilers at some place.
#[derive(Default)]
struct Compilers {
    /// The toolkit that apt installed: `12.1`.
    toolkit: Option<String>,
    /// Whether the system's own gcc was installed.
    installed: bool,
    /// What `gcc` was made to mean, each time.
    redirected: Vec<String>,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(|stage| of(file, stage)).collect()
}

fn of(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    // What an earlier stage did to its compilers is not followed.
    if let From::Stage(before) = stage.from
        && file.stages[before].runs.iter().any(|run| run.command.text().contains("gcc"))
    {
        return None;
    }
    let mut there = Compilers::default();
    stage.runs.iter().find_map(|run| {
        there.ran(run.state.catalog, &run.command);
        finding(run, &there)
    })
}

impl Compilers {
    fn ran(&mut self, catalog: &Catalog, command: &Command) {
        for word in apt::packages(catalog, command).into_iter().filter(|word| word.known) {
            let name = apt::name(word);
            self.installed |= matches!(name, "gcc" | "g++" | "build-essential");
            let toolkit = ["cuda-toolkit-", "cuda-nvcc-", "cuda-compiler-", "cuda-"];
            let version = toolkit.iter().find_map(|start| name.strip_prefix(start)).and_then(dotted);
            self.toolkit = version.or(self.toolkit.take());
        }
        let links = matches!(command.program(), "update-alternatives" | "ln");
        if links && command.words.iter().any(|word| matches!(word.text.as_str(), "/usr/bin/gcc" | "gcc")) {
            let named = command.words.iter().find_map(|word| gcc(&word.text)).unwrap_or_default();
            self.redirected.push(named);
        }
    }
}

/// `12.1` of `12-1`.
fn dotted(text: &str) -> Option<String> {
    let (major, minor) = text.split_once('-')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(major) && number(minor)).then(|| format!("{major}.{minor}"))
}

/// The version in the name of a compiler: `13` of `/usr/bin/g++-13`.
fn gcc(text: &str) -> Option<String> {
    let name = text.rsplit('/').next()?;
    let version = ["gcc-", "g++-"].iter().find_map(|start| name.strip_prefix(start))?;
    version.starts_with(|letter: char| letter.is_ascii_digit()).then(|| version.to_owned())
}

fn finding(run: &Run, there: &Compilers) -> Option<Found> {
    let (location, what, certain) = compiled(run)?;
    let flags = ["NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"];
    if run.state.opaque || flags.iter().any(|name| run.variable(name).is_some()) {
        return None;
    }
    let devel = run.state.image.is_some_and(|image| image.flavour == Flavour::Devel);
    let cuda = match (&there.toolkit, run.state.cuda()) {
        (Some(installed), None) => installed.as_str(),
        (None, Some(own)) if devel && !run.state.toolkit => own,
        _ => return None,
    };
    let range = run.state.catalog.systems().gcc_range(cuda)?;
    let max = range.gcc_max.as_deref()?;
    let (version, how) = used(run, there, devel)?;
    if !newer(&version, max)? {
        return None;
    }
    let message = format!("{what} with CUDA {cuda}, which supports gcc up to {max}, but {how} {version}");
    let major = max.split('.').next().unwrap_or(max);
    let fix = format!(
        "Install gcc-{major} and g++-{major} and set CC, CXX and NVCC_CCBIN to them, or use a newer CUDA"
    );
    Some(Found::error(location, message, fix).unless_certain(certain))
}

/// What a command compiles with nvcc: the place, what it is, and whether that certainly happens.
fn compiled(run: &Run) -> Option<(Location, String, bool)> {
    let command = &run.command;
    if command.program() == "nvcc" {
        let words = &command.words[1..];
        let own =
            ["-ccbin", "--compiler-bindir", "-allow-unsupported", "--allow-unsupported", "-V", "--version"];
        let other = words.iter().any(|word| own.iter().any(|start| word.text.starts_with(start)));
        return (!other && !words.is_empty())
            .then(|| (command.line.into(), "nvcc compiles".to_owned(), command.certain));
    }
    let install = run.install.as_ref()?;
    match compiles::ahead(run, install) {
        Some(what) => Some((install.line.into(), format!("{what} is compiled"), install.certain)),
        None => {
            let one = install.requirement("deepspeed")?;
            Some((Location::from(one), "DeepSpeed compiles its operators on first use".to_owned(), false))
        }
    }
}

/// The gcc that nvcc is given, and how it comes to that; `None` where it is not known.
fn used(run: &Run, there: &Compilers, devel: bool) -> Option<(String, &'static str)> {
    // torch hands CC to nvcc; nvcc itself reads only its own variable.
    let names: &[&str] = match run.command.program() {
        "nvcc" => &["NVCC_CCBIN"],
        _ => &["NVCC_CCBIN", "CC"],
    };
    for name in names {
        if let Some(value) = run.variable(name) {
            let how = if *name == "CC" { "CC is gcc" } else { "NVCC_CCBIN is gcc" };
            return Some((gcc(&value.text?)?, how));
        }
    }
    if let Some(last) = there.redirected.last() {
        let same = there.redirected.iter().all(|one| one == last);
        return (same && !last.is_empty()).then(|| (last.clone(), "update-alternatives selects gcc"));
    }
    let own =
        run.state.system.and_then(|system| system.gcc.as_deref()).filter(|_| there.installed && !devel)?;
    Some((own.to_owned(), "the distribution has gcc"))
}

/// Whether a version is newer than the newest that is accepted; `13` and `12`, `11.4.0` and `11.1`. A number
/// that is not named does not decide.
fn newer(version: &str, max: &str) -> Option<bool> {
    let (version, max) = (Version::parse(version)?, Version::parse(max)?);
    let both = version.numbers().iter().zip(max.numbers());
    Some(both.map(|(one, most)| one.cmp(most)).find(|order| order.is_ne()).is_some_and(|order| order.is_gt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let cases =
            [("13", "12", true), ("12.3.0", "12", false), ("11.4.0", "11.1", true), ("11", "11.1", false)];
        for (version, max, expected) in cases {
            assert_eq!(newer(version, max), Some(expected), "{version} {max}");
        }
        assert_eq!(dotted("12-1").as_deref(), Some("12.1"));
        assert_eq!(dotted("keyring"), None);
        assert_eq!(gcc("/usr/bin/g++-13").as_deref(), Some("13"));
        assert_eq!(gcc("gcc-multilib"), None);
    }
}
