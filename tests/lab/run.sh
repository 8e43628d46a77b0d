#!/usr/bin/env bash
# The lab: the real `envdoc` on this machine, with real Docker engines in the states that users find them in.
#
#     tests/lab/run.sh            all cases but those that say `# slow`
#     ENVDOC_LAB_SLOW=yes tests/lab/run.sh   these too; `tests/run.sh slow` does this
#     tests/lab/run.sh 30 live    only those files of cases/ whose name contains one of the words; those that say `# measurement` run
#                                 only when they are named like this
#     ENVDOC_LAB_SHARDS=3 tests/lab/run.sh   three cases at a time, each shard in namespaces of its own; tests/run.sh does this
#     ENVDOC_LAB_LEFT=yes tests/lab/run.sh 223   also prints, for each run of envdoc, its seconds and what it left behind (docs/measurements/faults.md)
#     tests/lab/run.sh --base-images   only makes the images that the cases start from, where they are not kept from an earlier run
#
# Needs root (or sudo without a password). Everything runs in namespaces of its own (mounts and network): the lab has its own
# /run, its own copy of /etc, its own network and its own dockerd, and whatever it started ends with it, however it ends. The
# machine's own engine and files are not touched. What is kept: target/lab/base-*.tar, the base images, and target/lab/store-*, the same
# as the engine stores them.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
repository=$PWD
# shellcheck source=tests/packages.sh
. tests/packages.sh
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

only_images=
if [ "${1:-}" = --base-images ]; then
    only_images=$1
    shift
fi
envdoc=$(realpath -m "${ENVDOC:-${CARGO_TARGET_DIR:-target}/debug/envdoc}")
counts=${ENVDOC_LAB_COUNTS:-$(mktemp)}

