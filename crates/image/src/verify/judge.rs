//! Compares the answer of an image with the expectations.

use std::str::FromStr;

use pep440_rs::Version;

use super::answer::{Answer, Import, Torch};
use super::{Expectations, Item, Status};

/// Libraries of the driver, which the container toolkit mounts on GPU machines.
const DRIVER_LIBRARIES: &[&str] = &["libcuda.so", "libnvidia-"];

pub(super) fn judge(expected: &Expectations, answer: &Answer) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(wanted) = &expected.python {
        let holds = begins(&answer.python, wanted);
        items.push(item("python", holds, &answer.python, wanted));
    }
    torch(expected, answer, &mut items);
    for (name, wanted) in &expected.packages {
        items.push(match answer.distributions.get(name) {
            Some(found) => item(name, same(found, wanted), found, wanted),
            None => failed(name, format!("not installed; expected {wanted}")),
        });
    }
    for module in &expected.imports {
        items.push(import(module, answer.imports.get(module)));
    }
    if expected.torch.is_some() {
        libraries(answer, &mut items);
    }
    if let Some(wanted) = &expected.nvcc {
        items.push(nvcc(wanted, answer));
    }
    for (name, wanted) in &expected.environment {
        items.push(match answer.environment.get(name) {
            Some(Some(found)) => item(name, found == wanted, found, wanted),
            Some(None) => failed(name, format!("not set; expected {wanted}")),
            None => unknown(name, "not checked".into()),
        });
    }
    if expected.packages.contains_key("deepspeed") {
        items.push(ds_report(answer));
    }
    items
}

fn torch(expected: &Expectations, answer: &Answer, items: &mut Vec<Item>) {
    if [&expected.torch, &expected.torch_build, &expected.cuda, &expected.nccl]
        .iter()
        .all(|part| part.is_none())
    {
        return;
    }
    let installed = answer.distributions.get("torch");
    let found = match (&answer.torch, installed) {
        (Some(torch), _) if torch.version.is_some() => torch,
        (_, None) => return items.push(failed("torch", "not installed".into())),
        (torch, Some(version)) => {
            let why = torch.as_ref().and_then(|torch| torch.error.as_deref()).unwrap_or("no reason given");
            let says = format!("{version} is installed but cannot be imported: {}", last_line(why));
            return items.push(failed("torch", says));
        }
    };
    let version = found.version.as_deref().unwrap_or_default();
    if let Some(wanted) = &expected.torch {
        items.push(item("torch", same(version, wanted), version, wanted));
    }
    if let Some(wanted) = expected.cuda.as_deref() {
        items.push(torch_cuda(found, wanted));
    }
    if let Some(wanted) = &expected.torch_build {
        items.push(torch_build(found, version, wanted));
    }
    if let Some(wanted) = &expected.nccl {
        items.push(match (&found.nccl, &found.nccl_error) {
            (Some(nccl), _) => item("nccl", nccl == wanted, nccl, wanted),
            (None, Some(why)) => {
                unknown("nccl", format!("torch did not report its NCCL version: {}", last_line(why)))
            }
            (None, None) => failed("nccl", format!("this torch has no NCCL; expected {wanted}")),
        });
    }
}

fn torch_cuda(found: &Torch, wanted: &str) -> Item {
    match &found.cuda {
        Some(cuda) => item("torch.version.cuda", begins(cuda, wanted), cuda, wanted),
        None => failed(
            "torch.version.cuda",
            format!(
                "None (a CPU build of torch); expected CUDA {wanted}; another package replaced the GPU wheel"
            ),
        ),
    }
}

/// The build: the local version of torch, else its CUDA version (wheels of PyPI have no local version).
fn torch_build(found: &Torch, version: &str, wanted: &str) -> Item {
    let local = version.split_once('+').map(|(_, local)| local.to_owned());
    let told = found.cuda.as_ref().map_or("cpu".to_owned(), |cuda| format!("cu{}", digits(cuda)));
    let build = local.unwrap_or(told);
    if build == "cpu" && wanted != "cpu" {
        return failed("torch build", format!("the CPU wheel is installed; expected {wanted}"));
    }
    item("torch build", build == wanted, &build, wanted)
}

/// `12.4` as `124`, of the first two parts.
fn digits(cuda: &str) -> String {
    cuda.split('.').take(2).collect()
}

fn import(module: &str, found: Option<&Import>) -> Item {
    let what = format!("import {module}");
    match found {
        Some(Import { status: Some(0), .. }) => Item { what, status: Status::Verified, says: "works".into() },
        Some(Import { status, stderr }) => {
            let why = last_line(stderr);
            if DRIVER_LIBRARIES.iter().any(|library| why.contains(library)) {
                let says =
                    format!("requires the driver library, which is only present on GPU machines: {why}");
                return Item { what, status: Status::Unknown, says };
            }
            match status {
                None => Item { what, status: Status::Unknown, says: why },
                Some(status) if *status < 0 => Item {
                    what,
                    status: Status::Failed,
                    says: format!("killed by signal {}: {why}", -status),
                },
                Some(_) => Item { what, status: Status::Failed, says: why },
            }
        }
        None => Item { what, status: Status::Unknown, says: "not tried".into() },
    }
}

fn libraries(answer: &Answer, items: &mut Vec<Item>) {
    if answer.libraries.is_empty() {
        return;
    }
    let what = "torch's libraries";
    let unread: Vec<&str> = answer
        .libraries
        .iter()
        .filter(|(_, missing)| missing.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut missing: Vec<String> = answer
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
            let says = format!("all dependencies of {} libraries found", answer.libraries.len());
            Item { what: what.into(), status: Status::Verified, says }
        }
    });
}

