#!/usr/bin/env bash
# `envdoc cluster check` over many SSH endpoints, beside pdsh on the same ones in the same run.
#
#     benches/cluster-check.sh [ENDPOINTS] [ROUNDS]      64 and 3 unless said otherwise; needs root, sshd, pdsh, jq
#
# The endpoints are sshds on this machine with keys of their own. Their `envdoc snapshot` answers with a recorded server; the worker
# is the real one. All run on this machine, so what the cores can do is shared by both sides of every connection.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
count=${1:-64} rounds=${2:-3}
envdoc=$(realpath "${ENVDOC:-target/release/envdoc}")
work=$(mktemp -d /tmp/bench.XXXXXX)
pids=()
# Addresses of their own on the loopback, of the block that is set aside for measurements: 127.0.0.0/8 is no address of a node.
clean() {
    kill "${pids[@]}" 2>/dev/null || true
    for number in $(seq "$count"); do ip address del "198.18.1.$number/32" dev lo 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT
mkdir -p "$work/bin" /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$work/host"
ssh-keygen -q -t ed25519 -N '' -f "$work/user"
cp "$work/user.pub" "$work/authorized"
cp tests/servers/healthy-h100-x8-sxm-ubuntu-22.04.json "$work/server.json"
printf '#!/bin/sh\ncase $1 in snapshot) exec cat %s/server.json ;; *) exec %s "$@" ;; esac\n' "$work" "$envdoc" >"$work/bin/envdoc"
chmod +x "$work/bin/envdoc"
{ echo "name: bench"; echo "image: bench:1"; echo "nodes:"; } >"$work/cluster.yaml"
for number in $(seq "$count"); do
    port=$((23000 + number))
    ip address add "198.18.1.$number/32" dev lo
    printf '%s\n' "Port $port" "ListenAddress 198.18.1.$number" "HostKey $work/host" "PidFile none" "UsePAM no" "StrictModes no" \
        "AuthorizedKeysFile $work/authorized" "SetEnv PATH=$work/bin:/usr/bin:/bin" "MaxStartups 100" >"$work/sshd-$number"
    /usr/sbin/sshd -D -f "$work/sshd-$number" -E "$work/log-$number" &
    pids+=($!)
    echo "[198.18.1.$number]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >>"$work/known"
    printf 'Host n%s\n  HostName 198.18.1.%s\n  Port %s\n' "$number" "$number" "$port" >>"$work/ssh"
    echo "  - {name: n$number, address: 198.18.1.$number, engine: \"ssh://root@n$number\", gpus: 0, slots: 1}" >>"$work/cluster.yaml"
done
printf 'Host *\n  User root\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known\n  StrictHostKeyChecking yes\n  BatchMode yes\n  LogLevel ERROR\n' "$work" "$work" >>"$work/ssh"
sleep 1
export ENVDOC_SSH_CONFIG=$work/ssh
names=$(seq -f 'n%g' -s, "$count")
seconds() { local start end; start=$(date +%s%N); "$@" >"$work/out" 2>"$work/err" || [ -s "$work/out" ] || cat "$work/err" >&2; end=$(date +%s%N); awk -v ns=$((end - start)) 'BEGIN { printf "%.2f", ns / 1e9 }'; }
pdsh() { PDSH_RCMD_TYPE=ssh PDSH_SSH_ARGS="-F $work/ssh %h" command pdsh -S -f 32 -w "$names" "$@"; }
one() { ssh -F "$work/ssh" n1 "$@"; }
printf '%-10s %-28s %-28s %-28s %-28s\n' round "ssh, one endpoint (s)" "pdsh, true (s)" "pdsh, envdoc snapshot (s)" "envdoc cluster check (s)"
for round in $(seq "$rounds"); do
    a=$(seconds one envdoc snapshot)
    b=$(seconds pdsh true)
    c=$(seconds pdsh "envdoc snapshot | md5sum")
    d=$(seconds "$envdoc" cluster check -f "$work/cluster.yaml" --format json --fail-on never)
    looked=$(jq '[.nodes[] | select(.closed == null)] | length' "$work/out")
    slowest=$(jq '[.nodes[].seconds] | max' "$work/out")
    printf '%-10s %-28s %-28s %-28s %-28s\n' "$round" "$a" "$b" "$c" "$d"
    printf '           %s of %s endpoints looked at, the slowest in %.2f s; check / pdsh snapshot: %.2f\n' "$looked" "$count" "$slowest" "$(awk -v a="$d" -v b="$c" 'BEGIN { print a / b }')"
done
