#!/usr/bin/env bash
# As benches/smoke.sh, across a VXLAN with an MTU of 1450 between two network namespaces of this machine: what Docker's overlay is made of, without Docker.
# (tests/lab/cases/390-smoke-speed.sh measures the same in the containers of two engines.)
#
#     TORCH_ROOT=DIR benches/smoke-overlay.sh [TURNS]       DIR: a file system whose python3 has torch, entered by chroot
#
# Needs root, cargo, mpicc and mpirun, iperf3, jq.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
turns=${1:-5} bytes=$((64 << 20)) rounds=9
work=$(mktemp -d)
clean() {
    ip netns del ring-one 2>/dev/null
    ip netns del ring-two 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT
CARGO_TARGET_DIR=target/ring cargo build --quiet --release --manifest-path benches/ring/Cargo.toml || exit 1
mpicc -O2 benches/reduce.c -o "$work/reduce" || exit 1
cp benches/gloo.py "$TORCH_ROOT/gloo.py" || exit 1
ip netns add ring-one && ip netns add ring-two && ip link add wire0 netns ring-one type veth peer name wire1 netns ring-two || exit 1
side() { # NAMESPACE WIRE OWN OTHER
    ip -n "$1" link set lo up
    ip -n "$1" addr add "10.201.0.$3/24" dev "$2" && ip -n "$1" link set "$2" up
    ip -n "$1" link add vx0 type vxlan id 77 dstport 4789 local "10.201.0.$3" remote "10.201.0.$4" dev "$2"
    ip -n "$1" addr add "10.202.0.$3/24" dev vx0 && ip -n "$1" link set vx0 mtu 1450 up
}
side ring-one wire0 1 2 && side ring-two wire1 2 1 || exit 1
# shellcheck disable=SC2016
printf '#!/bin/bash\nshift\nexec nsenter --net=/var/run/netns/ring-two bash -c "$*"\n' >"$work/agent" && chmod 755 "$work/agent"
one() { nsenter --net=/var/run/netns/ring-one timeout 100 "$@"; }
two() { nsenter --net=/var/run/netns/ring-two timeout 100 "$@"; }

export RING_HOSTS=10.202.0.1,10.202.0.2 OMP_NUM_THREADS=1
for turn in $(seq "$turns"); do
    two target/ring/release/ring 1 2 $((26000 + turn * 4)) "$bytes" "$rounds" >/dev/null &
    one target/ring/release/ring 0 2 $((26000 + turn * 4)) "$bytes" "$rounds" >>"$work/ring"
    wait
    two chroot "$TORCH_ROOT" python3 /gloo.py 1 10.202.0.1 $((27000 + turn)) "$bytes" "$rounds" vx0 >/dev/null 2>&1 &
    one chroot "$TORCH_ROOT" python3 /gloo.py 0 10.202.0.1 $((27000 + turn)) "$bytes" "$rounds" vx0 2>/dev/null | grep '^0 ' >>"$work/gloo"
    wait
    one mpirun --allow-run-as-root --mca plm_rsh_agent "$work/agent" --host 10.202.0.1:1,10.202.0.2:1 -np 2 --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include vx0 --mca oob_tcp_if_include vx0 "$work/reduce" "$bytes" "$rounds" 2>/dev/null | grep '^0 ' >>"$work/mpi"
    two iperf3 --server --one-off --daemon --port $((28000 + turn))
    sleep 0.4
    one iperf3 --client 10.202.0.2 --port $((28000 + turn)) --time 2 --bidir --json |
        jq -r '.end | "0 \((.sum_received.bits_per_second + .sum_received_bidir_reverse.bits_per_second) / 16e9)"' >>"$work/iperf"
done
# best FILE COLUMN, middle FILE COLUMN: of the turns.
best() { awk -v column="$2" '{ print $column }' "$work/$1" | sort -g | tail -1; }
middle() { awk -v column="$2" '{ print $column }' "$work/$1" | sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
row() { printf '| %s | %.3f | %.2f | %.3f | %.2f |\n' "$1" "$2" "$(over "$(middle ring 6)" "$2")" "$3" "$(over "$(best ring 2)" "$3")"; }
over() { awk -v one="$1" -v other="$2" 'BEGIN { printf "%s", (other > 0 ? one / other : 0) }'; }
printf '| two ranks, VXLAN, 64 MiB, %s turns, load %s | median, GB/s busbw | envdoc is … times that | best round | envdoc is … times that |\n|---|---:|---:|---:|---:|\n' \
    "$turns" "$(cut -d' ' -f1 /proc/loadavg)"
row "envdoc, ring" "$(middle ring 6)" "$(best ring 2)"
row "torch $(awk 'END { print $3 }' "$work/gloo"), Gloo" "$(middle gloo 4)" "$(best gloo 2)"
row "Open MPI over TCP" "$(middle mpi 3)" "$(best mpi 2)"
row "iperf3, both ways, mean of the two" "$(middle iperf 2)" "$(best iperf 2)"
