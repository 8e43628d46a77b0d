//! The builds of a package for the CPU and for the GPU in one environment.

use catalog::gpu_builds::GpuBuild;

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};

pub(crate) const RULE: Rule = Rule {
    id: "gpu-build-overwritten",
    severity: Severity::Warning,
    summary: "onnxruntime and onnxruntime-gpu are not installed together",
    explain: include_str!("gpu_build_overwritten.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        named("requirements.txt", "onnx==1.16.1\nonnxruntime==1.18.0\nonnxruntime-gpu==1.18.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install onnxruntime onnxruntime-gpu==1.20.1\n"),
        dockerfile(
            "FROM python:3.12\nRUN pip install onnxruntime-gpu==1.20.1\nRUN pip install \
             onnxruntime==1.20.1\n",
        ),
    ],
    silent: &[
        // The last one counts.
        dockerfile(
            "FROM python:3.12\nRUN pip install onnxruntime\nRUN pip install onnxruntime-gpu==1.20.1\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install onnxruntime-gpu==1.20.1 onnxruntime\nRUN pip uninstall -y \
             onnxruntime && pip install --force-reinstall onnxruntime-gpu==1.20.1\n",
        ),
        named(
            "requirements.txt",
            "onnxruntime==1.20.1; sys_platform == 'darwin'\nonnxruntime-gpu==1.20.1; sys_platform == \
             'linux'\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\n[project.optional-dependencies]\n\
             cpu = [\"onnxruntime==1.20.1\"]\ngpu = [\"onnxruntime-gpu==1.20.1\"]\n",
        ),
        dockerfile(
            "FROM python:3.12 AS export\nRUN pip install onnxruntime\nFROM python:3.12\nRUN pip install \
             onnxruntime-gpu\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install onnxruntime-gpu==1.20.1\nRUN pip install --target /opt/tools \
             onnxruntime\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN python -m venv /a && python -m venv /b\nRUN /a/bin/pip install \
             onnxruntime-gpu\nRUN /b/bin/pip install onnxruntime\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let installs: Vec<(&Run, &Install)> =
            stage.runs.iter().filter_map(|run| Some((run, run.install.as_ref()?))).collect();
        for row in file.catalog.gpu_builds().all() {
            let removed = stage.runs.iter().any(|run| {
                run.command.has("uninstall") && (run.command.has(&row.cpu) || run.command.has(&row.gpu))
            });
            let named = |name: &str| {
                let mut all = installs.iter().enumerate().rev();
                all.find_map(|(at, (run, install))| {
                    // A marker chooses by the machine.
                    let one = install.requirement(name).filter(|one| !one.text.contains(';'))?;
                    (!install.elsewhere() && !one.default).then_some((at, *run, *install, one))
                })
            };
            let (Some((gpu_at, gpu_run, of_gpu, _)), Some((cpu_at, run, of_cpu, cpu))) =
                (named(&row.gpu), named(&row.cpu))
            else {
                continue;
            };
            // `/a/bin/pip` and `/b/bin/pip` are of two environments.
            let program = |run: &Run| run.command.words.first().map(|word| word.text.clone());
            let path = |run: &Run| program(run).filter(|text| text.contains('/'));
            let same = of_cpu.python == of_gpu.python && path(run) == path(gpu_run);
            // pip leaves what is already there as it is.
            let repeated = installs[..cpu_at].iter().any(|(_, one)| one.requirement(&row.cpu).is_some());
            if removed || !same || cpu_at < gpu_at || cpu_at > gpu_at && repeated || !run.command.certain {
                continue;
            }
            found.push(overwritten(row, cpu));
        }
    }
    found
}

fn overwritten(row: &GpuBuild, cpu: &Requirement) -> Found {
    let GpuBuild { gpu, cpu: name, module, .. } = row;
    let message = format!(
        "{name} and {gpu} install the same module {module}, and the files of one replace those of the other; \
         without those of {gpu} programs run on the CPU"
    );
    Found::warning(cpu, message, format!("Remove {name}; {gpu} runs on the CPU too")).about(name)
}
