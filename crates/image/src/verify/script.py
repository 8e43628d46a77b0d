# Looks at the image that it runs in and prints what it finds as one line of JSON. Needs Python 3.6 and nothing else; judges nothing.
import json, os, platform, re, shutil, subprocess, sys

asked = json.loads(sys.argv[1])


def run(argv, seconds=120):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=seconds)
        text = lambda data: data.decode("utf-8", "replace")
        return {"status": done.returncode, "stdout": text(done.stdout)[-20000:], "stderr": text(done.stderr)[-4000:]}
    except subprocess.TimeoutExpired:
        return {"status": None, "stdout": "", "stderr": "no end within %d s" % seconds}
    except OSError as error:
        return {"status": None, "stdout": "", "stderr": str(error)}


def distributions():
    try:
        from importlib import metadata
        found = [(d.metadata["Name"], d.version) for d in metadata.distributions()]
    except ImportError:
        import pkg_resources
        found = [(d.project_name, d.version) for d in pkg_resources.working_set]
    result = {}
    for name, version in found:
        if name:
            # The first one on the path is the one that is imported.
            result.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return result


TORCH = """
import json, torch
found = {"version": torch.__version__, "cuda": torch.version.cuda, "file": torch.__file__}
try:
    nccl = torch.cuda.nccl.version() if torch.version.cuda else None
    if isinstance(nccl, int):
        nccl = (nccl // 1000, nccl % 1000 // 100, nccl % 100) if nccl < 10000 else (nccl // 10000, nccl % 10000 // 100, nccl % 100)
    found["nccl"] = ".".join(map(str, nccl[:3])) if nccl else None
except Exception as error:
    found["nccl_error"] = str(error)
try:
    found["architectures"] = (torch._C._cuda_getArchFlags() or "").split() if torch.version.cuda else []
except Exception as error:
    found["architectures_error"] = str(error)
print("\\n" + json.dumps(found))
"""


def last_json(done):
    lines = [line for line in done["stdout"].splitlines() if line.startswith("{")]
    if done["status"] == 0 and lines:
        return json.loads(lines[-1])
    return {"error": (done["stderr"].strip() or "status %s" % done["status"])[-1500:]}


def libraries(folder):
    found = {}
    for name in ("libtorch_cpu.so", "libtorch_cuda.so", "libc10_cuda.so", "libtorch_python.so"):
        path = os.path.join(folder, "lib", name)
        if os.path.exists(path):
            done = run(["ldd", path])
            if done["status"] == 0:
                found[name] = [line.split()[0] for line in done["stdout"].splitlines() if "not found" in line]
            else:
                found[name] = None
    return found


answer = {
    "python": platform.python_version(),
    "executable": sys.executable,
    "glibc": " ".join(platform.libc_ver()),
    "distributions": distributions(),
    "imports": {},
    "environment": {name: os.environ.get(name) for name in asked["environment"]},
}
for name in asked["imports"]:
    done = run([sys.executable, "-c", "import importlib, sys; importlib.import_module(sys.argv[1])", name], 300)
    answer["imports"][name] = {"status": done["status"], "stderr": done["stderr"][-1500:]}
if asked["torch"]:
    answer["torch"] = last_json(run([sys.executable, "-c", TORCH], 300))
    if "file" in answer["torch"]:
        answer["libraries"] = libraries(os.path.dirname(answer["torch"]["file"]))
if asked["nvcc"]:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = shutil.which("nvcc") or os.path.join(home, "bin", "nvcc")
    if os.path.exists(nvcc):
        release = re.search(r"release (\d+\.\d+)", run([nvcc, "--version"])["stdout"])
        answer["nvcc"] = {"path": nvcc, "release": release.group(1) if release else None}
if asked["ds_report"]:
    done = run([sys.executable, "-m", "deepspeed.env_report"], 300)
    answer["ds_report"] = {"status": done["status"], "text": done["stdout"] or done["stderr"]}
print("\nenvdoc-verification " + json.dumps(answer))
