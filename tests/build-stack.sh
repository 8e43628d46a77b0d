#!/usr/bin/env bash
# Builds the image of a real stack (torch and DeepSpeed from PyPI) on a base made by debootstrap, with a real engine, and proves it:
# by `envdoc build` itself, and by one step of DeepSpeed in one process on the CPU.
#
#     tests/build-stack.sh         needs root, dockerd, tests/lab's base image, PyPI, and 16 GB of memory or disk
#     ENVDOC=PROGRAM STORE=FOLDER  another envdoc than the debug build; a folder for the engine's data instead of memory
#     COMPARE=yes                  besides: `docker build` of the same Dockerfile, and the recipe that people write by hand
#
# Slow: several GB. The engine is one of its own, in a mount namespace of its own; the machine's is not touched. Where it cannot look,
# it says SKIPPED and exits with 0.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
repository=$PWD
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
envdoc=$(realpath "${ENVDOC:-${CARGO_TARGET_DIR:-target}/debug/envdoc}")
needed_gb=16
[ -z "${COMPARE:-}" ] || needed_gb=36
passed=0 failed=0

skip() {
    printf 'SKIPPED: %s; no stack was built\n' "$*"
    exit 0
}
check_that() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        printf 'passed: %s\n' "$what"
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n' "$what"
    fi
}

[ -x "$envdoc" ] || { echo "no envdoc at $envdoc: cargo build"; exit 2; }
[ "$(id -u)" -eq 0 ] || skip "it needs root"
command -v dockerd >/dev/null || skip "dockerd is missing"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
os=$(. /etc/os-release && echo "$ID$VERSION_ID")
base=$repository/target/lab/base-python-$codename.tar
[ -s "$base" ] || skip "the lab's base image is missing: tests/lab/run.sh 100"
if [ -z "${IN_NAMESPACE:-}" ]; then
    IN_NAMESPACE=yes exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi

# A /run and, where there is memory enough, a data root of this test's own: both are gone with the namespace.
lab=$(mktemp -d -p "$repository/target/lab" stack.XXXXXX) || exit 2
store=${STORE:-$lab/docker}
mkdir -p "$store"
free_gb=$(awk '/^MemAvailable/ { print int($2 / 1000000) }' /proc/meminfo)
if [ -z "${STORE:-}" ] && [ "$free_gb" -ge "$((needed_gb + 3))" ]; then
    mount -t tmpfs -o "size=${needed_gb}g" stack "$store" || exit 2
else
    free_gb=$(df --output=avail -BG "$store" | tail -1 | tr -dc 0-9)
    [ "$free_gb" -ge "$needed_gb" ] || { rm -rf "$lab"; skip "$free_gb GB are free, $needed_gb are needed"; }
fi
resolv=$(readlink -f /etc/resolv.conf)
cp "$resolv" "$lab/resolv.conf"
mount -t tmpfs -o mode=755 stack /run || exit 2
case $resolv in /run/*) mkdir -p "$(dirname "$resolv")" && cp "$lab/resolv.conf" "$resolv" ;; esac
mkdir -p /run/lock
export DOCKER_HOST=unix:///run/stack.sock
# No bridge: builds share the machine's network, and its rules stay as they are.
dockerd --host "$DOCKER_HOST" --data-root "$store" --exec-root /run/stack --pidfile /run/stack.pid --bridge none \
    --iptables=false --ip6tables=false --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent /envdoc-stack \
    >"$lab/dockerd.log" 2>&1 &
daemon=$!
clean() {
    kill "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
    find /sys/fs/cgroup -mindepth 1 -depth -type d -path '*/envdoc-stack*' -exec rmdir {} + 2>/dev/null
    [ -n "${STORE:-}" ] || umount -l "$store" 2>/dev/null
    rm -rf --one-file-system "$lab"
}
trap clean EXIT
for _ in $(seq 300); do
    docker version >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || { tail -5 "$lab/dockerd.log"; exit 2; }
    sleep 0.1
done
docker import "$base" lab:base >/dev/null || exit 2

# Where a proxy signs TLS again, the host's certificates are the ones to trust.
certificates=()
for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
    [ -s "$file" ] && certificates=(--ca-cert "$file") && break
done
python3 -m venv "$lab/probe" >/dev/null 2>&1 || skip "python3 has no venv here"
timeout 60 "$lab/probe/bin/pip" download -q --no-deps -d "$lab/probe" packaging >/dev/null 2>&1 || skip "PyPI cannot be reached"
rm -rf "$lab/probe"
mkdir -p "$lab/context"
cat >"$lab/context/step.py" <<'PYTHON'
import deepspeed, torch

