//! What was promised against what was found.

use std::str::FromStr;

use pep440_rs::Version;

use super::answer::{Answer, Import, Torch};
use super::{Item, Proof, Status};

/// The driver's libraries, which the container toolkit brings when the container starts on a GPU machine.
const OF_THE_DRIVER: &[&str] = &["libcuda.so", "libnvidia-"];

/// Each promise in turn.
pub(super) fn judge(proof: &Proof, answer: &Answer) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(wanted) = &proof.python {
        let holds = begins(&answer.python, wanted);
        items.push(item("python", holds, &answer.python, wanted));
    }
    torch(proof, answer, &mut items);
    for (name, wanted) in &proof.packages {
        items.push(match answer.distributions.get(name) {
            Some(found) => item(name, same(found, wanted), found, wanted),
            None => failed(name, format!("not installed; expected {wanted}")),
        });
    }
    for module in &proof.imports {
        items.push(import(module, answer.imports.get(module)));
    }
    if proof.torch.is_some() {
        libraries(answer, &mut items);
    }
    if let Some(wanted) = &proof.nvcc {
        items.push(nvcc(wanted, answer));
    }
    for (name, wanted) in &proof.environment {
        items.push(match answer.environment.get(name) {
            Some(Some(found)) => item(name, found == wanted, found, wanted),
            Some(None) => failed(name, format!("not set; expected {wanted}")),
            None => unknown(name, "not checked".into()),
        });
    }
    if proof.packages.contains_key("deepspeed") {
        items.push(ds_report(answer));
    }
    items
}

fn torch(proof: &Proof, answer: &Answer, items: &mut Vec<Item>) {
    if [&proof.torch, &proof.torch_build, &proof.cuda, &proof.nccl].iter().all(|part| part.is_none()) {
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
    if let Some(wanted) = &proof.torch {
        items.push(item("torch", same(version, wanted), version, wanted));
    }
    if let Some(wanted) = proof.cuda.as_deref() {
        items.push(torch_cuda(found, wanted));
    }
    if let Some(wanted) = &proof.torch_build {
        items.push(torch_build(found, version, wanted));
    }
    if let Some(wanted) = &proof.nccl {
        items.push(match (&found.nccl, &found.nccl_error) {
            (Some(nccl), _) => item("nccl", nccl == wanted, nccl, wanted),
            (None, Some(why)) => unknown(
                "nccl",
                format!(
                    "could not read the NCCL version of torch: \
                     {}",
                    last_line(why)
                ),
            ),
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
                "None: this is a CPU build of torch; expected CUDA {wanted}. Another package replaced the \
                 GPU wheel"
            ),
        ),
    }
}

/// The build: torch's own local version where it has one, else what its CUDA says. Wheels of PyPI have no
/// local version.
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
        Some(Import { status: Some(0), .. }) => Item { what, status: Status::Proved, says: "works".into() },
        Some(Import { status, stderr }) => {
            let why = last_line(stderr);
            if OF_THE_DRIVER.iter().any(|library| why.contains(library)) {
                let says = format!("needs the driver library, which exists only on a GPU machine: {why}");
                return Item { what, status: Status::Unknown, says };
            }
            match status {
                None => Item { what, status: Status::Unknown, says: why },
                Some(status) if *status < 0 => Item {
                    what,
                    status: Status::Failed,
                    says: format!(
                        "killed by signal {}: \
                         {why}",
                        -status
                    ),
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
        .filter(|(_, library)| !OF_THE_DRIVER.iter().any(|own| library.starts_with(own)))
        .map(|(name, library)| format!("{name} needs {library}"))
        .collect();
    missing.dedup();
    items.push(match (missing.is_empty(), unread.is_empty()) {
        (false, _) => failed(what, format!("not found: {}", missing.join(", "))),
        (true, false) => unknown(what, format!("ldd could not read {}", unread.join(", "))),
        (true, true) => {
            let says = format!("all libraries that {} need are present", answer.libraries.len());
            Item { what: what.into(), status: Status::Proved, says }
        }
    });
}

fn nvcc(wanted: &str, answer: &Answer) -> Item {
    let Some(nvcc) = &answer.nvcc else {
        return failed("nvcc", "not found on PATH or in CUDA_HOME".into());
    };
    match &nvcc.release {
        None => unknown("nvcc", format!("{} does not print its release", nvcc.path)),
        Some(_) if wanted.is_empty() => {
            Item { what: "nvcc".into(), status: Status::Proved, says: nvcc.path.clone() }
        }
        Some(release) => item("nvcc", begins(release, &major_minor(wanted)), release, &major_minor(wanted)),
    }
}

fn major_minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// DeepSpeed's own report: it must come to its end and name the versions that are installed.
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
            return failed(what, format!("names another {package} than {installed}: {}", line.trim()));
        }
    }
    Item {
        what: what.into(),
        status: Status::Proved,
        says: "succeeds and reports the installed versions".into(),
    }
}

