//! The all-reduce of NCCL as a program: with the real libnccl of PyPI where no GPU is, with libraries that
//! hang and crash, and with a GPU.
//!
//! The real libnccl is looked for by the Python of `target/nccl/bin` (`tests/run.sh slow` makes it: a virtual
//! environment with nvidia-nccl-cu12), or of the folder that `ENVDOC_NCCL_PYTHON` names. Without it, and
//! without a GPU, the tests that need them say so and count as skipped.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cluster::smoke::nccl::{self, Task};
use cluster::worker::session::Session;
use serde_json::Value;

use crate::judge;

const PROGRAM: &str = env!("CARGO_BIN_EXE_envdoc");

/// The folder with the Python that has the real libnccl.
fn python() -> Option<PathBuf> {
    let made = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/nccl/bin");
    let folder = std::env::var_os("ENVDOC_NCCL_PYTHON").map_or_else(made, PathBuf::from);
    let found = folder.join("python3").is_file();
    if !found {
        let install = "python3 -m venv target/nccl && target/nccl/bin/pip install nvidia-nccl-cu12";
        judge::missing("libnccl", install);
    }
    found.then_some(folder)
}

fn gpu() -> bool {
    Path::new("/dev/nvidia0").exists()
}

fn smoke(arguments: &[&str], variables: &[(&str, String)]) -> (Output, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(["smoke", "--local", "--format", "json"]).args(arguments);
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
    for (name, value) in variables {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output, value)
}

fn path_with(folder: &Path) -> (&'static str, String) {
    ("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
}

#[test]
fn the_real_libnccl_without_a_gpu_ends_in_a_clear_message() {
    let Some(python) = python() else { return };
    if gpu() {
        judge::skipped("this machine has a GPU: the test without one cannot be made");
        return;
    }
    let start = Instant::now();
    let (output, said) = smoke(&["--gpus", "1"], &[path_with(&python)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let phase = &said["phases"][0];
    assert_eq!((phase["name"].as_str(), phase["status"].as_str()), (Some("devices"), Some("failed")));
    let message = phase["says"].as_str().unwrap();
    assert!(
        message.contains("no GPU: ") && (message.contains("libcuda.so.1") || message.contains("cuInit")),
        "{message}"
    );
    assert!(message.contains("site-packages/nvidia/nccl/lib/libnccl.so.2; package nvidia-nccl"), "{message}");
    // The version is the library's own, and that of the package.
    let asked = Command::new(python.join("python3"))
        .args(["-c", "import importlib.metadata as m; print(m.version('nvidia-nccl-cu12'))"])
        .output()
        .unwrap();
    let version = String::from_utf8(asked.stdout).unwrap();
    assert!(message.contains(&format!("NCCL {} found", version.trim())), "{message}, not {version}");
}

/// A library made by this machine's C compiler, below a folder of its own.
fn made(name: &str, code: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("made.c");
    std::fs::write(&source, code).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.path().join(name))
        .arg(&source)
        .status()
        .unwrap();
    assert!(compiled.success());
    folder
}

fn only(folder: &tempfile::TempDir) -> [(&'static str, String); 2] {
    // No Python that might have another libnccl; /bin/false is not asked for anything.
    [("LD_LIBRARY_PATH", folder.path().display().to_string()), ("PATH", "/nowhere".into())]
}

#[test]
fn crashing_library_ends_only_its_rank_process() {
    let crashing = "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n";
    let folder = made("libnccl.so.2", crashing);
    let (output, said) = smoke(&["--gpus", "1"], &only(&folder));
    assert_eq!(output.status.code(), Some(1));
    assert!(said["says"].as_str().unwrap().contains("the rank's process exited"), "{said}");
}

#[test]
fn library_without_nccl_symbols_is_reported() {
    let folder = made("libnccl.so.2", "int ncclGetVersion(int *v) { *v = 22703; return 0; }\n");
    let (_, said) = smoke(&["--gpus", "1"], &only(&folder));
    let message = said["says"].as_str().unwrap();
    assert!(
        message.contains("No NCCL: ") && message.contains("the library has no symbol ncclGetUniqueId"),
        "{message}"
    );
    assert!(said["remarks"][0].as_str().unwrap().contains("could not locate torch"), "{said}");
}

#[test]
fn cuda_initialization_errors_are_explained() {
    for (code, words) in
        [(100, "the driver shows no GPU"), (34, "stubs"), (999, "nvidia-uvm"), (4711, "CUDA error 4711")]
    {
        let source = format!(
            "int cuInit(unsigned f) {{ return {code}; }} int cuDriverGetVersion(int *v) {{ *v = 12080; \
                return 0; }} int cuDeviceGetCount(int *n) {{ *n = 0; return 0; }}\n"
        );
        let folder = made("libcuda.so.1", &source);
        let (_, said) = smoke(&["--gpus", "1"], &only(&folder));
        let message = said["says"].as_str().unwrap();
        assert!(message.contains("cuInit failed: ") && message.contains(words), "{message}");
    }
}

/// cudarc panics where a function is missing, which ends a rank's process without an answer.
#[test]
fn a_driver_that_lacks_a_function_is_named() {
    let source = "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 10020; \
     return 0; } \
        int cuDeviceGetCount(int *n) { *n = 1; return 0; } int cuCtxGetCurrent(void) { return 0; }\n";
    let folder = made("libcuda.so.1", source);
    let (output, said) = smoke(&["--gpus", "1"], &only(&folder));
    assert_eq!(output.status.code(), Some(1));
    let message = said["says"].as_str().unwrap();
    assert!(message.contains("no GPU: libcuda.so.1 has no symbol cuCtxSetCurrent"), "{message}");
}

/// The process of a rank in which a call never comes back answers in its time, and ends though its caller is
/// still there.
#[tokio::test]
async fn hanging_call_times_out_and_its_process_exits() {
    let folder = made(
        "libcuda.so.1",
        "#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }\nint cuDriverGetVersion(int *v) { \
            return 0; }\nint cuDeviceGetCount(int *n) { return 0; }\n",
    );
    let mut child = tokio::process::Command::new(PROGRAM)
        .arg("worker")
        .env("LD_LIBRARY_PATH", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let session = Session::open(reader, writer, Duration::from_secs(10)).await.unwrap();
    let start = Instant::now();
    let task = Task::Open { device: 0, environment: BTreeMap::new() };
    let answer = session.ask_custom(&task, Duration::from_secs(3)).await;
    let Ok(nccl::Answer::Broken { message }) = answer else { panic!("{answer:?}") };
    assert!(message.0.contains("did not return") && start.elapsed() < Duration::from_secs(4), "{message}");
    let status =
        tokio::time::timeout(Duration::from_secs(5), child.wait()).await.expect("it goes on").unwrap();
    assert!(!status.success(), "{status}");
}

#[test]
fn one_gpu_sums_with_the_real_libnccl() {
    if !gpu() {
        judge::skipped("this machine has no GPU: NCCL's all-reduce itself was not tried");
        return;
    }
    let Some(python) = python() else { return };
    let (output, said) = smoke(&["--gpus", "1", "--sizes", "8,1M,64M"], &[path_with(&python)]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let passed: Vec<&str> =
        said["phases"].as_array().unwrap().iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(passed, ["devices", "communicator", "nccl-all-reduce", "nccl-bandwidth", "transport"]);
    assert_eq!(said["nccl"]["results"].as_array().unwrap().len(), 3);
    assert!(said["results"].as_array().unwrap().iter().all(|result| result["correct"] == true), "{said}");
}