model = torch.nn.Linear(4, 1)
engine, *_ = deepspeed.initialize(model=model, config={
    "train_batch_size": 2,
    "zero_optimization": {"stage": 0},
    "optimizer": {"type": "SGD", "params": {"lr": 0.1}},
})
before = model.weight.detach().clone()
loss = engine(torch.ones(2, 4)).sum()
engine.backward(loss)
engine.step()
assert not torch.equal(before, model.weight), "the step changed nothing"
print("stepped with DeepSpeed", deepspeed.__version__, "torch", torch.__version__)
PYTHON
report=$lab/report
build() {
    "$envdoc" build --base-image lab:base --os "$os" --torch "${TORCH:-2.9}" --deepspeed --no-cache-mounts "${certificates[@]}" \
        --apt g++,ninja-build --copy step.py:/workspace/step.py "$lab/context" --network host --tag lab:stack "$@"
}
start=$SECONDS
build >"$report" 2>"$lab/progress"
status=$?
cat "$report"
[ "$status" -eq 0 ] || tail -30 "$lab/progress"
check_that "the stack is built and proved ($((SECONDS - start)) s)" test "$status" -eq 0
check_that "every promise holds, or could not be asked without a GPU" grep -qE 'verified: ' "$report"
check_that "nothing of the certificates is in the image" test -z \
    "$(docker history --no-trunc --format '{{.CreatedBy}}' lab:stack | grep 'BEGIN CERT')"
docker run --rm --network host --env DS_ACCELERATOR=cpu --env RANK=0 --env LOCAL_RANK=0 --env WORLD_SIZE=1 \
    --env MASTER_ADDR=127.0.0.1 --env MASTER_PORT=29533 lab:stack python step.py >"$lab/step" 2>&1
check_that "one step of DeepSpeed on the CPU" grep '^stepped with DeepSpeed' "$lab/step"
grep -q '^stepped' "$lab/step" || tail -15 "$lab/step"
echo '# changed' >>"$lab/context/step.py"
start=$(date +%s%N)
build --no-prove >"$report" 2>"$lab/progress"
check_that "after a change of the code: rebuilt in $((($(date +%s%N) - start) / 1000000)) ms, all else from the cache" \
    grep -qE "^[0-9]+ steps in [0-9.]+ s, [1-9][0-9]* from the cache" "$report"
size() { docker image inspect --format '{{.Size}}' "$1"; }
# compare: the same Dockerfile through the docker program, and the recipe of most tutorials, in the same engine; nothing from the cache.
compare() {
    # A docker program without buildx can only do this with the builder that it has itself, up to 20.10.
    local program=docker
    case $(docker version --format '{{.Client.Version}}') in
    20.10.*) ;;
    *) docker buildx version >/dev/null 2>&1 || program=$(PATH=/usr/bin command -v docker) ;;
    esac
    local folder=$lab/compared mirror_secret=()
    mkdir -p "$folder" && cp "$lab/context/step.py" "$folder"
    build --dry-run 2>/dev/null | sed -n '/^# rendered by/,$p' >"$folder/Dockerfile"
    [ "${#certificates[@]}" -eq 0 ] || mirror_secret=(--secret "id=ca,src=${certificates[1]}")
    docker builder prune --all --force >/dev/null
    local start=$SECONDS by_envdoc by_docker
    build --no-cache --no-prove >"$report" 2>"$lab/progress" || tail -5 "$lab/progress"
    by_envdoc=$((SECONDS - start))
    docker builder prune --all --force >/dev/null
    start=$SECONDS
    DOCKER_BUILDKIT=1 "$program" build --no-cache --network host "${mirror_secret[@]}" --tag lab:by-docker "$folder" >"$lab/progress" 2>&1 ||
        tail -5 "$lab/progress"
    by_docker=$((SECONDS - start))
    printf 'without a cache: envdoc build --no-prove %s s, docker build of the same Dockerfile %s s\n' "$by_envdoc" "$by_docker"
    check_that "docker build makes an image of the same size, within 1 %" \
        test $((($(size lab:stack) - $(size lab:by-docker)) * 100 / $(size lab:by-docker))) -eq 0
    local built torch deepspeed
    built=$(size lab:stack)
    torch=$(sed -n 's/.*torch==\([0-9.]*\).*/\1/p' "$folder/Dockerfile" | head -1)
    deepspeed=$(sed -n 's/.*deepspeed==\([0-9.]*\).*/\1/p' "$folder/Dockerfile" | head -1)
    docker rmi --force lab:stack lab:by-docker >/dev/null
    docker builder prune --all --force >/dev/null
    cat >"$folder/Dockerfile" <<DOCKERFILE
FROM lab:base
ENV PIP_BREAK_SYSTEM_PACKAGES=1${mirror_secret:+ PIP_CERT=/run/ca.crt}
RUN apt-get update && apt-get install -y python3 python3-pip build-essential ninja-build
RUN --mount=type=bind,target=/run/ca.crt,source=ca.crt pip3 install torch==$torch
RUN --mount=type=bind,target=/run/ca.crt,source=ca.crt pip3 install deepspeed==$deepspeed
COPY step.py /workspace/step.py
DOCKERFILE
    cp "${certificates[1]:-/dev/null}" "$folder/ca.crt"
    DOCKER_BUILDKIT=1 "$program" build --network host --tag lab:naive "$folder" >"$lab/progress" 2>&1 || tail -15 "$lab/progress"
    printf 'by hand: %s bytes (torch %s, DeepSpeed %s), by envdoc: %s bytes: %s %% of it\n' \
        "$(size lab:naive)" "$torch" "$deepspeed" "$built" $((built * 100 / $(size lab:naive)))
    check_that "the image is no larger than that of the recipe by hand" test "$built" -le "$(size lab:naive)"
}
[ -z "${COMPARE:-}" ] || compare
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
