#!/usr/bin/env bash
# The TCP ring of the smoke test next to torch's Gloo, Open MPI's all-reduce over TCP, and iperf3 both ways at once: two ranks on the
# loopback, 64 MiB, all in one run and in turns, so that what else the machine does falls on all alike. The best of all turns counts.
#
#     benches/smoke.sh [TURNS]       TORCH_ROOT=DIR: a file system whose python3 has torch, entered by chroot; else this machine's python3
#
# Needs cargo, mpicc and mpirun, iperf3, python3.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
turns=${1:-8} bytes=$((64 << 20)) rounds=8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CARGO_TARGET_DIR=target/ring cargo build --quiet --release --manifest-path benches/ring/Cargo.toml || exit 1
mpicc -O2 benches/reduce.c -o "$work/reduce" || exit 1
cp benches/gloo.py "$work/gloo.py"
python=(python3 "$work/gloo.py")
if [ -n "${TORCH_ROOT:-}" ]; then
    cp "$work/gloo.py" "$TORCH_ROOT/gloo.py"
    python=(chroot "$TORCH_ROOT" python3 /gloo.py)
fi

for turn in $(seq "$turns"); do
    port=$((21000 + turn * 20))
    for rank in 0 1; do target/ring/release/ring "$rank" 2 "$port" "$bytes" "$rounds" >>"$work/ring" & done
    wait
    for rank in 0 1; do "${python[@]}" "$rank" 127.0.0.1 $((port + 5)) "$bytes" "$rounds" lo >>"$work/gloo" 2>>"$work/errors" & done
    wait
    mpirun --allow-run-as-root --oversubscribe -np 2 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo \
        "$work/reduce" "$bytes" "$rounds" >>"$work/mpi" 2>>"$work/errors"
    iperf3 --server --one-off --daemon --port $((port + 9))
    sleep 0.3
    # What both ways carry together, halved: a ring sends as much as it receives.
    iperf3 --client 127.0.0.1 --port $((port + 9)) --time 1 --bidir --json 2>>"$work/errors" |
        python3 -c 'import json, sys
end = json.load(sys.stdin)["end"]
print("0 %.4f" % ((end["sum_received"]["bits_per_second"] + end["sum_received_bidir_reverse"]["bits_per_second"]) / 16e9))' >>"$work/iperf"
done
# The slower rank of each turn is what the all-reduce took; of the turns the best.
best() { awk -v column="${2:-2}" '{ turn = int((NR - 1) / '"${3:-2}"'); if (!(turn in least) || $column < least[turn]) least[turn] = $column } END { for (turn in least) if (least[turn] > most) most = least[turn]; printf "%.3f", most }' "$work/$1"; }
ring=$(best ring) raw=$(best ring 3) gloo=$(best gloo) mpi=$(best mpi) iperf=$(best iperf 2 1)
over() { awk -v one="$ring" -v other="$1" 'BEGIN { if (other > 0) printf "%.2f", one / other; else printf "-" }'; }
printf '| two ranks, loopback, 64 MiB, best of %s turns | busbw, GB/s | envdoc is … times that |\n|---|---:|---:|\n' "$turns"
printf '| envdoc, ring | %s | 1 |\n| envdoc, its own sockets without summing, both ways | %s | %s |\n' "$ring" "$raw" "$(over "$raw")"
printf '| torch %s, gloo | %s | %s |\n' "$(awk 'END { print $3 }' "$work/gloo")" "$gloo" "$(over "$gloo")"
printf '| %s, TCP | %s | %s |\n' "$(mpirun --version | head -1 | sed 's/mpirun (\(.*\)) /\1 /')" "$mpi" "$(over "$mpi")"
printf '| iperf3, both ways, mean of the two | %s | %s |\n' "$iperf" "$(over "$iperf")"
echo "memory of a rank beyond the 64 MiB that are summed: $(awk '$4 > most { most = $4 } END { print most }' "$work/ring") KiB; wrong elements: $(awk '{ wrong += $5 } END { print wrong + 0 }' "$work/ring")"
[ ! -s "$work/errors" ] || { echo "errors:"; sort "$work/errors" | uniq -c | sort -rn | head -5; } >&2