fn item(what: &str, holds: bool, found: &str, wanted: &str) -> Item {
    match holds {
        true => Item { what: what.into(), status: Status::Proved, says: found.into() },
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

/// Equal as Python compares versions; the local part counts only where it was promised.
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

    fn promised() -> Proof {
        Proof {
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
            ..Proof::default()
        }
    }

    fn status(items: &[Item], what: &str) -> Status {
        items.iter().find(|item| item.what == what).unwrap().status
    }

    #[test]
    fn what_is_as_promised_is_proved() {
        let items = judge(&promised(), &answer());
        assert!(items.iter().all(|item| item.status == Status::Proved), "{items:?}");
        assert_eq!(items.len(), 10);
    }

    #[test]
    fn each_deviation_fails() {
        type Change = fn(&mut Proof, &mut Answer);
        let cases: &[(&str, Change)] = &[
            ("python", |proof, _| proof.python = Some("3.1".into())),
            ("torch", |proof, _| proof.torch = Some("2.6.1".into())),
            ("torch", |_, answer| answer.torch = None),
            ("torch build", |proof, _| proof.torch_build = Some("cu118".into())),
            ("nccl", |proof, _| proof.nccl = Some("2.21.4".into())),
            ("numpy", |_, answer| drop(answer.distributions.insert("numpy".into(), "2.0.0".into()))),
            ("numpy", |_, answer| drop(answer.distributions.remove("numpy"))),
            ("import apex", |proof, _| proof.imports.push("apex".into())),
            ("nvcc", |proof, _| proof.nvcc = Some(String::new())),
            ("torch's libraries", |_, answer| {
                drop(answer.libraries.insert("libtorch_cuda.so".into(), Some(vec!["libcudnn.so.9".into()])));
            }),
            ("ds_report", |_, answer| answer.ds_report.as_mut().unwrap().status = Some(1)),
            ("ds_report", |_, answer| {
                answer.ds_report.as_mut().unwrap().text = "torch version .... 2.5.0".into();
            }),
        ];
        for (what, change) in cases {
            let (mut proof, mut answer) = (promised(), answer());
            change(&mut proof, &mut answer);
            assert_eq!(status(&judge(&proof, &answer), what), Status::Failed, "{what}");
        }
    }

    #[test]
    fn a_cpu_wheel_in_place_of_the_gpu_wheel_is_named() {
        let mut answer = answer();
        answer.torch = Some(Torch { version: Some("2.6.0+cpu".into()), ..Torch::default() });
        let items = judge(&promised(), &answer);
        for what in ["torch.version.cuda", "torch build", "nccl"] {
            assert_eq!(status(&items, what), Status::Failed);
        }
        assert!(items.iter().any(|item| item.says.contains("CPU")));
    }

    #[test]
    fn what_only_a_gpu_machine_can_tell_is_unknown() {
        let mut proof = promised();
        proof.imports.push("vllm".into());
        proof.imports.push("never".into());
        let mut answer = answer();
        answer.libraries.insert("libtorch_python.so".into(), None);
        answer.ds_report = None;
        let items = judge(&proof, &answer);
        for what in ["import vllm", "import never", "torch's libraries", "ds_report"] {
            assert_eq!(status(&items, what), Status::Unknown, "{what}");
        }
    }
}
