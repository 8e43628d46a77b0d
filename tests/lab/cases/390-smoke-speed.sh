# shellcheck shell=bash disable=SC2034,SC2154
# How fast the smoke test's ring is across the overlay of two engines, next to torch's Gloo, Open MPI and iperf3 in the same containers
# needs: speed
# measurement: named only, with an optimized program: ENVDOC=…/release/envdoc ENVDOC_LAB_TURNS=5 tests/lab/run.sh 390-
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
hosts_start 2 || return 1
docker_on node1 import "$LAB_SPEED" lab:fleet >/dev/null
mkdir -p "$LAB/cluster"
cluster_yaml 'environment: {USE_LIBUV: "0", OMP_NUM_THREADS: "1"}' >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
for host in node1 node2; do docker_on "$host" cp ../../benches/gloo.py "$host:/root/gloo.py"; done

bytes=$((64 << 20)) rounds=9
address_of() { docker_on "$1" inspect --format '{{(index .NetworkSettings.Networks "lab-net").IPAddress}}' "$1"; }
first=$(address_of node1) second=$(address_of node2)
: >"$LAB/ring" && : >"$LAB/gloo" && : >"$LAB/mpi" && : >"$LAB/iperf"
for turn in $(seq "$LAB_TURNS"); do
    SIZES=64M LIMIT=120 smoke --iterations "$rounds" --format json
    jq -r '"\(.results[-1].busbw_gbps) \(.expected.busbw_gbps)"' <<<"$answer" >>"$LAB/ring" || printf '%s\n' "$error"
    docker_on node2 exec node2 timeout 120 python3 /root/gloo.py 1 "$first" $((23000 + turn)) "$bytes" "$rounds" eth0 >>"$LAB/gloo.other" 2>"$LAB/gloo.error" &
    docker_on node1 exec node1 timeout 120 python3 /root/gloo.py 0 "$first" $((23000 + turn)) "$bytes" "$rounds" eth0 >>"$LAB/gloo" 2>>"$LAB/gloo.error"
    wait $!
    docker_on node1 exec node1 timeout 120 mpirun --allow-run-as-root --host node1:1,node2:1 -np 2 --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include eth0 --prtemca prte_if_include eth0 reduce "$bytes" "$rounds" 2>"$LAB/mpi.error" | grep '^0 ' >>"$LAB/mpi" ||
        head -5 "$LAB/mpi.error"
    docker_on node2 exec --detach node2 iperf3 --server --one-off
    sleep 0.5
    docker_on node1 exec node1 iperf3 --client "$second" --time 3 --bidir --json >"$LAB/iperf.json"
    jq -r '.end | (.sum_received.bits_per_second + .sum_received_bidir_reverse.bits_per_second) / 16e9' "$LAB/iperf.json" >>"$LAB/iperf"
done
# best FILE COLUMN, middle FILE COLUMN: of the turns.
best() { awk -v column="$2" '{ print $column }' "$LAB/$1" | sort -g | tail -1; }
middle() { awk -v column="$2" '{ print $column }' "$LAB/$1" | sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
ring=$(middle ring 1)
row() { printf '| %s | %.3f | %.3f | %.2f |\n' "$1" "$2" "$3" "$(awk -v one="$ring" -v other="$2" 'BEGIN { printf "%s", (other > 0 ? one / other : 0) }')"; }
{
    printf '| two ranks, overlay of two engines, 64 MiB, %s turns | median, GB/s busbw | best turn | envdoc is … times the median |\n|---|---:|---:|---:|\n' "$LAB_TURNS"
    row "envdoc smoke" "$ring" "$(best ring 1)"
    row "its own sockets without summing, both ways" "$(middle ring 2)" "$(best ring 2)"
    row "torch $(awk 'END { print $3 }' "$LAB/gloo"), Gloo" "$(middle gloo 4)" "$(best gloo 4)"
    row "$(docker_on node1 exec node1 mpirun --version | head -1 | sed 's/mpirun (\(.*\)) /\1 /'), TCP" "$(middle mpi 3)" "$(best mpi 3)"
    row "iperf3, both ways, mean of the two" "$(middle iperf 1)" "$(best iperf 1)"
} | tee "$LAB_KEPT/smoke-speed.md"
uptime
for _ in 1 2 3; do
    SIZES=8-256M LIMIT=120 smoke --format json
    jq -r '[.phases[] | {(.name): .seconds}] | add | "all phases, 8 B to 256 MiB: \([.[]] | add | . * 100 | round / 100) s in total, the sweep \(.bandwidth) s, the worker \(.worker) s"' <<<"$answer"
    echo "    from start to end: $took ms, of which the sweep is not: $((took - $(jq '[.phases[] | select(.name == "bandwidth").seconds * 1000 | round] | add' <<<"$answer"))) ms"
done
smoke
printf '%s\n' "$answer"
in_cluster down --leave-swarm >/dev/null
hosts_stop
