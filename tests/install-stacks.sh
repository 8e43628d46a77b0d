#!/usr/bin/env bash
# Installs stacks that `envdoc resolve` gives for real, from PyPI, and holds what is then there against what it said.
#
#     tests/install-stacks.sh             needs python3 with venv, jq, PyPI, and 15 GB free where temporary files go
#     ENVDOC=PROGRAM TMPDIR=FOLDER …      another envdoc than the debug build; another place for the environments
#
# Slow: each stack is several GB, so one environment exists at a time. The last line is the count; the exit status is not 0
# when anything failed. Where it cannot look, it says SKIPPED and exits with 0.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

envdoc=${ENVDOC:-${CARGO_TARGET_DIR:-target}/debug/envdoc}
needed_gb=15
passed=0 failed=0

skip() {
    printf 'SKIPPED: %s; no stack was installed\n' "$*"
    exit 0
}
pass() {
    passed=$((passed + 1))
    printf 'passed: %s\n' "$*"
}
fail() {
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$*"
}

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
# What pip unpacks goes with the rest, however this ends.
mkdir "$folder/tmp" && export TMPDIR="$folder/tmp"
# The wheels are needed once: a cache would double the space.
export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

[ -x "$envdoc" ] || {
    echo "no envdoc at $envdoc: cargo build"
    exit 2
}
command -v jq >/dev/null || skip "jq is missing"
python3 -m venv "$folder/probe" >/dev/null 2>&1 || skip "python3 has no venv here"
free_gb=$(df --output=avail -BG "$folder" | tail -1 | tr -dc 0-9)
[ "$free_gb" -ge "$needed_gb" ] || skip "$free_gb GB are free, $needed_gb are needed"
timeout 60 "$folder/probe/bin/pip" download -q --no-deps -d "$folder/probe" packaging >/dev/null 2>&1 ||
    skip "PyPI cannot be reached"
rm -rf "$folder/probe"
python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# Imports everything that the stack in the file argv[1] names, and compares; a line per check: `passed: …` or `FAILED: …`.
cat >"$folder/compare.py" <<'PYTHON'
import importlib, importlib.metadata, json, subprocess, sys

stack = json.load(open(sys.argv[1]))["stack"]


def within(said, found):
    # In a process of its own: once pip is imported, setuptools cannot be any more, and DeepSpeed imports it.
    code = "import sys; from pip._vendor.packaging.specifiers import SpecifierSet as S; sys.exit(sys.argv[2] not in S(sys.argv[1]))"
    said = said if said[0] in "=<>~!" else "==" + said
    return subprocess.run([sys.executable, "-c", code, said, found]).returncode == 0


modules = {"flash-attn": "flash_attn", "huggingface-hub": "huggingface_hub"}


def check(what, said, look, same=lambda said, found: said == found):
    try:
        found = look()
        verdict = "passed" if same(said, found) else "FAILED"
    except Exception as error:  # whatever an import raises is the finding
        found, verdict = "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0]), "FAILED"
    print("%s: %s: said %s, found %s" % (verdict, what, said, found), flush=True)


def version_of(*names):
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "nothing"


def imported(name):
    importlib.import_module(modules.get(name, name))
    return version_of(name)


def nvidia(name):
    # NVIDIA's packages carry the major version of CUDA in their names.
    return version_of("nvidia-%s-cu%s" % (name, stack["cuda"].split(".")[0]))


def of_torch(look):
    return look(importlib.import_module("torch"))


def cudnn(torch):
    number = torch.backends.cudnn.version()
    return "%d.%d.%d" % (number // 10000, number // 100 % 100, number % 100)


local = "%s+%s" % (stack["torch"], stack["torch_build"])
check("torch.__version__", local, lambda: of_torch(lambda torch: str(torch.__version__)))
check("torch.version.cuda", stack["cuda"], lambda: of_torch(lambda torch: torch.version.cuda))
check("torch.cuda.nccl.version()", stack["nccl"],
      lambda: of_torch(lambda torch: ".".join(map(str, torch.cuda.nccl.version()))))
check("package of NCCL", stack["nccl"], lambda: nvidia("nccl"))
check("torch.backends.cudnn.version()", stack["cudnn"], lambda: of_torch(cudnn),
      lambda said, found: said.split(".")[:3] == found.split("."))
check("package of cuDNN", stack["cudnn"], lambda: nvidia("cudnn"))
check("GPUs that torch has code for", " ".join(stack["gpu_archs"]), lambda: of_torch(lambda torch: " ".join(
    "%s.%s" % (arch[3:].rstrip("af")[:-1], arch.rstrip("af")[-1])
    for arch in torch._C._cuda_getArchFlags().split() if arch.startswith("sm_"))))
check("package of triton", stack["triton"], lambda: imported("triton"), within)
for name in ["torchvision", "torchaudio", "deepspeed"]:
    if stack[name]:
        check(name, stack[name], lambda: imported(name))
for name, said in stack["packages"].items():
    check(name, said, lambda: imported(name))
PYTHON

# Resolves with the options, installs with exactly the commands of the answer, compares.
try_stack() {
    printf '\n--- envdoc resolve %s\n' "$*"
    local answer=$folder/answer.json environment=$folder/environment commands command line
    if ! "$envdoc" resolve "$@" --format json >"$answer"; then
        fail "no stack for: $*"
        return
    fi
    mapfile -t commands < <(jq -r '.stack.install[]' "$answer")
    python3 -m venv "$environment" || {
        fail "python3 -m venv"
        return
    }
    if [[ ${commands[*]} == *"uv pip"* ]] && ! command -v uv >/dev/null; then
        "$environment/bin/pip" install -q uv || fail "pip install uv"
    fi
    for command in "${commands[@]}"; do
        if PATH=$environment/bin:$PATH VIRTUAL_ENV=$environment bash -c "$command" >"$folder/log" 2>&1; then
            pass "$command"
        else
            tail -20 "$folder/log"
            fail "$command"
        fi
    done
    if line=$("$environment/bin/pip" check 2>&1); then pass "pip check: $line"; else fail "pip check: $line"; fi
    "$environment/bin/python" "$folder/compare.py" "$answer" 2>"$folder/errors" >"$folder/checks"
    local status=$?
    while IFS= read -r line; do
        case $line in
        "passed: "*) pass "${line#passed: }" ;;
        "FAILED: "*) fail "${line#FAILED: }" ;;
        esac
    done <"$folder/checks"
    if [ "$status" -ne 0 ]; then
        tail -5 "$folder/errors"
        fail "the comparison ended with status $status"
    fi
    rm -rf "$environment"
}

try_stack --python "$python" --base none
try_stack --torch 2.8.0+cu128 --with transformers,accelerate --python "$python" --base none
try_stack --torch 2.5.1+cu124 --deepspeed 0.16 --with 'numpy<2' --python "$python" --base none

printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
