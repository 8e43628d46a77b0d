//! An environment of conda with the build of PyTorch for the CPU, next to a program that needs a GPU.

use crate::cuda_use::always_uses_cuda;
use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::read::python::Program;
use crate::rule::{Example, Found, Judge, Rule, Severity, named};

/// An environment with a program next to it as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "environment.yml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "conda-without-cuda",
    severity: Severity::Warning,
    summary: "environments of programs for the GPU do not ask for cpuonly",
    explain: include_str!("conda_without_cuda.md"),
    judge: Judge::Packages(judge),
    fires: &[
        with(
            "name: cells\nchannels: [pytorch, conda-forge]\ndependencies:\n  - python=3.11\n  - \
             pytorch=2.2\n  - \
             cpuonly\n",
            &[("fit.py", "import torch\nnet = Net().cuda()\n")],
        ),
        with(
            "name: cells\nchannels: [pytorch]\ndependencies:\n  - pytorch\n  - pytorch::cpuonly=2.0 # \
             small\n",
            &[("fit.py", "import torch\nx = torch.zeros(3, device=\"cuda\")\n")],
        ),
    ],
    silent: &[
        named("environment.yml", "name: cells\ndependencies:\n  - pytorch\n  - cpuonly\n"),
        with(
            "name: cells\ndependencies:\n  - pytorch\n  - cpuonly\n",
            &[(
                "fit.py",
                "import torch\nd = \"cuda\" if torch.cuda.is_available() else \"cpu\"\nNet().to(d)\n",
            )],
        ),
        with(
            "name: cells-cpu\ndependencies:\n  - pytorch\n  - cpuonly\n",
            &[("fit.py", "import torch\nnet = Net().cuda()\n")],
        ),
        // The other environment is for the GPU.
        with(
            "name: cells\ndependencies:\n  - pytorch\n  - cpuonly\n",
            &[
                ("fit.py", "import torch\nnet = Net().cuda()\n"),
                ("gpu.yml", "dependencies: [pytorch-cuda]\n"),
            ],
        ),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    fault(list).into_iter().collect()
}

fn fault(list: &PackageList) -> Option<Found> {
    let other = list.context.keys().any(|name| name.ends_with(".yml") || name.ends_with(".yaml"));
    let lines = || list.text.lines().map(str::trim);
    let for_cpu = lines().any(|line| line.strip_prefix("name:").is_some_and(|name| name.contains("cpu")));
    if list.kind != Kind::Conda || other || for_cpu {
        return None;
    }
    let is_it = |line: &str| {
        let item = line.strip_prefix("- ").unwrap_or_default().trim_matches(['"', '\'']);
        let name = item.rsplit("::").next().unwrap_or_default();
        name.split(['=', ' ', '#']).next() == Some("cpuonly")
    };
    let at = lines().position(is_it)?;
    let programs = list.context.iter().filter(|(name, _)| name.ends_with(".py"));
    let (name, line) =
        programs.filter_map(|(name, text)| Some((name, text.as_deref()?))).find_map(|(name, text)| {
            let line = always_uses_cuda(&Program::read(list.catalog, text))?;
            Some((name, line))
        })?;
    let message = format!(
        "cpuonly selects PyTorch's build without CUDA, but {name} uses CUDA in line {line}: `Torch not \
         compiled \
         with CUDA enabled`"
    );
    let fix = "Replace it with pytorch-cuda and the channel nvidia, or use pytorch-gpu of conda-forge";
    Some(Found::warning(at + 1, message, fix).about("cpuonly"))
}