fn nvcc(wanted: &str, answer: &Answer) -> Item {
    let Some(nvcc) = &answer.nvcc else {
        return failed("nvcc", "not found on PATH or below CUDA_HOME".into());
    };
    match &nvcc.release {
        None => unknown("nvcc", format!("{} does not report its release", nvcc.path)),
        Some(_) if wanted.is_empty() => {
            Item { what: "nvcc".into(), status: Status::Verified, says: nvcc.path.clone() }
        }
        Some(release) => item("nvcc", begins(release, &major_minor(wanted)), release, &major_minor(wanted)),
    }
}

fn major_minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// DeepSpeed's own report: it must succeed and report the installed versions.
fn ds_report(answer: &Answer) -> Item {
    let what = "ds_report";
    let Some(report) = &answer.ds_report else { return unknown(what, "not run".into()) };
    match report.status {
        None => return unknown(what, last_line(&report.text)),
        Some(0) => {}
        Some(status) => {
            return failed(what, format!("exited with status {status}: {}", last_line(&report.text)));
        }
    }
    for (label, package) in [("torch version", "torch"), ("deepspeed info", "deepspeed")] {
        let line = report.text.lines().find(|line| line.trim_start().starts_with(label));
        let (Some(line), Some(installed)) = (line, answer.distributions.get(package)) else { continue };
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
        status: Status::Verified,
        says: "succeeds and reports the installed versions".into(),
    }
}

fn item(what: &str, holds: bool, found: &str, wanted: &str) -> Item {
    match holds {
        true => Item { what: what.into(), status: Status::Verified, says: found.into() },
        false => failed(what, format!("{found} is installed; expected {wanted}")),
    }
}

fn failed(what: &str, says: String) -> Item {
    Item { what: what.into(), status: Status::Failed, says }
}

fn unknown(what: &str, says: String) -> Item {
    Item { what: what.into(), status: Status::Unknown, says }
}

/// Whether the parts of a version begin with those of another: 3.12.4 with 3.12.
fn begins(found: &str, wanted: &str) -> bool {
    let mut found = found.split('.');
    wanted.split('.').all(|part| found.next() == Some(part))
}

/// Equal as Python compares versions; the local part counts only if it is expected.
fn same(found: &str, wanted: &str) -> bool {
    let (Ok(found), Ok(wanted)) = (Version::from_str(found), Version::from_str(wanted)) else {
        return found == wanted;
    };
    match wanted.local().is_empty() {
        true => found.without_local() == wanted,
        false => found == wanted,
    }
}

fn last_line(text: &str) -> String {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no output").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn answer() -> Answer {
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
    fn what_is_as_expected_is_verified() {
        let items = judge(&expectations(), &answer());
        assert!(items.iter().all(|item| item.status == Status::Verified), "{items:?}");
        assert_eq!(items.len(), 10);
    }

    #[test]
    fn each_deviation_fails() {
        type Change = fn(&mut Expectations, &mut Answer);
        let cases: &[(&str, Change)] = &[
            ("python", |expected, _| expected.python = Some("3.1".into())),
            ("torch", |expected, _| expected.torch = Some("2.6.1".into())),
            ("torch", |_, answer| answer.torch = None),
            ("torch build", |expected, _| expected.torch_build = Some("cu118".into())),
            ("nccl", |expected, _| expected.nccl = Some("2.21.4".into())),
            ("numpy", |_, answer| drop(answer.distributions.insert("numpy".into(), "2.0.0".into()))),
            ("numpy", |_, answer| drop(answer.distributions.remove("numpy"))),
            ("import apex", |expected, _| expected.imports.push("apex".into())),
            ("nvcc", |expected, _| expected.nvcc = Some(String::new())),
            ("torch's libraries", |_, answer| {
                drop(answer.libraries.insert("libtorch_cuda.so".into(), Some(vec!["libcudnn.so.9".into()])));
            }),
            ("ds_report", |_, answer| answer.ds_report.as_mut().unwrap().status = Some(1)),
            ("ds_report", |_, answer| {
                answer.ds_report.as_mut().unwrap().text = "torch version .... 2.5.0".into();
            }),
        ];
        for (what, change) in cases {
            let (mut expected, mut answer) = (expectations(), answer());
            change(&mut expected, &mut answer);
            assert_eq!(status(&judge(&expected, &answer), what), Status::Failed, "{what}");
        }
    }

    #[test]
    fn a_cpu_wheel_in_place_of_the_gpu_wheel_is_named() {
        let mut answer = answer();
        answer.torch = Some(Torch { version: Some("2.6.0+cpu".into()), ..Torch::default() });
        let items = judge(&expectations(), &answer);
        for what in ["torch.version.cuda", "torch build", "nccl"] {
            assert_eq!(status(&items, what), Status::Failed);
        }
        assert!(items.iter().any(|item| item.says.contains("CPU")));
    }

    #[test]
    fn what_only_a_gpu_machine_can_tell_is_unknown() {
        let mut expected = expectations();
        expected.imports.push("vllm".into());
        expected.imports.push("never".into());
        let mut answer = answer();
        answer.libraries.insert("libtorch_python.so".into(), None);
        answer.ds_report = None;
        let items = judge(&expected, &answer);
        for what in ["import vllm", "import never", "torch's libraries", "ds_report"] {
            assert_eq!(status(&items, what), Status::Unknown, "{what}");
        }
    }
}
