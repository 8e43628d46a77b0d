//! Compares the answer of an image with the expectations.

use std::str::FromStr;

use catalog::torch::CudaBuild;
use pep440_rs::Version;

use super::script_output::{Import, ScriptOutput, Torch};
use super::{Expectations, Item, Status};

/// Libraries of the driver, which the container toolkit mounts on GPU machines.
const DRIVER_LIBRARIES: &[&str] = &["libcuda.so", "libnvidia-"];

pub(super) fn judge(expected: &Expectations, output: &ScriptOutput) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(expectation) = &expected.python {
        let holds = begins(&output.python, expectation);
        items.push(item("python", holds, &output.python, expectation));
    }
    torch(expected, output, &mut items);
    for (name, expectation) in &expected.packages {
        items.push(match output.distributions.get(name) {
            Some(found) => item(name, same(found, expectation), found, expectation),
            None => failed(name, format!("not installed; expected {expectation}")),
        });
    }
    for module in &expected.imports {
        items.push(import(module, output.imports.get(module)));
    }
    if expected.torch.is_some() {
        libraries(output, &mut items);
    }
    if let Some(expectation) = &expected.nvcc {
        items.push(nvcc(expectation, output));
    }
    for (name, expectation) in &expected.environment {
        items.push(match output.environment.get(name) {
            Some(Some(found)) => item(name, found == expectation, found, expectation),
            Some(None) => failed(name, format!("not set; expected {expectation}")),
            None => unknown(name, "not checked".into()),
        });
    }
    if expected.packages.contains_key("deepspeed") {
        items.push(ds_report(output));
    }
    items
}

fn torch(expected: &Expectations, output: &ScriptOutput, items: &mut Vec<Item>) {
    if [&expected.torch, &expected.torch_build, &expected.cuda, &expected.nccl]
        .iter()
        .all(|part| part.is_none())
    {
        return;
    }
    let installed = output.distributions.get("torch");
    let found = match (&output.torch, installed) {
        (Some(torch), _) if torch.version.is_some() => torch,
        (_, None) => return items.push(failed("torch", "not installed".into())),
        (torch, Some(version)) => {
            let why = torch.as_ref().and_then(|torch| torch.error.as_deref()).unwrap_or("no reason given");
            let message = format!("{version} is installed but cannot be imported: {}", last_line(why));
            return items.push(failed("torch", message));
        }
    };
    let version = found.version.as_deref().unwrap_or_default();
    if let Some(expectation) = &expected.torch {
        items.push(item("torch", same(version, expectation), version, expectation));
    }
    match (expected.cuda.as_deref(), expected.torch_build.as_deref()) {
        (Some(expectation), _) => items.push(torch_cuda(found, expectation)),
        (None, Some(CPU)) => items.push(without_cuda(found)),
        (None, _) => {}
    }
    if let Some(expectation) = &expected.torch_build {
        items.push(torch_build(found, version, expectation));
    }
    if let Some(expectation) = &expected.nccl {
        items.push(match (&found.nccl, &found.nccl_error) {
            (Some(nccl), _) => item("nccl", nccl == expectation, nccl, expectation),
            (None, Some(why)) => {
                unknown("nccl", format!("torch did not report its NCCL version: {}", last_line(why)))
            }
            (None, None) => failed("nccl", format!("this torch has no NCCL; expected {expectation}")),
        });
    }
}

fn torch_cuda(found: &Torch, expectation: &str) -> Item {
    match &found.cuda {
        Some(cuda) => item("torch.version.cuda", begins(cuda, expectation), cuda, expectation),
        None => failed(
            "torch.version.cuda",
            format!(
                "None (a CPU build of torch); expected CUDA {expectation}; another \
                 package replaced the GPU wheel"
            ),
        ),
    }
}

/// The build of torch without CUDA.
const CPU: &str = "cpu";

/// That torch is a CPU build, whatever its version is called.
fn without_cuda(found: &Torch) -> Item {
    let what = "torch.version.cuda";
    match &found.cuda {
        None => Item { what: what.into(), status: Status::Passed, message: "None (a CPU build)".into() },
        Some(cuda) => failed(
            what,
            format!("{cuda}; expected None (a CPU build of torch); another package replaced the CPU wheel"),
        ),
    }
}

/// The build: the local version of torch, else its CUDA version (wheels of PyPI have no local version).
fn torch_build(found: &Torch, version: &str, expectation: &str) -> Item {
    let local = version.split_once('+').map(|(_, local)| local.to_owned());
    let reported = found.cuda.as_ref().map_or(CPU.to_owned(), |cuda| {
        CudaBuild::of_cuda(cuda).map_or_else(|| cuda.clone(), |build| build.to_string())
    });
    let build = local.unwrap_or(reported);
    if build == CPU && expectation != CPU {
        return failed("torch build", format!("the CPU wheel is installed; expected {expectation}"));
    }
    item("torch build", build == expectation, &build, expectation)
}

