#!/usr/bin/env bash
# `envdoc cluster check` and `envdoc cluster exec` over many SSH endpoints, next to pdsh on the same ones in the same run.
#
#     benches/cluster-check.sh [ENDPOINTS] [ROUNDS]      64 and 3 unless said otherwise; needs root, sshd, pdsh, jq, and for exec dockerd
#
# The endpoints are sshds on this machine with keys of their own. Their `envdoc snapshot` answers with a recorded server; the worker
# is the real one. For exec a real engine holds a container for each. All run on this machine, so what the cores can do is shared by both
# sides of every connection. A control group has precedence over what else runs here, and counts the processor time of all that was
# started: "the cores need" is that, divided by the cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
count=${1:-64} rounds=${2:-3}
envdoc=$(realpath "${ENVDOC:-target/release/envdoc}")
work=$(mktemp -d /tmp/bench.XXXXXX)
pids=()
containers=
group=${work##*/}
cores=$(nproc)
if [ -d /sys/fs/cgroup/cpuacct ]; then
    accounts=/sys/fs/cgroup/cpuacct
    mkdir -p "/sys/fs/cgroup/cpu/$group" "$accounts/$group"
    echo 262144 >"/sys/fs/cgroup/cpu/$group/cpu.shares"
    echo $$ >"/sys/fs/cgroup/cpu/$group/cgroup.procs"
else
    accounts=/sys/fs/cgroup
    mkdir "$accounts/$group"
    echo 10000 >"$accounts/$group/cpu.weight" || true
fi
echo $$ >"$accounts/$group/cgroup.procs"
# Processor time of all that runs here, in nanoseconds.
used() { cat "$accounts/$group/cpuacct.usage" 2>/dev/null || awk '/^usage_usec/ { print $2 * 1000 }' "$accounts/$group/cpu.stat"; }
docker_here() { docker --host "unix://$work/docker.sock" "$@"; }
# Addresses of their own on the loopback, of the block that is set aside for measurements: 127.0.0.0/8 is no address of a node.
clean() {
    local number _
    [ -z "$containers" ] || docker_here ps --all --quiet | xargs -r docker --host "unix://$work/docker.sock" rm --force >/dev/null 2>&1 || true
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    for number in $(seq "$count"); do ip address del "198.18.1.$number/32" dev lo 2>/dev/null || true; done
    for _ in 1 2 3 4 5; do rm -rf "$work" 2>/dev/null && break || sleep 0.5; done
    for accounts in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpuacct /sys/fs/cgroup; do echo $$ >"$accounts/cgroup.procs" || true; done 2>/dev/null
    find /sys/fs/cgroup -mindepth 1 -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
}
trap clean EXIT
mkdir -p "$work/bin" /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$work/host"
ssh-keygen -q -t ed25519 -N '' -f "$work/user"
cp "$work/user.pub" "$work/authorized"
cp tests/servers/healthy-h100-x8-sxm-ubuntu-22.04.json "$work/server.json"
printf '#!/bin/sh\ncase $1 in snapshot) exec cat %s/server.json ;; *) exec %s "$@" ;; esac\n' "$work" "$envdoc" >"$work/bin/envdoc"
chmod +x "$work/bin/envdoc"
header() { printf 'name: bench\nimage: bench:1\nnodes:\n'; }
header >"$work/all.yaml"
for number in $(seq "$count"); do
    port=$((23000 + number))
    ip address add "198.18.1.$number/32" dev lo
    printf '%s\n' "Port $port" "ListenAddress 198.18.1.$number" "HostKey $work/host" "PidFile none" "UsePAM no" "StrictModes no" \
        "AuthorizedKeysFile $work/authorized" "SetEnv PATH=$work/bin:/usr/bin:/bin" "MaxStartups 100" >"$work/sshd-$number"
    /usr/sbin/sshd -D -f "$work/sshd-$number" -E "$work/log-$number" &
    pids+=($!)
    echo "[198.18.1.$number]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >>"$work/known"
    printf 'Host n%s\n  HostName 198.18.1.%s\n  Port %s\n' "$number" "$number" "$port" >>"$work/ssh"
    echo "  - {name: n$number, address: 198.18.1.$number, engine: \"ssh://root@n$number$work/docker.sock\", gpus: 0, slots: 1}" >>"$work/all.yaml"
done
{ header && grep 'name: n1,' "$work/all.yaml"; } >"$work/one.yaml"
printf 'Host *\n  User root\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known\n  StrictHostKeyChecking yes\n  BatchMode yes\n  LogLevel ERROR\n' "$work" "$work" >>"$work/ssh"
if command -v dockerd >/dev/null; then
    dockerd --host "unix://$work/docker.sock" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/docker.pid" --bridge none \
        --iptables=false --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$group" >"$work/dockerd.log" 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do docker_here version >/dev/null 2>&1 && break || sleep 0.2; done
    mkdir "$work/root"
    for program in hostname sleep; do
        cp --parents --dereference "$(command -v "$program")" $(ldd "$(command -v "$program")" | grep -o '/[^ ]*') "$work/root/"
    done
    tar -C "$work/root" -c . | docker_here import - bench:1 >/dev/null
    for number in $(seq "$count"); do
        docker_here run --detach --network none --name "n$number" --hostname "n$number" bench:1 sleep 86400 >/dev/null
    done
    containers=yes
fi
export ENVDOC_SSH_CONFIG=$work/ssh
names=$(seq -f 'n%g' -s, "$count")
# measured WHAT COMMAND…: `wall` and `need` in seconds, its output in $work/out.
measured() {
    local what=$1 start end before after
    shift
    sleep 1
    before=$(used) start=$(date +%s%N)
    "$@" >"$work/out" 2>"$work/err" || [ -s "$work/out" ] || cat "$work/err" >&2
    end=$(date +%s%N)
    after=$(used)
    wall=$(awk -v ns=$((end - start)) 'BEGIN { printf "%.2f", ns / 1e9 }')
    need=$(awk -v ns=$((after - before)) -v cores="$cores" 'BEGIN { printf "%.2f", ns / 1e9 / cores }')
    printf '| %s | %s | %s | %s | %s |\n' "$round" "$what" "$wall" "$need" "$(wc -l <"$work/out")"
}
# goal WHAT ONE: whether the last took no longer than twice what one endpoint takes, and what the cores need.
goal() {
    awk -v what="$1" -v one="$2" -v wall="$wall" -v need="$need" 'BEGIN { bound = 2 * one + need
        printf "  %s: %.2f s; 2 x %.2f s (one endpoint) + %.2f s (the cores) = %.2f s: %s\n", what, wall, one, need, bound, wall <= bound ? "within" : "not within" }'
}
pdsh() { PDSH_RCMD_TYPE=ssh PDSH_SSH_ARGS="-F $work/ssh %h" command pdsh -S -f 32 -w "$names" "$@"; }
one() { ssh -F "$work/ssh" n1 "$@"; }
check() { "$envdoc" cluster check -f "$work/$1.yaml" --format json --fail-on never; }
execs() { "$envdoc" cluster exec -f "$work/$1.yaml" all -- hostname; }
printf '| round | what | seconds | the cores need (s) | lines |\n|---|---|---:|---:|---:|\n'
for round in $(seq "$rounds"); do
    measured "ssh, one endpoint: envdoc snapshot" one envdoc snapshot
    measured "pdsh: true" pdsh true
    measured "pdsh: envdoc snapshot \\| md5sum" pdsh "envdoc snapshot | md5sum"
    measured "envdoc cluster check, one endpoint" check one
    alone=$wall
    measured "envdoc cluster check" check all
    jq -r '"  \([.nodes[] | select(.closed == null)] | length) endpoints looked at, the slowest in \([.nodes[].seconds] | max) s; \(.notes // [] | join("; "))"' "$work/out"
    cp "$work/out" "$work/checked"
    goal check "$alone"
    [ -n "$containers" ] || continue
    measured "pdsh: hostname" pdsh hostname
    measured "pdsh: docker exec NAME hostname" pdsh "docker --host unix://$work/docker.sock exec n\$((\${SSH_CONNECTION##* } - 23000)) hostname"
    measured "envdoc cluster exec, one endpoint: hostname" execs one
    alone=$wall
    measured "envdoc cluster exec all: hostname" execs all
    goal exec "$alone"
done
[ -z "${KEEP:-}" ] || cp "$work/checked" "$KEEP"