skip_all() {
    local outcome=skipped file
    echo "$1"
    [ "${CI:-}" = true ] && outcome=failed
    for file in tests/lab/cases/*.sh; do echo "$outcome $(basename "$file" .sh): $1" >>"$counts"; done
    [ "$outcome" = skipped ]
    exit
}

if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then
        exec sudo -n ENVDOC="$envdoc" ENVDOC_LAB_SLOW="${ENVDOC_LAB_SLOW:-}" ENVDOC_LAB_LEFT="${ENVDOC_LAB_LEFT:-}" ENVDOC_LAB_COUNTS="$counts" \
            ENVDOC_LAB_SHARDS="${ENVDOC_LAB_SHARDS:-1}" CI="${CI:-}" "${BASH_SOURCE[0]}" $only_images "$@"
    fi
    [ -z "$only_images" ] || exit 0
    skip_all "the lab needs root, or sudo without a password"
fi
[ -n "$only_images" ] || [ -x "$envdoc" ] || { echo "$envdoc is not there: cargo build"; exit 2; }
for program in dockerd docker docker-registry iptables debootstrap unshare nsenter ip ps jq perl ssh sshd; do
    command -v "$program" >/dev/null || { echo "$program is missing: tests/run.sh installs what the lab needs"; exit 2; }
done
[ -n "$only_images" ] || unshare --mount --net true 2>/dev/null || skip_all "this machine allows no new namespaces"

mkdir -p target/lab
lab=$(mktemp -d -p "$repository/target/lab" run.XXXXXX) || exit 2
# Control groups of this run alone: another lab on this machine has its own.
group=lab-envdoc-${lab##*.}
child=''
namespace=''
# What still runs in the lab's mount namespace, or in its control groups (the processes of containers).
left() {
    local link
    if [ -n "$namespace" ] && [ "$namespace" != "$(readlink /proc/self/ns/mnt)" ]; then
        for link in /proc/[0-9]*/ns/mnt; do
            if [ "$(readlink "$link")" = "$namespace" ]; then cut -d/ -f3 <<<"$link"; fi
        done
    fi
    find /sys/fs/cgroup -path "*/$group*/cgroup.procs" -exec cat {} + 2>/dev/null
}
clean() {
    trap '' INT TERM HUP
    local pids
    if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null; fi
    for _ in 1 2 3 4 5; do
        pids=$(left | sort -u)
        [ -n "$pids" ] || break
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null
        sleep 0.2
    done
    # The kernel takes a moment to end what ran in the namespaces.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf --one-file-system "$lab" 2>/dev/null && break
        sleep 0.3
    done
    find /sys/fs/cgroup -mindepth 1 -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null
    if [ -n "${SUDO_UID:-}" ]; then
        chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" target/lab target/lab/base-*.tar 2>/dev/null
    fi
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Base images: this machine's own release, so that the envdoc built here runs in them. `base` has Python, which proofs ask; those
# that a case needs besides (`# needs: fleet`) are made when that case is run.
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
# base FILE RELEASE PACKAGE…; FINISH names a function that gets the folder before it is packed.
base() {
    local file=target/lab/$1 release=$2 packages mirror
    shift 2
    [ ! -s "$file" ] || return 0
    packages=$*
    echo "making $file (about a minute, once)"
    mirror=$(apt-get indextargets --format "\$(RELEASE) \$(REPO_URI)" "Created-By: Packages" 2>/dev/null |
        awk -v release="$codename" '$1 == release { print $2; exit }')
    if ! debootstrap --variant=minbase ${DEBOOTSTRAP:-} ${packages:+--include="${packages// /,}"} "$release" "$lab/base" \
        ${mirror:+"$mirror"} >"$lab/debootstrap.log" 2>&1; then
        tail -20 "$lab/debootstrap.log"
        echo "debootstrap failed"
        exit 2
    fi
    if [ -n "${FINISH:-}" ] && ! "$FINISH" "$lab/base" >"$lab/finish.log" 2>&1; then
        tail -20 "$lab/finish.log"
        echo "$FINISH failed"
        exit 2
    fi
    rm -rf "$lab"/base/var/cache/apt/archives/*.deb "$lab"/base/var/lib/apt/lists/* "$lab"/base/var/cache/debconf/*-old \
        "$lab"/base/usr/share/{doc,man,locale,info}/* "$lab/base/debootstrap"
    tar -C "$lab/base" -cf "$lab/base.tar" . && mv "$lab/base.tar" "$file" && rm -rf "$lab/base"
}
# DeepSpeed from PyPI (pure Python; what it needs are packages of Debian), and a fault of Debian 13's torch repaired: it is built without
# libuv, and its torchrun asks for libuv whatever USE_LIBUV says.
deepspeed_into() {
    local root=$1 python folder=$1/usr/lib/python3/dist-packages/torch/distributed program
    python=$(ls target/uv/bin/python 2>/dev/null || command -v python3)
    "$python" -m pip --version >/dev/null 2>&1 || { python3 -m venv "$lab/venv" && python=$lab/venv/bin/python; } || return 1
    "$python" -m pip install --quiet --no-deps --target "$lab/deepspeed" deepspeed==0.19.8 || return 1
    for program in deepspeed ds ds_report; do
        sed '1s|^#!.*|#!/usr/bin/env python3|' "$lab/deepspeed/bin/$program" >"$root/usr/local/bin/$program" && chmod 755 "$root/usr/local/bin/$program"
    done
    rm -rf "$lab/deepspeed/bin"
    cp -a "$lab/deepspeed/." "$(echo "$root"/usr/local/lib/python3.*/dist-packages)/" && rm -rf "$lab/deepspeed"
    sed -i 's/multi_tenant=True,$/multi_tenant=True, use_libuv=False,/' "$folder/elastic/rendezvous/static_tcp_rendezvous.py"
    sed -i 's/is_master=False,$/is_master=False, use_libuv=False,/' "$folder/rendezvous.py"
    rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/lib/libtorch-test"
}
# Open MPI's all-reduce, compiled where it will run.
mpi_into() {
    cp benches/reduce.c "$1/root/reduce.c" && chroot "$1" mpicc -O2 /root/reduce.c -o /usr/local/bin/reduce &&
        rm -rf "$1/usr/share/doc" "$1/usr/share/man" "$1/usr/lib/libtorch-test"
}
# store KIND FILE TAG: target/lab/store-KIND, what this machine's engine writes below its data root when it imports FILE as TAG. Cases
# link it into the data root of an engine before they start that: an import unpacks and hashes hundreds of MB, each time.
store() {
    local file=target/lab/$2 tag=$3 folder=target/lab/store-$1 written known
    written="$(dockerd --version), $(stat --format %Y "$file"), $tag"
    [ "$(cat "$folder/written" 2>/dev/null)" != "$written" ] || return 0
    rm -rf "$folder" && mkdir -p "$lab/store"
    # Its processes and mounts end with the shell that is process 1 there.
    if ! unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private bash -c '
        dockerd --data-root "$1/data" --exec-root "$1/run" --pidfile "$1/pid" --host "unix://$1/socket" --bridge none --iptables=false &
        for _ in $(seq 300); do docker --host "unix://$1/socket" version >/dev/null 2>&1 && break; sleep 0.1; done
        docker --host "unix://$1/socket" import "$2" "$3" || exit 1
        kill $!
        wait $!
        exit 0' import "$lab/store" "$file" "$tag" >"$lab/store.log" 2>&1; then
        tail -20 "$lab/store.log"
        echo "$file cannot be imported"
        exit 2
    fi
    # image/DRIVER has what is known of the layers, DRIVER the layers. An engine that keeps them in containerd has neither.
    mkdir "$lab/store/kept"
    for known in "$lab"/store/data/image/*; do
        [ ! -d "$known" ] || mv "$lab/store/data/image" "$lab/store/data/${known##*/}" "$lab/store/kept/"
    done
    echo "$written" >"$lab/store/kept/written" && mv "$lab/store/kept" "$folder" && rm -rf "$lab/store"
}
# needed WORD PATTERN…: whether one of the cases that will run says that it needs it.
needed() {
    local word=$1 file pattern
    shift
    [ $# -gt 0 ] || set -- ''
    for pattern in "$@"; do
        for file in tests/lab/cases/*"$pattern"*.sh; do
            if [ -z "$pattern${ENVDOC_LAB_SLOW:-}" ] && grep -q '^# slow' "$file"; then continue; fi
            if [ -z "$pattern" ] && grep -q '^# measurement' "$file"; then continue; fi
            if grep -q "^# needs:.*\b$word\b" "$file" 2>/dev/null; then return 0; fi
        done
    done
    return 1
}
# engine VERSION RELEASE: dockerd of another Debian release, for `hosts_start 2 VERSION`, and its docker-compose; containerd and runc stay
# this machine's.
engine() {
    local folder=$PWD/target/lab/engine-$1
    [ ! -x "$folder/usr/sbin/dockerd" ] || [ ! -x "$folder/usr/libexec/docker/cli-plugins/docker-compose" ] || return 0
    echo "fetching Docker $1 ($2), once"
    unpack_debian "$folder" "$2" docker.io docker-compose
}
# What the lab kept before its base had a Python.
rm -f "target/lab/base-$codename.tar" "target/lab/base-torch-bookworm.tar"
base "base-python-$codename.tar" "$codename" python3
fleet=(python3 openssh-server openssh-client pdsh iproute2 iputils-ping)
if needed fleet "$@"; then base "base-fleet-$codename.tar" "$codename" "${fleet[@]}"; fi
# Debian 12's torch is 1.13, which DeepSpeed no longer takes.
if needed torch "$@"; then
    FINISH=deepspeed_into base base-torch-trixie.tar trixie "${fleet[@]}" python3-{torch,hjson,msgpack,cpuinfo,psutil,pydantic,tqdm,einops,packaging,numpy}
fi
if needed speed "$@"; then
    FINISH=mpi_into base base-speed-trixie.tar trixie "${fleet[@]}" python3-{torch,numpy} iperf3 openmpi-bin automake libopenmpi-dev gcc libc6-dev procps
fi
for pair in 26.1:trixie 28.5:forky; do
    version=${pair%%:*}
    if needed "engine-$version" "$@"; then
        engine "$version" "${pair#*:}" || echo "Docker $version cannot be fetched: the cases that need it are skipped"
    fi
done
# Podman of Debian 13 needs that release's C library: it runs in a folder of its own, with runc, because crun refuses hybrid cgroups.
if needed podman-5.4 "$@"; then base base-podman-trixie.tar trixie podman runc netavark aardvark-dns containers-storage; fi
# Not set up, only unpacked: what its C library is, counts.
if needed old "$@"; then DEBOOTSTRAP=--foreign base base-old.tar bullseye; fi
store python "base-python-$codename.tar" lab:base
if needed fleet "$@"; then store fleet "base-fleet-$codename.tar" lab:fleet; fi
if needed torch "$@"; then store torch base-torch-trixie.tar lab:fleet; fi
[ -z "$only_images" ] || exit 0

# The shards share a folder in which each claims the case that it runs next.
if [ "${ENVDOC_LAB_SHARDS:-1}" -gt 1 ]; then
    claims=$lab/claims
    mkdir "$claims"
    before=$(wc -l <"$counts")
    shards=()
    for _ in $(seq "$ENVDOC_LAB_SHARDS"); do
        ENVDOC="$envdoc" ENVDOC_LAB_COUNTS=$counts ENVDOC_LAB_CLAIMS=$claims ENVDOC_LAB_SHARDS=1 "$repository/tests/lab/run.sh" "$@" &
        shards+=($!)
    done
    trap 'kill -TERM "${shards[@]}" 2>/dev/null; wait; exit 143' INT TERM HUP
    status=0
    for shard in "${shards[@]}"; do wait "$shard" || status=1; done
    tail -n "+$((before + 1))" "$counts" | awk '{ n[$1]++ } END {
        printf "\nlab: %d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"] }'
    exit "$status"
fi

unshare --mount --propagation private --net env -i PATH="$PATH" LANG=C.UTF-8 HOME=/run/lab/root \
    LAB="$lab" LAB_GROUP="$group" LAB_COUNTS="$counts" LAB_BASE="$repository/target/lab/base-python-$codename.tar" \
    LAB_FLEET="$repository/target/lab/base-fleet-$codename.tar" LAB_TORCH="$repository/target/lab/base-torch-trixie.tar" \
    LAB_OLD="$repository/target/lab/base-old.tar" LAB_PODMAN="$repository/target/lab/base-podman-trixie.tar" LAB_SPEED="$repository/target/lab/base-speed-trixie.tar" LAB_TURNS="${ENVDOC_LAB_TURNS:-5}" LAB_RUNS="${ENVDOC_LAB_RUNS:-}" LAB_KEPT="$repository/target/lab" \
    LAB_ENVDOC="$envdoc" LAB_LEFT="${ENVDOC_LAB_LEFT:-}" LAB_CI="${CI:-}" LAB_SLOW="${ENVDOC_LAB_SLOW:-}" \
    LAB_CLAIMS="${ENVDOC_LAB_CLAIMS:-}" bash tests/lab/inside.sh "$@" </dev/null &
child=$!
for _ in $(seq 50); do
    own=$(readlink "/proc/$child/ns/mnt")
    if [ -n "$own" ] && [ "$own" != "$(readlink /proc/self/ns/mnt)" ]; then
        namespace=$own
        break
    fi
    sleep 0.02
done
wait "$child"
status=$?
child=
exit "$status"