fn import(module: &str, found: Option<&Import>) -> Item {
    let what = format!("import {module}");
    match found {
        Some(Import { status: Some(0), .. }) => {
            Item { what, status: Status::Passed, message: "works".into() }
        }
        Some(Import { status, stderr }) => {
            let why = last_line(stderr);
            if DRIVER_LIBRARIES.iter().any(|library| why.contains(library)) {
                let message =
                    format!("requires the driver library, which is only present on GPU machines: {why}");
                return Item { what, status: Status::Unknown, message };
            }
            match status {
                None => Item { what, status: Status::Unknown, message: why },
                Some(status) if *status < 0 => Item {
                    what,
                    status: Status::Failed,
                    message: format!("killed by signal {}: {why}", -status),
                },
                Some(_) => Item { what, status: Status::Failed, message: why },
            }
        }
        None => Item { what, status: Status::Unknown, message: "not tried".into() },
    }
}

fn libraries(output: &ScriptOutput, items: &mut Vec<Item>) {
    if output.libraries.is_empty() {
        return;
    }
    let what = "torch's libraries";
    let unread: Vec<&str> = output
        .libraries
        .iter()
        .filter(|(_, missing)| missing.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut missing: Vec<String> = output
        .libraries
        .iter()
        .flat_map(|(name, missing)| missing.iter().flatten().map(move |library| (name, library)))
        .filter(|(_, library)| !DRIVER_LIBRARIES.iter().any(|own| library.starts_with(own)))
        .map(|(name, library)| format!("{name} needs {library}"))
        .collect();
    missing.dedup();
    items.push(match (missing.is_empty(), unread.is_empty()) {
        (false, _) => failed(what, format!("not found: {}", missing.join(", "))),
        (true, false) => unknown(what, format!("ldd could not read {}", unread.join(", "))),
        (true, true) => {
            let message = format!("all dependencies of {} libraries found", output.libraries.len());
            Item { what: what.into(), status: Status::Passed, message }
        }
    });
}

fn nvcc(expectation: &str, output: &ScriptOutput) -> Item {
    let Some(nvcc) = &output.nvcc else {
        return failed("nvcc", "not found on PATH or below CUDA_HOME".into());
    };
    match &nvcc.release {
        None => unknown("nvcc", format!("{} does not report its release", nvcc.path)),
        Some(_) if expectation.is_empty() => {
            Item { what: "nvcc".into(), status: Status::Passed, message: nvcc.path.clone() }
        }
        Some(release) => {
            item("nvcc", begins(release, &major_minor(expectation)), release, &major_minor(expectation))
        }
    }
}

fn major_minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// DeepSpeed's own report: it must succeed and report the installed versions.
fn ds_report(output: &ScriptOutput) -> Item {
    let what = "ds_report";
    let Some(report) = &output.ds_report else { return unknown(what, "not run".into()) };
    match report.status {
        None => return unknown(what, last_line(&report.text)),
        Some(0) => {}
        Some(status) => {
            return failed(what, format!("exited with status {status}: {}", last_line(&report.text)));
        }
    }
    for (label, package) in [("torch version", "torch"), ("deepspeed info", "deepspeed")] {
        let line = report.text.lines().find(|line| line.trim_start().starts_with(label));
        let (Some(line), Some(installed)) = (line, output.distributions.get(package)) else { continue };
        let bare = installed.split('+').next().unwrap_or(installed);
        if !line.contains(bare) {
            return failed(
                what,
                format!("reports another {package} version than {installed}: {}", line.trim()),
            );
        }
    }
    Item {
        what: what.into(),
        status: Status::Passed,
        message: "succeeds and reports the installed versions".into(),
    }
}

fn item(what: &str, holds: bool, found: &str, expectation: &str) -> Item {
    match holds {
        true => Item { what: what.into(), status: Status::Passed, message: found.into() },
        false => failed(what, format!("{found} is installed; expected {expectation}")),
    }
}

fn failed(what: &str, message: String) -> Item {
    Item { what: what.into(), status: Status::Failed, message }
}

fn unknown(what: &str, message: String) -> Item {
    Item { what: what.into(), status: Status::Unknown, message }
}

/// Whether the parts of a version begin with those of another: 3.12.4 with 3.12.
fn begins(found: &str, expectation: &str) -> bool {
    let mut found = found.split('.');
    expectation.split('.').all(|part| found.next() == Some(part))
}

/// Equal as Python compares versions; the local part counts only if it is expected.
fn same(found: &str, expectation: &str) -> bool {
    let (Ok(found), Ok(expectation)) = (Version::from_str(found), Version::from_str(expectation)) else {
        return found == expectation;
    };
    match expectation.local().is_empty() {
        true => found.without_local() == expectation,
        false => found == expectation,
    }
}

fn last_line(text: &str) -> String {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no output").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn output() -> ScriptOutput {
        serde_json::from_str(
            r#"{"python":"3.11.2",
            "distributions":{"torch":"2.6.0+cu124","deepspeed":"0.16.4","numpy":"1.26.4"},
            "imports":{"torch":{"status":0,"stderr":""},
                "vllm":{"status":1,"stderr":"ImportError: libcuda.so.1: cannot open"},
            "apex":{"status":1,"stderr":"Traceback\nModuleNotFoundError: No module named 'apex'"}},
            "torch":{"version":"2.6.0+cu124","cuda":"12.4","nccl":"2.21.5","file":"x"},
            "libraries":{"libtorch_cuda.so":["libcuda.so.1"],"libtorch_cpu.so":[]},
            "ds_report":{"status":0,
            "text":"deepspeed info ................... 0.16.4, unknown\ntorch version .... 2.6.0+cu124\n"}}"#,
        )
        .unwrap()
    }

    fn expectations() -> Expectations {
        Expectations {
            python: Some("3.11".into()),
            torch: Some("2.6.0".into()),
            torch_build: Some("cu124".into()),
            cuda: Some("12.4".into()),
            nccl: Some("2.21.5".into()),
            packages: BTreeMap::from([
                ("deepspeed".into(), "0.16.4".into()),
                ("numpy".into(), "1.26.4".into()),
            ]),
            imports: vec!["torch".into()],
            ..Expectations::default()
        }
    }

    fn status(items: &[Item], what: &str) -> Status {
        items.iter().find(|item| item.what == what).unwrap().status
    }

    #[test]
    fn matching_output_is_verified() {
        let items = judge(&expectations(), &output());
        assert!(items.iter().all(|item| item.status == Status::Passed), "{items:?}");
        assert_eq!(items.len(), 10);
    }

    #[test]
    fn each_deviation_fails() {
        type Change = fn(&mut Expectations, &mut ScriptOutput);
        let cases: &[(&str, Change)] = &[
            ("python", |expected, _| expected.python = Some("3.1".into())),
            ("torch", |expected, _| expected.torch = Some("2.6.1".into())),
            ("torch", |_, output| output.torch = None),
            ("torch build", |expected, _| expected.torch_build = Some("cu118".into())),
            ("nccl", |expected, _| expected.nccl = Some("2.21.4".into())),
            ("numpy", |_, output| drop(output.distributions.insert("numpy".into(), "2.0.0".into()))),
            ("numpy", |_, output| drop(output.distributions.remove("numpy"))),
            ("import apex", |expected, _| expected.imports.push("apex".into())),
            ("nvcc", |expected, _| expected.nvcc = Some(String::new())),
            ("torch's libraries", |_, output| {
                drop(output.libraries.insert("libtorch_cuda.so".into(), Some(vec!["libcudnn.so.9".into()])));
            }),
            ("ds_report", |_, output| output.ds_report.as_mut().unwrap().status = Some(1)),
            ("ds_report", |_, output| {
                output.ds_report.as_mut().unwrap().text = "torch version .... 2.5.0".into();
            }),
        ];
        for (what, change) in cases {
            let (mut expected, mut output) = (expectations(), output());
            change(&mut expected, &mut output);
            assert_eq!(status(&judge(&expected, &output), what), Status::Failed, "{what}");
        }
    }

    #[test]
    fn a_cpu_build_has_no_cuda() {
        let cpu = Expectations { torch_build: Some("cpu".into()), cuda: None, nccl: None, ..expectations() };
        // The wheels that PyPI has for aarch64 have no local version.
        for version in ["2.6.0+cpu", "2.6.0"] {
            let mut output = output();
            output.torch = Some(Torch { version: Some(version.into()), ..Torch::default() });
            let items = judge(&cpu, &output);
            for what in ["torch", "torch.version.cuda", "torch build"] {
                assert_eq!(status(&items, what), Status::Passed, "{version}: {items:?}");
            }
        }
        let replaced = judge(&cpu, &output());
        for what in ["torch.version.cuda", "torch build"] {
            assert_eq!(status(&replaced, what), Status::Failed, "{replaced:?}");
        }
    }

    #[test]
    fn a_cpu_wheel_in_place_of_the_gpu_wheel_is_named() {
        let mut output = output();
        output.torch = Some(Torch { version: Some("2.6.0+cpu".into()), ..Torch::default() });
        let items = judge(&expectations(), &output);
        for what in ["torch.version.cuda", "torch build", "nccl"] {
            assert_eq!(status(&items, what), Status::Failed);
        }
        assert!(items.iter().any(|item| item.message.contains("CPU")));
    }

    #[test]
    fn checks_that_need_a_gpu_are_unknown() {
        let mut expected = expectations();
        expected.imports.push("vllm".into());
        expected.imports.push("never".into());
        let mut output = output();
        output.libraries.insert("libtorch_python.so".into(), None);
        output.ds_report = None;
        let items = judge(&expected, &output);
        for what in ["import vllm", "import never", "torch's libraries", "ds_report"] {
            assert_eq!(status(&items, what), Status::Unknown, "{what}");
        }
    }
}
